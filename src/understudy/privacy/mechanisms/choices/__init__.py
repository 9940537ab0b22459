"""Choosing, by the exponential mechanism."""
