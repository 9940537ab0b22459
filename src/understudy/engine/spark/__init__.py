"""Rows in a Spark data frame: each pass is one job, and what leaves a task is its sums alone."""
