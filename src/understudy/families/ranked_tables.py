"""Tables that take in how far ranks of their columns go together, as that was measured by itself.

A table tells the sum of products of two columns' ranks with the noise of all its cells, and a fit
loses of a strong relation what noise puts into cells that nobody is in. The sum was measured by
itself as well, often with less noise. So cells move along the centred products, by as much as puts
both together by precision: sums over either column stay. And the fit keeps these products more
firmly than cells (`models.graphical.linear_effects`), in proportion to what is known of them then.

What is measured are products of vectors that are shortened where they are long
(`features.rank_scores`), and a table's are of whole ones. Records that are drawn and take in what
was measured have vectors like those that were counted: by as much as their whole vectors' products
exceed the shortened ones', so do those of the rows. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np

from understudy.arrays import Floats
from understudy.families.merged_columns import Merged
from understudy.families.noisy_marginal import LEAST_STDDEV
from understudy.features.rank_scores import UNIT
from understudy.models.graphical.linear_effects import SHARE, along
from understudy.models.graphical.linear_measurement import Observation
from understudy.models.graphical.max_entropy import MaxEntropy
from understudy.models.graphical.rank_exchange import MOST_NOISE, RankExchange

DRAWN: Final = 5_000
"""Records that show how much longer whole vectors are, at most."""
FIRM: Final = 0.2
"""Part of the variance of products that a fit gives them, beside that of cells."""


@dataclass(frozen=True)
class _Pair:
    """Two ranked columns of a table.

    Attributes:
        products: of their scores, in the shape of the table, or one that is broadcast to it.
        centred: those of centred scores, 0 in cells that cannot be.
        places: of both columns among the ranked ones.
    """

    products: Floats
    centred: Floats
    places: tuple[int, int]


@dataclass(frozen=True, eq=False)
class RankedTables:
    """What was measured of ranks, for the tables of a fit.

    Attributes:
        merged: the columns.
        exchange: what was measured.
        products: mean products of whole vectors, NaN where they do not count; shape (d, d).
        n_rows: number of records.
    """

    merged: Merged
    exchange: RankExchange
    products: Floats
    n_rows: float

    @classmethod
    def of(
        cls, merged: Merged, exchange: RankExchange | None, fit: MaxEntropy, n_rows: float
    ) -> RankedTables | None:
        """As records show that a fit to the tables alone draws; None where nothing is taken in.

        Args:
            merged: the columns.
            exchange: what was measured; None for nothing.
            fit: to the tables.
            n_rows: number of records.
        """
        if exchange is None or exchange.stddev > MOST_NOISE or n_rows < 1:
            return None
        rng = np.random.default_rng(0)  # what is drawn is a function of released values
        drawn = fit.draw(int(min(n_rows, DRAWN)), rng)
        products = exchange.measured + exchange.beyond(exchange.exchanged(drawn, rng))
        return cls(merged, exchange, products, n_rows)

    @property
    def contrasts(self) -> dict[int, Floats]:
        """Scores as contrasts of mean 0 and length 1, by place of the column; shape (1, groups)."""
        pairs = zip(self.exchange.columns, self.exchange.scores, strict=True)
        centred = {j: own - own.mean() for j, own in pairs}
        return {
            j: (own / np.linalg.norm(own))[np.newaxis] for j, own in centred.items() if own.any()
        }

    def joined(self, table: Observation) -> Observation:
        """A table with what is known of the products of its columns.

        Args:
            table: in groups.
        """
        counts = np.array(table.counts, dtype=np.float64)
        for pair in self._pairs(table):
            lacking = self.products[pair.places] * self.n_rows - (pair.products * counts).sum()
            reach, own = self._weights(pair, table)
            if own > 0 and np.isfinite(lacking):
                counts += pair.centred * (reach * lacking / (own * self._variance + reach**2))
        return replace(table, counts=counts)

    def share(self, tables: Sequence[Observation]) -> float:
        """Variance that a fit gives to products, in that of what tables told.

        That of joined ones is smaller by what was measured, the median of all. A fit that took it
        as it is would take off from a strong relation what noise puts beside it, hence `FIRM`.

        Args:
            tables: in groups.
        """
        weights = (self._weights(pair, table) for table in tables for pair in self._pairs(table))
        found = [
            self._variance / (self._variance + reach**2 / own) for reach, own in weights if own > 0
        ]
        return FIRM * float(np.clip(np.median(found), SHARE, 1)) if found else 1.0

    @cached_property
    def _variance(self) -> float:
        """Of the noise in a measured sum of products, in records."""
        return float(max(self.exchange.stddev * self.n_rows, LEAST_STDDEV) ** 2)

    @staticmethod
    def _weights(pair: _Pair, table: Observation) -> tuple[float, float]:
        """What a step along the products adds to their sum, and what it costs the table."""
        reach, own = pair.centred * pair.products, pair.centred**2 / table.variance
        return float(reach.sum()), float(own.sum())

    def _pairs(self, table: Observation) -> Iterator[_Pair]:
        names = tuple(self.merged.schema.names[j] for j in table.columns)
        allowed = self.merged.coarse.table(names).allowed_mask()
        order = {j: k for k, j in enumerate(self.exchange.columns)}
        ranked = [axis for axis, j in enumerate(table.columns) if j in order]
        for axes in combinations(ranked, 2):
            first, second = (order[table.columns[axis]] for axis in axes)
            a, b = (
                along(self.exchange.scores[k] / UNIT, axis, allowed.ndim)
                for k, axis in zip((first, second), axes, strict=True)
            )
            centred = np.where(allowed, (a - a.mean()) * (b - b.mean()), 0.0)
            yield _Pair(np.broadcast_to(a * b, allowed.shape), centred, (first, second))
