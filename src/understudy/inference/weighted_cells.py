"""What the cells of a weighted table say: ratios and totals in which records count with t.

The cells of a table that is counted for one question (`inference.own_tables`) have Σt of their
records, and in another table Σt². All records of a cell add the same y to a quantity, so with P and
Q the sums of t and of t² by cell

    R = ΣPy/ΣP,   d = (y − R)/ΣP by cell,   Var = ΣQd² by sampling and Σvd² by noise of variance v,

over the cells of a group: the linearised variance of a ratio, as moments have it
(`inference.weighted`), and exact in y. A total is ΣPy, with ΣQy² and Σvy². Each random group of
clusters has Σt of its cells, from which the same d give its part of the ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from understudy._arrays import Z_95, Floats
from understudy.inference.contributions import CellScores, cell_scores, edge_variance
from understudy.inference.counts import FEWEST
from understudy.inference.linear import MomentRatios, WeightedTotals
from understudy.inference.noisy_tables import Counts, marginal, pooled_table
from understudy.inference.own_tables import tables_that_tell
from understudy.inference.question import SHARES, Estimand
from understudy.inference.random_groups import GroupSums
from understudy.inference.records import ABSENT
from understudy.inference.second_moments import refuse_lost
from understudy.release.measurement import Measurement
from understudy.release.shape import Kind
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class WeightedCells:
    """Sums of weights of the records in each cell of the table of a question.

    Attributes:
        schema: in the states of the table.
        plain: sums of t.
        squared: sums of t².
        groups: the first of them in each random group of clusters; None where there are none.
    """

    schema: Schema
    plain: Counts
    squared: Counts
    groups: GroupSums | None = None


def weighted_cells(
    estimand: Estimand, measurements: Sequence[Measurement], schema: Schema
) -> Iterator[WeightedCells]:
    """The cells of weighted tables that tell a question, in the states of each.

    Tables in the same states are averaged.

    Args:
        estimand: the question.
        measurements: of a release.
        schema: of the release, with a weight.
    """
    by = schema.design.groups
    alike = dict[str, list[Measurement]]()
    for one in measurements:
        if one.kind is Kind.WEIGHTED_TABLE:
            alike.setdefault(_states_of(one, estimand.columns), []).append(one)
    for own in alike.values():
        found = dict[tuple[int, bool], list[Counts]]()
        told = schema
        for table, told, _ in tables_that_tell(estimand, own, schema, weighted=True):
            weighting = table.weighting
            assert weighting is not None
            grouped = by in table.columns and by not in estimand.columns
            columns = (*estimand.columns, by) if grouped else estimand.columns
            counts = marginal(table, columns, told)
            found.setdefault((weighting.power, grouped), []).append(counts)
        plain, squared = found.get((1, False)), found.get((2, False))
        if plain is None or squared is None:
            continue
        groups = None
        if apart := found.get((1, True)):
            groups = _by_group(pooled_table(apart), schema.columns[by].size, by)
        yield WeightedCells(told, pooled_table(plain), pooled_table(squared), groups)


def _states_of(table: Measurement, columns: Sequence[str]) -> str:
    """The bins and groups in which a table has some columns, as a text."""
    own: tuple[Mapping[str, object], ...] = table.bins, table.groups
    return repr([{name: one[name] for name in columns if name in one} for one in own])


def _by_group(table: Counts, groups: int, by: str) -> GroupSums:
    """The cells of each random group, of a table whose last axis they are."""
    numbers = table.counts.reshape(-1, groups).T
    return GroupSums(by, numbers, table.variances.reshape(-1, groups)[:, 0])


def expected_cells(
    columns: tuple[str, ...],
    schema: Schema,
    sums: tuple[Floats, Floats],
    stddevs: Mapping[tuple[int, bool], float],
) -> WeightedCells:
    """The cells as they would be, without noise in them.

    Args:
        columns: of the table.
        schema: in the states of the table.
        sums: of t and of t², each of shape (cells,).
        stddevs: power, and whether by random group → standard deviation of the noise in a cell.
    """
    allowed = schema.table(columns).allowed_mask().reshape(-1).astype(np.float64)
    plain, squared = (
        Counts(own, stddevs[power, False] ** 2 * allowed)
        for power, own in zip((1, 2), sums, strict=True)
    )
    groups, by = None, schema.design.groups
    if (1, True) in stddevs:
        many = schema.columns[by].size
        numbers = np.broadcast_to(sums[0] / many, (many, len(sums[0])))
        groups = GroupSums(by, numbers, stddevs[1, True] ** 2 * allowed, drawn=False)
    return WeightedCells(schema, plain, squared, groups)


@dataclass(frozen=True, eq=False)
class _Quantities:
    """What each cell adds to each quantity, and in whose group it is.

    Attributes:
        scores: of the cells.
        added: y, shape (k, cells).
        member: 1 for the cells of its group, shape (k, cells).
    """

    scores: CellScores
    added: Floats
    member: Floats

    @classmethod
    def of(cls, estimand: Estimand, schema: Schema) -> _Quantities:
        scores = cell_scores(estimand, schema)
        used = np.flatnonzero(scores.quantity != ABSENT)
        quantity = scores.quantity[used]
        added = np.zeros((len(scores.names), len(scores.quantity)))
        added[quantity, used] = scores.value[used]
        member = np.zeros_like(added)
        member[:, used] = scores.group_of[:, None] == scores.group_of[quantity]
        return cls(scores, added, member)


_TOO_SMALL: Final = "The group that is asked about"


def cell_ratios(estimand: Estimand, cells: WeightedCells) -> MomentRatios:
    """Shares among records that count with t; NaN where a group is lost in noise.

    Args:
        estimand: the question.
        cells: of its table.

    Raises:
        LostInNoiseError: each group is.
    """
    own = _Quantities.of(estimand, cells.schema)
    variances = cells.plain.variances
    sizes, squared = own.member @ cells.plain.counts, own.member @ variances
    firmness = sizes / np.sqrt(np.maximum(squared, 1e-300))
    firm = (sizes >= FEWEST) & (firmness > Z_95)
    if not firm.any():
        raise refuse_lost(_TOO_SMALL, float(firmness.max()), Z_95)
    sizes = np.where(firm, sizes, np.nan)
    estimate = own.added @ cells.plain.counts / sizes
    off = own.added - estimate[:, None] * own.member
    gradient = off / sizes[:, None]
    sampling = (gradient * cells.squared.counts) @ gradient.T
    place = np.diag_indices(len(sizes))
    by_squares = own.member @ cells.squared.counts
    # A group that stands out has records, however few by their squared weights.
    by_squares = np.maximum(by_squares, np.sqrt(own.member @ cells.squared.variances))
    sampling[place] = np.maximum(sampling[place], 0.0)
    if estimand.kind in SHARES:
        sampling[place] = np.maximum(sampling[place], edge_variance(sizes**2 / by_squares))
    inside = np.where(own.member > 0, own.added, np.nan)
    low, high = np.nanmin(inside, axis=1), np.nanmax(inside, axis=1)
    groups = len(np.unique(own.scores.group_of[~firm]))
    return MomentRatios(
        estimate=estimate,
        noise=(gradient * variances) @ gradient.T,
        sampling=sampling,
        sizes=sizes,
        small=groups,
        mixed=((own.member * off) @ variances),
        squared=squared,
        dropped=0.0,
        bias=np.zeros(len(sizes)),
        limits={},
        reach=np.maximum(high - estimate, estimate - low),
        gradient=gradient,
        of_size=own.member,
    )


def cell_totals(estimand: Estimand, cells: WeightedCells) -> WeightedTotals:
    """Totals in which records count with t; arguments as above."""
    own = _Quantities.of(estimand, cells.schema)
    return WeightedTotals(
        estimate=own.added @ cells.plain.counts,
        noise=(own.added * cells.plain.variances) @ own.added.T,
        squares=np.maximum(own.added**2 @ cells.squared.counts, 0.0),
        reach=np.abs(own.added).max(axis=1),
        gradient=own.added,
        of_size=own.member,
    )
