"""Drafting a schema from rows, and checking rows against it: for the steward."""

from __future__ import annotations

from pathlib import Path

from understudy.arguments import require_text
from understudy.engine.steward.check import CheckReport
from understudy.engine.steward.check import check as check_rows
from understudy.engine.steward.schema_draft import draft as draft_schema
from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.schema.given_schema import given_schema


def draft(data: object, *, title: str = "") -> str:
    """Draft a schema from the data, as TOML text.

    The text is confidential: it holds levels and bounds read from the rows, and cannot be used
    before every entry is reviewed.

    Raises:
        DataError: the data cannot be read, or no column can be drafted.
    """
    require_text("title", title, SchemaError, "People")
    return draft_schema(data, title=title)


def check(data: object, schema: Schema | str | Path) -> CheckReport:
    """What in the data does not fit the schema. For the steward; spends nothing, releases nothing.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`.
        schema: a schema, or the path of its file.

    Raises:
        SchemaError: not a schema.
        DataError: the data cannot be read.
    """
    return check_rows(data, given_schema(schema))
