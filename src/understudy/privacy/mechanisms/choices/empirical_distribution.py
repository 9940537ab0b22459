r"""The empirical distribution function by the exponential mechanism, drawn exactly.

The records lie on a public line of G cells, in a public order; N_k of them lie in the first k
cells. A candidate is a vector of counts y ≥ 0 of these cells with at most n records in all, Y_k its
cumulative counts; n is public or was released before. The mechanism chooses y with

    P(y) ∝ exp(-ε·min(D(y), T)/2),    D(y) = max over k ≤ G of |Y_k - min(N_k, n)|,

T a public cap: the Kolmogorov–Smirnov distance in records, all count vectors equally likely
beforehand (Wasserman & Zhou 2010; Bowen & Liu 2020, eq. 7, where n is the number of records, and
the exponent ε·n·KS/2).

**Sensitivity.** A record in cell a adds 1 to N_k for all k ≥ a and nothing elsewhere. Add/remove:
each N_k changes by 0 or 1. Replace, from cell a to cell b: by 0, or by 1 in one direction between a
and b. A record outside the grid is in no N_k, so leaving the grid is a removal, and entering it an
addition. So each N_k changes by at most 1 in both relations; min(·, n), the distance to a fixed
Y_k, the maximum over k and min(·, T) change by no more than what they are made of. The score has
sensitivity 1, both ways, and the factor exp(-ε·D/2) makes it ε-DP (McSherry & Talwar 2007). It is
not monotone: a record can bring one candidate closer and take another further away. The law also
is ε-bounded-range, hence ε²/8-zCDP (Cesar & Rogers 2021, lemma 3.2).

**Exact draw, nothing subtracted.** Let w(t) = exp(-εt/2) for t ≤ T, and w(T + 1) = 0. Summed by
parts, w(min(D, T)) = Σ over t ≥ min(D, T) of (w(t) - w(t + 1)). So the law is a mixture: draw t
with weight N(t)·(w(t) - w(t + 1)), where N(t) counts the paths within band t (`bands.py`) and N(T)
all of them, then a uniform path within band t.

**Blocks of levels.** N(t) grows like tᴳ, so neighbouring levels are put into blocks t₀ ≤ t ≤ t₁ of
relative width 2/G: draw a block with weight N(t₁)·(w(t₀) - w(t₁ + 1)), a level t within it with
weight w(t) - w(t + 1), a uniform path within band t₁, and accept it if D(y) ≤ t, else begin again.
An accepted y has weight Σ over t ≥ D(y) of N(t₁)·(w(t) - w(t + 1))/N(t₁), which is the mixture,
whatever the blocks are. A third or more are accepted, and about G/2 + (G/2)·log(T/G) bands are
counted instead of T.

**The cap.** The path min(N, n) itself has distance 0, and there are C = C(n + G, G) candidates, so
P(D ≥ T) ≤ C·w(T) < 10⁻⁶ for T ≥ (2/ε)·(log C + 14), whatever the rows. No distance exceeds n. T is
also lowered until a draw takes at most `MOST_STEPS` additions; that costs accuracy, not privacy.
`require_drawable` refuses beforehand where it would cost much.

**How far off.** In well filled cells N(t) ≈ (2t + 1)ᴳ: D is about Gamma(G + 1) with scale 2/ε, and
each cumulative count uniform within ± D. Its error has a standard deviation of about
(2/ε)·√((G + 1)(G + 2)/3), stated as `stddev`; less where cells are empty. It grows like G, whereas
sums of independent noise in G cells grow like √G.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.engine import ExactTable
from understudy.errors import MethodError
from understudy.privacy.mechanisms.choices.distribution_bands import (
    any_path,
    log_all_paths,
    log_paths,
    path_within,
)
from understudy.privacy.mechanisms.counts.noisy_table import MAX_CELLS
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import DrawnDistribution, Noise
from understudy.schema import Domain

MOST_STEPS = 2**32
"""Most additions of one draw."""

MOST_CELLS = 2**14
"""Longest line."""

ROUNDING = (
    "The distance of a cumulative distribution is drawn in double precision, so its probabilities "
    "hold up to rounding errors."
)
_RARE = 14  # e^-14 < 10⁻⁶


@dataclass(frozen=True, kw_only=True)
class CumulativeDistribution:
    """Specification: the distribution of one line of cells.

    Attributes:
        columns: names; the allowed cells of their table stand in its C order, the last column
            running fastest.
    """

    columns: tuple[str, ...]


def line_query(columns: tuple[str, ...]) -> str:
    """What is asked, in the words of the ledger."""
    return f"distribution of {' × '.join(columns)}"


def require_drawable(
    columns: tuple[str, ...], domain: Domain, n_rows: int | None, epsilon: Fraction
) -> None:
    """Refuse lines too long to be drawn, or drawn well; a public check.

    Distances are typically below 2G/ε. Where twice that is below the number of rows, a cap below
    it would spoil what the budget could buy.

    Args:
        columns: names.
        domain: the domain of these columns.
        n_rows: number of rows if it is public, or a public limit of it.
        epsilon: cost.

    Raises:
        MethodError: too many cells, in all or for this budget.
    """
    names, n_cells = ", ".join(columns), domain.n_allowed
    if n_cells > MOST_CELLS or domain.n_cells > MAX_CELLS:
        raise MethodError(
            f"The line of {names} has {n_cells:,} cells, more than {MOST_CELLS:,}; "
            "take columns=independent, coarser bins or fewer columns."
        )
    if n_rows is None:
        return
    far, cap = 4 * n_cells / epsilon, highest_level(n_cells, n_rows, epsilon)
    if cap < needed_level(n_cells, n_rows, epsilon) and cap < far < n_rows:
        raise MethodError(
            f"The line of {names} has {n_cells:,} cells, too many to be drawn from at this budget "
            "in reasonable time; take coarser bins, fewer columns or a larger epsilon."
        )


def describe_distance(epsilon: Fraction) -> str:
    """The law of the distance, for the ledger."""
    return f"exp(−distance / {2 / epsilon}), the largest error of a cumulative count"


def noise_of_distance(epsilon: Fraction, n_cells: int) -> Noise:
    """What a drawn distribution says about its error: √(mean square) of one cumulative count."""
    scale = 2 / epsilon
    return Noise(
        "exponential_mechanism",
        str(scale),
        float(scale) * math.sqrt((n_cells + 1) * (n_cells + 2) / 3),
    )


def drawn_distribution(
    exact: ExactTable,
    columns: tuple[str, ...],
    domain: Domain,
    *,
    n_rows: int,
    margin: int,
    epsilon: Fraction,
    randomness: Randomness,
) -> DrawnDistribution:
    """Draw the counts of all allowed cells.

    Args:
        exact: the exact table over `columns`.
        columns: names, one per axis.
        domain: the domain of these columns.
        n_rows: number of records, public or released.
        margin: by how many records a candidate may exceed it.
        epsilon: cost.
        randomness: source of every draw.
    """
    allowed = domain.allowed_mask()
    drawn = draw_counts(exact.inside[allowed], n_rows + margin, epsilon, randomness)
    counts = np.zeros(domain.sizes, dtype=np.int64)
    counts[allowed] = drawn
    return DrawnDistribution(columns, counts, outside=max(0, n_rows - int(drawn.sum())))


def draw_counts(
    counts: NDArray[np.int64], total: int, epsilon: Fraction, randomness: Randomness
) -> NDArray[np.int64]:
    """One draw of the mechanism.

    Args:
        counts: exact count of each cell on the line, shape (G,), G ≥ 1.
        total: largest number of records of a candidate; public or released.
        epsilon: cost.
        randomness: source of every draw.

    Returns:
        Shape (G,).
    """
    if total == 0:
        return np.zeros(len(counts), dtype=np.int64)
    cumulative = np.minimum(np.cumsum(counts), total)
    cap = highest_level(len(counts), total, epsilon)
    ends = block_ends(len(counts), cap)
    weights = _block_weights(cumulative, total, ends, cap, float(epsilon))
    while True:
        block = _pick(weights, randomness)
        if block == len(ends):
            return np.diff(any_path(len(counts), total, randomness), prepend=0)
        first = 0 if block == 0 else int(ends[block - 1]) + 1
        steps = np.arange(int(ends[block]) - first + 1)
        level = first + _pick(steps * (-float(epsilon) / 2), randomness)
        path = path_within(cumulative, total, int(ends[block]), randomness)
        if np.abs(path - cumulative).max() <= level:
            return np.diff(path, prepend=0)


def highest_level(n_cells: int, total: int, epsilon: Fraction) -> int:
    """The cap T, from public facts alone; 0 only where there is no record."""
    level = needed_level(n_cells, total, epsilon)
    while level > 1 and steps_up_to(level, n_cells, total) > MOST_STEPS:
        level = level * 3 // 4
    return level


def needed_level(n_cells: int, total: int, epsilon: Fraction) -> int:
    """The least cap that is exceeded with a probability below 10⁻⁶, whatever the rows."""
    enough = math.ceil(2 / epsilon * Fraction(log_all_paths(n_cells, total) + _RARE))
    return min(total, enough)


def steps_up_to(cap: int, n_cells: int, total: int) -> int:
    """Additions that counting all bands below the cap takes."""
    widths = np.minimum(2 * block_ends(n_cells, cap), total) + 1
    return n_cells * int(widths.sum())


def block_ends(n_cells: int, cap: int) -> NDArray[np.int64]:
    """Last level of each block of levels below the cap."""
    ends = []
    level = 0
    while level < cap:
        end = min(cap - 1, level + 2 * level // n_cells)
        ends.append(end)
        level = end + 1
    return np.array(ends, dtype=np.int64)


def _block_weights(
    cumulative: NDArray[np.int64],
    total: int,
    ends: NDArray[np.int64],
    cap: int,
    epsilon: float,
) -> NDArray[np.float64]:
    """Logarithms of the blocks' weights, the cap's own at last."""
    counted = [log_paths(cumulative, total, int(end)) for end in ends]
    counted.append(log_all_paths(len(cumulative), total))
    firsts = np.append(0, ends + 1)
    widths = np.diff(np.append(firsts, np.inf))  # nothing is left beyond the cap
    return np.array(counted) - epsilon / 2 * firsts + np.log(-np.expm1(-epsilon / 2 * widths))


def _pick(log_weights: NDArray[np.floating], randomness: Randomness) -> int:
    """An index with probability ∝ exp(log weight)."""
    edges = np.cumsum(np.exp(log_weights - log_weights.max()))
    place = np.searchsorted(edges, float(randomness.uniforms(1)[0]) * edges[-1], side="right")
    return min(int(place), len(edges) - 1)
