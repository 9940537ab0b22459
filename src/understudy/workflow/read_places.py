"""Noisy tables of places that others measured: plain files, and the files of the US Census.

They become `Places`, which answers with intervals, and no release folder: a release holds tables of
columns of one schema in which each record has a state, and the places of a country, some millions,
with exact totals in between, are a tree beside it.

Plain files are named by one in TOML::

    [spine]
    file = "areas.csv"                       # a line for each area, with its code at every level
    levels = ["state", "county", "area"]     # the whole, "all", stands above them
    source = "official list of places"
    [axes]
    sex = ["f", "m"]
    [stated]
    by = "Statistical Office of Freedonia"
    epsilon = 1
    [[tables]]
    level = "county"                         # a column of this name, one for each axis, and values
    file = "county.csv"
    law = "gaussian"
    variance = 50
    [[invariants]]                           # exact, by a public file
    level = "state"
    file = "totals.csv"
    source = "law of the census"

**Noisy measurement files of the US Census** (2020): a folder for each level with Parquet files,
whose lines have `geocode`, `query_name`, `value` (a list), `variance`, and a column for each axis.
Names end in `_dpq`, or in `_con` for constraints. Those with the sign "=" are exact; the others
bound a count and are left aside, as are queries of groups of states. The code of a place begins
with that of its parent.

**Generalised least squares that the Census published**: text with `|` between `geocode`, `query`,
`estimate`, `std_dev` and a description.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import Field

from understudy._arrays import Floats, Integers
from understudy._validation import path_of
from understudy.errors import DataError
from understudy.inference.places import PlaceEstimates, Places
from understudy.models.spine import Hierarchy, LevelTable, SpineFit
from understudy.schema.geography import WHOLE
from understudy.workflow.read import Entry, Stated, StatedTable, validate


class Spine(Entry):
    """The tree of places.

    Attributes:
        file: CSV or Parquet file with a line for each place of the finest level, and a column for
            each level.
        levels: names of these columns, from the coarsest.
        source: of the file; it is public.
    """

    file: str
    levels: tuple[str, ...] = Field(min_length=1)
    source: str = ""


class PlaceTable(StatedTable):
    """A noisy table of all places of a level; `level` is one of the spine, or "all"."""

    level: str


class Invariant(Entry):
    """Exact totals of places, as a public file states them.

    Attributes:
        level: of the places.
        file: a column of the level's name, one for each axis that it has, and one of values.
        value: name of the latter.
        source: who published it, and where; the rows are none.
    """

    level: str
    file: str
    value: str = "value"
    source: str = Field(min_length=1)


class PlaceTables(Entry):
    """A file that says what is read."""

    spine: Spine
    stated: Stated
    axes: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    tables: tuple[PlaceTable, ...] = Field(min_length=1)
    invariants: tuple[Invariant, ...] = ()


def read_places(path: str | Path) -> Places:
    """Read noisy tables of places that a TOML file names.

    Args:
        path: of the TOML file.

    Returns:
        Answers with intervals for every place and any sum of places.

    Raises:
        DataError: a file that cannot be read or does not fit; names it.
    """
    place = path_of("What is read", path, DataError)
    try:
        content = tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} cannot be read as TOML: {type(error).__name__}.") from None
    asked, folder = validate(PlaceTables, content), place.parent
    levels = asked.spine.levels
    if WHOLE in levels or len({*levels, *asked.axes}) < len(levels) + len(asked.axes):
        raise DataError(f"Levels and axes need names of their own, and none is {WHOLE!r}.")
    codes, tree = _tree(_frame(folder / asked.spine.file), levels)
    named = (WHOLE, *levels)
    told: list[tuple[PlaceTable | Invariant, float]] = [
        (one, one.noise.noise.stddev**2) for one in asked.tables
    ]
    told += [(one, 0.0) for one in asked.invariants]
    known = dict(zip(named, codes, strict=True))
    tables = [_level_table(one, variance, known, asked.axes, folder) for one, variance in told]
    fit = fit_tables(tree, [len(labels) for labels in asked.axes.values()], tables)
    return Places(named, codes, asked.axes, fit, asked.stated.sentence)


def fit_tables(tree: Hierarchy, sizes: Sequence[int], tables: Sequence[LevelTable]) -> SpineFit:
    """Least squares of tables of others.

    Raises:
        DataError: exact tables that contradict each other.
    """
    try:
        fit = SpineFit(tree, sizes, tables)
    except ValueError as error:
        raise DataError(f"The tables do not fit each other: {error}.") from None
    for level in range(tree.depth):
        above, below = fit.counts(level), np.moveaxis(fit.counts(level + 1), 0, -1)
        inner = tree.fan_outs[level] > 0
        summed = np.moveaxis(tree.sums(level, below), -1, 0)
        if not np.allclose(summed[inner], above[inner], rtol=1e-9, atol=1e-6):
            raise DataError(
                "Exact tables of a level do not sum to those of the level above; correct their "
                "public files."
            )
    return fit


def _frame(path: Path) -> pl.DataFrame:
    """A table whose cells are texts, or what Parquet holds."""
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        return pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path.name!r} cannot be read: {type(error).__name__}.") from None


def _tree(
    areas: pl.DataFrame, levels: Sequence[str]
) -> tuple[tuple[tuple[str, ...], ...], Hierarchy]:
    """Codes of each level, the whole first, and the tree.

    Raises:
        DataError: a level that is no column, or a place within two.
    """
    if lacking := [name for name in levels if name not in areas.columns]:
        raise DataError(f"The file of places has no column {lacking[0]!r}; correct spine.levels.")
    texts = areas.select(pl.col(name).cast(pl.String) for name in levels).unique(
        maintain_order=True
    )
    if any(texts.null_count().row(0)):
        raise DataError("The file of places has an area without a code; complete it.")
    codes: list[tuple[str, ...]] = [(WHOLE,)]
    parents: list[Integers] = [np.zeros(1, np.int64)]
    for k, name in enumerate(levels):
        above = {code: place for place, code in enumerate(codes[-1])}
        upper = texts.get_column(levels[k - 1]).to_list() if k else [WHOLE] * texts.height
        within: dict[str, str] = {}
        for code, parent in zip(texts.get_column(name).to_list(), upper, strict=True):
            if within.setdefault(code, parent) != parent:
                raise DataError(f"A place of the level {name!r} lies in two of the level above.")
        codes.append(tuple(within))
        parents.append(np.array([above[parent] for parent in within.values()], dtype=np.int64))
    return tuple(codes), Hierarchy(tuple(parents))


def _level_table(
    asked: PlaceTable | Invariant,
    variance: float,
    places: Mapping[str, Sequence[str]],
    axes: Mapping[str, tuple[str, ...]],
    folder: Path,
) -> LevelTable:
    """A table of a level, from its file.

    Raises:
        DataError: a level, place or state that there is not, or cells that lack.
    """
    if asked.level not in places:
        raise DataError(
            f"The table {asked.file!r} is of a level {asked.level!r} that is not there."
        )
    level, cells = [*places].index(asked.level), _frame(folder / asked.file)
    own = [name for name in cells.columns if name not in (asked.value, asked.level)]
    columns = {asked.level: places[asked.level]} if level else {}
    if {asked.value, *columns} - {*cells.columns} or {*own} - {*axes}:
        raise DataError(
            f"The table {asked.file!r} needs columns {', '.join([*columns, asked.value])}, and "
            "others only for axes; correct it."
        )
    kept = [j for j, name in enumerate(axes) if name in own]
    columns |= {name: axes[name] for j, name in enumerate(axes) if j in kept}
    if any(cells.select(asked.value, *columns).null_count().row(0)):
        raise DataError(f"The table {asked.file!r} has an empty cell; complete it.")
    try:
        values = cells.get_column(asked.value).cast(pl.Float64).to_numpy()
        states = [
            cells.get_column(name).cast(pl.String).cast(pl.Enum(labels)).to_physical().to_numpy()
            for name, labels in columns.items()
        ]
    except pl.exceptions.PolarsError:
        raise DataError(
            f"The table {asked.file!r} has a value that is no number, or a place or state that is "
            "not declared."
        ) from None
    sizes = [*map(len, columns.values())]
    numbers = (
        np.ravel_multi_index([one.astype(np.int64) for one in states], sizes)
        if sizes
        else np.zeros(len(values), np.int64)
    )
    counts = np.full(int(np.prod(sizes)), np.nan)
    counts[numbers] = values
    if len(numbers) != len(counts) or not np.isfinite(counts).all():
        raise DataError(
            f"The table {asked.file!r} does not have each place and cell once, with a finite value."
        )
    shape = (
        len(places[asked.level]),
        *(len(axes[name]) for j, name in enumerate(axes) if j in kept),
    )
    return LevelTable(level, tuple(kept), counts.reshape(shape), variance)


def read_noisy_measurements(
    folder: str | Path,
    levels: Sequence[str],
    axes: Mapping[str, Sequence[str]],
    *,
    stated_by: str = "US Census Bureau",
) -> Places:
    """Read noisy measurement files of the US Census.

    Args:
        folder: with a folder of Parquet files for each level.
        levels: names of these folders, from the coarsest, whose only place is the root.
        axes: axis → labels of its states, in the order in which `value` runs, the last one fastest.
        stated_by: who states the promise.

    Returns:
        Answers with intervals for every place and any sum of places.

    Raises:
        DataError: a folder that cannot be read, or lines that do not fit.
    """
    place = path_of("What is read", folder, DataError)
    codes: list[tuple[str, ...]] = []
    parents: list[Integers] = []
    tables: list[LevelTable] = []
    aside: dict[str, None] = {}
    sizes = [len(labels) for labels in axes.values()]
    for depth, level in enumerate(levels):
        lines = _census_lines(place / level)
        own = tuple(dict.fromkeys(lines.get_column("geocode").to_list()))
        parents.append(_parents(own, codes[-1] if codes else None))
        codes.append(own)
        for (query, exact), part in lines.group_by("query_name", "exact", maintain_order=True):
            kept = _census_axes(str(query), [*axes])
            if kept is None or exact is None:
                aside.setdefault(f"{query} of {level}")
                continue
            tables.append(_census_table(part, own, depth, kept, sizes, exact=bool(exact)))
    named = {name: tuple(labels) for name, labels in axes.items()}
    fit = fit_tables(Hierarchy(tuple(parents)), sizes, tables)
    stated = f"Measured by {stated_by}, and its promise is as they state it; not checked here."
    return Places(tuple(levels), tuple(codes), named, fit, stated, tuple(aside))


def _census_lines(folder: Path) -> pl.DataFrame:
    """Lines of all files of a level: geocode, query_name, value, variance, and whether it is exact.

    `exact` is null for a constraint that bounds a count. Integer widths, and whether there is a
    sign, differ from file to file.
    """
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise DataError(f"The folder {folder.name!r} has no Parquet file; correct levels.")
    parts = []
    for file in files:
        lines = _frame(file)
        if {"geocode", "query_name", "value"} - {*lines.columns}:
            raise DataError(f"{file.name!r} lacks geocode, query_name or value.")
        sign = (
            pl.col("sign").cast(pl.String) if "sign" in lines.columns else pl.lit(None, pl.String)
        )
        variance = (
            pl.col("variance").cast(pl.Float64)
            if "variance" in lines.columns
            else pl.lit(None, pl.Float64)
        )
        constraint = pl.col("query_name").str.ends_with("_con")
        parts.append(
            lines.select(
                pl.col("geocode").cast(pl.String).fill_null(""),
                pl.col("query_name").cast(pl.String),
                pl.col("value").cast(pl.List(pl.Float64)),
                variance.fill_null(0.0).alias("variance"),
                pl.when(constraint & (sign.fill_null("=") != "="))
                .then(None)
                .otherwise(constraint)
                .alias("exact"),
            )
        )
    return pl.concat(parts)


def _parents(own: Sequence[str], above: Sequence[str] | None) -> Integers:
    """Place of each code's parent: the only root, or the code that it begins with."""
    if above is None or len(above) == 1:
        return np.zeros(len(own), np.int64)
    place = {code: k for k, code in enumerate(above)}
    lengths = sorted({len(code) for code in above}, reverse=True)
    found = []
    for code in own:
        parent = next((place[code[:n]] for n in lengths if code[:n] in place), None)
        if parent is None:
            raise DataError("A place's code does not begin with that of one of the level above.")
        found.append(parent)
    return np.array(found, dtype=np.int64)


