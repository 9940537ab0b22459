"""INTERNAL. How close a release comes to the rows."""
