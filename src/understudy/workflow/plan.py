"""The plan of a release, and of one schema at many budgets: from public facts alone, without rows.

**Many budgets**, to see how exact answers will be while ε moves.

How an estimate follows from released numbers does not depend on ε, and neither does its error by
sampling. Only the noise in these numbers does. So both are worked out at powers of two, once each;
between them, errors by noise follow the standard deviation of the noise, which is exact to first
order. What is refused at one power and answered at the next is worked out at the ε itself. The ends
of a range of widths are taken from both powers: their squares follow the variance of the noise.

Where numbers are cut off is decided anew at each power only. `plan` says what holds at an ε.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from understudy import _notebook
from understudy._arrays import Z_95
from understudy._validation import require
from understudy.dp.budget import Budget, Number, exact, size_in_signs
from understudy.errors import BudgetError, InferenceError, MethodError, suggestion
from understudy.inference.declared import (
    DeclaredAnalysis,
    Expected,
    ExpectedAnswers,
    columns_of,
)
from understudy.mechanisms.second_moments import WeightedMoments
from understudy.mechanisms.weighted_tables import WeightedTable
from understudy.methods.plan import PlannedTable
from understudy.methods.registry import PLANNED_ROWS
from understudy.models.spine import Hierarchy, TreeNoise
from understudy.schema import NUMERIC, Continuous, Integer, Schema
from understudy.schema.design import Design
from understudy.schema.geography import WHOLE
from understudy.schema.schema import given_schema
from understudy.workflow.declared_answers import Measured
from understudy.workflow.options import PlanKeywords, SynthesisOptions, gather, list_keywords
from understudy.workflow.request import (
    Request,
    adjust_for_row_count,
    request_of,
    without_pairs,
)
from understudy.workflow.request import remarks as settled_remarks

if TYPE_CHECKING:
    from understudy.workflow.expected_answers import ExpectedRange


FAR_WIDER = 10
"""Times the typical range from which on a plan warns of the bounds."""


@dataclass(frozen=True)
class Plan:
    """The costs and the measurements of a release, from public facts alone.

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
            (`workflow.expected_answers`); none where an earlier release stands for the records.
        priority: columns with second moments of their own, beside those of all columns.
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
        budget = size_in_signs(self.budget.epsilon, self.budget.delta)
        return (
            f"Plan({self.method}, {budget}, {sets}, {steps:,} {'step' if steps == 1 else 'steps'})"
        )

    def _repr_html_(self) -> str:
        tables = [
            (
                ", ".join(one.columns) or one.query,
                f"{one.n_cells:,}",
                f"{one.stddev:.3g}" if one.stddev else "–",
            )
            for one in (*self.setup, *self.tables)
        ]
        from understudy.inference.analysis import half_width_text  # loads what answers

        widths = [
            (one.analysis, one.name, one.refused or one.words(half_width_text))
            for one in self.expected
        ]
        facts = {
            "Reason": self.reason,
            "Rows": self.rows_noise,
            "Needs": f"about {self.memory_mb:,.0f} MB and {self.seconds:,.0f} s beyond the rows",
        }
        shown = _notebook.facts(repr(self), {k: text for k, text in facts.items() if text})
        shown += _notebook.grid("Measured", ["columns", "cells", "sd of noise"], tables)
        if widths:
            title = f"Expected 95 % intervals, for {self.assumed_rows:,} records"
            shown += _notebook.grid(title, ["analysis", "estimate", "half-width"], widths)
        return shown + _notebook.paragraphs(self.remarks)


@list_keywords(PlanKeywords)
def plan(
    schema: Schema | str | Path,
    *,
    epsilon: Number,
    delta: Number = 0,
    how: SynthesisOptions | None = None,
    **keywords: Unpack[PlanKeywords],
) -> Plan:
    """Plan what a release would measure, cost and answer, and how exactly. No data are read.

    Args:
        schema: a reviewed schema, or the path of its file.
        epsilon: ε of the whole release.
        delta: δ of the whole release; 0 for pure differential privacy.
        how: what is to be made of the budget. Use it instead of the keywords that follow.
        **keywords: fields of `SynthesisOptions`.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget, or parts that it cannot have.
        MethodError: unknown method, option or priority column, or one that does not fit the schema;
            or `how` beside a keyword.
        InferenceError: not an analysis.
    """
    how, _ = gather("plan", PlanKeywords, keywords, how=how)
    return plan_request(request_of(schema, epsilon=epsilon, delta=delta, how=how), how)


