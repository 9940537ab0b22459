"""Simulation studies and case studies, reproducible by name."""
