"""A folder that is published whole or not at all, with a checksum for each of its files.

Its manifest is JSON that anybody may have written, so it is read strictly: one meaning, finite
numbers, finite depth. JSON lets a name stand twice and Python lets the last one win, so that two
readers may see two manifests; it lets numbers overflow to infinity, and nests without limit.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from understudy.errors import ReleaseError
from understudy.release.shape import FORMATS

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
    if (within := release_around(path)) is not None:
        raise ReleaseError(
            f"The output {str(path)!r} lies in the release {str(within)!r}, which is published as "
            "it is; choose another place."
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
        content = _parse(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return (folder / "synthetic").is_dir()
    return isinstance(content, dict) and {"format", "files", "guarantee"} <= content.keys()


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
    whole = {"format": FORMATS[-1], **content, "files": sums}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def digest(file: Path) -> str:
    """SHA-256 of a file, as it stands in the manifest."""
    with file.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def open_checked(path: Path) -> dict[str, Any]:
    """The manifest of a folder, after checking its version, its files and every checksum.

    Nothing but what the manifest lists may lie in the folder, and nothing there may lead out of it;
    hidden files of a file manager are left aside and never read.

    Returns:
        Its content, with its `format`, and the names of all `files`.

    Raises:
        ReleaseError: not a release, another format version, or a file that was changed.
    """
    content = _manifest(path)
    _check_files(path, content["files"])
    return content | {"files": list(content["files"])}


def remove(path: Path) -> None:
    """Remove a release folder.

    Raises:
        ReleaseError: the folder is not a release of this software.
    """
    _manifest(path)
    shutil.rmtree(path)


def _manifest(path: Path) -> dict[str, Any]:
    try:
        content = _parse((path / MANIFEST).read_text(encoding="utf-8"))
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


def _files_below(path: Path) -> set[str]:
    """Names of the regular files of a folder, its manifest and hidden ones left aside.

    Raises:
        ReleaseError: a link, or something that is neither file nor folder.
    """
    files: set[str] = set()
    ahead = [path]
    while ahead:
        with os.scandir(ahead.pop()) as entries:
            for entry in entries:
                place = Path(entry.path)
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    ahead.append(place)
                elif entry.is_file(follow_symlinks=False):
                    files.add(place.relative_to(path).as_posix())
                else:
                    raise ReleaseError(
                        f"The release {str(path)!r} holds {entry.name[:100]!r}, which is not a "
                        "file of its own but leads elsewhere; ask its publisher for a new copy."
                    )
    return files - {MANIFEST}


def _parse(text: str) -> Any:
    """The content of a manifest.

    Args:
        text: of the file.

    Raises:
        ValueError: not JSON, or JSON of one of these kinds; says which, in words.
    """
    try:
        content = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_refused, parse_float=_finite
        )
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None
    except UnicodeEncodeError:
        raise ValueError("it holds half of a character") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return content


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("it holds a name twice")
    return content


def _refused(_text: str) -> NoReturn:
    raise ValueError("it holds a number that is not finite")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refused(text)
    return number
