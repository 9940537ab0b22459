"""Noisy tables too large to write out: records of one, or its cells above a threshold.

**Records from a noisy table of any size, drawn as if every cell had been perturbed.**

The dense sanitizer adds noise to all cells, sets negative counts to 0 and draws records in
proportion to what is left (Bowen & Liu 2020, §3.1.1). The same distribution, at a cost of occupied
cells and records alone:

1. Perturb and clip the J occupied cells; their total is A.
2. Among the K₀ empty cells, P ~ Binomial(K₀, q/(1+q)) are positive. Each has 1 token plus a
   geometric number of extra tokens, so all extra tokens together number E ~ NegBin(P, 1−q).
3. A record picks one of the A + P + E tokens uniformly. Tokens of occupied cells are known. The
   P first tokens belong to one positive cell each. Given their total, the extra tokens are spread
   over the P cells with all compositions equally likely (Bose–Einstein), which is an exchangeable
   Pólya urn: the (i+1)-th extra token to be looked at belongs to any of the P cells with
   probability 1/(P+i) each, and otherwise shares the cell of one of the i tokens seen before.
4. A positive cell that is met for the first time gets a place, uniform over the empty allowed cells
   that have none yet.

The distribution is that of the dense sanitizer (tested against it), hence so is the guarantee.
Drawing *is* the mechanism: which empty cells are positive is hidden until a record falls there, so
all randomness is of the secure kind, and nothing in between leaves. Only totals over **all** cells
are released; a total over occupied cells alone would depend on which are occupied.

**A noisy table of any size, of which only the cells above a public threshold are kept.**

The dense sanitizer perturbs every allowed cell; zeroing all noisy counts below a threshold that
does not depend on the rows is post-processing, so the survivors have the guarantee of the dense
table. Empty cells are not visited one by one: a binomial number of all allowed cells, at uniform
places, are those whose noise reaches the threshold if they are empty, each by a geometric amount
more (the distribution is memoryless; Cormode, Procopiuc, Srivastava & Tran 2012, "Differentially
private summaries for sparse data"). Those of them that hold records are dropped: what noise does to
an empty cell is independent from cell to cell, so it can be drawn for cells that need it not. So
occupied cells may come in parts, and how many there are need not be known.

Each of these draws is exact (`dp.sampling`, `drawn_cells`), so the
distribution is that of the dense table to the last bit: a cell that can survive when it is occupied
can survive when it is empty.

**Empty cells**, without writing them out. A sanitizer adds noise to all K cells, though only J of
them hold records. The K₀ = K − J others are exchangeable, so a few aggregates and a uniform choice
of places stand for all of them (Bowen & Liu 2020, §3.1.1, made exact for large K; Cormode et al.
2012 for the filtered form).

**Arithmetic.** The noise of occupied cells, token draws, urns and the places of empty cells are
exact integer draws; so is the number of cells that reach a threshold (`dp.sampling`). In the
lazy forms the number of positive empty cells (binomial) and their total (negative binomial), of the
order of all cells, are exact in real arithmetic and evaluated in double precision, which `ROUNDING`
says in the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import encode
from understudy.dp.admission import HowMany
from understudy.dp.calibration import NoiseName
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace, LatticeLaplace, PureNoise
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer
from understudy.dp.randomness import Randomness
from understudy.dp.released import NoisyCells, NoisyTotals, Records, Released
from understudy.dp.sampling import Uniforms, binomial, negative_binomial, successes, survival
from understudy.errors import MethodError
from understudy.mechanisms.tables import columns_of, count_charge, query_of
from understudy.schema import Domain

if TYPE_CHECKING:
    from understudy.data.base import ExactCells

ROUNDING = (
    "The number and the total of noisy empty cells are drawn in double precision, so their "
    "probabilities hold up to rounding errors."
)
_ENUMERATE = 2**20
_FEW = 2**12


def drawn_cells(
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
    cells = np.zeros(0, dtype=np.int64)
    while len(cells) < n:
        missing = n - len(cells)
        tried = missing + missing // 8 + 8
        columns = domain.cells(randomness.below(domain.n_allowed, tried))
        drawn = encode([column.astype(np.uint32) for column in columns], domain.sizes)
        drawn = drawn[~is_among(occupied, drawn)]
        both = np.concatenate([cells, drawn])
        _, first = np.unique(both, return_index=True)
        cells = both[np.sort(first)][:n]
    return cells


def _written_out(n: int, domain: Domain, n_occupied: int) -> bool:
    """Return whether listing all empty cells takes less than drawing until new ones are found.

    A drawn cell is new with probability above 1/2 if at least half of all cells stay empty.
    """
    if domain.n_cells <= _FEW:
        return True
    ample = 2 * (domain.n_allowed - n_occupied - n) >= domain.n_cells
    return domain.n_cells <= _ENUMERATE and not (ample and n < domain.n_cells // 64)


def is_among(ascending: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the wanted codes that stand in an ascending array."""
    if not len(ascending):
        return np.zeros(len(codes), dtype=np.bool_)
    place = np.minimum(np.searchsorted(ascending, codes), len(ascending) - 1)
    return np.asarray(ascending[place] == codes)


