"""Means, shares and cross-tabulations, by groups or not, from noisy second moments.

Each is a ratio R = N/D of sums over the records of a product of two affine functions of scores,
N = l'Mr and D = L'MR: what a record adds, and whether it has a value and belongs to the group. So
who counts is known exactly, absences left out. Intervals are those of `Inverted`, with the noise in
N − R·D and in D; the sampling variance is added, from the sum of squared values, which was measured
for indicators, and for numbers without groups. Within groups the variance of a number is that of
the synthetic records, brought to the size that the measured squares leave within groups.

A group whose size D is not firm under its noise (`are_firm`) has no answer: its numbers are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from understudy.arrays import Floats, Integers
from understudy.inference.estimates import formulas
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.estimates.estimands import SHARES, Estimand
from understudy.inference.moments.affine import affine_weights
from understudy.inference.moments.inverted import are_firm, require_firm
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.inference.noise_aware.cell_scores import edge_variance, sampling_covariance
from understudy.schema import NUMERIC, Schema


@dataclass(frozen=True)
class MomentRatios:
    """Ratios, and the parts of their covariance.

    Attributes:
        estimate: shape (k,).
        noise: by privacy noise, shape (k, k).
        sampling: by sampling, shape (k, k).
        sizes: D of each, NaN where it is not firm, shape (k,).
        small: how many groups are not.
        mixed: covariance of the noise in N − R·D with that in D, shape (k,).
        squared: variance of the noise in D, shape (k,).
        dropped: records that are in no group, or have no value; noisy.
        bias: how far each may be off by where numbers lie within cells, shape (k,).
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    sizes: Floats
    small: int
    mixed: Floats
    squared: Floats
    dropped: float
    bias: Floats


@dataclass(frozen=True)
class _Products:
    """Sums of products of two affine functions.

    Attributes:
        added: l and r of each quantity, both of shape (k, s + 1).
        sizes: L and R of each group, both of shape (groups, s + 1).
        group_of: group of each quantity, shape (k,).
        number: whether l is a number, and no indicator.
    """

    added: tuple[Floats, Floats]
    sizes: tuple[Floats, Floats]
    group_of: Integers
    number: bool


def moment_ratios(
    estimand: Estimand, matrix: MomentMatrix, schema: Schema, sets: Sequence[Records]
) -> MomentRatios | None:
    """The ratios of means, shares or a table; None where second moments do not give them.

    Args:
        estimand: of columns that the matrix has.
        matrix: second moments.
        schema: of the release.
        sets: complete records of each synthetic set, with the estimand's columns.

    Raises:
        InferenceError: a group is too small under its noise.
    """
    products = _products(estimand, matrix, schema)
    if products is None:
        return None
    (left, right), (first, second) = products.added, products.sizes
    if len(left) * len(matrix.numbers) > _MOST:
        return None
    totals = np.einsum("ki,ij,kj->k", left, matrix.sums, right)
    sizes = np.einsum("gi,ij,gj->g", first, matrix.sums, second)
    group_of = products.group_of
    by_group = matrix.gradient_of_products(first, second)
    shown = _shown_sizes(estimand, sets, len(sizes))
    noise = matrix.noise_of_pairs(by_group, by_group)
    firm = are_firm(shown, noise)
    if not firm.any():
        require_firm(shown, noise, _TOO_SMALL)
    known = np.where(firm, sizes, np.nan)
    own = known[group_of]
    estimate = totals / own
    numerators = matrix.gradient_of_products(left, right)
    mixed, squared = np.empty(len(estimate)), noise[group_of]
    for group in range(len(sizes)):
        mine = np.flatnonzero(group_of == group)
        numerators[mine] -= np.multiply.outer(estimate[mine], by_group[group])
        mixed[mine] = matrix.noise_between(by_group[[group]], numerators[mine])[0]
    squares = totals if not products.number else _squares(estimand, matrix, products, known, sets)
    sampling = sampling_covariance(estimate, squares, own, group_of)
    if estimand.kind in SHARES:
        place = np.diag_indices(len(estimate))
        sampling[place] = np.maximum(sampling[place], edge_variance(own))
    return MomentRatios(
        estimate=estimate,
        noise=matrix.noise_between(numerators, numerators) / np.multiply.outer(own, own),
        sampling=sampling,
        sizes=own,
        small=int((~firm).sum()),
        mixed=mixed,
        squared=squared,
        dropped=matrix.n - float(sizes.sum()),
        bias=matrix.within_cells_by(numerators) / own,
    )


