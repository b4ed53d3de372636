"""People's own files and folders become sequences."""