def _census_axes(query: str, axes: Sequence[str]) -> tuple[int, ...] | None:
    """Axes of a query: "total", "detailed", or names with * between; None for groups of states."""
    words = query.removesuffix("_dpq").removesuffix("_con").strip()
    if words == "total":
        return ()
    if words == "detailed":
        return tuple(range(len(axes)))
    names = [name.strip() for name in words.split("*")]
    if not {*names} <= {*axes} or len({*names}) < len(names):
        return None
    return tuple(sorted(axes.index(name) for name in names))


def _census_table(
    lines: pl.DataFrame,
    codes: Sequence[str],
    level: int,
    axes: tuple[int, ...],
    sizes: Sequence[int],
    *,
    exact: bool,
) -> LevelTable:
    """A query as a table of a level; places without a line were not measured."""
    shape = tuple(sizes[j] for j in axes)
    place = {code: k for k, code in enumerate(codes)}
    counts = np.zeros((len(codes), int(np.prod(shape))))
    variance = np.full(len(codes), np.inf)
    for code, value, noise in lines.select("geocode", "value", "variance").iter_rows():
        k = place[code]
        whole = len(value) == counts.shape[1] and None not in value
        if not whole or np.isfinite(variance[k]) or not (exact or 0 < noise < np.inf):
            raise DataError(
                "A query of the noisy measurements has another number of values than its axes, two "
                "lines of one place, or no variance; check axes."
            )
        counts[k], variance[k] = value, 0.0 if exact else noise
    table: Floats = counts.reshape(len(codes), *shape)
    return LevelTable(level, axes, table, variance)


def read_estimates(path: str | Path, *, stated_by: str = "US Census Bureau") -> PlaceEstimates:
    """Read generalised least squares that the US Census published, with a `std_dev` each.

    Args:
        path: text file with `|` between its columns.
        stated_by: who states the promise.

    Raises:
        DataError: the file cannot be read, or lacks a column.
    """
    place = path_of("What is read", path, DataError)
    try:
        lines = pl.read_csv(place, separator="|", infer_schema=False, quote_char=None)
        frame = lines.select(
            pl.col("geocode").alias("place"),
            "query",
            pl.col("estimate").cast(pl.Float64),
            pl.col("std_dev").cast(pl.Float64).alias("error"),
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{place.name!r} is no table of geocode, query, estimate and std_dev with | between "
            f"them: {type(error).__name__}."
        ) from None
    stated = f"Published by {stated_by}, and the promise is as they state it; not checked here."
    return PlaceEstimates(frame, stated)
