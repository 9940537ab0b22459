"""How a delimited text file is written: public facts, declared in the schema's `[file]` table."""

from __future__ import annotations

from typing import ClassVar, Literal

from understudy.schema.review import Reviewed


class FileFormat(Reviewed):
    """The form of a text file with one record a line.

    Attributes:
        encoding: how its bytes are read as text.
        separator: one character between cells.
        quote: one character around cells that hold a separator, or "" for none.
        decimal: the decimal mark of its numbers.
        multiline: whether a line break inside quotes belongs to the cell; the guarantee is then
            conditional, since a stray quote can hide the records that follow it.
    """

    readable: ClassVar[tuple[str, ...]] = ("encoding", "separator", "quote", "decimal")

    encoding: Literal["utf-8", "latin-1", "windows-1252", "utf-16"] = "utf-8"
    separator: str = ","
    quote: str = '"'
    decimal: Literal[".", ","] = "."
    multiline: bool = False
