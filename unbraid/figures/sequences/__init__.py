"""Sequences as pictures, animations and sounds."""
