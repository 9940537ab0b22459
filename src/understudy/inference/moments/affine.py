"""Terms of a formula as affine functions of what is measured, found by looking at what they do.

A term is affine where it is a sum of functions of one column each: of levels any, of numbers a
linear one (`age`, `age / 10`), or one that changes at the edges of bins only, if these have rows in
the matrix (`age >= 65` where a bin begins at 65). Whether it is follows from its values on a few
public records: a base, the base with one column changed, and many changed at once, on which the sum
must hold. `log(income)` and `sex:region` are none; they would need other moments. Nor is
`age == 40`, which is 0 nearly everywhere: columns of few whole numbers are looked at in each, and
others at the numbers that the formula names too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from understudy.arrays import Floats, Integers
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.estimates.bin_bounds import state_places
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.schema import NUMERIC, Column, Continuous, Schema

_CHECKS = 64
_CLOSE = 1e-9
_PLACES = (0.0, 1.0, *np.linspace(0, 1, 63)[1:-1])  # where numbers are looked at, in their bounds
_FEW = 1_000  # whole numbers that are all looked at
_INNER = 3  # and in each bin, beside its ends and the numbers that a formula names

Terms = Callable[[pd.DataFrame], Floats]
"""Values of p terms for each record: shape (records, p)."""


@dataclass(frozen=True)
class _Values:
    """Where a column is looked at.

    Attributes:
        numbers: numbers, or places of levels, shape (values,).
        states: state of each, same shape.
        linear: how many of the first lie anywhere between the bounds; 0 for levels.
    """

    numbers: Floats
    states: Integers
    linear: int


def affine_weights(
    terms: Terms,
    columns: Sequence[str],
    schema: Schema,
    matrix: MomentMatrix,
    named: Sequence[float] = (),
) -> Floats | None:
    """Weights of the rows of the matrix in each term.

    Args:
        terms: to be looked at.
        columns: that they use, all among those of the matrix.
        schema: of the columns.
        matrix: whose rows the weights are for.
        named: numbers that the formula names, at which a term may jump.

    Returns:
        Shape (p, R), for records that have a value in each column; None where a term is not
        affine, or one has a number and another the bins of the same column.

    Raises:
        InferenceError: a term cannot be computed.
    """
    values = [_values(schema.columns[name], named, (name, 0) in matrix.place) for name in columns]
    probes = _probes([len(own.states) for own in values])
    seen = terms(_records(schema, columns, values, probes).frame())
    weights = np.zeros((seen.shape[1], len(matrix.sums)))
    weights[:, 0] = seen[0]
    row = 1
    for name, own in zip(columns, values, strict=True):
        change = seen[row : row + len(own.states) - 1] - seen[0]
        weights += _of_column(schema.columns[name], name, own, change, matrix)
        row += len(own.states) - 1
    predicted = _rows(schema, columns, values, probes, matrix) @ weights.T
    size = np.maximum(np.abs(seen).max(axis=0), 1e-300)
    affine = np.abs((predicted - seen) / size).max() <= _CLOSE
    return weights if affine and not _has_both(weights, columns, matrix) else None


def _has_both(weights: Floats, columns: Sequence[str], matrix: MomentMatrix) -> bool:
    """Whether the number of a column and its bins are used, whose products were not measured."""
    used = np.asarray(weights.any(axis=0))
    for name in columns:
        rows, number = matrix.basis.columns[name], matrix.place.get((name, None))
        if number is not None and used[number] and used[rows].sum() > 1:
            return True
    return False


def _of_column(
    column: Column, name: str, values: _Values, change: Floats, matrix: MomentMatrix
) -> Floats:
    """What one column adds to the weights, from its changes against the first of its values."""
    weights = np.zeros((change.shape[1], len(matrix.sums)))
    seen = np.concatenate([np.zeros((1, change.shape[1])), change])
    if not isinstance(column, NUMERIC):
        rows = [matrix.place[name, state] for state in values.states.tolist()]
        weights[:, rows] = seen.T
        return weights
    low, high = column.bounds
    if low == high:
        return weights
    slope = change[0] / (values.numbers[1] - values.numbers[0])
    line = np.outer(values.numbers - values.numbers[0], slope)
    size = np.maximum(np.abs(seen).max(axis=0), 1e-300)
    linear = (np.abs(line - seen) <= _CLOSE * size).all(axis=0)
    weights[linear, matrix.place[name, None]] = slope[linear] * (high - low) / 2
    weights[linear, 0] = slope[linear] * ((low + high) / 2 - values.numbers[0])
    if len(values.states) > values.linear:
        first = [int(np.flatnonzero(values.states == k)[0]) for k in range(column.n_ordinary)]
        rows = [matrix.place[name, state] for state in range(column.n_ordinary)]
        weights[np.ix_(~linear, rows)] = seen[first][:, ~linear].T
    return weights


def _rows(
    schema: Schema,
    columns: Sequence[str],
    values: Sequence[_Values],
    probes: Integers,
    matrix: MomentMatrix,
) -> Floats:
    """What the records that are looked at have in the rows of the matrix, shape (records, R)."""
    rows = np.zeros((len(probes), len(matrix.sums)))
    rows[:, 0] = 1
    for j, name in enumerate(columns):
        column, states = schema.columns[name], values[j].states[probes[:, j]]
        if isinstance(column, NUMERIC):
            low, high = column.bounds
            numbers = values[j].numbers[probes[:, j]]
            half = (high - low) / 2 or 1.0
            rows[:, matrix.place[name, None]] = (numbers - (low + high) / 2) / half
        for state in range(column.n_ordinary):
            if (name, state) in matrix.place:
                rows[:, matrix.place[name, state]] = states == state
    return rows


def _values(column: Column, named: Sequence[float], bins: bool) -> _Values:
    """Where a column is looked at, at both bounds first; in each bin only if these have rows."""
    if not isinstance(column, NUMERIC):
        levels = np.arange(column.n_ordinary)
        return _Values(levels.astype(np.float64), levels, 0)
    low, high = column.bounds
    inside = [number for number in named if low <= number <= high]
    numbers = np.append(low + (high - low) * np.array(_PLACES), inside)
    if not isinstance(column, Continuous):
        whole = np.arange(low, high + 1) if high - low < _FEW else numbers
        numbers = np.rint(np.concatenate([[low, high], whole]))
    own = Records.states_of(numbers, column)
    if not bins:
        return _Values(numbers, own, len(numbers))
    places = state_places(column, named, _INNER)
    states = np.repeat(np.arange(len(places)), places.shape[1])
    return _Values(
        np.concatenate([numbers, places.ravel()]), np.concatenate([own, states]), len(numbers)
    )


def _probes(sizes: Sequence[int]) -> Integers:
    """The base, each column changed alone, and many at once: places among the values."""
    rows = [np.zeros(len(sizes), dtype=np.int64)]
    for j, size in enumerate(sizes):
        for place in range(1, size):
            rows.append(np.zeros(len(sizes), dtype=np.int64))
            rows[-1][j] = place
    rng = np.random.default_rng(0)
    mixed = np.stack([rng.integers(0, size, _CHECKS) for size in sizes], axis=1)
    return np.concatenate([np.stack(rows), mixed])


def _records(
    schema: Schema, columns: Sequence[str], values: Sequence[_Values], probes: Integers
) -> Records:
    states: dict[str, Integers] = {}
    numbers: dict[str, Floats] = {}
    for j, name in enumerate(columns):
        states[name] = values[j].states[probes[:, j]]
        if isinstance(schema.columns[name], NUMERIC):
            numbers[name] = values[j].numbers[probes[:, j]]
    return Records(schema, states, numbers)


def absences(schema: Schema, columns: Iterable[str], matrix: MomentMatrix) -> tuple[str, ...]:
    """Columns of which not every record that counts has a value."""
    coded = (name for name in columns if schema.columns[name].codes)
    return tuple(name for name in coded if name not in matrix.scores.complete)
