"""How errors spread over repetitions, for every tree and every bound: the paper's figure 4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from understudy_studies.framework.charts import INK, KINDS, MUTED, RULE, style
from understudy_studies.framework.result_curves import Curves
from understudy_studies.framework.study import Chart
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.conditions import PAPER
from understudy_studies.snoke_slavkovic_2018.regressions.simulation import COEFFICIENTS


def spread(curves: Curves, shown: Sequence[str]) -> Chart:
    """Medians with quartiles, a panel for each coefficient and budget.

    Args:
        curves: the results.
        shown: names of the methods, from above.
    """
    with style():
        figure = Figure(figsize=(12, 0.14 * len(shown) * len(COEFFICIENTS) + 1.5))
        grid = figure.subplots(
            len(COEFFICIENTS), len(methods.EPSILONS), sharex="row", sharey=True, squeeze=False
        )
        for coefficient, line in zip(COEFFICIENTS, grid, strict=True):
            for k, axes in enumerate(line):
                for y, method in enumerate(shown):
                    low, middle, high = (
                        curves.along(name, (PAPER,), coefficient, method)[k]
                        for name in ("low", "median", "high")
                    )
                    axes.plot([low, high], [y, y], color=MUTED, linewidth=2.5, alpha=0.5)
                    axes.plot([middle], [y], ".", color=_colour(method), markersize=4)
                axes.set_xscale("log")
                axes.xaxis.set_major_locator(LogLocator(subs=(1.0,), numticks=4))
                axes.xaxis.set_major_formatter(FuncFormatter(lambda tick, _place: f"{tick:g}"))
                axes.xaxis.set_minor_locator(NullLocator())
                axes.set_yticks(np.arange(len(shown)), shown, fontsize=5)
                axes.set_ylim(len(shown) - 0.5, -0.5)
                axes.grid(color=RULE, linewidth=0.4)
                axes.tick_params(length=0, which="both")
                axes.set_title(f"{coefficient}, ε = {curves.budgets[k]:g}")
                axes.set_xlabel("error")
            line[0].set_ylabel("method")
        figure.tight_layout()
    return Chart(
        "pmse-regression-quartiles",
        figure,
        "Quartiles and medians of the errors over repetitions, for every depth of the trees and "
        "all bounds (the paper’s figure 4).",
    )


def _colour(method: str) -> str:
    return KINDS[5] if "greedy" in method else KINDS[0] if "pMSE" in method else INK
