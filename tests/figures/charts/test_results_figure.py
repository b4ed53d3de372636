import pytest

from unbraid.figures.charts.results import result_dots


def row(method: str, metric: str, mean: float | None, **more: object) -> dict[str, object]:
    defaults = {"better": "up", "std": None, "published": None}
    return {"method": method, "metric": metric, "mean": mean, **defaults, **more}


def test_a_panel_for_every_metric_with_a_target_and_a_line_for_every_method():
    rows = [
        row("DBSE", "accuracy_pct", 91.0, std=2.0, published=90.0),
        row("SPYL", "accuracy_pct", 88.0),
        row("DBSE", "inter_entropy", 2.1),
    ]
    figure = result_dots(rows, {"accuracy_pct": 92.0})
    (axis,) = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["DBSE", "SPYL"]
    drawn = [tuple(line.get_xdata()) for line in axis.lines]
    assert {(90.0,), (91.0,), (88.0,), (92.0, 92.0)} <= set(drawn)


def test_without_targets_every_metric_has_its_panel():
    rows = [row("DBSE", "a", 1.0), row("DBSE", "b", 2.0), row("DBSE", "c", None)]
    figure = result_dots(rows, {})
    assert len(figure.axes) == 2
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["here, ± std over seeds"]


def test_nothing_measured_is_told():
    with pytest.raises(ValueError, match="nothing to draw"):
        result_dots([row("DBSE", "a", None)], {})
