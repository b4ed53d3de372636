from unbraid.evaluation.protocols.conclusion import conclusion


def _factor(name: str, role: str, s: float, d: float) -> dict:
    return {"factor": name, "role": role, "s": s, "d": d}


def test_the_conclusion_of_a_clean_model_names_what_each_code_tells():
    factors = [_factor("skin", "static", 1.0, 0.05), _factor("motion", "dynamic", 0.1, 0.98)]
    sentence = conclusion({"separation": 0.92, "factors": factors}, 0.06)
    assert sentence.startswith(
        "s and d are well apart (separation 92 of 100; the codes keep 94 % of the data's "
        "variance): s tells skin 100 % and d tells motion 98 %; nothing leaks."
    )


def test_the_conclusion_names_every_leak_with_the_code_it_is_in():
    factors = [_factor("skin", "static", 0.9, 0.3), _factor("motion", "dynamic", 0.85, 1.0)]
    sentence = conclusion({"separation": 0.38, "factors": factors}, 0.2)
    assert "not apart" in sentence
    assert "leaks: skin into d (30 %), motion into s (85 %)." in sentence


def test_codes_that_lose_most_of_the_data_are_called_so():
    factors = [_factor("skin", "static", 1.0, 0.0)]
    assert "and much is lost" in conclusion({"separation": 1.0, "factors": factors}, 0.7)


def test_without_labels_the_conclusion_says_so():
    assert conclusion(None, 0.25) == (
        "No labels, so leakage is judged without them; the codes keep 75 % of the data's variance."
    )
