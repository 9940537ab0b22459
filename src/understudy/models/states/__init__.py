"""RELEASED. States merged and split again; numbers within bins."""
