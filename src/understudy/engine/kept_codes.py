"""Where coded rows stay between passes: in memory while they are few, in a spill, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from understudy.engine.coding import Codes
from understudy.engine.spill import Spill, require_folder
from understudy.errors import DataError

KEEP_BYTES = 2**30
SPILL_BYTES = 2**26
"""Codes of more bytes go into the spill, where there is one; fewer never reach a disk."""


class KeptCodes:
    """Coded rows, kept for later passes.

    Args:
        keep_bytes: most memory to keep them in.
        spill: folder for those that need more than that, or than `SPILL_BYTES`; None for none.
        required: whether a spill that cannot be written is an error. Otherwise nothing is kept.

    Raises:
        DataError: a spill that is required cannot be opened in its folder.
    """

    def __init__(self, keep_bytes: int, spill: Path | None, *, required: bool = True) -> None:
        self._most = keep_bytes if spill is None else min(keep_bytes, SPILL_BYTES)
        self._folder = spill
        self._required = required
        self._used = 0
        self._memory: list[list[Codes]] | None = []
        self._spill: Spill | None = None
        if spill is not None and required:
            require_folder(spill)

    def add(self, columns: list[Codes]) -> None:
        """Keep some rows; one array of shape (n,) per column.

        Raises:
            DataError: the spill cannot be written, and is required.
        """
        if self._memory is not None:
            self._used += sum(codes.nbytes for codes in columns)
            self._memory.append(columns)
            if self._used > self._most:
                self._leave_memory()
        elif self._spill is not None:
            self._write([columns])

    def seal(self) -> None:
        """There are no more rows.

        Raises:
            DataError: as for `add`.
        """
        if self._spill is not None:
            self._write([])

    @property
    def in_memory(self) -> list[list[Codes]] | None:
        """All rows, batch by batch, if they are kept in memory."""
        return self._memory

    def batches(self) -> Iterator[list[Codes]] | None:
        """All rows, batch by batch; None if they are not kept.

        Raises:
            DataError: while they are read, if the spill was damaged.
        """
        if self._memory is not None:
            return iter(self._memory)
        return None if self._spill is None else self._spill.batches()

    def _leave_memory(self) -> None:
        kept, self._memory = self._memory or [], None
        if self._folder is not None:
            self._write(kept)

    def _write(self, batches: list[list[Codes]]) -> None:
        """Write some batches; the last of the table if there is none."""
        try:
            if self._spill is None:
                assert self._folder is not None
                self._spill = Spill(self._folder, [codes.dtype for codes in batches[0]])
            for columns in batches:
                self._spill.add(columns)
            if not batches:
                self._spill.seal()
        except DataError:
            if self._required:
                raise
            self._spill = None
