"""What codes are good for, and how good they are."""
