"""When numbers beyond bounds or records out of domain refuse an answer, and what would help.

The other grounds of a refusal are in `inference.rules` and `inference.second_moments`.

**What would answer a question that a release refuses: advice that can be followed, and was.**

A refusal has a code (`CODES`) and three lines: why; what this release says of it; what to ask the
publisher. Each piece of advice is data (`Advice`), so that a test follows it:
`tests/contract/test_advice.py` asks questions over a grid of methods, does what each refusal says,
and asks again. What cannot be known to help is not advised.

* **The same release, asked by its rules.** Means, shares, tables, totals and quantiles that a full
  noisy table covers are answered from it, whatever a bootstrap cannot do.
* **A release that declares the question** (`understudy.inference.declarations`), and so buys
  the second moments that answer it: at the least ε at which its noise leaves an answer for records
  like the synthetic ones, with the half-width that is expected then.
* **A release of these columns alone**, by `laplace` in its dense form. Its one table is over just
  the columns in question, so nothing is apart, merged, chosen or forbidden from outside. What
  follows from counts is then answered at any ε. Models need sets with noise of their own
  (`sets=split`) in which few records are misplaced by negative counts set to 0. A count c with
  Laplace noise of scale b is below 0 by (b/2)·exp(−c/b) on average, so K cells misplace K·b/2
  records at most, whatever the rows: the least ε of `EPSILONS` at which that is half of what the
  rules allow is advised. It follows from public facts alone, and is generous.

**Numbers beyond the public bounds: how many there are, and which answers rest on them.**

Numbers beyond a bound count as the bound, so a mean, a model or a quantile there is one of clipped
numbers. A number line counts how many lie beyond (`understudy.features.grids`), with known
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
2.8 deviations for one line to 3.9 for 50, with Laplace noise from 3.8 to 6.5. What answers promise
does not rest on it: they are of clipped numbers.

A share of a condition that no number beyond can change is answered all the same, and so is a
quantile whose interval stays off the bound.

**Coverage given an answer.** What decides is the noisy count of records beyond. Its noise is
independent of that of released second moments, tables and sets. So given the rows, whether an
answer from these is given is independent of their noise, and given an answer the interval covers
what it covers otherwise. An answer of the line itself has that noise in one cell of many, cut off
above: if nobody is beyond, that changes coverage by less than `FALSE_ALARM`. Where few are counted,
`MOST_BEYOND` cuts it further, and what a bound's cell then lacks is at most 0.8 standard deviations
of its noise. No interval allows for that; it was measured (`benchmarks/questions.py`, 500 rows).

**Records out of domain: how many there are, and what that means for an answer of any kind.**

A record is out of domain in a column if its cell is empty or has a value that the schema does not
declare, and in all columns of a rule of the schema that it breaks. Tables and number lines have
such records in no cell, sets are drawn without them, and second moments take them for an even mix
of the levels of a column and for the middle between the bounds of a number
(`understudy.features.scores`). A schema promises that there are few. Noisy counts of them say
whether that is so, with known noise.

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
that lack clearly more records than others (`understudy.inference.noisy_tables`).
"""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from scipy.special import ndtri

from understudy._arrays import Z_95, Floats
from understudy.dp.calibration import calibrate
from understudy.errors import InferenceError
from understudy.features.grids import LineCells
from understudy.features.scores import Limits
from understudy.inference import formulas
from understudy.inference.bin_bias import end_scores
from understudy.inference.combining import Pooled
from understudy.inference.contributions import cell_scores
from understudy.inference.estimators import Question
from understudy.inference.line_tables import line_schema
from understudy.inference.moment_answers import RULE
from understudy.inference.noisy_tables import MOST_CELLS, coarser_table, covering, line_of
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
from understudy.inference.rules import Code, Facts, most_distortion, select_rule
from understudy.release.measurement import Measurement
from understudy.release.release import Release, once
from understudy.release.shape import MOST, Kind
from understudy.schema import NUMERIC, Column, Continuous, Integer, Schema
from understudy.schema.coarsening import number_text

AdvisedKind = Literal["rules", "release", "bounds", "count", "domain", "declare", "line"]

