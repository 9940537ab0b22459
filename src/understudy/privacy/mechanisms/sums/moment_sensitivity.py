"""How much one record can change a sum by cell, or a scatter pooled within cells, and why.

Notation of `scatter.py`: each z is a whole number between −R/2 and R/2, a statistic is one too.

**Sum of a column by cell.** A record adds z to one cell, |z| ≤ R/2. Added or removed, it changes
the vector by at most **R/2** in the L1 norm. Replaced, it changes two cells by at most R/2 each, or
one by |z − z'| ≤ R: **R** in all.

**Scatter.** Let E = Q − S·T/n be the exact term of a cell with n records, W = ⌊E⌋. A record (y, z)
that joins m others with means (ȳ, z̄) changes E by m/(m+1)·(y − ȳ)(z − z̄), which is below R² in
size, hence W by at most R² (a change below a whole number M moves a rounded-down number by at most
M). So:

* add/remove: **R²**;
* replace, one column with itself: the change above is never negative. Leaving lowers a cell's W by
  at most R², entering raises one by at most R², so the sum over cells changes by at most **R²**;
* replace, two columns: **2R²**. Two cells can both add: a record (R/2, R/2) leaves a cell of
  records at (−R/2, −R/2), and (R/2, −R/2) enters one of records at (−R/2, R/2); cells of m other
  records reach 2R²·m/(m+1);
* replace, and at most **one cell** that can hold both columns: with m others in it, the change is
  m/(m+1)·[f(y', z') − f(y, z)], f(y, z) = (y − ȳ)(z − z̄). On a square that contains (ȳ, z̄), f has
  a range of at most R·max(R/2 ± ȳ, R/2 ± z̄) ≤ R². If one of the two records lies outside the cell,
  it is a removal. As m + 1 ≤ n, both are at most **(n−1)/n·R²**, rounded up; n is public here.

These are the classical R²/n of a variance and R₁R₂/n of a covariance with divisor n − 1.

**A coarser lattice.** The noise of a statistic of sensitivity 2³² would soon be too wide to be
drawn exactly, so statistics are first divided by a public power of two g and rounded. A change of c
moves the rounded number by at most ⌈|c|/g⌉; if d numbers change by Δ ≥ d in all, that is together
at most d + ⌊(Δ − d)/g⌋. g is so small that this costs below one millionth of noise (1/128 at tiny
budgets).

`tests/privacy/mechanisms/sums/test_moments.py` enumerates the neighbours.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from understudy.engine.bounded_sums import HALF, STEPS
from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.mechanisms.sums.scatter import Moment
from understudy.privacy.noise.lattice_rounding import public_step
from understudy.privacy.noise.perturbation import too_little

_WIDEST: Final = 2**39  # of a scale in lattice steps; truncation may double it
_FINEST, _COARSEST = 20, 8


def whole_sensitivity(moment: Moment, neighbours: Neighbours, n_rows: int | None) -> int:
    """L1 sensitivity of the whole numbers.

    Args:
        moment: the statistic.
        neighbours: which tables count as neighbours.
        n_rows: number of records; public where a record is replaced, else None.
    """
    if moment.statistic == "sum":
        return HALF if neighbours == "add_remove" else STEPS
    full = STEPS**2
    if neighbours == "add_remove":
        return full
    if moment.cells <= 1:
        return max(1, full - full // max(n_rows or 0, 1))
    return full if moment.is_variance else 2 * full


def coordinates(moment: Moment, neighbours: Neighbours) -> int:
    """How many numbers of the statistic one record can change."""
    return 2 if moment.statistic == "sum" and neighbours == "replace" and moment.cells > 1 else 1


def rounded_sensitivity(sensitivity: int, numbers: int, coarseness: int) -> int:
    """L1 sensitivity, in lattice steps, of statistics divided by `coarseness` and rounded."""
    return numbers + (sensitivity - numbers) // coarseness


def coarseness(sensitivity: int, numbers: int, epsilon: Fraction) -> int:
    """The finest lattice, a power of two, on which noise for this ε can be drawn exactly.

    Args:
        sensitivity: L1 sensitivity of the whole numbers.
        numbers: how many of them one record can change.
        epsilon: cost.

    Raises:
        BudgetError: there is none.
    """
    for bits in range(_FINEST, _COARSEST - 1, -1):
        step = max(1, int(public_step(Fraction(sensitivity), numbers, bits)))
        if rounded_sensitivity(sensitivity, numbers, step) / epsilon <= _WIDEST:
            return step
    raise too_little()


def admissible(moment: Moment, limit: int) -> tuple[int, int]:
    """Between which whole numbers the statistic of at most `limit` records lies.

    |Σ z| ≤ N·R/2; 0 ≤ Σ (z − z̄)² ≤ N·R²/4 (Popoviciu 1935), and by Cauchy & Schwarz the size of a
    scatter of two columns has the same limit.
    """
    if moment.statistic == "sum":
        return -limit * HALF, limit * HALF
    return (0 if moment.is_variance else -limit * HALF**2), limit * HALF**2
