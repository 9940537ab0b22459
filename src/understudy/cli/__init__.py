"""The command line: a face without logic of its own.

Each file adds its commands to the program as it is imported; `app` holds the order in help.
"""

from understudy.cli import analyze, answer, evaluate, launch, ledger, release, schema
from understudy.cli.app import app, main

__all__ = [
    "analyze",
    "answer",
    "app",
    "evaluate",
    "launch",
    "ledger",
    "main",
    "release",
    "schema",
]
