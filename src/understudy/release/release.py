"""A release: everything that is published, as one plain value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from understudy.privacy.guarantee import Guarantee
from understudy.release.measurement import Measurement
from understudy.release.rows import FrameKind, to_frame
from understudy.schema import Schema


@dataclass(frozen=True)
class Manifest:
    """How a release was made. It says nothing about the input file.

    Attributes:
        method: name in the table of methods.
        options: every option of the method, defaults included.
        reason: why this method, where it was chosen automatically; else "".
        sets: number of synthetic tables.
        sets_kind: "free": all drawn from one paid-for fit; "split": each has its own fit and its
            own share of the budget.
        n_rows: rows of each synthetic table.
        rows_obtained: how that number was obtained.
        guarantee: what is promised.
        budget: the stated budget, as decimals.
        ledger: every paid step, as plain data.
        secure: whether the noise came from the operating system's entropy.
        sampling_seed: seed of the sampling after the last paid step; None if it was not seeded.
        software: versions.
    """

    method: str
    options: dict[str, Any]
    reason: str
    sets: int
    sets_kind: str
    n_rows: int
    rows_obtained: str
    guarantee: Guarantee
    budget: dict[str, str]
    ledger: tuple[dict[str, Any], ...]
    secure: bool
    sampling_seed: int | None
    software: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "guarantee": self.guarantee.to_json(), "ledger": list(self.ledger)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Manifest:
        """Read back what `to_json` wrote."""
        guarantee = Guarantee.from_json(data["guarantee"])
        return cls(**{**data, "guarantee": guarantee, "ledger": tuple(data["ledger"])})


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
        from understudy.release.bundle import write

        return write(self, Path(path), csv=csv)

    @classmethod
    def load(cls, path: str | Path, *, frame: FrameKind = "pandas") -> Release:
        """Read a release folder, after checking its version and checksums.

        Raises:
            ReleaseError: not a release, another format version, or a file that was changed.
        """
        from understudy.release.bundle import read

        return read(Path(path), frame=frame)
