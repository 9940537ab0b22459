"""Databases, each read so that every pass sees the same rows and no row changes another.

- SQLite: a value has a type of its own, whatever its column says. So all are read as text, each by
  itself, inside one transaction. Values of all types compare with each other, and no comparison
  fails (its manual, "Datatypes in SQLite"). What computes a row is told by the schema's table: a
  stored table has a root page, a view or virtual table has none, a generated column says so.
- DuckDB: the file is opened for reading alone, which keeps writers away. Its bound plan, as it is
  before it is made faster (for that it would look at the rows), names each conversion, function and
  collation that the query's text does not show.
- PostgreSQL: one read-only transaction that sees the rows of its beginning. Its catalogue says of
  which type each column is, how texts compare, and whether a table is a view, another server's, has
  rules or policies, or columns that are computed. Between the types that are admitted here, its own
  operators convert constants alone, and do so before a row is read.

No message of a database is passed on: it may quote values, or a password.

**A query of a database, as people hand it in.**

**Whether a query gives each row of one table at most once, by itself, and fails at none.**

An error is an output. So a query whose conversion, function or overflow one row may fail decides by
that row whether a release exists; and one that joins, groups or cuts off makes rows of several. It
cannot be listed what does so. What is listed is the one form that does not:

    SELECT plain columns FROM one stored table WHERE columns are compared with constants

with AND, OR, NOT, IN, BETWEEN and IS NULL. Each comparison is of values of one type: numbers with
numbers, days with days, texts with texts (as equal or not, since an order of texts is a rule of its
own). The query's text says whether it has this form (`taken_apart`); the database's own catalogue
and, in DuckDB, its bound plan say of which types the columns are and what they are computed from.

Everything else makes the guarantee conditional, by name of what makes it so; a part that is not
known is such a part. A join is one whatever it joins by, since nobody declares which tables are
public. Nothing of this depends on the rows.

**The rows of a query, as a table that is read anew in each pass.**

**Rows that a database holds: what a query may be, and how each database is read.**
"""

from __future__ import annotations

import datetime
import json
import re
import sqlite3
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from urllib.parse import unquote, urlsplit

import polars as pl
import pyarrow as pa

from understudy._validation import require_extra
from understudy.data.frames import arrow_column, plain_columns, stream_batches, texts
from understudy.data.premises import Premises
from understudy.data.rows import Rows
from understudy.errors import DataError, suggestion

if TYPE_CHECKING:
    from sqlglot import exp


Dialect = Literal["sqlite", "duckdb", "postgres"]

SCHEMES: Final[dict[str, Dialect]] = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgres",
    "postgres": "postgres",
}
"""Scheme of an address → the database that it is of."""


