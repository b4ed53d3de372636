"""Pure functions of predictions: no model, no loader, no file inside."""
