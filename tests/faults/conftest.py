"""Tests of what a machine may do to a run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from understudy.inference import refusals


@pytest.fixture(scope="module")
def machine():
    """Runs cases one after the other, and judges chance as the tests do that load the releases."""
    program = str(Path(__file__).parent / "broken_machine.py")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, program, str(refusals.FALSE_ALARM)]
    with subprocess.Popen(command, text=True, **pipes) as process:

        def run(folder, command, **how):
            process.stdin.write(json.dumps({"folder": str(folder), "command": command, **how}))
            process.stdin.write("\n")
            process.stdin.flush()
            answers = json.loads(process.stdout.readline())
            return answers if "crowd" in how else answers[0]

        yield run
        process.stdin.close()
