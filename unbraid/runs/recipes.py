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
        "five sets, 5 minutes of one core, validation: separation 64 and error 15 % on average; "
        "dbse 55 and 23 %; d from features that keep their mean 47 and 20 % (docs/recipes.md).",
    ),
    "audio": Recipe(
        "dsvae",
        "spoken words of 60 speakers: speaker 89 % from s and 36 % from d; dbse: 62 % and 83 %; "
        "toy-voices, as long: separation 48, dbse 11.",
    ),
    "series": Recipe(
        "dsvae",
        "five sets, a minute each, validation: separation 36 and error 13 % on average; with KL "
        "weights of 1: 18 and 32 %. dbse on toy-series: 11 where dsvae has 39.",
    ),
}


def recommended_method(kind: str) -> str:
    """Return the method of the recipe for a kind of data."""
    return RECIPES[kind].method


def recommended_for(method: str) -> dict[str, str]:
    """Return kind -> why, of the kinds for which a method is recommended."""
    return {kind: recipe.why for kind, recipe in RECIPES.items() if recipe.method == method}
