"""Questions about the members of units: persons of households, visits of patients.

A question that names a column of the members' table is about members, and everything else about
units. What is wanted is a sum over all slots (`understudy.inference.member_slots`), and the error
by sampling is one of units, since members of one unit are alike. Columns of units may stand beside
those of members: the mean age of persons by region.

Members beyond the number that is used of a unit are not in it. An answer says so, and how many
units have more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from understudy._arrays import Floats
from understudy.errors import InferenceError, TooFewError
from understudy.features.scores import Limits
from understudy.inference.analysis import Analysis
from understudy.inference.combining import Pooled
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import table_estimates
from understudy.inference.linear import likeness, ratio_growth, weight_scale
from understudy.inference.measured_moments import matrix_of
from understudy.inference.member_slots import (
    BY_MOMENTS,
    MemberSlots,
    SlotMoments,
    asked_members,
    cluster_factors,
)
from understudy.inference.moment_answers import MeasuredAnswer, answer_of
from understudy.inference.noisy_tables import NoisyCounts, marginal, pooled_table, select_covering
from understudy.inference.quantiles import table_quantiles
from understudy.inference.question import (
    OF_MANY,
    RATIOS,
    SAME_AS,
    Estimand,
    is_of_many,
    parse,
    split_condition,
)
from understudy.inference.records import ABSENT, Records
from understudy.inference.refusals import (
    MOST_BEYOND,
    OutOfBounds,
    RefusedError,
    beyond_line,
    counting_words,
    domain_reason,
    outside_of,
    value_ends,
)
from understudy.inference.second_moments import LostInNoiseError
from understudy.inference.weighted import REASON as WEIGHTED_REASON
from understudy.inference.weighted import WeightedMatrices, above_notes, answer_of_members
from understudy.release.release import Release, once
from understudy.release.sets import first_parts
from understudy.schema import NUMERIC
from understudy.schema.households import NO_MEMBER, Members, state_of_nobody

_PLAINLY = 0.8  # of the width of another answer, that makes one narrower whatever the noise

KINDS_OF_MEMBERS = (*BY_MOMENTS, "quantile")
"""Kinds, of those in `question`, that sums over slots answer."""

WHOLLY_ALIKE = (
    "How alike those of one {} are in being below a number was not measured. They count as wholly "
    "alike, so intervals are longer than need be where they are not."
)
COUNTED = (
    "noisy counts of every slot have known noise; sampling is of whole units, and both are counted"
)
REASON = (
    "second moments were measured of every slot, with known noise; sampling is of whole units, and "
    "both are counted"
)


@dataclass(frozen=True, eq=False)
class MemberTable(MemberSlots):
    """The members' table of a release, as questions see it.

    Attributes:
        release: that is asked.
    """

    release: Release

    def members(self, k: int, columns: Sequence[str]) -> Records:
        """Members of a synthetic set with a value of each of some columns."""
        return self.members_in(first_parts(self.release.tables)[k], columns)

    def counts(self, columns: Sequence[str]) -> tuple[NoisyCounts, int] | None:
        """Noisy counts of the members in each cell of some columns, and from how many tables.

        Args:
            columns: of the question.

        Returns:
            None where a slot has no table of its own.
        """
        wide = [self.in_slot(columns, j) for j in self.slots]
        left = list(self.release.measurements)
        summed: list[Floats] = []
        variances: list[Floats] = []
        tables = 0
        # Late slots have few tables, so they choose first.
        for own in reversed(wide):
            used = select_covering(left, own)
            few = [one for one in used if sum(bool(select_covering([one], o)) for o in wide) == 1]
            used = tuple(few) or used[:1]
            if not used:
                return None
            taken = {one.entry for one in used}
            left = [one for one in left if one.entry not in taken]
            found = pooled_table([marginal(one, own, self.release.schema) for one in used])
            summed.append(self._without_nobody(found.counts, own))
            variances.append(self._without_nobody(found.variances, own))
            tables += len(used)
        return NoisyCounts(np.sum(summed, axis=0), np.sum(variances, axis=0)), tables

    def heavy(self, columns: Sequence[str]) -> bool:
        """Return whether noise of tables of some columns in a slot may have Laplace tails."""
        slots = (
            select_covering(self.release.measurements, self.in_slot(columns, j)) for j in self.slots
        )
        return not all(one.family.is_gaussian for used in slots for one in used)

    def _without_nobody(self, cells: Floats, columns: Sequence[str]) -> Floats:
        """Cells of a table of one slot without those of empty slots."""
        own = [self.release.schema.columns[name] for name in columns]
        shaped = cells.reshape([column.size for column in own])
        for axis, column in enumerate(own):
            if NO_MEMBER in column.codes:
                shaped = np.delete(shaped, state_of_nobody(column), axis=axis)
        return shaped.reshape(-1)

    def moments(self, columns: Sequence[str]) -> SlotMoments | None:
        """Second moments of members; None where not all of these columns were measured.

        Args:
            columns: of the question.
        """
        joint = matrix_of(self.release, self.wide_columns(columns))
        return None if joint is None or joint.scores.complete else self.part(columns, joint)

    def weighted_moments(self, columns: Sequence[str]) -> WeightedMatrices[SlotMoments] | None:
        """The same of members who count with the weight of their unit.

        Args:
            columns: of the question.
        """
        release, wide = self.release, self.wide_columns(columns)
        n = float(release.manifest.n_rows)
        joint = WeightedMatrices.of(release.measurements, release.schema, wide, n)
        if joint is None:
            return None
        return WeightedMatrices.of_members(joint, partial(self.part, columns))


@once
def member_table(release: Release) -> MemberTable | None:
    """The members' table of a release; None for a flat one."""
    form = release.schema.members
    return None if form is None else MemberTable(release.schema, form, release)


