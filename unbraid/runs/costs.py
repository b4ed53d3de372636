"""What a training step of each method costs beside one of dsvae, measured.

CPU time of loss and gradient of a batch of 16, all methods in turn in one process of one thread
(`python -m benchmarks.costs`): `toy-sprites`, `toy-voices`, `toy-series`, each method with the
preset `recommended`, so with its own code sizes and `decoded_steps`. dsvae: 44, 10 and 8 ms.
"""

COSTS: dict[str, dict[str, float]] = {
    "dsvae": {"video": 1.0, "audio": 1.0, "series": 1.0},
    "cdsvae": {"video": 1.7, "audio": 1.7, "series": 1.1},
    "spyl": {"video": 2.4, "audio": 2.0, "series": 2.3},
    "dbse": {"video": 1.2, "audio": 1.5, "series": 0.9},
    "placed": {"video": 23.6},
    "vae": {"video": 0.9, "audio": 0.3, "series": 0.5},
    "gpvae": {"video": 0.9, "audio": 0.4, "series": 0.6},
    "glr": {"video": 1.9, "audio": 1.0, "series": 1.5},
    "skd": {"video": 1.4, "audio": 1.0, "series": 1.8},
    "diffsda": {"video": 3.9, "audio": 2.6, "series": 3.2},
    "s3vae": {"video": 1.3, "audio": 2.9, "series": 2.2},
    "rwae": {"video": 1.0, "audio": 2.1, "series": 1.5},
    "fhvae": {"video": 0.9, "audio": 0.4, "series": 0.6},
    "mocogan": {"video": 5.6, "audio": 1.6, "series": 2.4},
}
