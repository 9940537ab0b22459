"""How many exact draws a second, against numpy's inexact Laplace: ``python benchmarks/noise.py``.

Every row but the first draws exactly, from secure bits, on one core. Rates are the best of five
repetitions on warm kernels and tables, so that what else the machine does matters little. The
ratio compares with numpy's floating-point Laplace, seeded bits and all, in the same run.
"""

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from understudy.dp import sampling
from understudy.dp.distributions import LatticeLaplace
from understudy.dp.randomness import SecureRandomness
from understudy.mechanisms.selection import select

SCALES = [Fraction(1), Fraction(100, 19), Fraction(20), Fraction(1000), Fraction(10**5)]
REPETITIONS = 5

Draw = Callable[[int], Any]


def seconds(draw: Draw, size: int) -> float:
    """Best time of ``draw(size)``, after a small draw that compiles kernels and builds tables."""
    draw(size // 10)
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        draw(size)
        times.append(time.perf_counter() - start)
    return min(times)


def tabled(linear: Fraction, quadratic: Fraction, source: SecureRandomness) -> Draw | None:
    """Draws by inversion, or None where the law is too wide for a table."""
    if sampling.table_cells(linear, quadratic) > sampling.LARGEST_TABLE:
        return None
    table = sampling.build_table(linear, quadratic)
    return lambda size: sampling.draw(table, size, source)


def contestants(source: SecureRandomness) -> Iterator[tuple[str, str, str, Draw | None]]:
    """Yield (law, scale, path, draw)."""
    for s in SCALES:
        yield "discrete Laplace", str(s), "inversion", tabled(1 / s, Fraction(0), source)
        draw = lambda size, s=s: sampling.discrete_laplace(s, size, source)  # noqa: E731
        yield "discrete Laplace", str(s), "rejection", draw
    for s in SCALES:
        table = tabled(1 / (2 * s**2), 1 / s**2, source)
        yield "discrete Gaussian", str(s), "inversion", table
        draw = lambda size, s=s: sampling.discrete_gaussian(s**2, size, source)  # noqa: E731
        yield "discrete Gaussian", str(s), "rejection", draw
    for s, step in [(Fraction(20), Fraction(1, 16)), (Fraction(20), Fraction(1, 2**20))]:
        distribution = LatticeLaplace(s, step)
        path = "inversion" if step > Fraction(1, 2**10) else "rejection"
        draw = lambda size, distribution=distribution: distribution.sample(size, source)  # noqa: E731
        yield f"lattice Laplace, step {step}", str(s), path, draw


def rates(size: int, source: SecureRandomness) -> Table:
    """Measure every law and path."""
    generator = np.random.default_rng(1)
    reference = seconds(lambda n: generator.laplace(scale=20.0, size=n), size) / size
    table = Table("law", "scale", "path", title=f"{size:,} draws, AES-256-CTR bits, one core")
    for heading in ("million draws/s", "time ÷ numpy's"):
        table.add_column(heading, justify="right")
    table.add_row("numpy Laplace (inexact, PCG64)", "20", "", f"{1e-6 / reference:.1f}", "1.00")
    for distribution, scale, path, draw in contestants(source):
        if draw is None:
            table.add_row(distribution, scale, path, "no table", "")
            continue
        each = seconds(draw, size) / size
        table.add_row(distribution, scale, path, f"{1e-6 / each:.1f}", f"{each / reference:.2f}")
    return table


def table_times() -> Table:
    """Measure how long building a table takes; it happens once per law."""
    table = Table("law", "scale", "cells", "milliseconds", title="Building an inversion table")
    for s in SCALES[:-1]:
        noises = {"discrete Laplace": (1 / s, Fraction(0))}
        noises["discrete Gaussian"] = (1 / (2 * s**2), 1 / s**2)
        for name, distribution in noises.items():
            sampling.build_table.cache_clear()
            start = time.perf_counter()
            cells = sampling.build_table(*distribution).thresholds.size
            table.add_row(name, str(s), f"{cells:,}", f"{1e3 * (time.perf_counter() - start):.1f}")
    return table


def selections(source: SecureRandomness) -> Table:
    """Measure the exponential mechanism on normal scores, ε = 1, against inexact Gumbel-max."""
    generator = np.random.default_rng(1)
    table = Table("candidates", "exact, ms", "numpy Gumbel-max, ms", title="Exponential mechanism")
    for n in (20, 1000, 100_000):
        scores = generator.normal(size=n) * 50

        def exact(_: int, scores: np.ndarray = scores) -> int | None:
            one = Fraction(1)
            return select(
                scores, epsilon=one, sensitivity=one, monotone=True, feasible=None, source=source
            )

        def gumbel(_: int, scores: np.ndarray = scores) -> np.intp:
            return np.argmax(scores + generator.gumbel(size=scores.size))

        table.add_row(f"{n:,}", *(f"{1e3 * seconds(draw, 1):.3f}" for draw in (exact, gumbel)))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Rates of the exact noise samplers.")
    parser.add_argument("--draws", type=int, default=2_000_000, help="draws per measurement")
    draws = parser.parse_args().draws
    source, console = SecureRandomness(), Console()
    console.print(f"Python {platform.python_version()}, numpy {np.__version__}")
    console.print(rates(draws, source), table_times(), selections(source))


if __name__ == "__main__":
    main()
