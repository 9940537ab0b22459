"""Algorithms from a gate to a model: what is measured, and what is fitted to it."""
