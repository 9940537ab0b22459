"""Whether a query gives each row of one table at most once, by itself, and fails at none.

An error is an output. So a query whose conversion, function or overflow one row may fail decides by
that row whether a release exists; and one that joins, groups or cuts off makes rows of several. It
cannot be listed what does so. What is listed is the one form that does not:

    SELECT plain columns FROM one stored table WHERE columns are compared with constants

with AND, OR, NOT, IN, BETWEEN and IS NULL. Each comparison is of values of one type: numbers with
numbers, days with days, texts with texts (as equal or not, since an order of texts is a rule of its
own). The query's text says whether it has this form (`taken_apart`); the database's own catalogue
and, in DuckDB, its bound plan say of which types the columns are and what they are computed from
(`understudy.engine.reading.databases.connections`).

Everything else makes the guarantee conditional, by name of what makes it so; a part that is not
known is such a part. A join is one whatever it joins by, since nobody declares which tables are
public. Nothing of this depends on the rows.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from understudy.engine.confidential import Premises
from understudy.engine.reading.databases.query import Query
from understudy.errors import DataError
from understudy.extras import require_extra

if TYPE_CHECKING:
    from sqlglot import exp

Part = TypeVar("Part")

PLAIN: Final[Mapping[str, frozenset[str]]] = {
    "Select": frozenset({"expressions", "from_", "where"}),
    "From": frozenset({"this"}),
    "Where": frozenset({"this"}),
    "Table": frozenset({"this", "db", "alias"}),
    "TableAlias": frozenset({"this"}),
    "Identifier": frozenset({"this", "quoted"}),
    "Column": frozenset({"this", "table"}),
    "Star": frozenset(),
    "Alias": frozenset({"this", "alias"}),
    "Literal": frozenset({"this", "is_string"}),
    "Boolean": frozenset({"this"}),
    "Null": frozenset(),
    "Neg": frozenset({"this"}),
    "Paren": frozenset({"this"}),
    "And": frozenset({"this", "expression"}),
    "Or": frozenset({"this", "expression"}),
    "Not": frozenset({"this"}),
    "EQ": frozenset({"this", "expression"}),
    "NEQ": frozenset({"this", "expression"}),
    "GT": frozenset({"this", "expression"}),
    "GTE": frozenset({"this", "expression"}),
    "LT": frozenset({"this", "expression"}),
    "LTE": frozenset({"this", "expression"}),
    "In": frozenset({"this", "expressions"}),
    "Between": frozenset({"this", "low", "high"}),
    "Is": frozenset({"this", "expression", "negate"}),
}
"""Parts of a query of that form, and what each of them may hold."""

_EQUAL: Final = frozenset({"EQ", "NEQ", "In"})
_ORDERED: Final = frozenset({"GT", "GTE", "LT", "LTE", "Between"})

_WORDS: Final = {
    "joins": "JOIN",
    "group": "GROUP BY",
    "Group": "GROUP BY",
    "order": "ORDER BY",
    "with_": "WITH",
    "windows": "WINDOW",
    "laterals": "LATERAL",
    "sample": "TABLESAMPLE",
    "Rand": "RANDOM",
    "ReadCSV": "a file",
    "catalog": "another database",
}
_TOLD_ABOVE: Final = frozenset(
    {"Order", "Ordered", "CTE", "DataType", "Var", "If", "Join", "With", "Limit", "Offset"}
    | {"Having", "Distinct", "Lateral", "TableSample", "Tuple", "ColumnDef"}
)
"""Parts of parts that are named."""

Kind = Literal["whole numbers", "numbers", "texts", "days", "truth values", "any", "nothing"]
"""What values of a column may be compared with: "any" has no types, "nothing" no constants."""

_WHOLE: Final = re.compile(r"\d{1,18}", re.ASCII)
_NUMBER: Final = re.compile(r"\d*\.?\d+([eE][+-]?\d{1,3})?", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?)?", re.ASCII)


@dataclass(frozen=True)
class Constant:
    """A constant of a query.

    Attributes:
        kind: what it is, by how it is written.
        sql: the same again, in words of every database.
    """

    kind: Kind
    sql: str


@dataclass(frozen=True)
class Comparison:
    """Columns that are compared with constants, or with each other.

    Attributes:
        columns: at least one.
        constants: perhaps none.
        ordered: whether their order matters, and not only whether they are equal.
    """

    columns: tuple[str, ...]
    constants: tuple[Constant, ...] = ()
    ordered: bool = False


@dataclass(frozen=True)
class Selection:
    """A query of the form that gives each row by itself, names folded as the database does.

    Attributes:
        schema: of the table; "" where it is not named.
        table: its name.
        columns: that are given, or None for all.
        comparisons: of its condition.
    """

    schema: str
    table: str
    columns: tuple[str, ...] | None
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class Declared:
    """A column, by the catalogue of its database.

    Attributes:
        type: its name.
        kind: what its values may be compared with.
        doubt: what may fail at a row, or rest on others, where it is read; "" for nothing.
    """

    type: str
    kind: Kind
    doubt: str = ""


def taken_apart(query: Query) -> tuple[Selection | None, frozenset[str]]:
    """A query as one that gives each row by itself, or what it has that does not.

    Args:
        query: asked.

    Returns:
        The query, or None; and the names of the parts for which it is none.

    Raises:
        DataError: it is no SELECT, or not one alone.
        MethodError: the library that takes it apart is not installed.
    """
    parsed = _parsed(query)
    others = {_WORDS.get(part, part) for part in _other_parts(parsed)}
    if "/*" in query.sql:  # which may stand within another, or not
        others.add("a comment")
    if others:
        return None, frozenset(others)
    try:
        return _Form(query, parsed).selection(), frozenset()
    except _OtherError as other:
        return None, frozenset({str(other)})


def doubts_of(selection: Selection, declared: Mapping[str, Declared]) -> set[str]:
    """What a query of that form has that may fail at a row, by the types of its columns.

    Args:
        selection: the query.
        declared: columns of its table, by name.
    """
    given = tuple(declared) if selection.columns is None else selection.columns
    named = {*given, *(name for one in selection.comparisons for name in one.columns)}
    if not named <= set(declared):
        return {"a column that its table does not declare"}
    doubts = {declared[name].doubt for name in named}
    for one in selection.comparisons:
        doubts.add(_doubt_of(one, [declared[name] for name in one.columns]))
    return doubts - {""}


def stated(parts: set[str] | frozenset[str]) -> Premises:
    """What is said of the parts of a query for which nobody can tell what it does with a row."""
    return Premises.of_parts(
        set(),
        set(parts),
        condition="The guarantee is about rows of the query as it was handed in. It ({}) may make "
        "several of them from one row of a table behind it.",
        unproved="The query had the same rows in each pass over it, each of them whatever the "
        "others were, and no row could make it fail; it does not say so by itself ({}).",
    )


def _doubt_of(comparison: Comparison, columns: list[Declared]) -> str:
    """Why a comparison is not one of values of one type; "" if it is."""
    kinds = {column.kind for column in columns}
    constants = {constant.kind for constant in comparison.constants}
    if len({column.type for column in columns}) > 1 and kinds != {"any"}:
        return "a comparison of columns of two types"
    kind = columns[0].kind
    if kind == "texts" and comparison.ordered:
        return "a comparison of texts by their order"
    if kind == "days" and constants == {"texts"} and all(map(_is_day, comparison.constants)):
        return ""
    fitting = {kind, "whole numbers"} if kind == "numbers" else {kind}
    if kind == "any" or constants <= fitting:
        return ""
    return "a comparison of values of two types"


def _is_day(constant: Constant) -> bool:
    """Whether a text is a day, or a moment, in every database, and always the same."""
    text = constant.sql[1:-1]
    try:
        return bool(_DAY.fullmatch(text) and datetime.datetime.fromisoformat(text))
    except ValueError:
        return False


class _OtherError(Exception):
    """A part that a query of that form does not have, by name."""


class _Form:
    """Reads the form off a query that has no parts but those of `PLAIN`."""

    def __init__(self, query: Query, parsed: exp.Query) -> None:
        self._dialect, self._parsed = query.dialect, parsed
        from sqlglot import exp

        self._exp = exp

    def selection(self) -> Selection:
        """The query.

        Raises:
            _OtherError: names what it has.
        """
        parsed = self._only(self._parsed, self._exp.Select, "a computed table")
        source = parsed.args.get("from_")
        if source is None:
            raise _OtherError("no table")
        table = self._only(source.this, self._exp.Table, "a computed table")
        identifier = self._only(table.this, self._exp.Identifier, "a function in place of a table")
        name, schema = self._folded(identifier), self._folded(table.args.get("db"))
        alias = table.args.get("alias")
        called = self._folded(alias.this) if alias is not None and alias.this else name
        given: list[str] = []
        whole = False
        for one in parsed.expressions:
            bare = one.this if isinstance(one, self._exp.Alias) else one
            if isinstance(bare, self._exp.Star) or isinstance(bare.this, self._exp.Star):
                whole = True
            else:
                column = self._only(bare, self._exp.Column, "a computed column")
                given.append(self._column(column, called))
        where = parsed.args.get("where")
        comparisons = () if where is None else tuple(self._conditions(where.this, called))
        return Selection(schema, name, None if whole else tuple(given), comparisons)

    def _conditions(self, condition: exp.Expression, called: str) -> Iterator[Comparison]:
        rest = [condition]
        while rest:  # a long one is as deep as it is long
            one = rest.pop()
            name = type(one).__name__
            if name in ("And", "Or"):
                rest += [one.this, one.expression]
            elif name in ("Not", "Paren"):
                rest.append(one.this)
            elif isinstance(one, self._exp.Column):
                truth = Constant("truth values", "TRUE")
                yield Comparison((self._column(one, called),), (truth,))
            elif name == "Is":
                self._only(one.expression, self._exp.Null, "IS with other words than NULL")
                column = self._only(one.this, self._exp.Column, "a computed condition")
                yield Comparison((self._column(column, called),))
            elif name in _EQUAL | _ORDERED:
                yield self._comparison(one, called)
            else:
                raise _OtherError("a computed condition")

    def _comparison(self, one: exp.Expression, called: str) -> Comparison:
        sides = [one.this, *one.expressions]
        sides += [one.args[key] for key in ("expression", "low", "high") if one.args.get(key)]
        columns, constants = [], []
        for bare in map(self._bare, sides):
            if isinstance(bare, self._exp.Column):
                columns.append(self._column(bare, called))
            else:
                constants.append(self._constant(bare))
        if not columns:
            raise _OtherError("a condition without a column")
        return Comparison(tuple(columns), tuple(constants), type(one).__name__ in _ORDERED)

    def _constant(self, one: exp.Expression) -> Constant:
        negative = isinstance(one, self._exp.Neg)
        bare = self._bare(one.this) if negative else one
        if isinstance(bare, self._exp.Boolean) and not negative:
            return Constant("truth values", "TRUE" if bare.this else "FALSE")
        literal = self._only(bare, self._exp.Literal, "a computed condition")
        text = str(literal.this)
        if literal.is_string:
            if negative or "\\" in text or "\0" in text:
                raise _OtherError("a text with a backslash")
            return Constant("texts", "'" + text.replace("'", "''") + "'")
        if not _NUMBER.fullmatch(text):
            raise _OtherError("a number that is written in a way of its own")
        kind: Kind = "whole numbers" if _WHOLE.fullmatch(text) else "numbers"
        return Constant(kind, "-" * negative + text)

    def _bare(self, one: exp.Expression) -> exp.Expression:
        while isinstance(one, self._exp.Paren):
            one = one.this
        return one

    def _column(self, column: exp.Column, called: str) -> str:
        identifier = self._only(column.this, self._exp.Identifier, "a computed column")
        place = column.args.get("table")
        if place is not None and self._folded(place) != called:
            raise _OtherError("a part of a column")
        return self._folded(identifier)

    def _only(self, one: object, kind: type[Part], word: str) -> Part:
        if not isinstance(one, kind):
            raise _OtherError(word)
        return one

    def _folded(self, part: object) -> str:
        """A name as the catalogue has it; SQLite and DuckDB know no difference of case."""
        if not isinstance(part, self._exp.Identifier):
            return ""
        kept = self._dialect == "postgres" and part.args.get("quoted")
        return str(part.this) if kept else str(part.this).lower()


def _parsed(query: Query) -> exp.Query:
    require_extra("database", "A query of a database")
    import sqlglot
    from sqlglot import exp

    try:
        statements = [one for one in sqlglot.parse(query.sql, read=query.dialect) if one]
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise DataError(
            f"{query.place} cannot be understood as SQL; correct it, or write its result to a "
            "table, and name that."
        ) from None
    one = statements[0] if len(statements) == 1 else None
    changes = one is not None and (one.args.get("into") or one.args.get("locks"))
    if not isinstance(one, exp.Query) or changes:
        raise DataError(
            f"{query.place} must be one SELECT, which changes nothing; write one of the columns "
            "that the schema declares."
        )
    return one


def _other_parts(query: exp.Query) -> Iterator[str]:
    """Names of all that a query of the form does not have."""
    from sqlglot import exp

    for node in query.walk():
        name = type(node).__name__
        held = PLAIN.get(name)
        if held is not None:
            more = (key for key, value in node.args.items() if value and key not in held)
            yield from (_WORDS.get(key, key.upper().strip("_")) for key in more)
        elif isinstance(node, exp.Anonymous):
            yield f"the function {node.name}"
        elif isinstance(node, exp.AggFunc):
            yield "an aggregate"
        elif name not in _TOLD_ABOVE:
            yield _WORDS.get(name, name.upper())
