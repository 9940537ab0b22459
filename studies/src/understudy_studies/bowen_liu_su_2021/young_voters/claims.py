"""What the paper says of its comparison, each point beside our results.

The points are those of Bowen, Liu & Su (2021), section 4.3.1 to 4.3.4, in our words. Cases are
margins with Monte Carlo errors; scores that agree to three digits are tied, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    LAPLACE,
    LOG_EPSILONS,
    PRIVBAYES,
    STEPS2,
    STEPS3,
    UH2,
    UH3,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import PAPERS as SIX
from understudy_studies.bowen_liu_su_2021.young_voters.utility_results import (
    DECIMALS,
    Results,
    Values,
)
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import (
    AGREEMENTS,
    EXPOSURE,
    GROUP,
    OVERLAP,
    PAPERS,
    PRODUCT,
    SPECKS,
    Measure,
)
from understudy_studies.framework.claim_verdicts import Verdict, judged, judged_by_margins
from understudy_studies.framework.result_curves import span
from understudy_studies.framework.verdict_causes import Cause

OVERLAPS = (OVERLAP, EXPOSURE, GROUP, PRODUCT)
TREES = (STEPS2, STEPS3)
PAIRS = ((STEPS2, UH2), (STEPS3, UH3))
_TIE = 0.5 * 10.0**-DECIMALS

Margin = tuple[float, float]
"""By how much a case holds, and the standard error of that."""


POINTS = (
    "best SPECKS",
    "trees below flat",
    "flat decides best",
    "PrivBayes decides worst",
    "STEPS above UH",
    "rises",
    "smallest overlaps",
    "rank sums",
)
"""Short names of the points, in their order."""


def about_study(results: Results, causes: Mapping[str, Cause] | None = None) -> tuple[Verdict, ...]:
    """All points that the paper makes.

    Args:
        results: the results.
        causes: why a point does not hold, by its short name.
    """
    found = (
        _privbayes_specks(results),
        _trees_specks(results),
        _laplace_decisions(results),
        _privbayes_decisions(results),
        _steps_above_histograms(results),
        _rises(results),
        _privbayes_overlaps(results),
        _overall(results),
    )
    return tuple(
        because(verdict, (causes or {}).get(point))
        for point, verdict in zip(POINTS, found, strict=True)
    )


def because(verdict: Verdict, cause: Cause | None) -> Verdict:
    """A verdict with its cause, unless it agrees; where chance may do, the cause stands behind."""
    if verdict.word == "agrees" or cause is None:
        return verdict
    if verdict.cause is None:
        return replace(verdict, cause=cause)
    words = f"{verdict.cause.words} Should it stay: {cause.sentence}"
    return replace(verdict, cause=replace(verdict.cause, words=words))


def leads(results: Results, measure: Measure, method: str, *, behind: bool = False) -> list[Margin]:
    """How far a method is ahead of the best of the other five, at each budget; ties count.

    Args:
        results: the results.
        measure: by what.
        method: one of the six.
        behind: how far it is behind the worst of them instead.
    """
    sign = (1 if measure.better == "high" else -1) * (-1 if behind else 1)
    others = [name for name in SIX if name != method]
    scores = sign * np.array([results.along(measure, name) for name in others])
    errors = np.array([results.errors(measure, name) for name in others])
    rival = scores.argmax(axis=0)
    places = rival, np.arange(scores.shape[1])
    gaps = sign * results.along(measure, method) - scores[places]
    return _margins(gaps, results.errors(measure, method), errors[places])


def _margins(gaps: Values, *errors: Values) -> list[Margin]:
    """Gaps that count as ties below half of the last digit, with errors put together."""
    joined = np.sqrt(np.sum(np.square(errors), axis=0))
    return [(float(gap) + _TIE, float(error)) for gap, error in zip(gaps, joined, strict=True)]


def _verdict(results: Results, claim: str, found: str, cases: Sequence[Margin]) -> Verdict:
    repetitions = max(results.repetitions(SIX), 1)
    return judged_by_margins(claim, found, cases, repetitions=repetitions)


def _privbayes_specks(results: Results) -> Verdict:
    own = results.along(SPECKS, PRIVBAYES)
    others = results.scores([method for method in SIX if method != PRIVBAYES], [SPECKS])
    return _verdict(
        results,
        "PrivBayes has the smallest SPECKS at every ε, by far.",
        f"Its SPECKS is {span(own)}, that of the others {span(others)}",
        leads(results, SPECKS, PRIVBAYES),
    )


def _trees_specks(results: Results) -> Verdict:
    """The paper has an exception at e², where the flat sanitizer is ahead."""
    flat, error = (one[:-1] for one in _with_error(results, SPECKS, LAPLACE))
    cases: list[Margin] = []
    trees = []
    for method in TREES:
        tree, own = (one[:-1] for one in _with_error(results, SPECKS, method))
        trees.append(tree)
        # Strictly below: a tie does not count here.
        cases += [(gap - 2 * _TIE, one) for gap, one in _margins(flat - tree, error, own)]
    return _verdict(
        results,
        "Up to ε = e, the SPECKS of STEPS is slightly below that of the flat Laplace sanitizer.",
        f"STEPS has {span(trees, '.3f')} there, flat Laplace {span(flat, '.3f')}",
        cases,
    )


def _with_error(results: Results, measure: Measure, method: str) -> Iterator[Values]:
    yield results.along(measure, method)
    yield results.errors(measure, method)


def _laplace_decisions(results: Results) -> Verdict:
    own = [results.along(measure, LAPLACE) for measure in AGREEMENTS]
    others = results.scores([method for method in SIX if method != LAPLACE], AGREEMENTS)
    return _verdict(
        results,
        "The χ² decisions of the flat Laplace sanitizer agree best with the original’s.",
        f"It agrees in {span(own)} of the pairs, the others in {span(others)}",
        [one for level in AGREEMENTS for one in leads(results, level, LAPLACE)],
    )


def _privbayes_decisions(results: Results) -> Verdict:
    own = [results.along(measure, PRIVBAYES) for measure in AGREEMENTS]
    return _verdict(
        results,
        "The χ² decisions of PrivBayes agree least with the original’s, whatever ε.",
        f"They agree in {span([one[0] for one in own])} of the pairs at the smallest ε and in "
        f"{span([one[-1] for one in own])} at the largest",
        [one for level in AGREEMENTS for one in leads(results, level, PRIVBAYES, behind=True)],
    )


def _steps_above_histograms(results: Results) -> Verdict:
    cases: list[Margin] = []
    for (steps, histogram), measure in product(PAIRS, PAPERS):
        sign = 1 if measure.better == "high" else -1
        gap = sign * (results.along(measure, steps) - results.along(measure, histogram))
        errors = [results.errors(measure, method) for method in (steps, histogram)]
        cases += _margins(gap, *errors)
    middle = f"{np.nanmedian([gap for gap, _ in cases]) - _TIE:+.3f}".replace("-", "−")
    return _verdict(
        results,
        "STEPS does better than the universal histogram of as many layers, by almost every "
        "measure.",
        f"STEPS is as good or better; the median difference is {middle}",
        cases,
    )


def _rises(results: Results) -> Verdict:
    cases: list[Margin] = []
    for method, measure in product(SIX, (SPECKS, *AGREEMENTS)):
        along = results.along(measure, method) * (1 if measure.better == "high" else -1)
        errors = results.errors(measure, method)
        cases += _margins(np.diff(along), errors[:-1], errors[1:])
    return _verdict(
        results,
        "Utility rises with ε for every method, by SPECKS and by χ² decisions.",
        "From one ε to the next it rises or stays",
        cases,
    )


def _privbayes_overlaps(results: Results) -> Verdict:
    small = [k for k, budget in enumerate(LOG_EPSILONS) if budget < 0]
    own = [results.along(measure, PRIVBAYES)[small] for measure in OVERLAPS]
    return _verdict(
        results,
        "Below ε = 1, PrivBayes has the smallest overlaps of all methods in the regression.",
        f"Its overlaps are {span(own)} there",
        [leads(results, measure, PRIVBAYES, behind=True)[k] for measure in OVERLAPS for k in small],
    )


def _overall(results: Results) -> Verdict:
    sums = results.sums(SIX).sum(axis=0)
    order = np.argsort(sums, kind="stable")
    return judged(
        "By the sum of ranks STEPS-2 and STEPS-3 are best, then the flat Laplace sanitizer.",
        f"Sums over all ε: {', '.join(f'{SIX[k]} {sums[k]}' for k in order)}",
        [{SIX[k] for k in order[:2]} == set(TREES), SIX[order[2]] == LAPLACE],
    )