@dataclass(frozen=True)
class Query:
    """Rows of a database: an address, and one SELECT.

    A SELECT of columns of one table, with conditions on single rows, gives each protected unit its
    own row. Of any other, the guarantee is about the rows that it results in, and is conditional.

    Args:
        uri: address: "sqlite:///people.db", "duckdb:////data/people.duckdb",
            "postgresql://user@host/database". A path behind three slashes is relative.
        sql: the SELECT, in the database's own words.

    Raises:
        DataError: an address of another kind, or no text.
    """

    uri: str = field(repr=False)
    sql: str

    def __post_init__(self) -> None:
        for name, value in (("uri", self.uri), ("sql", self.sql)):
            if not isinstance(value, str) or not value.strip():
                raise DataError(f"The {name} of a query must be a text that is not empty.")
        scheme = self.uri.partition("://")[0]
        if "://" not in self.uri or scheme not in SCHEMES:
            raise DataError(
                "The address of a query must begin with sqlite://, duckdb:// or postgresql://"
                f"{suggestion(scheme, SCHEMES)}, as in sqlite:///people.db."
            )

    @classmethod
    def table(cls, uri: str, name: str) -> Query:
        """All columns and rows of a table.

        Args:
            uri: address, as for the class.
            name: of the table; a dot stands between a schema's name and it.
        """
        quoted = ".".join(f'"{part.replace(chr(34), chr(34) * 2)}"' for part in name.split("."))
        return cls(uri, f"SELECT * FROM {quoted}")  # noqa: S608 (the name is quoted)

    @property
    def dialect(self) -> Dialect:
        """Name of the database it asks."""
        return SCHEMES[self.uri.partition("://")[0]]

    @property
    def path(self) -> str:
        """The file of a database that is one; nothing else is in it."""
        return unquote(self.uri.partition("://")[2].removeprefix("/").partition("?")[0])

    @property
    def place(self) -> str:
        """Place of the rows, in words; no name of a user, and no password."""
        if self.dialect != "postgres":
            return f"The query of the database {self.path!r}"
        try:
            name = unquote(urlsplit(self.uri).path.strip("/"))
        except ValueError:
            name = ""
        return f"The query of the database {name!r} on a server"


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
    parsed = _parse_query(query)
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
    """List the parts of such a query that may fail at a row, by the types of its columns.

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


def state_premises(parts: set[str] | frozenset[str]) -> Premises:
    """Describe the parts of a query for which nobody can tell what they do with a row."""
    return Premises.of_parts(
        set(),
        set(parts),
        condition="The guarantee is about rows of the query as it was handed in. It ({}) may make "
        "several of them from one row of a table behind it.",
        unproved="The query had the same rows in each pass over it, each of them whatever the "
        "others were, and no row could make it fail; it does not say so by itself ({}).",
    )


def _doubt_of(comparison: Comparison, columns: list[Declared]) -> str:
    """Explain why a comparison is not one of values of one type; "" if it is."""
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
    """Return whether a text is a day, or a moment, in every database, and always the same."""
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
        name, schema = self._fold_case(identifier), self._fold_case(table.args.get("db"))
        alias = table.args.get("alias")
        called = self._fold_case(alias.this) if alias is not None and alias.this else name
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
        return Constant(kind, ("-" if negative else "") + text)

    def _bare(self, one: exp.Expression) -> exp.Expression:
        while isinstance(one, self._exp.Paren):
            one = one.this
        return one

    def _column(self, column: exp.Column, called: str) -> str:
        identifier = self._only(column.this, self._exp.Identifier, "a computed column")
        place = column.args.get("table")
        if place is not None and self._fold_case(place) != called:
            raise _OtherError("a part of a column")
        return self._fold_case(identifier)

    def _only(self, one: object, kind: type[Part], word: str) -> Part:
        if not isinstance(one, kind):
            raise _OtherError(word)
        return one

    def _fold_case(self, part: object) -> str:
        """A name as the catalogue has it; SQLite and DuckDB know no difference of case."""
        if not isinstance(part, self._exp.Identifier):
            return ""
        kept = self._dialect == "postgres" and part.args.get("quoted")
        return str(part.this) if kept else str(part.this).lower()


def _parse_query(query: Query) -> exp.Query:
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


ROWS_AT_ONCE: Final = 50_000

NO_TABLE: Final = "a view, or what else is no stored table"

_GENERATED: Final = "a column that is computed from others"


class Connection(ABC):
    """An open database, and one query of it.

    Args:
        query: asked.

    Raises:
        DataError: the database cannot be opened, or the query cannot be asked.
        MethodError: the library for it is not installed.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        try:
            self._link = self._open_connection()
            # When nobody reads any more, and not some time later: a reader keeps writers waiting.
            weakref.finalize(self, self._link.close)
            self._begin()
            self.types, self.unreadable = self._fetch_heading()
        except DataError:
            raise
        except Exception:  # of whatever class the database's library has
            raise self._failed_query_error() from None

    types: dict[str, pl.DataType]
    """Columns that can be read, and the type of each, by what the database declares."""

    unreadable: dict[str, str]
    """Columns that cannot be, each with its type."""

    names: tuple[str, ...]
    """All columns."""

    @abstractmethod
    def _open_connection(self) -> Any:
        """A connection."""

    @abstractmethod
    def _begin(self) -> None:
        """Fix which rows all passes see, once the connection is sure to be closed."""

    @abstractmethod
    def _fetch_heading(self) -> tuple[dict[str, pl.DataType], dict[str, str]]:
        """Columns and types of the query, no rows."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Rows of some columns, from the first one on. CONFIDENTIAL."""

    def doubts(self, selection: Selection) -> set[str]:
        """List what may fail at a row of the query, or rest on several; no rows are read.

        Args:
            selection: the query, of the form that gives each row by itself.

        Raises:
            DataError: the database cannot be asked.
        """
        try:
            return self._doubts(selection)
        except Exception:  # of whatever class the database's library has
            raise self._failed_query_error() from None

    @abstractmethod
    def _doubts(self, selection: Selection) -> set[str]:
        """The same."""

    def _failed_query_error(self) -> DataError:
        return DataError(
            f"{self._query.place} cannot be asked: check the address, the names of table and "
            "columns, and the right to read them (nothing was spent)."
        )

    def _check_names(self, names: Sequence[str]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise DataError(f"{self._query.place} has two columns of one name; rename one of them.")
        return tuple(names)


class _SQLite(Connection):
    def _open_connection(self) -> sqlite3.Connection:
        path = Path(self._query.path)
        if not path.is_file():
            raise DataError(f"The database {str(path)!r} does not exist; check the path.")
        address = f"{path.resolve().as_uri()}?mode=ro"
        link = sqlite3.connect(address, uri=True, check_same_thread=False)
        link.isolation_level = None
        link.text_factory = bytes  # a text that is none costs its own cell
        return link

    def _begin(self) -> None:
        self._link.execute("BEGIN")
        self._link.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def _fetch_heading(self) -> tuple[dict[str, pl.DataType], dict[str, str]]:
        cursor = self._link.execute(self._query.sql)  # computes no row before one is fetched
        self.names = self._check_names([entry[0] for entry in cursor.description])
        cursor.close()
        return dict.fromkeys(self.names, pl.String()), {}

    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        cursor = self._link.execute(self._query.sql)
        places = {name: self.names.index(name) for name in names}
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            cells = {name: texts(row[at] for row in rows) for name, at in places.items()}
            yield pl.DataFrame(cells, height=len(rows))

    def _doubts(self, selection: Selection) -> set[str]:
        stored = self._link.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND lower(name) = ?",
            (selection.table,),
        ).fetchone()
        if stored is None or selection.schema not in ("", "main"):
            return {NO_TABLE}
        columns = self._link.execute(
            "SELECT name, hidden FROM pragma_table_xinfo(?, 'main')", (selection.table,)
        )
        declared = {
            name.decode().lower(): Declared("", "any", _GENERATED if hidden else "")
            for name, hidden in columns
        }
        return doubts_of(selection, declared)


