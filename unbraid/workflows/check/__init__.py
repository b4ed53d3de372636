"""Look at data before training on them."""
