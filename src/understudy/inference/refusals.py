"""Why an answer is refused, or given with room, and what would help.

The other grounds of a refusal are in `inference.rules` and `inference.second_moments`.

**What would answer a question that a release refuses: advice that can be followed, and was.**

A refusal has a code (`inference.rules.CODES`) and three lines: why; what this release says of it;
what to ask the publisher. Each piece of advice is data (`Advice`): `tests/contract/test_advice.py`
asks over a grid of methods, does what each refusal says, and asks again. Only what is known to help
is advised.

* **The same release, asked by its rules**, where a bootstrap cannot do what full tables can.
* **A release that declares the question** (`understudy.inference.declarations`), at the least ε at
  which second moments leave an answer, with the half-width that is expected then.
* **A release of these columns alone**, by `laplace` in its dense form, so that nothing is apart,
  merged, chosen or forbidden from outside. What follows from counts is then answered at any ε.
  Models need sets with noise of their own (`sets=split`) in which few records are misplaced by
  negative counts set to 0. A count c with Laplace noise of scale b is below 0 by (b/2)·exp(−c/b) on
  average, so K cells misplace K·b/2 records at most, whatever the rows: the least ε of `EPSILONS`
  at which that is half of what the rules allow is advised. It is generous.

**Numbers beyond the public bounds: how many there are, and which answers rest on them.**

Numbers beyond a bound count as the bound. A number line counts how many lie beyond
(`understudy.features.grids`), with known noise. Where a question depends on them (which is tried,
with numbers further and further out), and would say nothing of numbers that are cut off there:

* where their noisy number is more than noise explains, the answer is refused. If no number of a
  release lies beyond a bound, that happens anywhere in it with a probability of at most
  `FALSE_ALARM`: an even part of that is left for each bound of each line (Bonferroni), by the exact
  law of the noise, since that of whole numbers with little noise has a heavier tail than normal;
* where more than `MOST_BEYOND` of the records may lie there, at 97.5 %, it is refused too: what
  nobody could see is no reason to trust the bounds;
* else a note says how many there may be at most, at 97.5 %.

With 50 lines for one, the number that passes rises from 2.8 deviations to 3.9 (Laplace noise: 3.8
to 6.5). What answers promise does not rest on it: they are of clipped numbers.

The noise of that count is independent of second moments, tables and sets. So, given the rows,
intervals of these that are given cover what they cover otherwise. An answer of the line itself has
that noise in one cell of many, cut off above: if nobody is beyond, coverage changes by less than
`FALSE_ALARM`. Where few are counted `MOST_BEYOND` cuts it further, by up to 0.8 deviations of that
cell's noise. No interval allows for that; it was measured (`benchmarks/questions.py`, 500 rows).

**Records out of domain: how many there are, and what that means for an answer of any kind.**

A record is out of domain in a column if its cell is empty or has a value that the schema does not
declare, and in all columns of a rule that it breaks. Tables and number lines have such records in
no cell, sets are drawn without them, and second moments take them for an even mix of levels and for
the middle between bounds (`understudy.features.scores`). Noisy counts say how many there are.

Where the number that an answer lacks is no more than noise explains, it is given, with a note where
that may be much. Else

* a share, a mean, a total or a quantile has room for whatever these records have. With a share d of
  a group out of domain, and values between a and b, the mean of all lies within d·max(b − R, R − a)
  of that of the others, R; a distribution function moves by d at most. For d stands its upper limit
  at 97.5 %, and all of them may be in one group;
* any other answer is refused, and so is one of second moments that would count them as a mix, and
  one that lacks more than `MOST_LACKING` of the records.

The probability of a false alarm, and what it changes, are as above, by sets of columns counted. Of
tables that cover the same question those are left aside that lack clearly more records than others
(`understudy.inference.noisy_tables`).
"""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from scipy.special import ndtri

