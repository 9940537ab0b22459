"""Synthetic tables that are too long to hold: their parts are made, or read, whenever asked for.

A table of more than `PART_ROWS` records comes in parts of so many; the last has the rest. Whoever
takes one table (`sets[0]`) gets it whole, and needs memory for all of it; whoever goes over its
parts (`parts_of`) needs memory for one.

**Fresh identifiers of synthetic records: the number of each record's place in its set.**
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, Final, overload
from weakref import WeakValueDictionary

import polars as pl

from understudy._storage import PARQUET_NOTE
from understudy.errors import ReleaseError
from understudy.release.decoding import without_formulas

PART_ROWS: Final = 2**20
_AT_ONCE: Final = 2

Part = Callable[[int, int], pl.DataFrame]
"""Makes a part: of which set, and which part of it, both from 0; the same one each time."""


Elsewhere = Callable[[Callable[[int], pl.DataFrame], Sequence[Path]], None]
"""Writes parts of one table in other processes: what makes a part by its number, and the files. One
that is missing afterwards is written here."""


class PartedSets(Sequence[pl.DataFrame]):
    """Synthetic tables in parts.

    Args:
        n_sets: how many tables.
        n_rows: records of each.
        part: makes one part of one of them.
        files: of the parts of each table, if it is made by reading them.
        elsewhere: writes parts in other processes, if any do.

    Attributes:
        sizes: records of each part of a table.
    """

    def __init__(
        self,
        n_sets: int,
        n_rows: int,
        part: Part,
        files: Sequence[Sequence[Path]] = (),
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._n_sets, self._elsewhere = n_sets, elsewhere
        self.part, self.files = part, files
        self.sizes = part_sizes(n_rows)
        self._firsts: WeakValueDictionary[int, pl.DataFrame] = WeakValueDictionary()

    def __len__(self) -> int:
        return self._n_sets

    @overload
    def __getitem__(self, index: int) -> pl.DataFrame: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[pl.DataFrame]: ...

    def __getitem__(self, index: int | slice) -> pl.DataFrame | Sequence[pl.DataFrame]:
        """One table, or several, whole."""
        if isinstance(index, slice):
            return [self[k] for k in range(self._n_sets)[index]]
        return pl.concat(self.parts(range(self._n_sets)[index]))

    def parts(self, k: int) -> Iterator[pl.DataFrame]:
        """The parts of one table, one after the other."""
        return (self.part(k, i) for i in range(len(self.sizes)))

    def first(self, k: int) -> pl.DataFrame:
        """The first part of one table, made once for as long as somebody has it."""
        found = self._firsts.get(k)
        if found is None:
            found = self._firsts[k] = self.part(k, 0)
        return found

    def write(self, k: int, files: Sequence[Path]) -> None:
        """Write the parts of one table as Parquet, a few at once.

        Args:
            k: of which table.
            files: of its parts, in a folder that exists.
        """

        def write_part(i: int) -> None:
            self.part(k, i).write_parquet(files[i], metadata=PARQUET_NOTE)

        if self._elsewhere is not None:
            self._elsewhere(partial(self.part, k), files)
        with ThreadPoolExecutor(_AT_ONCE) as workers:
            for _ in workers.map(
                write_part, [i for i, file in enumerate(files) if not file.exists()]
            ):
                pass


def lazy(tables: Sequence[pl.DataFrame], k: int) -> pl.LazyFrame:
    """One table as a lazy frame, of which no more is made or read than is used."""
    if not isinstance(tables, PartedSets):
        return tables[k].lazy()
    if tables.files:
        return pl.scan_parquet(list(tables.files[k]), glob=False)
    schema = tables.first(k).schema

    def part(i: int) -> pl.LazyFrame:
        return pl.defer(lambda: tables.part(k, i), schema=schema)

    return pl.concat([part(i) for i in range(len(tables.sizes))])


def write_set(tables: Sequence[pl.DataFrame], k: int, place: Path) -> None:
    """Write one table as a Parquet file, or as a folder of them if it comes in parts.

    Args:
        tables: all of them.
        k: number of the one, from 0.
        place: of the file without its ending, or of the folder.
    """
    if not isinstance(tables, PartedSets):
        tables[k].write_parquet(f"{place}.parquet", metadata=PARQUET_NOTE)
        return
    place.mkdir()
    names = part_names(len(tables.sizes))
    tables.write(k, [place / name for name in names])


def write_file(parts: Iterable[pl.DataFrame], place: Path, note: str) -> None:
    """Write records that come in parts into one new file, whole or not at all.

    Args:
        parts: one after the other, at least one.
        place: of the file; CSV if it ends in ".csv", with texts guarded as in a release that is
            saved with `csv`, else Parquet.
        note: what they are, which the metadata of a Parquet file say under "understudy".

    Raises:
        ReleaseError: it cannot be written.
    """
    unfinished = place.with_name(f".{place.name}.part")
    try:
        with unfinished.open("wb") as file:
            (_write_csv if place.suffix == ".csv" else _write_parquet)(parts, file, note)
        unfinished.replace(place)
    except OSError as error:
        raise ReleaseError(
            f"The file {str(place)!r} cannot be written: {error.strerror}."
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)


def _write_csv(parts: Iterable[pl.DataFrame], file: IO[bytes], _note: str) -> None:
    for i, part in enumerate(parts):
        without_formulas(part).write_csv(file, include_header=not i)


def _write_parquet(parts: Iterable[pl.DataFrame], file: IO[bytes], note: str) -> None:
    from pyarrow.parquet import ParquetWriter  # takes long, and few need it

    with ExitStack() as open_file:
        writer = None
        for part in parts:
            table = part.to_arrow().replace_schema_metadata({"understudy": note})
            if writer is None:
                writer = open_file.enter_context(ParquetWriter(file, table.schema))
            writer.write_table(table)


def read_sets(places: Sequence[Path], n_rows: int) -> PartedSets:
    """Tables in parts, from a folder of each."""
    names = part_names(len(part_sizes(n_rows)))
    files = [[place / name for name in names] for place in places]

    def part(k: int, i: int) -> pl.DataFrame:
        return pl.read_parquet(files[k][i], hive_partitioning=False)

    return PartedSets(len(files), n_rows, part, files)


def part_names(n_parts: int) -> list[str]:
    """Names of the files of a table in parts, in order."""
    width = max(3, len(str(n_parts)))
    return [f"part-{i:0{width}d}.parquet" for i in range(1, n_parts + 1)]


def part_sizes(n_rows: int) -> tuple[int, ...]:
    """Records of each part of a table."""
    whole, rest = divmod(n_rows, PART_ROWS)
    return (PART_ROWS,) * whole + ((rest,) if rest else ())


def first_parts(tables: Sequence[pl.DataFrame]) -> tuple[pl.DataFrame, ...]:
    """The first part of each table: all of it, where it is short."""
    if isinstance(tables, PartedSets):
        return tuple(tables.first(k) for k in range(len(tables)))
    return tuple(tables)


def parts_of(tables: Sequence[pl.DataFrame], k: int) -> Iterator[pl.DataFrame]:
    """The parts of one table, one after the other."""
    return tables.parts(k) if isinstance(tables, PartedSets) else iter([tables[k]])
