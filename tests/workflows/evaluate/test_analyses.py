"""Pictures of labels show the known ones alone."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unbraid.data import load_data
from unbraid.methods import METHODS
from unbraid.nets import NetConfig
from unbraid.workflows.evaluate import analyses
from unbraid.workflows.evaluate.measure import Job


@pytest.fixture
def job(monkeypatch) -> Job:
    """A job on twelve sequences; a third of two labels is unknown. Nothing is saved."""
    monkeypatch.setattr(analyses, "save_figure", lambda *args: None)
    corpus = load_data("toy-sprites", {"train": 8, "validation": 4, "test": 12})
    test, net = corpus.test, NetConfig(channels=(4, 4), hidden=8)
    labels = {name: values.copy() for name, values in test.labels.items()}
    for name in ("skin", "motion"):
        labels[name][test.rows[::3]] = -1
    cls = METHODS["dsvae"]
    method = cls(corpus.spec, cls.Config(static_dim=4, dynamic_dim=3, net=net)).eval()
    job = object.__new__(Job)
    job.__dict__["judge"] = "judge"
    job.__dict__["run"] = SimpleNamespace(
        model=method,
        corpus=SimpleNamespace(test=replace(test, labels=labels)),
        plan=SimpleNamespace(seed=0),
        device="cpu",
    )
    return job


def test_unknown_labels_have_no_point_in_a_map(job, monkeypatch, tmp_path):
    drawn: list[Any] = []
    monkeypatch.setattr(analyses, "tsne_points", lambda values: np.zeros((12, 2)))
    monkeypatch.setattr(analyses, "scatter_by_label", lambda *args: drawn.append(args))
    analyses._tsne(job, tmp_path)
    assert [(len(points), labels.min() >= 0) for points, labels, *_ in drawn] == [(8, True)] * 4


def test_unknown_labels_are_no_row_of_the_confusion_matrix(job, monkeypatch, tmp_path):
    classes = job.test.spec.dynamic[0].classes
    p = {"motion": np.eye(classes)[np.full(12, classes - 1)]}
    judge = SimpleNamespace(predict=lambda batch: p)
    drawn: list[Any] = []
    monkeypatch.setattr(analyses.judges, "load_judge", lambda *args: judge)
    monkeypatch.setattr(analyses, "confusion_matrix", lambda *args: drawn.append(args))
    analyses._confusion(job, tmp_path)
    labels = job.test.label("motion")
    wanted = np.bincount(labels[labels >= 0], minlength=classes)
    assert drawn[0][0].sum(1).tolist() == wanted.tolist()
