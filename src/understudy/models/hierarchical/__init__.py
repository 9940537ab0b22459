"""RELEASED. Counts of trees made consistent."""
