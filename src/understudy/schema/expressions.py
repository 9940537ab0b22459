"""Expressions over columns, as rules and formulas write them: read, checked and computed.

`weight / height ** 2`, `income > 0`, `cut(age, 18, 65)`: arithmetic (`+ - * / **`), parentheses,
numbers, `abs` and `floor`; comparisons, joined by `and` and `or`, or by `&` and `|` (which need
parentheses); and `cut`, which says in which interval a number lies. Names with spaces or signs
stand in back-ticks; a back-tick within one is doubled. Nothing else is read, and nothing written is
ever run: the tree of the text is walked, node by node (below).

**What an expression is for each record, and what it can be at all by the declarations alone.**

Each node of the tree is computed in 64-bit floats. A value that is absent is NaN here, and so is
what has no value: a division by 0, a root of a negative number, a result too large to write. What
rests on NaN is NaN.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from keyword import iskeyword
from typing import Any, Final
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from understudy.errors import suggestion
from understudy.schema.base import Code, same_value, text_of
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.temporal import Calendar

_QUOTED: Final = r"`(?:[^`]|``)+`"
NAME: Final = rf"{_QUOTED}|[^\W\d]\w*"
"""A column's name, in back-ticks or without."""
_TEXT = r"""'[^'\n]*'|"[^"\n]*\""""
_TOKEN: Final = re.compile(rf"{_TEXT}|(?P<name>{NAME})|.", re.DOTALL)
BRACED: Final = rf"\{{(?:{_TEXT}|{_QUOTED}|[^{{}}])*\}}"
"""An expression in braces."""
_STAND_IN: Final = re.compile(r"_column_([0-9a-f]+)_")
_COMPARED = r"==|!=|<=|>=|<|>"
_BESIDE_TEXT = re.compile(
    rf"(?P<left>{NAME})\s*(?P<op>{_COMPARED})\s*(?P<after>{_TEXT})"
    rf"|(?P<before>{_TEXT})\s*(?P<turned>{_COMPARED})\s*(?P<right>{NAME})|{_QUOTED}"
)
_WHOLE = r"(?<![\w.])-?\d+(?![\w.])"
_BESIDE_NUMBER = re.compile(
    rf"(?P<left>{NAME})\s*(?P<op>{_COMPARED})\s*(?P<after>{_WHOLE})"
    rf"|(?P<before>{_WHOLE})\s*(?P<turned>{_COMPARED})\s*(?P<right>{NAME})|{_TEXT}|{_QUOTED}"
)
_SPELLED = re.compile(r"\b(and|or|not|in)\b|[<>].*[<>]", re.DOTALL)
_LONGEST, _DEEPEST = 1_000, 40  # characters, and nodes within each other
ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
LOGIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.BitAnd: np.minimum,
    ast.BitOr: np.maximum,
}
COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {"abs": np.abs, "floor": np.floor}
CUT: Final = "cut"
"""The function that gives the number of an interval: 0 below the first cut, and so on."""

_KNOWN = "numbers, columns, + - * / **, comparisons joined by and, or, & and |, abs, floor and cut"


def quote_name(name: str) -> str:
    """Write a column's name as expressions need it: in back-ticks, where Python would not read it.

    Example:
        >>> [quote_name(name) for name in ("age", "in work", "class", "a`b")]
        ['age', '`in work`', '`class`', '`a``b`']
    """
    own = name.isidentifier() and not iskeyword(name) and normalize("NFKC", name) == name
    return name if own else f"`{name.replace('`', '``')}`"


def read_name(term: str) -> str:
    """Take the back-ticks from a term that is a name; another term stays as it is.

    Example:
        >>> [read_name(term) for term in ("age", "`in work`", "`a` + `b`")]
        ['age', 'in work', '`a` + `b`']
    """
    bare = term.strip()
    return bare[1:-1].replace("``", "`") if re.fullmatch(_QUOTED, bare) else bare


