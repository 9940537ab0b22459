"""BOUNDARY: the only rooms where exact values become released ones."""
