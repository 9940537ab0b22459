"""Design matrices of regressions of a column: numbers that say where its parents' records stand.

* A numeric or ordinal parent has its *place* between its public bounds, −1 at the lower and 1 at
  the upper one (levels are evenly spaced); 0 where a record has none. Each spike and each code of
  absence has an indicator, so that records there may be like any others.
* A categorical or boolean parent has an indicator of each state but the first.

All features lie in [−1, 1], whatever the units of the columns: a coefficient is a change from the
middle to a bound, or from the first state to another, and one prior fits every column.

Kernels add up linear predictors from tables: everything but the place of a number is a function of
a parent's state, so that a parent costs one lookup, and a numeric one a multiplication more.

Outcomes of multinomial logits are drawn from these predictors by inversion: P(k) ∝ exp(η_k), where
outcome 0 is the reference with η = 0. What is drawn is the first outcome whose cumulative
probability exceeds the uniform number.

**Numbers of a record that a claim is about: products of levels' numbers and of expressions.**

A term is a product of factors. A factor is a number for each level of a column (an indicator, or
the numbers that its levels are), or an expression over columns in the language of rules
(`understudy.schema.expressions`), perhaps its logarithm. So a term is plain data, and nothing of it
is ever run; what it is for one record follows from that record alone.

Example:
    >>> words_of((LevelValues("sex", (0.0, 1.0)), Computed("age / 10")))
    'sex[0, 1]:age / 10'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from understudy._arrays import Codes, Floats, Integers, compiled
from understudy.features.grids import Drawn
from understudy.schema import NUMERIC, Boolean, Categorical, Column, Ordinal, Schema
from understudy.schema.expressions import Expression, faults_of, values_of


class Parents(NamedTuple):
    """Records of the parents.

    Attributes:
        states: shape (parents, n).
        numbers: of the numeric ones, shape (numeric parents, n).
    """

    states: Integers
    numbers: Floats


class Linear(NamedTuple):
    """Linear predictors η = β₀ + Σ β f of m outcomes.

    Attributes:
        intercepts: β₀, shape (m,).
        starts: first row of each parent's states in `offsets`, shape (parents,).
        offsets: what a state of a parent adds, shape (all their states, m).
        middles: of the numeric parents' bounds, shape (numeric parents,).
        slopes: per unit of the numeric parents, shape (numeric parents, m).
    """

    intercepts: Floats
    starts: Integers
    offsets: Floats
    middles: Floats
    slopes: Floats


@dataclass(frozen=True, eq=False)
class Features:
    """The features of some parents.

    Attributes:
        columns: the parents, in the order of the features.

    Example:
        >>> schema = Schema.loads('''
        ... [columns.age]
        ... kind = "integer"
        ... lower = 0
        ... upper = 100
        ... missing = [-1]
        ... [columns.sex]
        ... kind = "categorical"
        ... levels = ["f", "m"]
        ... ''')
        >>> Features.of(schema, ("age", "sex")).names
        ('age', 'age = -1', 'sex = m')
    """

    columns: Mapping[str, Column]

    @classmethod
    def of(cls, schema: Schema, parents: tuple[str, ...]) -> Features:
        """Those of some columns of a schema."""
        return cls({name: schema.columns[name] for name in parents})

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents."""
        return tuple(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the features."""
        names: list[str] = []
        for name, column in self.columns.items():
            placed = not isinstance(column, Categorical | Boolean)
            names += [name] if placed else []
            names += [f"{name} = {column.labels[k]}" for k in list_indicated(column)]
        return tuple(names)

    def linear(self, coefficients: Floats) -> Linear:
        """Linear predictors.

        Args:
            coefficients: an intercept, then one for each feature, shape (m, 1 + features).
        """
        slopes = coefficients[:, 1:].T
        along = np.ascontiguousarray(slopes[self._numeric.at] / self._numeric.halves[:, None])
        intercepts = np.ascontiguousarray(coefficients[:, 0])
        offsets = self._by_state @ slopes
        return Linear(intercepts, self._starts, offsets, self._numeric.middles, along)

    def gather(self, drawn: Mapping[str, Drawn], n: int) -> Parents:
        """Records of the parents side by side.

        Args:
            drawn: their records at least.
            n: number of records, also where there is no parent.
        """
        states = np.empty((len(self.columns), n), dtype=np.int64)
        for row, name in zip(states, self.columns, strict=True):
            row[:] = drawn[name].states
        numbers = np.empty((len(self._numeric.names), n))
        for places, name in zip(numbers, self._numeric.names, strict=True):
            given = drawn[name].numbers
            assert given is not None
            places[:] = given
        return Parents(states, numbers)

    def matrix(self, drawn: Mapping[str, Drawn], n: int) -> Floats:
        """The features of records, after a column of ones.

        Args:
            drawn: records of the parents at least.
            n: number of records, also where there is no parent.

        Returns:
            Shape (n, 1 + features), row by row in memory.
        """
        parents = self.gather(drawn, n)
        matrix = np.ones((n, 1 + len(self.names)))
        end = 1
        for block, states in zip(self._blocks, parents.states, strict=True):
            start, end = end, end + block.shape[1]
            matrix[:, start:end] = block[states]
        places = zip(self._numeric.at, self._numeric.middles, self._numeric.halves, strict=True)
        for (at, middle, half), numbers in zip(places, parents.numbers, strict=True):
            matrix[:, 1 + at] = np.where(np.isnan(numbers), 0.0, (numbers - middle) / half)
        return matrix

    @cached_property
    def _blocks(self) -> list[Floats]:
        """Features of the states of each parent, its own alone."""
        return [_state_features(column) for column in self.columns.values()]

    @cached_property
    def _by_state(self) -> Floats:
        """Features of each parent's states, numbers left aside; shape (all their states, p)."""
        table = np.zeros((sum(len(block) for block in self._blocks), len(self.names)))
        row = feature = 0
        for block in self._blocks:
            table[row : row + len(block), feature : feature + block.shape[1]] = block
            row, feature = row + len(block), feature + block.shape[1]
        return table

    @cached_property
    def _starts(self) -> Integers:
        ends = np.cumsum([0, *(column.size for column in self.columns.values())])
        return np.asarray(ends[:-1], dtype=np.int64)

    @cached_property
    def _numeric(self) -> _Numeric:
        names = tuple(n for n, column in self.columns.items() if isinstance(column, NUMERIC))
        bounds = np.array([_bounds(self.columns[name]) for name in names]).reshape(-1, 2)
        halves = bounds[:, 1] / 2 - bounds[:, 0] / 2
        return _Numeric(
            names,
            np.array([self.names.index(name) for name in names], dtype=np.int64),
            bounds[:, 0] / 2 + bounds[:, 1] / 2,
            np.where(halves > 0, halves, 1.0),
        )


class _Numeric(NamedTuple):
    """Numeric parents: names, places among the features, middles and half widths of the bounds."""

    names: tuple[str, ...]
    at: Integers
    middles: Floats
    halves: Floats


def list_indicated(column: Column) -> list[int]:
    """States of a parent that have an indicator."""
    if isinstance(column, Categorical | Boolean):
        return list(range(1, column.size))
    spikes: list[int] = []
    if isinstance(column, NUMERIC):
        spikes = [k for k, interval in enumerate(column.intervals) if interval.spike]
    return [*spikes, *range(column.n_ordinary, column.size)]


def _bounds(column: Column) -> tuple[float, float]:
    assert isinstance(column, NUMERIC)
    return column.bounds


def _state_features(column: Column) -> Floats:
    """Features of a parent's states, the place of a number left at 0; shape (states, features)."""
    special = list_indicated(column)
    indicators = np.zeros((column.size, len(special)))
    indicators[special, range(len(special))] = 1.0
    if isinstance(column, Categorical | Boolean):
        return indicators
    places = np.zeros((column.size, 1))
    if isinstance(column, Ordinal) and column.n_ordinary > 1:
        places[: column.n_ordinary, 0] = np.linspace(-1, 1, column.n_ordinary)
    return np.hstack([places, indicators])


def predict(linear: Linear, parents: Parents) -> Floats:
    """The linear predictor of a single outcome, shape (n,)."""
    return np.asarray(predictors(linear, parents)[:, 0])


@compiled
def predictors(linear: Linear, parents: Parents) -> Floats:
    """The linear predictors of all outcomes, shape (n, m)."""
    n, m = parents.states.shape[1], len(linear.intercepts)
    values = np.empty((n, m))
    values[:] = linear.intercepts
    for p in range(len(linear.starts)):
        states, offsets = parents.states[p], linear.offsets[linear.starts[p] :]
        for i in range(n):
            row = offsets[states[i]]
            for k in range(m):
                values[i, k] += row[k]
    for q in range(len(linear.middles)):
        numbers, middle, slopes = parents.numbers[q], linear.middles[q], linear.slopes[q]
        for i in range(n):
            distance = 0.0 if np.isnan(numbers[i]) else numbers[i] - middle
            for k in range(m):
                values[i, k] += distance * slopes[k]
    return values


def outcomes_of(linear: Linear, parents: Parents, uniforms: Floats) -> Integers:
    """Draw an outcome for each record; outcome 0 is the reference.

    Args:
        linear: predictors of the m other outcomes.
        parents: their records.
        uniforms: in (0, 1), shape (n,).

    Returns:
        Shape (n,), from 0 to m.
    """
    weights = _below_top(predictors(linear, parents))
    return np.asarray(_pick(np.exp(weights, out=weights), uniforms))


@compiled
def _below_top(predictors: Floats) -> Floats:
    """Predictors of all outcomes less the largest, the reference's 0 first; shape (n, 1 + m)."""
    n, m = predictors.shape
    shifted = np.empty((n, m + 1))
    for i in range(n):
        top = 0.0
        for k in range(m):
            top = max(top, predictors[i, k])
        shifted[i, 0] = -top
        for k in range(m):
            shifted[i, k + 1] = predictors[i, k] - top
    return shifted


@compiled
def _pick(weights: Floats, uniforms: Floats) -> Integers:
    """The first outcome up to which the share of the weights exceeds the uniform number."""
    outcomes = np.empty(len(uniforms), dtype=np.int64)
    for i in range(len(uniforms)):
        row = weights[i]
        level = uniforms[i] * row.sum()
        state, below = 0, row[0]
        while state < len(row) - 1 and below <= level:
            state += 1
            below += row[state]
        outcomes[i] = state
    return outcomes


@dataclass(frozen=True)
class LevelValues:
    """A number for each level of a column.

    Attributes:
        column: one with levels.
        values: of its levels, in their order, without codes of absence.
    """

    column: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Computed:
    """An expression.

    Attributes:
        text: in the language of rules.
        log: whether its natural logarithm is meant.
    """

    text: str
    log: bool = False


Factor = LevelValues | Computed
Term = tuple[Factor, ...]
"""A product; the empty one is 1."""


def columns_of(terms: Sequence[Term]) -> tuple[str, ...]:
    """Columns that some terms name, each once.

    Raises:
        ValueError: an expression cannot be read.
    """
    named: list[str] = []
    for factor in (factor for term in terms for factor in term):
        own = isinstance(factor, LevelValues)
        named += [factor.column] if own else Expression.read(factor.text).names  # type: ignore[union-attr]
    return tuple(dict.fromkeys(named))


def term_faults(terms: Sequence[Term], columns: Mapping[str, Column]) -> Iterator[str]:
    """List what does not fit the columns, a sentence each without its subject.

    Args:
        terms: to be looked at.
        columns: those that are declared.
    """
    for factor in (factor for term in terms for factor in term):
        if isinstance(factor, Computed):
            try:
                yield from faults_of(Expression.read(factor.text), columns)
            except ValueError as error:
                yield str(error)
            continue
        column = columns.get(factor.column)
        if column is None or isinstance(column, NUMERIC):
            yield f"takes {factor.column!r} for a column with levels"
        elif len(factor.values) != column.n_ordinary or not np.isfinite(factor.values).all():
            yield f"needs a number for each level of {factor.column!r}"


def values_of_terms(
    terms: Sequence[Term],
    columns: Mapping[str, Column],
    states: Mapping[str, Codes],
    numbers: Mapping[str, Floats],
    n: int,
) -> Floats:
    """The terms of n records.

    Args:
        terms: that fit the columns.
        columns: declarations.
        states: of each column that is named, shape (n,); what is no level or number is absent.
        numbers: of the numeric ones, shape (n,), NaN where absent.
        n: number of records.

    Returns:
        Shape (n, terms); NaN where a record has no finite value.
    """
    design = np.ones((n, len(terms)))
    for j, term in enumerate(terms):
        for factor in term:
            with np.errstate(all="ignore"):
                design[:, j] *= _values(factor, columns, states, numbers)
    design[~np.isfinite(design)] = np.nan
    return design


def words_of(term: Term) -> str:
    """A term in a line."""
    return ":".join(map(_words, term)) or "1"


def _values(
    factor: Factor,
    columns: Mapping[str, Column],
    states: Mapping[str, Codes],
    numbers: Mapping[str, Floats],
) -> Floats:
    if isinstance(factor, LevelValues):
        column = columns[factor.column]
        table = np.full(column.size + 1, np.nan)
        table[: column.n_ordinary] = factor.values
        return np.asarray(table[states[factor.column]])
    levels = {name: (columns[name], codes) for name, codes in states.items() if name not in numbers}
    found = values_of(Expression.read(factor.text), numbers, levels)
    if not factor.log:
        return found
    return np.asarray(np.log(found))


def _words(factor: Factor) -> str:
    if isinstance(factor, Computed):
        return f"log({factor.text})" if factor.log else factor.text
    return f"{factor.column}[{', '.join(f'{value:g}' for value in factor.values)}]"
