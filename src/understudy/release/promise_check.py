"""Whether the promise of a manifest is that of its budget, ledger, noise and schema.

What a manifest says of its guarantee (kind, ε, δ, ρ, μ, neighbours, and the sentence that states
them) is computed anew from the budget, and the ledger is added up; what differs is refused. What is
said besides, conditions, leaks and public inputs, is its publisher's word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from understudy.errors import UnderstudyError
from understudy.privacy.accounting.budget import UNITS, Approximate, Budget, decimal_up
from understudy.privacy.accounting.guarantee import Guarantee
from understudy.release.amendment import require_chain
from understudy.release.manifest import Manifest
from understudy.release.shape import Fault
from understudy.schema import Schema

_NO_PROMISE = ("none", "asymptotic")


def require_promise(
    manifest: Manifest, stated: Mapping[str, Any], entries: Sequence[int], schema: Schema
) -> None:
    """Refuse a guarantee that its ledger does not carry.

    Args:
        manifest: of the right shape.
        stated: its guarantee, as it stands in the folder; without "statement" in a format whose
            sentences had other words.
        entries: for each measurement, the ledger entry that paid for it.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    budget = stated_budget(manifest.budget)
    _require_ledger(manifest.ledger, budget)
    _require_amendments(manifest, budget)
    if not set(entries) <= set(range(1, len(manifest.ledger) + 1)):
        raise Fault("a measurement was paid by no entry of its ledger")
    _require_guarantee(manifest, budget, schema)
    _require_stated(stated, manifest.guarantee, budget)


def stated_budget(stated: Mapping[str, str]) -> Budget:
    """The budget that a manifest states.

    Args:
        stated: its ε, δ, unit and amount, as decimals.

    Raises:
        Fault: it contradicts itself.
    """
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


def _require_amendments(manifest: Manifest, budget: Budget) -> None:
    """Refuse amendments that no budget carries: at each, what was paid and what was stated before.

    What an amendment adds to a stated budget is all that it may spend.
    """
    unit = budget.unit_name
    require_chain(manifest.amendments, manifest.ledger, unit)
    stated = [stated_budget(one.budget) for one in manifest.amendments]
    for earlier, later in pairwise([*stated, budget] if stated else []):
        if earlier.amount >= later.amount or earlier.delta != later.delta:
            raise Fault("an amendment adds nothing to the budget before it")
    for amendment, before in zip(manifest.amendments, stated, strict=True):
        paid = manifest.ledger[: amendment.entries]
        if _spent(paid, unit) > before.amount:
            raise Fault("an amendment states a smaller budget before it than was spent")


def _spent(ledger: Sequence[Mapping[str, Any]], unit: str) -> Fraction:
    return sum((Fraction(entry[f"{unit}_exact"] or 0) for entry in ledger), Fraction(0))


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
    if promise.kind not in _kinds(promise, budget):
        raise Fault("its guarantee is of another kind than its budget and its leaks")


def _kinds(promise: Guarantee, budget: Budget) -> set[str]:
    """What a promise of some ε can be: conditional, if anything left in or unproved is named."""
    if promise.leaks:
        return {"conditional"}
    paid = {"pure"} if budget.accounting == "pure" else {"approximate", "zcdp"}
    return paid | ({"conditional"} if promise.conditions else set())


def _require_stated(stated: Mapping[str, Any], promise: Guarantee, budget: Budget) -> None:
    """Refuse numbers, or a sentence, that are not those of the stated budget."""
    found = replace(promise, epsilon=None, delta=Fraction(0), rho=None, mu=None)
    if promise.kind not in _NO_PROMISE:
        rho = budget.amount if budget.accounting == "zcdp" else None
        found = replace(found, epsilon=budget.epsilon, rho=rho, mu=budget.mu)
    if promise.kind != "asymptotic":
        found = replace(found, delta=budget.delta)
    expected = found.to_json()
    if any(stated[name] != expected[name] for name in stated if name != "statement"):
        raise Fault("its guarantee is another one than its stated budget")
    if stated.get("statement", expected["statement"]) != expected["statement"]:
        raise Fault("the sentence that states its guarantee is not that of its numbers")
