"""What is declared, shipped and shown is what the code needs and does."""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import torch

import unbraid
from tests.conformance.toys import KINDS, NET, toy_batch, toy_spec
from unbraid.methods.base import Method
from unbraid.records import Codes

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BROUGHT = {"datasets"}  # people's own: objects they hand over already
CHECKERS = {"beartype"}


def _names(requirements: list[str]) -> set[str]:
    words = [re.split(r"[<>=\[]", word)[0] for word in requirements]
    return {word.lower().replace("_", "-") for word in words}


def _imported() -> set[str]:
    """Every top-level package that a file of ours imports, wherever in it."""
    names: set[str] = set()
    for path in (ROOT / "unbraid").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names


def test_every_package_that_is_imported_is_declared():
    extras = PROJECT["optional-dependencies"]
    optional = {name for key, words in extras.items() if key != "dev" for name in _names(words)}
    declared = _names(PROJECT["dependencies"]) | optional
    homes = packages_distributions()
    for name in sorted(_imported() - {"unbraid"} - BROUGHT - CHECKERS):
        wanted = {home.lower().replace("_", "-") for home in homes.get(name, [])}
        assert not wanted or wanted & declared, f"{name} is imported but not declared"


def test_every_extra_stands_in_the_readme():
    text = (ROOT / "README.md").read_text().split("## Install")[1]
    for extra in set(PROJECT["optional-dependencies"]) - {"all", "dev"}:
        assert f"`{extra}` (" in text, extra


def test_every_dependency_says_in_contributing_what_it_is_for():
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## Dependencies")[1]
    extras = PROJECT["optional-dependencies"]
    words = [word for key, words in extras.items() if key not in ("all", "dev") for word in words]
    for name in _names([*PROJECT["dependencies"], *words]):
        assert name in table, name


def test_type_checkers_see_the_types():
    assert (Path(unbraid.__file__).parent / "py.typed").is_file()


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Adding a method")[1]
    (code,) = re.findall(r"```python\n(.*?)```", text.split("\n## ")[0], re.DOTALL)
    names: dict[str, Any] = {"__name__": "contributing"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_the_method_shown_in_contributing_trains_and_answers_the_verbs(kind, example):
    torch.manual_seed(0)
    config = example["PlainConfig"](static_dim=4, dynamic_dim=3, net=NET)
    method = example["Plain"](toy_spec(kind), config)
    assert isinstance(method, Method)
    batch = toy_batch(kind)
    loss = sum(weight * value for weight, value in method.loss(batch, 0).values())
    loss.backward()
    assert all(part.grad is not None for part in method.parameters())
    codes = method.encode(batch)
    assert isinstance(codes, Codes)
    assert method.decode(codes).shape == batch.x.shape
    assert method.decode(method.sample(2, 7)).shape == (2, 7, *batch.x.shape[2:])
