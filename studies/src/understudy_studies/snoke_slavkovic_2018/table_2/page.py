"""What the page of table 2 tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from understudy._arrays import Floats
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import Curves, plain
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable
from understudy_studies.snoke_slavkovic_2018 import (
    budget_figures,
    candidates,
    comparators,
    limits,
    methods,
    proposals,
    searches,
    walks,
)
from understudy_studies.snoke_slavkovic_2018.conditions import CONDITIONS, PAPER
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS
from understudy_studies.snoke_slavkovic_2018.readings import told
from understudy_studies.snoke_slavkovic_2018.table_2 import paper
from understudy_studies.snoke_slavkovic_2018.table_2.claims import COLUMNS, about_table, small
from understudy_studies.snoke_slavkovic_2018.table_2.sensitivity import sensitivity
from understudy_studies.snoke_slavkovic_2018.table_2.simulation import (
    EFFECTIVE,
    EXACT,
    GREEDY,
    ODDS,
    REACH,
    WALKS,
)
from understudy_studies.snoke_slavkovic_2018.table_2.table_findings import findings

PUBLISHED = (methods.published(None, methods.SETS), methods.published(None, 1))
METHODS = (
    methods.NON_PRIVATE,
    PUBLISHED[0],
    *(methods.walking(steps) for steps in WALKS),
    methods.BAYES,
    methods.AS_PRINTED,
    *methods.STRICT,
    methods.LIMIT,
    PUBLISHED[1],
    methods.bayes(1),
    methods.PER_RECORD,
    methods.SMOOTHED,
)
POINT = (PAPER,)


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, ("condition",), budget="epsilon")
    words, comparison = told(lambda: about_table(curves), run_record)
    if comparison is not None:
        words = (*words, *findings(curves))
    prose = prose_of(
        __package__,
        n_rows=N_ROWS,
        cells=candidates.CELLS,
        candidates=candidates.CANDIDATES,
        prior_bounds=candidates.REACH,
        rounds=searches.ROUNDS,
        finer=searches.FINER,
        shrink=searches.SHRINK,
        conditional=searches.CONDITIONAL,
        fixed_trees=candidates.FIXED_TREES,
        fixed_depth=candidates.FIXED_DEPTH,
        weighted=proposals.CANDIDATES,
        worlds=CONDITIONS[PAPER].worlds,
        least=limits.LEAST_EFFECTIVE,
        bins=comparators.PRINTED_BINS,
        width=walks.WIDTH,
        sets=methods.SETS,
        bounds=REACH,
        epsilons=methods.EPSILONS,
        complexity=CONDITIONS[PAPER].complexity,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=words,
        comparison=comparison,
        tables=tuple(_tables(curves)),
        charts=(_chart(curves),),
    )


def _tables(curves: Curves) -> Iterator[TextTable]:
    for estimand in (GREEDY, EXACT):
        yield TextTable(
            caption=f"Mean pMSE by {estimand}, ± Monte Carlo error",
            headings=("method", "what ε is worth", *_budgets(curves), "repetitions"),
            rows=tuple(_printed(estimand == GREEDY)) + tuple(_means(curves, estimand)),
            words=2,
        )
    yield _beside(curves)
    yield sensitivity(curves)
    yield TextTable(
        caption=f"Variance of the pMSE by {GREEDY}",
        headings=("method", *_budgets(curves)),
        rows=tuple(_variances(curves)),
        fold=True,
    )
    yield TextTable(
        caption="The limits: effective number of candidates, and log₁₀ of the odds of the "
        "published prior (mass near the data over mass where all is told apart)",
        headings=("method", *_budgets(curves)),
        rows=tuple(_limits(curves)),
        fold=True,
    )
    yield _reconstructed()


def _budgets(curves: Curves) -> Sequence[str]:
    return [f"ε = {budget:g}" for budget in curves.budgets]


def _named(method: str) -> str:
    """A row of the paper's table."""
    return f"the paper: {method.removesuffix(' of the paper')}"


def _printed(wanted: bool) -> Iterator[tuple[str, ...]]:
    for method, values in paper.MEANS.items() if wanted else ():
        yield (_named(method), "", *(f"{value:.4f}" for value in values), "2,500")


def _means(curves: Curves, estimand: str) -> Iterator[tuple[str, ...]]:
    for method in METHODS:
        mean, error, usable = (
            curves.along(name, POINT, estimand, method) for name in ("mean", "mean_error", "usable")
        )
        cells = (
            f"{value:.4f}" + ("" if np.isnan(off) else f" ± {off:.4f}")
            for value, off in zip(mean, error, strict=True)
        )
        yield (method, methods.worth(method), *cells, f"{np.nanmin(usable):,.0f}")


