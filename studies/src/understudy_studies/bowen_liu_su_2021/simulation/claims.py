"""What the paper says of its simulation, each point beside our results.

The points are those of Bowen, Liu & Su (2021), section 3.3, in our words. A case is a sample size
and a budget, unless it is said otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from understudy_studies.bowen_liu_su_2021.simulation.coefficient_results import (
    BIAS,
    MISS,
    RMSE,
    SHORT,
    Results,
)
from understudy_studies.bowen_liu_su_2021.simulation.population import MAIN, SATURATED, Model
from understudy_studies.bowen_liu_su_2021.simulation.release_ways import (
    PAPERS,
    PRIVBAYES,
    STEPS,
    UH,
)
from understudy_studies.bowen_liu_su_2021.simulation.simulation import PREDICTION
from understudy_studies.bowen_liu_su_2021.simulation.verdict_reasons import REASONS
from understudy_studies.framework.claim_verdicts import Verdict
from understudy_studies.framework.claim_verdicts import judged as judged_because
from understudy_studies.framework.interval_tally import Values
from understudy_studies.framework.result_curves import span

ERRORS = (BIAS, RMSE, PREDICTION)
ALL = (BIAS, RMSE, MISS, PREDICTION)
FLAT = 0.25
"""A trend is not obvious if the last value is within a quarter of the first."""

_NAMES: dict[Model, str] = {MAIN: "Main effects", SATURATED: "Saturated model"}
_FORMS = {BIAS: ".2f", RMSE: ".2f", MISS: ".0f", PREDICTION: ".3f"}


def judged(claim: str, measured: str, cases: Sequence[bool]) -> Verdict:
    """The verdict on a point, with its cause."""
    return judged_because(claim, measured, cases, why=REASONS.get(claim))


def about_study(results: Results) -> tuple[Verdict, ...]:
    """All points that the paper makes."""
    return (*_main_effects(results), *_saturated(results))


def _main_effects(results: Results) -> tuple[Verdict, ...]:
    extremes = [
        *((PRIVBAYES, measure, _best) for measure in (BIAS, MISS, PREDICTION)),
        (PRIVBAYES, RMSE, _worst),
        (STEPS, RMSE, _best),
        *((UH, measure, _worst) for measure in (BIAS, MISS, PREDICTION)),
    ]
    return (
        *(verdict(results, MAIN, way, measure) for way, measure, verdict in extremes),
        _with_rows(results, MAIN, PAPERS, ALL),
        _with_budget(results, MAIN, PAPERS, ERRORS),
        _with_budget(results, MAIN, (STEPS, UH), (MISS,)),
        _worsens(results, MAIN, PRIVBAYES),
    )


def _saturated(results: Results) -> tuple[Verdict, ...]:
    return (
        _best_overall(results),
        _worst(results, SATURATED, PRIVBAYES, RMSE),
        _worst(results, SATURATED, UH, MISS),
        _worst(results, SATURATED, UH, PREDICTION),
        _with_rows(results, SATURATED, (STEPS,), ALL),
        _with_budget(results, SATURATED, (STEPS,), ERRORS),
        _worsens(results, SATURATED, STEPS),
        _with_rows(results, SATURATED, (UH,), ALL),
        _flat_in_budget(results, UH),
        _flat_in_budget(results, PRIVBAYES),
        _flat_in_rows(results, PRIVBAYES),
    )


def compared(results: Results, model: Model, measure: str) -> dict[str, Values]:
    """A measure of the paper's three methods, way → shape (sizes · budgets,)."""
    return {
        way: np.concatenate([results.along(measure, p, way) for p in results.points(model)])
        for way in PAPERS
    }


def _is_best(found: dict[str, Values], way: str) -> list[bool]:
    others = [values for other, values in found.items() if other != way]
    return [bool(holds) for holds in found[way] < np.min(others, axis=0)]


def _best(results: Results, model: Model, way: str, measure: str) -> Verdict:
    found = compared(results, model, measure)
    return judged(
        f"{_NAMES[model]}: {way} is best in {SHORT[measure]}.",
        f"{_words(measure)}: {_figures(found, measure)}; it is best",
        _is_best(found, way),
    )


def _worst(results: Results, model: Model, way: str, measure: str) -> Verdict:
    found = compared(results, model, measure)
    return judged(
        f"{_NAMES[model]}: {way} is worst in {SHORT[measure]}.",
        f"{_words(measure)}: {_figures(found, measure)}; it is worst",
        _is_best({other: -values for other, values in found.items()}, way),
    )


