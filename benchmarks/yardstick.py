"""How far a synthetic table lies from the real one, by the scores that the utility tables quote.

What they are called stands in `TITLES`, and what each is, beside the scores of `evaluate`, in
`understudy.evaluation.definitions`: names differ where meanings do.

Tables are arrays of codes, shape (rows, columns). Lower is better, but for AUC and accuracy.

* **tv1, tv2, tv3**: mean total variation distance (half the L1 distance of shares) of all tables of
  one column, all of two, and 64 of three, the same ones for every table of as many columns.
* **specks_lr, specks_cart** (Bowen & Liu, 2020): Kolmogorov-Smirnov distance between the
  propensity scores of real and synthetic rows, by logistic regression on main effects (wide columns
  in groups cut at quantiles of the real rows), and by a tree of depth 5.
* **pmse_ratio** (Snoke et al., 2018): mean squared distance of the logistic propensity scores from
  the share of synthetic rows, over what it is on average for rows drawn from the real ones, with
  replacement; a second sample of the population would have 2.
* **auc, accuracy**: gradient boosting learns the target from the synthetic rows and predicts it in
  a fifth of the real rows; with more than two classes the mean over one class against the rest.

No score is enough alone: independent columns are perfect by specks_lr, and a tree of depth 5 sees
few columns. Every random choice has a fixed seed and does not depend on the synthetic rows. The
method has seen the test rows, as is usual, so AUC and accuracy are mildly optimistic.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

TITLES = {
    "tv1": "tv1",
    "tv2": "tv2",
    "tv3": "tv3 (64)",
    "specks_lr": "SPECKS-lr",
    "specks_cart": "SPECKS-cart",
    "pmse_ratio": "pMSE / resampled",
    "auc": "AUC",
    "accuracy": "accuracy",
}
"""Key of a record → name of the score."""

Codes = NDArray[np.integer]
TRIPLES = 64
TRIPLES_SEED = 20240601
COUNTED_CELLS = 4_000_000  # a wider table is counted by the cells that occur
ONE_HOT_CODES = 24  # a column with more codes is cut into groups for the logistic regression
GROUPS = 16


def distances(
    real: Codes, synthetic: Codes, sizes: Sequence[int], *, most_cells: int | None = None
) -> dict[str, float]:
    """tv1, tv2 and tv3, and the largest of one column and of two; NaN where no table is left.

    Args:
        real: shape (n, columns).
        synthetic: shape (m, columns).
        sizes: number of codes of each column.
        most_cells: tables of two and three columns with more cells are left out.
    """
    width = len(sizes)
    ones = [(j,) for j in range(width)]
    twos = _narrow(combinations(range(width), 2), sizes, most_cells)
    threes = triples(_narrow(combinations(range(width), 3), sizes, most_cells))
    left, right = _by_column(real), _by_column(synthetic)
    first, second, third = (
        [distance(left, right, sizes, columns) for columns in tables]
        for tables in (ones, twos, threes)
    )
    return {
        "tv1": float(np.mean(first)),
        "tv2": float(np.mean(second)) if second else np.nan,
        "tv3": float(np.mean(third)) if third else np.nan,
        "tv1_max": max(first),
        "tv2_max": max(second, default=np.nan),
    }


def triples(candidates: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """64 of the candidates, in their order, always the same; all of them if there are no more."""
    if len(candidates) <= TRIPLES:
        return list(candidates)
    rng = np.random.default_rng(TRIPLES_SEED)
    return [candidates[i] for i in sorted(rng.choice(len(candidates), TRIPLES, replace=False))]


def distance(
    real: Sequence[Codes], synthetic: Sequence[Codes], sizes: Sequence[int], columns: Sequence[int]
) -> float:
    """Total variation distance of the tables of some columns, in [0, 1].

    Args:
        real: one array of codes per column, each of shape (n,).
        synthetic: the same, each of shape (m,).
        sizes: number of codes of each column.
        columns: which ones are crossed.
    """
    left, right = _cells(real, sizes, columns), _cells(synthetic, sizes, columns)
    n_cells = prod(sizes[j] for j in columns)
    if n_cells > COUNTED_CELLS:
        occurring, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        left, right, n_cells = places[: len(left)], places[len(left) :], len(occurring)
    shares = np.bincount(left, minlength=n_cells) / len(left)
    shares -= np.bincount(right, minlength=n_cells) / len(right)
    return float(np.abs(shares, out=shares).sum() / 2)


def discrimination(real: Codes, synthetic: Codes) -> dict[str, float]:
    """specks_lr, specks_cart and pmse_ratio: how well models tell synthetic rows from real ones."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    both = np.concatenate([real, synthetic])
    label = np.repeat([0, 1], [len(real), len(synthetic)])
    design = main_effects(real, both)
    with warnings.catch_warnings(), threadpool_limits(1):
        # 300 steps belong to the definition, converged or not.
        warnings.simplefilter("ignore", ConvergenceWarning)
        linear = LogisticRegression(C=1e6, max_iter=300, tol=1e-5).fit(design, label)
    score = linear.predict_proba(design)[:, 1]
    tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=0)
    found = tree.fit(both, label).predict_proba(both)[:, 1]
    share = label.mean()
    expected = design.shape[1] * (1 - share) ** 2 * share / len(label)
    return {
        "specks_lr": largest_gap(score[label == 0], score[label == 1]),
        "specks_cart": largest_gap(found[label == 0], found[label == 1]),
        "pmse_ratio": float(np.mean((score - share) ** 2) / expected),
    }


