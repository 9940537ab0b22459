"""Records as lines of a text file, each behind its checksum; and the chain of all lines so far.

A last line without its end was being written when a run was killed: it counts as not written. Any
other damage is an error. The chain is H₀ = 64 zeros, Hₖ = SHA-256(Hₖ₋₁ ‖ line k), where ‖ puts one
text behind the other: two files of one chain have the same lines.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

Record = dict[str, Any]
START: Final = "0" * 64
"""The chain of no lines."""
_SUM: Final = 16


def line_of(record: Record) -> bytes:
    r"""A record as it is written.

    Args:
        record: plain data.

    Example:
        >>> line_of({"run": 1})
        b'1e5cd4c674c30be1 {"run":1}\n'
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return _sum(text) + b" " + text + b"\n"


def lines_of(data: bytes) -> list[bytes]:
    """The whole lines of a file, each with its end.

    Args:
        data: of the file.
    """
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def record_of(line: bytes) -> Record:
    """The record of a whole line.

    Raises:
        ValueError: it is not as it was written.
    """
    if line[:_SUM] != _sum(line[_SUM + 1 : -1]):
        raise ValueError("A line does not fit its checksum.")
    return dict(json.loads(line[_SUM + 1 : -1]))


def chained(digest: str, line: bytes) -> str:
    """The chain with one more line.

    Args:
        digest: of the lines before.
        line: with its end.

    Returns:
        64 hexadecimal digits.
    """
    return hashlib.sha256(digest.encode("ascii") + line).hexdigest()


def _sum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_SUM].encode("ascii")
