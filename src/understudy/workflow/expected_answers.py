"""Expected precision of answers to declared analyses, before anything is spent.

Both parts of an error follow from the second moments of the population, which nobody knows before:
so they are computed for stated records, those of an earlier release or records drawn evenly over
the schema, numbers where they are typical. The noise is that of the plan. No data are read.

Numbers are seldom spread evenly between their bounds, and what rests on them is then less exact, or
lost in the noise. So the same is computed for other numbers too (`expected_ranges`). Where a schema
says what is typical, 90 in 100 numbers lie there. Where it does not, numbers are taken to be even,
and to lie in a tenth of their range, from the lower bound or from 0: all of them, the outcome
alone, and all but it.

Bounds may be far wider still: those of an amount of money, say, hold for wages by the hour and for
prices of houses. Its noise falls with the range that it uses, as numbers are cut off at what a
number line finds. So an outcome is also taken to lie in a smaller part (`_least_part`).

Quantiles by group are counted in bins, and their intervals cover whole bins: how long they are
depends on which bins numbers lie in. Where somebody declared bins of uneven lengths, these may
follow the numbers, with as many in each, or not. So numbers are taken to be even over the range,
and over the bins. Those that lie within what is typical may also be skewed there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from scipy.special import gammaincinv, ndtr

from understudy._arrays import Z_95, Floats
from understudy.errors import InferenceError
from understudy.features.grids import LineCells, find_limits
from understudy.inference.declared import (
    DeclaredAnalysis,
    Expected,
    are_near,
    by_tables,
    columns_of,
    not_of_members,
)
from understudy.inference.linear import Inverted
from understudy.inference.moment_answers import (
    MeasuredAnswer,
    answer_of,
    halves_answer,
    matrix_answer,
)
from understudy.inference.number_line import expected_on_line
from understudy.inference.own_tables import counts_on_lines, expected_parts
from understudy.inference.records import Records
from understudy.inference.second_moments import (
    FIRM,
    LostInNoiseError,
    MomentSource,
    apart,
    assumed_moments,
    joined_matrix,
)
from understudy.inference.term_moments import TermMatrix, assumed_terms, joined_terms, needed_terms
from understudy.inference.term_moments import apart as terms_apart
from understudy.inference.weighted import (
    WeightedMatrices,
    answer_by_terms,
    answer_for_population,
    answer_of_members,
    expected_weights,
    missing_weight,
)
from understudy.mechanisms.second_moments import SecondMoments, TermMoments, WeightedMoments
from understudy.mechanisms.tables import NoisyTables
from understudy.mechanisms.weighted_tables import WeightedTable
from understudy.release.decoding import decode
from understudy.schema import NUMERIC, Column, Continuous, Integer, Schema
from understudy.schema.expressions import read_name, split_outside

if TYPE_CHECKING:
    from understudy.inference.member_slots import MemberSlots
    from understudy.inference.question import Estimand

Moments = SecondMoments | WeightedMoments | TermMoments
Tables = NoisyTables | WeightedTable
Step = tuple[Moments | Tables, float]
"""What buys moments or tables, with the standard deviation of the noise in each number."""
_MOST_ROWS = 200_000
_FEW_ROWS = 1_000
_ROWS_PER_STATE = 50  # so that each state is drawn
_SLIGHT = 1e-3  # noise to first order
_UNKNOWN, _LEAST_PART = 0.1, 0.001  # of the range, in which numbers lie where none is typical
_VALUES = 1_000
_TAIL = 0.05
_GAMMA = 2.0  # shape of a skewed distribution
_NO_LINES: Final[Mapping[str, float]] = MappingProxyType({})


def expected_answers(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[Step],
    *,
    pure: bool,
    n_rows: int,
    like: pl.DataFrame | None,
    rows_stddev: float,
    lines: Mapping[str, float],
    lined: Mapping[str, float] = _NO_LINES,
) -> tuple[Expected, ...]:
    """Expected half-widths of each estimate of some analyses.

    Args:
        analyses: declared ones.
        schema: public.
        steps: what buys second moments, with the standard deviation of the noise in each number.
        pure: whether the budget has no δ.
        n_rows: how many records to assume, at most 200,000.
        like: records to assume; drawn evenly over the schema if None, numbers where it says what
            is typical.
        rows_stddev: of the noise in the number of records, where it is not among the sums.
        lines: column → standard deviation of the noise in the cells of its number line, where that
            decides on limits.
        lined: the same of all columns whose lines are released before anything else.
    """
    rows = _rows(schema, min(n_rows, _MOST_ROWS), like)
    if like is None:
        rows = with_skewed_numbers(rows, schema, {})
    sources = _sources(
        analyses, schema, _limit_numbers(steps, schema, rows, lines), rows, pure=pure
    )
    found: list[Expected] = []
    for analysis in analyses:
        stddev = _own_table_noise(analysis, schema, steps)
        if stddev is not None:
            found += _expect_counts(analysis, stddev, schema, rows, lined)
            continue
        if weighed := _weighed(analysis, schema, steps):
            excess = Assumed(sources, schema, rows, (float(rows.height), rows_stddev)).excess
            found += _expect_weighted(analysis, weighed, schema, rows, excess)
            continue
        assumed = Assumed(sources, schema, rows, (float(rows.height), rows_stddev))
        noise = _line_noise(analysis, assumed, lined)
        if noise is not None:
            found += _expect_on_line(analysis, noise, rows_stddev, schema, rows)
            continue
        found += _expect_answer(analysis, assumed)
    return tuple(found)


def _own_table_noise(
    analysis: DeclaredAnalysis, schema: Schema, steps: Sequence[Step]
) -> float | None:
    """Deviation of the noise in a cell of the analysis' own table; None where it has none."""
    _, tables = by_tables([analysis], schema)
    for asked, stddev in steps:
        if isinstance(asked, NoisyTables) and any(
            (tuple(asked.marginals), asked.bins, asked.groups)
            == ((own.columns,), own.bins, own.groups)
            for own in tables
        ):
            return stddev
    return None


