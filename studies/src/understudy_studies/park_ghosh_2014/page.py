"""What the pages of these studies tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from understudy_studies.framework.claim_verdicts import told
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.park_ghosh_2014 import (
    block_drift,
    figures,
    sampling_trace,
    sensitivity_tables,
)
from understudy_studies.park_ghosh_2014.causes import causes
from understudy_studies.park_ghosh_2014.claims import COMPARABLE, about_study
from understudy_studies.park_ghosh_2014.intruder import ATTACKS, RISKS, TARGETS
from understudy_studies.park_ghosh_2014.key_readings import COLUMNS, PUBLIC, PUBLISHED
from understudy_studies.park_ghosh_2014.patient_case import (
    DISCHARGES,
    INPATIENTS,
    Case,
    Regression,
    find,
)
from understudy_studies.park_ghosh_2014.pegs_papers import (
    BLOCK,
    EPSILONS,
    LEVELS,
    N_RECORDS,
    UNCHANGED,
)
from understudy_studies.park_ghosh_2014.places import places
from understudy_studies.park_ghosh_2014.record_lines import LINES, MARKS, PEGS_READ, PRIVATE, Ways
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
    words, comparison = told(
        lambda: about_study(
            case,
            results,
            Ways.of(PUBLISHED),
            run_record.repetitions[0],
            causes(case, results),
        ),
        run_record,
    )
    sizes = dict(zip(case.schema.names, case.sizes, strict=True))
    prose = prose_of(
        __package__,
        case=case,
        n_records=N_RECORDS,
        block=BLOCK,
        logistic=_formula(case.logistic),
        linear=_formula(case.linear),
        intruder_keys=", ".join(case.intruder.keys),
        targets=TARGETS,
        unique_columns=", ".join(case.intruder.unique),
        unique_cells=_product(sizes, case.intruder.unique),
        columns=", ".join(case.schema.names),
        epsilons=EPSILONS,
        table_epsilons=", ".join(f"{epsilon * N_RECORDS:,.0f}" for epsilon in EPSILONS),
        order=", ".join(case.order),
        key_limit=PUBLIC.limit,
        key_columns=COLUMNS,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=(*words, *findings(case, results)),
        comparison=comparison,
        tables=tuple(_tables(case, results)),
        charts=figures.charts(table, results, run_record.repetitions[0]),
    )


def _formula(regression: Regression) -> str:
    kind = "logistic" if regression.binary else "linear"
    terms = ", ".join(term.words for term in regression.terms)
    return f"{kind}, {regression.outcome.words} on {terms}"


def _product(sizes: dict[str, int], columns: Sequence[str]) -> int:
    return int(np.prod([sizes[column] for column in columns]))


def _tables(case: Case, results: Results) -> Iterator[TextTable]:
    yield TextTable(
        caption=f"At ε = {MAIN_EPSILON:g}, for each record or for the table: means over the "
        "repetitions",
        headings=("way", "ε of the table", *_headings(case, (*DISTANCES, *COEFFICIENTS, *RISKS))),
        rows=tuple(
            (name, _total(name, MAIN_EPSILON),
             *_means(results, name, MAIN_EPSILON, (*DISTANCES, *COEFFICIENTS, *RISKS)))
            for name, line in LINES.items()
            if line.budget == "none" or line.made_at(MAIN_EPSILON)
        ),
    )  # fmt: skip
    yield TextTable(
        caption="The ways (the paper’s table 1, and ours)",
        headings=("way", "what it is", "ε is for"),
        rows=tuple(
            (name, line.words, {"record": "each record", "table": "the table", "none": "–"}[
                line.budget]) for name, line in LINES.items()
        ),
        words=3,
    )  # fmt: skip
    yield reconstructed(*_RECONSTRUCTED)
    yield from sensitivity_tables.tables(case, results)
    yield block_drift.table(case)
    yield _columns(case)
    if case.name == DISCHARGES:
        yield from _trace(case)
    yield places()
    for words, measures in (("Utility", UTILITIES), ("Intruder", RISKS)):
        yield _everything(case, results, words, measures)
    yield _gaps(case, results)


_RECONSTRUCTED = (
    ("values of ε", "chosen", "seven values; the list is lost in the text that we have"),
    ("distances", "our reading", "the formulas are lost"),
    ("regressions", "our choice", "the formulas are lost"),
    ("columns of a key", "fitted", f"{COLUMNS}, alike for all columns; “the first” of the ordered "
     "ones, how many is lost; the number at which most of the paper’s points agree (sensitivity)"),
    ("long block of figure 4", "chosen", f"all {N_RECORDS:,} records; its length is not told"),
    ("“a simple bootstrap”", "our reading", "rows drawn with replacement, as many as records "
     "(sensitivity)"),
    ("people without a match", "our reading", "guessed at by all records; the formula is lost "
     "(sensitivity)"),
    ("“comparable”, “distinctly”", "our choice", f"{100 * COMPARABLE:.0f} %; no number is given"),
    ("regression of figure 8", "contradiction", "the text says linear, the caption logistic; "
     "judged by the linear one, and both are in the table of coefficients"),
    ("cells of the table", "contradiction", "2 and 2.6 trillion in the text; the levels of table 2 "
     "multiply to 1.02·10¹²"),
    ("ℓ, and for which columns", "our choice", "its results are in another paper"),
    ("rows", "replaced", "California discharges, which cannot be had"),
)  # fmt: skip


def _columns(case: Case) -> TextTable:
    """The columns; beside the paper's numbers of levels, where the table is made after it."""
    beside = case.name == DISCHARGES
    rows = [
        (name, f"{size}", *((f"{LEVELS[j]}",) if beside else ()))
        for j, (name, size) in enumerate(zip(case.schema.names, case.sizes, strict=True))
    ]
    return TextTable(
        caption="Columns (the paper’s table 2)" if beside else "Columns",
        headings=("column", "levels", *(("levels in the paper",) if beside else ())),
        rows=tuple(rows),
        fold=True,
    )


