"""Coded rows on disk, for tables whose codes do not fit into memory: encrypted, and without a name.

A spill is one file. It has no name from the start or loses it at once, so that it is gone when its
process ends, in whatever way; on Windows, where an open file keeps its name, the system removes it
then, and what a loss of power left there is removed by the next spill. What is written is encrypted
(AES in Galois/counter mode, NIST SP 800-38D) under a fresh key that is in memory alone.

**What the file's size tells.** Rows lie in chunks of as many rows each, the last one filled up with
zeros. A chunk has 262,144 rows, or the largest power of two of which 16 MiB hold all columns: a
public number, since it follows from the schema. So the size tells the number of rows up to one
chunk, and nothing else.

Each chunk has a nonce of its own, its number: a key is used for one spill, and each chunk written
once. Its number and the layout are authenticated with it, so that a chunk that was altered, moved
or put in from elsewhere is found out.

**A key that exists in memory alone, in a page that the system is asked never to write to disk.**
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from os import name as system
from pathlib import Path
from typing import IO, Final

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from understudy._storage import reason
from understudy.data.coding import StateCodes
from understudy.errors import DataError

KEY_BYTES: Final = 32


class LockedKey:
    """A fresh random key of 256 bits.

    It lies in a page of memory that is locked against swapping, and left out of core dumps, where
    the system allows. That is as much as can be done from here: what it is drawn from, and what a
    cipher makes of it, lie in ordinary memory for moments.

    Attributes:
        locked: whether the system has locked the page.
    """

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self.locked = _lock(self._page)
        if hasattr(mmap, "MADV_DONTDUMP"):  # Linux
            self._page.madvise(mmap.MADV_DONTDUMP)
        self._page[:KEY_BYTES] = os.urandom(KEY_BYTES)

    def __repr__(self) -> str:
        return "LockedKey(…)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A key of this kind is never stored or copied.")

    def bytes(self) -> memoryview:
        """The key itself, not a copy; shape (32,)."""
        return memoryview(self._page)[:KEY_BYTES]

    def forget(self) -> None:
        """Overwrite the key."""
        self._page[:KEY_BYTES] = bytes(KEY_BYTES)


def _lock(page: mmap.mmap) -> bool:
    if os.name != "posix":
        return False
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    try:
        mlock = ctypes.CDLL(None, use_errno=True).mlock
    except (OSError, AttributeError):  # a system without it
        return False
    return bool(mlock(ctypes.c_void_p(at), ctypes.c_size_t(mmap.PAGESIZE)) == 0)


CHUNK_ROWS: Final = 2**18
CHUNK_BYTES: Final = 2**24
_TAG_BYTES, _NONCE_BYTES = 16, 12
_PREFIX: Final = ".understudy-spill-"
_NAMED: Final = system == "nt"
"""Whether an open file keeps its name."""


class Spill:
    """One encrypted file of coded rows, written once and read as often as is asked.

    Args:
        folder: where it lies.
        types: type of the codes of each column.

    Raises:
        DataError: the folder does not exist, or nothing can be written there.
    """

    def __init__(self, folder: Path, types: Sequence[np.dtype[np.unsignedinteger]]) -> None:
        self._folder = folder
        self._types = tuple(types)
        self._chunk_rows = chunk_rows(types)
        layout = ",".join(map(str, (self._chunk_rows, *self._types)))
        self._layout = f"understudy spill 1: {layout}".encode()
        self._key = LockedKey()
        self._file = _open_spill(folder)
        self._one_at_a_time = threading.Lock()
        self._open = [np.zeros(self._chunk_rows, dtype) for dtype in self._types]
        self._n_rows = self._n_chunks = 0
        weakref.finalize(self, _forget, self._file, self._key)

    def __repr__(self) -> str:
        return f"Spill({len(self._types)} columns, rows withheld)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A spill of confidential rows cannot be pickled or copied.")

    def add(self, columns: Sequence[StateCodes]) -> None:
        """Write some rows.

        Args:
            columns: codes of each column, shape (n,), of the types that were announced.

        Raises:
            DataError: the disk is full, or fails.
        """
        n, done = len(columns[0]), 0
        while done < n:
            at = self._n_rows % self._chunk_rows
            taken = min(n - done, self._chunk_rows - at)
            for part, codes in zip(self._open, columns, strict=True):
                part[at : at + taken] = codes[done : done + taken]
            self._n_rows += taken
            done += taken
            if at + taken == self._chunk_rows:
                self._write()

    def seal(self) -> None:
        """Fill up the last chunk and write it; nothing is added any more.

        Raises:
            DataError: the disk is full, or fails.
        """
        at = self._n_rows % self._chunk_rows
        if at:
            for part in self._open:
                part[at:] = 0
            self._write()
        self._open = []

    def batches(self) -> Iterator[list[StateCodes]]:
        """All rows, a chunk at a time: one array of shape (n,) per column, which cannot be changed.

        Raises:
            DataError: the file was damaged.
        """
        for k in range(self._n_chunks):
            data, at = self._read(k), 0
            n = min(self._chunk_rows, self._n_rows - k * self._chunk_rows)
            columns = []
            for dtype in self._types:
                columns.append(np.frombuffer(data, dtype, n, at))
                at += self._chunk_rows * dtype.itemsize
            yield columns

    def _write(self) -> None:
        k = self._n_chunks
        data = b"".join([part.tobytes() for part in self._open])
        sealed = AESGCM(self._key.bytes()).encrypt(_nonce(k), data, self._about(k))
        try:
            left = memoryview(sealed)
            while left:  # a system may take less at once
                left = left[self._file.write(left) :]
        except OSError as error:
            raise DataError(
                f"The spill in the folder {str(self._folder)!r} cannot be written: "
                f"{reason(error)}; free space there, or name another folder (nothing was spent)."
            ) from None
        self._n_chunks += 1

    def _read(self, k: int) -> bytes:
        row_bytes = sum(dtype.itemsize for dtype in self._types)
        size = self._chunk_rows * row_bytes + _TAG_BYTES
        try:
            with self._one_at_a_time:
                self._file.seek(k * size)
                sealed = b""
                while len(sealed) < size and (more := self._file.read(size - len(sealed))):
                    sealed += more
            return AESGCM(self._key.bytes()).decrypt(_nonce(k), sealed, self._about(k))
        except (OSError, InvalidTag, ValueError):
            raise DataError(
                f"The spill in the folder {str(self._folder)!r} was damaged while it was in use; "
                "look after the disk, and run again or name another folder."
            ) from None

    def _about(self, k: int) -> bytes:
        """Return what is authenticated with a chunk."""
        return self._layout + b", chunk " + str(k).encode()


def chunk_rows(types: Sequence[np.dtype[np.unsignedinteger]]) -> int:
    """Rows of a chunk, from what is public.

    Example:
        >>> chunk_rows([np.dtype(np.uint8)] * 16), chunk_rows([np.dtype(np.uint16)] * 500)
        (262144, 16384)
    """
    most = CHUNK_BYTES // max(1, sum(dtype.itemsize for dtype in types))
    return min(CHUNK_ROWS, 1 << max(0, most.bit_length() - 1))


def require_folder(folder: Path) -> None:
    """Check that a spill can be opened in a folder; remove what an earlier one may have left there.

    Raises:
        DataError: it cannot.
    """
    if _NAMED:
        for left in folder.glob(f"{_PREFIX}*"):
            with suppress(OSError):  # one that is in use
                left.unlink()
    _open_spill(folder).close()


def _open_spill(folder: Path) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(buffering=0, prefix=_PREFIX, dir=folder)
    except OSError as error:
        raise DataError(
            f"The folder {str(folder)!r} cannot hold a spill: {reason(error)}; name a folder that "
            "is there and can be written to (nothing was spent)."
        ) from None


def _nonce(k: int) -> bytes:
    return k.to_bytes(_NONCE_BYTES, "big")


def _forget(file: IO[bytes], key: LockedKey) -> None:
    key.forget()
    file.close()
