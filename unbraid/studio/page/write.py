"""`unbraid studio RUN --export page/`: swaps, map, leaks and curves, computed beforehand."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from unbraid.files import write_text
from unbraid.studio.page.bundle import bundle, data_address
from unbraid.studio.recipe import SequenceRecipe

NAMES = ("index",)
LARGEST = 10_000_000  # bytes of the page
BUDGET = 6_500_000  # bytes of sequences, before they are written as text
SHOWN = (120, 60, 30, 12)  # sequences of the gallery, as many as fit
SWAPPED = (12, 10, 8, 6, 4, 3, 2)  # sequences that can be swapped, as many as fit
DRAWS = 6
FORMS = {"video": ("webp",), "audio": ("webp", "flac"), "series": ("json",)}


def export_page(target: str, folder: Path, *, say: Callable[[str], None]) -> int:
    """Write the page of a run; return its size in bytes.

    Args:
        target: the run folder.
        folder: where `index.html` goes.
        say: called with a line on what is being done.

    Raises:
        ValueError: it is no run, has no data, or would be larger than `LARGEST`.
    """
    from unbraid.runs.run import open_run
    from unbraid.studio.model.subject import open_subject

    subject = open_subject("run", open_run(target))
    subject.needs_model()
    subject.needs_split()
    say("measuring leaks, drawing maps")
    contents = _contents(subject, _title(Path(target)))
    say(f"decoding {len(contents['media'])} sequences")
    text = bundle(contents)
    size = len(text.encode())
    if size > LARGEST:
        raise ValueError(f"the page would have {size / 1e6:.1f} MB, {LARGEST / 1e6:.0f} at most.")
    write_text(folder / "index.html", text)
    return size


def _title(path: Path) -> str:
    return " / ".join(path.resolve().parts[-3:])


def _contents(subject: Any, title: str) -> dict[str, Any]:
    """Return what the page has instead of a server."""
    from unbraid.studio.model.analysis import leak_matrix, map_points
    from unbraid.studio.model.facts import run_facts, subject_facts

    facts = subject_facts(subject)
    shown, swapped = _sizes(subject, facts)
    chosen = [round(i * (len(facts["items"]) - 1) / max(1, shown - 1)) for i in range(shown)]
    items = [facts["items"][i] for i in sorted(set(chosen))]
    facts |= {"items": items, "title": title, "reads": [], "version": ""}
    answers: dict[str, Any] = {
        "studio": {"runs": [{"key": "run", "title": title, "data": "", "run": True}]},
        "runs/run": facts,
        "runs/run/leak": leak_matrix(subject),
        "runs/run/facts": run_facts(subject),
    }
    places = {f"t{position}": i for i, position in enumerate(subject.positions.tolist())}
    for code in ("s", "d"):
        projection = map_points(subject, code, "pca")
        points = [projection["points"][places[item["id"]]] for item in items]
        answers[f"runs/run/map?code={code}&way=pca"] = projection | {"points": points}
    swaps = [item["id"] for item in items[:swapped]]
    media: dict[str, Any] = {}
    for recipe in _recipes([item["id"] for item in items], swaps):
        media |= _media(subject, recipe, facts["sound"])
    return {"json": answers, "media": media, "swaps": swaps, "modes": ["pair", "cross", "draws"]}


def _recipes(shown: list[str], swaps: list[str]) -> Iterator[SequenceRecipe]:
    """Yield every sequence that the page can show."""
    yield from (SequenceRecipe(x=word) for word in shown)
    yield from (SequenceRecipe(s=s, d=d) for s in swaps for d in swaps)
    for word in swaps:
        for seed in range(1, DRAWS + 1):
            yield SequenceRecipe(s=word, d=f"draw{seed}")
            yield SequenceRecipe(s=f"draw{seed}", d=word)


def _query(recipe: SequenceRecipe) -> str:
    """Return the query part of an address, as `query` in the page's api.js writes it."""
    return f"x={recipe.x}" if recipe.x else f"s={recipe.s}&d={recipe.d}"


def _media(subject: Any, recipe: SequenceRecipe, sound: bool) -> dict[str, Any]:
    """Return a sequence in the forms that the page uses, by their addresses."""
    from unbraid.studio.media import as_file
    from unbraid.studio.model.decode import make_sequence

    x = make_sequence(subject, recipe)
    files = {}
    for form in FORMS[subject.spec.kind]:
        if form == "flac" and not sound:
            continue
        body, kind = as_file(subject.spec, x, form)
        value = json.loads(body) if form == "json" else data_address(body, kind)
        files[f"{form}?{_query(recipe)}"] = value
    return files


def _sizes(subject: Any, facts: dict[str, Any]) -> tuple[int, int]:
    """Return how many sequences can be shown, and how many of them swapped, within the budget."""
    first = facts["items"][0]["id"]
    media = _media(subject, SequenceRecipe(s=first, d=first), facts["sound"])
    each = max(len(json.dumps(media)), 1)
    count = len(facts["items"])
    for shown, swapped in zip((*SHOWN, *[SHOWN[-1]] * 3), SWAPPED, strict=True):
        sequences = min(shown, count) + swapped**2 + 2 * DRAWS * swapped
        if sequences * each * 1.4 < BUDGET:
            return min(shown, count), min(swapped, count)
    return min(SWAPPED[-1], count), min(SWAPPED[-1], count)
