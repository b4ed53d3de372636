"""What a training step of each method costs beside one of dsvae, measured.

CPU time of loss and gradient of a batch of 16, median of 10, all methods in turn in one process of
one thread: `toy-sprites`, `toy-voices`, `toy-series`, each method with the presets
`recommended/<kind>`, so with its own code sizes and `decoded_steps`. dsvae: 79, 21 and 14 ms.
"""

COSTS: dict[str, dict[str, float]] = {
    "dsvae": {"video": 1.0, "audio": 1.0, "series": 1.0},
    "cdsvae": {"video": 1.7, "audio": 1.7, "series": 1.1},
    "spyl": {"video": 2.4, "audio": 2.0, "series": 2.5},
    "dbse": {"video": 1.1, "audio": 1.4, "series": 1.0},
    "placed": {"video": 13.0},
    "vae": {"video": 0.8, "audio": 0.2, "series": 0.5},
    "gpvae": {"video": 0.8, "audio": 0.3, "series": 0.6},
    "glr": {"video": 1.9, "audio": 0.9, "series": 1.4},
    "skd": {"video": 1.3, "audio": 0.7, "series": 1.7},
    "diffsda": {"video": 3.0, "audio": 5.2, "series": 2.7},
    "s3vae": {"video": 1.2, "audio": 2.7, "series": 2.2},
    "rwae": {"video": 1.1, "audio": 1.9, "series": 1.7},
    "fhvae": {"video": 0.8, "audio": 0.3, "series": 0.6},
    "mocogan": {"video": 4.3, "audio": 1.4, "series": 2.7},
}


def cost_words(method: str) -> str:
    """Return the kinds of data and the cost for each; "-" for a method that was not measured.

    >>> cost_words("placed")
    'video 13.0'
    """
    return ", ".join(f"{kind} {cost:.1f}" for kind, cost in COSTS.get(method, {}).items()) or "-"
