"""What other readings of lost settings give: verdicts, and numbers by single settings."""

from __future__ import annotations

from collections.abc import Iterator

from understudy_studies.bowen_liu_su_2021.young_voters.claims import about_study
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    LAPLACE,
    LOG_EPSILONS,
    PRINTED,
    PRIVBAYES,
    STEPS2,
    UH2,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import PAPERS as SIX
from understudy_studies.bowen_liu_su_2021.young_voters.release_lines import (
    DOWNWARD,
    MORE_LAYERS,
    ONE_NETWORK,
    REPLACED,
    SOME,
    STATED,
    STRICT,
    TOLD,
)
from understudy_studies.bowen_liu_su_2021.young_voters.utility_results import Results
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import (
    AGREEMENTS,
    MEASURES,
    OVERLAP,
    PAPERS,
    SPECKS,
)
from understudy_studies.framework.claim_verdicts import by_reading
from understudy_studies.framework.study import Row, TextTable

_STATED = {PRIVBAYES: STATED}
OTHERS: dict[str, dict[str, str]] = {
    "PrivBayes with its stated noise": _STATED,
    "trees downward": DOWNWARD,
    "both": {**_STATED, **DOWNWARD},
}
"""Reading → the lines that stand for those judged."""
_SHOWN = (SPECKS, AGREEMENTS[1], OVERLAP)


def verdicts_by_reading(results: Results, *, printed: bool) -> tuple[TextTable, ...]:
    """All points, judged once for each reading.

    Args:
        results: the results.
        printed: whether they are judged by the paper's own table 3 as well.
    """
    known = {
        name: results.read_as(lines)
        for name, lines in OTHERS.items()
        if all(results.has(line) for line in lines.values())
    }
    readings = {"as judged": results, **known}
    if printed:
        readings["the paper’s own table 3"] = Results(_printed_rows())
    return (by_reading({name: about_study(one) for name, one in readings.items()}),)


def _printed_rows() -> Iterator[Row]:
    """The paper's table 3 as results, without errors."""
    for budget in LOG_EPSILONS:
        for method in SIX:
            scores = zip(PAPERS, PRINTED[budget][method], strict=True)
            head = {"log_epsilon": budget, "method": method, "repetitions": 10}
            blank = {f"{measure.name}_sd": 0.0 for measure in MEASURES}
            yield {**head, **blank, **{measure.name: score for measure, score in scores}}


def what_settings_do(results: Results) -> tuple[TextTable, ...]:
    """Numbers of the lines that differ in one setting."""
    groups = {
        "trees": (STEPS2, MORE_LAYERS, REPLACED, STRICT[STEPS2], DOWNWARD[STEPS2]),
        "histogram": (UH2, STRICT[UH2], DOWNWARD[UH2]),
        "flat": (LAPLACE, STRICT[LAPLACE]),
        "network": (PRIVBAYES, STATED, TOLD, ONE_NETWORK, STRICT[PRIVBAYES]),
    }
    rows = []
    for line in (one for lines in groups.values() for one in lines):
        cells = []
        for budget in SOME:
            place = LOG_EPSILONS.index(budget)
            for measure in _SHOWN:
                value = results.along(measure, line)[place]
                error = results.errors(measure, line)[place]
                cells.append(f"{value:.3f} ± {1.96 * error:.3f}")
        rows.append((line, *cells))
    headings = [f"{measure.words}, log ε = {budget}" for budget in SOME for measure in _SHOWN]
    return (
        TextTable(
            caption=(
                "What single settings do: means with 95 % Monte Carlo intervals. “Strict” lines "
                "hold the stated ε for a replaced record, with one tree or network for all sets, "
                "and PrivBayes is told that nobody votes unregistered"
            ),
            headings=("line", *headings),
            rows=tuple(rows),
        ),
    )
