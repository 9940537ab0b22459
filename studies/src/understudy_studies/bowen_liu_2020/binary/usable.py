"""The paper's table of usable repetitions of the Laplace sanitizer, and how ours compares.

The one table of numbers that the paper prints for this study; the values of π and n, whose digits
are lost in the text that we have, were found as those that fit it.

Source: Bowen & Liu (2016), arXiv:1602.01063, supplement, table 1: shares of 5,000 repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from understudy_studies.bowen_liu_2020.binary.simulation import LAPLACE, SHARE
from understudy_studies.framework.result_curves import Curves

REPETITIONS = 5_000
BUDGETS = (-10, -9, -8, -7, -6, -5)
PRINTED: dict[tuple[float, int], tuple[float, ...]] = {
    (0.15, 40): (0.0008, 0.0018, 0.0074, 0.0190, 0.0448, 0.1140),
    (0.15, 100): (0.0016, 0.0074, 0.0140, 0.0446, 0.1144, 0.2672),
    (0.15, 1000): (0.0240, 0.0548, 0.1480, 0.3160, 0.5942, 0.8078),
    (0.25, 40): (0.0008, 0.0020, 0.0078, 0.0174, 0.0472, 0.1214),
    (0.25, 100): (0.0020, 0.0076, 0.0158, 0.0458, 0.1120, 0.2748),
    (0.25, 1000): (0.0238, 0.0568, 0.1510, 0.3310, 0.6496, 0.8990),
    (0.5, 40): (0.0012, 0.0024, 0.0074, 0.0162, 0.0464, 0.1336),
    (0.5, 100): (0.0024, 0.0070, 0.0190, 0.0458, 0.1152, 0.2868),
    (0.5, 1000): (0.0240, 0.0584, 0.1554, 0.3558, 0.7058, 0.9658),
}
"""(π, n) → share of usable repetitions at each of `BUDGETS` (log ε)."""

FAR, FARTHER = 3.0, 4.0
"""The tables agree if no |z| is above the second, and at most three are above the first."""


@dataclass(frozen=True)
class Compared:
    """An entry of the table, theirs and ours.

    Attributes:
        pi: probability of a one.
        n_rows: number of records.
        log_epsilon: logarithm of the budget.
        printed: the paper's share.
        measured: ours.
        z: their difference in standard errors of both.
    """

    pi: float
    n_rows: int
    log_epsilon: int
    printed: float
    measured: float
    z: float


def compared(curves: Curves, repetitions: int, method: str = LAPLACE) -> tuple[Compared, ...]:
    """All 54 entries.

    Args:
        curves: results with the parameters π and n.
        repetitions: number of our repetitions of each scenario.
        method: the reading of the Laplace sanitizer.
    """
    return tuple(_compared(curves, repetitions, method))


def _compared(curves: Curves, repetitions: int, method: str) -> Iterator[Compared]:
    for (pi, n_rows), shares in PRINTED.items():
        for log_epsilon, printed in zip(BUDGETS, shares, strict=True):
            measured = curves.at("usable_share", (pi, n_rows), SHARE, method, log_epsilon)
            z = difference(printed, REPETITIONS, measured, repetitions)
            yield Compared(pi, n_rows, log_epsilon, printed, measured, z)


def difference(first: float, first_n: int, second: float, second_n: int) -> float:
    """The difference of two shares in standard errors, with their common share in the error.

    Example:
        >>> round(difference(0.5, 100, 0.6, 100), 3)
        -1.421
        >>> difference(0.0, 10, 0.0, 10)
        0.0
    """
    common = (first * first_n + second * second_n) / (first_n + second_n)
    error = math.sqrt(common * (1 - common) * (1 / first_n + 1 / second_n))
    return 0.0 if first == second else (first - second) / error


def tables_agree(entries: tuple[Compared, ...]) -> bool:
    """Whether the tables differ by no more than chance explains.

    Of 54 standard normal numbers one is beyond `FARTHER` with probability 0.3 %, and more than
    three are beyond `FAR` with probability 0.002 %.
    """
    far = [abs(entry.z) for entry in entries]
    return max(far) <= FARTHER and sum(z > FAR for z in far) <= 3
