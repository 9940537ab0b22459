"""Terms of a formula as affine functions of scores, found by looking at what they do.

A term is affine where it is a sum of functions of one column each, linear in numbers: `age`,
`C(region)`, `{sex == 'f'}`, `age / 10`. Whether it is follows from its values on a few public
records: a base, the base with one column changed, and many changed at once, on which the sum must
hold. `log(income)` and `sex:region` are none; they would need other moments. Nor is `age == 40`,
which is 0 nearly everywhere: columns of few whole numbers are looked at in each, and others at the
numbers that the formula names too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from understudy.arrays import Floats, Integers
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.schema import NUMERIC, Column, Continuous, Schema

_CHECKS = 64
_CLOSE = 1e-9
_PLACES = (0.0, 1.0, *np.linspace(0, 1, 63)[1:-1])  # where numbers are looked at, in their bounds
_FEW = 1_000  # whole numbers that are all looked at

Terms = Callable[[pd.DataFrame], Floats]
"""Values of p terms for each record: shape (records, p)."""


def affine_weights(
    terms: Terms,
    columns: Sequence[str],
    schema: Schema,
    matrix: MomentMatrix,
    named: Sequence[float] = (),
) -> Floats | None:
    """Weights of the scores in each term.

    Args:
        terms: to be looked at.
        columns: that they use, all among those of the matrix.
        schema: of the columns.
        matrix: whose rows the weights are for.
        named: numbers at which a term may jump.

    Returns:
        Shape (p, s + 1), for records that have a value in each column; None where a term is not
        affine.

    Raises:
        InferenceError: a term cannot be computed.
    """
    values = [_values(schema.columns[name], named) for name in columns]
    probes = _probes([len(own) for own in values])
    seen = terms(_records(schema, columns, values, probes).frame())
    weights = np.zeros((seen.shape[1], len(matrix.sums)))
    weights[:, 0] = seen[0]
    row = 1
    for name, own in zip(columns, values, strict=True):
        change = seen[row : row + len(own) - 1] - seen[0]
        weights += _of_column(schema.columns[name], name, own, change, matrix)
        row += len(own) - 1
    predicted = _scores(schema, columns, values, probes, matrix) @ weights.T
    size = np.maximum(np.abs(seen).max(axis=0), 1e-300)
    return weights if np.abs((predicted - seen) / size).max() <= _CLOSE else None


def _of_column(
    column: Column, name: str, values: Floats, change: Floats, matrix: MomentMatrix
) -> Floats:
    """What one column adds to the weights, from its changes against the first of its values."""
    weights = np.zeros((change.shape[1], len(matrix.sums)))
    if isinstance(column, NUMERIC):
        low, high = column.bounds
        if low < high:
            slope = change[0] / (values[1] - values[0])
            weights[:, matrix.place[name, None]] = slope * (high - low) / 2
            weights[:, 0] = slope * ((low + high) / 2 - values[0])
    else:
        for state in range(1, len(values)):
            weights[:, matrix.place[name, state]] = change[state - 1]
    return weights


def _scores(
    schema: Schema,
    columns: Sequence[str],
    values: Sequence[Floats],
    probes: Integers,
    matrix: MomentMatrix,
) -> Floats:
    """Scores of the records that are looked at, shape (records, s + 1)."""
    scores = np.zeros((len(probes), len(matrix.sums)))
    scores[:, 0] = 1
    for j, name in enumerate(columns):
        column, own = schema.columns[name], values[j][probes[:, j]]
        if isinstance(column, NUMERIC):
            low, high = column.bounds
            half = (high - low) / 2 or 1.0
            scores[:, matrix.place[name, None]] = (own - (low + high) / 2) / half
        else:
            for state in range(len(values[j])):
                scores[:, matrix.place[name, state]] = probes[:, j] == state
    return scores


def _values(column: Column, named: Sequence[float]) -> Floats:
    """Numbers at which a column is looked at, both bounds first, or the numbers of its levels."""
    if not isinstance(column, NUMERIC):
        return np.arange(column.n_ordinary, dtype=np.float64)
    low, high = column.bounds
    inside = [number for number in named if low <= number <= high]
    numbers = np.append(low + (high - low) * np.array(_PLACES), inside)
    if isinstance(column, Continuous):
        return numbers
    whole = np.arange(low, high + 1) if high - low < _FEW else numbers
    return np.asarray(np.rint(np.concatenate([[low, high], whole])))


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
    schema: Schema, columns: Sequence[str], values: Sequence[Floats], probes: Integers
) -> Records:
    states: dict[str, Integers] = {}
    numbers: dict[str, Floats] = {}
    for j, name in enumerate(columns):
        states[name] = probes[:, j]
        if isinstance(schema.columns[name], NUMERIC):
            numbers[name] = values[j][probes[:, j]]
    return Records(schema, states, numbers)


def absences(schema: Schema, columns: Sequence[str], matrix: MomentMatrix) -> tuple[str, ...]:
    """Columns of which not every record that counts has a value."""
    coded = (name for name in columns if schema.columns[name].codes)
    return tuple(name for name in coded if name not in matrix.scores.complete)
