"""Noisy tables that others measured: as a release folder like any other, or as tables of places.

A file in TOML says what the tables are of, which noise is in them, and who promises what::

    schema = "schema.toml"
    n_rows = 5000                       # as published
    [stated]
    by = "Statistical Office of Freedonia"
    epsilon = 1
    words = "pure differential privacy, one person added or removed"
    [[tables]]
    file = "sex-by-age.csv"             # or .parquet: a column for each variable, and one of values
    value = "value"
    law = "discrete laplace"            # laplace, discrete laplace, gaussian, discrete gaussian
    scale = 2                           # or variance = 8
    sensitivity = 1

What comes out is a `Release`: tables stand in `noisy/`, each paid by a step `stated elsewhere` of
no price, and its records are drawn from the maximum-entropy model of all tables. Nothing here can
check that the noise was drawn as stated. So the guarantee is of the kind `none`, and its sentence
says who states which promise. Error bars rest on the stated noise alone: answers are as valid as
that is. Where records are out of domain is not stated, and taken as nowhere.

`n_rows` is taken as exact: the number that the publisher declares, not a noisy total.

Measurements of dpsynth or mbi are given as the objects themselves, by their attributes; no file of
theirs is read, since loading a pickle runs what stands in it.

**Places**: plain files, and the files of the US Census.

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

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from understudy._arrays import Floats, Integers
from understudy._validation import kind_of, path_of
from understudy.dp.budget import Budget
from understudy.dp.distributions import ContinuousLaplace, DiscreteGaussian, DiscreteLaplace
from understudy.dp.guarantee import PUBLIC_ROWS, Guarantee, public_inputs
from understudy.dp.perturbation import describe_noise, words
from understudy.dp.released import Noise, NoisyTable
from understudy.errors import DataError, UnderstudyError, name_fault
from understudy.inference.places import PlaceEstimates, Places
from understudy.mechanisms.tables import query_of
from understudy.methods.marginals import Marginals
from understudy.models.spine import Hierarchy, LevelTable, SpineFit
from understudy.release.decoding import FrameKind, add_identifiers, decode
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement, content_of, stored_axes
from understudy.release.noise_check import STATED_ELSEWHERE
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.schema.geography import WHOLE
from understudy.schema.schema import given_schema
from understudy.workflow.describe import inference_facts, software, state_budget
from understudy.workflow.pages import pages

Law = Literal["laplace", "discrete laplace", "gaussian", "discrete gaussian"]
_LINE: Final = r"^[^\x00-\x1f\x7f]*$"
"""A text of one line."""
_SMOOTH: Final = 2.0
"""From this variance on normal noise is that of a discrete Gaussian: their variances differ by less
than 10⁻¹⁵."""


class Entry(BaseModel):
    """Part of a file that says what is read; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Stated(Entry):
    """Who promises what of the tables.

    Attributes:
        by: who measured them, and states the promise.
        epsilon: ε, as stated.
        delta: δ, as stated.
        words: all of the promise in words: neighbours, kind of privacy, where it is written.
    """

    by: str = Field(min_length=1, max_length=200, pattern=_LINE)
    epsilon: float = Field(gt=0)
    delta: float = Field(default=0.0, ge=0, lt=1)
    words: str = Field(default="", max_length=1000, pattern=_LINE)

    @property
    def sentence(self) -> str:
        """Who promises what, and that it was not checked."""
        size = f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")
        told = f" {self.words}" if self.words else ""
        return (
            "Its tables were measured elsewhere, and nothing of that was checked here. As stated "
            f"by {self.by}: {size}.{told}"
        )


class StatedTable(Entry):
    """A noisy table of another system.

    Attributes:
        file: CSV or Parquet file beside the TOML file: a column for each variable, with its values
            as the schema labels them, and one of values; every combination stands in it once.
        value: name of the column of values.
        law: of the noise in each value.
        scale: of Laplace noise: exp(−|x|/scale).
        variance: of the noise; in place of `scale`.
        sensitivity: by how much one unit can change the table, in the norm of the law.
    """

    file: str
    value: str = "value"
    law: Law
    scale: float | None = Field(default=None, gt=0)
    variance: float | None = Field(default=None, gt=0)
    sensitivity: float = Field(default=1.0, gt=0)

    @property
    def noise(self) -> StatedNoise:
        """The noise in one value."""
        return StatedNoise.of(self.law, self.scale, self.variance)


