"""What other readings of study 2 give: the tables that the causes of its verdicts name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.bowen_liu_2020.continuous.mean_causes import of_bins
from understudy_studies.bowen_liu_2020.continuous.mean_error_claims import (
    HISTOGRAMS,
    MODELS,
    points,
    size,
)
from understudy_studies.bowen_liu_2020.continuous.simulation import (
    ASYMMETRIC,
    BINS,
    ENDS,
    MEAN,
    MS,
    N_ROWS,
    ORIGINAL,
    OTHER_RULES,
    PERTURBED,
    RULE_BUDGETS,
    SETS,
    SMOOTHED,
    VARIANCE,
    VARIANCES,
    Shape,
)
from understudy_studies.bowen_liu_2020.panels import BIAS, RMSE
from understudy_studies.framework.result_curves import (
    Curves,
    Reading,
    below,
    by_budget,
    plain,
    span,
)
from understudy_studies.framework.study import TextTable

_WORDS = {BIAS: "bias", RMSE: "RMSE"}


def sensitivity_tables(curves: Curves) -> tuple[TextTable, ...]:
    """All of them."""
    return (_drawn(curves), _by_budget(curves), _rules(curves))


def _drawn(curves: Curves) -> TextTable:
    mean = Reading(curves, MEAN)
    wide = ENDS[ASYMMETRIC][1] - ENDS[ASYMMETRIC][0]
    rows = []
    for n in N_ROWS:
        here = [(ASYMMETRIC, variance, n) for variance in VARIANCES]
        width = wide / curves.along("bins_median", here[0], BINS, PERTURBED)[0]
        for method, exact in (
            (MS, np.sqrt(1 + 2 / SETS)),
            (PERTURBED, of_bins(width, SETS)),
            (SMOOTHED, of_bins(width, 1)),
        ):
            ratios = [mean.last(RMSE, p, method) / mean.last(RMSE, p, ORIGINAL) for p in here]
            rows.append((f"{method}, n = {n:,}", f"{exact:.3f}", span(ratios, ".3f")))
    return TextTable(
        caption=(
            "Sets that are drawn: RMSE for μ at the largest budget over that of the data, by the "
            "design (√(1 + 2/10) for multiple synthesis; √(1 + r + (1 + 2r)/m) for bins of width "
            "h, r = h²/(12σ²)), and measured within asymmetric bounds"
        ),
        headings=("", "by the design", "measured"),
        rows=tuple(rows),
    )


def _by_budget(curves: Curves) -> TextTable:
    reading, rows = Reading(curves, VARIANCE), []
    ends = [budget for budget in (-2.0, -1.0, 0.0, 1.0, 2.0, 4.0) if budget in curves.budgets]
    for shape in ENDS:
        for value, words in _WORDS.items():
            for model in MODELS:
                for histogram in HISTOGRAMS:
                    texts = []
                    for end in ends:
                        holds = list(_larger(reading, shape, value, (model, histogram), end))
                        texts.append(f"{sum(holds)} of {len(holds)}")
                    label = f"{shape}, {words}: {histogram} above {model}"
                    rows.append((label, *texts))
    return TextTable(
        caption=(
            "Error for σ² by budget: in how many cases at log ε from −2 to an end it is larger for "
            "a histogram than for MODIPS"
        ),
        headings=("", *(f"to {plain(end)}" for end in ends)),
        rows=tuple(rows),
    )


def _larger(
    reading: Reading, shape: Shape, value: str, methods: tuple[str, str], end: float
) -> Iterator[bool]:
    for point in points(reading, shape):
        model, histogram = (
            size(reading.between(value, point, method, -2.0, end)) for method in methods
        )
        yield from below(model, histogram)


def _rules(curves: Curves) -> TextTable:
    budgets = [budget for budget in RULE_BUDGETS if budget in curves.budgets]
    rows = []
    for n in N_ROWS:
        point = (ASYMMETRIC, 1.0, n)
        for method in (PERTURBED, *OTHER_RULES):
            bins = curves.along("bins_median", point, BINS, method)[0]
            errors = [
                f"{Reading(curves, MEAN).at(RMSE, point, method, budget):.3f} / "
                f"{Reading(curves, VARIANCE).at(RMSE, point, method, budget):.3f}"
                for budget in budgets
            ]
            rule = "Scott" if method == PERTURBED else method.partition(", ")[2]
            rows.append((f"n = {n:,}, {rule}", f"{bins:g}", *errors))
    return TextTable(
        caption=(
            "The three rules for bins that the paper compares before it takes Scott’s: median "
            "number of bins (printed: 7, 10 and 21), and RMSE for μ / for σ² of the perturbed "
            "histogram, within asymmetric bounds, σ² = 1"
        ),
        headings=("", "bins", *by_budget(budgets)),
        rows=tuple(rows),
    )
