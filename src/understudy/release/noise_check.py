"""Whether the noise that a folder states is what its prices buy.

A ledger says of each step what it cost, by how much one record can change the answer, and which
noise it got; a measurement says once more which noise its numbers have. All of this can be written
anew, and intervals and the promise rest on it. So each step is priced again here, from public
facts, and its words and numbers are compared. `docs/release-format.md` has the rules for others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from understudy.errors import UnderstudyError
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.mechanisms.counts.noisy_table import RowCount
from understudy.privacy.noise.perturbation import FLOATING
from understudy.privacy.noise_record import LOST, SMALLEST_STDDEV
from understudy.release.manifest import Manifest
from understudy.release.mechanism_table import (
    STATED_ELSEWHERE,
    TABLES,
    Price,
    Purchase,
    purchase_of,
)
from understudy.release.number_of_rows import PUBLIC_ROWS, bought_rows
from understudy.release.promise_check import stated_budget
from understudy.release.shape import Fault
from understudy.release.stated_query import is_asked
from understudy.release.stated_step import Priced, StatedStep
from understudy.schema import Schema


def require_noise(
    manifest: Manifest,
    measurements: Sequence[Mapping[str, Any]],
    schema: Schema,
    version: int,
) -> None:
    """Refuse steps and measurements that are not what was paid for.

    Args:
        manifest: of the right shape; its ledger adds up.
        measurements: their entries in the manifest, of columns of the schema.
        schema: of the release.
        version: format of the manifest.

    Raises:
        Fault: names the step.
    """
    paid = {one["ledger_entry"]: one for one in measurements}
    if len(paid) < len(measurements):
        raise Fault("two measurements were paid by one step of its ledger")
    budget, leaks = stated_budget(manifest.budget), " ".join(manifest.guarantee.leaks)
    _require_rows(manifest, budget, schema)
    for entry in manifest.ledger:
        exact, told = entry[f"{budget.unit_name}_exact"], paid.get(entry["number"])
        if entry["noise"] == LOST:  # charged by a run that ended before it had a result
            _require_lost(entry, exact, told, version)
            continue
        purchase = _purchase(entry, exact, told, leaks, version)
        if purchase.mechanism == STATED_ELSEWHERE and manifest.guarantee.kind != "none":
            raise Fault("it promises something, and another system measured some of it")
        if purchase.price == "none":
            continue  # what has no finite price promises nothing
        if purchase.price == "free":
            fits = entry["noise"] == "none: unpaid"
        else:
            price = Fraction(exact)
            step = StatedStep(entry, price, budget, schema, manifest.n_rows, leaks, told)
            if not is_asked(entry, told, schema):
                raise Fault(f"step {entry['number']} of its ledger asks for other numbers")
            fits = any(_is_stated(step, one) for one in _priced(step))
        if not fits:
            raise Fault(f"the noise of step {entry['number']} is not what its price buys")


def _purchase(
    entry: Mapping[str, Any],
    exact: str | None,
    told: Mapping[str, Any] | None,
    leaks: str,
    version: int,
) -> Purchase:
    """The row of the table that a step has.

    Raises:
        Fault: there is none.
    """
    price: Price = "none" if exact is None else "paid" if Fraction(exact) else "free"
    measured = None if told is None else (str(told["kind"]), str(told["law"]))
    purchase = purchase_of(entry["mechanism"], price, measured, version)
    named = {"as published": FLOATING in leaks, "free": leaks != ""}
    if purchase is None or not named.get(purchase.price, True):
        raise Fault(f"step {entry['number']} of its ledger cannot have bought what it is said to")
    return purchase


def _require_lost(
    entry: Mapping[str, Any], exact: str | None, told: Mapping[str, Any] | None, version: int
) -> None:
    """Refuse a step without a result of which there is one, or of a mechanism that there is not."""
    known = any(
        (one.mechanism, one.price == "none") == (entry["mechanism"], exact is None)
        for one in TABLES[version]
    )
    if told is not None or not known or (exact is not None and not Fraction(exact)):
        raise Fault(f"step {entry['number']} of its ledger ended without a result, and has one")


def _require_rows(manifest: Manifest, budget: Budget, schema: Schema) -> None:
    """Refuse a private number of rows that no step bought, or that is said to cost something else.

    Raises:
        Fault: says what does not fit.
    """
    bought = [
        entry
        for entry in manifest.ledger
        if entry["mechanism"] == RowCount.name and entry["noise"] != LOST
    ]
    rows_stddev = manifest.inference.rows_stddev  # 0 in a release that does not say
    if schema.rows == "public":
        if bought or rows_stddev or manifest.rows_obtained != PUBLIC_ROWS:
            raise Fault("its number of rows is public, and is said to have been bought")
        return
    if len(bought) != 1:
        raise Fault("its number of rows is private, and no single step of its ledger bought it")
    if schema.row_limit is not None and manifest.n_rows > schema.row_limit:
        raise Fault("it has more rows than its schema allows")
    (entry,) = bought
    price = Fraction(entry[f"{budget.unit_name}_exact"] or 0)
    step = StatedStep(entry, price, budget, schema, manifest.n_rows, "", None)
    for _, noise, recorded in _priced(step):
        assert recorded is not None
        spread = max(rows_stddev, SMALLEST_STDDEV) if rows_stddev else recorded.stddev
        words = bought_rows(budget.unit, price, noise)
        if manifest.rows_obtained == words and math.isclose(spread, recorded.stddev, rel_tol=1e-9):
            return
    raise Fault("its number of rows was obtained in another way than its ledger says")


def _is_stated(step: StatedStep, priced: Priced) -> bool:
    """Whether ledger and measurement state what a price buys."""
    sensitivity, noise, recorded = priced
    if (step.entry["sensitivity"], step.noise) != (sensitivity, noise):
        return False
    if step.measured is None or recorded is None:
        return True
    told = step.measured
    same = (told["law"], told["scale"]) == (recorded.distribution, recorded.scale)
    return same and math.isclose(told["stddev"], recorded.stddev, rel_tol=1e-9)


def _priced(step: StatedStep) -> Iterator[Priced]:
    """What the price of a step can buy."""
    from understudy.release.priced_noise import RULES

    rule = RULES.get(step.entry["mechanism"])
    if rule is None:
        return
    try:
        yield from rule(step)
    except (UnderstudyError, ValueError, ArithmeticError, LookupError):
        return
