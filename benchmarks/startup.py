"""What it costs to begin, and what it weighs: ``python benchmarks/startup.py``.

Processor time (user and system) and the largest resident memory of new processes, the best of five
each, since what else the machine does only adds. The first run of all is not counted: it writes
byte code and brings files into memory. *Cold* runs of the demo find an empty folder of compiled
kernels, the best of three; warm ones find what a cold one left.

Then the size of the core installation by distribution: files that pip knows of, byte code too, as
they are in this environment. What extras bring is apart.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

RUNS, COLD_RUNS = 5, 3
PLAN = (
    "import understudy as us; from understudy.demo import demo_schema; "
    "us.plan(demo_schema(), epsilon=1, delta='1e-6')"
)
COMMANDS = {
    "python, nothing else": ["-c", "pass"],
    "import understudy": ["-c", "import understudy"],
    "understudy --help": ["-m", "understudy", "--help"],
    "understudy --version": ["-m", "understudy", "--version"],
    "understudy methods": ["-m", "understudy", "methods"],
    "understudy.Schema": ["-c", "import understudy; understudy.Schema"],
    "understudy.Release": ["-c", "import understudy; understudy.Release"],
    "understudy.synthesize": ["-c", "import understudy; understudy.synthesize"],
    "a plan of the demo's survey": ["-c", PLAN],
}
COLD, WARM = "understudy demo, cold", "understudy demo, warm"
LIMITS = {"import understudy": 0.5, "understudy --help": 0.3, COLD: 8.0, WARM: 3.0}
"""Most processor seconds that are asked for."""
MOST_MEGABYTES = 950
SMALL = 5.0
"""Megabytes below which distributions are not told apart."""


def cost(arguments: list[str], more: dict[str, str] | None = None) -> tuple[float, float]:
    """Processor seconds and megabytes of one new process.

    Args:
        arguments: of Python.
        more: variables of its environment, beside those of this one.

    Raises:
        RuntimeError: it fails.
    """
    variables = os.environ | (more or {})
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has byte code
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, env=variables
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # nobody else may wait for it now
    if process.returncode:
        raise RuntimeError(f"{arguments} fails with exit code {process.returncode}.")
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kilobytes elsewhere
    return used.ru_utime + used.ru_stime, used.ru_maxrss / unit


def demos() -> dict[str, list[tuple[float, float]]]:
    """Costs of the demo, cold and warm."""
    found: dict[str, list[tuple[float, float]]] = {COLD: [], WARM: []}
    with tempfile.TemporaryDirectory() as folder:
        ask = ["-m", "understudy", "demo", "--quiet", "--out", f"{folder}/release"]
        for k in range(COLD_RUNS):
            kernels = {"NUMBA_CACHE_DIR": f"{folder}/kernels-{k}"}
            found[COLD].append(cost(ask, kernels))
        found[WARM] += [cost(ask, kernels) for _ in range(RUNS)]
    return found


def needed(names: set[str]) -> dict[str, Distribution]:
    """Distributions and all that they require, without extras; what is not installed is left out.

    Args:
        names: of distributions; "name[extra]" for what an extra of it requires.
    """
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name, _, extra = waiting.pop().rstrip("]").partition("[")
        try:
            one = distribution(name)
        except PackageNotFoundError:  # for another system, or another version of Python
            continue
        known = one.name.lower() in found
        found[one.name.lower()] = one
        if extra or not known:
            waiting += requirements(one, extra)
    return found


def requirements(one: Distribution, extra: str) -> Iterator[str]:
    """Names that a distribution requires; those of an extra alone if one is named."""
    for text in one.requires or []:
        requirement, _, marker = text.partition(";")
        wanted = re.findall(r"extra == ['\"]([^'\"]+)['\"]", marker)
        if wanted == ([extra] if extra else []):
            yield re.split(r"[\s<>=!~(]", requirement.strip(), maxsplit=1)[0]


def megabytes(one: Distribution) -> float:
    """Size of all files of a distribution, in 10⁶ bytes."""
    places = (Path(str(file.locate())) for file in one.files or [])
    return sum(place.stat().st_size for place in places if place.is_file()) / 1e6


def sizes(ones: Iterable[Distribution], title: str, limit: float | None = None) -> None:
    """Print a table of sizes, the largest first."""
    from rich.console import Console
    from rich.table import Table

    found = sorted(((megabytes(one), one.name) for one in ones), reverse=True)
    table = Table("distribution", title=title)
    table.add_column("MB", justify="right")
    for size, name in found:
        if size >= SMALL:
            table.add_row(name, f"{size:.1f}")
    small = [size for size, _ in found if size < SMALL]
    table.add_row(f"{len(small)} others", f"{sum(small):.1f}")
    total = f"{sum(size for size, _ in found):.0f}"
    table.add_row("in all", total if limit is None else f"{total} (at most {limit:g})")
    Console().print(table)


def main() -> None:
    costs = {}
    for name, arguments in COMMANDS.items():
        cost(arguments)
        costs[name] = [cost(arguments) for _ in range(RUNS)]
    costs |= demos()
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
    core = needed({"understudy"})
    sizes(core.values(), "The core installation", MOST_MEGABYTES)
    for extra in ("demo", "evaluate", "ledger", "numpyro", "postgres"):
        more = needed({f"understudy[{extra}]"})
        sizes([more[name] for name in more.keys() - core.keys()], f"The extra {extra} adds")


if __name__ == "__main__":
    main()
