"""Files that only a code host reads: the workflow, the forms of issues, the citation."""

import os
from pathlib import Path

import pytest
import yaml

import unbraid

ROOT = Path(__file__).parents[1]
FORMS = sorted(
    path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"
)
KEYS = {"label", "description", "placeholder", "render", "value", "options", "multiple"}


def test_the_workflow_runs_what_must_pass():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert ".ci/run" in [step.get("run") for step in steps]
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML 1.1 reads the key `on` as True


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_has_the_keys_that_forms_know(form):
    content = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= set(content)
    for field in content["body"]:
        assert field["type"] in ("textarea", "input", "dropdown", "checkboxes", "markdown")
        assert set(field["attributes"]) <= KEYS, field["attributes"]


def test_the_citation_has_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(citation["version"]) == unbraid.__version__
    assert citation["references"], "the papers"
