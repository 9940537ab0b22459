"""A release: everything that is published, as one plain value and as a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from understudy.arguments import path_of
from understudy.errors import ReleaseError, SchemaError
from understudy.privacy.guarantee import Guarantee
from understudy.privacy.internal import Internal
from understudy.release.folder import open_checked, publish
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement
from understudy.release.notebook import html
from understudy.release.rows import FrameKind, require_frame, to_frame
from understudy.schema import Schema

_PAGES = ("report.html",)


@dataclass(frozen=True)
class Release:
    """Synthetic tables, the noisy measurements behind them, and what is promised.

    Attributes:
        tables: the synthetic tables, all of one schema.
        schema: the public schema.
        manifest: how the release was made.
        measurements: released noisy tables.
        frame: kind of data frame that `sets` gives out.
        pages: makes the pages (file name → text) that are saved with the release; the report room
            stands below this one, so the pipeline hands it in.
    """

    tables: tuple[pl.DataFrame, ...]
    schema: Schema
    manifest: Manifest
    measurements: tuple[Measurement, ...]
    frame: FrameKind = "pandas"
    pages: Callable[[Release], Mapping[str, str]] | None = field(
        default=None, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        """Refuse what was computed from the rows without noise."""
        if any(isinstance(part, Internal) for part in (*self.tables, *self.measurements)):
            raise ReleaseError(
                "A release cannot hold internal figures: they compare with confidential rows."
            )

    def __repr__(self) -> str:
        """One line."""
        seeded = "NOT private (seeded noise), " * (not self.manifest.secure)
        promise = f"{seeded}{self.guarantee.brief}"
        return f"Release({self.manifest.method}, {promise}, {self.size_words})"

    def _repr_html_(self) -> str:
        title = self.schema.title or "Synthetic data release"
        seeded = "NOT private: its noise was drawn from a seed. " * (not self.manifest.secure)
        facts = {
            "Method": self.manifest.method,
            "Guarantee": seeded + self.guarantee.statement,
            "Size": self.size_words,
        }
        return html(title, facts, self.tables)

    @property
    def size_words(self) -> str:
        """Sets, rows and columns."""
        sets = len(self.tables)
        return (
            f"{sets} {'set' if sets == 1 else 'sets'} × {self.manifest.n_rows:,} rows × "
            f"{len(self.schema.names):,} columns"
        )

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about the people in the table."""
        return self.manifest.guarantee

    @cached_property
    def sets(self) -> tuple[Any, ...]:
        """The synthetic tables as data frames of the kind that came in."""
        return tuple(to_frame(table, self.schema, self.frame) for table in self.tables)

    def save(self, path: str | Path, *, csv: bool = False) -> Path:
        """Write the release to a new folder, whole or not at all.

        Args:
            path: folder that does not exist yet (or is empty).
            csv: write the synthetic tables as CSV beside Parquet.

        Raises:
            ReleaseError: the folder exists and is not empty, or cannot be written.
        """
        place = path_of("The folder of a release", path, ReleaseError)
        measurements = [measurement.to_json() for measurement in self.measurements]
        content = {**self.manifest.to_json(), "measurements": measurements}
        publish(place, lambda folder: self._fill(folder, csv=csv), content)
        return place

    def _fill(self, folder: Path, *, csv: bool) -> None:
        from understudy.release.recipient import readme  # knows all methods: only to write

        pages = self.pages(self) if self.pages else {}
        texts = {
            "schema.toml": self.schema.released().dumps(),
            "README.md": readme(
                self.manifest, self.schema, self.measurements, csv=csv, report=bool(pages)
            ),
            **pages,
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "synthetic").mkdir()
        for k, table in enumerate(self.tables, start=1):
            table.write_parquet(folder / "synthetic" / f"set-{k}.parquet")
            if csv:
                table.write_csv(folder / "synthetic" / f"set-{k}.csv")
        (folder / "noisy").mkdir()
        for measurement in self.measurements:
            if measurement.name:
                cells = measurement.frame(self.schema)
                cells.write_parquet(folder / "noisy" / f"{measurement.name}.parquet")

    @classmethod
    def load(cls, path: str | Path, *, frame: FrameKind = "pandas") -> Release:
        """Read a release folder, after checking its version and checksums.

        Raises:
            ReleaseError: not a release, another format version, or a file that was changed.
        """
        folder = path_of("The folder of a release", path, ReleaseError)
        require_frame(frame)
        content = open_checked(folder)
        try:
            return cls._read(folder, content, frame)
        except (SchemaError, KeyError, TypeError, pl.exceptions.PolarsError, OSError):
            raise ReleaseError(
                f"The release {str(path)!r} is incomplete or malformed, although its checksums "
                "fit; ask its publisher for a new copy."
            ) from None

    @classmethod
    def _read(cls, folder: Path, content: dict[str, Any], frame: FrameKind) -> Release:
        schema = Schema.load(folder / "schema.toml")
        measurements = tuple(
            Measurement.from_json(data, _cells(folder, data["name"]), schema)
            for data in content.pop("measurements")
        )
        manifest = Manifest.from_json(content)
        sets = range(1, manifest.sets + 1)
        tables = tuple(pl.read_parquet(folder / "synthetic" / f"set-{k}.parquet") for k in sets)
        found = [name for name in _PAGES if (folder / name).exists()]
        pages = {name: (folder / name).read_text(encoding="utf-8") for name in found}
        return cls(tables, schema, manifest, measurements, frame, pages=lambda _: pages)


def _cells(folder: Path, name: str) -> pl.DataFrame | None:
    return pl.read_parquet(folder / "noisy" / f"{name}.parquet") if name else None
