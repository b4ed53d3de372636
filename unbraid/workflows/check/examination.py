"""Look at data before training on them: what they are, what will be done, what is wrong."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from unbraid.data import data_options, is_dataset, load_data
from unbraid.data.checks.examine import Contents, examine
from unbraid.data.corpus import Corpus
from unbraid.methods import count_parameters, find_method, method_names
from unbraid.records import Spec
from unbraid.runs.plan import Plan, make_plan
from unbraid.runs.recipes import recommended_method
from unbraid.settings import Table, as_table, flat
from unbraid.workflows.check.checks import CheckInput, Finding, MethodPlan, run_checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What a look at data found.

    Attributes:
        data: name or path.
        ready: whether they can be trained on.
        command: what to type to train on them; empty if that cannot be done.
        findings: problems, warnings, notes, the most important first.
        scaling: how values are changed for a model, in words.
        settings: of the data set or reader, all of them.
        methods: what each method would do.
        contents: what the data hold; None if they could not be read.
    """

    data: str
    ready: bool
    command: str = ""
    findings: tuple[Finding, ...] = ()
    scaling: str = ""
    settings: Mapping[str, Any]
    methods: tuple[MethodPlan, ...] = ()
    contents: Contents | None = None


def check_data(
    data: str | Corpus, options: Mapping[str, Any] | None = None, *, deep: bool = False
) -> Examination:
    """Examine data before training on them; what cannot be read is a finding, not an error.

    Args:
        data: a name of the catalogue, the path of a file or folder, or a corpus in memory.
        options: settings of the data set or of the reader of the path.
        deep: look at the values of all sequences, however many there are.
    """
    name = data if isinstance(data, str) else data.spec.name
    settings: Table = {}
    try:
        if isinstance(data, str):
            settings = as_table(data_options(data, options or {}, where="--set"))
            data = load_data(data, options)
    except (ValueError, KeyError, OSError, ImportError) as error:
        problem = Finding("problem", _sentence(error))
        return Examination(data=name, ready=False, findings=(problem,), settings=settings)
    contents, spec = examine(data, deep=deep), data.spec
    methods = tuple(_planned(name, method, spec, options) for method in method_names(spec.kind))
    findings = run_checks(CheckInput(contents, methods, settings, published=is_dataset(name)))
    ready = not any(finding.level == "problem" for finding in findings)
    command = _command(name, spec, options or {}, methods) if ready else ""
    return Examination(
        data=name,
        ready=ready,
        command=command,
        findings=findings,
        scaling=_scaling(spec),
        settings=settings,
        methods=methods,
        contents=contents,
    )


def _sentence(error: Exception) -> str:
    """Return what an error says; str() of a KeyError would put quotes around it."""
    return str(error.args[0] if isinstance(error, KeyError) and error.args else error)


def _planned(name: str, method: str, spec: Spec, options: Mapping[str, Any] | None) -> MethodPlan:
    """Resolve the settings of a method and build it without memory, to see whether sizes fit."""
    try:
        settings = {"data": options} if options else None
        plan = make_plan(name, method, settings=settings, kind=spec.kind)
        with torch.device("meta"):
            model = find_method(method)(spec, plan.method_config)
    except (ValueError, KeyError, ImportError) as error:
        return MethodPlan(method=method, refusal=_sentence(error))
    return MethodPlan(
        method=method,
        preset=plan.preset,
        parameters=count_parameters(model),
        batch_size=min(plan.training.batch_size, spec.size),
        budget=_budget(plan, spec.size),
    )


def _budget(plan: Plan, sequences: int) -> str:
    """Return the budget in words; with few sequences an epoch counts as more steps than it has."""
    c = plan.training
    minutes = f", {c.max_minutes:g} min at most" if c.max_minutes else ""
    epochs = f"{c.epochs} epochs of {c.epoch_length(sequences):,} steps"
    return (f"{c.steps:,} steps" if c.steps else epochs) + minutes


def _scaling(spec: Spec) -> str:
    if spec.kind != "video":
        return "every channel less its mean, over its standard deviation, both of training"
    white = spec.scale[0]
    return "pixels as they are, in [0, 1]" if white == 1.0 else f"pixels divided by {white:g}"


def _command(
    name: str, spec: Spec, options: Mapping[str, Any], methods: tuple[MethodPlan, ...]
) -> str:
    """Return the words that train on these data, with the settings they were looked at with."""
    fitting = [plan.method for plan in methods if not plan.refusal]
    method = [] if recommended_method(spec.kind) in fitting else ["--method", fitting[0]]
    sets = [
        word for key, value in flat(options) for word in ("--set", f"data.{key}={_word(value)}")
    ]
    return shlex.join(["unbraid", "fit", name, *method, *sets])


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
