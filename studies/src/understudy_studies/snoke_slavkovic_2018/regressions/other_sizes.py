"""Median errors of the slope under other numbers of records and sets."""

from __future__ import annotations

import numpy as np

from understudy_studies.framework.result_curves import Curves
from understudy_studies.framework.study import TextTable
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.conditions import CONDITIONS, PAPER, SMALLER
from understudy_studies.snoke_slavkovic_2018.limits import LEAST_EFFECTIVE
from understudy_studies.snoke_slavkovic_2018.regressions.simulation import (
    COEFFICIENTS,
    EFFECTIVE,
)

RIGHT = 4.0
"""Bounds, in standard deviations."""


def sensitivity(curves: Curves) -> TextTable:
    """By reading; laws that rest on few candidates are marked."""
    rows = []
    for name in (PAPER, SMALLER):
        shown = [
            methods.published(depth, m) for m in CONDITIONS[name].sets for depth in (1, 2, 5, None)
        ]
        shown += [
            methods.within(one, RIGHT)
            for one in (methods.BAYES, methods.AS_PRINTED, methods.FUNCTIONAL_8)
        ]
        for method in shown:
            effective = curves.along("mean", (name,), EFFECTIVE, method)
            cells = (
                _line(curves.along("median", (name,), one, method), effective)
                for one in COEFFICIENTS
            )
            usable = curves.along("usable", (name,), COEFFICIENTS[0], method)
            rows.append((name, method, *cells, f"{np.nanmin(usable):,.0f}"))
    return TextTable(
        caption="Sensitivity: median errors at ε = 0.25 / 0.5 / 1 / 2 / 4 for other n and m (in "
        f"brackets: the law rests on fewer than {LEAST_EFFECTIVE} effective candidates)",
        headings=("reading", "method", *COEFFICIENTS, "repetitions"),
        rows=tuple(rows),
        words=4,
    )


def _line(values: object, effective: object) -> str:
    numbers, found = np.asarray(values, dtype=float), np.asarray(effective, dtype=float)
    texts = [f"{one:.3f}" if one < 10 else f"{one:.0f}" for one in numbers]
    few = found < LEAST_EFFECTIVE
    return " / ".join(f"({one})" if small else one for one, small in zip(texts, few, strict=True))
