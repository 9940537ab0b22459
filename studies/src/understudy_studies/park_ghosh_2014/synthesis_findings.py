"""What the numbers say beside the paper's points, good or bad, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from understudy.papers.gibbs_mechanisms import state_weight
from understudy_studies.framework.result_curves import span
from understudy_studies.park_ghosh_2014.figures import PUBLISHED_WAYS
from understudy_studies.park_ghosh_2014.intruder import ATTACKS, LEVEL, NUMBER
from understudy_studies.park_ghosh_2014.key_readings import PUBLIC
from understudy_studies.park_ghosh_2014.patient_case import Case
from understudy_studies.park_ghosh_2014.pegs_papers import (
    BLOCK,
    EPSILONS,
    N_RECORDS,
    PEGS,
    RESET,
)
from understudy_studies.park_ghosh_2014.record_lines import (
    BY_MARGINALS,
    BY_MARGINALS_READ,
    DIVERSE,
    DIVERSITIES,
    FULL,
    MARGINALS,
    PEGS_READ,
    PRIVATE,
    RESET_READ,
    ROWS,
    TABLES,
    TABLES_TOTAL,
    UNIFORM,
)
from understudy_studies.park_ghosh_2014.table_distances import DISTANCES, LINEAR, MARGINAL
from understudy_studies.park_ghosh_2014.way_results import CLEARLY, Results


def findings(case: Case, results: Results) -> Iterator[str]:
    """Sentences about the results.

    Args:
        case: what was released.
        results: the results.
    """
    yield _about_cost()
    yield _about_totals(results)
    yield _about_tables(results)
    yield _about_reading(results)
    yield _about_weights(case, results)
    yield _about_diversity(case, results)
    yield _about_members(case, results)


def _about_cost() -> str:
    return (
        f"The paper’s ε is that of one record. A table of {N_RECORDS:,} records from PeGS or PMI "
        f"costs {N_RECORDS:,} times as much; so does PeGS.rs here, whose {N_RECORDS // BLOCK} "
        f"blocks cost {BLOCK}·ε each. That is for one record more or less; where a record may be "
        "replaced by another, PeGS.rs costs twice as much, and the others the same."
    )


def _about_totals(results: Results) -> str:
    """What the same ε buys where it is that of the table."""
    ours = [results.at(measure, MARGINALS, 1.0) for measure in DISTANCES]
    best = [
        min(results.along(measure, way)[-1] for way in PUBLISHED_WAYS) for measure in DISTANCES
    ]  # fmt: skip
    uniform = [results.mark(measure, UNIFORM) for measure in DISTANCES]
    words = ", ".join(
        f"{a:.2f} | {b:.2f} | {c:.2f}" for a, b, c in zip(ours, best, uniform, strict=True)
    )
    return (
        "With ε = 1 for the whole table, the default method marginals is at these distances "
        "(marginal, and given each of two columns), beside the best of the paper’s three, as "
        f"published, with {EPSILONS[-1] * N_RECORDS:,.0f} for the whole table, and uniform "
        f"records: {words}."
    )


def _about_tables(results: Results) -> str:
    """Tables bought once, against paying for each record."""
    pegs, same = (results.along(MARGINAL, method) for method in (PEGS, TABLES_TOTAL))
    less = results.along(MARGINAL, TABLES)
    return (
        f"{TABLES} buys the same kind of hashed tables once, with noise, and draws any number of "
        f"records from them. At the total of PeGS its marginal distance is {span(same)} over all "
        f"ε, instead of {span(pegs)}; at a thousandth of that total it is {span(less)}."
    )


def _about_reading(results: Results) -> str:
    """What the paper gains by reading seeds and orders off the rows, and by longer keys."""
    changes = [
        (results.along(measure, read) - results.along(measure, ours)).mean()
        for ours, read in ((PEGS, PEGS_READ), (RESET, RESET_READ))
        for measure in DISTANCES
    ]
    return (
        "The paper starts from real records and orders the columns by their mutual information in "
        "the rows; neither is paid for. Against uniform seeds, a public order and at most "
        f"{PUBLIC.limit:,} keys that changes, in the mean over all ε, the distances of PeGS by "
        f"{span(changes[:3])}, and those of PeGS.rs by {span(changes[3:])}."
    )


def _about_weights(case: Case, results: Results) -> str:
    """Weights by marginals: what they keep, and what they would cost."""
    even, ours, bought = (
        results.at(MARGINAL, way, 1.0) for way in (PEGS_READ, BY_MARGINALS_READ, BY_MARGINALS)
    )
    steps = Fraction(1, len(case.sizes))
    alpha = float(state_weight(steps))
    counts = (np.bincount(one, minlength=size) for one, size in
              zip(case.table, case.sizes, strict=True))  # fmt: skip
    rarest = [one.size * one[one > 0].min() / case.n_rows for one in counts]
    cost = sum(np.log1p(1 / (alpha * share)) for share in rarest)
    return (
        "§3.3 names weights in proportion to the marginals. Read off the rows, and as much in all "
        f"as even ones, they bring the marginal distance at ε = 1 from {even:.2f} to {ours:.2f}; "
        "but a record in the rarest state of every column then costs up to "
        f"{cost:.3g} instead of 1, and the marginals themselves are not paid for. Weights that "
        f"keep the ε, by marginals that a tenth of the budget buys, have {bought:.2f}, from "
        f"uniform seeds, where even ones have {results.at(MARGINAL, PEGS, 1.0):.2f}; ‖β − β̃‖ of "
        "the linear regression is then "
        f"{results.at(LINEAR, BY_MARGINALS, 1.0):.1f} against {results.at(LINEAR, PEGS, 1.0):.1f}."
    )


def _about_diversity(case: Case, results: Results) -> str:
    """ℓ-diverse rows: the paper's other condition, which is no differential privacy."""
    wrong = ", ".join(f"{results.mark(LEVEL, way):.3f}" for way in DIVERSE)
    numbers = ", ".join(f"{results.mark(NUMBER, way):.1f}" for way in DIVERSE)
    return (
        "The paper’s other condition, ℓ-diversity, here of the rows of "
        f"{case.intruder.levels} and {case.intruder.number.column}, leaves marginal distances of "
        f"{span([results.mark(MARGINAL, way) for way in DIVERSE])}. With ℓ = "
        f"{', '.join(map(str, DIVERSITIES))} the intruder’s wrong guesses of "
        f"{case.intruder.levels} are {wrong}, and his errors in {case.intruder.number.words} "
        f"{numbers} {case.intruder.unit} ({results.mark(LEVEL, FULL):.3f} and "
        f"{results.mark(NUMBER, FULL):.1f} from as many real records). It promises no ε."
    )


def _about_members(case: Case, results: Results) -> str:
    """Whether the intruder knows more about people in the table."""
    clear = {
        way: [
            bool(gap > CLEARLY * error)
            for attack in ATTACKS
            for gap, error in zip(
                results.along(f"{attack.name}_gap", way),
                results.error(f"{attack.name}_gap", way),
                strict=True,
            )
            if np.isfinite(gap)
        ]
        for way in PRIVATE
    }
    hits, n = (sum(f(one) for one in clear.values()) for f in (sum, len))
    whole, real = (results.mark(f"{LEVEL.name}_gap", one) for one in (ROWS, FULL))
    return (
        "What counts is what the intruder learns about people in the table and not about others. "
        f"Over all budgets and ways he does clearly better on them in {hits} of {n} cases; chance "
        f"alone would give {n * 0.023:.0f}. From the table left unchanged he guesses "
        f"{case.intruder.levels} right for its own people in {100 * whole:.1f} points more of the "
        f"cases than for others; from {N_RECORDS:,} of its rows, in {100 * real:.1f} points more."
    ).replace("-0.", "−0.")
