"""Which rule gives valid error bars, from what is public about a release.

The choice is one table, `RULES`, read from the top; the first rule that applies is taken. A rule
with `valid=False` refuses, in a sentence that says why and what would work. A kind of set that does
not exist yet (multiple synthesis, say, whose sets are drawn from fresh posterior parameters) gets a
line in `FRESH`, and if need be a row.

**Why T = ū + b/m holds for sets that each have their own noise.** Given the rows, set l has the
estimate q_l = q + bias + noise_l + draw_l, where q is what the rows give and noise and draws are
independent between sets. So the mean q̄ varies around q by Var(noise + draw)/m, which b/m estimates
without knowing any law, and q varies around the truth by the sampling variance, which each u_l
estimates as if its set were real. T is their sum, as in partial synthesis (Reiter 2003), and b/m is
both noise and synthesis. What b cannot show is the bias common to all sets: negative noisy counts
were set to 0, or cells below a threshold left out.

**When that bias is small enough.** `distortion` estimates the share δ of records that this puts
into cells, or takes out of them. An estimate moves by δ·(u - q), where u is its value among these
records. Most standard errors are about ½·sd/√n or more, so with |u - q| about half an sd the bias
stays below half a standard error while δ ≤ ½/√n, which costs an interval of 95 % about 3 points of
coverage. Beyond that the rule is refused. Shares of rare levels have a much smaller standard error
and can vanish whole; for shares the rule is also refused where δ exceeds half the standard error of
one of them. This is a rule of thumb, measured in `tests/inference/test_analysis.py` and in the
coverage study, not a theorem.

Sources: Reiter (2003), Survey Methodology 29, 181-188; Raab, Nowok & Dibben (2016) for sets that
share a fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.inference.counts import MOST_CELLS, covers
from understudy.inference.estimands import RATIOS, SHARES
from understudy.inference.urns import are_drawn
from understudy.release import Measurement, Release
from understudy.schema import Schema

FRESH = {"split": "partial", "posterior": "partial"}
"""Kinds of sets whose noise (or parameters) is fresh in each set → the rule that counts it."""

_OWN = {"split": "noise", "posterior": "parameters"}
"""What is fresh in each set, in a word."""

_COUNTED = ", ".join(RATIOS)


@dataclass(frozen=True)
class Facts:
    """What the choice of a rule depends on; all of it public.

    Attributes:
        kind: of the estimand; "function" for an analyst's own.
        columns: that it uses.
        full: whether a full noisy table over these columns is released.
        together: whether any released measurement covers them together.
        sets: number of sets.
        sets_kind: how they were made.
        n_rows: records in each set.
        distortion: share of records misplaced by clipping or thresholds, 0 to 1.
        drawn: whether all sets were drawn from urns over these columns and more.
        conditioned: whether impossible combinations of columns that were measured apart change the
            distribution of these columns in the sets.
    """

    kind: str
    columns: tuple[str, ...]
    full: bool
    together: bool
    sets: int
    sets_kind: str
    n_rows: int
    distortion: float
    drawn: bool = False
    conditioned: bool = False

    @property
    def counted(self) -> bool:
        """Whether the estimand is a sum of counts, or a ratio of two."""
        return self.kind in RATIOS or self.kind == "total"


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    Attributes:
        name: "noise-aware", or a rule of `understudy.inference.pooling`, or "none".
        applies: whether it is taken.
        reason: why, in one sentence.
        valid: whether the error bars are valid; if not, the row refuses.
    """

    name: str
    applies: Callable[[Facts], bool]
    reason: Callable[[Facts], str]
    valid: bool = True


def _fresh(facts: Facts) -> bool:
    return facts.sets_kind in FRESH and facts.sets > 1


def _shared_reason(facts: Facts) -> str:
    if facts.sets == 1:
        why = "one set does not show how much noise and synthesis moved it"
    else:
        why = (
            f"the {facts.sets} sets are drawn from one noisy fit and share its noise, which their "
            "differences do not show"
        )
    if facts.counted:
        remedy = "that measures a full table of these columns, or makes several split sets"
    else:
        remedy = "of several split sets (option sets=split)"
    linear = "" if facts.counted else f", or for a {_COUNTED} if a full noisy table is released"
    return f"{why}; ask the publisher for a release {remedy}{linear}"


