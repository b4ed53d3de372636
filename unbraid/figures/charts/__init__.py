"""Measurements as charts."""
