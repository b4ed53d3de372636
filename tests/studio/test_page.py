import re

import pytest

from unbraid.studio.page.bundle import as_script, module_map
from unbraid.studio.page.write import LARGEST, export_page


def test_a_text_cannot_end_the_script_around_it():
    assert "</script>" not in as_script({"label": "</script><script>alert(1)</script>"})


def test_every_import_of_a_module_is_in_the_map():
    from base64 import b64decode

    made = module_map()
    for address in made.values():
        text = b64decode(address.split(",")[1]).decode()
        for name in re.findall(r'from\s+"([^"]+)"', text):
            assert name in made


@pytest.mark.parametrize("kind", ["video", "series"])
def test_an_exported_page_is_one_small_file(runs, tmp_path, monkeypatch, kind):
    monkeypatch.setattr("unbraid.studio.page.write._sizes", lambda subject, facts: (4, 2))
    size = export_page(str(runs[kind]), tmp_path, say=lambda text: None)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    assert size < LARGEST
    text = (tmp_path / "index.html").read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', text)
