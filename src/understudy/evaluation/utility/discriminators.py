"""The models that try to tell synthetic rows from original ones.

Logistic regression on main effects, the same with products of pairs of columns, and a
classification tree. Each is fitted to every set, and to permuted labels for its null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from understudy.evaluation.comparison import Comparison, Rows
from understudy.evaluation.utility.indicator_designs import main_design, pair_design
from understudy.evaluation.utility.pmse_specks import Labels, Null, Vector, fresh_null, pmse, specks
from understudy.evaluation.utility.sparse_logistic import Logistic
from understudy.parallel import each

MOST_ROWS = 50_000
"""Rows of the original and of each set that the models see; a random choice of more."""

TREE_DEPTH = 5
TREE_LEAF = 20
_LOGISTIC_PERMUTATIONS = 40
_TREE_WORK = 30_000_000
_FEWEST_TREES, _MOST_TREES = 20, 100
_STREAM_ROWS, _STREAM_PAIRS, _STREAM_LABELS, _STREAM_TREE = 10, 11, 12, 13

Design = tuple[sp.csr_matrix, str]


@dataclass(frozen=True)
class Stack:
    """Original rows over those of one set.

    Attributes:
        rows: one array of states per column, each of shape (N,).
        synthetic: which rows are synthetic, shape (N,).
    """

    rows: Rows
    synthetic: Labels

    @property
    def share(self) -> float:
        """Share of synthetic rows, c."""
        return float(self.synthetic.mean())

    def fresh_null(self, parameters: int) -> Null:
        """Null of logistic pMSE for two independent samples."""
        n_synthetic = int(self.synthetic.sum())
        return fresh_null(parameters, len(self.synthetic) - n_synthetic, n_synthetic)

    def permuted(self, rng: np.random.Generator, times: int) -> Labels:
        """Labels in random order, shape (N, times)."""
        return np.stack([rng.permutation(self.synthetic) for _ in range(times)], axis=1)


@dataclass(frozen=True)
class Fitted:
    """One model on every set, and what permuted labels give.

    Attributes:
        name: name of the model.
        note: what to know about it.
        propensities: of each set, shape (N,).
        null_pmse: null of pMSE.
        permuted: pMSE and SPECKS of permuted labels, shape (permutations, 2).
    """

    name: str
    note: str
    propensities: list[Vector]
    null_pmse: Null | None
    permuted: Vector


def stack_sets(comparison: Comparison) -> tuple[list[Stack], str]:
    """Original over each set, and a note if rows were left out, else ""."""
    rng = comparison.generator(_STREAM_ROWS)
    original = _thinned(comparison.original, rng)
    sets = [_thinned(one, rng) for one in comparison.sets]
    stacks = [
        Stack(
            [np.concatenate(pair) for pair in zip(original, one, strict=True)],
            np.arange(len(original[0]) + len(one[0])) >= len(original[0]),
        )
        for one in sets
    ]
    if max(comparison.n_original, comparison.n_synthetic) <= MOST_ROWS:
        return stacks, ""
    return stacks, f"at most {MOST_ROWS:,} rows of each table, drawn at random"


def _thinned(rows: Rows, rng: np.random.Generator) -> Rows:
    n = len(rows[0])
    if n <= MOST_ROWS:
        return rows
    kept = np.sort(rng.choice(n, MOST_ROWS, replace=False))
    return [codes[kept] for codes in rows]


def fit_models(comparison: Comparison, stacks: list[Stack]) -> Iterator[Fitted]:
    """Each model fitted to every set and to permuted labels, one model after the other."""
    columns = comparison.columns
    yield _logistic(
        "logistic, main effects", comparison, stacks, lambda s: (main_design(s.rows, columns), "")
    )
    if len(columns) > 1:
        yield _logistic("logistic, with pairs", comparison, stacks, lambda s: _pairs(comparison, s))
    yield _tree(comparison, stacks)


def pair_propensities(comparison: Comparison, stack: Stack) -> Vector:
    """Propensities by logistic regression with pairs, shape (N,), without a null."""
    return Logistic(_pairs(comparison, stack)[0]).fit(stack.synthetic)


def _pairs(comparison: Comparison, stack: Stack) -> Design:
    rng = comparison.generator(_STREAM_PAIRS)  # the same pairs for every set
    design, used, every = pair_design(stack.rows, comparison.columns, rng)
    note = "" if used == every else f"{used:,} of {every:,} pairs of columns, drawn at random"
    return design, note


def _logistic(
    name: str, comparison: Comparison, stacks: list[Stack], designs: Callable[[Stack], Design]
) -> Fitted:
    times = math.ceil(_LOGISTIC_PERMUTATIONS / len(stacks))

    def fit(k: int) -> tuple[Vector, Null, list[tuple[float, float]], str]:
        stack = stacks[k]
        design, note = designs(stack)
        model = Logistic(design)
        labels = stack.permuted(comparison.generator(_STREAM_LABELS, k), times)
        fitted = model.fit_many(labels)
        permuted = [_both(fitted[:, b], labels[:, b]) for b in range(times)]
        about = f"{model.rank:,} parameters" + (f"; {note}" if note else "")
        return model.fit(stack.synthetic), stack.fresh_null(model.rank), permuted, about

    found = each(fit, range(len(stacks)))
    nulls = [null for _, null, _, _ in found]
    null = Null(float(np.mean([n.mean for n in nulls])), float(np.mean([n.sd for n in nulls])))
    permuted = np.array([both for _, _, some, _ in found for both in some])
    return Fitted(name, found[0][3], [p for p, _, _, _ in found], null, permuted)


def _tree(comparison: Comparison, stacks: list[Stack]) -> Fitted:
    """The tree on every set, and on permuted labels of one set after the other.

    How often labels are permuted depends on the size of the table, not on a clock, so that the
    result is the same on every machine.
    """
    rows, columns = len(stacks[0].synthetic), len(comparison.columns)
    times = int(np.clip(_TREE_WORK / (rows * columns), 20, 100))
    features = [np.stack(stack.rows, axis=1).astype(np.float32) for stack in stacks]

    def fit(k: int, labels: Labels) -> Vector:
        tree = DecisionTreeClassifier(
            max_depth=TREE_DEPTH, min_samples_leaf=TREE_LEAF, random_state=comparison.seed % 2**32
        )
        return np.asarray(tree.fit(features[k], labels).predict_proba(features[k])[:, 1])

    def permute(b: int) -> tuple[float, float]:
        k = b % len(stacks)
        labels = stacks[k].permuted(comparison.generator(_STREAM_TREE, b), 1)[:, 0]
        return _both(fit(k, labels), labels)

    propensities = each(lambda k: fit(k, stacks[k].synthetic), range(len(stacks)))
    permuted = np.array(each(permute, range(times)))
    note = f"depth {TREE_DEPTH}, at least {TREE_LEAF} rows in a leaf"
    return Fitted("CART", note, propensities, None, permuted)


def _both(propensity: Vector, labels: Labels) -> tuple[float, float]:
    return pmse(propensity, float(labels.mean())), specks(propensity, labels)
