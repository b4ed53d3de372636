"""One published evaluation per file."""
