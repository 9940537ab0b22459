"""Answers about places: tables, totals and sums of areas, each with its interval.

Everything rests on least squares over all that was measured in the tree of places
(`understudy.models.spine`). So an area gains from what was measured of its county, two siblings
lean on each other, and a sum of areas that is no node itself has the variance of that very sum.
Intervals are those of normal noise, which sums of several noisy numbers have nearly.

**Places of a release**: columns of one place within another, by the hierarchies that its schema
declares, with every table that the release measured of them. Each table is a step of the ledger of
its own, in which a record stands once, so what the levels cost adds up.

**Estimates that others published with a standard deviation each, and nothing of how they go
together: single ones have intervals, sums have none.**
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Final

import numpy as np
import polars as pl

from understudy._arrays import Floats
from understudy.errors import InferenceError, suggestion
from understudy.inference.combining import require_level
from understudy.inference.noisy_tables import covers, marginal
from understudy.models.spine import Hierarchy, LevelTable, SpineFit
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.schema.geography import WHOLE, Geography

Cells = Mapping[str, str | Collection[str]]
"""Axis → its state, or several; axes that are not named are summed over."""


@dataclass(frozen=True)
class PlaceAnswer:
    """A number about places.

    Attributes:
        estimate: unbiased; it may be negative.
        error: standard error by the noise alone: the tables are of everybody, not of a sample.
        lower: end of the interval.
        upper: the other.
    """

    estimate: float
    error: float
    lower: float
    upper: float

    @classmethod
    def of(cls, estimate: float, variance: float, level: float) -> PlaceAnswer:
        """The answer with normal noise.

        Raises:
            InferenceError: nothing that was measured tells it.
        """
        if not math.isfinite(variance):
            raise InferenceError(
                "What was measured does not tell this: no table has these cells of these places; "
                "ask for fewer axes, or for a coarser level."
            )
        error = math.sqrt(max(variance, 0.0))
        half = NormalDist().inv_cdf(0.5 + level / 2) * error
        return cls(estimate, error, estimate - half, estimate + half)


@dataclass(frozen=True, eq=False)
class Places:
    """Tables of places, made consistent.

    Attributes:
        levels: names, from the coarsest, the root's first.
        codes: of the places of each level.
        axes: name of each axis of the cells → labels of its states.
        fit: of everything that was measured.
        stated: who states which promise of the measurements; nothing of that was checked.
        left_aside: what was read and not used, in words.
    """

    levels: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    axes: Mapping[str, tuple[str, ...]]
    fit: SpineFit
    stated: str = ""
    left_aside: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line."""
        sizes = ", ".join(
            f"{name} {len(codes):,}"
            for name, codes in zip(self.levels, self.codes, strict=True)
        )  # fmt: skip
        return f"Places({sizes}; {' × '.join(self.axes) or 'totals'})"

    def total(
        self, places: str | Collection[str], cells: Cells | None = None, *, level: float = 0.95
    ) -> PlaceAnswer:
        """Return how many there are in one place, or in several together.

        Args:
            places: code of a place, or codes of several, of any levels; one that is named twice, or
                lies within another that is named, counts twice.
            cells: who is counted; everybody if None.
            level: confidence level in (0, 1).

        Raises:
            InferenceError: an unknown place, axis or state, or what nothing measured tells.
        """
        require_level(level)
        weights = self._weights([places] if isinstance(places, str) else places)
        return PlaceAnswer.of(*self.fit.answer(weights, self._cells(cells or {})), level)

    def difference(
        self, place: str, other: str, cells: Cells | None = None, *, level: float = 0.95
    ) -> PlaceAnswer:
        """Return how many more there are in one place than in another.

        Args:
            place: code of one.
            other: code of the other.
            cells: who is counted; everybody if None.
            level: confidence level in (0, 1).
        """
        require_level(level)
        ours, theirs = self._weights([place]), self._weights([other])
        weights = {
            k: ours.get(k, np.zeros(1)) - theirs.get(k, np.zeros(1)) for k in {*ours, *theirs}
        }
        return PlaceAnswer.of(*self.fit.answer(weights, self._cells(cells or {})), level)

    def covariance(
        self, places: Collection[str], others: Collection[str], cells: Cells | None = None
    ) -> float:
        """Covariance of the noise of two totals.

        Args:
            places: codes of those in one.
            others: codes of those in the other.
            cells: who is counted in both; everybody if None.
        """
        weights = self._weights(places), self._weights(others)
        return self.fit.covariance(*weights, self._cells(cells or {}))

    def table(self, of: str, by: Sequence[str] = (), *, level: float = 0.95) -> pl.DataFrame:
        """Cells of every place of a level, or of one place.

        Args:
            of: name of a level, or code of a place.
            by: axes; each place's total if there are none.
            level: confidence level in (0, 1).

        Returns:
            Columns `place`, those of `by`, `estimate`, `error`, `lower` and `upper`; a line for
            each place and cell. The last three are NaN where nothing measured tells a cell.
        """
        require_level(level)
        depth, rows = self._of(of)
        names = [*self.axes]
        for name in by:
            self._require_known(name, names, "axis")
        kept = sorted(names.index(name) for name in {*by})
        found, variances = self.fit.counts(depth, kept, rows), self.fit.variances(depth, kept)[rows]
        labels = [self.axes[names[j]] for j in kept]
        grid = np.unravel_index(np.arange(found.size), found.shape)
        codes = np.array(self.codes[depth], dtype=object)[rows]
        errors = np.where(np.isfinite(variances), np.sqrt(np.maximum(variances, 0)), np.nan)
        half = NormalDist().inv_cdf(0.5 + level / 2) * errors[grid[0]]
        estimates = found.reshape(-1)
        return pl.DataFrame(
            {
                "place": pl.Series(codes[grid[0]].tolist(), dtype=pl.String),
                **{
                    names[j]: np.array(own, dtype=object)[place].tolist()
                    for j, own, place in zip(kept, labels, grid[1:], strict=True)
                },
                "estimate": estimates,
                "error": errors[grid[0]],
                "lower": estimates - half,
                "upper": estimates + half,
            }
        )

    @cached_property
    def _index(self) -> dict[str, tuple[int, int]]:
        """Code → level and place; of a code that several levels have, the finest."""
        return {
            code: (depth, k)
            for depth, codes in enumerate(self.codes)
            for k, code in enumerate(codes)
        }

    def _of(self, name: str) -> tuple[int, list[int]]:
        if name in self.levels:
            depth = self.levels.index(name)
            return depth, [*range(len(self.codes[depth]))]
        self._require_known(name, self._index, "place or level")
        depth, place = self._index[name]
        return depth, [place]

    def _weights(self, places: Collection[str]) -> dict[int, Floats]:
        weights: dict[int, Floats] = {}
        for code in places:
            self._require_known(code, self._index, "place")
            depth, place = self._index[code]
            weights.setdefault(depth, np.zeros(len(self.codes[depth])))[place] += 1
        return weights

    def _cells(self, cells: Cells) -> Floats:
        for name in cells:
            self._require_known(name, self.axes, "axis")
        found = np.ones(tuple(map(len, self.axes.values())))
        for j, (name, labels) in enumerate(self.axes.items()):
            if name not in cells:
                continue
            wanted = cells[name]
            states = [wanted] if isinstance(wanted, str) else list(wanted)
            for state in states:
                self._require_known(state, labels, f"state of {name}")
            inside = np.array([label in states for label in labels], dtype=np.float64)
            found *= inside.reshape([-1 if k == j else 1 for k in range(found.ndim)])
        return found

    @staticmethod
    def _require_known(name: str, names: Collection[str], what: str) -> None:
        if name not in names:
            near = suggestion(name, names) if len(names) <= 10_000 else ""
            raise InferenceError(f"There is no {what} {name!r}{near}; correct it.")