def names_in(text: str) -> set[str]:
    """Words that may be columns: what stands in quotes is none."""
    return {read_name(found["name"]) for found in _TOKEN.finditer(text) if found["name"]}


def texts_in(text: str) -> list[str]:
    """What stands in quotes, with these."""
    return [found[0] for found in _TOKEN.finditer(text) if found[0][0] in "'\"" and found[0][1:]]


def without_quoted(text: str) -> str:
    """What stands neither in quotes nor in back-ticks.

    Example:
        >>> without_quoted("`in work` > 0 & city == 'A'")
        ' > 0 & city == '
    """
    return re.sub(rf"{_TEXT}|{_QUOTED}", "", text)


def hide_names(text: str) -> str:
    """Put a word in the place of each name that Python would not read; `show_names` undoes it."""

    def hide(found: re.Match[str]) -> str:
        name = read_name(found["name"] or "")
        own = not name or quote_name(name) == name or (iskeyword(name) and found[0] == name)
        return (name or found[0]) if own else stand_in(name)

    return _TOKEN.sub(hide, text)


def stand_in(name: str) -> str:
    """Return the word that stands for a name."""
    return f"_column_{name.encode('utf-8', 'surrogatepass').hex()}_"


def show_names(text: str) -> str:
    """Put names in back-ticks in the place of the words that stand for them."""

    def show(found: re.Match[str]) -> str:
        return quote_name(bytes.fromhex(found[1]).decode("utf-8", "surrogatepass"))

    return _STAND_IN.sub(show, text)


def split_outside(text: str, sign: str) -> list[str]:
    """Split a text at a sign, where it stands in no name, text or brackets.

    Example:
        >>> split_outside("`a ~ b` ~ {~(c > 0)}", "~")
        ['`a ~ b`', '{~(c > 0)}']
    """
    parts, depth = [""], 0
    for found in _TOKEN.finditer(text):
        piece = found[0]
        depth += (piece in "([{") - (piece in ")]}")
        if piece == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts]


def without_braces(expression: str) -> str:
    """An expression without the braces that it would need within a formula."""
    bare = expression.strip()
    return bare[1:-1].strip() if re.fullmatch(BRACED, bare, re.DOTALL) else bare


class _Renamed(ast.NodeTransformer):
    """Gives names others."""

    def __init__(self, rename: Callable[[str], str]) -> None:
        self._rename = rename

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._rename(node.id), ast.Load())


def python_tree(code: str) -> ast.expr:
    """Syntax tree of an expression; names are those of columns.

    Raises:
        SyntaxError: it is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)  # "5and b", which Python merely frowns at
        tree = ast.parse(hide_names(code.strip()), mode="eval")
    found: ast.expr = _Renamed(lambda name: read_name(show_names(name))).visit(tree.body)
    return found


def tree_text(node: ast.AST) -> str:
    """A part of an expression as it was written, with names in back-ticks that need them."""
    return ast.unparse(_Renamed(quote_name).visit(deepcopy(node)))


class _Joined(ast.NodeTransformer):
    """Puts & and | in the place of `and` and `or`, which mean the same between comparisons."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        found: ast.expr
        found, *others = (self.visit(one) for one in node.values)
        for one in others:
            found = ast.BinOp(found, operator, one)
        return found