def pure_noise(terms: PublicContext, noise: NoiseName, spend: Fraction, who: str) -> PureNoise:
    """Calibrate the noise of a table that is not written out; `who` begins a refusal.

    Raises:
        MethodError: Gaussian noise, whose tails have no such sampler.
        BudgetError: more than is left, or next to nothing.
    """
    distribution = terms.calibrate_noise(noise, spend)
    if isinstance(distribution, DiscreteGaussian):
        raise MethodError(f"{who} geometric or laplace noise.")
    return distribution


@dataclass(frozen=True)
class ThresholdTable(Mechanism[Released[NoisyCells], PureNoise]):
    """The cells of a noisy table of any size that reach a public threshold.

    Attributes:
        columns: column names of the table.
        threshold: at least 1, chosen without looking at the rows.
        noise: "geometric" or "laplace".
    """

    name: ClassVar[str] = "filtered noisy table"
    form: ClassVar[Form] = Form.FILTERED

    columns: tuple[str, ...]
    threshold: int
    noise: NoiseName

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[PureNoise], ...]:
        """One step.

        Raises:
            MethodError: more than 2⁶² cells, or a distribution or threshold that does not fit.
            BudgetError: more than is left, or next to nothing.
        """
        domain = terms.view.sparse_domain(self.columns)
        if self.threshold < 1:
            raise MethodError("The threshold must be at least 1; take the dense form below that.")
        noise = pure_noise(terms, self.noise, spend, "A filtered table needs")
        if self.threshold / in_units(noise)[1] >= 2**62:
            raise MethodError("The threshold is so high that 64-bit counts cannot reach it.")
        query = query_of(self.columns)
        return (
            count_charge(
                terms, self.name, query, distribution=noise, cells=domain.n_allowed + 1, spend=spend
            ),
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[PureNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyCells]]:
        """Occupied cells with noise, and the empty ones that reach the threshold by noise alone."""
        (charge,) = charges
        cells = noisy_cells(
            rows.cells_in_parts(self.columns),
            self.columns,
            rows.view.domain(self.columns),
            charge.parameter,
            threshold=self.threshold,
            randomness=source,
        )
        return answer(replace(cells, bins=rows.view.bins_of(self.columns)), None)


def threshold_for(n_cells: int, scale: Fraction, spurious: float) -> int:
    """Public threshold at which about `spurious` empty cells survive among `n_cells`.

    b · log(K / (2 · spurious)), rounded up to a whole count; at least 1.
    """
    odds = math.log(max(1, n_cells)) - math.log(2 * spurious)
    return max(1, math.ceil(float(scale) * odds))


def noisy_cells(
    exact: Iterable[ExactCells],
    columns: tuple[str, ...],
    domain: Domain,
    distribution: DiscreteLaplace | LatticeLaplace,
    *,
    threshold: int,
    randomness: Randomness,
) -> NoisyCells:
    """The noisy cells that reach the threshold, ordered by their code.

    Args:
        exact: occupied cells, in parts; at least one. How many records are out of domain is taken
            from the last.
        columns: names of the columns.
        domain: their domain.
        distribution: calibrated noise.
        threshold: public, at least 1.
        randomness: source of every draw.
    """
    units, step = in_units(distribution)
    least = math.ceil(threshold / step)
    spurious = successes(domain.n_allowed, survival(units.scale, least), randomness)
    empty = drawn_cells(spurious, domain, np.zeros(0, dtype=np.int64), randomness)
    codes, values, outside = [], [], 0
    for part in exact:
        noisy = part.counts * int(1 / step) + units.sample(len(part.counts), randomness)
        kept = noisy >= least
        codes.append(part.codes[kept])
        values.append(noisy[kept])
        empty, outside = empty[~is_among(part.codes, empty)], part.outside
    codes.append(empty)
    values.append(least + non_negative(units, len(empty), randomness))
    # Cells leave in the order of their codes: the order of drawing would tell which were occupied.
    order = np.argsort(both := np.concatenate(codes))
    noisy = np.concatenate(values)[order]
    counts = noisy if step == 1 else noisy * float(step)
    missed = float(outside + distribution.sample(1, randomness)[0])
    return NoisyCells(columns, both[order], counts, float(threshold), missed)


