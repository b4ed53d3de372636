"""The estimator keeps scikit-learn's contract, and learns what `unbraid.fit` learns."""

import io
import pickle
from typing import Any

import joblib
import numpy as np
import pandas
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import unbraid
from unbraid.sklearn import SequenceDisentangler

SMALL = {"method": {"net": {"hidden": 4, "series_layers": [4, 4]}}}
DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(24, 20, 3)).astype(np.float32)
Y = np.arange(24) % 2
# None fails. scikit-learn itself skips `check_array_api_input` unless SCIPY_ARRAY_API is set.
EXPECTED_FAILURES: dict[str, str] = {}
MORE_CHECKS = (
    "check_set_output_transform",
    pytest.param("check_set_output_transform_pandas", marks=pytest.mark.slow),
    pytest.param("check_global_output_transform_pandas", marks=pytest.mark.slow),
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
)


def small(**params: Any) -> SequenceDisentangler:
    sizes = {"static_dim": 3, "dynamic_dim": 2, "max_steps": 2, "settings": SMALL}
    return SequenceDisentangler(**sizes | params)


@pytest.fixture(scope="module")
def fitted() -> SequenceDisentangler:
    return small(output="both", window=2).fit(X)


@estimator_checks.parametrize_with_checks(
    [small()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learn_s_own_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:X (does not have|has) .*feature names")
@pytest.mark.parametrize("name", MORE_CHECKS)
def test_checks_that_scikit_learn_runs_on_its_own_transformers_pass(name):
    getattr(estimator_checks, name)("SequenceDisentangler", small())


def test_the_same_seed_gives_the_weights_of_fit_bit_by_bit(tmp_path):
    estimator = small(random_state=3).fit(X)
    settings = {"method": {"static_dim": 3, "dynamic_dim": 2, **SMALL["method"]}}
    settings |= {"training": {"steps": 2}}
    corpus = unbraid.from_arrays(X)
    run = unbraid.fit(corpus, settings=settings, seed=3, out=tmp_path, device="cpu")
    theirs = run.model().state_dict()
    for name, weight in estimator.model_.state_dict().items():
        assert torch.equal(weight, theirs[name]), name
    codes = unbraid.embed(run.model(), corpus.test)
    assert np.array_equal(estimator.transform(X[corpus.test.rows]), codes.s)


def test_the_corpus_of_fit_can_be_asked_for():
    assert np.array_equal(small().make_corpus(X).train.rows, unbraid.from_arrays(X).train.rows)


def test_without_a_test_fraction_these_sequences_are_trained_on():
    corpus = small(test_fraction=0).make_corpus(X)
    assert len(corpus.train) + len(corpus.validation) == len(X)


def test_swapping_with_itself_is_what_inverse_transform_returns(fitted):
    first, second = fitted.swap(X[:4], X[:4])
    assert first.shape == (4, 20, 3)
    assert np.array_equal(first, second)
    assert np.allclose(first, fitted.inverse_transform(fitted.transform(X[:4])), atol=1e-5)


def test_static_codes_alone_cannot_be_turned_back(fitted):
    with pytest.raises(ValueError, match='only output="both" can be inverted'):
        clone(fitted).set_params(output="static").fit(X).inverse_transform(np.zeros((1, 3)))


def test_column_names_say_code_step_and_number(fitted):
    names = fitted.get_feature_names_out()
    assert [*names[:4], names[-1]] == ["s_0", "s_1", "s_2", "d_0_0", "d_9_1"]
    frame = clone(fitted).set_output(transform="pandas").fit(X).transform(X)
    assert list(frame.columns) == list(names)


def test_short_sequences_have_no_codes_beyond_their_end():
    parts = [X[0], X[1, :10], *X[2:12]]
    estimator = small(output="dynamic", window=2).fit(parts)
    codes = estimator.transform(parts).reshape(12, 10, 2)
    assert np.isnan(codes[1, 5:]).all()
    assert not np.isnan(codes[1, :5]).any()
    assert estimator.swap(parts[:1], parts[1:2])[0].shape == (1, 10, 3)


def test_missing_values_are_not_zeros():
    gaps = X.copy()
    gaps[:, ::3, 0] = np.nan
    estimator = small().fit(gaps)
    assert estimator.model_.spec.missing
    assert np.isfinite(estimator.transform(gaps)).all()
    assert not np.allclose(estimator.transform(gaps), estimator.transform(np.nan_to_num(gaps)))


@pytest.mark.parametrize("copied", ["pickle", "joblib", "save"])
def test_a_copy_from_a_file_gives_the_same_codes(copied, fitted, tmp_path):
    if copied == "pickle":
        other = pickle.loads(pickle.dumps(fitted))
    elif copied == "joblib":
        joblib.dump(fitted, file := io.BytesIO())
        other = joblib.load(file)
    else:
        fitted.save(tmp_path)
        other = SequenceDisentangler.load(tmp_path)
        assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".safetensors"}
    assert np.array_equal(other.transform(X), fitted.transform(X))
    assert other.get_params() == fitted.get_params()
    assert np.array_equal(other.swap(X[:1], X[1:2])[0], fitted.swap(X[:1], X[1:2])[0])


def test_a_pickle_holds_the_model_as_safetensors(fitted):
    state = fitted.__getstate__()["model_"]
    assert set(state) == {"model.json", "model.safetensors"}
    assert b"torch" not in pickle.dumps(fitted).replace(state["model.json"], b"")


def test_a_foreign_file_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"there is no estimator\.json"):
        SequenceDisentangler.load(tmp_path)


