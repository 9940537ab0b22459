"""Drafting a schema from rows, and checking rows against it: for the steward."""

from __future__ import annotations

from pathlib import Path

from understudy.arguments import require_text
from understudy.engine.steward.check import CheckReport
from understudy.engine.steward.check import check as check_rows
from understudy.engine.steward.extremes import Extremes
from understudy.engine.steward.schema_draft import draft as draft_schema
from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.schema.codebooks import Codebook, read_codebook
from understudy.schema.given_schema import given_schema


def draft(data: object, *, title: str = "", codebook: Codebook | str | Path | None = None) -> str:
    """Draft a schema from the data, as TOML text.

    The text is confidential: it holds levels and bounds read from the rows, and cannot be used
    before every entry is reviewed.

    Args:
        data: a table, or a path to one.
        title: of the table; by default the codebook's.
        codebook: what is publicly known of the table (or the path of the file that says it). Its
            entries are taken first and keep it as their source; the rows give what it lacks.

    Raises:
        DataError: the data cannot be read, or no column can be drafted.
        SchemaError: the codebook cannot be read.
    """
    require_text("title", title, SchemaError, "People")
    book = codebook
    if book is not None and not isinstance(book, Codebook):
        book = read_codebook(book)
    return draft_schema(data, title=title, codebook=book)


def extremes(data: object, schema: Schema) -> Extremes:
    """Ends of the rows' numbers, with which bounds can be compared. CONFIDENTIAL.

    Args:
        data: a table, or a path to one.
        schema: what is declared of it.

    Raises:
        DataError: the data cannot be read.
    """
    return Extremes(data, schema)


def check(data: object, schema: Schema | str | Path, *, examples: bool = False) -> CheckReport:
    """What in the data does not fit the schema. For the steward; spends nothing, releases nothing.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`.
        schema: a schema, or the path of its file.
        examples: gather some of the values that do not fit, which `lines(examples=True)` shows.
            CONFIDENTIAL.

    Raises:
        SchemaError: not a schema.
        DataError: the data cannot be read.
    """
    return check_rows(data, given_schema(schema), examples=examples)
