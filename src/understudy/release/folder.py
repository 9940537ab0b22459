"""A folder that is published whole or not at all, with a checksum for each of its files.

It is filled beside its place, synced to the disk file by file, and then renamed, so that neither a
kill nor a loss of power leaves half of it.

**The place of a release: whether one can go there, and nobody else's can meanwhile.**

All that a place can lack is found out before a budget is spent, by trying: a hidden folder is made
beside the release, in which its files are written until they are whole, and whose lock is held from
before the rows are read until the release stands at its place. A process that dies lets go of the
lock; what it left in the hidden folder is removed by the next one. Where there are no locks
(Windows), the hidden folder itself is the lock, and after a kill it is for people to remove.

**The steward's signature on a release, in a file beside the manifest that it signs.**

It is of the checksum of the manifest, which holds those of all other files. So the manifest cannot
list it, and it is the one file of a release that is not listed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import polars as pl

from understudy import _storage
from understudy._storage import Signature, sign
from understudy.errors import ReleaseError, SignatureError, UnsavedError, escape_controls
from understudy.release.shape import FORMAT

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
    with _translate_errors(path):  # a name too long, a folder that may not be looked into
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
        raise _unwritable(path, _storage.reason(error)) from None
    if disk_of.total and disk_of.free < space:  # some file systems do not say how large they are
        raise _unwritable(path, f"{_megabytes(space)} may be needed, and less is free on its disk")


@contextmanager
def hold_place(path: Path) -> Iterator[Path]:
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
        with _translate_errors(path):
            _make_parents(path, made)
            file = _open_lock(path, workshop)
        _HELD.add(key)
        try:
            with _translate_errors(path):
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
        _storage.write_all(file, spent.encode("utf-8"))
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
    """Return whether a folder holds the manifest of a release; others use that name as well."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return False
    try:
        content = _content_of(manifest)
    except (OSError, ValueError):
        return (folder / "synthetic").is_dir()
    return isinstance(content, dict) and {"format", "files", "guarantee"} <= content.keys()


def _is_taken(path: Path) -> bool:
    with _translate_errors(path):
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
        _storage.sync_folder(folder.parent)


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
            _storage.lock(file)
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
        if not _storage.LOCKS:
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
            f"A run for {str(path)!r} was killed when {escape_controls(spent[:60])} was spent, "
            f"which counts, and it kept no checkpoint; remove {str(workshop)!r} to begin anew at "
            "the same cost once more."
        )


