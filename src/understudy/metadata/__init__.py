"""Codebooks as public sources, and descriptions of a release in the formats of others."""
