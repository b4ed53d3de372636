"""What comes from outside: its words, its sizes, and whose files are whose."""