def largest_gap(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Largest distance of two empirical distribution functions (Kolmogorov-Smirnov)."""
    places = np.unique(np.concatenate([left, right]))
    below = [
        np.searchsorted(np.sort(one), places, side="right") / len(one) for one in (left, right)
    ]
    return float(np.abs(below[0] - below[1]).max())


def main_effects(real: Codes, both: Codes) -> csr_matrix:
    """Indicators of the codes, or of groups of them, the first of each column left out.

    Args:
        real: shape (n, columns); decides which columns are wide, and where they are cut.
        both: shape (rows, columns); the rows that are wanted.

    Returns:
        Shape (rows, indicators).
    """
    indicators, start = [], 0
    for own, column in zip(real.T, both.T, strict=True):
        levels, codes = np.unique(_grouped(own, column), return_inverse=True)
        indicators.append(np.where(codes > 0, start + codes - 1, -1))
        start += len(levels) - 1
    chosen = np.stack(indicators, axis=1)
    kept = chosen >= 0
    pointer = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    values = np.ones(int(pointer[-1]))
    return csr_matrix((values, chosen[kept], pointer), shape=(len(both), start))


def prediction(
    train: Codes, real: Codes, target: int, *, real_rows: bool = False
) -> dict[str, float]:
    """How well a model that learned from some rows predicts a fifth of the real ones.

    Args:
        train: shape (m, columns); rows that are learned from.
        real: shape (n, columns); a fifth of it, drawn by class, is the test.
        target: the column that is predicted.
        real_rows: learn from the other four fifths of the real rows instead: what could be reached.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import train_test_split

    rest, test = train_test_split(real, test_size=0.2, random_state=0, stratify=real[:, target])
    learned = rest if real_rows else train
    truth, known = test[:, target], learned[:, target]
    if len(np.unique(known)) == 1:
        return {"auc": 0.5, "accuracy": float(np.mean(truth == known[0]))}
    model = HistGradientBoostingClassifier(random_state=0)
    with threadpool_limits(1):  # threads that wait for a busy processor cost more than they give
        model.fit(np.delete(learned, target, axis=1), known)
        shares = model.predict_proba(np.delete(test, target, axis=1))
    guessed = model.classes_[shares.argmax(axis=1)]
    return {
        "auc": _mean_area(truth, shares, model.classes_),
        "accuracy": float(np.mean(guessed == truth)),
    }


def _mean_area(truth: Codes, shares: NDArray[np.float64], classes: Codes) -> float:
    """Area under the ROC curve, of the second of two classes or mean over one against the rest."""
    from sklearn.metrics import roc_auc_score

    binary = len(classes) == 2 and len(np.unique(truth)) == 2
    judged = [1] if binary else range(len(classes))
    hits = [(truth == classes[k], shares[:, k]) for k in judged]
    areas = [roc_auc_score(hit, share) for hit, share in hits if 0 < hit.sum() < len(hit)]
    return float(np.mean(areas))


def _grouped(real: Codes, column: Codes) -> Codes:
    """A wide column in groups: the most frequent code apart, the rest cut at quantiles."""
    levels, counts = np.unique(real, return_counts=True)
    if len(levels) <= ONE_HOT_CODES:
        return column
    mode = levels[counts.argmax()]
    places = np.linspace(0, 1, GROUPS + 1)[1:-1]
    cuts = np.unique(np.quantile(real[real != mode], places))
    return np.where(column == mode, -1, np.searchsorted(cuts, column, side="right"))


def _narrow(
    tables: Iterator[tuple[int, ...]], sizes: Sequence[int], most_cells: int | None
) -> list[tuple[int, ...]]:
    if most_cells is None:
        return list(tables)
    return [columns for columns in tables if prod(sizes[j] for j in columns) <= most_cells]


def _by_column(codes: Codes) -> list[Codes]:
    """Columns that lie in one piece of memory each, in numbers that cells can be computed in."""
    return list(np.ascontiguousarray(codes.T, dtype=np.int64))


def _cells(columns: Sequence[Codes], sizes: Sequence[int], chosen: Sequence[int]) -> Codes:
    """The cell of each record, in mixed radix, shape (n,)."""
    cells = columns[chosen[0]]
    for j in chosen[1:]:
        cells = cells * sizes[j] + columns[j]
    return cells