def _apart_reason(facts: Facts) -> str:
    names = ", ".join(facts.columns)
    return (
        f"the columns {names} were never measured together, so the sets do not keep how they go "
        "together; ask the publisher for a release whose method measures them in one table, or "
        "analyse them one by one"
    )


def _conditioned_reason(facts: Facts) -> str:
    names = ", ".join(facts.columns)
    return (
        "the schema forbids combinations of columns that were measured apart; leaving these out of "
        f"the sets changes the distribution of {names} in them; ask the publisher for a release "
        "whose method measures those columns in one table"
    )


def distorted_reason(facts: Facts) -> str:
    """Why misplaced records forbid an interval, and what would help."""
    percent = 100 * facts.distortion
    digits = 0 if percent >= 10 else 1
    return (
        f"about {percent:.{digits}f} % of the records are misplaced (by negative noisy counts set "
        "to 0, a prior, a distribution chosen whole or small cells left out), which biases every "
        "set alike; ask the publisher for more people per cell: fewer columns, coarser bins, fewer "
        "sets or a larger epsilon"
    )


RULES: tuple[Rule, ...] = (
    Rule(
        "noise-aware",
        lambda facts: facts.counted and (facts.full or facts.drawn),
        lambda facts: (
            "computed from the released noisy counts, whose noise is known exactly, not from the "
            "synthetic records"
            if facts.full
            else "computed from the synthetic records by the law they were drawn from, which is "
            "known exactly: what the prior added is taken off again"
        ),
    ),
    Rule(
        "none",
        lambda facts: facts.kind == "total",
        lambda facts: (
            "a total needs a released full noisy table of its columns; take the kind mean, or ask "
            "the publisher for a method that measures one"
        ),
        valid=False,
    ),
    Rule("none", lambda facts: not facts.together, _apart_reason, valid=False),
    Rule("none", lambda facts: facts.conditioned, _conditioned_reason, valid=False),
    Rule("none", lambda facts: not _fresh(facts), _shared_reason, valid=False),
    Rule(
        "none",
        lambda facts: facts.distortion > most_distortion(facts.n_rows),
        distorted_reason,
        valid=False,
    ),
    Rule(
        FRESH["split"],
        _fresh,
        lambda facts: (
            f"each of the {facts.sets} sets has its own {_OWN[facts.sets_kind]}, so their "
            f"differences show {_OWN[facts.sets_kind]} and synthesis (T = ū + b/m, Reiter 2003)"
        ),
    ),
)


def choose(facts: Facts) -> Rule:
    """The first rule that applies."""
    return next(rule for rule in RULES if rule.applies(facts))


def facts_of(release: Release, kind: str, columns: Sequence[str]) -> Facts:
    """What is public about a release and matters to an analysis of some columns."""
    measured = release.measurements
    n_cells = math.prod(release.schema.columns[name].size for name in columns)
    manifest = release.manifest
    return Facts(
        kind=kind,
        columns=tuple(columns),
        full=n_cells <= MOST_CELLS and any(covers(one, columns) for one in measured),
        together=any(set(columns) <= set(one.columns) for one in measured),
        sets=manifest.sets,
        sets_kind=manifest.sets_kind,
        n_rows=manifest.n_rows,
        distortion=distortion(
            measured,
            columns,
            manifest.n_rows,
            release.schema,
            prior=float(manifest.options.get("prior", 0)),
        ),
        drawn=are_drawn(measured, columns, manifest, release.schema),
        conditioned=bool(_cut_off(measured, release.schema) & set(columns)),
    )


