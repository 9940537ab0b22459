"""Reading what an analyst writes: formulas and expressions, and the columns that they name.

Formulas follow `formulaic`: `income ~ age + C(region)`, with `log`, `poly`, `np` and the like, and
back-ticks around column names with spaces. An expression is what could stand in braces there,
`log(income + 1)` or `income > 0`. They are programs of the analyst, run on the analyst's machine;
names other than columns and known functions are refused with a suggestion.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache, reduce
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy._arrays import Floats
from understudy.errors import InferenceError, nearest
from understudy.schema import Categorical, Ordinal, Schema
from understudy.schema.expressions import (
    hide_names,
    names_in,
    python_tree,
    quote_name,
    read_name,
    show_names,
    split_outside,
    stand_in,
    texts_in,
    tree_text,
    without_braces,
    without_quoted,
)

# The library of formulas, and pandas behind it, takes long, and few questions need it.
if TYPE_CHECKING:
    import pandas as pd
    from formulaic import Formula

_EXPRESSION = "0 + {"  # an expression, as a formula with one column
_OF_EACH = {
    "abs": np.abs,
    "floor": np.floor,
    "max": lambda *each: reduce(np.maximum, _several("max", each)),
    "min": lambda *each: reduce(np.minimum, _several("min", each)),
    "round": np.round,
    "sqrt": np.sqrt,
}
"""Functions of the numbers of each record, beside those of the library."""
_LOOKUP = re.compile(r"(?:(?<=:)|^)_column_[0-9a-f]+_(?=[:[]|$)")
"""A column as it is, in the name of a coefficient."""
_CONNECTIVES = {"and", "or", "not", "in", "is", "True", "False", "None", "if", "else"}
_EVALUATED = re.compile(
    r"Unable to evaluate factor `(?P<factor>.*)`\. \[\w+: (?P<said>.*)\]\.?", re.DOTALL
)
_LOST = (AttributeError, RecursionError)
"""What the library ends in where brackets lack their other half, or nest without end."""


def _several(name: str, numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(numbers) < 2:
        raise ValueError(f"{name} takes two numbers or more, such as {name}(income, 100)")
    return numbers


@cache
def _functions() -> frozenset[str]:
    """Names of the functions that a formula may call."""
    from formulaic.transforms import TRANSFORMS

    return frozenset(set(_OF_EACH) | set(TRANSFORMS))


@cache
def _faults() -> tuple[type[Exception], ...]:
    """What a faulty formula ends in, in lower layers: it depends on where the fault is."""
    from formulaic.errors import FormulaicError

    return FormulaicError, SyntaxError, ArithmeticError, LookupError, TypeError, ValueError


def factor_text(factor: Any) -> str:
    """Return a factor of a parsed formula as it was written; of a column as it is, the name."""
    text = show_names(factor.expr)
    return read_name(text) if factor.eval_method.value == "lookup" else text


def restore_label(label: str) -> str:
    """Return the name of a coefficient, with columns by their names."""
    return show_names(_LOOKUP.sub(lambda found: read_name(show_names(found[0])), label))


@lru_cache(maxsize=256)  # replicates ask the same of one set after another
def parse(formula: str) -> Formula:
    """Parse a formula.

    Raises:
        InferenceError: it is not one; shows the place.
    """
    from formulaic import Formula

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)  # as in `python_tree`
            return Formula(hide_names(formula))
    except _faults() + _LOST as error:
        words = (word for word in re.findall(r"\w+", _show_formula(formula)) if iskeyword(word))
        word = next((one for one in words if one not in _CONNECTIVES), "")
        meant = f"; a column called {word!r} stands in back-ticks, `{word}`" if word else ""
        raise InferenceError(
            f"The formula {_show_formula(formula)!r} cannot be read: {_first_line(error)}{meant}; "
            "expected something like 'income ~ age + C(region)', or 'income > 0' in braces within "
            "a formula."
        ) from None


def columns_of(formula: str, known: Iterable[str]) -> tuple[str, ...]:
    """Columns that a formula names, in the order of the table.

    Args:
        formula: formula, or expression in braces.
        known: names of the table's columns; they take precedence over functions.

    Raises:
        InferenceError: it cannot be read, or names something unknown.
    """
    table = tuple(known)
    used = set(_names(formula))
    for name in sorted(used - set(table)):
        if name not in _functions():
            raise InferenceError(unknown(name, table))
    return tuple(name for name in table if name in used)


def has_predictor(formula: str, name: str) -> bool:
    """Return whether a column is a predictor as it is; what is made of it does not count.

    Example:
        >>> has_predictor("y ~ x + y", "y"), has_predictor("y ~ {y > 0}", "y")
        (True, False)
    """
    terms = _terms(_parts(parse(formula))[-1])
    return any(
        [read_name(show_names(one.expr)) for one in term.factors] == [name] for term in terms
    )


def find_slip(formula: str, schema: Schema) -> str:
    """The sentence about quotes or back-ticks that a formula lacks, or has too many of; "" if none.

    Args:
        formula: that cannot be read, or names something unknown.
        schema: of its columns.
    """
    texts = [text[1:-1] for text in texts_in(formula)]
    levels = {
        level: name
        for name, column in schema.columns.items()
        if isinstance(column, Categorical | Ordinal)
        for level in column.levels
        if isinstance(level, str)
    }
    for text in texts:
        if text in schema.columns and text not in levels:
            return f"in quotes, {text!r} is a text; the column is written {quote_name(text)}."
    bare = without_quoted(formula)
    for name in sorted(schema.columns, key=len, reverse=True):
        if quote_name(name) != name and name.casefold() in bare.casefold():
            return f"the column {name!r} stands in back-ticks, {quote_name(name)}."
    if date := re.search(r"\d{4}-\d\d-\d\d([T ][\d:]+)?", bare):
        return f"a date stands in quotes, {date[0]!r}."
    for word in names_in(bare) - {*schema.columns}:
        if word in levels:
            return f"a level stands in quotes, as in {quote_name(levels[word])} == {word!r}."
    if re.search(r"\w\s+by\s+\w", bare):
        return "groups stand behind a tilde, as in 'income ~ region'."
    return ""


def unknown(name: str, table: Iterable[str]) -> str:
    """The sentence that says that a name is no column, with the nearest one that is."""
    names = list(table)
    begun = [one for one in names if one.casefold().startswith(name.casefold())]
    # A column is meant sooner than a function, and no name that is short is near another one.
    functions = sorted(one for one in _functions() if len(one) > 2)
    close = nearest(name, names) or (begun[0] if begun else nearest(name, functions))
    meant = ""
    if close:
        meant = (
            f"; did you mean {repr(close) if quote_name(close) == close else quote_name(close)}?"
        )
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return (
        f"There is no column or function {name!r} in this release{meant or '.'} "
        f"The columns are {shown}."
    )


def split_comparisons(formula: str) -> Iterator[str]:
    """Each comparison in a formula, as a text of its own.

    Example:
        >>> [*split_comparisons("0 + {(income > 25000) & (3 <= age < 7)}")]
        ['income > 25000', '3 <= age < 7']
    """
    for code in codes_in(formula):
        for node in ast.walk(python_tree(code)):
            if isinstance(node, ast.Compare):
                yield tree_text(node)


def comparisons(formula: str) -> Iterator[tuple[str, object]]:
    """Each column that a formula tests for being equal, or not, to a constant; and the constant."""
    for code in codes_in(formula):
        for node in ast.walk(python_tree(code)):
            if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq)):
                continue
            sides = (node.left, node.comparators[0])
            for column, constant in (sides, sides[::-1]):
                if isinstance(column, ast.Name) and isinstance(constant, ast.Constant):
                    yield column.id, constant.value


def constants(formula: str) -> tuple[float, ...]:
    """Numbers that stand in a formula, also with the other sign.

    Example:
        >>> constants("0 + {(income > 25000) & (age < 3)}")
        (-25000.0, -3.0, 3.0, 25000.0)
    """
    found = {
        float(node.value)
        for code in codes_in(formula)
        for node in ast.walk(python_tree(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    }
    return tuple(sorted(found | {-number for number in found}))


@lru_cache(maxsize=256)
def factors_of_terms(formula: str) -> tuple[tuple[tuple[str, bool], ...], ...]:
    """Factors of each term of a formula, on both sides: as texts, and whether one is a plain name.

    Example:
        >>> factors_of_terms("y ~ 1 + x:I(z ** 2)")
        ((('y', True),), (('x', True), ('I(z ** 2)', False)))
    """
    terms = (term for part in _parts(parse(formula)) for term in _terms(part))
    each = ([one for one in term.factors if one.eval_method.value != "literal"] for term in terms)
    return tuple(
        tuple((factor_text(one), one.eval_method.value == "lookup") for one in factors)
        for factors in each
        if factors
    )


def split_groups(formula: str) -> tuple[str, str]:
    """Expression and groups of "expression ~ groups"; no groups if there is no tilde.

    Raises:
        InferenceError: nothing stands before the tilde, or after it.
    """
    left, *right = split_outside(formula, "~")
    if not left or right == [""]:
        raise InferenceError(
            f"The formula {formula!r} is incomplete; expected an expression such as "
            "'log(income + 1)', or one by groups such as 'income ~ sex'."
        )
    return without_braces(left), " ~ ".join(right)


def split_terms(formula: str) -> tuple[str, ...]:
    """Expressions of "x + y", each as it could stand alone."""
    terms = _terms(parse(f"0 + {formula}"))
    return tuple(without_braces(show_names(str(term))) for term in terms)


def as_term(text: str) -> str:
    """A text as one term of a formula: in braces, where it computes something from columns.

    Example:
        >>> [as_term(text) for text in ("income - rent", "log(income)", "`in work`", "{a + b}")]
        ['{income - rent}', 'log(income)', '`in work`', '{a + b}']
    """
    try:
        computed = isinstance(python_tree(text), ast.BinOp | ast.UnaryOp | ast.Compare)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # who reads it says what is wrong
    return f"{{{text}}}" if computed else text


def as_formula(expression: str) -> str:
    """An expression as a formula with one column."""
    return f"{_EXPRESSION}{expression}}}"


def _show_formula(formula: str) -> str:
    """A formula as the analyst wrote it."""
    if not (formula.startswith(_EXPRESSION) and formula.endswith("}")):
        return formula
    return formula.removeprefix(_EXPRESSION).removesuffix("}")


def read_crossing(terms: str, known: Iterable[str]) -> tuple[str, ...]:
    """Column names in "a + b", in the order written.

    Raises:
        InferenceError: it cannot be read, or a term is not simply a column.
    """
    table = tuple(known)
    plain = tuple(dict.fromkeys(map(read_name, split_outside(terms, "+"))))
    if set(plain) <= set(table):
        return plain  # as most are: the library need not be loaded to say so
    columns_of(terms, table)
    other = next((term for term in plain if term not in table), terms)
    raise InferenceError(
        f"Expected column names joined by +, got {other!r} among them; for a condition or a "
        "transformed column take the kind mean or proportion."
    )


def no_number(expression: str) -> str:
    """The sentence that says that an expression has levels."""
    return (
        f"The expression {expression!r} has levels, not one number for each record; take the "
        "kind proportion for their shares, or a condition such as \"sex == 'f'\"."
    )


def not_two(term: str) -> str:
    """The sentence that says that a column does not have two levels."""
    return (
        f"The column {term} does not have two levels; write a condition, such as {{sex == 'f'}} or "
        "{income > 25000}."
    )


def not_an_outcome(kind: str) -> str:
    """The sentence that says that a model of this kind cannot have such an outcome."""
    return (
        f"The outcome of the kind {kind} must be one column of numbers"
        f"{' or have two levels' if kind == 'logit' else ''}; for a condition write such as "
        "\"{sex == 'f'} ~ age\"."
    )


def evaluate(expression: str, frame: pd.DataFrame) -> Floats:
    """Value of an expression for each record.

    Args:
        expression: one that yields a number or a truth value for each record.
        frame: complete records, with the columns that the expression names.

    Returns:
        Shape (records,); truth values as 0 and 1.

    Raises:
        InferenceError: it cannot be computed, is not one number a record, or is not finite.
    """
    if is_plain(expression, frame):  # itself: a formula would take milliseconds to say so
        values = frame[read_name(expression)].to_numpy(dtype=np.float64)
    else:
        design = matrices(as_formula(expression), frame)
        if design.shape[1] != 1 or design.iloc[:, 0].dtype == object:
            raise InferenceError(no_number(expression))
        values = design.to_numpy(dtype=np.float64)[:, 0]
    if not np.isfinite(values).all():
        raise InferenceError(
            f"The expression {expression!r} is not a finite number for every complete record; "
            "change it, such as log(income) to log(income + 1)."
        )
    return np.asarray(values)


def is_plain(expression: str, frame: pd.DataFrame) -> bool:
    """Return whether an expression is the plain name of a column of numbers or truth values."""
    name = read_name(expression)
    return name in frame.columns and frame[name].dtype in (np.float64, np.bool_)


def matrices(formula: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Model matrices of a formula (one, or `lhs` and `rhs`).

    Raises:
        InferenceError: it cannot be read, or not be computed on these columns.
    """
    return laid_out(formula, parse(formula), frame)


