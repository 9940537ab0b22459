"""What the paper says of its comparison, each point beside our results, on each scale.

The points are those of Savitsky, Williams & Hu (2020), sections 3.1, 4.2 and 4.3, in our words.
Each is put as cases by a rule that was written before results were seen; a case is a repetition, or
a repetition at a setting. Where the paper says "similar" or "little", the rule says how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy_studies.framework.claim_verdicts import Verdict, comparison, judged
from understudy_studies.framework.result_curves import span
from understudy_studies.framework.study import RunRecord, TextTable
from understudy_studies.savitsky_williams_hu_2020.mechanism_results import Results, View, compared
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COUNT,
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
from understudy_studies.snoke_slavkovic_2018.readings import Read

FEWEST = 3
"""Of fewer repetitions than this nothing is said."""
SIMILAR = 0.25
"""Bounds are similar if they differ by less than this part."""
SLIGHTLY = 0.5
"""A bound is slightly above another if it is so by less than this part."""
HALVED = (0.4, 0.65)
"""A bound is halved if it comes down to a part between these."""
TRUNCATED = 0.25
"""Dropping draws changes a bound little if it does so by less than this part."""


def told(results: Results, run_record: RunRecord) -> tuple[tuple[str, ...], TextTable | None]:
    """How many points hold, by model of income, and the table of all.

    Args:
        results: the results.
        run_record: how the study was run.
    """
    if run_record.repetitions[0] < FEWEST:
        return (f"With fewer than {FEWEST} repetitions nothing is said about the paper.",), None
    reads = [Read(view.words, tuple(about(view))) for view in results.views]
    named = [
        Verdict(f"{read.reading}: {each.claim}", each.measured, each.word)
        for read in reads
        for each in read.verdicts
    ]
    words = "; ".join(read.words for read in reads)
    return (f"The paper’s points beside our measurement, by model of income. {words}.",), (
        comparison(named)
    )


def about(view: View) -> Iterator[Verdict]:
    """The verdicts on one scale."""
    yield from _risks(view)
    yield from _settings(view)
    yield from _utility(view)
    yield from _asides(view)


def _risks(view: View) -> Iterator[Verdict]:
    """Figure 2."""
    bounds = {mechanism: view.each("bound", mechanism) for mechanism in MECHANISMS}
    others = [bounds[mechanism] for mechanism in (VECTOR, SCALAR, COUNT)]
    yield judged(
        "The unweighted synthesizer has the largest bound.",
        f"Mean Δ: {_list(view, 'bound')}",
        _all(bounds[UNWEIGHTED] > other for other in others),
    )
    vector, count = bounds[VECTOR], bounds[COUNT]
    yield judged(
        "Count weights reach a bound slightly above that of vector weights.",
        f"Count weights have {span(count / vector)} times the bound of vector weights",
        ((count > vector) & (count < (1 + SLIGHTLY) * vector)).tolist(),
    )
    scalar, vector = compared(view, "bound", SCALAR), compared(view, "bound")
    yield judged(
        "Scalar weights set by the vector weights’ bound have a similar one.",
        f"Computed anew, it is {span(scalar / vector)} times that of the vector weights",
        (np.abs(scalar / vector - 1) < SIMILAR).tolist(),
    )
    low, high = view.each("typical", SCALAR), view.each("typical", VECTOR)
    yield judged(
        "Most records have a lower bound under scalar than under vector weights.",
        f"Median bound of a record: {span(low)} | {span(high)}",
        (low < high).tolist(),
    )


def _settings(view: View) -> Iterator[Verdict]:
    """Table 2."""
    bounds = view.every("bound", VECTOR)
    yield judged(
        "The bound falls from each setting (c, g) of table 2 to the next.",
        f"Mean Δ: {_numbers(bounds.mean(axis=1))}",
        (np.diff(bounds, axis=0) < 0).ravel().tolist(),
    )
    parts = bounds[-1] / bounds[0]
    yield judged(
        "Over these settings it is halved.",
        f"It comes down to {span(parts)} of what it was",
        ((parts > HALVED[0]) & (parts < HALVED[1])).tolist(),
    )


def _utility(view: View) -> Iterator[Verdict]:
    """Figures 3 to 5."""
    for way, words in (("", ""), (PEEKING, ", also where sets are made in the paper’s way")):
        for statistic, named in ((PERCENTILE, "the 90th percentile"), (MEAN, "the mean")):
            ours, theirs = (
                compared(view, f"{statistic}{way}_off", mechanism) for mechanism in (VECTOR, SCALAR)
            )
            yield judged(
                f"At a bound set equal, scalar weights lose more in {named} than vector "
                f"weights{words}.",
                f"W₁ to the data, in $1,000: scalar {_thousands(theirs)}; vector "
                f"{_thousands(ours)}",
                (theirs > ours).tolist(),
            )
    yield _as_good(view)
    count, vector = (view.each(f"{PERCENTILE}_off", mechanism) for mechanism in (COUNT, VECTOR))
    yield judged(
        "Count weights keep the 90th percentile worse than vector weights.",
        f"W₁ in $1,000: count {_thousands(count)}; vector {_thousands(vector)}",
        (count > vector).tolist(),
    )
    lost = {mechanism: _lost(view, mechanism) for mechanism in (VECTOR, SCALAR)}
    yield judged(
        "From the first setting to the last, vector weights lose less than scalar weights.",
        f"W₁ of the percentile grows by, in $1,000: vector {_thousands(lost[VECTOR])}; scalar "
        f"{_thousands(lost[SCALAR])}",
        (lost[VECTOR] < lost[SCALAR]).tolist(),
    )


def _as_good(view: View) -> Verdict:
    cases, words = list[bool](), list[str]()
    for statistic in STATISTICS:
        more = view.each(f"{statistic}_off", VECTOR) - view.each(f"{statistic}_off", UNWEIGHTED)
        cases += (more < view.spread(statistic)).tolist()
        words.append(f"{statistic} {_thousands(more)} (sd {view.spread(statistic) / 1000:.1f})")
    return judged(
        "Vector weights give mean and percentile as well as no weights: not farther by one "
        "standard deviation of the statistic.",
        f"W₁ is larger by, in $1,000: {'; '.join(words)}",
        cases,
    )


def _asides(view: View) -> Iterator[Verdict]:
    """Section 3.1, and the sets."""
    single = {
        statistic: np.concatenate([view.each(f"{statistic}_single", m) for m in MECHANISMS])
        for statistic in STATISTICS
    }
    yield judged(
        "A single set shows much the same as the barycentre of 20: its W₁ from it is less than a "
        "standard deviation of the statistic.",
        f"In $1,000: mean {_thousands(single[MEAN])}; percentile {_thousands(single[PERCENTILE])}",
        [bool(v < view.spread(statistic)) for statistic in STATISTICS for v in single[statistic]],
    )
    every = np.concatenate([view.each("untruncated", m) / view.each("bound", m)
                            for m in MECHANISMS])  # fmt: skip
    yield judged(
        "Dropping the five in a hundred draws with the largest log-likelihoods changes the bound "
        "little.",
        f"Without, it is {span(every)} times as large",
        (every < 1 + TRUNCATED).tolist(),
    )


def _lost(view: View, mechanism: str) -> Floats:
    every = view.every(f"{PERCENTILE}_off", mechanism)
    return np.asarray(every[-1] - every[0])


def _all(cases: Iterable[NDArray[np.bool_]]) -> list[bool]:
    return [bool(holds) for each in cases for holds in each]


def _list(view: View, name: str) -> str:
    return ", ".join(f"{mechanism} {view.number(name, mechanism):.1f}" for mechanism in MECHANISMS)


def _numbers(values: Floats) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _thousands(values: Floats) -> str:
    return span(values / 1000, ".1f")
