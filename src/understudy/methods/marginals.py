"""Adaptive marginals on merged states: AIM, improved where measurements said so.

1. A noisy table of each column at `one_way_share` of the budget, more of it for columns of many
   states: ∝ states^(2/3), which minimises the summed L1 error. Of few columns most pairs are
   measured and tell of columns as well, so that these cost less. Numbers have as many bins as noise
   allows for so many rows (`methods.binning`). A number line, if the release buys one, joins
   its table (`methods.noisy_marginals`). Of a column of numbers, states whose counts noise explains
   are empty (`models.number_line`), and long tails have a smooth shape (`models.number_line`).
   Where noise leaves room for fewer cells than a table of two columns has, they are bought once
   more, in proportion to what is lacking: columns drawn from good tables are closer than pairs
   drowned in noise. That is divided ∝ states^(1/3), as much of the noise of many is smoothed away.
   Not so where a forest is bought (step 4).
   Without δ both are bought as one: the mean of two tables has more noise than one for both costs.
   Then they get more where a forest is bought, too, and least where rounds have the most room.
2. States are merged by these tables: rare levels (with less than a part in 256 of the records, or
   than noise lets a few cells hold) into one group, ordered values into runs of about equal mass,
   lighter ones beside a heavy value. Tables of several columns are measured over groups. With δ,
   half of what the one-way table of a column of numbers may cost buys one over finer runs, of which
   those are made: noise does not add up in it.
   Bins of numbers that hold far more than their neighbours are divided and counted once more, for a
   sixteenth of the rest at most (an eighth where δ = 0): a heap on one value is kept
   (`methods.binning`).
3. A table of each pair that a declared relation ties, at the cost of a round but without a choice;
   half of what rounds may cost buys these at most. With δ, how far ranks of ordered columns go
   together, of all pairs at once, by the number of rows (`methods.ranks`).
4. A forest of pairs in place of rounds where these have no room for a usual pair: as many as noise
   leaves two groups of either column, one for each column but one at most. As in MST
   (`methods.mst`), pairs are chosen one by one, over few groups of states, and measured together.
   A fifth of their cost buys choices. They have the part of a usual pair's cells that rounds have
   room for, one third at least and two thirds at most. With δ the rest buys pairs or columns once
   more, as released values say (`methods.two_way_risk`); without δ columns have it before.
   Elsewhere rounds as in AIM (`methods.aim`), fewer and dearer ones at first. A column in one group
   tells nothing of a pair. Of up to five columns tables of few cells are candidates as well, and
   only those with the target, if one is named. With δ tables of three are no candidates where noise
   leaves few cells (`TRIPLES_ROOM`), as much of the noise of pairs is shrunk away. Without δ rounds
   are few and dear, and one such table tells three pairs. Where noise leaves few cells
   (`FEW_ROOM`), first rounds are twice as dear with δ: a cheap choice among many is mostly noise.
   Where four pairs in a row show no clear tie, and released values say that another would save
   less of the distance of pairs than all columns would for its cost, the rest buys a table of each
   column (`methods.two_way_risk`), unless an option says what is wanted, or what one-way tables
   cost.
5. The model of greatest entropy that fits all tables, regularised in proportion to the noise
   (`graphical.estimation`), columns of levels shrunk as far as noise makes them doubtful, ties of
   pairs to what it does not explain (`methods.marginal_based`), what ranks say of these
   (`methods.ranks`), and second moments, if the release bought some. Their sums of numbers move
   tables of one column (`methods.measured_sums`). Within a group, states have the shape of their
   one-way table, shrunk towards a smooth one as far as noise makes it doubtful; which records take
   the first states of a run follows columns measured with it (`graphical.compression`).
   Numbers are drawn within fine bins by a density that keeps means and quantiles. Records exchange
   values until ranks go together as measured (`graphical.rank_exchange`), and are weighted so that
   they hold what second moments tell of other pairs (`graphical.pairs_beyond`); of up to eight
   times as many those stay that hold the tables of pairs (`graphical.sampling`).

* **Public**: the schema with its bins and structural zeros, the options. States that differ in a
  structural zero, spikes and codes of absence are never merged with other values.
* **Guarantee**: (ε, δ)-DP with discrete Gaussian noise if δ > 0 (Gaussian DP accounting), pure ε-DP
  with geometric noise otherwise; **add/remove and replace**. Merging states maps each record by
  itself and leaves every sensitivity as it is; the score is not monotone and is charged as such
  (`understudy.mechanisms.selection_scores`).
* **Costs** a count of the rows for each part of the workload, then seconds of fitting; they grow
  with rows and cells of the model, not with the domain.
* **Choose it** for most tables: it is what `auto` takes beyond a handful of cells. **Do not**
  choose it where a full table of few cells is wanted (`laplace`).

Sources: McKenna, Mullins, Sheldon & Miklau (2022), PVLDB 15(11), for the rounds; McKenna, Miklau &
Sheldon (2021), J. Privacy and Confidentiality 11(3), for merged states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Annotated, ClassVar, NamedTuple, final

import numpy as np
from pydantic import Field

from understudy._arrays import Floats
from understudy.dp.budget import Accounting, Budget, exact
from understudy.dp.gate import Gate
from understudy.dp.released import Groups, NoisyTable, Released
from understudy.graphical.estimation import MaxEntropy
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.aim import AdaptiveMethod, Pace, expected_effort
from understudy.methods.base import Effort, Facts, Prepared, known_rows
from understudy.methods.binning import (
    LEVELS,
    bins_for,
    cell_noise,
    divide_bins,
    fine_bins,
    records_per_noise,
)
from understudy.methods.marginal_based import fit_of, measured_beside
from understudy.methods.mst import grow_forest
from understudy.methods.noisy_marginals import (
    CompressedDomain,
    Lines,
    coarse_groups,
    fine_tables,
    finer_runs,
    number_masses,
    runs_spend,
    wide_numbers,
)
from understudy.methods.plan import (
    PlannedTable,
    plan_mechanism,
    planned_rounds,
    size_weights,
    tied_pairs,
    tied_spend,
)
from understudy.methods.ranks import planned_ranks, rank_products, ranks_spend, ranks_told
from understudy.methods.two_way_risk import best_precision, part_for_pairs
from understudy.models.model import Model
from understudy.schema import Schema, is_ordered

LEAST_BINS, MOST_BINS = 8, 48
"""Runs of an ordered column, as the budget allows."""
RECORDS_PER_CELL = 3.0
"""Records of a cell of two columns in runs, in deviations of the noise of a round."""
ONE_WAY_SHARE = Fraction(1, 25)
"""Share of the budget for one-way tables for each column, at least."""
LEAST_ONE_WAY, MOST_ONE_WAY = Fraction(3, 10), Fraction(2, 5)
"""The same for all columns, whatever their number."""
FEW_ROOM = 100.0
"""Cells that noise must leave room for, or first rounds are twice as dear."""
TRIPLES_ROOM = 2.0
"""The same with δ, in usual tables of three, or such tables are no candidates."""
LEAST_FOREST, MOST_FOREST = Fraction(1, 3), Fraction(2, 3)
"""Share of what rounds may cost that buys a forest of pairs in their place at first."""
CHOICE_SHARE = Fraction(1, 5)
"""Part of that for choices; the rest buys the tables."""
RECORDS_PER_GROUP = 2.0
"""Records of a cell of a table of the forest, in deviations of its noise."""
FEWEST_CELLS = 0.1
"""Part of a usual pair's cells that noise must leave room for, or no round is worth its cost."""


