"""Which declaration would have bought an answer that is refused, and what can be asked instead.

A declared analysis gets second moments of its columns alone, for half of the budget. Whether these
would answer follows from the noise that they would have, which is exact, and from the records, for
which the synthetic ones stand: the same estimate is made of their moments, with half as much noise
again, since the records of another release differ. So what is advised is expected, not promised,
and so is its half-width, which is of the noise as it would be. It may be off by a factor of three:
numbers that are cut off at limits have less noise, and sets may vary more or less than the rows.

Where records count with their weights, the same is computed of weighted tables and moments.

Without δ, moments take noise that is pure, which many columns cannot bear. Whether δ is what lacks
is computed in the same way: by the declaration that answers with δ, at less ε.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl

from understudy.dp.budget import UNITS, Approximate, Budget
from understudy.dp.calibration import NoiseName
from understudy.dp.confidential import terms_of
from understudy.errors import BudgetError, InferenceError, MethodError
from understudy.features.grids import own_bins
from understudy.features.scores import Weighting
from understudy.inference import formulas
from understudy.inference.combining import Pooled
from understudy.inference.conditions import schema_that_tells
from understudy.inference.declared import GROUPS_SHARE, SQUARES_SHARE, public_delta
from understudy.inference.estimators import Question
from understudy.inference.moment_answers import MeasuredAnswer, matrix_answer
from understudy.inference.own_tables import expected_parts, is_counted, own_table
from understudy.inference.question import MEASURED_ONLY, MODELS, RATIOS, WEIGHTED, Estimand
from understudy.inference.records import Records
from understudy.inference.refusals import EPSILONS, Advice, RefusedError
from understudy.inference.second_moments import (
    LostInNoiseError,
    MomentMatrix,
    MomentSource,
    apart,
    assumed_moments,
    joined_matrix,
)
from understudy.inference.term_moments import TermMatrix, assumed_terms, needed_terms
from understudy.inference.term_moments import apart as terms_apart
from understudy.inference.weighted import (
    WeightedMatrices,
    answer_by_terms,
    answer_for_population,
    expected_weights,
    missing_weight,
)
from understudy.mechanisms.second_moments import SecondMoments, TermMoments, WeightedMoments
from understudy.mechanisms.tables import NoisyTables
from understudy.mechanisms.weighted_tables import WeightedTable
from understudy.release.release import Release
from understudy.schema import NUMERIC, Schema
from understudy.schema.coarsening import divides_usual, usual_bins
from understudy.schema.expressions import (
    places_as_times,
    quote_name,
    split_outside,
    with_condition,
)

_BY_MOMENTS = (*RATIOS, "total", *MODELS, *MEASURED_ONLY)
_SHARE = Fraction(1, 2)  # of the rest buys what is declared
_MARGIN = 1.5  # times the noise
_MOST_TRIED, _MOST_INSTEAD = 4, 2
_WITHOUT_DELTA = ("not-measured", "sets-not-valid")


def add_advice(
    error: RefusedError, release: Release, question: Question, answer: Callable[[Question], object]
) -> RefusedError:
    """A refusal that names the declaration, if one would help, and what can be asked instead.

    Args:
        error: the refusal.
        release: that refuses.
        question: that it was asked.
        answer: asks another one of the same release.
    """
    if not isinstance(question.asked, Estimand):
        return error
    old, code, reason = error.advice, error.code, error.reason
    if old is not None and old.kind in ("bounds", "count", "domain"):  # no declaration helps
        return error
    declared = declaration(release, question.asked)
    by_delta = _by_delta(release, question.asked, declared) if code in _WITHOUT_DELTA else None
    declared = by_delta or declared
    if declared is None or (old is not None and _is_easier(old, declared, release)):
        declared = old
    elif by_delta is not None:
        code, reason = "no-delta", f"{reason}; its budget has no δ, without which this costs more"
    instead = _instead(release, question.asked, answer)
    return RefusedError(code, reason, declared, anyway=error.anyway, instead=instead)


def _by_delta(release: Release, estimand: Estimand, declared: Advice | None) -> Advice | None:
    """The declaration that answers with δ above 0 at less ε than without; None if none does.

    Args:
        release: that refuses.
        estimand: the question.
        declared: what would answer with its own δ.
    """
    stated, manifest = release.manifest.budget, release.manifest
    automatic = bool(manifest.reason)  # a method that was named would buy no moments anyway
    if not automatic or "epsilon" not in stated or Fraction(stated.get("delta", "0")):
        return None
    if declared is not None and declared.epsilon == stated["epsilon"]:
        return None  # which is the least that is looked for
    rows = release.schema.most_rows or 2 * max(manifest.n_rows, 1)  # the released number is noisy
    more = declaration(release, estimand, public_delta(rows))
    dearer = declared is None or (
        more is not None and Fraction(more.epsilon) < Fraction(declared.epsilon)
    )
    return more if dearer else None


def declaration(
    release: Release, estimand: Estimand, delta: str = "", *, weighted: bool = False
) -> Advice | None:
    """The declaration that is expected to buy an answer, at the least ε; None if none does.

    Args:
        release: whose schema and records count; ε is its own at least.
        estimand: the question.
        delta: of the release that declares it; "" for that of this one.
        weighted: whether records are to count with their weights.
    """
    stated, counted = release.manifest.budget, is_counted(estimand)
    if not weighted and release.schema.design.weight and estimand.kind in WEIGHTED:
        return None  # it would buy sums of weights
    if not (counted or estimand.kind in _BY_MOMENTS) or "epsilon" not in stated:
        return None
    own, delta = stated["epsilon"], delta or stated.get("delta", "0")
    base = _as_declared(release.schema) if estimand.kind == "quantile" else release.schema
    schema = schema_that_tells([estimand], base, of_any=not counted)  # a table has bins of its own
    unit: Approximate = "gdp" if stated.get("unit") == UNITS["gdp"] else "zcdp"
    epsilons = [own, *(epsilon for epsilon in EPSILONS if Fraction(epsilon) > Fraction(own))]

    def half_width(epsilon: str, margin: float = _MARGIN) -> float:
        budget = Budget.of(epsilon, delta, unit)
        expect = _half_width_of_weights if weighted else _half_width
        return expect(release, schema, estimand, budget, margin)

    try:
        least = bisect_left(epsilons, True, key=lambda epsilon: half_width(epsilon) < np.inf)
        if least == len(epsilons):
            return None
        width = half_width(epsilons[least], 1.0)
    except (InferenceError, MethodError, BudgetError):
        return None
    return Advice(
        "declare",
        estimand.columns,
        epsilon=epsilons[least],
        analysis=places_as_times(estimand.text, release.schema.columns),
        delta=delta,
        half_width=width if 0 < width < np.inf else 0.0,
        cuts=() if counted else _cuts(release.schema, schema),
    )


def _as_declared(schema: Schema) -> Schema:
    """The schema in the bins that a declared table would have: the usual ones where these fit."""
    numbers = ((name, own) for name, own in schema.columns.items() if isinstance(own, NUMERIC))
    usual = {name: own_bins(usual_bins(own)) for name, own in numbers if divides_usual(own)}
    return schema.with_bins(usual) if usual else schema


def _cuts(schema: Schema, told: Schema) -> tuple[str, ...]:
    """Columns whose bins somebody declared, and did not let begin where the question needs it."""
    columns = ((name, schema.columns[name]) for name in schema.names)
    numbers = ((name, own) for name, own in columns if isinstance(own, NUMERIC))
    return tuple(
        name for name, own in numbers if told.columns[name] != own and not divides_usual(own)
    )


def _half_width(
    release: Release, schema: Schema, estimand: Estimand, budget: Budget, margin: float
) -> float:
    """Half an interval of 95 %, in the median, by second moments at a budget; infinite if lost.

    They answer at more, if they do at some.

    Raises:
        InferenceError: they would not without noise either.
    """
    if is_counted(estimand):
        return _half_width_of_counts(release, schema, estimand, budget, margin)
    if both := estimand.halves:  # each has its part of the budget
        apart = Budget(budget.epsilon / len(both), budget.delta, budget.approximate)
        return max(_half_width(release, schema, one, apart, margin) for one in both)
    columns = estimand.columns
    coded = tuple(name for name in columns if schema.columns[name].codes)
    needed = needed_terms(estimand, schema)
    asked: SecondMoments | TermMoments = SecondMoments(columns, coded)
    if needed is not None:
        asked = TermMoments(needed.terms, among=needed.among)
    (charge,) = asked.price(terms_of(schema, budget), _spend(release, schema, budget))
    stddev = margin * charge.recorded.stddev
    table = release.tables[0]
    known = [Records.complete_of(table, schema, columns)]
    if any(table[name].n_unique() < 2 for name in columns):
        raise InferenceError("Records that do not vary say nothing of what moments would.")
    matrix: MomentMatrix | TermMatrix | None
    if isinstance(asked, TermMoments):
        matrix = assumed_terms(schema, table, asked.scores(schema), stddev)
    else:
        pure = charge.parameter.pure
        source = assumed_moments(schema, table, asked, columns, stddev, pure=pure)
        matrix = joined_matrix([source], schema, columns, (float(table.height), 0.0))
    try:
        found = None if matrix is None else matrix_answer(estimand, matrix, schema, known)
    except LostInNoiseError:
        return np.inf
    if found is None:
        raise InferenceError("Second moments have no answer.")
    return _median_half(found.pooled)


def _median_half(pooled: Pooled) -> float:
    """Half an interval of 95 %, in the median; infinite if a group is lost."""
    if np.isnan(pooled.estimate).any():
        return np.inf
    low, high = pooled.interval()
    halves = ((high - low) / 2)[np.isfinite(high - low)]
    return float(np.median(halves)) if len(halves) else 0.0


_Weighted = WeightedTable | TermMoments | WeightedMoments


def _half_width_of_weights(
    release: Release, schema: Schema, estimand: Estimand, budget: Budget, margin: float
) -> float:
    """The same where records count with their weights: by a table, by terms or by columns."""
    table, spend = release.tables[0], _spend(release, schema, budget)
    noise = list[tuple[_Weighted, float]]()
    for asked, part in _weighted_steps(estimand, schema):
        (charge,) = asked.price(terms_of(schema, budget), spend * part)
        noise.append((asked, margin * charge.recorded.stddev))
    try:
        answer = _weighted_answer(estimand, schema, table, noise, pure=budget.accounting == "pure")
    except LostInNoiseError:
        return np.inf
    if answer is None:
        raise InferenceError("Nothing that is weighted has an answer.")
    return _median_half(answer.pooled)


def _weighted_steps(estimand: Estimand, schema: Schema) -> Iterator[tuple[_Weighted, Fraction]]:
    """What a weighted question is measured by, each with its part of what buys it."""
    design, bound = schema.design, schema.design.bound(schema.columns)
    own, needed = own_table(estimand, schema), needed_terms(estimand, schema)
    asked: _Weighted
    if own is not None:
        weighting = Weighting(design.weight, bound, 1)
        asked = WeightedTable(own.columns, weighting, own.bins, own.groups)
        used: tuple[str, ...] = own.columns
    elif needed is not None:
        weighting = Weighting(design.weight, bound, 1)
        asked = TermMoments(needed.terms, among=needed.among, weighting=weighting)
        used = needed.columns
    else:
        used = tuple(n for n in estimand.columns if n not in (design.weight, design.groups))
        asked = WeightedMoments(used or (design.weight,), design.weight, bound)
    squares = SQUARES_SHARE / 2 if design.groups else SQUARES_SHARE
    apart = GROUPS_SHARE if design.groups and design.groups not in used else Fraction(0)
    yield asked, (1 - squares) * (1 - apart)
    if apart:
        yield _weigh(asked, schema, by=design.groups), (1 - squares) * apart
    yield _weigh(asked, schema, power=2), squares


def _weigh(asked: _Weighted, schema: Schema, *, power: int = 1, by: str = "") -> _Weighted:
    """The measurement by another power of weights, or by random group."""
    if isinstance(asked, WeightedTable):
        columns = tuple(name for name in schema.names if name in (*asked.columns, by))
        return replace(asked, columns=columns, weighting=replace(asked.weighting, power=power))
    if isinstance(asked, TermMoments):
        assert asked.weighting is not None
        return replace(asked, weighting=replace(asked.weighting, power=power, by=by))
    return replace(asked, power=power, by=by)


def _weighted_answer(
    estimand: Estimand,
    schema: Schema,
    rows: pl.DataFrame,
    steps: Sequence[tuple[_Weighted, float]],
    *,
    pure: bool,
) -> MeasuredAnswer | None:
    """The answer of records that stand for others, with the noise of these measurements."""
    about = float(rows.height), missing_weight(schema, rows)
    records = [Records.complete_of(rows, schema, estimand.columns)]
    cells, of_terms = dict[tuple[int, bool], float](), list[TermMatrix]()
    of_columns, (first, _) = list[MomentSource](), steps[0]
    for asked, stddev in steps:
        if isinstance(asked, WeightedTable):
            cells[asked.weighting.power, len(asked.columns) > len(first.columns)] = stddev
        elif isinstance(asked, TermMoments):
            of_terms += terms_apart(assumed_terms(schema, rows, asked.scores(schema), stddev))
        else:
            used = estimand.columns
            source = assumed_moments(schema, rows, asked, used, stddev, pure=pure)
            of_columns += apart(source, schema)
    if cells:
        return expected_weights(estimand, schema, rows, cells, about[1])
    if of_terms:
        terms = WeightedMatrices.of_term_sources(estimand, of_terms, schema, *about, drawn=False)
        return None if terms is None else answer_by_terms(estimand, terms, schema, records)
    columns = WeightedMatrices.of_sources(of_columns, schema, estimand.columns, *about, drawn=False)
    return None if columns is None else answer_for_population(estimand, columns, schema, records)


def _half_width_of_counts(
    release: Release, schema: Schema, estimand: Estimand, budget: Budget, margin: float
) -> float:
    """The same of what a table counts; infinite where half of a quantile's range is."""
    own = own_table(estimand, schema)
    if own is None:
        raise InferenceError("No table counts it.")
    noise: NoiseName = "geometric" if budget.accounting == "pure" else "gaussian"
    asked = NoisyTables((own.columns,), noise, beside=True, bins=own.bins, groups=own.groups)
    (charge,) = asked.price(terms_of(schema, budget), _spend(release, schema, budget))
    table = release.tables[0]
    stddev = margin * charge.recorded.stddev
    each = expected_parts(estimand, schema, table, stddev, lined=schema.names)
    halves = np.array([np.hypot(own, other) for _, own, other in each])
    least, most = 0.0, np.inf
    if estimand.kind == "quantile":
        scores = estimand.scores(Records.complete_of(table, schema, estimand.columns))
        spread = float(np.ptp(scores.value)) if len(scores.value) else 0.0  # of nobody with a value
        least, most = spread / 1e9, spread / 2
    told = len(halves) and ((least < halves) & (halves < most)).all()
    return float(np.median(halves)) if told else np.inf


