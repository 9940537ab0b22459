"""The ledger: every step that touched the rows, what it cost, and with which noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.privacy.budget import Accounting, decimal_up


@dataclass(frozen=True)
class Entry:
    """One paid step.

    Attributes:
        number: position in the ledger, from 1.
        mechanism: what was run (a named mechanism in `understudy.privacy`).
        query: what was asked, in words; public.
        accounting: unit of `spent`: pure ε, or ρ of zCDP.
        spent: cost in that unit; None stands for an infinite one.
        sensitivity: by how much a neighbouring table can change the answer, in the norm of the
            mechanism, in words and numbers.
        noise: law of the noise with its exact parameter, or "".
        cells: how many numbers were perturbed.
    """

    number: int
    mechanism: str
    query: str
    accounting: Accounting
    spent: Fraction | None
    sensitivity: str
    noise: str
    cells: int

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest; the cost as a decimal (rounded up) and exactly."""
        unit = "epsilon" if self.accounting == "pure" else "rho"
        return {
            "number": self.number,
            "mechanism": self.mechanism,
            "query": self.query,
            unit: None if self.spent is None else decimal_up(self.spent),
            f"{unit}_exact": None if self.spent is None else str(self.spent),
            "sensitivity": self.sensitivity,
            "noise": self.noise,
            "cells": self.cells,
        }
