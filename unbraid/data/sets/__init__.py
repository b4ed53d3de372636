"""Benchmark data sets in their publishers' layouts: one file each, and a line in the catalogue."""
