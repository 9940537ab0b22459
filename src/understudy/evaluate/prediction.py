"""Train on synthetic, test on real: does a model learned from a set predict real records?

A fifth of the original rows is set aside. Gradient-boosted trees predict one column from the others
after training on each synthetic set, and, for comparison, on the other original rows; all training
tables have the same number of rows. The synthesizer has seen the set-aside rows too, so the score
of a set is slightly optimistic.

Every measure is a mean over test rows up to a term of higher order. With the influence ψ of each
row, standard errors are sd(ψ)/√rows, those of differences and of means over sets included; they
count the choice of test rows, not that of training rows.

Sources:
    Influence of the area under the curve: DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44,
    837-845.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from understudy._arrays import Codes, Floats
from understudy._parallel import each
from understudy.evaluate.comparison import Comparison, Rows, has_order
from understudy.evaluate.scores import DEFINITIONS, Metric
from understudy.schema import NUMERIC, Column

MOST_TRAINING_ROWS = 40_000
MOST_CLASSES = 10
FEWEST_ROWS = 50
_ROUNDS = 60
_MOST_CATEGORIES = 255
_STREAM = 20


@dataclass(frozen=True)
class Measured:
    """A measure of prediction on the test rows.

    Attributes:
        value: the measure.
        influence: of each test row, mean 0, shape (n_test,).
    """

    value: float
    influence: Floats


def accuracy(correct: NDArray[np.bool_]) -> Measured:
    """Share of correct predictions; `correct` has shape (n_test,)."""
    value = float(correct.mean())
    return Measured(value, correct.astype(np.float64) - value)


def area_under_curve(positive: NDArray[np.bool_], score: Floats) -> Measured:
    """Probability that a positive row scores above a negative one, ties counting half.

    Args:
        positive: shape (n_test,), with rows of both kinds.
        score: shape (n_test,).
    """
    ranks = rankdata(score)
    within = np.empty(len(score))
    within[positive], within[~positive] = rankdata(score[positive]), rankdata(score[~positive])
    # How many of the other kind lie below a positive, or above a negative, as a share.
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    placed = np.where(positive, (ranks - within) / n_negative, 1 - (ranks - within) / n_positive)
    value = float(placed[positive].mean())
    weight = len(score) / np.where(positive, n_positive, n_negative)
    return Measured(value, weight * (placed - value))


def r_squared(truth: Floats, predicted: Floats) -> Measured:
    """Share of variance explained on the test rows; both of shape (n_test,), truth not constant."""
    error, deviation = (truth - predicted) ** 2, (truth - truth.mean()) ** 2
    total = deviation.mean()
    value = float(1 - error.mean() / total)
    return Measured(value, (1 - value) * deviation / total - error / total)


def default_target(comparison: Comparison, among: Sequence[int] | None = None) -> int:
    """Column that is predicted: the first of two states, else the one with levels that has fewest.

    Numbers come last.

    Args:
        comparison: original and sets.
        among: columns to choose from; all if None.
    """
    positions = range(len(comparison.columns)) if among is None else among

    def order(j: int) -> tuple[bool, int]:
        column = comparison.columns[j]
        return isinstance(column, NUMERIC), column.n_ordinary

    candidates = [j for j in positions if comparison.columns[j].n_ordinary > 1]
    return min(candidates or positions[:1], key=order)


def prediction_scores(comparison: Comparison, target: int) -> tuple[Metric, ...] | str:
    """Accuracy and area under the curve, or R²; or why there are none.

    Rows where the target has no ordinary state are left out.

    Args:
        comparison: original and sets.
        target: the column that is predicted.
    """
    column, name = comparison.columns[target], comparison.schema.names[target]
    original = _ordinary(comparison.original, column, target)
    sets = [_ordinary(rows, column, target) for rows in comparison.sets]
    if len(comparison.columns) < 2:
        return "Nothing is predicted: there is one column."
    if min(len(rows[target]) for rows in (original, *sets)) < FEWEST_ROWS:
        return f"{name} is not predicted: a table has fewer than {FEWEST_ROWS} rows with a value."
    rng = comparison.generator(_STREAM)
    order = rng.permutation(len(original[target]))
    n_test = len(order) // 5
    test, rest = _take(original, order[:n_test]), _take(original, order[n_test:])
    n_train = min(MOST_TRAINING_ROWS, *(len(rows[target]) for rows in (rest, *sets)))
    tables = [_take(t, rng.permutation(len(t[target]))[:n_train]) for t in (rest, *sets)]
    task = _task(comparison, target, original)
    if np.ptp(task.code(test[target])) == 0:
        return f"{name} is not predicted: it is constant in the original rows set aside."
    measured = each(lambda table: task.measure(table, test), tables)
    note = f"{n_test:,} test rows; each model from {n_train:,} rows"
    return tuple(
        _score(kind, f" for {name}", [values[kind] for values in measured], note)
        for kind in measured[0]
    )


def _score(kind: str, detail: str, measured: list[Measured], note: str) -> Metric:
    """The sets against the original; the null's sd is the standard error of their difference."""
    real, *sets = measured
    mean = np.mean([result.influence for result in sets], axis=0)
    n = len(real.influence)
    error, difference = mean.std() / np.sqrt(n), (mean - real.influence).std() / np.sqrt(n)
    return Metric.over_sets(
        DEFINITIONS[f"trained on synthetic, {kind}"],
        [result.value for result in sets],
        detail=detail,
        null=real.value,
        null_sd=float(difference),
        note=f"null: trained on real; standard error {error:.2g}, of the difference "
        f"{difference:.2g}, over test rows; {note}",
    )


