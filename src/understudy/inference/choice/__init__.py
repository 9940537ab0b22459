"""Which rule is valid for which release, and why not."""
