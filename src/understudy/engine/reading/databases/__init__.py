"""Rows that a database holds: what a query may be, and how each database is read."""
