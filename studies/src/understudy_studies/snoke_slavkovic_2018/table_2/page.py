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
    limits,
    methods,
    searches,
    walks,
)
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS
from understudy_studies.snoke_slavkovic_2018.readings import told
from understudy_studies.snoke_slavkovic_2018.table_2 import paper
from understudy_studies.snoke_slavkovic_2018.table_2.claims import about_table
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
    *methods.STRICT,
    methods.LIMIT,
    *PUBLISHED,
    *(methods.walking(steps) for steps in WALKS),
    methods.BAYES,
    methods.SMOOTHED,
    methods.PER_RECORD,
)


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, (), budget="epsilon")
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
        weighted=limits.CANDIDATES,
        width=walks.WIDTH,
        sets=methods.SETS,
        bounds=REACH,
        epsilons=methods.EPSILONS,
        complexity=limits.COMPLEXITY,
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
        return curves.along("mean", (), estimand, method)

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
    few, many = mean(PUBLISHED[1]), mean(PUBLISHED[0])
    between = int(((few < best) & (best < many)).sum())
    yield (
        "As published, and in the limit of long walks under a proper prior, the number of sets "
        f"decides: at ε = 1 the mean pMSE is {few[2]:.3f} with one set and {many[2]:.3f} with "
        f"{methods.SETS} at ε/{methods.SETS} each. The printed values lie between the two at "
        f"{between} of {len(best)} budgets. The promise is violated in both cases."
    )
    whole, each = mean(methods.SMOOTHED), mean(methods.PER_RECORD)
    theirs = paper.means(methods.SMOOTHED)
    yield (
        "The smoothed histogram of the paper cannot be one whose n records cost ε together. There "
        "the uniform law has a share of about K/(K + ε) for K bins, whatever n is, and the mean "
        f"pMSE hardly moves: {span(whole, '.3f')}. If each record may cost ε, which makes n·ε for "
        f"the set, it goes from {each[0]:.3f} to {each[-1]:.3f}, as the paper’s goes from "
        f"{theirs[0]:.3f} to {theirs[-1]:.3f}."
    )
    ten, one = (mean(method, ODDS) for method in PUBLISHED)
    yield (
        "The published prior, read as normal with standard deviation 1,000, is not harmless. Its "
        "mass near the data, tilted as published, is to that where all trees part synthetic from "
        f"original records like {_power(ten[0])} to 1 at ε = 0.25 and {_power(ten[3])} to 1 at "
        f"ε = 2 with m = 10 sets; with one set like {_power(one[0])} to 1 at ε = 0.25, but "
        f"{_power(one[1])} to 1 at ε = 0.5. Where these odds are small, a walk that follows the "
        "law long enough leaves the data for good, and good results can only come from walks that "
        "had not left their start."
    )
    short, long = (mean(methods.walking(steps)) for steps in WALKS)
    yield (
        f"Walks from the fitted parameters show it: at ε = 0.25, m = 10, after {min(WALKS):,} "
        f"steps the mean pMSE is {short[0]:.3f}, after {max(WALKS):,} it is {long[0]:.3f}. At "
        f"ε = 1: {short[2]:.3f} and {long[2]:.3f}."
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
            curves.along(name, (), estimand, method) for name in ("mean", "mean_error", "usable")
        )
        cells = (
            f"{value:.4f}" + ("" if np.isnan(off) else f" ± {off:.4f}")
            for value, off in zip(mean, error, strict=True)
        )
        yield (method, methods.worth(method), *cells, f"{np.nanmin(usable):,.0f}")


def _variances(curves: Curves) -> Iterator[tuple[str, ...]]:
    def shown(values: Sequence[float] | Floats) -> Iterator[str]:
        return ("–" if np.isnan(value) else f"{value:.1e}".replace("-", "−") for value in values)

    for method, values in paper.VARIANCES.items():
        yield (_named(method), *shown(values))
    for method in METHODS:
        yield (method, *shown(curves.along("variance", (), GREEDY, method)))


def _limits(curves: Curves) -> Iterator[tuple[str, ...]]:
    for method in (methods.LIMIT, *PUBLISHED):
        found = curves.along("mean", (), EFFECTIVE, method)
        yield (f"{method}: candidates", *(f"{one:.0f}" for one in found))
    for method in PUBLISHED:
        found = curves.along("mean", (), ODDS, method)
        yield (f"{method}: log₁₀ odds", *(plain(round(float(one), 1)) for one in found))


def _reconstructed() -> TextTable:
    return reconstructed(
        ("n = 1,000", "guessed", "lost; the null pMSE depends on unknown controls of the trees"),
        ("x₁ ~ N(0, 1), x₂ | x₁ ~ N(x₁, 1)", "guessed", "lost"),
        (
            f"complexity {limits.COMPLEXITY:g} of the greedy trees",
            "fitted",
            "so that synthesis without privacy has a mean pMSE near the printed .0066; its "
            "variance then is larger than the printed one",
        ),
        ("m = 10 sets", "guessed", "lost; m = 1 stands beside it"),
        ("sets of a candidate: one, with fixed ω", "ours", "published: means over new sets"),
        ("prior N(0, 1,000²) of all five parameters", "guessed", "formula lost"),
        ("length of walks, width of their steps", "guessed", "lost"),
        ("θ has log σ", "reconstructed", "formula lost"),
        ("smoothed histogram: n records at ε, or ε for each", "ours", "see the findings"),
        ("budget of noisy Bayes in five equal parts", "guessed", "lost"),
        ("2,500 repetitions; bounds at 4 deviations", "printed", ""),
    )


def _chart(curves: Curves) -> Chart:
    shown = (
        methods.NON_PRIVATE,
        methods.GRID_2,
        methods.ROUNDS,
        methods.COLUMNS,
        *PUBLISHED,
        methods.BAYES,
        methods.SMOOTHED,
        methods.PER_RECORD,
    )
    panels = [budget_figures.Panel("the paper", {m: paper.means(m) for m in paper.MEANS})]
    panels += [
        budget_figures.Panel(
            f"ours: {estimand}",
            {m: curves.along("mean", (), estimand, m) for m in shown},
            {m: curves.along("mean_error", (), estimand, m) for m in shown},
        )
        for estimand in (GREEDY, EXACT)
    ]
    return Chart(
        "pmse-table2",
        budget_figures.drawn([panels], "mean pMSE"),
        "Mean pMSE of a released set by budget: as printed in the paper, and ours by a greedy tree "
        "and by the best tree of depth 2. Bars: 95 % Monte Carlo intervals.",
    )