class _Arrow(Connection):
    """A database that gives Arrow batches, with types that its columns declare."""

    @abstractmethod
    def _schema(self) -> pa.Schema:
        """Of the query."""

    @abstractmethod
    def _rows(self) -> Iterator[pa.RecordBatch]:
        """Of the query."""

    def _fetch_heading(self) -> tuple[dict[str, pl.DataType], dict[str, str]]:
        schema = self._schema()
        self.names = self._check_names(schema.names)
        types, unreadable = {}, {}
        for one in schema:
            empty = _series(pa.array([], _storage(one.type)))
            if empty is None:
                unreadable[one.name] = str(one.type)
            else:
                types[one.name] = empty.dtype
        return types, unreadable

    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in self._rows():
            cells = {name: _series(_get_storage(batch[name])) for name in names}
            yield pl.DataFrame(cells, height=len(batch))


class _DuckDB(_Arrow):
    def _open_connection(self) -> Any:
        require_extra("database", "A query of DuckDB")
        import duckdb

        if not Path(self._query.path).is_file():
            raise DataError(f"The database {self._query.path!r} does not exist; check the path.")
        # Other files are no tables of it.
        settings: dict[str, Any] = {
            "enable_external_access": False,
            "python_enable_replacements": False,  # nor are variables of a program
            "arrow_large_buffer_size": True,  # one long text must not be too long for its batch
        }
        return duckdb.connect(self._query.path, read_only=True, config=settings)

    def _begin(self) -> None:
        """Writers are kept away."""

    def _schema(self) -> pa.Schema:
        schema: pa.Schema = self._link.sql(self._query.sql).limit(0).to_arrow_table().schema
        return schema

    def _rows(self) -> Iterator[pa.RecordBatch]:
        yield from self._link.cursor().sql(self._query.sql).to_arrow_reader(ROWS_AT_ONCE)

    def _doubts(self, selection: Selection) -> set[str]:
        place = [selection.schema or "main", selection.table]
        where = (
            "WHERE database_name = current_database() AND lower(schema_name) = ? "
            "AND lower(table_name) = ?"
        )
        stored = self._link.execute(f"SELECT 1 FROM duckdb_tables() {where}", place).fetchone()  # noqa: S608
        if stored is None:
            return {NO_TABLE}
        columns = self._link.execute(
            f"SELECT lower(column_name), data_type FROM duckdb_columns() {where}",  # noqa: S608
            place,
        ).fetchall()
        types = dict(columns)
        declared = {name: _of_duckdb(dtype) for name, dtype in columns}
        doubts = doubts_of(selection, declared)
        if doubts:
            return doubts
        told = self._link.execute(
            "SELECT json_serialize_plan(?::VARCHAR, optimize := false)", [self._query.sql]
        ).fetchone()[0]
        for one in selection.comparisons:
            for constant in one.constants:
                # It is converted when the first row comes, or never if none does.
                fits = f"SELECT TRY_CAST({constant.sql} AS {types[one.columns[0]]}) IS NOT NULL"
                if not self._link.execute(fits).fetchone()[0]:
                    doubts.add("a constant that its column's type does not have")
        return doubts | doubts_of_plan(json.loads(told))


