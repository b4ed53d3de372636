"""The rows of a loss are the terms of its paper, in the order of the equation."""

import pytest

from tests.conformance.toys import toy_batch, toy_method
from unbraid.methods import METHODS
from unbraid.records import Kind

ELBO = ("reconstruction", "kl_static", "kl_dynamic")
SPECTRAL = ("spectral_static", "spectral_dynamic")
ADVERSARIAL = ("adversarial_step", "adversarial_sequence", "critic_step", "critic_sequence")
CONTRAST = ("mi_static", "mi_dynamic", "mi_static_dynamic")
TERMS: dict[str, tuple[str, ...]] = {
    "dsvae": ELBO,
    "cdsvae": (*ELBO, *CONTRAST),
    "spyl": (*ELBO, *CONTRAST),
    "dbse": ("reconstruction", "static_reconstruction", "kl_static", "kl_dynamic"),
    "placed": ELBO,
    "vae": ELBO,
    "gpvae": ELBO,
    "glr": (*ELBO, "counterfactual"),
    "s3vae": (*ELBO, "triplet", "motion", "mi_static_dynamic"),
    "rwae": ("reconstruction", "penalty_static", "penalty_dynamic"),
    "fhvae": (*ELBO, "discriminative"),
    "mocogan": (*ADVERSARIAL, "inference", "reconstruction"),
    "diffsda": ("reconstruction", "prior_static", "prior_dynamic"),
    "skd": ("reconstruction", "prediction", "code_prediction", *SPECTRAL),
}


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in TERMS for kind in METHODS[name].kinds]
)
def test_terms_are_those_of_the_equation(name: str, kind: Kind) -> None:
    # Series have no accepted view that keeps the dynamics.
    absent = {"mi_dynamic"} if (name, kind) == ("cdsvae", "series") else set()
    terms = toy_method(name, kind).loss(toy_batch(kind), 0)
    assert tuple(terms) == tuple(term for term in TERMS[name] if term not in absent)