def asks_members(kind: object, formula: str, release: Release) -> MemberTable | None:
    """The members' table, if a question names one of its columns; else None.

    Args:
        kind: of the question.
        formula: of it.
        release: that is asked.
    """
    named = isinstance(kind, str) and asked_members(formula, release.schema) is not None
    return member_table(release) if named else None


def member_analysis(
    table: MemberTable,
    kind: str,
    formula: str,
    *,
    probability: float,
    level: float,
    weighted: bool = False,
) -> Analysis:
    """Answer a question about members.

    Args:
        table: that is asked.
        kind: of the question.
        formula: of it.
        probability: of a quantile.
        level: of intervals.
        weighted: whether members count with the weight of their unit.

    Raises:
        InferenceError: unknown kind or name.
        RefusedError: what was measured does not answer it; says what would.
    """
    estimand = parse(kind, formula, table.schema, probability=probability)
    if estimand.kind not in KINDS_OF_MEMBERS:
        reason = f"the kind {kind} has no answer that sums over the members of units"
        instead = _nearby(table, formula, weighted=weighted)
        raise RefusedError("not-measured", reason, None, anyway=False, instead=instead)
    if is_of_many(estimand, table.schema):
        raise RefusedError("not-measured", OF_MANY, None, anyway=False)
    beside = (table.release.schema.design.weight,) if weighted else ()
    shown = tuple(dict.fromkeys((*estimand.columns, *beside)))
    sets = [table.members(k, shown) for k in range(len(table.release.tables))]
    matrix = None if weighted else table.moments(estimand.columns)
    counted = None if weighted else _by_counts(table, estimand, matrix, sets)
    matrices = table.weighted_moments(estimand.columns) if weighted else None
    moments: MeasuredAnswer | None = None
    try:
        if matrices is not None:
            moments = answer_of_members(estimand, matrices, table.schema, sets)
        elif matrix is not None:
            moments = answer_of(estimand, matrix, table.schema, sets)
    except TooFewError as error:
        raise RefusedError("too-few", str(error).rstrip("."), None, anyway=False) from None
    except LostInNoiseError as error:
        if counted is None:
            reason = str(error).rstrip(".")
            raise RefusedError("lost-in-noise", reason, None, anyway=False) from None
    if counted is None or (moments is not None and _is_narrower(moments.pooled, counted.pooled)):
        answer, reason = moments, WEIGHTED_REASON if weighted else REASON
    else:
        answer, reason = counted, counted.reason
    if answer is None:
        reason = "what was measured of the slots does not have this question's answer"
        near = _nearby(table, formula, weighted=weighted) if estimand.kind == "quantile" else ()
        raise RefusedError("not-measured", reason, None, anyway=False, instead=near)
    if np.isnan(answer.pooled.estimate).all():
        raise RefusedError("too-few", " ".join(answer.pooled.notes), None, anyway=False)
    pooled, scale = answer.pooled, 1.0
    if matrices is not None:
        whole = weight_scale(matrices.plain, [len(records.complete()) for records in sets])
        design = table.release.schema.design
        bound = design.bound(table.release.schema.columns)
        scale = bound if estimand.kind == "total" else whole
        pooled = replace(pooled, notes=(*pooled.notes, *above_notes(table.release)))
    pooled = _with_room(table, estimand, pooled, sets, scale)
    counting, cut = _cut_off(table, estimand, answer.limits)
    asked = kind if kind in SAME_AS else estimand.kind
    stated = formula if split_condition(formula, table.schema)[1] else estimand.formula
    return Analysis(
        asked,
        stated,
        pooled,
        True,
        reason,
        (*pooled.notes, _unit_note(table.form), *_more_note(table)),
        (answer.dropped,),
        level,
        cut_off=cut,
        counting=counting,
    )


