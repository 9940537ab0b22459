"""AIM: marginals of a workload chosen and measured one by one, where the model is worst.

1. A noisy table of each column.
2. In rounds: the exponential mechanism picks, among all parts of the workload's marginals, the one
   whose table is farthest from the model, less what noise alone would put there, times its weight;
   its table is measured and the model fitted again. A round that found nothing new halves the
   noise of the next ones (`methods.aim`).
3. Records are drawn from the model of greatest entropy that fits all tables
   (`graphical.estimation`).

* **Numbers** whose bins are the default ones have fine bins in step 1 (`methods.binning`), and
  about as many runs of these as the default bins in rounds. In declared bins all is as in the
  paper.
* **Measures** at first d one-way tables and rounds of ρ/(16 d) each (ε/(2 d) where δ = 0, as costs
  add up differently there), nine tenths of it for tables.
* **Public**: the schema with its bins and structural zeros, the options.
* **Guarantee**: (ε, δ)-DP with discrete Gaussian noise if δ > 0 (Gaussian DP accounting), pure ε-DP
  with geometric noise otherwise; **add/remove and replace**. The score is not monotone and is
  charged as such (`understudy.mechanisms.selection_scores`); adaptive costs stay within a
  privacy filter (`understudy.dp.accountant`).
* **Costs** one count of the rows for each part of the workload, then seconds of fitting; it grows
  with the cells of the model, not with the domain.
* **Choose it** to compare with the literature. **Do not** choose it for columns of many levels:
  `marginals` merges them and is closer to the truth at the same budget.

Source: McKenna, Mullins, Sheldon & Miklau (2022), "AIM: An Adaptive and Iterative Mechanism for
Differentially Private Synthetic Data", PVLDB 15(11), 2599-2612, doi:10.14778/3551793.3551817.

**Rounds of choosing a marginal, measuring it and fitting the model again.**

In each round the exponential mechanism picks the candidate whose table is farthest from the
model, less what noise alone would put into it; its table is bought, and the model fitted to all
tables so far. A round that changed the model by no more than noise makes the next ones dearer:
noise is halved. The last round takes all that is left. A method may have tables of all columns
bought with it instead, where another pair would save less distance (`methods.two_way_risk`).

* **Public**: candidates, their weights, the largest model, costs.
* The size limit is a rule in released numbers (the columns measured so far, `TreeLimit`), followed
  by `CandidateColumns`; it grows with the share of the budget that is spent. Structural zeros are
  in the tree before tables are (`factors.firm_boxes`), so that the model keeps both.
* Costs follow from released values and are refused beyond what is left: a privacy filter
  (`understudy.dp.accountant`).
* Estimates are exact inside the model's cliques, and counted in records drawn from the model
  elsewhere. Both are functions of released values, so the score's sensitivity is as stated.

Source: McKenna, Mullins, Sheldon & Miklau (2022), "AIM", PVLDB 15(11), algorithm 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from understudy.dp.budget import Accounting, Budget
from understudy.dp.calibration import NoiseName, calibrate
from understudy.dp.gate import Gate
from understudy.dp.mechanism import Form
from understudy.dp.released import NoisyTable, Released
from understudy.graphical.estimation import MaxEntropy
from understudy.graphical.factors import firm_boxes
from understudy.graphical.junction_tree import Columns, TreeLimit
from understudy.mechanisms.selection import CandidateColumns
from understudy.mechanisms.selection_scores import DistanceFromModel
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import (
    Effort,
    Facts,
    Names,
    Prepared,
    expected_rows,
    known_rows,
    records_drawn,
    rounds_effort,
)
from understudy.methods.binning import fine_bins
from understudy.methods.marginal_based import MarginalMethod, fit_of
from understudy.methods.noisy_marginals import CompressedDomain, Lines
from understudy.methods.plan import PlannedTable, Workload, planned_rounds
from understudy.methods.two_way_risk import TwoWayRisk, best_precision
from understudy.models.model import Model
from understudy.schema import Schema
from understudy.schema.domain import table_counts

_STEPS = 12
"""Steps of the fit between two rounds; the last fit runs until it has converged."""
Fit = Callable[[Sequence[NoisyTable], MaxEntropy | None], MaxEntropy]
ColumnsAgain = Callable[[Fraction], list[NoisyTable]]
"""Buys a table of each column once more, for a cost."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The pace at which rounds spend.

    Attributes:
        spend: what all rounds may cost.
        first: cost of the first round.
        measured: share of a round's cost that buys the table; the rest buys the choice.
        model_cells: most cells of the model, once all is spent.
        noise: noise of the tables.
    """

    spend: Fraction
    first: Fraction
    measured: Fraction
    model_cells: float
    noise: NoiseName


@dataclass(frozen=True)
class Round:
    """One round, as far as it is planned before it is paid.

    Attributes:
        choice: cost of the choice.
        table: cost of the table.
        distance: what noise alone puts into the L1 distance of a table, per cell, in records.
    """

    choice: Fraction
    table: Fraction
    distance: float

    @property
    def cost(self) -> Fraction:
        """Of both steps."""
        return self.choice + self.table


class _Covered(NamedTuple):
    """The sets of columns that the tree of the next model covers, whatever is chosen.

    Attributes:
        firm: columns of the rules that it keeps.
        marginals: the tables so far.
        most_cells: of the tree with one table more.
    """

    firm: tuple[Columns, ...]
    marginals: Sequence[NoisyTable]
    most_cells: float

    def limit(self, schema: Schema) -> TreeLimit:
        """Return which tables leave the tree small enough."""
        place = {name: j for j, name in enumerate(schema.names)}
        tables = [tuple(place[name] for name in one.columns) for one in self.marginals]
        return TreeLimit(schema.sizes, (*self.firm, *tables), self.most_cells)


def run_rounds(
    gate: Gate,
    known: Sequence[NoisyTable],
    workload: Workload,
    *,
    spent: Fraction,
    pace: Pace,
    fit: Fit,
    again: ColumnsAgain | None = None,
) -> list[NoisyTable]:
    """Buy tables until the budget is spent, or somebody asks to stop; known ones stand first.

    Args:
        gate: in whose columns candidates are named.
        known: tables measured before.
        workload: candidates and their weights.
        spent: what was spent on the tables known before.
        pace: how to spend it.
        fit: fits a model to tables, starting from an earlier one.
        again: buys what takes the place of rounds that would save less distance.
    """
    marginals, left, cost = list(known), pace.spend, min(pace.first, pace.spend)
    risk = TwoWayRisk(best_precision(gate.schema.columns, known))
    n_rows = max(float(known_rows(gate)), 1.0)
    firm, needed = firm_boxes(gate.schema.sizes, gate.schema.domain.boxes, pace.model_cells)
    model = fit(marginals, None)
    while left > 0 and not gate.stopping:
        cost, listed = _affordable(gate, workload, cost, left=left, n_rows=n_rows, pace=pace)
        this = _round(gate, cost, pace)
        left -= this.cost
        earlier, before = model, _estimates(model, gate, listed, n_rows)
        free = (pace.model_cells - needed) * float(1 - left / (pace.spend + spent))
        covered = _Covered(firm, marginals, needed + max(free, 0.0))
        winner = _choose(gate, covered, listed, [*before.values()], this=this)
        (released,) = gate.ask(NoisyTables([winner], noise=pace.noise), spend=this.table)
        marginals.append(released.value)
        model = fit(marginals, model)
        if again is not None:
            _note(risk, gate, released, before[winner], this.cost)
            if left > 0 and _prefers_columns(risk, gate, model, left, spent):
                return [*marginals, *again(left)]
        noise = mean_size(pace.noise, released.noise.stddev) * _cells(gate, winner)
        if _count_changed_records(gate, winner, earlier, before[winner], model) <= noise:
            cost *= _faster(gate.budget.accounting)
    return marginals


def _note(
    risk: TwoWayRisk,
    gate: Gate,
    released: Released[NoisyTable],
    before: NDArray[np.floating],
    cost: Fraction,
) -> None:
    """Take in a round's table, and what the model said before."""
    table = released.value
    places = tuple(gate.schema.names.index(name) for name in table.columns)
    counts = np.asarray(table.counts, dtype=np.float64)
    said = np.asarray(before, dtype=np.float64).reshape(counts.shape)
    risk.note(places, counts, said, released.noise.stddev**2, float(cost))


