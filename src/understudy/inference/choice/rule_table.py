"""Which rule gives valid error bars, from what is public about a release.

The choice is one table, `RULES`, read from the top; the first rule that applies is taken. A rule
with `valid=False` refuses, in a sentence that says why; what would work, `advice` says. A kind of
set that does not exist yet (multiple synthesis, say, whose sets are drawn from fresh posterior
parameters) gets a line in `FRESH`, and if need be a row.

**Why T = ū + b/m holds for sets that each have their own noise.** Given the rows, set l has the
estimate q_l = q + bias + noise_l + draw_l, where q is what the rows give and noise and draws are
independent between sets. So the mean q̄ varies around q by Var(noise + draw)/m, which b/m estimates
without knowing a distribution, and q varies around the truth by the sampling variance, which each
u_l estimates as if its set were real. T is their sum, as in partial synthesis (Reiter 2003), and
b/m is both noise and synthesis. What b cannot show is the bias common to all sets: negative noisy
counts were set to 0, or cells below a threshold left out.

**Why T = ū + (1 + 1/m)·b holds for sets from tables with redrawn noise.** The measured tables
have noise e, which all sets share; set l comes from the tables with further noise e_l of the same
distribution on top (`understudy.families.noisy_marginal`). As far as the estimate is linear in
small changes of the tables, q_l = q + N + N_l + draw_l, where N and N_l, which come from e and e_l,
have the same variance V, and draws have D. The mean varies around q by V + (V + D)/m; b estimates V
+ D. So (1 + 1/m)·b exceeds it by D on average: exact where records are drawn systematically, so
that what was measured has next to no D, and conservative else. T adds the sampling variance ū: it
is the rule of Rubin (1987), here with the noise as what is missing, with his degrees of freedom (m
- 1)(1 + ū/((1 + 1/m)·b))². What b cannot show is bias: of the pull of the model towards even
shares, of negative counts set to 0, and of relations that were not measured.

**When that bias is small enough.** `distortion.distortion` estimates the share δ of records that
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
fits keep more firmly than counts, without that bias (`understudy.models.graphical.linear_effects`,
`benchmarks/redrawn_coverage.py`): it is answered whatever the noise.

Sources: Reiter (2003), Survey Methodology 29, 181-188; Rubin (1987), Multiple Imputation for
Nonresponse in Surveys, eqs. 3.1.5 and 3.1.6; Raab, Nowok & Dibben (2016) for sets that
share a fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.inference.choice.release_facts import Facts
from understudy.inference.estimates.estimands import SHARES


def shared_reason(facts: Facts) -> str:
    """Why sets that share one noise forbid an interval."""
    if facts.sets == 1:
        return "one set does not show how much noise and synthesis moved it"
    return (
        f"the {facts.sets} sets are drawn from one noisy fit and share its noise, which their "
        "differences do not show"
    )


def total_reason(_facts: Facts) -> str:
    """Why sets have no totals."""
    return "a total needs a released full noisy table of its columns"


def apart_reason(facts: Facts) -> str:
    """Why columns that were measured apart forbid an interval."""
    if len(facts.columns) == 1:
        return (
            f"the column {facts.columns[0]} was drawn by way of columns that were never measured "
            "together, which biases all sets alike"
        )
    names = ", ".join(facts.columns)
    return (
        f"the columns {names} were never measured together, or were drawn by way of others that "
        "were not, so the sets do not keep how they go together"
    )


def conditioned_reason(facts: Facts) -> str:
    """Why rules over columns that were measured apart forbid an interval."""
    return (
        "the schema forbids combinations of columns that were measured apart, and leaving these "
        f"out of the sets changes the distribution of {', '.join(facts.columns)} in them"
    )


def swept_reason(_facts: Facts) -> str:
    """Why records drawn column by column forbid an interval."""
    return (
        "the records were drawn column by column, with a weight or noise added to each row that "
        "was drawn from, which pulls shares and relations towards an even spread by an amount that "
        "nobody outside knows, in every set alike"
    )


def picked_reason(_facts: Facts) -> str:
    """Why parameters that were chosen among candidates forbid an interval."""
    return (
        "the records come from a generator whose parameters were chosen, at random and by how well "
        "they suit the rows, and how far it is from the rows is not known outside and alike in all "
        "sets"
    )


def weighted_reason(_facts: Facts) -> str:
    """Why a model that weighs records forbids an interval."""
    return (
        "the records come from a Bayesian model of the exact rows, in which records may weigh less "
        "the more they stand out, and what that and the model miss is not known outside and alike "
        "in all sets"
    )


def shrunk_reason(_facts: Facts) -> str:
    """Why relations that a penalty made weaker forbid an interval."""
    return (
        "columns were imputed by regressions with a penalty, which makes relations between columns "
        "weaker by an amount that the sets do not show"
    )


def merged_reason(facts: Facts) -> str:
    """Why merged states forbid an interval."""
    return (
        f"rare or neighbouring states of {', '.join(facts.merged)} were merged before they were "
        "measured together with other columns, so that the sets do not keep how each of them goes "
        "together with these"
    )


def distorted_reason(facts: Facts) -> str:
    """Why misplaced records forbid an interval."""
    percent = 100 * facts.distortion
    digits = 0 if percent >= 10 else 1
    return (
        f"about {percent:.{digits}f} % of the records are misplaced (by negative noisy counts set "
        "to 0, a prior, a distribution chosen whole or small cells left out), which biases every "
        "set alike"
    )


def binned_reason(facts: Facts) -> str:
    """Why bins forbid an interval for a function that says nothing of how it is computed."""
    return (
        f"of {', '.join(facts.binned)} only bins are known, and what a function makes of numbers "
        "that may lie anywhere in them cannot be bounded, as it can for the kinds of estimates by "
        "name; bins, spikes or levels of one value each would tell"
    )


def noisy_reason(_facts: Facts) -> str:
    """Why noise that outweighs sampling by far forbids an interval."""
    return (
        "nearly all of the variance is privacy noise, and where noise is so large the model pulls "
        "relations towards none, which biases every set alike"
    )


def errorless_reason(names: str) -> str:
    """Why what does not vary forbids an interval."""
    return (
        f"the records that decide {names} do not vary, which says nothing of how they vary in the "
        "population"
    )


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
        name: "noise-aware", or a rule of `understudy.inference.combining_rules`, or
            "none".
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
    Rule("none", lambda facts: facts.kind == "total", total_reason, valid=False),
    Rule("none", lambda facts: not facts.together, apart_reason, valid=False),
    Rule("none", lambda facts: facts.conditioned, conditioned_reason, valid=False),
    Rule("none", lambda facts: bool(facts.merged), merged_reason, valid=False),
    Rule(
        "none",
        lambda facts: facts.kind == "function" and bool(facts.binned),
        binned_reason,
        valid=False,
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


def choose(facts: Facts) -> Rule:
    """The first rule that applies."""
    return next(rule for rule in RULES if rule.applies(facts))


def most_distortion(n_rows: int) -> float:
    """Largest share of misplaced records at which bias is small beside most standard errors.

    Args:
        n_rows: records in each set.
    """
    return 1 / (2 * math.sqrt(max(n_rows, 1)))


def _most_distortion(facts: Facts) -> float:
    """Of tables with redrawn noise a quarter of that.

    What is misplaced is estimated from the released counts, in which a cell without records is
    wrong by 0.4 σ on average. Redrawn noise makes that √2 times as much, and the pull of the model
    gives such a cell about as much again, in the same direction.
    """
    return most_distortion(facts.n_rows) * (0.25 if facts.redrawn else 1.0)


def distorts(facts: Facts, stderr: NDArray[np.float64]) -> bool:
    """Whether misplaced records could move one of these shares by more than its standard error.

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


def outweighs(facts: Facts, share: NDArray[np.float64]) -> bool:
    """Whether noise outweighs sampling so far that the pull of the model may bias an estimate.

    A model of greatest entropy lets a count stay behind its noisy value by an amount in proportion
    to the noise (`understudy.models.graphical.max_entropy`), in all sets alike.

    Args:
        facts: what is public about the release.
        share: part of each variance that is synthesis and noise, shape (k,).
    """
    return facts.redrawn and not facts.firm and bool((share > MOST_SHARE).any())
