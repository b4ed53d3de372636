"""Measure a run, and write its page."""
