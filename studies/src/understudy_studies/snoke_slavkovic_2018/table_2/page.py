"""What the page of table 2 tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from understudy.arrays import Floats
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import Curves, plain, span
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
from understudy_studies.snoke_slavkovic_2018.conditions import CONDITIONS, PAPER, PRUNED
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
    findings, comparison = told(lambda: about_table(curves), run_record)
    if comparison is not None:
        findings = (*findings, *_own(curves))
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
        findings=findings,
        comparison=comparison,
        tables=tuple(_tables(curves)),
        charts=(_chart(curves),),
    )


def _own(curves: Curves) -> Iterator[str]:
    """What was found beyond the paper’s points."""

    def mean(method: str, estimand: str = GREEDY) -> Floats:
        return curves.along("mean", POINT, estimand, method)

    grids = np.concatenate([mean(one)[curves.budgets >= 0.5] for one in methods.STRICT[:3]])
    columns, best = mean(methods.COLUMNS), paper.means(methods.PAPER)
    yield (
        f"With exact trees, the proven sensitivity n/(n + 1) and one public grid of "
        f"{candidates.CANDIDATES:,} points of the prior, the grid is what limits the mechanism, "
        f"and hardly the budget: from ε = 0.5 on its mean pMSE is {span(grids, '.3f')}. Column by "
        f"column, each at half of the budget, it goes from {columns[0]:.3f} at ε = 0.25 to "
        f"{columns[-1]:.3f} at ε = 4, with a proven guarantee; the published values go from "
        f"{best[0]:.3f} to {best[-1]:.3f}."
    )
    many = mean(PUBLISHED[0])
    yield (
        f"As published, with n = {N_ROWS:,} and m = {methods.SETS}, its mean pMSE is "
        f"{' / '.join(f'{one:.3f}' for one in many)}, where the paper has "
        f"{' / '.join(f'{one:.3f}' for one in best)}. The promise is violated, since greedy trees "
        "exceed the bound 1/n behind the exponent."
    )
    pruned = curves.along("mean", (PRUNED,), GREEDY, methods.NON_PRIVATE)
    yield (
        f"No single c gives tables 1 and 2 by trees that stop. Trees that are pruned at c = "
        f"{CONDITIONS[PRUNED].complexity:g}, one of those that fit table 1, have a mean pMSE of "
        f"{pruned[0]:.4f} without privacy, where the paper has "
        f"{paper.means(methods.NON_PRIVATE)[0]:.4f}, and values much like those of table 2 (sensitivity table); but by pruning the rates of "
        "table 1 are far off (`pmse-failure`)."
    )
    whole, each, fitted = (
        mean(one) for one in (methods.SMOOTHED, methods.PER_RECORD, methods.AS_PRINTED)
    )
    theirs = paper.means(methods.SMOOTHED)
    yield (
        "The smoothed histogram of the paper cannot be one whose n records cost ε together. There "
        "the uniform law has a share of about K/(K + ε) for K bins, whatever n is, and the mean "
        f"pMSE hardly moves: {span(whole, '.3f')}. With {comparators.PRINTED_BINS} bins a side and "
        "a weight of 1/ε a bin, at which each record costs log(1 + ε) and the set n times as much, "
        f"it goes from {fitted[0]:.3f} to {fitted[-1]:.3f}, as the paper’s goes from "
        f"{theirs[0]:.3f} to {theirs[-1]:.3f}; with ε a record and bins by Scott’s rule from "
        f"{each[0]:.3f} to {each[-1]:.3f}."
    )
    odds = mean(PUBLISHED[0], ODDS)
    yield (
        "The published prior, read as normal with standard deviation 1,000, is not harmless. Its "
        "mass near the data, tilted as published, is to that where all trees part synthetic from "
        f"original records like {_power(odds[0])} to 1 at ε = 0.25, {_power(odds[1])} to 1 at "
        f"ε = 0.5 and {_power(odds[2])} to 1 at ε = 1 (m = {methods.SETS}). Where these odds are "
        "small, a walk that follows the law long enough leaves the data for good, and good results "
        "can only come from walks that had not left their start."
    )
    short, long = (mean(methods.walking(steps)) for steps in WALKS)
    yield (
        f"Walks from the fitted parameters show it: at ε = 0.25, m = {methods.SETS}, after "
        f"{min(WALKS):,} steps the mean pMSE is {short[0]:.3f}, after {max(WALKS):,} it is "
        f"{long[0]:.3f}. At ε = 1: {short[2]:.3f} and {long[2]:.3f}."
    )


def _power(exponent: float) -> str:
    """A power of ten, as far as the exponent is known.

    Example:
        >>> _power(-12.7)
        '10^−13'
    """
    return "unknown" if np.isnan(exponent) else f"10^{plain(round(exponent))}"


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
