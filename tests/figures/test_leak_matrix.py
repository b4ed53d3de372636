from unbraid.figures.leak_matrix import leak_matrix
from unbraid.figures.style import DATA, MODEL


def test_wanted_cells_are_blue_leaks_rust_and_both_darker_the_more_is_told():
    from matplotlib.colors import to_rgb

    factors = [
        {"factor": "skin", "role": "static", "s": 0.9, "d": 0.2},
        {"factor": "motion", "role": "dynamic", "s": 0.6, "d": 1.0},
    ]
    (axis,) = leak_matrix(factors).axes
    boxes = [(box.get_facecolor()[:3], box.get_alpha()) for box in axis.patches]
    assert [colour for colour, _ in boxes] == [to_rgb(c) for c in (DATA, MODEL, MODEL, DATA)]
    shown = [text.get_text() for text in axis.texts]
    assert shown == ["90", "20", "60", "100"]
    strengths = [alpha for _, alpha in boxes]
    assert strengths[3] > strengths[0] > strengths[2] > strengths[1]
