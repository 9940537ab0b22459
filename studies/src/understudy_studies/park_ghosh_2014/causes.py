"""Why points of the paper do not hold here; every number is computed from the same results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from understudy_studies.framework.result_curves import span
from understudy_studies.framework.verdict_causes import Cause, difference, reading, wording
from understudy_studies.park_ghosh_2014.block_drift import drift
from understudy_studies.park_ghosh_2014.claims import COMPARABLE, LARGE, POINTS, SMALL, Point
from understudy_studies.park_ghosh_2014.figures import SHOWN
from understudy_studies.park_ghosh_2014.intruder import ATTACKS, LEVEL, UNIQUE
from understudy_studies.park_ghosh_2014.key_readings import PUBLIC, PUBLISHED
from understudy_studies.park_ghosh_2014.patient_case import Case
from understudy_studies.park_ghosh_2014.pegs_papers import EPSILONS
from understudy_studies.park_ghosh_2014.record_lines import ROWS, Ways
from understudy_studies.park_ghosh_2014.table_distances import (
    COEFFICIENT_TEXTS,
    DISTANCES,
    LINEAR_ERRORS,
    LOGISTIC_ERRORS,
    MARGINAL,
)
from understudy_studies.park_ghosh_2014.way_results import Margins, Results

_WAYS, _OURS = Ways.of(PUBLISHED), Ways.of(PUBLIC)
_TURN = 10.0
"""From this ε on α is below 1 record, and resets matter more than weights."""


def causes(case: Case, results: Results) -> Mapping[str, Cause]:
    """Causes by the names of the points.

    Args:
        case: what was released.
        results: the results.
    """
    margins = {point.name: point.find(case, results, _WAYS).margins for point in POINTS}
    return {
        "PeGS.rs ahead at small ε": _drifts(case, results),
        "PeGS.rs: coefficients": _coefficients(results, margins["PeGS.rs: coefficients"]),
        "intercepts overshoot": _intercepts(results, margins["intercepts overshoot"]),
        "slopes undershoot": _slopes(case, results, margins["slopes undershoot"]),
        "level safe": _safe(results, margins["level safe"]),
        "no way safer": _distinctly(results, margins["no way safer"]),
        "number comparable": _comparable(margins["number comparable"]),
        "more unique": _unique(results, margins["more unique"]),
        "little safer than PMI": _pmi_safer(results, margins["little safer than PMI"]),
    }


def _drifts(case: Case, results: Results) -> Cause:
    found = drift(case.name, SHOWN[0])
    pegs = results.at(MARGINAL, _WAYS.pegs, SHOWN[0])
    uniform = _counted(_point("PeGS.rs ahead at small ε").find(case, results, _OURS).margins)
    beside = (
        [results.gaps(measure, way, _WAYS.reset)[k] for measure in DISTANCES for k in SMALL]
        for way in (_WAYS.pmi, _WAYS.pegs)
    )
    pmi, plain = map(_counted, beside)
    return difference(
        f"beside PMI it holds in {pmi} cases, beside PeGS in {plain}. Only the first record of a "
        "block starts from a real one, the others from what was drawn before, and on this table "
        f"they drift. At ε = {SHOWN[0]:g} the first of a block has a marginal distance of "
        f"{found.reset[0]:.2f}, the last {found.reset[-1]:.2f} ({found.kept[-1]:.2f} even without "
        f"the reset), and PeGS, whose records all start from real ones, {pegs:.2f} (table “Records "
        f"by their place in a block”). From uniform seeds the point holds in {uniform} cases "
        "(sensitivity to keys and seeds, which has other lengths of keys too)."
    )


def _coefficients(results: Results, margins: Margins) -> Cause:
    scaled: Margins = []
    for measure in (LOGISTIC_ERRORS, LINEAR_ERRORS):
        others = (results.gaps(measure, way, _WAYS.reset) for way in (_WAYS.pegs, _WAYS.pmi))
        scaled += [min(pair) for pair in zip(*others, strict=True)]
    below, above = _before_and_from(margins, _TURN)
    return difference(
        f"below ε = {_TURN:g} it holds in {below} cases, from there on in {above}. Records of a "
        "block drift from their seed, and rows that are reset are uniform (table “Records by their "
        "place in a block”); where weights are small that counts for more than what PeGS.rs saves "
        "in weights, as the paper says itself of the distances at large ε. The formulas are lost; "
        "with coefficients in standard errors of as many real "
        f"records it holds in {_counted(scaled)} cases (table “Utility”), with other keys in as "
        "many as the sensitivity table has."
    )


def _intercepts(results: Results, margins: Margins) -> Cause:
    few, much = (_intercept_ratios(results, epsilon) for epsilon in SHOWN)
    gap, error = min(margins)
    least = f"{gap:.2f}".replace("-", "−")
    return wording(
        f"at ε = {SHOWN[0]:g} intercepts are {span(few)} times that on the table, at "
        f"ε = {SHOWN[1]:g} {span(much)} times; the least differs by {least} from it, with a "
        f"standard error of {error:.2f} (figure “deviations”). Overshooting belongs to small ε: "
        "at a large one coefficients come to those of the table, as the caption of figure 8 has it."
    )


def _slopes(case: Case, results: Results, margins: Margins) -> Cause:
    width, truth = len(case.linear.terms), results.numbers(COEFFICIENT_TEXTS[1], ROWS, SHOWN[0])
    by_epsilon = np.array([gap >= 0 for gap, _ in margins]).reshape(-1, len(SHOWN), width)
    few, much = (by_epsilon[:, k] for k in (0, 1))
    large = np.abs(truth[1:]) >= np.median(np.abs(truth[1:]))
    counts = (
        f"At ε = {SHOWN[0]:g} {few.sum()} of {few.size} slopes undershoot, at ε = {SHOWN[1]:g}, "
        f"where little is perturbed, {much.sum()} of {much.size}"
    )
    if few.all():
        return reading(f"the two ε of figure 8 are lost. {counts} (figure “deviations”).")
    return difference(
        f"{counts}. Of the {large.sum()} slopes that are largest on the table "
        f"{few[:, large].sum()} of {few[:, large].size} undershoot at ε = {SHOWN[0]:g}, of the "
        f"others {few[:, ~large].sum()} of {few[:, ~large].size}: a slope next to 0 has little "
        "room to shrink (table "
        f"“Coefficients at ε = {SHOWN[0]:g}”). It is the table that matters: on simulated "
        f"discharges all slopes undershoot at ε = {SHOWN[0]:g} (study `pegs`)."
    )


def _safe(results: Results, margins: Margins) -> Cause:
    below, above = _before_and_from(margins, EPSILONS[-1])
    at_most = [results.along(LEVEL, way)[-1] for way in _WAYS.three]
    return wording(
        f"it says so of all ε. Below ε = {EPSILONS[-1]:g} it holds in {below} cases, there in "
        f"{above}, where the records are so near to the original that they are as telling as its "
        f"own: wrong guesses are {span(at_most, '.3f')} (table of the intruder’s errors by ε; "
        "other bootstraps are in a sensitivity table)."
    )


def _distinctly(results: Results, margins: Margins) -> Cause:
    pairs = ((_WAYS.pegs, _WAYS.reset), (_WAYS.pegs, _WAYS.pmi), (_WAYS.reset, _WAYS.pmi))
    gaps = [
        float(np.max(np.abs(results.along(LEVEL, one) / results.along(LEVEL, other) - 1)))
        for one, other in pairs
    ]
    _, above = _before_and_from(margins, EPSILONS[-1])
    return reading(
        f"the paper gives no number for “distinctly”; we take {100 * COMPARABLE:.0f} %. PeGS and "
        f"PeGS.rs are within {100 * gaps[0]:.0f} % of each other at every ε; PMI is up to "
        f"{100 * max(gaps[1:]):.0f} % safer, as its records are more nearly uniform. At "
        f"ε = {EPSILONS[-1]:g} it holds in {above} cases."
    )


def _comparable(margins: Margins) -> Cause:
    last = EPSILONS[LARGE[0]]
    below, above = _before_and_from(margins, last)
    return wording(
        "it says so of all ε, and in the next sentence that errors are higher where ε is low. From "
        f"ε = {last:g} on it holds in {above} cases, below in {below} (table of the intruder’s "
        "errors by ε). No other length of keys and no other bootstrap makes it agree (sensitivity "
        "tables)."
    )


def _unique(results: Results, margins: Margins) -> Cause:
    own = [gap for way in _WAYS.three for gap in results.gaps(UNIQUE, way, ROWS)]
    below, above = _before_and_from(margins, EPSILONS[-1])
    return reading(
        "the paper does not say how many original records it compares with. Beside the whole "
        f"original it holds in {_counted(own)} cases; beside as many of its records in {below} "
        f"below ε = {EPSILONS[-1]:g} and {above} there, where the records are so near to the "
        "original that they have its share."
    )


def _pmi_safer(results: Results, margins: Margins) -> Cause:
    ratios = [
        results.along(measure, way)[:-1] / results.along(measure, _WAYS.pmi)[:-1]
        for measure in ATTACKS
        for way in (_WAYS.pegs, _WAYS.reset)
    ]
    apart = [results.along(MARGINAL, way)[:-1] for way in (_WAYS.pmi, _WAYS.pegs, _WAYS.reset)]
    return difference(
        "at the same ε it is the other way round. PMI adds α to probabilities, PeGS to counts of "
        "records, so PMI is nearly uniform: up to ε = "
        f"{EPSILONS[-2]:g} its marginal distance is {span(apart[0])}, that of PeGS "
        f"{span(apart[1])} and of PeGS.rs {span(apart[2])}, and the intruder’s errors with these "
        f"two are {span(ratios)} times those with PMI (tables “Utility”, “Intruder”, and the "
        "intruder’s errors by ε). Other keys change little (sensitivity)."
    )


def _intercept_ratios(results: Results, epsilon: float) -> list[float]:
    """Intercepts of the linear regression over that on the table."""
    text = COEFFICIENT_TEXTS[1]
    truth = results.numbers(text, ROWS, epsilon)[0]
    return [float(results.numbers(text, way, epsilon)[0] / truth) for way in _WAYS.three]


def _point(name: str) -> Point:
    return next(point for point in POINTS if point.name == name)


def _before_and_from(margins: Margins, epsilon: float) -> tuple[str, str]:
    """In how many cases a point holds below an ε and from there on; cases run along ε."""
    turn, n = EPSILONS.index(epsilon), len(EPSILONS)
    parts: Iterator[Sequence[tuple[float, float]]] = (
        [one for k, one in enumerate(margins) if (k % n >= turn) == after]
        for after in (False, True)
    )
    below, above = map(_counted, parts)
    return below, above


def _counted(margins: Sequence[tuple[float, float]]) -> str:
    return f"{sum(gap >= 0 for gap, _ in margins)} of {len(margins)}"
