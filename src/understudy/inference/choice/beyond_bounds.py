"""Numbers beyond the public bounds: how many there are, and which answers rest on them.

Numbers beyond a bound count as the bound, so a mean, a model or a quantile there is one of clipped
numbers. A number line counts how many lie beyond (`understudy.features.line_cells`), with known
noise. Where a question depends on them (which is tried, with numbers further and further out):

* where their noisy number is more than noise explains, the answer is refused. If no number of a
  release lies beyond a bound, that happens anywhere in it with a probability of at most
  `FALSE_ALARM`: an even part of that is left for each bound of each line (Bonferroni), and the tail
  of the noise is taken from its exact law, since that of whole numbers with little noise is heavier
  than deviations tell;
* where noise hides so much that more than `MOST_BEYOND` of the records may lie there, at 97.5 %, it
  is refused too: what nobody could see is no reason to trust the bounds;
* else a note says how many there may be at most, at 97.5 %.

More lines raise the number of records that pass without a refusal, slowly: with normal noise from
2.8 deviations for one line to 3.6 for 14 and 3.9 for 50, with Laplace noise from 3.8 to 5.6 and
6.5. What answers promise does not rest on it: they are of clipped numbers, and whatever truly lies
beyond a bound is refused, or is at most what the note says, at 97.5 %.

A share of a condition such as `income > 25000` that no number beyond can change is answered all the
same, and so is a quantile whose interval stays off the bound.

**Coverage given an answer.** What decides is the noisy count of records beyond. Its noise is
independent of that of released second moments, tables and sets. So given the rows, whether an
answer from these is given is independent of their noise, and given an answer the interval covers
what it covers otherwise. (The sample decides too: with so many beyond that this matters, clipped
numbers are what is estimated.) An answer of the line itself, and sums of numbers that were put
together with it, have that noise in one cell of many, cut off above: if nobody is beyond, that
changes coverage by less than `FALSE_ALARM`. It is cut further in where so few are counted that
`MOST_BEYOND` decides, though never below 0: what a bound's cell then lacks in the mean is at most
0.8 standard deviations of its noise, where a sum has that of some sixty cells. No interval allows
for that; what it does was measured (`benchmarks/questions.py` with 500 rows).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from scipy.special import ndtri

from understudy.arrays import Floats
from understudy.errors import InferenceError
from understudy.features.line_cells import LineCells
from understudy.inference.choice.advice import EPSILONS, Advice, RefusedError
from understudy.inference.estimates import formulas
from understudy.inference.estimates.analysis_records import MOST_POINTS, Records, cell_points
from understudy.inference.estimates.estimands import (
    BOUNDED,
    OF_GROUPS,
    TWO_WAY,
    Estimand,
    terms_of,
)
from understudy.inference.estimates.estimators import Question
from understudy.inference.noise_aware.full_tables import line_of
from understudy.inference.noise_aware.line_tables import line_schema
from understudy.inference.set_estimates import Pooled
from understudy.release import Measurement, Release
from understudy.release.measurement_kind import Kind
from understudy.release.once import once
from understudy.release.shape import MOST
from understudy.schema import NUMERIC, Continuous, Schema

MOST_BEYOND: Final = 0.1
"""Share of the records that may lie beyond a bound, for all that is known, of an answer on it."""
FALSE_ALARM: Final = 0.005
"""Probability that noise alone passes for numbers beyond a bound, anywhere in a release."""
_CLOSER = 2.2  # times as close, as the noisy number of nobody is above 0 half of the time
_SUMMED = 10.0  # deviations of normal noise up to which its tail is summed
_NORMAL, _LAPLACE = 1.959963984540054, math.log(20) / math.sqrt(2)  # 97.5 % in deviations
_FURTHER = (0.01, 0.1, 1.0, 10.0, 1000.0)  # times the range


@dataclass(frozen=True)
class Beyond:
    """Records beyond one bound of a column.

    Attributes:
        column: its name.
        side: of the bound.
        bound: as it is shown.
        share: noisy share of the records.
        most: what it is at most, at 97.5 %.
        certain: whether it is more than noise.
    """

    column: str
    side: Literal["below", "above"]
    bound: str
    share: float
    most: float
    certain: bool


def beyond(line: Measurement, release: Release) -> tuple[Beyond, Beyond]:
    """What a number line says of both bounds of its column.

    Args:
        line: of a column.
        release: that it belongs to.
    """
    (name,) = line.columns
    labels = LineCells.of(line_schema(line, release.schema), name).labels[-2:]
    n_rows = max(release.manifest.n_rows, 1)
    n_lines = sum(measured.kind is Kind.LINE for measured in release.measurements)
    least = least_certain(line, n_lines)
    z = _LAPLACE if line.family.is_laplace else _NORMAL

    def one(side: Literal["below", "above"], count: float, label: str) -> Beyond:
        most = min((max(count, 0.0) + z * line.stddev) / n_rows, 1.0)
        share, bound = count / n_rows, label.removeprefix(f"{side} ")
        return Beyond(name, side, bound, share, most, count >= least)

    low, high = (float(count) for count in line.counts[-2:])
    return one("below", low, labels[0]), one("above", high, labels[1])


def least_certain(line: Measurement, n_lines: int) -> int:
    """The least noisy count of records beyond a bound that is more than noise.

    Args:
        line: a number line; with noise k in whole numbers, P(k) ∝ exp(-|k|/b) or exp(-k²/2σ²).
        n_lines: how many lines its release has, each with two bounds.
    """
    level = FALSE_ALARM / (2 * n_lines)
    scale = float(min(max(Fraction(line.scale), Fraction(1, 10**9)), Fraction(MOST)))
    if line.family.is_laplace:
        return math.ceil(-scale * math.log(level * (1 + math.exp(-1 / scale))))
    stddev = math.sqrt(scale)
    if stddev > _SUMMED:
        return math.ceil(0.5 - stddev * float(ndtri(level)))
    law = np.exp(-(np.arange(40 * stddev + 3) ** 2) / (2 * scale))
    tails = np.cumsum(law[::-1])[::-1] / (2 * law.sum() - 1)
    return max(1, int(np.argmax(tails <= level)))


@once
def beyond_line(release: Release, name: str) -> tuple[Beyond, ...]:
    """What the number line of a column says of both its bounds; nothing where it has none.

    Args:
        release: that is asked.
        name: of the column.
    """
    line = line_of(release.measurements, name)
    return () if line is None else beyond(line, release)


def doubts(
    release: Release, question: Question, pooled: Pooled, level: float
) -> tuple[RefusedError | None, tuple[str, ...]]:
    """Why an answer is one of clipped numbers, if it may well be; and what else to know.

    Args:
        release: that was asked.
        question: what was asked.
        pooled: the answer.
        level: of its intervals.
    """
    rests = list(_rests_on(release, question, pooled, level))
    certain = [one for one in rests if one.certain]
    if certain:
        columns = tuple(dict.fromkeys(one.column for one in certain))
        return RefusedError(_reason(certain), Advice("bounds", columns)), ()
    counted = tuple(_in_end_bins(release, question))
    if not rests:
        return None, counted
    unknown = [one for one in rests if one.most > MOST_BEYOND]
    if unknown:
        return RefusedError(_unknown(unknown), _closer_count(release, unknown)), ()
    most = ", ".join(f"{one.column} {one.side} {one.bound} {_percent(one.most)}" for one in rests)
    return None, (
        "Numbers outside the declared bounds count as the bounds. By noisy counts these are at "
        f"most so many of the records: {most}.",
        *counted,
    )


def _in_end_bins(release: Release, question: Question) -> Iterator[str]:
    """What the end bins of columns have beside their numbers, where bins are asked about."""
    numbers = _numbers_of(question, release.schema)
    for name in question.columns:
        for one in () if name in numbers else beyond_line(release, name):
            if one.certain:
                yield (
                    f"About {_percent(one.share)} of the records (a noisy number) have {name} "
                    f"{one.side} {one.bound}, its declared bound, and count in the bin there."
                )


def _reason(certain: list[Beyond]) -> str:
    return _said(certain, [f"about {_percent(one.share)}" for one in certain], "a", "have")


def _unknown(unknown: list[Beyond]) -> str:
    return _said(unknown, [f"up to {_percent(one.most)}" for one in unknown], "by a", "may have")


def _said(bounds: list[Beyond], shares: list[str], by: str, have: str) -> str:
    """How many lie beyond which bounds."""
    return " and ".join(
        f"{share} of the records ({by} noisy number) {have} {one.column} {one.side} {one.bound}, "
        "its declared bound, and count as that"
        for share, one in zip(shares, bounds, strict=True)
    )


def _closer_count(release: Release, unknown: list[Beyond]) -> Advice | None:
    """The ε at which the same share of the budget counts closely enough, if nobody lies there."""
    stated = release.manifest.budget
    if "epsilon" not in stated:
        return None
    most = max(one.most - max(one.share, 0.0) for one in unknown)
    least = float(Fraction(stated["epsilon"])) * _CLOSER * most / MOST_BEYOND
    epsilon = next((one for one in EPSILONS if float(one) > least), None)
    columns = tuple(dict.fromkeys(one.column for one in unknown))
    delta = stated.get("delta", "0")
    return None if epsilon is None else Advice("count", columns, epsilon=epsilon, delta=delta)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _rests_on(
    release: Release, question: Question, pooled: Pooled, level: float
) -> Iterator[Beyond]:
    """Bounds beyond which numbers would change an answer, of columns with a number line."""
    for name in _numbers_of(question, release.schema):
        for one in beyond_line(release, name):
            if _depends(question, release.schema, one, pooled, level):
                yield one


def _parts(question: Question, schema: Schema) -> tuple[Estimand, ...] | None:
    """The expressions by whose values alone records count; None where there are no such.

    So whatever is not named here, a model, a function or a kind yet to come, rests on all of its
    numbers. Columns whose levels or bins are asked about are no expressions.
    """
    asked = question.asked
    if not isinstance(asked, Estimand):
        return None
    if asked.kind in BOUNDED:
        return (asked,) if asked.expression else ()
    if asked.kind in (*TWO_WAY, *OF_GROUPS):
        groups, numbers = terms_of(asked.kind, asked.formula)
        conditions = [term for term in groups if term.strip("`") not in schema.columns]
        return tuple(
            Estimand("mean", term, asked.columns, expression=term)
            for term in (*conditions, *numbers)
        )
    return None


def _numbers_of(question: Question, schema: Schema) -> tuple[str, ...]:
    """Numeric columns whose numbers a question is about."""
    parts = _parts(question, schema)
    used = {*question.columns} if parts is None else {name for one in parts for name in one.used}
    return tuple(
        n for n in question.columns if n in used and isinstance(schema.columns[n], NUMERIC)
    )


def _depends(question: Question, schema: Schema, one: Beyond, pooled: Pooled, level: float) -> bool:
    """Whether numbers beyond a bound could change an answer."""
    parts = _parts(question, schema)
    if parts is None:
        return True
    return any(
        _moves(asked, schema, one, pooled, level) for asked in parts if one.column in asked.used
    )


def _moves(asked: Estimand, schema: Schema, one: Beyond, pooled: Pooled, level: float) -> bool:
    """Whether numbers beyond a bound change the values of an expression, so far that it matters."""
    tried = _values(asked, schema, one)
    if tried is None:
        return True
    at, further = tried
    if (at == further).all():
        return False
    if asked.kind != "quantile" or len(at) > 1:
        return True
    lower, upper = pooled.interval(level)
    rises = further[-1, 0] > at[0]
    reached = upper >= at[0] if rises else lower <= at[0]
    return bool(reached.any())


def _values(asked: Estimand, schema: Schema, one: Beyond) -> tuple[Floats, Floats] | None:
    """Values of an expression with a number on its bound, and with numbers beyond it.

    Returns:
        Shapes (k,) and (numbers, k) for k different combinations of the other columns; None where
        there are too many of these, or no value.
    """
    inner = replace(asked, columns=asked.used, levels=(), groups=())
    places = np.array(_places(asked, schema, one))
    if len(places) * math.prod(schema.columns[name].size for name in inner.columns) > MOST_POINTS:
        return None
    points, _ = cell_points(schema, inner.columns, ())
    complete = np.flatnonzero(points.complete())
    each = points.take(np.tile(complete, len(places)))
    numbers = each.numbers | {one.column: np.repeat(places, len(complete))}
    try:
        with np.errstate(all="ignore"):
            values = inner.scores(Records(schema, each.states, numbers)).value
    except InferenceError:
        return None
    first, *rest = np.unique(values.reshape(len(places), -1), axis=1)
    return first, np.array(rest)


def _places(asked: Estimand, schema: Schema, one: Beyond) -> list[float]:
    """A bound, and numbers beyond it: near, further, and beside those that are named there."""
    column = schema.columns[one.column]
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    bound, sign = (low, -1.0) if one.side == "below" else (high, 1.0)
    decimals = column.decimals if isinstance(column, Continuous) else 0
    width = max(high - low, 1.0)
    unit = width * 1e-6 if decimals is None else 10.0**-decimals
    named = formulas.constants(formulas.as_formula(asked.expression))
    beside = [number + k * unit for number in named for k in (-1, 0, 1)]
    return [
        bound,
        *(number for number in beside if (number - bound) * sign > 0),
        bound + sign * unit,
        *(bound + sign * math.ceil(width * times / unit) * unit for times in _FURTHER),
    ]