_CLEARLY: Final = 4.0  # standard deviations


def places(
    release: Release, spine: Sequence[str] | None = None, by: Sequence[str] | None = None
) -> Places:
    """Combine all that a release measured of places, of every level.

    Args:
        release: with tables of the levels, alone or with other columns.
        spine: columns of the places, from the coarsest; the schema declares for each but the first
            the `hierarchy` by which it lies within the one before. Those of `[geography]` if None.
        by: columns of the cells; those of `[geography]` if None and spine is, else none.

    Returns:
        Answers for every place and any sum of places, with the exact totals that the schema
        declares. Tables that cannot be used are named in `left_aside`: those in other bins or
        groups, with rules among the columns, or that clearly lack records which others count (out
        of domain in one more column).

    Raises:
        InferenceError: columns that are no tree of places, or nothing that was measured of them.
    """
    schema = release.schema
    geography = _geography(schema, spine, by)
    spine, by = geography.spine, geography.by
    if fault := next(geography.faults(schema.columns, schema.relations), None):
        raise InferenceError(f"These are no places of the release: {fault}.")
    codes = ((WHOLE,), *(schema.columns[name].labels for name in spine))
    axes = {name: schema.columns[name].labels for name in by}
    found, aside = _place_tables(release.measurements, geography, schema)
    if not any(table.level for table in found):
        raise InferenceError(
            f"The release has no table of {', '.join(spine)} that can be used; measure one of each "
            "level, by [geography] in the schema or by a question that asks for it."
        )
    tree = Hierarchy(geography.parents(schema.columns, schema.relations))
    sizes = [len(labels) for labels in axes.values()]
    fit = SpineFit(tree, sizes, [*found, *_exact_tables(geography, schema)])
    return Places((WHOLE, *spine), codes, axes, fit, release.guarantee.statement, tuple(aside))


