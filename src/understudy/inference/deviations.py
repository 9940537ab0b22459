"""Standard deviations: roots of a variance that is known with an error.

The interval has the roots of the ends of an interval of the variance, cut off at 0. The variance is
Q/n − (S/n)², linear in what was measured but for the square of the error e of the mean. Its
expectation, the variance s² of the mean by noise and sampling, is given back, and its own variance
2s⁴ is counted: it is most of the error of what is 0 or 1 with even shares.

Of the cells of a number line each record counts as the middle m of its cell. With d the distance
to the further end, Minkowski's inequality has |σ(x) − σ(m)| ≤ √E(x − m)² ≤ √E d²: the bound on the
bias. Sampling has the fourth moment: (E(m − μ)⁴ − σ⁴)/n.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from understudy._arrays import Floats
from understudy.inference.bin_bias import end_scores
from understudy.inference.combining import Pooled, Untested
from understudy.inference.conditions import require_told
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import FEWEST, Counted
from understudy.inference.linear import require_firm
from understudy.inference.noisy_tables import Counts
from understudy.inference.question import Estimand
from understudy.inference.records import ABSENT
from understudy.inference.second_moments import LostInNoiseError
from understudy.schema import Schema


@dataclass(frozen=True)
class Roots(Untested):
    """Roots of estimates, with the roots of the ends of their intervals.

    Attributes:
        squares: what they are roots of.
        further: bias of the roots themselves, shape (k,).
    """

    squares: Pooled | None = None
    further: Floats | None = None

    @classmethod
    def of(cls, squares: Pooled, further: Floats) -> Roots:
        """The roots of estimates above 0.

        Args:
            squares: the estimates.
            further: bias of the roots, beside that of the squares, shape (k,).
        """
        own = {field.name: getattr(squares, field.name) for field in fields(Pooled)}
        own["estimate"] = root = np.sqrt(squares.estimate)
        own["covariance"] = squares.covariance / (4 * np.multiply.outer(root, root))
        own["bias"], own["lean"] = squares.bias / (2 * root) + further, squares.lean / (2 * root)
        return cls(**own, squares=squares, further=further)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Ends of the confidence intervals, each of shape (k,); none below 0.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        assert self.squares is not None
        assert self.further is not None
        lower, upper = (np.sqrt(np.maximum(end, 0)) for end in self.squares.interval(level))
        return np.maximum(lower - self.further, 0), upper + self.further


def line_deviation(
    estimand: Estimand, table: Counts, schema: Schema, tables: int, shown: Floats
) -> Counted:
    """The standard deviation of a number in the cells of its line.

    Args:
        estimand: the question.
        table: counts of the cells, with the sources of their noise.
        schema: in these cells.
        tables: how many measurements they rest on.
        shown: values of the synthetic records, which decide whether noise hides it.

    Raises:
        LostInNoiseError: noise hides the variance, or the counts show no records.
        InferenceError: the expression cannot be computed, or not record by record, or cells do not
            tell who meets a condition.
    """
    assert table.sources is not None
    require_told(estimand, schema)
    scores = cell_scores(estimand, schema)
    used = scores.quantity != ABSENT
    counts, value = np.where(used, table.counts, 0.0), scores.value
    n = float(counts.sum())
    if n < FEWEST:
        raise LostInNoiseError("By the noisy counts there are no records.")
    centred = np.where(used, value - float(counts @ value) / n, 0.0)
    variance = float(counts @ centred**2) / n
    of_mean = float(table.sources.covariance(centred, centred)) / n**2 + max(variance, 0.0) / n
    variance += of_mean
    influence = np.where(used, centred**2 - variance, 0.0)
    noise = float(table.sources.covariance(influence, influence)) / n**2 + 2 * of_mean**2
    require_firm(
        np.array([shown.var()]), np.array([noise]), "The number varies too little in its cells"
    )
    if variance <= 0:
        raise LostInNoiseError("By the noisy counts the number does not vary.")
    sampling = max(float(counts @ influence**2), 0.0) / n**2
    squares = Pooled(
        names=estimand.names(schema),
        estimate=np.array([variance]),
        covariance=np.array([[noise + sampling]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([noise / max(noise + sampling, 1e-300)]),
        rule="noise-aware",
        sets=tables,
    )
    ends = end_scores(estimand, schema, scores)
    bias = 0.0
    if ends is not None:
        low, high = (np.where(used, one.value - value, 0.0) for one in ends)
        room = np.maximum(-low, high) ** 2
        error = 2 * float(np.sqrt(table.sources.covariance(room, room)))
        bias = float(np.sqrt(max(float(counts @ room) + error, 0.0) / n))
    return Counted(
        pooled=Roots.of(squares, np.array([bias])),
        dropped=float(table.counts[~used].sum()),
        dropped_noise=float(np.sqrt(table.variances[~used].sum())),
        varied=bias > 0,
    )
