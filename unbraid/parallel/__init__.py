"""Several processes on one job: launching, signals, and what they share of a batch."""
