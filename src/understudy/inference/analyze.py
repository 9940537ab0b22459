"""From a release and a question to numbers with valid error bars, or a refusal that says why.

`analyze_release` looks at nothing but the release. It takes the rule that the manifest and the
measurements allow (`understudy.inference.rules`), and refuses where there is none.

**Questions to what was measured itself, in noisy tables and second moments, and not to the sets.**

Means, models and correlations have their answers in second moments
(`understudy.inference.moment_answers`). Here are those about two traits of a record, from
whichever measurement has their counts, and one way to ask for either.

**Which declaration would have bought an answer that is refused, and what can be asked instead.**

A declared analysis gets second moments of its columns alone, for half of the budget. Whether these
would answer follows from the noise that they would have, which is exact, and from the records, for
which the synthetic ones stand: the same estimate is made of their moments, with half as much noise
again, since the records of another release differ. So what is advised is expected, not promised.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from understudy._arrays import Floats
from understudy.dp.budget import UNITS, Approximate, Budget
from understudy.dp.confidential import terms_of
from understudy.errors import BudgetError, InferenceError, MethodError
from understudy.inference import caveats, formulas, moment_answers, number_line, refusals
from understudy.inference.analysis import STAMP, Analysis
from understudy.inference.caveats import are_steady
from understudy.inference.combining import Pooled, require_level
from understudy.inference.counts import estimate_counts, estimate_draws
from understudy.inference.effect_sizes import odds_ratio, ratio_of_means, standardised_difference
from understudy.inference.estimators import Estimator, Question
from understudy.inference.expected_widths import PLAINLY
from understudy.inference.linear import absences, affine_weights
from understudy.inference.measured_moments import matrix_of
from understudy.inference.moment_answers import MeasuredAnswer, is_numeric
from understudy.inference.quantiles import count_quantiles
from understudy.inference.question import (
    MEASURED_ONLY,
    MODELS,
    OF_GROUPS,
    RATIOS,
    SHARES,
    TWO_WAY,
    Estimand,
    group_terms,
    rule_notes,
)
from understudy.inference.records import Records
from understudy.inference.refusals import EPSILONS, Advice, RefusedError, advise, unmeasured
from understudy.inference.rules import (
    Facts,
    choose,
    distorted_reason,
    distorts,
    facts_of,
    noisy_reason,
    outweighs,
)
from understudy.inference.second_moments import (
    LostInNoiseError,
    MomentMatrix,
    assumed_moments,
    joined_matrix,
)
from understudy.inference.set_answers import SetAnswer, set_answer
from understudy.inference.two_way import (
    GroupSums,
    NoisyCells,
    Shown,
    Trait,
    UntoldError,
    class_weights,
    counted_sums,
    independence,
    moment_cells,
    moment_sums,
    noisy_cells,
    require_few,
    require_possible,
)
from understudy.mechanisms.second_moments import ScoreMoments
from understudy.release import Release
from understudy.release.sets import first_parts
from understudy.schema import NUMERIC, Schema

MOST_VALUES = 200
_OF_GROUPS = {
    "standardised-difference": (standardised_difference, "standardised difference", "less"),
    "ratio": (ratio_of_means, "ratio of the mean", "over"),
}
"""Kind → how it is estimated, what it is called, and what stands between its groups."""


def measured_answer(estimand: Estimand, release: Release, facts: Facts) -> MeasuredAnswer | None:
    """The answer that the measurements of a release give; None where they have none.

    Args:
        estimand: the question.
        release: that it is asked of.
        facts: of both.

    Raises:
        InferenceError: they have one that is lost in their noise, or the question is none.
    """
    if estimand.kind not in (*TWO_WAY, *OF_GROUPS):
        return moment_answers.moment_answer(estimand, release)
    schema = release.schema
    traits = traits_of(estimand, schema)
    cells = noisy_cells(traits, release, facts) if len(traits) == 2 else None
    if estimand.kind in TWO_WAY:
        return None if cells is None else _two_way(estimand, cells, traits, schema)
    tables = first_parts(release.tables)
    complete = [Records.complete_of(table, schema, estimand.columns) for table in tables]
    matrix = matrix_of(release, estimand.columns)
    return _of_groups(estimand, traits, cells, matrix, complete)


def matrix_answer(
    estimand: Estimand, matrix: MomentMatrix, schema: Schema, sets: Sequence[Records]
) -> MeasuredAnswer | None:
    """The same from second moments alone.

    Args:
        estimand: the question, of columns that the matrix has.
        matrix: second moments.
        schema: of the release.
        sets: complete records of each synthetic set, with the estimand's columns.

    Raises:
        InferenceError: the answer is lost in noise, or the question is none.
    """
    if estimand.kind not in (*TWO_WAY, *OF_GROUPS):
        return moment_answers.answer_of(estimand, matrix, schema, sets)
    traits = traits_of(estimand, schema)
    cells = moment_cells(traits, matrix, schema) if len(traits) == 2 else None
    if estimand.kind in TWO_WAY:
        return None if cells is None else _two_way(estimand, cells, traits, schema)
    return _of_groups(estimand, traits, cells, matrix, sets)


def traits_of(estimand: Estimand, schema: Schema) -> tuple[Trait, ...]:
    """Both traits of a question; of a number that states do not tell, the group alone.

    Args:
        estimand: of a kind of `TWO_WAY`, or `OF_GROUPS`; then the group stands last.
        schema: of the release.

    Raises:
        UntoldError: states do not tell whether a condition holds.
        InferenceError: a term is no condition, or both have very many classes.
    """
    groups, numbers = group_terms(estimand.kind, estimand.formula)
    traits = tuple(Trait.of(term, schema) for term in groups)
    if not numbers:
        require_few(traits)
        return traits
    try:
        outcome = Trait.of_values(numbers[0], schema)
    except UntoldError:
        return traits
    return (outcome, *traits) if len(outcome.values) <= MOST_VALUES else traits


def _two_way(
    estimand: Estimand, cells: NoisyCells, traits: Sequence[Trait], schema: Schema
) -> MeasuredAnswer:
    require_possible(traits, schema)
    answer = odds_ratio if estimand.kind == "odds-ratio" else independence
    return MeasuredAnswer(answer(cells, traits), cells.dropped, cells.reason)


def _of_groups(
    estimand: Estimand,
    traits: Sequence[Trait],
    cells: NoisyCells | None,
    matrix: MomentMatrix | None,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    """From counts of each value where there are such, else from second moments."""
    *outcome, group = traits
    _, (text,) = group_terms(estimand.kind, estimand.formula)
    estimate, words, between = _OF_GROUPS[estimand.kind]
    name = f"{words} of {text}, {group.labels[1]} {between} {group.labels[0]}"
    drawn = [_shown(text, group, records) for records in sets]
    if cells is not None:
        values = outcome[0].values
        sums = counted_sums(cells, values)
        counted = Shown(
            group=np.tile([0, 1], len(values)),
            value=np.repeat(values, 2),
            weight=np.maximum(cells.counts, 0.0).reshape(-1),
        )
        pooled = estimate(sums, drawn, counted, name=name, rule=cells.rule)
        return MeasuredAnswer(pooled, cells.dropped, cells.reason)
    found = None if matrix is None else _number_sums(text, group, matrix, sets[0].schema)
    if matrix is None or found is None:
        return None
    pooled = estimate(found, drawn, None, name=name, rule=moment_answers.RULE)
    return MeasuredAnswer(pooled, float(matrix.n - found.sizes.sum()))


def _number_sums(text: str, group: Trait, matrix: MomentMatrix, schema: Schema) -> GroupSums | None:
    """Sums of an affine function of one column of numbers; None where it is none.

    None too where not all records have a value of more than two columns: of two, squares are known
    among those that have.
    """
    names = formulas.columns_of(formulas.as_formula(text), schema.names)
    numeric = len(names) == 1 and isinstance(schema.columns[names[0]], NUMERIC)
    lacking = absences(schema, {*names, *group.columns}, matrix)
    if not numeric or (lacking and len({*names, *group.columns}) > 2):
        return None
    matrix = matrix.among(lacking, schema)
    groups = class_weights(group, matrix, schema)
    if groups is None:
        return None
    named = formulas.constants(formulas.as_formula(text))
    weights = affine_weights(
        lambda frame: formulas.evaluate(text, frame)[:, None], names, schema, matrix, named
    )
    if weights is None:
        return None
    present, value = matrix.presence(schema, names[0]), weights[0].copy()
    value[0] = 0
    value += weights[0, 0] * present  # the constant, for those who have a value
    return moment_sums(matrix, value, present, groups)


def _shown(text: str, group: Trait, records: Records) -> Shown:
    """Both groups in a synthetic set."""
    value: Floats = formulas.evaluate(text, records.frame())
    if not len(value):
        raise LostInNoiseError("A synthetic set has no record with a value and a group.")
    return Shown(group.of_records(records), value, np.ones(len(value)))


_BY_MOMENTS = (*RATIOS, *MODELS, *MEASURED_ONLY)
_SHARE = Fraction(1, 2)  # of the rest of the budget buys what is declared
_MARGIN = 1.5  # times the noise
_MOST_TRIED, _MOST_INSTEAD = 4, 2


def helped(
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
    declared = declaration(release, question.asked)
    old = error.advice
    if old is not None and old.kind in ("bounds", "count", "domain"):  # no declaration helps
        return error
    if declared is None or (old is not None and _is_easier(old, declared, release)):
        declared = old
    instead = _instead(release, question.asked, answer)
    return RefusedError(error.reason, declared, anyway=error.anyway, instead=instead)


def declaration(release: Release, estimand: Estimand) -> Advice | None:
    """The declaration that is expected to buy an answer, at the least ε; None if none does.

    Args:
        release: whose δ, schema and records count; ε is its own at least.
        estimand: the question.
    """
    stated = release.manifest.budget
    if estimand.kind not in _BY_MOMENTS or "epsilon" not in stated:
        return None
    own = stated["epsilon"]
    epsilons = [own, *(epsilon for epsilon in EPSILONS if Fraction(epsilon) > Fraction(own))]
    try:
        least = bisect_left(
            epsilons, True, key=lambda epsilon: _answers(release, estimand, epsilon)
        )
    except (InferenceError, MethodError, BudgetError):
        return None
    if least == len(epsilons):
        return None
    return Advice(
        "declare",
        estimand.columns,
        epsilon=epsilons[least],
        analysis=f"{estimand.kind} {estimand.formula}",
        delta=stated.get("delta", "0"),
    )


def _answers(release: Release, estimand: Estimand, epsilon: str) -> bool:
    """Whether second moments at so much ε answer; they do at more, if they do at some.

    Raises:
        InferenceError: they would not without noise either.
    """
    schema, columns = release.schema, estimand.columns
    coded = tuple(name for name in columns if schema.columns[name].codes)
    stated = release.manifest.budget
    unit: Approximate = "gdp" if stated.get("unit") == UNITS["gdp"] else "zcdp"
    budget = Budget.of(epsilon, stated.get("delta", "0"), unit)
    rows = Fraction(release.manifest.rows_share or 0) if schema.rows == "private" else Fraction(0)
    spend = budget.amount * (1 - rows) * _SHARE
    asked = ScoreMoments(columns, coded)
    (charge,) = asked.price(terms_of(schema, budget), spend)
    stddev = _MARGIN * charge.recorded.stddev
    table = release.tables[0]
    known = [Records.complete_of(table, schema, columns)]
    if any(table[name].n_unique() < 2 for name in columns):
        raise InferenceError("Records that do not vary say nothing of what moments would.")
    pure = charge.parameter.pure
    source = assumed_moments(schema, table, asked, columns, stddev, pure=pure)
    matrix = joined_matrix([source], schema, columns, (float(table.height), 0.0))
    try:
        found = None if matrix is None else matrix_answer(estimand, matrix, schema, known)
    except LostInNoiseError:
        return False
    if found is None:
        raise InferenceError("Second moments have no answer.")
    return not np.isnan(found.pooled.estimate).any()  # a group may be lost


def _is_easier(old: Advice, declared: Advice, release: Release) -> bool:
    """Whether what is advised already needs less than the declaration."""
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
            asked = Question.of(kind, formula, release.schema, probability=estimand.probability)
            answer(asked)
        except InferenceError:
            continue
        found.append(f"{kind} {formula}")
    return tuple(found)


def _nearby(estimand: Estimand) -> Iterator[tuple[str, str]]:
    """The same question of fewer columns, the most alike first."""
    if estimand.kind in MODELS:
        outcome, _, right = estimand.formula.partition("~")
        terms = formulas.split_terms(right)
        if len(terms) > 1:
            for left_out in reversed(range(len(terms))):
                kept = [term for k, term in enumerate(terms) if k != left_out]
                yield estimand.kind, f"{outcome.strip()} ~ {' + '.join(kept)}"
    elif estimand.kind != "correlation" and estimand.groups:
        left = estimand.formula.partition("~")[0].strip()
        for group in estimand.groups if len(estimand.groups) > 1 else ():
            yield estimand.kind, f"{left} ~ {_written(group)}"
        yield estimand.kind, left
    elif len(estimand.levels) > 1:
        for name in estimand.levels:
            yield "proportion", _written(name)


def _written(name: str) -> str:
    """A column's name as formulas need it."""
    return name if name.isidentifier() else f"`{name}`"


