"""What the numbers say beside the paper's points, good or bad, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from understudy._arrays import Floats
from understudy_studies.framework.result_curves import span
from understudy_studies.savitsky_williams_hu_2020.mechanism_results import (
    Results,
    View,
    mean_and_error_of,
)
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COUNT,
    COUNT_ALL,
    COUNT_FEW,
    MAIN,
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
    yield _about_power(results)
    yield _about_scale(results)
    yield _about_table(results)
    yield _about_equal_bounds(results)
    yield _about_count(results)
    yield _about_size(results)
    yield _about_labels(results)


def _about_guarantee(results: Results) -> str:
    bounds = results.reported.along("bound", VECTOR)
    return (
        "None of these sets is differentially private at this number of records: each bound is a "
        "maximum over these rows and over the parameters that happened to be drawn, and one record "
        f"moves the weights of all. What the paper calls ε, 2Δ_α a set, would be "
        f"{span(2 * np.array(TABLE_2), '.1f')} by its table 2 and {span(2 * bounds, '.1f')} here; "
        f"for {SETS} sets {SETS} times as much."
    )


def _about_power(results: Results) -> str:
    """What is raised to the weights: the density, or each component."""
    ours, theirs = results.reported, results.others
    told = [
        f"{_ratio(view)} with {view.model.components} components and "
        f"{'each of them' if view.model.power == 'labels' else 'the density'}"
        for view in (ours, *theirs)
        if replace(view.model, power=ours.model.power, components=0)
        == replace(ours.model, components=0)
        and view.model.components > 1
    ]
    return (
        "The paper’s equation raises the density f of the mixture to a record’s weight, f^α. A "
        "Gibbs sampler with labels raises each component by itself, under which components fill up "
        "that f^α leaves empty. At the first setting the bound under scalar weights, computed "
        f"anew, is to that of the vector weights as {' and '.join(told)} raised."
    )


def _ratio(view: View) -> str:
    mean, error = mean_and_error_of(view.each("bound", SCALAR) / view.each("bound", VECTOR))
    return f"{mean:.2f}" + (f" ± {error:.2f}" if np.isfinite(error) else "") + " to 1"


def _about_scale(results: Results) -> str:
    """Where the percentile goes."""
    words = "; ".join(
        f"on {view.words} by {_told(_moved(view, VECTOR))} with vector weights and by "
        f"{_told(_moved(view, SCALAR))} with scalar weights"
        for view in results.scales
    )
    lower = all((_moved(view, VECTOR) < _moved(view, SCALAR)).all() for view in results.scales)
    why = (
        " Vector weights always put it lower than scalar weights do, since records far above what "
        "their predictors tell have little weight."
    )
    return (
        "In the middle of its law the 90th percentile moves, in $1,000, over the settings compared "
        f"{words}.{why if lower else ''}"
    )


def _about_table(results: Results) -> str:
    """Our bounds beside those of table 2."""
    view = results.reported
    bounds, plain = view.along("bound", VECTOR), view.number("bound", UNWEIGHTED)
    scales = np.array([(c + g) ** 2 / (4 * c) for c, g in SETTINGS])
    implied = np.array(TABLE_2) / scales
    return (
        f"The paper’s bounds fall from {TABLE_2[0]:.2f} to {TABLE_2[-1]:.2f} over the settings; "
        f"ours from {bounds[0]:.2f} to {bounds[-1]:.2f} (unweighted {plain:.1f}). Were log f to "
        "stay, and records to have bounds of all sizes up to Δ, Δ_α would be Δ·(c + g)²/(4c); so "
        f"its table implies a Δ without weights of {span(implied, '.0f')}. The rows are others, "
        "and the paper’s transformation of negative incomes, its number of components and of "
        "draws are lost; a maximum over draws grows with their number."
    )


def _about_equal_bounds(results: Results) -> str:
    """Scalar weights whose bound, computed again, is no larger than that of some vector weights."""
    view, off = results.reported, f"{PERCENTILE}_off"
    cases = [
        (view.number(off, SCALAR, theirs), view.number(off, VECTOR, ours))
        for ours in view.settings
        for theirs in view.settings
        if view.number("bound", SCALAR, theirs) <= view.number("bound", VECTOR, ours)
    ]
    first = (
        "Scalar weights α = Δ_α/Δ have the wanted bound only if the posterior stays; under smaller "
        "weights it spreads."
    )
    if not cases:
        return f"{first} No scalar weights have as small a bound as any vector weights here."
    wins = sum(scalar < vector for scalar, vector in cases)
    return (
        f"{first} There are {len(cases)} pairs of settings in which the scalar weights’ own bound "
        f"is no larger than the vector weights’, and in {wins} of them they keep the percentile "
        "better."
    )


def _about_count(results: Results) -> str:
    """What count weights see."""
    view = results.reported
    told = (
        (f"{name}: Δ {view.number('bound', name):.1f}, {100 * view.number('full', name):.0f} % of "
         "the records weigh 1")
        for name in (COUNT_FEW, COUNT, COUNT_ALL)
        if (MAIN, name) in view.rows
    )  # fmt: skip
    return (
        "Count weights compare a record with those that an intruder cannot tell from it, so that "
        f"one without any beside it weighs 1, and hang on what an intruder knows. {'; '.join(told)}"
        f" (vector weights: Δ {view.number('bound', VECTOR):.1f})."
    )


def _about_size(results: Results) -> str:
    """What the size of the bounds hangs on."""
    words = "; ".join(
        f"with {view.words} {view.number('bound', VECTOR):.1f} (unweighted "
        f"{view.number('bound', UNWEIGHTED):.1f})"
        for view in results.views
    )
    return (
        "The size of these bounds hangs on choices that have nothing to do with any record’s risk. "
        f"Of vector weights at the first setting, where the paper has {TABLE_2[0]}: {words}. A "
        "density per dollar is small for every record, and per cent |log f| would be larger by "
        "log 100 = 4.6, so that Δ_α says as much of the unit as of any record."
    )


def _about_labels(results: Results) -> str:
    """Components drawn from the confidential values."""
    view = results.reported
    ours, theirs = (view.number(f"follows{way}", UNWEIGHTED) for way in ("", PEEKING))
    more, weighted = (view.number(f"follows{way}", VECTOR) for way in ("", PEEKING))
    gains = [
        view.along(f"{PERCENTILE}_off", mechanism)
        - view.along(f"{PERCENTILE}{PEEKING}_off", mechanism)
        for mechanism in (VECTOR, SCALAR)
    ]
    return (
        "The paper draws the component of a record given its confidential income. In unweighted "
        f"sets the new income then has a rank correlation of {theirs:.2f} with the old one of the "
        f"same record, {ours:.2f} with components from π; under vector weights "
        f"{weighted:.2f} and {more:.2f}. No argument about θ covers what passes by this way. It "
        f"changes the mean W₁ of the percentile by {span(-gains[0] / 1000, '+.1f')} thousand "
        f"dollars under vector and {span(-gains[1] / 1000, '+.1f')} under scalar weights."
    )


def _moved(view: View, mechanism: str) -> Floats:
    """How far the middle of the percentile's distribution is from that on the data, in $1,000."""
    middles = [
        np.median(view.distribution(PERCENTILE, mechanism, setting)) for setting in view.settings
    ]
    return (np.array(middles) - view.centre(PERCENTILE)) / 1000


def _told(values: Floats) -> str:
    return span(values, "+.1f")
