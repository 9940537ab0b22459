"""The command line: a face without logic of its own.

Each file adds its commands to the program as it is imported; `app` holds the order in help.
"""

from understudy.cli import (
    analyze_command,
    answer_command,
    audit_command,
    evaluate_commands,
    export_command,
    ledger_commands,
    regress_command,
    release_commands,
    review_command,
    risk_utility_command,
    sample_command,
    schema_commands,
    signed_release_commands,
    study_command,
    verdict_command,
    waves_command,
)
from understudy.cli.app import app, main

__all__ = [
    "analyze_command",
    "answer_command",
    "app",
    "audit_command",
    "evaluate_commands",
    "export_command",
    "ledger_commands",
    "main",
    "regress_command",
    "release_commands",
    "review_command",
    "risk_utility_command",
    "sample_command",
    "schema_commands",
    "signed_release_commands",
    "study_command",
    "verdict_command",
    "waves_command",
]
