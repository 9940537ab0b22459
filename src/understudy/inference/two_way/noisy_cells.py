"""Noisy counts of the classes of two traits, crossed: from full tables, or from second moments.

Only records with a value of both count. A table has independent noise in each cell that is not
forbidden; a product of two indicators is a count as well, with the noise of the released numbers
that it is the sum of. Moments have normal noise, tables may have that of a Laplace law. Where a
release has both, that with less noise is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.errors import InferenceError
from understudy.inference.choice.release_facts import Facts
from understudy.inference.choice.rule_table import COUNTS_REASON
from understudy.inference.estimates.analysis_records import ABSENT
from understudy.inference.moments.measured_moments import matrix_of
from understudy.inference.moments.moment_answers import REASON
from understudy.inference.moments.moment_answers import RULE as MOMENTS
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.inference.noise_aware.full_tables import covering
from understudy.inference.noise_aware.noisy_tables import marginal, pooled_table
from understudy.inference.two_way.traits import Trait
from understudy.release import Release
from understudy.schema import Schema

MOST_CELLS_CROSSED = 400
_LAPLACE_KURTOSIS = 3.0  # beyond that of a normal law


@dataclass(frozen=True)
class NoisyCells:
    """Counts of r × c cells.

    Attributes:
        counts: shape (r, c).
        noise: covariance of the noise in them, the second trait fastest, shape (r·c, r·c).
        fourth: fourth cumulants of the noise, 0 where it is normal, shape (r, c).
        dropped: records without a value of both traits; noisy.
        rule: what answers.
        reason: why it is valid.
        sources: tables behind the counts.
    """

    counts: Floats
    noise: Floats
    fourth: Floats
    dropped: float
    rule: str
    reason: str
    sources: int

    @property
    def variances(self) -> Floats:
        """Of independent noise that is no less in any sum of cells, shape (r, c).

        Their own where cells share no released number. Else the rows of absolute covariances,
        summed: what that adds to the covariance is diagonally dominant.
        """
        return np.asarray(np.abs(self.noise).sum(axis=1)).reshape(self.counts.shape)


def noisy_cells(traits: Sequence[Trait], release: Release, facts: Facts) -> NoisyCells | None:
    """The counts with the least noise that a release has; None where it has none.

    Args:
        traits: two, of columns of their own.
        release: that is asked.
        facts: of the question.
    """
    matrix = matrix_of(release, _columns(traits, release.schema))
    by_moments = None if matrix is None else moment_cells(traits, matrix, release.schema)
    by_tables = table_cells(traits, release) if facts.full else None
    found = [cells for cells in (by_tables, by_moments) if cells is not None]
    return min(found, key=lambda cells: np.trace(cells.noise), default=None)


def require_few(traits: Sequence[Trait]) -> None:
    """Refuse traits with very many cells.

    Raises:
        InferenceError: there are more than `MOST_CELLS_CROSSED`.
    """
    n_cells = len(traits[0].labels) * len(traits[1].labels)
    if n_cells > MOST_CELLS_CROSSED:
        raise InferenceError(
            f"{traits[0].text} and {traits[1].text} have {n_cells:,} cells, more than "
            f"{MOST_CELLS_CROSSED}; take coarser levels, or conditions."
        )


def require_possible(traits: Sequence[Trait], schema: Schema) -> None:
    """Refuse traits that cannot be crossed freely.

    Raises:
        InferenceError: the schema forbids a cell.
    """
    columns = _columns(traits, schema)
    allowed = schema.table(columns).allowed_mask().reshape(-1)
    possible = _by_class(allowed.astype(np.float64), traits, columns, schema) > 0
    if not possible.all():
        row, column = np.argwhere(~possible)[0]
        raise InferenceError(
            f"The schema forbids {traits[0].labels[row]} together with {traits[1].labels[column]}, "
            "so the two are not independent, and their odds ratio is 0 or infinite, by declaration."
        )


def table_cells(traits: Sequence[Trait], release: Release) -> NoisyCells | None:
    """The counts of full noisy tables, averaged by precision; None where none has the columns."""
    schema = release.schema
    columns = _columns(traits, schema)
    used = covering(release.measurements, columns)
    if not used:
        return None
    tables = [marginal(measured, columns, schema) for measured in used]
    table = pooled_table(tables)
    fourth = np.zeros_like(table.variances)
    for measured, own in zip(used, tables, strict=True):
        if not measured.family.is_gaussian:
            weights = table.variances / np.where(own.variances > 0, own.variances, 1.0)
            fourth += weights**4 * _LAPLACE_KURTOSIS * measured.stddev**2 * own.variances
    counts, variances, cumulants = (
        _by_class(each, traits, columns, schema) for each in (table.counts, table.variances, fourth)
    )
    return NoisyCells(
        counts=counts,
        noise=np.diag(variances.reshape(-1)),
        fourth=cumulants,
        dropped=float(table.counts.sum() - counts.sum()),
        rule="noise-aware",
        reason=COUNTS_REASON,
        sources=len(used),
    )


def moment_cells(
    traits: Sequence[Trait], matrix: MomentMatrix, schema: Schema
) -> NoisyCells | None:
    """The counts of second moments; None where a trait is not one of the levels of one column."""
    rows = [class_weights(trait, matrix, schema) for trait in traits]
    left, right = rows
    if left is None or right is None:
        return None
    counts = matrix.form(left, right)
    products = left[:, None, :, None] * right[None, :, None, :]
    noise = matrix.noise_covariance(products.reshape(-1, left.shape[1], right.shape[1]))
    dropped = float(matrix.n - counts.sum())
    return NoisyCells(counts, noise, np.zeros_like(counts), dropped, MOMENTS, REASON, 1)


def class_weights(trait: Trait, matrix: MomentMatrix, schema: Schema) -> Floats | None:
    """Weights of the scores in the indicator of each class, shape (k, s + 1).

    None for a trait that is not one of the levels of one column.

    Args:
        trait: the trait.
        matrix: whose rows the weights are for.
        schema: of the release.
    """
    rows = matrix.indicators(schema, trait.columns[0]) if len(trait.columns) == 1 else None
    if rows is None:
        return None
    weights = np.zeros((len(trait.labels), len(matrix.sums)))
    np.add.at(weights, trait.class_of[: len(rows)], rows)
    return weights


def _columns(traits: Sequence[Trait], schema: Schema) -> tuple[str, ...]:
    used = {name for trait in traits for name in trait.columns}
    return tuple(name for name in schema.names if name in used)


def _by_class(
    numbers: Floats | NDArray[np.bool_],
    traits: Sequence[Trait],
    columns: Sequence[str],
    schema: Schema,
) -> Floats:
    """Sums over the cells of a table by the classes of both traits, shape (r, c)."""
    rows, others = (trait.within(columns, schema) for trait in traits)
    shape = len(traits[0].labels), len(traits[1].labels)
    known = (rows != ABSENT) & (others != ABSENT)
    place = rows[known] * shape[1] + others[known]
    return np.asarray(np.bincount(place, numbers[known], shape[0] * shape[1]), float).reshape(shape)
