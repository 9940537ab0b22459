"""What is measured on a fitted mechanism and its sets: risk by record, and utility.

Everything is an aggregate: quantile functions over records or resamples, never a record.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.stats import rankdata

from understudy._arrays import Floats
from understudy_studies.framework.csv_numbers import joined
from understudy_studies.framework.study import Row
from understudy_studies.savitsky_williams_hu_2020 import resampling
from understudy_studies.savitsky_williams_hu_2020.consumer_case import Case
from understudy_studies.savitsky_williams_hu_2020.mechanisms import Fit, printed_bounds
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import DATA, MAIN

MEAN, PERCENTILE = "mean", "percentile"
STATISTICS: Final = (MEAN, PERCENTILE)
PEEKING = "_peeking"
"""End of the names of what belongs to sets made in the paper's way."""
WAYS: Final = ("", PEEKING)

RISK_POINTS: Final[Floats] = np.linspace(0, 1, 101)
"""Probabilities at which the bounds of records are kept."""
GROUPS = 40
"""Groups of records by income, of equal size, within which weights are told."""
WEIGHT_POINTS: Final = {"low": 0.05, "high": 0.95}
"""Quantiles of the weights in a group, beside their mean."""

WAYS_OF: Final = tuple(f"{statistic}{way}" for statistic in STATISTICS for way in WAYS)
TEXTS: Final = (
    "risks",
    "values",
    "weights_mean",
    *(f"weights_{name}" for name in WEIGHT_POINTS),
    *WAYS_OF,
)
"""Columns of the rows that hold many numbers, as a text."""
NUMBERS: Final = (
    "weight",
    "full",
    "plain",
    "bound",
    "untruncated",
    "printed",
    "typical",
    "ess",
    "level",
    "wiggle",
    *(f"{name}_off" for name in WAYS_OF),
    *(f"{name}_single" for name in WAYS_OF),
    *(f"follows{way}" for way in WAYS),
)
"""Columns of the rows that hold one number.

weight: mean α; full: share of records with α = 1. plain: Δ of the unweighted chain that weights
were made from, if they were. bound: Δ_α of the sampler's contributions; untruncated: over all
draws; printed: of α_i·|log f|. typical: median bound of a record. ess: effective draws of log Δ_h;
level and wiggle: its mean and variance over the chain. …_off: W₁ from the barycentre to
the distribution on the data, in dollars. …_single: mean W₁ from a single set to the barycentre.
follows: rank correlation of a synthetic income with the confidential one of the same record.
"""


def of_data(case: Case, counts: Floats) -> Row:
    """The confidential records' own row."""
    values = case.values
    distributions = _distributions(values, counts)
    groups = [np.median(group) for group in np.array_split(np.sort(values), GROUPS)]
    texts = {"values": joined(groups)} | {
        name: joined(distribution) for name, distribution in distributions.items()
    }
    scale, shift = MAIN
    return {"mechanism": DATA, "scale": scale, "shift": shift, **texts}


def of_fit(case: Case, fit: Fit, sets: tuple[Floats, Floats], counts: Floats) -> Row:
    """The row of a mechanism.

    Args:
        case: the table.
        fit: the mechanism.
        sets: income of sets, components from π, and in the paper's way; each of shape (m, n).
        counts: of `resampling.resampled_counts`.
    """
    scale, shift = fit.setting
    row: Row = {"mechanism": fit.mechanism, "scale": scale, "shift": shift}
    row |= _risk(case, fit) | _weights(case, fit)
    data = _distributions(case.values, counts)
    for way, incomes in zip(WAYS, sets, strict=True):
        for name, distributions in _distributions(incomes, counts).items():
            middle = resampling.barycentre(distributions)
            row[f"{name}{way}"] = joined(middle)
            row[f"{name}{way}_off"] = float(resampling.distance(middle, data[name]))
            row[f"{name}{way}_single"] = float(resampling.distance(distributions, middle).mean())
        row[f"follows{way}"] = follows(incomes, case.values)
    return row


def follows(sets: Floats, values: Floats) -> float:
    """Mean rank correlation of each set's values, shape (m, n), with those of the same records."""
    ranks = rankdata(values)
    return float(np.mean([np.corrcoef(rankdata(one), ranks)[0, 1] for one in sets]))


def effective_draws(chain: Floats) -> float:
    """Effective number of draws of a chain, by Geyer's initial monotone sequence.

    Autocorrelations are added up in pairs as long as the pairs are positive, none larger than the
    one before; a chain that goes to and fro counts no more than its draws.

    Args:
        chain: shape (S,).

    Source: Geyer (1992), Statistical Science 7, §3.3.
    """
    n, centred = len(chain), chain - chain.mean()
    if not centred.any():
        return float(n)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    correlations = np.fft.irfft(spectrum)[:n]
    correlations /= correlations[0]
    pairs = correlations[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: ends[0] if ends.size else len(pairs)])
    return float(n / max(1.0, 2.0 * kept.sum() - 1.0))


def _distributions(values: Floats, counts: Floats) -> dict[str, Floats]:
    """Distribution of each statistic under resampling, shape (..., 99)."""
    return {
        MEAN: resampling.law_of_mean(values, counts),
        PERCENTILE: resampling.law_of_quantile(values),
    }


def _risk(case: Case, fit: Fit) -> Row:
    before, after = fit.posterior.before, fit.posterior.after
    heights = np.log(np.maximum(after.by_draw, 1e-300))
    return {
        "plain": None if before is None else before.bound,
        "weight": float(fit.posterior.weights.mean()),
        "full": float((fit.posterior.weights == 1).mean()),
        "bound": after.bound,
        "untruncated": float(after.by_draw.max()),
        "printed": printed_bounds(fit, case.records()).bound,
        "typical": float(np.median(after.by_record)),
        "ess": effective_draws(heights),
        "level": float(heights.mean()),
        "wiggle": float(heights.var(ddof=1)),
        "risks": joined(np.quantile(after.by_record, RISK_POINTS)),
    }


def _weights(case: Case, fit: Fit) -> Row:
    """Weights within groups of records by income."""
    order = np.argsort(case.values, kind="stable")
    groups = np.array_split(fit.posterior.weights[order], GROUPS)
    quantiles = {
        f"weights_{name}": joined([np.quantile(group, point) for group in groups])
        for name, point in WEIGHT_POINTS.items()
    }
    return {"weights_mean": joined([group.mean() for group in groups])} | quantiles
