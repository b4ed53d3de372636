"""A judge learns its data from training labels only, and refuses what it cannot judge."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from unbraid.data import load_data
from unbraid.data.corpus import Corpus, Split
from unbraid.evaluation import judge as judges
from unbraid.evaluation.judge import Judge, JudgeConfig, fit_judge, load_judge, save_judge
from unbraid.evaluation.judge.model import JudgeNet, make_judge
from unbraid.evaluation.judge.readers import distorted
from unbraid.evaluation.judge.training import JudgeTraining
from unbraid.evaluation.metrics.classification import chance
from unbraid.records import Batch

TINY = JudgeConfig(channels=(4, 8, 8, 8), features=16, hidden=8, batch_size=12, max_epochs=1)
ABOUT = {"accuracy": {"motion": 1.0}}
SIZES = {"train": 48, "validation": 8, "test": 8}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_data("toy-sprites", SIZES)


@pytest.fixture(scope="module")
def judge(corpus: Corpus) -> Judge:
    return fit_judge(corpus, TINY)


def _shuffled(split: Split) -> Split:
    rng = np.random.default_rng(1)
    return replace(split, labels={k: rng.permutation(v) for k, v in split.labels.items()})


def _same(a: Judge, b: Judge) -> bool:
    pairs = zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    return all(torch.equal(x, y) for x, y in pairs)


def test_a_judge_learns_a_small_set_by_heart(corpus: Corpus):
    few = corpus.train.select(slice(0, 24))
    config = JudgeConfig(
        channels=(4, 8, 16, 32),
        features=32,
        hidden=32,
        lr=1e-2,
        batch_size=12,
        max_epochs=30,
        patience=30,
    )
    accuracy = judges.test_accuracy(
        fit_judge(replace(corpus, train=few, validation=few), config), few
    )
    assert set(accuracy) == {"skin", "style", "hair", "top", "trousers", "motion"}
    assert min(accuracy.values()) > 0.9
    assert chance(few.label("motion")) < 0.25


def test_attention_tells_moving_objects_apart_where_they_are_and_what_they_are():
    few = load_data("toy-digits", {"train": 60, "validation": 1, "test": 1}).train
    spec = replace(few.spec, static=few.spec.static[1:])  # without the hundred pairs
    few = replace(few, spec=spec)
    config = JudgeConfig(
        reader="attention",
        channels=(8, 16, 32),
        heads=2,
        lr=1e-2,
        batch_size=20,
        window=3,
        max_epochs=60,
        patience=60,
    )
    some = few.select(slice(0, 6))
    learned = fit_judge(Corpus(spec=spec, train=few, validation=some, test=some), config)
    accuracy = judges.test_accuracy(learned, few)
    assert set(accuracy) == {"first", "second", "first_quadrant", "second_quadrant"}
    assert min(accuracy.values()) > 0.8
    batch = few.take(slice(0, 4))
    turned = learned.predict(batch.steps(torch.arange(few.spec.length).flip(0)))
    assert np.allclose(turned["first"], learned.predict(batch)["first"], atol=1e-5)
    shorter = learned.predict(replace(batch, mask=batch.mask & (torch.arange(15) < 9)))
    cut = learned.predict(batch.steps(slice(0, 9)))
    assert np.allclose(shorter["second"], cut["second"], atol=1e-5)  # padding is not looked at


def test_a_judge_may_learn_some_factors_only(corpus: Corpus):
    judge = Judge(corpus.spec, replace(TINY, factors=("skin", "motion")))
    assert [factor.name for factor, _ in judge.factors] == ["skin", "motion"]
    with pytest.raises(KeyError, match=r"no classes of 'skins'.*Did you mean 'skin'"):
        Judge(corpus.spec, replace(TINY, factors=("skins",)))


def test_a_deeper_judge_begins_as_the_shallow_one_plus_what_its_layers_add(corpus: Corpus):
    config = JudgeConfig(reader="attention", channels=(4, 6, 8))
    shallow, deep = Judge(corpus.spec, config), Judge(corpus.spec, replace(config, depth=3))
    new_reader, old_reader = deep.nets[0].reader, shallow.nets[0].reader
    blocks = [layer for layer in new_reader.pyramid if hasattr(layer, "added")]
    assert len(blocks) == 4  # two after each of two halvings
    kept = [layer for layer in new_reader.pyramid if not hasattr(layer, "added")]
    for new, old in zip(kept, old_reader.pyramid, strict=True):
        new.load_state_dict(old.state_dict())
    for part in ("score", "value"):
        getattr(new_reader, part).load_state_dict(getattr(old_reader, part).state_dict())
    deep.nets[0].heads.load_state_dict(shallow.nets[0].heads.state_dict())
    batch = corpus.test.take(slice(0, 3))
    deep.eval(), shallow.eval()
    assert not np.allclose(deep.predict(batch)["skin"], shallow.predict(batch)["skin"])
    for block in blocks:  # nothing added
        torch.nn.init.zeros_(block.added[1].weight)
    for name, p in deep.predict(batch).items():
        np.testing.assert_allclose(p, shallow.predict(batch)[name], atol=1e-6)
    with pytest.raises(ValueError, match="depth"):
        JudgeConfig(depth=0)


def test_attention_is_for_video():
    spec = load_data("toy-series", {"train": 4, "validation": 2, "test": 2}).spec
    with pytest.raises(ValueError, match=r"toy-series is series\. Use judge\.reader=recurrent"):
        Judge(spec, JudgeConfig(reader="attention"))


FORMER = [
    {"nets.0.": ""},  # one net
    {"nets.0.reader.encoder.": "encoder.", "nets.0.reader.lstm.": "reader.", "nets.0.": ""},
]


@pytest.mark.parametrize("former", FORMER)
def test_a_judge_of_former_versions_is_read(corpus: Corpus, judge: Judge, tmp_path: Path, former):
    save_judge(judge, tmp_path, {"fingerprint": "", **ABOUT})
    path = tmp_path / "judge.safetensors"
    weights = {}
    for name, value in load_file(path).items():
        for today, then in former.items():
            name = name.replace(today, then)
        weights[name] = value
    save_file(weights, path)
    assert _same(load_judge(tmp_path), judge)


def test_a_judge_of_several_nets_says_the_mean_of_what_they_say(corpus: Corpus, tmp_path: Path):
    trained = fit_judge(corpus, replace(TINY, members=2, max_steps=2))
    batch = corpus.test.take(slice(0, 3))
    single = replace(TINY, members=1)
    parts = []
    for net in trained.nets:
        one = Judge(corpus.spec, single).eval()
        one.nets[0].load_state_dict(net.state_dict())
        parts.append(one.predict(batch))
    assert not np.allclose(parts[0]["motion"], parts[1]["motion"], atol=1e-4)  # weights of its own
    for name, p in trained.predict(batch).items():
        np.testing.assert_allclose(p, (parts[0][name] + parts[1][name]) / 2, atol=1e-6)
    save_judge(trained, tmp_path, {"fingerprint": "", **ABOUT})
    assert _same(load_judge(tmp_path), trained)
    with pytest.raises(ValueError, match="members"):
        JudgeConfig(members=0)


def test_each_net_of_a_judge_learns_as_if_it_were_alone(corpus: Corpus):
    both = JudgeTraining(Judge(corpus.spec, replace(TINY, members=2)), corpus, 0)
    both.judge.train()
    both.loss(corpus.train.select(slice(0, 6))).backward()
    for net in both.judge.nets:
        one = JudgeTraining(Judge(corpus.spec, TINY), corpus, 0)
        one.judge.nets[0].load_state_dict(net.state_dict())
        one.judge.train()
        one.loss(corpus.train.select(slice(0, 6))).backward()
        for mine, alone in zip(net.parameters(), one.judge.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, alone.grad)


def test_one_seed_gives_one_judge(corpus: Corpus, judge: Judge):
    assert _same(judge, fit_judge(corpus, TINY))
    assert not _same(judge, fit_judge(corpus, TINY, seed=1))


def test_a_judge_may_learn_from_some_steps_and_judges_all(corpus: Corpus, monkeypatch):
    seen: list[int] = []
    forward = JudgeNet.forward

    def watched(self: JudgeNet, batch: Batch) -> dict[str, torch.Tensor]:
        seen.append(batch.x.shape[1])
        return forward(self, batch)

    monkeypatch.setattr(JudgeNet, "forward", watched)
    config = replace(TINY, window=3, optimizer="muon")
    trained = fit_judge(corpus, config)
    length = corpus.spec.length
    assert set(seen) == {3, length}  # training, and validation
    assert _same(trained, fit_judge(corpus, config))


@pytest.mark.parametrize("steps", [1, 4, 7])  # within an epoch and at its end
def test_a_judge_that_was_stopped_goes_on_to_the_same_result(
    corpus: Corpus, tmp_path: Path, monkeypatch, steps: int
):
    more = {"members": 2, "window": 3, "distortion": 0.1, "optimizer": "muon"}
    config = replace(TINY, **more, max_epochs=5, max_steps=10)
    few = replace(corpus, train=corpus.train.select(slice(0, 4 * TINY.batch_size)))
    whole, file = fit_judge(few, config), tmp_path / "checkpoint.safetensors"
    monkeypatch.setattr("unbraid.evaluation.judge.training.KEEP_EVERY", -1.0)
    keep = JudgeTraining.keep

    def stopped(self: JudgeTraining) -> None:
        keep(self)
        if self.step == steps:
            raise KeyboardInterrupt

    monkeypatch.setattr(JudgeTraining, "keep", stopped)
    with pytest.raises(KeyboardInterrupt):
        fit_judge(few, config, checkpoint=file)
    monkeypatch.setattr(JudgeTraining, "keep", keep)
    with pytest.raises(ValueError, match="other settings, seed or data"):
        fit_judge(few, config, seed=1, checkpoint=file)
    made: list[int] = []
    monkeypatch.setattr(JudgeTraining, "keep", lambda self: made.append(self.step))
    assert _same(fit_judge(few, config, checkpoint=file), whole)
    assert made == list(range(steps + 1, 11))


def test_a_judge_that_memory_cannot_hold_is_refused_before_it_is_made(corpus: Corpus):
    with pytest.raises(ValueError, match=r"a judge with [\d,]+ parameters needs .*judge\.members"):
        make_judge(corpus.spec, replace(TINY, members=10**9))


def test_only_labels_of_the_training_split_teach(corpus: Corpus, judge: Judge):
    others = replace(corpus, validation=_shuffled(corpus.validation), test=_shuffled(corpus.test))
    assert _same(judge, fit_judge(others, TINY))
    assert not _same(judge, fit_judge(replace(corpus, train=_shuffled(corpus.train)), TINY))


def test_the_epoch_best_on_validation_is_kept(corpus: Corpus, judge: Judge):
    # Every epoch looks worse than the one before: patience ends it, and the first is kept.
    class Rising(JudgeTraining):
        def validation_loss(self) -> float:
            super().validation_loss()
            return float(self.step)

    config = replace(TINY, max_epochs=9, patience=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unbraid.evaluation.judge.training.JudgeTraining", Rising)
        trained = fit_judge(corpus, config)
    steps = trained.state_dict()["nets.0.reader.encoder.pyramid.1.num_batches_tracked"]
    assert int(steps) == len(corpus.train) // TINY.batch_size  # those of one epoch, not of three


def test_the_budget_in_steps_ends_the_training(corpus: Corpus):
    trained = fit_judge(corpus, replace(TINY, max_epochs=9, max_steps=3))
    assert int(trained.state_dict()["nets.0.reader.encoder.pyramid.1.num_batches_tracked"]) == 3


FEW = {"train": 16, "validation": 4, "test": 4}
VOICES = {"speakers": 4, "validation_speakers": 2, "test_speakers": 2, "utterances": 4}


@pytest.mark.parametrize(
    ("name", "sizes"), [("toy-series", FEW), ("toy-voices", VOICES), ("toy-digits", FEW)]
)
def test_any_kind_can_be_judged_and_labels_per_step_too(name: str, sizes: dict[str, int]):
    small = load_data(name, sizes)
    trained = fit_judge(small, replace(TINY, batch_size=8))
    batch = small.test.take(slice(None))
    predictions = trained.predict(batch)
    for factor, _ in trained.factors:
        shape = batch.mask.shape if factor.per_step else batch.mask.shape[:1]
        assert predictions[factor.name].shape == (*shape, factor.classes)
        assert predictions[factor.name].sum(-1) == pytest.approx(1.0, abs=1e-5)
    assert all(0 <= value <= 1 for value in judges.test_accuracy(trained, small.test).values())


def test_padded_steps_do_not_count(judge: Judge, corpus: Corpus):
    batch = corpus.test.take(slice(None))
    mask = torch.arange(8) < torch.tensor([8, 5, 3, 8, 1, 2, 7, 4])[:, None]
    steps = mask[..., None, None, None]
    clean, spoiled = (judge.predict(Batch(batch.x.where(steps, v), mask)) for v in (0.0, 9.0))
    assert all(np.array_equal(clean[name], spoiled[name]) for name in clean)


def test_predictions_do_not_depend_on_how_many_are_made_at_a_time(judge: Judge, corpus: Corpus):
    batch = corpus.test.take(slice(None))
    whole, pieces = judge.predict(batch), judge.predict(batch, size=3)
    assert all(whole[name] == pytest.approx(pieces[name], abs=1e-6) for name in whole)


def test_a_saved_judge_comes_back_exactly(judge: Judge, corpus: Corpus, tmp_path: Path):
    save_judge(judge, tmp_path, {**ABOUT, "fingerprint": judges.fingerprint(corpus)})
    back = load_judge(tmp_path)
    assert _same(judge, back)
    assert (back.spec, back.config, back.training) == (judge.spec, judge.config, False)
    judges.check_judge(judges.read_judge(tmp_path), corpus)


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("judge.json", "{", "judge.json is damaged"),
        ("judge.json", '{"format": "other"}', "is not a judge of ours: its format is 'other'"),
        ("judge.json", '{"format": "unbraid-judge-1"}', "has no fingerprint"),
        ("judge.safetensors", "no weights", "is damaged or not a safetensors file"),
        ("judge.json", None, "Make a judge with `unbraid judge fit`"),
    ],
)
def test_damaged_and_foreign_files_are_refused(judge: Judge, tmp_path: Path, file, text, sentence):
    save_judge(judge, tmp_path, {**ABOUT, "fingerprint": "0"})
    (tmp_path / file).unlink()
    if text is not None:
        (tmp_path / file).write_text(text)
    with pytest.raises(ValueError, match=sentence):
        load_judge(tmp_path)


def test_weights_of_another_judge_are_refused(judge: Judge, tmp_path: Path):
    save_judge(judge, tmp_path, {**ABOUT, "fingerprint": "0"})
    about = json.loads((tmp_path / "judge.json").read_text())
    about["config"]["hidden"] = 9
    (tmp_path / "judge.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="does not belong to"):
        load_judge(tmp_path)


def _brighter(corpus: Corpus) -> Corpus:
    return replace(corpus, train=replace(corpus.train, x=corpus.train.x // 2))


@pytest.mark.parametrize(
    "change",
    [
        _brighter,
        lambda corpus: replace(corpus, train=_shuffled(corpus.train)),
        lambda corpus: replace(corpus, test=corpus.test.select(slice(0, 4))),
        lambda corpus: replace(corpus, spec=replace(corpus.spec, scale=(256.0,))),
    ],
)
def test_other_data_are_refused(corpus: Corpus, change):
    about = {**ABOUT, "fingerprint": judges.fingerprint(corpus)}
    judges.check_judge(about, load_data("toy-sprites", SIZES))
    with pytest.raises(ValueError, match="trained on other data than this toy-sprites"):
        judges.check_judge(about, change(corpus))


@pytest.mark.parametrize("value", [0.949, float("nan")])
def test_a_weak_judge_is_refused_by_name(corpus: Corpus, value: float):
    about = {
        "fingerprint": judges.fingerprint(corpus),
        "accuracy": {"hair": 0.97, "motion": value},
    }
    with pytest.raises(ValueError, match=r"own test split: motion .* less than 95 %"):
        judges.check_judge(about, corpus)
    if value == value:
        judges.check_judge(about, corpus, minimum=0.9)


def test_data_without_classes_cannot_be_judged(corpus: Corpus):
    bare = replace(corpus.spec, static=(), dynamic=())
    with pytest.raises(ValueError, match="toy-sprites has no labelled classes"):
        Judge(bare, TINY)


def test_a_run_is_scored_by_a_judge_of_its_data_and_by_no_other(tmp_path: Path):
    from unbraid.runs.run import opened
    from unbraid.training.fit import fit
    from unbraid.workflows.evaluate import judging

    sizes = {"train": 12, "validation": 4, "test": 8}
    net = {"channels": [4, 4, 4, 4], "hidden": 8}
    run = fit(
        "toy-sprites",
        "dsvae",
        out=tmp_path,
        settings={
            "data": sizes,
            "training": {"steps": 2, "batch_size": 4},
            "method": {"static_dim": 4, "dynamic_dim": 4, "net": net},
        },
    )
    made = {"channels": [4, 4, 4, 4], "hidden": 8, "max_steps": 2}
    folder = judging.fit_judge(
        "toy-sprites", settings={"data": sizes, "judge": made}, out=tmp_path / "judges"
    )
    assert folder == tmp_path / "judges" / "toy-sprites"
    with pytest.raises(ValueError, match="does not know its own test split"):
        judging.score(opened(run), folder)
    trusting = judging.Scoring(repeats=2, limit=6, minimum=0.0)
    metrics = judging.score(opened(run), folder, trusting)
    assert metrics["sequences"] == 6
    assert json.loads((run.path / "judge.json").read_text()) == metrics
    assert {row["kept"] for row in metrics["rows"]} == {"s", "d", "both", "data", "prior"}
    assert len(judging.samples_screen(metrics).rows) == 6
    assert len(judging.leakage_screen(metrics).rows) == 6
    assert len(judging.scores_screen(metrics).rows) == 6
    assert len(judging.accuracy_table(folder).rows) == 6
    other = judging.fit_judge(
        "toy-sprites",
        settings={"data": {**sizes, "seed": 1}, "judge": made},
        out=tmp_path / "other",
    )
    with pytest.raises(ValueError, match="trained on other data"):
        judging.score(opened(run), other, trusting)
    with pytest.raises(ValueError, match="holds a judge already"):
        judging.fit_judge("toy-sprites", settings={"data": sizes}, out=tmp_path / "judges")


def test_distorted_sequences_keep_their_middle_and_change_alike_in_all_frames():
    x = torch.zeros(3, 2, 1, 9, 9)
    x[:, :, :, 4, 4] = 1.0
    x[:, 1, :, 4, 8] = 0.5
    same = distorted(x, 0.0, np.random.default_rng(0))
    torch.testing.assert_close(same, x)
    other = distorted(x, 0.3, np.random.default_rng(0))
    assert not torch.allclose(other[0], other[1])  # each sequence in a way of its own
    assert (other[:, :, 0, 4, 4] > 0.9).all()
    first = x.clone()
    first[:, 1] = x[:, 0]
    other = distorted(first, 0.3, np.random.default_rng(0))
    assert torch.equal(other[:, 0], other[:, 1])  # its frames alike


def test_elastic_distortion_shifts_pixels_by_its_deviation_and_frames_alike():
    ramp = torch.arange(64.0).expand(200, 2, 1, 64, 64)  # a value is the column it came from
    other = distorted(ramp, 0.0, np.random.default_rng(0), elastic=1.5)
    assert torch.equal(other[:, 0], other[:, 1])
    inner = (other - ramp)[:, 0, 0, 8:-8:8, 8:-8:8]  # away from the border, which brings zeros
    assert inner.std().item() == pytest.approx(1.5, rel=0.25)  # smooth between its nodes
    assert inner.mean().abs() < 0.1
    near = (other - ramp)[:, 0, 0, 30, 30:32]
    assert (near[:, 0] - near[:, 1]).std() < 0.5  # neighbours move together
    torch.testing.assert_close(distorted(ramp, 0.0, np.random.default_rng(0)), ramp)


def test_a_distortion_where_there_are_no_pixels_is_refused():
    spec = load_data("toy-series", {"train": 20}).spec
    with pytest.raises(ValueError, match="move pixels"):
        Judge(spec, JudgeConfig(distortion=0.1))


def _unknown(split: Split, name: str, rows: np.ndarray) -> Split:
    labels = split.labels[name].copy()
    labels[split.rows[rows]] = -1
    return replace(split, labels={**split.labels, name: labels})


def test_unknown_labels_do_not_teach(corpus: Corpus, judge: Judge):
    training = JudgeTraining(judge, corpus, 0)
    single = Judge(corpus.spec, replace(TINY, factors=("motion",))).eval()
    one = JudgeTraining(single, corpus, 0)
    split, rows = corpus.validation, np.arange(8)
    hidden = _unknown(split, "motion", rows[:5])
    with torch.no_grad():
        assert one.loss(hidden).item() == pytest.approx(one.loss(split.select(rows[5:])).item())
        others = training.loss(split) - training.loss(_unknown(split, "motion", rows))
    assert torch.isfinite(others)
    loss = one.loss(_unknown(split, "motion", rows))
    loss.backward()  # nothing is known, and nothing breaks
    assert loss.item() == 0.0


def test_a_judge_of_labels_per_step_learns_where_some_are_unknown():
    corpus = load_data("toy-series", {"train": 24, "validation": 8, "test": 8})
    state = corpus.train.labels["state"].copy()
    state[:, ::2] = -1
    splits = {
        name: replace(corpus.split(name), labels={**corpus.train.labels, "state": state})
        for name in ("train", "validation", "test")
    }
    some = replace(corpus, **splits)
    learned = fit_judge(some, replace(TINY, factors=("state",)))
    part = some.test
    batch = part.take(slice(None))
    hits = learned.predict(batch)["state"].argmax(-1) == part.label("state")
    wanted = hits[:, 1::2][batch.mask[:, 1::2].numpy()].mean()
    assert judges.test_accuracy(learned, part)["state"] == pytest.approx(wanted)


def test_the_accuracy_of_a_judge_is_that_of_known_labels(corpus: Corpus, judge: Judge):
    test, rows = corpus.test, np.arange(8)
    known = judges.test_accuracy(judge, test.select(rows[3:]))
    assert judges.test_accuracy(judge, _unknown(test, "hair", rows[:3]))["hair"] == known["hair"]
    assert "hair" not in judges.test_accuracy(judge, _unknown(test, "hair", rows))


def test_the_chance_of_a_judge_is_that_of_known_labels(corpus: Corpus, judge: Judge):
    from unbraid.workflows.evaluate import judging

    test, rows = corpus.test, np.arange(8)
    wanted = chance(test.label("hair")[6:])
    assert judging._chances(judge, _unknown(test, "hair", rows[:6]))["hair"] == wanted
    assert "hair" not in judging._chances(judge, _unknown(test, "hair", rows))
