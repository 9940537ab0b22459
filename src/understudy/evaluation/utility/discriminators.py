"""Models that try to tell synthetic rows from original ones, and what their propensities say.

Logistic regression on main effects, the same with products of pairs of columns, and a
classification tree. Each is fitted to every set, and to permuted labels for its null.

**pMSE and SPECKS.** Original (n) and synthetic rows (ñ) are stacked, N = n + ñ, c = ñ/N; p̂ is an
estimated probability that a row is synthetic.

* pMSE = (1/N) Σ (p̂ - c)²: 0 if nothing tells them apart, c(1 - c) if everything does.
* SPECKS: Kolmogorov-Smirnov distance of the p̂ of the original and of the synthetic rows.

**Which null.** A flexible model tells any two samples apart to some degree. The null used here is
that original and synthetic rows are *two independent samples of one population*, for three reasons:
it answers what a reader asks (is this as good as a fresh sample?), permuted labels follow it
exactly, so that all models share it, and sets made through noise are not draws from the original
rows. With k parameters, the intercept included, and large samples:

* two independent samples: mean (k - 1)c(1 - c)/N, sd √(2(k - 1))·c(1 - c)/N;
* sets drawn from a correct model that was fitted to the original without noise (Snoke et al. 2018,
  section 3; the default of synthpop): 1 - c times as much. A bootstrap copy of the original has it.

The mean over m sets varies less than one set, but the sets share the original. Distances of p̂ in
two sets are correlated by c, their squares by c²: the sd of the mean is √((1 + (m - 1)c²)/m) times
that of one set. For large samples this is exact in logistic pMSE, and Kolmogorov-Smirnov distances
follow it within a few per cent (`tests/evaluation/utility/test_pmse_specks.py` simulates both).

Sources:
    Woo, Reiter, Oganian & Karr (2009), J. Privacy and Confidentiality 1(1); Snoke, Raab, Nowok,
    Dibben & Slavković (2018), J. Royal Statistical Society A 181, 663-688. SPECKS: Bowen, Liu & Su
    (2021), METRON 79, 1-31.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.evaluation.comparison import Comparison, Rows
from understudy.evaluation.utility.indicator_designs import main_design, pair_design
from understudy.evaluation.utility.sparse_logistic import Logistic
from understudy.parallel import each

Labels = NDArray[np.bool_]


def pmse(propensity: Floats, share: float) -> float:
    """Mean squared distance of the propensities, shape (N,), from the share of synthetic rows."""
    return float(np.mean((propensity - share) ** 2))


def specks(propensity: Floats, synthetic: Labels) -> float:
    """Kolmogorov-Smirnov distance of the propensities in the two groups, both of shape (N,).

    Tied propensities are taken jointly: the ECDFs are compared behind the last of them.
    """
    order = np.argsort(propensity, kind="stable")
    ahead = np.cumsum(synthetic[order]) / synthetic.sum()
    behind = np.cumsum(~synthetic[order]) / (~synthetic).sum()
    ordered = propensity[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return float(np.abs(ahead - behind)[last].max())


@dataclass(frozen=True)
class Null:
    """Mean and standard deviation of a score of one set, under a hypothesis."""

    mean: float
    sd: float


def simulated_null(parameters: int, n_original: int, n_synthetic: int) -> Null:
    """Null of logistic pMSE for two independent samples of one population.

    Args:
        parameters: k, the intercept included.
        n_original: n.
        n_synthetic: ñ.
    """
    total = n_original + n_synthetic
    unit = n_synthetic / total * (n_original / total) / total
    return Null((parameters - 1) * unit, math.sqrt(2 * (parameters - 1)) * unit)


def fitted_null(parameters: int, n_original: int, n_synthetic: int) -> Null:
    """Null of logistic pMSE for sets from a model fitted to the original (Snoke et al. 2018)."""
    fresh = simulated_null(parameters, n_original, n_synthetic)
    left = n_original / (n_original + n_synthetic)
    return Null(fresh.mean * left, fresh.sd * left)


def sd_of_mean(sd: float, share: float, sets: int) -> float:
    """Standard deviation of a score's mean over sets that share the original."""
    return sd * math.sqrt((1 + (sets - 1) * share**2) / sets)


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

    def simulated_null(self, parameters: int) -> Null:
        """Null of logistic pMSE for two independent samples."""
        n_synthetic = int(self.synthetic.sum())
        return simulated_null(parameters, len(self.synthetic) - n_synthetic, n_synthetic)

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
    propensities: list[Floats]
    null_pmse: Null | None
    permuted: Floats


