"""Tables of rows, in files or in memory, become sequences."""
