"""RELEASED: valid inference from a release alone."""
