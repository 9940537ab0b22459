"""Whether a query gives each row of a table by itself, as far as its text tells.

Rows that rest on several rows of a table, or several rows that rest on one, are other units than
the table has. Rows that another reading of the same query would not give are no table at all. A
query that may be so is read, and the guarantee is conditional, by name of what makes it so. Nothing
of this depends on the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from understudy.engine.confidential import Premises
from understudy.engine.reading.databases.query import Query
from understudy.errors import DataError
from understudy.extras import require_extra

if TYPE_CHECKING:
    from sqlglot import exp

ROW_WISE: Final = frozenset(
    {"Select", "From", "Where", "Table", "TableAlias", "Identifier", "Column", "Star", "Alias"}
    | {"Literal", "Boolean", "Null", "Neg", "Paren", "And", "Or", "Not", "EQ", "NEQ", "GT", "GTE"}
    | {"LT", "LTE", "In", "Like", "ILike", "Between", "Is", "Tuple", "Order", "Ordered", "Case"}
    | {"If", "Coalesce", "Lower", "Upper", "Trim", "Length"}
)
"""Parts of a query of which each row rests on one row, is the same in each pass, and no error."""

CLAUSES: Final = frozenset({"expressions", "from_", "where", "order", "kind", "hint"})
RELATED: Final = frozenset(
    {"JOIN", "GROUP BY", "HAVING", "DISTINCT", "WITH", "SUBQUERY", "UNION", "INTERSECT", "EXCEPT"}
    | {"LATERAL", "EXISTS", "an aggregate"}
)
"""Of these, several rows may rest on one, or one on several; alike in each pass."""

_WORDS: Final = {
    "joins": "JOIN",
    "group": "GROUP BY",
    "Group": "GROUP BY",
    "with_": "WITH",
    "windows": "WINDOW",
    "laterals": "LATERAL",
    "sample": "TABLESAMPLE",
    "Rand": "RANDOM",
    "ReadCSV": "a file",
}
_TOLD_ABOVE: Final = frozenset({"CTE", "Anonymous", "DataType", "Var"})


def premises_of_query(query: Query) -> Premises:
    """What is taken for granted of the rows of a query.

    Args:
        query: asked.

    Raises:
        DataError: it is no SELECT, or not one alone.
        MethodError: the library that takes it apart is not installed.
    """
    parts = {_WORDS.get(part, part) for part in _parts(_parsed(query))}
    return stated(parts & RELATED, parts - RELATED)


def tables_of_query(query: Query) -> list[tuple[str, str]]:
    """Schema ("" for none) and name of each table that a query names, folded as it folds them."""
    from sqlglot import exp

    tables = []
    for table in _parsed(query).find_all(exp.Table):
        parts = [table.args.get("db"), table.this]
        tables.append(tuple(_folded(part, query) for part in parts))
    return [(schema, name) for schema, name in tables]


def _folded(part: object, query: Query) -> str:
    from sqlglot import exp

    if not isinstance(part, exp.Identifier):
        return ""
    folds = query.dialect == "postgres" and not part.args.get("quoted")
    return str(part.this).lower() if folds else str(part.this)


def stated(related: set[str], unknown: set[str]) -> Premises:
    """What is said of parts of a query.

    Args:
        related: those of which several rows may rest on one.
        unknown: those that nobody can promise to give the same rows again, each by itself.
    """
    return Premises.of_parts(
        related,
        unknown,
        condition="The guarantee is about rows of the query as it was handed in. It ({}) may make "
        "several of them from one row of a table behind it.",
        unproved="The query had the same rows in each pass over it, and each of them whatever the "
        "others were; its text does not say so ({}).",
    )


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


def _parts(query: exp.Query) -> Iterator[str]:
    """Names of all parts of a query that do not keep to single rows."""
    from sqlglot import exp

    for node in query.walk():
        name = type(node).__name__
        if isinstance(node, exp.Select):
            more = (key for key, value in node.args.items() if value and key not in CLAUSES)
            yield from (_WORDS.get(key, key.upper()) for key in more)
            if not node.args.get("from_"):
                yield "no table"
        elif isinstance(node, exp.Table):
            yield from _of_table(node)
        elif isinstance(node, exp.Like | exp.ILike) and not _is_plain_pattern(node):
            yield "LIKE with such a pattern"
        elif isinstance(node, exp.Anonymous):
            yield f"the function {node.name}"
        elif isinstance(node, exp.Star) and any(node.args.values()):
            yield "* with exceptions"
        if name not in ROW_WISE | _TOLD_ABOVE:
            aggregate = isinstance(node, exp.AggFunc)
            yield "an aggregate" if aggregate else _WORDS.get(name, name.upper())


def _of_table(table: exp.Table) -> Iterator[str]:
    """What is more about a table than its name."""
    named = {"this", "db", "catalog", "alias"}
    more = (key for key, value in table.args.items() if value and key not in named)
    yield from (_WORDS.get(key, key.upper()) for key in more)


def _is_plain_pattern(node: exp.Like | exp.ILike) -> bool:
    """Whether no row can make an error of a pattern, as one that ends in its escape can."""
    from sqlglot import exp

    pattern = node.expression
    return isinstance(pattern, exp.Literal) and not str(pattern.this).endswith("\\")
