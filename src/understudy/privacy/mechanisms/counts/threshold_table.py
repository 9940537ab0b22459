"""A noisy table of any size, of which only the cells above a public threshold are kept.

The dense sanitizer perturbs every allowed cell; zeroing all noisy counts below a threshold that
does not depend on the rows is post-processing, so the survivors have the guarantee of the dense
table. Empty cells are not visited one by one: the number of survivors among them is binomial, each
exceeds the threshold by a geometric amount (the law is memoryless), and their places are uniform
(Cormode, Procopiuc, Srivastava & Tran 2012, "Differentially private summaries for sparse data").

Each of these draws is exact (`trials`, `rejection`, `empty_cells`), so the law is that of the dense
table to the last bit: a cell that can survive when it is occupied can survive when it is empty.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.engine import ExactCells
from understudy.privacy.mechanisms.counts.empty_cells import fresh_cells
from understudy.privacy.noise.binomial_sampling import successes, survival
from understudy.privacy.noise.distributions import DiscreteLaplace, LatticeLaplace
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyCells
from understudy.schema import Domain


def threshold_for(n_cells: int, scale: Fraction, spurious: float) -> int:
    """Public threshold at which about `spurious` empty cells survive among `n_cells`.

    b · log(K / (2 · spurious)), rounded up to a whole count; at least 1.
    """
    odds = math.log(max(1, n_cells)) - math.log(2 * spurious)
    return max(1, math.ceil(float(scale) * odds))


def noisy_cells(
    exact: ExactCells,
    columns: tuple[str, ...],
    domain: Domain,
    law: DiscreteLaplace | LatticeLaplace,
    *,
    threshold: int,
    randomness: Randomness,
) -> NoisyCells:
    """The noisy cells that reach the threshold, ordered by their code.

    Args:
        exact: occupied cells.
        columns: names of the columns.
        domain: their domain.
        law: calibrated noise.
        threshold: public, at least 1.
        randomness: source of every draw.
    """
    units, step = in_units(law)
    least = math.ceil(threshold / step)
    noisy = exact.counts * int(1 / step) + units.sample(len(exact.counts), randomness)
    kept = noisy >= least
    n_empty = domain.n_allowed - len(exact.codes)
    spurious = successes(n_empty, survival(units.scale, least), randomness)
    codes = np.concatenate(
        [exact.codes[kept], fresh_cells(spurious, domain, exact.codes, randomness)]
    )
    values = np.concatenate([noisy[kept], least + non_negative(units, spurious, randomness)])
    # Cells leave in the order of their codes: the order of drawing would tell which were occupied.
    order = np.argsort(codes)
    outside = float(exact.outside + law.sample(1, randomness)[0])
    counts = values[order] if step == 1 else values[order] * float(step)
    return NoisyCells(columns, codes[order], counts, float(threshold), outside)


def in_units(law: DiscreteLaplace | LatticeLaplace) -> tuple[DiscreteLaplace, Fraction]:
    """A Laplace law as an integer law in units of its lattice, and the step of the lattice."""
    if isinstance(law, LatticeLaplace):
        return DiscreteLaplace(law.scale / law.step), law.step
    return law, Fraction(1)


def non_negative(law: DiscreteLaplace, n: int, randomness: Randomness) -> NDArray[np.int64]:
    """Draws from the law given that they are at least 0, by rejection; shape (n,)."""
    found = np.zeros(0, dtype=np.int64)
    while len(found) < n:
        drawn = law.sample(2 * (n - len(found)) + 8, randomness)
        found = np.concatenate([found, drawn[drawn >= 0]])
    return found[:n]
