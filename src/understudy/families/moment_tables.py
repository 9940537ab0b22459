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
from itertools import combinations

import numpy as np

from understudy.arrays import Floats
from understudy.families.method import Beside
from understudy.families.noisy_marginal import NoisyMarginal
from understudy.features.column_scores import UNIT, Scores
from understudy.privacy.released import (
    Noise,
    NoisyLine,
    NoisyProducts,
    NoisyRanks,
    NoisyTable,
    Released,
)
from understudy.schema import NUMERIC, Schema

FARTHEST = 4.0
"""Variance of a table by moments, in that of what was measured, up to which it says anything."""


def measured_beside(measured: Iterable[Released[object]]) -> Beside:
    """Second moments, ranks and number lines among what was measured."""
    return [
        (outcome.value, outcome.noise)
        for outcome in measured
        if isinstance(outcome.value, NoisyProducts | NoisyRanks | NoisyLine)
    ]


def level_tables(
    beside: Beside, schema: Schema, n_rows: float, fitted: Iterable[tuple[str, ...]]
) -> list[NoisyMarginal]:
    """Tables of one and of two columns of levels that second moments tell.

    Args:
        beside: second moments, as released; those for noise by sums of sizes, which have no
            contrasts, and those of some records alone tell none.
        schema: in which they were measured.
        n_rows: number of rows.
        fitted: columns of the tables of a fit; of a pair that none of them holds there is no table.
    """
    pairs = {frozenset(pair) for columns in fitted for pair in combinations(columns, 2)}
    found: list[NoisyMarginal] = []
    for products, noise in beside:
        if isinstance(products, NoisyProducts) and not (products.pure or products.complete):
            found += _tables(products, noise, schema, n_rows, pairs)
    return found


def _tables(
    products: NoisyProducts,
    noise: Noise,
    schema: Schema,
    n_rows: float,
    pairs: Collection[frozenset[str]],
) -> Iterator[NoisyMarginal]:
    scores = Scores.of(schema, products.columns)
    weights = scores.order.weights(float(scores.weight))
    _, sums, inner, _, _ = scores.order.split(products.values / weights)
    matrix = np.zeros((len(scores), len(scores)))
    matrix[scores.pairs] = inner
    turns, effects = {}, {}
    for name in products.columns:
        column = schema.columns[name]
        if isinstance(column, NUMERIC) or column.size < 2:
            continue
        turns[name] = scores.tables[name][: column.size] / UNIT
        effects[name] = turns[name] @ sums[list(scores.places(name))]
        spread = noise.stddev / float(scores.weight)
        own = Noise(noise.distribution, str(spread**2), spread)
        yield _marginal((name,), n_rows / column.size + effects[name], own, schema)
    for a, b in combinations(turns, 2):
        if frozenset((a, b)) not in pairs:
            continue
        k, m = len(turns[a]), len(turns[b])
        both = matrix[np.ix_(scores.places(a), scores.places(b))]
        told = n_rows / (k * m) + effects[a][:, None] / m + effects[b][None, :] / k
        yield _marginal((a, b), told + turns[a] @ both @ turns[b].T, noise, schema)


def _marginal(
    columns: tuple[str, ...], counts: Floats, noise: Noise, schema: Schema
) -> NoisyMarginal:
    allowed = schema.table(columns).allowed_mask().reshape(counts.shape)
    return NoisyMarginal(NoisyTable(columns, np.where(allowed, counts, 0.0), 0.0), noise)


def telling(
    derived: Iterable[NoisyMarginal], measured: Sequence[NoisyMarginal], sizes: Mapping[str, int]
) -> list[NoisyMarginal]:
    """Those of which measured tables hold all columns, and do not say much more.

    Args:
        derived: tables by `level_tables`.
        measured: the tables of a fit.
        sizes: groups of each column, as the fit has them.
    """
    strays = {name for one in measured if one.strays for name in one.table.columns}
    kept = []
    for table in derived:
        own = set(table.table.columns)
        merged = math.prod(
            size / sizes[name]
            for name, size in zip(table.table.columns, table.table.counts.shape, strict=True)
        )
        best = min(
            (
                one.stddev**2 * math.prod(sizes[name] for name in {*one.table.columns} - own)
                for one in measured
                if own <= {*one.table.columns}
            ),
            default=0.0,
        )
        if not own & strays and table.stddev**2 * merged <= FARTHEST * best:
            kept.append(table)
    return kept
