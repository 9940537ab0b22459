"""How a histogram chooses the bins of its numeric columns; shared by all histogram methods.

* `schema`: the bins of the schema. A number: that many of equal width for each column.
* `scott`: Scott's rule, K = ⌈(c₁ − c₀)/(3.49·σ·n^(−1/(2 + p)))⌉ for bounds c₀, c₁ and p numeric
  columns, with a **public** deviation σ, by default (c₁ − c₀)/6, and a public number of rows: the
  declared one, or `expected_rows`.
* `bought`: Scott's rule with a noisy deviation, bought once for all sets at `bins_share` of the
  budget: for each column the table of its codes, spikes and numbers as one bin, a sum, and a
  scatter, at shares of 1, 1 and 8. It pays where n·s²/(c₁ − c₀)² is well above the noise that
  `plan` shows.
* In paper mode, `scott` takes the exact deviations of the rows. The number of bins then tells
  something about the rows that no ε covers; the guarantee says so and is conditional.

Deviations that are bought or read are taken to lie between 1/50 and 1/2 of the width of the bounds
(no deviation is larger), so that the largest possible table is known beforehand; that is the one
that a plan shows. Edges that rules need are kept (`bin_edges.py`).

Source: Scott (1979); Bowen & Liu (2020), §3.1.2, eq. 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from understudy.errors import MethodError
from understudy.families.bin_edges import MOST_BINS, bins_with_rules, numeric_columns
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Method, Prepared
from understudy.privacy.accounting.budget import Budget, exact, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.mechanisms.sums.moments import Moments
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.not_dp.exact_statistics import ExactDeviations
from understudy.privacy.released import NoisyTable
from understudy.schema import NUMERIC, Schema

SCOTT = 3.49
FINEST = 50
PUBLIC_DEVIATION = 6
_WEIGHTS = (1, 1, 8)  # count, sum, scatter: what Scott's rule needs most is the last


def scott_bins(
    width: ArrayLike, deviation: ArrayLike, n_rows: ArrayLike, n_numeric: int = 1
) -> NDArray[np.int64]:
    """Numbers of bins by Scott's rule; at least 1, and 1 where the deviation is 0.

    Args:
        width: of the bounds, any shape; all arguments are broadcast.
        deviation: standard deviation σ, in the same unit.
        n_rows: number of rows; 0 counts as 1.
        n_numeric: numeric columns p.

    Example:
        >>> scott_bins(7.0, 1.0, [40, 100, 1000]).tolist()
        [7, 10, 21]
    """
    rows = np.maximum(np.asarray(n_rows, dtype=np.float64), 1)
    bin_width = SCOTT * np.asarray(deviation, dtype=np.float64) * rows ** (-1 / (2 + n_numeric))
    wide = np.where(bin_width > 0, bin_width, np.inf)
    return np.maximum(np.ceil(np.asarray(width) / wide), 1).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Binned(Method):
    """Bin options of a histogram method.

    Attributes:
        bins: "schema", "scott", "bought", or a number of bins for every numeric column.
        deviations: public standard deviation of some columns, for bins=scott; the others have a
            sixth of the width of their bounds.
        expected_rows: public guess of the number of rows, for Scott's rule where it is private.
        bins_share: share of the budget that bins=bought may spend, once for all sets.
        mode: "paper" for the method as published, with what that leaves in.
    """

    bins: Literal["schema", "scott", "bought"] | int = "schema"
    deviations: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = field(
        default_factory=dict
    )
    expected_rows: Annotated[int, Field(ge=1)] | None = None
    bins_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    mode: Mode = "strict"

    def setup_share(self, schema: Schema) -> Fraction:
        """Nothing is bought unless bins are."""
        return exact(self.bins_share) if self.bins == "bought" else Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """For bins=bought a count, a sum and a scatter of each numeric column."""
        if self.bins != "bought":
            return ()
        self._require_bins(schema)
        names = numeric_columns(schema)
        shares = split(spend, [1] * len(names))
        return tuple(
            step
            for name, share in zip(names, shares, strict=True)
            for step in _planned_deviation(schema, name, share, budget)
        )

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """The same rows in the chosen bins."""
        return super().setup(self._in_bins(gate, spend), spend, fits=fits)

    def _in_bins(self, gate: Gate, spend: Fraction) -> Gate:
        schema = gate.schema
        self._require_bins(schema)
        if self.bins == "bought":
            deviations = _bought(gate, spend)
        elif self.bins == "scott" and self.mode == "paper":
            names = numeric_columns(schema)
            released = gate.ask(ExactDeviations(names))
            deviations = {
                name: deviation.value for name, deviation in zip(names, released, strict=True)
            }
        else:
            return gate.rebinned(self._public_bins(schema))
        return gate.rebinned(bins_with_rules(schema, self._by_scott(schema, deviations)))

    def binned(self, schema: Schema) -> Schema:
        """The schema in the chosen bins; in the most there can be, if rows decide on them.

        Raises:
            MethodError: options that do not fit the schema.
        """
        self._require_bins(schema)
        bins = self._public_bins(schema)
        return schema.with_bins(bins) if bins else schema

    def _public_bins(self, schema: Schema) -> dict[str, int | tuple[object, ...]]:
        if self.bins == "schema":
            return {}
        names = numeric_columns(schema)
        if isinstance(self.bins, int):
            return bins_with_rules(schema, dict.fromkeys(names, self.bins))
        by_rows = self.bins == "bought" or self.mode == "paper"
        default = {name: _width(schema, name) / PUBLIC_DEVIATION for name in names}
        public = dict.fromkeys(names, 0.0) if by_rows else default | self.deviations
        return bins_with_rules(schema, self._by_scott(schema, public, clipped=by_rows))

    def _by_scott(
        self, schema: Schema, deviations: Mapping[str, float], *, clipped: bool = True
    ) -> dict[str, int]:
        names, numbers = numeric_columns(schema), {}
        for name in names:
            width, deviation = _width(schema, name), deviations[name]
            if clipped:
                deviation = min(max(deviation, width / FINEST), width / 2)
            numbers[name] = int(scott_bins(width, deviation, self._rows(schema), len(names)))
        return numbers

    def _rows(self, schema: Schema) -> int:
        rows = schema.n_rows if schema.rows == "public" else self.expected_rows
        if rows is None:
            raise MethodError(
                "Scott's rule needs the number of rows, which is private here; give a public guess "
                "of it in the option expected_rows, or a number of bins."
            )
        return rows

    def _require_bins(self, schema: Schema) -> None:
        if isinstance(self.bins, int) and not 1 <= self.bins <= MOST_BINS:
            raise MethodError(f"The number of bins must lie between 1 and {MOST_BINS:,}.")
        names = numeric_columns(schema)
        unknown = [name for name in self.deviations if name not in names]
        if unknown:
            raise MethodError(
                f"The option deviations names {unknown[0]!r}, which is no numeric column."
            )
        if self.deviations and (self.bins != "scott" or self.mode == "paper"):
            raise MethodError("The option deviations belongs to bins=scott and mode=strict.")
        if self.bins == "bought" and not names:
            raise MethodError("There is no numeric column to buy bins for; take bins=schema.")


def _width(schema: Schema, name: str) -> float:
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    return column.bounds[1] - column.bounds[0]


def _moments(name: str) -> Moments:
    return Moments((name,), weights=_WEIGHTS[1:])


def _shares(spend: Fraction) -> tuple[Fraction, Fraction]:
    """What the count costs, and the moments."""
    count, moments = split(spend, [_WEIGHTS[0], sum(_WEIGHTS[1:])])
    return count, moments


def _planned_deviation(
    schema: Schema, name: str, spend: Fraction, budget: Budget
) -> list[PlannedTable]:
    counted, summed = _shares(spend)
    binned, columns = schema.with_bins({name: 1}), [(name,)]
    (count,) = announced(NoisyTables(columns, noise="geometric"), binned, counted, budget, columns)
    moments = announced(_moments(name), binned, summed, budget, columns * 2, form=Form.MOMENTS)
    return [count, *moments]


def _bought(gate: Gate, spend: Fraction) -> dict[str, float]:
    """A noisy standard deviation of each numeric column; 0 where noise leaves none."""
    names = numeric_columns(gate.schema)
    gate.require(spend)
    deviations = {}
    for name, share in zip(names, split(spend, [1] * len(names)), strict=True):
        counted, summed = _shares(share)
        view = gate.rebinned({name: 1})
        (count,) = view.ask(NoisyTables([(name,)], noise="geometric"), spend=counted)
        _, scatter = view.ask(_moments(name), spend=summed)
        n = _numbers(count.value, view.schema)
        deviations[name] = float(max(scatter.value.values[0], 0.0) / max(n - 1, 1)) ** 0.5
    return deviations


def _numbers(counted: NoisyTable, schema: Schema) -> float:
    """Noisy number of records in the single bin of a column."""
    column = schema.columns[counted.columns[0]]
    assert isinstance(column, NUMERIC)
    (place,) = (k for k, interval in enumerate(column.intervals) if not interval.spike)
    return float(counted.counts[place])
