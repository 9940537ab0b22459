"""The command line: a face without logic of its own.

Each file adds its commands to the program as it is imported; help shows them in this order.
"""

from understudy.cli import release, analyze, inside, tradeoff, study, schema  # isort: skip
from understudy.cli.app import app, main

__all__ = ["analyze", "app", "inside", "main", "release", "schema", "study", "tradeoff"]
