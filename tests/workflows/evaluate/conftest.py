import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_reports(blank_figures: None) -> None:
    """Reports are about what is measured and written; their charts are blank."""
