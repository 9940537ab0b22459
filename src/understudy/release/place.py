"""The place of a release: whether one can go there, and nobody else's can meanwhile.

All that a place can lack is found out before a budget is spent, by trying: a hidden folder is made
beside the release, in which its files are written until they are whole, and whose lock is held from
before the rows are read until the release stands at its place. A process that dies lets go of the
lock; what it left in the hidden folder is removed by the next one. Where there are no locks
(Windows), the hidden folder itself is the lock, and after a kill it is for people to remove.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from understudy import disk, strict_json
from understudy.errors import ReleaseError, shown

MANIFEST: Final = "manifest.json"
LEAST_SPACE: Final = 10 * 2**20
"""Bytes that must be free in any case: pages, schema, and the start of a checkpoint."""
_LOCK, _WHOLE, _SPENT = "lock", "release", "spent"
_HELD: set[tuple[int, int, str]] = set()
"""What is held: number of the process and of the thread, and the hidden folder."""


def require_new(path: Path) -> None:
    """Refuse a place where a release cannot go; to be called before any budget is spent.

    Raises:
        ReleaseError: the folder is not empty, is a file, has no name of its own, or its parent
            cannot be written.
    """
    with _told(path):  # a name too long, a folder that may not be looked into
        own = path.name not in ("", "..") and not (path.is_dir() and os.path.ismount(path))
    if not own:
        raise ReleaseError(
            f"The output {str(path)!r} is the place of other things; give the release a folder "
            "with a name of its own."
        )
    if _is_taken(path):
        raise ReleaseError(
            f"The output {str(path)!r} already exists; choose another folder, or remove it first."
        )
    if (within := release_around(path)) is not None:
        raise ReleaseError(
            f"The output {str(path)!r} lies in the release {str(within)!r}, which is published as "
            "it is; choose another place."
        )
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise _unwritable(path, "no permission in it" if parent.is_dir() else "it is not a folder")


def require_space(path: Path, space: int = LEAST_SPACE) -> None:
    """Refuse a disk that is too full; to be called before any budget is spent.

    Args:
        path: of the release; its parent is there.
        space: bytes that it takes at most, by public facts alone.

    Raises:
        ReleaseError: less is free, or nobody can say how much is.
    """
    try:
        disk_of = shutil.disk_usage(path.absolute().parent)
    except OSError as error:
        raise _unwritable(path, disk.reason(error)) from None
    if disk_of.total and disk_of.free < space:  # some file systems do not say how large they are
        raise _unwritable(path, f"{_megabytes(space)} may be needed, and less is free on its disk")


@contextmanager
def held(path: Path) -> Iterator[Path]:
    """Hold the place of a release, so that nobody else can begin one there until this ends.

    Held again by the same thread, nothing happens.

    Args:
        path: folder of the release, which does not exist yet (or is empty).

    Yields:
        A folder that does not exist yet, hidden beside it, for files that are not whole.

    Raises:
        ReleaseError: another run holds the place, or a release cannot go there.
    """
    require_new(path)
    workshop = _workshop(path)
    key = os.getpid(), threading.get_ident(), os.path.realpath(workshop)
    if key in _HELD:
        yield workshop / _WHOLE
        return
    made: list[Path] = []
    try:
        with _told(path):
            _make_parents(path, made)
            file = _open_lock(path, workshop)
        _HELD.add(key)
        try:
            with _told(path):
                shutil.rmtree(workshop / _WHOLE, ignore_errors=True)  # of a run that was killed
            require_new(path)  # once more, since another run may have ended meanwhile
            require_space(path)
            yield workshop / _WHOLE
        finally:
            _HELD.discard(key)
            _leave(workshop, file)
    finally:
        for folder in made:
            with suppress(OSError):  # the release stands in it
                folder.rmdir()


def note_spending(path: Path, spent: str) -> None:
    """Have a run that is killed leave behind what it had spent, where no checkpoint says it.

    Args:
        path: of the release, which is held.
        spent: in words.

    Raises:
        OSError: it cannot be written.
    """
    file = os.open(_workshop(path) / _SPENT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        disk.write_all(file, spent.encode("utf-8"))
        os.fsync(file)
    finally:
        os.close(file)


def release_around(path: Path) -> Path | None:
    """The nearest folder above a path that is a release, if one is.

    Both the folders that the path names and those that it leads to by links count.

    Args:
        path: of a file or folder, there or not.

    Raises:
        OSError: a folder that cannot be looked into.
    """
    above = dict.fromkeys((*Path(os.path.abspath(path)).parents, *path.resolve().parents))
    return next((folder for folder in above if _is_release(folder)), None)


def _is_release(folder: Path) -> bool:
    """Whether a folder holds the manifest of a release; others call files by that name as well."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return False
    try:
        content = strict_json.parse(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return (folder / "synthetic").is_dir()
    return isinstance(content, dict) and {"format", "files", "guarantee"} <= content.keys()


def _is_taken(path: Path) -> bool:
    with _told(path):
        return path.is_symlink() or path.is_file() or (path.is_dir() and any(path.iterdir()))


def _workshop(path: Path) -> Path:
    """The hidden folder; its name is longer than any other that a run makes beside the release."""
    return path.absolute().parent / f".{path.name}.understudy"


def _make_parents(path: Path, made: list[Path]) -> None:
    """Make the folders above a release that are not there, and note them, the innermost first."""
    lacking = [folder for folder in path.absolute().parents if not folder.exists()]
    for folder in reversed(lacking):
        with suppress(FileExistsError):  # another run may be making them as well
            folder.mkdir()
            made.insert(0, folder)
        disk.sync_folder(folder.parent)


def _open_lock(path: Path, workshop: Path) -> int:
    """The hidden folder's lock, locked; a folder that its holder has removed meanwhile is no lock.

    Raises:
        OSError: it cannot be made.
        ReleaseError: another run has it, or it holds something else.
    """
    while True:
        _enter(path, workshop)
        try:
            file = os.open(workshop / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            continue
        try:
            disk.lock(file)
            if _is_same(file, workshop / _LOCK):
                _require_nothing_spent(path, workshop)
                return file
        except BlockingIOError:
            os.close(file)
            raise _in_use(path) from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _enter(path: Path, workshop: Path) -> None:
    """Make the hidden folder, or see that the one that is there was made by a run."""
    try:
        workshop.mkdir(mode=0o700)
    except FileExistsError:
        if workshop.is_symlink() or not workshop.is_dir():
            raise _foreign(path, workshop) from None
        names = {entry.name for entry in workshop.iterdir()}
        if not names <= {_LOCK, _WHOLE, _SPENT} or (workshop / _WHOLE).is_symlink():
            raise _foreign(path, workshop) from None
        if not disk.LOCKS:
            raise ReleaseError(
                f"Another run makes the release {str(path)!r}, or one was killed while it did; if "
                f"none runs, remove {str(workshop)!r}."
            ) from None


def _require_nothing_spent(path: Path, workshop: Path) -> None:
    """Say what a run had spent that was killed without a checkpoint, before it is spent again."""
    note = workshop / _SPENT
    if note.exists():
        spent = note.read_text(encoding="utf-8") or "a part of ε"
        raise ReleaseError(
            f"A run for {str(path)!r} was killed when {shown(spent[:60])} was spent, which counts, "
            f"and it kept no checkpoint; remove {str(workshop)!r} to begin anew at the same cost "
            "once more."
        )


def _is_same(file: int, place: Path) -> bool:
    """Whether an open file still is the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), place.stat())
    except FileNotFoundError:
        return False


def _leave(workshop: Path, file: int) -> None:
    """Remove the hidden folder, and let go of its lock; what stays does no harm."""
    shutil.rmtree(workshop / _WHOLE, ignore_errors=True)
    with suppress(OSError):
        if os.name == "nt":  # where an open file cannot be removed
            os.close(file)
        for name in (_SPENT, _LOCK):
            (workshop / name).unlink(missing_ok=True)
        workshop.rmdir()
    if os.name != "nt":
        os.close(file)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReleaseError(
            f"The output {str(path)!r} cannot be written: {disk.reason(error)}; choose another "
            "place."
        ) from None


def _unwritable(path: Path, why: str) -> ReleaseError:
    return ReleaseError(
        f"The output {str(path)!r} cannot be written below {str(path.absolute().parent)!r}: {why}; "
        "choose another place."
    )


def _in_use(path: Path) -> ReleaseError:
    return ReleaseError(
        f"Another run makes the release {str(path)!r}; wait for its end, or choose another place."
    )


def _foreign(path: Path, workshop: Path) -> ReleaseError:
    return ReleaseError(
        f"The output {str(path)!r} needs {str(workshop)!r} while it is written, which holds "
        "something else; choose another place."
    )


def _megabytes(space: int) -> str:
    return f"{-(-space // 2**20):,} MB"
