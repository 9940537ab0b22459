"""Second moments of columns of levels as noisy tables: of each column, and of two.

Scores of a column of levels are contrasts, orthonormal and of mean 0 over its k states. With the
number of records, their sums s tell how many are in each state, n/k + W·s, and their products P how
many in each of two, n/(kl) + W·s·1ᵀ/l + 1·s'ᵀ·W'ᵀ/k + W·P·W'ᵀ: nobody else's share of a budget is
touched. Noise of deviation σ in each product, turned by W and W', is σ in each cell as far as cells
differ from their margins, which is all that products say. Records out of domain have scores 0 and
count as an even mix, so columns that clearly have some are left out.

A release buys these moments to answer questions. A fit may take them beside its own tables where
they say something: of a pair that a table of three columns holds, whose counts have the noise of
many cells, they often say more than the table.

Source: residual bases, Xiao, He, Zhang & Kifer (2023), "An Optimal and Scalable Matrix Mechanism
for Noisy Marginals under Convex Loss Functions".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from understudy._arrays import Floats
from understudy.dp.released import Noise, NoisyProducts, NoisyTable
from understudy.features.scores import UNIT, FeatureMap, contrast_length
from understudy.graphical.estimation import MaxEntropy
from understudy.graphical.pairs_beyond import NoisyPair, PairsBeyond
from understudy.methods.base import Beside
from understudy.methods.merging import CompressedDomain
from understudy.schema import NUMERIC, Schema

FARTHEST = 4.0
"""Variance of a table by moments, in that of what was measured, up to which it says anything."""


@dataclass(frozen=True, eq=False)
class LevelMoments:
    """Second moments of columns of levels, by orthonormal contrasts between the states of each.

    Attributes:
        schema: in which they were measured.
        noise: in each sum, as released.
        turns: column → contrasts by state, over their length; shape (states, contrasts).
        lengths: column → length of its contrasts.
        effects: column → records in each state beyond an even share, shape (states,).
        weight: of sums, beside that of products.
        products: of each two columns' scores.
    """

    schema: Schema
    noise: Noise
    turns: Mapping[str, Floats]
    lengths: Mapping[str, float]
    effects: Mapping[str, Floats]
    weight: float
    products: Mapping[tuple[str, str], Floats]

    @classmethod
    def of(cls, products: NoisyProducts, schema: Schema) -> LevelMoments:
        """Take apart second moments, as released."""
        scores = FeatureMap.of(schema, products.columns)
        _, sums, inner, _, _ = scores.order.split(products.values / scores.factors)
        matrix = np.zeros((len(scores), len(scores)))
        matrix[scores.pairs] = inner
        turns, effects, lengths = {}, {}, {}
        for name in products.columns:
            column = schema.columns[name]
            if isinstance(column, NUMERIC) or column.size < 2:
                continue
            lengths[name] = contrast_length(column.size, many=scores.many)
            turns[name] = scores.tables[name][: column.size] / UNIT / lengths[name] ** 2
            effects[name] = turns[name] @ sums[list(scores.places(name))]
        both = {
            (a, b): matrix[np.ix_(scores.places(a), scores.places(b))]
            for a, b in combinations(turns, 2)
        }
        weight = float(scores.weight)
        return cls(schema, products.noise, turns, lengths, effects, weight, both)

    def tables(self, n_rows: float, pairs: Collection[frozenset[str]]) -> Iterator[NoisyTable]:
        """Tables of each column, and of some pairs of them."""
        for name, effects in self.effects.items():
            in_sums = _noise_at(self.noise, self.weight * self.lengths[name])
            yield _marginal((name,), n_rows / len(effects) + effects, in_sums, self.schema)
        for (a, b), both in self.products.items():
            if frozenset((a, b)) not in pairs:
                continue
            k, m = len(self.turns[a]), len(self.turns[b])
            even = n_rows / (k * m) + self.effects[a][:, None] / m + self.effects[b][None, :] / k
            told = even + self.turns[a] @ both @ self.turns[b].T
            in_both = _noise_at(self.noise, self.lengths[a] * self.lengths[b])
            yield _marginal((a, b), told, in_both, self.schema)

    def pair(self, a: str, b: str, merged: CompressedDomain) -> NoisyPair:
        """Tell how two columns go together in groups of their states."""
        names, groups = self.schema.names, []
        for name in (a, b):
            own = merged.groups.get(name, range(len(self.turns[name])))
            groups.append(np.array(own))
        left, right = (
            np.eye(own.max() + 1)[own].T @ self.turns[name]
            for name, own in zip((a, b), groups, strict=True)
        )
        return NoisyPair(
            (names.index(a), names.index(b)),
            left @ self.products[a, b] @ right.T,
            (np.bincount(groups[0]), np.bincount(groups[1])),
            self.noise.stddev / (self.lengths[a] * self.lengths[b]),
        )


def level_moments(beside: Beside, schema: Schema) -> list[LevelMoments]:
    """Second moments of all records that have contrasts between levels.

    Args:
        beside: what was measured beside tables. Second moments for noise by sums of sizes have no
            contrasts, and those of some records alone tell nothing of all.
        schema: in which it was measured.
    """
    return [
        LevelMoments.of(one, schema)
        for one in beside
        if isinstance(one, NoisyProducts) and not (one.pure or one.complete)
    ]


def level_tables(
    moments: Sequence[LevelMoments], n_rows: float, fitted: Iterable[tuple[str, ...]]
) -> list[NoisyTable]:
    """Tables of one and of two columns of levels that second moments tell.

    Args:
        moments: of columns of levels.
        n_rows: number of rows.
        fitted: columns of the tables of a fit; of a pair that none of them holds there is no table.
    """
    pairs = {frozenset(pair) for columns in fitted for pair in combinations(columns, 2)}
    return [table for one in moments for table in one.tables(n_rows, pairs)]


def pairs_beyond(
    moments: Sequence[LevelMoments],
    merged: CompressedDomain,
    measured: Sequence[NoisyTable],
    fit: MaxEntropy,
    n_rows: float,
) -> PairsBeyond | None:
    """What second moments tell of pairs of columns that no table of a fit holds.

    A column of which records are clearly out of domain is left out: they count as an even mix.

    Args:
        moments: of columns of levels.
        merged: the columns.
        measured: the tables of the fit.
        fit: over merged states.
        n_rows: number of rows.
    """
    strays = {name for one in measured if one.strays for name in one.columns}
    names = merged.schema.names
    held = list(dict.fromkeys([*fit.potentials, *((j,) for j in range(len(fit.tree.sizes)))]))
    within = {frozenset(pair) for columns in held for pair in combinations(columns, 2)}
    best: dict[tuple[int, int], NoisyPair] = {}
    for one in moments:
        for a, b in one.products:
            if strays & {a, b} or frozenset(map(names.index, (a, b))) in within:
                continue
            pair = one.pair(a, b, merged)
            known = best.get(pair.columns)
            if known is None or pair.stddev < known.stddev:
                best[pair.columns] = pair
    if not best:
        return None
    return PairsBeyond([*best.values()], held, fit.tree.sizes, max(n_rows, 1.0))


def telling(
    derived: Iterable[NoisyTable], measured: Sequence[NoisyTable], sizes: Mapping[str, int]
) -> list[NoisyTable]:
    """Those of which measured tables hold all columns, and do not say much more.

    Args:
        derived: tables by `level_tables`.
        measured: the tables of a fit.
        sizes: groups of each column, as the fit has them.
    """
    strays = {name for one in measured if one.strays for name in one.columns}
    kept = []
    for table in derived:
        columns = set(table.columns)
        merged = math.prod(
            size / sizes[name] for name, size in zip(table.columns, table.counts.shape, strict=True)
        )
        best = min(
            (
                one.stddev**2 * math.prod(sizes[name] for name in {*one.columns} - columns)
                for one in measured
                if columns <= {*one.columns}
            ),
            default=0.0,
        )
        if not columns & strays and table.stddev**2 * merged <= FARTHEST * best:
            kept.append(table)
    return kept


def _noise_at(noise: Noise, length: float) -> Noise:
    """The noise in a sum of scores of length 1, where these were of another length."""
    if length == 1:
        return noise
    spread = noise.stddev / length
    return Noise(noise.distribution, str(spread**2), spread)


def _marginal(columns: tuple[str, ...], counts: Floats, noise: Noise, schema: Schema) -> NoisyTable:
    allowed = schema.table(columns).allowed_mask().reshape(counts.shape)
    return NoisyTable(columns, np.where(allowed, counts, 0.0), 0.0, noise)