def _cut_off(measured: Sequence[Measurement], schema: Schema) -> set[str]:
    """Columns measured together with one that is in a rule over columns that were measured apart.

    Records that such a rule forbids are drawn again, which shifts its columns and whatever goes
    together with them.
    """
    tables = [set(one.columns) for one in measured]
    apart = [
        set(rule.where)
        for rule in schema.forbidden
        if not any(set(rule.where) <= table for table in tables)
    ]
    return {name for rule in apart for table in tables if rule & table for name in table}


def most_distortion(n_rows: int) -> float:
    """Largest share of misplaced records at which bias is small beside most standard errors."""
    return 1 / (2 * math.sqrt(max(n_rows, 1)))


def distorts(facts: Facts, stderr: NDArray[np.float64]) -> bool:
    """Whether misplaced records could move one of these shares by more than its standard error.

    A share is between 0 and 1, so a share δ of misplaced records moves it by δ at most; a rare
    level can vanish whole within a δ that is harmless for a common one. Beyond half a standard
    error the rule is refused, as for other estimates.

    Args:
        facts: what is public about the release.
        stderr: standard errors of the shares, shape (k,).
    """
    return facts.kind in SHARES and bool((facts.distortion > stderr / 2).any())


_DISTORTING = ("table", "cells", "totals", "draws", "distribution")
"""Kinds of measurements that say how many records are misplaced."""


def distortion(
    measured: Sequence[Measurement],
    columns: Sequence[str],
    n_rows: int,
    schema: Schema,
    *,
    prior: float = 0.0,
) -> float:
    """Share of a set's records that clipping, a threshold or a prior misplaced, estimated, 0 to 1.

    Mean over the measurements of one table (one for each split set); the least over several tables
    that cover the columns. 0 if none does.
    """
    shares: dict[tuple[str, ...], list[float]] = {}
    for one in measured:
        if set(columns) <= set(one.columns) and one.kind in _DISTORTING:
            shares.setdefault(one.columns, []).append(_misplaced(one, n_rows, schema, prior))
    return min((sum(found) / len(found) for found in shares.values()), default=0.0)


def _misplaced(measurement: Measurement, n_rows: int, schema: Schema, prior: float) -> float:
    """With P the mass that records are drawn from and Y the unbiased number of records: 1 - Y/P.

    For a full table Y is the sum of all noisy counts and P that of the positive ones; for totals
    of a table that was never written out, Y is the number of rows. A filtered table has gained the
    mass S of empty cells that noise alone lifted over the threshold, known in expectation, and lost
    cells below it: the larger of the shares S/P and 1 - (P - S)/n. What a prior adds to each cell
    of a full table, or to the rows, is misplaced too. Of a distribution that the exponential
    mechanism chose no bias is known, only the size of its error, so that stands for it.
    """
    if measurement.kind == "distribution":
        return min(1.0, measurement.stddev / max(n_rows, 1))
    if measurement.kind == "draws":
        urn = measurement.totals or {}
        return _share(n_rows, n_rows + urn["prior"] * urn["cells"])
    if measurement.kind == "totals":
        mass = (measurement.totals or {}).get("positive_mass", 0.0)
        return _share(n_rows, mass)
    counts = measurement.counts
    mass = float(counts[counts > 0].sum())
    if measurement.law.startswith("truncated"):  # its noise is not centred where counts are small
        return _share(n_rows, mass)
    if measurement.kind == "cells":
        real = mass - _spurious(measurement, schema)
        return max(_share(real, mass), _share(real, n_rows))
    return _share(float(counts.sum()), mass + prior * _n_allowed(measurement, schema))


def _n_allowed(measurement: Measurement, schema: Schema) -> int:
    return measurement.binned(schema).table(measurement.columns).n_allowed


def _spurious(measurement: Measurement, schema: Schema) -> float:
    """Expected mass of empty cells that noise alone lifted over the threshold."""
    scale, least = float(Fraction(measurement.scale)), float(measurement.threshold or 0)
    # A Laplace-type tail: half of it lies above 0, and it exceeds any threshold by one scale.
    return _n_allowed(measurement, schema) * 0.5 * math.exp(-least / scale) * (least + scale)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, 1 - part / whole)) if whole > 0 else 1.0
