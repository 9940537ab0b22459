"""What would answer a question that a release refuses: advice that can be followed, and was.

A refusal says why, and then one thing that helps, or that nothing here does. Each piece of advice
is data (`Advice`), so that a test follows it: `tests/contract/test_advice.py` asks questions over a
grid of methods, does what each refusal says, and asks again. What cannot be known to help is not
advised.

* **The same release, asked by its rules.** Means, shares, tables, totals and quantiles that a full
  noisy table covers are answered from it, whatever a bootstrap cannot do.
* **A release that declares the question** (`understudy.inference.choice.declarations`), and so buys
  the second moments that answer it: at the least ε, and the δ of the release that refuses, at which
  its noise leaves an answer for records like the synthetic ones.
* **A release of these columns alone**, by `laplace` in its dense form. Its one table is over just
  the columns in question, so nothing is apart, merged, chosen or forbidden from outside. What
  follows from counts is then answered at any ε. Models need sets with noise of their own
  (`sets=split`) in which few records are misplaced by negative counts set to 0. A count c with
  Laplace noise of scale b is below 0 by (b/2)·exp(−c/b) on average, so K cells misplace K·b/2
  records at most, whatever the rows: the least ε of `EPSILONS` at which that is half of what the
  rules allow is advised. It follows from public facts alone, and is generous.

Where a table of the columns has more cells than are written out, or no such ε is enough, nothing in
this program is known to answer the question, and the refusal says so.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from understudy.errors import InferenceError
from understudy.inference.choice.release_facts import Facts
from understudy.inference.choice.rule_table import choose, most_distortion
from understudy.inference.estimates.analysis_records import is_binned
from understudy.inference.estimates.estimands import MEASURED_ONLY, TWO_WAY
from understudy.inference.noise_aware.full_tables import MOST_CELLS
from understudy.privacy.noise.calibration import calibrate
from understudy.release import Release
from understudy.schema import Column, Continuous, Integer

Kind = Literal["rules", "release", "bounds", "count", "domain", "declare"]

_ROWS_SHARE = Fraction(1, 20)  # of the budget buys the number of rows, by default
SPLIT_SETS = 3
EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50", "100")
_IF_FILLED = ", if each of its sets has records of every level that is asked about"
_ANYWAY = "anyway=True, or --anyway, gives numbers whose error bars are not valid"


@dataclass(frozen=True)
class Advice:
    """One thing to do, after which the question is answered with valid error bars.

    Attributes:
        kind: "rules": ask the same release with uncertainty="rules"; "release": ask a release as
            the other fields say; "bounds": ask one of a schema with wider bounds; "count": ask
            one of more ε, which counts what lies beyond bounds more closely; "domain": ask one of a
            schema that declares all codes of absence; "declare": ask a release that declares this
            analysis.
        columns: columns of that release, and no others.
        method: its method.
        epsilon: least epsilon that is known to be enough; "" where any is.
        sets: its number of sets.
        options: options of the method.
        levels: columns that it has as levels, one for each value: bins hide where numbers lie.
        analysis: that it declares.
        delta: of the release that declares it.
        rules: of the schema, which records may break.
    """

    kind: Kind
    columns: tuple[str, ...] = ()
    method: str = ""
    epsilon: str = ""
    sets: int = 1
    options: dict[str, str] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    analysis: str = ""
    delta: str = "0"
    rules: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What to do, as the end of a sentence."""
        if self.kind == "rules":
            return "take uncertainty='rules', which answers it from the released noisy counts"
        if self.kind == "bounds":
            return f"a release with wider bounds of {' and '.join(self.columns)} answers it"
        if self.kind == "count":
            return (
                f"a release made with epsilon={self.epsilon} and delta={self.delta}, or with a "
                "larger lines_share, is expected to count them closely enough"
            )
        if self.kind == "domain":
            broken = f", and has no rule that records break ({', '.join(self.rules)})," * bool(
                self.rules
            )
            return (
                "a release whose schema declares what stands there in "
                f'{" and ".join(self.columns)} (missing = [""] for empty cells){broken} answers it'
            )
        if self.kind == "declare":
            return (
                f"a release made with --analysis {quoted(self.analysis)}, epsilon={self.epsilon} "
                f"and delta={self.delta} is expected to answer it, if its records are like these"
            )
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        budget = f"epsilon={self.epsilon}" if self.epsilon else "any epsilon"
        alone = "this column" if len(self.columns) == 1 else "these columns"
        levels = f", with each value of {', '.join(self.levels)} as a level,"
        return (
            f"a release of {alone} alone ({', '.join(self.columns)}){levels * bool(self.levels)} "
            f"by the method {self.method} "
            f"with {budget}, sets={self.sets} and {options} answers it"
            f"{_IF_FILLED * bool(self.epsilon)}"
        )


class RefusedError(InferenceError):
    """A question without valid error bars.

    Attributes:
        reason: why, as the end of a sentence.
        advice: what would answer it; None where nothing is known to.
        instead: nearby questions that the same release answers.
        anyway: whether numbers without valid error bars can be had.
    """

    def __init__(
        self,
        reason: str,
        advice: Advice | None,
        *,
        anyway: bool = True,
        instead: Sequence[str] = (),
    ) -> None:
        hint = advice.text if advice else "nothing in this program is known to answer it"
        other = f"; this release answers {' and '.join(map(quoted, instead))}" if instead else ""
        end = f" ({_ANYWAY})" if anyway else ""
        super().__init__(f"No valid error bars can be given: {reason}; {hint}{other}{end}.")
        self.reason, self.advice, self.instead, self.anyway = reason, advice, tuple(instead), anyway


def quoted(text: str) -> str:
    """A text as one word of a command line."""
    return shlex.quote(text) if set('"$`\\!') & set(text) else f'"{text}"'


def unmeasured(release: Release, facts: Facts, *, bootstrap: bool = False) -> RefusedError:
    """The refusal of a question that measurements alone answer, and none of a release does.

    Args:
        release: that refuses it.
        facts: of the question, of a kind of `MEASURED_ONLY`.
        bootstrap: whether the bootstrap was asked for.
    """
    advice = advise(release, facts, bootstrap=bootstrap) if facts.kind in TWO_WAY else None
    return RefusedError(MEASURED_ONLY[facts.kind], advice, anyway=False)


def advise(release: Release, facts: Facts, *, bootstrap: bool = False) -> Advice | None:
    """What would answer a question, if that is known.

    Args:
        release: that refuses it.
        facts: of the question.
        bootstrap: whether a bootstrap refuses it.
    """
    if bootstrap and facts.countable and choose(facts).valid:
        return Advice("rules")
    if not facts.columns or _n_cells(release, facts) > MOST_CELLS:
        return None
    dense = {"form": "dense"}
    if facts.counted or facts.kind in ("quantile", *TWO_WAY):
        return Advice("release", facts.columns, "laplace", options=dense)
    epsilon = enough(release, facts)
    if epsilon is None:
        return None
    split = dense | {"sets": "split"}
    return Advice(
        "release", facts.columns, "laplace", epsilon, SPLIT_SETS, split, _levels(release, facts)
    )


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
