"""Expressions over columns, as rules and formulas write them: read, checked and computed.

`weight / height ** 2`, `income > 0`, `cut(age, 18, 65)`: arithmetic (`+ - * / **`), parentheses,
numbers, `abs` and `floor`; comparisons, joined by `and` and `or`, or by `&` and `|` (which need
parentheses); and `cut`, which says in which interval a number lies. Names with spaces stand in
back-ticks. Nothing else is read, and nothing written is ever run: the tree of the text is walked,
node by node (`expression_values`).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from understudy.errors import suggestion
from understudy.schema.calendar_columns import Calendar
from understudy.schema.cell_values import Code, same_value, text_of
from understudy.schema.columns import NUMERIC, Column

_NAME, _TEXT = r"`[^`]+`|[^\W\d]\w*", r"""'[^'\n]*'|"[^"\n]*\""""
_COMPARED = r"==|!=|<=|>=|<|>"
_BESIDE_TEXT = re.compile(
    rf"(?P<left>{_NAME})\s*(?P<op>{_COMPARED})\s*(?P<after>{_TEXT})"
    rf"|(?P<before>{_TEXT})\s*(?P<turned>{_COMPARED})\s*(?P<right>{_NAME})"
)
_BACK_TICKS = re.compile(r"`([^`]*)`")
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


def python_tree(code: str) -> tuple[ast.Expression, dict[str, str]]:
    """Syntax tree of an expression, and the column for each stand-in of a name in back-ticks.

    Raises:
        SyntaxError: it is none.
    """
    quoted: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        name = f"_column_{len(quoted)}_"
        quoted[name] = match.group(1)
        return name

    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)  # "5and b", which Python merely frowns at
        return ast.parse(_BACK_TICKS.sub(stand_in, code), mode="eval"), quoted


class _Named(ast.NodeTransformer):
    """Puts the columns in the place of their stand-ins."""

    def __init__(self, quoted: Mapping[str, str]) -> None:
        self._quoted = quoted

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._quoted.get(node.id, node.id), ast.Load())


class _Joined(ast.NodeTransformer):
    """Puts & and | in the place of `and` and `or`, which mean the same between comparisons."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        found: ast.expr
        found, *others = (self.visit(one) for one in node.values)
        for one in others:
            found = ast.BinOp(found, operator, one)
        return found


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
            tree, quoted = python_tree(text)
            body = _Joined().visit(tree.body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"{text[:80]!r} cannot be read; it may hold {_KNOWN}") from None
        for node, depth in _walk(body):
            if depth > _DEEPEST:
                raise ValueError("it is nested too deeply; write a simpler one")
            _require_known(node, top=node is body)
        return cls(text, _Named(quoted).visit(body))

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
        """Where `cut` divides the number line, ascending; empty if it is no cut."""
        if not _is_cut(self.tree):
            return ()
        assert isinstance(self.tree, ast.Call)
        return tuple(_constant(node) for node in self.tree.args[1:])

    @property
    def is_truth(self) -> bool:
        """Whether it says yes or no."""
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
        name, said = found["left"] or found["right"], found["after"] or found["before"]
        column = columns.get(name.strip("`"))
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
    """What a cut cuts; another expression itself."""
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
