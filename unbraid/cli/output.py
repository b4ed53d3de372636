"""Lines on the terminal."""

import typer

from unbraid.safety.names import printable


def print_line(text: object = "", *, err: bool = False) -> None:
    """Print a line; names and labels in it cannot steer the terminal."""
    typer.echo(printable(str(text)), err=err)
