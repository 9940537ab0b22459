"""Answers about the numbers of one column from its number line, and what it tells models.

How both are put together: `inference.noisy_tables`.

**Which is taken** follows from public facts. A table leaves open where in a bin its records lie, up
to n/B of n records if B bins were alike; a line tells it up to noise, of which a number that cuts a
bin of m cells meets 1.96·σ·√m/2. The line is taken where that is less, and where there is no table.

A method may have bins of its own, which lines do not divide. Then tables and lines cannot be put
together, and lines alone are taken where they have so many more cells F than there are bins B that
n/B − n/F is more than their noise up to the middle of all cells.

**Gini coefficients.** With c_j records in cell j, N of them and S the sum of their numbers, m_j the
middle of the cell and |m_i − m_j| the matrix M, the coefficient is

    G = c'Mc / (2NS),

half the mean distance of two records over the mean. c'Mc is quadratic in the counts, so noise with
the covariance C adds tr(CM) to it on average, which is taken off. To first order a record more in
cell j adds g_j = (Mc)_j/(NS) − G/N − G·m_j/S. So noise has the variance g'Cg, sampling Σ c_j g_j².
Of second order noise has 2·tr(CMCM)/(2NS)² more, which matters where cells are many and small.

Where in its cell a number lies is not known. With F_j the share of records up to cell j, x_j
the mean in the cell, and b_j = F_{j−1} + F_j − 1, half the mean distance is Σ p_j x_j b_j, and half
of p_j² times the mean distance within each cell, which is at most half its width. So G is a ratio
of linear functions of the x_j: it is least where these are at the low end of their cells if b_j > G
and at the high end if not, and largest the other way round (Dinkelbach's iteration finds these G).
What the bounds have of the noise of the counts is added twice.

**Standard deviations** are roots of a variance that is known with an error. The interval has the
roots of the ends of an interval of the variance, cut off at 0. The variance is Q/n − (S/n)², linear
in what was measured but for the square of the error e of the mean. Its expectation, the variance s²
of the mean by noise and sampling, is given back, and its own variance 2s⁴ is counted: it is most of
the error of what is 0 or 1 with even shares.

Of the cells of a number line each record counts as the middle m of its cell. With d the distance
to the further end, Minkowski's inequality has |σ(x) − σ(m)| ≤ √E(x − m)² ≤ √E d²: the bound on the
bias. Sampling has the fourth moment: (E(m − μ)⁴ − σ⁴)/n.

Sources: Gastwirth (1972), "The Estimation of the Lorenz Curve and Gini Index", Review of Economics
and Statistics 54, 306-316, has such bounds for grouped data; Dinkelbach (1967), "On Nonlinear
Fractional Programming", Management Science 13, 492-498; the noise is ours.

**Sums of functions of a number**, for models.

A number line counts the rows in each cell of a column, so it tells Σ f(x) for every function f that
is constant in cells, with noise of variance σ²·Σ f² over them. A model of one outcome on several
predictors is calibrated to such sums (`understudy.inference.glm`): of functions that are straight
between `KNOTS` quantiles of the synthetic records, from 0 to 1 each, so that noise in far and empty
cells counts no more than in full ones.

Columns with codes of absence have none of it, since only complete rows count in a model; nor has
one some of whose rows are in no cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import polars as pl
from scipy.linalg import block_diag

from understudy._arrays import Z_95, Floats, Integers
from understudy.errors import InferenceError
from understudy.features.grids import TOLD, LineCells, Numeric, is_finer, line_bins
from understudy.features.scores import Limits
from understudy.inference.bin_bias import end_scores
from understudy.inference.combining import Pooled, Untested
from understudy.inference.conditions import are_told, require_told
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import FEWEST, Counted, table_estimates
from understudy.inference.glm import Shapes
from understudy.inference.linear import require_firm
from understudy.inference.noisy_tables import (
    NoisyCounts,
    Sources,
    column_counts,
    finest_line,
    fit_sums,
    line_of,
    line_schema,
    select_covering,
)
from understudy.inference.own_tables import counts_on_lines
from understudy.inference.quantiles import expected_halves, table_quantiles
from understudy.inference.question import RATIOS, Estimand
from understudy.inference.records import ABSENT, Records
from understudy.inference.second_moments import LostInNoiseError
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Schema

KNOTS: Final = 8


def shapes_of(
    estimand: Estimand,
    measurements: Sequence[Measurement],
    schema: Schema,
    sets: Sequence[Records],
    limits: Limits,
    *,
    n: float,
) -> Shapes | None:
    """Return what number lines tell of the predictors of a model; None if nothing.

    Args:
        estimand: the model.
        measurements: of a release.
        schema: of the release.
        sets: complete records of each synthetic set, with the estimand's columns.
        limits: at which numbers are cut off.
        n: number of rows.
    """
    if any(schema.columns[name].codes for name in estimand.columns):
        return None
    found = []
    for name in estimand.columns:
        line = line_of(measurements, name)
        if line is None or not isinstance(schema.columns[name], NUMERIC):
            continue
        counts = np.asarray(line.counts, dtype=np.float64)
        if abs(counts.sum() - n) > TOLD * line.stddev * np.sqrt(len(counts)):
            continue
        cells = LineCells.of(line_schema(line, schema), name)
        numbers = np.concatenate([one.numbers[name] for one in sets])
        low, high = limits.get(name, cells.column.bounds)
        middles = np.clip(_middles(cells), low, high)
        records = middles[_cell_of(cells.column, numbers)]
        knots = np.unique(np.quantile(records, np.linspace(0, 1, KNOTS)))
        if len(knots) < 3:  # products tell all that two points do
            continue
        hats = np.stack([np.interp(middles, knots, one) for one in np.eye(len(knots))], axis=1)
        noise = line.stddev**2 * hats.T @ hats
        values = np.stack([np.interp(records, knots, one) for one in np.eye(len(knots))], axis=1)
        found.append((values, counts @ hats, noise))
    if not found:
        return None
    return Shapes(
        values=np.hstack([values for values, _, _ in found]),
        sums=np.concatenate([sums for _, sums, _ in found]),
        noise=block_diag(*(noise for _, _, noise in found)),
    )


def _middles(cells: LineCells) -> Floats:
    """The middle of each cell; of those beyond the bounds, these."""
    inside = [(one.low + one.high) / 2 for one in cells.column.intervals]
    return np.array([*inside, *cells.column.bounds], dtype=np.float64)


def _cell_of(column: Numeric, numbers: Floats) -> Integers:
    """The cell in which each number lies."""
    bins = [(one.low, k) for k, one in enumerate(column.intervals) if not one.spike]
    lows, states = np.array([low for low, _ in bins]), np.array([k for _, k in bins])
    found = states[np.clip(np.searchsorted(lows, numbers, side="right") - 1, 0, None)]
    for k, one in enumerate(column.intervals):
        if one.spike:
            found = np.where(numbers == one.low, k, found)
    return np.asarray(found, dtype=np.int64)


REASON = (
    "computed from the released noisy counts of a fine histogram, whose noise is known exactly, "
    "not from the synthetic records"
)


def line_answer(estimand: Estimand, release: Release) -> tuple[Counted, Schema] | None:
    """The answer of a number line, and the schema in its cells; None where it has none to give.

    Args:
        estimand: the question.
        release: that it is asked of.

    Raises:
        InferenceError: the expression cannot be computed, or not record by record.
    """
    if not _is_of_one_number(estimand):
        return None
    (name,) = estimand.columns
    line = line_of(release.measurements, name)
    if line is None:
        return None
    cells = line_schema(line, release.schema)
    column, fine = release.schema.columns[name], cells.columns[name]
    assert isinstance(column, NUMERIC)
    assert isinstance(fine, NUMERIC)
    tables = select_covering(release.measurements, (name,))
    n_rows, told = release.manifest.n_rows, are_told(estimand, release.schema)
    few = bool(tables) and not _tells_more(line, fine, column, n_rows) and told
    coarse = few or not is_finer(fine, column)
    if coarse and estimand.kind != "gini" and not (tables and told):
        return None
    finest = finest_line(release.measurements, name, release.schema) or line
    known: Sequence[Measurement] = release.measurements
    if coarse and _hide_less(line, finest, column, n_rows):
        known, tables = [one for one in known if one.kind is Kind.LINE], ()
    in_states = coarse and bool(tables)
    cells = release.schema.part([name]) if in_states else line_schema(finest, release.schema)
    measured = tables if in_states else (finest, *tables)
    about = n_rows, release.manifest.inference.rows_stddev
    table = column_counts(name, known, release.schema, about, None if in_states else finest)
    if estimand.kind == "quantile":
        heavy = not all(one.family.is_gaussian for one in measured)
        return table_quantiles(estimand, table, cells, len(measured), heavy=heavy), cells
    complete = Records.complete_of(release.tables[0], release.schema, (name,))
    return _counted(estimand, table, cells, len(measured), complete), cells


def expected_on_line(
    estimand: Estimand, schema: Schema, rows: pl.DataFrame, stddev: float, n_stddev: float
) -> list[tuple[str, float, float]]:
    """Half-widths that are expected of what a number line alone would answer.

    Args:
        estimand: the question.
        schema: public; the question is of one of its numbers.
        rows: records that stand for those of the release.
        stddev: of the noise in a cell of the line.
        n_stddev: of that in the number of records.

    Returns:
        Name of each estimate, and half of its interval of 95 % by noise and by sampling; none where
        a line does not answer such a question.

    Raises:
        InferenceError: as by `line_answer`.
    """
    if not _is_of_one_number(estimand):
        return []
    (name,) = estimand.columns
    column, complete = schema.columns[name], Records.complete_of(rows, schema, (name,))
    assert isinstance(column, NUMERIC)
    cells = schema.part([name]).model_copy(update={"forbidden": ()})
    cells = cells.with_bins({name: line_bins(column)})
    if estimand.kind == "quantile":
        return expected_halves(estimand, estimand.scores(complete), cells, stddev)
    size = cells.columns[name].size
    counts = counts_on_lines((name,), schema, rows)[name][:size]
    halves = []
    for noise in (stddev, 0.0):
        variances = np.full(size, noise**2)
        sources = Sources.independent(variances, np.arange(size), size)
        known = np.array([counts.sum()]), np.array([noise and n_stddev**2])
        table = fit_sums(NoisyCounts(counts, variances, sources), np.ones((1, size)), *known)
        pooled = _counted(estimand, table, cells, 1, complete).pooled
        lower, upper = pooled.interval(0.95)
        halves.append((upper - lower) / 2)
    both, alone = halves
    by_noise = np.sqrt(np.maximum(both**2 - alone**2, 0))
    return [*zip(pooled.names, by_noise.tolist(), alone.tolist(), strict=True)]


def _is_of_one_number(estimand: Estimand) -> bool:
    """Return whether the line of a single column may answer a question."""
    asked = (*RATIOS, "total", "quantile", "std", "gini")
    if estimand.kind not in asked or not estimand.used or len(estimand.columns) > 1:
        return False
    return not (estimand.split and estimand.kind in _BY_CELLS)


def _counted(
    estimand: Estimand, table: NoisyCounts, cells: Schema, tables: int, complete: Records
) -> Counted:
    """What the counts of cells tell of anything but a quantile.

    Args:
        estimand: the question.
        table: counts of the cells.
        cells: schema in them.
        tables: how many measurements they rest on.
        complete: synthetic records, which decide whether noise hides it.
    """
    if estimand.kind not in _BY_CELLS:
        return table_estimates(estimand, table, cells, tables)
    scores = estimand.scores(complete)
    counts = scores.quantity != ABSENT
    shown = scores.value[counts] if counts.any() else np.zeros(1)
    return _BY_CELLS[estimand.kind](estimand, table, cells, tables, shown)


def _tells_more(line: Measurement, fine: Numeric, coarse: Numeric, n_rows: int) -> bool:
    """Return whether a line tells more of a number within a bin than that it is there."""
    cells, bins = (
        sum(not interval.spike for interval in column.intervals) for column in (fine, coarse)
    )
    return Z_95 * line.stddev * math.sqrt(cells / bins) / 2 < n_rows / bins


def _hide_less(usual: Measurement, finest: Measurement, column: Numeric, n_rows: int) -> bool:
    """Return whether lines alone tell more of numbers than tables in bins that they do not divide.

    Lines have two cells more, beyond the bounds.
    """
    few, many = (len(line.counts) - 2 for line in (usual, finest))
    noise = math.hypot(usual.stddev * math.sqrt(few), finest.stddev * math.sqrt(many / few))
    return Z_95 * noise / 2 < n_rows / column.size - n_rows / many


_ITERATIONS = 50


def line_gini(
    estimand: Estimand, table: NoisyCounts, schema: Schema, tables: int, shown: Floats
) -> Counted:
    """The Gini coefficient of a number in the cells of its line.

    Args:
        estimand: the question.
        table: counts of the cells, with the sources of their noise.
        schema: in these cells.
        tables: how many measurements they rest on.
        shown: values of the synthetic records, which decide whether noise hides it.

    Raises:
        LostInNoiseError: noise hides the mean, or the counts show no records.
        InferenceError: the expression cannot be computed, or not record by record, or cells do not
            tell who meets a condition; it may be below 0, or its values in two cells overlap.
    """
    assert table.sources is not None
    require_told(estimand, schema)
    scores = cell_scores(estimand, schema)
    used = np.flatnonzero(scores.quantity != ABSENT)
    ends = end_scores(estimand, schema, scores) or (scores, scores)
    order = used[np.argsort(scores.value[used], kind="stable")]
    low, value, high = (one.value[order] for one in (ends[0], scores, ends[1]))
    _require_ranks(low, high, estimand.expression)
    counts, sources = table.counts[order], table.sources.take(order)
    n, total = float(counts.sum()), float(counts @ value)
    if n < FEWEST:
        raise LostInNoiseError("By the noisy counts there are no records.")
    noise_of_mean = sources.covariance(value, value) / n**2
    few = "The numbers add up to too little under the privacy noise"
    require_firm(np.array([shown.mean()]), np.array([float(noise_of_mean)]), few)
    if total <= 0:
        raise LostInNoiseError("By the noisy counts the numbers add up to nothing.")
    apart = np.abs(np.subtract.outer(value, value))
    mixed = sources.spread(apart)
    added = float(np.trace(mixed))
    gini = (float(counts @ apart @ counts) - added) / (2 * n * total)
    influence = (apart @ counts) / (n * total) - gini / n - gini * value / total
    second = 2 * float(np.vdot(mixed, mixed.T)) / (2 * n * total) ** 2
    noise = float(sources.covariance(influence, influence)) + second
    sampling = max(float(counts @ influence**2), 0.0)
    bias = _bound(counts, (low, high), (gini, added / (2 * n**2)), sources)
    absent = np.flatnonzero(scores.quantity == ABSENT)
    pooled = Untested(
        names=estimand.names(schema),
        estimate=np.array([gini]),
        covariance=np.array([[noise + sampling]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([noise / max(noise + sampling, 1e-300)]),
        rule="noise-aware",
        sets=tables,
        bias=np.array([bias]),
    )
    return Counted(
        pooled=pooled,
        dropped=float(table.counts[absent].sum()),
        dropped_noise=float(np.sqrt(table.variances[absent].sum())),
        varied=bias > 0,
    )


def _require_ranks(low: Floats, high: Floats, expression: str) -> None:
    """Refuse numbers below 0, and cells that do not tell which of two numbers is larger."""
    if low.min(initial=0.0) < 0:
        raise InferenceError(
            f"A Gini coefficient needs numbers that are never below 0, and {expression} may be."
        )
    if (high[:-1] > low[1:] * (1 + 1e-12)).any():
        raise InferenceError(
            f"The fine histogram does not tell the order of {expression}; ask for the Gini "
            "coefficient of a column."
        )


def _bound(
    counts: Floats, ends: tuple[Floats, Floats], known: tuple[float, float], sources: Sources
) -> float:
    """Return how far the coefficient may lie off by where numbers lie in their cells.

    Args:
        counts: in the order of the cells.
        ends: least and largest number of each cell.
        known: the coefficient with numbers in their middles, and what noise adds to half the mean
            distance.
        sources: of the noise in the counts.
    """
    low, high = ends
    widths = high - low
    if not widths.any():
        return 0.0
    gini, added = known
    n = float(counts.sum())
    shares = counts / n
    upto = shares.cumsum()
    above = 2 * upto - shares - 1
    within = float(shares**2 @ widths) / 4
    found = []
    for first, last, apart in ((low, high, 0.0), (high, low, within)):
        at = gini
        for _ in range(_ITERATIONS):
            means = np.where(above > at, first, last)
            mean = float(shares @ means)
            if mean <= 0:
                raise LostInNoiseError("By the noisy counts the numbers add up to nothing.")
            before, at = at, (float(shares @ (means * above)) - added + apart) / mean
            if abs(at - before) < 1e-9:
                break
        found.append(abs(at - gini))
        room = widths / 2 * np.abs(above - at) / mean
        found[-1] += 2 * float(np.sqrt(sources.covariance(room, room))) / n
    return max(found)


@dataclass(frozen=True)
class Roots(Untested):
    """Roots of estimates, with the roots of the ends of their intervals.

    Attributes:
        squares: what they are roots of.
        further: bias of the roots themselves, shape (k,).
    """

    squares: Pooled | None = None
    further: Floats | None = None

    @classmethod
    def of(cls, squares: Pooled, further: Floats) -> Roots:
        """The roots of estimates above 0.

        Args:
            squares: the estimates.
            further: bias of the roots, beside that of the squares, shape (k,).
        """
        own = {field.name: getattr(squares, field.name) for field in fields(Pooled)}
        own["estimate"] = root = np.sqrt(squares.estimate)
        own["covariance"] = squares.covariance / (4 * np.multiply.outer(root, root))
        own["bias"], own["lean"] = squares.bias / (2 * root) + further, squares.lean / (2 * root)
        return cls(**own, squares=squares, further=further)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Ends of the confidence intervals, each of shape (k,); none below 0.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        assert self.squares is not None
        assert self.further is not None
        lower, upper = (np.sqrt(np.maximum(end, 0)) for end in self.squares.interval(level))
        return np.maximum(lower - self.further, 0), upper + self.further


def line_deviation(
    estimand: Estimand, table: NoisyCounts, schema: Schema, tables: int, shown: Floats
) -> Counted:
    """The standard deviation of a number in the cells of its line.

    Args:
        estimand: the question.
        table: counts of the cells, with the sources of their noise.
        schema: in these cells.
        tables: how many measurements they rest on.
        shown: values of the synthetic records, which decide whether noise hides it.

    Raises:
        LostInNoiseError: noise hides the variance, or the counts show no records.
        InferenceError: the expression cannot be computed, or not record by record, or cells do not
            tell who meets a condition.
    """
    assert table.sources is not None
    require_told(estimand, schema)
    scores = cell_scores(estimand, schema)
    used = scores.quantity != ABSENT
    counts, value = np.where(used, table.counts, 0.0), scores.value
    n = float(counts.sum())
    if n < FEWEST:
        raise LostInNoiseError("By the noisy counts there are no records.")
    centred = np.where(used, value - float(counts @ value) / n, 0.0)
    variance = float(counts @ centred**2) / n
    of_mean = float(table.sources.covariance(centred, centred)) / n**2 + max(variance, 0.0) / n
    variance += of_mean
    influence = np.where(used, centred**2 - variance, 0.0)
    noise = float(table.sources.covariance(influence, influence)) / n**2 + 2 * of_mean**2
    require_firm(
        np.array([shown.var()]), np.array([noise]), "The number varies too little in its cells"
    )
    if variance <= 0:
        raise LostInNoiseError("By the noisy counts the number does not vary.")
    sampling = max(float(counts @ influence**2), 0.0) / n**2
    squares = Pooled(
        names=estimand.names(schema),
        estimate=np.array([variance]),
        covariance=np.array([[noise + sampling]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([noise / max(noise + sampling, 1e-300)]),
        rule="noise-aware",
        sets=tables,
    )
    ends = end_scores(estimand, schema, scores)
    bias = 0.0
    if ends is not None:
        low, high = (np.where(used, one.value - value, 0.0) for one in ends)
        room = np.maximum(-low, high) ** 2
        error = 2 * float(np.sqrt(table.sources.covariance(room, room)))
        bias = float(np.sqrt(max(float(counts @ room) + error, 0.0) / n))
    return Counted(
        pooled=Roots.of(squares, np.array([bias])),
        dropped=float(table.counts[~used].sum()),
        dropped_noise=float(np.sqrt(table.variances[~used].sum())),
        varied=bias > 0,
    )


_BY_CELLS: Final = {"std": line_deviation, "gini": line_gini}
"""Kinds that are not linear in the counts."""
