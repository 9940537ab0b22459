"""Answers from the released second moments of scores: linear models, correlations, group means."""
