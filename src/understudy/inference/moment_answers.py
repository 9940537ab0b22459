"""Questions to what was measured itself, in second moments and noisy tables, and not to the sets.

Means, models and correlations have their answers in second moments. Those about two traits of a
record have them in whichever measurement has their counts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import block_diag

from understudy._arrays import Floats
from understudy.errors import InferenceError
from understudy.features.scores import Limits
from understudy.inference import formulas
from understudy.inference.combining import Pooled
from understudy.inference.design_effects import Clustering, Influence
from understudy.inference.glm import FAMILIES, ScoreIntervals, ScoreTests, score_model
from understudy.inference.linear import (
    Inverted,
    absences,
    affine_weights,
    alike_in_correlation,
    are_firm,
    correlation,
    influence_on_correlation,
    least_squares,
    limits_met,
    moment_counts,
    moment_ratios,
    require_firm,
    weight_scale,
)
from understudy.inference.measured_moments import MEASURED, REASON, RULE, matrix_of
from understudy.inference.member_slots import (
    Moments,
    SlotMoments,
    cluster_factors,
    correlation_within,
    similarity,
)
from understudy.inference.number_line import Roots, shapes_of
from understudy.inference.question import MODELS, OF_GROUPS, RATIOS, TWO_WAY, Estimand, group_terms
from understudy.inference.records import Records, complete_records
from understudy.inference.regression_models import designs
from understudy.inference.rules import RuleFacts
from understudy.inference.second_moments import FIRM, LostInNoiseError, MomentMatrix, Sums
from understudy.inference.term_moments import (
    NeededTerms,
    TermMatrix,
    joined_terms,
    mean_as_model,
    needed_terms,
    term_matrices,
)
from understudy.inference.two_way import (
    GroupSums,
    NoisyCells,
    Shown,
    Trait,
    class_weights,
    counted_sums,
    moment_cells,
    moment_sums,
    noisy_cells,
    ratio_of_means,
    standardised_difference,
    traits_of,
    two_way_estimate,
)
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.schema import NUMERIC, Schema
from understudy.schema.expressions import quote_name

MODEL_NOTES = {
    "ols": "Standard errors hold whether variances are equal or not (sandwich).",
    "logit": "Standard errors are those of the model (information matrix).",
    "poisson": "Standard errors hold where the variance is not the mean.",
}
SMALL_NOTE = (
    "Groups without numbers ({}) are too small under the privacy noise; merge them with others, or "
    "declare this analysis when the release is made."
)
ENDS_NOTE = (
    "Intervals come from tests of the score: longer on the side that is known less, and without an "
    "end where too few records may have the outcome."
)
MISFIT_NOTE = (
    "What second moments do not say of the predictors is taken from the synthetic records, and its "
    "possible error is counted as noise."
)
HIDDEN_NOTE = (
    "Intervals allow for whatever was not measured of the records that lack a value (bias_bound); "
    "declared when the release is made, this analysis does without."
)
CELL_NOTE = (
    "Sums of numbers are known from counts of cells too; intervals allow for wherever in its cell "
    "a number lies (bias_bound)."
)
BESIDE_NOTE = (
    "Its moments were measured together with those of another analysis: records without a declared "
    "value of {} do not count."
)
TOTAL_NOTE = "A total is one of the confidential records themselves, so its error is noise alone."


@dataclass(frozen=True)
class MeasuredAnswer:
    """An answer from what was measured, how many records are not in it, and why it is valid.

    Attributes:
        pooled: the estimates.
        dropped: records without a value; noisy.
        reason: why it is valid; that of second moments if it is not said.
        limits: column → where its numbers were cut off: the answer is about numbers that count as
            these where they lie beyond.
    """

    pooled: Pooled
    dropped: float
    reason: str = REASON
    limits: Limits = field(default_factory=dict)


def moment_answer(estimand: Estimand, release: Release) -> MeasuredAnswer | None:
    """The answer that second moments give; None where they have none.

    Args:
        estimand: the question.
        release: that it is asked of.

    Raises:
        InferenceError: they have one, and it is lost in their noise.
    """

    def answer(one: Estimand) -> MeasuredAnswer | None:
        return _answer_of_release(one, release)

    return answer(estimand) or halves_answer(estimand, release.schema, answer)


def _answer_of_release(estimand: Estimand, release: Release) -> MeasuredAnswer | None:
    matrix, schema = matrix_of(release, estimand.columns), release.schema
    own = moments_of_terms(estimand, release.measurements, schema)
    if matrix is None and own is None:
        return None
    # They lend the shape of what was not measured, and no number of records: a part will do.
    complete = complete_records(release, estimand.columns)
    if not all(len(records.complete()) > 1 for records in complete):
        return None
    if own is not None:
        return answer_of(estimand, own, schema, complete)
    if isinstance(matrix, MomentMatrix) and estimand.kind in FAMILIES and not estimand.where:
        return answer_of_model(estimand, matrix, schema, complete, lines=release.measurements)
    return None if matrix is None else answer_of(estimand, matrix, schema, complete)


def halves_answer(
    estimand: Estimand, schema: Schema, answer: Callable[[Estimand], MeasuredAnswer | None]
) -> MeasuredAnswer | None:
    """The answer by a condition from those of both halves, which have no record in common.

    Args:
        estimand: the question.
        schema: of the release.
        answer: gives that of one half.

    Returns:
        None where the question has no halves, or one has no answer. A half that is lost in noise
        has no number, and a note names it.

    Raises:
        InferenceError: both are lost in noise.
    """
    both: list[MeasuredAnswer] = []
    lost: dict[int, LostInNoiseError] = {}
    for k, half in enumerate(estimand.halves):
        try:
            one = answer(half)
        except LostInNoiseError as error:
            lost[k] = error
            continue
        if one is None:
            return None
        both.append(one)
    if lost and not both:
        raise lost[0]
    names = estimand.names(schema)
    if not both or len(names) != sum(len(one.pooled.names) for one in both) + len(lost) * (
        len(both[0].pooled.names)
    ):
        return None
    pooled = [one.pooled for one in both]
    for k in lost:
        hidden = [name.partition(" | ")[2] for name in names[k :: len(both) + len(lost)]]
        pooled.insert(k, _without_numbers(pooled[0], SMALL_NOTE.format(", ".join(hidden))))
    limits: Limits = {}
    for one in both:
        limits = {**limits, **one.limits}
    dropped = min(one.dropped for one in both)
    return MeasuredAnswer(_interleave(names, pooled), dropped, both[0].reason, limits)


def _without_numbers(pooled: Pooled, note: str) -> Pooled:
    """Estimates like others, of which none is known, and why."""
    if isinstance(pooled, Roots) and pooled.squares is not None and pooled.further is not None:
        return Roots.of(_without_numbers(pooled.squares, note), pooled.further)
    nothing = np.full(len(pooled.names), np.nan)
    hidden = {"estimate": nothing, "covariance": np.diag(nothing), "synthesis_share": nothing}
    return replace(pooled, notes=(note,), **cast(dict[str, Any], hidden))


def _interleave(names: tuple[str, ...], parts: Sequence[Pooled]) -> Pooled:
    """Independent estimates as one answer, in turn from each part."""
    if isinstance(parts[0], Roots):
        roots = [one for one in parts if isinstance(one, Roots)]
        squares = [one.squares for one in roots if one.squares is not None]
        further = np.stack([one.further for one in roots if one.further is not None]).T.ravel()
        return Roots.of(_interleave(names, squares), further)
    k = len(parts[0].names)
    places = np.arange(len(names)).reshape(len(parts), k).T.ravel()

    def weave(own: Callable[[Any], Floats]) -> Floats:
        return np.concatenate([own(one) for one in parts])[places]

    covariance = block_diag(*(one.covariance for one in parts))[np.ix_(places, places)]
    whole = Pooled(
        names,
        weave(lambda one: one.estimate),
        covariance,
        weave(lambda one: one.df),
        weave(lambda one: one.synthesis_share),
        RULE,
        parts[0].sets,
        tuple(dict.fromkeys(note for one in parts for note in one.notes)),
        weave(lambda one: one.bias),
    )
    if not isinstance(parts[0], Inverted):
        return whole
    own = {each.name: getattr(whole, each.name) for each in fields(Pooled)}
    return Inverted(
        **own,
        denominator=weave(lambda one: one.denominator),
        mixed=weave(lambda one: one.mixed),
        squared=weave(lambda one: one.squared),
    )


def moments_of_terms(
    estimand: Estimand, measurements: Sequence[Measurement], schema: Schema
) -> TermMatrix | None:
    """Moments of the terms of a question that others do not answer; None if there are none.

    Args:
        estimand: the question.
        measurements: of a release.
        schema: of the release.
    """
    sources = term_matrices(measurements, schema)
    needed = terms_of(estimand, schema) if sources else None
    return None if needed is None else joined_terms(sources, needed)


def terms_of(estimand: Estimand, schema: Schema) -> NeededTerms | None:
    """The terms that a question needs moments of; None if it needs none, or has others."""
    try:
        return needed_terms(estimand, schema)
    except InferenceError:
        return None


def answer_of(
    estimand: Estimand,
    matrix: Moments | TermMatrix,
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    """The same, of a matrix.

    Args:
        estimand: the question, of columns that the matrix has.
        matrix: second moments.
        schema: of the release.
        sets: complete records of each synthetic set, with the estimand's columns.

    Raises:
        InferenceError: the answer is lost in noise.
    """
    if isinstance(matrix, TermMatrix):
        return answer_of_terms(estimand, matrix, schema, sets)
    if estimand.kind in RATIOS:
        return _ratios(estimand, matrix, schema, sets)
    if estimand.kind == "total":
        return _counts(estimand, matrix, schema, sets)
    if estimand.where:  # of some of the records moments have no squares
        return None
    if estimand.kind in MODELS:
        return answer_of_model(estimand, matrix, schema, sets)
    other = {"correlation": _correlation, "std": _deviation}.get(estimand.kind)
    return None if other is None else other(estimand, matrix, schema, sets)


def answer_of_terms(
    estimand: Estimand,
    matrix: TermMatrix,
    schema: Schema,
    sets: Sequence[Records],
    *,
    squared: TermMatrix | None = None,
    factor: float = 1.0,
    clustering: Clustering | None = None,
) -> MeasuredAnswer | None:
    """The same, of moments of the terms of the question; arguments as for `answer_of_model`."""
    model = partial(answer_of_model, squared=squared, factor=factor, clustering=clustering)
    answer = _by_terms(estimand, matrix, schema, sets, model)
    if answer is None or not matrix.beside:
        return answer
    note = BESIDE_NOTE.format(", ".join(matrix.beside))
    notes = (*answer.pooled.notes, note)
    return replace(answer, pooled=replace(answer.pooled, notes=notes))


def _by_terms(
    estimand: Estimand,
    matrix: TermMatrix,
    schema: Schema,
    sets: Sequence[Records],
    model_of: Callable[..., MeasuredAnswer | None],
) -> MeasuredAnswer | None:
    sets = [estimand.select(records) for records in sets]
    if not all(len(records.complete()) > 1 for records in sets):
        return None
    others = {"correlation": _correlation, "std": _deviation, "total": _total_by_terms}
    other = others.get(estimand.kind)
    if other is not None:
        return other(estimand, matrix, schema, sets)
    if estimand.kind in MODELS:
        return model_of(estimand, matrix, schema, sets)
    formula = mean_as_model(estimand)
    if formula is None:
        return None
    model = replace(estimand, kind="ols", formula=formula)
    answer = model_of(model, matrix, schema, sets)
    return None if answer is None else _as_mean(answer, estimand, schema)


def _as_mean(answer: MeasuredAnswer, estimand: Estimand, schema: Schema) -> MeasuredAnswer | None:
    """Means from the coefficients of a model that has one for each; None where some were merged."""
    names = estimand.names(schema)
    if len(names) != len(answer.pooled.names):
        return None
    notes = tuple(note for note in answer.pooled.notes if note != MODEL_NOTES["ols"])
    return replace(answer, pooled=replace(answer.pooled, names=names, notes=notes))


def _ratios(
    estimand: Estimand, matrix: Moments, schema: Schema, sets: Sequence[Records]
) -> MeasuredAnswer | None:
    found = moment_ratios(estimand, matrix, schema, sets)
    if found is None:
        return _mean_of_several(estimand, matrix, schema, sets)
    names = estimand.names(schema)
    inverted = found.sizes, found.mixed, found.squared
    notes = (SMALL_NOTE.format(found.small),) if found.small else ()
    parts = found.noise, found.sampling
    pooled = pool_parts(names, found.estimate, parts, len(sets), inverted, *notes)
    biased = _with_bias(pooled, found.bias, matrix)
    return MeasuredAnswer(biased, found.dropped, limits=found.limits)


def _counts(
    estimand: Estimand, matrix: Moments, schema: Schema, sets: Sequence[Records]
) -> MeasuredAnswer | None:
    found = moment_counts(estimand, matrix, schema)
    if found is None:
        return None
    answer = _as_totals(
        estimand.names(schema), found.estimate, found.noise, len(sets), found.limits
    )
    biased = _with_bias(answer.pooled, found.bias, matrix)
    return replace(answer, pooled=biased, dropped=found.dropped)


def _total_by_terms(
    estimand: Estimand, matrix: TermMatrix, schema: Schema, sets: Sequence[Records]
) -> MeasuredAnswer | None:
    """Return the total of an affine function of terms, by group, over the records that count."""
    formula = mean_as_model(estimand)
    if formula is None:
        return None
    matrix = matrix.among(absences(schema, estimand.columns, matrix), schema)

    def values(frame: pd.DataFrame) -> Floats:
        both = formulas.matrices(formula, frame)
        outcome = both.lhs.to_numpy(np.float64)[:, -1]
        return np.column_stack([outcome, both.rhs.to_numpy(np.float64)])

    named = formulas.constants(formula)
    weights = affine_weights(values, estimand.columns, schema, matrix, named)
    names = estimand.names(schema)
    if weights is None or len(weights) != len(names) + 1:
        return None
    value, groups = weights[:1], weights[1:]
    estimate = matrix.form(groups, value)[:, 0]
    noise = matrix.noise_covariance(_outer(groups, np.broadcast_to(value, groups.shape)))
    return _as_totals(names, estimate, noise, len(sets), limits_met(weights, matrix, schema))


def _as_totals(
    names: tuple[str, ...], estimate: Floats, noise: Floats, sets: int, limits: Limits
) -> MeasuredAnswer:
    """Totals of the confidential records, whose error is noise alone."""
    pooled = Pooled(
        names=names,
        estimate=estimate,
        covariance=noise,
        df=np.full(len(estimate), np.inf),
        synthesis_share=np.ones(len(estimate)),
        rule=RULE,
        sets=sets,
        notes=(TOTAL_NOTE,),
    )
    return MeasuredAnswer(pooled, 0.0, MEASURED, limits=limits)


def _mean_of_several(
    estimand: Estimand, matrix: Moments, schema: Schema, sets: Sequence[Records]
) -> MeasuredAnswer | None:
    """The mean of a function of several columns: the constant of a linear model of it alone."""
    grouped = estimand.groups or estimand.conditions
    if estimand.kind != "mean" or grouped or len(estimand.used) < 2:
        return None
    formula = f"{{{estimand.expression}}} ~ 1"
    model = answer_of_model(replace(estimand, kind="ols", formula=formula), matrix, schema, sets)
    answer = None if model is None else _as_mean(model, estimand, schema)
    if answer is None:
        return None
    complete = matrix.among(absences(schema, estimand.columns, matrix), schema)
    return replace(answer, dropped=matrix.n - complete.n)


def _require_apart(formula: str, design: Floats) -> None:
    """Refuse a model whose coefficients no table would tell, however precise.

    Args:
        formula: of the model.
        design: weights of its p predictors and the intercept, shape (p, s + 1).
    """
    if not len(design):
        raise InferenceError(f"The model {formula!r} has no predictor; add one, or an intercept.")
    sizes = np.linalg.norm(design, axis=1, keepdims=True)
    if np.linalg.matrix_rank(design / np.where(sizes > 0, sizes, 1.0)) < len(design):
        raise InferenceError(
            f"In {formula!r} a predictor is the same for all records, or follows from the others, "
            "so no records tell their coefficients apart; leave it out."
        )


def answer_of_model(
    estimand: Estimand,
    matrix: Moments | TermMatrix,
    schema: Schema,
    sets: Sequence[Records],
    *,
    squared: Moments | TermMatrix | None = None,
    factor: float = 1.0,
    clustering: Clustering | None = None,
    lines: Sequence[Measurement] = (),
) -> MeasuredAnswer | None:
    """The answer of a model; None where second moments do not give it.

    Args:
        estimand: the model.
        matrix: second moments.
        schema: of the release.
        sets: complete records of each synthetic set.
        squared: second moments by squared weights, where records have weights.
        factor: of the sampling variance of a linear model.
        clustering: how its clusters count; None for records drawn one by one.
        lines: number lines, among other measurements.

    Raises:
        InferenceError: the answer is lost in noise, or one predictor follows from the others.
    """
    lacking = absences(schema, estimand.columns, matrix)
    matrix = matrix.among(lacking, schema)
    squared = None if squared is None else squared.among(lacking, schema)
    laid: list[tuple[tuple[str, ...], Floats]] = []

    def terms(frame: pd.DataFrame) -> Floats:
        both = formulas.matrices(estimand.formula, frame)
        outcome = both.lhs.to_numpy(np.float64)[:, -1]
        laid.append((tuple(both.rhs.columns), outcome))
        return np.column_stack([outcome, both.rhs.to_numpy(np.float64)])

    named = formulas.constants(estimand.formula)
    weights = affine_weights(terms, estimand.columns, schema, matrix, named)
    if weights is None:
        return None
    names, possible = laid[0]
    _require_apart(estimand.formula, weights[1:])
    if estimand.kind == "logit" and not np.isin(possible, (0.0, 1.0)).all():
        return None
    limits = limits_met(weights, matrix, schema)
    frames = [records.cut_off(limits).frame() for records in sets]
    pairs = designs(estimand.kind, estimand.formula, frames, every_level=True).pairs
    scale = 1.0 if squared is None else weight_scale(matrix, [len(y) for y, _ in pairs])
    kept, merged = _merge_rare_levels(names, weights[1:], pairs, matrix, scale)
    names, design = tuple(itertools.compress(names, kept)), weights[1:][kept]
    pairs = [(y, x[:, kept]) for y, x in pairs]
    if estimand.kind == "ols":
        binary = all(np.isin(y, (0.0, 1.0)).all() for y, _ in pairs)
        linear = least_squares(matrix, design, weights[0], pairs, binary=binary, weights=squared)
        if isinstance(matrix, SlotMoments):
            left = [(y - x @ linear.estimate, x) for y, x in pairs]
            spread = squared if isinstance(squared, SlotMoments) else matrix
            affine = _straight(matrix, design, weights[0])
            root = np.sqrt(_growth(estimand, spread, affine, left, sets))
            sampling = linear.sampling * np.multiply.outer(root, root)
            linear = replace(linear, sampling=sampling)
        inverted = linear.denominator, linear.mixed, linear.squared
        parts, notes = (linear.noise, factor * linear.sampling), (*merged, MODEL_NOTES["ols"])
        clustered = None
        if clustering is not None:
            clustered = clustering.errors(
                Influence(
                    matrix.gradient(linear.derivatives),
                    matrix.gradient(linear.of_size),
                    parts[1],
                    np.diag(linear.noise),
                )
            )
            parts = linear.noise, clustered.sampling
        pooled = pool_parts(names, linear.estimate, parts, len(sets), inverted, *notes)
        if clustered is not None:
            pooled = clustered.put_into(pooled)
        return MeasuredAnswer(_with_bias(pooled, linear.bias, matrix), 0.0, limits=limits)
    shapes = shapes_of(estimand, lines, schema, sets, limits, n=matrix.n) if lines else None
    fit = score_model(estimand.kind, matrix, design, weights[0], pairs, shapes=shapes)
    if isinstance(matrix, SlotMoments):
        mean = FAMILIES[estimand.kind].mean
        left = [(y - mean(x @ fit.estimate), x) for y, x in pairs]
        fit = fit.grown(
            _growth(estimand, matrix, _straight(matrix, design, weights[0]), left, sets)
        )
    noise, covariance = fit.noise + fit.misfit, fit.noise + fit.misfit + fit.sampling
    scored = ScoreIntervals(
        names=names,
        estimate=fit.estimate,
        covariance=covariance,
        df=np.full(len(names), np.inf),
        synthesis_share=_share(noise, covariance),
        rule=RULE,
        sets=len(sets),
        notes=(*merged, MODEL_NOTES[estimand.kind], ENDS_NOTE, MISFIT_NOTE),
        tests=ScoreTests(estimand.kind, fit),
    )
    return MeasuredAnswer(_with_bias(scored, fit.bias, matrix), 0.0, limits=limits)


_NEARLY = 0.1  # of the squares of what a coefficient weighs, that columns of units may have


def _straight(matrix: SlotMoments, design: Floats, outcome: Floats) -> tuple[Floats, Floats]:
    """Weights of the residual of a linear model, shape (R,), and of its coefficients, (p, R)."""
    influence = np.linalg.pinv(matrix.form(design, design)) @ design
    return outcome - (influence @ matrix.sums @ outcome) @ design, influence


def _growth(
    estimand: Estimand,
    matrix: SlotMoments,
    affine: tuple[Floats, Floats],
    left: Sequence[tuple[Floats, Floats]],
    sets: Sequence[Records],
) -> Floats:
    """Return how variances of coefficients grow, as members of units are alike, shape (p,).

    Args:
        estimand: the model.
        matrix: of the members.
        affine: weights of the outcome less what the predictors say of it linearly, shape (R,), and
            of the predictors in each coefficient, shape (p, R).
        left: residuals (n,) of the members of each set, and their design (n, p).
        sets: these members.
    """
    units, (residual, influence) = [records.unit_numbers for records in sets], affine
    shown, company = similarity([r[:, None] for r, _ in left], units)
    member, columns = matrix.constant, estimand.columns
    rows = matrix.of_members(np.vstack([residual, influence, member]), columns)
    rest, weights = rows[0], rows[1:-1]
    rest -= rows[-1] * float(rest @ matrix.sums @ member) / max(matrix.n, 1.0)
    measured, *beside = matrix.company(np.vstack([rest, weights]))
    alike = np.maximum(shown, measured / max(company, 1e-300))
    # A coefficient of a column of units goes by the sets, which have units as they are.
    kept = matrix.squares(weights) / matrix.squares(influence)
    company_of = np.where(np.abs(kept - 1) < _NEARLY, beside, 0.0)
    found = [
        cluster_factors(r[:, None], x @ np.linalg.pinv(x.T @ x), of, alike, company_of)
        for (r, x), of in zip(left, units, strict=True)
    ]
    return np.asarray(np.mean(np.stack(found), axis=0))


_LEVEL = re.compile(r"^(?P<term>.*)\[T\.(?P<level>.*)\]$")
_RARE_OF_BASE = 0.1  # of the records of the base level, that a level merged with it may have


def _merge_rare_levels(
    names: Sequence[str],
    design: Floats,
    pairs: Sequence[tuple[Floats, Floats]],
    matrix: Sums,
    scale: float,
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Merge levels of predictors with their base where their records are lost in the noise.

    One such level, which may have no record at all, would leave a model without an answer. Which
    levels these are follows from the synthetic records, as in `require_firm`. A level of more than
    a tenth of the base's records is not merged: the model would be about another base. Products
    with a level that is merged go with it.

    Args:
        names: of the terms.
        design: their weights, shape (p, R).
        pairs: outcome and design of each synthetic set.
        matrix: whose noise counts.
        scale: records of the matrix for each synthetic record.

    Returns:
        Which terms are kept, shape (p,), and what to say of the others.
    """
    kept, said = np.ones(len(names), dtype=np.bool_), []
    found = {
        k: match
        for k, name in enumerate(names)
        if (match := _LEVEL.match(name)) and ":" not in match["term"]  # no product of terms
    }
    totals = scale * np.mean([x.sum(axis=0) for _, x in pairs], axis=0)
    n = scale * float(np.mean([len(y) for y, _ in pairs]))
    for term in dict.fromkeys(match["term"] for match in found.values()):
        same = [k for k, match in found.items() if match["term"] == term]
        of_base = matrix.constant - design[same].sum(axis=0)
        base = n - totals[same].sum()
        if base < FIRM * _noise_of_count(of_base, matrix):
            raise LostInNoiseError(
                f"Too few records for the privacy noise have the base level of {term}: name a "
                f"common level as base, such as C({term}, contr.treatment('…'))."
            )
        for k in same:
            least = FIRM * _noise_of_count(design[k], matrix)
            if totals[k] < least and totals[k] <= _RARE_OF_BASE * base:
                kept[[j for j, name in enumerate(names) if names[k] in name.split(":")]] = False
                said.append(f"{found[k]['level']} of {term}")
    if not said:
        return kept, ()
    return kept, (
        f"Too few records for the privacy noise have {', '.join(said)}; these count with the base "
        "level.",
    )


