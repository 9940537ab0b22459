"""What the paper says of regressions on released sets, each point beside our results.

Errors are medians over repetitions: some have no mean to speak of. Points are in our words, and
are asked of both coefficients at all budgets.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.framework.claim_verdicts import Verdict
from understudy_studies.framework.result_curves import Curves, Reading, span
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.conditions import PAPER
from understudy_studies.snoke_slavkovic_2018.readings import (
    OTHERS,
    PUBLISHED,
    STRICT,
    Measured,
    Read,
    of_margins,
)
from understudy_studies.snoke_slavkovic_2018.regressions import why_errors_differ as causes
from understudy_studies.snoke_slavkovic_2018.regressions.simulation import (
    COEFFICIENTS,
    EFFECTIVE,
    REACHES,
)

SYNTHESIZERS = (methods.BAYES, methods.AS_PRINTED)
"""The paper's other methods that release records."""
BOUNDED = (*SYNTHESIZERS, methods.FUNCTIONAL_8, methods.KNORM)
"""The paper's methods that need bounds."""
POINT = (PAPER,)
RIGHT = 4.0
"""Bounds that the paper calls appropriate, in standard deviations; 5 are, too."""
LESS, SAME, ALMOST, STILL, MORE = 0.9, 1.1, 1.5, 1.25, 1.5
"""Clearly smaller; about the same; almost as good; little change; poor: so many times an error."""


class Errors:
    """Median errors under the paper's condition.

    Args:
        curves: the results.
    """

    def __init__(self, curves: Curves) -> None:
        self._curves = curves
        self._readings = {name: Reading(curves, name) for name in COEFFICIENTS}
        self.budgets = curves.budgets

    def of(self, method: str) -> Measured:
        """At all budgets, shape (coefficients, budgets)."""
        values, errors = (
            np.array([one.between(name, POINT, method) for one in self._readings.values()])
            for name in ("median", "median_error")
        )
        usable = min(
            float(np.nan_to_num(self._curves.along("usable", POINT, name, method)).min())
            for name in COEFFICIENTS
        )
        effective = self._curves.along("mean", POINT, EFFECTIVE, method)
        least = float(np.inf if np.isnan(effective).all() else np.nanmin(effective))
        return Measured(values, errors, usable, least)

    def within(self, method: str, reaches: tuple[float, ...]) -> Measured:
        """The same for bounds, shape (bounds, coefficients, budgets)."""
        found = [self.of(methods.within(method, reach)) for reach in reaches]
        return Measured(
            np.array([one.values for one in found]),
            np.array([one.errors for one in found]),
            min(one.usable for one in found),
        )


def about_regression(curves: Curves) -> tuple[Read, ...]:
    """All points, by reading."""
    errors = Errors(curves)
    deep = {"depth 5": 5, "unlimited depth": None}
    published = (
        *_depths(errors),
        *(
            verdict
            for words, depth in deep.items()
            for verdict in _against(
                errors, PUBLISHED, methods.published(depth, methods.SETS), words
            )
        ),
    )
    strict = tuple(_against(errors, STRICT, methods.COLUMNS, "depth 2, by column"))
    others = (*(_narrow(errors, method) for method in BOUNDED), _loose(errors))
    return (Read(PUBLISHED, published), Read(STRICT, strict), Read(OTHERS, others))


def _depths(errors: Errors) -> Iterator[Verdict]:
    found = {depth: errors.of(methods.published(depth, methods.SETS)) for depth in (1, 2, 5, None)}
    for low, high in ((1, 2), (2, 5)):
        ratios = found[high].over(found[low])
        yield of_margins(
            f"Errors fall clearly from trees of depth {low} to depth {high}.",
            f"They are {span(ratios.values)} times as large; a case counts at {LESS:g} or less",
            ratios.at_most(LESS),
            why=causes.DEPTHS.get((low, high)),
        )
    ratios = found[None].over(found[5])
    yield of_margins(
        "There is little change from depth 5 to unlimited depth.",
        f"Errors are {span(ratios.values)} times as large; a case counts within a factor of "
        f"{STILL:g}",
        ratios.within(STILL),
        why=causes.DEPTHS.get((5, 0)),
    )
    for rival in SYNTHESIZERS:
        ratios = found[2].over(errors.of(methods.within(rival, RIGHT)))
        yield of_margins(
            f"Depth 2 is about the same as the other synthesizers, or better ({rival}, asked at "
            f"{RIGHT:g} sd).",
            f"Its errors of the intercept are {span(ratios.values[0])} times as large, those of "
            f"the slope {span(ratios.values[1])} times; a case counts at {SAME:g} or less",
            ratios.at_most(SAME),
            why=causes.DEPTH_2.get(rival),
        )


def _against(errors: Errors, reading: str, mechanism: str, words: str) -> Iterator[Verdict]:
    """The mechanism beside other synthesizers, and beside regressions that release no records."""
    for rival in SYNTHESIZERS:
        ratios = errors.of(mechanism).over(errors.within(rival, REACHES))
        yield of_margins(
            f"The mechanism ({words}) does better than {rival}, whatever the bounds.",
            f"Its errors of the intercept are {span(ratios.values[:, 0])} times as large, those of "
            f"the slope {span(ratios.values[:, 1])} times; a case counts below 1",
            ratios.at_most(1.0),
            why=causes.SYNTHESIZERS.get((reading, rival)),
        )
    ratios, loose = (
        errors.of(mechanism).over(errors.of(methods.within(methods.FUNCTIONAL_8, reach)))
        for reach in (RIGHT, max(REACHES))
    )
    yield of_margins(
        f"The mechanism ({words}) is almost as good as the functional mechanism (with its "
        f"published sensitivity, asked at {RIGHT:g} sd).",
        f"Its errors of the intercept are {span(ratios.values[0])} times as large, those of the "
        f"slope {span(ratios.values[1])} times (at {max(REACHES):g} sd {span(loose.values[0])} and "
        f"{span(loose.values[1])} times); a case counts at {ALMOST:g} or less",
        ratios.at_most(ALMOST),
        why=causes.FUNCTIONAL.get(reading),
    )


def _narrow(errors: Errors, method: str) -> Verdict:
    narrow, wide = (errors.within(method, (reach,)) for reach in (min(REACHES), max(REACHES)))
    ratios = narrow.over(wide)
    return of_margins(
        f"Narrower bounds do better, even too narrow ones ({method}).",
        f"Errors at {min(REACHES):g} sd are {span(ratios.values)} times those at {max(REACHES):g} "
        "sd; a case counts below 1",
        ratios.at_most(1.0),
        why=causes.NARROW.get(method),
    )


def _loose(errors: Errors) -> Verdict:
    parts = [
        errors.within(method, (max(REACHES),)).over(errors.within(method, (RIGHT,)))
        for method in BOUNDED
    ]
    ratios = parts[0]
    for one in parts[1:]:
        ratios = ratios.beside(one)
    return of_margins(
        f"Loose bounds of {max(REACHES):g} sd do quite poorly.",
        f"Over all methods with bounds, errors are {span(ratios.values)} times those at {RIGHT:g} "
        f"sd; a case counts from {MORE:g} on",
        ratios.at_least(MORE),
        why=causes.LOOSE,
    )
