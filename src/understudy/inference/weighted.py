"""Answers about the population, in which records count with their design weights.

A release of a schema with `[design] weight` has second moments of records that count with
t = min(w, B)/B, B the public bound of a weight, and the same with t² (`WeightedMoments`). So

* a *ratio* R = Σty/Σt, a mean or a share, all of them or those of a group (Hájek), and a linear
  model, Σtxx'b = Σtxy, are estimated as those of the records are (`understudy.inference.linear`),
  with noise that is counted exactly;
* their *sampling variance* is linearised: Σt²(y − R)²/(Σt)² · n/(n − 1), from the moments with t².
  In groups the squares of numbers have the shape of the synthetic records, as elsewhere;
* a *total* is B·Σty, and its sampling variance B²(Σt²y² − (Σty)²/n)·n/(n − 1). Of members, who
  come in units, Σt²y² is Σ(Σty)², the outer sum over units.

This is the variance of records drawn one by one with replacement. Strata and clusters are no sum
over records; so it is multiplied by the public design effect that the schema declares, if any, and
by what a sampling fraction of a finite population leaves (`understudy.inference.design_effects`).

**Random groups.** With `variance = "groups"` the moments with t, of columns and of terms, are there
once more, of the records in each random group of clusters. Then the sampling variance of each of
these is that between the groups (`understudy.inference.design_effects`), with a t reference.

**What is cut off.** Where weights exceed B, so that E = Σ(w/B − 1)₊ is missing from Σt, a ratio is
off by at most E/(Σt + E) times what a record can differ from it, and a total by at most B·E times
what it can add. Noisy counts of the weights above B bound E (`measured_moments.bound_excess`). This
stands in every interval: the bias does not vanish as records become more, as noise does.

Sources: Hájek (1971); Binder (1983), "On the variances of asymptotically normal estimators from
complex surveys", Int. Statistical Review 51, 279-292; Lumley (2004), J. Statistical Software 9(8).

The cells of a table that is counted for one question (`inference.own_tables`) have Σt of their
records, and in another table Σt². All records of a cell add the same y to a quantity, so with P and
Q the sums of t and of t² by cell

    R = ΣPy/ΣP,   d = (y − R)/ΣP by cell,   Var = ΣQd² by sampling and Σvd² by noise of variance v,

over the cells of a group: the linearised variance of a ratio, as moments have it
(`inference.weighted`), and exact in y. A total is ΣPy, with ΣQy² and Σvy². Each random group of
clusters has Σt of its cells, from which the same d give its part of the ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

import numpy as np
import polars as pl

from understudy._arrays import Z_95, Floats
from understudy.errors import InferenceError
from understudy.features.scores import TICKS, Weighting
from understudy.inference.combining import Pooled
from understudy.inference.contributions import CellScores, cell_scores, edge_variance
from understudy.inference.counts import FEWEST
from understudy.inference.design_effects import (
    Clustering,
    GroupSums,
    Influence,
    effect_note,
    finite_note,
    fractions_of,
)
from understudy.inference.linear import (
    MomentRatios,
    WeightedTotals,
    moment_ratios,
    total_growth,
    weighted_totals,
)
from understudy.inference.measured_moments import RULE, bound_excess
from understudy.inference.member_slots import SlotMoments
from understudy.inference.moment_answers import (
    SMALL_NOTE,
    MeasuredAnswer,
    answer_of_model,
    answer_of_terms,
    pool_parts,
    terms_of,
)
from understudy.inference.noisy_tables import NoisyCounts, marginal, pooled_table
from understudy.inference.own_tables import own_records, own_table, tables_that_tell
from understudy.inference.question import RATIOS, SHARES, Estimand, is_of_many
from understudy.inference.records import ABSENT, Records
from understudy.inference.refusals import RefusedError, beyond_line
from understudy.inference.second_moments import (
    LostInNoiseError,
    MomentMatrix,
    MomentSource,
    joined_matrix,
    refuse_lost,
)
from understudy.inference.term_moments import TermMatrix, joined_terms, term_matrices
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.sets import first_parts
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Schema


@dataclass(frozen=True, eq=False)
class WeightedCells:
    """Sums of weights of the records in each cell of the table of a question.

    Attributes:
        schema: in the states of the table.
        plain: sums of t.
        squared: sums of t².
        groups: the first of them in each random group of clusters; None where there are none.
    """

    schema: Schema
    plain: NoisyCounts
    squared: NoisyCounts
    groups: GroupSums | None = None


def weighted_cells(
    estimand: Estimand, measurements: Sequence[Measurement], schema: Schema
) -> Iterator[WeightedCells]:
    """The cells of weighted tables that tell a question, in the states of each.

    Tables in the same states are averaged.

    Args:
        estimand: the question.
        measurements: of a release.
        schema: of the release, with a weight.
    """
    by = schema.design.groups
    alike = dict[str, list[Measurement]]()
    for one in measurements:
        if one.kind is Kind.WEIGHTED_TABLE:
            alike.setdefault(_states_of(one, estimand.columns), []).append(one)
    for own in alike.values():
        found = dict[tuple[int, bool], list[NoisyCounts]]()
        told = schema
        for table, told, _ in tables_that_tell(estimand, own, schema, weighted=True):
            weighting = table.weighting
            assert weighting is not None
            grouped = by in table.columns and by not in estimand.columns
            columns = (*estimand.columns, by) if grouped else estimand.columns
            counts = marginal(table, columns, told)
            found.setdefault((weighting.power, grouped), []).append(counts)
        plain, squared = found.get((1, False)), found.get((2, False))
        if plain is None or squared is None:
            continue
        groups = None
        if apart := found.get((1, True)):
            groups = _by_group(pooled_table(apart), schema.columns[by].size, by)
        yield WeightedCells(told, pooled_table(plain), pooled_table(squared), groups)


def _states_of(table: Measurement, columns: Sequence[str]) -> str:
    """The bins and groups in which a table has some columns, as a text."""
    own: tuple[Mapping[str, object], ...] = table.bins, table.groups
    return repr([{name: one[name] for name in columns if name in one} for one in own])


def _by_group(table: NoisyCounts, groups: int, by: str) -> GroupSums:
    """The cells of each random group, of a table whose last axis they are."""
    numbers = table.counts.reshape(-1, groups).T
    return GroupSums(by, numbers, table.variances.reshape(-1, groups)[:, 0])


def expected_cells(
    columns: tuple[str, ...],
    schema: Schema,
    sums: tuple[Floats, Floats],
    stddevs: Mapping[tuple[int, bool], float],
) -> WeightedCells:
    """The cells as they would be, without noise in them.

    Args:
        columns: of the table.
        schema: in the states of the table.
        sums: of t and of t², each of shape (cells,).
        stddevs: power, and whether by random group → standard deviation of the noise in a cell.
    """
    allowed = schema.table(columns).allowed_mask().reshape(-1).astype(np.float64)
    plain, squared = (
        NoisyCounts(own, stddevs[power, False] ** 2 * allowed)
        for power, own in zip((1, 2), sums, strict=True)
    )
    groups, by = None, schema.design.groups
    if (1, True) in stddevs:
        many = schema.columns[by].size
        numbers = np.broadcast_to(sums[0] / many, (many, len(sums[0])))
        groups = GroupSums(by, numbers, stddevs[1, True] ** 2 * allowed, drawn=False)
    return WeightedCells(schema, plain, squared, groups)


@dataclass(frozen=True, eq=False)
class _Quantities:
    """What each cell adds to each quantity, and in whose group it is.

    Attributes:
        scores: of the cells.
        added: y, shape (k, cells).
        member: 1 for the cells of its group, shape (k, cells).
    """

    scores: CellScores
    added: Floats
    member: Floats

    @classmethod
    def of(cls, estimand: Estimand, schema: Schema) -> _Quantities:
        scores = cell_scores(estimand, schema)
        used = np.flatnonzero(scores.quantity != ABSENT)
        quantity = scores.quantity[used]
        added = np.zeros((len(scores.names), len(scores.quantity)))
        added[quantity, used] = scores.value[used]
        member = np.zeros_like(added)
        member[:, used] = scores.group_of[:, None] == scores.group_of[quantity]
        return cls(scores, added, member)


_TOO_SMALL: Final = "The group that is asked about"


def cell_ratios(estimand: Estimand, cells: WeightedCells) -> MomentRatios:
    """Shares among records that count with t; NaN where a group is lost in noise.

    Args:
        estimand: the question.
        cells: of its table.

    Raises:
        LostInNoiseError: each group is.
    """
    own = _Quantities.of(estimand, cells.schema)
    variances = cells.plain.variances
    sizes, squared = own.member @ cells.plain.counts, own.member @ variances
    firmness = sizes / np.sqrt(np.maximum(squared, 1e-300))
    firm = (sizes >= FEWEST) & (firmness > Z_95)
    if not firm.any():
        raise refuse_lost(_TOO_SMALL, float(firmness.max()), Z_95)
    sizes = np.where(firm, sizes, np.nan)
    estimate = own.added @ cells.plain.counts / sizes
    off = own.added - estimate[:, None] * own.member
    gradient = off / sizes[:, None]
    sampling = (gradient * cells.squared.counts) @ gradient.T
    place = np.diag_indices(len(sizes))
    by_squares = own.member @ cells.squared.counts
    # A group that stands out has records, however few by their squared weights.
    by_squares = np.maximum(by_squares, np.sqrt(own.member @ cells.squared.variances))
    sampling[place] = np.maximum(sampling[place], 0.0)
    if estimand.kind in SHARES:
        sampling[place] = np.maximum(sampling[place], edge_variance(sizes**2 / by_squares))
    inside = np.where(own.member > 0, own.added, np.nan)
    low, high = np.nanmin(inside, axis=1), np.nanmax(inside, axis=1)
    groups = len(np.unique(own.scores.group_of[~firm]))
    return MomentRatios(
        estimate=estimate,
        noise=(gradient * variances) @ gradient.T,
        sampling=sampling,
        sizes=sizes,
        small=groups,
        mixed=((own.member * off) @ variances),
        squared=squared,
        dropped=0.0,
        bias=np.zeros(len(sizes)),
        limits={},
        reach=np.maximum(high - estimate, estimate - low),
        gradient=gradient,
        of_size=own.member,
    )


def cell_totals(estimand: Estimand, cells: WeightedCells) -> WeightedTotals:
    """Totals in which records count with t; arguments as above."""
    own = _Quantities.of(estimand, cells.schema)
    return WeightedTotals(
        estimate=own.added @ cells.plain.counts,
        noise=(own.added * cells.plain.variances) @ own.added.T,
        squares=np.maximum(own.added**2 @ cells.squared.counts, 0.0),
        reach=np.abs(own.added).max(axis=1),
        gradient=own.added,
        of_size=own.member,
    )


REASON: Final = (
    "weighted second moments were measured of the values themselves, with known noise; sampling by "
    "the linearised variance and noise are both counted"
)
CELLS_REASON: Final = (
    "weights were summed by cell for this question, with known noise; sampling by the linearised "
    "variance and noise are both counted"
)
CUT_NOTE: Final = (
    "Weights above {} count as {}; intervals allow for what that leaves out (bias_bound)."
)


GROUPS_NOTE: Final = (
    "The sampling variance is that between random groups of {} (about {:.0f} degrees of freedom). "
)
STRATA_NOTES: Final = {
    False: "Strata are not counted, which would make it smaller.",
    True: "Clusters were dealt to these, so strata are counted as the plan has them ({}).",
}
"""Whether clusters were dealt to groups → what is said of strata."""
TOTAL_GROUPS_NOTE: Final = (
    "The number of clusters counts as one of chance, so a total of a fixed number of them is known "
    "better than this."
)
NOT_GROUPS_NOTE: Final = (
    "Random groups do not tell the variance of this answer: its terms are products or powers of "
    "columns, of which no sums by group were measured."
)
HIDDEN_GROUPS_NOTE: Final = (
    "Noise hides how random groups of {} differ in some of this, whose variance is that of single "
    "records times the public design effect."
)
CUT_MODEL: Final = (
    "weights above the contribution count as it, and what that leaves out of a linear model has no "
    "bound; a release whose contribution is the upper bound of the weights has the answer, and "
    "weighted=False asks about the records"
)


def is_weighted(release: Release) -> bool:
    """Return whether a release has second moments of records with weights."""
    return any(one.weighting is not None for one in release.measurements)


Matrix = TypeVar("Matrix", MomentMatrix, TermMatrix, SlotMoments, NoisyCounts)


@dataclass(frozen=True)
class WeightedMatrices(Generic[Matrix]):
    """Second moments of records with weights, or sums by cell, of what a question is about.

    Attributes:
        plain: records count with t.
        squared: records count with t².
        n: number of records.
        excess: bound on E, what weights above B are missing, in records that count in full.
        groups: the first of them in each random group of clusters; None where there are none.
    """

    plain: Matrix
    squared: Matrix
    n: float
    excess: float
    groups: GroupSums | None = None

    @staticmethod
    def of_terms(
        estimand: Estimand,
        measurements: Sequence[Measurement],
        schema: Schema,
        n: float,
    ) -> WeightedMatrices[TermMatrix] | None:
        """Those of the terms of a question; None if it needs none, or they are lacking.

        Args:
            estimand: the question.
            measurements: of a release.
            schema: of the release, with a weight.
            n: number of records.
        """
        sources = term_matrices(measurements, schema)
        if not sources:
            return None
        excess = _excess(measurements, schema, n)
        return WeightedMatrices.of_term_sources(estimand, sources, schema, n, excess)

    @staticmethod
    def of_term_sources(
        estimand: Estimand,
        sources: Sequence[TermMatrix],
        schema: Schema,
        n: float,
        excess: float,
        *,
        drawn: bool = True,
    ) -> WeightedMatrices[TermMatrix] | None:
        """The same from what was measured, or would be; other arguments as for `of_sources`."""
        needed = terms_of(estimand, schema)
        if needed is None:
            return None
        plain, squared = (joined_terms(sources, needed, power) for power in (1, 2))
        if plain is None or squared is None:
            return None
        each = []
        if by := schema.design.groups:
            many = range(schema.columns[by].size)
            found = [joined_terms(sources, needed, 1, group) for group in many]
            each = [one for one in found if one and one.scores.limits == plain.scores.limits]
        groups = None
        if each and len(each) == len(many):
            groups = GroupSums(by, np.stack([o.numbers for o in each]), each[0].variances, drawn)
        return WeightedMatrices(plain, squared, n, excess, groups)

    @staticmethod
    def of(
        measurements: Sequence[Measurement],
        schema: Schema,
        columns: Sequence[str],
        n: float,
    ) -> WeightedMatrices[MomentMatrix] | None:
        """Those of some columns; None if a number is lacking.

        Args:
            measurements: of a release.
            schema: of the release, with a weight.
            columns: of the question.
            n: number of records.
        """
        weighted = [one for one in measurements if one.kind is Kind.WEIGHTED]
        sources = [source for one in weighted for source in MomentSource.each_of(one, schema)]
        excess = _excess(measurements, schema, n)
        return WeightedMatrices.of_sources(sources, schema, columns, n, excess)

    @staticmethod
    def of_sources(
        sources: Sequence[MomentSource],
        schema: Schema,
        columns: Sequence[str],
        n: float,
        excess: float,
        *,
        drawn: bool = True,
    ) -> WeightedMatrices[MomentMatrix] | None:
        """The same from what was measured, or would be, of both powers.

        Args:
            sources: of records with weights; others are left out.
            schema: of the release, with a weight.
            columns: of the question.
            n: number of records.
            excess: as `excess` of the matrices.
            drawn: whether noise is in what was measured.
        """

        def weighted_sources(power: int, by: str = "") -> list[MomentSource]:
            pairs = ((one, one.scores.weighting) for one in sources)
            return [one for one, own in pairs if own and (own.power, own.by) == (power, by)]

        plain, squared = (
            joined_matrix(weighted_sources(power), schema, columns, (0.0, 0.0)) for power in (1, 2)
        )
        if plain is None or squared is None:
            return None
        by = schema.design.groups
        groups = (
            GroupSums.of(weighted_sources(1, by), plain.scores, by, drawn=drawn) if by else None
        )
        return WeightedMatrices(plain, squared, n, excess, groups)

    @staticmethod
    def of_members(
        joint: WeightedMatrices[MomentMatrix], slots: Callable[[MomentMatrix], SlotMoments]
    ) -> WeightedMatrices[SlotMoments]:
        """Those of the members of units, each of which counts with the weight of its unit.

        Args:
            joint: of the columns of all slots.
            slots: takes one of them apart.
        """
        plain, squared = slots(joint.plain), slots(joint.squared)
        excess = joint.excess * len(plain.parts)
        return WeightedMatrices(plain, squared, joint.n, excess, joint.groups)

    def find_clustering(self, schema: Schema, estimand: Estimand, k: int) -> Clustering | None:
        """Return how clusters count in an answer; None where no groups of them were measured.

        Args:
            schema: of the release.
            estimand: the question.
            k: number of quantities.
        """
        if self.groups is None:
            return None
        effect = schema.design.deff
        own = None if effect is None else effect.default
        remaining, dealt = 1 - fractions_of(estimand, schema, k), bool(schema.design.dealt)
        return Clustering(self.groups, own, remaining, dealt)

    @property
    def correction(self) -> float:
        """n/(n − 1)."""
        return self.n / max(self.n - 1, 1.0)

    def factor(self, schema: Schema, estimand: Estimand, k: int) -> Floats:
        """By what linearised variances are multiplied: the effects of a design, and n/(n − 1).

        Args:
            schema: of the release.
            estimand: the question.
            k: number of quantities.

        Returns:
            Shape (k,).
        """
        own = schema.design.declared_effect
        remaining = 1 - fractions_of(estimand, schema, k)
        return np.asarray(own * self.correction * remaining)


def weighted_answer(estimand: Estimand, release: Release) -> MeasuredAnswer | None:
    """The answer for the population; None where nothing that is weighted has one.

    Whichever of tables and moments has the narrower intervals answers: these are nearly known
    before the noise is.

    Args:
        estimand: the question, of a kind of `WEIGHTED`.
        release: with weights.

    Raises:
        InferenceError: they have one, and it is lost in their noise.
    """
    counted = _by_cells(estimand, release)
    try:
        found = _by_moments(estimand, release)
    except InferenceError:
        if counted is None:
            raise
        return counted
    if found is None or counted is None:
        return counted or found
    return min(counted, found, key=_width)


def _width(answer: MeasuredAnswer) -> float:
    """Half of an interval, in the median; infinite for one without an end."""
    lower, upper = answer.pooled.interval()
    halves = ((upper - lower) / 2)[~np.isnan(answer.pooled.estimate)]
    return float(np.median(halves)) if len(halves) else float("inf")


def _by_cells(estimand: Estimand, release: Release) -> MeasuredAnswer | None:
    """The answer of tables that were counted for the question, with weights; None without any."""
    schema, n = release.schema, float(release.manifest.n_rows)
    tables = [*weighted_cells(estimand, release.measurements, schema)]
    if not tables:
        return None
    about, found = (n, _excess(release.measurements, schema, n)), []
    for cells in tables:
        try:
            found.append(answer_of_cells(estimand, cells, schema, about, len(release.tables)))
        except LostInNoiseError:
            continue
    if not found:
        return None
    best = min(found, key=_width)
    notes = (*best.pooled.notes, *above_notes(release))
    return replace(best, pooled=replace(best.pooled, notes=notes))


def answer_of_cells(
    estimand: Estimand,
    cells: WeightedCells,
    schema: Schema,
    about: tuple[float, float],
    sets: int = 1,
) -> MeasuredAnswer:
    """The answer of sums of weights by cell.

    Args:
        estimand: a share, a table or a count.
        cells: of its table.
        schema: of the release.
        about: number of records, and what weights above B are missing, in records that count in
            full.
        sets: of the release.

    Raises:
        LostInNoiseError: no group stands out from the noise.
    """
    matrices = WeightedMatrices(cells.plain, cells.squared, *about, cells.groups)
    names, strata = cell_scores(estimand, cells.schema).names, schema.design.strata
    if cells.schema.columns.get(strata) != schema.columns.get(strata):  # some count together
        estimand = replace(estimand, groups=())
    if estimand.kind == "total":
        totals = cell_totals(estimand, cells)
        answer = _pooled_totals(estimand, matrices, totals, schema, names=names, sets=sets)
    else:
        ratios = cell_ratios(estimand, cells)
        answer = _pooled_ratios(estimand, matrices, ratios, schema, names=names, sets=sets)
    return replace(_explain_answer(answer, estimand, matrices, schema), reason=CELLS_REASON)


def expected_weights(
    estimand: Estimand,
    schema: Schema,
    rows: pl.DataFrame,
    stddevs: Mapping[tuple[int, bool], float],
    excess: float,
) -> MeasuredAnswer:
    """The answer of sums of weights by cell that are expected of a question's own tables.

    Args:
        estimand: a question that has some.
        schema: public, with a weight.
        rows: that stand for those of the release.
        stddevs: power, and whether by random group → standard deviation of the noise in a cell.
        excess: what weights above B are missing, in records that count in full.

    Raises:
        LostInNoiseError: no group stands out from the noise.
    """
    own = own_table(estimand, schema)
    assert own is not None
    records = own_records(estimand, rows, schema, own.bins, (schema.design.weight,))
    told, t = records.schema, _factors(schema, records)
    sizes = [told.columns[name].size for name in own.columns]
    at = np.ravel_multi_index([records.states[name] for name in own.columns], sizes)
    many = int(np.prod(sizes))
    plain, squared = (np.bincount(at, t**power, many).astype(np.float64) for power in (1, 2))
    cells = expected_cells(own.columns, told, (plain, squared), stddevs)
    return answer_of_cells(estimand, cells, schema, (float(rows.height), excess))


def _by_moments(estimand: Estimand, release: Release) -> MeasuredAnswer | None:
    """The answer of weighted moments; None where they have none."""
    if is_of_many(estimand, release.schema):
        return None
    schema, n = release.schema, float(release.manifest.n_rows)
    measured = release.measurements
    own = WeightedMatrices.of_terms(estimand, measured, schema, n)
    matrices = WeightedMatrices.of(measured, schema, estimand.columns, n) if own is None else None
    tables = first_parts(release.tables)
    sets = [Records.complete_of(table, schema, estimand.columns) for table in tables]
    if not all(len(records.complete()) > 1 for records in sets):
        return None
    answer = None
    if own is not None:
        answer = answer_by_terms(estimand, own, schema, sets)
    elif matrices is not None:
        answer = answer_for_population(estimand, matrices, schema, sets)
    if answer is None:
        return None
    notes = (*answer.pooled.notes, *above_notes(release))
    return replace(answer, pooled=replace(answer.pooled, notes=notes))


def above_notes(release: Release) -> tuple[str, ...]:
    """Say how many weights are above their declared bound, where that is more than noise."""
    return tuple(
        f"About {100 * one.share:.2g} % of the weights are above their upper bound {one.bound} and "
        "count as it, which no interval allows for."
        for one in beyond_line(release, release.schema.design.weight)
        if one.side == "above" and one.certain
    )


def answer_for_population(
    estimand: Estimand,
    matrices: WeightedMatrices[MomentMatrix] | WeightedMatrices[SlotMoments],
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    """The same, of matrices.

    Args:
        estimand: the question, of columns that the matrices have.
        matrices: second moments of records with weights.
        schema: of the release.
        sets: complete records of each synthetic set, with the estimand's columns.

    Raises:
        InferenceError: the answer is lost in noise.
        RefusedError: it would need weights that were cut off.
    """
    if estimand.kind in RATIOS:
        answer = _ratios(estimand, matrices, schema, sets)
    elif estimand.kind == "total":
        answer = _totals(estimand, matrices, schema, sets)
    elif matrices.excess:  # of what is cut off, a model may lose any part
        raise RefusedError("not-measured", CUT_MODEL, None, anyway=False)
    elif estimand.where:
        return None
    else:
        answer = _model(estimand, matrices, schema, sets)
    return None if answer is None else _explain_answer(answer, estimand, matrices, schema)


def _model(
    estimand: Estimand,
    matrices: WeightedMatrices[MomentMatrix] | WeightedMatrices[SlotMoments],
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    about = _of_sampling(estimand, matrices, schema)
    return answer_of_model(estimand, matrices.plain, schema, sets, **about)


def _of_sampling(
    estimand: Estimand, matrices: WeightedMatrices[Any], schema: Schema
) -> dict[str, Any]:
    """Return the parts from which the sampling variance of a model follows (`answer_of_model`)."""
    clustering = matrices.find_clustering(schema, estimand, 1)
    factor = float(matrices.factor(schema, estimand, 1)[0])
    return {
        "squared": matrices.squared,
        "factor": factor if clustering is None else matrices.correction,
        "clustering": clustering,
    }


def answer_of_members(
    estimand: Estimand,
    matrices: WeightedMatrices[SlotMoments],
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    """The same of members, each with the weight of its unit.

    Args:
        estimand: the question, of a kind of `WEIGHTED`.
        matrices: second moments of members.
        schema: of the members' table.
        sets: complete members of each synthetic set, with the estimand's columns and the weight.

    Raises:
        InferenceError: the answer is lost in noise.
        RefusedError: it would need weights that were cut off.
    """
    return answer_for_population(estimand, matrices, schema, sets)


def answer_by_terms(
    estimand: Estimand,
    matrices: WeightedMatrices[TermMatrix],
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    """The same, of moments of the terms of the question; arguments as above.

    Raises:
        InferenceError: the answer is lost in noise.
        RefusedError: it would need weights that were cut off.
    """
    if matrices.excess:
        raise RefusedError("not-measured", CUT_MODEL, None, anyway=False)
    answer = answer_of_terms(
        estimand, matrices.plain, schema, sets, **_of_sampling(estimand, matrices, schema)
    )
    return None if answer is None else _explain_answer(answer, estimand, matrices, schema)


def _explain_answer(
    answer: MeasuredAnswer, estimand: Estimand, matrices: WeightedMatrices[Any], schema: Schema
) -> MeasuredAnswer:
    """An answer with what it rests on, in sentences."""
    pooled = answer.pooled
    fractions = fractions_of(estimand, schema, len(pooled.names))
    degrees = pooled.df[np.isfinite(pooled.estimate)]
    between, by_chance = np.isfinite(degrees).any(), not schema.design.dealt
    notes = (
        *pooled.notes,
        *design_notes(schema, cut=matrices.excess > 0),
        *_variance_notes(schema, degrees, measured=matrices.groups is not None),
        *((TOTAL_GROUPS_NOTE,) if between and by_chance and estimand.kind == "total" else ()),
        *finite_note(schema.design, fractions),
    )
    return replace(answer, pooled=replace(pooled, notes=notes), reason=REASON)


def design_notes(schema: Schema, *, cut: bool) -> tuple[str, ...]:
    """Write whom a weighted answer is about, in sentences.

    Args:
        schema: with a weight.
        cut: whether some weights may have been cut off.
    """
    design = schema.design
    said = [
        f"Weighted by {design.weight}, so about the population; weighted=False is about the "
        "records."
    ]
    if cut:
        bound = f"{design.bound(schema.columns):g}"
        said.append(CUT_NOTE.format(bound, bound))
    return tuple(said)


def _variance_notes(schema: Schema, degrees: Floats, *, measured: bool) -> tuple[str, ...]:
    """Say what the sampling variance is.

    Args:
        schema: with a weight.
        degrees: of freedom; infinite of a variance that is not between random groups.
        measured: whether the sums of these were measured.
    """
    design, said = schema.design, list[str]()
    if np.isfinite(degrees).any():
        strata = STRATA_NOTES[bool(design.dealt)].format(design.dealt)
        said.append(GROUPS_NOTE.format(design.groups, float(degrees.min())) + strata)
        if np.isfinite(degrees).all():
            return tuple(said)
    if design.groups:
        said.append(HIDDEN_GROUPS_NOTE.format(design.groups) if measured else NOT_GROUPS_NOTE)
    if design.deff is not None:
        said.append(effect_note(design.deff))
    else:
        by = f" by {design.psu}" if design.psu else ""
        said.append(
            f"No design effect is declared: the sampling variance is that of single records, and "
            f"clustering{by} is not counted."
        )
    return tuple(said)


def _excess(measurements: Sequence[Measurement], schema: Schema, n: float) -> float:
    """Bound E by counts of weights above B, or by all of n records where nothing counts them."""
    design = schema.design
    weights, bound = schema.columns[design.weight], design.bound(schema.columns)
    assert isinstance(weights, NUMERIC)
    most = (float(weights.bounds[1]) - bound) * n
    if most <= 0:
        return 0.0
    found = bound_excess(measurements, schema, design.weight, bound)
    return (most if found is None else min(found, most)) / bound


def missing_weight(schema: Schema, rows: pl.DataFrame) -> float:
    """Sum what weights of stated records above B are missing, in records that count in full."""
    design = schema.design
    bound = design.bound(schema.columns)
    weights = Records.of(rows, schema, (design.weight,)).numbers[design.weight]
    return float(np.nansum(np.maximum(weights - bound, 0.0))) / bound


def _ratios(
    estimand: Estimand,
    matrices: WeightedMatrices[MomentMatrix] | WeightedMatrices[SlotMoments],
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    found = moment_ratios(estimand, matrices.plain, schema, sets, matrices.squared)
    if found is None:
        return None
    names = estimand.names(schema)
    return _pooled_ratios(estimand, matrices, found, schema, names=names, sets=len(sets))


def _pooled_ratios(
    estimand: Estimand,
    matrices: WeightedMatrices[Any],
    found: MomentRatios,
    schema: Schema,
    *,
    names: tuple[str, ...],
    sets: int,
) -> MeasuredAnswer:
    """Ratios with the variance that the design has, and what is cut off."""
    notes = (SMALL_NOTE.format(found.small),) if found.small else ()
    k = len(found.estimate)
    clustering = matrices.find_clustering(schema, estimand, k)
    root = np.sqrt(matrices.factor(schema, estimand, k))
    sampling = found.sampling * np.multiply.outer(root, root)
    if clustering is not None:
        alone = matrices.correction * found.sampling
        own = Influence(found.gradient, found.of_size, alone, np.diag(found.noise))
        clustered = clustering.errors(own)
        sampling = clustered.sampling
    pooled = pool_parts(
        names,
        found.estimate,
        (found.noise, sampling),
        sets,
        (found.sizes, found.mixed, found.squared),
        *notes,
    )
    if clustering is not None:
        pooled = clustered.put_into(pooled)
    missing = matrices.excess / (found.sizes + matrices.excess)
    bias = found.bias + missing * found.reach
    return MeasuredAnswer(replace(pooled, bias=bias), 0.0, limits=found.limits)


def _totals(
    estimand: Estimand,
    matrices: WeightedMatrices[MomentMatrix] | WeightedMatrices[SlotMoments],
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    found = weighted_totals(estimand, matrices.plain, matrices.squared, schema, sets)
    if found is None:
        return None
    if isinstance(matrices.squared, SlotMoments):
        factors = [_factors(schema, records) for records in sets]
        growth = total_growth(estimand, matrices.squared, schema, sets, factors)
        found = replace(found, squares=found.squares * growth)
    names = estimand.names(schema)
    return _pooled_totals(estimand, matrices, found, schema, names=names, sets=len(sets))


def _pooled_totals(
    estimand: Estimand,
    matrices: WeightedMatrices[Any],
    found: WeightedTotals,
    schema: Schema,
    *,
    names: tuple[str, ...],
    sets: int,
) -> MeasuredAnswer:
    """The same of totals."""
    bound, squares = schema.design.bound(schema.columns), found.squares
    spread = np.maximum(squares - found.estimate**2 / matrices.n, 0.0)
    k = len(spread)
    clustering = matrices.find_clustering(schema, estimand, k)
    sampling, df = np.diag(matrices.factor(schema, estimand, k) * spread), np.full(k, np.inf)
    more: tuple[str, ...] = ()
    estimate = found.estimate
    if clustering is not None:
        alone = np.diag(matrices.correction * spread)
        own = Influence(found.gradient, found.of_size, alone, np.diag(found.noise), fitted=False)
        clustered = clustering.errors(own)
        sampling, df, more = clustered.sampling, clustered.df, clustered.notes
        estimate = clustered.mask_unknown(estimate)
    covariance = bound**2 * (found.noise + sampling)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = bound**2 * np.diag(found.noise) / np.diag(covariance)
    pooled = Pooled(
        names=names,
        estimate=bound * estimate,
        covariance=covariance,
        df=df,
        synthesis_share=share,
        rule=RULE,
        sets=sets,
        notes=more,
        bias=bound * matrices.excess * found.reach,
    )
    return MeasuredAnswer(pooled, 0.0)


def _factors(schema: Schema, records: Records) -> Floats:
    """Return the factor t that each record counts with, shape (n,)."""
    design = schema.design
    weighting = Weighting(design.weight, design.bound(schema.columns), 1)
    return weighting.ticks(records.numbers[design.weight]) / TICKS