def _variances(curves: Curves) -> Iterator[tuple[str, ...]]:
    def shown(values: Sequence[float] | Floats) -> Iterator[str]:
        return ("–" if np.isnan(value) else small(value) for value in values)

    for method, values in paper.VARIANCES.items():
        yield (_named(method), *shown(values))
    for method in (
        *METHODS,
        methods.averaged(methods.NON_PRIVATE),
        methods.averaged(methods.BAYES),
    ):
        yield (method, *shown(curves.along("variance", POINT, GREEDY, method)))
    for name in CONDITIONS:
        if name != PAPER:
            for method in (methods.NON_PRIVATE, methods.bayes(CONDITIONS[name].sets[0])):
                found = curves.along("variance", (name,), GREEDY, method)
                yield (f"{method} ({name})", *shown(found))


def _beside(curves: Curves) -> TextTable:
    """Our means over the printed ones, with intervals."""
    rows = []
    for column, method in COLUMNS.items():
        printed = paper.means(column)
        mean, error = (
            curves.along(name, POINT, GREEDY, method) / printed for name in ("mean", "mean_error")
        )
        cells = (
            f"{one:.2f}"
            + ("" if np.isnan(off) else f" ({one - 1.96 * off:.2f}–{one + 1.96 * off:.2f})")
            for one, off in zip(mean, error, strict=True)
        )
        rows.append((column, method, *cells))
    return TextTable(
        caption="The paper’s table 2 beside ours: our mean pMSE over the printed one (95 % "
        "intervals of ours)",
        headings=("column", "ours", *_budgets(curves)),
        rows=tuple(rows),
        words=2,
    )


def _limits(curves: Curves) -> Iterator[tuple[str, ...]]:
    for method in (methods.LIMIT, *PUBLISHED):
        found = curves.along("mean", POINT, EFFECTIVE, method)
        yield (f"{method}: candidates", *(f"{one:.0f}" for one in found))
    for method in PUBLISHED:
        found = curves.along("mean", POINT, ODDS, method)
        yield (f"{method}: log₁₀ odds", *(plain(round(float(one), 1)) for one in found))


def _reconstructed() -> TextTable:
    return reconstructed(
        (
            f"n/m = {N_ROWS // methods.SETS}",
            "fitted",
            "to noisy Bayes and the mechanism in table 2",
        ),
        (f"n = {N_ROWS:,}, m = {methods.SETS}", "fitted", "round numbers with this ratio"),
        ("x₁ ~ N(0, 1), x₂ | x₁ ~ N(x₁, 1)", "guessed", "lost"),
        ("trees stop where a split gains less than a share c", "printed", "in words, §5"),
        (
            f"c = {CONDITIONS[PAPER].complexity:g}",
            "fitted",
            "to the printed mean without privacy, .0066; its variance then is larger than printed",
        ),
        (
            f"means over {CONDITIONS[PAPER].worlds} sets of a candidate",
            "guessed",
            "“large enough”, §3.1; the same random numbers for all candidates",
        ),
        ("prior N(0, 1,000²) of all five parameters", "guessed", "formula lost"),
        ("length of walks, width of their steps", "guessed", "lost"),
        ("θ has log σ", "reconstructed", "formula lost"),
        (
            f"smoothed histogram: {comparators.PRINTED_BINS} bins a side, weight 1/ε",
            "fitted",
            "to its column of table 2",
        ),
        ("budget of noisy Bayes in five equal parts", "guessed", "lost"),
        ("bounds at 4 deviations", "printed", ""),
        ("500 repetitions", "ours", "2,500 in the paper"),
    )


def _chart(curves: Curves) -> Chart:
    shown = (
        methods.NON_PRIVATE,
        methods.GRID_2,
        methods.ROUNDS,
        methods.COLUMNS,
        PUBLISHED[0],
        methods.BAYES,
        methods.AS_PRINTED,
        methods.SMOOTHED,
    )
    panels = [budget_figures.Panel("the paper", {m: paper.means(m) for m in paper.MEANS})]
    panels += [
        budget_figures.Panel(
            f"ours: {estimand}",
            {m: curves.along("mean", POINT, estimand, m) for m in shown},
            {m: curves.along("mean_error", (), estimand, m) for m in shown},
        )
        for estimand in (GREEDY, EXACT)
    ]
    return Chart(
        "pmse-table2",
        budget_figures.drawn([panels], "mean pMSE"),
        "Mean pMSE of a released set by budget (the paper’s figure 3): as printed, and ours by a "
        "greedy tree and by the best tree of depth 2. Bars: 95 % Monte Carlo intervals.",
    )
