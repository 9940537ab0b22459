"""Reference regressions on the original and on every set: coefficients and their intervals.

Records with a missing value in one of the columns are left out. Intervals of a set are those that
an analyst would compute who took it for real: they do not count synthesis and privacy noise
(`understudy.analyze` does). How they are compared stands
below.

**How coefficients and their intervals survive synthesis.**

A coefficient that a table does not determine (as `robust_regression` says) has no interval. Where
that is so in the original there is nothing to compare, and it is left out. Where it is so in a set
alone, the set has lost it: its overlap counts 0, and widths and shifts leave it out. Both are
counted in the notes, with the reason for each.

A term that is *nearly* determined by others has an estimate, with a standard error as large as its
freedom is small; in its own units it can be off by any amount. So no summary adds up sizes: widths
and shifts have their medians over terms (and each term its median over sets), overlaps are bounded,
and the last score counts the terms whose two estimates differ by more than the two standard errors
together explain. One term of p moves the mean of overlaps and the share of terms by at most 1/p.

The overlap of intervals is that of Karr et al. (2006); its null is what a fresh sample would have.
The overlap does not see width alone: a synthetic interval that is far too wide and holds the
original one still scores more than 0.5. Read it beside the ratio of widths.

**How much wider the release's intervals are than those that the rows themselves would give.**

The rows' interval is the textbook one, normal with the variance of sampling alone (sandwich for
least squares, (1 - r²)²/n for a correlation). A width ratio near 1 means that privacy cost little.
It compares with the rows, so it is internal; `analyze` knows nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from understudy._arrays import Z_95, Floats
from understudy.data.coding import Reading
from understudy.errors import InferenceError, MethodError
from understudy.evaluate.propensity import MOST_LEVELS, Model
from understudy.evaluate.robust_regression import REASONS, Fit, diagnose_fit, fit
from understudy.evaluate.scores import DEFINITIONS, AnswerWidth, Coefficient, Metric
from understudy.inference import formulas
from understudy.inference.analyze import analyze_release
from understudy.inference.estimators import estimate_records
from understudy.inference.question import MODELS, RATIOS, Estimand, parse
from understudy.inference.records import ABSENT, Records
from understudy.release.release import Release
from understudy.schema import NUMERIC, Schema
from understudy.schema.expressions import quote_name

Tell = Callable[[int, int], None]

OTHER = "(other)"
_RARE = 0.01
_NAMED = 5  # terms that a remark names


@dataclass(frozen=True)
class Compared:
    """One model on the original and on every set.

    Attributes:
        model: its name and kind.
        terms: names of the p coefficients.
        original: fit to the original rows.
        sets: fit to each set.
    """

    model: str
    terms: tuple[str, ...]
    original: Fit
    sets: tuple[Fit, ...]


def records_of(schema: Schema, names: Sequence[str], readings: Sequence[Reading]) -> Records:
    """Original rows as an analysis sees them; numbers beyond the bounds stay as they are.

    Args:
        schema: what the states mean.
        names: columns.
        readings: the values of each.
    """
    states, numbers = {}, {}
    for name, values in zip(names, readings, strict=True):
        column = schema.columns[name]
        ordinary = values.states < column.n_ordinary
        states[name] = np.where(ordinary, values.states, ABSENT)
        if isinstance(column, NUMERIC):
            numbers[name] = np.where(ordinary, values.number, np.nan)
    return Records(schema, states, numbers)


def compare_models(
    models: Sequence[Model], original: Records, sets: Sequence[Records], tell: Tell
) -> tuple[tuple[Compared, ...], tuple[str, ...]]:
    """Fit every model to every table; also what could not be done.

    Raises:
        MethodError: a formula that the user wrote cannot be computed.
    """
    compared, warnings = [], []
    for done, model in enumerate(models, start=1):
        try:
            outcome = compare(model, original, sets)
        except MethodError as error:
            if not model.pooled:
                raise
            outcome = str(error)
        if isinstance(outcome, str):
            warnings.append(outcome)
        else:
            compared.append(outcome)
            warnings += _remarks(outcome)
        tell(done, len(models))
    return tuple(compared), tuple(warnings)


def compare(model: Model, original: Records, sets: Sequence[Records]) -> Compared | str:
    """Fit one model to every table, by one layout of the design; or say why that cannot be done.

    Raises:
        MethodError: the formula cannot be computed on these columns.
    """
    frames = []
    for records in (original, *sets):
        used = Records(
            records.schema,
            {name: records.states[name] for name in model.columns},
            {n: records.numbers[n] for n in model.columns if n in records.numbers},
        )
        frames.append(used.take(used.complete()).frame())
    if min(len(frame) for frame in frames) < 2:
        return f"{model.name}: the original or a set has no complete records in its columns."
    if model.pooled:
        _pool_levels(frames)
    y, x, terms = _matrices(model, frames)
    binary = bool(np.isin(y, (0.0, 1.0)).all())
    cuts = np.cumsum([len(frame) for frame in frames])[:-1]
    fits = [
        diagnose_fit(fit(response, design, binary=binary), response, design, binary=binary)
        for response, design in zip(np.split(y, cuts), np.split(x, cuts), strict=True)
    ]
    kind = "logit" if binary else "ols"
    return Compared(f"{model.name} ({kind})", terms, fits[0], tuple(fits[1:]))


def _pool_levels(frames: list[pd.DataFrame]) -> None:
    """Pool rare levels of the original, in place; the most frequent one comes first."""
    first = frames[0]
    for name in first.columns[first.dtypes == "category"]:
        shares = first[name].value_counts(normalize=True)
        kept = [str(v) for v, share in shares.items() if share >= _RARE][: MOST_LEVELS - 1]
        for frame in frames:
            texts = frame[name].astype(str)
            frame[name] = pd.Categorical(texts.where(texts.isin(kept), OTHER), [*kept, OTHER])


def _matrices(model: Model, frames: list[pd.DataFrame]) -> tuple[Floats, Floats, tuple[str, ...]]:
    stacked = pd.concat(frames, ignore_index=True)
    for name in stacked.columns[stacked.dtypes == "category"]:
        stacked[name] = stacked[name].cat.remove_unused_categories()
    try:
        both = formulas.matrices(model.formula, stacked)
        y = both.lhs.to_numpy(dtype=np.float64)
        x = both.rhs.to_numpy(dtype=np.float64)
    except (InferenceError, AttributeError, ValueError):  # their words may quote the rows
        raise _not_computable(model.name) from None
    if y.shape[1] > 2 or not (np.isfinite(y).all() and np.isfinite(x).all()):
        raise _not_computable(model.name)
    return y[:, -1], x, tuple(_plain(term) for term in both.rhs.columns)


def _not_computable(formula: str) -> MethodError:
    return MethodError(
        f"The formula {formula!r} cannot be computed as a regression: its outcome must be a number "
        "or have two levels, and every term must be a finite number for each complete record."
    )


def _plain(term: object) -> str:
    return str(term).replace("`", "")


def _remarks(compared: Compared) -> list[str]:
    """Coefficients that are left out, or lost in a set, and why."""
    remarks = []
    reasons = compared.original.reasons
    for reason in dict.fromkeys(filter(None, reasons)):
        terms = [t for t, why in zip(compared.terms, reasons, strict=True) if why == reason]
        remarks.append(
            f"{compared.model}: {_describe_terms(terms, compared)} left out, {reason} in the "
            f"original ({REASONS[reason]}): {_some(terms)}."
        )
    lost: dict[str, list[str]] = {}
    for j in np.flatnonzero(compared.original.determined):
        for why in dict.fromkeys(
            fitted.reasons[j] for fitted in compared.sets if fitted.reasons[j]
        ):
            lost.setdefault(why, []).append(compared.terms[j])
    for reason, terms in lost.items():
        remarks.append(
            f"{compared.model}: {_describe_terms(terms, compared)} lost, {reason} in a set "
            f"({REASONS[reason]}); there the overlap counts 0, and width and shift are left out: "
            f"{_some(terms)}."
        )
    return remarks


def _describe_terms(terms: Sequence[str], compared: Compared) -> str:
    verb = "is" if len(terms) == 1 else "are"
    return f"{len(terms):,} of {len(compared.terms):,} coefficients {verb}"


def _some(terms: Sequence[str]) -> str:
    more = len(terms) - _NAMED
    return ", ".join(terms[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


Interval = tuple[float, float]


def interval_overlap(first: Interval, second: Interval) -> float:
    """Mean of the shares of each interval that lies in the other, 0 to 1.

    An interval of length 0 counts as wholly inside or outside.

    >>> interval_overlap((0, 2), (1, 3))
    0.5
    >>> interval_overlap((0, 1), (2, 3))
    0.0
    """
    low, high = max(first[0], second[0]), min(first[1], second[1])
    if high < low:
        return 0.0
    shares = [
        (high - low) / (end - start) if end > start else 1.0 for start, end in (first, second)
    ]
    return float(sum(shares) / 2)


def expected_overlap(n_original: int, n_synthetic: int) -> float:
    """Mean overlap of the 95 % intervals of two independent samples of one population.

    Estimates are taken as normal with variances in proportion to 1/n: numeric integral over their
    difference.

    >>> round(expected_overlap(1000, 1000), 3)
    0.713
    """
    original, synthetic = 1 / math.sqrt(n_original), 1 / math.sqrt(n_synthetic)
    grid = np.linspace(0, 8, 4001)
    weight = stats.norm.pdf(grid)
    reach = Z_95
    values = [
        interval_overlap(
            (-reach * original, reach * original),
            (
                z * math.hypot(original, synthetic) - reach * synthetic,
                z * math.hypot(original, synthetic) + reach * synthetic,
            ),
        )
        for z in grid
    ]
    return float((weight * np.array(values)).sum() / weight.sum())


_ENDS = ("estimate", "lower", "upper")


def coefficients(compared: Compared) -> tuple[Coefficient, ...]:
    """Every coefficient that the original and a set determine; ends are medians over such sets."""
    result = []
    original = compared.original
    for j in map(int, np.flatnonzero(original.determined)):
        able = [f for f in compared.sets if f.determined[j]]
        if not able:
            continue
        middle = [float(np.median([getattr(f, end)[j] for f in able])) for end in _ENDS]
        result.append(
            Coefficient(
                compared.model,
                compared.terms[j],
                (float(original.estimate[j]), float(original.lower[j]), float(original.upper[j])),
                (middle[0], middle[1], middle[2]),
                float(np.mean(_overlaps(compared, j))),
                float(np.nanmedian(_shifts(compared, j))),
            )
        )
    return tuple(result)


def _overlaps(compared: Compared, j: int) -> list[float]:
    """Overlap in each set; 0 in one that does not determine the coefficient."""
    original = compared.original
    return [
        interval_overlap((original.lower[j], original.upper[j]), (f.lower[j], f.upper[j]))
        if f.determined[j]
        else 0.0
        for f in compared.sets
    ]


def coefficient_scores(
    compared: Sequence[Compared], n_original: int, n_synthetic: int
) -> tuple[Metric, ...]:
    """Overlap, width and shift over the coefficients, and the distance in each model.

    Args:
        compared: models on all tables.
        n_original: rows of the original.
        n_synthetic: rows of each set.
    """
    determined = [
        (model, int(j)) for model in compared for j in np.flatnonzero(model.original.determined)
    ]
    if not determined:
        return ()
    n_terms = sum(len(model.terms) for model in compared)
    about = f"{len(determined):,} of {n_terms:,} coefficients, which the original determines"
    overlap = np.mean([_overlaps(model, j) for model, j in determined], axis=0)
    lost = np.mean([[not f.determined[j] for f in model.sets] for model, j in determined], axis=0)
    scores = [
        Metric.over_sets(
            DEFINITIONS["confidence-interval overlap"],
            overlap,
            null=expected_overlap(n_original, n_synthetic),
            note=f"mean over {about}, {100 * lost.mean():.2g} % of them lost in a set on average, "
            "which counts 0; intervals of a set do not count privacy noise",
        )
    ]
    if (lost < 1).all():
        widths = np.nanmedian([_widths(model, j) for model, j in determined], axis=0)
        shifts = np.nanmedian([_shifts(model, j) for model, j in determined], axis=0)
        ratio = n_original / n_synthetic
        among = f"median over {about}, less those that the set lost"
        scores += [
            Metric.over_sets(
                DEFINITIONS["interval width ratio, median"],
                widths.tolist(),
                null=math.sqrt(ratio),
                note=f"{among}; synthetic / original; the overlap does not see wide intervals",
            ),
            Metric.over_sets(
                DEFINITIONS["standardised coefficient shift, median"],
                shifts.tolist(),
                null=float(stats.norm.ppf(0.75)) * math.sqrt(1 + ratio),
                note=f"{among}; |difference| over the standard error of the original",
            ),
        ]
    beyond = np.mean([_beyond(model, j) for model, j in determined], axis=0)
    scores.append(
        Metric.over_sets(
            DEFINITIONS["coefficients beyond chance"],
            beyond.tolist(),
            null=2 * float(stats.norm.sf(Z_95)),
            note=f"{about}; one that a set lost counts as beyond",
        )
    )
    return tuple(scores)


def _beyond(compared: Compared, j: int) -> list[bool]:
    """In each set, whether the estimates differ by more than both standard errors explain."""
    original = compared.original
    return [
        not f.determined[j]
        or bool(
            abs(f.estimate[j] - original.estimate[j])
            > Z_95 * math.hypot(f.stderr[j], original.stderr[j])
        )
        for f in compared.sets
    ]


def _widths(compared: Compared, j: int) -> list[float]:
    """Widths over that of the original; NaN in a set that lost the coefficient."""
    width = float(compared.original.upper[j] - compared.original.lower[j])
    return [
        float(f.upper[j] - f.lower[j]) / width if f.determined[j] else math.nan
        for f in compared.sets
    ]


def _shifts(compared: Compared, j: int) -> list[float]:
    """Shifts in standard errors of the original; NaN in a set that lost the coefficient."""
    unit = float(compared.original.stderr[j])
    return [
        abs(float(f.estimate[j] - compared.original.estimate[j])) / unit
        if f.determined[j]
        else math.nan
        for f in compared.sets
    ]


_COMPARED = (*RATIOS, *MODELS, "correlation")
_MOST_DEFAULT = 3  # columns of each kind, where nothing was declared
_MOST_TERMS = 40  # of one analysis


def asked_of(release: Release) -> tuple[Mapping[str, str], ...]:
    """The declared analyses; means and shares of the first columns if there are none."""
    if release.manifest.analyses:
        return release.manifest.analyses
    columns = release.schema.columns
    numbers = [name for name, column in columns.items() if isinstance(column, NUMERIC)]
    levels = [name for name in columns if name not in numbers]
    chosen = [("mean", name) for name in numbers[:_MOST_DEFAULT]]
    chosen += [("proportion", name) for name in levels[:_MOST_DEFAULT]]
    return tuple({"kind": kind, "formula": quote_name(name)} for kind, name in chosen)


def columns_of(release: Release) -> tuple[str, ...]:
    """Columns that the compared analyses use, in the order of the schema."""
    asked = [parse(one["kind"], one["formula"], release.schema) for one in asked_of(release)]
    used = {name for estimand in asked for name in estimand.columns}
    return tuple(name for name in release.schema.names if name in used)


def answer_widths(release: Release, original: Records) -> tuple[AnswerWidth, ...]:
    """Intervals of the release beside those of the rows, analysis by analysis.

    Args:
        release: that is judged.
        original: the confidential rows, with `columns_of` at least.
    """
    return tuple(
        width for asked in asked_of(release) for width in _compare_widths(release, asked, original)
    )


def _compare_widths(
    release: Release, asked: Mapping[str, str], original: Records
) -> Iterator[AnswerWidth]:
    estimand = parse(asked["kind"], asked["formula"], release.schema)
    question = estimand.text
    if estimand.kind not in _COMPARED:
        yield AnswerWidth(question, "", refused="A textbook interval is not made of this kind.")
        return
    try:
        pooled = analyze_release(release, *question.split(" ", 1)).pooled
        rows = _textbook(estimand, original)
    except InferenceError as error:
        yield AnswerWidth(question, "", refused=str(error))
        return
    ends = zip(pooled.names, *pooled.interval(), strict=True)
    for name, low, high in list(ends)[:_MOST_TERMS]:
        if name in rows:
            own = rows[name]
            yield AnswerWidth(question, name, (own[0], own[1]), (float(low), float(high)))


def _textbook(estimand: Estimand, original: Records) -> dict[str, tuple[float, float]]:
    """Ends of the rows' intervals, by name."""
    records = _only(original, estimand.columns)
    if estimand.kind == "correlation":
        names, estimate, stderr = _correlation(estimand, records)
    else:
        made = estimate_records(estimand, [records])
        own = made.covariances[0]
        variances = np.diag(own) if own.ndim == 2 else own
        names, estimate, stderr = made.names, made.estimates[0], np.sqrt(variances)
    reach = Z_95 * stderr
    pairs = zip((estimate - reach).tolist(), (estimate + reach).tolist(), strict=True)
    return dict(zip(names, pairs, strict=True))


def _correlation(estimand: Estimand, records: Records) -> tuple[tuple[str, ...], Floats, Floats]:
    complete = records.take(records.complete())
    frame, (first, second) = complete.frame(), formulas.split_terms(estimand.formula)
    r = float(np.corrcoef(formulas.evaluate(first, frame), formulas.evaluate(second, frame))[0, 1])
    stderr = (1 - r * r) / np.sqrt(len(frame))
    name = f"correlation of {first} and {second}"
    return (name,), np.array([r]), np.array([stderr])


def _only(original: Records, columns: Sequence[str]) -> Records:
    numbers = {name: original.numbers[name] for name in columns if name in original.numbers}
    return Records(original.schema, {name: original.states[name] for name in columns}, numbers)
