"""Training watched from outside: trackers, and pictures of swaps on the way."""

from unbraid.workflows.track.loggers import LOGGERS, make_loggers
from unbraid.workflows.track.previews import Previews

__all__ = ["LOGGERS", "Previews", "make_loggers"]