_ROWS_SHARE = Fraction(1, 20)  # of the budget buys the number of rows, by default
SPLIT_SETS = 3
EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50", "100")
_LINES = "0.1"  # of the budget, for number lines
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
        names = " and ".join(self.columns)
        if self.kind == "rules":
            return "Ask it with uncertainty='rules'; nothing is needed of the publisher."
        if self.kind == "bounds":
            return f"Ask the publisher for a release whose schema has wider bounds of {names}."
        if self.kind == "domain":
            broken = f", and no rule that records break ({', '.join(self.rules)})" * bool(
                self.rules
            )
            return (
                f"Ask the publisher for a release whose schema declares what stands in {names} "
                f'(missing = [""] for empty cells){broken}.'
            )
        if self.kind in ("count", "line"):
            what = "counts more closely" if self.kind == "count" else f"buys the line of {names}"
            return f"Ask the publisher: {self.command}, which {what}."
        if self.kind == "declare":
            width = f" (expected ± {self.half_width:.2g})" * bool(self.half_width)
            cuts = f", where a bin of {' and '.join(self.cuts)} begins as the condition does"
            return f"Ask the publisher: {self.command}{width}{cuts * bool(self.cuts)}."
        levels = f", with each value of {' and '.join(self.levels)} as a level" * bool(self.levels)
        return f"Ask the publisher, of {names} alone{levels}: {self.command}."

    @property
    def command(self) -> str:
        """What the publisher types, with names of their own files; "" for another schema."""
        if self.kind not in ("release", "count", "declare", "line"):
            return ""
        words = ["understudy synthesize DATA --schema SCHEMA", f"--epsilon {self.epsilon}"]
        words += [f"--delta {self.delta}"] * (self.delta != "0")
        words += [f"--budget lines={_LINES}"] * (self.kind == "line")
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
        code: Code,
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


def refuse_unmeasured(release: Release, facts: Facts, *, bootstrap: bool = False) -> RefusedError:
    """The refusal of a question that measurements alone answer, and none of a release does.

    Args:
        release: that refuses it.
        facts: of the question, of a kind of `MEASURED_ONLY`.
        bootstrap: whether the bootstrap was asked for.
    """
    advice = advise(release, facts, bootstrap=bootstrap)
    return RefusedError("not-measured", MEASURED_ONLY[facts.kind], advice, anyway=False)


def advise(release: Release, facts: Facts, *, bootstrap: bool = False) -> Advice | None:
    """Advise what would answer a question, if that is known.

    Args:
        release: that refuses it.
        facts: of the question.
        bootstrap: whether a bootstrap refuses it.
    """
    if bootstrap and facts.countable and select_rule(facts).valid:
        return Advice("rules")
    if facts.kind in MEASURED_ONLY and facts.kind not in TWO_WAY:
        return _number_line(release, facts) if facts.kind == "gini" else None
    if not facts.columns or _n_cells(release, facts) > MOST_CELLS:
        return None
    dense = {"form": "dense"}
    if facts.counted or facts.kind in ("quantile", *TWO_WAY):  # at any ε
        own = release.manifest.budget.get("epsilon", "1")
        return Advice("release", facts.columns, "laplace", own, options=dense)
    epsilon = enough(release, facts)
    if epsilon is None:
        return None
    split = dense | {"sets": "split"}
    return Advice(
        "release", facts.columns, "laplace", epsilon, SPLIT_SETS, split, _levels(release, facts)
    )


def _number_line(release: Release, facts: Facts) -> Advice | None:
    """Advise to buy the number line of a column that has none."""
    stated = release.manifest.budget
    lined = any(line_of(release.measurements, name) for name in facts.columns)
    number = all(isinstance(release.schema.columns[name], NUMERIC) for name in facts.columns)
    if lined or not number or len(facts.columns) > 1 or "epsilon" not in stated:
        return None
    delta = stated.get("delta", "0")
    return Advice("line", facts.columns, epsilon=stated["epsilon"], delta=delta)


