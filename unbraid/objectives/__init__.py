"""Pure functions, one family of loss terms per file."""
