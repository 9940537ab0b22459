"""What the paper says of its comparison, each point beside our results.

The points are those of Park & Ghosh (2014), §§4.2-4.4, in our words.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import span
from understudy_studies.park_ghosh_2014.figures import SHOWN
from understudy_studies.park_ghosh_2014.intruder import ATTACKS, LEVEL, NUMBER, UNIQUE
from understudy_studies.park_ghosh_2014.patient_case import Case
from understudy_studies.park_ghosh_2014.pegs_papers import EPSILONS, PAPERS, PEGS, PMI, RESET
from understudy_studies.park_ghosh_2014.record_ways import (
    FULL,
    LONG_BLOCK,
    PEGS_READ,
    RESET_READ,
    ROWS,
)
from understudy_studies.park_ghosh_2014.table_distances import (
    COEFFICIENTS,
    DISTANCES,
    HISTOGRAMS,
    MARGINAL,
)
from understudy_studies.park_ghosh_2014.way_results import Results, Values

SMALL = [k for k, epsilon in enumerate(EPSILONS) if epsilon <= 1]
LARGE = [k for k, epsilon in enumerate(EPSILONS) if epsilon >= 30]
_AS_PUBLISHED = "With seeds and orders read off the rows, as published: "
_COMPARABLE = 0.1


def about_study(case: Case, results: Results) -> tuple[Verdict, ...]:
    """All points that the paper makes."""
    return (
        _long_block(results),
        _similar(results),
        _reset_ahead(results),
        _reset_ahead(results, read=True),
        _reset_behind(results),
        _reset_behind(results, read=True),
        _reset_coefficients(results),
        _reset_coefficients(results, read=True),
        _intercepts(case, results),
        _slopes(case, results),
        _errors_fall(case, results),
        _levels_safe(case, results),
        _numbers_comparable(case, results),
        _unique(case, results, ROWS),
        _unique(case, results, FULL),
    )


def _long_block(results: Results) -> Verdict:
    cases, own = [], {PEGS: [], LONG_BLOCK: []}  # type: ignore[var-annotated]
    for text, epsilon in product(HISTOGRAMS, EPSILONS):
        truth = results.numbers(text, ROWS, epsilon)
        uniform = np.full(truth.size, 1 / truth.size)
        apart = {
            method: [_apart(results.numbers(text, method, epsilon), to) for to in (uniform, truth)]
            for method in own
        }
        for method, found in apart.items():
            own[method].append(found)
        cases.append(apart[LONG_BLOCK][0] < apart[PEGS][0])
        cases.append(apart[LONG_BLOCK][1] > apart[PEGS][1])
    near, far = ({one: np.array(own[one])[:, k] for one in own} for k in (0, 1))
    return judged(
        "In a long block PeGS.rs draws nearly uniform records; those of PeGS, which cost a "
        "thousand times as much, are nearer to the original.",
        f"L1 distance from uniform {span(near[LONG_BLOCK])} against {span(near[PEGS])} of PeGS; "
        f"from the original {span(far[LONG_BLOCK])} against {span(far[PEGS])}",
        cases,
    )


def _similar(results: Results) -> Verdict:
    pairs = list(product(PAPERS, DISTANCES))
    ends = np.array([results.along(measure, method)[[0, -1]] for method, measure in pairs])
    return judged(
        "With larger ε all three become similar to the original.",
        f"Distances are {span(ends[:, 0])} at the smallest ε and {span(ends[:, 1])} at the "
        f"largest; as many real records have "
        f"{span([results.mark(measure, FULL) for measure in DISTANCES])}",
        [results.falls(measure, method) for method, measure in pairs],
    )


def _reset_ahead(results: Results, *, read: bool = False) -> Verdict:
    reset, pegs = _ways(read)
    cases = [
        bool(holds)
        for measure, other in product(DISTANCES, (pegs, PMI))
        for holds in results.clearly_below(measure, reset, other)[SMALL]
    ]
    values = [results.along(MARGINAL, method)[SMALL] for method in (reset, pegs, PMI)]
    return judged(
        f"{_AS_PUBLISHED if read else ''}At small ε, PeGS.rs is much closer to the original than "
        "the others, in marginals and given others.",
        f"Up to ε = 1 its marginal distance is {span(values[0])}, that of PeGS "
        f"{span(values[1])} and of PMI {span(values[2])}",
        cases,
    )


def _reset_behind(results: Results, *, read: bool = False) -> Verdict:
    reset, pegs = _ways(read)
    cases = [
        bool(holds)
        for measure in DISTANCES
        for holds in (results.along(measure, pegs) < results.along(measure, reset))[LARGE]
    ]
    values = [results.along(MARGINAL, method)[LARGE] for method in (pegs, reset)]
    return judged(
        f"{_AS_PUBLISHED if read else ''}At large ε, PeGS is slightly closer than PeGS.rs.",
        f"From ε = 30 its marginal distance is {span(values[0])}, that of PeGS.rs "
        f"{span(values[1])}",
        cases,
    )


def _reset_coefficients(results: Results, *, read: bool = False) -> Verdict:
    reset, pegs = _ways(read)
    cases = [
        bool(holds)
        for measure in COEFFICIENTS
        for holds in results.along(measure, reset)
        < np.minimum(results.along(measure, pegs), results.along(measure, PMI))
    ]
    values = [[results.along(one, way) for one in COEFFICIENTS] for way in (reset, pegs, PMI)]
    return judged(
        f"{_AS_PUBLISHED if read else ''}PeGS.rs has the most similar regression coefficients.",
        f"‖β − β̃‖ is {span(values[0])} with PeGS.rs, {span(values[1])} with PeGS and "
        f"{span(values[2])} with PMI",
        cases,
    )


def _intercepts(case: Case, results: Results) -> Verdict:
    truth, found = _linear(results)
    return judged(
        "Intercepts of the linear regression overshoot.",
        f"For {case.linear.outcome.words}, the intercept is {truth[0]:.2f} on the table and "
        f"{span(found[:, 0])} on the synthetic records".replace("-", "−"),
        [bool(holds) for holds in found[:, 0] > truth[0]],
    )


def _slopes(case: Case, results: Results) -> Verdict:
    truth, found = _linear(results)
    shrunk = np.abs(found[:, 1:]) < np.abs(truth[1:])
    ratio = np.median(found[:, 1:] / truth[1:])
    return judged(
        "Its other coefficients undershoot, as all correlations are perturbed.",
        f"The median ratio of a coefficient to that on the table is {ratio:.2f}",
        [bool(holds) for holds in shrunk.ravel()],
    )


def _linear(results: Results) -> tuple[Values, Values]:
    """Coefficients on the table, and those of each way at each ε that is drawn."""
    text = "linear_coefficients"
    found = [results.numbers(text, way, epsilon) for way, epsilon in product(PAPERS, SHOWN)]
    return results.numbers(text, ROWS, SHOWN[0]), np.array(found)


def _errors_fall(case: Case, results: Results) -> Verdict:
    ends = [
        np.array([results.along(measure, way)[[0, -1]] for way in PAPERS]) for measure in ATTACKS
    ]
    return judged(
        "The intruder errs more at small ε.",
        f"Wrong {case.intruder.levels}: {span(ends[0][:, 0])} at the smallest ε, "
        f"{span(ends[0][:, 1])} at the largest; error in {case.intruder.number.words}: "
        f"{span(ends[1][:, 0], '.1f')} and {span(ends[1][:, 1], '.1f')} {case.intruder.unit}",
        [results.falls(measure, way) for measure, way in product(ATTACKS, PAPERS)],
    )


def _levels_safe(case: Case, results: Results) -> Verdict:
    own = [results.along(LEVEL, way) for way in PAPERS]
    return judged(
        f"{case.intruder.levels} is recovered significantly less often than from as many real "
        "records (“a simple bootstrap”).",
        f"Wrong guesses: {span(own, '.3f')}, from real records {results.mark(LEVEL, FULL):.3f}",
        [bool(holds) for way in PAPERS for holds in results.clearly_below(LEVEL, FULL, way)],
    )


def _numbers_comparable(case: Case, results: Results) -> Verdict:
    own, real = [results.along(NUMBER, way) for way in PAPERS], results.mark(NUMBER, FULL)
    return judged(
        f"The {case.intruder.number.words} is predicted about as well as from as many real records "
        f"(here: within {100 * _COMPARABLE:.0f} %).",
        f"Mean absolute errors: {span(own, '.1f')}, from real records {real:.1f} "
        f"{case.intruder.unit}",
        [bool(holds) for holds in np.abs(np.concatenate(own) / real - 1) <= _COMPARABLE],
    )


def _unique(case: Case, results: Results, real: str) -> Verdict:
    own = [results.along(UNIQUE, way) for way in PAPERS]
    than = "the original" if real == ROWS else "as many records of the original"
    return judged(
        f"Synthetic tables have a larger share of unique records than {than}.",
        f"By {', '.join(case.intruder.unique)}: {span(own)}, against "
        f"{results.mark(UNIQUE, real):.3f}",
        [bool(holds) for way in PAPERS for holds in results.clearly_below(UNIQUE, real, way)],
    )


def _ways(read: bool) -> tuple[str, str]:
    return (RESET_READ, PEGS_READ) if read else (RESET, PEGS)


def _apart(one: Values, other: Values) -> float:
    return float(np.abs(one - other).sum())
