"""RELEASED. Conjugate models with sufficient statistics."""
