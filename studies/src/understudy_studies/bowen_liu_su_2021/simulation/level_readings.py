"""What other laws of the levels, and the other noise of PrivBayes, give."""

from __future__ import annotations

from collections.abc import Sequence

from understudy_studies.bowen_liu_su_2021.simulation import level_aic
from understudy_studies.bowen_liu_su_2021.simulation.claims import about_study
from understudy_studies.bowen_liu_su_2021.simulation.coefficient_results import Results
from understudy_studies.bowen_liu_su_2021.simulation.population import SHARES
from understudy_studies.bowen_liu_su_2021.simulation.release_ways import LIGHT, PRIVBAYES, STATED
from understudy_studies.bowen_liu_su_2021.simulation.simulation import JUDGED
from understudy_studies.framework.claim_verdicts import by_reading
from understudy_studies.framework.study import Row, TextTable


def verdicts_by_reading(rows: Sequence[Row]) -> tuple[TextTable, ...]:
    """All points, judged once for each reading.

    Args:
        rows: of `results.csv`.
    """
    readings = {
        f"as judged ({JUDGED})": Results(rows),
        "PrivBayes with its stated noise": Results(rows, others={PRIVBAYES: STATED}),
        "ridge penalty 1": Results(rows, others=LIGHT),
        **{f"levels: {levels}": Results(rows, levels) for levels in SHARES if levels != JUDGED},
    }
    return (by_reading({name: about_study(results) for name, results in readings.items()}),)


def aic_by_levels() -> TextTable:
    """AICs of the columns under each law, and whether the paper's sentence on groups is true."""
    rows = []
    for levels in SHARES:
        found = level_aic.of(levels)
        for name, scores in (
            ("Lemma 1", found.estimated),
            ("levels alike likely", found.alike),
        ):
            first, second = level_aic.means(scores)
            rows.append(
                (
                    levels,
                    name,
                    *(f"{score:,.0f}" for score in scores),
                    f"{first:,.0f} | {second:,.0f}",
                    "yes" if level_aic.each_below(scores) else "no",
                    level_aic.widest(scores),
                )
            )
    return TextTable(
        caption=(
            "AIC by law of the levels, main effects, n = 10,000: of each column; means of the "
            "paper’s groups; whether x1, x2 and x4 are each below x3 and y; the first group of the "
            "split whose means are furthest apart, which is what the choice is to find"
        ),
        headings=("levels", "AIC of", *level_aic.COLUMNS, "means", "each below", "furthest apart"),
        rows=tuple(rows),
        words=2,
    )
