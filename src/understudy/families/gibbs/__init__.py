"""RELEASED. What methods share that draw records column by column."""
