"""What the pages of these studies tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy._arrays import Floats
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.savitsky_williams_hu_2020 import claims, figures, mechanisms, resampling
from understudy_studies.savitsky_williams_hu_2020.claim_causes import TABLE
from understudy_studies.savitsky_williams_hu_2020.consumer_case import find
from understudy_studies.savitsky_williams_hu_2020.mechanism_results import (
    Results,
    View,
    mean_and_error_of,
    quantile_and_error,
)
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COMPONENTS,
    COUNT,
    MAIN,
    MECHANISMS,
    PUBLISHED,
    READINGS,
    SCALAR,
    SETS,
    SETTINGS,
    TABLE_2,
    UNWEIGHTED,
    VECTOR,
)
from understudy_studies.savitsky_williams_hu_2020.risk_and_utility import (
    MEAN,
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
        known=", ".join(case.known),
        known_few=", ".join(case.known_few),
        reported=results.reported.words,
        models="; ".join(view.words for view in results.others),
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
    yield _readings(results)
    yield _table_2(results.reported)
    yield _mechanisms(results)
    yield _by_setting(results.reported)
    yield _chains(results.reported)
    yield reconstructed(
        ("transformation of income", "ours", "a logarithm there, of incomes from −7K on; asinh"),
        ("setting of figures 2 to 4", "guessed", "lost; (0.7, 0), the first of table 2"),
        ("components, draws, burn-in", "ours", "lost"),
        ("level of the quantile that drops draws", "guessed", "lost; 95 %"),
        ("prior of the correlations", "replaced", "LKJ there; one that a Gibbs sampler can draw"),
        ("radius of the count weights", "guessed", "lost; a fifth of the own income"),
        (
            "columns that count weights compare",
            "fitted",
            "lost; those under which the bound is nearest above that of vector weights",
        ),
        ("components of synthetic records", "both", "from confidential incomes there; from π"),
        ("table", "replaced", "the sample cannot be had"),
    )


def _readings(results: Results) -> TextTable:
    """The sensitivity table: what other readings of lost settings give."""
    rows = [_reading(view) for view in results.views]
    view = results.reported
    for name in READINGS:
        if (MAIN, name) in view.rows:
            bound = view.each("bound", name)
            off = view.each(f"{PERCENTILE}_off", name)
            ratio = _mean(bound / view.each("bound", VECTOR))
            more = _mean((off - view.each(f"{PERCENTILE}_off", VECTOR)) / 1000, 1)
            cells = ("", "", "", "", _mean(bound), ratio, "", "", more)
            rows.append((f"{view.words}; {name}", *cells))
    return TextTable(
        caption=f"{TABLE}, at (c, g) = (0.7, 0): bounds, and by how much more scalar and count "
        "weights lose than vector weights (W₁ to the data, in $1,000), means over the repetitions "
        "± Monte Carlo error. The first line is the reading that is judged",
        headings=(
            "reading", "Δ, unweighted", "Δ, vector", "scalar by vector",
            "medians, scalar by vector", "Δ, count", "count by vector",
            "percentile, scalar − vector", "mean, scalar − vector", "percentile, count − vector",
        ),
        rows=tuple(rows),
    )  # fmt: skip


def _reading(view: View) -> tuple[str, ...]:
    bounds = {mechanism: view.each("bound", mechanism) for mechanism in MECHANISMS}
    off = {mechanism: view.each(f"{PERCENTILE}_off", mechanism) for mechanism in MECHANISMS}
    typical = view.each("typical", SCALAR) / view.each("typical", VECTOR)
    means = view.each(f"{MEAN}_off", SCALAR) - view.each(f"{MEAN}_off", VECTOR)
    return (
        view.words,
        _mean(bounds[UNWEIGHTED]),
        _mean(bounds[VECTOR]),
        _mean(bounds[SCALAR] / bounds[VECTOR]),
        _mean(typical),
        _mean(bounds[COUNT]),
        _mean(bounds[COUNT] / bounds[VECTOR]),
        _mean((off[SCALAR] - off[VECTOR]) / 1000, 1),
        _mean(means / 1000, 1),
        _mean((off[COUNT] - off[VECTOR]) / 1000, 1),
    )


def _table_2(view: View) -> TextTable:
    rows = []
    for place, setting in enumerate(SETTINGS):
        bounds = view.each("bound", VECTOR, setting)
        scalar = view.each("bound", SCALAR, setting)
        rows.append((
            _setting(setting), f"{TABLE_2[place]:.2f}", f"{2 * TABLE_2[place]:.1f}", _mean(bounds),
            _quantile(bounds, 0.1), _quantile(bounds, 0.9), _mean(scalar), _quantile(scalar, 0.1),
            _quantile(scalar, 0.9),
        ))  # fmt: skip
    return TextTable(
        caption="The paper’s table 2 beside ours: the largest bound Δ_α of vector weights, and of "
        "the scalar weights that it sets, computed anew; means and quantiles over the repetitions "
        "± standard error",
        headings=(
            "c, g", "the paper", "ε a set, by the paper", "vector", "its 10 %", "its 90 %",
            "scalar", "its 10 %", "its 90 %",
        ),
        rows=tuple(rows),
    )  # fmt: skip


def _mechanisms(results: Results) -> TextTable:
    rows = []
    for view in results.scales:
        for mechanism in MECHANISMS:
            utility = (_off(view, f"{statistic}{way}_off", mechanism)
                       for statistic in (PERCENTILE, MEAN) for way in WAYS)  # fmt: skip
            rows.append((
                view.words, f"{mechanism} ({PUBLISHED[mechanism]})",
                f"{view.number('weight', mechanism):.2f}", _with_error(view, "bound", mechanism),
                f"{view.number('typical', mechanism):.2f}", *utility,
                *(f"{view.number(f'follows{way}', mechanism):.2f}" for way in WAYS),
            ))  # fmt: skip
    return TextTable(
        caption="At (c, g) = (0.7, 0): weights, bounds, W₁ of the statistics in $1,000 and rank "
        "correlation with the own income, each with components from π | in the paper’s way",
        headings=(
            "scale", "mechanism (the paper’s name)", "mean α", "Δ",
            "median bound", "percentile", "| paper’s way", "mean", "| paper’s way",
            "follows", "| paper’s way",
        ),
        rows=tuple(rows),
        words=2,
    )  # fmt: skip


def _by_setting(view: View) -> TextTable:
    rows = []
    for setting in SETTINGS:
        cells = (
            _off(view, f"{statistic}{way}_off", mechanism, setting)
            for statistic in (PERCENTILE, MEAN)
            for way in WAYS
            for mechanism in (VECTOR, SCALAR)
        )
        weights = (
            f"{view.number('weight', mechanism, setting):.2f}" for mechanism in (VECTOR, SCALAR)
        )
        rows.append((_setting(setting), *weights, *cells))
    names = [
        f"{statistic}{words}, {mechanism}"
        for statistic in (PERCENTILE, MEAN)
        for words in ("", " in the paper’s way")
        for mechanism in (VECTOR, SCALAR)
    ]
    return TextTable(
        caption="Vector and scalar weights at each setting: mean α, and W₁ in $1,000 (Monte Carlo "
        "error)",
        headings=("c, g", "α, vector", "α, scalar", *names),
        rows=tuple(rows),
        fold=True,
    )


def _chains(view: View) -> TextTable:
    rows = []
    for (setting, mechanism), row in view.rows.items():
        if row.get("ess") is None:
            continue
        ess = view.each("ess", mechanism, setting)
        far = potential_scale(view, mechanism, setting)
        rows.append((
            f"{mechanism}, {_setting(setting)}" if mechanism in (VECTOR, SCALAR) else mechanism,
            f"{np.median(ess):.0f}", f"{ess.min():.0f}", f"{far:.3f}" if np.isfinite(far) else "–",
        ))  # fmt: skip
    return TextTable(
        caption=f"Chains of {mechanisms.DRAWS} draws: effective draws of log Δ_h (median and least "
        "over the repetitions), and R̂ of the repetitions’ chains. Weights come from each "
        "repetition’s own plain chain, and so differ a little, which R̂ counts as well",
        headings=("mechanism", "effective draws", "least", "R̂"),
        rows=tuple(rows),
        fold=True,
    )


def potential_scale(view: View, mechanism: str, setting: tuple[float, float]) -> float:
    """R̂ of log Δ_h over the chains of the repetitions; NaN of a single one.

    Source: Gelman & Rubin (1992), Statistical Science 7.
    """
    n = mechanisms.DRAWS
    levels, within = (view.each(name, mechanism, setting) for name in ("level", "wiggle"))
    if len(levels) < 2 or not within.mean() > 0:
        return float("nan")
    return float(np.sqrt((n - 1) / n + levels.var(ddof=1) / within.mean()))


def _mean(values: Floats, digits: int = 2) -> str:
    return _plus_minus(*mean_and_error_of(values), digits)


def _quantile(values: Floats, level: float) -> str:
    return _plus_minus(*quantile_and_error(values, level), 2)


def _plus_minus(number: float, error: float, digits: int) -> str:
    words = f"{number:.{digits}f}".replace("-", "−")
    return words + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


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
