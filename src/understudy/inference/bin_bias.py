"""Bounds on the bias of an estimate that comes from where numbers lie within their bins.

Of a record in a bin it is known that its number lies in the bin, and nothing else.

A mean E[V] lies between E[least] and E[largest], the means of the values at the ends of the cells,
and both are means of what was measured exactly: sampling within bins needs no assumption. With
estimates of all three, an interval that reaches from the lower end of that of E[least] to the upper
end of that of E[largest] misses E[V] only if one of two one-sided intervals fails. `add_bin_bias`
gives it, with the largest error at both ends. It need not be symmetric: of `income > 40000`, where
a bin begins at 40000, the estimate is that nobody has 40000 itself, and all of the bin may.

Here values are looked up at both ends of a bin, at up to 64 places between them and at each number
that the expression names, such as the 25000 of `income > 25000`, so it may turn round within a bin.

Source: Horowitz & Manski (2000), JASA 95, 77-84, for bounds whose ends have sampling errors.

**Models.** First-order bounds, one record at a time (`shifts`).

**Between which numbers the value of an expression lies in each cell of a table.**

Of a record in a bin it is known that its number lies in the bin, and nothing else. What is said of
quantiles must hold wherever it lies, so each cell has a least and a largest value: of an expression
that rises or falls in each number, the values at the corners of the cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy._arrays import Floats, Integers
from understudy.errors import InferenceError
from understudy.inference import formulas
from understudy.inference.combining import Pooled
from understudy.inference.contributions import CellScores, require_recordwise
from understudy.inference.question import Estimand
from understudy.inference.records import (
    ABSENT,
    MOST_POINTS,
    Records,
    cell_corners,
    cell_points,
    is_binned,
    state_ends,
    state_places,
)
from understudy.inference.regression_models import Designs, Influences, finite_values, influences
from understudy.schema import NUMERIC, Schema
from understudy.schema.expressions import read_name

_PLACES, _FEW_PLACES = 64, 3


@dataclass(frozen=True)
class Known:
    """The precision with which the numbers of synthetic sets are known.

    Attributes:
        schema: in the bins that were measured.
        drawn: numeric columns whose numbers a model drew, which bins do not tell.
    """

    schema: Schema
    drawn: Collection[str] = ()

    def select_binned(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Those of some columns whose numbers are known by bins only."""
        return tuple(
            name
            for name in columns
            if name not in self.drawn and is_binned(self.schema.columns[name])
        )


def reach(estimand: Estimand, records: Records, known: Known) -> tuple[Floats, Floats] | None:
    """The least and largest value of each record, however its expression runs within bins.

    Args:
        estimand: a mean, share or total.
        records: complete ones, with their states in the bins that are known.
        known: how exactly.

    Returns:
        Both of shape (n,), or None where every value is known.

    Raises:
        InferenceError: the expression cannot be computed at the ends of the bins, or not record by
            record.
    """
    used = estimand.used
    spread = known.select_binned(used)
    if not spread:
        return None
    place = np.zeros(len(records.complete()), dtype=np.int64)
    for name in used:  # cells of these columns alone, numbered as they occur
        crossed = place * known.schema.columns[name].n_ordinary + records.states[name]
        _, first, place = np.unique(crossed, return_index=True, return_inverse=True)
    inner = estimand.alone()
    cells = {name: records.states[name][first] for name in used}
    points = _spread_points(cells, spread, inner, known.schema)
    scores = inner.scores(points)
    require_recordwise(inner, scores, points.take(np.arange(len(scores.value))[::-2]))
    value = scores.value.reshape(len(first), -1)
    return value.min(axis=1)[place], value.max(axis=1)[place]


def _spread_points(
    states: dict[str, Integers], spread: Sequence[str], estimand: Estimand, schema: Schema
) -> Records:
    """Each combination of states with every choice of places in its bins, as records."""
    named = formulas.constants(formulas.as_formula(estimand.expression))
    n = len(next(iter(states.values())))
    most = 1 if read_name(estimand.expression) in spread else _PLACES
    while True:
        places = {
            name: state_places(schema.columns[name], named, most if name in spread else 1)
            for name in states
            if isinstance(schema.columns[name], NUMERIC)
        }
        shape = [table.shape[1] for table in places.values()]
        if most == 1 or n * int(np.prod(shape)) <= MOST_POINTS:
            break
        most //= 2
    choices = np.indices(shape).reshape(len(shape), -1)
    numbers = {
        name: table[states[name]][:, choice].reshape(-1)
        for (name, table), choice in zip(places.items(), choices, strict=True)
    }
    each = choices.shape[1]
    return Records(schema, {name: np.repeat(s, each) for name, s in states.items()}, numbers)


