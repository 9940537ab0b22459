"""Scores and models that only studies use."""
