"""The command line: parse, call the public function, print. Nothing heavy is imported here."""

from unbraid.cli.app import main

__all__ = ["main"]