def in_units(distribution: DiscreteLaplace | LatticeLaplace) -> tuple[DiscreteLaplace, Fraction]:
    """A Laplace distribution in whole units of its lattice, and the step of the lattice."""
    if isinstance(distribution, LatticeLaplace):
        return DiscreteLaplace(distribution.scale / distribution.step), distribution.step
    return distribution, Fraction(1)


def non_negative(
    distribution: DiscreteLaplace, n: int, randomness: Randomness
) -> NDArray[np.int64]:
    """Draws from the distribution given that they are at least 0, by rejection; shape (n,)."""
    draws = np.zeros(0, dtype=np.int64)
    while len(draws) < n:
        drawn = distribution.sample(2 * (n - len(draws)) + 8, randomness)
        draws = np.concatenate([draws, drawn[drawn >= 0]])
    return draws[:n]


_MOST_TOKENS = 2**60


@dataclass(frozen=True, kw_only=True)
class LazyTable(Mechanism[Released[Records], PureNoise]):
    """Synthetic records from the Laplace sanitizer of one table, which is never written out.

    Attributes:
        columns: names of the table's columns.
        n_rows: how many records; public or released.
        noise: "geometric" or "laplace".
    """

    name: ClassVar[str] = "lazy noisy table"
    form: ClassVar[Form] = Form.LAZY

    columns: tuple[str, ...]
    n_rows: HowMany
    noise: NoiseName = "geometric"

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[PureNoise], ...]:
        """One step, whatever the number of records.

        Raises:
            MethodError: a table too large for it, or Gaussian noise.
            BudgetError: more than is left, or next to nothing.
        """
        domain = terms.view.sparse_domain(self.columns)
        noise = pure_noise(terms, self.noise, spend, "A lazy table needs")
        require_tokens_fit(domain, noise)
        query = query_of(self.columns)
        return (
            count_charge(
                terms, self.name, query, distribution=noise, cells=domain.n_allowed + 1, spend=spend
            ),
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[PureNoise], ...], source: Randomness
    ) -> Outcome[Released[Records]]:
        """Draw the records, and the totals of the table behind them."""
        drawn, totals = lazy_records(
            rows.cells(self.columns),
            self.columns,
            rows.view.domain(self.columns),
            charges[0].parameter,
            n_rows=self.n_rows,
            randomness=source,
        )
        return answer(drawn, [totals], conditions=(ROUNDING,))


def require_tokens_fit(domain: Domain, distribution: DiscreteLaplace | LatticeLaplace) -> None:
    """Refuse tables whose tokens 64-bit integers could not number; a public check.

    Raises:
        MethodError: too many cells for this amount of noise.
    """
    units, _ = in_units(distribution)
    if domain.n_allowed * max(Fraction(1), units.scale) > _MOST_TOKENS:
        raise MethodError(
            f"The table has {domain.n_allowed:.3g} cells, too many to draw from lazily at this "
            "noise; take coarser bins, fewer columns, a larger epsilon, or the method laplace with "
            "form=filtered."
        )


