"""A release: everything that is published, as one plain value, as a folder and in a notebook.

**What follows from a release alone is worked out once, however many questions are put to it.**

A release does not change, so what was worked out from it holds for as long as it lives. It is kept
with that one release: another, made by `dataclasses.replace` say, starts anew.

**What a notebook shows of a release: facts, and the first rows of its first set.**
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

import polars as pl
from markupsafe import Markup

from understudy import _notebook, _storage
from understudy._parallel import require_threads
from understudy._validation import kind_of, path_of
from understudy.dp.confidential import Internal
from understudy.dp.guarantee import Guarantee
from understudy.errors import ReleaseError
from understudy.release.consistency import is_of_this_version, require_rendered
from understudy.release.decoding import FrameKind, require_frame, to_frame
from understudy.release.folder import (
    MANIFEST,
    UNWRITTEN,
    checksums,
    digest,
    lay_out,
    open_checked,
    publish,
    require_key,
    signer_of,
    write,
)
from understudy.release.households import split, table_schemas, write_linked, write_linked_rows
from understudy.release.load import MALFORMED, PAGES, Parts, read_parts
from understudy.release.manifest import Manifest, before, without_places
from understudy.release.measurement import Measurement
from understudy.release.metadata import PACKAGE, linked_package, metadata_texts, row_files
from understudy.release.sets import PartedSets, first_parts, lazy, read_sets, write_set
from understudy.release.shape import Fault
from understudy.release.tables import FORMATS, RAW_CSV, formats_of, require_formats, write_rows
from understudy.schema import Schema
from understudy.schema.base import text_of

Rest = ParamSpec("Rest")
Found = TypeVar("Found")


def once(
    function: Callable[Concatenate[Release, Rest], Found],
) -> Callable[Concatenate[Release, Rest], Found]:
    """A function of a release and of names in it, worked out once for each of these.

    Two threads may both work it out, and find the same.

    Args:
        function: without side effects; what it gives is changed by nobody, and is as small as what
            is known of a few columns, since it is kept for as long as the release.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def look_up(release: Release, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Found:
        key, kept = (name, *args, *kwargs.items()), release.worked_out
        if key not in kept:
            kept[key] = function(release, *args, **kwargs)
        return cast("Found", kept[key])

    return look_up


_SHOWN_ROWS = 5
_SHOWN_COLUMNS = 8
_LONGEST = 40
_REPORT = "For the report: release.save(“folder”), then open folder/report.html in a browser."


def _first_rows(tables: Sequence[pl.DataFrame]) -> Markup:
    """The first rows of the first set, without the columns beyond the first few."""
    table = tables[0]
    names = table.columns[:_SHOWN_COLUMNS]
    more = ["…"] if len(table.columns) > _SHOWN_COLUMNS else []
    rows = table[list(names)].head(_SHOWN_ROWS).rows()
    title = f"First {len(rows)} synthetic rows" + (" of the first set" if len(tables) > 1 else "")
    return _notebook.grid(title, [*names, *more], [[*map(_short, row), *more] for row in rows])


def _short(value: object) -> str:
    text = "" if value is None else text_of(value) if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


@dataclass(frozen=True)
class Release:
    """Synthetic tables, the noisy measurements behind them, and what is promised.

    Attributes:
        tables: the synthetic tables, all of one schema; long ones are made, or read, part by part
            and whenever they are asked for (`release.sets`).
        schema: the public schema.
        manifest: how the release was made.
        measurements: released noisy tables.
        frame: kind of data frame that `sets` gives out.
        pages: makes the pages (file name → text) that are saved with the release; the report room
            stands below this one, so the pipeline hands it in.
        entered: enters the checksum of the release in the ledger of its population, when it is
            saved and before it appears under its name.
        signed_by: public key, in hex, of whoever signed the folder that it was read from; "" where
            nobody did.
        not_compared: README and pages of a folder that was read whose promise alone was compared
            with the manifest: another version rendered them, or nobody asked.
    """

    tables: Sequence[pl.DataFrame]
    schema: Schema
    manifest: Manifest
    measurements: tuple[Measurement, ...]
    frame: FrameKind = "pandas"
    pages: Callable[[Release], Mapping[str, str]] | None = field(
        default=None, compare=False, repr=False
    )
    entered: Callable[[str], None] | None = field(default=None, compare=False, repr=False)
    signed_by: str = field(default="", compare=False, repr=False)
    not_compared: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what was computed from the rows without noise, and drop a draft's fingerprints."""
        tables = self.tables if isinstance(self.tables, tuple) else ()
        if any(isinstance(part, Internal) for part in (*tables, *self.measurements)):
            raise ReleaseError(
                "A release cannot hold internal figures: they compare with confidential rows."
            )
        object.__setattr__(self, "schema", self.schema.strip_fingerprints())

    def __repr__(self) -> str:
        """One line."""
        seeded = "NOT private (seeded noise), " if not self.manifest.secure else ""
        promise = f"{seeded}{self.guarantee.brief}"
        return f"Release({self.manifest.method}, {promise}, {self.size_words})"

    def _repr_html_(self) -> str:
        title = self.schema.heading
        seeded = (
            "NOT private: its noise was drawn from a seed. " if not self.manifest.secure else ""
        )
        facts = {
            "Method": self.manifest.method,
            "Guarantee": seeded + self.guarantee.statement,
            "Size": self.size_words,
        }
        shown = _notebook.facts(title, facts) + _first_rows(first_parts(self.tables))
        return shown + _notebook.paragraphs([_REPORT])

    @property
    def size_words(self) -> str:
        """Sets, rows and columns."""
        sets = len(self.tables)
        return (
            f"{sets} {'set' if sets == 1 else 'sets'} × {self.manifest.n_rows:,} rows × "
            f"{len(self.schema.declared):,} columns"
        )

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for the people in the table."""
        return self.manifest.guarantee

    @cached_property
    def worked_out(self) -> dict[Hashable, Any]:
        """Results that will be asked for again (`once`)."""
        return {}

    @cached_property
    def behind_sets(self) -> tuple[Measurement, ...]:
        """The measurements that the records follow: without amendments and tables of places."""
        first = before(self.measurements, self.manifest.amendments)
        return without_places(first, self.schema, bought=self.manifest.places_share is not None)

    @cached_property
    def sets(self) -> tuple[Any, ...]:
        """The synthetic tables as data frames of the kind that came in, whole and in memory."""
        return tuple(to_frame(table, self.schema, self.frame) for table in self.tables)

    @property
    def linked_sets(self) -> tuple[dict[str, Any], ...]:
        """Units and members of every set: name of the table → data frame of the kind that came in.

        Raises:
            ReleaseError: the schema declares one flat table.
        """
        if self.schema.members is None:
            raise ReleaseError("The release has one flat table; use its `sets`.")
        schemas = table_schemas(self.schema)
        return tuple(
            {
                name: to_frame(table, schemas[name], self.frame)
                for name, table in split(whole, self.schema).items()
            }
            for whole in self.tables
        )

    @property
    def lazy_sets(self) -> tuple[pl.LazyFrame, ...]:
        """The synthetic tables as lazy frames of Polars; only what is used is read."""
        return tuple(lazy(self.tables, k) for k in range(len(self.tables)))

    def save(
        self,
        path: str | Path,
        *,
        also: str | Sequence[str] = (),
        csv: bool = False,
        csv_raw: bool = False,
        sign: str | Path | None = None,
    ) -> Path:
        """Write the release to a new folder, whole or not at all.

        When this returns, the folder is on the disk and survives a loss of power.

        Args:
            path: folder that does not exist yet (or is empty).
            also: formats of the synthetic tables beside Parquet: "csv", "sav" (SPSS), "dta"
                (Stata); "sav,dta" or several texts.
            csv: the same as the format "csv"; texts that a spreadsheet would take for a formula
                get an apostrophe (`formulas`).
            csv_raw: write CSV, and its texts as they are.
            sign: file of the private key that signs it (`understudy ledger key` makes one).

        Raises:
            SignatureError: the key cannot be read, or others can read it too.
            UnsavedError: the folder cannot be written; the release itself is unharmed, and can be
                saved elsewhere as long as this process lives.
            ReleaseError: the folder exists and is not empty, or another run holds its place; a
                format is not known, or cannot hold the codes that the schema declares.
            MethodError: a format needs a library that is not installed.
        """
        require_threads()
        place = path_of("The folder of a release", path, ReleaseError)
        formats = formats_of(also, csv=csv, csv_raw=csv_raw)
        require_formats(formats, self.schema)
        key = None if sign is None else path_of("The file of a key", sign, ReleaseError)
        if key is not None:
            require_key(key)
        publish(
            place,
            lambda folder: self._fill(folder, formats),
            self._content,
            before_rename=self.entered,
            key=key,
        )
        return place

    def write(self, folder: Path, formats: Sequence[str] = ()) -> None:
        """Write what `save` writes, to be looked at and dropped: unsynced, unsigned, not entered.

        Args:
            folder: that is there, and empty.
            formats: by `formats_of`.

        Raises:
            ReleaseError: a format cannot hold the codes that the schema declares.
            MethodError: a format needs a library that is not installed.
        """
        require_formats(formats, self.schema)
        write(folder, lambda place: self._fill(place, formats), self._content)

    @property
    def _content(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        measurements = [measurement.to_json() for measurement in self.measurements]
        return {**self.manifest.to_json(), "measurements": measurements}

    def export(self, path: str | Path, *, also: str | Sequence[str]) -> list[Path]:
        """Write the synthetic tables for other programs, to a folder that is no release.

        Args:
            path: folder that does not exist yet (or is empty).
            also: formats, as in `save`.

        Returns:
            The files.

        Raises:
            ReleaseError: no format is named, or one that is not known or cannot hold the codes that
                the schema declares; or the folder cannot be written.
            MethodError: a format needs a library that is not installed.
        """
        require_threads()
        place = path_of("The folder for the files", path, ReleaseError)
        formats = formats_of(also)
        if not formats:
            raise ReleaseError(f"Name a format to write, such as also={FORMATS[1]!r}.")
        require_formats(formats, self.schema)
        try:
            lay_out(place, lambda folder: self._export(folder, formats))
        except UNWRITTEN as error:
            raise ReleaseError(
                f"The files cannot be written to {str(place)!r}: {_storage.reason(error)}; choose "
                "another place."
            ) from None
        return sorted(place.iterdir())

    def _export(self, folder: Path, formats: Sequence[str]) -> None:
        write_rows(self.tables, self.schema, folder, formats)
        if self.schema.members is None:
            return
        guarded = write_linked_rows(self.tables, self.schema, folder, formats)
        if {"csv", RAW_CSV} & {*formats} and not guarded:  # else values are not as described
            package = linked_package(self.schema, self.manifest.sets, csv=True)
            (folder / PACKAGE).write_text(package, encoding="utf-8")

    def _fill(self, folder: Path, formats: Sequence[str]) -> dict[str, str]:
        """Write the files; gives back the checksums of those that were asked for meanwhile."""
        from understudy.release.readme import readme  # loads jinja2: only to write

        parted, rows = isinstance(self.tables, PartedSets), folder / "synthetic"
        rows.mkdir()
        places = [rows / f"set-{k + 1}" for k in range(len(self.tables))]
        for k, place in enumerate(places):
            write_set(self.tables, k, place)
        # Parts are read from here on: to draw them again takes ten times as long.
        tables = read_sets(places, self.manifest.n_rows) if parted else self.tables
        described = checksums(folder)
        guarded = write_rows(tables, self.schema, rows, formats)
        pages = self.pages(replace(self, tables=tables)) if self.pages else {}
        public = self.manifest, self.schema, self.measurements
        if self.schema.members is not None:
            write_linked(tables, self.schema, folder, formats)
        written = readme(
            *public, formats=formats, guarded=guarded, pages=tuple(pages), parted=parted
        )
        texts = {
            "schema.toml": self.schema.dumps(),
            "README.md": written,
            **metadata_texts(*public, row_files(described), parted=parted),
            **{name: pages[name] for name in PAGES if name in pages},
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        self._fill_noisy(folder / "noisy")
        return described

    def _fill_noisy(self, folder: Path) -> None:
        folder.mkdir()
        for measurement in self.measurements:
            if measurement.name:
                file = folder / f"{measurement.name}.parquet"
                if file.exists():
                    raise ReleaseError(
                        f"Two measurements are called {measurement.name!r}; name each differently."
                    )
                measurement.frame(self.schema).write_parquet(file)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        frame: FrameKind = "pandas",
        signer: str | None = None,
        compare_pages: bool = True,
    ) -> Release:
        """Read a release folder, after checking that it is one.

        First version, checksums and signature; then whether all parts fit each other, since
        checksums can be redone (`release.consistency`, `release.noise_check`).
        README and pages that this version rendered are rendered anew and compared; of those by
        other versions only the promise is, and `not_compared` names them.

        Args:
            path: folder of the release; nothing is read there that its manifest does not list.
            frame: kind of data frame that `sets` gives out.
            signer: public key, in hex, of whoever must have signed it.
            compare_pages: whether pages are rendered anew, which takes longer than all the rest;
                without, `not_compared` names them.

        Raises:
            ReleaseError: not a release, or of another format; a file that was changed, a folder
                that contradicts itself, or a signature that does not hold.
        """
        require_threads()
        folder = path_of("The folder of a release", path, ReleaseError)
        require_frame(frame)
        try:
            content = open_checked(folder)
            signed_by = signer_of(folder, signer)
            parts = read_parts(folder, content)
            loaded = cls(
                parts.tables,
                parts.schema,
                parts.manifest,
                parts.measurements,
                frame,
                pages=lambda _: parts.pages,
                signed_by=signed_by,
            )
            compared = (
                _compare_texts(loaded, parts, digest(folder / MANIFEST)) if compare_pages else ()
            )
        except Fault as fault:
            raise ReleaseError(
                f"The release {str(path)!r} does not fit itself, although its checksums fit: "
                f"{fault}; ask its publisher for a new copy."
            ) from None
        except MALFORMED:
            raise ReleaseError(
                f"The release {str(path)!r} is incomplete or malformed, although its checksums "
                "fit; ask its publisher for a new copy."
            ) from None
        left = (name for name in ("README.md", *parts.pages) if name not in compared)
        return replace(loaded, not_compared=tuple(left))


PageMaker = Callable[[Release], Mapping[str, str]]
_MAKERS: Final[list[PageMaker]] = []
_SEEN: Final[dict[str, tuple[str, ...]]] = {}
"""Checksum of a manifest, which has those of all files → pages that were compared."""


def render_pages_by(maker: PageMaker) -> None:
    """Say what renders the pages that `Release.load` compares: that room stands below this one.

    Args:
        maker: of file names and texts.
    """
    _MAKERS[:] = [maker]


def _compare_texts(release: Release, parts: Parts, checksum: str) -> tuple[str, ...]:
    """Names of README and pages that are what this version renders.

    Raises:
        Fault: one says that it is of this version, and is not what it renders.
    """
    if checksum not in _SEEN:
        texts = {"README.md": parts.readme, **parts.pages}
        ours = [name for name in texts if is_of_this_version(parts.manifest, name, texts[name])]
        pages = [name for name in ours if name != "README.md"]  # which was compared as it was read
        if pages and _MAKERS:
            anew = _MAKERS[0](release)
            for name in pages:
                require_rendered(name, parts.pages[name], [anew.get(name, "")])
        _SEEN[checksum] = tuple(ours) if _MAKERS else tuple({*ours} - {*pages})
    return _SEEN[checksum]


def given_release(release: object) -> Release:
    """The release, read from its folder if a path is given.

    Raises:
        ReleaseError: neither a release nor a path, or the folder is not a release.
    """
    require_threads()
    if isinstance(release, Release):
        return release
    if isinstance(release, str | Path):
        return Release.load(release)
    raise ReleaseError(
        f"The release must be a Release, or the path of its folder, not {kind_of(release)}."
    )
