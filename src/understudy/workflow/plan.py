"""What a release would measure and cost, from public facts alone: no rows, no engine.

**How exact the answers to declared analyses will be, before anything is spent.**

Both parts of an error follow from the second moments of the population, which nobody knows before:
so they are computed for stated records, those of an earlier release or records drawn evenly over
the schema, for a stated number of records. The noise is that of the plan. No data are read.

Numbers are seldom spread evenly between their bounds, and what rests on them is then less exact, or
lost in the noise. So the same is computed for other numbers too (`expected_ranges`). Where a schema
says what is typical, 90 in 100 numbers lie there. Where it does not, numbers are taken to be even,
and to lie in the lowest tenth of their range: all of them, the outcome alone, and all but it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from understudy._validation import require_whole
from understudy.dp.budget import Budget, Number, decimal_up
from understudy.errors import BudgetError, InferenceError, MethodError
from understudy.inference.analyze import matrix_answer
from understudy.inference.declared import DeclaredAnalysis, Expected, ExpectedAnswers, columns_of
from understudy.inference.linear import Inverted
from understudy.inference.moment_answers import MeasuredAnswer
from understudy.inference.records import Records
from understudy.inference.second_moments import (
    FIRM,
    LostInNoiseError,
    MomentMatrix,
    MomentSource,
    assumed_moments,
    joined_matrix,
)
from understudy.mechanisms.second_moments import ScoreMoments
from understudy.methods.auto import ASSUMED_ROWS
from understudy.methods.plan import PlannedTable
from understudy.release.decoding import decode
from understudy.schema import Continuous, Integer, Schema
from understudy.workflow.request import (
    DEFAULT_ROWS_SHARE,
    Request,
    adjust_for_row_count,
    request_of,
)
from understudy.workflow.request import remarks as settled_remarks

if TYPE_CHECKING:
    from understudy.release import Release


FAR_WIDER = 10
"""Times the typical range from which on a plan warns of the bounds."""


@dataclass(frozen=True)
class Plan:
    """What a release would cost and measure, from public facts alone.

    Attributes:
        method: its name.
        options: its options, defaults included.
        reason: why it was chosen, if it was chosen automatically.
        budget: the stated budget.
        neighbours: neighbouring relation.
        sets: number of synthetic tables.
        sets_kind: "free" or "split".
        rows_noise: how the number of rows is obtained, in words.
        setup: what is measured once, before the fits.
        tables: what one fit measures.
        fits: how many fits there are.
        remarks: what else there is to know, in sentences.
        expected: how exact answers to declared analyses will be, for `assumed_rows` records.
        ranges: the same for numbers that are spread in other ways, with the chance of a refusal
            (`workflow.plan`); none where an earlier release stands for the records.
        priority: columns of which second moments are bought by themselves as well.
        memory_mb: memory beyond the rows, in megabytes; an estimate (`understudy.methods.base`).
        seconds: time beyond reading the rows, in seconds; an estimate.
    """

    method: str
    options: dict[str, Any]
    reason: str
    budget: Budget
    neighbours: str
    sets: int
    sets_kind: str
    rows_noise: str
    setup: tuple[PlannedTable, ...]
    tables: tuple[PlannedTable, ...]
    fits: int
    remarks: tuple[str, ...]
    memory_mb: float
    seconds: float
    expected: tuple[Expected, ...] = ()
    assumed_rows: int = 0
    priority: tuple[str, ...] = ()
    ranges: tuple[ExpectedRange, ...] = ()

    def __repr__(self) -> str:
        """One line."""
        sets = f"{self.sets} {self.sets_kind} {'set' if self.sets == 1 else 'sets'}"
        steps = len(self.setup) + self.fits * len(self.tables)
        budget = f"ε = {decimal_up(self.budget.epsilon)}"
        budget += f", δ = {decimal_up(self.budget.delta)}" if self.budget.delta else ""
        return (
            f"Plan({self.method}, {budget}, {sets}, {steps:,} {'step' if steps == 1 else 'steps'})"
        )


def plan(
    schema: Schema | str | Path,
    *,
    epsilon: Number,
    delta: Number = 0,
    method: str = "auto",
    sets: int = 1,
    options: Mapping[str, Any] | None = None,
    rows_share: Number = DEFAULT_ROWS_SHARE,
    answers_share: Number | None = None,
    lines_share: Number | None = None,
    layer_share: Number | None = None,
    analyses: object = None,
    priority: object = None,
    assume_rows: int | None = None,
    like: Release | None = None,
) -> Plan:
    """What a release would measure and cost, and how exact it would be. No data are read.

    Args:
        schema: a reviewed schema, or the path of its file.
        epsilon: ε of the whole release.
        delta: δ of the whole release; 0 for pure differential privacy.
        method: a name in the table of methods, or "auto".
        sets: number of synthetic tables.
        options: options of the method.
        rows_share: share of the budget that buys the number of rows, where that is private.
        answers_share: part of the rest that buys second moments of all columns, from which linear
            models, correlations and group means are answered; by default a quarter for an
            automatic release with δ above 0, half where analyses are declared, else nothing.
        lines_share: part of the rest that buys number lines: counts of numbers in finer cells than
            their bins, and beyond their bounds, which records follow too. By default a tenth for an
            automatic release, or where a declared analysis asks for a mean, share, total or
            quantile.
        layer_share: part of the rest that buys second moments of all columns beside those of
            declared analyses; by default a tenth for an automatic release with δ above 0.
        analyses: what the release is to answer (`inference.declared`), such as "ols income
            ~ age + sex"; then answers_share buys moments of their columns alone.
        priority: names of columns that matter most: a quarter of what answers_share buys are
            moments of these alone, so that questions about them have narrower intervals.
        assume_rows: number of records for which widths are expected; 1,000 if it is private.
        like: an earlier release that stands for the population there; else even records do.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget.
        MethodError: unknown method, option or priority column, or one that does not fit the schema.
        InferenceError: not an analysis.
    """
    asked: dict[str, Any] = {
        "method": method,
        "epsilon": epsilon,
        "delta": delta,
        "sets": sets,
        "options": options,
        "rows_share": rows_share,
        "answers_share": answers_share,
        "lines_share": lines_share,
        "layer_share": layer_share,
        "analyses": analyses,
        "priority": priority,
    }
    request = request_of(schema, **asked)
    if request.schema.rows == "public":
        request = adjust_for_row_count(request, request.schema.n_rows or 0)
    tables, setup = request.tables(), request.setup()
    expected = expected_of(request, assume_rows, like)
    ranges = _ranges(request, assume_rows) if expected and like is None else ()
    effort = request.method.effort(request.schema, tables, request.budget)
    return Plan(
        method=request.name,
        options=request.options,
        reason=request.reason,
        budget=request.budget,
        neighbours=request.schema.neighbours,
        sets=sets,
        sets_kind=request.method.sets,
        rows_noise=request.rows_words,
        setup=setup,
        tables=tables,
        fits=request.fits,
        remarks=(
            *_epsilon_remarks(request.budget.epsilon),
            *request.remarks,
            *settled_remarks(request),
            *_with_private_rows(request, tables, asked),
            *_wide_bounds(request.schema),
        ),
        memory_mb=round(effort.memory_mb, 1),
        seconds=round(effort.shared + request.fits * effort.seconds, 2),
        expected=expected.answers if expected else (),
        assumed_rows=expected.records if expected else 0,
        priority=request.priority,
        ranges=ranges,
    )


def _wide_bounds(schema: Schema) -> tuple[str, ...]:
    """What a plan says of bounds that are far wider than what is typical."""
    found = []
    for name, column in schema.columns.items():
        typical = getattr(column, "typical", None)
        if typical is None or not isinstance(column, Integer | Continuous):
            continue
        low, high = column.bounds
        times = (high - low) / (typical[1] - typical[0])
        if times >= FAR_WIDER:
            found.append(f"{name} ({times:,.0f} times)")
    if not found:
        return ()
    return (
        f"Bounds are far wider than what is typical: {', '.join(found)}. The noise in sums grows "
        "with the bounds, so narrower ones, where numbers beyond them are few, give narrower "
        "intervals.",
    )


_LEAST_EPSILON, _MOST_EPSILON = Fraction(1, 100), Fraction(20)
"""Outside of these, a budget is rather mistyped than meant."""


def _epsilon_remarks(epsilon: Fraction) -> tuple[str, ...]:
    """What an ε means that hardly protects, or leaves hardly anything to see."""
    if epsilon > _MOST_EPSILON:
        return (
            f"ε = {float(epsilon):,.6g} hardly protects anybody: one record may change a "
            f"probability by the factor e^{float(epsilon):,.6g}. Budgets above "
            f"{int(_MOST_EPSILON)} are rare; see that this one is meant.",
        )
    if epsilon < _LEAST_EPSILON:
        return (
            f"ε = {float(epsilon):.6g} leaves hardly anything to see: a single count that had all "
            f"of it would have noise of about ±{math.sqrt(2) / float(epsilon):,.0f} records. See "
            "that this budget is meant.",
        )
    return ()


def _with_private_rows(
    request: Request, tables: Sequence[PlannedTable], asked: Mapping[str, Any]
) -> tuple[str, ...]:
    """What the noise would be if the number of rows were private, where it is public.

    Args:
        request: what is asked for.
        tables: what it would measure.
        asked: the same in the words of the caller.
    """
    schema = request.schema
    if schema.rows == "private":
        return ()
    limit = schema.n_rows or None
    changed = {"rows": "private", "n_rows": None, "row_limit": limit}
    try:
        other = request_of(schema.model_copy(update=changed), **asked).tables()
    except (MethodError, BudgetError):  # what is asked rests on a public number
        return ()
    noisy = [
        (here.stddev, there.stddev)
        for here, there in zip(tables, other, strict=False)
        if here.form is there.form and here.form.has_noise and here.query == there.query
    ]
    if not noisy:
        return ()
    here, there = noisy[0]
    return (
        f'With rows = "private" the noise would have a standard deviation of {there:,.3g} where it '
        f"has {here:,.3g} here, and the number of rows would be bought. That protects another "
        "unit: one record more or less, not one in place of another, which counts as two such "
        "steps. So it is not the same promise at less noise.",
    )


def expected_of(
    request: Request, assume_rows: int | None, like: Release | None
) -> ExpectedAnswers | None:
    """How exact answers to declared analyses will be; None where nothing is bought for any.

    Args:
        request: what is asked for.
        assume_rows: number of records to assume; by default the public one, else 1,000.
        like: an earlier release that stands for the population; else even records do.

    Raises:
        MethodError: no number of records, or an earlier release of other columns.
    """
    schema = request.schema
    if assume_rows is not None:
        require_whole("assume_rows", assume_rows, MethodError, least=1)
    if like is not None and (lacking := set(schema.names) - set(like.schema.names)):
        raise MethodError(f"The release in like lacks the column {min(lacking)!r} of the schema.")
    if not (request.analyses and request.answers):
        return None

    stated = _stated(request, assume_rows)
    drawn = None if like is None else like.tables[0]
    answers = expected_answers(request.analyses, schema, like=drawn, **stated)
    title = "" if like is None else like.schema.title or "an earlier release"
    return ExpectedAnswers(stated["n_rows"], title, answers)


def _ranges(request: Request, assume_rows: int | None) -> tuple[ExpectedRange, ...]:
    """What is expected whatever the spread of numbers that nobody declared."""
    return expected_ranges(request.analyses, request.schema, **_stated(request, assume_rows))


def _stated(request: Request, assume_rows: int | None) -> dict[str, Any]:
    """Noise of the moments that answer declared analyses, and how many records are assumed."""
    deviations = [step.stddev for step in request.answer_steps()]
    bought = (moments for moments, _ in request.answers)
    return {
        "steps": list(zip(bought, deviations, strict=True)),
        "pure": request.budget.accounting == "pure",
        "n_rows": assume_rows or request.schema.n_rows or ASSUMED_ROWS,
        "rows_stddev": request.rows_stddev,
    }


_MOST_ROWS = 200_000
_FEW_ROWS = 1_000
_ROWS_PER_STATE = 50  # so that each state is drawn
_REACH = 1.96
_UNKNOWN = 10  # part of the range in which skewed numbers lie where none is typical
_TAIL = 0.05


def expected_answers(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[tuple[ScoreMoments, float]],
    *,
    pure: bool,
    n_rows: int,
    like: pl.DataFrame | None,
    rows_stddev: float,
) -> tuple[Expected, ...]:
    """Expected half-widths of each estimate of some analyses.

    Args:
        analyses: declared ones.
        schema: public.
        steps: what buys second moments, with the standard deviation of the noise in each number.
        pure: whether the budget has no δ.
        n_rows: how many records to assume, at most 200,000.
        like: records to assume; drawn evenly over the schema if None.
        rows_stddev: of the noise in the number of records, where it is not among the sums.
        skewed: whether numbers of records that are drawn are skewed, and not even.
    """
    rows = _rows(schema, min(n_rows, _MOST_ROWS), like)
    sources = _sources(analyses, schema, steps, rows, pure=pure)
    lines: list[Expected] = []
    for analysis in analyses:
        matrix = _matrix_for(analysis, sources, schema, (float(rows.height), rows_stddev))
        lines += _expected(analysis, matrix, schema, rows)
    return tuple(lines)


def require_moments(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[ScoreMoments],
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
        matrix = _matrix_for(analysis, sources, schema, (float(rows.height), 0.0))
        try:
            answer = _answer(analysis, matrix, schema, rows)
        except LostInNoiseError:  # of these records; others may have the answer
            continue
        if answer is None:
            raise InferenceError(
                f"Second moments of its columns do not answer {analysis}: terms must be columns, "
                "levels and conditions on levels, added up, such as 'income ~ age + C(region)', "
                "and the outcome of a logit must be 0 or 1."
            )


def _sources(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[tuple[ScoreMoments, float]],
    rows: pl.DataFrame,
    *,
    pure: bool,
) -> list[MomentSource]:
    """What would be measured of the columns of some analyses."""
    used = columns_of(analyses, schema)
    return [
        assumed_moments(schema, rows, asked, used, stddev, pure=pure)
        for asked, stddev in steps
        if set(asked.columns) & set(used)
    ]


def _matrix_for(
    analysis: DeclaredAnalysis,
    sources: Sequence[MomentSource],
    schema: Schema,
    n: tuple[float, float],
) -> MomentMatrix:
    """The moments that are measured for an analysis, all together."""
    matrix = joined_matrix(sources, schema, columns_of([analysis], schema), n)
    assert matrix is not None  # those of its own columns are among them
    return matrix


def _answer(
    analysis: DeclaredAnalysis, matrix: MomentMatrix, schema: Schema, rows: pl.DataFrame
) -> MeasuredAnswer | None:
    estimand = analysis.estimand(schema)
    records = Records.complete_of(rows, schema, estimand.columns)
    return matrix_answer(estimand, matrix, schema, [records])


@dataclass(frozen=True)
class ExpectedRange:
    """What is expected of one estimate whatever the spread of numbers that nobody declared.

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

    def to_json(self) -> dict[str, Any]:
        """Plain data; None for what is not expected."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
        }


def expected_ranges(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[tuple[ScoreMoments, float]],
    *,
    pure: bool,
    n_rows: int,
    rows_stddev: float,
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
    """
    even = _rows(schema, min(n_rows, _MOST_ROWS), None)
    about = float(even.height), rows_stddev
    found: list[ExpectedRange] = []
    for analysis in analyses:
        each, chance, lost = dict[str, list[float]](), 0.0, False
        for skewed in _ways(analysis, schema):
            rows = with_skewed_numbers(even, schema, skewed)
            sources = _sources([analysis], schema, steps, rows, pure=pure)
            matrix = _matrix_for(analysis, sources, schema, about)
            widths, refusal = _half_widths(analysis, matrix, schema, rows)
            chance, lost = max(chance, refusal), lost or not widths
            for name, width in widths.items():
                each.setdefault(name, []).append(width)
        for name, known in (each or {"": [math.nan]}).items():
            largest = math.inf if lost and name else max(known)
            found.append(ExpectedRange(str(analysis), name, min(known), largest, chance))
    return tuple(found)


