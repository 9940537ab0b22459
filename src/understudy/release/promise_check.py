"""Whether the promise of a manifest is more than budget, ledger, noise and schema allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from understudy.errors import UnderstudyError
from understudy.privacy.accounting.budget import UNITS, Approximate, Budget, decimal_up
from understudy.privacy.accounting.guarantee import Guarantee
from understudy.release.manifest import Manifest
from understudy.release.shape import Fault
from understudy.schema import Schema

_NO_PROMISE = ("none", "asymptotic")


def require_promise(manifest: Manifest, entries: Sequence[int], schema: Schema) -> None:
    """Refuse a guarantee that its ledger does not carry.

    Args:
        manifest: of the right shape.
        entries: for each measurement, the ledger entry that paid for it.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    budget = _budget(manifest.budget)
    _require_ledger(manifest.ledger, budget)
    if not set(entries) <= set(range(1, len(manifest.ledger) + 1)):
        raise Fault("a measurement was paid by no entry of its ledger")
    _require_guarantee(manifest, budget, schema)


def _budget(stated: Mapping[str, str]) -> Budget:
    """The stated budget."""
    accounting = next(k for k, unit in UNITS.items() if unit == stated["unit"])
    unit: Approximate = "zcdp" if accounting == "pure" else accounting
    try:
        budget = Budget.of(stated["epsilon"], stated["delta"], unit)
        if budget.accounting == accounting and stated["amount"] == decimal_up(budget.amount):
            return budget
    except UnderstudyError:
        pass
    raise Fault("its stated budget contradicts itself")


def _require_ledger(ledger: Sequence[Mapping[str, Any]], budget: Budget) -> None:
    """Refuse entries out of order, in another unit, or worth more than the budget."""
    unit, spent = budget.unit_name, Fraction(0)
    for number, entry in enumerate(ledger, start=1):
        if entry["number"] != number or unit not in entry:
            raise Fault("its ledger is out of order, or in another unit than its budget")
        exact = entry[f"{unit}_exact"]
        cost = None if exact is None else Fraction(exact)
        if entry[unit] != (None if cost is None else decimal_up(cost)):
            raise Fault("its ledger states two costs of one step")
        spent += cost or 0
    if spent > budget.amount:
        raise Fault("its ledger spends more than the stated budget")


def _require_guarantee(manifest: Manifest, budget: Budget, schema: Schema) -> None:
    """Refuse a promise that is more than budget, ledger, noise and schema allow."""
    promise = manifest.guarantee
    if promise.neighbours != schema.neighbours:
        raise Fault("its guarantee is about other neighbours than its schema")
    unit = budget.unit_name
    unpaid = any(entry[unit] is None for entry in manifest.ledger)
    if promise.kind in _NO_PROMISE:
        if promise.epsilon is not None:
            raise Fault("its guarantee names an epsilon and promises none")
        return
    if unpaid or not manifest.secure:
        raise Fault("its guarantee promises what its ledger or its noise does not")
    if schema.rows == "public" and manifest.n_rows != schema.n_rows:
        raise Fault("it has another number of rows than its schema declares")
    if _numbers(promise) != _stated(budget) or (promise.kind == "pure") > (not budget.delta):
        raise Fault("its guarantee is another one than its stated budget")


def _numbers(promise: Guarantee) -> tuple[str | None, ...]:
    parts = (promise.epsilon, promise.delta, promise.rho)
    return tuple(None if part is None else decimal_up(part) for part in parts)


def _stated(budget: Budget) -> tuple[str | None, ...]:
    rho = decimal_up(budget.amount) if budget.accounting == "zcdp" else None
    return decimal_up(budget.epsilon), decimal_up(budget.delta), rho
