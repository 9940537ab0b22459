"""Reference regressions on the original and on every set: coefficients and their intervals.

Records with a missing value in one of the columns are left out. Intervals of a set are those that
an analyst would compute who took it for real: they do not count synthesis and privacy noise
(`understudy.analyze` does).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from understudy.engine.coding import Reading
from understudy.errors import InferenceError, MethodError
from understudy.evaluation.analyses import MOST_LEVELS, Model
from understudy.evaluation.fits import Fit, fit
from understudy.evaluation.overlaps import expected_overlap, interval_overlap
from understudy.evaluation.results import Coefficient, Score
from understudy.inference import formulas as reading
from understudy.inference.records import ABSENT, Records
from understudy.schema import NUMERIC, Schema

Vector = NDArray[np.float64]
Tell = Callable[[int, int], None]

OTHER = "(other)"
_RARE = 0.01
_ENDS = ("estimate", "lower", "upper")


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
    for name, one in zip(names, readings, strict=True):
        column = schema.columns[name]
        ordinary = one.states < column.n_ordinary
        states[name] = np.where(ordinary, one.states, ABSENT)
        if isinstance(column, NUMERIC):
            numbers[name] = np.where(ordinary, one.number, np.nan)
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
            found = compare(model, original, sets)
        except MethodError as error:
            if not model.pooled:
                raise
            found = str(error)
        if isinstance(found, str):
            warnings.append(found)
        else:
            compared.append(found)
            warnings += _remarks(found)
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
        fit(one, design, binary=binary)
        for one, design in zip(np.split(y, cuts), np.split(x, cuts), strict=True)
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


def _matrices(model: Model, frames: list[pd.DataFrame]) -> tuple[Vector, Vector, tuple[str, ...]]:
    stacked = pd.concat(frames, ignore_index=True)
    for name in stacked.columns[stacked.dtypes == "category"]:
        stacked[name] = stacked[name].cat.remove_unused_categories()
    try:
        both = reading.matrices(model.formula, stacked)
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


def coefficients(compared: Compared) -> tuple[Coefficient, ...]:
    """Every coefficient that the original can estimate; ends are means over the sets that can."""
    result = []
    one = compared.original
    for j in map(int, np.flatnonzero(np.isfinite(one.stderr))):
        able = [f for f in compared.sets if np.isfinite(f.estimate[j])]
        if not able:
            continue
        means = [float(np.mean([getattr(f, end)[j] for f in able])) for end in _ENDS]
        result.append(
            Coefficient(
                compared.model,
                compared.terms[j],
                (float(one.estimate[j]), float(one.lower[j]), float(one.upper[j])),
                (means[0], means[1], means[2]),
                float(np.mean(_overlaps(compared, j))),
                float(np.mean([abs(f.estimate[j] - one.estimate[j]) for f in able]))
                / max(float(one.stderr[j]), 1e-300),
            )
        )
    return tuple(result)


def _overlaps(compared: Compared, j: int) -> list[float]:
    """Overlap in each set; 0 in one that cannot estimate the coefficient."""
    one = compared.original
    return [
        interval_overlap((one.lower[j], one.upper[j]), (f.lower[j], f.upper[j]))
        if np.isfinite(f.estimate[j])
        else 0.0
        for f in compared.sets
    ]


def _remarks(found: Compared) -> list[str]:
    """What was shrunk or cannot be estimated."""
    shrunk = [f"set {k}" for k, one in enumerate(found.sets, start=1) if one.shrunk]
    shrunk = ["the original"] * found.original.shrunk + shrunk
    remarks = []
    if shrunk:
        remarks.append(
            f"{found.model}: the likelihood has no maximum in {', '.join(shrunk)}; the estimates "
            "were shrunk by a normal prior."
        )
    known = np.isfinite(found.original.estimate)
    lost = [t for t, ok in zip(found.terms, known, strict=True) if not ok]
    if lost:
        remarks.append(f"{found.model}: the original does not tell apart {', '.join(lost[:5])}.")
    gone = [
        term
        for j, term in enumerate(found.terms)
        if known[j] and any(np.isnan(one.estimate[j]) for one in found.sets)
    ]
    if gone:
        remarks.append(
            f"{found.model}: a set cannot estimate {', '.join(gone[:5])}; its overlap counts 0."
        )
    return remarks


def coefficient_scores(
    compared: Sequence[Compared], n_original: int, n_synthetic: int
) -> tuple[Score, ...]:
    """Overlap, width and distance over all coefficients, and the distance in each model.

    Args:
        compared: models on all tables.
        n_original: rows of the original.
        n_synthetic: rows of each set.
    """
    wanted = [
        (one, int(j)) for one in compared for j in np.flatnonzero(np.isfinite(one.original.stderr))
    ]
    if not wanted:
        return ()
    about = f"mean of {len(wanted):,} coefficients"
    overlap = np.mean([_overlaps(one, j) for one, j in wanted], axis=0)
    widths = np.nanmean([_widths(one, j) for one, j in wanted], axis=0)
    shifts = np.nanmean([_shifts(one, j) for one, j in wanted], axis=0)
    scores = [
        Score.over_sets(
            "confidence-interval overlap",
            overlap,
            null=expected_overlap(n_original, n_synthetic),
            better="high",
            note=f"{about}; intervals of a set do not count privacy noise",
        )
    ]
    if np.isfinite(widths).all() and np.isfinite(shifts).all():
        ratio = n_original / n_synthetic
        scores += [
            Score.over_sets(
                "interval width ratio",
                widths,
                null=math.sqrt(ratio),
                note=f"{about}, synthetic / original; the overlap does not see wide intervals",
            ),
            Score.over_sets(
                "standardised coefficient shift",
                shifts,
                null=math.sqrt(2 / math.pi * (1 + ratio)),
                note=f"{about}; |difference| over the standard error of the original",
            ),
        ]
    return (*scores, *(score for one in compared for score in _distance(one)))


def _distance(one: Compared) -> list[Score]:
    """Euclidean distance of all coefficients that every table can estimate."""
    able = np.isfinite(one.original.estimate)
    for found in one.sets:
        able &= np.isfinite(found.estimate)
    if not able.any():
        return []
    values = [float(np.linalg.norm((f.estimate - one.original.estimate)[able])) for f in one.sets]
    note = f"Euclidean, {int(able.sum())} coefficients in their own units"
    return [Score.over_sets(f"coefficient distance, {one.model}", values, note=note)]


def _widths(one: Compared, j: int) -> list[float]:
    width = max(float(one.original.upper[j] - one.original.lower[j]), 1e-300)
    return [float(f.upper[j] - f.lower[j]) / width for f in one.sets]


def _shifts(one: Compared, j: int) -> list[float]:
    unit = max(float(one.original.stderr[j]), 1e-300)
    return [abs(float(f.estimate[j] - one.original.estimate[j])) / unit for f in one.sets]