def _line_noise(
    analysis: DeclaredAnalysis, assumed: Assumed, lined: Mapping[str, float]
) -> float | None:
    """Deviation of the noise in a cell of the line that answers an analysis; None if none does."""
    names = [*_columns(analysis, assumed.schema)]
    of_members = analysis.members(assumed.schema) is not None
    if len(names) != 1 or of_members or assumed.schema.design.weight:
        return None
    with suppress(InferenceError):  # second moments, of which nothing is left
        return lined.get(names[0]) if assumed.answer(analysis) is None else None
    return None


def _weighed(
    analysis: DeclaredAnalysis, schema: Schema, steps: Sequence[Step]
) -> dict[tuple[int, bool], float]:
    """The same of the analysis' own tables of weights, by power and whether by random group."""
    found = dict[tuple[int, bool], float]()
    by, weight = schema.design.groups, schema.design.weight
    for own in by_tables([analysis], schema)[1] if weight else ():
        for asked, stddev in steps:
            if not isinstance(asked, WeightedTable):
                continue
            if (asked.bins, asked.groups) == (own.bins, own.groups):
                apart = {*asked.columns} ^ {*own.columns}
                if not apart or apart == {by}:
                    found[asked.weighting.power, bool(apart)] = stddev
    return found if {(1, False), (2, False)} <= found.keys() else {}


def _expect_weighted(
    analysis: DeclaredAnalysis,
    stddevs: Mapping[tuple[int, bool], float],
    schema: Schema,
    rows: pl.DataFrame,
    excess: float,
) -> list[Expected]:
    """What is told by the tables of weights that are summed for an analysis."""
    try:
        found = expected_weights(analysis.estimand(schema), schema, rows, stddevs, excess)
    except InferenceError as error:
        return [Expected(str(analysis), "", np.nan, np.nan, str(error))]
    return _expected(analysis, found)


def _expect_on_line(
    analysis: DeclaredAnalysis,
    stddev: float,
    n_stddev: float,
    schema: Schema,
    rows: pl.DataFrame,
) -> list[Expected]:
    """Return what the number line of the only column of an analysis tells."""
    try:
        found = expected_on_line(analysis.estimand(schema), schema, rows, stddev, n_stddev)
    except InferenceError as error:
        return [Expected(str(analysis), "", np.nan, np.nan, str(error))]
    return [Expected(str(analysis), *one) for one in found] or [_untold(analysis)]