def _nearby(table: MemberTable, formula: str, *, weighted: bool) -> tuple[str, ...]:
    """The mean of a number whose spread or quantile was asked for, if it is answered."""
    try:
        member_analysis(table, "mean", formula, probability=0.5, level=0.95, weighted=weighted)
    except InferenceError:
        return ()
    return (f"mean {formula}",)


def _with_room(
    table: MemberTable,
    estimand: Estimand,
    pooled: Pooled,
    sets: Sequence[Records],
    scale: float = 1.0,
) -> Pooled:
    """The answer with room for members whose values fit no state, if there certainly are some.

    Args:
        table: that is asked.
        estimand: the question.
        pooled: its answer.
        sets: members of each synthetic set.
        scale: what a synthetic member counts for, in parts of the most that one can; of totals,
            the most that one can.

    Raises:
        RefusedError: there are, and the question has no bound on what they could change.
    """
    found = outside_of(table.release, table.wide_columns(estimand.columns))
    lacking = [one for one in found if one.certain]
    if not lacking:
        return pooled
    ends = value_ends(estimand, table.schema) if estimand.kind in (*RATIOS, "total") else None
    if ends is None:
        reason = domain_reason(lacking, mixed=True)
        raise RefusedError("out-of-domain", reason, None, anyway=False)
    rows = table.release.manifest.n_rows
    most = rows * sum(one.most for one in lacking)
    if estimand.kind == "total":
        room = np.full(len(pooled.names), scale * most * max(abs(end) for end in ends))
    else:
        share = most / np.maximum(scale * _sizes(estimand, sets), 1.0)
        room = share * np.maximum(ends[1] - pooled.estimate, pooled.estimate - ends[0])
    note = "Intervals have room for members out of domain, by the noisy numbers of them."
    return replace(pooled, bias=pooled.bias + room, notes=(*pooled.notes, note))


def _sizes(estimand: Estimand, sets: Sequence[Records]) -> Floats:
    """Members in the group of each quantity, in the mean over synthetic sets, shape (k,)."""
    found = []
    for records in sets:
        scores = estimand.scores(records)
        group = scores.group_of[scores.quantity[scores.quantity != ABSENT]]
        found.append(np.bincount(group, minlength=int(scores.group_of.max()) + 1)[scores.group_of])
    return np.asarray(np.mean(found, axis=0))


def _cut_off(table: MemberTable, estimand: Estimand, limits: Limits) -> tuple[str, Limits]:
    """Where numbers are cut off, in words and by column: at limits, or at bounds."""
    cut, beyond = dict(limits), list[OutOfBounds]()
    for name in estimand.used if estimand.expression else estimand.columns:
        column = table.schema.columns[name]
        if name in limits or not isinstance(column, NUMERIC):
            continue
        for slot in table.wide_columns([name]):
            for one in beyond_line(table.release, slot):
                if one.certain or one.most > MOST_BEYOND:
                    beyond.append(replace(one, column=name))
                    cut[name] = column.bounds
    return counting_words(table.schema, cut, beyond), cut


