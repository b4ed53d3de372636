"""What a training step of each method costs beside one of dsvae, measured.

CPU time of loss and gradient of a batch of 16, all methods in turn in one process of one thread
(`python -m benchmarks.costs`): `toy-sprites`, `toy-voices`, `toy-series`, each method with the
preset `recommended`, so with its own code sizes and `decoded_steps`. dsvae: 87, 22 and 19 ms.
"""

COSTS: dict[str, dict[str, float]] = {
    "dsvae": {"video": 1.0, "audio": 1.0, "series": 1.0},
    "cdsvae": {"video": 1.6, "audio": 1.6, "series": 1.2},
    "spyl": {"video": 2.5, "audio": 1.8, "series": 2.2},
    "dbse": {"video": 1.1, "audio": 1.3, "series": 1.0},
    "placed": {"video": 21.5},
    "vae": {"video": 0.7, "audio": 0.2, "series": 0.5},
    "gpvae": {"video": 0.8, "audio": 0.3, "series": 0.6},
    "glr": {"video": 1.7, "audio": 0.9, "series": 1.2},
    "skd": {"video": 1.3, "audio": 0.7, "series": 1.5},
    "diffsda": {"video": 2.9, "audio": 5.1, "series": 2.2},
    "s3vae": {"video": 1.2, "audio": 2.5, "series": 2.0},
    "rwae": {"video": 1.0, "audio": 1.9, "series": 1.6},
    "fhvae": {"video": 0.8, "audio": 0.3, "series": 0.6},
    "mocogan": {"video": 4.2, "audio": 1.3, "series": 2.5},
}