def _prefers_columns(
    risk: TwoWayRisk, gate: Gate, model: MaxEntropy, left: Fraction, spent: Fraction
) -> bool:
    """Return whether what is left had better buy tables of all columns.

    Args:
        risk: what is known of errors.
        gate: whose columns the model has.
        model: of all tables so far.
        left: of the budget.
        spent: on the tables known before rounds.
    """
    if not spent:
        return False
    counts = [np.maximum(model.marginal((j,)), 0.0) for j in range(len(gate.schema.names))]
    more = float(left / spent) ** (2 if gate.budget.accounting == "pure" else 1)
    return risk.prefers_columns(counts, more * risk.columns, float(left))


def expected_effort(
    schema: Schema,
    workload: Workload,
    tables: Sequence[PlannedTable],
    *,
    rounds: float,
    model_cells: float,
) -> Effort:
    """Memory and time of a fit in rounds.

    The noise of the first round is taken to be that of the best one-way table.

    Args:
        schema: states not merged.
        workload: the candidates.
        tables: what is planned, one-way tables first.
        rounds: how many are expected; one where there are only one-way tables.
        model_cells: most cells of the model.
    """
    n_rows = expected_rows(schema)
    stddev = min((table.stddev for table in tables if table.stddev > 0), default=1.0)
    return rounds_effort(
        schema,
        workload.candidates,
        rounds=rounds if any(table.form is Form.ROUNDS for table in tables) else 1,
        n_drawn=records_drawn(n_rows),
        most_cells=min(2 * max(n_rows, 1) / stddev, model_cells),
        model_cells=model_cells,
    )


