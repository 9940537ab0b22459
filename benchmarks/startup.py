"""What it costs to begin: ``python benchmarks/startup.py``.

Processor time (user and system) and the largest resident memory of new processes, the best of five
each, since what else the machine does only adds. The first run of all is not counted: it writes
byte code and brings files into memory.
"""

import os
import platform
import subprocess
import sys

RUNS = 5
COMMANDS = {
    "python, nothing else": ["-c", "pass"],
    "import understudy": ["-c", "import understudy"],
    "understudy --help": ["-m", "understudy", "--help"],
    "understudy --version": ["-m", "understudy", "--version"],
    "understudy methods": ["-m", "understudy", "methods"],
    "understudy.Schema": ["-c", "import understudy; understudy.Schema"],
    "understudy.Release": ["-c", "import understudy; understudy.Release"],
    "understudy.synthesize": ["-c", "import understudy; understudy.synthesize"],
}
LIMITS = {"import understudy": 0.5, "understudy --help": 0.3}
"""Most processor seconds that are asked for."""


def cost(arguments: list[str]) -> tuple[float, float]:
    """Processor seconds and megabytes of one new process.

    Raises:
        RuntimeError: it fails.
    """
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # nobody else may wait for it now
    if process.returncode:
        raise RuntimeError(f"{arguments} fails with exit code {process.returncode}.")
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kilobytes elsewhere
    return used.ru_utime + used.ru_stime, used.ru_maxrss / unit


def main() -> None:
    costs = {}
    for name, arguments in COMMANDS.items():
        cost(arguments)
        costs[name] = [cost(arguments) for _ in range(RUNS)]
    # Only now: a new process begins with the memory of the one that it is made from.
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"Beginning, best of {RUNS} ({platform.machine()}, {platform.python_version()})"
    )
    for heading in ("", "processor s", "at most", "memory, MB"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, runs in costs.items():
        seconds, memory = (min(values) for values in zip(*runs, strict=True))
        limit = LIMITS.get(name)
        table.add_row(name, f"{seconds:.2f}", f"{limit:g}" if limit else "", f"{memory:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
