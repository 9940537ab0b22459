"""Noisy counts of numeric columns over finer cells than their bins, and beyond their bounds.

The cells of a line (`understudy.features.line_cells`) follow from the schema alone. Each record is
in one of them or out of domain, by its own values alone (`understudy.engine.line_counts`), so what
is released of a column is a contingency table of one column, coded more finely:

* *added or removed*, a record changes one number by 1: L1 = L2 = 1;
* *replaced*, it changes nothing, or two numbers by 1 each: L1 = 2, L2 = √2.

Both are attained. So the noise is that of a table (`understudy.privacy.noise.calibration`), in
every cell, empty ones included, and independent of the rows. Each line is a step of the ledger.

`tests/privacy/mechanisms/counts/test_number_lines.py` enumerates the neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.errors import MethodError
from understudy.features.line_cells import LineCells, line_bins
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answers
from understudy.privacy.mechanisms.counts.noisy_table import coded_charges
from understudy.privacy.noise.distributions import DiscreteNoise
from understudy.privacy.noise.perturbation import perturb
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Bins, NoisyLine, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import NUMERIC, Schema


@dataclass(frozen=True)
class NumberLines(Mechanism[tuple[Released[NoisyLine], ...], DiscreteNoise]):
    """Noisy counts over number lines, all of them in one pass.

    Attributes:
        columns: names of numeric columns, each once.
        weights: how the cost is divided among them; evenly if None.
    """

    name: ClassVar[str] = "noisy number line"

    columns: tuple[str, ...]
    weights: tuple[int, ...] | None = None

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step for each line: Gaussian noise under zCDP and GDP, geometric under pure ε.

        Raises:
            MethodError: no column, an unknown one, or one that is not numeric.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.places(self.columns)
        lines = _lines(terms.schema, self.columns)
        terms.require(spend)
        queries = {
            f"counts of {name} on its number line": cells.size for name, (_, cells) in lines.items()
        }
        return coded_charges(terms, self.name, queries, spend=spend, weights=self.weights)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyLine], ...]]:
        """Count all of them in one pass, and add noise to each number."""
        lines = _lines(rows.view.schema, self.columns)
        exact = rows.line_counts({name: cells for name, (_, cells) in lines.items()})
        released = []
        for (name, (bins, _)), charge in zip(lines.items(), charges, strict=True):
            noisy = perturb(exact[name], charge.parameter, source)
            released.append(NoisyLine((name,), noisy[:-1], float(noisy[-1]), bins))
        return answers(released)


def _lines(schema: Schema, columns: tuple[str, ...]) -> dict[str, tuple[Bins, LineCells]]:
    """Column → bins of its line, and cells; from public facts alone.

    Raises:
        MethodError: no column, or one that is not numeric.
    """
    if not columns or not all(isinstance(schema.columns[name], NUMERIC) for name in columns):
        raise MethodError("A number line is of a numeric column.")
    lines: dict[str, tuple[Bins, LineCells]] = {}
    for name in columns:
        column = schema.columns[name]
        assert isinstance(column, NUMERIC)
        bins = {name: line_bins(column)}
        lines[name] = bins, LineCells.of(schema.with_bins(bins), name)
    return lines
