"""The file of a codebook, read once, and its text; with a limit, since it may come from anybody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from understudy import strict_json
from understudy.arguments import path_of
from understudy.errors import SchemaError, line

MOST_BYTES = 2**27
"""A codebook of 10,000 variables with long lists of codes has some 20 MB."""


@dataclass(frozen=True)
class CodebookFile:
    """The file of a codebook.

    Attributes:
        path: where it is.
        content: its bytes.
    """

    path: Path
    content: bytes

    @classmethod
    def read(cls, path: str | Path) -> CodebookFile:
        """Read it.

        Raises:
            SchemaError: it cannot be read, is empty or too large.
        """
        place = path_of("The codebook", path, SchemaError)
        try:
            with place.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise SchemaError(
                f"The codebook {str(path)!r} cannot be read: {error.strerror}."
            ) from None
        file_itself = cls(place, content)
        if len(content) > MOST_BYTES:
            file_itself.refuse(
                f"it has more than {MOST_BYTES // 2**20} MiB; take out what is no description of "
                "variables, or split it"
            )
        if not content.strip():
            file_itself.refuse("it is empty")
        return file_itself

    @property
    def name(self) -> str:
        """Name of the file, without its folder."""
        return self.path.name

    def refuse(self, reason: str, at_line: int | None = None) -> NoReturn:
        """End with a sentence about this file.

        Args:
            reason: what is wrong, and the remedy, without a full stop.
            at_line: where.

        Raises:
            SchemaError: always.
        """
        place = "" if at_line is None else f", line {at_line}"
        raise SchemaError(
            f"The codebook {str(self.path)!r}{place} cannot be read: {line(reason)}."
        ) from None

    def text(self) -> str:
        """Its text.

        Raises:
            SchemaError: it is not UTF-8.
        """
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            at_line = self.content[: error.start].count(b"\n") + 1
            self.refuse("it is not UTF-8 text; save it as UTF-8", at_line)

    def json(self) -> Any:
        """Its content as JSON.

        Raises:
            SchemaError: it is none, or ambiguous.
        """
        try:
            return strict_json.parse(self.text())
        except ValueError as error:
            self.refuse(f"{error}; correct the file")