def _words(measure: str) -> str:
    return {
        BIAS: "Median size of the bias of a coefficient, over n and ε",
        RMSE: "Median RMSE of a coefficient, over n and ε",
        MISS: "Mean distance of the coverage from 95 % in points, over n and ε",
        PREDICTION: "RMSE of predictions, over n and ε",
    }[measure]


def _figures(found: dict[str, Values], measure: str) -> str:
    return ", ".join(f"{way} {span(one, _FORMS[measure])}" for way, one in found.items())


def _best_overall(results: Results) -> Verdict:
    wins = {measure: _is_best(compared(results, SATURATED, measure), STEPS) for measure in ALL}
    counts = ", ".join(f"{SHORT[one]} in {sum(won)} of {len(won)}" for one, won in wins.items())
    return judged(
        "Saturated model: STEPS is best overall.",
        f"It is best in {counts}; a case is a measure too",
        [holds for won in wins.values() for holds in won],
    )


def _by_rows(
    results: Results, model: Model, ways: Sequence[str], measures: Sequence[str]
) -> list[bool]:
    """Whether a larger size gives a smaller value, for every way, measure and budget."""
    return [
        bool(holds)
        for way in ways
        for measure in measures
        for first, second in pairwise(
            results.along(measure, point, way) for point in results.points(model)
        )
        for holds in second < first
    ]


def _changes(
    results: Results, model: Model, ways: Sequence[str], measures: Sequence[str]
) -> list[float]:
    """Differences between neighbouring budgets, for every way, measure and size."""
    return [
        float(change)
        for way in ways
        for measure in measures
        for point in results.points(model)
        for change in np.diff(results.along(measure, point, way))
    ]


def _with_rows(
    results: Results, model: Model, ways: Sequence[str], measures: Sequence[str]
) -> Verdict:
    cases = _by_rows(results, model, ways, measures)
    return judged(
        f"{_NAMES[model]}: inferences of {_listed(ways)} improve with n.",
        f"From n = {' to '.join(f'{p[1]:,}' for p in results.points(model))}, {_listed(measures)} "
        "get better; a case is a method, a measure and a budget",
        cases,
    )


def _with_budget(
    results: Results, model: Model, ways: Sequence[str], measures: Sequence[str]
) -> Verdict:
    ends = "; ".join(
        f"{SHORT[measure]} of {way} {_ends(results, model, way, measure)}"
        for measure in measures
        if measure in {RMSE, MISS}
        for way in ways
    )
    return judged(
        f"{_NAMES[model]}: inferences of {_listed(ways)} improve with ε, in {_listed(measures)}.",
        f"From the smallest to the largest budget: {ends}; a case is a method, a measure, a size "
        "and a step between budgets",
        [change < 0 for change in _changes(results, model, ways, measures)],
    )


def _worsens(results: Results, model: Model, way: str) -> Verdict:
    return judged(
        f"{_NAMES[model]}: as an exception, the coverage of {way} is further from 95 % for "
        "larger ε.",
        f"Its mean distance goes {_ends(results, model, way, MISS)} points; a case is a size and "
        "a step between budgets",
        [change > 0 for change in _changes(results, model, (way,), (MISS,))],
    )


def _ends(results: Results, model: Model, way: str, measure: str) -> str:
    """First and last value, for each size."""
    form = _FORMS[measure]
    curves = [results.along(measure, p, way) for p in results.points(model)]
    return " and ".join(f"from {curve[0]:{form}} to {curve[-1]:{form}}" for curve in curves)


def _flat_in_budget(results: Results, way: str) -> Verdict:
    changes = [
        curve[-1] / curve[0] - 1
        for measure in ALL
        for curve in (results.along(measure, p, way) for p in results.points(SATURATED))
    ]
    return _flat(way, "ε", changes, "a measure and a size")


def _flat_in_rows(results: Results, way: str) -> Verdict:
    changes: list[float] = []
    for measure in ALL:
        first, *_, last = (results.along(measure, p, way) for p in results.points(SATURATED))
        changes += (last / first - 1).tolist()
    return _flat(way, "n", changes, "a measure and a budget")


def _flat(way: str, what: str, changes: Sequence[float], case: str) -> Verdict:
    return judged(
        f"Saturated model: {way} has no obvious trend with {what}.",
        f"From the smallest to the largest {what}, measures change by "
        f"{span([100 * change for change in changes], '.0f')} %; a case, {case}, counts if that is "
        f"less than {100 * FLAT:.0f} %",
        [abs(change) < FLAT for change in changes],
    )


def _listed(names: Sequence[str]) -> str:
    """Names or measures in a sentence.

    Example:
        >>> _listed(("bias", "rmse", "prediction"))
        'bias, RMSE and prediction RMSE'
    """
    words = [SHORT.get(name, name) for name in names]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