def _products(estimand: Estimand, matrix: MomentMatrix, schema: Schema) -> _Products | None:
    whole = np.zeros((1, len(matrix.sums)))
    whole[0, 0] = 1
    crossed = (*estimand.levels, *estimand.groups)
    found = [matrix.indicators(schema, name) for name in crossed]
    each = [rows for rows in found if rows is not None]
    if len(each) < len(found) or (len(crossed) == 1 and _is_binned_alone(estimand, schema)):
        return None
    if estimand.levels and len(crossed) == 1:
        return _of_groups(each[0], each[0].sum(axis=0), whole)
    if estimand.levels and len(crossed) == 2 and not estimand.groups:
        k, m = len(each[0]), len(each[1])
        cells = np.repeat(each[0], m, axis=0), np.tile(each[1], (k, 1))
        sizes = each[0].sum(axis=0)[None], each[1].sum(axis=0)[None]
        return _Products(cells, sizes, np.zeros(k * m, dtype=np.int64), number=False)
    if estimand.levels:
        return _of_groups(each[0], each[0].sum(axis=0), each[1]) if len(crossed) == 2 else None
    return _of_expression(estimand, matrix, schema, each[0] if each else whole)


def _of_expression(
    estimand: Estimand, matrix: MomentMatrix, schema: Schema, groups: Floats
) -> _Products | None:
    """Of one column, affine in it, by at most one other."""
    names = [name for name in estimand.columns if name not in estimand.groups]
    if len(names) != 1 or len(estimand.groups) > 1:
        return None
    named = formulas.constants(formulas.as_formula(estimand.expression))
    weights = affine_weights(lambda frame: _values(estimand, frame), names, schema, matrix, named)
    if weights is None:
        return None
    numeric = isinstance(schema.columns[names[0]], NUMERIC)
    if numeric and not estimand.groups and not weights[0, matrix.place[names[0], None]]:
        return None  # a condition on one column, which its own table has
    present = matrix.presence(schema, names[0])
    value = weights[0].copy()
    value[0] = 0
    value += weights[0, 0] * present  # the constant, for those who have a value
    return _of_groups(value[None], present, groups, number=numeric)


def _of_groups(
    values: Floats, present: Floats, groups: Floats, *, number: bool = False
) -> _Products:
    """What records of each group add: values of a group run fastest."""
    k, n_groups = len(values), len(groups)
    added = np.tile(values, (n_groups, 1)), np.repeat(groups, k, axis=0)
    sizes = np.tile(present, (n_groups, 1)), groups
    return _Products(added, sizes, np.repeat(np.arange(n_groups), k), number)


def _values(estimand: Estimand, frame: pd.DataFrame) -> Floats:
    plain = estimand.expression.strip("`")
    if plain in frame:
        return np.asarray(frame[plain], dtype=np.float64)[:, None]
    return formulas.evaluate(estimand.expression, frame)[:, None]


def _is_binned_alone(estimand: Estimand, schema: Schema) -> bool:
    """Whether the shares of the bins of one column of numbers are asked for, which a table has."""
    return any(isinstance(schema.columns[name], NUMERIC) for name in estimand.levels)


def _squares(
    estimand: Estimand,
    matrix: MomentMatrix,
    products: _Products,
    sizes: Floats,
    sets: Sequence[Records],
) -> Floats:
    """Sums of squared numbers by group, shape (groups,); NaN where the size is."""
    value = products.added[0][0]
    whole = float(value @ matrix.sums @ value)
    if not estimand.groups:
        return np.array([whole])
    within = _within(estimand, sets, len(sizes))
    totals = np.einsum("ki,ij,kj->k", products.added[0], matrix.sums, products.added[1])
    squares = outer = totals**2 / sizes
    error = np.sqrt(matrix.noise_covariance(np.multiply.outer(value, value)[None])[0, 0])
    left = max(whole - float(np.nansum(outer)), 2 * error)
    shown = float(np.nansum(within * sizes))
    spread = within * left / shown if shown > 0 else np.full(len(sizes), left / np.nansum(sizes))
    return np.asarray(squares + spread * sizes)


def _within(estimand: Estimand, sets: Sequence[Records], n_groups: int) -> Floats:
    """Variance of the number in each group of the synthetic records."""
    values, groups = [], []
    for records in sets:
        scores = estimand.scores(records)
        values.append(scores.value)
        groups.append(scores.quantity)
    value, group = np.concatenate(values), np.concatenate(groups)
    n = np.maximum(np.bincount(group, minlength=n_groups), 1)
    mean = np.bincount(group, value, n_groups) / n
    overall = value.var() if len(value) else 0.0
    squares = np.bincount(group, (value - mean[group]) ** 2, n_groups)
    few = 20.0  # records' worth of the overall variance, so that small groups have one
    return np.asarray((squares + few * overall) / (n + few))


def _shown_sizes(estimand: Estimand, sets: Sequence[Records], n_groups: int) -> Floats:
    """Records in each group of the synthetic sets, on average, shape (groups,)."""
    sizes = np.zeros(n_groups)
    for records in sets:
        scores = estimand.scores(records)
        sizes += np.bincount(scores.group_of[scores.quantity], minlength=n_groups)
    return sizes / len(sets)


_MOST: Final = 2**26
"""Derivatives of the ratios in the released numbers, at most: half a gigabyte."""

_TOO_SMALL = "A group is too small under the privacy noise"