def _noise_of_count(weights: Floats, matrix: Sums) -> float:
    """Standard deviation of the noise in the sum of an affine function, shape (R,), of records."""
    derivative = np.multiply.outer(matrix.constant, weights)[None]
    return float(np.sqrt(matrix.noise_covariance(derivative)[0, 0]))


def _correlation(
    estimand: Estimand,
    matrix: Moments | TermMatrix,
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    matrix = matrix.among(absences(schema, estimand.columns, matrix), schema)
    terms = formulas.split_terms(estimand.formula)

    def values(frame: pd.DataFrame) -> Floats:
        return np.column_stack([formulas.evaluate(term, frame) for term in terms])

    named = formulas.constants(estimand.formula)
    weights = affine_weights(values, estimand.columns, schema, matrix, named)
    if weights is None or len(weights) != 2:
        return None
    limits = limits_met(weights, matrix, schema)
    pairs = [tuple(values(records.cut_off(limits).frame()).T) for records in sets]
    found = correlation(matrix, weights[0], weights[1], [(x, y) for x, y in pairs])
    names = (f"correlation of {terms[0]} and {terms[1]}",)
    sampling = found.sampling
    if isinstance(matrix, SlotMoments):
        both = zip(pairs, sets, strict=True)
        company = _company_of_columns(matrix, weights, estimand.columns)
        grown = [_growth_of_correlation(*one, found.estimate, company) for one in both]
        sampling *= float(np.mean(grown))
    parts = np.array([[found.noise]]), np.array([[sampling]])
    inverted = tuple(np.array([v]) for v in (found.denominator, found.mixed, found.squared))
    pooled = pool_parts(names, np.array([found.estimate]), parts, len(sets), inverted)
    biased = _with_bias(pooled, np.array([found.bias]), matrix)
    return MeasuredAnswer(biased, 0.0, limits=limits)


def _company_of_columns(matrix: SlotMoments, weights: Floats, columns: Sequence[str]) -> Floats:
    """Sum products of two numbers over pairs of members of one unit, in parts of own squares.

    What is plain of them: nearer to 0 by the standard deviation of their noise.

    Args:
        matrix: of the members.
        weights: of both numbers, shape (2, R).
        columns: that they use.

    Returns:
        Of the first number, of the second, and of one member's first and another's second: (3,).
    """
    *both, member = matrix.of_members(np.vstack([weights, matrix.constant]), columns)
    x, y = (one - member * float(one @ matrix.sums @ member) / max(matrix.n, 1.0) for one in both)
    crossed, noise = matrix.cross_sums(np.stack([x, y, x]), np.stack([x, y, y]))
    first, second = np.maximum(matrix.squares(np.stack([x, y])), 1e-300)
    plain = np.sign(crossed) * np.maximum(np.abs(crossed) - noise, 0.0)
    return np.asarray(plain / np.array([first, second, np.sqrt(first * second)]))


def _growth_of_correlation(
    pair: tuple[Floats, ...], records: Records, r: float, company: Floats
) -> float:
    """Return the growth of the variance of a correlation by the likeness of members of units.

    Args:
        pair: both numbers of the members of a set.
        records: these members.
        r: the correlation.
        company: as measured (`_company_of_columns`).
    """
    influence, units = influence_on_correlation(*pair)[:, None], records.unit_numbers
    _, pairs = correlation_within(influence, units)
    x, y, crosswise = np.clip(company / max(pairs, 1e-300), -1.0, 1.0)
    alike = alike_in_correlation(float(np.clip(r, -0.99, 0.99)), x, y, crosswise)
    return float(cluster_factors(influence, np.ones_like(influence), units, alike)[0])


def _deviation(
    estimand: Estimand,
    matrix: Moments | TermMatrix,
    schema: Schema,
    sets: Sequence[Records],
) -> MeasuredAnswer | None:
    """Of an affine function, from its sum of squares; by the fourth moment of the sets.

    In each group g that is Σ1g·(x − m)² of noisy sums, m being the noisy mean there. Its error is
    that of a ratio: of this sum less the variance times the noisy number of the group, over it.
    Groups that are lost in noise have no number, and a note names them.
    """
    if len(estimand.groups) > 1 or estimand.split:
        return None
    matrix = matrix.among(absences(schema, estimand.columns, matrix), schema)

    def values(frame: pd.DataFrame) -> Floats:
        value = formulas.evaluate(estimand.expression, frame)
        if not estimand.groups:
            return value[:, None]
        group = quote_name(estimand.groups[0])
        members = formulas.matrices(f"{{{estimand.expression}}} ~ 0 + C({group})", frame).rhs
        return np.column_stack([value, value**2, members.to_numpy(np.float64)])

    named = formulas.constants(formulas.as_formula(estimand.expression))
    weights = affine_weights(values, estimand.columns, schema, matrix, named)
    names = estimand.names(schema)
    if weights is None or (estimand.groups and len(weights) != len(names) + 2):
        return None
    limits, whole = limits_met(weights, matrix, schema), matrix.constant
    laid = [values(records.cut_off(limits).frame()) for records in sets]
    groups = weights[2:] if estimand.groups else whole[None]
    n = groups @ matrix.sums @ whole
    known = n > 0
    if not known.any():
        raise LostInNoiseError("By the noisy counts no record of a group has a value.")
    n = np.where(known, n, 1.0)
    means = (groups @ matrix.sums @ weights[0]) / n
    centred = weights[0] - means[:, None] * whole
    if estimand.groups:
        squares = weights[1] - 2 * means[:, None] * weights[0] + means[:, None] ** 2 * whole
        square, shown = _outer(groups, squares), [_by_group(one) for one in laid]
    else:
        square, shown = _outer(centred, centred), [[one[:, 0]] for one in laid]
    noise = np.diag(matrix.noise_covariance(np.concatenate([square, _outer(groups, centred)])))
    k = len(names)
    size = np.mean(
        [[len(one) * one.var() if len(one) else 0.0 for one in each] for each in shown], axis=0
    )
    firm = known & are_firm(size, noise[:k])
    if not firm.any():
        what = "The number varies too little under the privacy noise"
        require_firm(size[known], noise[:k][known], what)
    variance = np.einsum("kij,ij->k", square, matrix.sums) / n
    of_mean = noise[k:] / n**2 + np.maximum(variance, 0.0) / n
    variance += of_mean
    firm &= variance > 0
    if not firm.any():
        raise LostInNoiseError("The noisy second moments of the number fit no records.")
    lost = [name.partition(" | ")[2] for name, kept in zip(names, firm, strict=True) if not kept]
    n = np.where(firm, n, np.nan)
    unit = _outer(groups, np.broadcast_to(whole, groups.shape))
    derivatives = np.concatenate([square - variance[:, None, None] * unit, unit])
    both = matrix.noise_covariance(derivatives)
    spread = np.mean([[_spread_of_squares(one) for one in each] for each in shown], axis=0)
    pooled = pool_parts(
        names,
        np.where(firm, variance, np.nan),
        (both[:k, :k] / np.outer(n, n) + np.diag(2 * of_mean**2), np.diag(spread / n)),
        len(sets),
        (n, np.diag(both[:k, k:]), np.diag(both[k:, k:])),
        *((SMALL_NOTE.format(", ".join(lost)),) if lost else ()),
    )
    bias = matrix.bound_hidden(derivatives[:k]) / n
    return MeasuredAnswer(
        Roots.of(_with_bias(pooled, bias, matrix), np.zeros(k)), 0.0, limits=limits
    )


def _outer(left: Floats, right: Floats) -> Floats:
    """Products of rows, (k, R) and (k, R): shape (k, R, R)."""
    return np.asarray(left[:, :, None] * right[:, None, :])


def _by_group(laid: Floats) -> list[Floats]:
    """Values of each group, of columns with the value, its square, and who is in which group."""
    return [laid[own > 0, 0] for own in laid[:, 2:].T]


def _spread_of_squares(value: Floats) -> float:
    """Variance of squared distances from the mean, which is that of a variance, times n."""
    return float((((value - value.mean()) ** 2 - value.var()) ** 2).mean()) if len(value) else 0.0


def _with_bias(pooled: Pooled, bias: Floats, matrix: Moments | TermMatrix) -> Pooled:
    """With a bound on what was not measured, and why it was not."""
    if not bias.any() or isinstance(matrix, TermMatrix):
        return pooled
    lacking = matrix.cases is not None and HIDDEN_NOTE
    within = matrix.together is not None and matrix.together.off.size and CELL_NOTE
    said = tuple(note for note in (lacking, within) if note)
    return replace(pooled, bias=bias, notes=(*pooled.notes, *said))


def pool_parts(
    names: tuple[str, ...],
    estimate: Floats,
    parts: tuple[Floats, Floats],
    sets: int,
    inverted: tuple[Floats, ...],
    *notes: str,
) -> Inverted:
    """Estimates with both parts of their variance, and S, v_1 and v_2 of `Inverted`."""
    noise, sampling = parts
    covariance = noise + sampling
    share = _share(noise, covariance)
    df = np.full(len(names), np.inf)
    denominator, mixed, squared = inverted
    return Inverted(
        names,
        estimate,
        covariance,
        df,
        share,
        RULE,
        sets,
        notes,
        denominator=denominator,
        mixed=mixed,
        squared=squared,
    )


def _share(noise: Floats, covariance: Floats) -> Floats:
    """Share of each variance that is noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.diag(noise) / np.diag(covariance))


def is_numeric(estimand: Estimand, schema: Schema) -> bool:
    """Return whether numbers are asked about, which tables know within bins only."""
    return estimand.kind not in (*RATIOS, "total") or any(
        isinstance(schema.columns[name], NUMERIC) for name in estimand.used
    )


_OF_GROUPS = {
    "standardised-difference": (standardised_difference, "standardised difference", "less"),
    "ratio": (ratio_of_means, "ratio of the mean", "over"),
}
"""Kind → how it is estimated, what it is called, and what stands between its groups."""


def measured_answer(
    estimand: Estimand, release: Release, facts: RuleFacts
) -> MeasuredAnswer | None:
    """The answer that the measurements of a release give; None where they have none.

    Args:
        estimand: the question.
        release: that it is asked of.
        facts: of both.

    Raises:
        InferenceError: they have one that is lost in their noise, or the question is none.
    """
    if estimand.kind not in (*TWO_WAY, *OF_GROUPS):
        return moment_answer(estimand, release)
    schema = release.schema
    traits = traits_of(estimand, schema)
    cells = noisy_cells(traits, release, facts, estimand.where) if len(traits) == 2 else None
    if estimand.kind in TWO_WAY:
        return None if cells is None else _of_cells(estimand, cells, traits, schema)
    complete = complete_records(release, estimand.columns)
    matrix = matrix_of(release, estimand.columns)
    return _of_groups(estimand, traits, cells, matrix, complete)


def matrix_answer(
    estimand: Estimand,
    matrix: MomentMatrix | TermMatrix,
    schema: Schema,
    sets: Sequence[Records],
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
    if isinstance(matrix, TermMatrix) or estimand.kind not in (*TWO_WAY, *OF_GROUPS):
        return answer_of(estimand, matrix, schema, sets)
    traits = traits_of(estimand, schema)
    if estimand.where:  # of some of the records moments have no counts
        return None
    cells = moment_cells(traits, matrix, schema) if len(traits) == 2 else None
    if estimand.kind in TWO_WAY:
        return None if cells is None else _of_cells(estimand, cells, traits, schema)
    return _of_groups(estimand, traits, cells, matrix, sets)


def _of_cells(
    estimand: Estimand, cells: NoisyCells, traits: Sequence[Trait], schema: Schema
) -> MeasuredAnswer:
    pooled = two_way_estimate(estimand, cells, traits, schema)
    return MeasuredAnswer(pooled, cells.dropped, cells.reason)


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
    if cells is not None:
        drawn = [_split_set(text, group, records) for records in sets]
        values = outcome[0].values
        sums = counted_sums(cells, values)
        counted = Shown(
            group=np.tile([0, 1], len(values)),
            value=np.repeat(values, 2),
            weight=np.maximum(cells.counts, 0.0).reshape(-1),
        )
        pooled = estimate(sums, drawn, counted, name=name, rule=cells.rule)
        return MeasuredAnswer(pooled, cells.dropped, cells.reason)
    measured = None if matrix is None else _number_sums(text, group, matrix, sets[0].schema)
    if matrix is None or measured is None:
        return None
    found, limits = measured
    drawn = [_split_set(text, group, records.cut_off(limits)) for records in sets]
    pooled = estimate(found, drawn, None, name=name, rule=RULE)
    return MeasuredAnswer(pooled, float(matrix.n - found.sizes.sum()), limits=limits)


def _number_sums(
    text: str, group: Trait, matrix: MomentMatrix, schema: Schema
) -> tuple[GroupSums, Limits] | None:
    """Sums of an affine function of one column of numbers, and its limits; None where it is none.

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
    limits = limits_met(weights, matrix, schema)
    return moment_sums(matrix, value, present, groups), limits


def _split_set(text: str, group: Trait, records: Records) -> Shown:
    """Both groups in a synthetic set."""
    value: Floats = formulas.evaluate(text, records.frame())
    if not len(value):
        raise LostInNoiseError("A synthetic set has no record with a value and a group.")
    return Shown(group.of_records(records), value, np.ones(len(value)))
