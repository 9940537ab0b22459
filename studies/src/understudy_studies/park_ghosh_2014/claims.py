"""What the paper says of its comparison, each point beside our results.

The points are those of Park & Ghosh (2014), §§4.2-4.4 and 5, in our words, under its own
conditions: seeds and orders read off the rows. Any other reading can be judged in the same way, for
sensitivity tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from understudy_studies.framework.claim_verdicts import Verdict, judged_by_margins
from understudy_studies.framework.result_curves import span
from understudy_studies.framework.verdict_causes import Cause
from understudy_studies.park_ghosh_2014.figures import SHOWN
from understudy_studies.park_ghosh_2014.intruder import ATTACKS, LEVEL, NUMBER, UNIQUE
from understudy_studies.park_ghosh_2014.patient_case import Case
from understudy_studies.park_ghosh_2014.pegs_papers import EPSILONS
from understudy_studies.park_ghosh_2014.record_lines import FULL, ROWS, Ways
from understudy_studies.park_ghosh_2014.table_distances import (
    APART,
    COEFFICIENT_TEXTS,
    COEFFICIENTS,
    DISTANCES,
    MARGINAL,
    Measure,
)
from understudy_studies.park_ghosh_2014.way_results import Margins, Results, Values

SMALL = [k for k, epsilon in enumerate(EPSILONS) if epsilon <= 1]
LARGE = [k for k, epsilon in enumerate(EPSILONS) if epsilon >= 30]
COMPARABLE = 0.1
"""Errors within this share of each other are comparable; the paper gives no number."""


@dataclass(frozen=True)
class Found:
    """What is found of a point.

    Attributes:
        words: in words and numbers.
        margins: by how much each case holds, and its standard error.
    """

    words: str
    margins: Margins


@dataclass(frozen=True)
class Point:
    """A point that the paper makes.

    Attributes:
        name: short, for tables.
        claim: in our words; {levels} and {number} stand for what the intruder wants to know.
        find: what is found of it in the results of some ways.
    """

    name: str
    claim: str
    find: Callable[[Case, Results, Ways], Found]

    def judged(
        self,
        case: Case,
        results: Results,
        ways: Ways,
        repetitions: int,
        why: Cause | None = None,
    ) -> Verdict:
        """The verdict on it under one reading."""
        found = self.find(case, results, ways)
        claim = self.claim.format(
            levels=case.intruder.levels, number=case.intruder.number.words, within=100 * COMPARABLE
        )
        return judged_by_margins(
            claim, found.words, found.margins, repetitions=repetitions, why=why
        )


def about_study(
    case: Case,
    results: Results,
    ways: Ways,
    repetitions: int,
    causes: Mapping[str, Cause],
) -> tuple[Verdict, ...]:
    """All points that the paper makes.

    Args:
        case: what was released.
        results: the results.
        ways: the paper's ways under one reading.
        repetitions: how many there were.
        causes: why points do not hold, by their names.
    """
    return tuple(
        point.judged(case, results, ways, repetitions, causes.get(point.name)) for point in POINTS
    )


def _long_block(_case: Case, results: Results, ways: Ways) -> Found:
    margins: Margins = []
    for uniform, rows in APART:
        margins += results.gaps(uniform, ways.pegs, ways.block)
        margins += results.gaps(rows, ways.block, ways.pegs)
    near, far = ([pair[k] for pair in APART] for k in (0, 1))
    words = (
        f"L1 distance from uniform {_over(results, near, ways.block)} against "
        f"{_over(results, near, ways.pegs)} of PeGS; from the original "
        f"{_over(results, far, ways.block)} against {_over(results, far, ways.pegs)}"
    )
    return Found(words, margins)


def _over(results: Results, measures: Sequence[Measure], way: str) -> str:
    return span([results.along(measure, way) for measure in measures])


def _similar(_case: Case, results: Results, ways: Ways) -> Found:
    pairs = list(product(ways.three, DISTANCES))
    ends = np.array([results.along(measure, way)[[0, -1]] for way, measure in pairs])
    words = (
        f"Distances are {span(ends[:, 0])} at the smallest ε and {span(ends[:, 1])} at the "
        f"largest; as many real records have "
        f"{span([results.mark(measure, FULL) for measure in DISTANCES])}"
    )
    return Found(words, [results.fall(measure, way) for way, measure in pairs])


def _reset_ahead(_case: Case, results: Results, ways: Ways) -> Found:
    pairs = product(DISTANCES, (ways.pegs, ways.pmi))
    margins = [
        results.gaps(measure, other, ways.reset)[k] for measure, other in pairs for k in SMALL
    ]
    values = [results.along(MARGINAL, way)[SMALL] for way in (ways.reset, ways.pegs, ways.pmi)]
    words = (
        f"Up to ε = 1 its marginal distance is {span(values[0])}, that of PeGS {span(values[1])} "
        f"and of PMI {span(values[2])}"
    )
    return Found(words, margins)


def _reset_behind(_case: Case, results: Results, ways: Ways) -> Found:
    margins = [
        results.gaps(measure, ways.reset, ways.pegs)[k] for measure in DISTANCES for k in LARGE
    ]
    values = [results.along(MARGINAL, way)[LARGE] for way in (ways.pegs, ways.reset)]
    words = (
        f"From ε = 30 its marginal distance is {span(values[0])}, that of PeGS.rs {span(values[1])}"
    )
    return Found(words, margins)


def _reset_coefficients(_case: Case, results: Results, ways: Ways) -> Found:
    margins: Margins = []
    for measure in COEFFICIENTS:
        others = (results.gaps(measure, way, ways.reset) for way in (ways.pegs, ways.pmi))
        margins += [min(pair) for pair in zip(*others, strict=True)]  # against the nearer one
    order = (ways.reset, ways.pegs, ways.pmi)
    values = [[results.along(one, way) for one in COEFFICIENTS] for way in order]
    words = (
        f"‖β − β̃‖ is {span(values[0])} with PeGS.rs, {span(values[1])} with PeGS and "
        f"{span(values[2])} with PMI"
    )
    return Found(words, margins)


def _coefficients_nearer(_case: Case, results: Results, ways: Ways) -> Found:
    few, much = (EPSILONS.index(epsilon) for epsilon in SHOWN)
    pairs = list(product(COEFFICIENTS, ways.three))
    values = np.array([results.along(measure, way)[[few, much]] for measure, way in pairs])
    words = (
        f"‖β − β̃‖ is {span(values[:, 0])} at ε = {SHOWN[0]:g} and {span(values[:, 1])} at "
        f"ε = {SHOWN[1]:g}"
    )
    return Found(words, [results.fall(measure, way, few, much) for measure, way in pairs])


def _intercepts(case: Case, results: Results, ways: Ways) -> Found:
    truth, found, errors = _linear(results, ways)
    words = (
        f"For {case.linear.outcome.words}, the intercept is {truth[0]:.2f} on the table and "
        f"{span(found[:, 0])} on the synthetic records".replace("-", "−")
    )
    return Found(words, _paired(found[:, 0] - truth[0], errors[:, 0]))


def _slopes(_case: Case, results: Results, ways: Ways) -> Found:
    truth, found, errors = _linear(results, ways)
    ratio = np.median(found[:, 1:] / truth[1:])
    words = f"The median ratio of a coefficient to that on the table is {ratio:.2f}"
    shrunk = np.abs(truth[1:]) - np.abs(found[:, 1:])
    return Found(words, _paired(shrunk.ravel(), errors[:, 1:].ravel()))


def _linear(results: Results, ways: Ways) -> tuple[Values, Values, Values]:
    """Coefficients on the table; those of each way at each ε that is drawn, and their errors."""
    text, pairs = COEFFICIENT_TEXTS[1], list(product(ways.three, SHOWN))
    found = [results.numbers(text, way, epsilon) for way, epsilon in pairs]
    errors = [results.numbers(f"{text}_se", way, epsilon) for way, epsilon in pairs]
    return results.numbers(text, ROWS, SHOWN[0]), np.array(found), np.nan_to_num(np.array(errors))


def _errors_fall(case: Case, results: Results, ways: Ways) -> Found:
    ends = [
        np.array([results.along(measure, way)[[0, -1]] for way in ways.three])
        for measure in ATTACKS
    ]
    words = (
        f"Wrong {case.intruder.levels}: {span(ends[0][:, 0])} at the smallest ε, "
        f"{span(ends[0][:, 1])} at the largest; error in {case.intruder.number.words}: "
        f"{span(ends[1][:, 0], '.1f')} and {span(ends[1][:, 1], '.1f')} {case.intruder.unit}"
    )
    return Found(
        words, [results.fall(measure, way) for measure, way in product(ATTACKS, ways.three)]
    )


def levels_safe(_case: Case, results: Results, ways: Ways, mark: str = FULL) -> Found:
    """Wrong guesses of a level beside those from real records, or from another mark."""
    own = [results.along(LEVEL, way) for way in ways.three]
    margins = [gap for way in ways.three for gap in results.gaps(LEVEL, way, mark)]
    words = f"Wrong guesses: {span(own, '.3f')}, from real records {results.mark(LEVEL, mark):.3f}"
    return Found(words, margins)


def _none_safer(_case: Case, results: Results, ways: Ways) -> Found:
    pairs = combinations(ways.three, 2)
    margins = [one for a, b in pairs for one in results.nearness(LEVEL, a, b, COMPARABLE)]
    words = "; ".join(
        f"{name} {span(results.along(LEVEL, way), '.3f')}"
        for name, way in zip(("PeGS", "PeGS.rs", "PMI"), ways.three, strict=True)
    )
    return Found(f"Wrong guesses: {words}", margins)


def numbers_comparable(case: Case, results: Results, ways: Ways, mark: str = FULL) -> Found:
    """Errors of a number beside those from real records, or from another mark."""
    own = [results.along(NUMBER, way) for way in ways.three]
    margins = [one for way in ways.three for one in results.nearness(NUMBER, way, mark, COMPARABLE)]
    words = (
        f"Mean absolute errors: {span(own, '.1f')}, from real records "
        f"{results.mark(NUMBER, mark):.1f} {case.intruder.unit}"
    )
    return Found(words, margins)


def _unique(case: Case, results: Results, ways: Ways) -> Found:
    own = [results.along(UNIQUE, way) for way in ways.three]
    words = (
        f"By {', '.join(case.intruder.unique)}: {span(own)}, against "
        f"{results.mark(UNIQUE, FULL):.3f} ({results.mark(UNIQUE, ROWS):.3f} of the whole original)"
    )
    return Found(words, [gap for way in ways.three for gap in results.gaps(UNIQUE, way, FULL)])


def _little_safer(_case: Case, results: Results, ways: Ways) -> Found:
    margins: Margins = []
    for measure, way in product(ATTACKS, (ways.pegs, ways.reset)):
        safer = results.gaps(measure, way, ways.pmi)
        near = results.nearness(measure, way, ways.pmi, COMPARABLE)
        margins += [min(pair) for pair in zip(safer, near, strict=True)]
    ratios = [
        results.along(measure, way) / results.along(measure, ways.pmi)
        for measure, way in product(ATTACKS, (ways.pegs, ways.reset))
    ]
    return Found(f"The intruder’s errors are {span(ratios)} times those with PMI", margins)


def _paired(gaps: Values, errors: Values) -> Margins:
    return [(float(gap), float(error)) for gap, error in zip(gaps, errors, strict=True)]


POINTS = (
    Point("long block", "In a long block PeGS.rs draws more nearly uniform records; those of PeGS, "
          "which cost many times as much, are nearer to the original.", _long_block),
    Point("similar at large ε", "With larger ε all three become similar to the original.",
          _similar),
    Point("PeGS.rs ahead at small ε", "At small ε, PeGS.rs is much closer to the original than the "
          "others, in marginals and given others.", _reset_ahead),
    Point("PeGS ahead at large ε", "At large ε, PeGS is slightly closer than PeGS.rs.",
          _reset_behind),
    Point("PeGS.rs: coefficients", "PeGS.rs has the most similar regression coefficients.",
          _reset_coefficients),
    Point("nearer at large ε", "At the larger of two ε, coefficients are closer to the original.",
          _coefficients_nearer),
    Point("intercepts overshoot", "Intercepts of the linear regression overshoot.", _intercepts),
    Point("slopes undershoot", "Its other coefficients undershoot, as all correlations are "
          "perturbed.", _slopes),
    Point("errs more at small ε", "The intruder errs more at small ε.", _errors_fall),
    Point("level safe", "{levels} is recovered significantly less often than from a simple "
          "bootstrap (as many real records).", levels_safe),
    Point("no way safer", "No way is distinctly better than another at hiding {levels} (here: "
          "within {within:.0f} % of each other).", _none_safer),
    Point("number comparable", "The {number} is predicted about as well as from the bootstrap "
          "(here: within {within:.0f} %).", numbers_comparable),
    Point("more unique", "Synthetic tables have a larger share of unique records than the original "
          "(as many of its records).", _unique),
    Point("little safer than PMI", "By what an intruder gets, PeGS and PeGS.rs are better than "
          "PMI, but only marginally (here: by {within:.0f} % at most).", _little_safer),
)  # fmt: skip
"""All of them, in the order of the paper."""
