"""RELEASED. What Bayesian synthesizers share."""
