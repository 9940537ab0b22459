"""How a histogram chooses the bins of its numeric columns; shared by all histogram methods.

* `schema`: the bins of the schema. A number: that many of equal width for each column.
* `sturges`: Sturges' rule, from the number of rows alone: the declared one, or `expected_rows`.
* `scott`: Scott's rule, with a **public** deviation σ, by default a sixth of the width of the
  bounds, and a public number of rows.
* `fd`: the rule of Freedman & Diaconis, with the interquartile range of a normal distribution of
  that public deviation.
* `bought`: Scott's rule with a noisy deviation, bought once for all sets at `bins_share` of the
  budget: for each column the table of its codes, spikes and numbers as one bin, a sum, and a
  scatter, at shares of 1, 1 and 8. It pays where n·s²/(c₁ − c₀)² is well above the noise that
  `plan` shows.
* In paper mode, `scott` takes the exact deviations of the rows, and `fd` their exact interquartile
  ranges. The number of bins then tells something about the rows that no ε covers; the guarantee
  says so and is conditional. Sturges' rule reads no row, and is the same in both modes.

Spreads that are bought or read are taken to lie between 1/50 of the width of the bounds and the
largest there can be (half of the width for a deviation, all of it for an interquartile range), so
that the largest possible table is known beforehand; that is the one that a plan shows. Edges that
rules need are kept (`bin_edges.py`).

The rules, with their sources: `bin_rules.py`. Source: Bowen & Liu (2020), §3.1.2 and §4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from understudy.errors import MethodError
from understudy.families.bin_edges import MOST_BINS, bins_with_rules, numeric_columns
from understudy.families.bin_rules import QUARTILES, WidthRule, bins_by_width, sturges_bins
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Method, Prepared
from understudy.privacy.accounting.budget import Budget, exact, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.mechanisms.sums.moments import Moments
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.not_dp.exact_quartiles import ExactQuartileRanges
from understudy.privacy.not_dp.exact_statistics import ExactDeviations
from understudy.privacy.released import NoisyTable
from understudy.schema import NUMERIC, Schema

FINEST = 50
PUBLIC_DEVIATION = 6
_LARGEST: dict[WidthRule, int] = {"scott": 2, "fd": 1}  # of spreads: width over this
_WEIGHTS = (1, 1, 8)  # count, sum, scatter: what Scott's rule needs most is the last


@dataclass(frozen=True, kw_only=True)
class Binned(Method):
    """Bin options of a histogram method.

    Attributes:
        bins: "schema"; "sturges", "scott" or "fd" for a rule; "bought"; or a number of bins for
            every numeric column.
        deviations: public standard deviation of some columns, for bins=scott and bins=fd; the
            others have a sixth of the width of their bounds.
        expected_rows: public guess of the number of rows, for the rules where it is private.
        bins_share: share of the budget that bins=bought may spend, once for all sets.
        mode: "paper" for the method as published, with what that leaves in.
    """

    bins: Literal["schema", "sturges", "scott", "fd", "bought"] | int = "schema"
    deviations: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = field(
        default_factory=dict
    )
    expected_rows: Annotated[int, Field(ge=1)] | None = None
    bins_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    mode: Mode = "strict"

    @property
    def needs_records(self) -> bool:
        """Quartiles are read off the numbers, as published."""
        return self.bins == "fd" and self.mode == "paper"

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
            spreads = _bought(gate, spend)
        elif self.mode == "paper" and self.bins in ("scott", "fd"):
            spreads = _read_off(gate, self.bins)
        else:
            return gate.rebinned(self._public_bins(schema))
        return gate.rebinned(bins_with_rules(schema, self._by_rule(schema, spreads)))

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
        if self.bins == "sturges":
            number = int(sturges_bins(self._rows(schema)))
            return bins_with_rules(schema, dict.fromkeys(names, number))
        by_rows = self.bins == "bought" or self.mode == "paper"
        default = {name: _width(schema, name) / PUBLIC_DEVIATION for name in names}
        public = dict.fromkeys(names, 0.0) if by_rows else default | self.deviations
        if self.bins == "fd":
            public = {name: QUARTILES * deviation for name, deviation in public.items()}
        return bins_with_rules(schema, self._by_rule(schema, public, clipped=by_rows))

    def _by_rule(
        self, schema: Schema, spreads: Mapping[str, float], *, clipped: bool = True
    ) -> dict[str, int]:
        """Numbers of bins from deviations, or for bins=fd from interquartile ranges."""
        rule: WidthRule = "fd" if self.bins == "fd" else "scott"
        names, numbers = numeric_columns(schema), {}
        for name in names:
            width, spread = _width(schema, name), spreads[name]
            if clipped:
                spread = min(max(spread, width / FINEST), width / _LARGEST[rule])
            rows = self._rows(schema)
            numbers[name] = int(bins_by_width(rule, width, spread, rows, len(names)))
        return numbers

    def _rows(self, schema: Schema) -> int:
        rows = schema.n_rows if schema.rows == "public" else self.expected_rows
        if rows is None:
            raise MethodError(
                "This rule needs the number of rows, which is private here; give a public guess of "
                "it in the option expected_rows, or a number of bins."
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
        if self.deviations and (self.bins not in ("scott", "fd") or self.mode == "paper"):
            raise MethodError(
                "The option deviations belongs to bins=scott or bins=fd, and mode=strict."
            )
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


def _read_off(gate: Gate, rule: WidthRule) -> dict[str, float]:
    """The exact spread of each numeric column, unpaid, as published."""
    names = numeric_columns(gate.schema)
    if rule == "scott":
        spreads = gate.ask(ExactDeviations(names))
    else:
        spreads = gate.ask(ExactQuartileRanges(names))
    return {name: found.value for name, found in zip(names, spreads, strict=True)}


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
