"""A folder that is published whole or not at all, with a checksum for each of its files.

It is filled beside its place, synced to the disk file by file, and then renamed, so that neither a
kill nor a loss of power leaves half of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from understudy import disk, strict_json
from understudy.errors import ReleaseError, UnsavedError
from understudy.release.place import MANIFEST, held
from understudy.release.release_signature import SIGNATURE, write_signature
from understudy.release.shape import FORMATS

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

    def filled(folder: Path) -> None:
        write(folder, fill, content)
        if key is not None:
            write_signature(folder, key)

    def entered(folder: Path) -> None:
        if before_rename is not None:
            before_rename(hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest())

    try:
        lay_out(path, filled, entered)
    except UNWRITTEN as error:
        raise UnsavedError(path, disk.reason(error)) from None
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
    whole = {"format": FORMATS[-1], **content, "files": checksums(folder, known)}
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
    with held(path) as folder:
        try:
            folder.mkdir()
            fill(folder)
            disk.sync_all(folder)
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
        disk.sync_folder(path.absolute().parent)
    except OSError as error:
        raise ReleaseError(
            f"The release stands at {str(path)!r}, but the disk failed as it was told to keep it: "
            f"{disk.reason(error)}; look whether it is whole before you count on it."
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


def _manifest(path: Path) -> dict[str, Any]:
    try:
        content = strict_json.parse((path / MANIFEST).read_text(encoding="utf-8"))
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
    if version not in FORMATS:
        raise ReleaseError(
            f"The release {str(path)!r} has format {str(version)[:20]}; this version of "
            f"Understudy reads format {' and '.join(map(str, FORMATS))}. "
            "Install a version that fits."
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
    """Whether a file that nobody listed is one that a file manager leaves by itself."""
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
