"""Inference in graphical models: junction trees, estimation, sampling."""
