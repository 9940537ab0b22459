"""What the pages of the voter studies tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from understudy_studies.bowen_liu_su_2021.young_voters import figures, voter_case
from understudy_studies.bowen_liu_su_2021.young_voters.claims import about_study
from understudy_studies.bowen_liu_su_2021.young_voters.disagreement_causes import CAUSES
from understudy_studies.bowen_liu_su_2021.young_voters.original_tables import (
    cells_by_size,
    shares_of_levels,
)
from understudy_studies.bowen_liu_su_2021.young_voters.other_readings import (
    verdicts_by_reading,
    what_settings_do,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    LOG_EPSILONS,
    MISPRINTED,
    PRINTED,
    SAME_CLASS,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import PAPERS as SIX
from understudy_studies.bowen_liu_su_2021.young_voters.release_lines import LINES, STATED
from understudy_studies.bowen_liu_su_2021.young_voters.simulation import SETS
from understudy_studies.bowen_liu_su_2021.young_voters.utility_results import DECIMALS, Results
from understudy_studies.bowen_liu_su_2021.young_voters.voter_findings import findings
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import OURS, PAPERS
from understudy_studies.framework.claim_verdicts import told
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.measures.rank_sums import rank_sums, ranks

MEASURE_WORDS = tuple(measure.words for measure in PAPERS)
CLASS_WORDS = ("p < 0.01", "0.01 to 0.05", "0.05 to 0.1", "0.1 or more")


def simulated_page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study on simulated voters."""
    return _page_text(voter_case.SIMULATED, results, run_record)


def real_page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study on the sample of the survey."""
    return _page_text(voter_case.STAND_IN, results, run_record)


def _page_text(name: str, rows: list[Row], run_record: RunRecord) -> PageText:
    table, results = voter_case.find(name), Results(rows)
    simulated = name == voter_case.SIMULATED
    judged = results.repetitions(SIX)
    said, comparison = told(
        lambda: about_study(results, CAUSES[name]),
        replace(run_record, repetitions=(judged, judged)),
    )
    paper = (_paper(), _same_class(results)) if simulated else ()
    readings = () if comparison is None else verdicts_by_reading(results, printed=simulated)
    settings = what_settings_do(results) if simulated else ()
    sources = (cells_by_size(table, printed=simulated), *shares_of_levels(table, simulated))
    prose = prose_of(
        __package__,
        rows="simulated rows." if simulated else "a public sample of the same survey.",
        table=table,
        sets=SETS,
        order=", ".join(table.order),
        n_columns=len(table.schema.names),
        epsilons=", ".join(f"e^{budget}".replace("-", "−") for budget in LOG_EPSILONS),
        stated=STATED,
        settings=simulated,
        judged=judged,
        fewer=results.repetitions([STATED]),
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=(*said, *findings(table, results)),
        comparison=comparison,
        tables=(
            *readings,
            *settings,
            _ours(results),
            *paper,
            *sources,
            _beside(results),
            *_classes(results),
        ),
        charts=figures.charts(results, beside_paper=simulated),
    )


def _ours(results: Results) -> TextTable:
    """The paper's table 3 with our numbers."""
    everyone = tuple(LINES)
    scores, found, six = results.scores(everyone), results.ranks(SIX), results.sums(SIX)
    lines = []
    for k, budget in enumerate(LOG_EPSILONS):
        for j, method in enumerate(everyone):
            if budget not in results.budgets(method):
                continue
            ranked = found[k, j] if j < len(SIX) else None
            overall = str(six[k, j]) if j < len(SIX) else "–"
            head = (str(budget).replace("-", "−"), method)
            lines.append((*head, *_cells(scores[k, j], ranked), overall))
    return TextTable(
        caption="Our results: means over the repetitions (rank among the paper’s six methods)",
        headings=("log ε", "method", *MEASURE_WORDS, "overall"),
        rows=tuple(lines),
        words=2,
    )


def _paper() -> TextTable:
    """The paper's own table 3."""
    better = [measure.better for measure in PAPERS]
    lines = []
    for budget, of in PRINTED.items():
        scores = np.array([of[method] for method in SIX])
        found, sums = ranks(scores, better), rank_sums(scores, better)
        for j, method in enumerate(SIX):
            mark = " *" if (budget, method) in MISPRINTED else ""
            head = (str(budget).replace("-", "−"), method)
            lines.append((*head, *_cells(scores[j], found[j]), f"{sums[j]}{mark}"))
    return TextTable(
        caption=(
            "The paper’s results on its own data, which are not these rows (its table 3). "
            "* follows from the printed numbers; the printed ranks add up to one more or one less."
        ),
        headings=("log ε", "method", *MEASURE_WORDS, "overall"),
        rows=tuple(lines),
        words=2,
        fold=True,
    )


def _cells(scores: Sequence[float], ranked: Sequence[int] | None) -> Iterator[str]:
    for k, score in enumerate(scores):
        text = f"{score:.{DECIMALS}f}"
        yield text if ranked is None else f"{text} ({ranked[k]})"


def _same_class(results: Results) -> TextTable:
    """Pairs of columns in one class of p-values, ours and the paper's."""
    lines = []
    for method in SIX:
        ours = results.along("same_class", method)
        texts = [f"{one:.1f} | {printed}" for one, printed in
                 zip(ours, SAME_CLASS[method], strict=True)]  # fmt: skip
        lines.append((method, *texts))
    return TextTable(
        caption="Pairs of columns, of 105, whose pooled p-value is in the class of the original’s "
        "(below 0.01, 0.05, 0.1, or above): ours | the paper’s tables 4 to 9",
        headings=("method", *(f"log ε = {budget}".replace("-", "−") for budget in LOG_EPSILONS)),
        rows=tuple(lines),
        fold=True,
    )


def _beside(results: Results) -> TextTable:
    """What the paper's measures do not show."""
    everyone = tuple(LINES)
    scores = results.scores(everyone, OURS)
    lines = [
        (str(budget).replace("-", "−"), method, *(f"{value:.2f}" for value in scores[k, j]))
        for k, budget in enumerate(LOG_EPSILONS)
        for j, method in enumerate(everyone)
        if budget in results.budgets(method)
    ]
    return TextTable(
        caption=(
            "Beside the paper’s measures: overlap of the effect within the registered; mean "
            "overlap of the coefficients that the data determine, and the median of their widths, "
            "synthetic over original; pairs of columns in the same class of p-values; sets, of "
            f"{SETS}, in which the likelihood has no maximum"
        ),
        headings=("log ε", "method", *(measure.words for measure in OURS)),
        rows=tuple(lines),
        words=2,
        fold=True,
    )


def _classes(results: Results) -> Iterator[TextTable]:
    """A 4 × 4 table for each method, at the first repetition, all budgets below each other."""
    for method in (*SIX, STATED):
        lines = [
            (str(budget).replace("-", "−"), words, *(str(one) for one in row))
            for budget in LOG_EPSILONS
            for words, row in zip(CLASS_WORDS, results.classes(method, budget), strict=True)
        ]
        yield TextTable(
            caption=f"{method}: pairs of columns by p-value on the original (down) and pooled over "
            "the sets (across), at the first repetition",
            headings=("log ε", "original", *CLASS_WORDS),
            rows=tuple(lines),
            words=2,
            fold=True,
        )
