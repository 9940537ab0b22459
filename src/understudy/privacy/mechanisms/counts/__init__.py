"""Noise on counts."""
