"""The plan of a release: measurements and costs, from public facts alone: no rows, no engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from understudy import _notebook
from understudy._arrays import Z_95
from understudy.dp.budget import Budget, Number, size_in_signs
from understudy.errors import BudgetError, MethodError
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
    from understudy.workflow.expected_answers import expected_answers  # loads statistics

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
    from understudy.workflow.expected_answers import expected_ranges  # loads statistics

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
    lines = {step.columns[0]: step.stddev for step in request.line_steps()}
    lined = (*lines,)
    if request.limits is not None:  # an earlier release has laid them down
        lines = {}
    bought = (moments for moments, _ in request.answers)
    return {
        "steps": list(zip(bought, deviations, strict=True)),
        "pure": request.budget.accounting == "pure",
        "n_rows": assume_rows or request.schema.n_rows or PLANNED_ROWS,
        "rows_stddev": request.rows_stddev,
        "lines": lines,
        "lined": lined,
    }
