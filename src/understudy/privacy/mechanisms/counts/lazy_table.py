"""Records from a noisy table of any size, drawn as if every cell had been perturbed.

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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.engine import ExactCells
from understudy.errors import MethodError
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.counts.noisy_table import count_charge, query_of
from understudy.privacy.mechanisms.counts.threshold_table import (
    ROUNDING,
    columns_of,
    drawn_cells,
    in_units,
)
from understudy.privacy.noise.calibration import NoiseName
from understudy.privacy.noise.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    LatticeLaplace,
    PureNoise,
)
from understudy.privacy.noise.large_counts import Uniforms, binomial, negative_binomial
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyTotals, Records, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import Domain

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

    columns: tuple[str, ...]
    n_rows: HowMany
    noise: NoiseName = "geometric"

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[PureNoise], ...]:
        """One step, whatever the number of records.

        Raises:
            MethodError: a table too large for it, or Gaussian noise.
            BudgetError: more than is left, or next to nothing.
        """
        domain = terms.view.sparse_domain(self.columns)
        noise = terms.calibrated(self.noise, spend)
        if isinstance(noise, DiscreteGaussian):
            raise MethodError("A lazy table needs geometric or laplace noise.")
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
    """Which positive empty cell (0..positive−1) each token belongs to."""
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
