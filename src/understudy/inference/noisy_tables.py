"""Unbiased noisy tables: released counts, marginals of them and averages, with known noise.

A full table has noise of known variance in every allowed cell, independent between cells, and none
in structural zeros. So has every marginal of it, with as many variances in a cell as there are
allowed cells behind it. No library of statistics is loaded.

**The fine cells of a number line, put together with the tables of its bins.** A number line has
noisy counts of fine cells (`understudy.features.grids`), a table of the column has counts of its
bins, with independent noise and less of it. Both are unbiased, and a bin is the sum of its cells,
so generalised least squares puts them together: with y_j the count of cell j, v_j its variance, V
the sum of these over the bin, T the count of the bin and u its variance,

    N̂_j = y_j + v_j/(V + u)·(T − Σ y),

the sum over a bin being the average of T and Σ y by inverse variance. What is beyond the bounds
counts as the bound, as in the table: its cells are added to those that hold the bounds.

**Sums of cells.** Tables of several columns count groups of states, of which few have records, and
all cells of a column and the records out of domain add up to n, which is public or was bought with
little noise of its own. So counts y with the covariance C, and sums t = Ay + e of them, where e has
the covariance V, are put together by generalised least squares once more:

    N̂ = y + CA'(ACA' + V)⁻¹(t − Ay).

Noise of cells then goes together. With independent y of variances D at first, and G the gains of
the sums, N̂ = (I − GA)y + Gt; further sums add columns to G and rows to A. So `Sources` keep the
noise as D, G, A and V: memory for cells × sums, not for cells × cells, of thousands of cells too.

What a long line tells of most of its cells is then told by the few others: with n known, the sum of
m of k cells of equal noise v has the noise v·m·(k − m)/k instead of v·m. A tail that is one group
has the noise of one cell.

Which states share a group was chosen by noisy counts that were released before, whose noise is in
y. Noise of a group is independent of that, so sums t are unbiased; y is so only on average over the
groups. The error this leaves is small, since y counts little where groups are large:
`benchmarks/grouped_counts.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy._arrays import Floats, Integers
from understudy.features.grids import LineCells, coarse_states, is_finer
from understudy.release.measurement import Measurement
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Schema


@dataclass(frozen=True)
class Sources:
    """Numbers with independent noise that counts are made of: N̂ = (I − `gain`·A)y + `gain`·t.

    Cells of y add up some numbers, each of one cell; t = Ay + noise are sums of them.

    Attributes:
        variances: of the m numbers that y adds up, and of the noise in t, shape (m + sums,).
        places: cell of each number of y, −1 for a cell that is left aside; shape (m,).
        gain: weight of each sum in each cell, shape (cells, sums).
        rows: which numbers of y each sum has, shape (sums, m).
    """

    variances: Floats
    places: Integers
    gain: Floats
    rows: Floats

    @classmethod
    def independent(cls, variances: Floats, places: Integers, cells: int) -> Sources:
        """Numbers that are added up in some cells.

        Args:
            variances: of their noise, shape (m,).
            places: cell of each, shape (m,).
            cells: how many there are.
        """
        return cls(variances, places, np.zeros((cells, 0)), np.zeros((0, len(places))))

    def weights(self, weights: Floats) -> Floats:
        """Weights of the numbers in sums of weighted cells; (..., cells) → (..., m + sums)."""
        told = weights @ self.gain
        return np.concatenate([self._behind(weights) - told @ self.rows, told], axis=-1)

    def spread(self, weights: Floats) -> Floats:
        """Covariance of sums of weighted cells with each cell; (k, cells) → (k, cells)."""
        noise = self.weights(weights) * self.variances
        own, told = np.split(noise, [len(self.places)], axis=-1)
        found = np.zeros((len(self.gain) + 1, len(weights)))
        np.add.at(found, self.places, own.T)
        return np.asarray(found[:-1].T + (told - own @ self.rows.T) @ self.gain.T)

    def covariance(self, one: Floats, other: Floats) -> Floats:
        """Covariance of weighted sums of cells; weights of shape (..., cells) → (...,)."""
        return np.asarray((self.weights(one) * self.weights(other)) @ self.variances)

    def step_variances(self, order: Integers, last: Integers, p: float) -> Floats:
        """Variance of the sum of all cells up to some, less p times that of all; shape (k,).

        Args:
            order: of the cells.
            last: places in that order, shape (k,).
            p: a share.
        """
        m = len(self.places)
        own = np.column_stack([np.ones(m), self.rows.T]) * self.variances[:m, None]
        behind = np.zeros((len(self.gain) + 1, own.shape[1]))
        np.add.at(behind, self.places, own)
        upto = behind[order].cumsum(axis=0)[last]
        each, shared = upto[:, 0], upto[:, 1:] - p * behind[:-1, 1:].sum(axis=0)
        gain = self.gain[order].cumsum(axis=0)[last] - p * self.gain.sum(axis=0)
        of_sums = self.rows @ own[:, 1:] + np.diag(self.variances[m:])
        alone = each * (1 - p) ** 2 + (behind[:-1, 0].sum() - each) * p**2
        return np.asarray(alone + (gain * (gain @ of_sums - 2 * shared)).sum(axis=1))

    def take(self, cells: Integers) -> Sources:
        """The same for some cells alone, in this order; shape (k,)."""
        order = np.full(len(self.gain) + 1, -1)
        order[cells] = np.arange(len(cells))
        return replace(self, places=order[self.places], gain=self.gain[cells])

    def with_sums(self, gain: Floats, rows: Floats, variances: Floats) -> Sources:
        """The same where N̂ is N̂ + gain·(sums − rows·N̂).

        Args:
            gain: of further sums, shape (cells, k).
            rows: which cells each has, shape (k, cells).
            variances: of their noise, shape (k,).
        """
        return Sources(
            np.append(self.variances, variances),
            self.places,
            np.hstack([self.gain - gain @ (rows @ self.gain), gain]),
            np.vstack([self.rows, self._behind(rows)]),
        )

    def _behind(self, weights: Floats) -> Floats:
        """Weights of the cells, for each number of y that they add up."""
        aside = np.zeros((*weights.shape[:-1], 1))
        return np.concatenate([weights, aside], axis=-1)[..., self.places]


@dataclass(frozen=True)
class NoisyCounts:
    """Unbiased counts of the cells of a marginal, by one table or by several.

    No `NoisyTable`: its noise differs between cells and may go together, its cells are in a row,
    and many simulated tables may stand in front of them.

    Attributes:
        counts: shape (..., cells).
        variances: variance of the noise in each cell, shape (cells,), or that of the counts; 0 for
            structural zeros.
        sources: where the noise of different cells goes together; None where it is independent.
    """

    counts: Floats
    variances: Floats
    sources: Sources | None = None


def marginal(
    measurement: Measurement,
    columns: Sequence[str],
    schema: Schema,
    *,
    counts: Floats | None = None,
) -> NoisyCounts:
    """A measured table, summed over the columns that are not asked for.

    Args:
        measurement: a full table that covers the columns.
        columns: of the marginal, in the order of its cells (the last one runs fastest).
        schema: the public schema.
        counts: other counts of the same table, shape (..., cells of the table), for simulations.
    """
    domain = measurement.domain(schema)
    axes = [measurement.columns.index(name) for name in columns]
    if counts is None:
        counts = np.zeros(domain.n_cells)
        counts[measurement.codes] = measurement.counts
    lead = counts.shape[:-1]
    shaped = counts.reshape(-1, *domain.sizes)
    allowed = domain.allowed_mask().astype(np.float64)
    return NoisyCounts(
        counts=_sum_to(shaped, axes).reshape(*lead, -1),
        variances=measurement.stddev**2 * _sum_to(allowed[None], axes).reshape(-1),
    )


def _sum_to(stacked: Floats, axes: list[int]) -> Floats:
    """Sum over all but some axes, and put these in order; the leading axis stays."""
    others = tuple(1 + j for j in range(stacked.ndim - 1) if j not in axes)
    kept = sorted(axes)
    summed = stacked.sum(axis=others)
    return np.asarray(summed.transpose(0, *(1 + kept.index(axis) for axis in axes)))


def pooled_table(tables: Sequence[NoisyCounts]) -> NoisyCounts:
    """Average tables over the same cells, weighted by inverse variance.

    Where a count is free of noise in some tables, these alone are averaged.
    """
    variances = np.stack([table.variances for table in tables])
    exact = variances == 0
    with np.errstate(divide="ignore"):
        precise = np.where(exact.any(axis=0), exact, 1 / variances)
    weights = precise / precise.sum(axis=0)
    counts = sum(w * table.counts for w, table in zip(weights, tables, strict=True))
    return NoisyCounts(np.asarray(counts), (weights**2 * variances).sum(axis=0))


MOST_CELLS = 2**20
_CLEARLY = 4.0  # standard deviations


def covers(measurement: Measurement, columns: Sequence[str]) -> bool:
    """Return whether a measurement is an unbiased full table over at least these columns.

    In the schema's own bins and states, and with noise that was not redrawn until it fell within
    limits, which is not centred.
    """
    return counts_states(measurement, columns) and not set(columns) & set(measurement.bins)


def counts_states(
    measurement: Measurement, columns: Sequence[str], kind: Kind = Kind.TABLE
) -> bool:
    """Return the same of a table in any bins, or of another kind of table."""
    return (
        measurement.kind is kind
        and set(columns) <= set(measurement.columns)
        and not set(columns) & set(measurement.groups)
        and not measurement.family.is_truncated
    )


def coarser_table(
    measurements: Sequence[Measurement], columns: Sequence[str]
) -> Measurement | None:
    """The table with the least noise that counts some columns in bins wider than the schema's.

    Args:
        measurements: of a release.
        columns: of a question, two or more.

    Returns:
        None where there is none, or one in the schema's own bins.
    """
    found = [one for one in measurements if len(columns) > 1 and counts_states(one, columns)]
    if any(covers(one, columns) for one in found):
        return None
    return min(found, key=lambda one: one.stddev, default=None)


def select_covering(
    measurements: Sequence[Measurement], columns: Sequence[str]
) -> tuple[Measurement, ...]:
    """The tables that count every cell of some columns, without those that lack records.

    A table over more columns lacks the records that are out of domain in these. Where it clearly
    lacks more than another one does, by the noisy numbers of them, it is left aside. The noise in
    these numbers is independent of that in cells, so the choice says nothing of the errors there.

    Args:
        measurements: of a release.
        columns: of a question.
    """
    found = tuple(one for one in measurements if covers(one, columns))
    return tuple(one for one in found if not any(_lacks_more(one, other) for other in found))


def _lacks_more(one: Measurement, other: Measurement) -> bool:
    """Return whether more records are out of domain in one table than in another, clearly."""
    return one.outside - other.outside > _CLEARLY * math.hypot(one.stddev, other.stddev)


def line_of(measurements: Sequence[Measurement], name: str) -> Measurement | None:
    """The number line of a column, from all that have its cells; None where none was measured.

    Counts of the same cells, each with noise of its own, are averaged by precision. Lines of other
    cells than the first one are left aside. Finer ones (`finest_line`) come after it, and may have
    less noise in a cell, where only some columns have one.

    Args:
        measurements: of a release.
        name: of the column.
    """
    lines = [one for one in measurements if one.kind is Kind.LINE and one.columns == (name,)]
    if not lines:
        return None
    same = [line for line in lines if line.bins == lines[0].bins]
    best = min(same, key=lambda line: line.stddev)
    if len(same) == 1 or not best.stddev:
        return best
    precision = np.array([line.stddev**-2 for line in same])
    weights = precision / precision.sum()
    tailed = next((line for line in same if not line.family.is_gaussian), best)
    variance = float(1 / precision.sum())
    scale = math.sqrt(variance / 2) if tailed.family.is_laplace else variance
    return replace(
        tailed,  # noise that is normal in part only is taken for what has the heavier tails
        counts=weights @ np.stack([line.counts for line in same]),
        outside=float(weights @ [line.outside for line in same]),
        stddev=math.sqrt(variance),
        scale=str(scale),
    )


def finest_line(
    measurements: Sequence[Measurement], name: str, schema: Schema
) -> Measurement | None:
    """The line whose cells divide those of `line_of`, or that one if there is none.

    Args:
        measurements: of a release.
        name: of the column.
        schema: of the release.
    """
    usual = line_of(measurements, name)
    if usual is None:
        return None
    finest, cells = usual, line_schema(usual, schema).columns[name]
    for one in measurements:
        if one.kind is Kind.LINE and one.columns == (name,) and one.bins != usual.bins:
            fine = line_schema(one, schema).columns[name]
            assert isinstance(fine, NUMERIC)
            assert isinstance(cells, NUMERIC)
            if is_finer(fine, cells):
                finest, cells = one, fine
    return finest


def line_schema(line: Measurement, schema: Schema) -> Schema:
    """The column of a number line alone, in the bins of the line.

    Args:
        line: a number line.
        schema: of the release.
    """
    (name,) = line.columns
    alone = schema.part([name]).model_copy(update={"forbidden": ()})
    return line.bin_schema(alone)


def line_table(line: Measurement, tables: Sequence[Measurement], schema: Schema) -> NoisyCounts:
    """Counts of the states of a column in the bins of its line, from all that was measured of it.

    Args:
        line: a number line.
        tables: full tables that cover its column; may be none.
        schema: of the release.
    """
    (name,) = line.columns
    fine, coarse = line_schema(line, schema).columns[name], schema.columns[name]
    assert isinstance(fine, NUMERIC)
    assert isinstance(coarse, NUMERIC)
    places = np.append(np.arange(fine.size), LineCells(fine).ends)
    own = np.full(fine.size + 2, line.stddev**2)
    counts, variances = np.zeros((2, fine.size))
    np.add.at(counts, places, line.counts)
    np.add.at(variances, places, own)
    found = NoisyCounts(counts, variances, Sources.independent(own, places, fine.size))
    if not tables:
        return found
    table = pooled_table([marginal(one, (name,), schema) for one in tables])
    inside = _membership(coarse_states(fine, coarse), coarse.size)
    return fit_sums(found, inside, table.counts, table.variances)


def _membership(places: Integers, sums: int) -> Floats:
    """Which cells each of some sums has, by the sum that each is in; shape (sums, cells)."""
    return np.equal.outer(np.arange(sums), places).astype(np.float64)


def column_counts(
    name: str,
    measurements: Sequence[Measurement],
    schema: Schema,
    n: tuple[float, float],
    line: Measurement | None = None,
) -> NoisyCounts:
    """Counts of a column by all that counts its states, or groups of them, and by their number.

    Args:
        name: of the column.
        measurements: of a release; full tables that cover the column, if no line is given.
        schema: of the release.
        n: number of records, and the standard deviation of the noise in it.
        line: in whose cells to count; None for the states of the schema. The cells of `line_of`
            are sums of those of a finer one.
    """
    column, tables = schema.columns[name], select_covering(measurements, (name,))
    if line is None:
        found, states = bin_table(tables, schema, name), np.arange(column.size)
    else:
        fine = line_schema(line, schema).columns[name]
        assert isinstance(column, NUMERIC)
        assert isinstance(fine, NUMERIC)
        found, states = line_table(line, tables, schema), coarse_states(fine, column)
    counted = [*tables, *([] if line is None else [line])]
    usual = line_of(measurements, name)
    if line is not None and usual is not None and usual.bins != line.bins:
        cells = line_schema(usual, schema).columns[name]
        assert isinstance(cells, NUMERIC)
        assert isinstance(fine, NUMERIC)
        own = line_table(usual, (), schema)
        rows = _membership(coarse_states(fine, cells), cells.size)
        found = fit_sums(found, rows, own.counts, own.variances)
        counted.append(usual)
    for one in _grouped_tables(name, measurements, counted):
        sums = marginal(one, (name,), schema)
        rows = _membership(np.array(one.groups[name])[states], len(sums.counts))
        found = fit_sums(found, rows, sums.counts, sums.variances)
    deviations = np.array([one.stddev for one in counted])
    exact = deviations == 0
    precise = exact if exact.any() else deviations**-2.0
    weights = precise / precise.sum()
    inside = n[0] - float(weights @ [one.outside for one in counted])
    variance = n[1] ** 2 + float(weights**2 @ deviations**2)
    rows = np.ones((1, found.counts.shape[-1]))
    return fit_sums(found, rows, np.array([inside]), np.array([variance]))


def _grouped_tables(
    name: str, measurements: Sequence[Measurement], counted: Sequence[Measurement]
) -> Iterator[Measurement]:
    """Tables in which states of a column share groups, without those that lack records."""
    for one in measurements:
        if (
            one.kind is Kind.TABLE
            and name in one.groups
            and name not in one.bins
            and not one.family.is_truncated
            and not any(_lacks_more(one, other) for other in counted)
        ):
            yield one


def fit_sums(table: NoisyCounts, rows: Floats, numbers: Floats, variances: Floats) -> NoisyCounts:
    """Counts with the sources of their noise, fitted to what noise of its own says of sums of them.

    Args:
        table: the counts.
        rows: which cells each sum has, shape (k, cells).
        numbers: the sums, shape (k,).
        variances: of their noise, shape (k,).
    """
    assert table.sources is not None
    shared = table.sources.spread(rows)
    whole = shared @ rows.T + np.diag(variances)
    known = np.flatnonzero(np.diag(whole) > 0)  # the others are free of noise on both sides
    rows, shared = rows[known], shared[known]
    gain = np.asarray(np.linalg.solve(whole[np.ix_(known, known)], shared).T, dtype=np.float64)
    counts = table.counts + gain @ (numbers[known] - rows @ table.counts)
    left = np.maximum(table.variances - np.einsum("ck,kc->c", gain, shared), 0.0)
    return NoisyCounts(counts, left, table.sources.with_sums(gain, rows, variances[known]))


def bin_table(tables: Sequence[Measurement], schema: Schema, name: str) -> NoisyCounts:
    """Counts of the states of a column by its tables, with the sources of their noise.

    Args:
        tables: full tables that cover it.
        schema: of the release.
        name: of the column.
    """
    found = pooled_table([marginal(one, (name,), schema) for one in tables])
    cells = np.arange(len(found.counts))
    return replace(found, sources=Sources.independent(found.variances, cells, len(cells)))