def _is_same(file: int, place: Path) -> bool:
    """Return whether an open file still is the one of that name."""
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
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReleaseError(
            f"The output {str(path)!r} cannot be written: {_storage.reason(error)}; choose another "
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


SIGNATURE: Final = "manifest.sig"
"""Its name in the folder of a release."""


def require_key(key: Path) -> None:
    """Refuse a key that could not sign; to be called before anything is spent.

    Args:
        key: file of a private key.

    Raises:
        SignatureError: it cannot be read, others can read it as well, or it holds no such key.
    """
    sign("", key)


def clear_unfinished(folder: Path) -> None:
    """Remove what a process that died while it signed left in the folder of a release."""
    (folder / f".{SIGNATURE}").unlink(missing_ok=True)


def write_signature(folder: Path, key: Path) -> str:
    """Sign the release in a folder; what signed it before, if anything, is replaced.

    When this returns, the signature is on the disk; a loss of power leaves it whole or as it was.

    Args:
        folder: of a release.
        key: file of a private key.

    Returns:
        The public key, in hex.

    Raises:
        SignatureError: the key cannot be read, others can read it as well, or it is none.
        UnsavedError: the signature cannot be written.
    """
    signature = sign(_signed_text(folder), key)
    try:
        _put_signature(folder, signature)
    except OSError as error:
        raise UnsavedError(folder, _storage.reason(error)) from None
    return signature.public_key


def _put_signature(folder: Path, signature: Signature) -> None:
    text = json.dumps(signature.to_json(), indent=2) + "\n"
    whole, made = folder / SIGNATURE, folder / f".{SIGNATURE}"
    try:
        made.write_text(text, encoding="utf-8")
        with made.open("rb+") as file:
            os.fsync(file.fileno())
        made.replace(whole)
        _storage.sync_folder(folder)
    except OSError:
        made.unlink(missing_ok=True)
        raise


def signer_of(folder: Path, public_key: str | None = None) -> str:
    """Return who signed the release in a folder, by a signature that fits.

    Args:
        folder: of a release.
        public_key: in hex, of whoever must have signed it; None takes any.

    Returns:
        The public key, in hex; "" where it is not signed.

    Raises:
        ReleaseError: its signature is none, is not of this manifest or not by this key, or is
            lacking and a key was named.
    """
    file = folder / SIGNATURE
    if not file.exists():
        if public_key is None:
            return ""
        raise ReleaseError(
            f"The release {str(folder)!r} is not signed, and you named who must have signed it; "
            "ask its publisher."
        )
    try:
        signature = Signature.from_json(_storage.parse(file.read_text(encoding="utf-8")))
        signature.require(_signed_text(folder), public_key)
    except SignatureError as error:
        why = f"{str(error)[0].lower()}{str(error)[1:-1]}"
    except (OSError, ValueError):
        why = f"its {SIGNATURE} cannot be read"
    else:
        return signature.public_key
    raise ReleaseError(
        f"The signature of the release {str(folder)!r} does not hold: {why}; ask its publisher for "
        "a new copy."
    )


def _signed_text(folder: Path) -> str:
    digest = hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    return f"understudy release sha256:{digest}"


UNWRITTEN: Final = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What writing a file may end in."""


def publish(
    path: Path,
    fill: Callable[[Path], Mapping[str, str]],
    content: Mapping[str, Any],
    before_rename: Callable[[str], None] | None = None,
    key: Path | None = None,
) -> None:
    """Fill a new folder, write its manifest, and move it to its place.

    Args:
        path: folder that does not exist yet (or is empty).
        fill: writes the files into the folder that it is given; gives back the checksums of those
            that it knows, path → checksum, and does not change these any more.
        content: plain data for the manifest; format version and checksums are added.
        before_rename: told the SHA-256 of the manifest's bytes (hex) when the whole folder is on
            the disk, and before it stands at its place; an error of it stops that.
        key: file of the private key that signs it; None leaves it unsigned.

    Raises:
        SignatureError: the key is none, or others can read it.
        UnsavedError: it cannot be written.
        ReleaseError: the folder exists and is not empty, or another run holds its place.
    """

    def fill_folder(folder: Path) -> None:
        write(folder, fill, content)
        if key is not None:
            _put_signature(folder, sign(_signed_text(folder), key))

    def enter_digest(folder: Path) -> None:
        if before_rename is not None:
            before_rename(hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest())

    try:
        lay_out(path, fill_folder, enter_digest)
    except UNWRITTEN as error:
        raise UnsavedError(path, _storage.reason(error)) from None
    _sync_name(path)


def write(
    folder: Path, fill: Callable[[Path], Mapping[str, str]], content: Mapping[str, Any]
) -> None:
    """Write the files of a release and its manifest, neither synced nor moved to their place.

    Args:
        folder: that is there, and empty.
        fill: as for `publish`, and so is the next one.
        content: plain data for the manifest.
    """
    known = fill(folder)
    whole = {"format": FORMAT, **content, "files": checksums(folder, known)}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def lay_out(
    path: Path, fill: Callable[[Path], object], before_rename: Callable[[Path], None] | None = None
) -> None:
    """Fill a new folder beside its place, and move it there, whole or not at all.

    Args:
        path: folder that does not exist yet (or is empty).
        fill: writes the files into the folder that it is given.
        before_rename: given the folder when all of it is on the disk; an error of it stops that.

    Raises:
        ReleaseError: the folder exists and is not empty, or another run holds its place.
        Exception: one of `UNWRITTEN`, if it cannot be written.
    """
    with hold_place(path) as folder:
        try:
            folder.mkdir()
            fill(folder)
            _storage.sync_all(folder)
            if before_rename is not None:
                before_rename(folder)
            if os.name == "nt" and path.is_dir():  # elsewhere a rename takes an empty one away
                path.rmdir()
            folder.rename(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _sync_name(path: Path) -> None:
    """Make sure that the release keeps its place, before anybody takes it for made."""
    try:
        _storage.sync_folder(path.absolute().parent)
    except OSError as error:
        raise ReleaseError(
            f"The release stands at {str(path)!r}, but the disk failed as it was told to keep it: "
            f"{_storage.reason(error)}; look whether it is whole before you count on it."
        ) from None


def checksums(folder: Path, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Path of each file of a folder → its checksum, in order.

    Args:
        folder: the folder.
        known: checksums that need not be computed again.
    """
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*")}
    told = known or {}
    return {
        name: told.get(name) or digest(files[name])
        for name in sorted(files)
        if files[name].is_file()
    }


def digest(file: Path) -> str:
    """SHA-256 of a file, as it stands in the manifest."""
    with file.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def open_checked(path: Path) -> dict[str, Any]:
    """The manifest of a folder, after checking its version, its files and every checksum.

    Nothing but what the manifest lists may lie in the folder, beside its signature, hidden or not,
    and nothing there may lead out of it. Few files that file managers leave by themselves are left
    aside.

    Returns:
        Its content, with its `format`, and the checksums of all `files`.

    Raises:
        ReleaseError: not a release, another format version, or a file that was changed.
    """
    content = _manifest(path)
    _check_files(path, content["files"])
    return content


def remove(path: Path) -> None:
    """Remove a release folder.

    Raises:
        ReleaseError: the folder is not a release of this software.
    """
    _manifest(path)
    shutil.rmtree(path)


_LARGEST_MANIFEST: Final = 2**28
"""Bytes; one with ten thousand measurements takes a tenth of it."""


def _content_of(manifest: Path) -> Any:
    """What a manifest holds, if it is a file of its own: a link or a pipe may have no end.

    Raises:
        OSError: it cannot be read, or is no file of its own.
        ValueError: it is not JSON, or larger than any manifest is.
    """
    if manifest.is_symlink() or not manifest.is_file():
        raise FileNotFoundError(manifest)
    if manifest.stat().st_size > _LARGEST_MANIFEST:
        raise ValueError("its manifest is too large")
    return _storage.parse(manifest.read_text(encoding="utf-8"))


def _manifest(path: Path) -> dict[str, Any]:
    try:
        content = _content_of(path / MANIFEST)
        version, files = content["format"], content["files"]
        if not isinstance(files, dict) or not all(
            isinstance(checksum, str) for checksum in files.values()
        ):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = str(error) if type(error) is ValueError else f"it has no readable {MANIFEST}"
        raise ReleaseError(f"{str(path)!r} is not a release: {why}.") from None
    if type(version) is not int:
        raise ReleaseError(f"{str(path)!r} is not a release: its format is not a number.")
    if version != FORMAT:
        raise ReleaseError(
            f"The release {str(path)!r} has format {str(version)[:20]}; this version of "
            f"Understudy reads format {FORMAT}. Install a version that fits."
        )
    return dict(content)


def _check_files(path: Path, files: dict[str, str]) -> None:
    """Every listed file, and no other, lies in the folder as it was published."""
    there = _files_below(path)
    for name, expected in files.items():
        if name not in there:
            raise ReleaseError(
                f"The release {str(path)!r} lacks its file {name[:100]!r}; ask its publisher for a "
                "new copy."
            )
        if digest(path / name) != expected:
            raise ReleaseError(
                f"The file {name!r} of the release {str(path)!r} was changed after "
                "it was published; ask its publisher for a new copy."
            )
    if more := sorted(there - set(files)):
        raise ReleaseError(
            f"The release {str(path)!r} holds the file {more[0][:100]!r}, which its publisher did "
            "not list; move it elsewhere."
        )


_LEFT_BY_MANAGERS: Final = (
    ("", ".DS_Store", b"\0\0\0\1Bud1"),
    ("._", "", b"\0\5\x16\7"),
    ("", ".directory", b"[Dolphin]"),
)
"""What file managers leave in a folder that somebody looked into: how its name begins, or the whole
of it, and its first bytes. By macOS, where a folder was opened; by macOS, beside a file on a disk
that cannot hold its attributes; by KDE."""
_LARGEST_LEFT: Final = 2**16


def _is_left_by_a_manager(place: Path) -> bool:
    """Return whether a file that nobody listed is one that a file manager leaves by itself."""
    for start, whole, first in _LEFT_BY_MANAGERS:
        if place.name == whole or (start and place.name.startswith(start)):
            with place.open("rb") as file:
                begins = file.read(len(first)) == first
            beside = not start or place.with_name(place.name.removeprefix(start)).exists()
            return begins and beside and place.stat().st_size <= _LARGEST_LEFT
    return False


def _files_below(path: Path) -> set[str]:
    """Names of the regular files of a folder, but for manifest, signature and what managers leave.

    Raises:
        ReleaseError: a link, or something that is neither file nor folder.
    """
    files: set[str] = set()
    ahead = [path]
    while ahead:
        with os.scandir(ahead.pop()) as entries:
            for entry in entries:
                place = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    ahead.append(place)
                elif not entry.is_file(follow_symlinks=False):
                    raise ReleaseError(
                        f"The release {str(path)!r} holds {entry.name[:100]!r}, which is not a "
                        "file of its own but leads elsewhere; ask its publisher for a new copy."
                    )
                elif not (entry.name.startswith(".") and _is_left_by_a_manager(place)):
                    files.add(place.relative_to(path).as_posix())
    return files - {MANIFEST, SIGNATURE}
