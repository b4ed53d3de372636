"""Whole jobs on a run folder: what the command line and the studio call."""
