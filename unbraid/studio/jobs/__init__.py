"""Trainings that the page starts: processes that outlive page and server."""