def enough(release: Release, facts: Facts) -> str | None:
    """The least ε at which split sets of a table of the columns misplace few records, or None.

    Args:
        release: whose schema and number of rows count.
        facts: of the question.
    """
    n_rows = max(release.manifest.n_rows, 1)
    most = most_distortion(n_rows) / 2 * n_rows
    cells = _n_cells(release, facts)
    return next(
        (epsilon for epsilon in EPSILONS if cells * _scale(release, epsilon) / 2 <= most), None
    )


def _scale(release: Release, epsilon: str) -> float:
    """Scale of the noise in a count of one of the split sets, in records."""
    rows = _ROWS_SHARE if release.schema.rows == "private" else Fraction(0)
    distribution = calibrate(
        "geometric",
        spend=Fraction(epsilon) * (1 - rows) / SPLIT_SETS,
        accounting="pure",
        neighbours=release.schema.neighbours,
    )
    return distribution.stddev / math.sqrt(2)


def _levels(release: Release, facts: Facts) -> tuple[str, ...]:
    """Columns whose bins a function does not see through."""
    if facts.kind != "function":
        return ()
    return tuple(name for name in facts.columns if is_binned(release.schema.columns[name]))


def _n_cells(release: Release, facts: Facts) -> float:
    """Cells of a table of the columns; infinite where one has no end of values, and needs all."""
    levels = _levels(release, facts)
    columns = release.schema.columns
    sizes: dict[str, float] = {name: columns[name].size for name in facts.columns}
    return math.prod((sizes | {name: _n_values(columns[name]) for name in levels}).values())


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
    n_lines = sum(measured.kind is Kind.LINE for measured in release.measurements)
    least = least_certain(line, n_lines)
    z = _LAPLACE if line.family.is_laplace else Z_95
    bounds = _bounds_of(release.schema, name)

    def one(side: Literal["below", "above"], count: float, label: str) -> OutOfBounds:
        most = min((max(count, 0.0) + z * line.stddev) / n_rows, 1.0)
        share, bound = count / n_rows, label.removeprefix(f"{side} ")
        place = bounds[side == "above"]
        return OutOfBounds(name, side, bound, share, most, count >= least, place)

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
def beyond_line(release: Release, name: str) -> tuple[OutOfBounds, ...]:
    """Describe what the number line of a column says of both its bounds; nothing without one.

    Args:
        release: that is asked.
        name: of the column.
    """
    line = line_of(release.measurements, name)
    return () if line is None else beyond(line, release)


def check_bounds(
    release: Release, question: Question, pooled: Pooled, level: float, cut: Limits
) -> tuple[RefusedError | None, Limits, str, tuple[str, ...]]:
    """Find where an answer is one of numbers that are cut off, and what else to know of them.

    What is said of numbers that are cut off at their bounds is true under that name, however many
    lie beyond. A quantile beyond a bound, or a condition there, would say nothing: it is refused.

    Args:
        release: that was asked.
        question: what was asked.
        pooled: the answer.
        level: of its intervals.
        cut: column → narrower limits, where its numbers were cut off when they were measured.

    Returns:
        A refusal, where numbers are cut off, the same in words, and notes.
    """
    counted = tuple(_in_end_bins(release, question))
    noted = tuple(_cut_note(release, name, ends) for name, ends in cut.items())
    rests = [one for one in _rests_on(release, question, pooled, level) if not _is_within(one, cut)]
    doubtful = [one for one in rests if one.certain or one.most > MOST_BEYOND]
    if any(_asks_beyond(question, release.schema, one) for one in doubtful):
        certain = [one for one in doubtful if one.certain]
        columns = tuple(dict.fromkeys(one.column for one in certain))
        refused = (
            RefusedError("beyond-bounds", _bounds_reason(certain), Advice("bounds", columns))
            if certain
            else RefusedError("beyond-bounds", _unknown(doubtful), _closer_count(release, doubtful))
        )
        return refused, cut, "", ()
    bounds = {one.column: _bounds_of(release.schema, one.column) for one in doubtful}
    likely = [one for one in rests if one not in doubtful]
    if doubtful:
        noted += (f"{_beyond_words(doubtful)}. A second, wider bound would tell of the rest.",)
    if likely:
        most = (f"{one.column} {one.side} {one.bound} {_percent(one.most)}" for one in likely)
        noted += (
            "Numbers outside the declared bounds count as the bounds. By noisy counts these are at "
            f"most so many of the records: {', '.join(most)}.",
        )
    cut = {**bounds, **cut}
    return None, cut, counting_words(release.schema, cut, doubtful), (*noted, *counted)


