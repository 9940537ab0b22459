"""TRUSTED BASE 1: budget, composition, ledger, promise."""
