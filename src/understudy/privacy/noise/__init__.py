"""TRUSTED BASE 2: bits, distributions, exact samplers, calibration."""