def _is_within(one: OutOfBounds, cut: Limits) -> bool:
    """Return whether numbers beyond a bound are beyond a narrower limit, which says it already."""
    return one.column in cut and cut[one.column][one.side == "above"] != one.place


def _asks_beyond(question: Question, schema: Schema, one: OutOfBounds) -> bool:
    """Return whether numbers that are cut off at a bound would have no answer of their own.

    A condition on numbers beyond the bound, "income > 500000", would be false of all of them.
    """
    asked = question.asked
    if not isinstance(asked, Estimand) or question.kind in (*SHARES, "quantile", *TWO_WAY):
        return True
    text = asked.formula or asked.expression
    if any(_names_beyond(formulas.as_formula(where), one) for where in asked.conditions):
        return True
    if not set("<>=!") & set(text):
        return False
    return _names_beyond(text if "~" in text else formulas.as_formula(text), one)


def _names_beyond(formula: str, one: OutOfBounds) -> bool:
    """Return whether a number in a formula is at a bound, or beyond it."""
    named = formulas.constants(formula)
    written = [number for number in named if number >= 0 or "-" in formula]
    sign = -1.0 if one.side == "below" else 1.0
    return any((number - one.place) * sign >= 0 for number in written)


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
    for k, one in enumerate(cells.intervals):
        beyond[k] = (one.high <= ends[0] and one.low < ends[0]) or (
            one.low >= ends[1] and one.high > ends[1]
        )
    n_rows = max(release.manifest.n_rows, 1)
    z = _LAPLACE if line.family.is_laplace else Z_95
    found = max(float(line.counts[beyond].sum()), 0.0)
    most = found + z * line.stddev * math.sqrt(beyond.sum())
    return (
        f"About {_percent(found / n_rows)} of the records, at most {_percent(most / n_rows)}, have "
        f"{name} beyond these limits (noisy numbers)."
    )


def _beyond_words(bounds: list[OutOfBounds]) -> str:
    """Say how many lie beyond which bounds, and count as these."""
    certain = [one for one in bounds if one.certain]
    return _bounds_reason(certain) if certain else _unknown(bounds)


def _in_end_bins(release: Release, question: Question) -> Iterator[str]:
    """Name what the end bins of columns hold beside their numbers, where bins are asked about."""
    numbers = _numbers_of(question, release.schema)
    for name in question.columns:
        for one in () if name in numbers else beyond_line(release, name):
            if one.certain:
                yield (
                    f"About {_percent(one.share)} of the records (a noisy number) have {name} "
                    f"{one.side} {one.bound}, its declared bound, and count in the bin there."
                )


def _bounds_reason(certain: list[OutOfBounds]) -> str:
    return _bounds_note(certain, [f"about {_percent(one.share)}" for one in certain], "a", "have")


def _unknown(unknown: list[OutOfBounds]) -> str:
    return _bounds_note(
        unknown, [f"up to {_percent(one.most)}" for one in unknown], "by a", "may have"
    )


def _bounds_note(bounds: list[OutOfBounds], shares: list[str], by: str, have: str) -> str:
    """Note how many lie beyond which bounds."""
    return " and ".join(
        f"{share} of the records ({by} noisy number) {have} {one.column} {one.side} {one.bound}, "
        "its declared bound, and count as that"
        for share, one in zip(shares, bounds, strict=True)
    )


def _closer_count(release: Release, unknown: list[OutOfBounds]) -> Advice | None:
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
) -> Iterator[OutOfBounds]:
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
        decisive = (
            Estimand("mean", text, asked.columns, expression=text) for text in asked.conditions
        )
        return (*decisive, asked) if asked.expression else (*decisive,)
    if asked.kind in (*TWO_WAY, *OF_GROUPS):
        groups, numbers = group_terms(asked.kind, asked.formula)
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