def _affordable(
    gate: Gate, workload: Workload, cost: Fraction, *, left: Fraction, n_rows: float, pace: Pace
) -> tuple[Fraction, Workload]:
    """The cost of the next round, and the candidates that could gain by it.

    The noise in a table of more than 2n/E|noise| cells is larger than any distance can be. Where
    only single columns are left at this cost, a dearer round is taken at once.
    """
    while True:
        if left < 2 * cost:
            cost = left
        most = 2 * n_rows / _round(gate, cost, pace).distance
        listed = workload.within(gate.schema, min(most, pace.model_cells))
        if cost == left or any(len(columns) > 1 for columns in listed.candidates):
            return cost, listed
        cost *= _faster(gate.budget.accounting)


def _faster(accounting: Accounting) -> int:
    """By how much the cost of a round grows when its noise is halved."""
    return 2 if accounting == "pure" else 4


def _round(gate: Gate, cost: Fraction, pace: Pace) -> Round:
    table = cost * pace.measured
    noise = calibrate(
        pace.noise, spend=table, accounting=gate.budget.accounting, neighbours=gate.neighbours
    )
    return Round(cost - table, table, max(mean_size(pace.noise, noise.stddev), 1e-12))


def mean_size(distribution: NoiseName, stddev: float) -> float:
    """E|noise|: √(2/π) of the deviation of a Gaussian, √½ of that of Laplace noise."""
    return stddev * (math.sqrt(2 / math.pi) if distribution == "gaussian" else math.sqrt(0.5))


def _choose(
    gate: Gate,
    covered: _Covered,
    listed: Workload,
    estimates: Sequence[NDArray[np.floating]],
    *,
    this: Round,
) -> tuple[str, ...]:
    """The candidate that the exponential mechanism picks among those that fit into the model."""
    fits = covered.limit(gate.schema)
    cells = np.array([_cells(gate, columns) for columns in listed.candidates], dtype=np.float64)
    flat, penalties = np.concatenate(estimates, dtype=np.float32), this.distance * cells
    score = DistanceFromModel(gate.schema, listed.candidates, flat, listed.weights, penalties)
    candidates = CandidateColumns(listed.candidates, score, feasible=fits)
    return gate.ask(candidates, spend=this.choice).value


def _estimates(
    model: MaxEntropy, gate: Gate, listed: Workload, n_rows: float
) -> dict[tuple[str, ...], NDArray[np.floating]]:
    """The model's count of every cell of each candidate, in the order of the candidates."""
    place, sizes = {name: j for j, name in enumerate(gate.schema.names)}, gate.schema.sizes
    tables = [tuple(map(place.__getitem__, columns)) for columns in listed.candidates]
    inside = {table for table in tables if model.tree.find_clique(table) is not None}
    apart = [table for table in tables if table not in inside]
    n_drawn = records_drawn(n_rows)
    # A fixed seed: what is drawn here is a function of released values and nothing else.
    drawn = model.draw(n_drawn, np.random.default_rng(0))
    counted = table_counts(drawn, sizes, apart, weight=n_rows / n_drawn)
    ends = np.cumsum([math.prod(sizes[j] for j in table) for table in apart], dtype=np.int64)
    parts = iter(np.split(counted, ends))
    return {
        names: model.marginal(table).reshape(-1) if table in inside else next(parts)
        for names, table in zip(listed.candidates, tables, strict=True)
    }


def _count_changed_records(
    gate: Gate,
    winner: tuple[str, ...],
    earlier: MaxEntropy,
    before: NDArray[np.floating],
    model: MaxEntropy,
) -> float:
    """By how many records, in L1, the model of the measured table changed.

    What the earlier model said of a table that no clique held was counted in drawn records; as much
    as their number may mislead by does not count.
    """
    table = tuple(gate.schema.names.index(name) for name in winner)
    moved = float(np.abs(model.marginal(table).reshape(-1) - before).sum())
    if earlier.tree.find_clique(table) is not None:
        return moved
    weight = model.total / records_drawn(model.total)
    return max(0.0, moved - mean_size("gaussian", 1.0) * float(np.sqrt(before * weight).sum()))


def _cells(gate: Gate, columns: Sequence[str]) -> int:
    return math.prod(gate.schema.columns[name].size for name in columns)