class _Spelled(_Joined):
    """Does so, and says `not`, lists behind `in` and chains such as 5 < x <= 9 by comparisons."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.Compare(node.operand, [ast.Eq()], [ast.Constant(value=False)])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        match node:
            case ast.Compare(
                left, [ast.In() | ast.NotIn() as sign], [ast.List(values) | ast.Tuple(values)]
            ) if values:
                within = isinstance(sign, ast.In)
                compared = ast.Eq() if within else ast.NotEq()
                each = [ast.Compare(left, [compared], [value]) for value in values]
                if len(each) == 1:
                    return each[0]
                return self.visit_BoolOp(ast.BoolOp(ast.Or() if within else ast.And(), [*each]))
            case ast.Compare(left, [_, _, *_] as signs, parts):
                pairs = zip((left, *parts), signs, parts, strict=False)
                chain = [ast.Compare(one, [sign], [other]) for one, sign, other in pairs]
                return self.visit_BoolOp(ast.BoolOp(ast.And(), [*chain]))
        return node


def join_conditions(code: str) -> str:
    """An expression with & and | in the place of `and`, `or`, lists and chains; else as it is.

    Example:
        >>> join_conditions("3 <= age < 7")
        '(3 <= age) & (age < 7)'
        >>> join_conditions("not works")
        'works == False'
        >>> join_conditions("children > 0 and `in work` in [0, 2]")
        '(children > 0) & ((`in work` == 0) | (`in work` == 2))'
    """
    if not _SPELLED.search(code):
        return code
    try:
        tree = python_tree(code)
        before, found = ast.dump(tree), _Spelled().visit(tree)
        # else the words stand in texts or names alone
        return code if ast.dump(found) == before else tree_text(found)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code  # who reads it says what is wrong


@dataclass(frozen=True)
class Expression:
    """An expression that was read.

    Attributes:
        text: as it was written.
        tree: of the text; names are those of columns.

    Example:
        >>> bmi = Expression.read("weight / height ** 2")
        >>> bmi.names
        ('weight', 'height')
    """

    text: str
    tree: ast.expr

    @classmethod
    def read(cls, text: str) -> Expression:
        """Read an expression.

        Raises:
            ValueError: it is none, or holds something else than is listed above; says what.
        """
        if len(text) > _LONGEST:
            raise ValueError(f"it has more than {_LONGEST:,} characters; write a shorter one")
        try:
            body = _Joined().visit(python_tree(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"{text[:80]!r} cannot be read; it may hold {_KNOWN}") from None
        for node, depth in _walk(body):
            if depth > _DEEPEST:
                raise ValueError("it is nested too deeply; write a simpler one")
            _require_known(node, top=node is body)
        return cls(text, body)

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that it names, each once, in the order written."""
        called = {id(node.func) for node, _ in _walk(self.tree) if isinstance(node, ast.Call)}
        found = (
            node.id
            for node, _ in _walk(self.tree)
            if isinstance(node, ast.Name) and id(node) not in called
        )
        return tuple(dict.fromkeys(found))

    @property
    def cuts(self) -> tuple[float, ...]:
        """Places where `cut` divides the number line, ascending; empty if it is no cut."""
        if not _is_cut(self.tree):
            return ()
        assert isinstance(self.tree, ast.Call)
        return tuple(_constant(node) for node in self.tree.args[1:])

    @property
    def is_truth(self) -> bool:
        """True if it says yes or no."""
        return _is_truth(self.tree)


def times_as_places(text: str, columns: Mapping[str, Column]) -> str:
    """The text with numbers in place of texts that stand beside a column of times.

    Columns of times count units: with hours of stay, "stay > 'P3D'" says "stay > 72".

    Args:
        text: an expression, or a formula with some.
        columns: those that it may name.

    Raises:
        ValueError: a text is no value of the column beside it, or the column is one of numbers.
    """

    def place(found: re.Match[str]) -> str:
        name, said = found["left"] or found["right"] or "", found["after"] or found["before"]
        column = columns.get(read_name(name))
        if column is None or not isinstance(column, NUMERIC):
            return found[0]
        time = column if isinstance(column, Calendar) else None
        at = None if time is None else time.exact_position(said[1:-1])
        if at is None:
            least = int(column.bounds[0])
            such = "numbers" if time is None else f"times such as {time.text_at(least)!r}"
            raise ValueError(f"compares {name} with the text {said}, and it holds {such}")
        number = f"{at:.15g}"
        if found["left"]:
            return f"{name} {found['op']} {number}"
        return f"{number} {found['turned']} {name}"

    return _BESIDE_TEXT.sub(place, text)