def stack_sets(comparison: Comparison) -> tuple[list[Stack], str]:
    """Original over each set, and a note if rows were left out, else ""."""
    rng = comparison.generator(_STREAM_ROWS)
    original = _thinned(comparison.original, rng)
    sets = [_thinned(rows, rng) for rows in comparison.sets]
    stacks = [
        Stack(
            [np.concatenate(pair) for pair in zip(original, rows, strict=True)],
            np.arange(len(original[0]) + len(rows[0])) >= len(original[0]),
        )
        for rows in sets
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


def pair_propensities(comparison: Comparison, stack: Stack) -> Floats:
    """Propensities by logistic regression with pairs, shape (N,), without a null."""
    return Logistic(_pairs(comparison, stack)[0]).fit(stack.synthetic)


def _pairs(comparison: Comparison, stack: Stack) -> Design:
    rng = comparison.generator(_STREAM_PAIRS)  # the same pairs for every set
    design, used, total = pair_design(stack.rows, comparison.columns, rng)
    note = "" if used == total else f"{used:,} of {total:,} pairs of columns, drawn at random"
    return design, note


def _logistic(
    name: str, comparison: Comparison, stacks: list[Stack], designs: Callable[[Stack], Design]
) -> Fitted:
    times = math.ceil(_LOGISTIC_PERMUTATIONS / len(stacks))

    def fit(k: int) -> tuple[Floats, Null, list[tuple[float, float]], str]:
        stack = stacks[k]
        design, note = designs(stack)
        model = Logistic(design)
        labels = stack.permuted(comparison.generator(_STREAM_LABELS, k), times)
        fitted = model.fit_many(labels)
        permuted = [_both(fitted[:, b], labels[:, b]) for b in range(times)]
        about = f"{model.rank:,} parameters" + (f"; {note}" if note else "")
        return model.fit(stack.synthetic), stack.simulated_null(model.rank), permuted, about

    fits = each(fit, range(len(stacks)))
    nulls = [null for _, null, _, _ in fits]
    null = Null(float(np.mean([n.mean for n in nulls])), float(np.mean([n.sd for n in nulls])))
    permuted = np.array([both for _, _, pairs, _ in fits for both in pairs])
    return Fitted(name, fits[0][3], [p for p, _, _, _ in fits], null, permuted)


def tree_propensities(features: NDArray[np.float32], labels: Labels, seed: int) -> Floats:
    """Probability that each row is labelled, by a tree, shape (N,).

    Args:
        features: states, shape (N, columns).
        labels: shape (N,), of both kinds.
        seed: of the evaluation; decides between splits that are equally good.
    """
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(
        max_depth=TREE_DEPTH, min_samples_leaf=TREE_LEAF, random_state=seed % 2**32
    )
    return np.asarray(tree.fit(features, labels).predict_proba(features)[:, 1])


def _tree(comparison: Comparison, stacks: list[Stack]) -> Fitted:
    """The tree on every set, and on permuted labels of one set after the other.

    How often labels are permuted depends on the size of the table, not on a clock, so that the
    result is the same on every machine.
    """
    rows, columns = len(stacks[0].synthetic), len(comparison.columns)
    times = int(np.clip(_TREE_WORK / (rows * columns), 20, 100))
    features = [np.stack(stack.rows, axis=1).astype(np.float32) for stack in stacks]

    def fit(k: int, labels: Labels) -> Floats:
        return tree_propensities(features[k], labels, comparison.seed)

    def permute(b: int) -> tuple[float, float]:
        k = b % len(stacks)
        labels = stacks[k].permuted(comparison.generator(_STREAM_TREE, b), 1)[:, 0]
        return _both(fit(k, labels), labels)

    propensities = each(lambda k: fit(k, stacks[k].synthetic), range(len(stacks)))
    permuted = np.array(each(permute, range(times)))
    note = f"depth {TREE_DEPTH}, at least {TREE_LEAF} rows in a leaf"
    return Fitted("CART", note, propensities, None, permuted)


def _both(propensity: Floats, labels: Labels) -> tuple[float, float]:
    return pmse(propensity, float(labels.mean())), specks(propensity, labels)
