"""Where a run comes from: versions, seed, steps, minutes."""

import platform
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("torch", "lightning", "numpy", "scikit-learn")


def provenance(run_path: Path) -> list[tuple[str, str]]:
    """Return (name, value) pairs for a page: what `model.json` says, then the versions in use."""
    import unbraid
    from unbraid.methods.store import read_about

    about = read_about(run_path)
    training = about["training"]
    names = {
        "seed": "seed",
        "steps": "steps",
        "epochs": "epochs",
        "minutes": "minutes",
        "precision": "precision",
        "reason": "ended by",
    }
    pairs = [("run folder", str(run_path))]
    pairs += [(name, str(training[key])) for key, name in names.items() if key in training]
    pairs += [("trained with", f"unbraid {about['unbraid']}")]
    pairs += [("page made with", f"unbraid {unbraid.__version__}")]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return [*pairs, ("versions", f"Python {platform.python_version()}, {versions}")]
