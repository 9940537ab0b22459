"""A key that exists in memory alone, in a page that the system is asked never to write to disk."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Final

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
