"""What `unbraid fit DATA` does when nothing else is said: one recipe for each kind of data.

A recipe is a method and the presets `recommended/<kind>`, which hold its nets, weights and training
for every method. It was chosen by measurement over several data sets (`unbraid reproduce recipes`,
docs/recipes.md).
"""

from dataclasses import dataclass

RECOMMENDED = "recommended"


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recommended method for a kind of data, and the measurement that supports it."""

    method: str
    why: str

    def preset(self, kind: str) -> str:
        """Return the name of its presets."""
        return f"{RECOMMENDED}/{kind}"


RECIPES = {
    "video": Recipe(
        "dsvae",
        "five sets, 5 minutes of one core, validation: separation 63 and error 15 % on average; "
        "dbse 54 and 23 %; d from features that keep their mean 47 and 20 % (docs/recipes.md).",
    ),
    "audio": Recipe(
        "dsvae",
        "three sets, 2.5 minutes of one core, validation: separation 70 and error 15 % on average; "
        "toy-voices 63, cdsvae 58, dbse 17; librispeech 70, cdsvae 73, dbse 66 (docs/recipes.md).",
    ),
    "series": Recipe(
        "dsvae",
        "seven sets, 1.5 minutes of one core, validation: separation 51 and error 9 % on average; "
        "cdsvae 50 and 10 %, dbse 22 and 12 %, one seed each (docs/recipes.md).",
    ),
}


def recommended_method(kind: str) -> str:
    """Return the method of the recipe for a kind of data."""
    return RECIPES[kind].method


def recommended_for(method: str) -> dict[str, str]:
    """Return kind -> why, of the kinds for which a method is recommended."""
    return {kind: recipe.why for kind, recipe in RECIPES.items() if recipe.method == method}
