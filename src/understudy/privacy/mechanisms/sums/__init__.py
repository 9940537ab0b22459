"""Noise on sums."""
