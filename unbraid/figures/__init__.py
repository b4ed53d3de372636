"""Pictures of arrays: one figure is one file; a figure never sees a model."""