def _ways(analysis: DeclaredAnalysis, schema: Schema) -> list[frozenset[str]]:
    """Sets of columns that are taken to be skewed, of those of which nothing is typical."""
    columns = {name: schema.columns[name] for name in columns_of([analysis], schema)}
    unknown = frozenset(
        name
        for name, column in columns.items()
        if isinstance(column, Integer | Continuous) and column.typical is None
    )
    outcome = analysis.formula.partition("~")[0].strip().strip("`")
    ways = (frozenset[str](), unknown, unknown & {outcome}, unknown - {outcome})
    return list(dict.fromkeys(ways))


def _half_widths(
    analysis: DeclaredAnalysis, matrix: MomentMatrix, schema: Schema, rows: pl.DataFrame
) -> tuple[dict[str, float], float]:
    """Half-widths of estimates of such records, and how likely noise hides what they rest on."""
    try:
        found = _answer(analysis, matrix, schema, rows)
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
    rows: pl.DataFrame, schema: Schema, skewed: Collection[str]
) -> pl.DataFrame:
    """Records with numbers as they are typical, or skewed; dates and codes stay as they are.

    Of 100 numbers 90 lie evenly within what is typical, 5 below it and 5 above it, with
    exponential tails of a sixth and a third of its length, cut at the bounds. Their spread is .37
    of that length; that of a normal number is .30, of a log-normal one up to .5.

    Args:
        rows: drawn over the schema.
        schema: public.
        skewed: columns whose numbers lie in the lowest tenth of their range; others of which the
            schema does not say what is typical stay even.
    """
    rng = np.random.default_rng(1)
    changed = {}
    for name, column in schema.columns.items():
        if not isinstance(column, Integer | Continuous):
            continue
        if column.typical is None and name not in skewed:
            continue
        low, high = column.bounds
        first, last = column.typical or (low, low + (high - low) / _UNKNOWN)
        part, place = rng.random((2, rows.height))
        values = first + (last - first) * place
        beyond = (last - first) / 3 * rng.exponential(size=rows.height)
        values = np.where(part < _TAIL, first - beyond / 2, values)
        values = np.where(part > 1 - _TAIL, last + beyond, values)
        if isinstance(column, Integer):
            values = values.round()
        elif column.decimals is not None:
            values = values.round(column.decimals)
        own = rows[name]
        has_number = pl.Series(Records.of(rows, schema, (name,)).complete())
        drawn = pl.Series(name, np.clip(values, low, high)).cast(own.dtype)
        changed[name] = drawn.zip_with(has_number, own)
    return rows.with_columns(**changed)