class _Forest(NamedTuple):
    """A forest of pairs that takes the place of rounds.

    Attributes:
        pairs: how many, at most.
        groups: of a column in one of them, about.
        share: part of what rounds may cost that buys it at first.
    """

    pairs: int
    groups: int
    share: Fraction


@final
@dataclass(frozen=True, kw_only=True)
class Marginals(AdaptiveMethod):
    """Chosen marginals, as configured; see also `AdaptiveMethod`.

    Attributes:
        bins: runs of ordered columns; by default as many as leave a cell of two columns three
            standard deviations of the noise in records, 8 to 48.
        one_way_share: share for one-way tables; .3 to .4, the more the more columns, or more where
            noise drowns pairs, by default.
        measured_share: part of a round's cost that buys the table; the rest buys the choice.
        rounds_per_column: rounds for each column that the rest is divided into at first; 4, 2 where
            noise leaves few cells, or 1 where δ = 0, by default.
        ranks_share: share of the budget for how far ranks of three or more ordered columns go
            together, where δ > 0; by default for noise of .035 in a correlation, .15 at most.
    """

    facts: ClassVar[Facts] = Facts(
        name="marginals",
        title="adaptive marginals on merged states",
        paper="after McKenna, Mullins, Sheldon & Miklau (2022)",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="any columns, up to about a hundred",
        cost="rows × marginals of three columns",
        cost_class="slow",
    )
    fine_numbers: ClassVar[bool] = True
    shrinks: ClassVar[bool] = True

    bins: Annotated[int, Field(ge=2)] | None = None
    one_way_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    measured_share: Annotated[float, Field(gt=0, lt=1)] = 0.9
    rounds_per_column: Annotated[float, Field(gt=0)] | None = None
    ranks_share: Annotated[float, Field(ge=0, lt=1)] | None = None

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One-way tables, and rounds that follow from what is measured."""
        fine = fine_bins(schema)
        schema = schema.with_bins(fine)
        self._workload(schema)
        ranks, bought, runs, wide = self._before_rounds(schema, spend, budget)
        spend -= ranks
        tied = tied_pairs(schema, self._cells)
        cost = tied_spend(tied, self._first(schema, spend - bought, budget), spend - bought)
        pure, more = budget.accounting == "pure" and self.one_way_share is None, Fraction(0)
        if pure and schema.n_rows is not None:
            more = self._more(schema, budget, spend - bought - cost, schema.n_rows)
        paid, weights = _once(schema, wide, bought - runs, more)
        one_ways = self._planned_one_ways(schema, paid, budget, weights)
        by_rows = pure and schema.rows == "private" and bought < spend
        one_ways = [replace(one, chosen=by_rows or one.columns[0] in fine) for one in one_ways]
        if bought + more == spend:
            return tuple(one_ways)
        if wide:
            names = [(name,) for name in wide]
            tables = NoisyTables(names, noise=self._noise(budget))
            one_ways += plan_mechanism(tables, schema, runs, budget, chosen=True)
        if tied:
            tables = NoisyTables(tied, noise=self._noise(budget))
            one_ways += plan_mechanism(tables, schema, cost, budget, chosen=True)
        one_ways += planned_ranks(schema, ranks, budget, self.ranks_share)
        left = spend - bought - cost - more
        return (*one_ways, *([planned_rounds(schema, left, budget, self._cells)] if left else []))

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """Bins for numbers whose bins are the default ones: as many as are worth their noise.

        Costs are those of the finest, of which plans speak.
        """
        finest = gate.schema.with_bins(fine_bins(gate.schema))
        _, bought, _, _ = self._before_rounds(finest, gate.remaining / fits, gate.budget)
        each = records_per_noise(gate, self._noise(gate.budget), bought / len(finest.names))
        own = gate.rebin(fine_bins(gate.schema, bins_for(each)))
        return Prepared(partial(self._fit, own, finest), own.schema)

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """Name the columns that are certain to be merged, and what is known of ranks."""
        fine = schema.with_bins(fine_bins(schema))
        most = self.bins or MOST_BINS
        wide = [
            f"{name} ({column.size})"
            for name, column in fine.columns.items()
            if is_ordered(column) and column.size > most
        ]
        rare = "Levels with few records beside noise share a group in tables of several columns"
        runs = f"; states next to each other share one in {', '.join(wide)}" if wide else ""
        return (f"{rare}{runs}.", *ranks_told(schema, self.ranks_share))

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """About 2.5 rounds a column, as seen at ε = 1 with δ (`understudy.methods.base`)."""
        schema = schema.with_bins(fine_bins(schema))
        return expected_effort(
            schema,
            self._workload(schema),
            tables,
            rounds=_rounds(budget.accounting) * len(schema.names),
            model_cells=self._cells,
        )

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure the columns, merge states, measure what the model gets wrong."""
        return self._fit(gate, gate.schema, spend, n_rows)

    def _fit(self, gate: Gate, planned: Schema, spend: Fraction, n_rows: int) -> Model:
        """The same, where the bins of numbers may be coarser than those that costs go by."""
        gate.require(spend)
        schema, total = gate.schema, known_rows(gate)
        ranks, bought, runs, wide = self._before_rounds(planned, spend, gate.budget)
        if ranks:
            ranks = ranks_spend(planned, gate.budget, spend, self.ranks_share, n_rows=total)
        spend -= ranks
        tied, rest = tied_pairs(schema, self._cells), spend - bought
        cost = tied_spend(tied, self._first(schema, rest, gate.budget), rest)
        more = self._more(schema, gate.budget, rest - cost, total)
        pure = gate.budget.accounting == "pure"
        known = self._one_ways(gate, *_once(planned, wide, bought - runs, more if pure else 0))
        if more and not pure:
            known += self._one_ways(gate, more, size_weights(schema, 1 / 3))
        lines = self._lines(schema, measured_beside(gate.measured))
        left = rest - cost - more
        forest = self._forest(schema, gate.budget, rest - cost, total)
        room = self._room(schema, gate.budget, left, total) if left else math.inf
        most = self._bins(room)
        known, finer = self._with_runs(gate, known, runs, wide, room, lines=lines)
        masses = number_masses(schema, known, total, lines)
        ones = [*fine_tables(known).values()]
        left -= divide_bins(gate, self._noise(gate.budget), masses, fine_tables(known), left)
        groups = coarse_groups(schema, ones, most, masses, finer, n_rows=total, room=room)
        if forest:
            ties = {name for pair in tied for name in pair}
            free = [one for one in ones if not ties & {*one.columns}]
            few = forest.groups
            own = coarse_groups(schema, free, few, masses, finer, n_rows=total, least=1 / (2 * few))
            groups = {**{name: groups[name] for name in ties & groups.keys()}, **own}
        view, merged = gate.group(groups), CompressedDomain(schema, groups, masses)
        if tied:
            tables = NoisyTables(tied, noise=self._noise(gate.budget))
            known += [table.value for table in view.ask(tables, spend=cost)]
        if ranks:
            view.ask(rank_products(merged, known), spend=ranks)
        if forest:
            bought = spend - left
            model = fit_of(merged, known, total, lines=lines, model_cells=self._cells)
            known = self._with_forest(
                gate, view, model, known, forest=forest, tied=tied, spend=left, bought=bought
            )
            return self._through(gate, known, total)
        usual = self._usual_cells(schema) if left else 0.0
        alone = room < (usual if pure else TRIPLES_ROOM * usual**1.5)
        workload = self._workload(view.schema, pairs=alone).without_constants(view.schema)
        if not (alone or self.degree or self.workload):
            workload = workload.deeper(view.schema, self.target)
        pace = Pace(
            spend=left,
            first=self._first(schema, left, gate.budget, narrow=room < FEW_ROOM),
            measured=exact(self.measured_share),
            model_cells=self._cells,
            noise=self._noise(gate.budget),
        )
        bought = spend - left
        again = None
        if not self._asks() and self.one_way_share is None:
            again = partial(self._one_ways, gate, weights=size_weights(schema, 2 / 3))
        return self._in_rounds(
            gate, merged, known, pace, workload, bought=bought, lines=lines, again=again
        )

    def _forest(
        self, schema: Schema, budget: Budget, left: Fraction, n_rows: float
    ) -> _Forest | None:
        """Plan a forest that takes the place of rounds, from public and paid numbers.

        Where rounds have no room for a usual pair, as many pairs as noise leaves two groups of
        either column, one for each column but one at most. None if rounds are better, or nothing
        is.

        Args:
            schema: the columns.
            budget: for its accounting.
            left: what rounds may cost.
            n_rows: number of rows.
        """
        if self._asks() or self.one_way_share or not left:
            return None
        used = self._used(schema, budget, left, n_rows)
        if used >= 1:
            return None
        share = min(max(Fraction(round(1000 * used), 1000), LEAST_FOREST), MOST_FOREST)
        tables = left * share * (1 - CHOICE_SHARE)
        for pairs in range(len(schema.names) - 1, 0, -1):
            noise = cell_noise(schema, budget, self._noise(budget), tables / pairs)
            groups = math.sqrt(max(n_rows, 0) / noise / RECORDS_PER_GROUP)
            if groups >= 2:
                return _Forest(pairs, min(math.ceil(groups), LEAST_BINS), share)
        return None

    def _with_forest(
        self,
        gate: Gate,
        view: Gate,
        model: MaxEntropy,
        known: Sequence[NoisyTable],
        *,
        forest: _Forest,
        tied: Sequence[tuple[str, ...]],
        spend: Fraction,
        bought: Fraction,
    ) -> list[NoisyTable]:
        """Known tables, those of a forest of pairs, and what else the spend buys.

        With δ a second part buys pairs or columns once more, whichever saves more of the distance
        of pairs by released values; without, all of it buys the forest, as two tables have more
        noise than one for both costs.

        Args:
            gate: states not merged.
            view: states in groups.
            model: over groups, of the known tables.
            known: tables measured before.
            forest: as planned.
            tied: pairs among them.
            spend: cost of all.
            bought: what the known tables cost.
        """
        pure, noise = gate.budget.accounting == "pure", self._noise(gate.budget)
        first, tables = spend if pure else spend * forest.share, [*known]
        varied = [name for name, column in view.schema.columns.items() if column.size > 1]
        pairs = grow_forest(
            view,
            model,
            first * CHOICE_SHARE,
            self._cells,
            names=varied,
            grown=tied,
            most=forest.pairs,
        )
        if pairs:
            asked = NoisyTables(pairs, noise=noise)
            paid = first * (1 - CHOICE_SHARE)
            measured = view.ask(asked, spend=paid)
            tables += [one.value for one in measured]
            spend -= first
            part = _part_for_pairs(
                view, model, known, measured, columns=spend / bought, pairs=spend / paid
            )
            if part * spend:
                tables += [one.value for one in view.ask(asked, spend=part * spend)]
                spend -= part * spend
        if spend:
            tables += self._one_ways(gate, spend, size_weights(gate.schema, 1 / 3))
        return tables

    def _before_rounds(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[Fraction, Fraction, Fraction, tuple[str, ...]]:
        """Costs of ranks, of one-way tables and of those among them over runs; columns of these."""
        ranks = ranks_spend(schema, budget, spend, self.ranks_share)
        bought = self._one_way_spend(schema, spend - ranks)
        wide = wide_numbers(schema, budget, self.bins or MOST_BINS)
        return ranks, bought, runs_spend(schema, bought, wide), wide

    def _more(self, schema: Schema, budget: Budget, left: Fraction, n_rows: float) -> Fraction:
        """Compute what one-way tables get beyond their usual cost, from public and paid numbers.

        A pair that could be measured counts: with a target of few levels, pairs have fewer cells.

        Args:
            schema: the columns.
            budget: for its accounting.
            left: for these tables and the rounds.
            n_rows: number of rows, as bought or declared.
        """
        if self.one_way_share is not None or not left:
            return Fraction(0)
        if forest := self._forest(schema, budget, left, n_rows):
            return left * (1 - forest.share) if budget.accounting == "pure" else Fraction(0)
        used = self._used(schema, budget, left, n_rows)
        if used < FEWEST_CELLS:
            return left
        part = Fraction(round(1000 * used), 1000)
        if used < 1:
            return left * (1 - part)
        pure = budget.accounting == "pure" and not self._asks()
        return left * (1 - MOST_FOREST) / part if pure else Fraction(0)

    def _asks(self) -> bool:
        """Return whether an option says which tables are wanted."""
        return bool(self.degree or self.target or self.workload or self.priority)

    def _used(self, schema: Schema, budget: Budget, left: Fraction, n_rows: float) -> float:
        """Cells that noise leaves room for, in parts of those of a usual pair."""
        return self._room(schema, budget, left, n_rows) / self._usual_cells(schema)

    def _usual_cells(self, schema: Schema) -> float:
        """Mean cells of the pairs that could be measured, of columns in few groups."""
        sizes = dict(zip(schema.names, np.minimum(schema.sizes, LEAST_BINS), strict=True))
        pairs = [pair for pair in combinations(sizes, 2) if not self.target or self.target in pair]
        return float(np.mean([sizes[one] * sizes[other] for one, other in pairs]))

    def _merge_columns(
        self,
        schema: Schema,
        marginals: Sequence[NoisyTable],
        masses: Mapping[str, Floats],
        n_rows: float,
    ) -> CompressedDomain:
        """Columns that are in no table of several have rare states merged as well."""
        merged = super()._merge_columns(schema, marginals, masses, n_rows)
        chosen = {name for one in marginals if len(one.columns) > 1 for name in one.columns}
        alone = [one for name, one in fine_tables(marginals).items() if name not in chosen]
        own = coarse_groups(schema, alone, self.bins or MOST_BINS, masses, n_rows=n_rows)
        return CompressedDomain(schema, {**own, **merged.groups}, masses)

    def _first(
        self, schema: Schema, spend: Fraction, budget: Budget, *, narrow: bool = False
    ) -> Fraction:
        """Cost of the first round."""
        usual = 1 if budget.accounting == "pure" else 2 if narrow else 4
        return spend / (exact(self.rounds_per_column or usual) * len(schema.names))

    def _one_way_spend(self, schema: Schema, spend: Fraction) -> Fraction:
        """All of it where there is nothing but one column."""
        d = len(schema.names)
        if d == 1:
            return spend
        if self.one_way_share is not None:
            return spend * exact(self.one_way_share)
        return spend * min(max(d * ONE_WAY_SHARE, LEAST_ONE_WAY), MOST_ONE_WAY)

    def _with_runs(
        self,
        gate: Gate,
        known: list[NoisyTable],
        spend: Fraction,
        wide: tuple[str, ...],
        room: float,
        *,
        lines: Lines,
    ) -> tuple[list[NoisyTable], Groups]:
        """One-way tables, with those over runs of some columns; and these runs."""
        if not wide:
            return known, {}
        n_rows, bins = known_rows(gate), self._bins(room)
        finer = finer_runs(gate.schema, known, n_rows, wide, lines=lines, bins=bins, room=room)
        tables = NoisyTables([(name,) for name in wide], noise=self._noise(gate.budget))
        more = gate.group(finer).ask(tables, spend=spend)
        return [*known, *(table.value for table in more)], finer

    def _bins(self, room: float) -> int:
        """Runs of a column, from released and public numbers.

        With b runs a column a table of two has n/b² records a cell. Finer runs are mostly noise;
        coarser ones lose little, for places within runs follow other columns.

        Args:
            room: cells that noise leaves room for.
        """
        return self.bins or int(min(max(math.sqrt(room), LEAST_BINS), MOST_BINS))

    def _room(self, schema: Schema, budget: Budget, spend: Fraction, n_rows: float) -> float:
        """Cells of a round's table with as many records as `RECORDS_PER_CELL`; spend of all."""
        rounds = exact(_rounds(budget.accounting) * len(schema.names))
        table = spend * exact(self.measured_share) / rounds
        return n_rows / cell_noise(schema, budget, self._noise(budget), table) / RECORDS_PER_CELL


def _part_for_pairs(
    view: Gate,
    model: MaxEntropy,
    known: Sequence[NoisyTable],
    measured: Sequence[Released[NoisyTable]],
    *,
    columns: Fraction,
    pairs: Fraction,
) -> Fraction:
    """Return which part of a sum buys pairs once more; the rest buys columns.

    Args:
        view: states in groups.
        model: over groups, of the known tables.
        known: tables measured before the pairs.
        measured: tables of pairs.
        columns: the sum, in costs of the known tables.
        pairs: the sum, in costs of the pairs.
    """
    places = {name: j for j, name in enumerate(view.schema.names)}
    precision = best_precision(view.schema.columns, known)
    tables = [
        (
            tuple(places[name] for name in one.value.columns),
            np.asarray(one.value.counts, dtype=np.float64),
            one.noise.stddev**2,
        )
        for one in measured
    ]
    counts = [np.maximum(model.marginal((j,)), 0.0) for j in places.values()]
    return part_for_pairs(tables, counts, (precision, float(columns) * precision), float(pairs))


def _once(
    schema: Schema, wide: Sequence[str], usual: Fraction, more: Fraction | int
) -> tuple[Fraction, list[Fraction]]:
    """Cost and weights of one-way tables that are bought for their usual cost and for more.

    Args:
        schema: in the finest bins, of which plans speak.
        wide: columns that are measured over runs as well.
        usual: cost, divided ∝ states^(2/3).
        more: beyond it, divided ∝ states^(1/3), of numbers those in the coarsest bins.
    """
    first = size_weights(schema, 2 / 3, wide)
    if not more:
        return usual, first
    second = size_weights(schema, 1 / 3, most=LEVELS[0])
    totals = sum(first), sum(second)
    both = zip(first, second, strict=True)
    return usual + more, [usual * a / totals[0] + more * b / totals[1] for a, b in both]


def _rounds(accounting: Accounting) -> float:
    """Rounds for each column, as seen at ε = 1."""
    return 1.0 if accounting == "pure" else 2.5
