"""Everything that compares a release with the rows it was made from.

**Comparing a release with the rows it was made from. INTERNAL: outside ε, never to be released.**

The rows are held in memory, and a random part of them is held out. A risk that is measured needs
people who are *not* in the release: what an intruder learns about them is what the population tells
of anyone. So some rows are held out before a release is made.

**Utility losses: single numbers that say how far synthetic rows are from the original ones.**

They are cheap, without nulls and permutations, so that a method can be scored over many budgets and
repetitions (`understudy.evaluate`). 0 is perfect, lower is better, and each has a worst value;
a set without rows has that one, since it tells nothing.

Source of the distances and of SPECKS: `understudy.evaluate.marginals`, `…pmse`;
of the overlap of intervals: Karr et al. (2006), The American Statistician 60, 224-232.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from understudy._parallel import single_threaded
from understudy._validation import require_extra, require_function, require_list, require_text
from understudy.data.coding import ColumnCoder
from understudy.data.sources import open_rows
from understudy.data.table import Table
from understudy.dp.confidential import Internal
from understudy.errors import DataError, MethodError
from understudy.evaluate.associations import (
    association_scores,
    consistency,
    correlation_scores,
    relation_scores,
)
from understudy.evaluate.attacks import Intruder, risks_of
from understudy.evaluate.comparison import (
    MOST_WRITTEN_OUT,
    Comparison,
    compare,
    ordered_columns,
    ordered_names,
    require_column,
    require_columns,
    require_seed,
)
from understudy.evaluate.marginals import (
    conditional_score,
    distance_scores,
    group_scores,
    marginal_distances,
    marginals,
    number_scores,
    pairs,
)
from understudy.evaluate.prediction import default_target, prediction_scores
from understudy.evaluate.propensity import (
    Model,
    default_models,
    pair_specks,
    propensity_scores,
    subgroup_scores,
    written_models,
)
from understudy.evaluate.regression import (
    answer_widths,
    coefficient_scores,
    coefficients,
    columns_of,
    compare_models,
    records_of,
)
from understudy.evaluate.scores import Evaluation, Metric
from understudy.inference.records import Records
from understudy.release.release import Release, given_release
from understudy.schema import Schema
from understudy.workflow.gates import coded_rows
from understudy.workflow.governance import enter_evaluation
from understudy.workflow.options import Progress

if TYPE_CHECKING:
    from understudy.evaluate.attack_setup import Risks


EvaluationProgress = Callable[[str, int, int], None]

MOST_REGRESSION_ROWS = 100_000
"""Rows of each table in regressions; a random choice of more."""

_STREAM = 30


@dataclass(frozen=True)
class _Part:
    """The results of one stage: scores, warnings, and fields of the evaluation."""

    scores: tuple[Metric, ...] = ()
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
    progress: EvaluationProgress | None = None,
) -> Internal[Evaluation]:
    """Compare a release with the original rows.

    Every score is a mean over the sets with its spread. The same seed gives the same result.

    Args:
        table: the original rows, coded against the release's schema.
        release: the release.
        formulas: regressions to compare, such as "income ~ age + C(region)"; an outcome of 0 and 1
            or of two levels is fitted by logistic regression, any other by least squares. By
            default those of `understudy.evaluate.propensity`.
        by: column whose groups are scored one by one.
        target: column that is predicted, and first outcome of the default regressions.
        control: rows of people outside the table, for the attacks of `understudy.evaluate`.
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
        kept = _score_kept(table, release, comparison, tell)
        discriminated = _discrimination(comparison, tell)
        fitted = _regressions(table, release, comparison, written=written, target=target, tell=tell)
        widths = _answer_widths(table, release, tell)
        predicted = _prediction(comparison, None if target is None else names.index(target), tell)
        grouped = _groups(comparison, None if by is None else names.index(by), tell)
        attacked = _risks(release, comparison, control, intruder, tell)
    parts = (discriminated, near, kept, fitted, widths, predicted, grouped, attacked)
    return Internal(_assemble(release, comparison, parts))


def _nearness(comparison: Comparison, tell: EvaluationProgress) -> _Part:
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


