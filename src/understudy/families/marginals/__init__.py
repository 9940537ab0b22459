"""RELEASED. What methods share that measure marginals."""
