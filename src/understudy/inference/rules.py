"""Which rule gives valid error bars, or refuses, from what is public about a release.

The other grounds of a refusal: numbers beyond bounds and records out of domain
(`inference.refusals`), and estimates that are lost in noise (`inference.second_moments`).

The choice is one table, `RULES`, read from the top; the first rule that applies is taken. A rule
with `valid=False` refuses, in a sentence that says why; `inference.refusals.advise` says what would
work. A new kind of sets gets a line in `FRESH`, and if need be a row.

**Why T = ū + b/m holds for sets that each have their own noise.** Given the rows, set l has the
estimate q_l = q + bias + noise_l + draw_l, where q is what the rows give and noise and draws are
independent between sets. So the mean q̄ varies around q by Var(noise + draw)/m, which b/m estimates
without knowing a distribution, and q varies around the truth by the sampling variance, which each
u_l estimates as if its set were real. T is their sum, as in partial synthesis (Reiter 2003), and
b/m is both noise and synthesis. What b cannot show is the bias common to all sets: negative noisy
counts were set to 0, or cells below a threshold left out.

**Why T = ū + (1 + 1/m)·b holds for sets from tables with redrawn noise.** The measured tables
have noise e, which all sets share; set l comes from the tables with further noise e_l of the same
distribution on top (`understudy.methods.noisy_marginals`). As far as the estimate is linear in
small changes of the tables, q_l = q + N + N_l + draw_l, where N and N_l, which come from e and e_l,
have the same variance V, and draws have D. The mean varies around q by V + (V + D)/m; b estimates V
+ D. So (1 + 1/m)·b exceeds it by D on average: exact where records are drawn systematically, so
that what was measured has next to no D, and conservative else. T adds the sampling variance ū: it
is the rule of Rubin (1987), here with the noise as what is missing, with his degrees of freedom (m
- 1)(1 + ū/((1 + 1/m)·b))². What b cannot show is bias: of the pull of the model towards even
shares, of negative counts set to 0, and of relations that were not measured.

**When that bias is small enough.** `rules.distortion` estimates the share δ of records that
this puts into cells, or takes out of them. An estimate moves by δ·(u - q), where u is its value
among these records. Most standard errors are about ½·sd/√n or more, so with |u - q| about half an
sd the bias stays below half a standard error while δ ≤ ½/√n, which costs an interval of 95 % about
3 points of coverage. Beyond that the rule is refused. Shares of rare levels have a much smaller
standard error and can vanish whole; for shares the rule is also refused where δ exceeds half the
standard error of one of them. This is a rule of thumb, measured in
`tests/inference/test_analysis.py` and in the coverage study, not a theorem.

**Where that is not asked.** Counts below 0, and sets that are alike, are chances: a refusal by them
leaves releases whose noise lay on one side, and their intervals miss more often than they say. A
model of columns as they are (`a ~ b + c`) depends on how far each two go together, which redrawn
fits keep more firmly than counts, without that bias (`understudy.graphical.estimation`,
`benchmarks/redrawn_coverage.py`): it is answered whatever the noise.

Sources: Reiter (2003), Survey Methodology 29, 181-188; Rubin (1987), Multiple Imputation for
Nonresponse in Surveys, eqs. 3.1.5 and 3.1.6; Raab, Nowok & Dibben (2016) for sets that
share a fit.

**What the choice of a rule depends on: facts about a release, all of them public.**

**How many records of a set clipping, thresholds and priors misplaced.**

Negative noisy counts are set to 0, cells below a threshold are left out, a prior adds records
everywhere: what a set is drawn from has another mass than the unbiased counts behind it. The share
of records that this puts into cells, or takes out of them, biases all sets alike, so that their
differences do not show it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.graphical.estimation import contrasts_of
from understudy.inference.noisy_tables import (
    MOST_CELLS,
    covers,
)
from understudy.inference.question import RATIOS, SHARES, TWO_WAY
from understudy.inference.records import (
    is_binned,
    is_grouping,
    level_values,
)
from understudy.models.bayesian_network import find_kept_columns
from understudy.models.model import Edge
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement, groups_of, kept_columns
from understudy.release.release import Release, once
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Column, Schema, is_ordered

_DISTORTING = (
    *(Kind.TABLE, Kind.CELLS, Kind.TOTALS),
    *(Kind.LEAF_SUMS, Kind.DRAWS, Kind.DISTRIBUTION),
)
"""Kinds of measurements that say how many records are misplaced."""


def distortion(
    measured: Sequence[Measurement],
    columns: Sequence[str],
    n_rows: int,
    schema: Schema,
    *,
    prior: float = 0.0,
    network: Sequence[Edge] | None = None,
) -> float:
    """Share of a set's records that clipping, a threshold or a prior misplaced, estimated, 0 to 1.

    Mean over the measurements of one table (one for each split set). The least over several tables
    that cover the columns, as what is drawn keeps to the best of them; in a network the sum over
    the tables of the columns and of all that they descend from. 0 if no table covers them.

    Args:
        measured: what was released.
        columns: names of the columns in question; all of them, if records are drawn from the cells
            of the full table alone.
        n_rows: number of rows, as declared or released.
        schema: the public schema.
        prior: records that the method adds to each cell.
        network: the network that sets are drawn from, if it is one.
    """
    return combine_shares(
        compute_misplaced_shares(measured, n_rows, schema, prior=prior), columns, network=network
    )


def compute_misplaced_shares(
    measured: Sequence[Measurement], n_rows: int, schema: Schema, *, prior: float = 0.0
) -> dict[frozenset[str], float]:
    """Compute the share that each table misplaced, by its columns; arguments as in `distortion`."""
    shares: dict[frozenset[str], list[float]] = {}
    for measurement in measured:
        if measurement.kind in _DISTORTING:
            share = _compute_misplaced_share(measurement, n_rows, schema, prior)
            shares.setdefault(frozenset(measurement.columns), []).append(share)
    return {table: sum(several) / len(several) for table, several in shares.items()}


def combine_shares(
    shares: Mapping[frozenset[str], float],
    columns: Sequence[str],
    *,
    network: Sequence[Edge] | None = None,
) -> float:
    """`distortion` of some columns, by the shares that `compute_misplaced_shares` returns."""
    if network is None:
        return _least(shares, columns)
    needed = ancestors(network, columns)
    families = [(column, *parents) for column, parents in network if column in needed]
    return min(1.0, sum(_least(shares, family) for family in families))


def _least(shares: Mapping[frozenset[str], float], columns: Sequence[str]) -> float:
    """The least share among the tables that cover some columns."""
    return min((share for table, share in shares.items() if set(columns) <= table), default=0.0)


def _compute_misplaced_share(
    measurement: Measurement, n_rows: int, schema: Schema, prior: float
) -> float:
    """With P the mass that records are drawn from and Y the unbiased number of records: 1 - Y/P.

    For a full table Y is the sum of all noisy counts and P that of the positive ones; for totals
    of a table that was never written out, Y is the number of rows. A filtered table has gained the
    mass S of empty cells that noise alone lifted over the threshold, known in expectation, and lost
    cells below it: the larger of the shares S/P and 1 - (P - S)/n. What a prior adds to each cell
    of a full table, or to the rows, is misplaced too. Of a distribution that the exponential
    mechanism chose no bias is known, only the size of its error, so that stands for it.
    """
    if measurement.kind is Kind.DISTRIBUTION:
        return min(1.0, measurement.stddev / max(n_rows, 1))
    if measurement.kind is Kind.DRAWS:
        urn = measurement.totals or {}
        return _share(n_rows, n_rows + urn["prior"] * urn["cells"])
    if measurement.kind in (Kind.TOTALS, Kind.LEAF_SUMS):
        mass = (measurement.totals or {}).get("positive_mass", 0.0)
        return _share(n_rows, mass)
    counts = measurement.counts
    mass = float(counts[counts > 0].sum())
    if measurement.family.is_truncated:  # its noise is not centred where counts are small
        return _share(n_rows, mass)
    if measurement.kind is Kind.CELLS:
        real = mass - _spurious(measurement, schema)
        return max(_share(real, mass), _share(real, n_rows))
    return _share(float(counts.sum()), mass + prior * _n_allowed(measurement, schema))


def _n_allowed(measurement: Measurement, schema: Schema) -> int:
    return measurement.domain(schema).n_allowed


def _spurious(measurement: Measurement, schema: Schema) -> float:
    """Expected mass of empty cells that noise alone lifted over the threshold."""
    scale, least = float(Fraction(measurement.scale)), float(measurement.threshold or 0)
    # A Laplace-type tail: half of it lies above 0, and it exceeds any threshold by one scale.
    return _n_allowed(measurement, schema) * 0.5 * math.exp(-least / scale) * (least + scale)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, 1 - part / whole)) if whole > 0 else 1.0


def ancestors(network: Sequence[Edge], columns: Iterable[str]) -> set[str]:
    """Some columns and all that they descend from.

    Args:
        network: each column with its parents, which stand before it.
        columns: names.

    Example:
        >>> sorted(ancestors((("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ())), ["c"]))
        ['a', 'b', 'c']
    """
    needed = set(columns)
    for column, parents in reversed(network):
        if column in needed:
            needed.update(parents)
    return needed


FEWEST_RUNS = 4
"""Runs of an ordered column that tell how a relation goes on within them."""


@dataclass(frozen=True)
class RuleFacts:
    """Facts on which the choice of a rule depends; all of it is public.

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
        merged: columns whose states the answer needs one by one together with other columns, and
            that were measured together with these in merged states only.
        binned: numeric columns whose numbers are known by bins only.
        moved: whether records of the sets got other values of these columns for a minimum count.
        redrawn: whether sets share one noise, and each has as much again of its own.
        conditioned: whether impossible combinations of columns that were measured apart change the
            distribution of these columns in the sets.
        swept: whether records were drawn column by column.
        picked: whether records come from a generator whose parameters were chosen among candidates.
        shrunk: whether a penalty makes relations between columns weaker in all sets.
        weighted: whether one of the columns was drawn from a posterior of the exact rows.
        firm: whether redrawn fits keep how far any two of the columns go together more firmly than
            their single counts (`understudy.graphical.estimation`).
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
    swept: bool = False
    picked: bool = False
    shrunk: bool = False
    weighted: bool = False
    merged: tuple[str, ...] = ()
    redrawn: bool = False
    firm: bool = False
    binned: tuple[str, ...] = ()
    moved: bool = False

    @property
    def counted(self) -> bool:
        """True if the estimand is a sum of counts, or a ratio of two."""
        return self.kind in RATIOS or self.kind == "total"

    @property
    def countable(self) -> bool:
        """True if the released counts, or how the sets were drawn, answer it without the sets."""
        if self.kind in ("quantile", *TWO_WAY):  # follow from the counts of a table
            return self.full
        return self.counted and (self.full or self.drawn)


def facts_of(
    release: Release, kind: str, columns: Sequence[str], *, additive: bool = False
) -> RuleFacts:
    """Collect the public facts of a release that matter to an analysis of some columns.

    Args:
        release: that is analysed.
        kind: of the estimand.
        columns: that it uses.
        additive: whether it is a model of the columns as they are, without interactions.
    """
    # The sets know nothing of what an amendment measured later; answers from counts do.
    measured = release.behind_sets
    n_cells = math.prod(release.schema.columns[name].size for name in columns)
    manifest = release.manifest
    made, kept = manifest.inference, manifest.minimum_count
    moved = kept is not None and kept.touches(columns, release.schema)
    return RuleFacts(
        kind=kind,
        columns=tuple(columns),
        full=n_cells <= MOST_CELLS
        and any(covers(table, columns) for table in release.measurements),
        together=any(set(columns) <= table for table in _kept_together(release)),
        sets=manifest.sets,
        sets_kind=manifest.sets_kind,
        n_rows=manifest.n_rows,
        distortion=combine_shares(
            _misplaced_of_release(release), _drawn_from(release, columns), network=made.network
        ),
        merged=_find_merged(measured, kind, columns, release.schema),
        redrawn=made.posterior_rule == "mi",
        firm=additive
        and made.posterior_rule == "mi"
        and _are_firm(measured, columns, release.schema),
        binned=tuple(
            name
            for name in columns
            if name not in made.modelled and is_binned(release.schema.columns[name])
        ),
        swept=made.swept or any(table.kind is Kind.SWEEPS for table in measured),
        picked=any(table.kind is Kind.PARAMETERS for table in measured),
        shrunk=made.shrunk,
        weighted=any(table.kind is Kind.POSTERIOR for table in measured)
        and not set(columns) <= set(kept_columns(measured)),
        drawn=not moved and are_drawn(measured, columns, manifest, release.schema),
        moved=moved,
        conditioned=bool(_cut_off(release) & set(columns)),
    )


@once
def _misplaced_of_release(release: Release) -> dict[frozenset[str], float]:
    return compute_misplaced_shares(
        release.behind_sets,
        release.manifest.n_rows,
        release.schema,
        prior=release.manifest.inference.prior_weight,
    )


def _are_firm(measured: Sequence[Measurement], columns: Sequence[str], schema: Schema) -> bool:
    """Return whether each two columns have effects, and those are all that a model sees.

    A model sees all levels of an ordered column that are texts; its evenly spaced scores are one
    effect among several.
    """
    groups = groups_of(measured)
    many = 0
    for name in columns:
        column = schema.columns[name]
        n = len(contrasts_of(column, groups.get(name)))
        many += n > 1
        seen = len(level_values(column)) - 1 if is_grouping(column) else 1
        if n == 0 or n < seen:
            return False
    return many < 2


def merged_columns(measured: Sequence[Measurement], columns: Sequence[str]) -> tuple[str, ...]:
    """Columns whose states are merged in the finest measured table that has all of some columns.

    Args:
        measured: what was released; tables that no record is drawn from are passed over.
        columns: several; of one column alone every state is measured.
    """
    counted = [table for table in measured if table.kind.is_joint and not table.beside]
    covering = [table for table in counted if set(columns) <= set(table.columns)]
    merged = [tuple(name for name in columns if name in table.groups) for table in covering]
    return min(merged, key=len, default=())


def _find_merged(
    measured: Sequence[Measurement], kind: str, columns: Sequence[str], schema: Schema
) -> tuple[str, ...]:
    """Merged columns whose states matter one by one: all of them in shares, else unordered ones.

    A moment or a coefficient of a number changes little when neighbours are merged into many runs
    of about equal mass (`understudy.inference.set_answers`). Fewer than `FEWEST_RUNS` say nothing
    of how a relation goes on within a long one.
    """
    names = merged_columns(measured, columns)
    if kind in SHARES:
        return names
    groups = groups_of(measured)
    return tuple(name for name in names if not _in_runs(schema.columns[name], groups[name]))


def _in_runs(column: Column, groups: Sequence[int]) -> bool:
    """Return whether states of a column are merged with neighbours only, spikes left aside."""
    if not is_ordered(column):
        return False
    values = list(groups[: column.n_ordinary])
    longest = max(values.count(group) for group in set(values))
    if len(set(values)) < FEWEST_RUNS and longest > 2:
        return False
    if isinstance(column, NUMERIC):
        pairs = zip(values, column.intervals, strict=True)
        values = [group for group, interval in pairs if not interval.spike]
    return len(set(values)) == len([group for group, _ in groupby(values)])


def _drawn_from(release: Release, columns: Sequence[str]) -> Sequence[str]:
    """Columns of the table whose cells records are drawn from.

    Where shares are handed down a tree, upper layers are kept, and columns stand for themselves;
    records that are drawn from the leaves alone have what is wrong with the leaves.
    """
    whole = release.schema.names
    leaves = release.manifest.inference.leaves_only
    measured = any(
        set(table.columns) == set(whole) and table.kind.is_joint for table in release.behind_sets
    )
    return whole if leaves and measured else columns


@once
def _tables(release: Release) -> tuple[frozenset[str], ...]:
    """Columns of each table that the sets know of."""
    return tuple(frozenset(one.columns) for one in release.behind_sets if one.kind.is_joint)


@once
def _kept_together(release: Release) -> tuple[frozenset[str], ...]:
    """Columns that are drawn as one table has them."""
    network = release.manifest.inference.network
    return tuple(map(frozenset, find_kept_columns(network))) if network else _tables(release)


@once
def _cut_off(release: Release) -> frozenset[str]:
    """Columns that go together with one in a rule over columns that were drawn apart.

    Records that such a rule forbids are drawn again, which shifts its columns and whatever goes
    together with them: columns of one table, and of tables that overlap. In a network a rule over
    parents that are drawn one by one is of that kind, though a table covers it.
    """
    together = _kept_together(release)
    boxes = (set(box) for _, box in release.schema.boxes)
    apart = [box for box in boxes if not any(box <= names for names in together)]
    groups: list[frozenset[str]] = []
    for table in _tables(release):
        joined = [group for group in groups if group & table]
        groups = [group for group in groups if not group & table] + [table.union(*joined)]
    return frozenset(name for rule in apart for group in groups if rule & group for name in group)


def shared_reason(facts: RuleFacts) -> str:
    """Explain why sets that share one noise forbid an interval."""
    if facts.sets == 1:
        return "one set does not show how much noise and synthesis moved it"
    return (
        f"the {facts.sets} sets are drawn from one noisy fit and share its noise, which their "
        "differences do not show"
    )


def total_reason(_facts: RuleFacts) -> str:
    """Explain why sets have no totals."""
    return "a total needs a released full noisy table of its columns"


def apart_reason(facts: RuleFacts) -> str:
    """Explain why columns that were measured apart forbid an interval."""
    if len(facts.columns) == 1:
        return (
            f"the column {facts.columns[0]} was drawn by way of columns that were never measured "
            "together, which biases all sets alike"
        )
    names = ", ".join(facts.columns)
    return (
        f"the columns {names} were never measured together, or only by way of others, so the sets "
        "do not keep how they go together"
    )


def conditioned_reason(facts: RuleFacts) -> str:
    """Explain why rules over columns that were measured apart forbid an interval."""
    return (
        "the schema forbids combinations of columns that were measured apart, and leaving these "
        f"out of the sets changes the distribution of {', '.join(facts.columns)} in them"
    )


def swept_reason(_facts: RuleFacts) -> str:
    """Explain why records drawn column by column forbid an interval."""
    return (
        "the records were drawn column by column, which pulls shares and relations towards an even "
        "spread, by an amount that nobody outside knows"
    )


def picked_reason(_facts: RuleFacts) -> str:
    """Explain why parameters that were chosen among candidates forbid an interval."""
    return (
        "the records come from a generator that was chosen at random, by how well it suits the "
        "rows, and nobody outside knows how well"
    )


def weighted_reason(_facts: RuleFacts) -> str:
    """Explain why a model that weighs records forbids an interval."""
    return (
        "the records come from a model of the rows, in which some may weigh less, and nobody "
        "outside knows what it misses"
    )


def shrunk_reason(_facts: RuleFacts) -> str:
    """Explain why relations that a penalty made weaker forbid an interval."""
    return (
        "columns were filled in by regressions with a penalty, which makes relations between "
        "columns weaker by an amount that the sets do not show"
    )


def moved_reason(facts: RuleFacts) -> str:
    """Explain why records that moved for a minimum count forbid an interval."""
    return (
        f"rare combinations of key columns were emptied in the sets for a minimum count, which "
        f"changes {', '.join(facts.columns)} in all sets alike"
    )


def merged_reason(facts: RuleFacts) -> str:
    """Explain why merged states forbid an interval."""
    return (
        f"rare or neighbouring states of {', '.join(facts.merged)} were merged before they were "
        "measured together with other columns"
    )


def distorted_reason(facts: RuleFacts) -> str:
    """Explain why misplaced records forbid an interval."""
    percent = 100 * facts.distortion
    digits = 0 if percent >= 10 else 1
    return (
        f"about {percent:.{digits}f} % of the records are misplaced, since noisy counts below 0 or "
        "small ones were changed, which biases every set alike"
    )


def binned_reason(facts: RuleFacts) -> str:
    """Explain why bins forbid an interval for a function of unknown computation."""
    return (
        f"of {', '.join(facts.binned)} only bins are known, and what a function makes of numbers "
        "within them cannot be bounded"
    )


def noisy_reason(_facts: RuleFacts) -> str:
    """Explain why noise that outweighs sampling by far forbids an interval."""
    return (
        "nearly all of the variance is privacy noise, and so much of it pulls relations towards "
        "none in every set alike"
    )


def errorless_reason(names: str) -> str:
    """Explain why what does not vary forbids an interval."""
    return (
        f"the records that decide {names} do not vary, which says nothing of how they vary in the "
        "population"
    )


RefusalCode = Literal[
    "not-measured",
    "not-told",
    "no-delta",
    "lost-in-noise",
    "too-few",
    "sets-not-valid",
    "bootstrap-not-valid",
    "beyond-bounds",
    "out-of-domain",
]
CODES: Final[tuple[RefusalCode, ...]] = get_args(RefusalCode)
"""Why a question is refused, in a word.

* not-measured: nothing that was released has these columns together, or their states one by one.
* no-delta: the same, and with δ above 0 it would cost less ε.
* not-told: bins of the release do not tell who meets a condition.
* lost-in-noise: it was measured, and noise hides it.
* too-few: the records that decide it are too few, or do not differ.
* sets-not-valid: the synthetic sets do not show their error.
* bootstrap-not-valid: replicates do not show it either, or there are none.
* beyond-bounds: it is about numbers beyond declared bounds.
* out-of-domain: it lacks records that the schema does not describe.
"""

FRESH = {"split": "partial", "posterior": "partial"}
"""Kinds of sets whose noise (or parameters) is fresh in each set → the rule that counts it."""

_OWN = {"split": "noise", "posterior": "parameters"}
"""What is fresh in each set, in a word."""


MOST_SHARE = 5 / 6
"""Most of the variance that may be noise and synthesis, in sets from redrawn tables. A rule
of thumb, measured in the study "bootstrap-coverage"."""


COUNTS_REASON: Final = (
    "computed from the released noisy counts, whose noise is known exactly, not from the synthetic "
    "records"
)


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    Attributes:
        name: "noise-aware", or a rule of `understudy.inference.combining`, or
            "none".
        applies: whether it is taken.
        reason: why, in one sentence.
        valid: whether the error bars are valid; if not, the row refuses.
        code: of the refusal.
    """

    name: str
    applies: Callable[[RuleFacts], bool]
    reason: Callable[[RuleFacts], str]
    valid: bool = True
    code: RefusalCode = "sets-not-valid"


def _fresh(facts: RuleFacts) -> bool:
    return facts.sets_kind in FRESH and facts.sets > 1


_UNMEASURED: Final = "not-measured"

RULES: tuple[Rule, ...] = (
    Rule(
        "noise-aware",
        lambda facts: facts.countable,
        lambda facts: (
            COUNTS_REASON
            if facts.full
            else "computed from the synthetic records by the distribution they were drawn from, "
            "which is known exactly: what the prior added is taken off again"
        ),
    ),
    Rule("none", lambda facts: facts.swept, swept_reason, valid=False),
    Rule("none", lambda facts: facts.picked, picked_reason, valid=False),
    Rule("none", lambda facts: facts.weighted, weighted_reason, valid=False),
    Rule("none", lambda facts: facts.shrunk and len(facts.columns) > 1, shrunk_reason, valid=False),
    Rule("none", lambda facts: facts.moved, moved_reason, valid=False),
    Rule("none", lambda facts: facts.kind == "total", total_reason, valid=False, code=_UNMEASURED),
    Rule("none", lambda facts: not facts.together, apart_reason, valid=False, code=_UNMEASURED),
    Rule("none", lambda facts: facts.conditioned, conditioned_reason, valid=False),
    Rule("none", lambda facts: bool(facts.merged), merged_reason, valid=False, code=_UNMEASURED),
    Rule(
        "none",
        lambda facts: facts.kind == "function" and bool(facts.binned),
        binned_reason,
        valid=False,
        code=_UNMEASURED,
    ),
    Rule("none", lambda facts: not _fresh(facts), shared_reason, valid=False),
    Rule(
        "none",
        lambda facts: not facts.firm and facts.distortion > _most_distortion(facts),
        distorted_reason,
        valid=False,
    ),
    Rule(
        "mi",
        lambda facts: _fresh(facts) and facts.redrawn,
        lambda facts: (
            f"each of the {facts.sets} sets comes from measured tables with noise drawn anew, so "
            "their differences show as much noise as they share, and synthesis (T = ū + (1 + 1/m) "
            "b, Rubin 1987)"
        ),
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


def select_rule(facts: RuleFacts) -> Rule:
    """The first rule that applies."""
    return next(rule for rule in RULES if rule.applies(facts))


def most_distortion(n_rows: int) -> float:
    """Largest share of misplaced records at which bias is small beside most standard errors.

    Args:
        n_rows: records in each set.
    """
    return 1 / (2 * math.sqrt(max(n_rows, 1)))


def _most_distortion(facts: RuleFacts) -> float:
    """Of tables with redrawn noise a quarter of that.

    What is misplaced is estimated from the released counts, in which a cell without records is
    wrong by 0.4 σ on average. Redrawn noise makes that √2 times as much, and the pull of the model
    gives such a cell about as much again, in the same direction.
    """
    return most_distortion(facts.n_rows) * (0.25 if facts.redrawn else 1.0)


def distorts(facts: RuleFacts, stderr: NDArray[np.float64]) -> bool:
    """Return whether misplaced records could move a share by more than its standard error.

    A share is between 0 and 1, so a share δ of misplaced records moves it by δ at most; a rare
    level can vanish whole within a δ that is harmless for a common one. Beyond half a standard
    error the rule is refused, as for other estimates.

    Args:
        facts: what is public about the release.
        stderr: standard errors of the shares, of a quantile those of the distribution function
            there; shape (k,).
    """
    shares = (*SHARES, "quantile")
    return facts.kind in shares and bool((facts.distortion > stderr / 2).any())


def outweighs(facts: RuleFacts, share: NDArray[np.float64]) -> bool:
    """Return whether noise so outweighs sampling that the model's pull may bias an estimate.

    A model of greatest entropy lets a count stay behind its noisy value by an amount in proportion
    to the noise (`understudy.graphical.estimation`), in all sets alike.

    Args:
        facts: what is public about the release.
        share: part of each variance that is synthesis and noise, shape (k,).
    """
    return facts.redrawn and not facts.firm and bool((share > MOST_SHARE).any())


def are_drawn(
    measured: Sequence[Measurement], columns: Sequence[str], manifest: Manifest, schema: Schema
) -> bool:
    """Return whether all sets were drawn from urns of writable size over at least these columns."""
    urns = [urn for urn in measured if urn.kind is Kind.DRAWS]
    return (
        len(urns) == manifest.sets
        and manifest.n_rows > 0
        and all(set(columns) <= set(urn.columns) - set(urn.bins) for urn in urns)
        and all(urn.bin_schema(schema).domain.n_cells <= MOST_CELLS for urn in urns)
    )
