"""What other readings of lost or untold settings give, point by point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.framework.study import TextTable
from understudy_studies.park_ghosh_2014.claims import (
    COMPARABLE,
    POINTS,
)
from understudy_studies.park_ghosh_2014.intruder import LEVEL, MATCHED, NUMBER
from understudy_studies.park_ghosh_2014.key_readings import OTHERS, PUBLIC, PUBLISHED, Reading
from understudy_studies.park_ghosh_2014.patient_case import Case
from understudy_studies.park_ghosh_2014.pegs_papers import EPSILONS
from understudy_studies.park_ghosh_2014.record_lines import (
    ALL_FULL,
    BOOTSTRAP,
    FULL,
    ROWS,
    Ways,
)
from understudy_studies.park_ghosh_2014.table_distances import COEFFICIENT_TEXTS
from understudy_studies.park_ghosh_2014.way_results import Margins, Results

READINGS = (
    *sorted((PUBLISHED, *(one for one in OTHERS if one.columns)), key=lambda one: one.columns or 0),
    *(one for one in OTHERS if one.limit),
    PUBLIC,
)
"""In the order of the table: by columns of a key, by its values, and nothing read off the rows."""
BOOTSTRAPS = (
    (FULL, "1,000 rows of the original"),
    (ALL_FULL, "as many rows as the original has"),
    (BOOTSTRAP, "1,000 records of the marginal Bayesian bootstrap of table 1"),
)


def tables(case: Case, results: Results) -> Iterator[TextTable]:
    """All sensitivity tables.

    Args:
        case: what was released.
        results: the results.
    """
    yield _keys(case, results)
    yield _bootstraps(case, results)
    yield _ratios(case, results)
    yield _terms(case, results)


def holding(case: Case, results: Results, reading: Reading) -> list[tuple[int, int]]:
    """For each point in how many of its cases it holds under a reading, and how many there are."""
    found = (point.find(case, results, Ways.of(reading)).margins for point in POINTS)
    return [(_holds(margins), len(margins)) for margins in found]


def agreeing(case: Case, results: Results, reading: Reading) -> int:
    """How many points agree under a reading."""
    words = (point.judged(case, results, Ways.of(reading), 1).word for point in POINTS)
    return sum(word == "agrees" for word in words)


def _holds(margins: Margins) -> int:
    return sum(gap >= 0 for gap, _ in margins)


def _keys(case: Case, results: Results) -> TextTable:
    columns = [holding(case, results, reading) for reading in READINGS]
    rows = [
        (point.name, *(f"{holds} of {n}" for holds, n in (one[k] for one in columns)))
        for k, point in enumerate(POINTS)
    ]
    rows.append(("points that agree", *(str(agreeing(case, results, one)) for one in READINGS)))
    names = (_heading(reading) for reading in READINGS)
    return TextTable(
        caption="Sensitivity to what a column is drawn given, and to seeds and orders: in how many "
        "of its cases each point holds. All but the last with seeds and orders read off the rows",
        headings=("point", *names),
        rows=tuple(rows),
    )


def _heading(reading: Reading) -> str:
    if reading is PUBLIC:
        return f"at most {reading.limit:,} keys, {reading.name}"
    if reading.limit:
        return f"at most {reading.limit:,} keys"
    noun = "column" if reading.columns == 1 else "columns"
    judged = " (judged)" if reading is PUBLISHED else ""
    return f"{reading.columns} {noun} in a key{judged}"


def _bootstraps(case: Case, results: Results) -> TextTable:
    ways, rows = Ways.of(PUBLISHED), []
    for mark, words in BOOTSTRAPS:
        for suffix, people in (("", "all; without a match by all records"), (MATCHED, "matched")):
            level, number = (f"{measure.name}{suffix}" for measure in (LEVEL, NUMBER))
            safe = [gap for way in ways.three for gap in results.gaps(level, way, mark)]
            near = [
                one for way in ways.three
                for one in results.nearness(number, way, mark, COMPARABLE)
            ]  # fmt: skip
            rows.append(
                (words, people, f"{results.mark(level, mark):.3f}",
                 f"{_holds(safe)} of {len(safe)}", f"{results.mark(number, mark):.1f}",
                 f"{_holds(near)} of {len(near)}")
            )  # fmt: skip
    return TextTable(
        caption="Sensitivity to what “a simple bootstrap” is, and to people without a match",
        headings=("bootstrap", "people", f"wrong {case.intruder.levels}", "recovered less often",
                  f"error in {case.intruder.number.words}",
                  f"within {100 * COMPARABLE:.0f} %"),
        rows=tuple(rows),
        words=2,
    )  # fmt: skip


def _ratios(case: Case, results: Results) -> TextTable:
    ways = Ways.of(PUBLISHED)
    rows = []
    for way in ways.three:
        level, number = (
            results.along(measure, way) / results.mark(measure, FULL) for measure in (LEVEL, NUMBER)
        )
        rows.append((way, f"wrong {case.intruder.levels}", *(f"{one:.2f}" for one in level)))
        rows.append(
            (way, f"error in {case.intruder.number.words}", *(f"{one:.2f}" for one in number))
        )
    return TextTable(
        caption="The intruder’s errors as multiples of those from 1,000 rows of the original, by ε",
        headings=("way", "what", *(f"{epsilon:g}" for epsilon in EPSILONS)),
        rows=tuple(rows),
        words=2,
    )


def _terms(case: Case, results: Results) -> TextTable:
    """Figure 8 by term: its text speaks of the linear regression, its caption of a logistic one."""
    ways, epsilon = Ways.of(PUBLISHED), 1.0
    rows = []
    for regression, text in zip((case.logistic, case.linear), COEFFICIENT_TEXTS, strict=True):
        truth = results.numbers(text, ROWS, epsilon)
        found = [results.numbers(text, way, epsilon) for way in ways.three]
        errors = [results.numbers(f"{text}_se", way, epsilon) for way in ways.three]
        for k, name in enumerate(regression.names):
            own = (
                f"{mean[k]:.2f} ({error[k]:.2f})"
                for mean, error in zip(found, np.nan_to_num(errors), strict=True)
            )
            rows.append((regression.name, name, f"{truth[k]:.2f}", *own))
    rows = [tuple(text.replace("-", "−") if i > 1 else text for i, text in enumerate(row))
            for row in rows]  # fmt: skip
    return TextTable(
        caption=f"Coefficients at ε = {epsilon:g} for each record (figure 8; Monte Carlo standard "
        "errors): a slope undershoots where it is nearer to 0 than on the table",
        headings=("regression", "term", "the table", *ways.three),
        rows=tuple(rows),
        words=2,
    )
