"""What the numbers say beside the paper's points, good or bad, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    LAPLACE,
    PRIVBAYES,
    STEPS2,
    STEPS3,
    UH2,
    UH3,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import PAPERS as SIX
from understudy_studies.bowen_liu_su_2021.young_voters.release_lines import (
    DOWNWARD,
    PUBLISHED,
    STATED,
)
from understudy_studies.bowen_liu_su_2021.young_voters.simulation import SETS
from understudy_studies.bowen_liu_su_2021.young_voters.utility_results import (
    DECIMALS,
    Results,
    Values,
)
from understudy_studies.bowen_liu_su_2021.young_voters.voter_case import Case
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import (
    AGREEMENTS,
    DETERMINED,
    PAPERS,
    SHRUNK,
    SPECKS,
    WIDTH,
    WITHIN,
    Measure,
)
from understudy_studies.framework.result_curves import span

TREES = (UH2, UH3, STEPS2, STEPS3)
TABLES = (LAPLACE, *TREES)
"""Those that draw from noisy counts of all cells."""


def findings(table: Case, results: Results) -> Iterator[str]:
    """Sentences about the results.

    Args:
        table: what was released.
        results: the results.
    """
    yield _about_separation(table, results)
    yield _about_tables(results)
    yield _about_widths(results)
    yield _about_noise(results)
    if results.has(DOWNWARD[STEPS2]):
        yield _about_downward(results)


def _about_separation(table: Case, results: Results) -> str:
    """What the overlaps of the paper's three coefficients are worth."""
    model = table.model
    shares = results.scores(tuple(PUBLISHED), [SHRUNK])[..., 0].mean(axis=0) / SETS
    told, untold = 100 * shares[[SIX.index(name) for name in TABLES]].mean(), 100 * shares[1]
    return (
        f"On the original, nobody votes who is not {model.group}: the coefficients of "
        f"{model.exposure}, {model.group} and their product have no finite estimate, and neither "
        f"have they in {told:.0f} % of the sets from tables and trees, and in {untold:.0f} % of "
        "those from PrivBayes, which is not told that nobody votes unregistered. Their overlaps "
        "compare what a weak prior leaves open on one side or both, and say little about the "
        "sets. What can be told is the effect of "
        f"{model.exposure} among those who are {model.group}: “{WITHIN.words}”."
    )


def _about_tables(results: Results) -> str:
    """How far the flat sanitizer and the trees are apart, beside their spread."""
    specks = results.scores(TABLES, [SPECKS])[..., 0]
    agreement = results.scores(TABLES, [AGREEMENTS[1]])[..., 0]
    apart = [span(np.ptp(values, axis=1), ".3f") for values in (specks, agreement)]
    spread = span(
        np.stack([results.along(f"{SPECKS.name}_sd", method) for method in TABLES]), ".4f"
    )
    return (
        "The flat Laplace sanitizer, the universal histograms and STEPS as published all draw from "
        f"noisy counts of all cells. At one ε they are {apart[0]} apart in SPECKS and {apart[1]} "
        f"in χ² decisions at 5 %; the standard deviation of SPECKS over repetitions is {spread}. "
        "Where so little separates them, their ranks are a matter of the third digit."
    )


def _about_widths(results: Results) -> str:
    """That wide intervals overlap."""
    small = [results.along(measure, PRIVBAYES)[0] for measure in (DETERMINED, WIDTH)]
    flat = [results.along(measure, LAPLACE)[0] for measure in (DETERMINED, WIDTH)]
    return (
        "Overlap rewards wide intervals. At the smallest ε PrivBayes has a mean overlap of "
        f"{small[0]:.2f} in the coefficients that the data determine, with intervals "
        f"{small[1]:.2g} times as wide as the original’s (median); the flat Laplace sanitizer has "
        f"{flat[0]:.2f} with {flat[1]:.2g} times."
    )


def _about_downward(results: Results) -> str:
    """What trees are worth if the upper layers decide where records fall."""
    flat = results.along(SPECKS, LAPLACE)
    below = np.array([_down(results, SPECKS, method) < flat for method in TREES])
    gaps = [
        (1 if measure.better == "high" else -1)
        * (_down(results, measure, steps) - _down(results, measure, uh))
        for (steps, uh), measure in product(((STEPS2, UH2), (STEPS3, UH3)), PAPERS)
    ]
    ahead, middle = np.array(gaps) >= -0.5 * 10.0**-DECIMALS, np.nanmedian(gaps)
    depths = "; ".join(
        f"{method} {span(_down(results, SPECKS, method))} instead of "
        f"{span(results.along(SPECKS, method))}"
        for method in TREES
    )
    return (
        "Drawn from the top down, so that the upper layers decide where records fall, the trees "
        f"have a SPECKS of: {depths}; below that of flat Laplace in {below.sum()} of {below.size} "
        f"cases. STEPS is then as good as UH or better in {ahead.sum()} of {ahead.size} cases, "
        f"with a median difference of {middle:+.3f}."
    ).replace("-0.", "−0.")


def _down(results: Results, measure: Measure, tree: str) -> Values:
    return results.along(measure, DOWNWARD[tree])


def _about_noise(results: Results) -> str:
    """What the noise in the tables of PrivBayes is worth."""
    return (
        "With the noise in counts that PrivBayes needs, in place of that of the code which the "
        f"paper used, its SPECKS is {span(results.along(SPECKS, STATED))} instead of "
        f"{span(results.along(SPECKS, PRIVBAYES))} over all ε, and its χ² decisions at 5 % agree "
        f"in {span(results.along(AGREEMENTS[1], STATED))} of the pairs instead of "
        f"{span(results.along(AGREEMENTS[1], PRIVBAYES))}."
    )
