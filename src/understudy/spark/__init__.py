"""Rows and sums in Spark."""
