"""The empirical distribution function by the exponential mechanism, drawn exactly.

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
not monotone: a record can bring one candidate closer and take another further away. The
distribution also is ε-bounded-range, hence ε²/8-zCDP (Cesar & Rogers 2021, lemma 3.2).

**Exact draw, nothing subtracted.** Let w(t) = exp(-εt/2) for t ≤ T, and w(T + 1) = 0. Summed by
parts, w(min(D, T)) = Σ over t ≥ min(D, T) of (w(t) - w(t + 1)). So the distribution is a mixture:
draw t with weight N(t)·(w(t) - w(t + 1)), where N(t) counts the paths within band t
(below) and N(T) all of them, then a uniform path within band t.

**Blocks of levels.** N(t) grows like tᴳ, so neighbouring levels are put into blocks t₀ ≤ t ≤ t₁ of
relative width 2/G: draw a block with weight N(t₁)·(w(t₀) - w(t₁ + 1)), a level t within it with
weight w(t) - w(t + 1), a uniform path within band t₁, and accept it if D(y) ≤ t, else begin again.
An accepted y has weight Σ over t ≥ D(y) of N(t₁)·(w(t) - w(t + 1))/N(t₁), which is the mixture,
whatever the blocks are. A third or more are accepted, and about G/2 + (G/2)·log(T/G) bands are
counted instead of T.

**The cap.** The path min(N, n) itself has distance 0, and there are C = C(n + G, G) candidates, so
P(D ≥ T) ≤ C·w(T) < 10⁻⁶ for T ≥ (2/ε)·(log C + 14), whatever the rows. No distance exceeds n. T is
also lowered until a draw takes at most `empirical_distribution.MOST_STEPS` additions; that costs
accuracy, not privacy. `require_drawable` refuses beforehand where it would cost much.

**How far off.** In well filled cells N(t) ≈ (2t + 1)ᴳ: D is about Gamma(G + 1) with scale 2/ε, and
each cumulative count uniform within ± D. Its error has a standard deviation of about
(2/ε)·√((G + 1)(G + 2)/3), stated as `stddev`; less where cells are empty. It grows like G, whereas
sums of independent noise in G cells grow like √G.

**Counting and drawing cumulative distributions that keep within a band around a given one.**

Which bands are counted, from public facts alone (the cap, blocks of levels), stands here too.

A *path* is a vector of cumulative counts 0 ≤ Y₁ ≤ … ≤ Y_d ≤ n of whole numbers. It keeps within
band t of a path N if |Y_k - N_k| ≤ t for all k. The number of paths in a band, and a path that is
uniform among them, come from one recursion. With lₖ = max(0, N_k - t) and hₖ = min(n, N_k + t), let
S_k(y) be the number of ways to lay Y₁ ≤ … ≤ Y_k ≤ y within the band:

    S₁(y) = y - l₁ + 1,    S_k(y) = S_k(y - 1) + S_{k-1}(min(y, h_{k-1})),    l_k ≤ y ≤ h_k.

S_d(h_d) is the number of paths. A uniform path is drawn from its end: Y_k is the first y at which
S_k(y) exceeds U·S_k(min(Y_{k+1}, h_k)), U uniform. Cost: d·min(2t + 1, n + 1) additions.

**Arithmetic.** Only positive numbers are added, so nothing cancels: the relative error of a sum is
below (number of additions)·2⁻⁵³. The numbers span hundreds of thousands of binary orders where
counts are flat, so each is held as m·2^(512·e), 2⁻²⁵⁶ ≤ m < 2²⁵⁶, e a whole number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import compiled
from understudy.dp.accountant import CHOICE
from understudy.dp.budget import divide_cost
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answers
from understudy.dp.randomness import Randomness
from understudy.dp.released import DrawnDistribution, Noise, Released
from understudy.errors import MethodError
from understudy.mechanisms.selection import selection_epsilon
from understudy.mechanisms.tables import MAX_CELLS
from understudy.schema import Domain

if TYPE_CHECKING:
    from understudy.data.base import ExactTable

MOST_STEPS = 2**32
"""Most additions of one draw."""
_RARE = 14  # e^-14 < 10⁻⁶
_SHIFT = 512
_UP = 2.0**_SHIFT
_DOWN = 2.0**-_SHIFT
_TOP = 2.0 ** (_SHIFT // 2)
_BOTTOM = 2.0 ** -(_SHIFT // 2)
_DENSE = 8  # draw places one by one when at most one in so many is wanted


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


def log_paths(cumulative: NDArray[np.int64], total: int, band: int) -> float:
    """Logarithm of the number of paths within a band.

    Args:
        cumulative: N₁ ≤ … ≤ N_d, within 0 and `total`, shape (d,), d ≥ 1.
        total: largest value of a path.
        band: t ≥ 0.

    Example:
        >>> round(math.exp(log_paths(np.array([1, 1]), 2, 1)), 9)
        6.0
    """
    sums, powers = _room(2, total, band)
    return _fill(cumulative, total, band, sums, powers)


def path_within(
    cumulative: NDArray[np.int64], total: int, band: int, randomness: Randomness
) -> NDArray[np.int64]:
    """A uniform path within a band; arguments as for `log_paths`.

    Returns:
        Shape (d,).
    """
    sums, powers = _room(len(cumulative), total, band)
    _fill(cumulative, total, band, sums, powers)
    uniforms = randomness.uniforms(len(cumulative))
    return _descend((cumulative, total, band), sums, powers, uniforms)


def log_all_paths(length: int, total: int) -> float:
    """Logarithm of the number of all paths, C(total + length, length)."""
    return math.log(math.comb(total + length, length))


def any_path(length: int, total: int, randomness: Randomness) -> NDArray[np.int64]:
    """A uniform path among all of them, exactly: a uniform set of places, read as a path.

    Y_k + k - 1, k = 1..d, are d different numbers below total + d; each such set is one path.

    Returns:
        Shape (length,).
    """
    places = total + length
    if length * _DENSE > places:
        chosen = randomness.permutation(places)[:length]
    else:
        chosen = np.zeros(0, dtype=np.int64)
        while len(chosen) < length:
            both = np.concatenate([chosen, randomness.below(places, length - len(chosen))])
            _, first = np.unique(both, return_index=True)
            chosen = both[np.sort(first)]
    return np.sort(chosen) - np.arange(length)


def _room(rows: int, total: int, band: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    width = min(2 * band, total) + 1
    return np.empty((rows, width)), np.empty((rows, width), dtype=np.int32)


@compiled
def _fill(
    cumulative: NDArray[np.int64],
    total: int,
    band: int,
    sums: NDArray[np.float64],
    powers: NDArray[np.int32],
) -> float:
    """Write S_k(y) to [k mod rows, y - l_k] as (m, e); return log S_d(h_d)."""
    rows = sums.shape[0]
    last_low = last_high = 0
    m, e = 0.0, 0
    for k in range(cumulative.size):
        low = max(0, cumulative[k] - band)
        high = min(total, cumulative[k] + band)
        here, last = k % rows, (k - 1) % rows
        m, e = 0.0, 0
        for y in range(low, high + 1):
            if k == 0:
                more, power = 1.0, 0
            else:
                at = min(y, last_high) - last_low
                more, power = sums[last, at], powers[last, at]
            if power == e:
                m += more
            elif power > e:  # S is non-decreasing, so a power passed once is never below again
                m = more + (m * _DOWN if power == e + 1 else 0.0)
                e = power
            elif power == e - 1:
                m += more * _DOWN
            if m >= _TOP:
                m, e = m * _DOWN, e + 1
            sums[here, y - low], powers[here, y - low] = m, e
        last_low, last_high = low, high
    return math.log(m) + e * _SHIFT * math.log(2.0)


@compiled
def _descend(
    within: tuple[NDArray[np.int64], int, int],
    sums: NDArray[np.float64],
    powers: NDArray[np.int32],
    uniforms: NDArray[np.float64],
) -> NDArray[np.int64]:
    """A path by inversion of the S_k, from the last place to the first."""
    cumulative, total, band = within
    path = np.empty(cumulative.size, dtype=np.int64)
    above = total
    for k in range(cumulative.size - 1, -1, -1):
        low = max(0, cumulative[k] - band)
        last = min(above, total, cumulative[k] + band) - low
        m, e = sums[k, last] * uniforms[k], powers[k, last]
        if m < _BOTTOM:
            m, e = m * _UP, e - 1
        first = 0
        while first < last:
            middle = (first + last) // 2
            power = powers[k, middle]
            if power > e or (power == e and sums[k, middle] > m):
                last = middle
            else:
                first = middle + 1
        above = low + first
        path[k] = above
    return path


LONGEST_LINE = 2**14
"""Longest line."""

ROUNDING = (
    "The distance of a cumulative distribution is drawn in double precision, so its probabilities "
    "hold up to rounding errors."
)


@dataclass(frozen=True, kw_only=True)
class Distance:
    """The exponential mechanism of one line, with its public parameters.

    Attributes:
        epsilon: cost.
        n_rows: number of records, public or released.
        margin: by how many records a candidate may exceed it.
    """

    epsilon: Fraction
    n_rows: int
    margin: int


@dataclass(frozen=True)
class CumulativeDistributions(Mechanism[tuple[Released[DrawnDistribution], ...], Distance]):
    """Distributions, each chosen among all by its Kolmogorov–Smirnov distance from the rows.

    Attributes:
        lines: names of the columns of each; the allowed cells of their table stand in its C order,
            the last column running fastest.
        weights: how the cost is divided among them; evenly if None.
    """

    name: ClassVar[str] = CHOICE
    form: ClassVar[Form] = Form.DISTRIBUTION

    lines: Sequence[tuple[str, ...]]
    weights: Sequence[int | Fraction] | None = None

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Distance], ...]:
        """One step for each line.

        Raises:
            MethodError: too many cells, or a number of rows that is neither known nor limited.
            BudgetError: more than is left, or next to nothing.
        """
        return self.announce(terms, spend, *_at_most(terms))

    def announce(
        self, terms: PublicContext, spend: Fraction, n_rows: int = 0, margin: int = 0
    ) -> tuple[Charge[Distance], ...]:
        """The same for a plan: the words do not depend on the number of rows.

        Args:
            terms: public.
            spend: what all of it may cost.
            n_rows: number of records, public or released.
            margin: by how many records a candidate may exceed it.

        Raises:
            MethodError: too many cells.
            BudgetError: more than is left, or next to nothing.
        """
        domains = [terms.view.domain(columns) for columns in self.lines]
        terms.require(spend)
        shares = divide_cost(spend, self.weights, len(self.lines))
        charges = []
        for columns, domain, share in zip(self.lines, domains, shares, strict=True):
            epsilon = selection_epsilon(share, terms.accounting)
            require_drawable(columns, domain, None, epsilon)
            charge = Charge(
                spent=share,
                mechanism=self.name,
                query=f"distribution of {' × '.join(columns)}",
                sensitivity="distance: 1",
                noise=f"exp(−distance / {2 / epsilon}), the largest error of a cumulative count",
                cells=domain.n_allowed,
                parameter=Distance(epsilon=epsilon, n_rows=n_rows, margin=margin),
                recorded=noise_of_distance(epsilon, domain.n_allowed),
                columns=columns,
            )
            charges.append(charge)
        return tuple(charges)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Distance], ...], source: Randomness
    ) -> Outcome[tuple[Released[DrawnDistribution], ...]]:
        """Count all lines in one pass, and draw the counts of each."""
        view, exact = rows.view, rows.tables(self.lines)
        distributions = [
            replace(
                drawn_distribution(table, names, view.domain(names), charge.parameter, source),
                bins=view.bins_of(names),
            )
            for names, table, charge in zip(self.lines, exact, charges, strict=True)
        ]
        return answers(distributions, conditions=(ROUNDING,))


def _at_most(terms: PublicContext) -> tuple[int, int]:
    """A public or released number of rows, and by how many it may be too small."""
    limit, rows = terms.schema.row_limit, terms.n_rows
    if rows is None:
        if limit is None:
            raise MethodError("The number of rows is private and was not measured yet.")
        return limit, 0
    margin = math.ceil(4 * rows.noise.stddev)
    return rows.value, margin if limit is None else min(margin, limit - rows.value)


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
    if n_cells > LONGEST_LINE or domain.n_cells > MAX_CELLS:
        raise MethodError(
            f"The line of {names} has {n_cells:,} cells, more than {LONGEST_LINE:,}; "
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


def noise_of_distance(epsilon: Fraction, n_cells: int) -> Noise:
    """Describe the error of a drawn distribution: √(mean square) of one cumulative count."""
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
    distance: Distance,
    randomness: Randomness,
) -> DrawnDistribution:
    """Draw the counts of all allowed cells.

    Args:
        exact: the exact table over `columns`.
        columns: names, one per axis.
        domain: the domain of these columns.
        distance: cost and number of records.
        randomness: source of every draw.
    """
    allowed, n_rows = domain.allowed_mask(), distance.n_rows
    total = n_rows + distance.margin
    drawn = draw_counts(exact.inside[allowed], total, distance.epsilon, randomness)
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
    weights = _block_weights(cumulative, total, ends, float(epsilon))
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


def _block_weights(
    cumulative: NDArray[np.int64],
    total: int,
    ends: NDArray[np.int64],
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