def _expected(
    analysis: DeclaredAnalysis, matrix: MomentMatrix, schema: Schema, rows: pl.DataFrame
) -> list[Expected]:
    try:
        answer = _answer(analysis, matrix, schema, rows)
    except InferenceError as error:
        return [Expected(str(analysis), "", np.nan, np.nan, str(error))]
    if answer is None:
        why = "second moments do not have it; it is answered by what the synthesis measures, if so"
        return [Expected(str(analysis), "", np.nan, np.nan, why)]
    pooled = answer.pooled
    variance = np.diag(pooled.covariance)
    noise = np.sqrt(variance * pooled.synthesis_share)
    sampling = np.sqrt(variance * (1 - pooled.synthesis_share))
    names = zip(pooled.names, noise, sampling, strict=True)
    return [
        Expected(str(analysis), name, float(_REACH * own), float(_REACH * other))
        for name, own, other in names
        if np.isfinite(own) or np.isfinite(other)  # a test has no width
    ]


def _rows(schema: Schema, n: int, like: pl.DataFrame | None) -> pl.DataFrame:
    """Records drawn evenly over what the schema allows, or from others; always the same."""
    rng = np.random.default_rng(0)
    if like is not None:
        return like[list(schema.names)][rng.integers(0, like.height, n)]
    return decode(schema.domain.draw(n, rng.random), schema, rng)