def _trace(case: Case) -> Iterator[TextTable]:
    """The steps of one record, and how many columns a sweep leaves as they were."""
    names = case.schema.names
    shown = sampling_trace.steps(case, MAIN_EPSILON)
    labels = ("seed", *(f"after {name}" for name in names))
    changed = frozenset(
        (i, i) for i in range(1, len(shown)) if shown[i][i - 1] != shown[i - 1][i - 1]
    )
    yield TextTable(
        caption=f"From a seed to a record (the paper’s table 3), at ε = {MAIN_EPSILON:g} as "
        "published: each step draws one column, and what it changes stands out",
        headings=("step", *names),
        rows=tuple((label, *row) for label, row in zip(labels, shown, strict=True)),
        words=len(names) + 1,
        doubtful=changed,
    )
    kept = (sampling_trace.unchanged(case, epsilon) for epsilon in EPSILONS)
    yield TextTable(
        caption=f"Columns of {len(names)} that a sweep leaves as they were, mean of {N_RECORDS:,} "
        f"records (standard error); {UNCHANGED} in the one record of the paper’s table 3, whose ε "
        "is not told",
        headings=("way", *(f"{epsilon:g}" for epsilon in EPSILONS)),
        rows=((PEGS_READ, *(f"{mean:.2f} ({error:.2f})" for mean, error in kept)),),
    )


def _everything(
    case: Case, results: Results, words: str, measures: Sequence[Measure]
) -> TextTable:  # fmt: skip
    lines = [
        (name, f"{epsilon:g}", _total(name, epsilon), *_means(results, name, epsilon, measures,
                                                            errors=True))
        for name in PRIVATE
        for epsilon in EPSILONS
        if LINES[name].made_at(epsilon)
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
    measures = [Measure(f"{measure.name}_gap", measure.words) for measure in ATTACKS]
    lines = [
        (name, f"{epsilon:g}", *_means(results, name, epsilon, measures, errors=True, digits=4))
        for name in PRIVATE
        for epsilon in EPSILONS
        if LINES[name].made_at(epsilon)
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
    return (measure.heading(case) for measure in measures)


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
    for measure in measures:
        mean, error = row.get(measure.name), row.get(f"{measure.name}_se")
        if mean is None or np.isnan(mean):
            yield "–"
        elif errors and error is not None and np.isfinite(error):
            yield f"{mean:.{digits}f} ({error:.{digits}f})".replace("-", "−")
        else:
            yield f"{mean:.{digits}f}".replace("-", "−")