def places_as_times(text: str, columns: Mapping[str, Column]) -> str:
    """The text with times in place of whole numbers beside a column of times, as people read it.

    Args:
        text: as `times_as_places` gives it.
        columns: those that it may name.
    """

    def time(found: re.Match[str]) -> str:
        name, number = found["left"] or found["right"] or "", found["after"] or found["before"]
        column = columns.get(read_name(name))
        if not isinstance(column, Calendar):
            return found[0]
        low, high = column.bounds
        if not low <= int(number) <= high:
            return found[0]
        said = repr(column.text_at(int(number)))
        if found["left"]:
            return f"{name} {found['op']} {said}"
        return f"{said} {found['turned']} {name}"

    return _BESIDE_NUMBER.sub(time, text)


def _walk(node: ast.AST, depth: int = 0) -> Iterator[tuple[ast.AST, int]]:
    """Nodes in the order written, with how deep they stand."""
    ahead = [(node, depth)]
    while ahead:
        one, deep = ahead.pop()
        if isinstance(one, ast.operator | ast.cmpop | ast.unaryop | ast.expr_context):
            continue
        yield one, deep
        ahead += [(child, deep + 1) for child in reversed(list(ast.iter_child_nodes(one)))]


def _require_known(node: ast.AST, *, top: bool) -> None:
    """Refuse what is not in the language."""
    if isinstance(node, ast.BinOp):
        known = type(node.op) in ARITHMETIC or type(node.op) in LOGIC
        if type(node.op) in LOGIC and not (_is_truth(node.left) and _is_truth(node.right)):
            raise ValueError("and, or, & and | stand between comparisons, (a > 0) & (b > 0)")
    elif isinstance(node, ast.Compare):
        if len(node.ops) > 1:
            raise ValueError("it compares three things at once; write (a <= b) & (b < c)")
        known = type(node.ops[0]) in COMPARISONS
    elif isinstance(node, ast.Call):
        known = _is_call(node, top=top)
    elif isinstance(node, ast.Constant):
        known = type(node.value) in (int, float, str) and _is_finite(node.value)
    elif isinstance(node, ast.UnaryOp):
        known = isinstance(node.op, ast.USub | ast.UAdd)
    else:
        known = isinstance(node, ast.Name)
    if not known:
        raise ValueError(f"it holds something else than {_KNOWN}")


def _is_finite(value: object) -> bool:
    if not isinstance(value, int | float):
        return True
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def _is_call(node: ast.Call, *, top: bool) -> bool:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if node.keywords or (name not in FUNCTIONS and name != CUT):
        return False
    if name in FUNCTIONS:
        return len(node.args) == 1
    if not top:
        raise ValueError("cut stands alone: cut(age, 18, 65)")
    try:
        cuts = [_constant(arg) for arg in node.args[1:]]
    except ValueError:
        cuts = []
    if not cuts or any(a >= b for a, b in pairwise(cuts)):
        raise ValueError("cut needs a number and where to cut it, ascending: cut(age, 18, 65)")
    return True


def _constant(node: ast.expr) -> float:
    sign = 1.0
    while isinstance(node, ast.UnaryOp):
        sign, node = (-sign if isinstance(node.op, ast.USub) else sign), node.operand
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        raise ValueError("not a number")
    return sign * float(node.value)  # type: ignore[arg-type]