def _expect_counts(
    analysis: DeclaredAnalysis,
    stddev: float,
    schema: Schema,
    rows: pl.DataFrame,
    lined: Collection[str] = (),
) -> list[Expected]:
    """Return what the table that is counted for an analysis tells."""
    try:
        found = expected_parts(analysis.estimand(schema), schema, rows, stddev, lined)
    except InferenceError as error:
        return [Expected(str(analysis), "", np.nan, np.nan, str(error))]
    if not any(np.isfinite(half) for _, *halves in found for half in halves):
        few = _FEW.format(rows.height)
        return [Expected(str(analysis), "", np.nan, np.nan, few)]
    return [Expected(str(analysis), *one) for one in found]


_FEW: Final = (
    "Fewer than 2 of the {:,} records that are assumed would count: ask of a wider condition, or "
    "assume more records or those of an earlier release."
)


def require_moments(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[Moments],
    *,
    pure: bool,
) -> None:
    """Refuse analyses that second moments do not answer, whatever the rows are.

    Each is asked of the exact moments of records drawn evenly over the schema.

    Args:
        analyses: declared ones.
        schema: public.
        steps: what buys second moments.
        pure: whether the budget has no δ.

    Raises:
        InferenceError: a term that no second moments have, or that cannot be computed.
    """
    most = max(schema.sizes)
    rows = _rows(schema, min(max(_FEW_ROWS, _ROWS_PER_STATE * most), _MOST_ROWS), None)
    sources = _sources(analyses, schema, [(asked, 0.0) for asked in steps], rows, pure=pure)
    for analysis in analyses:
        try:
            answer = Assumed(sources, schema, rows, (float(rows.height), 0.0)).answer(analysis)
        except LostInNoiseError:  # of these records; others may have the answer
            continue
        members = analysis.members(schema)
        if answer is None and members is not None:
            raise not_of_members(analysis, members.form)
        if answer is None:
            raise InferenceError(
                f"Second moments do not answer {analysis}: terms must be columns, levels, powers "
                "and logarithms of numbers, and products of these, such as 'income ~ age * sex', "
                "and the outcome of a logit must be 0 or 1."
            )


def difficulties(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[Moments | Tables],
    *,
    pure: bool,
) -> tuple[float, ...]:
    """Return how much noise of one record widens each answer: its variance over that by sampling.

    Both are of records drawn evenly over the schema, with numbers where they are typical; of
    several estimates the median counts. It is 0 where nothing that is bought has the answer.

    Args:
        analyses: declared ones.
        schema: public.
        steps: what each of them buys.
        pure: whether the budget has no δ.
    """
    n = min(max(_FEW_ROWS, _ROWS_PER_STATE * max(schema.sizes)), _MOST_ROWS)
    rows = with_skewed_numbers(_rows(schema, n, None), schema, {})
    found = []
    for analysis, asked in zip(analyses, steps, strict=True):
        if isinstance(asked, NoisyTables):
            answers = _expect_counts(analysis, _SLIGHT, schema, rows)
        else:
            sources = _sources([analysis], schema, [(asked, _SLIGHT)], rows, pure=pure)
            about = float(rows.height), 0.0
            answers = _expect_answer(analysis, Assumed(sources, schema, rows, about))
        ratios = [one.noise / one.sampling / _SLIGHT for one in answers if one.sampling > 0]
        found.append(float(np.median(ratios) ** 2) if ratios else 0.0)
    return tuple(found)


Sources = tuple[Sequence[MomentSource], Sequence[TermMatrix]]
"""Second moments of columns, and of terms."""


def _sources(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[Step],
    rows: pl.DataFrame,
    *,
    pure: bool,
) -> Sources:
    """List what would be measured of the columns of some analyses."""
    used = columns_of(analyses, schema)
    own = [
        (asked, stddev)
        for asked, stddev in steps
        if not isinstance(asked, Tables) and set(asked.columns) & set(used)
    ]
    of_columns = [
        source
        for asked, stddev in own
        if not isinstance(asked, TermMoments)
        for source in apart(assumed_moments(schema, rows, asked, used, stddev, pure=pure), schema)
    ]
    of_terms = [
        source
        for asked, stddev in own
        if isinstance(asked, TermMoments)
        for source in terms_apart(assumed_terms(schema, rows, asked.scores(schema), stddev))
    ]
    return of_columns, of_terms