def end_scores(
    estimand: Estimand, schema: Schema, scores: CellScores
) -> tuple[CellScores, CellScores] | None:
    """Compute the least and the most that a record of each cell adds; None for one value a cell.

    Args:
        estimand: a mean, share or total.
        schema: the public schema.
        scores: what it adds on average.

    Raises:
        InferenceError: as for `reach`.
    """
    if not Known(schema).select_binned(estimand.used):
        return None
    cells, _ = cell_points(schema, estimand.columns, ())
    complete = np.flatnonzero(cells.complete())
    ends = reach(estimand, cells.take(complete), Known(schema))
    assert ends is not None
    low, high = np.zeros((2, len(scores.value)))
    low[complete] = np.minimum(ends[0], scores.value[complete])
    high[complete] = np.maximum(ends[1], scores.value[complete])
    if (low == high).all():
        return None
    return replace(scores, value=low, square=low**2), replace(scores, value=high, square=high**2)


def with_ends(
    answer: Callable[[CellScores], Pooled],
    scores: CellScores,
    ends: tuple[CellScores, CellScores] | None,
) -> Pooled:
    """Add to an answer what bins may hide.

    Args:
        answer: gives estimates from what records of each cell add.
        scores: what they add on average.
        ends: what they add at least, and at most; None where that is the same.
    """
    pooled = answer(scores)
    return pooled if ends is None else add_bin_bias(pooled, *map(answer, ends))


def add_bin_bias(pooled: Pooled, least: Pooled, largest: Pooled) -> Pooled:
    """An estimate with what bins may hide in its interval.

    Args:
        pooled: with numbers within bins as they were drawn, or even.
        least: the same with each value as small as its bin allows.
        largest: as large.

    Returns:
        With the distances as bias and lean, so that it reaches from the least to the largest, and
        with the largest standard error and its reference.
    """
    above, below = (
        np.nan_to_num(np.maximum(distance, 0.0))
        for distance in (largest.estimate - pooled.estimate, pooled.estimate - least.estimate)
    )
    variances, dfs, shares = (
        np.stack(parts)
        for parts in (
            [np.diag(one.covariance) for one in (pooled, least, largest)],
            [one.df for one in (pooled, least, largest)],
            [one.synthesis_share for one in (pooled, least, largest)],
        )
    )
    place = np.nan_to_num(variances, nan=-1.0).argmax(axis=0), np.arange(len(pooled.names))
    covariance = pooled.covariance.copy()
    np.fill_diagonal(covariance, variances[place])
    return replace(
        pooled,
        covariance=covariance,
        df=dfs.min(axis=0),
        synthesis_share=shares[place],
        bias=(above + below) / 2,
        lean=(above - below) / 2,
    )


def record_places(records: Sequence[Records], name: str, named: Sequence[float]) -> Floats:
    """Numbers that each record of several sets could have in a column, shape (places, n)."""
    places = state_places(records[0].schema.columns[name], named, _FEW_PLACES)
    return places.T[:, np.concatenate([one.states[name] for one in records])]


def shifts(
    kind: str,
    formula: str,
    laid: Designs,
    moved: Mapping[str, Floats],
    fitted: Sequence[tuple[Floats, Floats]],
) -> list[tuple[Floats, Floats]]:
    """Compute how low and how high coefficients get as numbers move within their bins.

    With scores ψ = x(y - μ(x'β)) and A = Σ w·xx' a coefficient moves by A⁻¹ Σ (ψ' - ψ), where ψ'
    are the scores of the moved records at the same β, up to the change of A. Each record is put
    where it moves a coefficient most, one column after the other. For straight lines that is
    |(A⁻¹x)_k|·h for an outcome, and |A⁻¹_kj·r - (A⁻¹x)_k·b_j·w|·h for predictor j, with h the
    distance to the end of the bin.

    Args:
        kind: "ols", "logit" or "poisson".
        formula: with an outcome.
        laid: the designs of all sets.
        moved: column → numbers that the stacked records could have, each of shape (places, n).
        fitted: coefficients of each set and their covariance.

    Returns:
        Twice coefficients, shape (m, p), and covariances, shape (m, p, p): variances in proportion
        to that of the influences of the moved records, if larger.
    """
    cuts = np.cumsum([len(y) for y, _ in laid.pairs])[:-1]
    sets = [
        influences(kind, *pair, beta) for pair, (beta, _) in zip(laid.pairs, fitted, strict=True)
    ]
    own = np.concatenate([one.own for one in sets])
    least, largest = np.zeros_like(own), np.zeros_like(own)
    for name, places in moved.items():
        low, high = np.zeros_like(own), np.zeros_like(own)
        for numbers in places:
            both = formulas.laid_out(formula, laid.layout, laid.stacked.assign(**{name: numbers}))
            _, y, x = finite_values(kind, formula, both)
            parts = zip(sets, np.split(y, cuts), np.split(x, cuts), strict=True)
            change = np.concatenate([one.of(*pair) for one, *pair in parts]) - own
            np.minimum(low, change, out=low)
            np.maximum(high, change, out=high)
        least += low
        largest += high
    sides = []
    for changes in (least, largest):
        made = map(_shift_fit, sets, fitted, np.split(changes, cuts))
        estimates, covariances = zip(*made, strict=True)
        sides.append((np.stack(estimates), np.stack(covariances)))
    return sides


