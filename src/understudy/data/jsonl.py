"""Files of JSON lines: one object a line, and each line by itself.

No line says which columns there are, since what one lacks another may have: they are those that the
schema declares, and a key that a record lacks is an empty cell. A number keeps its own digits,
however many; a truth value, a text and a number of the same spelling are the same. A line that is
no object, or names a key twice, is one record out of domain, whose cells all read `MALFORMED`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from understudy.data.csv import LONG, MALFORMED, open_text, pieces
from understudy.data.frames import UNLIKE, stream_batches, text
from understudy.schema.file_format import LINE_BYTES, without_compression

_ENDINGS: Final = (".jsonl", ".ndjson")
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_ROWS_AT_ONCE: Final = 50_000


def is_json_lines(data: object) -> bool:
    """Return whether data are the path of a file of JSON lines, by its ending."""
    if not isinstance(data, str | Path):
        return False
    return without_compression(Path(data).name).endswith(_ENDINGS)


@dataclass(frozen=True)
class JsonLines:
    """A file of JSON lines.

    Attributes:
        path: where it is.
        columns: keys that are columns.
    """

    path: Path
    columns: tuple[str, ...]

    @classmethod
    def with_all_keys(cls, path: Path) -> JsonLines:
        """A file with every key that a record has, in the order of their appearance. CONFIDENTIAL.

        Raises:
            DataError: the file cannot be read to its end.
        """
        keys: dict[str, None] = {}
        for _, record in JsonLines(path, ())._records():
            keys.update(dict.fromkeys(record if isinstance(record, dict) else ()))
        return cls(path, tuple(keys))

    def lazy(self) -> pl.LazyFrame:
        """All records; every cell is text, and null where there is none. CONFIDENTIAL.

        Raises:
            DataError: when it is read, if the file breaks off or its compression is damaged.
        """
        return stream_batches(self._batches, dict.fromkeys(self.columns, pl.String()))

    def faults(self, most: int) -> tuple[list[str], int]:
        """Describe the first malformed records, and count all of them. CONFIDENTIAL.

        Args:
            most: how many to explain.

        Returns:
            A line number and a cause for each that is explained, without a value; the number of
            malformed records.

        Raises:
            DataError: the file breaks off or its compression is damaged.
        """
        causes: list[str] = []
        n_malformed = 0
        for number, record in self._records():
            if isinstance(record, str):
                n_malformed += 1
                if len(causes) < most:
                    causes.append(f"line {number} {record}")
        return causes, n_malformed

    def _batches(self, names: list[str]) -> Iterator[pl.DataFrame]:
        records = (record for _, record in self._records())
        types = dict.fromkeys(names, pl.String())
        while chunk := list(islice(records, _ROWS_AT_ONCE)):
            cells = {name: _column(name, chunk) for name in names}
            yield pl.DataFrame(cells, schema=types, height=len(chunk))

    def _records(self) -> Iterator[tuple[int, dict[str, Any] | str]]:
        """Number of each line, and its record; or, if it is none, why not."""
        number = 0
        with open_text(self.path) as stream:
            for piece in pieces(self.path, stream):
                for line in piece.split(b"\n")[:-1]:
                    bare = line.removeprefix(_UTF8_MARK) if not number else line
                    number += 1
                    yield number, _record(bare)


def _column(name: str, records: Sequence[dict[str, Any] | str]) -> pl.Series:
    cells = [
        MALFORMED if isinstance(record, str) else _cell(record.get(name)) for record in records
    ]
    return pl.Series(cells, dtype=pl.String)


def _cell(value: object) -> str | None:
    if isinstance(value, list | dict):
        return UNLIKE
    found = text(value)
    return UNLIKE if found is not None and "\0" in found else found


class _TwiceError(ValueError):
    """A key that stands twice in an object."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _TwiceError
    return record


def _no_number(word: str) -> str | None:
    """Return None for the word that some writers put for numbers that are none."""
    return None if word == "NaN" else word


# Numbers as they are written: what they are is told against the schema.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=str, parse_float=str, parse_constant=_no_number
)


def _record(line: bytes) -> dict[str, Any] | str:
    """The object of a line; or, if it is none, why not, in words without a value."""
    if line == LONG:
        return f"has more than {LINE_BYTES:,} bytes"
    try:
        record = _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        return "holds bytes that are not UTF-8 text"
    except _TwiceError:
        return "has an object that names one key twice"
    except (ValueError, RecursionError):
        return "is no JSON" if line.strip() else "is blank"
    return record if isinstance(record, dict) else "holds no JSON object"
