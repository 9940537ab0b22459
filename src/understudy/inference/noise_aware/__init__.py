"""Estimates from noisy counts themselves."""
