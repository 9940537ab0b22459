"""Noisy counts of how numbers are rounded: by heap, in zones of the range of a column.

The cells (`understudy.features.heap_cells`) follow from the schema alone. Each record is in one of
them or out of domain, by its own values alone (`understudy.engine.line_counts`), so what is
released of a column is a contingency table of one coded state:

* *added or removed*, a record changes one number by 1: L1 = L2 = 1;
* *replaced*, it changes nothing, or two numbers by 1 each: L1 = 2, L2 = √2.

Both are attained. So the noise is that of a table (`understudy.privacy.noise.calibration`), in
every cell, empty ones included, and independent of the rows. Each column is a step of the ledger.

`tests/privacy/mechanisms/counts/test_heap_counts.py` enumerates the neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.errors import MethodError
from understudy.features.heap_cells import HeapCells, heaped_columns
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answers
from understudy.privacy.mechanisms.counts.noisy_table import coded_charges
from understudy.privacy.noise.distributions import DiscreteNoise
from understudy.privacy.noise.perturbation import perturb
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyHeaps, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import Schema


@dataclass(frozen=True)
class HeapCounts(Mechanism[tuple[Released[NoisyHeaps], ...], DiscreteNoise]):
    """Noisy counts of the heaps of some columns, all of them in one pass.

    Attributes:
        columns: names of columns with heaps, each once; each has an equal part of the cost.
    """

    name: ClassVar[str] = "noisy heaps"

    columns: tuple[str, ...]

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step for each column: Gaussian noise under zCDP and GDP, geometric under pure ε.

        Raises:
            MethodError: no column, an unknown one, or one without heaps.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.places(self.columns)
        cells = _cells(terms.schema, self.columns)
        terms.require(spend)
        queries = {f"counts of {name} by its heaps": own.size for name, own in cells.items()}
        return coded_charges(terms, self.name, queries, spend=spend)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyHeaps], ...]]:
        """Count all of them in one pass, and add noise to each number."""
        exact = rows.line_counts(_cells(rows.view.schema, self.columns))
        released = []
        for name, charge in zip(self.columns, charges, strict=True):
            noisy = perturb(exact[name], charge.parameter, source)
            released.append(NoisyHeaps((name,), noisy[:-1], float(noisy[-1])))
        return answers(released)


def _cells(schema: Schema, columns: tuple[str, ...]) -> dict[str, HeapCells]:
    """Column → its cells; from public facts alone.

    Raises:
        MethodError: no column, or one without heaps that its bins leave open.
    """
    if not columns or not set(columns) <= set(heaped_columns(schema)):
        raise MethodError("Heaps are counted of columns that declare some, and have wider bins.")
    return {name: HeapCells.of(schema, name) for name in columns}
