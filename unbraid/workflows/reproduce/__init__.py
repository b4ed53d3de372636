"""Published comparisons, made again."""
