"""Records out of domain: how many there are, and what that means for an answer of any kind.

A record is out of domain in a column if its cell is empty or has a value that the schema does not
declare, and in all columns of a rule of the schema that it breaks. Tables have such records in no
cell, number lines neither, sets are drawn without them, and second moments take them for an even
mix of the levels of a column and for the middle between the bounds of a number
(`understudy.features.column_scores`). What answers an analyst expects from them nobody outside can
tell: an empty cell has no value, an undeclared level has one, and a record against a rule has all.
A schema promises that there are few. Noisy counts of them say whether that is so, with known noise.

**One rule for every kind of question.** Where the noisy number of records that an answer lacks is
no more than noise explains, it is given, with a note where that may be much. Else

* a share, a mean, a total or a quantile is given with room for whatever these records have. With a
  share d of the records of a group out of domain, and values between a and b, the mean of all of
  them lies within d·max(b − R, R − a) of that of the others, R; a distribution function moves by d
  at most. For d stands its upper limit at 97.5 %, and all of them may be in one group;
* any other answer is refused, and so is one of second moments that would count them as a mix, and
  one that lacks more than `MOST_LACKING` of the records.

If no record is out of domain, the number is more than noise explains with a probability of at most
`FALSE_ALARM` anywhere in a release: an even part of that is left for each set of columns counted.

That noise is independent of the noise in other cells and in second moments, so intervals that are
given cover what they cover otherwise. Of tables that cover the same question those are left aside
that lack clearly more records than others (`understudy.inference.noise_aware.full_tables`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import ndtri

from understudy.arrays import Floats
from understudy.errors import InferenceError
from understudy.inference.choice.advice import Advice, RefusedError
from understudy.inference.choice.beyond_bounds import FALSE_ALARM
from understudy.inference.estimates.analysis_records import ABSENT, MOST_POINTS, Records
from understudy.inference.estimates.bin_bounds import end_scores
from understudy.inference.estimates.estimands import BOUNDED, RATIOS, Estimand
from understudy.inference.estimates.estimators import Question
from understudy.inference.estimates.quantiles import Curve, Quantiles
from understudy.inference.moments.moment_answers import RULE
from understudy.inference.noise_aware.cell_scores import cell_scores
from understudy.inference.noise_aware.full_tables import covering
from understudy.inference.set_estimates import Pooled
from understudy.release import Measurement, Release
from understudy.release.measurement_kind import Kind
from understudy.schema import NUMERIC, Schema

MOST_LACKING: Final = 0.5
"""Share of the records of a group that an answer may lack and still be given."""
_COUNTING = (Kind.TABLE, Kind.LINE, Kind.CELLS, Kind.RANGES, Kind.NODES)
_NOTED = 0.01  # a share of the records that may be out of domain below this is not spoken of
_NORMAL, _LAPLACE = 1.959963984540054, math.log(20) / math.sqrt(2)  # 97.5 % in deviations


@dataclass(frozen=True)
class Outside:
    """Records that are out of domain in one of some columns.

    Attributes:
        columns: their names.
        share: noisy share of the records.
        most: what it is at most, at 97.5 %.
        certain: whether it is more than noise.
    """

    columns: tuple[str, ...]
    share: float
    most: float
    certain: bool


def require_counted(
    release: Release, question: Question, pooled: Pooled
) -> tuple[Pooled, RefusedError | None, tuple[str, ...]]:
    """An answer with room for the records that it lacks, or why it is none.

    Args:
        release: that was asked.
        question: what was asked.
        pooled: the answer.

    Returns:
        The answer, with wider intervals where records are certainly out of domain; why it is not to
        be given, None if it is; and what to know of it.
    """
    found = _outside(release, question, pooled)
    lacking = [one for one in found if one.certain]
    if not lacking:
        largest = max(found, key=lambda one: one.most, default=None)
        noted = largest is not None and largest.most >= _NOTED
        return pooled, None, (_may_lack(largest),) if largest and noted else ()
    most = max(one.most for one in lacking)
    lacking = [one for one in lacking if not _holds_another(one, lacking)]
    blamed = _blamed(lacking, release)
    advice = Advice("domain", blamed, rules=_rules(blamed, release.schema))
    resting = set(_resting(question, release.schema)) if pooled.rule == RULE else set()
    mixed = any(resting & set(one.columns) for one in lacking)
    wider = None if mixed else _widened(release, question, pooled, most)
    if wider is None:
        return pooled, RefusedError(_reason(lacking, mixed=mixed), advice), ()
    return wider, None, (_allows(lacking, advice),)


def _holds_another(one: Outside, others: Sequence[Outside]) -> bool:
    """Whether other columns are among these: who is out of domain there is so here too."""
    return any(set(other.columns) < set(one.columns) for other in others)


def _said(lacking: Sequence[Outside]) -> str:
    return " and ".join(f"{100 * one.share:.2g} % of {' or '.join(one.columns)}" for one in lacking)


def _reason(lacking: Sequence[Outside], *, mixed: bool) -> str:
    counted = (
        "second moments count them as a mix of those that it does"
        if mixed
        else "the answer would be about the others alone"
    )
    return (
        f"about {_said(lacking)} (noisy numbers) are out of domain, so are empty, have a value "
        f"that the schema does not declare or break one of its rules, and {counted}"
    )


def _allows(lacking: Sequence[Outside], advice: Advice) -> str:
    return (
        f"About {_said(lacking)} (noisy numbers) are out of domain: empty, with a value that the "
        "schema does not declare, or against one of its rules. Intervals have room for whatever "
        f"these records have; {advice.text} more closely."
    )


def _may_lack(one: Outside) -> str:
    return (
        f"By noisy counts at most {100 * one.most:.2g} % of the records are out of domain in "
        f"{' or '.join(one.columns)}, and left out."
    )


def _rules(columns: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """Rules that records may break in some columns, as they are written."""
    named = set(columns)
    return tuple(dict.fromkeys(text for text, box in schema.boxes if named & set(box)))


def _blamed(lacking: Sequence[Outside], release: Release) -> tuple[str, ...]:
    """Columns that are out of domain by themselves, among those that tables name together."""
    named = dict.fromkeys(name for one in lacking for name in one.columns)
    alone = {one.columns[0] for one in _shares(release, [(n,) for n in named]) if one.certain}
    return tuple(name for name in named if name in alone) or tuple(named)


def _resting(question: Question, schema: Schema) -> tuple[str, ...]:
    """Columns of which second moments need a declared value of every record.

    Of a number that is averaged they count the records that have one.
    """
    asked = question.asked
    ratio = asked if isinstance(asked, Estimand) and asked.kind in RATIOS else None
    return tuple(
        name
        for name in question.columns
        if not (
            ratio is not None and name in ratio.used and isinstance(schema.columns[name], NUMERIC)
        )
    )


def _outside(release: Release, question: Question, pooled: Pooled) -> list[Outside]:
    """What is counted of the records that an answer lacks, by sets of columns."""
    measured, asked = release.measurements, set(question.columns)
    tables: Sequence[Measurement]
    if pooled.rule == "noise-aware":
        tables = covering(measured, question.columns)
        if len(asked) == 1:
            tables += tuple(one for one in measured if _counts(one) and set(one.columns) == asked)
        return _shares(release, {one.columns for one in tables})
    if pooled.rule == RULE:
        within = [one for one in measured if _counts(one) and set(one.columns) <= asked]
        return _shares(release, {one.columns for one in within})
    behind = [one for one in release.behind_sets if _counts(one) and one.kind.is_joint]
    return _shares(release, {one.columns for one in behind if set(one.columns) & asked})


def _counts(measured: Measurement) -> bool:
    """Whether a measurement has a noisy number of records out of domain."""
    return measured.kind in _COUNTING and measured.stddev > 0


def _shares(
    release: Release, groups: Sequence[tuple[str, ...]] | set[tuple[str, ...]]
) -> list[Outside]:
    """Of each set of columns, all its counts averaged by precision."""
    own: dict[tuple[str, ...], list[Measurement]] = defaultdict(list)
    for one in release.measurements:
        if _counts(one):
            own[one.columns].append(one)
    n_rows = max(release.manifest.n_rows, 1)
    level = FALSE_ALARM / max(len(own), 1)
    found = []
    for columns in sorted(set(groups) & set(own)):
        weights = [one.stddev**-2 for one in own[columns]]
        each = zip(weights, own[columns], strict=True)
        count, stddev = sum(w * one.outside for w, one in each) / sum(weights), sum(weights) ** -0.5
        heavy = any(one.family.is_laplace for one in own[columns])  # a mean has lighter tails
        reach = -math.log(2 * level) / math.sqrt(2) if heavy else -float(ndtri(level))
        most = min(max(count, 0.0) + (_LAPLACE if heavy else _NORMAL) * stddev, n_rows) / n_rows
        found.append(Outside(columns, count / n_rows, most, count > reach * stddev))
    return found


def _widened(release: Release, question: Question, pooled: Pooled, most: float) -> Pooled | None:
    """The answer with room for a share of the records; None where that has no bound.

    Args:
        release: that was asked.
        question: what was asked.
        pooled: the answer.
        most: the share.
    """
    asked = question.asked
    if not isinstance(asked, Estimand) or asked.kind not in BOUNDED:
        return None
    each = _group_shares(asked, release, most)
    if not (each <= MOST_LACKING).any():
        return None
    each = np.where(each <= MOST_LACKING, each, np.inf)
    if isinstance(pooled, Quantiles):
        pairs = zip(pooled.curves, each.tolist(), strict=True)
        curves = [None if curve is None else _shifted(curve, share) for curve, share in pairs]
        return replace(pooled, curves=tuple(curves))
    ends = _ends(asked, release.schema)
    if ends is None:
        return None
    low, high = ends
    if asked.kind == "total":
        n_rows = max(release.manifest.n_rows, 1)
        return replace(pooled, bias=pooled.bias + most * n_rows * max(abs(low), abs(high)))
    with np.errstate(invalid="ignore"):
        further = each * np.maximum(high - pooled.estimate, pooled.estimate - low)
    return replace(pooled, bias=pooled.bias + further)


def _group_shares(asked: Estimand, release: Release, most: float) -> Floats:
    """What share of each quantity's group is out of domain, if all who are were in it; (k,)."""
    table = release.tables[0]
    scores = asked.scores(Records.of(table, release.schema, asked.columns))
    known = scores.quantity != ABSENT
    group = scores.group_of[scores.quantity[known]]
    sizes = np.bincount(group, minlength=int(scores.group_of.max()) + 1)[scores.group_of]
    inside = (1 - most) * sizes / max(table.height, 1)
    return np.asarray(most / (most + inside))


def _shifted(curve: Curve, share: float) -> Curve:
    """A distribution function that may be off by a share."""
    least, largest = (
        replace(steps, half=steps.half + share) for steps in (curve.least, curve.largest)
    )
    return Curve(least, largest)


def _ends(asked: Estimand, schema: Schema) -> tuple[float, float] | None:
    """Between which values any record adds to the answer; None where that cannot be told."""
    if not asked.expression or asked.kind not in ("mean", "total"):
        return 0.0, 1.0
    used = asked.used
    if math.prod(schema.columns[name].size for name in used) > MOST_POINTS:
        return None
    inner = replace(asked, columns=used, levels=(), groups=())
    try:
        scores = cell_scores(inner, schema)
        ends = end_scores(inner, schema, scores) or (scores, scores)
    except InferenceError:
        return None
    known = scores.quantity != ABSENT
    low, high = ends[0].value[known], ends[1].value[known]
    finite = np.isfinite(low).all() and np.isfinite(high).all()
    return (float(low.min()), float(high.max())) if finite else None