def _limit_numbers(
    steps: Sequence[Step],
    schema: Schema,
    rows: pl.DataFrame,
    lines: Mapping[str, float],
) -> list[Step]:
    """The steps, with the limits of numbers that number lines of these records would give."""
    if not lines:
        return [*steps]
    limits = dict[str, tuple[float, float]]()
    for name, counts in counts_on_lines(lines, schema, rows).items():
        cells = LineCells.of_line(schema, name)
        if found := find_limits(counts, lines[name], cells, counts.sum()):
            limits[name] = found
    return [
        (asked, noise)
        if isinstance(asked, WeightedMoments | Tables)  # of numbers as they are
        else (replace(asked, limits={k: v for k, v in limits.items() if k in asked.columns}), noise)
        for asked, noise in steps
    ]


@dataclass(frozen=True)
class Assumed:
    """Stated records, and what would be measured of them.

    Attributes:
        sources: moments of columns and of terms, exact, with the noise that they would have.
        schema: public.
        rows: the records.
        n: their number, and the standard deviation of the noise in it.
    """

    sources: Sources
    schema: Schema
    rows: pl.DataFrame
    n: tuple[float, float]

    def answer(self, analysis: DeclaredAnalysis) -> MeasuredAnswer | None:
        """The answer of these records, weighted where the release would weigh it."""
        estimand, members = analysis.estimand(self.schema), analysis.members(self.schema)
        if members is not None:
            return self._of_members(estimand, members)
        return self._answer(estimand) or halves_answer(estimand, self.schema, self._answer)

    def _answer(self, estimand: Estimand) -> MeasuredAnswer | None:
        from understudy.inference.question import WEIGHTED  # loads statistics

        of_columns, _ = self.sources
        records = Records.complete_of(self.rows, self.schema, estimand.columns)
        if self.schema.design.weight and estimand.kind in WEIGHTED:
            return self._answer_of_population(estimand, records)
        needed = needed_terms(estimand, self.schema)
        own = None if needed is None else joined_terms(self.sources[1], needed)
        if own is not None:
            return matrix_answer(estimand, own, self.schema, [records])
        plain = [one for one in of_columns if one.scores.weighting is None]
        matrix = joined_matrix(plain, self.schema, estimand.columns, self.n)
        return None if matrix is None else matrix_answer(estimand, matrix, self.schema, [records])

    def _of_members(self, estimand: Estimand, members: MemberSlots) -> MeasuredAnswer | None:
        """The answer about members of the records, as `inference.members` has it."""
        from understudy.inference.member_slots import BY_MOMENTS
        from understudy.inference.question import WEIGHTED  # loads statistics

        if estimand.kind not in BY_MOMENTS:
            return None
        weight, columns = self.schema.design.weight, estimand.columns
        by_weight = bool(weight) and estimand.kind in WEIGHTED
        beside = (weight,) if by_weight else ()
        records = members.members_in(self.rows, tuple(dict.fromkeys((*columns, *beside))))
        wide, part = members.wide_columns(columns), partial(members.part, columns)
        of_columns, _ = self.sources
        if by_weight:
            about = self.n[0], self.excess
            joint = WeightedMatrices.of_sources(of_columns, self.schema, wide, *about, drawn=False)
            if joint is None:
                return None
            matrices = WeightedMatrices.of_members(joint, part)
            return answer_of_members(estimand, matrices, members.schema, [records])
        plain = [one for one in of_columns if one.scores.weighting is None]
        matrix = joined_matrix(plain, self.schema, wide, self.n)
        if matrix is None or matrix.scores.complete:
            return None
        return answer_of(estimand, part(matrix), members.schema, [records])

    def _answer_of_population(self, estimand: Estimand, records: Records) -> MeasuredAnswer | None:
        """The answer for the population."""
        about = self.n[0], self.excess
        own = WeightedMatrices.of_term_sources(
            estimand, self.sources[1], self.schema, *about, drawn=False
        )
        if own is not None:
            return answer_by_terms(estimand, own, self.schema, [records])
        weighted = [one for one in self.sources[0] if one.scores.weighting is not None]
        matrices = WeightedMatrices.of_sources(
            weighted, self.schema, estimand.columns, *about, drawn=False
        )
        if matrices is None:
            return None
        return answer_for_population(estimand, matrices, self.schema, [records])

    @property
    def excess(self) -> float:
        """The part of weights above B, in records that count in full."""
        return missing_weight(self.schema, self.rows)


