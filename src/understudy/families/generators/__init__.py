"""RELEASED. What methods share that choose the parameters of a generator."""
