"""What the paper says of its comparison, each point beside our results.

The points are those of Bowen, Liu & Su (2021), section 4.3.1 to 4.3.4, in our words.
"""

from __future__ import annotations

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
from understudy_studies.bowen_liu_su_2021.young_voters.utility_results import DECIMALS, Results
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
from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import span

OVERLAPS = (OVERLAP, EXPOSURE, GROUP, PRODUCT)
TREES = (STEPS2, STEPS3)
_UNIT = 10.0**-DECIMALS


def about_study(results: Results) -> tuple[Verdict, ...]:
    """All points that the paper makes."""
    return (
        _privbayes_specks(results),
        _trees_specks(results),
        _laplace_decisions(results),
        _privbayes_decisions(results),
        _steps_above_histograms(results),
        _rises(results),
        _privbayes_overlaps(results),
        _overall(results),
    )


def best(results: Results, measure: Measure, method: str) -> list[bool]:
    """Whether no other of the six methods does better, at each budget; ties count."""
    place = SIX.index(method)
    return [bool(one == 1) for one in results.ranks(SIX)[:, place, PAPERS.index(measure)]]


def worst(results: Results, measure: Measure, method: str) -> list[bool]:
    """Whether every other of the six methods does as well or better, at each budget."""
    scores = results.scores(SIX, [measure])[..., 0] * (1 if measure.better == "high" else -1)
    own = scores[:, SIX.index(method)]
    return [bool(holds) for holds in own <= scores.min(axis=1) + _UNIT / 2]


def _privbayes_specks(results: Results) -> Verdict:
    own = results.along(SPECKS, PRIVBAYES)
    others = results.scores([method for method in SIX if method != PRIVBAYES], [SPECKS])
    return judged(
        "PrivBayes has the smallest SPECKS at every ε, by far.",
        f"Its SPECKS is {span(own)}, that of the others {span(others)}",
        best(results, SPECKS, PRIVBAYES),
    )


def _trees_specks(results: Results) -> Verdict:
    """The paper has an exception at e², where the flat sanitizer is ahead."""
    flat = results.along(SPECKS, LAPLACE)[:-1]
    trees = [results.along(SPECKS, method)[:-1] for method in TREES]
    return judged(
        "Up to ε = e, the SPECKS of STEPS is slightly below that of the flat Laplace sanitizer.",
        f"STEPS has {span(trees)} there, flat Laplace {span(flat)}",
        [bool(holds) for tree in trees for holds in tree < flat],
    )


def _laplace_decisions(results: Results) -> Verdict:
    own = [results.along(measure, LAPLACE) for measure in AGREEMENTS]
    others = results.scores([method for method in SIX if method != LAPLACE], AGREEMENTS)
    return judged(
        "The χ² decisions of the flat Laplace sanitizer agree best with the original’s.",
        f"It agrees in {span(own)} of the pairs, the others in {span(others)}",
        [holds for level in AGREEMENTS for holds in best(results, level, LAPLACE)],
    )


def _privbayes_decisions(results: Results) -> Verdict:
    own = [results.along(measure, PRIVBAYES) for measure in AGREEMENTS]
    return judged(
        "The χ² decisions of PrivBayes agree least with the original’s, whatever ε.",
        f"They agree in {span([one[0] for one in own])} of the pairs at the smallest ε and in "
        f"{span([one[-1] for one in own])} at the largest",
        [holds for level in AGREEMENTS for holds in worst(results, level, PRIVBAYES)],
    )


def _steps_above_histograms(results: Results) -> Verdict:
    cases, gaps = [], []
    for (steps, histogram), measure in product(((STEPS2, UH2), (STEPS3, UH3)), PAPERS):
        sign = 1 if measure.better == "high" else -1
        gap = sign * (results.along(measure, steps) - results.along(measure, histogram))
        gaps.append(gap)
        cases += [bool(value >= -_UNIT / 2) for value in gap]
    middle = f"{np.nanmedian(gaps):+.3f}".replace("-", "−")
    return judged(
        "STEPS does better than the universal histogram of as many layers, by almost every "
        "measure.",
        f"STEPS is as good or better; the median difference is {middle}",
        cases,
    )


def _rises(results: Results) -> Verdict:
    cases: list[bool] = []
    for method, measure in product(SIX, (SPECKS, *AGREEMENTS)):
        along = results.along(measure, method) * (1 if measure.better == "high" else -1)
        cases += [bool(step >= -_UNIT / 2) for step in np.diff(along)]
    return judged(
        "Utility rises with ε for every method, by SPECKS and by χ² decisions.",
        "From one ε to the next it rises or stays",
        cases,
    )


def _privbayes_overlaps(results: Results) -> Verdict:
    small = [k for k, budget in enumerate(LOG_EPSILONS) if budget < 0]
    own = [results.along(measure, PRIVBAYES)[small] for measure in OVERLAPS]
    return judged(
        "Below ε = 1, PrivBayes has the smallest overlaps of all methods in the regression.",
        f"Its overlaps are {span(own)} there",
        [worst(results, measure, PRIVBAYES)[k] for measure in OVERLAPS for k in small],
    )


def _overall(results: Results) -> Verdict:
    sums = results.sums(SIX).sum(axis=0)
    order = np.argsort(sums, kind="stable")
    return judged(
        "By the sum of ranks STEPS-2 and STEPS-3 are best, then the flat Laplace sanitizer.",
        f"Sums over all ε: {', '.join(f'{SIX[k]} {sums[k]}' for k in order)}",
        [{SIX[k] for k in order[:2]} == set(TREES), SIX[order[2]] == LAPLACE],
    )
