"""Questions about derived columns, put as questions about the columns that they are computed from.

A derived column was not measured. What a release knows of it is what it knows of the others, so a
formula that names it is asked with its rule written out: `mean bmi` as the mean of
`weight / height ** 2`, `proportion adult` as that of `age >= 18`, and `group == "old"` as the
condition on the number or level behind it. The answer, and whether there is one, then follow from
what was measured of these. It is one about the rule: numbers are not rounded or clipped.

What has levels by a rule cannot be written out where its levels are groups of their own, to cross
or to compare; such questions are refused with what to ask instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from understudy.errors import InferenceError
from understudy.schema import NUMERIC, Boolean, Column, Schema
from understudy.schema.cell_values import Code
from understudy.schema.column_base import LevelMap
from understudy.schema.derived_columns import rule_text
from understudy.schema.expressions import (
    Expression,
    level_state,
    level_test,
    python_tree,
    times_as_places,
)

_PYTHON: Final = re.compile(
    r"(\{[^{}]*\})|([A-Za-z_][\w.]*\()|(`[^`]*`|[A-Za-z_]\w*)|(.)", re.DOTALL
)
_OF_EXPRESSIONS: Final = ("mean", "quantile", "total", "proportion")


def derived_in(formula: str, schema: Schema) -> tuple[str, ...]:
    """Derived columns that a formula names, in the order of the release."""
    if not schema.derived:
        return ()
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", formula)
    words = set(re.findall(r"`([^`]*)`", bare)) | set(re.findall(r"\w+", bare))
    return tuple(name for name in schema.derived if name in words)


def rule_notes(formula: str, schema: Schema) -> tuple[str, ...]:
    """What an answer says of the derived columns that were asked for, a sentence each."""
    said = []
    for name in derived_in(formula, schema):
        column = schema.derived[name]
        before = ", before rounding and clipping" * isinstance(column, NUMERIC)
        said.append(
            f"{name} was not measured: it is computed by the rule {rule_text(column)}, and the "
            f"answer is about that rule{before}."
        )
    return tuple(said)


def written_out(kind: str, formula: str, schema: Schema) -> str:
    """The formula with derived columns replaced by their rules, and texts of times by numbers.

    Args:
        kind: of the question; those of an expression, "x ~ groups", have no braces around it.
        formula: as it was asked.
        schema: of the release.

    Raises:
        InferenceError: a derived column with levels stands where no rule can be written; or a
            column of numbers or times is compared with a text that is none.
    """
    try:
        formula = times_as_places(formula, schema.stated)
    except ValueError as error:
        raise InferenceError(f"The formula {formula!r} {error}.") from None
    if not derived_in(formula, schema):
        return formula
    if kind not in _OF_EXPRESSIONS:
        if kind == "table":
            refuse_derived(formula, schema)
        return "".join(_formula(formula, schema))
    left, tilde, right = formula.partition("~")
    refuse_derived(right, schema)
    bare = left.strip()
    whole = bare[1:-1] if bare.startswith("{") and bare.endswith("}") else bare
    return f"{_python(whole, schema)} {tilde}{right}".rstrip()


def refuse_derived(formula: str, schema: Schema) -> None:
    """Refuse derived columns where columns are taken as they are: by functions, and as groups.

    Raises:
        InferenceError: the formula names one.
    """
    for name in derived_in(formula, schema):
        raise InferenceError(_refusal(name, schema))


def _formula(text: str, schema: Schema) -> Iterator[str]:
    """A formula piece by piece: what is in braces or in a call is an expression, a name a term."""
    place = 0
    while place < len(text):
        match = _PYTHON.match(text, place)
        assert match is not None
        place = match.end()
        braces, call, name, _ = match.groups()
        if braces:
            yield f"{{{_python(braces[1:-1], schema)}}}"
        elif call:
            place = _closing(text, place)
            yield _python(text[match.start() : place], schema)
        elif name and name.strip("`") in schema.derived:
            yield f"{{{_python(name, schema)}}}"
        else:
            yield match.group()


def _closing(text: str, place: int) -> int:
    """The place behind the parenthesis that closes one."""
    depth = 1
    while depth and place < len(text):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return place


def _python(code: str, schema: Schema) -> str:
    """An expression with the rules written out; as it is where it cannot be read, or names none."""
    if not derived_in(code, schema):
        return code
    try:
        tree, quoted = python_tree(code.strip())
    except (SyntaxError, ValueError):
        return code
    columns = {name: f"`{name}`" for name in schema.declared if not name.isidentifier()}
    stand_ins = {shown: f"_quoted_{k}_" for k, shown in enumerate(columns.values())}
    body = _WrittenOut(schema, quoted, {n: stand_ins[s] for n, s in columns.items()}).visit(
        tree.body
    )
    text = ast.unparse(body)
    for shown, name in stand_ins.items():
        text = text.replace(name, shown)
    return text


class _WrittenOut(ast.NodeTransformer):
    """Replaces derived columns by their rules, and names with spaces by stand-ins.

    Args:
        schema: of the release.
        quoted: column of each stand-in of the formula that was read.
        stand_ins: stand-in of each column whose name is no word.
    """

    def __init__(
        self, schema: Schema, quoted: Mapping[str, str], stand_ins: Mapping[str, str]
    ) -> None:
        self._schema, self._quoted, self._stand_ins = schema, quoted, stand_ins

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = [self.visit(arg) for arg in node.args]
        return ast.Call(node.func, called, [self.visit(word) for word in node.keywords])

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = self._quoted.get(node.id, node.id)
        column = self._schema.derived.get(name)
        if column is None:
            return ast.Name(self._stand_ins.get(name, name), ast.Load())
        if isinstance(column.derived, LevelMap) or Expression.read(column.derived or "").cuts:
            raise InferenceError(_refusal(name, self._schema))
        return self._rule(column)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        test = level_test(node)
        name = "" if test is None else self._quoted.get(test[0], test[0])
        column = self._schema.derived.get(name)
        if test is None or column is None:
            return self.generic_visit(node)
        try:
            condition = self._condition(name, column, test[1])
        except ValueError as error:
            raise InferenceError(f"The formula {error}.") from None
        if condition is None:
            return self.generic_visit(node)
        if isinstance(node.ops[0], ast.NotEq):
            return ast.Compare(condition, [ast.Eq()], [ast.Constant(value=False)])
        return condition

    def _condition(self, name: str, column: Column, value: Code) -> ast.expr | None:
        """When a derived column has a level; None for a number."""
        rule = column.derived
        if isinstance(rule, LevelMap):
            labels = column.labels
            wanted = rule.levels.get(labels[level_state(name, column, value)], ())
            return _any([_test(rule.of, ast.Eq(), level) for level in wanted], self)
        expression = Expression.read(rule or "")
        if not expression.cuts:
            return None
        state = level_state(name, column, value)
        number = cast(ast.Call, expression.tree).args[0]
        inner = self.visit(number)
        ends = [
            ast.Compare(inner, [op], [ast.Constant(value=cut)])
            for op, cut in (
                *([(ast.GtE(), expression.cuts[state - 1])] if state > 0 else []),
                *([(ast.Lt(), expression.cuts[state])] if state < len(expression.cuts) else []),
            )
        ]
        return ends[0] if len(ends) == 1 else ast.BinOp(ends[0], ast.BitAnd(), ends[1])

    def _rule(self, column: Column) -> ast.AST:
        assert isinstance(column.derived, str)
        rule: ast.AST = self.visit(Expression.read(column.derived).tree)
        return rule


def _test(name: str, comparison: ast.cmpop, value: Code) -> ast.expr:
    return ast.Compare(ast.Name(name, ast.Load()), [comparison], [ast.Constant(value=value)])  # type: ignore[arg-type]


def _any(tests: Sequence[ast.expr], visitor: ast.NodeTransformer) -> ast.expr:
    whole: ast.expr = visitor.visit(tests[0])
    for test in tests[1:]:
        whole = ast.BinOp(whole, ast.BitOr(), visitor.visit(test))
    return whole


def _refusal(name: str, schema: Schema) -> str:
    column = schema.derived[name]
    example = "" if isinstance(column, Boolean) else _example(name, column)
    return (
        f"The column {name!r} is derived by the rule {rule_text(column)}, and was not measured, so "
        f"this cannot be asked of it; ask about the columns of the rule{example}."
    )


def _example(name: str, column: Column) -> str:
    shown = name if name.isidentifier() else f"`{name}`"
    if isinstance(column, NUMERIC):
        return ""
    return f", or for the share of one level, proportion of {shown} == {column.levels[0]!r}"