@dataclass(frozen=True)
class Tokens:
    """The positive noisy counts of a table's cells, one token for each unit. CONFIDENTIAL.

    Attributes:
        codes: occupied cells, ascending, shape (J,).
        ends: running total of their positive noisy counts, shape (J,).
        positive: empty cells with a positive noisy count.
        extra: tokens of those cells beyond one each.
    """

    codes: NDArray[np.int64]
    ends: NDArray[np.int64]
    positive: int
    extra: int

    @classmethod
    def of(
        cls,
        codes: NDArray[np.int64],
        noisy: NDArray[np.int64],
        n_empty: int,
        units: DiscreteLaplace,
        uniform: Uniforms,
    ) -> Tokens:
        """Draw what the empty cells hold.

        Args:
            codes: occupied cells.
            noisy: their noisy counts, in units.
            n_empty: how many allowed cells are empty.
            units: the noise in units.
            uniform: source of uniform numbers.
        """
        rate = float(1 / units.scale)
        positive = binomial(n_empty, _expit(-rate), uniform)
        # Given that it is positive, a cell's count exceeds 1 by a geometric number.
        extra = negative_binomial(positive, odds(units), uniform)
        return cls(codes, np.cumsum(np.maximum(noisy, 0)), positive, extra)

    @property
    def known(self) -> int:
        """Tokens of occupied cells."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def total(self) -> int:
        """All tokens."""
        return self.known + self.positive + self.extra

    def draw(
        self, n_rows: int, fresh: Callable[[int], NDArray[np.int64]], randomness: Randomness
    ) -> NDArray[np.int64]:
        """Cells of records, each by a token of its own; there must be a token.

        Args:
            n_rows: how many records.
            fresh: that many distinct empty cells, uniform without replacement.
            randomness: source of every draw.

        Returns:
            Codes, shape (n_rows,).
        """
        tokens = randomness.below(self.total, n_rows)
        codes = np.empty(n_rows, dtype=np.int64)
        known = tokens < self.known
        codes[known] = self.codes[np.searchsorted(self.ends, tokens[known], side="right")]
        labels = _labels(tokens[~known] - self.known, self.positive, randomness)
        distinct, which = np.unique(labels, return_inverse=True)
        codes[~known] = fresh(len(distinct))[which]
        return codes


def lazy_records(
    exact: ExactCells,
    columns: tuple[str, ...],
    domain: Domain,
    distribution: DiscreteLaplace | LatticeLaplace,
    *,
    n_rows: int,
    randomness: Randomness,
) -> tuple[Records, NoisyTotals]:
    """Draw records from the noisy table.

    Args:
        exact: occupied cells.
        columns: names of the columns.
        domain: their domain.
        distribution: calibrated noise.
        n_rows: records to draw.
        randomness: source of every draw.

    Returns:
        The records, and the totals of the noisy table behind them.
    """
    require_tokens_fit(domain, distribution)
    units, step = in_units(distribution)
    noisy = exact.counts * int(1 / step) + units.sample(len(exact.counts), randomness)
    n_empty = domain.n_allowed - len(exact.codes)
    tokens = Tokens.of(exact.codes, noisy, n_empty, units, Uniforms(randomness))
    outside = float(exact.outside + distribution.sample(1, randomness)[0])
    totals = NoisyTotals(
        columns,
        positive_cells=tokens.positive + int((noisy > 0).sum()),
        positive_mass=float(tokens.total * step),
        outside=outside,
    )
    if not tokens.total:
        return Records(tuple(domain.cells(randomness.below(domain.n_allowed, n_rows)))), totals
    codes = tokens.draw(
        n_rows, lambda n: drawn_cells(n, domain, exact.codes, randomness), randomness
    )
    return Records(columns_of(codes, domain)), totals


def odds(distribution: DiscreteLaplace) -> float:
    """Mean q/(1 − q) of a geometric number from 0, q = e^(−1/scale)."""
    rate = float(1 / distribution.scale)
    return -math.exp(-rate) / math.expm1(-rate)


def _expit(x: float) -> float:
    """1 / (1 + e^(−x)) for x ≤ 0: the share of empty cells with positive noise at x = −rate."""
    return math.exp(x) / (1 + math.exp(x))


def _labels(tokens: NDArray[np.int64], positive: int, randomness: Randomness) -> NDArray[np.int64]:
    """Assign each token the positive empty cell (0..positive−1) that it belongs to."""
    labels = tokens.copy()
    is_extra = tokens >= positive
    distinct, which = np.unique(tokens[is_extra], return_inverse=True)
    # Exchangeable: the urn may look at the distinct tokens in any order.
    drawn = below_each(positive + np.arange(len(distinct), dtype=np.int64), randomness)
    for i in np.flatnonzero(drawn >= positive):
        drawn[i] = drawn[drawn[i] - positive]
    labels[is_extra] = drawn[which]
    return labels


def below_each(bounds: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
    """For each bound, an exactly uniform integer from 0 to bound − 1, by rejection.

    Args:
        bounds: between 1 and 2⁶², shape (n,).
        randomness: source of words.
    """
    wide = bounds.astype(np.uint64)
    # 2^64 mod b, computed without leaving 64 bits: words above the last whole block are redrawn.
    excess = (np.uint64(0) - wide) % wide
    last = np.uint64(2**64 - 1) - excess
    words = randomness.words(len(bounds))
    while (over := np.flatnonzero(words > last)).size:
        words[over] = randomness.words(over.size)
    return (words % wide).astype(np.int64)
