"""RELEASED. What several published methods share; no method by name."""
