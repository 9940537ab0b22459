"""Drafting a schema from rows, and checking rows against it: for the steward."""

from __future__ import annotations

from understudy.engine.check import CheckReport
from understudy.engine.check import check as check_rows
from understudy.engine.draft import draft as draft_schema
from understudy.schema import Schema


def draft(data: object, *, title: str = "") -> str:
    """Draft a schema from the data, as TOML text.

    The text is confidential: it holds levels and bounds read from the rows, and cannot be used
    before every entry is reviewed.

    Raises:
        DataError: the data cannot be read, or no column can be drafted.
    """
    return draft_schema(data, title=title)


def check(data: object, schema: Schema) -> CheckReport:
    """What in the data does not fit the schema. For the steward; spends nothing, releases nothing.

    Raises:
        DataError: the data cannot be read.
    """
    return check_rows(data, schema)
