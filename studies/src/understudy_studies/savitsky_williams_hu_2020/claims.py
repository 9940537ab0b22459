"""What the paper says of its comparison, each point beside our results on the reported model.

The points are those of Savitsky, Williams & Hu (2020), sections 3.1, 4.2 and 4.3, in our words.
Each is put as margins, a setting or a mechanism a case: the mean over the repetitions of by how
much it holds, and the Monte Carlo error of that. Where the paper says "similar" or "little", the
rule says how much. Causes are in `claim_causes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from understudy._arrays import Floats
from understudy_studies.framework import claim_verdicts
from understudy_studies.framework.claim_verdicts import Verdict, judged_by_margins
from understudy_studies.framework.study import RunRecord, TextTable
from understudy_studies.framework.verdict_causes import Cause
from understudy_studies.savitsky_williams_hu_2020 import claim_causes
from understudy_studies.savitsky_williams_hu_2020.mechanism_results import (
    Results,
    View,
    mean_and_error_of,
)
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COUNT,
    MAIN,
    MECHANISMS,
    SCALAR,
    UNWEIGHTED,
    VECTOR,
)
from understudy_studies.savitsky_williams_hu_2020.risk_and_utility import (
    MEAN,
    PEEKING,
    PERCENTILE,
    STATISTICS,
)

SIMILAR = 0.25
"""Bounds are similar if they differ by less than this part."""
SLIGHTLY = 0.5
"""A bound is slightly above another if it is so by less than this part."""
HALVED = (0.4, 0.65)
"""A bound is halved if it comes down to a part between these."""
TRUNCATED = 0.25
"""Dropping draws changes a bound little if it does so by less than this part."""


def told(results: Results, run_record: RunRecord) -> tuple[tuple[str, ...], TextTable | None]:
    """How many points hold, those that do not, and the table of all.

    What counts is the number of repetitions of the model that is judged.

    Args:
        results: the results.
        run_record: how the study was run.
    """
    n = results.reported.repetitions
    judged = replace(run_record, repetitions=(n, n))
    return claim_verdicts.told(lambda: tuple(about(results)), judged)


def about(results: Results) -> Iterator[Verdict]:
    """The verdicts on the reported model."""
    view = results.reported
    yield from _risks(view)
    yield from _settings(view)
    yield from _utility(view)
    yield from _asides(view)


def _point(
    view: View, claim: str, measured: str, margins: list[tuple[float, float]], why: Cause
) -> Verdict:
    return judged_by_margins(claim, measured, margins, repetitions=view.repetitions, why=why)


def _risks(view: View) -> Iterator[Verdict]:
    """Figure 2."""
    point = partial(_point, view)
    bounds = {mechanism: view.each("bound", mechanism) for mechanism in MECHANISMS}
    yield point(
        "The unweighted synthesizer has the largest bound.",
        f"Δ: {_list(view)}",
        [mean_and_error_of(bounds[UNWEIGHTED] - bounds[m]) for m in (VECTOR, SCALAR, COUNT)],
        claim_causes.LARGEST,
    )
    ratios = bounds[COUNT] / bounds[VECTOR]
    yield point(
        "Count weights reach a bound slightly above that of vector weights.",
        f"Count weights have {_with_error(ratios)} times the bound of vector weights",
        [_between(ratios, 1.0, 1.0 + SLIGHTLY)],
        claim_causes.COUNT_BOUND,
    )
    every = view.every("bound", SCALAR) / view.every("bound", VECTOR)
    yield point(
        "Scalar weights set by the vector weights’ bound have a similar one.",
        f"Computed anew, it is {_along(every)} times that of the vector weights",
        [_between(one, 1.0 - SIMILAR, 1.0 + SIMILAR) for one in every],
        claim_causes.SCALAR_BOUND,
    )
    low, high = view.each("typical", SCALAR), view.each("typical", VECTOR)
    yield point(
        "Most records have a lower bound under scalar than under vector weights.",
        f"Median bound of a record: {_with_error(low)} | {_with_error(high)}",
        [mean_and_error_of(high - low)],
        claim_causes.TYPICAL,
    )


def _settings(view: View) -> Iterator[Verdict]:
    """Table 2."""
    bounds = view.every("bound", VECTOR)
    yield _point(
        view,
        "The bound falls from each setting (c, g) of table 2 to the next.",
        f"Δ: {_along(bounds)}",
        [mean_and_error_of(here - there) for here, there in pairwise(bounds)],
        claim_causes.FALLS,
    )
    parts = bounds[-1] / bounds[0]
    yield _point(
        view,
        "Over these settings it is halved.",
        f"It comes down to {_with_error(parts)} of what it was (paper: 0.57)",
        [_between(parts, *HALVED)],
        claim_causes.HALVES,
    )


def _utility(view: View) -> Iterator[Verdict]:
    """Figures 3 to 5."""
    for way, words in (("", ""), (PEEKING, ", also where sets are made in the paper’s way")):
        for statistic, named, cases in (
            (PERCENTILE, "the 90th percentile, at each setting", len(view.settings)),
            (MEAN, "the mean, at the first setting", 1),
        ):
            name = f"{statistic}{way}_off"
            ours, theirs = (view.every(name, m)[:cases] for m in (VECTOR, SCALAR))
            yield _point(
                view,
                f"At a bound set equal, scalar weights lose more than vector weights in {named}"
                f"{words}.",
                f"W₁ to the data, in $1,000: scalar {_along(theirs / 1000, 1)}; vector "
                f"{_along(ours / 1000, 1)}",
                [mean_and_error_of(one) for one in theirs - ours],
                claim_causes.PERCENTILE_LOST if statistic == PERCENTILE else claim_causes.MEAN_LOST,
            )
    yield _as_good(view)
    count, vector = (view.each(f"{PERCENTILE}_off", mechanism) for mechanism in (COUNT, VECTOR))
    yield _point(
        view,
        "Count weights keep the 90th percentile worse than vector weights.",
        f"W₁ in $1,000: count {_thousands(count)}; vector {_thousands(vector)}",
        [mean_and_error_of(count - vector)],
        claim_causes.COUNT_LOST,
    )
    ours, theirs = (_lost(view, mechanism) for mechanism in (VECTOR, SCALAR))
    yield _point(
        view,
        "From the first setting to the last, vector weights lose less than scalar weights.",
        f"W₁ of the percentile grows by, in $1,000: vector {_thousands(ours)}; scalar "
        f"{_thousands(theirs)}",
        [mean_and_error_of(theirs - ours)],
        claim_causes.SLOPES,
    )


def _as_good(view: View) -> Verdict:
    margins, words = list[tuple[float, float]](), list[str]()
    for statistic in STATISTICS:
        more = view.each(f"{statistic}_off", VECTOR) - view.each(f"{statistic}_off", UNWEIGHTED)
        margins.append(mean_and_error_of(view.spread(statistic) - more))
        words.append(f"{statistic} {_thousands(more)} (sd {view.spread(statistic) / 1000:.1f})")
    return _point(
        view,
        "Vector weights give mean and percentile as well as no weights: not farther by one "
        "standard deviation of the statistic.",
        f"W₁ is larger by, in $1,000: {'; '.join(words)}",
        margins,
        claim_causes.AS_GOOD,
    )


def _asides(view: View) -> Iterator[Verdict]:
    """Section 3.1, and the sets."""
    margins, words = list[tuple[float, float]](), list[str]()
    for statistic in STATISTICS:
        found = [view.each(f"{statistic}_single", mechanism) for mechanism in MECHANISMS]
        margins += [mean_and_error_of(view.spread(statistic) - one) for one in found]
        words.append(
            f"{statistic} {_along(np.array(found) / 1000, 1)} "
            f"(sd {view.spread(statistic) / 1000:.1f})"
        )
    yield _point(
        view,
        "A single set shows much the same as the barycentre of 20: its W₁ from it is less than a "
        "standard deviation of the statistic.",
        f"In $1,000, by mechanism: {'; '.join(words)}",
        margins,
        claim_causes.SINGLE,
    )
    every = [view.each("untruncated", m) / view.each("bound", m) for m in MECHANISMS]
    yield _point(
        view,
        "Dropping the five in a hundred draws with the largest log-likelihoods changes the bound "
        "little.",
        f"Without, it is {_along(np.array(every))} times as large, by mechanism",
        [mean_and_error_of(1.0 + TRUNCATED - one) for one in every],
        claim_causes.DROPPED,
    )


def _lost(view: View, mechanism: str) -> Floats:
    every = view.every(f"{PERCENTILE}_off", mechanism)
    return np.asarray(every[-1] - every[0])


def _between(values: Floats, low: float, high: float) -> tuple[float, float]:
    """By how much the mean of values lies between two numbers, and its error."""
    mean, error = mean_and_error_of(values)
    return min(mean - low, high - mean), error


def _list(view: View) -> str:
    return ", ".join(
        f"{mechanism} {_with_error(view.each('bound', mechanism, MAIN), 1)}"
        for mechanism in MECHANISMS
    )


def _along(values: Floats, digits: int = 2) -> str:
    """Means over the last axis, in order."""
    return ", ".join(f"{one:.{digits}f}" for one in values.mean(axis=-1)).replace("-", "−")


def _with_error(values: Floats, digits: int = 2) -> str:
    mean, error = mean_and_error_of(values)
    words = f"{mean:.{digits}f}".replace("-", "−")
    return words + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def _thousands(values: Floats) -> str:
    return _with_error(values / 1000, 1)
