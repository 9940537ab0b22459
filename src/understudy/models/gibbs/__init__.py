"""RELEASED. Sampling column by column from released tables."""