@dataclass(frozen=True)
class _Task:
    """A prediction task: its label, its predictors and its metric."""

    target: int
    columns: tuple[Column, ...]
    code: Callable[[Codes], Codes]
    numeric: bool
    seed: int

    def measure(self, train: Rows, test: Rows) -> dict[str, Measured]:
        """Train on one table and judge on another."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        used = self._informative(train)
        x, y = self._features(train, used), self.code(train[self.target])
        x_test, truth = self._features(test, used), self.code(test[self.target])
        if self.numeric and not used:
            return {"R²": r_squared(truth.astype(float), np.full(len(truth), y.mean()))}
        if self.numeric:
            model = HistGradientBoostingRegressor(**self._options(used)).fit(x, y)
            return {"R²": r_squared(truth.astype(float), model.predict(x_test))}
        if not used or np.ptp(y) == 0:  # a set with one class predicts that class
            guessed = {"accuracy": accuracy(truth == np.bincount(y).argmax())}
            return guessed | self._area(truth, np.ones((len(truth), 1)), np.unique(y))
        model = HistGradientBoostingClassifier(**self._options(used)).fit(x, y)
        shares = model.predict_proba(x_test)
        scores = {"accuracy": accuracy(model.classes_[shares.argmax(axis=1)] == truth)}
        return scores | self._area(truth, shares, model.classes_)

    def _area(self, truth: Codes, shares: Floats, classes: Codes) -> dict[str, Measured]:
        """Of the second of two classes; of more, the mean of each against the rest.

        Args:
            truth: class of each test row, shape (n_test,).
            shares: predicted shares, shape (n_test, learned classes).
            classes: which class each column of them is.
        """
        share_of = dict(zip(classes.tolist(), shares.T, strict=True))
        nothing = np.zeros(len(truth))  # a class that the training rows lack
        there = np.unique(truth).tolist()
        judged = [1] if self.columns[self.target].n_ordinary == 2 else there
        areas = [area_under_curve(truth == one, share_of.get(one, nothing)) for one in judged]
        value = float(np.mean([area.value for area in areas]))
        mean = np.mean([area.influence for area in areas], axis=0)
        return {"area under the curve": Measured(value, mean)}

    def _options(self, used: list[int]) -> dict[str, object]:
        others = [self.columns[j] for j in used]
        named = [not has_order(c) and c.size < _MOST_CATEGORIES for c in others]
        return {
            "max_iter": _ROUNDS,
            "early_stopping": False,
            "categorical_features": named,
            "random_state": self.seed,
        }

    def _informative(self, train: Rows) -> list[int]:
        """Columns that the training rows know anything about."""
        known = [(codes < c.n_ordinary).any() for codes, c in zip(train, self.columns, strict=True)]
        return [j for j, any_known in enumerate(known) if any_known and j != self.target]

    def _features(self, rows: Rows, used: list[int]) -> Floats:
        """State numbers; absent values of ordered columns are NaN, which the trees understand."""
        features = np.empty((len(rows[self.target]), len(used)))
        for k, j in enumerate(used):
            column = self.columns[j]
            known = rows[j] < column.n_ordinary if has_order(column) else True
            features[:, k] = np.where(known, rows[j], np.nan)
        return features


def _task(comparison: Comparison, target: int, original: Rows) -> _Task:
    column = comparison.columns[target]
    numeric = isinstance(column, NUMERIC)
    counts = np.bincount(original[target], minlength=column.n_ordinary)
    classes = np.arange(column.n_ordinary)
    if not numeric and column.n_ordinary > MOST_CLASSES:  # the rare ones count as one class
        rank = np.empty_like(classes)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        classes = np.minimum(rank, MOST_CLASSES - 1)
    seed = comparison.seed % 2**32
    return _Task(target, comparison.columns, lambda codes: classes[codes], numeric, seed)


def _ordinary(rows: Rows, column: Column, target: int) -> Rows:
    return _take(rows, np.flatnonzero(rows[target] < column.n_ordinary))


def _take(rows: Rows, places: Codes) -> Rows:
    return [codes[places] for codes in rows]
