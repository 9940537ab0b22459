"""What the page of the study of regressions tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from understudy._arrays import Floats
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import Curves, span
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable
from understudy_studies.snoke_slavkovic_2018 import (
    budget_figures,
    candidates,
    limits,
    methods,
    proposals,
    searches,
)
from understudy_studies.snoke_slavkovic_2018.conditions import CONDITIONS, PAPER, SMALLER
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS
from understudy_studies.snoke_slavkovic_2018.readings import told
from understudy_studies.snoke_slavkovic_2018.regressions.claims import (
    BOUNDED,
    RIGHT,
    about_regression,
)
from understudy_studies.snoke_slavkovic_2018.regressions.error_quartiles import spread
from understudy_studies.snoke_slavkovic_2018.regressions.other_sizes import sensitivity
from understudy_studies.snoke_slavkovic_2018.regressions.simulation import (
    COEFFICIENTS,
    DEPTHS,
    EFFECTIVE,
    REACHES,
    SLOPE,
)

PUBLISHED = tuple(methods.published(depth, m) for m in (methods.SETS, 1) for depth in DEPTHS)
WITHIN = (*BOUNDED, methods.FUNCTIONAL, methods.PER_RECORD, methods.SMOOTHED)
"""All methods with bounds, those of the paper first."""
METHODS = (
    methods.NON_PRIVATE,
    *PUBLISHED,
    *methods.STRICT,
    *(methods.within(method, reach) for method in WITHIN for reach in REACHES),
)
POINT = (PAPER,)


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, ("condition",), budget="epsilon")
    findings, comparison = told(lambda: about_regression(curves), run_record)
    if comparison is not None:
        findings = (*findings, *_own(curves))
    prose = prose_of(
        __package__,
        n_rows=N_ROWS,
        sets=methods.SETS,
        candidates=candidates.CANDIDATES,
        rounds=searches.ROUNDS,
        weighted=proposals.CANDIDATES,
        worlds=CONDITIONS[SMALLER].worlds,
        least=limits.LEAST_EFFECTIVE,
        epsilons=methods.EPSILONS,
        reaches=REACHES,
        complexity=CONDITIONS[PAPER].complexity,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=findings,
        comparison=comparison,
        tables=(
            *(_table(curves, *which) for which in _GRIDS),
            sensitivity(curves),
            _effective(curves),
            _reconstructed(),
        ),
        charts=(*_charts(curves), spread(curves, METHODS)),
    )


_GRIDS = tuple((name, value) for value in ("median", "mean") for name in COEFFICIENTS[::-1])


def _own(curves: Curves) -> Iterator[str]:
    """What was found beyond the paper’s points."""

    def slope(method: str) -> Floats:
        return curves.along("median", POINT, SLOPE, method)

    columns, grid = slope(methods.COLUMNS), slope(methods.GRID_2)
    yield (
        f"With a proven guarantee, column by column, the median error of the slope goes from "
        f"{columns[0]:.2f} at ε = 0.25 to {columns[-1]:.3f} at ε = 4, where the "
        f"{searches.CONDITIONAL} candidates for x₂ given x₁ limit it. On one grid of "
        f"{candidates.CANDIDATES:,} points for all five parameters it is {span(grid)} at all "
        "budgets: the grid holds no better point."
    )
    functional, eight, knorm = (
        slope(methods.within(one, RIGHT))
        for one in (methods.FUNCTIONAL, methods.FUNCTIONAL_8, methods.KNORM)
    )
    yield (
        f"Mechanisms that release coefficients only, within {RIGHT:g} deviations, have median "
        f"errors of the slope of {functional[0]:.3f} to {functional[-1]:.4f} (functional) and "
        f"{knorm[0]:.3f} to {knorm[-1]:.4f} (K-norm): with one predictor and a replaced record "
        f"they are nearly alike. With the published sensitivity of the functional mechanism, 8 in "
        f"place of the exact 5, they are {eight[0]:.3f} to {eight[-1]:.4f}."
    )
    bayes = slope(methods.within(methods.BAYES, RIGHT))
    whole, fitted = (
        slope(methods.within(one, RIGHT)) for one in (methods.SMOOTHED, methods.AS_PRINTED)
    )
    yield (
        f"Noisy Bayes is of no use at small budgets (within {RIGHT:g} deviations its median error "
        f"of the slope goes from {bayes[0]:.3g} to {bayes[-1]:.3g}): the noise swamps the scatter "
        "of x₁. A smoothed histogram whose n records cost ε together is nearly uniform, and its "
        f"slope nearly 0 (error {span(whole)}); as its printed pMSE tells it goes from "
        f"{fitted[0]:.2f} to {fitted[-1]:.3f}, at a cost of n·log(1 + ε). As the uniform law is "
        "symmetric about the true means, histograms look good for the intercept."
    )


def _effective(curves: Curves) -> TextTable:
    """What the laws of the published mechanism rest on."""
    return TextTable(
        caption=f"Effective candidates of {proposals.CANDIDATES:,}, means over repetitions; a "
        f"point that rests on fewer than {limits.LEAST_EFFECTIVE} is not judged",
        headings=("method", *(f"ε = {budget:g}" for budget in curves.budgets)),
        rows=tuple(
            (one, *(f"{value:.0f}" for value in curves.along("mean", POINT, EFFECTIVE, one)))
            for one in PUBLISHED
        ),
        fold=True,
    )


def _table(curves: Curves, coefficient: str, value: str) -> TextTable:
    rows = []
    for method in METHODS:
        found, error, usable = (
            curves.along(name, POINT, coefficient, method)
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
        (f"n = {N_ROWS:,}, m = {methods.SETS}", "fitted", "to table 2: see `pmse-table2`"),
        ("x₁ ~ N(0, 1), x₂ | x₁ ~ N(x₁, 1)", "guessed", "lost"),
        ("ε = .25, .5, 1, 2, 4; bounds at 2, 4, 5, 10 deviations", "printed", ""),
        ("trees stop where a split gains less than a share c", "printed", "in words, §5"),
        (f"c = {CONDITIONS[PAPER].complexity:g}", "fitted", "see `pmse-table2`"),
        ("smoothed histogram: width of bins, weight 1/ε", "fitted", "see `pmse-table2`"),
        ("proper prior", "ours", "the published one leads away from the data: `pmse-table2`"),
        ("deviations in the bounds are the true ones", "ours", "those of the data would leak"),
        (
            "functional mechanism of sensitivity 8",
            "reconstructed",
            "2(d + 1)², Zhang et al. (2012), d = 1; the exact one is 5",
        ),
        ("functional and K-norm: n public, ridge", "ours", "lost"),
        ("number of repetitions", "ours", "lost"),
    )


def _charts(curves: Curves) -> Iterator[Chart]:
    def panel(title: str, coefficient: str, methods: Mapping[str, str]) -> budget_figures.Panel:
        """A panel of some methods, by the names that they have in it."""
        medians, errors = (
            {name: curves.along(value, POINT, coefficient, one) for name, one in methods.items()}
            for value in ("median", "median_error")
        )
        return budget_figures.Panel(title, medians, errors)

    strict = (methods.NON_PRIVATE, methods.GRID_2, methods.ROUNDS, methods.COLUMNS)
    others = (
        methods.BAYES,
        methods.AS_PRINTED,
        methods.FUNCTIONAL_8,
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
        "Median error of intercept and slope by budget (the paper’s figure 2 has means, which some "
        "methods have not; a table below has those that there are). In the middle ε promises "
        "nothing. Bars: 95 % Monte Carlo intervals.",
    )
    bounds = [
        panel(method, SLOPE, {f"{reach:g} sd": methods.within(method, reach) for reach in REACHES})
        for method in BOUNDED
    ]
    yield Chart(
        "pmse-regression-bounds",
        budget_figures.drawn([bounds], "median error"),
        "Median error of the slope by budget and bounds, for the methods that need bounds.",
    )
