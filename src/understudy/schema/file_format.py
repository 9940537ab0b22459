"""The form in which a table's file is written: public facts, in the table `[file]` of a schema.

A text file is read line by line, and what becomes of one line is decided by its own bytes and by
what stands here, and by nothing else: so all of this must be known without looking at the rows.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from understudy.schema.base import Reviewed

LINE_BYTES = 2**20
"""Most bytes of a line, the line break not counted; a longer one is malformed."""

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
"""Endings of compressed text files, behind the ending of the text."""

RECORD_LINES = 100
"""Most lines of a record where `multiline = true`."""

Encoding = Literal[
    "utf-8",
    "latin-1",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-9",
    "iso-8859-10",
    "iso-8859-11",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "cp437",
    "cp850",
    "cp852",
    "cp855",
    "cp858",
    "cp866",
]
"""UTF-8, and encodings of one byte a character that agree with ASCII: a byte 0x0A is a line break
in each of them, whatever stands before it. UTF-16 is not among them: a line with an odd number of
bytes would put every later one out of step."""


def without_compression(name: str) -> str:
    """A file's name in lower case, without the ending that says how it is compressed."""
    lower = name.lower()
    return next((lower.removesuffix(end) for end in COMPRESSED if lower.endswith(end)), lower)


class FileFormat(Reviewed):
    """The form of a text file with one record a line. Other tables (Parquet, frames) have none.

    Attributes:
        encoding: how its bytes are read as text. A line that cannot be read so is one record out of
            domain.
        separator: the ASCII character between cells; by default a comma, or a tab in files whose
            name ends in .tsv.
        quote: the ASCII character around cells that hold a separator (doubled inside them), or ""
            for none.
        decimal: the decimal mark of its numbers. With "," a number such as 1.5 is none.
        thousands: the mark between groups of three digits, if its numbers have one: ".", ",", "'",
            or " " for blanks of any width. A number without it is one as well.
        sheet: name of the sheet in a workbook; by default the first one. A workbook has none of the
            other entries.
        multiline: whether a line break inside quotes belongs to the cell, in records of at most 100
            lines. The guarantee is then conditional, since a stray quote can hide the records that
            follow it.
    """

    readable: ClassVar[tuple[str, ...]] = (
        *("encoding", "separator", "quote", "decimal", "thousands", "multiline"),
    )

    encoding: Encoding = "utf-8"
    separator: str = Field(default="", max_length=1)
    quote: str = Field(default='"', max_length=1)
    decimal: Literal[".", ","] = "."
    thousands: Literal["", ".", ",", " ", "'"] = ""
    multiline: bool = False
    sheet: str = ""

    @model_validator(mode="after")
    def _marks_fit(self) -> Self:
        for name in ("separator", "quote"):
            mark = getattr(self, name)
            if mark and (not mark.isascii() or mark.isalnum() or mark in "\0\r\n"):
                raise ValueError(
                    f"{name} must be one ASCII character that is no letter, digit or line break"
                )
        if self.quote == " ":
            raise ValueError("quote must not be a space")
        if self.decimal == "," and not self.separator:
            raise ValueError('decimal = "," needs a separator that is no comma; name it')
        marks = [mark for mark in (self.separator or ",", self.quote, self.decimal) if mark]
        if len(set(marks)) < len(marks):
            raise ValueError("separator, quote and decimal must be different characters")
        if self.thousands and self.thousands in (self.quote, self.decimal):
            raise ValueError("thousands must be another character than quote and decimal")
        return self

    def _readings(self, key: str) -> list[tuple[str, Any]]:
        # That there is no such mark or break is what most files say.
        absent = key in ("thousands", "multiline") and not getattr(self, key)
        return [] if absent else super()._readings(key)

    def separator_in(self, name: str) -> str:
        """The character between cells in a file of this name."""
        by_ending = "\t" if without_compression(name).endswith(".tsv") else ","
        return self.separator or by_ending

    @property
    def told(self) -> str:
        """The entries that are not the default, in words; "" if all are."""
        fields = type(self).model_fields
        entries = (*self.readable, "sheet")
        return ", ".join(
            f"{key} {'true' if value is True else repr(value)}"
            for key in entries
            if (value := getattr(self, key)) != fields[key].default
        )
