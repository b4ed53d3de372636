"""Waveforms, log-mel features and segments of speech."""