class _Postgres(_Arrow):
    def _open_connection(self) -> Any:
        require_extra("database", "A query of PostgreSQL")
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(self._query.uri)

    def _begin(self) -> None:
        with self._link.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _schema(self) -> pa.Schema:
        with self._link.cursor() as cursor:
            schema: pa.Schema = cursor.adbc_execute_schema(self._query.sql)
        return schema

    def _rows(self) -> Iterator[pa.RecordBatch]:
        with self._link.cursor() as cursor:
            cursor.execute(self._query.sql)
            yield from cursor.fetch_record_batch()

    def _doubts(self, selection: Selection) -> set[str]:
        parts = (selection.schema, selection.table)
        place = ".".join('"' + part.replace('"', '""') + '"' for part in parts if part)
        tables = self._fetch_rows(_PG_TABLES, place)
        if not tables or not all(kind in ("r", "p") for kind, *_ in tables):
            return {NO_TABLE}
        doubts = set[str]()
        for _, policies, rules, method in tables:
            if policies:
                doubts.add("policies on its rows")
            if rules:
                doubts.add("rules of its table")
            if method not in ("", "heap"):
                doubts.add(f"rows that are stored by {method}")
        ((encoding, operators),) = self._fetch_rows(_PG_RULES)
        if encoding not in ("UTF8", "LATIN1"):  # of others, not every text becomes UTF-8
            doubts.add(f"texts in the encoding {encoding}")
        if operators and selection.comparisons:
            doubts.add("an operator that somebody defined")
        columns = self._fetch_rows(_PG_COLUMNS, place)
        declared = {name: _of_postgres(*facts) for name, *facts in columns}
        return doubts | doubts_of(selection, declared)

    def _fetch_rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        with self._link.cursor() as cursor:
            cursor.execute(sql, values or None)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


