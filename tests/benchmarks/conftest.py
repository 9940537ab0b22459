"""Benchmarks stand outside the package: their folder is put on the path, as for a script."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
