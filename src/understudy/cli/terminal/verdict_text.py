"""Verdicts on claims as people see them in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from understudy.cli.terminal import escape, out

if TYPE_CHECKING:  # whoever calls has what is shown; nothing heavy is loaded to show help
    from understudy.inference.claims.verdict_result import Verdict, VerdictPlan


def found(verdict: Verdict, *, odds: bool) -> None:
    """A verdict, and perhaps how sure it was to be."""
    for sentence in str(verdict).splitlines():
        out.print(escape(sentence), soft_wrap=True)
    if odds:
        _odds(verdict.plan)


def planned(plan: VerdictPlan) -> None:
    """How a verdict would come about."""
    out.print(
        escape(
            f"{plan.claim}: {plan.subsets:,} random subsets of {plan.records:,} records would "
            f"vote, with noise of standard deviation {plan.noise.stddev:.3g} ({plan.noise_words}), "
            f"for {plan.epsilon}. More than {plan.band:,} votes beyond half decide."
        ),
        soft_wrap=True,
    )
    for note in plan.notes:
        out.print(escape(note), soft_wrap=True)
    _odds(plan)


def _odds(plan: VerdictPlan) -> None:
    """Stated probabilities, by how far the border is from the estimate of all rows."""
    table = Table(title="Standard errors of all rows between estimate and border")
    for heading in ("distance", "right", "undecided", "wrong"):
        table.add_column(heading, justify="right")
    for distance, odds in plan.by_distance.items():
        shown = (f"{100 * part:.1f} %" for part in (odds.right, odds.undecided, odds.wrong))
        table.add_row(f"{distance}", *shown)
    out.print(table)