def plan_request(request: Request, how: SynthesisOptions) -> Plan:
    """The plan of a request.

    Args:
        request: what is asked for.
        how: the options that it is made of.
    """
    if request.schema.rows == "public":
        request = adjust_for_row_count(request, request.schema.n_rows or 0)
    tables, setup = request.tables(), request.setup()
    expected, ranges = expected_with_ranges(request, how)
    effort = request.method.effort(request.schema, tables, request.budget)
    return Plan(
        method=request.name,
        options=request.options,
        reason=request.reason,
        budget=request.budget,
        neighbours=request.schema.neighbours,
        sets=request.sets,
        sets_kind=request.method.sets,
        rows_noise=request.rows_words,
        setup=setup,
        tables=tables,
        fits=request.fits,
        remarks=(
            *_epsilon_remarks(request.budget.epsilon),
            *_unit_remarks(request.schema),
            *place_remarks(request),
            *_weight_remarks(request, how.assume_rows),
            *without_pairs(request),
            *request.remarks,
            *filter(None, [request.schema.unsaid_words]),
            *settled_remarks(request),
            *_with_private_rows(request, tables, how),
            *_minimum_remarks(request),
            *_wide_bounds(request.schema),
            *_unsure_widths(request, ranges),
        ),
        memory_mb=round(effort.memory_mb, 1),
        seconds=round(effort.shared + request.fits * effort.seconds, 2),
        expected=expected.answers if expected else (),
        assumed_rows=expected.records if expected else 0,
        priority=request.priority,
        ranges=ranges,
    )


def _minimum_remarks(request: Request) -> tuple[str, ...]:
    """Say what a minimum count does, and what may yet refuse it."""
    asked = request.minimum_count
    if asked is None:
        return ()
    least = asked.count * asked.cells(request.schema)
    return (
        f"Combinations of {', '.join(asked.columns)} will occur {asked.count:,} times or never, "
        f"which takes {least:,} rows if each is to occur. Where more than "
        f"{100 * float(asked.most_changed):.3g} % of the records of a set would change for that, "
        "the release is refused, and the checkpoint goes on with another minimum_count.",
    )


def _wide_bounds(schema: Schema) -> tuple[str, ...]:
    """Remark on bounds that are far wider than what is typical."""
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


def _unsure_widths(request: Request, ranges: Sequence[ExpectedRange]) -> tuple[str, ...]:
    """Remark on widths that no one number says, as nobody declared where numbers lie."""
    unsure = {one.analysis for one in ranges if math.isfinite(one.least) and not one.is_sure}
    analyses = [one for one in request.analyses if str(one) in unsure]
    columns = {name: request.schema.columns[name] for name in columns_of(analyses, request.schema)}
    named = [
        name
        for name, column in columns.items()
        if isinstance(column, Integer | Continuous) and column.typical is None
    ]
    if not named:
        return ()
    return (
        "How wide some intervals will be depends on how much of its range a number uses: "
        f"{', '.join(named)}. Declare what is typical, and the plan says it by one number.",
    )


_LEAST_EPSILON, _MOST_EPSILON = Fraction(1, 100), Fraction(20)
"""Outside of these, a budget is rather mistyped than meant."""


def _unit_remarks(schema: Schema) -> tuple[str, ...]:
    """Say what it costs that one record is a unit with its members."""
    form = schema.members
    if form is None:
        told = schema.unit.told
        return (f"{told} So a row costs no more than one of a flat table.",) if told else ()
    several = len(form.columns) * form.rows_per_unit
    return (
        f"One record is a row of {form.of!r} with at most {form.rows_per_unit} rows of "
        f"{form.table!r}. It costs no more than any record; the {several} columns of its slots "
        "share the budget, so that more slots mean more noise in each.",
        *_slot_remarks(schema),
    )


