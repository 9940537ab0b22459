"""Numbers of a record that a claim is about: products of levels' numbers and of expressions.

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

import numpy as np

from understudy.arrays import Codes, Floats
from understudy.schema import NUMERIC, Column
from understudy.schema.expression_values import faults_of, values_of
from understudy.schema.expressions import Expression


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
    """What does not fit the columns, a sentence each without its subject.

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
