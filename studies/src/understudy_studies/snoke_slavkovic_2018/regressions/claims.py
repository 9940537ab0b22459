"""What the paper says of regressions on released sets, each point beside our results.

Errors are medians over repetitions: some have no mean to speak of. Points are in our words, and
are asked of both coefficients at all budgets.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import Curves, Reading, span
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.readings import (
    OTHERS,
    PUBLISHED_ONE,
    PUBLISHED_TEN,
    STRICT,
    Read,
)
from understudy_studies.snoke_slavkovic_2018.regressions.simulation import (
    COEFFICIENTS,
    INTERCEPT,
    REACHES,
    SLOPE,
)

SETS = {PUBLISHED_TEN: methods.SETS, PUBLISHED_ONE: 1}
"""Sets of the readings as published."""
HISTOGRAMS = (methods.PER_RECORD, methods.SMOOTHED)
BOUNDED = (methods.BAYES, *HISTOGRAMS, methods.FUNCTIONAL, methods.KNORM)
RIGHT = 4.0
"""Bounds that the paper calls appropriate, in standard deviations; 5 are, too."""
LESS, SAME, ALMOST = 0.9, 1.1, 1.5
"""Clearly smaller; about the same; almost as good: so many times an error."""


class Errors:
    """Median errors.

    Args:
        curves: the results.
    """

    def __init__(self, curves: Curves) -> None:
        self._readings = {name: Reading(curves, name) for name in COEFFICIENTS}
        self.budgets = curves.budgets

    def of(self, method: str, coefficients: tuple[str, ...] = COEFFICIENTS) -> Floats:
        """At all budgets, shape (coefficients, budgets)."""
        return np.array([self._readings[one].between("median", (), method) for one in coefficients])


def about_regression(curves: Curves) -> tuple[Read, ...]:
    """All points, by reading."""
    errors = Errors(curves)
    reads = [
        Read(reading, (*_depths(errors, m), *_against(errors, methods.published(5, m), "depth 5")))
        for reading, m in SETS.items()
    ]
    strict = Read(STRICT, tuple(_against(errors, methods.COLUMNS, "depth 2, by column")))
    others = (*(_narrow(errors, method) for method in BOUNDED), _loose(errors))
    return (*reads, strict, Read(OTHERS, others))


def _depths(errors: Errors, m: int) -> Iterator[Verdict]:
    found = {depth: errors.of(methods.published(depth, m)) for depth in (1, 2, 5, None)}
    for low, high in ((1, 2), (2, 5)):
        ratios = found[high] / found[low]
        yield judged(
            f"Errors fall clearly from trees of depth {low} to depth {high}.",
            f"They are {span(ratios)} times as large; a case counts at {LESS:g} or less",
            _listed(ratios <= LESS),
        )
    ratios = found[None] / found[5]
    yield judged(
        "There is little change from depth 5 to unlimited depth.",
        f"Errors are {span(ratios)} times as large; a case counts between {1 / 1.25:g} and 1.25",
        _listed((ratios >= 1 / 1.25) & (ratios <= 1.25)),
    )
    rivals = [methods.within(method, RIGHT) for method in (methods.BAYES, methods.PER_RECORD)]
    ratios = np.array([found[2] / errors.of(rival) for rival in rivals])
    yield judged(
        "Depth 2 is about the same as the other synthesizers, or better (asked at "
        f"{RIGHT:g} sd; rivals: {methods.BAYES}, {methods.PER_RECORD}).",
        f"Its errors are {span(ratios)} times theirs; a case counts at {SAME:g} or less",
        _listed(ratios <= SAME),
    )


def _against(errors: Errors, mechanism: str, words: str) -> Iterator[Verdict]:
    """The mechanism beside other synthesizers, and beside regressions that release no records."""
    for rival in (methods.BAYES, *HISTOGRAMS):
        ratios = np.array(
            [errors.of(mechanism) / errors.of(methods.within(rival, reach)) for reach in REACHES]
        )
        slopes = ratios[:, COEFFICIENTS.index(SLOPE)]
        yield judged(
            f"The mechanism ({words}) does better than other synthesizers, whatever the bounds "
            f"(ours: {rival}).",
            f"Its errors of the slope are {span(slopes)} times theirs, those of the intercept "
            f"{span(ratios[:, COEFFICIENTS.index(INTERCEPT)])} times; a case counts below 1",
            _listed(ratios < 1),
        )
    ratios = errors.of(mechanism) / errors.of(methods.within(methods.FUNCTIONAL, RIGHT))
    yield judged(
        f"The mechanism ({words}) is almost as good as the functional mechanism (asked at "
        f"{RIGHT:g} sd).",
        f"Its errors are {span(ratios)} times as large; a case counts at {ALMOST:g} or less",
        _listed(ratios <= ALMOST),
    )


def _narrow(errors: Errors, method: str) -> Verdict:
    narrow, wide = (
        errors.of(methods.within(method, reach)) for reach in (min(REACHES), max(REACHES))
    )
    return judged(
        f"Narrower bounds do better, even too narrow ones (ours: {method}).",
        f"Errors at {min(REACHES):g} sd are {span(narrow / wide)} times those at {max(REACHES):g} "
        "sd; a case counts below 1",
        _listed(narrow < wide),
    )


def _loose(errors: Errors) -> Verdict:
    ratios = np.array(
        [
            errors.of(methods.within(method, max(REACHES)))
            / errors.of(methods.within(method, RIGHT))
            for method in BOUNDED
        ]
    )
    return judged(
        "Loose bounds of 10 sd do quite poorly.",
        f"Over all methods with bounds, errors are {span(ratios)} times those at {RIGHT:g} sd; a "
        "case counts from 1.5 on",
        _listed(ratios >= 1.5),
    )


def _listed(cases: NDArray[np.bool_]) -> list[bool]:
    return [bool(holds) for holds in cases.ravel()]
