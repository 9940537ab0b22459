"""Designs of comparisons: sparse indicators of groups of states, and which regressions are run.

Each column has few groups of states. Groups depend on the pooled rows of original and synthetic
tables alone, never on which row is which. So under the hypothesis that both come from one
distribution, permuting the labels leaves the design as it is, and a permutation null is exact.

The regressions that are compared are those that the user wrote, or default ones. By default up to
three columns are each regressed on the main effects of the others: numbers by least squares,
columns of two states by logistic regression. In these models a column with levels keeps its five
most frequent ones of at least 1 % (in the original); the others are pooled.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from understudy.engine.coding import Codes
from understudy.errors import InferenceError, MethodError
from understudy.evaluation.utility.ordered_values import is_ordered
from understudy.inference.estimates import formulas as reading
from understudy.inference.estimates.analysis_records import Records
from understudy.schema import NUMERIC, Column, Schema

Groups = NDArray[np.int64]

MAIN_GROUPS = 24
MAIN_PARAMETERS = 400
PAIR_PARAMETERS = 600
FEWEST_ROWS = 10
"""Pooled rows that a parameter must have: fewer would break the large-sample null."""

_MOST_PAIR_GROUPS = 6


def group_states(counts: NDArray[np.int64], column: Column, most: int) -> Groups:
    """Group of each state; group 0 is the largest.

    Neighbouring ordered states are joined until they hold about 1/most of the rows, a state that
    holds so many alone stays alone. Of unordered states and codes of absence the most frequent keep
    a group each, the others share one.

    Args:
        counts: pooled rows in each state, the one outside the domain included.
        column: declaration of the column.
        most: groups of ordinary states, and of the others.

    Returns:
        Shape of `counts`; numbers 0, 1, 2, …
    """
    n_ordinary = column.n_ordinary if is_ordered(column) else 0
    ordered = _join_neighbours(counts[:n_ordinary], most)
    others = _keep_frequent(counts[n_ordinary:], most)
    raw = np.concatenate([ordered, others + (ordered.max() + 1 if n_ordinary else 0)])
    return _by_size(raw, counts)


def _join_neighbours(counts: NDArray[np.int64], most: int) -> Groups:
    if not len(counts):
        return np.zeros(0, dtype=np.int64)
    target = max(counts.sum() / most, 1.0)
    while True:
        groups = _greedy(counts.tolist(), target)
        if groups.max() < most:
            return groups
        target *= 1.2


def _greedy(counts: list[int], target: float) -> Groups:
    groups, group, held = [], 0, 0
    for count in counts:
        if held and (held + count > 1.5 * target or held >= target):
            group, held = group + 1, 0
        groups.append(group)
        held += count
    return np.array(groups, dtype=np.int64)


def _keep_frequent(counts: NDArray[np.int64], most: int) -> Groups:
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    kept = (rank < most - 1) & (counts >= FEWEST_ROWS)
    return np.where(kept, rank, most - 1)


def _by_size(raw: Groups, counts: NDArray[np.int64]) -> Groups:
    """Numbered by size; what holds too few rows joins the largest."""
    held = np.bincount(raw, weights=counts)
    number = np.zeros(len(held), dtype=np.int64)
    large = [g for g in np.argsort(-held, kind="stable") if held[g] >= FEWEST_ROWS]
    number[large] = np.arange(len(large))
    return number[raw]


def group_columns(
    rows: Sequence[Codes], columns: Sequence[Column], limit: int, most: int
) -> list[Groups]:
    """Group of every row in every column, with at most `limit` indicators in all.

    Args:
        rows: pooled rows, one array of states per column, shape (n,).
        columns: declarations.
        limit: most indicators: groups less one, summed over columns.
        most: groups of a column to begin with; fewer if the limit demands it, but two.
    """
    counts = [
        np.bincount(codes, minlength=column.size + 1)
        for codes, column in zip(rows, columns, strict=True)
    ]
    while True:
        groups = [group_states(n, column, most) for n, column in zip(counts, columns, strict=True)]
        if most <= 2 or sum(int(group.max()) for group in groups) <= limit:
            return [group[codes] for group, codes in zip(groups, rows, strict=True)]
        most = max(2, int(most * 0.8))


def main_design(rows: Sequence[Codes], columns: Sequence[Column]) -> sp.csr_matrix:
    """Intercept and an indicator of each group but the largest, shape (n, parameters)."""
    grouped = group_columns(rows, columns, MAIN_PARAMETERS, MAIN_GROUPS)
    return _stack([np.zeros(len(rows[0]), dtype=np.int64), *(g - 1 for g in grouped)])


def pair_design(
    rows: Sequence[Codes], columns: Sequence[Column], rng: np.random.Generator
) -> tuple[sp.csr_matrix, int, int]:
    """The main design, and products of indicators of every pair of columns.

    For the products, states are in fewer groups, as many as `PAIR_PARAMETERS` allow. If pairs of
    two groups are still too many, a random choice of pairs is used.

    Args:
        rows: pooled rows, one array of states per column, shape (n,).
        columns: declarations.
        rng: chooses the pairs.

    Returns:
        The design; pairs used; pairs in all.
    """
    main = main_design(rows, columns)
    room = max(PAIR_PARAMETERS - main.shape[1], PAIR_PARAMETERS // 3)
    pairs = list(itertools.combinations(range(len(columns)), 2))
    for most in range(_MOST_PAIR_GROUPS, 1, -1):
        grouped = group_columns(rows, columns, MAIN_PARAMETERS, most)
        free = [int(group.max()) for group in grouped]
        if sum(free[i] * free[j] for i, j in pairs) <= room:
            break
    order = rng.permutation(len(pairs))
    taken: list[tuple[int, int]] = []
    for k in order:
        i, j = pairs[k]
        room -= free[i] * free[j]
        if room >= 0:
            taken.append((i, j))
    products = [_product(grouped[i], grouped[j], free[j]) for i, j in sorted(taken)]
    design = sp.hstack([main, _stack(products)], format="csr") if products else main
    return design, len(taken), len(pairs)


def _product(first: Groups, second: Groups, free: int) -> Groups:
    """Number of the pair of groups, -1 where either is the largest; rare pairs are -1 as well."""
    number = np.where((first > 0) & (second > 0), (first - 1) * free + second - 1, -1)
    counts = np.bincount(number[number >= 0])
    frequent = np.flatnonzero(counts >= FEWEST_ROWS)
    place = np.full(len(counts) + 1, -1, dtype=np.int64)  # the last one is for -1
    place[frequent] = np.arange(len(frequent))
    return place[number]


def _stack(numbers: Sequence[Groups]) -> sp.csr_matrix:
    """Indicators of each number from 0 on, several factors side by side; -1 has none."""
    n, start = len(numbers[0]), 0
    rows, columns = [], []
    for number in numbers:
        present = np.flatnonzero(number >= 0)
        rows.append(present)
        columns.append(number[present] + start)
        start += int(number.max()) + 1
    where = (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_matrix((np.ones(len(where[0])), where), shape=(n, start))


MOST_COEFFICIENTS = 60
MOST_LEVELS = 6
MOST_MODELS = 3
_MOST_ABSENT = 0.5


@dataclass(frozen=True)
class Model:
    """One reference regression.

    Attributes:
        name: for people.
        formula: what is computed.
        columns: columns that it needs.
        pooled: whether rare levels are pooled first.
    """

    name: str
    formula: str
    columns: tuple[str, ...]
    pooled: bool = False


def written_models(formulas: Sequence[str], schema: Schema) -> tuple[Model, ...]:
    """Models that the user wrote.

    Raises:
        MethodError: a formula cannot be read, has no outcome, or names no column of the release.
    """
    models = []
    for formula in formulas:
        try:
            columns = reading.columns_of(formula, schema.names)
        except InferenceError as error:
            raise MethodError(str(error)) from None
        left, _, right = formula.partition("~")
        if not (left.strip() and right.strip() and columns):
            raise MethodError(
                f"The formula {formula!r} has no outcome or no column; expected something like "
                "'income ~ age + C(region)'."
            )
        models.append(Model(formula, formula, columns))
    return tuple(models)


def default_models(
    original: Records, target: str | None
) -> tuple[tuple[Model, ...], tuple[str, ...]]:
    """Up to three columns on the main effects of the others, and what was left out of them.

    Outcomes are the target, if it is a number or has two states; then numbers (ordinal ones last)
    and columns of two states in turn.
    """
    schema = original.schema
    present = {n: float((original.states[n] >= 0).mean()) for n in schema.names}
    sparse = [n for n in schema.names if present[n] < _MOST_ABSENT]
    usable = [n for n in schema.names if n not in sparse]
    warnings = [
        f"{name} is not in the default regressions: it is missing in more than half of the records."
        for name in sparse
    ]
    models = []
    for outcome in _outcomes(schema, usable, target)[:MOST_MODELS]:
        predictors, left_out = _within_limit(schema, [n for n in usable if n != outcome])
        if not predictors:
            continue
        formula = f"{_response(schema, outcome)} ~ {' + '.join(f'`{n}`' for n in predictors)}"
        models.append(Model(f"{outcome} ~ other columns", formula, (outcome, *predictors), True))
        if left_out:
            warnings.append(
                f"The regression of {outcome} leaves out {', '.join(left_out)}: it is limited to "
                f"{MOST_COEFFICIENTS} coefficients."
            )
    if not models:
        warnings.append(
            "There is no default regression: it takes two columns, one of them a number or of two "
            "states; give formulas."
        )
    return tuple(models), tuple(warnings)


def _outcomes(schema: Schema, usable: list[str], target: str | None) -> list[str]:
    binary = [n for n in usable if schema.columns[n].n_ordinary == 2]
    numbers = [n for n in usable if _is_number(schema.columns[n]) and n not in binary]
    numbers.sort(key=lambda n: not isinstance(schema.columns[n], NUMERIC))
    turns: list[str] = []
    for k in range(max(len(binary), len(numbers))):
        turns += numbers[k : k + 1] + binary[k : k + 1]
    if target in turns:
        turns.remove(target)
        turns.insert(0, target)
    return turns


def _is_number(column: Column) -> bool:
    return isinstance(column, NUMERIC) or (
        column.kind == "ordinal" and all(isinstance(v, int | float) for v in column.levels)
    )


def _response(schema: Schema, name: str) -> str:
    """A column of two states by its second one, whatever its kind; else the column."""
    column = schema.columns[name]
    if column.n_ordinary == 2 and _is_number(column) and not isinstance(column, NUMERIC):
        second = max(column.levels)
        return f"{{`{name}` == {second!r}}}"
    return f"`{name}`"


def _within_limit(schema: Schema, names: list[str]) -> tuple[list[str], list[str]]:
    room, taken, left_out = MOST_COEFFICIENTS - 1, [], []
    for name in names:
        column = schema.columns[name]
        cost = 1 if _is_number(column) else min(column.n_ordinary, MOST_LEVELS) - 1
        if cost <= room:
            room -= cost
            taken.append(name)
        else:
            left_out.append(name)
    return taken, left_out
