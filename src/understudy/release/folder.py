"""A folder that is published whole or not at all, with a checksum for each of its files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from understudy.errors import ReleaseError

FORMAT = 1
MANIFEST = "manifest.json"


def require_new(path: Path) -> None:
    """Refuse a place where a release cannot go; to be called before any budget is spent.

    Raises:
        ReleaseError: the folder is not empty, is a file, or its parent cannot be written.
    """
    if _is_taken(path):
        raise ReleaseError(
            f"The output {str(path)!r} already exists; choose another folder, or remove it first."
        )
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        reason = "no permission in it" if parent.is_dir() else "it is not a folder"
        raise ReleaseError(
            f"The output {str(path)!r} cannot be written below {str(parent)!r}: {reason}; choose "
            "another place."
        )


def _is_taken(path: Path) -> bool:
    try:
        return path.is_symlink() or path.is_file() or (path.is_dir() and any(path.iterdir()))
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise ReleaseError(
            f"The output {str(path)!r} cannot be written: {error.strerror}; choose another place."
        ) from None


def publish(path: Path, fill: Callable[[Path], None], content: Mapping[str, Any]) -> None:
    """Fill a new folder, write its manifest, and move it to its place.

    Args:
        path: folder that does not exist yet (or is empty).
        fill: writes the files into the folder that it is given.
        content: plain data for the manifest; format version and checksums are added.

    Raises:
        ReleaseError: the folder exists and is not empty, or cannot be written.
    """
    require_new(path)
    try:
        parent = path.absolute().parent
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=parent, prefix=f".{path.name}.") as scratch:
            folder = Path(scratch) / "release"
            folder.mkdir()
            fill(folder)
            _write_manifest(folder, content)
            if path.is_dir():
                path.rmdir()
            folder.rename(path)
    except OSError as error:
        raise ReleaseError(
            f"The release cannot be written to {str(path)!r}: {error.strerror}; nothing was left "
            "behind."
        ) from None


def _write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    sums = {file.relative_to(folder).as_posix(): digest(file) for file in files}
    whole = {"format": FORMAT, **content, "files": sums}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def digest(file: Path) -> str:
    """SHA-256 of a file, as it stands in the manifest."""
    with file.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def open_checked(path: Path) -> dict[str, Any]:
    """The manifest of a folder, after checking its version and every checksum.

    Raises:
        ReleaseError: not a release, another format version, or a file that was changed.
    """
    content = _manifest(path)
    _check_files(path, content.pop("files"))
    del content["format"]
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
        content = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        version = content["format"]
        assert isinstance(content["files"], dict)
    except (OSError, ValueError, KeyError, TypeError, AssertionError):
        raise ReleaseError(
            f"{str(path)!r} is not a release: it has no readable {MANIFEST}."
        ) from None
    if version != FORMAT:
        raise ReleaseError(
            f"The release {str(path)!r} has format {version}; this version of "
            f"Understudy reads format {FORMAT}. Install a version that fits."
        )
    return dict(content)


def _check_files(path: Path, files: dict[str, str]) -> None:
    for name, expected in files.items():
        file = path / name
        if not file.resolve().is_relative_to(path.resolve()) or not file.is_file():
            raise ReleaseError(
                f"The release {str(path)!r} lacks its file {name!r}; ask its "
                "publisher for a new copy."
            )
        if digest(file) != expected:
            raise ReleaseError(
                f"The file {name!r} of the release {str(path)!r} was changed after "
                "it was published; ask its publisher for a new copy."
            )
