"""Reference regressions on the original and on every set: coefficients and their intervals.

Records with a missing value in one of the columns are left out. Intervals of a set are those that
an analyst would compute who took it for real: they do not count synthesis and privacy noise
(`understudy.analyze` does). How they are compared stands in
`understudy.evaluation.utility.coefficients`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from understudy.arrays import Floats
from understudy.engine.coding import Reading
from understudy.errors import InferenceError, MethodError
from understudy.evaluation.utility.indicator_designs import MOST_LEVELS, Model
from understudy.evaluation.utility.robust_regression import REASONS, Fit, diagnosed, fit
from understudy.inference.estimates import formulas as reading
from understudy.inference.estimates.analysis_records import ABSENT, Records
from understudy.schema import NUMERIC, Schema

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
        diagnosed(fit(response, design, binary=binary), response, design, binary=binary)
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


def _remarks(compared: Compared) -> list[str]:
    """Coefficients that are left out, or lost in a set, and why."""
    remarks = []
    reasons = compared.original.reasons
    for reason in dict.fromkeys(filter(None, reasons)):
        terms = [t for t, why in zip(compared.terms, reasons, strict=True) if why == reason]
        remarks.append(
            f"{compared.model}: {_counted(terms, compared)} left out, {reason} in the original "
            f"({REASONS[reason]}): {_some(terms)}."
        )
    lost: dict[str, list[str]] = {}
    for j in np.flatnonzero(compared.original.determined):
        for why in dict.fromkeys(
            fitted.reasons[j] for fitted in compared.sets if fitted.reasons[j]
        ):
            lost.setdefault(why, []).append(compared.terms[j])
    for reason, terms in lost.items():
        remarks.append(
            f"{compared.model}: {_counted(terms, compared)} lost, {reason} in a set "
            f"({REASONS[reason]}); there the overlap counts 0, and width and shift are left out: "
            f"{_some(terms)}."
        )
    return remarks


def _counted(terms: Sequence[str], compared: Compared) -> str:
    verb = "is" if len(terms) == 1 else "are"
    return f"{len(terms):,} of {len(compared.terms):,} coefficients {verb}"


def _some(terms: Sequence[str]) -> str:
    more = len(terms) - _NAMED
    return ", ".join(terms[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
