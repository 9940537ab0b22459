"""How much wider the release's intervals are than those that the rows themselves would give.

The rows' interval is the textbook one, normal with the variance of sampling alone (sandwich for
least squares, (1 - r²)²/n for a correlation). A width ratio near 1 means that privacy cost little.
It compares with the rows, so it is internal; `analyze` knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from understudy.arrays import Floats
from understudy.errors import InferenceError
from understudy.evaluation.evaluation_results import AnswerWidth
from understudy.inference.answering import analyze_release
from understudy.inference.estimates import formulas
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.estimates.estimands import MODELS, RATIOS, Estimand, parse
from understudy.inference.estimates.estimators import estimate_records
from understudy.release import Release
from understudy.schema import NUMERIC

_Z_95 = 1.959963984540054
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
    return tuple(
        {"kind": kind, "formula": name if name.isidentifier() else f"`{name}`"}
        for kind, name in chosen
    )


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
        width for asked in asked_of(release) for width in _compared(release, asked, original)
    )


def _compared(
    release: Release, asked: Mapping[str, str], original: Records
) -> Iterator[AnswerWidth]:
    estimand = parse(asked["kind"], asked["formula"], release.schema)
    question = f"{estimand.kind} {estimand.formula}"
    if estimand.kind not in _COMPARED:
        yield AnswerWidth(question, "", refused="A textbook interval is not made of this kind.")
        return
    try:
        pooled = analyze_release(release, estimand.kind, estimand.formula).pooled
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
    reach = _Z_95 * stderr
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
