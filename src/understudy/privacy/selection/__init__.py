"""TRUSTED where something is chosen: the exponential mechanism and its scores."""