class StatedTables(Entry):
    """A file that says what is read.

    Attributes:
        schema_file: path of the schema's TOML file, seen from this file; `schema` in the file.
        n_rows: number of rows, as published.
        stated: the promise.
        tables: what was measured.
    """

    schema_file: str = Field(alias="schema")
    n_rows: int = Field(ge=1)
    stated: Stated
    tables: tuple[StatedTable, ...] = Field(min_length=1)


@dataclass(frozen=True)
class StatedNoise:
    """Noise as another system states it.

    Attributes:
        noise: as a measurement holds it.
        text: in words, for the ledger.
    """

    noise: Noise
    text: str

    @classmethod
    def of(cls, law: Law, scale: float | None, variance: float | None) -> StatedNoise:
        """The noise of a law with a scale or a variance.

        Raises:
            DataError: neither or both are given, or normal noise too small to be held.
        """
        if (scale is None) == (variance is None):
            raise DataError("Noise has either a scale or a variance; give one of them.")
        if law in ("gaussian", "discrete gaussian"):
            if variance is None:
                raise DataError(f"{law.capitalize()} noise is stated by its variance; give that.")
            if law == "gaussian" and variance < _SMOOTH:
                raise DataError(
                    f"Gaussian noise of a variance below {_SMOOTH:g} cannot be held as that of "
                    "whole numbers; give tables with more noise."
                )
            gaussian = DiscreteGaussian(_parameter(variance))
            return cls(describe_noise(gaussian), words(gaussian))
        if law == "laplace":
            continuous = ContinuousLaplace(
                math.sqrt(variance / 2) if variance else float(scale or 0)
            )
            return cls(describe_noise(continuous), words(continuous))
        if scale is None:
            assert variance is not None
            scale = 1 / (2 * math.asinh(1 / math.sqrt(2 * variance)))
        discrete = DiscreteLaplace(_parameter(scale))
        return cls(describe_noise(discrete), words(discrete))


def _parameter(number: float) -> Fraction:
    """A stated number as a fraction that a distribution takes, to nine digits at least.

    Raises:
        DataError: beyond what noise of counts can be.
    """
    if not 1e-3 <= number <= 1e12:
        raise DataError("A scale or variance lies between 0.001 and 10^12; state it in counts.")
    return Fraction(str(number)).limit_denominator(10**6 if number < 1e5 else 1)


def read_measurements(
    source: str | Path | Sequence[object],
    schema: Schema | str | Path | None = None,
    *,
    stated_by: str = "",
    epsilon: float | None = None,
    delta: float = 0.0,
    promise: str = "",
    n_rows: int | None = None,
    seed: int | None = None,
    frame: FrameKind = "pandas",
) -> Release:
    """Read noisy tables of another system as a release, measured elsewhere.

    Args:
        source: TOML file that says what is read; or measurements of dpsynth or mbi: objects with
            `clique` (names of columns), `stddev` and `values` (or `noisy_measurement`), one for
            each cell, the last column running fastest, with normal noise.
        schema: what the columns are; for objects alone, a file names its own.
        stated_by: who measured, for objects alone, as all that follows but the seed and the frame.
        epsilon: ε as they state it.
        delta: δ as they state it.
        promise: their promise in words.
        n_rows: number of rows as published; taken as exact.
        seed: of the records, which are drawn from what is read.
        frame: kind of data frame of the sets.

    Returns:
        A release with the tables as measurements and one set drawn from them. It has no
        guarantee of its own: it names what its publisher states.

    Raises:
        DataError: a file that cannot be read, or is no such table; names the entry.
        SchemaError: no schema.

    Example:
        >>> from types import SimpleNamespace
        >>> schema = Schema.loads('''
        ... [columns.sex]
        ... kind = "categorical"
        ... levels = ["f", "m"]
        ... source = "codebook"
        ... reviewed = true
        ... ''')
        >>> made = SimpleNamespace(clique=("sex",), stddev=3.0, values=[61.0, 38.0])
        >>> about = {"stated_by": "dpsynth", "epsilon": 1, "delta": 1e-6, "n_rows": 100}
        >>> release = read_measurements([made], schema, **about)
        >>> release.guarantee.kind, release.measurements[0].stddev
        ('none', 3.0)
    """
    if isinstance(source, str | Path):
        return _read_file(path_of("What is read", source, DataError), seed, frame)
    if not isinstance(source, Sequence) or not source:
        raise DataError(
            f"Measurements are a path, or a list of objects, not {kind_of(source)}; give one."
        )
    if n_rows is None or epsilon is None or not stated_by:
        raise DataError("Measurements as objects need stated_by, epsilon and n_rows; give them.")
    about = validate(
        Stated, {"by": stated_by, "epsilon": epsilon, "delta": delta, "words": promise}
    )
    known = _with_rows(given_schema(schema), n_rows)
    tables = [_from_object(one, known, place) for place, one in enumerate(source, start=1)]
    return _make_release(tables, known, about, seed, frame)


