"""Search settings without labels."""