def laid_out(formula: str, layout: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Model matrices of a formula in a layout that is its own, or that of other records.

    Raises:
        InferenceError: it cannot be computed on these columns.
    """
    from formulaic import model_matrix

    hidden = {name: stand_in(name) for name in frame.columns if quote_name(name) != name}
    frame = frame.rename(columns=hidden) if hidden else frame
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused by the caller, in words
            design: pd.DataFrame = model_matrix(layout, frame, context=_OF_EACH, na_action="ignore")
    except _faults() as error:
        if "TypeError: " in str(error) and {"'", '"'} & {*_show_formula(formula)}:
            raise InferenceError(
                f"The formula {_show_formula(formula)!r} has a text where a number is needed; a "
                "text stands beside a column with levels, or beside one of times by itself."
            ) from None
        raise InferenceError(
            f"The formula {_show_formula(formula)!r} cannot be computed: {_first_line(error)}."
        ) from None
    if hasattr(design, "lhs") and not design.lhs.shape[1]:
        raise InferenceError(
            f"The formula {formula!r} has no outcome; put an expression in braces, such as "
            "'{income / 12} ~ age'."
        )
    if hidden:
        for side in (design.lhs, design.rhs) if hasattr(design, "rhs") else (design,):
            side.columns = [restore_label(label) for label in side.columns]
    return design


def _names(formula: str) -> Iterator[str]:
    """Every name in a formula, columns and functions alike.

    Not what formulaic says that it requires: that leaves out columns called like a function.
    """
    for expression, is_code in _factors(formula):
        if is_code:
            yield from _python_names(expression)
        else:
            yield expression


def codes_in(formula: str) -> Iterator[str]:
    """Each factor that is more than the name of a column."""
    return (expression for expression, is_code in _factors(formula) if is_code)


def _factors(formula: str) -> Iterator[tuple[str, bool]]:
    """Each factor that is no plain number, and whether it is more than the name of a column."""
    expression = _show_formula(formula)
    name = read_name(expression)
    if expression != formula and name and quote_name(name) in (expression, name):
        yield name, False  # as most are: the library need not be loaded to say so
        return
    for part in _parts(parse(formula)):
        for term in _terms(part):
            for factor in term.factors:
                if factor.eval_method.value != "literal":
                    yield factor_text(factor), factor.eval_method.value == "python"


def _python_names(code: str) -> Iterator[str]:
    for node in ast.walk(python_tree(code)):
        if isinstance(node, ast.Name):
            yield node.id
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            raise InferenceError(f"The formula uses {node.attr!r}, which is not for formulas.")


def _parts(parsed: Formula) -> list[Formula]:
    """The sides of a formula: left and right, or the only one."""
    sides = [getattr(parsed, side, None) for side in ("lhs", "rhs")]
    parts = [side for side in sides if side is not None] or [parsed]
    if any(isinstance(side, tuple) for side in parts):
        raise InferenceError("A formula with several parts, joined by |, is not supported.")
    return parts


def _terms(part: Formula) -> list[Any]:
    return list(part)


def _first_line(error: Exception) -> str:
    """Return the first line of a library's message on a fault, without colours."""
    if isinstance(error, _LOST):
        return "its brackets do not fit together"
    text = show_names(str(error.args[0] if error.args else error))
    plain = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", text)
    if found := _EVALUATED.fullmatch(plain.strip()):
        own = found["said"] if found["said"].startswith(("max takes", "min takes")) else ""
        return own or f"{found['factor']!r} is not one number for each record"
    return plain.strip().splitlines()[0].rstrip(".") if plain.strip() else type(error).__name__


def required_conditions(where: str, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Conditions on one column alone that each record meets, with that column.

    Args:
        where: condition, with & for `and`; "" for none.
        known: names of columns.

    Example:
        >>> [*required_conditions("(age >= 65) & (job == 'a')", ("age", "job"))]
        [('age', 'age >= 65'), ('job', "job == 'a'")]
    """
    if not where:
        return
    tree = python_tree(where)
    ahead = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            ahead += [node.right, node.left]
        elif len(columns := columns_in(node, known)) == 1:
            yield min(columns), where if node is tree else tree_text(node)


def columns_in(node: ast.AST, known: Collection[str]) -> set[str]:
    """Columns that a part of an expression names.

    Args:
        node: the part.
        known: names of columns.
    """
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & {*known}