def _slot_remarks(schema: Schema) -> tuple[str, ...]:
    """Say what one slot costs, where the budget is shared evenly and noise is Gaussian."""
    form, columns = schema.members, len(schema.columns)
    if form is None or form.rows_per_unit == 1:
        return ()
    fewer = 1 - math.sqrt((columns - len(form.columns)) / columns)
    counts = ", ".join(one.column for one in form.counts)
    return (
        f"rows_per_unit = {form.rows_per_unit} makes {columns} columns of what was declared; one "
        f"slot fewer would leave about {100 * fewer:.0f} % less noise in a table of each, and cut "
        f"the units that have as many rows of {form.table!r}."
        + (f" Counts ({counts}) cost what any column does." if counts else ""),
    )


def _weight_remarks(request: Request, assume_rows: int | None) -> tuple[str, ...]:
    """Advise against a bound of weights that cuts some off where noise is small without it.

    Noise without it is (largest weight/mean weight)·σ/n, the sampling error of a share about
    ½/√n; weights are taken to be even.
    """
    design, schema = request.schema.design, request.schema
    asked = zip(request.answers, request.answer_steps(), strict=True)
    weighted = WeightedMoments | WeightedTable
    steps = [step for (measured, _), step in asked if isinstance(measured, weighted)]
    if not steps:
        return ()
    column = schema.columns[design.weight]
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    bound, n = design.bound(schema.columns), assume_rows or schema.n_rows or PLANNED_ROWS
    times = 2 * high / (low + high) * steps[0].stddev / n / (0.5 / math.sqrt(n))
    said = (
        f"Weights of {design.weight} are taken to be even between their bounds where it is said "
        "how wide answers will be."
    )
    if bound >= high:
        cost = (
            f"Weights of {design.weight} up to {high:g} cost noise in the share of a weighted "
            f"answer of about {times:.2g} times its sampling error, with {n:,} records."
        )
        return (*((said,) if request.analyses else ()), *_group_remarks(design), cost)
    advice = (
        "leave contribution out"
        if times <= 1
        else "keep it only if few weights are above it, since intervals allow for the worst of them"
    )
    return (
        *((said,) if request.analyses else ()),
        *_group_remarks(design),
        f"Weights above the contribution {bound:g} count as it, a bias that more records do not "
        f"take away. With {n:,} records the noise of a share would be {times:.2g} times its "
        f"sampling error without it: {advice}.",
    )


def _group_remarks(design: Design) -> tuple[str, ...]:
    """Say what the variance between random groups of clusters leaves out, where there are some."""
    if not design.groups:
        return ()
    alike = (
        "Records of one cluster are taken to be no more alike than others where it is said how "
        "wide answers will be."
    )
    if not design.strata or design.dealt:
        return (alike,)
    return (
        alike,
        f"Strata ({design.strata}) are not counted in the variance between random groups, so that "
        "intervals are longer than need be. Where the sampling plan has dealt clusters to groups, "
        "stratum by stratum, name it by dealt.",
    )


def place_remarks(request: Request) -> tuple[str, ...]:
    """Write how wide intervals of places will be, by least squares over all levels."""
    steps, geography, schema = request.place_steps(), request.schema.geography, request.schema
    if not steps:
        return ()
    tree = Hierarchy(geography.parents(schema.columns, schema.relations))
    cells = math.prod(schema.columns[name].size for name in geography.by)
    measured = [math.inf, *(step.stddev**2 for step in steps)]
    exact = [
        0.0 if any(one.level == level for one in geography.invariants) else variance
        for level, variance in zip((WHOLE, *geography.spine), measured, strict=True)
    ]
    each = zip(TreeNoise(tree, measured).variances, TreeNoise(tree, exact).variances, strict=True)
    said = []
    for level, (cell, total) in zip(geography.spine, [*each][1:], strict=True):
        widths = [Z_95 * math.sqrt(cells * float(np.median(total)))]
        if cells > 1:  # of a cell's indicator a part is the total, the rest is the other contrasts
            own = total / cells + cell * (1 - 1 / cells)
            widths.append(Z_95 * math.sqrt(float(np.median(own))))
        of_cell = f", of a cell ± {widths[1]:,.3g}" if cells > 1 else ""
        said.append(f"{level}, total ± {widths[0]:,.3g}{of_cell}")
    return (
        "Tables of places, put together by us.places, will have intervals of 95 % that are at most "
        f"about this wide, in a place of {'; of '.join(said)}.",
    )


