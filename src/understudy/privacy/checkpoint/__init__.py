"""Killed runs continue: what was paid, and what came of it."""