def _is_narrower(one: Pooled, other: Pooled) -> bool:
    """Return whether intervals are plainly shorter than those of another answer to the question.

    Nearly all of both lengths is known before the noise is.
    """
    own, wide = (np.nanmedian(np.subtract(*two.interval()[::-1])) for two in (one, other))
    return one.names != other.names or bool(own < _PLAINLY * wide)


def _by_counts(
    table: MemberTable,
    estimand: Estimand,
    matrix: SlotMoments | None,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    """The answer of noisy tables, one or more for each slot; None where a slot has none.

    No table serves two slots, so that the noise of slots is independent. Where no second moments
    say how alike members of a unit are, they count as wholly alike.
    """
    if estimand.kind not in (*RATIOS, "total", "quantile"):
        return None
    summed = table.counts(estimand.columns)
    if summed is None:
        return None
    counts, tables = summed
    if estimand.kind == "quantile":
        ask = partial(table_quantiles, estimand, counts, table.schema, tables)
        heavy = table.heavy(estimand.columns)
        whole = ask(heavy=heavy).pooled.estimate
        counted = ask(heavy=heavy, growth=_growth_below(estimand, whole, sets))
        pooled = counted.pooled
        pooled = replace(pooled, notes=(*pooled.notes, WHOLLY_ALIKE.format(table.form.of)))
        return MeasuredAnswer(pooled, counted.dropped, COUNTED)
    found = table_estimates(estimand, counts, table.schema, tables)
    pooled = found.pooled
    if estimand.kind != "total":
        scores = cell_scores(estimand, table.schema)
        alike = None
        if matrix is not None:
            alike = likeness(estimand, matrix, table.schema, sets)
        if alike is None:  # nobody knows how alike members are: no less than wholly
            alike = np.ones(len(pooled.names))
        growth = ratio_growth(estimand, pooled.estimate, scores.group_of, sets, alike)
        share = np.nan_to_num(pooled.synthesis_share, nan=1.0)
        root = np.sqrt(share + (1 - share) * growth)
        pooled = replace(
            pooled,
            covariance=pooled.covariance * np.multiply.outer(root, root),
            synthesis_share=pooled.synthesis_share / root**2,
        )
    return MeasuredAnswer(pooled, found.dropped, COUNTED)


def _growth_below(estimand: Estimand, quantiles: Floats, sets: Sequence[Records]) -> Floats:
    """Return how variances of the shares below quantiles grow, of members of units, shape (k,).

    Nothing that was measured says how alike members of one unit are in being below a number, so
    they count as wholly alike, and as in the synthetic units where that is more.

    Args:
        estimand: a quantile.
        quantiles: estimates, shape (k,).
        sets: members of each synthetic set.
    """
    found = np.ones((len(sets), len(quantiles)))
    for own, records in zip(found, sets, strict=True):
        scores, units = estimand.scores(records), records.unit_numbers
        for k in np.flatnonzero(np.isfinite(quantiles)):
            mine = np.flatnonzero(scores.quantity == k)
            if len(mine):
                below = scores.value[mine, None] <= quantiles[k]
                ones = np.ones((len(mine), 1))
                own[k] = cluster_factors(below - estimand.probability, ones, units[mine], 1.0)[0]
    return np.asarray(found.mean(axis=0))


def _unit_note(form: Members) -> str:
    return (
        f"The answer is about rows of {form.table!r}; those of one {form.of} are alike, so its "
        f"sampling error is that of a sample of {form.of} units."
    )


def _more_note(table: MemberTable) -> tuple[str, ...]:
    """That members beyond the slots are not in it, and how many units have some."""
    form, schema = table.form, table.release.schema
    matrix = matrix_of(table.release, (form.size,))
    rows = None if matrix is None else matrix.indicators(schema, form.size)
    said = f"Of each {form.of} at most {form.rows_per_unit} rows of {form.table!r} count"
    if matrix is None or rows is None:
        return (f"{said}.",)
    more = max(float(rows[-1] @ matrix.sums @ matrix.constant), 0.0)
    return (f"{said}; about {more:,.0f} of {max(matrix.n, 0):,.0f} have more (noisy numbers).",)