from understudy._arrays import Z_95, Floats
from understudy.dp.budget import DEFAULT_LINES_SHARE, DEFAULT_ROWS_SHARE
from understudy.dp.calibration import calibrate
from understudy.errors import InferenceError
from understudy.features.grids import LineCells
from understudy.features.scores import Limits
from understudy.inference import formulas
from understudy.inference.bin_bias import end_scores
from understudy.inference.combining import Pooled
from understudy.inference.contributions import cell_scores
from understudy.inference.estimators import Question
from understudy.inference.measured_moments import RULE
from understudy.inference.noisy_tables import (
    MOST_CELLS,
    coarser_table,
    line_of,
    line_schema,
    select_covering,
)
from understudy.inference.quantiles import Curve, Quantiles
from understudy.inference.question import (
    BOUNDED,
    MEASURED_ONLY,
    OF_GROUPS,
    RATIOS,
    SHARES,
    TWO_WAY,
    Estimand,
    group_terms,
)
from understudy.inference.records import ABSENT, MOST_POINTS, Records, cell_points, is_binned
from understudy.inference.rules import RefusalCode, RuleFacts, most_distortion, select_rule
from understudy.release.measurement import Measurement
from understudy.release.release import Release, once
from understudy.release.shape import MOST, Kind
from understudy.schema import NUMERIC, Column, Continuous, Integer, Schema
from understudy.schema.coarsening import number_text
from understudy.schema.expressions import read_name

AdvisedKind = Literal["rules", "release", "bounds", "count", "domain", "declare", "line"]

_REQUESTS: Final[dict[AdvisedKind, str]] = {
    "rules": "Ask it with uncertainty='rules'; nothing is needed of the publisher.",
    "release": "Ask the publisher, of {names} alone{levels}: {command}.",
    "bounds": "Ask the publisher for a release whose schema has wider bounds of {names}.",
    "count": "Ask the publisher: {command}, which counts more closely.",
    "domain": "Ask the publisher for a release whose schema declares what stands in {names} "
    '(missing = [""] for empty cells){rules}.',
    "declare": "Ask the publisher: {command}{width}{cuts}.",
    "line": "Ask the publisher: {command}, which buys the line of {names}.",
}
"""The third line of a refusal, by what helps."""

SPLIT_SETS = 3
EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50", "100")
_ANYWAY = "; anyway=True (--anyway) gives numbers whose error bars are not valid"


