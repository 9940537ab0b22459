"""Maps and evaluations of governed rows, entered in the ledger of their population.

They compare with confidential rows, so they are outside ε and stay inside. The ledger has them with
the sum of what the releases behind them cost, which counts against the caps once one is published
(`understudy ledger publish`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from understudy.pipeline.outlay import account_of
from understudy.populations.costs import NOTHING, Cost
from understudy.privacy.accounting.budget import Budget
from understudy.release import Release
from understudy.release.promise_check import stated_budget
from understudy.schema import Schema


def enter_evaluation(release: Release, what: str, ledger: str | Path | None) -> None:
    """Enter a comparison of a release with its rows, before they are read; nothing if ungoverned.

    Args:
        release: that is compared.
        what: in a few words.
        ledger: as in `understudy.pipeline.outlay.account_of`.

    Raises:
        LedgerError: as there.
    """
    promised = release.guarantee.epsilon is not None and not release.guarantee.leaks
    budgets = [stated_budget(release.manifest.budget)] if promised else None
    enter_use(release.schema, what, budgets, ledger)


def enter_use(
    schema: Schema, what: str, budgets: Sequence[Budget] | None, ledger: str | Path | None
) -> None:
    """Enter what looks at rows and stays inside.

    Args:
        schema: of the rows.
        what: in a few words.
        budgets: of the releases behind it; None where one of them has none.
        ledger: as in `understudy.pipeline.outlay.account_of`.

    Raises:
        LedgerError: as there.
    """
    account = account_of(schema, ledger)
    if account is not None:
        cost = None if budgets is None else _together(budgets, schema)
        account.ledger.internal(account.population, what, cost, by=account.by)


def _together(budgets: Sequence[Budget], schema: Schema) -> Cost:
    """The sum: in ε where all are pure, else in ρ, where ε counts ε²/2 and μ counts μ²/2."""
    costs = (Cost(budget.accounting, budget.amount, schema.neighbours) for budget in budgets)
    total = sum((cost.amounts for cost in costs), NOTHING)
    if total.pure is not None:
        return Cost("pure", total.pure, schema.neighbours)
    assert total.zcdp is not None, "every budget has a finite ρ"
    return Cost("zcdp", total.zcdp, schema.neighbours)