@dataclass(frozen=True, kw_only=True)
class AdaptiveMethod(MarginalMethod):
    """Options of a method that measures marginals of a workload in rounds.

    Attributes:
        degree: the workload is all marginals of so many columns; 3, or 2 for more than 25 columns,
            by default.
        target: only those that have this column.
        workload: marginals instead, "age & job" or with a weight "age & job: 2.5".
        priority: columns that matter; marginals count four times as much for each of them.
    """

    rounds: ClassVar[bool] = True

    degree: Annotated[int, Field(ge=1)] | None = None
    target: str = ""
    workload: Names = ()
    priority: Names = ()

    def _workload(self, schema: Schema, *, pairs: bool = False) -> Workload:
        """The workload; with `pairs` all pairs, where no option says what else is wanted."""
        named, entries, target = self.priority, self.workload, self.target
        degree = 2 if pairs and self.degree is None and not target else self.degree
        return Workload.of(schema, degree=degree, target=target, entries=entries, priority=named)

    def _in_rounds(
        self,
        gate: Gate,
        merged: CompressedDomain,
        known: Sequence[NoisyTable],
        pace: Pace,
        workload: Workload,
        *,
        bought: Fraction,
        lines: Lines | None = None,
        again: ColumnsAgain | None = None,
    ) -> Model:
        """The model after rounds that spend what pace says.

        Args:
            gate: states not merged.
            merged: its columns, with groups of states.
            known: tables measured before.
            pace: how rounds spend.
            workload: of the merged columns.
            bought: what the known tables cost.
            lines: what number lines say, where rounds are to know.
            again: buys what takes the place of rounds that would save less distance.
        """
        n_rows, view = known_rows(gate), gate.group(merged.groups)

        def fit(marginals: Sequence[NoisyTable], warm: MaxEntropy | None) -> MaxEntropy:
            return fit_of(
                merged,
                marginals,
                n_rows,
                lines=lines,
                warm=warm,
                steps=_STEPS,
                model_cells=self._cells,
            )

        marginals = run_rounds(view, known, workload, spent=bought, pace=pace, fit=fit, again=again)
        return self._through(gate, marginals, n_rows)


MEASURED = Fraction(9, 10)


@final
@dataclass(frozen=True, kw_only=True)
class Aim(AdaptiveMethod):
    """AIM, as configured; see `AdaptiveMethod`."""

    facts: ClassVar[Facts] = Facts(
        name="aim",
        title="marginals chosen one by one where the model is worst",
        paper="McKenna, Mullins, Sheldon & Miklau (2022)",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="many columns of few levels",
        cost="rows × marginals of three columns",
        cost_class="slow",
    )
    fine_numbers: ClassVar[bool] = True

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One-way tables, and rounds that follow from what is measured."""
        self._workload(schema)
        _, bought = self._spends(schema, spend, budget.accounting)
        one_ways = self._planned_one_ways(schema.with_bins(fine_bins(schema)), bought, budget)
        if bought == spend:
            return tuple(one_ways)
        return (*one_ways, planned_rounds(schema, spend - bought, budget, self._cells))

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """About 2 rounds a column, as seen at ε = 1 with δ (`understudy.methods.base`)."""
        return expected_effort(
            schema,
            self._workload(schema),
            tables,
            rounds=2 * len(schema.names),
            model_cells=self._cells,
        )

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """Fine bins for numbers whose bins are the default ones."""
        left, d = gate.remaining / fits, len(gate.schema.names)
        _, bought = self._spends(gate.schema, left, gate.budget.accounting)
        own, fine = self._fine(gate, bought / d)
        return Prepared(partial(self._fit, own, fine), own.schema)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure the columns, then what the model gets wrong."""
        return self._fit(gate, (), spend, n_rows)

    def _fit(self, gate: Gate, fine: tuple[str, ...], spend: Fraction, n_rows: int) -> Model:
        """The same, where some columns of numbers are in fine bins."""
        gate.require(spend)
        first, bought = self._spends(gate.schema, spend, gate.budget.accounting)
        known = self._one_ways(gate, bought)
        pace = Pace(
            spend=spend - bought,
            first=first,
            measured=MEASURED,
            model_cells=self._cells,
            noise=self._noise(gate.budget),
        )
        merged = self._number_runs(gate.schema, known, fine, known_rows(gate))
        workload = self._workload(merged.coarse)
        return self._in_rounds(gate, merged, known, pace, workload, bought=bought)

    def _spends(
        self, schema: Schema, spend: Fraction, accounting: Accounting
    ) -> tuple[Fraction, Fraction]:
        """Price a first round and all one-way tables; a single column gets all of it."""
        d = len(schema.names)
        first = spend / ((2 if accounting == "pure" else 16) * d)
        return first, d * first * MEASURED if d > 1 else spend
