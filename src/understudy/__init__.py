"""Synthetic microdata you can publish and do statistics on."""
