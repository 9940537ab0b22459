"""Which terms a question needs moments of: powers, logarithms and products that its formula has.

A formula is read as polynomials. Its atoms are columns of levels (any function of one is affine in
its contrasts), columns of numbers and their logarithms: `log`, `log1p`, `log2` and `log10` of
`a·x + b`. What is multiplied, raised to a whole power, added or divided by a number stays one; all
else, such as `exp(x)` or a condition on a number, does not, and has no terms here.

Where each polynomial is linear and of one column at a time, and all records count or one mean is
asked for, second moments of columns have the answer (`inference.moment_answers`): no terms are
needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np

from understudy._arrays import Flags
from understudy.errors import InferenceError, MethodError
from understudy.features.scores import Boxes
from understudy.features.terms import Factor, Term, close_terms, require_factor
from understudy.inference import formulas
from understudy.inference.conditions import state_values
from understudy.inference.question import MODELS, Estimand
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
