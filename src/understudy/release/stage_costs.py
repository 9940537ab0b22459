"""What a release has cost as it ended, and what it had cost before each of its amendments."""

from __future__ import annotations

from fractions import Fraction

from understudy.dp.accountant import Entry, RunCost
from understudy.release.consistency import stated_budget
from understudy.release.manifest import Manifest


def stage_costs(manifest: Manifest) -> tuple[Fraction, ...]:
    """Costs by each amendment, oldest first, and in all, in the unit of the budget.

    They are no less than the sums of prices (`RunCost`). Steps of infinite cost are not counted.

    Args:
        manifest: of a release that was checked.
    """
    accounting = stated_budget(manifest.budget).accounting
    entries = [Entry.from_json(entry, accounting) for entry in manifest.ledger]
    stages = [(one.entries, one.budget) for one in manifest.amendments]
    cost, costs, counted = RunCost(accounting, None), [], 0
    for upto, budget in [*stages, (len(entries), manifest.budget)]:
        cost.allow(stated_budget(budget).amount)
        for entry in entries[counted:upto]:
            cost.add(entry.spent or Fraction(0), entry.mechanism, entry.sensitivity)
        costs.append(cost.total)
        counted = upto
    return tuple(costs)
