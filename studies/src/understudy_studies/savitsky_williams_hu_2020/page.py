"""What the pages of these studies tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.savitsky_williams_hu_2020 import claims, figures, mechanisms, resampling
from understudy_studies.savitsky_williams_hu_2020.consumer_case import find
from understudy_studies.savitsky_williams_hu_2020.mechanism_results import Results, View
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COMPONENTS,
    MECHANISMS,
    PUBLISHED,
    SCALAR,
    SETS,
    SETTINGS,
    TABLE_2,
    VECTOR,
)
from understudy_studies.savitsky_williams_hu_2020.risk_and_utility import (
    MEAN,
    PEEKING,
    PERCENTILE,
    WAYS,
)
from understudy_studies.savitsky_williams_hu_2020.risk_findings import findings


def page_text(rows: list[Row], run_record: RunRecord) -> PageText:
    """The page of a study; its rows say on which table it was run."""
    case, results = find(rows[0]["table"]), Results(rows)
    words, comparison = claims.told(results, run_record)
    prose = prose_of(
        __package__,
        case=case,
        components=COMPONENTS,
        sets=SETS,
        n_rows=len(case.values),
        predictors=", ".join(case.predictors),
        models=", ".join(view.words for view in (*results.views, *results.others)),
        settings="; ".join(_setting(setting) for setting in SETTINGS),
        burn_in=mechanisms.BURN_IN,
        draws=mechanisms.DRAWS,
        resamples=resampling.RESAMPLES,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=(*words, *findings(results)),
        comparison=comparison,
        tables=tuple(_tables(results)),
        charts=figures.charts(results),
    )


def _tables(results: Results) -> Iterator[TextTable]:
    yield _table_2(results)
    yield _mechanisms(results)
    yield _by_setting(results)
    yield reconstructed(
        ("transformation of income", "ours", "a logarithm there, of incomes from −7K on; asinh"),
        ("setting of figures 2 to 4", "guessed", "lost; (0.7, 0), the first of table 2"),
        ("components, draws, burn-in", "ours", "lost"),
        ("level of the quantile that drops draws", "guessed", "lost; 95 %"),
        ("prior of the correlations", "replaced", "LKJ there; one that a Gibbs sampler can draw"),
        ("target under weights", "ours", "of a sampler with labels, Σ_k (π_k N_k)^α"),
        ("radius of the count weights", "guessed", "lost; a fifth of the own income"),
        ("records that count weights compare", "guessed", "lost; those with all predictors alike"),
        ("components of synthetic records", "both", "from confidential incomes there; from π"),
        ("table", "replaced", "the sample cannot be had"),
    )


def _table_2(results: Results) -> TextTable:
    headings = ["c, g", "the paper", "ε a set, by the paper"]
    for view in results.views:
        headings += [f"{view.words}: Δ_α", "of α·|log f|", "scalar, computed anew"]
    headings += [f"{view.words}: of α·|log f|" for view in results.others]
    rows = []
    for place, setting in enumerate(SETTINGS):
        row = [_setting(setting), f"{TABLE_2[place]:.2f}", f"{2 * TABLE_2[place]:.1f}"]
        for view in results.views:
            row += [_with_error(view, "bound", VECTOR, setting),
                    _with_error(view, "printed", VECTOR, setting),
                    _with_error(view, "bound", SCALAR, setting)]  # fmt: skip
        row += [_with_error(view, "printed", VECTOR, setting) for view in results.others]
        rows.append(tuple(row))
    return TextTable(
        caption="The paper’s table 2 beside ours: largest bound Δ_α of vector weights, means over "
        "the repetitions ± Monte Carlo error",
        headings=tuple(headings),
        rows=tuple(rows),
    )


def _mechanisms(results: Results) -> TextTable:
    rows = []
    for view in results.views:
        for mechanism in MECHANISMS:
            utility = (_off(view, f"{statistic}{way}_off", mechanism)
                       for statistic in (PERCENTILE, MEAN) for way in WAYS)  # fmt: skip
            rows.append((
                view.words, f"{mechanism} ({PUBLISHED[mechanism]})",
                f"{view.number('weight', mechanism):.2f}",
                _with_error(view, "bound", mechanism), f"{view.number('printed', mechanism):.2f}",
                f"{view.number('typical', mechanism):.2f}", *utility,
                *(f"{view.number(f'follows{way}', mechanism):.2f}" for way in WAYS),
            ))  # fmt: skip
    return TextTable(
        caption="At (c, g) = (0.7, 0): weights, bounds, W₁ of the statistics in $1,000 and rank "
        "correlation with the own income, each with components from π | in the paper’s way",
        headings=(
            "scale", "mechanism (the paper’s name)", "mean α", "Δ", "of α·|log f|",
            "median bound", "percentile", "| paper’s way", "mean", "| paper’s way",
            "follows", "| paper’s way",
        ),
        rows=tuple(rows),
        words=2,
    )  # fmt: skip


def _by_setting(results: Results) -> TextTable:
    rows = []
    for view in results.views:
        for setting in SETTINGS:
            cells = (
                _off(view, f"{statistic}{way}_off", mechanism, setting)
                for statistic in (PERCENTILE, MEAN)
                for way in ("", PEEKING)
                for mechanism in (VECTOR, SCALAR)
            )
            weights = (
                f"{view.number('weight', mechanism, setting):.2f}" for mechanism in (VECTOR, SCALAR)
            )
            rows.append((view.words, _setting(setting), *weights, *cells))
    names = [
        f"{statistic}{words}, {mechanism}"
        for statistic in (PERCENTILE, MEAN)
        for words in ("", " in the paper’s way")
        for mechanism in (VECTOR, SCALAR)
    ]
    return TextTable(
        caption="Vector and scalar weights at each setting: mean α, and W₁ in $1,000 (Monte Carlo "
        "error)",
        headings=("scale", "c, g", "α, vector", "α, scalar", *names),
        rows=tuple(rows),
        words=2,
        fold=True,
    )


def _with_error(
    view: View, name: str, mechanism: str, setting: tuple[float, float] = SETTINGS[0]
) -> str:
    mean, error = (f(name, mechanism, setting) for f in (view.number, view.error))
    return f"{mean:.2f}" + (f" ± {error:.2f}" if np.isfinite(error) else "")


def _off(view: View, name: str, mechanism: str, setting: tuple[float, float] = SETTINGS[0]) -> str:
    mean, error = (f(name, mechanism, setting) / 1000 for f in (view.number, view.error))
    return f"{mean:.1f}" + (f" ({error:.1f})" if np.isfinite(error) else "")


def _setting(setting: tuple[float, float]) -> str:
    """A setting in words.

    Example:
        >>> _setting((0.6, -0.1))
        '0.6, −0.1'
    """
    return ", ".join(f"{one:g}" for one in setting).replace("-", "−")
