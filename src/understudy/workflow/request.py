"""A request, checked by public facts alone: method, budget and its parts, analyses.

**What a request buys of so many rows, once their number is declared or bought.**

**Second moments** that little could be answered from are not bought. An automatic release spends
part of its budget on those of all columns. Their noise does not depend on the rows; where so few
rows are released that it is a large part of any product of two scores, questions that rest on them
are refused, or have intervals that tell next to nothing. Whoever states the part, a priority or
analyses gets what was asked for. **Heaps** are counted as closely as is worth it, for less of many
rows. What is left buys records. Plans say both.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from understudy.dp.budget import DEFAULT_ROWS_SHARE, Budget, Number, exact
from understudy.dp.calibration import (
    calibrate,
    describe,
)
from understudy.dp.distributions import DiscreteNoise
from understudy.dp.guarantee import PUBLIC_ROWS, bought_rows
from understudy.dp.mechanism import Form, Mechanism
from understudy.dp.released import Bins, NoisyLine, Released
from understudy.errors import MethodError
from understudy.features.grids import LineCells, find_limits, heaped_columns, line_times
from understudy.features.scores import Limits, is_within_bounds
from understudy.inference.declared import (
    DeclaredAnalysis,
    by_tables,
    public_delta,
    with_own_bins,
)
from understudy.mechanisms.second_moments import SecondMoments, TermMoments, WeightedMoments
from understudy.mechanisms.tables import HeapCounts, NoisyTables, NumberLines
from understudy.methods.aim import AdaptiveMethod
from understudy.methods.base import Method
from understudy.methods.binning import fine_bins
from understudy.methods.plan import PlannedTable, plan_mechanism
from understudy.methods.registry import METHODS, choose_method, configure
from understudy.release.minimum_count import MinimumCount
from understudy.schema import NUMERIC, Schema
from understudy.schema.coarsening import bin_starts, number_text
from understudy.schema.households import slot_column
from understudy.schema.schema import given_schema
from understudy.workflow.budget_shares import (
    AnswerShares,
    budget_of,
    heaps_part,
    line_weights,
    lines_of,
    priority_columns,
    rows_noise,
    scored_columns,
)
from understudy.workflow.declared_answers import (
    Measured,
    cut_off,
    declared_answers,
    in_even_bins,
    split_weighted,
    weighted_answers,
)
from understudy.workflow.options import SynthesisOptions


@dataclass(frozen=True)
class Request:
    """Everything that can be checked, and refused, without looking at the rows.

    Attributes:
        schema: the public schema.
        budget: the stated budget.
        method: the configured method.
        name: its name.
        reason: why it was chosen, if it was chosen automatically; else "".
        sets: number of synthetic tables.
        rows_spend: what buys the number of rows.
        answers_spend: what buys second moments, for answers; 0 for none. Of a schema with a weight
            they are those of records with weights.
        analyses: declared ones; these second moments are of their columns alone, if there are any,
            and so are number lines.
        lines_spend: what buys number lines, for answers; 0 for none.
        layer_spend: what buys second moments of all columns, beside those of declared analyses.
        priority: columns of which second moments are bought by themselves as well.
        priority_spend: what buys these.
        heaps_spend: what buys counts of how numbers are rounded; 0 for none.
        places_spend: what buys the tables of places that the schema declares.
        usual_answers: whether nobody asked for these second moments.
        limits: where numbers are cut off for these; None until number lines are released.
        even: bins, by released lines, of numbers whose quantiles are declared.
        line_times: how many times as many cells as usual the finer lines have that are bought
            beside the others; 1 for none.
        bought: what is measured for declared analyses without weights, each with its part of what
            buys answers; without limits.
        minimum_count: that the synthetic sets must keep. It is no part of the identity: nothing is
            measured for it, so a run that was paid for may go on with another.
    """

    schema: Schema
    budget: Budget
    method: Method
    name: str
    reason: str
    sets: int
    rows_spend: Fraction
    answers_spend: Fraction = Fraction(0)
    analyses: tuple[DeclaredAnalysis, ...] = ()
    lines_spend: Fraction = Fraction(0)
    layer_spend: Fraction = Fraction(0)
    priority: tuple[str, ...] = ()
    priority_spend: Fraction = Fraction(0)
    heaps_spend: Fraction = Fraction(0)
    places_spend: Fraction = Fraction(0)
    usual_answers: bool = False
    limits: Limits | None = None
    even: Bins = field(default_factory=dict)
    line_times: int = 1
    bought: tuple[tuple[Measured, Fraction], ...] = ()
    minimum_count: MinimumCount | None = None
    cuts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def tables(self) -> tuple[PlannedTable, ...]:
        """List what one fit measures, and what it buys before where each fit does."""
        if not self.method.anew:
            return self.method.plan(self.schema, self.fit_spend, self.budget)
        bought = self.fit_spend * self.method.setup_share(self.schema)
        steps = self.method.plan_setup(self.schema, bought, self.budget)
        return steps + self.method.plan(self.schema, self.fit_spend - bought, self.budget)

    @property
    def lines(self) -> NumberLines | None:
        """Number lines that are asked for the sake of answers, all together."""
        columns = lines_of(self.schema, self.analyses) if self.lines_spend else ()
        return NumberLines(columns, line_weights(self.schema, columns)) if columns else None

    @property
    def finer_lines(self) -> NumberLines | None:
        """Lines of the same columns in more cells, where these can be split and rows are many."""
        usual = self.lines
        if usual is None or self.line_times == 1:
            return None
        sizes = {
            name: [
                LineCells.of_line(self.schema, name, times).size for times in (1, self.line_times)
            ]
            for name in usual.columns
        }
        columns = tuple(name for name, (few, more) in sizes.items() if more > few)
        if not columns:
            return None
        return NumberLines(columns, line_weights(self.schema, columns), self.line_times)

    @property
    def asked_lines(self) -> tuple[tuple[NumberLines, Fraction], ...]:
        """All number lines, the usual ones first, each with what it may spend.

        A finer line has its part of what its own column may spend, and takes nothing from others.
        """
        usual, finer = self.lines, self.finer_lines
        if usual is None:
            return ()
        if finer is None:
            return ((usual, self.lines_spend),)
        weights = dict(zip(usual.columns, usual.weights or (), strict=True))
        part = FINER_PART * Fraction(sum(finer.weights or ()), sum(weights.values()))
        kept = FINER_PART.denominator - FINER_PART.numerator
        shares = tuple(
            weight * (kept if name in finer.columns else FINER_PART.denominator)
            for name, weight in weights.items()
        )
        return (
            (replace(usual, weights=shares), (1 - part) * self.lines_spend),
            (finer, part * self.lines_spend),
        )

    @property
    def heaps(self) -> HeapCounts | None:
        """Counts of how numbers are rounded, where the schema declares heaps."""
        return HeapCounts(heaped_columns(self.schema)) if self.heaps_spend else None

    @property
    def places(self) -> NoisyTables | None:
        """The table of each level of places, where the schema declares some."""
        geography = self.schema.geography
        if not self.places_spend:
            return None
        shares = [exact(share) for share in geography.shares] or None
        return NoisyTables(geography.tables, rows_noise(self.budget), shares)

    @property
    def answers(self) -> tuple[tuple[Mechanism[Any, Any], Fraction], ...]:
        """Moments and tables that are asked for the sake of answers, each with its part."""
        every = scored_columns(self.schema)
        found: list[tuple[Mechanism[Any, Any], Fraction]] = []
        weighted, others = split_weighted(self.analyses, self.schema)
        spend = self.answers_spend
        if spend and self.schema.design.weight and (weighted or not others):
            spend = spend / 2 if others else Fraction(0)
            pure, whole = self.budget.accounting == "pure", self.answers_spend - spend
            bought = weighted_answers(weighted, self.schema, every, pure=pure)
            found += ((cut_off(asked, self.limits or {}), part * whole) for asked, part in bought)
        if spend:
            if not others:
                found.append((self._moments(every), spend))
            for asked, part in self.bought:
                own = in_even_bins(cut_off(asked, self.limits or {}), self.even)
                found.append((own, part * spend))
        if self.priority_spend:
            found.append((self._moments(self.priority), self.priority_spend))
        if self.layer_spend:
            found.append((self._moments(every), self.layer_spend))
        return tuple(found)

    def _moments(self, columns: tuple[str, ...], complete: tuple[str, ...] = ()) -> SecondMoments:
        """Second moments of some columns, with the limits of these."""
        return SecondMoments(columns, complete, self._limits_of(columns))

    def _limits_of(self, columns: tuple[str, ...]) -> Limits:
        return {name: ends for name, ends in (self.limits or {}).items() if name in columns}

    @property
    def draws_records(self) -> bool:
        """True if drawing records is the mechanism, so that no seed may fix which are drawn."""
        return any(step.records for step in self.tables())

    @property
    def records_for(self) -> str:
        """That the method needs whole records, as a sentence; "" if sums over them are enough."""
        if not self.method.needs_records:
            return ""
        others = [name for name in METHODS if not configure(name, {}).needs_records]
        return (
            f"In this form the method {self.name} needs whole records. Sums of them are enough "
            f"for {', '.join(others)}."
        )

    @property
    def least_passes(self) -> int:
        """Passes over the rows that it takes, where each reads them anew; rounds take more.

        The first one counts each column by itself, and pairs of few columns.
        """
        wider = any(len(step.columns) > 2 for step in self.tables())
        beside = len(self.asked_lines) + bool(self.heaps) + bool(self.places)
        return 1 + beside + len(self.answers) + wider * self.fits

    def setup(self) -> tuple[PlannedTable, ...]:
        """List what is measured once, before the fits."""
        steps = self.line_steps() + self.heap_steps() + self.place_steps() + self.answer_steps()
        if self.method.anew:
            return steps
        return steps + self.method.plan_setup(self.schema, self.setup_spend, self.budget)

    def line_steps(self) -> tuple[PlannedTable, ...]:
        """List the number lines, one step each."""
        return self._steps(self.asked_lines)

    def heap_steps(self) -> tuple[PlannedTable, ...]:
        """Counts of how numbers are rounded, one step for each column."""
        return self._steps([(self.heaps, self.heaps_spend)])

    def place_steps(self) -> tuple[PlannedTable, ...]:
        """List the tables of places, one step for each level."""
        return self._steps([(self.places, self.places_spend)])

    def answer_steps(self) -> tuple[PlannedTable, ...]:
        """List what is measured for the sake of answers, in the order of `answers`."""
        return self._steps(self.answers)

    def _steps(
        self, asked: Iterable[tuple[Mechanism[Any, Any] | None, Fraction]]
    ) -> tuple[PlannedTable, ...]:
        """Return the entries that some mechanisms, each at its cost, will have in the ledger."""
        return tuple(
            step
            for mechanism, spend in asked
            if mechanism is not None
            for step in plan_mechanism(mechanism, self.schema, spend, self.budget)
        )

    @property
    def shares(self) -> dict[str, Fraction]:
        """Parts of the budget as they can be stated, usual ones included, and what records have.

        "rows" is of the whole; the others are of what is left after it and the counts of heaps.
        """
        rest = self.budget.amount - self.rows_spend - self.heaps_spend
        return {
            "rows": self.rows_spend / self.budget.amount,
            "answers": (self.answers_spend + self.priority_spend) / rest,
            "lines": self.lines_spend / rest,
            "layer": self.layer_spend / rest,
            "places": self.places_spend / rest,
            "records": self._method_spend / rest,
        }

    @property
    def remarks(self) -> tuple[str, ...]:
        """Further remarks, in sentences."""
        said = self._said_of_cuts + self.method.remarks(self.schema) + self._said_of_bins
        return said + self.method.cautions(self.schema, self.fit_spend, self.budget)

    @property
    def _said_of_cuts(self) -> tuple[str, ...]:
        """A sentence on bins that declared analyses brought."""
        begin = (f"{name} at {' and '.join(places)}" for name, places in self.cuts.items())
        said = f"Declared conditions begin bins of {', of '.join(begin)}."
        return (said,) if self.cuts else ()

    @property
    def _said_of_bins(self) -> tuple[str, ...]:
        """Sentences on numbers that lie evenly in wide bins, and what mends that."""
        modelled = self.method.inference_facts(self.schema).modelled
        names = [name for name in fine_bins(self.schema) if name not in modelled]
        if self.method.fine_numbers or not names:
            return ()
        return (
            f"Numbers of {', '.join(names)} lie evenly in equal parts of their bounds. So heaps "
            "dissolve, and means come out too large where bounds are far wider than usual values; "
            "no release can tell whether they are. Declare bins, spikes or narrower bounds, or "
            "take the method marginals.",
        )

    @property
    def options(self) -> dict[str, Any]:
        """Options of the method, defaults included."""
        options = asdict(self.method).items()
        return {name: list(value) if isinstance(value, tuple) else value for name, value in options}

    @property
    def fits(self) -> int:
        """Number of fits."""
        return self.sets if self.method.sets == "split" else 1

    @property
    def setup_spend(self) -> Fraction:
        """Amount that may be spent once, before the fits."""
        if self.method.anew:
            return Fraction(0)
        return self._method_spend * self.method.setup_share(self.schema)

    @property
    def fit_spend(self) -> Fraction:
        """Amount that one fit may spend."""
        return (self._method_spend - self.setup_spend) / self.fits

    @property
    def _method_spend(self) -> Fraction:
        moments = self.answers_spend + self.priority_spend + self.layer_spend
        lines = self.lines_spend + self.heaps_spend + self.places_spend
        return self.budget.amount - self.rows_spend - moments - lines

    @property
    def identity(self) -> dict[str, str]:
        """Public facts that make this request the same as another."""
        text = self.schema.strip_fingerprints().dumps()
        return {
            "schema": hashlib.sha256(text.encode("utf-8")).hexdigest(),
            "neighbours": self.schema.neighbours,
            "method": self.name,
            "options": json.dumps(self.options, sort_keys=True, default=str),
            "epsilon": str(self.budget.epsilon),
            "delta": str(self.budget.delta),
            "accounting": self.budget.accounting,
            "sets": str(self.sets),
            "rows_share": str(self.rows_spend / self.budget.amount),
            "answers_share": str(self.answers_spend / self.budget.amount),
            "lines_share": str(self.lines_spend / self.budget.amount),
            "layer_share": str(self.layer_spend / self.budget.amount),
            "priority_share": str(self.priority_spend / self.budget.amount),
            **({"places_share": str(self.places_spend)} if self.places_spend else {}),
            "priority": json.dumps(self.priority),
            "analyses": json.dumps([asdict(analysis) for analysis in self.analyses]),
            **({"limits": json.dumps(self.limits, sort_keys=True)} if self.limits else {}),
            "version of understudy": version("understudy"),
        }

    @property
    def rows_words(self) -> str:
        """Source of the number of rows, in words."""
        distribution = self._rows_distribution
        if distribution is None:
            return PUBLIC_ROWS
        return bought_rows(self.budget.unit, self.rows_spend, describe(distribution))

    @property
    def rows_stddev(self) -> float:
        """Standard deviation of the noise in the number of rows; 0 where it is public."""
        distribution = self._rows_distribution
        return 0.0 if distribution is None else distribution.stddev

    @property
    def _rows_distribution(self) -> DiscreteNoise | None:
        if self.schema.rows == "public":
            return None
        return calibrate(
            rows_noise(self.budget),
            spend=self.rows_spend,
            accounting=self.budget.accounting,
            neighbours=self.schema.neighbours,
        )


if TYPE_CHECKING:
    from understudy.release.release import Release


_USUAL: Final = SynthesisOptions()


def request_of(
    schema: Schema | str | Path,
    *,
    epsilon: Number,
    delta: Number = 0,
    how: SynthesisOptions = _USUAL,
    budget: Budget | None = None,
    bought: tuple[tuple[Measured, Fraction], ...] = (),
) -> Request:
    """Check a request; arguments and errors are those of `plan.plan`.

    Args:
        schema: as there, and so are the others.
        epsilon: of the whole release.
        delta: of the whole release.
        how: what is to be made of the budget.
        budget: the same ε and δ in a unit that is settled; None for the one that suits the method.
        bought: that of a request which differs in ε alone, where there was one, as it takes long.
    """
    schema = given_schema(schema)
    schema.require_reviewed()
    as_declared = schema
    declared, schema = with_own_bins(how.analyses, schema)
    shares, stated = how.parts, Budget.of(epsilon, delta)
    automatic = how.method == "auto"
    name, reason = (
        choose_method(schema, stated.epsilon, stated.delta) if automatic else (how.method, "")
    )
    _require_own_bins(declared, schema)
    named = priority_columns(how.priority, schema)
    configured = _configure_method(name, how.options or {}, named)
    budget = budget or budget_of(epsilon, delta, configured, schema)
    rows_spend = Fraction(0)
    if schema.rows == "private":
        rows_spend = budget.amount * shares.get("rows", DEFAULT_ROWS_SHARE)
    parts = AnswerShares.of(
        shares,
        schema,
        budget,
        declared=declared,
        priority=named,
        automatic=automatic,
    )
    heaps_spend = (budget.amount - rows_spend) * heaps_part(schema)
    rest = budget.amount - rows_spend - heaps_spend
    _, others = split_weighted(declared, schema)
    request = Request(
        schema,
        budget,
        configured,
        name,
        reason,
        how.sets,
        rows_spend=rows_spend,
        answers_spend=rest * parts.moments,
        analyses=declared,
        lines_spend=rest * parts.lines,
        layer_spend=rest * parts.layer,
        priority=named,
        priority_spend=rest * parts.priority,
        heaps_spend=heaps_spend,
        places_spend=rest * parts.places,
        usual_answers=not (
            declared or named or schema.design.weight or shares.keys() & {"answers", "lines"}
        ),
        limits=None if how.like is None else _limits_like(how.like, schema),
        bought=bought
        or (
            declared_answers(others, schema, budget.accounting) if others and parts.moments else ()
        ),
        minimum_count=_minimum_count(how, schema, configured, name),
        cuts=_further_bins(as_declared, schema),
    )
    if not bought:
        _require_members_answered(request)
    return request


def _require_members_answered(request: Request) -> None:
    """Refuse declared analyses of members that what is bought for them does not answer."""
    schema = request.schema
    asked = [one for one in request.analyses if one.members(schema) is not None]
    if not (asked and request.answers_spend):
        return
    from understudy.workflow.expected_answers import require_moments

    own = SecondMoments | WeightedMoments | TermMoments
    steps = [one for one, _ in request.answers if isinstance(one, own)]
    require_moments(asked, schema, steps, pure=request.budget.accounting == "pure")


def _minimum_count(
    how: SynthesisOptions, schema: Schema, method: Method, name: str
) -> MinimumCount | None:
    """The minimum count that is asked for, as far as public facts allow it."""
    if how.minimum_count is None:
        return None
    if not method.private:
        raise MethodError(
            f"minimum_count is for releases with a guarantee, and the method {name} has none; "
            "leave it out."
        )
    asked = MinimumCount.of(how.minimum_count)
    asked.require_fitting(schema)
    return asked


def _further_bins(declared: Schema, schema: Schema) -> dict[str, tuple[str, ...]]:
    """Where bins begin that the schema as it was declared does not have, by column."""
    found = {}
    for name, column in schema.columns.items():
        former = declared.columns[name]
        if column is not former and isinstance(column, NUMERIC) and isinstance(former, NUMERIC):
            places = sorted({*bin_starts(column)}.difference(bin_starts(former)))
            found[name] = tuple(number_text(place, column) for place in places)
    return {name: places for name, places in found.items() if places}


def _require_own_bins(declared: tuple[DeclaredAnalysis, ...], schema: Schema) -> None:
    """Refuse a declared table by numbers whose bins a method may yet choose by what it measures.

    Its cells are those of the release; a quantile is answered from wider bins as well.

    Raises:
        MethodError: a column by whose bins it asks has none of its own.
    """
    counted = [one for one in declared if by_tables([one], schema)[1]]
    chosen = fine_bins(schema) if counted else {}
    for analysis in counted:
        asked = analysis.estimand(schema)
        for name in () if asked.kind == "quantile" else (*asked.levels, *asked.groups):
            if name in chosen:
                raise MethodError(
                    f"The declared table of {', '.join(asked.columns)} is counted in declared "
                    f"bins, and {name} has none: declare some, such as bins = 8."
                )


def _limits_like(release: Release, schema: Schema) -> Limits:
    """Where an earlier release cuts numbers off, as far as the schema has such numbers."""
    from understudy.inference.measured_moments import limits_of

    return {
        name: ends
        for name, ends in limits_of(release).items()
        if is_within_bounds(ends, schema.columns.get(name))
    }


def _configure_method(name: str, options: Mapping[str, Any], priority: tuple[str, ...]) -> Method:
    """The method; priority columns are its own, too, where it chooses what to measure."""
    method = configure(name, options)
    if priority and isinstance(method, AdaptiveMethod) and "priority" not in options:
        return configure(name, {**options, "priority": priority})
    return method


WITH_LINES, WITHOUT = 0.09, 0.15
"""Deviation of the noise in a mean product of two scores, whose size is 1 at most, from which on
moments are not bought. Shares of records with two levels have intervals of ± .2 then, or wider. Of
six made tables of 1,000 rows no slope or correlation was answered, means and differences of groups
up to a fifth, and of all questions 5 to 20 in a hundred more than without, nearly all such shares.
That is no proof: lines of numbers cannot rule out that some lie beyond their bounds, and of groups
of levels only one that is a third of all could be told from none. Two-way distances of random
tables there are 2 to 18 % less without."""
HEAPS = 400
"""Rows in a standard deviation of the noise in counts of heaps, which is little enough: that of a
class in all zones is .006 of the rows then, and in one of six equal ones .015."""
FINER_PART = Fraction(1, 3)
"""Of what buys the number line of a column, for a finer one where it is bought."""
LEAST_HEAPS = Fraction(1, 100)
"""Of what counts of heaps may cost, at least."""


def least_rows(request: Request) -> int:
    """Rows from which on second moments are bought; 0 if they are in any case, or never."""
    if not (request.usual_answers and request.answers):
        return 0
    most = WITHOUT if request.lines is None else WITH_LINES
    return math.ceil(max(step.stddev for step in request.answer_steps()) / most)


def adjust_for_row_count(request: Request, n_rows: int) -> Request:
    """The request as it is for so many rows.

    Args:
        request: as made.
        n_rows: as declared, or as bought.
    """
    part = _part_of_heaps(request, n_rows)
    if part < 1:
        request = replace(request, heaps_spend=part * request.heaps_spend)
    if request.lines is not None:
        steps = replace(request, line_times=1).line_steps()
        times = line_times(n_rows, min(step.stddev for step in steps))
        request = request if times == request.line_times else replace(request, line_times=times)
    if n_rows >= least_rows(request):
        return request
    return replace(request, answers_spend=Fraction(0), usual_answers=False)


def limit_numbers(
    request: Request, lines: Iterable[Released[NoisyLine]], n_records: int
) -> Request:
    """The request with limits at which numbers are cut off for second moments, by released lines.

    And with bins of numbers whose quantiles are declared.

    Args:
        request: what is asked for.
        lines: that were bought.
        n_records: number of records, as released.
    """
    lines = tuple(lines)
    request = replace(request, even=_even_bins(request, lines))
    if request.limits is not None:
        return request
    found, sizes = {}, {}
    for line in lines:
        (name,) = line.value.columns
        cells = LineCells.of(request.schema.with_bins(line.value.bins), name)
        counts = np.asarray(line.value.counts, dtype=np.float64)
        sizes[name] = float(counts.sum())
        if limits := find_limits(counts, line.noise.stddev, cells, n_records):
            found[name] = limits
    return replace(request, limits=_common_limits(found, sizes, request.schema))


def _even_bins(request: Request, lines: Iterable[Released[NoisyLine]]) -> Bins:
    """Bins of numbers whose quantiles are declared, and by whose usual bins nobody groups."""
    _, tables = by_tables(request.analyses, request.schema)
    even = {name for own in tables for name in own.even}
    if not even:
        return {}
    from understudy.inference.own_tables import bins_of_lines  # loads the library of formulas

    asked = (analysis.estimand(request.schema) for analysis in request.analyses)
    grouped = {name for one in asked for name in (*one.groups, *one.levels)}
    counts = {
        line.value.columns[0]: np.asarray(line.value.counts, dtype=np.float64) for line in lines
    }
    return bins_of_lines(sorted(even - grouped), request.schema, counts)


_FEW_MEMBERS: Final = 0.1  # of the fullest slot: limits of a slot with fewer follow the others'


def _common_limits(limits: Limits, sizes: Mapping[str, float], schema: Schema) -> Limits:
    """Limits that are the same in all slots of members: the widest of those with some members.

    Args:
        limits: of each column that has some.
        sizes: noisy numbers of records with a number, by column.
        schema: of the table.
    """
    form, found = schema.members, dict(limits)
    if form is None:
        return found
    for name in form.columns:
        column = schema.columns[slot_column(name, 1)]
        slots = [slot_column(name, j) for j in range(1, form.rows_per_unit + 1)]
        if not isinstance(column, NUMERIC) or not any(slot in limits for slot in slots):
            continue
        least = _FEW_MEMBERS * max(sizes.get(slot, 0.0) for slot in slots)
        own = [limits.get(slot, column.bounds) for slot in slots if sizes.get(slot, 0.0) >= least]
        common = min(low for low, _ in own), max(high for _, high in own)
        found |= dict.fromkeys(slots, common)
        if common == column.bounds:
            found = {name: ends for name, ends in found.items() if name not in slots}
    return found


def _part_of_heaps(request: Request, n_rows: int) -> Fraction:
    """Part of what counts of heaps may cost that so many rows need."""
    now = max((step.stddev for step in request.heap_steps()), default=math.inf)
    noisier = n_rows / HEAPS / now
    if noisier <= 1:
        return Fraction(1)
    power = 1 if request.budget.accounting == "pure" else 2
    return max(Fraction(math.floor(1000 / noisier**power), 1000), LEAST_HEAPS)


def remarks(request: Request) -> tuple[str, ...]:
    """Write the sentences of a plan, where the number of rows is yet to be bought."""
    if request.schema.rows == "public":
        return ()
    least, heaps = least_rows(request), request.heap_steps()
    moments = (
        f"Second moments are bought if the number of rows comes out at {least:,} or more; of fewer "
        "little could be answered from them, and their part buys tables for the records, unless "
        "the budget's part 'answers' is stated."
    )
    many = math.ceil(HEAPS * max((step.stddev for step in heaps), default=0.0))
    closely = (
        f"If the number of rows comes out above {many:,}, counts of heaps cost less than shown, "
        "and the records get the rest."
    )
    return ((moments,) if least else ()) + ((closely,) if heaps else ())


def without_pairs(request: Request) -> tuple[str, ...]:
    """Remark that nothing measured tells of two columns together, and which δ would buy it."""
    if request.budget.delta or not request.reason:  # only `auto` would buy moments
        return ()
    if request.sets > 1 or len(request.schema.columns) < 2:
        return ()
    planned = (*request.setup(), *request.tables())
    if any(len(one.columns) > 1 and one.form is not Form.ROUNDS for one in planned):
        return ()
    schema = request.schema
    what = "number" if schema.rows == "public" else "limit"
    rows = schema.most_rows
    public = f"{rows:,}, the declared {what} of rows" if rows else "a public number of rows"
    usual = f", as δ = {public_delta(rows)}" if rows else ""
    return (
        "Without δ no question about two columns is sure of an answer: what would tell of them is "
        f"too dear. Any δ above 0 buys it{usual}; take at most 1 in 100 times {public}.",
    )
