"""What the page of the simulation study tells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from understudy_studies.bowen_liu_su_2021.simulation import figures
from understudy_studies.bowen_liu_su_2021.simulation.claims import about_study
from understudy_studies.bowen_liu_su_2021.simulation.coefficient_results import (
    BIAS,
    MEASURES,
    MISS,
    RMSE,
    SHORT,
    Results,
)
from understudy_studies.bowen_liu_su_2021.simulation.level_readings import (
    aic_by_levels,
    verdicts_by_reading,
)
from understudy_studies.bowen_liu_su_2021.simulation.population import BINS, BOUNDS, MAIN, SATURATED
from understudy_studies.bowen_liu_su_2021.simulation.release_ways import (
    DOWNWARD,
    EPSILONS,
    GROUPS,
    LINES,
    ORIGINAL,
    PAPERS,
    PRINTED,
    PRIVBAYES,
    SETS,
    SOME,
    STATED,
    STEPS,
    STRICT,
    UH,
    UH_STRICT,
)
from understudy_studies.bowen_liu_su_2021.simulation.simulation import (
    N_ROWS,
    PENALTY,
    PREDICTION,
    TEST_ROWS,
)
from understudy_studies.framework.claim_verdicts import told
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import FEWEST, plain, span
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable

PAPERS_GROUP = "x1 + x2 + x4"


def page_text(rows: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    results = Results(rows)
    n = results.repetitions
    findings, comparison = told(
        lambda: about_study(results), replace(run_record, repetitions=(n, n))
    )
    ours = tuple(_ours(results)) if n >= FEWEST else ()
    readings = () if comparison is None else verdicts_by_reading(rows)
    error = 100 * math.sqrt(0.95 * 0.05 / n)
    prose = prose_of(
        __package__,
        sets=SETS,
        bins=BINS,
        test_rows=TEST_ROWS,
        penalty=f"{PENALTY[SATURATED]:g}",
        steps=STEPS,
        uh=UH,
        strict=STRICT,
        uh_strict=UH_STRICT,
        downward=DOWNWARD,
        groups=GROUPS,
        printed=PRINTED,
        stated=STATED,
        some=f"{SOME[0]:g}",
        fewer=run_record.repetitions[0],
        numbers_of_rows=", ".join(f"{n:,}" for n in N_ROWS),
        epsilons=", ".join(f"{epsilon:g}" for epsilon in EPSILONS),
        bins_of_y="; ".join(
            (
                f"{BINS} from {plain(low)} to {plain(high)} ({model})"
                for model, (low, high) in BOUNDS.items()
            )
        ),
        ways=", ".join(LINES),
        repetitions=n,
        error=f"{error:.2g}",
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=(*findings, *ours),
        comparison=comparison,
        tables=(*readings, aic_by_levels(), *_numbers(results), _groups(results), _reconstructed()),
        charts=_charts(results),
    )


def _ours(results: Results) -> Iterator[str]:
    """What the paper does not look at; bias and RMSE are medians over coefficients."""
    at = f"at ε = {SOME[0]:g}"
    yield (
        f"Noise that holds the stated ε when a record is replaced makes the RMSE of STEPS {at} "
        f"{span(_ratios(results, RMSE, STRICT, STEPS))} times that as published, and that of UH "
        f"{span(_ratios(results, RMSE, UH_STRICT, UH))} times."
    )
    for model in (MAIN, SATURATED):
        downward = {m: _ratios(results, m, DOWNWARD, STRICT, model) for m in (BIAS, RMSE)}
        yield (
            f"{model.capitalize()}: at the same budget, {at}, shares handed down the tree instead "
            f"of positive leaves make the bias {span(downward[BIAS])} times as large and the RMSE "
            f"{span(downward[RMSE])} times."
        )
    found = [results.groups(point, SOME[0]).get(PAPERS_GROUP, 0.0) for point in results.all_points]
    yield (
        f"The private choice takes the paper’s group, {PAPERS_GROUP}, in "
        f"{span([100 * one for one in found], '.0f')} % of releases {at}, and costs RMSE "
        f"{span(_ratios(results, RMSE, GROUPS, STRICT))} times that of the declared group."
    )
    printed = _ratios(results, RMSE, PRINTED, STEPS)
    yield (
        f"The equations as printed give an RMSE {span(printed)} times that of least squares, {at}."
    )
    stated = _ratios(results, RMSE, STATED, PRIVBAYES)
    yield (
        f"With the noise in counts that PrivBayes states, its RMSE is {span(stated)} times that "
        "with the noise of the code which the paper used."
    )
    for model in (MAIN, SATURATED):
        covers = [results.mean_coverage(p, way) for p in results.points(model) for way in PAPERS]
        yield (
            f"{model.capitalize()}: the paper’s intervals cover {span(covers, '.0f')} % on average "
            "over the coefficients; they know nothing of the bias that clipped counts and bins "
            "bring."
        )


def _ratios(
    results: Results, measure: str, way: str, other: str, model: str | None = None
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """A measure of one way over that of another, at all scenarios (of a model) and budgets."""
    points = [point for point in results.all_points if model in {None, point[0]}]
    return np.concatenate(
        [results.along(measure, p, way) / results.along(measure, p, other) for p in points]
    )


def _numbers(results: Results) -> Iterator[TextTable]:
    """All measures of all ways, a table for each scenario."""
    forms = {BIAS: ".3f", RMSE: ".3f", MISS: ".1f", PREDICTION: ".3f"}
    for point in results.all_points:
        rows = [
            (way, SHORT[measure], *(_cell(value, forms[measure]) for value in values))
            for measure in MEASURES
            for way in (ORIGINAL, *LINES)
            for values in [results.along(measure, point, way)]
        ]
        yield TextTable(
            caption=f"{point[0].capitalize()}, n = {point[1]:,}: {'; '.join(MEASURES.values())}",
            headings=("way", "measure", *_budgets(results)),
            rows=tuple(rows),
            words=2,
            fold=True,
        )


def _cell(value: float, form: str) -> str:
    return "–" if np.isnan(value) else f"{value:{form}}"


def _groups(results: Results) -> TextTable:
    rows = []
    for point in results.all_points:
        cells = []
        for epsilon in SOME:
            found = results.groups(point, epsilon)
            first = next(iter(found.items()), ("–", 0.0))
            share = found.get(PAPERS_GROUP, 0.0)
            cells.append(f"{100 * share:.0f} % (most often {first[0]}: {100 * first[1]:.0f} %)")
        rows.append((f"{point[0]}, n = {point[1]:,}", *cells))
    return TextTable(
        caption=f"How often the private choice takes {PAPERS_GROUP} for the first layer",
        headings=("scenario", *(f"ε = {epsilon:g}" for epsilon in SOME)),
        rows=tuple(rows),
    )


def _budgets(results: Results) -> tuple[str, ...]:
    return tuple(f"ε = {epsilon:g}" for epsilon in results.epsilons)


def _reconstructed() -> TextTable:
    return reconstructed(
        ("levels, main effects, n, ε, m, bins, r, degree", "printed", ""),
        ("x1 to x4 independent", "guessed", "not said"),
        (
            "levels of x3 with shares 0.1, 0.2, 0.3, 0.4, all others alike likely",
            "fitted",
            "to the sentence on AIC; what other laws give stands above",
        ),
        (
            "that AIC is of a model in which all levels are alike likely",
            "fitted",
            "by Lemma 1’s no law makes x1, x2 and x4 each much smaller than x3",
        ),
        ("first level as reference", "guessed", "not said; the usual one"),
        ("bins of equal width between public ends", "guessed", "the paper’s edges are not given"),
        (
            "saturated model: one coefficient for each cell",
            "guessed",
            "the four-way interaction term alone; sums of all interactions have 120 too",
        ),
        (
            f"ridge penalty {PENALTY[SATURATED]:g}",
            "fitted",
            "to the exception that the paper makes for the coverage of STEPS; 1 would be that of "
            "coefficients from N(0, 1) and errors N(0, 1)",
        ),
        (
            "standard errors of the ridge regression",
            "guessed",
            "posterior deviations σ̂²(X′X + λI)⁻¹, which count shrinkage",
        ),
        (f"new {TEST_ROWS} test records in each repetition", "guessed", "or the same for all"),
        ("sensitivity 1 of the counts of trees", "reconstructed", "from the text on removal"),
        ("UH: four of five columns, and the cells below, at ε/(4·4)", "reconstructed", "its L = 4"),
        ("UH: the same random order in all nodes of a layer", "guessed", "drawn anew for each set"),
        (
            "PrivBayes: noise in counts of scale 2(d − k)/(nε)",
            "reconstructed",
            "the code that the paper names, before it was corrected on 31 March 2021",
        ),
        (
            "16 scenarios with ε",
            "printed",
            "the paper lists four ε but counts 12, as for three of them",
        ),
    )


def _charts(results: Results) -> tuple[Chart, ...]:
    return figures.charts(results)
