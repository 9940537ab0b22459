"""RELEASED: what methods fit and share. Models hold released values only."""
