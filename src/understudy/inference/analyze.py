"""From a release and a question to numbers with valid error bars, or a refusal that says why.

`analyze_release` looks at nothing but the release. It takes the rule that the manifest and the
measurements allow (`understudy.inference.rules`), and refuses where there is none.

**Answers that were paid for after a release** come three ways: from before, from the new
measurement, and pooled.

The new measurement has noise of its own, so the mean by precision with what the release already had
is narrower than either. That mean is right only if the question did not depend on the values of the
release: whoever asks about the coefficient that looked largest asks about noise that pointed up,
and keeps a part of it in the mean. From the new measurement alone the answer is right in any case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from understudy._arrays import Z_95, Floats
from understudy.errors import InferenceError, TooFewError
from understudy.inference import caveats, members, number_line, refusals
from understudy.inference.analysis import STAMP, Analysis
from understudy.inference.caveats import are_steady
from understudy.inference.combining import Pooled, require_level
from understudy.inference.conditions import UntoldError, require_told
from understudy.inference.counts import Counted, estimate_counts, estimate_draws
from understudy.inference.declarations import add_advice, declaration
from understudy.inference.design_effects import (
    effect_notes,
    follows_variance,
    fractions_of,
    grow,
)
from understudy.inference.estimators import Estimator, Question
from understudy.inference.moment_answers import (
    MeasuredAnswer,
    halves_answer,
    is_numeric,
    measured_answer,
)
from understudy.inference.own_tables import counted_answer, tables_that_tell
from understudy.inference.quantiles import Quantiles, coarse_quantiles, count_quantiles
from understudy.inference.question import (
    MEASURED_ONLY,
    OF_MANY,
    SAME_AS,
    SHARES,
    WEIGHTED,
    Estimand,
    is_of_many,
    parse,
    rule_notes,
    split_condition,
    split_probability,
)
from understudy.inference.refusals import RefusedError, advise, unmeasured_refusal
from understudy.inference.rules import (
    COUNTS_REASON,
    RuleFacts,
    distorted_reason,
    distorts,
    facts_of,
    noisy_reason,
    outweighs,
    select_rule,
)
from understudy.inference.second_moments import LostInNoiseError
from understudy.inference.set_answers import SetAnswer, set_answer
from understudy.inference.weighted import is_weighted, weighted_answer
from understudy.release.manifest import Amendment, bought_by
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.schema import NUMERIC, Schema
from understudy.schema.expressions import places_as_times, read_name, split_outside
from understudy.schema.temporal import Calendar


def analyze_release(
    release: Release,
    kind: str | Estimator,
    formula: str = "",
    *,
    probability: float = 0.5,
    level: float = 0.95,
    anyway: bool = False,
    weighted: bool | None = None,
) -> Analysis:
    """Estimate something from a release alone, with error bars that count noise and synthesis.

    Args:
        release: the release.
        kind: one of `question.KINDS`; or a function that takes a data frame of complete records
            and gives estimates and their (co)variances.
        formula: see `understudy.inference.question.parse`; for a function the columns
            that it uses, "a + b", all if "".
        probability: of a quantile.
        level: confidence level in (0, 1).
        anyway: give numbers even where no rule is valid, stamped so. They are pooled by T = ū +
            b/m for several sets (it misses the noise that the sets share), and have the variance
            within the set alone for one set (it misses noise and synthesis).
        weighted: whether records count with their weights (`understudy.inference.weighted`); None
            where they have some, and the kind is one of `WEIGHTED`.

    Raises:
        InferenceError: unknown kind or name, or an estimate that cannot be computed.
        RefusedError: no valid rule; says why, and what would work if anything is known to.
    """
    require_level(level)
    table = members.asks_members(kind, formula, release)
    if table is not None:
        own = SAME_AS.get(str(kind), str(kind)) in WEIGHTED
        if weighted and not (own and is_weighted(release)):
            raise InferenceError(
                f"Of questions about members only {', '.join(WEIGHTED)} have weighted answers, in "
                "releases with weighted moments; weighted=False asks about the records."
            )
        by_weight = own and is_weighted(release) and weighted is not False
        found = members.member_analysis(
            table, str(kind), formula, probability=probability, level=level, weighted=by_weight
        )
        if by_weight:
            return found
        estimand = parse(str(kind), formula, table.schema, probability=probability)
        return _told_unweighted(found, release, weighted, estimand, table.schema)
    question = Question.of(kind, formula, release.schema, probability=probability)
    if weighted or (weighted is None and is_weighted(release)):
        if question.kind in WEIGHTED:
            analysis = _told_alike(_for_population(release, question, level=level), release)
            return as_asked(analysis, kind, formula, release.schema)
        if weighted:
            raise InferenceError(
                f"Only {', '.join(WEIGHTED)} have weighted answers; weighted=False asks about the "
                "records."
            )
    try:
        analysis = _answer_checked(release, question, level=level, anyway=anyway)
        about = question.asked if isinstance(question.asked, Estimand) else None
        analysis = _told_unweighted(analysis, release, weighted, about, release.schema)
        return as_asked(analysis, kind, formula, release.schema)
    except (RefusedError, UntoldError) as error:
        ask = partial(_answer_checked, release, level=level, anyway=False)
        raise add_advice(_refusal(error), release, question, ask) from None


def _refusal(error: RefusedError | UntoldError) -> RefusedError:
    """The refusal of a question, also of one whose condition bins do not tell."""
    if isinstance(error, RefusedError):
        return error
    reason = str(error).rstrip(".")
    return RefusedError("not-told", reason[0].lower() + reason[1:], None, anyway=False)


UNWEIGHTED_NOTE: Final = (
    "Unweighted: it is about the records, not the population; this kind of question has no "
    "weighted answer."
)


ALIKE_NOTE: Final = (
    "The sampling error takes records as drawn one by one, and those of one {0} are alike: as a "
    'sample of {0} units it is larger. A release with [unit] table = "{0}" tells by how much, and '
    "a public deff in [design] is counted."
)


def _told_unweighted(
    analysis: Analysis,
    release: Release,
    weighted: bool | None,
    estimand: Estimand | None,
    schema: Schema,
) -> Analysis:
    """An answer about records, which says so where nobody asked for it and there are weights.

    Args:
        analysis: as of records drawn one by one.
        release: that was asked.
        weighted: as it was asked.
        estimand: the question; None for one of the analyst's own.
        schema: with the columns of the question, and the design.
    """
    analysis, design = _told_alike(analysis, release), schema.design
    if design.deff is not None or design.fpc is not None:
        pooled = analysis.pooled
        fractions = fractions_of(estimand, schema, len(pooled.names))
        own = design.declared_effect
        counted = follows_variance(pooled) or bool((own * (1 - fractions) >= 1).all())
        notes = (*analysis.notes, *effect_notes(design, fractions, counted=counted))
        effects = own * (1 - fractions) if counted else np.full(len(fractions), own)
        analysis = replace(analysis, pooled=grow(pooled, effects), notes=notes)
    if weighted is not None or not is_weighted(release):
        return analysis
    return replace(analysis, notes=(*analysis.notes, UNWEIGHTED_NOTE))


def _told_alike(analysis: Analysis, release: Release) -> Analysis:
    """An answer about members by themselves, which says that those of one unit are alike.

    Not where a design effect counts it.
    """
    schema = release.schema
    if not schema.unit.of or schema.design.deff is not None:
        return analysis
    return replace(analysis, notes=(*analysis.notes, ALIKE_NOTE.format(schema.unit.of)))


def _for_population(release: Release, question: Question, *, level: float) -> Analysis:
    """The answer in which records count with their weights.

    Raises:
        InferenceError: the release has no weights.
        RefusedError: weighted moments do not give it, or it is lost in their noise.
    """
    if not is_weighted(release):
        raise InferenceError(
            "The release has no weighted moments: its schema declares no [design] weight, or its "
            "budget had no part for answers; weighted=False asks about the records."
        )
    assert isinstance(question.asked, Estimand)
    try:
        answer = weighted_answer(question.asked, release)
    except LostInNoiseError as error:
        declared = declaration(release, question.asked, weighted=True)
        reason = str(error).rstrip(".")
        raise RefusedError("lost-in-noise", reason, declared, anyway=False) from None
    except TooFewError as error:
        raise _without_number(error, release, question) from None
    if answer is None:
        declared = declaration(release, question.asked, weighted=True)
        raise RefusedError("not-measured", UNMEASURED_WEIGHTED, declared, anyway=False)
    found = _valid(question.asked, answer.pooled, answer.reason, answer.dropped, level)
    found = replace(found, cut_off=answer.limits)
    return within_bounds(found, release, question, anyway=False)


UNMEASURED_WEIGHTED: Final = (
    "weighted moments are of two columns at a time, and do not give this for the population; "
    "weighted=False asks about the records"
)


def valid_answer(release: Release, kind: str, formula: str) -> Pooled | None:
    """Estimates with valid error bars; None if there are none, and nothing is looked for then.

    Args:
        release: that is asked.
        kind: of the question.
        formula: of what.
    """
    try:
        question = Question.of(kind, formula, release.schema)
        analysis = _answer_question(release, question, anyway=False, level=0.95)
        analysis = _check_records(analysis, release, question, anyway=False)
    except InferenceError:
        return None
    return analysis.pooled if analysis.valid else None


def _answer_checked(
    release: Release, question: Question, *, anyway: bool, level: float
) -> Analysis:
    """The answer to a question, unless it rests on numbers beyond the bounds."""
    try:
        analysis = _answer_question(release, question, anyway=anyway, level=level)
    except (LostInNoiseError, TooFewError) as error:
        raise _without_number(error, release, question) from None
    return within_bounds(analysis, release, question, anyway=anyway)


def _without_number(
    error: LostInNoiseError | TooFewError, release: Release, question: Question
) -> RefusedError:
    """The refusal of what has no number either, whose error bars might be wrong."""
    reason = str(error).rstrip(".")
    if isinstance(error, TooFewError):  # another release may have as few
        return RefusedError("too-few", reason, None, anyway=False)
    facts = facts_of(release, question.kind, question.columns, additive=question.additive)
    return RefusedError("lost-in-noise", reason, advise(release, facts), anyway=False)


def as_asked(analysis: Analysis, kind: str | Estimator, formula: str, schema: Schema) -> Analysis:
    """An answer as it was asked; where derived columns were, it says that it is about their rules.

    Args:
        analysis: to the question with the rules written out.
        kind: as it was asked.
        formula: as it was asked.
        schema: of the release.
    """
    if kind in SAME_AS:
        analysis = replace(analysis, kind=str(kind))
    notes = (*rule_notes(formula, schema), *_time_notes(analysis, formula, schema))
    shown = places_as_times(analysis.formula, schema.columns)
    if notes or (isinstance(kind, str) and split_condition(formula, schema)[1]):
        shown = formula
    return replace(analysis, formula=shown, notes=(*analysis.notes, *notes))


_MOST_TIMES: Final = 12


def _time_notes(analysis: Analysis, formula: str, schema: Schema) -> Iterator[str]:
    """What means and quantiles of times are as times, since their units count from somewhere."""
    pooled = analysis.pooled
    if analysis.kind not in ("mean", "quantile", "median") or len(pooled.names) > _MOST_TIMES:
        return
    bare = split_outside(split_probability(split_condition(formula, schema)[0])[1], "~")[0]
    column = schema.columns.get(read_name(bare))
    if not isinstance(column, Calendar):
        return
    ends = np.stack([pooled.estimate, *pooled.interval(analysis.level)], axis=1)
    for name, numbers in zip(pooled.names, ends.clip(*column.bounds), strict=True):
        if np.isfinite(numbers).all():
            value, *both = (column.text_at(round(number)) for number in numbers)
            yield f"{name} is {value}, from {' to '.join(both)}."


def within_bounds(
    analysis: Analysis, release: Release, question: Question, *, anyway: bool
) -> Analysis:
    """An answer, with what is known of numbers beyond the bounds and of records out of domain.

    Raises:
        RefusedError: it rests on them, and is not given `anyway`.
    """
    analysis = _check_records(analysis, release, question, anyway=anyway)
    limits = _limits(question, release.schema)
    cut = caveats.cut_notes(question.kind, analysis.pooled, analysis.level, limits)
    return replace(analysis, notes=(*analysis.notes, *cut), limits=limits)


def _check_records(
    analysis: Analysis, release: Release, question: Question, *, anyway: bool
) -> Analysis:
    """An answer with room for the records that it lacks, or its refusal; no ends are looked for."""
    bounds = refusals.check_bounds(
        release, question, analysis.pooled, analysis.level, analysis.cut_off
    )
    pooled, lacking, said = refusals.answer_with_room(release, question, analysis.pooled)
    doubt = lacking or bounds.refusal
    if doubt is not None and not anyway:
        raise doubt
    analysis = replace(
        analysis,
        pooled=pooled,
        cut_off=bounds.cut,
        counting=bounds.counting,
        notes=(*analysis.notes, *bounds.notes, *said),
    )
    if doubt is not None and analysis.valid:
        analysis = replace(analysis, valid=False, reason=f"{STAMP}: {doubt.reason}")
    return analysis


def _limits(question: Question, schema: Schema) -> tuple[float, float]:
    """Between which numbers every answer lies; numbers beyond their bounds count as these."""
    if question.kind in (*SHARES, "gini"):
        return 0.0, 1.0
    if question.kind == "correlation":
        return -1.0, 1.0
    counted = isinstance(question.asked, Estimand) and question.asked.called == "count"
    if counted or question.kind == "std":
        return 0.0, math.inf
    if question.kind in ("mean", "quantile") and isinstance(question.asked, Estimand):
        column = schema.columns.get(read_name(question.asked.expression))
        if isinstance(column, NUMERIC):
            return column.bounds
    return -math.inf, math.inf


def _answer_question(
    release: Release, question: Question, *, anyway: bool, level: float
) -> Analysis:
    """The answer, by the first of what a release has that gives one."""
    asked = question.asked
    own = _from_own_tables(release, asked, level=level) if isinstance(asked, Estimand) else None
    if own is not None and question.kind == "quantile":  # what is expected of it has no width
        return own
    try:
        found = _by_any_other(release, question, anyway=anyway, level=level)
    except InferenceError:
        if own is None:
            raise
        return own
    if own is None:
        return found
    return (_narrower(found, own) or own) if found.valid else own


def _by_any_other(release: Release, question: Question, *, anyway: bool, level: float) -> Analysis:
    """The answer by moments, lines, tables in the bins of the release, or sets."""
    if isinstance(question.asked, Estimand) and is_of_many(question.asked, release.schema):
        raise RefusedError("not-measured", OF_MANY, None, anyway=False)
    facts = facts_of(release, question.kind, question.columns, additive=question.additive)
    if isinstance(question.asked, Estimand):
        analysis = _by_moments_or_line(release, question.asked, facts, anyway=anyway, level=level)
        if analysis is None:
            analysis = _from_wider_bins(release, question.asked, level=level)
        if analysis is not None:
            return analysis
        require_told(question.asked, release.schema)
        if question.kind in MEASURED_ONLY:
            raise unmeasured_refusal(release, facts)
    facts = _check_firmness(release, facts)
    if select_rule(facts).name == "noise-aware":
        assert isinstance(question.asked, Estimand)
        counted = _from_counts(release, question.asked, facts, level=level)
        return _narrower_by_moments(release, question, facts, counted) or counted
    _require_allowed(release, facts, anyway=anyway)
    answer = set_answer(question, release, facts)
    said = (
        *caveats.number_notes(release, question.numeric, answer.pooled, question.kind, level),
        *caveats.merged_notes(release, facts, counted=question.kind != "quantile"),
        *caveats.clipping_notes(release, question.numeric, question.kind),
    )
    reason = _doubt(answer, facts)
    if reason and not anyway:
        raise RefusedError("sets-not-valid", reason, advise(release, facts))
    return _from_sets(answer, facts, reason, formula=question.formula, level=level, more=said)


def _by_moments_or_line(
    release: Release, estimand: Estimand, facts: RuleFacts, *, anyway: bool, level: float
) -> Analysis | None:
    """Answer by second moments, or by the line of a column where that tells more.

    It tells totals, and who meets a condition on the number, which moments know by its bins alone.
    """
    analysis, doubt = None, None
    for way in (partial(_from_measured, facts=facts, anyway=anyway), _from_line):
        if analysis is not None and not (estimand.kind == "total" or estimand.conditions):
            break
        try:
            analysis = _narrower(analysis, way(release, estimand, level=level))
        except InferenceError as error:
            doubt = doubt or error
    if analysis is None and doubt is not None:
        raise doubt
    return analysis


def _check_firmness(release: Release, facts: RuleFacts) -> RuleFacts:
    """The facts, no longer firm where sets show that noise is much of what a model divides by."""
    if not facts.firm or facts.sets == 1:
        return facts
    return replace(facts, firm=are_steady(release.tables, release.schema, facts.columns))


def _from_measured(
    release: Release, estimand: Estimand, facts: RuleFacts, *, anyway: bool, level: float
) -> Analysis | None:
    """Answer by measurements, without cells or sets; levels only where no table has them."""
    if select_rule(facts).name == "noise-aware" and not is_numeric(estimand, release.schema):
        return None
    try:
        answer = measured_answer(estimand, release, facts)
    except LostInNoiseError as error:
        if estimand.kind in MEASURED_ONLY:  # no other rule has an answer
            raise
        if anyway or select_rule(_check_firmness(release, facts)).valid:
            return None
        reason = str(error).rstrip(".")
        raise RefusedError("lost-in-noise", reason, advise(release, facts)) from None
    if answer is None:
        return None
    found = _valid(estimand, answer.pooled, answer.reason, answer.dropped, level)
    return replace(found, cut_off=answer.limits)


def _narrower_by_moments(
    release: Release, question: Question, facts: RuleFacts, counted: Analysis
) -> Analysis | None:
    """Answer about levels by second moments, where these make narrower intervals than counts alone.

    They hold the counts of tables too (`inference.measured_moments`), so that they mostly do. Both
    errors have most of their sources in common, and nearly all of both widths is known before the
    noise is: the choice says next to nothing about the errors. Records that are certainly out of
    domain count as a mix of levels in second moments; counts just lack them.
    """
    estimand = question.asked
    assert isinstance(estimand, Estimand)
    if is_numeric(estimand, release.schema):
        return None
    try:
        answer = measured_answer(estimand, release, facts)
    except LostInNoiseError:
        return None
    if answer is None or answer.pooled.names != counted.pooled.names:
        return None
    both = (answer.pooled, counted.pooled)
    (one, doubt, _), (other, *_) = (refusals.answer_with_room(release, question, of) for of in both)
    own, wide = _half_widths(one), _half_widths(other)
    fewer = np.isnan(own).sum() > np.isnan(wide).sum()
    if doubt is not None or fewer or not np.nanmedian(own) < np.nanmedian(wide):
        return None
    return _valid(estimand, answer.pooled, answer.reason, answer.dropped, counted.level)


def _narrower(one: Analysis | None, other: Analysis | None) -> Analysis | None:
    """The one with narrower intervals, which are nearly known before the noise is."""
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda each: float(np.nanmedian(_half_widths(each.pooled))))


def _half_widths(pooled: Pooled) -> Floats:
    """Of intervals of 95 %, nearly, shape (k,)."""
    if isinstance(pooled, Quantiles):
        lower, upper = pooled.interval()
        return np.asarray((upper - lower) / 2)
    return Z_95 * pooled.stderr + pooled.bias


def _from_line(release: Release, estimand: Estimand, *, level: float) -> Analysis | None:
    """The answer of the number line of a column, with the tables of its bins."""
    if estimand.split and estimand.kind == "std":

        def half(one: Estimand) -> MeasuredAnswer | None:
            own = number_line.line_answer(one, release)
            return own and MeasuredAnswer(own[0].pooled, own[0].dropped, number_line.REASON)

        both = halves_answer(estimand, release.schema, half)
        if both is None:
            return None
        return _valid(estimand, both.pooled, both.reason, both.dropped, level)
    found = number_line.line_answer(estimand, release)
    if found is None:
        return None
    counted, cells = found
    if cells.columns.items() <= release.schema.columns.items():  # the bins of the schema
        own = caveats.count_notes((), estimand, counted)
        return _counted_analysis(release, estimand, counted, COUNTS_REASON, level=level, said=own)
    said = caveats.line_notes(cells, estimand, counted, level)
    return _valid(estimand, counted.pooled, number_line.REASON, counted.dropped, level, *said)


def _from_own_tables(release: Release, estimand: Estimand, *, level: float) -> Analysis | None:
    """The narrowest answer of tables that were counted in bins for this question, or like it."""
    found: Analysis | None = None
    for table, schema, lacking in tables_that_tell(estimand, release.measurements, release.schema):
        try:
            counted = counted_answer(estimand, table, schema)
        except (LostInNoiseError, TooFewError):
            continue
        counted = counted if lacking else replace(counted, dropped=0.0)
        said = caveats.count_notes([table], estimand, counted)
        clipped = caveats.clipping_notes(release, estimand.used, estimand.kind)
        wider = (WIDER_NOTE,) if estimand.kind == "quantile" else ()
        analysis = _valid(
            estimand, counted.pooled, COUNTS_REASON, counted.dropped, level, *said, *clipped, *wider
        )
        found = _narrower(found, analysis)
    return found


def _from_wider_bins(release: Release, estimand: Estimand, *, level: float) -> Analysis | None:
    """Quantiles by group of a table in wider bins than those of the release."""
    found = coarse_quantiles(estimand, release.measurements, release.schema)
    if found is None:
        return None
    return _valid(estimand, found.pooled, COUNTS_REASON, found.dropped, level, WIDER_NOTE)


WIDER_NOTE: Final = (
    "Counted in wider bins than those of the release: intervals have room for wherever in its bin "
    "a number lies."
)


def _valid(
    estimand: Estimand, pooled: Pooled, reason: str, dropped: float, level: float, *notes: str
) -> Analysis:
    """An answer from what was measured; without a number it is none."""
    if np.isnan(pooled.estimate).all():
        raise TooFewError(" ".join(pooled.notes))
    said = (*pooled.notes, *notes)
    return Analysis(estimand.kind, estimand.formula, pooled, True, reason, said, (dropped,), level)


def _doubt(answer: SetAnswer, facts: RuleFacts) -> str:
    """Explain why the numbers do not allow the rule of their sets; "" if they do, or none is."""
    if not select_rule(facts).valid:
        return ""
    if distorts(facts, answer.stderr):
        return distorted_reason(facts)
    return noisy_reason(facts) if outweighs(facts, answer.pooled.synthesis_share) else ""


def _from_counts(
    release: Release, estimand: Estimand, facts: RuleFacts, *, level: float
) -> Analysis:
    reason, tables = select_rule(facts).reason(facts), release.measurements
    if estimand.kind == "quantile" or facts.full:
        count = count_quantiles if estimand.kind == "quantile" else estimate_counts
        counted = count(estimand, tables, release.schema)
        said = caveats.count_notes(tables, estimand, counted)
    else:
        counted = estimate_draws(estimand, release)
        said = caveats.draw_notes(estimand, counted)
    return _counted_analysis(release, estimand, counted, reason, level=level, said=said)


def _counted_analysis(
    release: Release,
    estimand: Estimand,
    counted: Counted,
    reason: str,
    *,
    level: float,
    said: Iterable[str],
) -> Analysis:
    """An answer from counts in the bins of the schema, with what is to be said of these."""
    pooled, numeric = counted.pooled, estimand.columns if counted.varied else ()
    more = (
        *said,
        *caveats.number_notes(release, numeric, pooled, estimand.kind, level),
        *caveats.clipping_notes(release, estimand.used, estimand.kind),
    )
    return _valid(estimand, pooled, reason, counted.dropped, level, *more)


def _require_allowed(release: Release, facts: RuleFacts, *, anyway: bool) -> None:
    rule = select_rule(facts)
    if facts.kind == "total":  # sets have no total of their own: their size is a noisy number
        raise RefusedError(rule.code, rule.reason(facts), advise(release, facts), anyway=False)
    if not rule.valid and not anyway:
        raise RefusedError(rule.code, rule.reason(facts), advise(release, facts))


def _from_sets(
    answer: SetAnswer,
    facts: RuleFacts,
    doubt: str,
    *,
    formula: str,
    level: float,
    more: tuple[str, ...],
) -> Analysis:
    rule, pooled = select_rule(facts), answer.pooled
    valid = rule.valid and not doubt
    reason = doubt or rule.reason(facts)
    if not valid:  # what share of an error is noise is not known where noise is not counted
        pooled = replace(pooled, synthesis_share=np.full(len(pooled.names), np.nan))
    said = (
        *pooled.notes,
        *answer.notes,
        *caveats.drop_notes(answer.dropped),
        *caveats.distortion_notes(facts),
    )
    return Analysis(
        kind=facts.kind,
        formula=formula,
        pooled=pooled,
        valid=valid,
        reason=reason if valid else f"{STAMP}: {reason}",
        notes=(*said, *more),
        dropped=answer.dropped,
        level=level,
    )


POOLED_RIGHT: Final = (
    "Pooled intervals are right only if the question did not depend on the values of the release; "
    "if one of its numbers suggested the question, take the new measurement alone."
)


@dataclass(frozen=True)
class Told:
    """An answer, or why there is none.

    Attributes:
        analysis: estimates with their errors; None where there are none.
        refused: why; "" if there is an answer.
    """

    analysis: Analysis | None
    refused: str = ""

    @property
    def intervals(self) -> dict[str, tuple[float, float, float]]:
        """Estimate and both ends of its interval, by the names of the quantities."""
        if self.analysis is None:
            return {}
        pooled = self.analysis.pooled
        low, high = pooled.interval(self.analysis.level)
        ends = zip(pooled.estimate.tolist(), low.tolist(), high.tolist(), strict=True)
        return dict(zip(pooled.names, ends, strict=True))

    @property
    def half_widths(self) -> dict[str, float]:
        """Half the width of each interval, by the names of the quantities."""
        return {name: (high - low) / 2 for name, (_, low, high) in self.intervals.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"refused": self.refused} if self.analysis is None else self.analysis.to_json()


@dataclass(frozen=True)
class AmendedAnswer:
    """One analysis of an amendment.

    Attributes:
        amendment: that paid for it.
        kind: of the question.
        formula: of what.
        before: from what was measured before the amendment.
        alone: from what the amendment measured.
        pooled: from all that was measured.
    """

    amendment: Amendment
    kind: str
    formula: str
    before: Told
    alone: Told
    pooled: Told

    @property
    def question(self) -> str:
        """The question; of an answer, with where its numbers are cut off."""
        answer = self.pooled.analysis
        return answer.quantity if answer else f"{self.kind} of {self.formula}"

    @property
    def names(self) -> tuple[str, ...]:
        """Quantities that any of them has."""
        parts = (self.pooled, self.alone, self.before)
        return tuple(dict.fromkeys(name for told in parts for name in told.intervals))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        told = {"before": self.before, "alone": self.alone, "pooled": self.pooled}
        return {
            "kind": self.kind,
            "formula": self.formula,
            "chosen": self.amendment.chosen,
            **{name: one.to_json() for name, one in told.items()},
        }


def amended_answers(release: Release, *, level: float = 0.95) -> list[AmendedAnswer]:
    """Every analysis of every amendment of a release, with its three answers.

    Args:
        release: that may have amendments.
        level: confidence level of the intervals.
    """
    amendments, found = release.manifest.amendments, []
    for number, amendment in enumerate(amendments):
        earlier = [one for one in release.measurements if one.entry <= amendment.entries]
        own = bought_by(release.measurements, amendments, number)
        for asked in amendment.analyses:
            answers = (
                _answer_part(release, part, asked["kind"], asked["formula"], level)
                for part in (earlier, own, release.measurements)
            )
            found.append(AmendedAnswer(amendment, asked["kind"], asked["formula"], *answers))
    return found


def _answer_part(
    release: Release, measured: Sequence[Measurement], kind: str, formula: str, level: float
) -> Told:
    """The answer of a part of the measurements."""
    part = replace(release, measurements=tuple(measured))
    try:
        return Told(analyze_release(part, kind, formula, level=level))
    except InferenceError as error:
        return Told(None, str(error))
