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

**When that bias is small enough.** `distortion.distortion` estimates the share δ of records that
this puts into cells, or takes out of them. An estimate moves by δ·(u - q), where u is its value
among these records. Most standard errors are about ½·sd/√n or more, so with |u - q| about half an
sd the bias stays below half a standard error while δ ≤ ½/√n, which costs an interval of 95 % about
3 points of coverage. Beyond that the rule is refused. Shares of rare levels have a much smaller
standard error and can vanish whole; for shares the rule is also refused where δ exceeds half the
standard error of one of them. This is a rule of thumb, measured in
`tests/inference/test_analysis.py` and in the coverage study, not a theorem.

Sources: Reiter (2003), Survey Methodology 29, 181-188; Raab, Nowok & Dibben (2016) for sets that
share a fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.inference.counts import MOST_CELLS, covers
from understudy.inference.distortion import distortion
from understudy.inference.estimands import RATIOS, SHARES
from understudy.inference.networks import network_of
from understudy.inference.urns import are_drawn
from understudy.models.bayesian_network import kept
from understudy.release import Release
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
        together: whether the sets keep their joint distribution up to noise: a released measurement
            covers them, or a family of columns that the network keeps.
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
    if len(facts.columns) == 1:
        return (
            f"the column {facts.columns[0]} was drawn by way of columns that were never measured "
            "together, which biases all sets alike; ask the publisher for a release whose columns "
            "have one parent each (option degree=1)"
        )
    names = ", ".join(facts.columns)
    return (
        f"the columns {names} were never measured together, or were drawn by way of others that "
        "were not, so the sets do not keep how they go together; ask the publisher for a release "
        "whose method measures them in one table, or analyse them one by one"
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
    network = network_of(release)
    tables = [frozenset(one.columns) for one in measured if one.kind != "choice"]
    kept_together = kept(network) if network else tables
    return Facts(
        kind=kind,
        columns=tuple(columns),
        full=n_cells <= MOST_CELLS and any(covers(one, columns) for one in measured),
        together=any(set(columns) <= one for one in kept_together),
        sets=manifest.sets,
        sets_kind=manifest.sets_kind,
        n_rows=manifest.n_rows,
        distortion=distortion(
            measured,
            _drawn_from(release, columns),
            manifest.n_rows,
            release.schema,
            prior=float(manifest.options.get("prior", 0)),
            network=network,
        ),
        drawn=are_drawn(measured, columns, manifest, release.schema),
        conditioned=bool(_cut_off(tables, kept_together, release.schema) & set(columns)),
    )


def _drawn_from(release: Release, columns: Sequence[str]) -> Sequence[str]:
    """Columns of the table whose cells records are drawn from.

    Where shares are handed down a tree, upper layers are kept, and columns stand for themselves;
    records that are drawn from the leaves alone have what is wrong with the leaves.
    """
    whole = release.schema.names
    leaves = release.manifest.options.get("allocation", "downward") != "downward"
    measured = any(set(one.columns) == set(whole) for one in release.measurements)
    return whole if leaves and measured else columns


def _cut_off(
    tables: Sequence[frozenset[str]], kept_together: Sequence[frozenset[str]], schema: Schema
) -> set[str]:
    """Columns that go together with one in a rule over columns that were drawn apart.

    Records that such a rule forbids are drawn again, which shifts its columns and whatever goes
    together with them: columns of one table, and of tables that overlap. In a network a rule over
    parents that are drawn one by one is of that kind, though a table covers it.

    Args:
        tables: columns of each measured table.
        kept_together: columns that are drawn as one table has them.
        schema: with the rules.
    """
    apart = [
        set(rule.where)
        for rule in schema.forbidden
        if not any(set(rule.where) <= one for one in kept_together)
    ]
    groups: list[frozenset[str]] = []
    for table in tables:
        joined = [one for one in groups if one & table]
        groups = [one for one in groups if not one & table] + [table.union(*joined)]
    return {name for rule in apart for group in groups if rule & group for name in group}


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
