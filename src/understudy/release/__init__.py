"""Releases: rows, noisy measurements, schema, manifest."""
