"""Ranks that go together: which columns are measured so, and what records are to take in.

Noisy sums of products of ranks cost a small part of a budget and say of every pair of ordered
columns, and of those of two states beside them, how far it goes together, where tables are bought
of a few pairs only. Drawn records take them in by exchanging values
(`graphical.rank_exchange`).

**Tables that take in how far ranks of their columns go together, as that was measured by itself.**

A table tells the sum of products of two columns' ranks with the noise of all its cells, and a fit
loses of a strong relation what noise puts into cells that nobody is in. The sum was measured by
itself as well, often with less noise. So cells move along the centred products, by as much as puts
both together by precision: sums over either column stay. And the fit keeps these products more
firmly than cells (`graphical.estimation`), in proportion to what is known of them then.

What is measured are products of vectors that are shortened where they are long
(`features.scores`), and a table's are of whole ones. Records that are drawn and take in what
was measured have vectors like those that were counted: by as much as their whole vectors' products
exceed the shortened ones', so do those of the rows. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np

from understudy._arrays import Floats
from understudy.dp.budget import Budget, exact
from understudy.dp.released import CLEAR, LEAST_STDDEV, NoisyRanks, NoisyTable
from understudy.features.scores import RANK_UNIT, RankScores
from understudy.graphical.estimation import SHARE, MaxEntropy, Observation, along
from understudy.graphical.rank_exchange import MOST_NOISE, RankExchange
from understudy.mechanisms.second_moments import STEP, WIDEST, RankProducts, squared_sensitivity
from understudy.methods.base import Beside, expected_rows
from understudy.methods.noisy_marginals import CompressedDomain, fine_tables, noise_of
from understudy.methods.plan import PlannedTable, plan_mechanism
from understudy.schema import Schema, is_ordered

FEWEST_COLUMNS: Final = 3
"""Ordered columns, below which tables of their pairs say it all."""
TWO_STATES: Final = 2
NOISE: Final = Fraction(7, 200)
"""Standard deviation of the noise in a mean product of ranks of `FEW_ROWS` that is good enough."""
MOST_SHARE: Final = Fraction(3, 20)
"""Of the budget of a fit."""
FEW_ROWS: Final = 5_000
MANY_OUTSIDE: Final = 0.1


def ranked_columns(schema: Schema) -> tuple[str, ...]:
    """Columns whose ranks are measured; none if those of an order are few.

    Two states are in order either way. A label to be predicted is often one of such columns, and
    tables of few records do not tell what it goes together with. But each column adds to the noise
    of all, and pairs of two states have small tables: more of them than of others are left out.
    """
    ordered = [
        name
        for name, column in schema.columns.items()
        if is_ordered(column) and column.n_ordinary > TWO_STATES
    ]
    two = [name for name, column in schema.columns.items() if column.n_ordinary == TWO_STATES]
    if len(ordered) < FEWEST_COLUMNS:
        return ()
    asked = {*ordered, *(two if len(two) <= len(ordered) else ())}
    return tuple(name for name in schema.names if name in asked)


def ranks_spend(
    schema: Schema,
    budget: Budget,
    spend: Fraction,
    share: float | None,
    n_rows: float | None = None,
) -> Fraction:
    """Compute the cost of measuring ranks; nothing where it would not help.

    As much as brings the noise in a correlation to `NOISE` at `FEW_ROWS` rows, and at others to
    that by the root of their number, as tables of more rows tell more by themselves; and no more
    than `MOST_SHARE`. Nothing where that leaves more noise than `MOST_NOISE`.

    Args:
        schema: the columns.
        budget: for its accounting.
        spend: of the fit.
        share: part of that; None for the usual one.
        n_rows: number of private rows, once it is released; `FEW_ROWS` before.
    """
    columns = ranked_columns(schema)
    if budget.accounting == "pure" or not columns:
        return Fraction(0)
    if share is not None:
        return spend * exact(share)
    squared = squared_sensitivity(_any_scores(schema), schema.neighbours) * STEP**2
    known = schema.n_rows if schema.rows == "public" else n_rows
    n = max(int(_rows_planned(schema) if known is None else known), 1)
    most = min(exact(MOST_NOISE) * n, WIDEST * STEP)
    noise = min(NOISE * math.isqrt(FEW_ROWS * n), most * Fraction(9, 10))
    paid = min(squared / (2 * noise**2), spend * MOST_SHARE)
    return paid if squared < 2 * paid * most**2 else Fraction(0)


def planned_ranks(
    schema: Schema, spend: Fraction, budget: Budget, share: float | None
) -> tuple[PlannedTable, ...]:
    """Plan the ledger's entries of ranks: the noise of any scores, of all columns.

    Of fewer private rows than `FEW_ROWS` they cost more, of more less (`ranks_spend`).
    """
    if not spend:
        return ()
    asked, chosen = RankProducts(_any_scores(schema)), _costs_by_rows(schema, share)
    return plan_mechanism(asked, schema, spend, budget, chosen=chosen)


def ranks_told(schema: Schema, share: float | None) -> tuple[str, ...]:
    """Describe the cost of ranks in a plan; nothing where that is certain."""
    if not (_costs_by_rows(schema, share) and ranked_columns(schema)):
        return ()
    return (
        "What ranks cost, where δ > 0, follows from the number of rows once it is bought, and "
        f"rounds get the rest: shown is the cost for {_rows_planned(schema):,}.",
    )


def _costs_by_rows(schema: Schema, share: float | None) -> bool:
    """Return whether a number of rows that is still to be released decides what ranks cost."""
    return schema.rows == "private" and share is None


def _rows_planned(schema: Schema) -> int:
    """Private rows that a plan goes by."""
    return min(expected_rows(schema), FEW_ROWS)


def _any_scores(schema: Schema) -> RankScores:
    names = ranked_columns(schema)
    return RankScores({name: (0,) * schema.columns[name].size for name in names})


def rank_products(merged: CompressedDomain, known: Sequence[NoisyTable]) -> RankProducts:
    """Return what is asked of the ranks of columns, in groups of their states.

    Nothing is asked of columns whose values nearly all share a group, as far as noisy tables tell:
    they go together with nothing that could be seen, and each column adds to the noise of all.

    Args:
        merged: the columns, with groups and masses of numbers.
        known: among them one-way tables.
    """
    one_ways, by_group, apart, spread = fine_tables(known), {}, {}, []
    for name in ranked_columns(merged.schema):
        column = merged.schema.columns[name]
        masses = np.maximum(merged.masses.get(name, one_ways[name].counts), 0)
        groups = np.array(merged.groups.get(name, range(column.size)))
        by_group[name] = np.bincount(groups, masses)
        apart[name] = sorted({*groups[column.n_ordinary :].tolist()})
        values = np.bincount(groups[: column.n_ordinary], masses[: column.n_ordinary])
        # Of estimated masses the noise is that of groups; of counts it adds up over states.
        n_noisy = len(values) if name in merged.masses else column.size
        if values.sum() - values.max() > CLEAR * one_ways[name].stddev * np.sqrt(n_noisy):
            spread.append(name)
    asked = spread if len(spread) >= FEWEST_COLUMNS else [*by_group]
    return RankProducts(RankScores.of({name: by_group[name] for name in asked}, apart))


def ranks_in(beside: Beside) -> NoisyRanks | None:
    """Those of the last fit, among all that was measured beside tables."""
    found = [value for value in beside if isinstance(value, NoisyRanks)]
    return found[-1] if found else None


def resample_ranks(ranks: NoisyRanks, rng: np.random.Generator) -> NoisyRanks:
    """Draw measured ranks again: with fresh noise on top, as tables that are drawn again."""
    return replace(ranks, values=ranks.values + noise_of(ranks.noise, ranks.values.shape, rng))


def ranked_groups(merged: CompressedDomain, ranks: NoisyRanks) -> CompressedDomain:
    """The columns with the groups that ranks were measured over."""
    kept = {name: states for name, states in merged.groups.items() if name not in ranks.columns}
    return replace(merged, groups=kept | dict(ranks.groups))


def rank_exchange(
    merged: CompressedDomain, marginals: Sequence[NoisyTable], ranks: NoisyRanks, n_rows: float
) -> RankExchange:
    """Return how drawn records take in measured ranks.

    Records out of domain have the score 0, and drawn ones are all in domain. So mean products are
    those of records in domain, as if one column's were independent of another's; and of columns
    that clearly have more than `MANY_OUTSIDE` nothing is taken in.

    Args:
        merged: the columns, in the groups of the ranks.
        marginals: tables that the model was fitted to.
        ranks: noisy sums of products.
        n_rows: number of records that they are of.
    """
    place = {name: j for j, name in enumerate(merged.schema.names)}
    held = [frozenset(place[name] for name in one.columns) for one in marginals]
    held += [frozenset(box) for box in merged.coarse.domain.boxes]
    columns = tuple(place[name] for name in ranks.columns)
    partners = (frozenset().union(*(table for table in held if j in table)) - {j} for j in columns)
    n = max(float(n_rows), 1.0)
    outside = {
        one.columns[0]: one.outside / n for one in marginals if len(one.columns) == 1 and one.strays
    }
    lost = np.array([outside.get(name, 0.0) for name in ranks.columns])
    inside = np.where(lost > MANY_OUTSIDE, np.nan, 1 - np.minimum(lost, MANY_OUTSIDE))
    first, second = np.triu_indices(len(columns), 1)
    return RankExchange(
        columns,
        tuple(np.array(scores, dtype=np.float64) for scores in ranks.scores.values()),
        RankScores(ranks.scores).most,
        tuple(tuple(sorted(places)) for places in partners),
        ranks.values / (n * inside[first] * inside[second]),
        ranks.noise.stddev / n,
    )


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
    """Measurements of ranks, for the tables of a fit.

    Attributes:
        merged: the columns.
        exchange: what was measured.
        products: mean products of whole vectors, NaN where they do not count; shape (d, d).
        n_rows: number of records.
    """

    merged: CompressedDomain
    exchange: RankExchange
    products: Floats
    n_rows: float

    @classmethod
    def of(
        cls, merged: CompressedDomain, exchange: RankExchange | None, fit: MaxEntropy, n_rows: float
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
        products = exchange.measured + exchange.beyond(exchange.exchange_values(drawn, rng))
        return cls(merged, exchange, products, n_rows)

    @property
    def contrasts(self) -> dict[int, Floats]:
        """Scores as contrasts of mean 0 and length 1, by place of the column; shape (1, groups)."""
        pairs = zip(self.exchange.columns, self.exchange.scores, strict=True)
        centred = {j: scores - scores.mean() for j, scores in pairs}
        return {j: (x / np.linalg.norm(x))[np.newaxis] for j, x in centred.items() if x.any()}

    def join(self, table: Observation) -> Observation:
        """A table with what is known of the products of its columns.

        Args:
            table: in groups.
        """
        counts = np.array(table.counts, dtype=np.float64)
        for pair in self._pairs(table):
            lacking = self.products[pair.places] * self.n_rows - (pair.products * counts).sum()
            reach, cost = self._weights(pair, table)
            if cost > 0 and np.isfinite(lacking):
                counts += pair.centred * (reach * lacking / (cost * self._variance + reach**2))
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
            self._variance / (self._variance + reach**2 / cost)
            for reach, cost in weights
            if cost > 0
        ]
        return FIRM * float(np.clip(np.median(found), SHARE, 1)) if found else 1.0

    @cached_property
    def _variance(self) -> float:
        """Of the noise in a measured sum of products, in records."""
        return float(max(self.exchange.stddev * self.n_rows, LEAST_STDDEV) ** 2)

    @staticmethod
    def _weights(pair: _Pair, table: Observation) -> tuple[float, float]:
        """Compute what a step along the products adds to their sum, and what it costs the table."""
        reach, cost = pair.centred * pair.products, pair.centred**2 / table.variance
        return float(reach.sum()), float(cost.sum())

    def _pairs(self, table: Observation) -> Iterator[_Pair]:
        names = tuple(self.merged.schema.names[j] for j in table.columns)
        allowed = self.merged.coarse.table(names).allowed_mask()
        order = {j: k for k, j in enumerate(self.exchange.columns)}
        ranked = [axis for axis, j in enumerate(table.columns) if j in order]
        for axes in combinations(ranked, 2):
            first, second = (order[table.columns[axis]] for axis in axes)
            a, b = (
                along(self.exchange.scores[k] / RANK_UNIT, axis, allowed.ndim)
                for k, axis in zip((first, second), axes, strict=True)
            )
            centred = np.where(allowed, (a - a.mean()) * (b - b.mean()), 0.0)
            yield _Pair(np.broadcast_to(a * b, allowed.shape), centred, (first, second))
