"""What labels say of a trial, on its validation split; the search itself never reads them."""

from collections.abc import Iterator

import numpy as np

from unbraid.data.corpus import Corpus, Split
from unbraid.evaluation.manipulate import Embedding, embed
from unbraid.evaluation.protocols.probes import ProbeRow, probe
from unbraid.evaluation.protocols.series_tasks import Score, code_examples, predict_target
from unbraid.evaluation.protocols.speakers import verify_speakers
from unbraid.evaluation.protocols.verdict import strongest
from unbraid.methods.base import Method
from unbraid.records import Factor

Scores = dict[str, float]
CHOOSE = 0.15  # share of training sequences that choose a predictor, so that validation only scores
FEWEST = 7  # sequences a probe wants: five neighbours among four fifths of them


def labelled_scores(method: Method, corpus: Corpus) -> Scores:
    """Return labelled numbers of a model on validation, more is better for all; the main one first.

    * Series: `task skill`, the mean over targets of how far a linear predictor on the codes gets
      from guessing to perfection (AUROC of two classes, accuracy of more, error of numbers), and
      each target's own numbers, errors with a minus.
    * Otherwise `probe gap`: how much better a classifier reads a factor from the code that should
      tell it than from the other one, mean over static and dynamic factors; 1 at most.
    * With speakers and utterances, `EER gap`: dynamic less static equal error rate.
    """
    split = corpus.validation
    codes = embed(method, split)
    scores: Scores = {}
    if split.spec.kind == "series":
        scores |= _tasks(method, corpus, codes)
    scores |= _probes(codes, split)
    if {"speaker", "utterance"} <= set(split.labels):
        scores["EER gap"] = verify_speakers(codes, split).gap
    if not scores:
        raise ValueError(f"{corpus.spec.name} has no labels to compare with on validation.")
    return scores


def _probes(codes: Embedding, split: Split) -> Scores:
    if not split.labels or len(split) < FEWEST:
        return {}
    gap = probe_gap(probe(codes, split, classifiers=("svc", "knn"), seeds=3))
    return {} if gap is None else {"probe gap": gap}


def probe_gap(rows: list[ProbeRow]) -> float | None:
    """Return the mean over roles of (accuracy from the right code less that from the wrong one).

    With static and dynamic factors it is the mean of the two gaps of `gaps`.
    """
    best = strongest(rows)
    gaps = []
    for role in {row.role for row in best}:
        right, wrong = (
            [row.mean for row in best if row.role == role and row.wanted == wanted]
            for wanted in (True, False)
        )
        gaps.append(np.mean(right) - np.mean(wrong))
    return float(np.mean(gaps)) if gaps else None


def _tasks(method: Method, corpus: Corpus, codes: Embedding) -> Scores:
    """Return what codes are good for: learned on training codes, scored on validation."""
    order = np.random.default_rng(0).permutation(len(corpus.train))
    cut = max(1, round(CHOOSE * len(order)))
    parts = [corpus.train.select(rows) for rows in (order[cut:], order[:cut])]
    coded = [(embed(method, part), part) for part in parts] + [(codes, corpus.validation)]
    scores = [
        (factor, score)
        for factor in (*corpus.spec.static, *corpus.spec.dynamic)
        for score in _scores(coded, factor)
    ]
    if not scores:
        return {}
    main = [skill(score) for factor, score in scores if score.metric == _main(factor)]
    numbers = {f"{f.name} {s.metric}": -s.mean if s.metric == "mae" else s.mean for f, s in scores}
    return {"task skill": float(np.mean(main))} | numbers


def _scores(coded: list[tuple[Embedding, Split]], factor: Factor) -> Iterator[Score]:
    """Yield the scores of one target; none if it is not known where it must be."""
    try:
        train, choose, held = (code_examples(codes, split, factor) for codes, split in coded)
        yield from predict_target([train, choose, held], factor, predictor="linear", seeds=1).scores
    except (KeyError, ValueError):
        return


def _main(factor: Factor) -> str:
    return {0: "mae", 2: "auroc"}.get(factor.classes, "accuracy")


def skill(score: Score) -> float:
    """Return the way from guessing (0) to perfection (1) that a score has gone.

    >>> skill(Score("accuracy", 0.75, 0.0, 0.5))
    0.5
    """
    if score.metric == "mae":
        return 1 - score.mean / max(score.chance, 1e-12)
    return (score.mean - score.chance) / max(1 - score.chance, 1e-12)