@dataclass(frozen=True)
class ExpectedRange:
    """The expected precision of one estimate whatever the spread of numbers that nobody declared.

    Attributes:
        analysis: that it belongs to.
        name: of the estimate.
        least: the least half-width of a 95 % interval; NaN where none is expected.
        largest: the largest; infinite where there may be none, or one without an end.
        refusal: the largest chance that noise hides what the analysis rests on.
    """

    analysis: str
    name: str
    least: float
    largest: float
    refusal: float

    @property
    def is_sure(self) -> bool:
        """True if some one width is within a factor of two of all that it may be."""
        return are_near(self.least, self.largest)

    def to_json(self) -> dict[str, Any]:
        """Plain data; None for what is not expected."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
        }


def expected_ranges(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[Step],
    *,
    pure: bool,
    n_rows: int,
    rows_stddev: float,
    lines: Mapping[str, float],
    lined: Mapping[str, float] = _NO_LINES,
) -> tuple[ExpectedRange, ...]:
    """Half-widths and chances of refusal over several ways in which numbers may be spread.

    What has to stand out from its noise, a group or the spread of a predictor, is judged by the
    synthetic records. These follow measurements with about as much noise, so it is taken to vary
    by one standard deviation.

    Args:
        analyses: as for `expected_answers`, and so are the others.
        schema: public.
        steps: what buys second moments, with the standard deviation of the noise in each number.
        pure: whether the budget has no δ.
        n_rows: how many records to assume.
        rows_stddev: of the noise in the number of records.
        lines: as for `expected_answers`, and so is the next.
        lined: as there.
    """
    even = _rows(schema, min(n_rows, _MOST_ROWS), None)
    about = float(even.height), rows_stddev
    found: list[ExpectedRange] = []
    for analysis in analyses:
        stddev = _own_table_noise(analysis, schema, steps)
        if stddev is not None:
            if analysis.estimand(schema).kind == "quantile":
                expect = partial(_expect_counts, analysis, stddev, schema, lined=lined)
                found += _expect_by_bins(analysis, expect, schema, even)
            continue  # cells are counted, wherever numbers lie
        if _weighed(analysis, schema, steps):
            continue
        sources = _sources([analysis], schema, steps, even, pure=pure)
        noise = _line_noise(analysis, Assumed(sources, schema, even, about), lined)
        if noise is not None:
            expect = partial(_expect_on_line, analysis, noise, rows_stddev, schema)
            found += _expect_by_bins(analysis, expect, schema, even)
            continue
        each, chance, lost = dict[str, list[float]](), 0.0, False
        for parts in _ways(analysis, schema):
            rows = with_skewed_numbers(even, schema, parts)
            limited = _limit_numbers(steps, schema, rows, lines)
            sources = _sources([analysis], schema, limited, rows, pure=pure)
            widths, refusal = _half_widths(analysis, Assumed(sources, schema, rows, about))
            chance, lost = max(chance, refusal), lost or not widths
            for name, width in widths.items():
                each.setdefault(name, []).append(width)
        found += _ranges(analysis, each, chance, lost=lost)
    return tuple(found)


def _expect_by_bins(
    analysis: DeclaredAnalysis,
    expect: Callable[[pl.DataFrame], list[Expected]],
    schema: Schema,
    even: pl.DataFrame,
) -> list[ExpectedRange]:
    """Half-widths of what bins of a number tell, over several ways in which numbers lie in them.

    Args:
        analysis: the question.
        expect: says what is expected of such records.
        schema: public.
        even: records drawn evenly over the schema.
    """
    ways = (
        with_skewed_numbers(even, schema, {}),
        with_skewed_numbers(even, schema, dict.fromkeys(_columns(analysis, schema), _UNKNOWN)),
        with_skewed_numbers(even, schema, {}, long_tailed=True),
        _rows(schema, even.height, None, over_bins=True),
    )
    each, lost = dict[str, list[float]](), False
    for rows in ways:
        for one in expect(rows):
            lost = lost or not one.name  # nobody counts, where numbers lie so
            if one.name:  # NaN for a group without records
                each.setdefault(one.name, []).append(one.half_width)
    return _ranges(analysis, each, 0.0, lost=lost)


def _ranges(
    analysis: DeclaredAnalysis, each: Mapping[str, Sequence[float]], refusal: float, *, lost: bool
) -> list[ExpectedRange]:
    """Ranges of half-widths, from those of each estimate over all ways in which it has one.

    Args:
        analysis: the question.
        each: name of an estimate → half-widths; NaN where it has none.
        refusal: the largest chance that noise hides what the analysis rests on.
        lost: whether in some way there is no estimate at all.
    """
    found = []
    for name, widths in (each or {"": [math.nan]}).items():
        known = [one for one in widths if not math.isnan(one)] or [math.nan]
        largest = math.inf if lost and name else max(known)
        found.append(ExpectedRange(str(analysis), name, min(known), largest, refusal))
    return found


def _ways(analysis: DeclaredAnalysis, schema: Schema) -> list[dict[str, float]]:
    """Parts of their range in which numbers are taken to lie, of those of which nothing is typical.

    A column that a way does not name is even.
    """
    unknown = {
        name: column
        for name, column in _columns(analysis, schema).items()
        if isinstance(column, Integer | Continuous) and column.typical is None
    }
    all_of_them = dict.fromkeys(unknown, _UNKNOWN)
    outcome = read_name(split_outside(analysis.formula, "~")[0])
    members = analysis.members(schema)
    own = {outcome} if members is None else {*members.wide_columns((outcome,))}
    others = {name: part for name, part in all_of_them.items() if name not in own}
    ways = [dict[str, float](), all_of_them, others]
    if asked := own & unknown.keys():
        least = {name: _least_part(unknown[name]) for name in asked}
        ways += [dict.fromkeys(asked, _UNKNOWN), least, {**all_of_them, **least}]
    return [way for k, way in enumerate(ways) if way not in ways[:k]]


def _columns(analysis: DeclaredAnalysis, schema: Schema) -> dict[str, Column]:
    return {name: schema.columns[name] for name in columns_of([analysis], schema)}


def _least_part(column: Integer | Continuous) -> float:
    """The smallest part of its range in which the numbers of a column may well lie.

    It is the shortest bin or a thousand values, at least a thousandth and at most a tenth.
    """
    low, high = column.bounds
    bins = [one.high - one.low for one in column.intervals if one.high > one.low]
    decimals = column.decimals if isinstance(column, Continuous) else 0
    if decimals is not None:
        bins.append(_VALUES * 10.0**-decimals)
    return float(np.clip(min(bins, default=0.0) / (high - low or 1.0), _LEAST_PART, _UNKNOWN))


def _half_widths(analysis: DeclaredAnalysis, assumed: Assumed) -> tuple[dict[str, float], float]:
    """Half-widths of estimates of such records, and how likely noise hides what they rest on."""
    try:
        found = assumed.answer(analysis)
    except LostInNoiseError as error:
        return {}, float(ndtr(error.short))
    except InferenceError:
        return {}, 1.0
    if found is None:
        return {}, 0.0
    pooled, refusal = found.pooled, 0.0
    lower, upper = pooled.interval(0.95)
    if isinstance(pooled, Inverted):
        with np.errstate(divide="ignore", invalid="ignore"):
            firm = np.abs(pooled.denominator) / np.sqrt(pooled.squared)
        refusal = float(ndtr(FIRM - np.nanmin(firm)))
    each = zip(pooled.names, ((upper - lower) / 2).tolist(), strict=True)
    return {name: width for name, width in each if not math.isnan(width)}, refusal


def with_skewed_numbers(
    rows: pl.DataFrame, schema: Schema, parts: Mapping[str, float], *, long_tailed: bool = False
) -> pl.DataFrame:
    """Records with numbers as they are typical, or skewed; dates and codes stay as they are.

    Of 100 numbers 90 lie evenly within what is typical, 5 below it and 5 above it, with
    exponential tails of a sixth and a third of its length, cut at the bounds. Their spread is .37
    of that length; that of a normal number is .30, of a log-normal one up to .5.

    Args:
        rows: drawn over the schema.
        schema: public.
        parts: columns whose numbers lie in such a part of their range, from 0 if that is inside,
            and else from the lower bound; others of which the schema does not say what is typical
            stay even.
        long_tailed: whether numbers follow a gamma distribution of shape 2 instead.
    """
    rng = np.random.default_rng(1)
    changed = {}
    for name, column in schema.columns.items():
        if not isinstance(column, Integer | Continuous):
            continue
        if column.typical is None and name not in parts:
            continue
        low, high = column.bounds
        first, last = column.typical or _part_of(column.bounds, parts[name])
        part, place = rng.random((2, rows.height))
        values = first + (last - first) * place
        if long_tailed:
            values = first + (last - first) * _long_tailed(rng, rows.height)
            part = np.full(rows.height, 0.5)
        beyond = (last - first) / 3 * rng.exponential(size=rows.height)
        values = np.where(part < _TAIL, first - beyond / 2, values)
        values = np.where(part > 1 - _TAIL, last + beyond, values)
        if isinstance(column, Integer):
            values = values.round()
        elif column.decimals is not None:
            values = values.round(column.decimals)
        own = rows[name]
        has_number = pl.Series(Records.of(rows, schema, (name,)).complete())
        drawn = pl.Series(name, np.clip(values, low, high))
        if isinstance(column, Integer):
            drawn = drawn.cast(pl.Int64)  # beside codes it is a text, without a point
        drawn = drawn.cast(own.dtype)
        changed[name] = drawn.zip_with(has_number, own)
    return rows.with_columns(**changed)


def _part_of(bounds: tuple[float, float], part: float) -> tuple[float, float]:
    low, high = bounds
    first = 0.0 if low < 0 < high else low
    return first, min(first + part * (high - low), high)


def _long_tailed(rng: np.random.Generator, n: int) -> Floats:
    """Numbers of which 5 in 100 lie below 0 and above 1 each, as of a gamma distribution."""
    low, high = gammaincinv(_GAMMA, [_TAIL, 1 - _TAIL])
    return np.asarray((rng.gamma(_GAMMA, size=n) - low) / (high - low))


def _expect_answer(analysis: DeclaredAnalysis, assumed: Assumed) -> list[Expected]:
    try:
        answer = assumed.answer(analysis)
    except InferenceError as error:
        return [Expected(str(analysis), "", np.nan, np.nan, str(error))]
    return [_untold(analysis)] if answer is None else _expected(analysis, answer)


def _untold(analysis: DeclaredAnalysis) -> Expected:
    """Nothing that is bought for analyses answers this one."""
    why = "second moments do not have it; it is answered by what the synthesis measures, if so"
    return Expected(str(analysis), "", np.nan, np.nan, why)


def _expected(analysis: DeclaredAnalysis, answer: MeasuredAnswer) -> list[Expected]:
    """The half-widths of an answer."""
    pooled = answer.pooled
    variance = np.diag(pooled.covariance)
    noise = np.sqrt(variance * pooled.synthesis_share)
    sampling = np.sqrt(variance * (1 - pooled.synthesis_share))
    names = zip(pooled.names, noise, sampling, strict=True)
    return [
        Expected(str(analysis), name, float(Z_95 * own), float(Z_95 * other))
        for name, own, other in names
        if np.isfinite(own) or np.isfinite(other)  # a test has no width
    ]


def _rows(
    schema: Schema, n: int, like: pl.DataFrame | None, *, over_bins: bool = False
) -> pl.DataFrame:
    """Records drawn evenly over what the schema allows, or from others; always the same.

    Numbers are even over the range, or over the bins in which they are typical.
    """
    rng = np.random.default_rng(0)
    if like is not None:
        return like[list(schema.names)][rng.integers(0, like.height, n)]
    weights = [_weights(one, over_bins=over_bins) for one in schema.columns.values()]
    return decode(schema.domain.draw(n, rng.random, weights), schema, rng)


def _weights(column: Column, *, over_bins: bool) -> Floats:
    """Return how likely each state is over the mean bin, shape (size,).

    A bin counts by its length, or by the part of it that is typical; other states count as one.
    """
    weights = np.ones(column.size)
    if not isinstance(column, NUMERIC):
        return weights
    step = 0.0 if isinstance(column, Continuous) else 1.0
    bins = np.flatnonzero([not one.spike for one in column.intervals])
    low, high = np.array([(column.intervals[k].low, column.intervals[k].high) for k in bins]).T
    with np.errstate(over="ignore", invalid="ignore"):
        own = high - low + step
        if over_bins:
            first, last = getattr(column, "typical", None) or column.bounds
            own = np.clip(np.minimum(high, last) - np.maximum(low, first) + step, 0, None) / own
        own = own / own.mean()
    if np.isfinite(own).all():
        weights[bins] = own
    return weights
