"""The page that is made from a release alone."""
