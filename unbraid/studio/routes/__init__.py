"""What the page asks for, one file per view."""
