"""Figures in the manner of the paper's figures 2 to 5, and of its table 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from understudy_studies.framework.charts import INK, KINDS, MUTED, ORDERED, RULE, style
from understudy_studies.framework.study import Chart
from understudy_studies.savitsky_williams_hu_2020.mechanism_results import Results, View
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COUNT,
    DATA,
    MECHANISMS,
    SCALAR,
    SETTINGS,
    TABLE_2,
    UNWEIGHTED,
    VECTOR,
)
from understudy_studies.savitsky_williams_hu_2020.risk_and_utility import MEAN, PERCENTILE, WAYS
from understudy_studies.savitsky_williams_hu_2020.violins import Side, violin

COLOURS = {
    DATA: MUTED,
    UNWEIGHTED: ORDERED[1],
    VECTOR: KINDS[2],
    SCALAR: KINDS[1],
    COUNT: KINDS[3],
}
_HALVES: tuple[tuple[str, Side], ...] = ((VECTOR, "left"), (SCALAR, "right"))
_NAMES = {PERCENTILE: "90th percentile", MEAN: "mean"}
_THOUSAND = 1000.0
_Stroke = Literal["-", "--", ":", ""]


def charts(results: Results) -> tuple[Chart, ...]:
    """All figures."""
    with style():
        return (
            _risks(results),
            _bounds(results),
            _statistics(results, PERCENTILE),
            _statistics(results, MEAN),
            _settings(results),
            _weights(results),
            _labels(results),
        )


def _panels(
    results: Results, height: float, *, whole: bool = False
) -> tuple[Figure, list[tuple[Axes, View]]]:
    """A panel for each scale of income side by side, or for the model with all settings."""
    views = (results.reported,) if whole else results.scales
    figure = Figure(figsize=(9.5, height))
    axes = figure.subplots(1, len(views), squeeze=False)[0]
    for one, words in zip(axes, [view.words for view in views], strict=True):
        one.set_title(words)
        one.grid(axis="y", color=RULE, linewidth=0.5)
        one.set_axisbelow(True)
    return figure, list(zip(axes, views, strict=True))


def _named(axes: Axes, names: Sequence[str]) -> None:
    axes.set_xticks(range(len(names)), list(names))
    axes.set_xlabel("mechanism")
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="x", length=0)


def _risks(results: Results) -> Chart:
    """Bounds of records by mechanism."""
    figure, panels = _panels(results, 4.0)
    for axes, view in panels:
        for place, mechanism in enumerate(MECHANISMS):
            quantiles, largest = (
                view.distribution("risks", mechanism),
                view.number("bound", mechanism),
            )
            violin(axes, place, quantiles, COLOURS[mechanism])
            axes.plot(place, largest, "o", color=COLOURS[mechanism], markersize=4)
            axes.annotate(f"{largest:.1f}", (place, largest), (7, -3), textcoords="offset points",
                          color=INK, fontsize=8)  # fmt: skip
        axes.set_ylim(bottom=0)
        _named(axes, MECHANISMS)
    panels[0][0].set_ylabel("Lipschitz bound of a record")
    figure.tight_layout()
    return Chart(
        "risks",
        figure,
        "Lipschitz bounds of the records at (c, g) = (0.7, 0), as the paper’s figure 2: quantile "
        "functions, means over the repetitions. Points and numbers: the largest, Δ. Each record’s "
        "contribution to the log-likelihood under its weight, densities on the scale of income.",
    )


def _bounds(results: Results) -> Chart:
    """Table 2."""
    figure, panels = _panels(results, 4.1, whole=True)
    across = np.arange(len(SETTINGS))
    for axes, view in panels:
        for mechanism in (VECTOR, SCALAR):
            every = view.every("bound", mechanism)
            for values in every.T:
                axes.plot(across, values, ".", color=COLOURS[mechanism], markersize=4, alpha=0.5)
            axes.plot(
                across, every.mean(axis=1), color=COLOURS[mechanism], marker="o", markersize=4
            )
        axes.axhline(view.number("bound", UNWEIGHTED), color=COLOURS[UNWEIGHTED], linewidth=1.2)
    for axes in figure.axes:
        axes.plot(across, TABLE_2, color=INK, linestyle=":", marker="x", linewidth=1.2)
        axes.set_ylim(bottom=0)
        axes.set_xticks(across, _setting_words())
        axes.set_xlabel("scale c, shift g")
    _share_heights(figure.axes)
    figure.axes[0].set_ylabel("Lipschitz bound Δ")
    _legend(figure, [
        (_line(INK, ":", "x"), "the paper’s table 2"),
        (_line(COLOURS[VECTOR]), "vector"),
        (_line(COLOURS[SCALAR]), "scalar, set by the vector’s"),
        (_line(COLOURS[UNWEIGHTED], "-", ""), "unweighted"),
    ])  # fmt: skip
    return Chart(
        "bounds",
        figure,
        "The largest bound Δ_α at each setting of the weights, as the paper’s table 2; dots are "
        "single repetitions. Scalar weights are α = Δ_α/Δ, so that their bound would be the vector "
        "weights’ if the posterior stayed as it is; the line is what it is when computed anew.",
    )


def _statistics(results: Results, statistic: str) -> Chart:
    """Figures 3 and 4."""
    figure, panels = _panels(results, 3.9)
    names = (DATA, *MECHANISMS)
    for axes, view in panels:
        axes.axhline(view.centre(statistic) / _THOUSAND, color=MUTED, linewidth=0.9, linestyle="--")
        for place, one in enumerate(names):
            violin(axes, place, view.distribution(statistic, one) / _THOUSAND, COLOURS[one])
        _named(axes, names)
    _share_heights([axes for axes, _ in panels])
    panels[0][0].set_ylabel(f"{_NAMES[statistic]} of income, $1,000")
    figure.tight_layout()
    number = 4 if statistic == PERCENTILE else 3
    return Chart(
        statistic,
        figure,
        f"The {_NAMES[statistic]} of income at (c, g) = (0.7, 0) under resampling, as the paper’s "
        f"figure {number}: Wasserstein barycentres over 20 sets, and over the repetitions.",
    )


def _settings(results: Results) -> Chart:
    """Figure 5."""
    figure, panels = _panels(results, 4.2, whole=True)
    for axes, view in panels:
        axes.axhline(view.centre(PERCENTILE) / _THOUSAND, color=MUTED, linewidth=0.9,
                     linestyle="--")  # fmt: skip
        for place, mechanism in enumerate((DATA, UNWEIGHTED)):
            violin(
                axes,
                place,
                view.distribution(PERCENTILE, mechanism) / _THOUSAND,
                COLOURS[mechanism],
            )
        for place, setting in enumerate(SETTINGS, start=2):
            for mechanism, side in _HALVES:
                distribution = view.distribution(PERCENTILE, mechanism, setting) / _THOUSAND
                violin(axes, place, distribution, COLOURS[mechanism], side=side)
        _named(axes, ("data", "un-\nweighted", *_setting_words()))
        axes.set_xlabel("mechanism, or scale c and shift g of the weights")
    _share_heights([axes for axes, _ in panels])
    panels[0][0].set_ylabel("90th percentile of income, $1,000")
    _legend(
        figure, [(_patch(mechanism), mechanism) for mechanism in (DATA, UNWEIGHTED, VECTOR, SCALAR)]
    )
    return Chart(
        "settings",
        figure,
        "The 90th percentile under resampling at each setting (c, g) of the weights, as the "
        "paper’s figure 5: left halves are vector weights, right halves scalar weights set by "
        "their bound.",
    )


def _weights(results: Results) -> Chart:
    """Weights against values."""
    figure, panels = _panels(results, 3.9)
    for axes, view in panels:
        values = view.distribution("values", DATA)
        low, high = (view.distribution(f"weights_{one}", VECTOR) for one in ("low", "high"))
        axes.fill_between(values, low, high, color=COLOURS[VECTOR], alpha=0.18, linewidth=0)
        for mechanism in (VECTOR, SCALAR, COUNT):
            axes.plot(
                values,
                view.distribution("weights_mean", mechanism),
                color=COLOURS[mechanism],
                linewidth=1.5,
            )
        axes.set_xscale("log")
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("income, $")
        axes.xaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
    panels[0][0].set_ylabel("weight α")
    _legend(figure, [(_patch(mechanism), mechanism) for mechanism in (VECTOR, SCALAR, COUNT)])
    return Chart(
        "weights",
        figure,
        "Weights of records against their income at (c, g) = (0.7, 0): means in 40 groups of "
        "records of equal size, drawn at their median income; of vector weights also from the 5th "
        "to the 95th percentile. Without weights α = 1.",
    )


def _labels(results: Results) -> Chart:
    """Components from π against components from confidential values."""
    figure, panels = _panels(results, 3.7)
    for axes, view in panels:
        for place, mechanism in enumerate(MECHANISMS):
            ours, theirs = (view.number(f"follows{way}", mechanism) for way in WAYS)
            axes.plot((place, place), (ours, theirs), color=COLOURS[mechanism], linewidth=1.5)
            axes.plot(place, ours, "o", color=COLOURS[mechanism], markersize=6)
            axes.plot(place, theirs, "D", color=COLOURS[mechanism], markersize=6)
        axes.set_ylim(0, 1)
        _named(axes, MECHANISMS)
    panels[0][0].set_ylabel("rank correlation with the own income")
    marks = (("o", "component from π"), ("D", "component from the record’s own income"))
    _legend(figure, [(_line(INK, "", mark), words) for mark, words in marks])
    return Chart(
        "labels",
        figure,
        "How far a synthetic income follows the confidential one of the same record. From θ and "
        "the public predictors alone (round) it follows only what the predictors tell; the paper "
        "draws the component given the confidential income itself (diamonds).",
    )


def _share_heights(axes: Sequence[Axes]) -> None:
    low = min(one.get_ylim()[0] for one in axes)
    high = max(one.get_ylim()[1] for one in axes)
    for one in axes:
        one.set_ylim(low, high)


def _setting_words() -> list[str]:
    return [f"{c:g}\n{g:g}".replace("-", "−") for c, g in SETTINGS]


def _legend(
    figure: Figure, items: Sequence[tuple[Line2D | Patch, str]], *, beside: int = 5
) -> None:
    figure.legend([one for one, _ in items], [words for _, words in items], loc="upper left",
                  ncols=beside)  # fmt: skip
    lines = -(-len(items) // beside)
    above = (0.1 + 0.22 * lines) / float(figure.get_size_inches()[1])
    figure.tight_layout(rect=(0, 0, 1, 1 - above))


def _line(colour: str, line: _Stroke = "-", marker: str = "o") -> Line2D:
    return Line2D([], [], color=colour, linestyle=line, marker=marker, markersize=4)


def _patch(mechanism: str) -> Patch:
    return Patch(facecolor=COLOURS[mechanism], alpha=0.75)
