"""What the numbers say beside the paper's points, good or bad, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy.arrays import Floats
from understudy_studies.framework.result_curves import span
from understudy_studies.savitsky_williams_hu_2020.mechanism_results import Results, View
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COUNT,
    SCALAR,
    SETS,
    SETTINGS,
    TABLE_2,
    UNWEIGHTED,
    VECTOR,
)
from understudy_studies.savitsky_williams_hu_2020.risk_and_utility import PEEKING, PERCENTILE


def findings(results: Results) -> Iterator[str]:
    """Sentences about the results."""
    yield _about_guarantee(results)
    yield _about_scale(results)
    yield _about_table(results)
    yield _about_equal_bounds(results)
    yield _about_count(results)
    yield _about_size(results)
    yield _about_labels(results)


def _about_guarantee(results: Results) -> str:
    bounds = results.logarithm.along("bound", VECTOR)
    return (
        "None of these sets is differentially private at this number of records: each bound is a "
        "maximum over these rows and over the parameters that happened to be drawn, and one record "
        f"moves the weights of all. What the paper calls ε, 2Δ_α a set, would be "
        f"{span(2 * np.array(TABLE_2), '.1f')} by its table 2 and {span(2 * bounds, '.1f')} here; "
        f"for {SETS} sets {SETS} times as much."
    )


def _about_scale(results: Results) -> str:
    """What decides between vector and scalar weights."""
    words = "; ".join(
        f"on {view.words} by {_told(_moved(view, VECTOR))} with vector weights and by "
        f"{_told(_moved(view, SCALAR))} with scalar weights"
        for view in results.views
    )
    lower = all((_moved(view, VECTOR) < _moved(view, SCALAR)).all() for view in results.views)
    why = (
        " Vector weights always put it lower than scalar weights do, since records far above what "
        "their predictors tell have little weight: nearer, where scalar weights put it too high, "
        "and farther off, where they put it too low."
    )
    return (
        "Which weights keep the 90th percentile depends on the scale of income, which is public "
        "and free to choose. Over the settings, in the middle of its law, the percentile moves, in "
        f"$1,000, {words}.{why if lower else ''}"
    )


def _about_table(results: Results) -> str:
    """Our bounds beside those of table 2."""
    words = "; ".join(_fall(view) for view in results.views)
    third = all((np.diff(view.along("bound", VECTOR))[2] > 0) for view in results.views)
    order = (
        " Ours are smaller at (0.6, −0.1) than at (0.5, 0), as they would be if log f stayed as it "
        "was and records had bounds of all sizes up to Δ: the largest α·Δ_i then is "
        "Δ·(c + g)²/(4c). The paper’s are not."
    )
    return (
        f"The paper’s bounds fall from {TABLE_2[0]:.2f} to {TABLE_2[-1]:.2f} over the settings; "
        f"ours, of α·|log f| too, {words}.{order if third else ''} The rows are others, and the "
        "paper’s transformation of negative incomes, its number of components and of draws are "
        "lost; a maximum over draws grows with their number."
    )


def _fall(view: View) -> str:
    printed, plain = view.along("printed", VECTOR), view.number("bound", UNWEIGHTED)
    return f"on {view.words} from {printed[0]:.1f} to {printed[-1]:.1f} (unweighted {plain:.1f})"


def _about_equal_bounds(results: Results) -> str:
    """What scalar weights set by a bound reach."""
    words = "; ".join(_ratio(view) for view in results.views)
    favoured = all((_ratios(view) > 1).all() for view in results.views)
    what = "So the comparison at a bound set equal favours the scalar weights. " * favoured
    below = " ".join(_cheaper(view) for view in results.views)
    return (
        "Scalar weights α = Δ_α/Δ have the wanted bound only if the posterior stays; under smaller "
        "weights it spreads. Computed anew, their bound is to that of the vector weights as "
        f"{words} (means at each setting). {what}{below}"
    )


def _ratio(view: View) -> str:
    return f"{span(_ratios(view), '.1f')} to 1 on {view.words}"


def _ratios(view: View) -> Floats:
    ratios = view.every("bound", SCALAR) / view.every("bound", VECTOR)
    return np.asarray(ratios.mean(axis=1))


def _cheaper(view: View) -> str:
    """Scalar weights whose bound, computed again, is no larger than that of some vector weights."""
    off = f"{PERCENTILE}_off"
    cases = [
        (view.number(off, SCALAR, theirs), view.number(off, VECTOR, ours))
        for ours in SETTINGS
        for theirs in SETTINGS
        if view.number("bound", SCALAR, theirs) <= view.number("bound", VECTOR, ours)
    ]
    if not cases:
        return f"On {view.words} no scalar weights have as small a bound as any vector weights."
    wins = sum(scalar < vector for scalar, vector in cases)
    return (
        f"On {view.words} there are {len(cases)} pairs of settings in which the scalar weights’ "
        f"own bound is no larger than the vector weights’, and in {wins} of them they keep the "
        "percentile better."
    )


def _about_count(results: Results) -> str:
    """What count weights see."""
    view = results.logarithm
    return (
        "Count weights compare a record with those of the same predictors alone, so that one "
        f"without any beside it weighs 1; {100 * view.number('full', COUNT):.0f} % of the records "
        f"weigh 1. On {view.words} their largest bound is "
        f"{span(view.each('bound', COUNT), '.1f')}, beside "
        f"{span(view.each('bound', UNWEIGHTED), '.1f')} without weights."
    )


def _about_size(results: Results) -> str:
    """What the size of the bounds hangs on."""
    words = "; ".join(
        f"with {view.words} {', '.join(f'{one:.1f}' for one in view.along('printed', VECTOR))} "
        f"(unweighted {view.along('plain', VECTOR).mean():.1f}, in the middle of the records "
        f"{view.number('typical', VECTOR):.1f} at the first setting)"
        for view in results.others
    )
    return (
        "The size of these bounds hangs on choices that have nothing to do with any record’s risk. "
        f"Bounds of α·|log f| at the five settings, beside {', '.join(map(str, TABLE_2))} in the "
        f"paper: {words}. A density per dollar is small for every record, and per cent |log f| "
        "would be larger by log 100 = 4.6, so that Δ_α says as much of the unit as of any record. "
        "One regression alone has no component for what lies far out, and so a far larger Δ to "
        "begin with."
    )


def _about_labels(results: Results) -> str:
    """Components drawn from the confidential values."""
    view = results.logarithm
    ours, theirs = (view.number(f"follows{way}", UNWEIGHTED) for way in ("", PEEKING))
    more, weighted = (view.number(f"follows{way}", VECTOR) for way in ("", PEEKING))
    gains = [
        view.every(f"{PERCENTILE}_off", mechanism)
        - view.every(f"{PERCENTILE}{PEEKING}_off", mechanism)
        for mechanism in (VECTOR, SCALAR)
    ]
    return (
        "The paper draws the component of a record given its confidential income. In unweighted "
        f"sets the new income then has a rank correlation of {theirs:.2f} with the old one of the "
        f"same record on {view.words}, {ours:.2f} with components from π; under vector weights "
        f"{weighted:.2f} and {more:.2f}. No argument about θ covers what passes by this way. It "
        f"changes the W₁ of the percentile by {span(-gains[0] / 1000, '+.1f')} thousand dollars "
        f"under vector and {span(-gains[1] / 1000, '+.1f')} under scalar weights."
    )


def _moved(view: View, mechanism: str) -> Floats:
    """How far the middle of the percentile's distribution is from that on the data, in $1,000."""
    middles = [np.median(view.distribution(PERCENTILE, mechanism, setting)) for setting in SETTINGS]
    return (np.array(middles) - view.centre(PERCENTILE)) / 1000


def _told(values: Floats) -> str:
    return span(values, "+.1f")
