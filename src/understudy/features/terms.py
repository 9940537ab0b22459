"""Scores of the terms of a declared question: numbers, their powers and logarithms, and products.

A term is a product of factors, written with colons: `age:sex`, `age**2`, `log(income)`. A factor is

* a column of levels, with k states: the k − 1 contrasts between them (`features.scores.contrasts`);
* a column of numbers, cut off at limits (its public bounds, or narrower ones) and scaled so that
  these become −1 and 1; `log(x + c)` is scaled alike, from log(lower + c) to log(upper + c), so
  lower + c must be above 0;
* a power k of such a number z, which is scored by Chebyshev's polynomial T_k(z): it lies in
  [−1, 1], and T_0 to T_k tell every polynomial of degree k. As they are nearly orthogonal, `age`
  and `age**2` are told apart as well as two columns are, wherever age lies.

The vector of a term is the product of its numbers times the Kronecker product of its contrasts. So
its squared length is at most Π (1 − 1/k) over its levels, at most 1, and follows from public facts.

**What is asked for is closed**: with a term come those that are left when factors are taken out or
powers lowered. Then products of two scores of one term are affine in what is summed (`inference.
term_moments`), and a term of a formula may be written in any units.

A record counts if it has a value of each column and, where boxes are named, lies in one of these. A
box is a product of states of some columns. Boxes may overlap: a record counts once, or not at all.

Scores are whole multiples of 1/`UNIT`, from each record alone: numbers are rounded to the nearest
and cut to ±1, contrasts times these rounded towards 0. So no vector exceeds its stated length.

Example:
    >>> [str(one) for one in close_terms([Term.read("sex:age**2")])]
    ['age', 'sex', 'age**2', 'age:sex', 'age**2:sex']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from typing import Final

import numpy as np

from understudy._arrays import Flags, Floats, Integers
from understudy.errors import MethodError
from understudy.features.scores import (
    MOST_SCORES,
    UNIT,
    Box,
    Boxes,
    CodedSquare,
    Limits,
    MomentFeature,
    ScoreMap,
    Weighting,
    absolute_length,
    contrasts,
    opposition,
    squared_length,
)
from understudy.schema import NUMERIC, Schema
from understudy.schema.expressions import NAME, quote_name, read_name, split_outside

MOST_POWER: Final = 4
"""Of a number in a term: of the next one hardly anything is told under noise."""
_NAME = rf"(?P<name>{NAME})"
_NUMBER = r"[0-9.]+(?:e[+-]?[0-9]+)?"
_FACTOR: Final = re.compile(
    rf"(?:{_NAME}|log\({_NAME.replace('name', 'inner')}(?: (?P<shift>[+-] {_NUMBER}))?\))"
    r"(?:\*\*(?P<power>[0-9]+))?"
)


@dataclass(frozen=True, order=True)
class Factor:
    """A factor of a term.

    Attributes:
        column: name.
        log: whether it is the logarithm.
        shift: what is added before the logarithm is taken.
        power: of a number, or of the logarithm; 1 for levels.
    """

    column: str
    log: bool = False
    shift: float = 0.0
    power: int = 1

    def __str__(self) -> str:
        name = quote_name(self.column)
        if self.log:
            sign, size = "-" if self.shift < 0 else "+", f"{abs(self.shift):.17g}"
            name = f"log({name} {sign} {size})" if self.shift else f"log({name})"
        return f"{name}**{self.power}" if self.power > 1 else name

    @classmethod
    def read(cls, text: str) -> Factor:
        """Read what `str` writes.

        Raises:
            MethodError: it is none.
        """
        found = _FACTOR.fullmatch(text)
        if found is None:
            raise MethodError(
                f"Expected a term such as age:sex, age**2 or log(income + 1), got {text!r}."
            )
        name, power = found["name"] or found["inner"], int(found["power"] or 1)
        shift = float((found["shift"] or "0").replace(" ", ""))
        return cls(read_name(name), found["inner"] is not None, shift, power)


@dataclass(frozen=True)
class Term:
    """A product of factors, sorted, and no two of one column as it is.

    Attributes:
        factors: of different columns, or of a column and logarithms of it.
    """

    factors: tuple[Factor, ...]

    def __str__(self) -> str:
        return ":".join(map(str, self.factors))

    @classmethod
    def read(cls, text: str) -> Term:
        """Read what `str` writes, the factors in any order.

        Raises:
            MethodError: it is none.
        """
        return cls(tuple(sorted(map(Factor.read, split_outside(text, ":")))))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names, each once."""
        return tuple(dict.fromkeys(factor.column for factor in self.factors))

    def parts(self) -> Iterator[Term]:
        """List what is left when factors are taken out or powers lowered, and the term itself."""
        for powers in product(*(range(factor.power + 1) for factor in self.factors)):
            kept = zip(self.factors, powers, strict=True)
            own = tuple(replace(f, power=k) for f, k in kept if k)
            if own:
                yield Term(own)