_PG_TABLES: Final = """
WITH RECURSIVE tree AS (
    SELECT to_regclass($1)::oid AS oid
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid)
SELECT c.relkind::text, c.relrowsecurity,
    EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '1'),
    coalesce((SELECT m.amname::text FROM pg_catalog.pg_am m WHERE m.oid = c.relam), '')
FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid
"""
"""Of a table and all that inherit from it: kind, policies, rules, how rows are stored."""

_PG_COLUMNS: Final = """
SELECT a.attname::text, t.typname::text,
    t.typnamespace = 'pg_catalog'::regnamespace, t.typtype::text,
    coalesce(to_jsonb(a) ->> 'attgenerated', '') <> '',
    coalesce(to_jsonb(l) ->> 'collisdeterministic', 'true') = 'true'
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = to_regclass($1)::oid AND a.attnum > 0 AND NOT a.attisdropped
"""
"""Of a table: names of columns, their types, whether these are its own, whether they are computed,
and whether different texts are never equal. Servers of before 12 know of none of the last two."""

_PG_RULES: Final = """
SELECT current_setting('server_encoding'), EXISTS (
    SELECT 1 FROM pg_catalog.pg_operator o
    WHERE o.oprname IN ('=', '<>', '<', '<=', '>', '>=')
    AND o.oprnamespace <> 'pg_catalog'::regnamespace AND pg_operator_is_visible(o.oid)
    AND (o.oprleft::int8 < 16384 OR o.oprright::int8 < 16384))
"""
"""The encoding of texts, and whether somebody compares values of its own types in another way."""

_PG_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("int2", "int4", "int8"), "whole numbers"),
    **dict.fromkeys(("float4", "float8", "numeric"), "numbers"),
    **dict.fromkeys(("text", "varchar", "bpchar"), "texts"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "days"),
    "bool": "truth values",
    **dict.fromkeys(("name", "char", "time", "uuid", "bytea", "json", "jsonb"), "nothing"),
}
_DUCKDB_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "whole numbers"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "whole numbers"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "numbers"),
    "VARCHAR": "texts",
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"), "days"),
    "TIMESTAMP WITH TIME ZONE": "days",
    "BOOLEAN": "truth values",
    **dict.fromkeys(("TIMESTAMP_NS", "TIME", "UUID", "BLOB", "ENUM", "JSON"), "nothing"),
}
"""Types of which every value is read, and what they may be compared with."""

