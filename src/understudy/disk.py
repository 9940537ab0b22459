"""Files that a loss of power does not take back, and locks that end with their process.

What was written stands in the memory of the system until it is synced, and so does the name of a
new file. A rename is atomic, but without a sync before it the new name may lead to an empty file,
and without one after it the old name may come back (Pillai et al. 2014, "All file systems are not
created equal", section 4).
"""

from __future__ import annotations

import os
from errno import ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None
"""Whether this system has locks that end with their process."""
_WITHOUT_LOCKS = {ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP}


def lock(file: int) -> None:
    """Lock an open file until it is closed, or its process ends in whatever way.

    Where the system or the file system has no locks, nothing happens.

    Args:
        file: its number.

    Raises:
        BlockingIOError: another process, or another opening of this one, has locked it.
    """
    if not LOCKS:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise


def write_all(file: int, data: bytes) -> None:
    """Write all of some data to an open file; a system may take less at once.

    Raises:
        OSError: it cannot be written.
    """
    while data:
        data = data[os.write(file, data) :]


def replace(place: Path, data: bytes) -> None:
    """Write a file in the place of another at once, with its rights.

    Whoever dies meanwhile leaves the one or the other.

    Args:
        place: an existing file; where it is a link, what that leads to is replaced.
        data: the new content.

    Raises:
        OSError: it cannot be written; the old one is as it was.
    """
    place = place.resolve()
    new = place.with_name(f".{place.name}.{os.getpid()}.new")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        try:
            write_all(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        new.chmod(place.stat().st_mode & 0o7777)
        new.replace(place)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder survive a loss of power; on Windows they do by journal.

    Raises:
        OSError: the disk failed.
    """
    if os.name != "nt":
        _sync(folder, os.O_RDONLY)


def sync_all(folder: Path) -> None:
    """Make sure that all files and folders below a folder survive a loss of power, and it too.

    Raises:
        OSError: the disk failed.
    """
    for place in folder.rglob("*"):
        if place.is_dir():
            sync_folder(place)
        else:
            _sync(place, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    sync_folder(folder)


def reason(error: BaseException) -> str:
    """Why a file could not be written, in the words of the system.

    Args:
        error: of the system, or of a library that writes files.

    Example:
        >>> reason(OSError(28, "No space left on device")), reason(OSError())
        ('No space left on device', 'OSError')
    """
    told = getattr(error, "strerror", None) or str(error).strip().partition("\n")[0]
    return told.rstrip(".") or type(error).__name__


def _sync(place: Path, flags: int) -> None:
    file = os.open(place, flags)
    try:
        os.fsync(file)
    finally:
        os.close(file)
