"""Errors that are not ours: which they are, and what there is to do."""

import errno

MEMORY = (
    "there is not enough memory. Use smaller batches (training.batch_size), fewer sequences or "
    "smaller settings of the method, or end other programs."
)
EXPECTED = (ValueError, KeyError, OSError, ArithmeticError, ImportError)
"""Errors whose message is a sentence for the user; of others the whole traceback is shown."""


def error_message(error: Exception) -> str:
    """Return what to tell the user; empty if the error is a mistake of the program."""
    if is_memory(error):
        return MEMORY
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return (
            f"the disk is full{f' ({error.filename})' if error.filename else ''}. What was "
            "written before is kept. Free some space, then give the same command again, or go on "
            "with `unbraid fit --resume RUN`."
        )
    if isinstance(error, KeyError) and error.args:
        text = str(error.args[0])  # str() of a KeyError would put quotes around the sentence
        return text if " " in text else ""  # a bare key was not meant for the user
    return str(error) if isinstance(error, EXPECTED) else ""


def is_memory(error: Exception) -> bool:
    """Say whether memory ran out; PyTorch has no class of its own for that on a CPU."""
    words = ("not enough memory", "can't allocate memory", "out of memory")
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in words)
    )
