"""What a training step costs, measured and counted: `make bench`."""
