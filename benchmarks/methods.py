"""Every method on the bundled survey, and the kernels behind those of the comparative study.

    python benchmarks/methods.py [--repeats 3]

Prints the seconds of a release of five sets at ε = 2 (median of the repeats; reading and coding the
6,366 rows included, the first run, which compiles, shown apart), then nanoseconds per record or
number of the kernels, with AES randomness where privacy rests on it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from rich.console import Console
from rich.table import Table

import understudy as us
from understudy.demo import demo_data, demo_schema
from understudy.dp.randomness import SecureRandomness
from understudy.dp.truncated_laplace import TruncatedDiscreteLaplace
from understudy.mechanisms.urn import draw_urn, prior_weight
from understudy.methods.registry import METHODS
from understudy.papers import bayesian_models
from understudy.papers.empirical_distribution import draw_counts
from understudy_studies.measures import grouped_histograms


def seconds(action: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Of the first run, and the median of the repeats."""
    found = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return found[0], float(np.median(found[1:]))


def releases(repeats: int) -> Table:
    """A release by each method."""
    data, schema = demo_data(), demo_schema()
    table = Table("method", "first run, s", "then, s")
    for name in METHODS:

        def release(method: str = name) -> object:
            return us.synthesize(
                data, schema, epsilon=2, method=method, sets=5, allow_nonprivate=True
            )

        first, later = seconds(release, repeats)
        table.add_row(name, f"{first:.2f}", f"{later:.2f}")
    return table


def kernels(repeats: int) -> Table:
    """Each kernel on 10⁶ records (or numbers), but for the distribution, drawn once."""
    source, rng = SecureRandomness(), np.random.default_rng(1)
    counts = np.tile([250, 750], (1_000, 1))

    def urn(epsilon: Fraction) -> object:
        prior = prior_weight(1_000, epsilon, reinforced=True)
        return draw_urn(counts, 2, prior, 1_000, reinforced=True, randomness=source)

    parameters = bayesian_models.NormalParameters(np.zeros(1_000), np.ones(1_000))
    distribution = TruncatedDiscreteLaplace(Fraction(20), 0, 1_000)
    statistics = np.full(10**6, 250)
    shares, edges = np.full((1_000, 20), 0.05), np.linspace(-1, 1, 21)
    line = np.full(100, 500)
    actions: dict[str, tuple[Callable[[], object], int]] = {
        "urn, ε = 0.1": (lambda: urn(Fraction(1, 10)), 10**6),
        "urn, ε = 1": (lambda: urn(Fraction(1)), 10**6),
        "normal prediction": (
            lambda: bayesian_models.predict_normal(parameters, 1_000, rng, bounds=(-3, 3)),
            10**6,
        ),
        "histogram values": (
            lambda: grouped_histograms.draw_values(shares, edges, 1_000, rng),
            10**6,
        ),
        "truncated whole-number noise": (lambda: distribution.sample(statistics, source), 10**6),
        "distribution, 100 cells, 50,000 rows, ε = 1": (
            lambda: draw_counts(line, 50_000, Fraction(1), source),
            1,
        ),
    }
    table = Table("kernel", "time")
    for name, (action, n) in actions.items():
        _, later = seconds(action, repeats)
        table.add_row(name, f"{later:.3f} s" if n == 1 else f"{1e9 * later / n:.0f} ns each")
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    console = Console()
    console.print(releases(repeats))
    console.print(kernels(repeats))


if __name__ == "__main__":
    main()
