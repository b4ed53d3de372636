"""The program `unbraid` and how it ends."""

import os
import shlex
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Annotated

import typer

import unbraid
from unbraid.cli import (
    assess,
    catalogue,
    data,
    diagnose,
    judge,
    reproduce,
    share,
    studio,
    train,
    tune,
    use,
)
from unbraid.safety.errors import error_message
from unbraid.safety.names import printable

app = typer.Typer(
    name="unbraid",
    help="Split sequences into static and dynamic factors.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


@app.callback()
def options(
    precision: Annotated[
        str,
        typer.Option(
            help="Of trained models in use (encode, evaluate, judge, ...): auto (bf16 where it is "
            "native), fp32 or bf16. For training: fit --set training.precision=..."
        ),
    ] = "auto",
) -> None:
    """Split sequences into static and dynamic factors."""
    if precision == "auto":
        return
    if precision not in ("fp32", "bf16"):
        raise ValueError(f"--precision must be auto, fp32 or bf16, got {precision!r}.")
    from unbraid.precision import inference_precision

    inference_precision.set(precision)  # type: ignore[arg-type]


for part in (train, tune, use, share, assess, judge, diagnose, reproduce, catalogue, data, studio):
    part.register(app)


def main() -> None:
    """Run the program; a user's mistake ends in a sentence and exit code 2, ours in a log and 1."""
    try:
        app()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        sys.exit(130)
    except Exception as error:
        if os.environ.get("UNBRAID_DEBUG"):
            raise
        sentence = error_message(error)
        if sentence:
            sys.stderr.write(f"Error: {printable(' '.join(sentence.splitlines()))}\n")
            sys.exit(2)
        first = (str(error).splitlines() or [""])[0]
        sys.stderr.write(
            f"Error: unexpected {type(error).__name__}: {printable(first)} The traceback is in "
            f"{_write_log()} (please report it).\n"
        )
        sys.exit(1)


def _write_log() -> Path:
    """Write the traceback of the present error to a file of its own and return that."""
    text = f"unbraid {unbraid.__version__}, Python {sys.version}\n"
    text += f"{shlex.join(['unbraid', *sys.argv[1:]])}\n\n{traceback.format_exc()}"
    with tempfile.NamedTemporaryFile(
        "w", prefix="unbraid-", suffix=".log", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    return Path(file.name)
