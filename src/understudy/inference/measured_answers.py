"""Questions to what was measured itself, in noisy tables and second moments, and not to the sets.

Means, models and correlations have their answers in second moments
(`understudy.inference.moment_answers`). Here are those about two traits of a record, from
whichever measurement has their counts, and one way to ask for either.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy._arrays import Floats
from understudy.features.scores import Limits
from understudy.inference import formulas, moment_answers
from understudy.inference.conditions import UntoldError
from understudy.inference.effect_sizes import odds_ratio, ratio_of_means, standardised_difference
from understudy.inference.linear import absences, affine_weights, limits_met
from understudy.inference.measured_moments import matrix_of
from understudy.inference.moment_answers import MeasuredAnswer
from understudy.inference.question import OF_GROUPS, TWO_WAY, Estimand, group_terms
from understudy.inference.records import Records, complete_records
from understudy.inference.rules import Facts
from understudy.inference.second_moments import LostInNoiseError, MomentMatrix
from understudy.inference.term_moments import TermMatrix
from understudy.inference.two_way import (
    GroupSums,
    NoisyCells,
    Shown,
    Trait,
    class_weights,
    counted_sums,
    independence,
    moment_cells,
    moment_sums,
    noisy_cells,
    require_few,
    require_possible,
)
from understudy.release.release import Release
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
    cells = noisy_cells(traits, release, facts, estimand.where) if len(traits) == 2 else None
    if estimand.kind in TWO_WAY:
        return None if cells is None else two_way_answer(estimand, cells, traits, schema)
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
        return moment_answers.answer_of(estimand, matrix, schema, sets)
    traits = traits_of(estimand, schema)
    if estimand.where:  # of some of the records moments have no counts
        return None
    cells = moment_cells(traits, matrix, schema) if len(traits) == 2 else None
    if estimand.kind in TWO_WAY:
        return None if cells is None else two_way_answer(estimand, cells, traits, schema)
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


def two_way_answer(
    estimand: Estimand, cells: NoisyCells, traits: Sequence[Trait], schema: Schema
) -> MeasuredAnswer:
    """The odds ratio, or the test of independence, of two traits.

    Args:
        estimand: the question.
        cells: counts of both traits, of the records that it is about.
        traits: both.
        schema: in the bins of the counts.

    Raises:
        InferenceError: the schema forbids a cell, or the answer is lost in noise.
    """
    require_possible(traits, schema, estimand.where)
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
    pooled = estimate(found, drawn, None, name=name, rule=moment_answers.RULE)
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
