"""What the page of the study of regressions tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from understudy.arrays import Floats
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import Curves, span
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable
from understudy_studies.snoke_slavkovic_2018 import (
    budget_figures,
    candidates,
    limits,
    methods,
    searches,
)
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS
from understudy_studies.snoke_slavkovic_2018.readings import told
from understudy_studies.snoke_slavkovic_2018.regressions.claims import (
    BOUNDED,
    RIGHT,
    about_regression,
)
from understudy_studies.snoke_slavkovic_2018.regressions.simulation import (
    COEFFICIENTS,
    DEPTHS,
    REACHES,
    SLOPE,
)

PUBLISHED = tuple(methods.published(depth, m) for m in (methods.SETS, 1) for depth in DEPTHS)
METHODS = (
    methods.NON_PRIVATE,
    *methods.STRICT,
    methods.LIMIT,
    *PUBLISHED,
    *(methods.within(method, reach) for method in BOUNDED for reach in REACHES),
)


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, (), budget="epsilon")
    findings, comparison = told(lambda: about_regression(curves), run_record)
    if comparison is not None:
        findings = (*findings, *_own(curves))
    prose = prose_of(
        __package__,
        n_rows=N_ROWS,
        sets=methods.SETS,
        candidates=candidates.CANDIDATES,
        rounds=searches.ROUNDS,
        weighted=limits.CANDIDATES,
        epsilons=methods.EPSILONS,
        reaches=REACHES,
        complexity=limits.COMPLEXITY,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=findings,
        comparison=comparison,
        tables=(*(_table(curves, *which) for which in _GRIDS), _reconstructed()),
        charts=tuple(_charts(curves)),
    )


_GRIDS = tuple((name, value) for value in ("median", "mean") for name in COEFFICIENTS[::-1])


def _own(curves: Curves) -> Iterator[str]:
    """What was found beyond the paper’s points."""

    def slope(method: str) -> Floats:
        return curves.along("median", (), SLOPE, method)

    columns, grid = slope(methods.COLUMNS), slope(methods.GRID_2)
    yield (
        f"With a proven guarantee, column by column, the median error of the slope goes from "
        f"{columns[0]:.2f} at ε = 0.25 to {columns[-1]:.3f} at ε = 4, where the "
        f"{searches.CONDITIONAL} candidates for x₂ given x₁ limit it. On one grid of "
        f"{candidates.CANDIDATES:,} points for all five parameters it is {span(grid)} at all "
        "budgets: the grid holds no better point."
    )
    functional, knorm = (
        slope(methods.within(one, RIGHT)) for one in (methods.FUNCTIONAL, methods.KNORM)
    )
    yield (
        f"Mechanisms that release coefficients only, within {RIGHT:g} deviations, have median "
        f"errors of the slope of {functional[0]:.2f} to {functional[-1]:.3f} (functional) and "
        f"{knorm[0]:.2f} to {knorm[-1]:.3f} (K-norm): with one predictor and a replaced record "
        "they are nearly alike."
    )
    bayes = slope(methods.within(methods.BAYES, RIGHT))
    whole, each = (
        slope(methods.within(one, RIGHT)) for one in (methods.SMOOTHED, methods.PER_RECORD)
    )
    yield (
        f"Noisy Bayes is of no use at these budgets (within {RIGHT:g} deviations its median error "
        f"of the slope is {span(bayes, '.0f')}): the noise swamps the scatter of x₁. A smoothed "
        f"histogram whose n records cost ε together is nearly uniform, and its slope nearly 0 "
        f"(error {span(whole)}); one with ε for each record, as the paper’s seems to be, goes from "
        f"{each[0]:.2f} to {each[-1]:.3f} and costs n·ε. As the uniform law is symmetric about the "
        "true means, histograms look good for the intercept."
    )


def _table(curves: Curves, coefficient: str, value: str) -> TextTable:
    rows = []
    for method in METHODS:
        found, error, usable = (
            curves.along(name, (), coefficient, method)
            for name in (value, f"{value}_error", "usable")
        )
        cells = (_cell(one, off) for one, off in zip(found, error, strict=True))
        rows.append((method, methods.worth(method), *cells, f"{np.nanmin(usable):,.0f}"))
    return TextTable(
        caption=f"{value.capitalize()} error of the {coefficient}, ± Monte Carlo error",
        headings=(
            "method",
            "what ε is worth",
            *(f"ε = {budget:g}" for budget in curves.budgets),
            "repetitions",
        ),
        rows=tuple(rows),
        words=2,
        fold=value == "mean",
    )


def _cell(value: float, error: float) -> str:
    """Three digits after the point, fewer of large numbers.

    Example:
        >>> _cell(0.12345, 0.01), _cell(123.45, 20.0)
        ('0.123 ± 0.010', '123 ± 20')
    """
    form = ".3f" if value < 10 else ",.0f"
    return f"{value:{form}}" + ("" if np.isnan(error) else f" ± {error:{form}}")


def _reconstructed() -> TextTable:
    return reconstructed(
        ("n = 1,000; x₁ ~ N(0, 1), x₂ | x₁ ~ N(x₁, 1)", "guessed", "lost"),
        ("ε = .25, .5, 1, 2, 4; bounds at 2, 4, 5, 10 deviations", "printed", ""),
        ("m = 10 sets", "guessed", "lost; m = 1 stands beside it"),
        (f"complexity {limits.COMPLEXITY:g} of the greedy trees", "fitted", "see `pmse-table2`"),
        ("proper prior", "ours", "the published one leads away from the data: `pmse-table2`"),
        ("deviations in the bounds are the true ones", "ours", "those of the data would leak"),
        ("functional and K-norm: n public, ridge", "ours", "lost"),
        ("number of repetitions", "ours", "lost"),
    )


def _charts(curves: Curves) -> Iterator[Chart]:
    def panel(title: str, coefficient: str, methods: Mapping[str, str]) -> budget_figures.Panel:
        """A panel of some methods, by the names that they have in it."""
        medians, errors = (
            {name: curves.along(value, (), coefficient, one) for name, one in methods.items()}
            for value in ("median", "median_error")
        )
        return budget_figures.Panel(title, medians, errors)

    strict = (methods.NON_PRIVATE, methods.GRID_2, methods.ROUNDS, methods.COLUMNS)
    others = (
        methods.BAYES,
        methods.SMOOTHED,
        methods.PER_RECORD,
        methods.FUNCTIONAL,
        methods.KNORM,
    )
    columns = {
        "pMSE, proven": strict,
        f"pMSE as published, m = {methods.SETS}": (methods.NON_PRIVATE, *PUBLISHED[: len(DEPTHS)]),
        f"others, bounds {RIGHT:g} sd": (
            methods.NON_PRIVATE,
            *(methods.within(one, RIGHT) for one in others),
        ),
    }
    panels = [
        [
            panel(f"{name}: {title}", name, {one: one for one in some})
            for title, some in columns.items()
        ]
        for name in COEFFICIENTS
    ]
    yield Chart(
        "pmse-regression",
        budget_figures.drawn(panels, "median error"),
        "Median error of intercept and slope by budget. In the middle ε promises nothing. Bars: "
        "95 % Monte Carlo intervals.",
    )
    bounds = [
        panel(method, SLOPE, {f"{reach:g} sd": methods.within(method, reach) for reach in REACHES})
        for method in BOUNDED
        if method != methods.SMOOTHED  # whose slope is nearly 0 throughout
    ]
    yield Chart(
        "pmse-regression-bounds",
        budget_figures.drawn([bounds], "median error"),
        "Median error of the slope by budget and bounds, for methods that need bounds; that of the "
        "smoothed histogram with ε for all records is 1 throughout.",
    )