def _spend(release: Release, schema: Schema, budget: Budget) -> Fraction:
    """Say what buys a declared analysis."""
    rows = Fraction(release.manifest.rows_share or 0) if schema.rows == "private" else Fraction(0)
    return budget.amount * (1 - rows) * _SHARE


def _is_easier(old: Advice, declared: Advice, release: Release) -> bool:
    """Return whether what is advised already needs less than the declaration."""
    if old.kind == "rules":
        return True
    own = Fraction(release.manifest.budget["epsilon"])
    least = Fraction(old.epsilon) if old.epsilon else own
    return least < Fraction(declared.epsilon)


def _instead(
    release: Release, estimand: Estimand, answer: Callable[[Question], object]
) -> tuple[str, ...]:
    """Nearby questions with fewer columns that the release answers."""
    found: list[str] = []
    for tried, (kind, formula) in enumerate(_nearby(estimand)):
        if tried == _MOST_TRIED or len(found) == _MOST_INSTEAD:
            break
        try:
            text = with_condition(formula, estimand.where)
            if kind == "quantile" and estimand.probability != 0.5:
                text = f"{estimand.probability} {text}"
            asked = Question.of(kind, text, release.schema)
            answer(asked)
        except InferenceError:
            continue
        found.append(places_as_times(f"{kind} {text}", release.schema.columns))
    return tuple(found)


def _nearby(estimand: Estimand) -> Iterator[tuple[str, str]]:
    """The same question of fewer columns, the most alike first."""
    kind = estimand.called or estimand.kind
    if estimand.kind in MODELS:
        outcome, right = split_outside(estimand.formula, "~")
        terms = formulas.split_terms(right)
        if len(terms) > 1:
            for left_out in reversed(range(len(terms))):
                kept = [term for k, term in enumerate(terms) if k != left_out]
                yield estimand.kind, f"{outcome} ~ {' + '.join(kept)}"
    elif estimand.kind != "correlation" and estimand.groups:
        left = split_outside(estimand.formula, "~")[0]
        for group in estimand.groups if len(estimand.groups) > 1 else ():
            yield kind, f"{left} ~ {quote_name(group)}"
        yield kind, left
    elif len(estimand.levels) > 1:
        for name in estimand.levels:
            yield "proportion", quote_name(name)
