"""RELEASED. Histograms: where bins come from."""