def _epsilon_remarks(epsilon: Fraction) -> tuple[str, ...]:
    """Remark on an ε that hardly protects, or leaves hardly anything to see."""
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
    request: Request, tables: Sequence[PlannedTable], how: SynthesisOptions
) -> tuple[str, ...]:
    """Compute the noise as if the number of rows, which is public, were private.

    Args:
        request: what is asked for.
        tables: what it would measure.
        how: it was asked for.
    """
    schema = request.schema
    if schema.rows == "private":
        return ()
    limit = schema.n_rows or None
    changed = {"rows": "private", "n_rows": None, "row_limit": limit}
    try:
        private, budget = schema.model_copy(update=changed), request.budget
        other = request_of(private, epsilon=budget.epsilon, delta=budget.delta, how=how).tables()
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
    request: Request, how: SynthesisOptions, asked: Sequence[DeclaredAnalysis] = ()
) -> ExpectedAnswers | None:
    """Predict how exact answers to declared analyses will be; None where nothing is bought.

    Args:
        request: what is asked for.
        how: it was asked for: the number of records to assume, and an earlier release.
        asked: some of the declared analyses; all if there are none.

    Raises:
        MethodError: an earlier release of other columns.
    """
    schema, like = request.schema, how.like
    if like is not None and (lacking := set(schema.names) - set(like.schema.names)):
        raise MethodError(f"The release in like lacks the column {min(lacking)!r} of the schema.")
    if not (request.analyses and request.answers):
        return None
    from understudy.workflow.expected_answers import expected_answers

    stated = state_assumptions(request, how.assume_rows)
    drawn = None if like is None else like.tables[0]
    answers = expected_answers(asked or request.analyses, schema, like=drawn, **stated)
    growth = _growth(schema)
    answers = tuple(replace(one, sampling=growth * one.sampling) for one in answers)
    title = "" if like is None else like.schema.title or "an earlier release"
    return ExpectedAnswers(stated["n_rows"], title, answers)


def expected_with_ranges(
    request: Request, how: SynthesisOptions
) -> tuple[ExpectedAnswers | None, tuple[ExpectedRange, ...]]:
    """Predict the same with the ranges of half-widths, and how likely answers are refused.

    Where records are not drawn one by one, ranges grow as widths do.

    Args:
        request: what is asked for.
        how: it was asked for.

    Raises:
        MethodError: as above.
    """
    expected = expected_of(request, how)
    if expected is None or how.like is not None:  # which says how numbers are spread
        return expected, ()
    from understudy.workflow.expected_answers import expected_ranges

    stated = state_assumptions(request, how.assume_rows)
    ranges = expected_ranges(request.analyses, request.schema, **stated)
    growth = _growth(request.schema)
    grown = {
        (one.analysis, one.name): one.half_width / math.hypot(one.noise, one.sampling / growth)
        for one in expected.answers
        if one.half_width
    }
    ranges = tuple(
        replace(one, least=times * one.least, largest=times * one.largest)
        for one in ranges
        for times in [grown.get((one.analysis, one.name), 1.0)]
    )
    known = {(one.analysis, one.name): one for one in ranges if math.isfinite(one.least)}
    answers = (
        replace(one, least=own.least, largest=own.largest)
        if (own := known.get((one.analysis, one.name)))
        else one
        for one in expected.answers
    )
    return replace(expected, answers=tuple(answers)), ranges


def _growth(schema: Schema) -> float:
    """Return how many times as wide sampling makes intervals as if records were drawn one by one.

    Answers for weighted records count the design themselves.
    """
    return 1.0 if schema.design.weight else math.sqrt(schema.design.effect(schema.columns))