def _depends(
    question: Question, schema: Schema, one: OutOfBounds, pooled: Pooled, level: float
) -> bool:
    """Return whether numbers beyond a bound could change an answer."""
    parts = _parts(question, schema)
    if parts is None:
        return True
    return any(
        _moves(asked, schema, one, pooled, level) for asked in parts if one.column in asked.used
    )


def _moves(asked: Estimand, schema: Schema, one: OutOfBounds, pooled: Pooled, level: float) -> bool:
    """Return whether numbers beyond a bound change an expression so far that it matters."""
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
    blamed = _find_culprits(lacking, release)
    advice = Advice("domain", blamed, rules=_rules(blamed, release.schema))
    resting = set(_resting(question, release.schema)) if pooled.rule == RULE else set()
    mixed = any(resting & set(one.columns) for one in lacking)
    wider = None if mixed else _widen_answer(release, question, pooled, most)
    if wider is None:
        reason = domain_reason(lacking, mixed=mixed)
        return pooled, RefusedError("out-of-domain", reason, advice), ()
    return wider, None, (_allows(lacking, advice),)


def _holds_another(one: OutOfDomain, others: Sequence[OutOfDomain]) -> bool:
    """Return whether others are among these: who is out of domain there is so here too."""
    return any(set(other.columns) < set(one.columns) for other in others)


def _domain_note(lacking: Sequence[OutOfDomain]) -> str:
    return " and ".join(f"{100 * one.share:.2g} % of {' or '.join(one.columns)}" for one in lacking)


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
    return (
        f"about {_domain_note(lacking)} (noisy numbers) are out of domain, so are empty, have a "
        f"value that the schema does not declare or break one of its rules, and {counted}"
    )


def _allows(lacking: Sequence[OutOfDomain], advice: Advice) -> str:
    return (
        f"About {_domain_note(lacking)} (noisy numbers) are out of domain: empty, with a value "
        "that the schema does not declare, or against one of its rules. Intervals have room for "
        f"whatever these records have. More closely: {advice.text}"
    )


def _may_lack(one: OutOfDomain) -> str:
    return (
        f"By noisy counts at most {100 * one.most:.2g} % of the records are out of domain in "
        f"{' or '.join(one.columns)}, and left out."
    )


def _rules(columns: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """Rules that records may break in some columns, as they are written."""
    named = set(columns)
    return tuple(dict.fromkeys(text for text, box in schema.boxes if named & set(box)))


def _find_culprits(lacking: Sequence[OutOfDomain], release: Release) -> tuple[str, ...]:
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


def _outside(release: Release, question: Question, pooled: Pooled) -> list[OutOfDomain]:
    """Count the records that an answer lacks, by sets of columns."""
    measured, asked = release.measurements, set(question.columns)
    tables: Sequence[Measurement]
    if pooled.rule == "noise-aware":
        tables = covering(measured, question.columns)
        wider = coarser_table(measured, question.columns)
        tables += () if wider is None else (wider,)
        if len(asked) == 1:
            tables += tuple(one for one in measured if _counts(one) and set(one.columns) == asked)
        return _shares(release, {one.columns for one in tables})
    if pooled.rule == RULE:
        return outside_of(release, question.columns)
    behind = [one for one in release.behind_sets if _counts(one) and one.kind.is_joint]
    return _shares(release, {one.columns for one in behind if set(one.columns) & asked})


def outside_of(release: Release, columns: Sequence[str]) -> list[OutOfDomain]:
    """Count the records out of domain, by each measurement of some of these columns alone."""
    asked = set(columns)
    within = [one for one in release.measurements if _counts(one) and set(one.columns) <= asked]
    return _shares(release, {one.columns for one in within})


def _counts(measured: Measurement) -> bool:
    """Return whether a measurement has a noisy number of records out of domain."""
    return measured.kind in _COUNTING and measured.stddev > 0


def _shares(
    release: Release, groups: Sequence[tuple[str, ...]] | set[tuple[str, ...]]
) -> list[OutOfDomain]:
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
        most = min(max(count, 0.0) + (_LAPLACE if heavy else Z_95) * stddev, n_rows) / n_rows
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
    used = asked.used
    if math.prod(schema.columns[name].size for name in used) > MOST_POINTS:
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