def _is_cut(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == CUT


def cut_one(node: ast.expr) -> ast.expr:
    """Return what a cut cuts; another expression itself."""
    return node.args[0] if isinstance(node, ast.Call) and _is_cut(node) else node


def _is_truth(node: ast.expr) -> bool:
    logic = isinstance(node, ast.BinOp) and type(node.op) in LOGIC
    return isinstance(node, ast.Compare) or logic


def level_test(node: ast.Compare) -> tuple[str, Code] | None:
    """Column and value of `sex == "f"`, or with `!=` or the sides exchanged; None for another."""
    sides = (node.left, node.comparators[0])
    for name, constant in (sides, sides[::-1]):
        equal = isinstance(node.ops[0], ast.Eq | ast.NotEq)
        if equal and isinstance(name, ast.Name) and isinstance(constant, ast.Constant):
            return name.id, constant.value  # type: ignore[return-value]
    return None


def level_state(name: str, column: Column, value: Code) -> int:
    """The state of a level.

    Raises:
        ValueError: the column has no such level.
    """
    levels = getattr(column, "levels", ())
    for k, level in enumerate(levels):
        if same_value(level, value):
            return k
    labels = [text_of(level) for level in levels]
    close = suggestion(text_of(value), labels)
    raise ValueError(f"names {text_of(value)!r}, which is no level of {name!r}{close}")


Values = NDArray[np.float64]
Numbers = Mapping[str, Values]
"""Numbers of numeric columns, each of shape (n,); NaN where absent."""
States = Mapping[str, tuple[Column, NDArray[np.integer[Any]]]]
"""Declaration and states, shape (n,), of columns with levels; what is no level is absent."""


@dataclass(frozen=True)
class Span:
    """The range of an expression, by the declarations alone.

    Attributes:
        low: no value is less.
        high: no value is larger.
        lacks: whether some records may have no value.
    """

    low: float
    high: float
    lacks: bool


def faults_of(expression: Expression, columns: Mapping[str, Column]) -> Iterator[str]:
    """List what does not fit the columns, a sentence each.

    Args:
        expression: as it was read.
        columns: those that it may name.
    """
    unknown = [name for name in expression.names if name not in columns]
    for name in unknown:
        yield f"names {name!r}, which is no column{suggestion(name, columns)}"
    if unknown:
        return
    try:
        span_of(expression, columns)
    except ValueError as error:
        yield str(error)


def span_of(expression: Expression, columns: Mapping[str, Column]) -> Span:
    """Bound what an expression can be, given what its columns can; of a cut, what is cut.

    Raises:
        ValueError: a column with levels where a number is needed, or an unknown level.

    Example:
        >>> from understudy.schema.columns import Integer
        >>> span_of(Expression.read("1 / a"), {"a": Integer(kind="integer", lower=1, upper=4)})
        Span(low=0.25, high=1.0, lacks=False)
    """
    with np.errstate(all="ignore"):
        return _span(cut_one(expression.tree), columns)


def values_of(expression: Expression, numbers: Numbers, states: States) -> Values:
    """The value of an expression for each record.

    Args:
        expression: as it was read.
        numbers: of the numeric columns that it names.
        states: of the columns with levels that it names.

    Returns:
        Shape (n,), or () for a constant; truth values as 0 and 1, intervals of a cut as 0, 1, …

    Example:
        >>> bmi = Expression.read("weight / height ** 2")
        >>> values_of(bmi, {"weight": np.array([80.0]), "height": np.array([2.0])}, {}).tolist()
        [20.0]
    """
    with np.errstate(all="ignore"):
        found = _value(cut_one(expression.tree), numbers, states)
    result = np.where(np.isfinite(found), found, np.nan)
    if cuts := expression.cuts:
        place = np.searchsorted(np.array(cuts), result, side="right").astype(np.float64)
        return np.where(np.isnan(result), np.nan, place)
    return result


def _value(
    node: ast.expr,
    numbers: Numbers,
    states: States,
) -> Any:
    if isinstance(node, ast.Constant):
        return np.float64(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return numbers[node.id]
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, numbers, states)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        return FUNCTIONS[node.func.id](_value(node.args[0], numbers, states))
    if isinstance(node, ast.Compare):
        return _compare(node, numbers, states)
    assert isinstance(node, ast.BinOp)
    left, right = (_value(side, numbers, states) for side in (node.left, node.right))
    function = ARITHMETIC.get(type(node.op)) or LOGIC[type(node.op)]
    found = function(left, right)
    return np.where(np.isnan(left) | np.isnan(right) | np.isinf(found), np.nan, found)


def _compare(node: ast.Compare, numbers: Numbers, states: States) -> Values:
    """Return whether a comparison holds: 1 or 0."""
    compare, test = COMPARISONS[type(node.ops[0])], level_test(node)
    if test is not None and test[0] in states:
        column, codes = states[test[0]]
        hit = compare(codes, level_state(test[0], column, test[1])).astype(np.float64)
        return np.where((codes >= 0) & (codes < column.n_ordinary), hit, np.nan)
    left, right = (_value(side, numbers, states) for side in (node.left, node.comparators[0]))
    held = compare(left, right).astype(np.float64)
    return np.where(np.isnan(left) | np.isnan(right), np.nan, held)


def _span(node: ast.expr, columns: Mapping[str, Column]) -> Span:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            raise ValueError("a text stands only beside == or != and a column with levels")
        return Span(float(node.value), float(node.value), lacks=False)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        column = columns[node.id]
        if not isinstance(column, NUMERIC):
            raise ValueError(
                f"takes {node.id!r} for a number, and it has levels; compare it with one of them, "
                f'{node.id} == "…", or make it numeric'
            )
        return Span(*column.bounds, lacks=bool(column.codes))
    if isinstance(node, ast.UnaryOp):
        inner = _span(node.operand, columns)
        turned = isinstance(node.op, ast.USub)
        return Span(-inner.high, -inner.low, inner.lacks) if turned else inner
    if isinstance(node, ast.Call):
        inner = _span(node.args[0], columns)
        assert isinstance(node.func, ast.Name)
        ends = [float(FUNCTIONS[node.func.id](end)) for end in (inner.low, inner.high)]
        turns = [0.0] if inner.low < 0 < inner.high else []  # of abs; floor passes it as well
        return Span(min(*ends, *turns), max(ends), inner.lacks)
    if isinstance(node, ast.Compare):
        return Span(0.0, 1.0, _lacks_in_comparison(node, columns))
    assert isinstance(node, ast.BinOp)
    return _combine_spans(node, _span(node.left, columns), _span(node.right, columns))


def _lacks_in_comparison(node: ast.Compare, columns: Mapping[str, Column]) -> bool:
    test = level_test(node)
    if test is not None and not isinstance(columns[test[0]], NUMERIC):
        level_state(test[0], columns[test[0]], test[1])
        return bool(columns[test[0]].codes)
    return any(_span(side, columns).lacks for side in (node.left, node.comparators[0]))


def _combine_spans(node: ast.BinOp, left: Span, right: Span) -> Span:
    """Combine two spans; wide, and perhaps without a value, where the result is not plain."""
    lacks = left.lacks or right.lacks
    if type(node.op) in LOGIC:
        return Span(0.0, 1.0, lacks)
    by_zero = isinstance(node.op, ast.Div) and right.low <= 0 <= right.high
    whole = right.low == right.high and right.low == int(right.low) >= 0
    no_root = isinstance(node.op, ast.Pow) and left.low <= 0 and not whole
    function = ARITHMETIC[type(node.op)]
    ends = [float(function(a, b)) for a in (left.low, left.high) for b in (right.low, right.high)]
    if isinstance(node.op, ast.Pow) and left.low < 0 < left.high:
        ends.append(0.0)
    if by_zero or no_root or not np.isfinite(ends).all():
        return Span(-np.inf, np.inf, lacks=True)
    return Span(min(ends), max(ends), lacks)


def with_condition(formula: str, where: str) -> str:
    """The formula of the records that meet a condition, as it is asked for; "" for all."""
    return f"{formula} where {where}" if where else formula