def _score_kept(
    table: Table, release: Release, comparison: Comparison, tell: EvaluationProgress
) -> _Part:
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
        f"{left_out:,} pairs of columns have more than {MOST_WRITTEN_OUT:,} cells: they have a "
        "total variation distance, but no association and no χ² test.",
    )


def _discrimination(comparison: Comparison, tell: EvaluationProgress) -> _Part:
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
    tell: EvaluationProgress,
) -> _Part:
    stage = "Fitting regressions"
    tell(stage, 0, 3)
    schema, rng = release.schema, comparison.generator(_STREAM)
    needed = {name for model in written for name in model.columns}
    names = [name for name in schema.names if name in needed or not written]
    original = _thin_records(records_of(schema, names, table.read(names).expose()), rng)
    sets = [_thin_records(Records.of(table, schema, names), rng) for table in release.tables]
    models, warnings = (written, ()) if written else default_models(original, target)
    compared, remarks = compare_models(
        models, original, sets, lambda done, total: tell(stage, done, total)
    )
    sizes = [min(n, MOST_REGRESSION_ROWS) for n in (comparison.n_original, comparison.n_synthetic)]
    fields = {"coefficients": tuple(c for model in compared for c in coefficients(model))}
    return _Part(coefficient_scores(compared, sizes[0], sizes[1]), (*warnings, *remarks), fields)


def _answer_widths(table: Table, release: Release, tell: EvaluationProgress) -> _Part:
    """Intervals of the release beside those of all rows."""
    tell("Comparing intervals", 0, 1)
    names = columns_of(release)
    original = records_of(release.schema, names, table.read(names).expose())
    found = answer_widths(release, original)
    tell("Comparing intervals", 1, 1)
    return _Part(fields={"widths": found})


def _thin_records(records: Records, rng: np.random.Generator) -> Records:
    n = len(next(iter(records.states.values())))
    if n <= MOST_REGRESSION_ROWS:
        return records
    return records.take(np.sort(rng.choice(n, MOST_REGRESSION_ROWS, replace=False)))


def _prediction(comparison: Comparison, target: int | None, tell: EvaluationProgress) -> _Part:
    tell("Predicting real records", 0, 1)
    column = default_target(comparison) if target is None else target
    scores = prediction_scores(comparison, column)
    tell("Predicting real records", 1, 1)
    return _Part((), (scores,)) if isinstance(scores, str) else _Part(scores)


def _groups(comparison: Comparison, by: int | None, tell: EvaluationProgress) -> _Part:
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
    tell: EvaluationProgress,
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
        title=release.schema.heading,
        n_original=comparison.n_original,
        n_synthetic=comparison.n_synthetic,
        sets=len(comparison.sets),
        method=release.manifest.method,
        guarantee=release.guarantee.statement,
        scores=tuple(score for part in parts for score in part.scores),
        warnings=tuple(warning for part in parts for warning in part.warnings),
        **fields,
    )


def rows_in_memory(
    data: object, schema: Schema, rng: np.random.Generator | None = None
) -> pl.DataFrame:
    """The columns of the schema as they are in the data, in the order of the data. CONFIDENTIAL.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`; of units with members two by
            name, which become one row a unit.
        schema: names the columns.
        rng: which members of large units are used, and in which order ties stand, for an internal
            result that is the same every time; None for secure randomness.

    Raises:
        DataError: a structural fault of the data, or there are no rows.
    """
    opened = open_rows(data, schema, rng)
    Table(opened, schema)  # finds what cannot be read
    rows = opened.ask(opened.lazy.select(cs.by_name(list(schema.names))))
    if not rows.height:
        raise DataError("The table has no rows, so there is nothing to compare with.")
    return rows


