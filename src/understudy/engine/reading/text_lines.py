"""Text files as whole lines, some megabytes at a time, whatever they are compressed by.

What is wrong with the compression of a file is an error, whatever damaged it. What is wrong with a
line never is.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np
import pyarrow as pa

from understudy.engine.reading.text_records import LONG
from understudy.errors import DataError
from understudy.schema.file_format import LINE_BYTES

BLOCK_BYTES: Final = 2**22

FAULTS: Final = (
    *(OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException),
    *(RuntimeError, NotImplementedError, ValueError),  # a locked archive, an unknown compression
)


def opened(path: Path) -> IO[bytes]:
    """The bytes of a text, unpacked as they are read; how, its first bytes say.

    Raises:
        DataError: it cannot be opened, or is an archive of several files.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
        opener = next((one for marks, one in _PACKED.items() if _begins(head, marks)), open)
        return cast("IO[bytes]", opener(path, "rb"))
    except FAULTS:
        raise broken(path) from None


def pieces(path: Path, stream: IO[bytes]) -> Iterator[bytes]:
    """Whole lines, then an empty piece; lines longer than `LINE_BYTES` are replaced.

    No more than a block and the longest line are held at once.

    Args:
        path: for errors.
        stream: of its text.

    Raises:
        DataError: the file breaks off, or its compression is damaged.
    """
    rest, skipping = b"", False
    while block := _read(path, stream):
        if skipping and b"\n" not in block:
            continue
        begin = block.find(b"\n") if skipping else 0
        block, skipping = rest + block[begin:], False
        end = block.rfind(b"\n") + 1
        rest = block[end:]
        if len(rest) > LINE_BYTES:
            rest, skipping = LONG, True
        if end:
            yield _without_long(block[:end])
    if rest:
        yield rest + b"\n"
    yield b""


def broken(path: Path) -> DataError:
    """That a file cannot be read to its end."""
    return DataError(
        f"The file {str(path)!r} cannot be read to the end: it is truncated, damaged, or not what "
        "its name says; repair it (nothing was spent)."
    )


def _read(path: Path, stream: IO[bytes]) -> bytes:
    try:
        return stream.read(BLOCK_BYTES)
    except FAULTS:
        raise broken(path) from None


def _without_long(block: bytes) -> bytes:
    """Whole lines, those that are longer than `LINE_BYTES` replaced."""
    breaks = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
    edges = np.concatenate([[-1], breaks])
    if (np.diff(edges) <= LINE_BYTES + 1).all():
        return block
    lines = (block[first + 1 : last] for first, last in pairwise(edges.tolist()))
    return b"".join((LONG if len(line) > LINE_BYTES else line) + b"\n" for line in lines)


def _arrow(codec: str) -> Callable[[Path, str], IO[bytes]]:
    def unpacked(path: Path, _mode: str) -> IO[bytes]:
        stream: Any = pa.CompressedInputStream(pa.OSFile(str(path)), codec)
        return io.BufferedReader(stream)

    return unpacked


def _member(path: Path, _mode: str) -> IO[bytes]:
    """The only file of an archive."""
    archive = zipfile.ZipFile(path)
    files = [
        one
        for one in archive.infolist()
        if not (one.is_dir() or one.filename.startswith("__MACOSX"))
    ]
    if len(files) != 1:
        raise DataError(
            f"The archive {str(path)!r} holds {len(files)} files where one is read; unpack it, and "
            "name the file."
        )
    return archive.open(files[0])


def _begins(head: bytes, marks: tuple[tuple[int, bytes], ...]) -> bool:
    return all(head[at : at + len(mark)] == mark for at, mark in marks)


_HEAD = 10
_PACKED: dict[tuple[tuple[int, bytes], ...], Callable[[Path, str], Any]] = {
    ((0, b"\x1f\x8b"),): gzip.open,
    ((0, b"BZh"), (4, b"1AY&SY")): bz2.open,
    ((0, b"\xfd7zXZ\x00"),): lzma.open,
    ((0, b"\x28\xb5\x2f\xfd"),): _arrow("zstd"),
    ((0, b"\x04\x22\x4d\x18"),): _arrow("lz4"),
    ((0, b"PK\x03\x04"),): _member,
}
"""Marks that a compressed file begins with, each at its place; and how it is opened."""