_PLAN: Final = ("LOGICAL_PROJECTION", "LOGICAL_FILTER", "LOGICAL_GET")
_GIVEN: Final = frozenset({"BOUND_REF", "BOUND_COLUMN_REF"})
_TOLD: Final = frozenset(
    {*_GIVEN, "VALUE_CONSTANT", "CONJUNCTION_AND", "CONJUNCTION_OR", "OPERATOR_NOT"}
    | {"OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "COMPARE_IN", "COMPARE_NOT_IN"}
    | {"COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN"}
    | {"COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO", "COMPARE_BETWEEN"}
)


def _of_duckdb(dtype: str) -> Declared:
    bare = dtype.partition("(")[0]
    kind = _DUCKDB_KINDS.get("" if dtype.endswith("]") else bare)
    return Declared(dtype, kind or "nothing", "" if kind else f"the type {bare}")


def _of_postgres(dtype: str, own: bool, how: str, generated: bool, deterministic: bool) -> Declared:
    kind: Kind | None = _PG_KINDS.get(dtype) if own and how == "b" else None
    kind = "texts" if how == "e" else kind
    if generated:
        return Declared(dtype, "nothing", _GENERATED)
    if kind == "texts" and not deterministic:
        kind = "nothing"
    return Declared(dtype, kind or "nothing", "" if kind else f"the type {dtype}")


def doubts_of_plan(told: Mapping[str, Any]) -> set[str]:
    """List what a bound plan of DuckDB has beside plain columns and comparisons of one type.

    Args:
        told: by `json_serialize_plan`, of versions 1.5 and 2.0.
    """
    plans = told.get("plans", [])
    if told.get("error") is not False or len(plans) != 1:
        return {"a plan that cannot be read"}
    doubts, kinds = set[str](), []
    node = plans[0]
    while True:
        kinds.append(node.get("type"))
        given = node.get("type") == "LOGICAL_PROJECTION"
        for expression in node.get("expressions", []):
            doubts |= set(_doubts_of_expression(expression, given=given))
        if any(node.get("table_filters", {}).values()):  # found for speed, and never bound
            doubts.add("a plan that cannot be read")
        children = node.get("children", [])
        if len(children) != 1:
            break
        node = children[0]
    path = node.get("qname", {}).get("path", [node.get("name")])
    plain = [kind for kind in _PLAN if kind in kinds]
    if kinds != plain or children or node.get("type") != _PLAN[-1] or path != ["seq_scan"]:
        doubts.add("a plan of several steps")
    return doubts


def _doubts_of_expression(part: Any, *, given: bool) -> Iterator[str]:
    """List the parts of an expression that may fail at a row.

    Args:
        part: of the plan.
        given: whether it is a column of the result, which is nothing but a column.
    """
    if isinstance(part, list):
        for one in part:
            yield from _doubts_of_expression(one, given=given)
    elif isinstance(part, Mapping):
        kind = part.get("type")
        if kind == "OPERATOR_CAST":
            held = part.get("child") or part.get("children", [None])
            inner = held if isinstance(held, list) else [held]
            if given or [isinstance(one, Mapping) and one.get("type") for one in inner] != [
                "VALUE_CONSTANT"
            ]:
                yield "a conversion of types"
            return
        if "expression_class" in part and kind not in (_GIVEN if given else _TOLD):
            names = part.get("qname", {}).get("path", [part.get("name")])
            yield f"the function {names[-1]}" if names[-1] else "a computed column"
        for one in part.values():
            yield from _doubts_of_expression(one, given=given)


_KINDS: Final[dict[str, type[Connection]]] = {
    "sqlite": _SQLite,
    "duckdb": _DuckDB,
    "postgres": _Postgres,
}


def connect(query: Query) -> Connection:
    """The database of a query, opened.

    Raises:
        DataError: it cannot be opened, or the query cannot be asked.
        MethodError: the library for it is not installed.
    """
    return _KINDS[query.dialect](query)


def _storage(dtype: pa.DataType) -> pa.DataType:
    """The type behind one that Arrow does not know: decimal numbers of PostgreSQL are texts."""
    return dtype.storage_type if isinstance(dtype, pa.BaseExtensionType) else dtype


def _get_storage(values: pa.Array) -> pa.Array:
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def _series(values: pa.Array) -> pl.Series | None:
    return arrow_column(pa.chunked_array([values]))


def open_query(query: Query) -> Rows:
    """Open a database, and look at what its query gives; rows are read later.

    Raises:
        DataError: the query is no SELECT, or cannot be asked.
        MethodError: a library is not installed.
    """
    selection, parts = taken_apart(query)
    connection = connect(query)
    if selection is not None:
        parts = parts.union(connection.doubts(selection))
    lazy = plain_columns(stream_batches(_guard_batches(query, connection), connection.types))
    return Rows(
        lazy,
        connection.names,
        "arrow",
        query.place,
        connection.unreadable,
        premises=state_premises(parts),
    )


def _guard_batches(
    query: Query, connection: Connection
) -> Callable[[Sequence[str]], Iterator[pl.DataFrame]]:
    """The rows, without what a database says of one that it fails at: it quotes values."""

    def batches(names: Sequence[str]) -> Iterator[pl.DataFrame]:
        try:
            yield from connection.batches(names)
        except Exception:  # of whatever class the database's library has
            raise DataError(
                f"{query.place} cannot be read to the end: the connection broke off, or the "
                "database cannot compute the query for a row; ask for columns as they are stored."
            ) from None

    return batches