def _read_file(path: Path, seed: int | None, frame: FrameKind) -> Release:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} cannot be read as TOML: {type(error).__name__}.") from None
    asked = validate(StatedTables, content)
    schema = _with_rows(Schema.load(path.parent / asked.schema_file), asked.n_rows)
    tables = [_from_file(one, path.parent, schema) for one in asked.tables]
    return _make_release(tables, schema, asked.stated, seed, frame)


def validate(kind: type[Any], content: Mapping[str, Any]) -> Any:
    """An entry of the file, checked; its faults in a sentence."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(f"The entry {place!r}: {first['msg']}; correct it.") from None


def _with_rows(schema: Schema, n_rows: int) -> Schema:
    """The schema with the published number of rows."""
    schema.require_reviewed()
    return schema.model_copy(update={"rows": "public", "n_rows": n_rows, "row_limit": None})


@dataclass(frozen=True)
class _Table:
    table: NoisyTable
    text: str
    sensitivity: str


def _from_file(stated: StatedTable, folder: Path, schema: Schema) -> _Table:
    """A table from its file."""
    path = folder / stated.file
    if path.suffix not in (".csv", ".parquet"):
        raise DataError(f"The table {stated.file!r} is neither .csv nor .parquet; convert it.")
    try:
        cells = (
            pl.read_parquet(path)
            if path.suffix == ".parquet"
            else pl.read_csv(path, infer_schema=False)
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"The table {stated.file!r} cannot be read: {type(error).__name__}; correct its path."
        ) from None
    if stated.value not in cells.columns:
        raise DataError(f"The table {stated.file!r} has no column {stated.value!r} of values.")
    columns = tuple(name for name in cells.columns if name != stated.value)
    _require_columns(columns, schema, stated.file)
    noise = stated.noise
    axes = stored_axes(Kind.TABLE, columns, (), noise.noise.family, schema)
    try:
        values = cells.get_column(stated.value).cast(pl.Float64).to_numpy()
        places = [
            cells.get_column(name).cast(pl.String).fill_null("(empty)").replace({"": "(empty)"})
            .cast(pl.Enum(states)).to_physical().to_numpy().astype(np.int64)
            for name, states in axes.items()
        ]  # fmt: skip
    except pl.exceptions.PolarsError:
        raise DataError(
            f"The table {stated.file!r} has a value that is no number, or a state that the schema "
            "does not have; write states as the schema labels them."
        ) from None
    sizes = [len(states) for states in axes.values()]
    codes = np.ravel_multi_index(places, sizes) if sizes else np.zeros(len(values), np.int64)
    counts = np.zeros(math.prod(sizes))
    counts[codes] = values
    allowed = schema.table(columns).allowed_mask().reshape(-1)
    found = np.bincount(codes, minlength=len(counts))
    if (found > 1).any() or not (found[allowed] == 1).all() or not np.isfinite(values).all():
        raise DataError(
            f"The table {stated.file!r} does not have each combination of its columns once, with a "
            "finite value; complete it, or leave it out."
        )
    counts[~allowed] = 0
    kind = "L2" if noise.noise.family.is_gaussian else "L1"
    table = NoisyTable(columns, counts.reshape(sizes), 0.0, noise.noise)
    return _Table(table, noise.text, f"{kind} = {stated.sensitivity:g}, as stated")


def _from_object(made: object, schema: Schema, place: int) -> _Table:
    """A table from a measurement of dpsynth or mbi, by its attributes alone."""
    values = getattr(made, "values", None)
    values = getattr(made, "noisy_measurement", None) if values is None else values
    clique, stddev = getattr(made, "clique", None), getattr(made, "stddev", None)
    if values is None or clique is None or not isinstance(stddev, int | float):
        raise DataError(
            f"Measurement {place} lacks values (or noisy_measurement), clique or stddev; give "
            "linear measurements of marginals."
        )
    columns = tuple(map(str, clique))
    _require_columns(columns, schema, f"measurement {place}")
    domain = schema.table(columns)
    counts = np.asarray(values, dtype=np.float64)
    if counts.size != domain.n_cells or not np.isfinite(counts).all():
        raise DataError(
            f"Measurement {place} has {counts.size:,} values for {domain.n_cells:,} cells of "
            f"{', '.join(columns)}; only whole marginals of the schema's states can be read."
        )
    noise = StatedNoise.of("gaussian", None, float(stddev) ** 2)
    counts = np.where(domain.allowed_mask(), counts.reshape(domain.sizes), 0.0)
    return _Table(NoisyTable(columns, counts, 0.0, noise.noise), noise.text, "L2 = 1, as stated")


def _require_columns(columns: tuple[str, ...], schema: Schema, what: str) -> None:
    for name in columns:
        if name_fault(name) or name not in schema.names:
            raise DataError(f"{what!r} has a column {name!r} that the schema does not measure.")
    if len(set(columns)) < len(columns):
        raise DataError(f"{what!r} names a column twice; keep one.")


def _make_release(
    tables: Sequence[_Table], schema: Schema, stated: Stated, seed: int | None, frame: FrameKind
) -> Release:
    """The release of tables that were measured elsewhere, with one set of records."""
    try:
        budget = Budget.of(stated.epsilon, stated.delta)
    except UnderstudyError as error:
        raise DataError(f"The stated ε and δ are no budget: {error}") from None
    method = Marginals(sets="free")
    width = len(str(len(tables)))
    measurements = tuple(
        Measurement(
            **vars(content_of(one.table, schema)),
            name=f"table-{k:0{width}d}",
            distribution=one.table.noise.distribution,
            scale=one.table.noise.scale,
            stddev=one.table.noise.stddev,
            entry=k,
        )
        for k, one in enumerate(tables, start=1)
    )
    n_rows = schema.n_rows or 0
    model = method.rebuilt(schema, [*map(_of, tables), *_missing_one_ways(tables, schema)], n_rows)
    assert model is not None
    rng = np.random.default_rng(seed)
    drawn = model.sample(n_rows, rng)
    records = decode(drawn.states, schema, rng, drawn.values)
    records = add_identifiers(records[rng.permutation(n_rows)], schema)
    price = {budget.unit_name: None, f"{budget.unit_name}_exact": None}
    steps = [
        {
            "number": k,
            "mechanism": STATED_ELSEWHERE,
            "query": query_of(one.table.columns),
            "sensitivity": one.sensitivity,
            "noise": one.text,
            "cells": schema.table(one.table.columns).n_allowed + 1,
            **price,
        }
        for k, one in enumerate(tables, start=1)
    ]
    manifest = Manifest(
        method=method.facts.name,
        options={k: list(v) if isinstance(v, tuple) else v for k, v in asdict(method).items()},
        reason=f"records are fitted to tables that {stated.by} measured",
        sets=1,
        sets_kind=method.sets,
        n_rows=n_rows,
        rows_obtained=PUBLIC_ROWS,
        guarantee=Guarantee(
            "none", None, budget.delta, schema.neighbours,
            public_inputs=public_inputs(schema), leaks=(stated.sentence,),
        ),
        budget=state_budget(budget),
        ledger=tuple(steps),
        secure=True,
        sampling_seed=seed,
        software=dict(software()),
        inference=inference_facts(method, schema, measurements),
    )  # fmt: skip
    return Release((records,), schema, manifest, measurements, frame, pages=pages)


def _of(one: _Table) -> NoisyTable:
    return one.table


def _missing_one_ways(tables: Sequence[_Table], schema: Schema) -> list[NoisyTable]:
    """One-way tables that a fit needs and nobody measured: sums of the table with least noise.

    Raises:
        DataError: a column that no table has.
    """
    found = []
    for name in schema.names:
        with_it = [one.table for one in tables if name in one.table.columns]
        if not with_it:
            raise DataError(
                f"No table has the column {name!r}; leave it out of the schema, or add a table."
            )
        if any(one.columns == (name,) for one in with_it):
            continue

        def sum_out(one: NoisyTable, name: str = name) -> float:
            return float(one.counts.size / one.counts.shape[one.columns.index(name)])

        best = min(with_it, key=lambda one: one.stddev**2 * sum_out(one))
        others = tuple(k for k, column in enumerate(best.columns) if column != name)
        counts: Floats = best.counts.sum(axis=others)
        noise = Noise(
            best.noise.distribution, best.noise.scale, best.stddev * math.sqrt(sum_out(best))
        )
        found.append(NoisyTable((name,), counts, 0.0, noise))
    return found


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
