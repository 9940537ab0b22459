"""The empty cells of a huge table, without writing them out.

A sanitizer adds noise to all K cells, though only J of them hold records. The K₀ = K − J others are
exchangeable, so a few aggregates and a uniform choice of places stand for all of them (Bowen & Liu
2020, §3.1.1, made exact for large K; Cormode et al. 2012 for the filtered form).

**Arithmetic.** The noise of occupied cells, token draws, urns and the places of empty cells are
exact integer draws; so is the number of cells that reach a threshold (`trials`). In the lazy forms
the number of positive empty cells (binomial) and their total (negative binomial), of the order of
all cells, are exact in real arithmetic and evaluated in double precision, which `ROUNDING` says in
the guarantee.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.engine.occupied_cells import decode, encode
from understudy.privacy.noise.randomness import Randomness
from understudy.schema import Domain

ROUNDING = (
    "The number and the total of noisy empty cells are drawn in double precision, so their "
    "probabilities hold up to rounding errors."
)
_ENUMERATE = 2**20
_FEW = 2**12


def fresh_cells(
    n: int, domain: Domain, occupied: NDArray[np.int64], randomness: Randomness
) -> NDArray[np.int64]:
    """Distinct cells, uniform without replacement over the allowed cells that hold no record.

    Exactly so: a uniform whole number stands for a cell, however rules divide the cells.

    Args:
        n: how many; at most the number of allowed empty cells.
        domain: sizes and structural zeros; at most 2⁶² allowed cells.
        occupied: codes of the occupied cells, ascending.
        randomness: source of the draw.

    Returns:
        Mixed-radix codes in random order, shape (n,).
    """
    if _written_out(n, domain, len(occupied)):
        empty = domain.allowed_mask().reshape(-1)
        empty[occupied] = False
        codes = np.flatnonzero(empty)
        return codes[randomness.permutation(len(codes))[:n]]
    found = np.zeros(0, dtype=np.int64)
    while len(found) < n:
        wanted = n - len(found)
        tried = wanted + wanted // 8 + 8
        columns = domain.cells(randomness.below(domain.n_allowed, tried))
        drawn = encode([column.astype(np.uint32) for column in columns], domain.sizes)
        drawn = drawn[~is_among(occupied, drawn)]
        both = np.concatenate([found, drawn])
        _, first = np.unique(both, return_index=True)
        found = both[np.sort(first)][:n]
    return found


def _written_out(n: int, domain: Domain, n_occupied: int) -> bool:
    """Whether it takes less to list all empty cells than to draw until new ones are found.

    A drawn cell is new with probability above 1/2 if at least half of all cells stay empty.
    """
    if domain.n_cells <= _FEW:
        return True
    ample = 2 * (domain.n_allowed - n_occupied - n) >= domain.n_cells
    return domain.n_cells <= _ENUMERATE and not (ample and n < domain.n_cells // 64)


def is_among(ascending: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the wanted codes stand in an ascending array."""
    if not len(ascending):
        return np.zeros(len(wanted), dtype=np.bool_)
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.asarray(ascending[place] == wanted)


def columns_of(codes: NDArray[np.int64], domain: Domain) -> tuple[NDArray[np.int64], ...]:
    """States per column of cells given by their codes."""
    return tuple(column.astype(np.int64) for column in decode(codes, domain.sizes))
