"""Several sets, one estimate."""
