"""Run folders become pages: one self-contained file that opens from disk."""