def test_a_classifier_behind_it_is_searched_and_cross_validated():
    pipeline = make_pipeline(small(), StandardScaler(), LogisticRegression())
    scores = cross_val_score(pipeline, X, Y, cv=2)
    assert scores.shape == (2,)
    assert ((scores >= 0) & (scores <= 1)).all()
    grid = {"sequencedisentangler__static_dim": [2, 4]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, Y)
    width = search.best_params_["sequencedisentangler__static_dim"]
    assert search.best_estimator_[0].transform(X).shape == (24, width)


def test_a_search_without_labels_goes_by_the_evidence_bound():
    search = GridSearchCV(small(), {"max_steps": [1, 30]}, cv=2, refit=False).fit(list(X))
    assert search.best_params_ == {"max_steps": 30}


def test_a_warm_start_goes_on_from_the_weights_there_are():
    estimator = small(warm_start=True, max_steps=12).fit(X)
    first = estimator.model_.state_dict()
    estimator.set_params(max_steps=1).fit(X)
    again = estimator.model_.state_dict()
    fresh = small(max_steps=1).fit(X).model_.state_dict()

    def distance(one: Any, other: Any) -> float:
        return sum(float((one[k] - other[k]).abs().sum()) for k in one)

    assert 0 < distance(first, again) < distance(fresh, again)


def test_a_run_folder_is_kept_if_asked_for(tmp_path):
    estimator = small(out=str(tmp_path), max_steps=20).fit(X)
    assert estimator.run_.path == tmp_path / "X" / "dsvae" / "0"
    assert estimator.history_[0]["step"] == 20


@pytest.mark.slow
def test_several_processes_encode_the_same(fitted):
    codes = fitted.transform(X)
    assert np.array_equal(fitted.set_params(n_jobs=2).transform(X), codes)
    fitted.set_params(n_jobs=None)


def test_video_is_taken_by_its_axes():
    video = DRAWS.integers(0, 255, (6, 4, 1, 16, 16), dtype=np.uint8)
    nets = {"method": {"net": {"channels": [2, 2], "hidden": 4}}}
    estimator = small(settings=nets, preset="none").fit(video)
    assert estimator.transform(video).shape == (6, 3)
    assert estimator.swap(video[:2], video[2:4])[0].shape == (2, 4, 1, 16, 16)


def test_wrong_channels_and_words_are_refused_with_a_sentence(fitted):
    with pytest.raises(ValueError, match="X has 2 channels"):
        fitted.transform(X[..., :2])
    with pytest.raises(ValueError, match="infinity"):
        fitted.transform(np.full_like(X, np.inf))
    with pytest.raises(ValueError, match="output must be static, dynamic, both"):
        small(output="s").fit(X)
    with pytest.raises(ValueError, match="equally many"):
        fitted.swap(X[:1], X[:2])


def test_an_index_of_sequences_comes_out_again():
    names = [f"p{i}" for i in range(24)]
    index = pandas.MultiIndex.from_product([names, range(20)])
    frame = pandas.DataFrame(X.reshape(-1, 3), index=index)
    codes = small().set_output(transform="pandas").fit_transform(frame)
    assert list(codes.index) == names