def state_assumptions(request: Request, assume_rows: int | None) -> dict[str, Any]:
    """Noise of the moments that answer declared analyses, and how many records are assumed."""
    deviations = [step.stddev for step in request.answer_steps()]
    lined = {step.columns[0]: step.stddev for step in request.line_steps()}
    bought = (moments for moments, _ in request.answers)
    return {
        "steps": list(zip(bought, deviations, strict=True)),
        "pure": request.budget.accounting == "pure",
        "n_rows": assume_rows or request.schema.n_rows or PLANNED_ROWS,
        "rows_stddev": request.rows_stddev,
        # An earlier release may have laid limits down.
        "lines": lined if request.limits is None else {},
        "lined": lined,
    }


_SMALLEST, _LARGEST = 0.001, 64.0
_HALVINGS: Final = 12
"""Of the logarithm between both, which leaves .3 % of ε open."""
_KEPT: Final = 64


class Planner:
    """The method and the shares that one schema and one set of options give at any ε.

    Args:
        schema: reviewed, or the path of its file.
        delta: δ of the whole release.
        how: what is to be made of the budget.
        bought: what the analyses need, where that is worked out already; see `beside`.

    Raises:
        SchemaError: not a schema, or not reviewed.
        MethodError: as by `plan.plan`, and so are the others.
        BudgetError: δ is none.
        InferenceError: not an analysis.
    """

    def __init__(
        self,
        schema: Schema | str | Path,
        *,
        delta: Number = 0,
        how: SynthesisOptions,
        bought: tuple[tuple[Measured, Fraction], ...] = (),
    ) -> None:
        self._schema = given_schema(schema)
        self._delta, self._how = delta, how
        self._bought = bought
        self._first: Fraction | None = None
        self._at = lru_cache(_KEPT)(self._work_out)
        self.analyses = self._ask(1).analyses

    def beside(self, *, delta: Number = 0, how: SynthesisOptions) -> Planner:
        """Return the planner of another δ, or of other parts, for the same schema and analyses.

        What the analyses need is not worked out anew.

        Args:
            delta: δ of the whole release.
            how: what is to be made of the budget, with the same analyses.

        Raises:
            BudgetError: δ is none, or parts of the budget that it cannot have.
            MethodError: as by `plan.plan`.
        """
        same_noise = bool(exact(delta)) == bool(exact(self._delta))
        bought = self._bought if same_noise else ()
        return Planner(self._schema, delta=delta, how=how, bought=bought)

    def budget(self, epsilon: Number) -> Budget:
        """Return the budget at an ε, in the unit in which a release is kept.

        Raises:
            BudgetError: not an ε, or parts of the budget that it cannot have.
        """
        return self._ask(epsilon).budget

    def shares(self, epsilon: Number) -> dict[str, Fraction]:
        """Return the parts of the budget at an ε, usual ones included; see `Request.shares`.

        Raises:
            BudgetError: not an ε, or parts of the budget that it cannot have.
        """
        return self._ask(epsilon).shares

    def expected_widths(self, epsilon: Number) -> tuple[Expected, ...]:
        """Expected half-widths of each estimate of each declared analysis.

        Those of the first ε are worked out at it: where δ or a part moves, no other is asked for.

        Args:
            epsilon: ε of the whole release.

        Returns:
            As `Plan.expected`; nothing where no analysis is declared.

        Raises:
            BudgetError: not an ε, or parts of the budget that it cannot have.
        """
        request = self._ask(epsilon)
        self._first = self._first or request.budget.epsilon
        if self._first == request.budget.epsilon:
            return self._at(float(self._first))[0]
        below = 2.0 ** math.floor(math.log2(request.budget.epsilon))
        answers, stddev = self._at(below)
        if not answers:
            return ()
        less, above, part = _stddev(request) / stddev, answers, 0.0
        if any(one.refused or math.isfinite(one.least) for one in answers):
            above, least = self._at(2 * below)
            if not _alike(answers, above):
                return self._at(float(request.budget.epsilon))[0]
            part = (1 - less**2) / (1 - (least / stddev) ** 2)
        return tuple(
            replace(
                one,
                noise=one.noise * less,
                least=_interpolate(one.least, other.least, part),
                largest=_interpolate(one.largest, other.largest, part),
            )
            for one, other in zip(answers, above, strict=True)
        )

    def least_epsilon(self, wanted: Mapping[str, float]) -> Decimal:
        """Return the least ε that is expected to bring some analyses to wanted half-widths.

        By bisection, since widths shrink as ε grows. Each step is as exact as a plan.

        Args:
            wanted: analysis, as "mean income" → half-width of a 95 % interval, above 0, that each
                of its estimates is to have; an intercept may have any.

        Returns:
            ε, rounded up to three digits.

        Raises:
            InferenceError: an analysis that is not declared, or nothing is wanted.
            MethodError: no width, or no ε up to 64 is expected to reach it; says what would be.
        """
        known = {str(one): one for one in self.analyses}
        for text, width in wanted.items():
            if text not in known:
                raise InferenceError(
                    f"No analysis {text!r} is declared{suggestion(text, known)}; declare it first."
                )
            good = isinstance(width, int | float) and 0 < width < math.inf
            require(good, "half_width", "a number above 0", width, MethodError)
        if not wanted:
            raise InferenceError("Say which analysis is to have which half-width.")
        asked = tuple(known[text] for text in wanted)
        self._require_reached(asked, wanted)
        low, high = math.log(_SMALLEST), math.log(_LARGEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if _first_too_wide(self._exactly(math.exp(middle), asked), wanted):
                low = middle
            else:
                high = middle
        return Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(math.exp(high))

    def _require_reached(
        self, asked: tuple[DeclaredAnalysis, ...], wanted: Mapping[str, float]
    ) -> None:
        """Refuse what the largest ε does not reach."""
        lacking = _first_too_wide(self._exactly(_LARGEST, asked), wanted)
        if lacking is None:
            return
        if lacking.refused:
            raise MethodError(f"{lacking.analysis} has no expected width: {lacking.refused}.")
        raise MethodError(
            f"No ε up to {_LARGEST:g} is expected to bring {lacking.name} of {lacking.analysis} "
            f"to ± {wanted[lacking.analysis]:.3g}; sampling alone leaves "
            f"± {lacking.sampling:.3g}. Ask for a wider interval."
        )

    def _ask(self, epsilon: Number) -> Request:
        how = self._how
        request = request_of(
            self._schema, epsilon=epsilon, delta=self._delta, how=how, bought=self._bought
        )
        self._bought = request.bought
        if self._schema.rows == "public":
            return adjust_for_row_count(request, self._schema.n_rows or 0)
        return request

    def _work_out(self, epsilon: float) -> tuple[tuple[Expected, ...], float]:
        """Answers as a plan has them, and the noise that they rest on."""
        request = self._ask(_number(epsilon))
        expected, _ = expected_with_ranges(request, self._how)
        return (expected.answers, _stddev(request)) if expected else ((), 0.0)

    def _exactly(self, epsilon: float, asked: tuple[DeclaredAnalysis, ...]) -> tuple[Expected, ...]:
        expected = expected_of(self._ask(_number(epsilon)), self._how, asked)
        return expected.answers if expected else ()


def _number(epsilon: float) -> Fraction:
    return Budget.of(repr(epsilon)).epsilon


def _stddev(request: Request) -> float:
    """Noise in the noisiest moments; in fixed parts of a budget, that in others follows it."""
    return max(step.stddev for step in request.answer_steps())


def _alike(answers: tuple[Expected, ...], others: tuple[Expected, ...]) -> bool:
    """Return whether the same is refused, and the same may have any width."""
    told, known = (
        [(one.name, one.refused != "", math.isnan(one.least)) for one in each]
        for each in (answers, others)
    )
    return told == known


def _interpolate(one: float, other: float, part: float) -> float:
    """Part of the way from one width to another, in squares."""
    return math.sqrt((1 - part) * one**2 + part * other**2) if math.isfinite(one) else one


def _first_too_wide(answers: tuple[Expected, ...], wanted: Mapping[str, float]) -> Expected | None:
    """The first estimate that is wider than wanted, or refused; None if all are as wanted."""
    return next(
        (
            one
            for one in answers
            if one.refused or (one.name != "Intercept" and one.half_width > wanted[one.analysis])
        ),
        None,
    )
