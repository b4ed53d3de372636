"""What is computed from an opened run: sequences, maps, directions, leaks."""