def _geography(schema: Schema, spine: Sequence[str] | None, by: Sequence[str] | None) -> Geography:
    """Return the geography that is asked for, with the exact totals that the schema declares.

    Raises:
        InferenceError: no spine, neither here nor there.
    """
    declared = schema.geography
    if spine is None and not declared.spine:
        raise InferenceError(
            "The schema declares no [geography]; name the columns of the levels in spine."
        )
    levels = declared.spine if spine is None else tuple(spine)
    cells = declared.by if spine is None and by is None else tuple(by or ())
    kept = [one for one in declared.invariants if one.level in (WHOLE, *levels)]
    return Geography(spine=levels, by=cells, invariants=tuple(kept))


def _exact_tables(geography: Geography, schema: Schema) -> list[LevelTable]:
    """The exact totals, as tables without noise."""
    levels = (WHOLE, *geography.spine)
    return [
        LevelTable(levels.index(one.level), (), geography.totals(one, schema.columns), 0.0)
        for one in geography.invariants
    ]


def _place_tables(
    measurements: Sequence[Measurement], geography: Geography, schema: Schema
) -> tuple[list[LevelTable], list[str]]:
    """The tables that can be used, and what was left aside."""
    spine, by = geography.spine, geography.by
    found: list[tuple[Measurement, LevelTable]] = []
    aside = []
    for one in measurements:
        levels = [k for k, name in enumerate(spine, start=1) if name in one.columns]
        kept = [name for name in by if name in one.columns]
        asked = (*(spine[k - 1] for k in levels[-1:]), *kept)
        if one.kind is not Kind.TABLE or not asked:
            continue
        counts = marginal(one, asked, schema) if covers(one, asked) else None
        width = schema.columns[asked[0]].size if levels else 1
        variances = None if counts is None else counts.variances.reshape(width, -1)
        if counts is None or variances is None or (variances != variances[:, :1]).any():
            aside.append(" × ".join(one.columns))
            continue
        axes = tuple(j for j, name in enumerate(by) if name in kept)
        shape = (width, *(schema.columns[name].size for name in kept))
        table = LevelTable(
            levels[-1] if levels else 0, axes, counts.counts.reshape(shape), variances[:, 0]
        )
        found.append((one, table))
    whole = [(0.0, 0.0)] if geography.invariants else []  # exact totals lack nobody
    others = [(one.outside, one.stddev) for one, _ in found] + whole
    lacking = {one.entry for one, _ in found if any(_lacks_more(one, *told) for told in others)}
    aside += [" × ".join(one.columns) for one, _ in found if one.entry in lacking]
    return [table for one, table in found if one.entry not in lacking], aside


def _lacks_more(one: Measurement, outside: float, stddev: float) -> bool:
    """Return whether a table clearly lacks records that another one counts."""
    return one.outside - outside > _CLEARLY * math.hypot(one.stddev, stddev)


@dataclass(frozen=True, eq=False)
class PlaceEstimates:
    """Estimates that others published, each with its standard deviation.

    Attributes:
        frame: columns `place`, `query`, `estimate` and `error`.
        stated: who states which promise; nothing of that was checked.
    """

    frame: pl.DataFrame
    stated: str = ""

    def total(self, place: str, query: str, *, level: float = 0.95) -> PlaceAnswer:
        """One of them, with its interval.

        Args:
            place: code of the place.
            query: what was asked, as it was published.
            level: confidence level in (0, 1).

        Raises:
            InferenceError: it was not published; sums and differences were not either, since
                standard deviations alone do not say how estimates go together.
        """
        require_level(level)
        found = self.frame.filter(pl.col("place") == place, pl.col("query") == query)
        if found.height != 1:
            raise InferenceError(
                f"There is no estimate of {query!r} in the place {place!r}; take one that stands "
                "in frame. Sums of estimates have no standard deviation here."
            )
        estimate, error = found.row(0)[2:]
        return PlaceAnswer.of(float(estimate), float(error) ** 2, level)
