"""RELEASED. What methods share that count the nodes of a tree of cells."""
