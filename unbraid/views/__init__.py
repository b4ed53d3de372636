"""Views of a sequence: shuffled time, other colours, other voices."""

from collections.abc import Callable
from typing import Literal

from unbraid.records import Batch, Spec
from unbraid.views.audio import voice_view
from unbraid.views.series import scaled_view
from unbraid.views.video import kornia_view, video_view

__all__ = ["ViewName", "dynamic_view_for"]

View = Callable[[Batch], Batch]
ViewName = Literal["auto", "kornia", "scale", "none"]


def dynamic_view_for(spec: Spec, choice: ViewName) -> View | None:
    """Return the view that keeps dynamic and changes static factors, or None if there is none.

    Video: one crop, colour distortion and blur per sequence. Audio: another voice. Series have no
    accepted view; "scale" multiplies every channel by a random factor. "kornia" is the video
    view made by that library.
    """
    if choice == "none" or (choice == "auto" and spec.kind == "series"):
        return None
    meant_for = {"scale": "series", "kornia": "video"}.get(choice, spec.kind)
    if meant_for != spec.kind:
        raise ValueError(f"dynamic_view '{choice}' is for {meant_for}, {spec.name} is {spec.kind}.")
    if choice == "kornia":
        return kornia_view
    return {"video": video_view, "audio": voice_view, "series": scaled_view}[spec.kind]
