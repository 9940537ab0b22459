"""What the pages of these studies tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from understudy_studies.framework.claim_verdicts import told
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.park_ghosh_2014 import figures, prepared
from understudy_studies.park_ghosh_2014.claims import about_study
from understudy_studies.park_ghosh_2014.intruder import ATTACKS, RISKS, TARGETS
from understudy_studies.park_ghosh_2014.patient_case import (
    DISCHARGES,
    INPATIENTS,
    Case,
    Regression,
    find,
)
from understudy_studies.park_ghosh_2014.pegs_papers import BLOCK, EPSILONS, N_RECORDS
from understudy_studies.park_ghosh_2014.record_ways import LINES, MARKS, PRIVATE
from understudy_studies.park_ghosh_2014.synthesis_findings import findings
from understudy_studies.park_ghosh_2014.table_distances import (
    COEFFICIENTS,
    DISTANCES,
    UTILITIES,
    Measure,
)
from understudy_studies.park_ghosh_2014.way_results import Results

MAIN_EPSILON = 1.0
"""ε of the table that is not folded."""


def simulated_page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study on simulated discharges."""
    return _page_text(DISCHARGES, results, run_record)


def real_page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study on inpatients."""
    return _page_text(INPATIENTS, results, run_record)


def _page_text(table: str, rows: list[Row], run_record: RunRecord) -> PageText:
    case, results = find(table), Results(rows)
    words, comparison = told(lambda: about_study(case, results), run_record)
    return PageText(
        lead=(
            "Perturbed Gibbs samplers and perturbed multiple imputation, as Park & Ghosh compare "
            "them, with the ε that a whole table costs: what remains of a table with 13 columns, "
            "and what an intruder gets."
        ),
        done=_done(case),
        parameters=_parameters(case, run_record),
        findings=(*words, *findings(case, results)),
        comparison=comparison,
        tables=tuple(_tables(case, results)),
        charts=figures.charts(table, results, run_record.repetitions[0]),
    )


def _done(case: Case) -> tuple[str, ...]:
    sizes = dict(zip(case.schema.names, case.sizes, strict=True))
    return (
        case.words,
        f"Every way makes {N_RECORDS:,} records, by the code that makes every release, with seeded "
        "noise; the rows are always the same. A step of PeGS draws a column from the real counts "
        "with the same key, with α = 1/(e^(ε/13) − 1) added to each, as the paper has it; of "
        f"PeGS.rs, whose {BLOCK} records share a block, with {BLOCK}·ε for ε. PMI adds this α to "
        "the fitted probabilities of elastic-net regressions of each column on all others. Orders "
        "of columns are public, and records start from uniform cells, but for the lines “as "
        "published”, where both are read off the rows. All budgets are for one record more or "
        "less; our own methods spend 5 % of theirs on the number of rows.",
        "Marginal distance: mean over the columns of ‖p − p̃‖₁, from 0 to 2. Given a column: the "
        "same within each of its levels, weighted by the original; a level without a synthetic "
        f"record counts 2. Regressions: {_formula(case.logistic)}; {_formula(case.linear)}. A "
        "coefficient that cannot be estimated counts as no effect.",
        f"The intruder knows {', '.join(case.intruder.keys)} of somebody, and looks for records "
        f"that agree. He guesses {case.intruder.levels} as the most frequent one among them, and "
        f"{case.intruder.number.words} as their mean; without a match he takes all records. He "
        f"does so for {TARGETS:,} people of the table, and as many of those held out. Unique "
        f"records are those alone with their {', '.join(case.intruder.unique)} "
        f"({_product(sizes, case.intruder.unique):,} cells).",
    )


def _formula(regression: Regression) -> str:
    kind = "logistic" if regression.binary else "linear"
    terms = ", ".join(term.words for term in regression.terms)
    return f"{kind}, {regression.outcome.words} on {terms}"


def _product(sizes: dict[str, int], columns: Sequence[str]) -> int:
    return int(np.prod([sizes[one] for one in columns]))


def _parameters(case: Case, run_record: RunRecord) -> dict[str, str]:
    return {
        "Rows": f"{case.n_rows:,}, and people held out",
        "Columns": ", ".join(case.schema.names),
        "ε for each record": ", ".join(f"{one:g}" for one in EPSILONS),
        "ε of the table": ", ".join(f"{one * N_RECORDS:,.0f}" for one in EPSILONS),
        "Records of a table": f"{N_RECORDS:,}",
        "Block of PeGS.rs": f"{BLOCK} records",
        "Keys": f"the foremost other columns of {', '.join(case.order)}, as long as they have at "
        f"most {prepared.KEY_LIMIT:,} values",
        "Repetitions": run_record.repetitions_words,
    }


def _tables(case: Case, results: Results) -> Iterator[TextTable]:
    yield TextTable(
        caption=f"At ε = {MAIN_EPSILON:g}, for each record or for the table: means over the "
        "repetitions",
        headings=("way", "ε of the table", *_headings(case, (*DISTANCES, *COEFFICIENTS, *RISKS))),
        rows=tuple(
            (name, _total(name, MAIN_EPSILON),
             *_means(results, name, MAIN_EPSILON, (*DISTANCES, *COEFFICIENTS, *RISKS)))
            for name in LINES
        ),
    )  # fmt: skip
    yield TextTable(
        caption="The ways",
        headings=("way", "what it is", "ε is for"),
        rows=tuple(
            (name, line.words, {"record": "each record", "table": "the table", "none": "–"}[
                line.budget]) for name, line in LINES.items()
        ),
        words=3,
    )  # fmt: skip
    yield reconstructed(*_RECONSTRUCTED)
    for words, measures in (("Utility", UTILITIES), ("Intruder", RISKS)):
        yield _everything(case, results, words, measures)
    yield _gaps(case, results)


_RECONSTRUCTED = (
    ("values of ε", "chosen", "seven values; the list is lost in the text that we have"),
    ("distances", "our reading", "the formulas are lost"),
    ("regressions", "our choice", "the formulas are lost"),
    ("seeds", "replaced", "a pool of real records there; uniform cells here, which are public"),
    ("order of columns", "replaced", "by mutual information there; public here"),
    ("key limit", "chosen", "not told; 1,000 values"),
    ("rows", "replaced", "California discharges, which cannot be had"),
)


def _everything(
    case: Case, results: Results, words: str, measures: Sequence[Measure]
) -> TextTable:  # fmt: skip
    lines = [
        (name, f"{epsilon:g}", _total(name, epsilon), *_means(results, name, epsilon, measures,
                                                            errors=True))
        for name in PRIVATE
        for epsilon in EPSILONS
        if epsilon <= LINES[name].most
    ]  # fmt: skip
    lines += [
        (name, "–", "–", *_means(results, name, MAIN_EPSILON, measures, errors=True))
        for name in MARKS
    ]
    return TextTable(
        caption=f"{words}: all means (Monte Carlo standard errors)",
        headings=("way", "ε", "ε of the table", *_headings(case, measures)),
        rows=tuple(lines),
        fold=True,
    )


def _gaps(case: Case, results: Results) -> TextTable:
    """What the intruder knows better about people in the table."""
    measures = [Measure(f"{one.name}_gap", one.words) for one in ATTACKS]
    lines = [
        (name, f"{epsilon:g}", *_means(results, name, epsilon, measures, errors=True, digits=4))
        for name in PRIVATE
        for epsilon in EPSILONS
        if epsilon <= LINES[name].most
    ]
    lines += [
        (name, "–", *_means(results, name, MAIN_EPSILON, measures, errors=True, digits=4))
        for name in MARKS
    ]
    return TextTable(
        caption="What the intruder gets wrong about people held out, less what he gets wrong about "
        "people in the table (Monte Carlo standard errors): above 0 where he knows more of these",
        headings=("way", "ε", *_headings(case, measures)),
        rows=tuple(lines),
        fold=True,
    )


def _headings(case: Case, measures: Sequence[Measure]) -> Iterator[str]:
    return (one.heading(case) for one in measures)


def _total(name: str, epsilon: float) -> str:
    line = LINES[name]
    return "–" if line.budget == "none" else f"{line.total(epsilon):,g}"


def _means(
    results: Results,
    name: str,
    epsilon: float,
    measures: Sequence[Measure],
    *,
    errors: bool = False,
    digits: int = 3,
) -> Iterator[str]:
    row = results.row(name, epsilon)
    for one in measures:
        mean, error = row.get(one.name), row.get(f"{one.name}_se")
        if mean is None or np.isnan(mean):
            yield "–"
        elif errors and error is not None and np.isfinite(error):
            yield f"{mean:.{digits}f} ({error:.{digits}f})".replace("-", "−")
        else:
            yield f"{mean:.{digits}f}".replace("-", "−")
