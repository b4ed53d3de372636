import numpy as np
import pandas
import pytest

from unbraid.data.readers.panels import as_panel, is_table

X = np.arange(2 * 4 * 3, dtype=float).reshape(2, 4, 3)
NAMES = ["a", "b"]
LONG = pandas.DataFrame(X.reshape(-1, 3), columns=["u", "v", "w"]).assign(
    who=np.repeat(NAMES, 4), at=list(range(4)) * 2
)
INDEXED = LONG.set_index(["who", "at"])
NESTED = pandas.DataFrame(
    {name: [pandas.Series(row[:, k]) for row in X] for k, name in enumerate("uvw")}, index=NAMES
)
OBJECTS = np.empty(2, dtype=object)
OBJECTS[:] = list(X)


@pytest.mark.parametrize(
    ("x", "options"),
    [
        (X, {}),
        (list(X), {}),
        (X.tolist(), {}),
        (OBJECTS, {}),
        (X.swapaxes(1, 2), {"channels_first": True}),
        ([part.T for part in X], {"channels_first": True}),
        ([pandas.DataFrame(part) for part in X], {}),
        (INDEXED, {}),
        (NESTED, {}),
        (LONG, {"sequence": "who", "time": "at"}),
        (LONG.sample(frac=1, random_state=0), {"sequence": "who", "time": "at"}),
    ],
)
def test_every_form_of_a_panel_gives_the_same_sequences(x, options):
    assert not is_table(x, options.get("sequence"))
    panel = as_panel(x, **options)
    order = np.argsort(panel.ids) if panel.ids else [0, 1]
    assert np.array_equal(np.asarray(panel.x)[order], X)
    assert panel.ids is None or sorted(panel.ids) == NAMES


def test_polars_frames_are_read_like_those_of_pandas():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    panel = as_panel(polars.from_pandas(LONG), sequence="who", time="at")
    assert np.array_equal(panel.x, X)
    nested = polars.DataFrame({name: X[:, :, k].tolist() for k, name in enumerate("uvw")})
    assert np.array_equal(as_panel(nested).x, X)


def test_sequences_of_unequal_length_stay_a_list():
    panel = as_panel([X[0], X[1, :2]])
    assert [len(part) for part in panel.x] == [4, 2]
    rows = as_panel([[1.0, 2.0], [3.0]])
    assert [part.shape for part in rows.x] == [(2, 1), (1, 1)]


@pytest.mark.parametrize(
    "x",
    [X[0], X[0].tolist(), pandas.DataFrame(X[0]), np.array([["a"]], dtype=object), np.arange(3)],
)
def test_a_plain_table_is_no_panel(x):
    assert is_table(x)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"no column 'patient'\. Columns: u, v, w, who, at"):
        as_panel(LONG, sequence="patient")


def test_channels_of_unequal_length_are_refused():
    frame = pandas.DataFrame({"u": [[1.0, 2.0]], "v": [[1.0]]})
    with pytest.raises(ValueError, match="equally long, got 2, 1"):
        as_panel(frame)
