"""What the pages of the voter studies tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from understudy_studies.bowen_liu_su_2021.young_voters import figures, voter_case
from understudy_studies.bowen_liu_su_2021.young_voters.claims import about_study
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    LOG_EPSILONS,
    MISPRINTED,
    PRINTED,
    SAME_CLASS,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import PAPERS as SIX
from understudy_studies.bowen_liu_su_2021.young_voters.simulation import LINES, SETS
from understudy_studies.bowen_liu_su_2021.young_voters.utility_results import DECIMALS, Results
from understudy_studies.bowen_liu_su_2021.young_voters.voter_findings import findings
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import OURS, PAPERS
from understudy_studies.framework.claim_verdicts import comparison, count, disagreements
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.measures.rank_sums import rank_sums, ranks

MEASURE_WORDS = tuple(one.words for one in PAPERS)
CLASS_WORDS = ("p < 0.01", "0.01 to 0.05", "0.05 to 0.1", "0.1 or more")


def simulated_page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study on simulated voters."""
    return _page_text(voter_case.SIMULATED, results, run_record)


def real_page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study on the sample of the survey."""
    return _page_text(voter_case.STAND_IN, results, run_record)


def _page_text(name: str, rows: list[Row], run_record: RunRecord) -> PageText:
    table, results = voter_case.find(name), Results(rows, run_record.repetitions[0])
    simulated = name == voter_case.SIMULATED
    verdicts = about_study(results)
    paper = (_paper(), _same_class(results)) if simulated else ()
    return PageText(
        lead=(
            "Which way to release a large, sparse table of voters keeps most of its use: one flat "
            "table, a Bayesian network, or a tree of counts? The comparison of Bowen, Liu & Su on "
            + ("simulated rows." if simulated else "a public sample of the same survey.")
        ),
        done=_done(table),
        parameters=_parameters(table, run_record),
        findings=(count(verdicts), *disagreements(verdicts), *findings(table, results)),
        comparison=comparison(verdicts),
        tables=(_ours(results), *paper, _beside(results), *_classes(results)),
        charts=figures.charts(results, beside_paper=simulated),
    )


def _done(table: voter_case.Case) -> tuple[str, ...]:
    return (
        table.words,
        f"Every repetition makes {SETS} sets, each with a fit of its own at a fifth of ε, with "
        "seeded noise, by the code that makes every release. The flat Laplace sanitizer has "
        "geometric noise in all cells that can occur. As the number of rows is public, all noise "
        "is that for a replaced record, of twice the scale that the paper prints; and a tree of L "
        "layers divides its budget among the L + 1 layers that are counted. UH-L takes L columns "
        "in a random order, "
        f"STEPS-L the columns {', '.join(table.order)} in this order; each has L layers and the "
        "full table, exact least squares, and records drawn from the leaves, negative ones set "
        "to 0. PrivBayes has degree 2, mutual information as its score, and half of the budget "
        "for the network. Five more ways are ours: each tree with records drawn from the top down, "
        "and PrivBayes with the score R and 0.3 of the budget for the network.",
        "SPECKS: Kolmogorov-Smirnov distance of fitted propensities, by logistic regression on "
        "all indicators and all their products in pairs, mean over the sets. χ²: share of the "
        f"{table.n_pairs} pairs of columns for which the test of independence decides as on the "
        "original, the p-values of the sets pooled by the rule of Li et al. (1991). Overlap: mean "
        "share of each other that the 95 % intervals of a coefficient have, on the original and "
        "over the sets (T = ū + b/m), in a logistic regression of voting on all columns and the "
        f"product of {table.model.exposure} and {table.model.group}.",
        "Ranks are among the paper’s six methods, scores that agree to three digits are tied and "
        "share the better rank; the sum over the eight measures is the overall score.",
    )


def _parameters(table: voter_case.Case, run_record: RunRecord) -> dict[str, str]:
    return {
        "Rows": f"{table.schema.n_rows:,}",
        "Columns": f"{len(table.schema.names)}",
        "Cells that can occur": f"{table.schema.domain.n_allowed:,}",
        "ε of a release": ", ".join(f"e^{one}".replace("-", "−") for one in LOG_EPSILONS),
        "Sets": f"{SETS}, split",
        "Order of STEPS": ", ".join(table.order),
        "Repetitions": run_record.repetitions_words,
    }


def _ours(results: Results) -> TextTable:
    """The paper's table 3 with our numbers."""
    everyone = tuple(LINES)
    scores, found = results.scores(everyone), results.ranks(SIX)
    six, all_sums = results.sums(SIX), results.sums(everyone)
    lines = []
    for k, budget in enumerate(LOG_EPSILONS):
        for j, method in enumerate(everyone):
            ranked = found[k, j] if j < len(SIX) else None
            overall = str(six[k, j]) if j < len(SIX) else "–"
            lines.append(
                (
                    str(budget).replace("-", "−"),
                    method,
                    *_cells(scores[k, j], ranked),
                    overall,
                    str(all_sums[k, j]),
                )
            )
    return TextTable(
        caption="Our results: means over the repetitions (rank among the paper’s six methods)",
        headings=("log ε", "method", *MEASURE_WORDS, "overall", "among all"),
        rows=tuple(lines),
        words=2,
    )


def _paper() -> TextTable:
    """The paper's own table 3."""
    better = [one.better for one in PAPERS]
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
        headings=("method", *(f"log ε = {one}".replace("-", "−") for one in LOG_EPSILONS)),
        rows=tuple(lines),
        fold=True,
    )


def _beside(results: Results) -> TextTable:
    """What the paper's measures do not show."""
    everyone = tuple(LINES)
    scores = results.scores(everyone, OURS)
    lines = [
        (str(budget).replace("-", "−"), method, *(f"{one:.2f}" for one in scores[k, j]))
        for k, budget in enumerate(LOG_EPSILONS)
        for j, method in enumerate(everyone)
    ]
    return TextTable(
        caption=(
            "Beside the paper’s measures: overlap of the effect within the registered; mean "
            "overlap of the coefficients that the data determine, and the median of their widths, "
            "synthetic over original; pairs of columns in the same class of p-values; sets, of "
            f"{SETS}, in which the likelihood has no maximum"
        ),
        headings=("log ε", "method", *(one.words for one in OURS)),
        rows=tuple(lines),
        words=2,
        fold=True,
    )


def _classes(results: Results) -> Iterator[TextTable]:
    """A 4 × 4 table for each method, at the first repetition, all budgets below each other."""
    for method in LINES:
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
