"""What a killed run has cost as it ended, by its journal: in words for whoever finds it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from understudy.privacy.accounting.budget import (
    SIGNS,
    UNITS,
    Approximate,
    Budget,
    decimal_up,
)
from understudy.privacy.accounting.run_cost import RunCost
from understudy.privacy.checkpoint.checked_lines import Record
from understudy.privacy.checkpoint.json_values import unpack


class Spending:
    """What the charges among some records cost.

    Args:
        request: of their journal; it states the budget, unless a program of its own made it.

    Example:
        >>> str(Spending({"epsilon": "1", "delta": "0", "accounting": "pure"}))
        'ε = 0 of 1'
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._accounting = request.get("accounting", "pure")
        unit: Approximate = "gdp" if self._accounting == "gdp" else "zcdp"
        stated = request.get("epsilon")
        self._budget = None if stated is None else Budget.of(stated, request.get("delta", 0), unit)
        amount = None if self._budget is None else self._budget.amount
        self._cost, self._unbounded = RunCost(self._accounting, amount), False

    def add(self, records: Iterable[Record]) -> None:
        """Count the charges among further records, answered or not.

        Args:
            records: of the journal, without its head.
        """
        for record in records:
            if record.get("kind") == "charge":
                entry = unpack(record["entry"])
                self._unbounded |= entry.spent is None
                self._cost.add(entry.spent or Fraction(0), entry.mechanism, entry.sensitivity)

    def __str__(self) -> str:
        """What was spent, and of how much."""
        sign = SIGNS[UNITS[self._accounting]]
        if self._unbounded:
            return f"{sign} without bound"
        budget, spent = self._budget, self._cost.total
        words = f"{sign} = {decimal_up(spent)}"
        if budget is None:
            return words
        words += f" of {decimal_up(budget.amount)}"
        if self._accounting == "pure":
            return words
        whole = f"ε = {decimal_up(budget.epsilon)} and δ = {decimal_up(budget.delta)}"
        return f"{math.ceil(100 * spent / budget.amount)} % of {whole} ({words})"
