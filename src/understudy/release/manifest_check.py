"""Whether a manifest is of one piece: its facts, its promise, its ledger and its measurements.

**Facts.** The width of an interval rests on what a manifest says for inference (`InferenceFacts`),
and checksums can be made anew: one that says "partial" of sets that share the noise of their tables
would get intervals that are too narrow. Whatever the measurements show is asked of them here. What
they cannot show is the publisher's word, as the counts are: a folder invented in all its parts
looks like a genuine one.

**Promise.** A guarantee is no more than its budget, its ledger, its noise and its schema allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from understudy.errors import UnderstudyError
from understudy.functions.declared_network import Edge, require_network
from understudy.privacy.accounting.budget import UNITS, Approximate, Budget, decimal_up
from understudy.privacy.accounting.guarantee import Guarantee
from understudy.release.manifest import InferenceFacts, Manifest
from understudy.release.measurement import Measurement, kept_columns
from understudy.release.measurement_content import Kind
from understudy.release.shape import Fault
from understudy.schema import NUMERIC, Schema

_NO_PROMISE = ("none", "asymptotic")
_OF_NUMBERS = (Kind.PARAMETERS, Kind.POSTERIOR, Kind.EXACT)
"""Kinds of measurements that a model of numbers may rest on, beside sums and scatters."""


def require_facts(
    facts: InferenceFacts, sets_kind: str, measurements: Sequence[Measurement], schema: Schema
) -> None:
    """Refuse facts that the measurements contradict.

    Args:
        facts: of the manifest.
        sets_kind: how its sets were made.
        measurements: of the release.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    _require_rule(facts, sets_kind, measurements)
    if not facts.swept and any(one.kind is Kind.SWEEPS for one in measurements):
        raise Fault("its records were drawn column by column, and its manifest denies it")
    _require_modelled(facts.modelled, measurements, schema)
    if facts.network is not None:
        tables = [one.columns for one in measurements if one.kind is Kind.TABLE]
        _require_network(facts.network, tables, schema)
    if facts.independent and any(len(one.columns) > 1 for one in measurements):
        raise Fault("its columns are said to be independent, and were measured together")


def _require_rule(
    facts: InferenceFacts, sets_kind: str, measurements: Sequence[Measurement]
) -> None:
    """Posterior sets, and no others, have a rule; noise that all sets share needs "mi".

    "partial" takes all that the sets share for the rows' own. So it holds where nothing that was
    measured has noise; and where nothing has, none can have been drawn anew.
    """
    if (facts.posterior_rule is not None) != (sets_kind == "posterior"):
        raise Fault("its combining rule is for another kind of sets")
    noisy = any(one.law != "none" for one in measurements if one.kind is not Kind.CHOICE)
    if sets_kind == "posterior" and (facts.posterior_rule == "mi") != noisy:
        raise Fault("its combining rule is for other noise than its measurements have")


def _require_modelled(
    modelled: Sequence[str], measurements: Sequence[Measurement], schema: Schema
) -> None:
    """Numbers of a model rest on something that was measured of them, and sums are there for one.

    Columns that were not modelled are known within their bins only, so that a quantile of theirs
    gets an interval over whole bins.
    """
    if not all(isinstance(schema.columns.get(name), NUMERIC) for name in modelled):
        raise Fault("it models numbers of a column that is not numeric")
    summed = {name for one in measurements if one.kind.is_of_numbers for name in one.of}
    known = {name for one in measurements if one.kind in _OF_NUMBERS for name in one.columns}
    drawn = set(modelled)
    kept = set(kept_columns(measurements))
    if not summed <= drawn or not drawn <= (summed | known) - kept or len(drawn) < len(modelled):
        raise Fault("it models other numbers than were measured")


def _require_network(
    network: Sequence[Edge], tables: Sequence[tuple[str, ...]], schema: Schema
) -> None:
    """A network has all columns, in order, and a measured table for each with its parents."""
    try:
        require_network(network, schema.names)
    except ValueError:
        raise Fault("its network is none of its columns") from None
    families = [{column, *parents} for column, parents in network]
    if not all(any(family <= set(one) for one in tables) for family in families):
        raise Fault("its network has a column that was not measured with its parents")


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