def hold_out(
    rows: pl.DataFrame, share: float, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Members, and a control group of non-members, split at random.

    Args:
        rows: the table.
        share: of the rows that become the control group, in (0, 1); rounded to whole rows.
        rng: randomness of the split.

    Raises:
        DataError: there are too few rows for one in each part.
    """
    n_control = round(share * rows.height)
    if not 0 < n_control < rows.height:
        raise DataError(
            "The table has too few rows to hold a part of them out; take more rows, or another "
            "share."
        )
    order = rng.permutation(rows.height)
    control, members = np.sort(order[:n_control]), np.sort(order[n_control:])
    return rows[members], rows[control]


def evaluate(
    data: object,
    release: Release | str | Path,
    *,
    formulas: Sequence[str] | None = None,
    by: str | None = None,
    target: str | None = None,
    control: object = None,
    keys: Sequence[str] = (),
    secrets: Sequence[str] = (),
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Internal[Evaluation]:
    """Compare a release with the rows it was made from. INTERNAL: outside ε, never to be released.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`.
        release: a release, or the folder of one; its schema is what the data are read against.
        formulas: regressions to compare, such as "income ~ age + C(region)"; default ones if none.
        by: column whose groups are scored one by one.
        target: column that is predicted, and first outcome of the default regressions.
        control: rows of people outside the table, for the risk; see `risk`.
        keys: columns that an intruder knows; all but the secrets if none.
        secrets: columns that he wants to know; the target if none.
        seed: of every random choice (permutations, subsamples, test rows).
        ledger: that governs the population of the rows, as for `synthesize`; it is entered there as
            internal, outside ε.
        progress: called with a stage, and how much of how much is done.

    Raises:
        DataError: the data cannot be read, lack a column of the release, or have no rows.
        MethodError: an unknown column, a formula that cannot be computed, or a missing extra.
        ReleaseError: the folder is not a release.
        LedgerError: as `synthesize`.
    """
    loaded = given_release(release)
    require_function("progress", progress, MethodError)
    if formulas is not None:
        require_list("formulas", formulas, MethodError, "['income ~ age']")
    for name, given in (("by", by), ("target", target)):
        if given is not None:
            require_text(name, given, MethodError, loaded.schema.names[0])
    require_extra("evaluate", "An evaluation")
    enter_evaluation(loaded, "evaluation of a release", ledger)
    tell = progress or (lambda _stage, _done, _total: None)
    rows = coded_rows(data, loaded.schema, tell)
    return evaluate_release(
        rows,
        loaded,
        formulas=formulas,
        by=by,
        target=target,
        control=None if control is None else Table(control, loaded.schema),
        keys=keys,
        secrets=secrets,
        seed=seed,
        progress=tell,
    )


def risk(
    data: object,
    release: Release | str | Path,
    *,
    control: object = None,
    keys: Sequence[str] = (),
    secrets: Sequence[str] = (),
    targets: int = 2000,
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Internal[Risks]:
    """Attack a release: what does it disclose? INTERNAL: outside ε, never to be released.

    Re-identification, inference of attributes, probabilistic disclosure, membership inference and
    uniqueness. Each figure has a 95 % interval, and stands beside the same attack on people who
    were not in the table and beside a guess. With several sets it is the mean over them, target by
    target; intervals count the choice of targets and hold the release fixed.

    Args:
        data: the rows that the release was made from: pandas, Polars or Arrow table, or a path to
            CSV or Parquet (file or folder); of units with members two by name.
        release: a release, or the folder of one; its schema is what the data are read against.
        control: rows of people outside the table, drawn like those in it: hold some out before
            synthesizing. Without them no level is given.
        keys: columns that the intruder knows of his target; all but the secrets if none.
        secrets: columns that he wants to know; by default the column that `evaluate` predicts.
        targets: most targets, and most controls.
        seed: of every random choice.
        ledger: as for `evaluate`.
        progress: called with a stage, and how much of how much is done.

    Raises:
        DataError: the data or the control cannot be read, lack a column, or have no rows.
        MethodError: an unknown column, one that is key and secret, none left for the one or the
            other, or no number of targets.
        ReleaseError: the folder is not a release.
        LedgerError: as `synthesize`.
    """
    from understudy.evaluate.attacks import risk_release

    loaded = given_release(release)
    for name, given in (("keys", keys), ("secrets", secrets)):
        require_list(name, given, MethodError, "['age', 'sex']")
        for column in given:
            require_text(f"an entry of {name}", column, MethodError, "age")
    require_function("progress", progress, MethodError)
    enter_evaluation(loaded, "attacks on a release", ledger)
    tell = progress or (lambda _stage, _done, _total: None)
    tell("Reading and coding rows", 0, 1)
    rows = Table(data, loaded.schema)
    held_out = None if control is None else Table(control, loaded.schema)
    tell("Reading and coding rows", 1, 1)
    return risk_release(
        rows,
        loaded,
        held_out,
        keys=keys,
        secrets=secrets,
        targets=targets,
        seed=seed,
        progress=tell,
    )


@dataclass(frozen=True)
class Pairing:
    """Original rows and synthetic sets of one schema. CONFIDENTIAL.

    Attributes:
        schema: what all of them are read against; bins that a method chose for itself do not
            matter, so that methods are comparable.
        original: the original rows, at least one.
        sets: the synthetic sets.
        comparison: all of them coded.
    """

    schema: Schema
    original: pl.DataFrame
    sets: Sequence[pl.DataFrame]
    comparison: Comparison

    @classmethod
    def of(
        cls, schema: Schema, original: pl.DataFrame, sets: Sequence[pl.DataFrame], seed: int = 0
    ) -> Pairing:
        """Code rows and sets; `seed` is that of random choices."""
        return cls(schema, original, sets, Comparison.of(schema, original, sets, seed))


@dataclass(frozen=True)
class Loss:
    """One utility loss.

    Attributes:
        name: what users call it by.
        title: what is kept or lost, for a heading.
        scale: what the number is.
        worst: its largest value.
        measure: computes it; NaN where it is not defined.
    """

    name: str
    title: str
    scale: str
    worst: float
    measure: Callable[[Pairing], float]


def losses(pairing: Pairing, names: Sequence[str]) -> dict[str, float]:
    """Several losses of one release, means over its sets.

    Args:
        pairing: rows and sets.
        names: of `LOSSES`.
    """
    if not all(table.height for table in pairing.sets):
        return {name: LOSSES[name].worst for name in names}
    return {name: LOSSES[name].measure(pairing) for name in names}


def _marginals(order: int) -> Callable[[Pairing], float]:
    def measure(pairing: Pairing) -> float:
        distances = marginal_distances(pairing.comparison, order)
        return float(distances.values.mean()) if distances.marginals else math.nan

    return measure


def _conditional(pairing: Pairing) -> float:
    score = conditional_score(pairing.comparison)
    return math.nan if score is None else score.value


def _specks(pairing: Pairing) -> float:
    return float(np.mean(pair_specks(pairing.comparison)))


def _intervals(pairing: Pairing) -> float:
    """1 less the mean overlap of the intervals of the default regressions."""
    schema, names = pairing.schema, pairing.schema.names
    columns = pairing.original[list(names)]
    readings = [ColumnCoder(n, schema.columns[n]).read(columns.get_column(n)) for n in names]
    original = records_of(schema, names, readings)
    models, _ = default_models(original, None)
    if not models:
        return math.nan
    sets = [Records.of(table, schema, names) for table in pairing.sets]
    compared, _ = compare_models(models, original, sets, lambda _done, _total: None)
    sizes = columns.height, pairing.sets[0].height
    values = {score.name: score.value for score in coefficient_scores(compared, *sizes)}
    return 1.0 - values.get("confidence-interval overlap", 0.0)


_TOTAL = "total variation distance, mean over all"

LOSSES = {
    loss.name: loss
    for loss in (
        Loss("one-way", "Columns one by one", f"{_TOTAL} columns", 1.0, _marginals(1)),
        Loss("two-way", "Pairs of columns", f"{_TOTAL} pairs", 1.0, _marginals(2)),
        Loss(
            "conditional",
            "One column given another",
            "L1 distance of conditional distributions, mean over ordered pairs",
            2.0,
            _conditional,
        ),
        Loss(
            "specks",
            "Whole records: can a model tell them apart?",
            "SPECKS by logistic regression with pairs",
            1.0,
            _specks,
        ),
        Loss(
            "intervals",
            "Regressions",
            "share of 95 % intervals that is lost, mean over coefficients",
            1.0,
            _intervals,
        ),
    )
}
"""Name → loss."""