def close_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms with all of their parts, each once, parts before what they are parts of."""
    every = {part for term in terms for part in term.parts()}
    size = {one: sum(factor.power for factor in one.factors) for one in every}
    return tuple(sorted(every, key=lambda one: (len(one.columns), size[one], one.factors)))


@dataclass(frozen=True, eq=False)
class TermMap(ScoreMap):
    """The scores of some terms, term by term, and what is summed of them; public.

    Attributes:
        terms: closed.
        tables: of each term, contrasts of each combination of the states of its levels, in units of
            1/`UNIT`; 1 where it has none. Shape (combinations, scores).
        sizes: of each column of levels, how many states.
        among: boxes, in one of which a record that counts lies; () for all.
    """

    columns: tuple[str, ...]
    each: tuple[MomentFeature, ...]
    terms: tuple[Term, ...]
    tables: tuple[Integers, ...] = field(repr=False)
    sizes: Mapping[str, int]
    complete: tuple[str, ...]
    weight: Fraction
    limits: Limits
    among: Boxes
    weighting: Weighting | None = None
    coded: tuple[CodedSquare, ...] = ()

    @classmethod
    def of(
        cls,
        schema: Schema,
        terms: Sequence[str],
        *,
        limits: Limits | None = None,
        among: Boxes = (),
        weighting: Weighting | None = None,
    ) -> TermMap:
        """The scores of terms over the columns of a schema, from public facts.

        Args:
            schema: of the columns.
            terms: as texts; closed, each once.
            limits: of columns of numbers, where they are narrower than the bounds.
            among: boxes of the records that count; () for all.
            weighting: factor of all that a record adds.

        Raises:
            MethodError: a term that there is not, or a logarithm of what may be 0; terms that are
                not closed; or more scores than `MOST_SCORES`.
        """
        read = tuple(map(Term.read, terms))
        if not read or len(set(read)) < len(read) or not set(close_terms(read)) <= set(read):
            raise MethodError("Terms stand once each, together with all that they are made of.")
        used = {name for term in read for name in term.columns}.union(*among)
        if lacking := used - set(schema.names):
            raise MethodError(f"There is no column {min(lacking)!r} to make a term of.")
        for factor in (factor for term in read for factor in term.factors):
            require_factor(factor, schema)
        for name, states in (side for box in among for side in box.items()):
            if not states or not set(states) <= set(range(schema.columns[name].n_ordinary)):
                raise MethodError(f"Records are chosen by levels or bins of {name}, at least one.")
        if not all(among):
            raise MethodError("Records are chosen by states of some columns; a box has none.")
        columns = tuple(name for name in schema.names if name in used)
        sizes = {
            name: schema.columns[name].n_ordinary
            for name in columns
            if not isinstance(schema.columns[name], NUMERIC)
        }
        widths = [
            np.prod([sizes[k] - 1 for k in own.columns if k in sizes], initial=1.0) for own in read
        ]
        if sum(widths) > MOST_SCORES:
            raise MethodError(
                f"The terms have {int(sum(widths)):,} scores, too many for a matrix of their "
                f"moments (at most {MOST_SCORES:,}); leave out products of columns of many levels."
            )
        tables = tuple(_contrasts(own, sizes) for own in read)
        return cls(
            columns=columns,
            each=tuple(
                MomentFeature(str(own), label, number=not set(own.columns) & set(sizes))
                for own, table in zip(read, tables, strict=True)
                for label in _labels(own, table.shape[1], sizes)
            ),
            terms=read,
            tables=tables,
            sizes=sizes,
            complete=columns,
            weight=_weight(read),
            limits={
                name: (limits or {}).get(name, column.bounds)
                for name in columns
                if isinstance(column := schema.columns[name], NUMERIC)
            },
            among=among,
            weighting=weighting,
        )

    @property
    def of_squares(self) -> Fraction:
        """That of sums."""
        return self.weight

    @cached_property
    def places(self) -> tuple[Integers, ...]:
        """Places of the scores of each term."""
        ends = np.cumsum([0, *(table.shape[1] for table in self.tables)])
        return tuple(np.arange(ends[k], ends[k + 1]) for k in range(len(self.terms)))

    @cached_property
    def squared_lengths(self) -> tuple[Fraction, ...]:
        """Of the vector of each term, the largest squared length that a record can have."""
        return tuple(map(squared_length, self.tables))

    @cached_property
    def lengths(self) -> tuple[Fraction, ...]:
        """Of the vector of each term, the largest sum of sizes that a record can have."""
        return tuple(map(absolute_length, self.tables))

    @cached_property
    def opposed(self) -> tuple[Fraction, ...]:
        """Of two vectors of each term, how far they can point apart: with a number, any way."""
        pairs = zip(self.terms, self.tables, strict=True)
        return tuple(
            opposition(table) if set(term.columns) <= set(self.sizes) else squared_length(table)
            for term, table in pairs
        )

    def mark_counted(self, states: Mapping[str, Integers], schema: Schema) -> Integers:
        """Mark with 1 the records that count, and others with 0, shape (n,).

        Args:
            states: column → state of each record, what is out of domain last.
            schema: of the columns.
        """
        known = np.logical_and.reduce(
            [
                (states[name] >= 0) & (states[name] < schema.columns[name].n_ordinary)
                for name in self.columns
            ]
        )
        if self.among:
            known &= np.logical_or.reduce([_is_inside(box, states) for box in self.among])
        return np.asarray(known.astype(np.int64))

    def scores(self, states: Mapping[str, Integers], numbers: Mapping[str, Floats]) -> Floats:
        """Scores of records that count, not rounded, shape (n, scores).

        Args:
            states: column of levels → state of each record.
            numbers: column of numbers → number of each.
        """
        scaled = self._scale_numbers(numbers)
        return np.hstack(
            [
                self._numbers_of(term, scaled, len(next(iter(states.values()))))[:, None]
                * exact_contrasts(term, self.sizes)[self._combination(term, states)]
                for term in self.terms
            ]
        )

    def whole(self, states: Mapping[str, Integers], numbers: Mapping[str, Floats]) -> Floats:
        """The same in whole units of 1/`UNIT`, as they are summed."""
        scaled, blocks = self._scale_numbers(numbers), []
        for term, table in zip(self.terms, self.tables, strict=True):
            n = len(next(iter(states.values())))
            own = np.clip(np.rint(UNIT * self._numbers_of(term, scaled, n)), -UNIT, UNIT)
            blocks.append(np.trunc(table[self._combination(term, states)] * own[:, None] / UNIT))
        return np.hstack(blocks)

    def _combination(self, term: Term, states: Mapping[str, Integers]) -> Integers:
        levels = [name for name in term.columns if name in self.sizes]
        place = np.zeros(len(next(iter(states.values()))), dtype=np.int64)
        for name in levels:
            place = place * self.sizes[name] + states[name]
        return place

    def _scale_numbers(
        self, numbers: Mapping[str, Floats]
    ) -> dict[tuple[str, bool, float], Floats]:
        """Each number that terms are made of, from −1 to 1."""
        used = {
            (factor.column, factor.log, factor.shift)
            for term in self.terms
            for factor in term.factors
            if factor.column not in self.sizes
        }
        found = {}
        for name, log, shift in used:
            low, high = self.limits[name]
            own = np.clip(numbers[name], low, high)
            if log:
                own, low, high = np.log(own + shift), np.log(low + shift), np.log(high + shift)
            scaled = (own - (low + high) / 2) / ((high - low) / 2 or 1.0)
            found[name, log, shift] = np.clip(scaled, -1.0, 1.0)
        return found

    def _numbers_of(
        self, term: Term, scaled: Mapping[tuple[str, bool, float], Floats], n: int
    ) -> Floats:
        """The product of the numbers of a term, shape (n,)."""
        each = (
            chebyshev(scaled[factor.column, factor.log, factor.shift], factor.power)
            for factor in term.factors
            if factor.column not in self.sizes
        )
        return reduce(np.multiply, each, np.ones(n))


def _is_inside(box: Box, states: Mapping[str, Integers]) -> Flags:
    """Mark the records whose states lie in a box, shape (n,)."""
    return np.asarray(
        np.logical_and.reduce([np.isin(states[name], chosen) for name, chosen in box.items()])
    )


def require_factor(factor: Factor, schema: Schema) -> None:
    """Refuse a factor that has no scores within public bounds.

    Raises:
        MethodError: a power or logarithm of levels, a large power, or a logarithm of what may be 0.
    """
    column = schema.columns[factor.column]
    if not isinstance(column, NUMERIC):
        if factor.log or factor.power > 1:
            raise MethodError(f"{factor.column} has levels, so {factor} is no term.")
        return
    if factor.power > MOST_POWER:
        raise MethodError(f"Powers in terms are {MOST_POWER} at most; {factor} is above.")
    low = column.bounds[0]
    if factor.log and low + factor.shift <= 0:
        name, least = Factor(factor.column), 0 - low
        raise MethodError(
            f"{factor} needs numbers above 0, and the lower bound of {factor.column} is {low:g}: "
            f"declare one above {0 - factor.shift:g}, or take log({name} + c), c above {least:g}."
        )


def chebyshev(z: Floats, k: int) -> Floats:
    """Chebyshev's polynomial of degree k.

    Args:
        z: from −1 to 1.
        k: 1 or more.

    Example:
        >>> chebyshev(np.array([-1.0, 0.0, 0.5]), 2).tolist()
        [1.0, -1.0, -0.5]
    """
    before, own = np.ones_like(z), z
    for _ in range(k - 1):
        before, own = own, 2 * z * own - before
    return own


def exact_contrasts(term: Term, sizes: Mapping[str, int]) -> Floats:
    """Contrasts of each combination of states of the levels of a term, not rounded.

    Args:
        term: whose levels count; numbers do not.
        sizes: of each column of levels, how many states.

    Returns:
        Shape (combinations, scores).
    """
    found: Floats = np.ones((1, 1))
    for name in term.columns:
        if name in sizes:
            found = np.asarray(np.kron(found, contrasts(sizes[name])), dtype=np.float64)
    return found


def _contrasts(term: Term, sizes: Mapping[str, int]) -> Integers:
    return np.trunc(UNIT * exact_contrasts(term, sizes)).astype(np.int64)


def _weight(terms: Sequence[Term]) -> Fraction:
    """Of sums and squares against products: models of several terms rest on products most."""
    return Fraction(1) if len(terms) == 1 else Fraction(1, 2)


def _labels(term: Term, n: int, sizes: Mapping[str, int]) -> list[str]:
    if not set(term.columns) & set(sizes):
        return [str(term)]
    return [f"{term} (contrast {j})" for j in range(1, n + 1)]
