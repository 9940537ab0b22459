"""Everything that compares a release with the rows it was made from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.engine import Table
from understudy.evaluation.comparison import (
    MOST_CELLS,
    Comparison,
    compare,
    require_column,
    require_columns,
    require_seed,
)
from understudy.evaluation.evaluation_results import Evaluation, Score
from understudy.evaluation.risk.assess import Intruder, risks_of
from understudy.evaluation.utility.answer_widths import answer_widths, columns_of
from understudy.evaluation.utility.associations import (
    association_scores,
    consistency,
    correlation_scores,
)
from understudy.evaluation.utility.broken_relations import relation_scores
from understudy.evaluation.utility.coefficients import coefficient_scores, coefficients
from understudy.evaluation.utility.indicator_designs import Model, default_models, written_models
from understudy.evaluation.utility.marginal_distances import (
    conditional_score,
    distance_scores,
    group_scores,
    marginal_distances,
    marginals,
    pairs,
)
from understudy.evaluation.utility.number_distances import number_scores
from understudy.evaluation.utility.ordered_values import ordered_columns, ordered_names
from understudy.evaluation.utility.prediction import default_target, prediction_scores
from understudy.evaluation.utility.propensity import propensity_scores, subgroup_scores
from understudy.evaluation.utility.regression_comparison import compare_models, records_of
from understudy.inference.estimates.analysis_records import Records
from understudy.parallel import single_threaded
from understudy.privacy.internal import Internal
from understudy.release import Release

Progress = Callable[[str, int, int], None]

MOST_REGRESSION_ROWS = 100_000
"""Rows of each table in regressions; a random choice of more."""

_STREAM = 30


@dataclass(frozen=True)
class _Part:
    """What one stage found: scores, warnings, and fields of the evaluation."""

    scores: tuple[Score, ...] = ()
    warnings: tuple[str, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)


def evaluate_release(
    table: Table,
    release: Release,
    *,
    formulas: Sequence[str] | None = None,
    by: str | None = None,
    target: str | None = None,
    control: Table | None = None,
    keys: Sequence[str] = (),
    secrets: Sequence[str] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> Internal[Evaluation]:
    """Compare a release with the original rows.

    Every score is a mean over the sets with its spread. The same seed gives the same result.

    Args:
        table: the original rows, coded against the release's schema.
        release: the release.
        formulas: regressions to compare, such as "income ~ age + C(region)"; an outcome of 0 and 1
            or of two levels is fitted by logistic regression, any other by least squares. By
            default those of `understudy.evaluation.utility.indicator_designs`.
        by: column whose groups are scored one by one.
        target: column that is predicted, and first outcome of the default regressions.
        control: rows of people outside the table, for the attacks of `understudy.evaluation.risk`.
        keys: columns that an intruder knows; all but the secrets if none.
        secrets: columns that he wants to know; the target if none.
        seed: of every random choice: permutations, subsamples, test rows.
        progress: called with a stage, and how much of how much is done.

    Raises:
        DataError: there are no rows, in the original or in a set.
        MethodError: an unknown column, a column that is both key and secret, a formula that cannot
            be computed, or a seed below 0.
    """
    require_seed(seed)
    for option, name in (("by", by), ("target", target)):
        require_column(release.schema, option, name)
    require_columns(release.schema, "keys", keys)
    require_columns(release.schema, "secrets", secrets)
    written = written_models(formulas or (), release.schema)
    tell = progress or (lambda _stage, _done, _total: None)
    tell("Coding rows", 0, 1)
    comparison = compare(table, release, seed)
    tell("Coding rows", 1, 1)
    sought = secrets or ((target,) if target and target not in keys else ())
    # With one column there is nothing to match by.
    intruder = Intruder.of(comparison, keys, sought) if len(release.schema.names) > 1 else None
    names = release.schema.names
    with single_threaded():
        near = _nearness(comparison, tell)
        kept = _kept(table, release, comparison, tell)
        discriminated = _discrimination(comparison, tell)
        fitted = _regressions(table, release, comparison, written=written, target=target, tell=tell)
        widths = _answer_widths(table, release, tell)
        predicted = _prediction(comparison, None if target is None else names.index(target), tell)
        grouped = _groups(comparison, None if by is None else names.index(by), tell)
        attacked = _risks(release, comparison, control, intruder, tell)
    parts = (discriminated, near, kept, fitted, widths, predicted, grouped, attacked)
    return Internal(_assemble(release, comparison, parts))


def _nearness(comparison: Comparison, tell: Progress) -> _Part:
    """Distances of marginals, associations, and decisions of χ² tests."""
    stage, orders = "Comparing marginals", (1, 2, 3)
    tell(stage, 0, 5)
    by_order = []
    for order in orders:
        by_order.append(marginal_distances(comparison, order))
        tell(stage, order, 5)
    conditional = conditional_score(comparison)
    scores = [
        *(score for distances in by_order for score in distance_scores(comparison, distances)),
        *([conditional] if conditional else []),
        *association_scores(comparison),
    ]
    tell(stage, 4, 5)
    decisions, agreement = consistency(comparison)
    tell(stage, 5, 5)
    names = comparison.schema.names
    distances = dict(zip(by_order[1].marginals, by_order[1].means.tolist(), strict=True))
    return _Part(
        (*scores, *decisions),
        _too_large(comparison),
        {
            "marginals": marginals(comparison, by_order[0]),
            "pairs": {(names[i], names[j]): distances[i, j] for i, j in sorted(distances)},
            "agreement": agreement,
        },
    )


def _kept(table: Table, release: Release, comparison: Comparison, tell: Progress) -> _Part:
    """Numbers, correlations, small groups and relations: what users look up first."""
    stage = "Looking up numbers, groups and relations"
    tell(stage, 0, 4)
    names = ordered_names(release.schema)
    original = records_of(release.schema, names, table.read(names).expose() if names else ())
    sets = [Records.of(one, release.schema, names) for one in release.tables]
    columns = ordered_columns(original, sets)
    numbers, each_number = number_scores(columns, comparison.generator(_STREAM, 1))
    tell(stage, 1, 4)
    correlations, each_pair = correlation_scores(columns)
    tell(stage, 2, 4)
    groups, each_group = group_scores(comparison)
    tell(stage, 3, 4)
    relations, each_relation = relation_scores(comparison, columns)
    tell(stage, 4, 4)
    fields = {
        "numbers": each_number,
        "correlations": each_pair,
        "groups": each_group,
        "relations": each_relation,
    }
    return _Part((*numbers, *correlations, *groups, *relations), (), fields)


def _too_large(comparison: Comparison) -> tuple[str, ...]:
    n_columns = len(comparison.sizes)
    left_out = len(list(itertools.combinations(range(n_columns), 2))) - len(pairs(comparison))
    if not left_out:
        return ()
    return (
        f"{left_out:,} pairs of columns have more than {MOST_CELLS:,} cells: they have a total "
        "variation distance, but no association and no χ² test.",
    )


def _discrimination(comparison: Comparison, tell: Progress) -> _Part:
    stage = "Telling synthetic rows from original ones"
    tell(stage, 0, 3)
    scores, curves = propensity_scores(comparison, lambda done, total: tell(stage, done, total))
    return _Part(scores, (), {"propensity": curves})


def _regressions(
    table: Table,
    release: Release,
    comparison: Comparison,
    *,
    written: tuple[Model, ...],
    target: str | None,
    tell: Progress,
) -> _Part:
    stage = "Fitting regressions"
    tell(stage, 0, 3)
    schema, rng = release.schema, comparison.generator(_STREAM)
    needed = {name for model in written for name in model.columns}
    names = [name for name in schema.names if name in needed or not written]
    original = _thinned(records_of(schema, names, table.read(names).expose()), rng)
    sets = [_thinned(Records.of(table, schema, names), rng) for table in release.tables]
    models, warnings = (written, ()) if written else default_models(original, target)
    compared, remarks = compare_models(
        models, original, sets, lambda done, total: tell(stage, done, total)
    )
    sizes = [min(n, MOST_REGRESSION_ROWS) for n in (comparison.n_original, comparison.n_synthetic)]
    fields = {"coefficients": tuple(c for model in compared for c in coefficients(model))}
    return _Part(coefficient_scores(compared, sizes[0], sizes[1]), (*warnings, *remarks), fields)


def _answer_widths(table: Table, release: Release, tell: Progress) -> _Part:
    """Intervals of the release beside those of all rows."""
    tell("Comparing intervals", 0, 1)
    names = columns_of(release)
    original = records_of(release.schema, names, table.read(names).expose())
    found = answer_widths(release, original)
    tell("Comparing intervals", 1, 1)
    return _Part(fields={"widths": found})


def _thinned(records: Records, rng: np.random.Generator) -> Records:
    n = len(next(iter(records.states.values())))
    if n <= MOST_REGRESSION_ROWS:
        return records
    return records.take(np.sort(rng.choice(n, MOST_REGRESSION_ROWS, replace=False)))


def _prediction(comparison: Comparison, target: int | None, tell: Progress) -> _Part:
    tell("Predicting real records", 0, 1)
    column = default_target(comparison) if target is None else target
    scores = prediction_scores(comparison, column)
    tell("Predicting real records", 1, 1)
    return _Part((), (scores,)) if isinstance(scores, str) else _Part(scores)


def _groups(comparison: Comparison, by: int | None, tell: Progress) -> _Part:
    if by is None:
        return _Part()
    tell("Scoring groups", 0, 1)
    groups = subgroup_scores(comparison, by)
    tell("Scoring groups", 1, 1)
    return _Part((), (), {"subgroups": groups})


def _risks(
    release: Release,
    comparison: Comparison,
    control: Table | None,
    intruder: Intruder | None,
    tell: Progress,
) -> _Part:
    if intruder is None:
        return _Part((), ("No disclosure risk is assessed: there is one column.",))
    risks = risks_of(release, comparison, control, intruder, progress=tell)
    return _Part((), (), {"risks": risks})


def _assemble(release: Release, comparison: Comparison, parts: Sequence[_Part]) -> Evaluation:
    fields: dict[str, Any] = {}
    for part in parts:
        fields |= part.fields
    return Evaluation(
        title=release.schema.title or "Synthetic data release",
        n_original=comparison.n_original,
        n_synthetic=comparison.n_synthetic,
        sets=len(comparison.sets),
        method=release.manifest.method,
        guarantee=release.guarantee.statement,
        scores=tuple(score for part in parts for score in part.scores),
        warnings=tuple(warning for part in parts for warning in part.warnings),
        **fields,
    )
