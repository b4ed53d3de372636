"""Codes of a large corpus as a file: encoded in parts, in flat memory, resumable."""

from unbraid.workflows.export.job import EncodeConfig, encode

__all__ = ["EncodeConfig", "encode"]
