"""Terms of a formula: which ones a question needs, and their noisy second moments.

**Which terms**: powers, logarithms and products that the formula has.

A formula is read as polynomials. Its atoms are columns of levels (any function of one is affine in
its contrasts), columns of numbers and their logarithms: `log`, `log1p`, `log2` and `log10` of
`a·x + b`. What is multiplied, raised to a whole power, added or divided by a number stays one; all
else, such as `exp(x)` or a condition on a number, does not, and has no terms here.

Where each polynomial is linear and of one column at a time, and all records count or one mean is
asked for, second moments of columns have the answer (`inference.moment_answers`): no terms are
needed.

**Their moments** are a matrix that knows the noise in each of its entries.

Rows are the constant and the scores of terms (`understudy.features.terms`). What was released are
sums of scores and of products of two scores of different terms, and squares of numbers. The entries
that are left are products of two scores of one term, with contrasts in it. Such a term is s·w, s a
product of numbers and w the contrasts of K combinations of levels; and w_i·w_j, a function of the
combination, is affine in the contrasts of all parts of w. So

    s²·w_i·w_j = c_0·s² + Σ c_l·s·(s·u_l),

u_l the contrasts of parts of w, each with s a term of its own, since terms are closed: s·(s·u_l) is
a product of scores of two terms, and s² a square; without numbers they are sums and the number of
records. Every entry is linear in what was released, so the noise of whatever is computed is exact.

**Terms of a formula are affine in the scores**, with weights that are found by looking at what they
do: at public records drawn within limits, the weights solve linear equations, and at as many others
they must hold. They hold in any units, as the terms are closed.

What is answered is about the numbers cut off at the limits, if these are narrower than the bounds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Final

import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import csr_array

from understudy._arrays import Flags, Floats, Integers
from understudy.errors import InferenceError, MethodError
from understudy.features.scores import TICKS, Boxes, Limits, Weighting
from understudy.features.terms import (
    Factor,
    Term,
    TermMap,
    close_terms,
    exact_contrasts,
    require_factor,
)
from understudy.inference import formulas
from understudy.inference.conditions import state_values
from understudy.inference.question import MODELS, Estimand
from understudy.inference.records import Records
from understudy.inference.second_moments import improve
from understudy.release.measurement import Measurement
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Schema
from understudy.schema.expressions import python_tree, quote_name

_ONE: Final = Term(())
_LOGS: Final = ("log", "log1p", "log2", "log10")


class NoPolynomialError(InferenceError):
    """An expression that is no polynomial of levels, numbers and their logarithms."""


@dataclass(frozen=True)
class NeededTerms:
    """The terms that a question needs moments of.

    Attributes:
        terms: as texts, closed.
        columns: of the question.
        among: boxes of states of the records that it is about; () for all.
    """

    terms: tuple[str, ...]
    columns: tuple[str, ...]
    among: Boxes = ()

    def covers(self, other: NeededTerms, schema: Schema) -> bool:
        """Return whether moments of these terms have those of others, of the same records."""
        fewer = set(other.columns) <= set(self.columns) and set(other.terms) <= set(self.terms)
        return fewer and self.is_of_same_records(other, schema)

    def is_of_same_records(self, other: NeededTerms, schema: Schema) -> bool:
        """Return whether the same records count: no code of absence tells them apart."""
        apart = set(self.columns) ^ set(other.columns)
        told = any(schema.columns[name].codes for name in apart)
        return not told and self.among == other.among

    def join(self, other: NeededTerms) -> NeededTerms:
        """Those of both, of the same records."""
        both = close_terms(map(Term.read, (*self.terms, *other.terms)))
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        return replace(self, terms=tuple(map(str, both)), columns=columns)


def needed_terms(estimand: Estimand, schema: Schema) -> NeededTerms | None:
    """The terms of a question; None where it needs none, or they are no polynomials.

    Args:
        estimand: the question.
        schema: public.

    Raises:
        InferenceError: a term that public bounds leave without scores, such as a logarithm of what
            may be 0; or a condition that no states tell, of a question that is otherwise answered.
    """
    formula = _formula_of(estimand)
    weighted_total = estimand.kind == "total" and schema.design.weight  # of all terms at once
    if formula is None or weighted_total:
        return None
    try:
        found = {term for own in _factor_sets(formula, schema) for term in own} - {_ONE}
    except NoPolynomialError:
        return None
    single = all(len(term.factors) == 1 and _is_plain(*term.factors) for term in found)
    if single and (not estimand.where or _is_by_levels(estimand, schema)):
        return None
    try:
        for factor in (factor for term in found for factor in term.factors):
            require_factor(factor, schema)
    except MethodError as error:
        raise InferenceError(str(error)) from None
    try:
        among = among_of(estimand.where, schema) if estimand.where else ()
    except InferenceError:
        if single and estimand.groups and estimand.kind != "total":
            return None  # perhaps the sets tell what states do not
        raise
    return NeededTerms(tuple(map(str, close_terms(found))), estimand.columns, among)


def all_needed(estimand: Estimand, schema: Schema) -> tuple[NeededTerms, ...]:
    """The same of both halves of what is asked by a condition; nothing where one needs none.

    Args:
        estimand: the question.
        schema: public.

    Raises:
        InferenceError: as above.
    """
    found = [needed_terms(one, schema) for one in estimand.halves or (estimand,)]
    return tuple(one for one in found if one is not None) if None not in found else ()


def _is_by_levels(estimand: Estimand, schema: Schema) -> bool:
    """Tell whether a question is of one mean among few levels of a column: a mean by group."""
    if estimand.kind != "mean" or estimand.groups:
        return False
    named = formulas.columns_of(formulas.as_formula(estimand.where), schema.names)
    if len(named) > 1:
        return False
    column = schema.columns[named[0]]
    return column.size <= (2 if isinstance(column, NUMERIC) else _FEW_LEVELS)


_FEW_LEVELS: Final = 16
"""Second moments of a column of more have more noise than those of the records that count."""


def _is_plain(factor: Factor) -> bool:
    return factor.power == 1 and not factor.log


def _formula_of(estimand: Estimand) -> str | None:
    """Return the moments that a question needs, as a formula; None where they have no answer."""
    if estimand.kind in MODELS:
        return estimand.formula
    if estimand.kind == "correlation":
        return f"0 + {estimand.formula}"
    if estimand.split or not estimand.expression:
        return None
    if estimand.kind == "std" and len(estimand.groups) < 2:
        return _deviation_as_model(estimand)
    return mean_as_model(estimand) if estimand.kind in ("mean", "total") else None


def _deviation_as_model(estimand: Estimand) -> str:
    """A formula with the number of a deviation, and with its square where it is by group."""
    if not estimand.groups:
        return formulas.as_formula(estimand.expression)
    group = quote_name(estimand.groups[0])
    return f"{{({estimand.expression}) ** 2}} ~ 0 + {{{estimand.expression}}} + C({group})"


def mean_as_model(estimand: Estimand) -> str | None:
    """The formula of a linear model whose coefficients are means; None for several groups.

    Example:
        >>> mean_as_model(Estimand("mean", "x ~ g", ("g", "x"), expression="x", groups=("g",)))
        '{x} ~ 0 + C(g)'
    """
    if len(estimand.groups) > 1 or estimand.split:
        return None
    by = f"0 + C({quote_name(estimand.groups[0])})" if estimand.groups else "1"
    return f"{{{estimand.expression}}} ~ {by}"


def among_of(where: str, schema: Schema) -> Boxes:
    """Disjoint boxes of the states that meet a condition, as few as its columns in turn give.

    States of a column that go with the same states of the later columns are in the same boxes. So
    bins that are divided further divide no box.

    Args:
        where: the condition.
        schema: public.

    Raises:
        InferenceError: states do not tell it, or nobody can meet it.
    """
    columns, values = state_values(where, schema)
    meets = values.reshape([schema.columns[name].size for name in columns]) == 1
    if not meets.any():
        raise InferenceError(f"No declared values of {', '.join(columns)} meet {where!r}.")
    return tuple(dict(zip(columns, sides, strict=True)) for sides in _boxes(meets))


def _boxes(meets: Flags) -> Iterator[tuple[tuple[int, ...], ...]]:
    """The states of each axis, of each of the boxes that are true."""
    alike: dict[bytes, list[int]] = {}
    for state in np.flatnonzero(meets.reshape(len(meets), -1).any(axis=1)).tolist():
        alike.setdefault(meets[state].tobytes(), []).append(state)
    for states in alike.values():
        rest = _boxes(meets[states[0]]) if meets.ndim > 1 else [()]
        yield from ((tuple(states), *others) for others in rest)


def _factor_sets(formula: str, schema: Schema) -> Iterable[set[Term]]:
    """Of each term of a formula, the terms whose scores it is made of."""
    for factors in formulas.factors_of_terms(formula):
        own = {_ONE}
        for expression, is_name in factors:
            tree = ast.Name(expression) if is_name else python_tree(expression)
            own = _multiply(own, _Polynomials(schema).read(tree))
        yield own


def _multiply(one: set[Term], other: set[Term]) -> set[Term]:
    return {_product(left, right) for left, right in product(one, other)}


def _product(one: Term, other: Term) -> Term:
    powers: dict[Factor, int] = {}
    for factor in (*one.factors, *other.factors):
        base = replace(factor, power=1)
        powers[base] = powers.get(base, 0) + factor.power
    return Term(tuple(sorted(replace(base, power=k) for base, k in powers.items())))


class _Polynomials:
    """Reads expressions as polynomials of columns of a schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def read(self, node: ast.expr) -> set[Term]:
        """The products that an expression is a sum of.

        Raises:
            NoPolynomialError: it is no such sum.
        """
        columns = formulas.columns_in(node, self._schema.names)
        levels = [k for k in columns if not isinstance(self._schema.columns[k], NUMERIC)]
        if len(columns) == 1 and levels:
            return {_ONE, Term((Factor(levels[0]),))}
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return {_ONE}
        if isinstance(node, ast.Name) and columns:
            return {Term((Factor(node.id),))}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return self.read(node.operand)
        if isinstance(node, ast.BinOp):
            return self._read_operation(node)
        if isinstance(node, ast.Call):
            return self._read_call(node)
        raise NoPolynomialError(ast.unparse(node))

    def _read_operation(self, node: ast.BinOp) -> set[Term]:
        left, right = self.read(node.left), self.read(node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            return left | right
        if isinstance(node.op, ast.Mult):
            return self._levels_once(_multiply(left, right))
        if isinstance(node.op, ast.Div) and right == {_ONE}:
            return left
        power = node.right
        k = power.value if isinstance(power, ast.Constant) else None
        if isinstance(node.op, ast.Pow) and isinstance(k, int) and 1 <= k <= _MOST:
            found = {_ONE}
            for _ in range(k):
                found = _multiply(found, left)
            return self._levels_once(found)
        raise NoPolynomialError(ast.unparse(node))

    def _levels_once(self, terms: set[Term]) -> set[Term]:
        """With no power of a column of levels, as each function of it is affine in its scores."""
        return {
            Term(
                tuple(
                    factor
                    if isinstance(self._schema.columns[factor.column], NUMERIC)
                    else replace(factor, power=1)
                    for factor in term.factors
                )
            )
            for term in terms
        }

    def _read_call(self, node: ast.Call) -> set[Term]:
        called = ast.unparse(node.func).removeprefix("np.")
        if len(node.args) != 1 or node.keywords:
            raise NoPolynomialError(ast.unparse(node))
        if called == "I":
            return self.read(node.args[0])
        if called in _LOGS:
            name, shift = self._affine(node.args[0])
            return {_ONE, Term((Factor(name, log=True, shift=shift + (called == "log1p")),))}
        raise NoPolynomialError(ast.unparse(node))

    def _affine(self, node: ast.expr) -> tuple[str, float]:
        """Column x and b/a of a·x + b, a above 0; log(a·x + b) is log(x + b/a) and a constant."""
        slope, constant, name = self._line(node)
        if not name or slope <= 0:
            raise NoPolynomialError(ast.unparse(node))
        return name, constant / slope

    def _line(self, node: ast.expr) -> tuple[float, float, str]:
        """Slope, constant and column of an affine expression; no column for a constant."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return 0.0, float(node.value), ""
        if isinstance(node, ast.Name) and node.id in self._schema.names:
            return 1.0, 0.0, node.id
        if isinstance(node, ast.BinOp):
            (a, b, x), (c, d, y) = self._line(node.left), self._line(node.right)
            if isinstance(node.op, ast.Add | ast.Sub) and not (x and y):
                sign = -1.0 if isinstance(node.op, ast.Sub) else 1.0
                return a + sign * c, b + sign * d, x or y
            if isinstance(node.op, ast.Mult) and not (x and y):
                return (a * d, b * d, x) if x else (b * c, b * d, y)
            if isinstance(node.op, ast.Div) and not y and d:
                return a / d, b / d, x
        raise NoPolynomialError(ast.unparse(node))


_MOST: Final = 8  # of a power in a formula; terms have less


_CLOSE: Final = 1e-7
_PROBES, _MOST_PROBES = 20, 2**17
"""Public records for each score, and at most."""


@dataclass(frozen=True, eq=False)
class TermMatrix:
    """Noisy second moments of the scores of some terms.

    Attributes:
        scores: of the terms.
        schema: of their columns.
        numbers: as released, sums divided by their weight, in records, shape (numbers,).
        variances: of the noise in them, same shape.
        beside: further columns that records which count have a value of.
        group: state of the column that sums are taken apart by, of these records; None for all.
    """

    scores: TermMap
    schema: Schema
    numbers: Floats
    variances: Floats
    beside: tuple[str, ...] = ()
    group: int | None = None

    @classmethod
    def of(cls, scores: TermMap, schema: Schema, values: Floats, stddev: float) -> TermMatrix:
        """The matrix of numbers as they are released, of all records.

        Args:
            scores: of the terms.
            schema: of their columns.
            values: with weights (`NoisyTerms.values`), shape (numbers,).
            stddev: of the noise in each.
        """
        weights = scores.factors
        return cls(scores, schema, values / weights, (stddev / weights) ** 2)

    @property
    def power(self) -> int:
        """0 where each record counts as 1, else the power of its weight that it counts with."""
        return _power(self.scores.weighting)

    @property
    def n(self) -> float:
        """Number of records that count, or the sum of their factors."""
        return float(self.numbers[0])

    @cached_property
    def constant(self) -> Floats:
        """Weights of 1 for each record, shape (R,)."""
        return np.asarray(np.eye(1, len(self.scores) + 1)[0])

    @cached_property
    def sums(self) -> Floats:
        """The matrix, shape (R, R)."""
        size = len(self.scores) + 1
        return np.asarray((self._entries @ self.numbers).reshape(size, size))

    def form(self, left: Floats, right: Floats) -> Floats:
        """Sums over the records of products of two affine functions, of shapes (p, R), (q, R)."""
        return np.asarray(left @ self.sums @ right.T)

    def noise_covariance(self, derivatives: Floats) -> Floats:
        """Covariance by noise of q estimates, to first order.

        Args:
            derivatives: of each estimate in each entry of the matrix, shape (q, R, R).

        Returns:
            Shape (q, q).
        """
        gradient = self.gradient(derivatives)
        return np.asarray((gradient * self.variances) @ gradient.T)

    def gradient(self, derivatives: Floats) -> Floats:
        """Derivatives in the released numbers of what has these in the matrix, (q, R, R)."""
        return np.asarray(derivatives.reshape(len(derivatives), -1) @ self._entries)

    def bound_hidden(self, derivatives: Floats) -> Floats:
        """Bound the error by what was not measured: 0, as all records that count were."""
        return np.zeros(len(derivatives))

    def among(self, columns: Sequence[str], schema: Schema) -> TermMatrix:
        """The matrix itself: records that count have a value of each column."""
        return self

    def limits_met(self, weights: Floats) -> Limits:
        """Limits, narrower than the bounds, of the columns of terms that have weights, (p, R)."""
        used = {
            name
            for term, places in zip(self.scores.terms, self.scores.places, strict=True)
            if weights[:, places + 1].any()
            for name in term.columns
        }
        return {
            name: ends
            for name, ends in self.scores.limits.items()
            if name in used and ends != self.schema.columns[name].bounds  # type: ignore[union-attr]
        }

    def weigh(self, terms: Callable[[pd.DataFrame], Floats]) -> Floats | None:
        """Weights of the rows in each term of a formula; None where one is not affine in scores.

        Args:
            terms: values of p terms for each record, shape (records, p).

        Returns:
            Shape (p, R).
        """
        rng, many = np.random.default_rng(0), _PROBES * (len(self.scores) + 10)
        while many <= _MOST_PROBES:
            rows, records = self._draw(rng, many)
            if np.linalg.matrix_rank(rows) == rows.shape[1]:
                break
            many *= 2
        else:
            return None
        values = terms(records.frame())
        weights = np.linalg.lstsq(rows, values, rcond=None)[0]
        others, again = self._draw(rng, many)
        seen = terms(again.frame())
        size = np.maximum(np.abs(seen).max(axis=0), 1e-300)
        if not (np.abs(others @ weights - seen) <= _CLOSE * size).all():
            return None
        weights[np.abs(weights) < _CLOSE * np.abs(weights).max(axis=0)] = 0
        return np.asarray(weights.T)

    def _draw(self, rng: np.random.Generator, n: int) -> tuple[Floats, Records]:
        """Rows of the matrix for public records within limits, shape (n, R), and the records."""
        states, numbers = dict[str, Integers](), dict[str, Floats]()
        for name in self.scores.columns:
            column = self.schema.columns[name]
            if name in self.scores.limits:
                low, high = self.scores.limits[name]
                numbers[name] = low + (high - low) * rng.random(n)
                states[name] = Records.states_of(numbers[name], column)
            else:
                states[name] = rng.integers(0, column.n_ordinary, n)
        rows = np.column_stack([np.ones(n), self.scores.scores(states, numbers)])
        return rows, Records(self.schema, states, numbers)

    @cached_property
    def _entries(self) -> csr_array:
        """Each entry of the matrix in the released numbers, shape (R·R, numbers)."""
        scores, size = self.scores, len(self.scores) + 1
        _, sums, products, squares, _ = scores.order.places
        first, second = scores.pairs
        source = np.zeros((size, size), dtype=np.int64)
        source[0, 1:] = source[1:, 0] = sums
        source[first + 1, second + 1] = source[second + 1, first + 1] = products
        square = dict(zip((scores.numbers + 1).tolist(), squares.tolist(), strict=True))
        entry, number, factor = list[Integers](), list[Integers](), list[Floats]()

        def add(left: Integers, right: Integers, at: Integers, of: Floats) -> None:
            entry.append(np.asarray(left * size + right))
            number.append(at)
            factor.append(of)

        place = {term: places + 1 for term, places in zip(scores.terms, scores.places, strict=True)}
        block = np.concatenate([np.full(len(own), k) for k, own in enumerate(place.values())])
        block = np.append(-1, block)
        left, right = np.nonzero(block[:, None] != block)
        add(left, right, source[left, right], np.ones(len(left)))
        origin = np.zeros(1, dtype=np.int64)
        add(origin, origin, origin, np.ones(1))
        for term, own in place.items():
            numbers, parts = _parts(term, scores)
            beside = 0 if numbers is None else int(place[numbers][0])
            known = _affine_products(term, parts, scores)
            for part, weights in zip(parts, known, strict=True):
                i, j, which = np.nonzero(weights)
                left, right, of = own[i], own[j], weights[i, j, which]
                if part is not None:
                    add(left, right, source[beside, place[part][which]], of)
                elif numbers is None:
                    add(left, right, np.zeros_like(i), of)
                else:
                    add(left, right, np.full_like(i, square[beside]), of / 2)
                    add(left, right, np.zeros_like(i), of / 2)
        shape = size * size, scores.size
        data = np.concatenate(factor), (np.concatenate(entry), np.concatenate(number))
        return csr_array(csr_array(data, shape=shape) @ self._averaged)

    @cached_property
    def _averaged(self) -> csr_array:
        """The average of what is known twice, shape (numbers, numbers).

        The square of T_k is released as the sum of 2T_k² − 1, which is T_2k. Where T_2k is a term,
        its sum is released too, with the same noise, as sums and squares of terms weigh alike.
        """
        scores = self.scores
        _, sums, _, squares, _ = scores.order.places
        place = dict(zip(scores.terms, scores.places, strict=True))
        square = dict(zip(scores.numbers.tolist(), squares.tolist(), strict=True))
        first, second = list[int](), list[int]()
        for term, own in place.items():
            if len(term.factors) == 1 and int(own[0]) in square:
                factor = term.factors[0]
                doubled = place.get(Term((replace(factor, power=2 * factor.power),)))
                if doubled is not None:
                    first.append(square[int(own[0])])
                    second.append(int(sums[doubled[0]]))
        diagonal = np.ones(scores.size)
        diagonal[first + second] = 0.5
        every = np.arange(scores.size)
        rows = np.concatenate([every, first, second]).astype(np.int64)
        columns = np.concatenate([every, second, first]).astype(np.int64)
        values = np.concatenate([diagonal, np.full(2 * len(first), 0.5)])
        return csr_array((values, (rows, columns)), shape=(scores.size, scores.size))


def _parts(term: Term, scores: TermMap) -> tuple[Term | None, list[Term | None]]:
    """The numbers of a term as a term, and the terms of these with each part of its levels.

    None stands for no number, and for the part without levels.
    """
    levels = [factor for factor in term.factors if factor.column in scores.sizes]
    numbers = tuple(factor for factor in term.factors if factor.column not in scores.sizes)
    parts: list[Term | None] = []
    for chosen in range(2 ** len(levels)):
        kept: list[Factor] = [one for k, one in enumerate(levels) if chosen >> k & 1]
        parts.append(Term(tuple(sorted((*numbers, *kept)))) if kept else None)
    return (Term(numbers) if numbers else None), parts


def _affine_products(term: Term, parts: Sequence[Term | None], scores: TermMap) -> list[Floats]:
    """Products of two contrasts of a term, affine in the contrasts of each part of its levels.

    Returns:
        For each part weights of shape (w, w, contrasts of the part).
    """
    sizes = scores.sizes
    levels = [name for name in term.columns if name in sizes]
    own = exact_contrasts(term, sizes)
    grid = np.indices([sizes[name] for name in levels]).reshape(len(levels), len(own))
    blocks = []
    for part in parts:
        if part is None:
            blocks.append(np.ones((len(own), 1)))
            continue
        place = np.zeros(len(own), dtype=np.int64)
        for name in part.columns:
            if name in sizes:
                place = place * sizes[name] + grid[levels.index(name)]
        blocks.append(exact_contrasts(part, sizes)[place])
    basis = np.hstack(blocks)
    products = np.einsum("ki,kj->kij", own, own).reshape(len(own), -1)
    found = np.linalg.solve(basis, products)
    found[np.abs(found) < _CLOSE] = 0
    width = own.shape[1]
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    return [part.T.reshape(width, width, -1) for part in np.split(found, ends)]


def term_matrices(measurements: Sequence[Measurement], schema: Schema) -> list[TermMatrix]:
    """All moments of terms that were measured, those of each group of records by themselves.

    Args:
        measurements: of a release.
        schema: of the release.
    """
    found = list[TermMatrix]()
    for one in measurements:
        if one.kind is Kind.TERMS:
            scores, values = one.term_scores(schema), np.asarray(one.counts, dtype=np.float64)
            found += apart(TermMatrix.of(scores, schema, values[: scores.size], one.stddev), values)
    return found


def apart(whole: TermMatrix, values: Floats | None = None) -> list[TermMatrix]:
    """The moments of each group of records, where they are taken apart; else those of all.

    Args:
        whole: of all records, or of the first group.
        values: of one group after the other, with weights; None where all groups are alike.
    """
    weighting, scores = whole.scores.weighting, whole.scores
    if weighting is None or not weighting.by:
        return [whole]
    groups = weighting.blocks(whole.schema)
    if values is None:
        alike = np.broadcast_to(whole.numbers / groups, (groups, scores.size))
    else:
        alike = values.reshape(groups, scores.size) / scores.factors
    return [replace(whole, numbers=own, group=group) for group, own in enumerate(alike)]


def joined_terms(
    sources: Sequence[TermMatrix], needed: NeededTerms, power: int = 0, group: int | None = None
) -> TermMatrix | None:
    """The moments of the terms of a question, from all that has them; None where nothing does.

    Those with the limits of the first that has the terms are averaged.

    Args:
        sources: that may have them.
        needed: by the question.
        power: 0: each record counts as 1; 1 or 2: with its weight, or the square of that.
        group: of which group of records; None for all.
    """
    found: TermMatrix | None = None
    for source in sources:
        if (source.power, source.group) != (power, group):
            continue
        own = NeededTerms(
            tuple(map(str, source.scores.terms)), source.scores.columns, source.scores.among
        )
        if not own.covers(needed, source.schema):
            continue
        part = _part(source, needed)
        if found is None:
            found = part
        elif found.scores.limits == part.scores.limits:
            numbers, variances = found.numbers.copy(), found.variances.copy()
            at = np.arange(len(numbers))
            improve(numbers, variances, at, part.numbers, part.variances)
            beside = tuple(dict.fromkeys((*found.beside, *part.beside)))
            found = replace(found, numbers=numbers, variances=variances, beside=beside)
    return found


def assumed_terms(schema: Schema, rows: pl.DataFrame, scores: TermMap, stddev: float) -> TermMatrix:
    """Exact moments of terms over stated records, with the noise that they would have.

    Args:
        schema: of the records.
        rows: the records: synthetic ones, or drawn from public facts.
        scores: of the terms.
        stddev: of the noise in each number, with weights.
    """
    records = Records.of(rows, schema, scores.columns)
    counted = scores.mark_counted(records.states, schema) > 0
    records, weighting = records.take(counted), scores.weighting
    z = scores.scores(records.states, records.numbers)
    t = np.ones(len(z))
    if weighting is not None:
        weights = Records.of(rows, schema, (weighting.column,)).numbers[weighting.column]
        t = weighting.ticks(weights[counted]) / TICKS
    first, second = scores.pairs
    squares = t @ (2 * z[:, scores.numbers] ** 2 - 1)
    products = (z.T @ (z * t[:, None]))[first, second]
    parts: list[Floats] = [np.array([t.sum()]), t @ z, products, squares, np.zeros(0)]
    values = scores.order.join(parts)
    deviations = stddev / scores.factors
    return TermMatrix(scores, schema, values, deviations**2)


def _part(source: TermMatrix, needed: NeededTerms) -> TermMatrix:
    """Those of the needed terms alone."""
    scores = source.scores
    own = TermMap.of(
        source.schema,
        needed.terms,
        limits=scores.limits,
        among=scores.among,
        weighting=scores.weighting,
    )
    place = dict(zip(scores.terms, scores.places, strict=True))
    kept = np.concatenate([place[term] for term in own.terms])
    counted, sums, products, squares, coded = scores.order.places
    pair = np.zeros((len(scores), len(scores)), dtype=np.int64)
    first, second = scores.pairs
    pair[first, second] = pair[second, first] = products
    square = np.zeros(len(scores), dtype=np.int64)
    square[scores.numbers] = squares
    at = own.order.join(
        (
            counted,
            sums[kept],
            pair[kept[own.pairs[0]], kept[own.pairs[1]]],
            square[kept[own.numbers]],
            coded,
        )
    )
    beside = tuple(name for name in scores.columns if name not in own.columns)
    numbers, variances = source.numbers[at], source.variances[at]
    return TermMatrix(own, source.schema, numbers, variances, beside, source.group)


def _power(weighting: Weighting | None) -> int:
    return 0 if weighting is None else weighting.power