def analyze_release(
    release: Release,
    kind: str | Estimator,
    formula: str = "",
    *,
    probability: float = 0.5,
    level: float = 0.95,
    anyway: bool = False,
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

    Raises:
        InferenceError: unknown kind or name, or an estimate that cannot be computed.
        RefusedError: no valid rule; says why, and what would work if anything is known to.
    """
    require_level(level)
    question = Question.of(kind, formula, release.schema, probability=probability)
    try:
        analysis = _within_bounds(release, question, level=level, anyway=anyway)
        return about_rules(analysis, formula, release.schema)
    except RefusedError as error:
        ask = partial(_within_bounds, release, level=level, anyway=False)
        raise helped(error, release, question, ask) from None


def is_answered(release: Release, kind: str, formula: str) -> bool:
    """Whether a question has valid error bars; nothing is looked for that would help.

    Args:
        release: that is asked.
        kind: of the question.
        formula: of what.
    """
    try:
        question = Question.of(kind, formula, release.schema)
        analysis = _answered(release, question, anyway=False, level=0.95)
        return _counted(analysis, release, question, anyway=False).valid
    except InferenceError:
        return False


def _within_bounds(release: Release, question: Question, *, anyway: bool, level: float) -> Analysis:
    """The answer to a question, unless it rests on numbers beyond the bounds."""
    analysis = _answered(release, question, anyway=anyway, level=level)
    return within_bounds(analysis, release, question, anyway=anyway)


def about_rules(analysis: Analysis, formula: str, schema: Schema) -> Analysis:
    """An answer as it was asked; where derived columns were, it says that it is about their rules.

    Args:
        analysis: to the question with the rules written out.
        formula: as it was asked.
        schema: of the release.
    """
    if notes := rule_notes(formula, schema):
        return replace(analysis, formula=formula, notes=(*analysis.notes, *notes))
    return analysis


def within_bounds(
    analysis: Analysis, release: Release, question: Question, *, anyway: bool
) -> Analysis:
    """An answer, with what is known of numbers beyond the bounds and of records out of domain.

    Raises:
        RefusedError: it rests on them, and is not given `anyway`.
    """
    analysis = _counted(analysis, release, question, anyway=anyway)
    limits = _limits(question, release.schema)
    cut = caveats.cut_notes(question.kind, analysis.pooled, analysis.level, limits)
    return replace(analysis, notes=(*analysis.notes, *cut), limits=limits)


def _counted(analysis: Analysis, release: Release, question: Question, *, anyway: bool) -> Analysis:
    """The same, before anybody asks for the ends of its intervals, which may take long to find."""
    doubt, notes = refusals.doubts(release, question, analysis.pooled, analysis.level)
    pooled, lacking, said = refusals.require_counted(release, question, analysis.pooled)
    doubt = lacking or doubt
    if doubt is not None and not anyway:
        raise doubt
    analysis = replace(analysis, pooled=pooled, notes=(*analysis.notes, *notes, *said))
    if doubt is not None and analysis.valid:
        analysis = replace(analysis, valid=False, reason=f"{STAMP}: {doubt.reason}")
    return analysis


def _limits(question: Question, schema: Schema) -> tuple[float, float]:
    """Between which numbers every answer lies; numbers beyond their bounds count as these."""
    if question.kind in SHARES:
        return 0.0, 1.0
    if question.kind == "correlation":
        return -1.0, 1.0
    if question.kind in ("mean", "quantile") and isinstance(question.asked, Estimand):
        column = schema.columns.get(question.asked.expression)
        if isinstance(column, NUMERIC):
            return column.bounds
    return -math.inf, math.inf


def _answered(release: Release, question: Question, *, anyway: bool, level: float) -> Analysis:
    """The answer, by the first of what a release has that gives one."""
    facts = facts_of(release, question.kind, question.columns, additive=question.additive)
    if isinstance(question.asked, Estimand):
        analysis = _from_measured(release, question.asked, facts, anyway=anyway, level=level)
        if analysis is None:
            analysis = _from_line(release, question.asked, level=level)
        if analysis is not None:
            return analysis
        if question.kind in MEASURED_ONLY:
            raise unmeasured(release, facts)
    facts = _steadied(release, facts)
    if choose(facts).name == "noise-aware":
        assert isinstance(question.asked, Estimand)
        counted = _from_counts(release, question.asked, facts, level=level)
        return _narrower_by_moments(release, question.asked, facts, counted) or counted
    _require_allowed(release, facts, anyway=anyway)
    answer = set_answer(question, release, facts)
    said = (
        *caveats.number_notes(release, question.numeric, answer.pooled, question.kind, level),
        *caveats.merged_notes(release, facts, counted=question.kind != "quantile"),
        *caveats.clipping_notes(release, question.numeric, question.kind),
    )
    reason = _doubt(answer, facts)
    if reason:
        _refuse(release, facts, reason, anyway=anyway)
    return _from_sets(answer, facts, reason, formula=question.formula, level=level, more=said)


def _steadied(release: Release, facts: Facts) -> Facts:
    """The facts, no longer firm where sets show that noise is much of what a model divides by."""
    if not facts.firm or facts.sets == 1:
        return facts
    return replace(facts, firm=are_steady(release.tables, release.schema, facts.columns))


def _from_measured(
    release: Release, estimand: Estimand, facts: Facts, *, anyway: bool, level: float
) -> Analysis | None:
    """What measurements answer without cells or sets; of levels only where no table has it."""
    if choose(facts).name == "noise-aware" and not is_numeric(estimand, release.schema):
        return None
    try:
        answer = measured_answer(estimand, release, facts)
    except LostInNoiseError as error:
        if estimand.kind in MEASURED_ONLY:  # no other rule has an answer
            raise
        if anyway or choose(_steadied(release, facts)).valid:
            return None
        raise RefusedError(str(error).rstrip("."), advise(release, facts)) from None
    if answer is None:
        return None
    return _valid(estimand, answer.pooled, answer.reason, answer.dropped, level)


def _narrower_by_moments(
    release: Release, estimand: Estimand, facts: Facts, counted: Analysis
) -> Analysis | None:
    """What second moments answer about levels, where their noise is plainly less than of counts.

    Nearly all of both widths is known before the noise is: a choice between widths that are far
    apart says nothing about the errors.
    """
    if is_numeric(estimand, release.schema):
        return None
    try:
        answer = measured_answer(estimand, release, facts)
    except LostInNoiseError:
        return None
    if answer is None or answer.pooled.names != counted.pooled.names:
        return None
    wide = np.nanmedian(counted.pooled.stderr)
    if not np.nanmedian(answer.pooled.stderr) < PLAINLY * wide:
        return None
    return _valid(estimand, answer.pooled, answer.reason, answer.dropped, counted.level)


def _from_line(release: Release, estimand: Estimand, *, level: float) -> Analysis | None:
    """The answer of the number line of a column, with the tables of its bins."""
    found = number_line.line_answer(estimand, release)
    if found is None:
        return None
    counted, cells = found
    said = caveats.line_notes(cells, estimand, counted, level)
    return _valid(estimand, counted.pooled, number_line.REASON, counted.dropped, level, *said)


def _valid(
    estimand: Estimand, pooled: Pooled, reason: str, dropped: float, level: float, *notes: str
) -> Analysis:
    """An answer from what was measured; without a number it is none."""
    if np.isnan(pooled.estimate).all():
        raise InferenceError(" ".join(pooled.notes))
    said = (*pooled.notes, *notes)
    return Analysis(
        *(estimand.kind, estimand.formula, pooled, True, reason, said, (dropped,), level)
    )


def _doubt(answer: SetAnswer, facts: Facts) -> str:
    """Why the numbers themselves do not allow the rule of their sets; "" if they do, or none is."""
    if not choose(facts).valid:
        return ""
    if distorts(facts, answer.stderr):
        return distorted_reason(facts)
    return noisy_reason(facts) if outweighs(facts, answer.pooled.synthesis_share) else ""


def _from_counts(release: Release, estimand: Estimand, facts: Facts, *, level: float) -> Analysis:
    if estimand.kind == "quantile":
        counted = count_quantiles(estimand, release.measurements, release.schema)
        said = caveats.count_notes(release.measurements, estimand, counted)
    elif facts.full:
        counted = estimate_counts(estimand, release.measurements, release.schema)
        said = caveats.count_notes(release.measurements, estimand, counted)
    else:
        counted = estimate_draws(estimand, release)
        said = caveats.draw_notes(estimand, counted)
    pooled = counted.pooled
    numeric = estimand.columns if counted.varied else ()
    more = (
        *said,
        *caveats.number_notes(release, numeric, pooled, estimand.kind, level),
        *caveats.clipping_notes(release, estimand.used, estimand.kind),
    )
    return _valid(estimand, pooled, choose(facts).reason(facts), counted.dropped, level, *more)


def _require_allowed(release: Release, facts: Facts, *, anyway: bool) -> None:
    rule = choose(facts)
    if facts.kind == "total":  # sets have no total of their own: their size is a noisy number
        raise RefusedError(rule.reason(facts), advise(release, facts), anyway=False)
    if not rule.valid:
        _refuse(release, facts, rule.reason(facts), anyway=anyway)


def _refuse(release: Release, facts: Facts, reason: str, *, anyway: bool) -> None:
    if not anyway:
        raise RefusedError(reason, advise(release, facts))


def _from_sets(
    answer: SetAnswer,
    facts: Facts,
    doubt: str,
    *,
    formula: str,
    level: float,
    more: tuple[str, ...],
) -> Analysis:
    rule, pooled = choose(facts), answer.pooled
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
