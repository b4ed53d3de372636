"""A run folder: its plan, its files, its data and its model."""