@dataclass(frozen=True)
class Advice:
    """One thing to do, after which the question is answered with valid error bars.

    Attributes:
        kind: "rules": ask the same release with uncertainty="rules"; "release": ask a release as
            the other fields say; "bounds": ask one of a schema with wider bounds; "count": ask
            one of more ε, which counts what lies beyond bounds more closely; "domain": ask one of a
            schema that declares all codes of absence; "declare": ask a release that declares this
            analysis; "line": ask a release that buys number lines.
        columns: columns of that release, and no others.
        method: its method.
        epsilon: that is known to be enough.
        sets: its number of sets.
        options: options of the method.
        levels: columns that it has as levels, one for each value: bins hide where numbers lie.
        analysis: that it declares.
        delta: of the release.
        rules: of the schema, which records may break.
        half_width: that is expected of its intervals, in the median; 0 where none is.
        cuts: columns of numbers with a bin of its schema that begins where the condition does.
    """

    kind: AdvisedKind
    columns: tuple[str, ...] = ()
    method: str = ""
    epsilon: str = ""
    sets: int = 1
    options: dict[str, str] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    analysis: str = ""
    delta: str = "0"
    rules: tuple[str, ...] = ()
    half_width: float = 0.0
    cuts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Advice as a line."""
        names, levels, cuts = map(" and ".join, (self.columns, self.levels, self.cuts))
        return _REQUESTS[self.kind].format(
            command=self.command,
            names=names,
            levels=f", with each value of {levels} as a level" if levels else "",
            cuts=f", where a bin of {cuts} begins as the condition does" if cuts else "",
            width=f" (expected ± {self.half_width:.2g})" if self.half_width else "",
            rules=f", and no rule that records break ({', '.join(self.rules)})" * bool(self.rules),
        )

    @property
    def command(self) -> str:
        """The command that the publisher types, with their names of files; "" for other schemas."""
        if "{command}" not in _REQUESTS[self.kind]:
            return ""
        words = ["understudy synthesize DATA --schema SCHEMA", f"--epsilon {self.epsilon}"]
        words += [f"--delta {self.delta}"] * (self.delta != "0")
        words += [f"--budget lines={float(DEFAULT_LINES_SHARE):g}"] * (self.kind == "line")
        words += [f"--method {self.method}"] * bool(self.method)
        words += [f"--option {name}={value}" for name, value in self.options.items()]
        words += [f"--sets {self.sets}"] * (self.sets > 1)
        words += [f"--analysis {quote_text(self.analysis)}"] * bool(self.analysis)
        return " ".join(words)


class RefusedError(InferenceError):
    """A question without valid error bars, in three lines.

    They say why, what this release says of it, and what to ask the publisher.

    Attributes:
        code: one of `CODES`.
        reason: why, as the end of a sentence.
        advice: what would answer it; None where nothing is known to.
        instead: nearby questions that the same release answers.
        anyway: whether numbers without valid error bars can be had.
    """

    def __init__(
        self,
        code: RefusalCode,
        reason: str,
        advice: Advice | None,
        *,
        anyway: bool = True,
        instead: Sequence[str] = (),
    ) -> None:
        here = "This release is not known to answer a question near it"
        if instead:
            here = f"This release answers {' and '.join(map(quote_text, instead))}"
        elif advice is not None and advice.kind == "rules":
            here = "This release answers it by its noisy counts"
        lines = (
            f"No valid error bars ({code}): {reason}.",
            f"{here}{_ANYWAY if anyway else ''}.",
            advice.text if advice else "No request to the publisher is known to help.",
        )
        super().__init__("\n".join(lines))
        self.code, self.reason, self.advice = code, reason, advice
        self.instead, self.anyway = tuple(instead), anyway


def quote_text(text: str) -> str:
    """A text as one word of a command line."""
    return shlex.quote(text) if set('"$`\\!') & set(text) else f'"{text}"'


def unmeasured_refusal(
    release: Release, facts: RuleFacts, *, bootstrap: bool = False
) -> RefusedError:
    """The refusal of a question of `MEASURED_ONLY`, as no measurement of a release answers it."""
    advice = advise(release, facts, bootstrap=bootstrap)
    return RefusedError("not-measured", MEASURED_ONLY[facts.kind], advice, anyway=False)


def advise(release: Release, facts: RuleFacts, *, bootstrap: bool = False) -> Advice | None:
    """Advise what would answer a question, if that is known.

    Args:
        release: that refuses it.
        facts: of the question.
        bootstrap: whether a bootstrap refuses it.
    """
    if bootstrap and facts.countable and select_rule(facts).valid:
        return Advice("rules")
    columns = facts.columns
    if facts.kind == "gini":
        lined = any(line_of(release.measurements, name) for name in columns)
        number = all(isinstance(release.schema.columns[name], NUMERIC) for name in columns)
        return (
            None
            if lined or not number or len(columns) > 1
            else _with_budget("line", release, columns)
        )
    if facts.kind in MEASURED_ONLY and facts.kind not in TWO_WAY:
        return None
    levels: tuple[str, ...] = ()
    if facts.kind == "function":  # which does not see through bins
        levels = tuple(name for name in columns if is_binned(release.schema.columns[name]))
    sizes = (
        _n_values(release.schema.columns[name])
        if name in levels
        else release.schema.columns[name].size
        for name in columns
    )
    cells = math.prod(sizes)
    if not columns or cells > MOST_CELLS:
        return None
    dense = {"form": "dense"}
    if facts.counted or facts.kind in ("quantile", *TWO_WAY):  # at any ε
        own = release.manifest.budget.get("epsilon", "1")
        return Advice("release", columns, "laplace", own, options=dense)
    n_rows = max(release.manifest.n_rows, 1)
    most = most_distortion(n_rows) / 2 * n_rows
    enough = (one for one in EPSILONS if cells * _split_scale(release, one) / 2 <= most)
    split = dense | {"sets": "split"}
    return next(
        (Advice("release", columns, "laplace", one, SPLIT_SETS, split, levels) for one in enough),
        None,
    )


def _with_budget(
    kind: AdvisedKind, release: Release, columns: tuple[str, ...], epsilon: str = ""
) -> Advice | None:
    """Advise a release with δ, and by default ε, of this one; None where it has neither."""
    stated = release.manifest.budget
    if "epsilon" not in stated:
        return None
    delta = stated.get("delta", "0")
    return Advice(kind, columns, epsilon=epsilon or stated["epsilon"], delta=delta)


def _split_scale(release: Release, epsilon: str) -> float:
    """Scale of the noise in a count of one of the split sets, in records."""
    rows = DEFAULT_ROWS_SHARE if release.schema.rows == "private" else Fraction(0)
    distribution = calibrate(
        "geometric",
        spend=Fraction(epsilon) * (1 - rows) / SPLIT_SETS,
        accounting="pure",
        neighbours=release.schema.neighbours,
    )
    return distribution.stddev / math.sqrt(2)


def _n_values(column: Column) -> float:
    """States of a column with each value as a level; infinite for real numbers, and for days."""
    decimals = column.decimals if isinstance(column, Continuous) else 0
    if decimals is None or not isinstance(column, Integer | Continuous):
        return math.inf
    values = round((column.upper - column.lower) * 10**decimals) + 1
    return float(values + column.size - column.n_ordinary)


MOST_BEYOND: Final = 0.1
"""Share of the records that may lie beyond a bound, for all that is known, of an answer on it."""
FALSE_ALARM: Final = 0.005
"""Probability that noise alone passes for numbers beyond a bound, anywhere in a release."""
_CLOSER = 2.2  # times as close, as the noisy number of nobody is above 0 half of the time
_SUMMED = 10.0  # deviations of normal noise up to which its tail is summed
_LAPLACE = math.log(20) / math.sqrt(2)  # 97.5 % in deviations
_FURTHER = (0.01, 0.1, 1.0, 10.0, 1000.0)  # times the range


@dataclass(frozen=True)
class OutOfBounds:
    """Records beyond one bound of a column.

    Attributes:
        column: its name.
        side: of the bound.
        bound: as it is shown.
        share: noisy share of the records.
        most: what it is at most, at 97.5 %.
        certain: whether it is more than noise.
        place: of the bound on the number line.
    """

    column: str
    side: Literal["below", "above"]
    bound: str
    share: float
    most: float
    certain: bool
    place: float


def beyond(line: Measurement, release: Release) -> tuple[OutOfBounds, OutOfBounds]:
    """Read from a number line what lies beyond both bounds of its column.

    Args:
        line: of a column.
        release: that it belongs to.
    """
    (name,) = line.columns
    labels = LineCells.of(line_schema(line, release.schema), name).labels[-2:]
    n_rows = max(release.manifest.n_rows, 1)
    lined = {one.columns for one in release.measurements if one.kind is Kind.LINE}
    least = least_certain(line, len(lined))

    def one(k: Literal[0, 1]) -> OutOfBounds:
        count = float(line.counts[k - 2])
        side: Literal["below", "above"] = "above" if k else "below"
        most = _most(count, line.stddev, n_rows, laplace=line.family.is_laplace)
        bound, place = labels[k].removeprefix(f"{side} "), _bounds_of(release.schema, name)[k]
        return OutOfBounds(name, side, bound, count / n_rows, most, count >= least, place)

    return one(0), one(1)


def _most(count: float, stddev: float, n_rows: int, *, laplace: bool) -> float:
    """The share of the records that a noisy count is of at most, at 97.5 %."""
    return min((max(count, 0.0) + (_LAPLACE if laplace else Z_95) * stddev) / n_rows, 1.0)


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
def beyond_line(release: Release, name: str) -> tuple[OutOfBounds, ...]:
    """Describe what the number line of a column says of both its bounds; nothing without one."""
    line = line_of(release.measurements, name)
    return () if line is None else beyond(line, release)


@dataclass(frozen=True)
class BoundsCheck:
    """What declared bounds, and narrower limits, mean for an answer.

    Attributes:
        refusal: of what would say nothing; None for an answer.
        cut: column → limits, where its numbers are cut off.
        counting: these in words; "" if there are none.
        notes: what else to know of them.
    """

    refusal: RefusedError | None
    cut: Limits
    counting: str = ""
    notes: tuple[str, ...] = ()


def check_bounds(
    release: Release, question: Question, pooled: Pooled, level: float, cut: Limits
) -> BoundsCheck:
    """Find where an answer is one of numbers that are cut off, and what else to know of them.

    What is said of numbers that are cut off at their bounds is true under that name, however many
    lie beyond. A quantile beyond a bound, or a condition there, would say nothing: it is refused.

    Args:
        release: that was asked.
        question: what was asked.
        pooled: the answer.
        level: of its intervals.
        cut: column → narrower limits, where its numbers were cut off when they were measured.
    """
    numbers = _numbers_of(question, release.schema)
    noted = [_cut_note(release, name, ends) for name, ends in cut.items()]
    rests = [
        one
        for name in numbers
        for one in beyond_line(release, name)
        if _changes(question, release.schema, one, pooled, level)
        # within a narrower limit, which says it already
        and not (name in cut and cut[name][one.side == "above"] != one.place)
    ]
    doubtful = [one for one in rests if one.certain or one.most > MOST_BEYOND]
    if any(_asks_beyond(question, one) for one in doubtful):
        certain = tuple(dict.fromkeys(one.column for one in doubtful if one.certain))
        advice = Advice("bounds", certain) if certain else _closer_count(release, doubtful)
        return BoundsCheck(RefusedError("beyond-bounds", _beyond_words(doubtful), advice), cut)
    if doubtful:
        noted.append(f"{_beyond_words(doubtful)}. A second, wider bound would tell of the rest.")
    if likely := [one for one in rests if one not in doubtful]:
        most = (f"{one.column} {one.side} {one.bound} {_percent(one.most)}" for one in likely)
        noted.append(
            "Numbers outside the declared bounds count as the bounds. By noisy counts these are at "
            f"most so many of the records: {', '.join(most)}."
        )
    noted += (
        f"About {_percent(one.share)} of the records (a noisy number) have {name} "
        f"{one.side} {one.bound}, its declared bound, and count in the bin there."
        for name in question.columns
        if name not in numbers
        for one in beyond_line(release, name)
        if one.certain
    )
    bounds = {one.column: _bounds_of(release.schema, one.column) for one in doubtful}
    cut = {**bounds, **cut}
    counting = counting_words(release.schema, cut, doubtful)
    return BoundsCheck(None, cut, counting, tuple(noted))


def _asks_beyond(question: Question, one: OutOfBounds) -> bool:
    """Return whether numbers that are cut off at a bound would have no answer of their own.

    A condition on numbers beyond the bound, "income > 500000", would be false of all of them.
    """
    asked = question.asked
    if not isinstance(asked, Estimand) or question.kind in (*SHARES, "quantile", *TWO_WAY):
        return True
    text = asked.formula or asked.expression
    compares = (text if "~" in text else formulas.as_formula(text),) * bool(set("<>=!") & set(text))
    named = [
        number
        for formula in (*map(formulas.as_formula, asked.conditions), *compares)
        for number in formulas.constants(formula)
        if number >= 0 or "-" in formula
    ]
    sign = -1.0 if one.side == "below" else 1.0
    return any((number - one.place) * sign >= 0 for number in named)


def _bounds_of(schema: Schema, name: str) -> tuple[float, float]:
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    return column.bounds


def counting_words(schema: Schema, cut: Limits, beyond: Sequence[OutOfBounds]) -> str:
    """Say where numbers are cut off: "with pay above 900 counted as 900"; "" for nowhere.

    Args:
        schema: of the release.
        cut: column → limits.
        beyond: bounds beyond which numbers lie, or may well.
    """
    passed, said = {(one.column, one.side) for one in beyond}, []
    for name, ends in cut.items():
        column, bounds = schema.columns[name], _bounds_of(schema, name)
        for side, end, bound in zip(("below", "above"), ends, bounds, strict=True):
            if end != bound or (name, side) in passed:
                text = number_text(end, column)
                said.append(f"{name} {side} {text} counted as {text}")
    return f"with {' and '.join(said)}" if said else ""


def _cut_note(release: Release, name: str, ends: tuple[float, float]) -> str:
    """Note how many numbers were cut off at limits, by the number line."""
    line = line_of(release.measurements, name)
    if line is None:
        return f"Numbers of {name} beyond the limits count as the limits."
    cells = line_schema(line, release.schema).columns[name]
    assert isinstance(cells, NUMERIC)
    beyond = np.zeros(cells.size + 2, dtype=np.bool_)
    beyond[cells.size :] = True
    beyond[: cells.n_ordinary] = [
        (one.high <= ends[0] and one.low < ends[0]) or (one.low >= ends[1] and one.high > ends[1])
        for one in cells.intervals
    ]
    n_rows = max(release.manifest.n_rows, 1)
    found = max(float(line.counts[beyond].sum()), 0.0)
    stddev = line.stddev * math.sqrt(beyond.sum())
    most = _most(found, stddev, n_rows, laplace=line.family.is_laplace)
    return (
        f"About {_percent(found / n_rows)} of the records, at most {_percent(most)}, have "
        f"{name} beyond these limits (noisy numbers)."
    )


def _beyond_words(bounds: list[OutOfBounds]) -> str:
    """Say how many lie beyond which bounds, and count as these; only of these that certainly do."""
    certain = [one for one in bounds if one.certain]
    told = [(f"about {_percent(one.share)}", "a", "have", one) for one in certain] or [
        (f"up to {_percent(one.most)}", "by a", "may have", one) for one in bounds
    ]
    return " and ".join(
        f"{share} of the records ({by} noisy number) {have} {one.column} {one.side} {one.bound}, "
        "its declared bound, and count as that"
        for share, by, have, one in told
    )


def _closer_count(release: Release, unknown: list[OutOfBounds]) -> Advice | None:
    """The ε at which the same share of the budget counts closely enough, if nobody lies there."""
    own = float(Fraction(release.manifest.budget.get("epsilon", "0")))
    least = own * _CLOSER * max(one.most - max(one.share, 0.0) for one in unknown) / MOST_BEYOND
    epsilon = next((one for one in EPSILONS if float(one) > least), None)
    columns = tuple(dict.fromkeys(one.column for one in unknown))
    return None if epsilon is None else _with_budget("count", release, columns, epsilon)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _parts(question: Question, schema: Schema) -> tuple[Estimand, ...] | None:
    """The expressions by whose values alone records count; None where there are no such.

    So whatever is not named here, a model, a function or a kind yet to come, rests on all of its
    numbers. Columns whose levels or bins are asked about are no expressions.
    """
    asked = question.asked
    if not isinstance(asked, Estimand):
        return None
    if asked.kind in BOUNDED:
        texts, own = list(asked.conditions), (asked,) * bool(asked.expression)
    elif asked.kind in (*TWO_WAY, *OF_GROUPS):
        groups, numbers = group_terms(asked.kind, asked.formula)
        terms = [term for term in groups if read_name(term) not in schema.columns]
        texts = [*asked.conditions, *terms, *numbers]
        own = ()
    else:
        return None
    return (*(Estimand("mean", text, asked.columns, expression=text) for text in texts), *own)


def _numbers_of(question: Question, schema: Schema) -> tuple[str, ...]:
    """Numeric columns whose numbers a question is about."""
    parts = _parts(question, schema)
    used = {*question.columns} if parts is None else {name for one in parts for name in one.used}
    return tuple(
        n for n in question.columns if n in used and isinstance(schema.columns[n], NUMERIC)
    )


def _changes(
    question: Question, schema: Schema, one: OutOfBounds, pooled: Pooled, level: float
) -> bool:
    """Return whether numbers beyond a bound could change an answer."""

    def moves(asked: Estimand) -> bool:
        tried = _values(asked, schema, one)
        if tried is None:
            return True
        at, further = tried
        if (at == further).all():
            return False
        if asked.kind != "quantile" or len(at) > 1:
            return True
        lower, upper = pooled.interval(level)
        return bool((upper >= at[0] if further[-1, 0] > at[0] else lower <= at[0]).any())

    parts = _parts(question, schema)
    return parts is None or any(moves(part) for part in parts if one.column in part.used)


def _values(asked: Estimand, schema: Schema, one: OutOfBounds) -> tuple[Floats, Floats] | None:
    """Values of an expression with a number on its bound, and with numbers beyond it.

    Returns:
        Shapes (k,) and (numbers, k) for k different combinations of the other columns; None where
        there are too many of these, or no value.
    """
    inner = asked.alone()
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


def _places(asked: Estimand, schema: Schema, one: OutOfBounds) -> list[float]:
    """A bound, and numbers beyond it: near, further, and beside those that are named there."""
    column, bound = schema.columns[one.column], one.place
    sign = -1.0 if one.side == "below" else 1.0
    low, high = _bounds_of(schema, one.column)
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


MOST_LACKING: Final = 0.5
"""Share of the records of a group that an answer may lack and still be given."""
_COUNTING = (Kind.TABLE, Kind.LINE, Kind.CELLS, Kind.RANGES, Kind.NODES)
_NOTED = 0.01  # a share of the records that may be out of domain below this is not spoken of


@dataclass(frozen=True)
class OutOfDomain:
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


def answer_with_room(
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
    found = _records_lacked(release, question, pooled)
    lacking = [one for one in found if one.certain]
    if not lacking:
        largest = max(found, key=lambda one: one.most, default=None)
        if largest is None or largest.most < _NOTED:
            return pooled, None, ()
        note = (
            f"By noisy counts at most {_percent(largest.most)} of the records are out of domain "
            f"in {' or '.join(largest.columns)}, and left out."
        )
        return pooled, None, (note,)
    most = max(one.most for one in lacking)
    least = [  # who is out of domain in fewer columns is so in more
        one for one in lacking if not any({*other.columns} < {*one.columns} for other in lacking)
    ]
    blamed = _find_culprits(least, release)
    broken = (text for text, box in release.schema.boxes if {*blamed} & {*box})
    advice = Advice("domain", blamed, rules=tuple(dict.fromkeys(broken)))
    resting = _columns_by_moments(question, release.schema) if pooled.rule == RULE else set()
    mixed = any(resting & {*one.columns} for one in least)
    wider = None if mixed else _widen_answer(release, question, pooled, most)
    if wider is None:
        return pooled, RefusedError("out-of-domain", domain_reason(least, mixed=mixed), advice), ()
    note = (
        f"About {_domain_words(least)}. Intervals have room for whatever these records have. More "
        f"closely: {advice.text}"
    )
    return wider, None, (note,)


def _domain_words(lacking: Sequence[OutOfDomain]) -> str:
    shares = (f"{_percent(one.share)} of {' or '.join(one.columns)}" for one in lacking)
    return (
        f"{' and '.join(shares)} (noisy numbers) are out of domain: empty, with a value that the "
        "schema does not declare, or against one of its rules"
    )


def domain_reason(lacking: Sequence[OutOfDomain], *, mixed: bool) -> str:
    """Why records out of domain leave a question without an answer, as the end of a sentence.

    Args:
        lacking: those that there certainly are.
        mixed: whether they count as a mix of the others.
    """
    counted = (
        "second moments count them as a mix of those that it does"
        if mixed
        else "the answer would be about the others alone"
    )
    return f"about {_domain_words(lacking)}; {counted}"


def _find_culprits(lacking: Sequence[OutOfDomain], release: Release) -> tuple[str, ...]:
    """Columns that are out of domain by themselves, among those that tables name together."""
    named = dict.fromkeys(name for one in lacking for name in one.columns)
    alone = {one.columns[0] for one in _shares(release, {(n,) for n in named}) if one.certain}
    return tuple(name for name in named if name in alone) or tuple(named)


def _columns_by_moments(question: Question, schema: Schema) -> set[str]:
    """Columns of which second moments need a declared value of every record.

    Of a number that is averaged they count the records that have one.
    """
    asked = question.asked
    averaged = asked.used if isinstance(asked, Estimand) and asked.kind in RATIOS else ()
    numbers = {name for name in averaged if isinstance(schema.columns[name], NUMERIC)}
    return set(question.columns) - numbers


def _records_lacked(release: Release, question: Question, pooled: Pooled) -> list[OutOfDomain]:
    """Count the records that an answer lacks, by sets of columns."""
    measured, asked = release.measurements, set(question.columns)
    if pooled.rule == RULE:
        return outside_of(release, question.columns)
    tables: list[Measurement]
    if pooled.rule == "noise-aware":
        wider = coarser_table(measured, question.columns)
        tables = [*select_covering(measured, question.columns), *((wider,) if wider else ())]
        if len(asked) == 1:
            tables += (
                one for one in measured if _counts_outside(one) and set(one.columns) == asked
            )
    else:
        joint = (one for one in release.behind_sets if _counts_outside(one) and one.kind.is_joint)
        tables = [one for one in joint if set(one.columns) & asked]
    return _shares(release, {one.columns for one in tables})


def outside_of(release: Release, columns: Sequence[str]) -> list[OutOfDomain]:
    """Count the records out of domain, by each measurement of some of these columns alone."""
    asked = set(columns)
    within = (
        one for one in release.measurements if _counts_outside(one) and set(one.columns) <= asked
    )
    return _shares(release, {one.columns for one in within})


def _counts_outside(measured: Measurement) -> bool:
    """Return whether a measurement has a noisy number of records out of domain."""
    return measured.kind in _COUNTING and measured.stddev > 0


def _shares(release: Release, groups: set[tuple[str, ...]]) -> list[OutOfDomain]:
    """Of each set of columns, all its counts averaged by precision."""
    own: dict[tuple[str, ...], list[Measurement]] = defaultdict(list)
    for one in release.measurements:
        if _counts_outside(one):
            own[one.columns].append(one)
    n_rows = max(release.manifest.n_rows, 1)
    level = FALSE_ALARM / max(len(own), 1)
    found = []
    for columns in sorted(groups & set(own)):
        weights = [one.stddev**-2 for one in own[columns]]
        each = zip(weights, own[columns], strict=True)
        count, stddev = sum(w * one.outside for w, one in each) / sum(weights), sum(weights) ** -0.5
        heavy = any(one.family.is_laplace for one in own[columns])  # a mean has lighter tails
        reach = -math.log(2 * level) / math.sqrt(2) if heavy else -float(ndtri(level))
        most = _most(count, stddev, n_rows, laplace=heavy)
        found.append(OutOfDomain(columns, count / n_rows, most, count > reach * stddev))
    return found


def _widen_answer(
    release: Release, question: Question, pooled: Pooled, most: float
) -> Pooled | None:
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
        curves = [None if curve is None else _widen_curve(curve, share) for curve, share in pairs]
        return replace(pooled, curves=tuple(curves))
    ends = value_ends(asked, release.schema)
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
    """Compute the share of each group out of domain, if all who are were in it; shape (k,)."""
    table = release.tables[0]
    scores = asked.scores(Records.of(table, release.schema, asked.columns))
    known = scores.quantity != ABSENT
    group = scores.group_of[scores.quantity[known]]
    sizes = np.bincount(group, minlength=int(scores.group_of.max()) + 1)[scores.group_of]
    inside = (1 - most) * sizes / max(table.height, 1)
    return np.asarray(most / (most + inside))


def _widen_curve(curve: Curve, share: float) -> Curve:
    """A distribution function that may be off by a share."""
    least, largest = (
        replace(steps, half=steps.half + share) for steps in (curve.least, curve.largest)
    )
    return Curve(least, largest)


def value_ends(asked: Estimand, schema: Schema) -> tuple[float, float] | None:
    """Between which values any record adds to the answer; None where that cannot be told."""
    if not asked.expression or asked.kind not in ("mean", "total"):
        return 0.0, 1.0
    if math.prod(schema.columns[name].size for name in asked.used) > MOST_POINTS:
        return None
    inner = asked.alone()
    try:
        scores = cell_scores(inner, schema)
        ends = end_scores(inner, schema, scores) or (scores, scores)
    except InferenceError:
        return None
    known = scores.quantity != ABSENT
    low, high = ends[0].value[known], ends[1].value[known]
    finite = np.isfinite(low).all() and np.isfinite(high).all()
    return (float(low.min()), float(high.max())) if finite else None