def _shift_fit(
    influence: Influences, fitted: tuple[Floats, Floats], change: Floats
) -> tuple[Floats, Floats]:
    """Coefficients and covariance of a set after changes of the influences, shape (n, p)."""
    before, after = influence.own.var(axis=0), (influence.own + change).var(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.sqrt(np.where(before > 0, np.maximum(after / before, 1.0), 1.0))
    return fitted[0] + change.sum(axis=0), fitted[1] * factor[:, None] * factor


_ROUNDING = 1e-9


@dataclass(frozen=True)
class Ranges:
    """Values of an expression in the cells of the table over an estimand's columns.

    Attributes:
        names: of the k quantities, one for each group.
        quantity: quantity of each cell, `ABSENT` where a value is absent, shape (cells,).
        low: least value in each cell, shape (cells,).
        high: largest value in each cell, shape (cells,).
        points: values that stand for the cells, numbers even within bins, shape (points,).
        cell_of: cell of each point, shape (points,).
    """

    names: tuple[str, ...]
    quantity: Integers
    low: Floats
    high: Floats
    points: Floats
    cell_of: Integers

    @property
    def exact(self) -> bool:
        """True if every cell has one value."""
        used = self.quantity != ABSENT
        return bool((self.low == self.high)[used].all())


def value_ranges(estimand: Estimand, schema: Schema) -> Ranges:
    """The values of an estimand's expression, cell by cell.

    Args:
        estimand: with an expression.
        schema: the public schema.

    Raises:
        InferenceError: the expression cannot be computed, or not record by record, or it neither
            rises nor falls throughout a bin, so that its values there are not known.
    """
    points, cell_of = cell_points(schema, estimand.columns, estimand.columns)
    whole = estimand.scores(points)
    estimand = replace(estimand, where="", split="")  # which corners may not meet, though bins do
    inner = estimand.scores(points)
    require_recordwise(estimand, inner, points.take(np.arange(len(cell_of))[::-2]))
    corners, corner_of = cell_corners(schema, estimand.columns, estimand.columns)
    outer = estimand.scores(corners)
    n_cells = int(cell_of.max()) + 1
    low, high = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    np.minimum.at(low, corner_of, outer.value)
    np.maximum.at(high, corner_of, outer.value)
    _require_within(estimand, inner.value, low[cell_of], high[cell_of])
    quantity = np.full(n_cells, ABSENT)
    quantity[cell_of] = whole.quantity
    return Ranges(whole.names, quantity, low, high, inner.value, cell_of)


def record_ranges(
    estimand: Estimand, records: Records, spread: Sequence[str]
) -> tuple[Floats, Floats]:
    """The least and the largest value of each record, were its numbers anywhere in their bins.

    Args:
        estimand: with an expression.
        records: of a synthetic set, with the columns of the estimand.
        spread: numeric columns that are known by bins only.

    Returns:
        Both of shape (n,); meaningless for a record with an absent value.

    Raises:
        InferenceError: as for `value_ranges`.
    """
    estimand = replace(estimand, where="", split="")
    value = estimand.scores(records).value
    if not spread:
        return value, value
    low, high = np.full(len(value), np.inf), np.full(len(value), -np.inf)
    choices = [_ends_of(records, name) for name in spread]
    for numbers in itertools.product(*choices):
        replaced = dict(zip(spread, numbers, strict=True))
        corner = Records(records.schema, records.states, records.numbers | replaced)
        at_ends = estimand.scores(corner).value
        np.minimum(low, at_ends, out=low)
        np.maximum(high, at_ends, out=high)
    _require_within(estimand, value, low, high)
    return low, high


def _ends_of(records: Records, name: str) -> tuple[Floats, Floats]:
    """Low and high end of the state of each record in one column, each of shape (n,)."""
    column, states = records.schema.columns[name], records.states[name]
    ends = np.stack([state_ends(column, state) for state in range(column.n_ordinary)])
    bounds = np.where((states == ABSENT)[:, None], np.nan, ends[np.maximum(states, 0)])
    return bounds[:, 0], bounds[:, 1]


def _require_within(estimand: Estimand, inner: Floats, low: Floats, high: Floats) -> None:
    """Refuse an expression with values between the corners that lie beyond those at the corners."""
    slack = _ROUNDING * max(1.0, float(np.abs(inner).max(initial=0.0)))
    if ((inner < low - slack) | (inner > high + slack)).any():
        raise InferenceError(
            f"The expression {estimand.expression!r} turns round within a bin, so that quantiles "
            "of it cannot be told from bins; ask for the quantile of one that only rises or falls, "
            "such as the column itself."
        )
