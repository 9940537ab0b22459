"""Texts and tables in a terminal."""
