import pytest

from unbraid.data import load_data
from unbraid.evaluation.judge import JudgeConfig, fingerprint, fit_judge, save_judge
from unbraid.rows import read_rows
from unbraid.runs.plan import make_plan
from unbraid.runs.run import Run, opened
from unbraid.training.fit import run_plan
from unbraid.workflows.evaluate.curve import draw_curves, judge_curve, minutes_at
from unbraid.workflows.evaluate.judging import Scoring

SIZES = {"train": 24, "validation": 8, "test": 8}
TINY = JudgeConfig(channels=(4, 8, 8, 8), features=16, hidden=8, batch_size=12, max_epochs=1)
ANY = Scoring(repeats=1, minimum=0.0)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    corpus = load_data("toy-sprites", SIZES)
    trained = fit_judge(corpus, TINY)
    names = [factor.name for factor, _ in trained.factors]
    folder = tmp_path_factory.mktemp("judge")
    about = {"fingerprint": fingerprint(corpus), "accuracy": dict.fromkeys(names, 0.5)}
    save_judge(trained, folder / "toy", about)
    return folder / "toy"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    settings = {
        "data": SIZES,
        "method": {"static_dim": 4, "dynamic_dim": 3, "net": {"channels": [4, 4], "hidden": 8}},
        "training": {"steps": 5, "batch_size": 4, "log_every": 1, "keep_every": 2},
    }
    plan = make_plan("toy-sprites", "dsvae", preset="none", settings=settings)
    return run_plan(plan, tmp_path_factory.mktemp("runs") / "run")


def test_every_kept_checkpoint_is_judged_and_written_down(run, judge):
    lines = []
    points = judge_curve(run.path, judge, ANY, say=lines.append)
    assert [point["step"] for point in points] == [2, 4, 5]
    assert lines == points
    minutes = [point["minutes"] for point in points]
    assert minutes == sorted(minutes)
    assert minutes[-1] == run.about["training"]["minutes"]
    written = read_rows(run.path / "judge_curve.csv")
    assert [int(row["step"]) for row in written] == [2, 4, 5]
    shares = [v for k, v in points[0].items() if " kept: " in k]
    assert len(shares) == 2 * 6
    assert all(0 <= share <= 1 for share in shares)


def test_minutes_of_a_step_are_those_of_its_row_in_the_log(run):
    row = read_rows(run.path / "log.csv")[2]
    assert minutes_at(opened(run), int(row["step"])) == pytest.approx(float(row["minutes"]))


def test_the_picture_has_the_points_of_every_run_beside_it(run, judge, tmp_path):
    judge_curve(run.path, judge, ANY)
    out = draw_curves([run.path, run.path], tmp_path / "curves.png")
    assert out.is_file()
    assert out.with_suffix(".json").read_text().count('"minutes"') == 6


def test_a_run_that_was_not_judged_is_told_how(run, tmp_path):
    (run.path / "judge_curve.csv").unlink(missing_ok=True)
    with pytest.raises(ValueError, match="unbraid judge curve"):
        draw_curves([run.path], tmp_path / "curves.png")
