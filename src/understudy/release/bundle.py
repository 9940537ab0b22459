"""The release as a folder: JSON, TOML and Parquet, versioned, checksummed, without pickle.

A release is written beside its place and moved there when it is whole, so a reader never sees half
of one. Reading checks the format version and the checksum of every file that the manifest names.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from understudy.errors import ReleaseError, SchemaError
from understudy.release.measurement import Measurement
from understudy.release.recipient import readme
from understudy.release.release import Manifest, Release
from understudy.release.rows import FrameKind
from understudy.schema import Schema

FORMAT = 1
MANIFEST = "manifest.json"
_PAGES = ("report.html",)


def require_new(path: Path) -> None:
    """Refuse a place where a release cannot go; to be called before any budget is spent.

    Raises:
        ReleaseError: the folder is not empty, is a file, or its parent cannot be written.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise ReleaseError(
            f"The output {str(path)!r} already exists; choose another folder, or remove it first."
        )
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise ReleaseError(
            f"The output {str(path)!r} cannot be written: no permission in {str(parent)!r}."
        )


def write(release: Release, path: Path, *, csv: bool = False) -> Path:
    """Write a release folder, whole or not at all.

    Raises:
        ReleaseError: the folder exists and is not empty, or cannot be written.
    """
    require_new(path)
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        parent = path.absolute().parent
        with tempfile.TemporaryDirectory(dir=parent, prefix=f".{path.name}.") as scratch:
            folder = Path(scratch) / "release"
            folder.mkdir()
            _write_files(release, folder, csv=csv)
            if path.is_dir():
                path.rmdir()
            folder.rename(path)
    except OSError as error:
        raise ReleaseError(
            f"The release cannot be written to {str(path)!r}: {error.strerror}; "
            "nothing was left behind."
        ) from None
    return path


def remove(path: Path) -> None:
    """Remove a release folder.

    Raises:
        ReleaseError: the folder is not a release of this software.
    """
    _manifest(path)
    shutil.rmtree(path)


def _write_files(release: Release, folder: Path, *, csv: bool) -> None:
    (folder / "synthetic").mkdir()
    (folder / "noisy").mkdir()
    for k, table in enumerate(release.tables, start=1):
        table.write_parquet(folder / "synthetic" / f"set-{k}.parquet")
        if csv:
            table.write_csv(folder / "synthetic" / f"set-{k}.csv")
    for measurement in release.measurements:
        if measurement.name:
            cells = measurement.frame(release.schema)
            cells.write_parquet(folder / "noisy" / f"{measurement.name}.parquet")
    released = release.schema.released()
    (folder / "schema.toml").write_text(released.dumps(), encoding="utf-8")
    (folder / "README.md").write_text(readme(release, csv=csv), encoding="utf-8")
    for name, text in (release.pages(release) if release.pages else {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    _write_manifest(release, folder)


def _write_manifest(release: Release, folder: Path) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    content = {
        "format": FORMAT,
        **release.manifest.to_json(),
        "measurements": [measurement.to_json() for measurement in release.measurements],
        "files": {file.relative_to(folder).as_posix(): _digest(file) for file in files},
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def read(path: Path, *, frame: FrameKind = "pandas") -> Release:
    """Read a release folder, after checking its version and checksums.

    Raises:
        ReleaseError: not a release, another format version, or a file that was changed.
    """
    content = _manifest(path)
    _check_files(path, content.pop("files"))
    try:
        schema = Schema.load(path / "schema.toml")
        measurements = tuple(
            Measurement.from_json(data, _cells(path, data["name"]), schema)
            for data in content.pop("measurements")
        )
        content.pop("format")
        manifest = Manifest.from_json(content)
        tables = tuple(
            pl.read_parquet(path / "synthetic" / f"set-{k}.parquet")
            for k in range(1, manifest.sets + 1)
        )
    except (SchemaError, KeyError, TypeError, pl.exceptions.PolarsError, OSError):
        raise ReleaseError(
            f"The release {str(path)!r} is incomplete or malformed, although its "
            "checksums fit; ask its publisher for a new copy."
        ) from None
    pages = {
        name: (path / name).read_text(encoding="utf-8") for name in _PAGES if (path / name).exists()
    }
    return Release(tables, schema, manifest, measurements, frame, pages=lambda _: pages)


def _cells(path: Path, name: str) -> pl.DataFrame | None:
    return pl.read_parquet(path / "noisy" / f"{name}.parquet") if name else None


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
    for name, digest in files.items():
        file = path / name
        if not file.resolve().is_relative_to(path.resolve()) or not file.is_file():
            raise ReleaseError(
                f"The release {str(path)!r} lacks its file {name!r}; ask its "
                "publisher for a new copy."
            )
        if _digest(file) != digest:
            raise ReleaseError(
                f"The file {name!r} of the release {str(path)!r} was changed after "
                "it was published; ask its publisher for a new copy."
            )
