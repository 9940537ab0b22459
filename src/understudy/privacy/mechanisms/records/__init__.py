"""Mechanisms that draw records: drawing is the protection."""
