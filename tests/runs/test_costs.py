from unbraid.methods import METHODS
from unbraid.runs.costs import COSTS, cost_words


def test_every_method_of_the_catalogue_has_a_measured_cost():
    assert COSTS.keys() == METHODS.keys()
    assert set(COSTS["dsvae"].values()) == {1.0}


def test_a_method_from_elsewhere_has_none():
    assert cost_words("mine") == "-"
