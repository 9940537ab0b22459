"""MST: a tree of two-way marginals chosen privately, and the model of greatest entropy they fit.

1. A noisy table of each column. States that stay below three standard deviations of the noise are
   merged into one group per column.
2. Column by column a spanning tree grows: the exponential mechanism picks the pair of columns, not
   yet connected, whose table is farthest (in L1) from that of independent columns.
3. A noisy table of each pair of the tree.
4. Among all distributions that fit the tables best, that of greatest entropy; records are drawn
   from it (`graphical.estimation`).

* **Numbers** whose bins are the default ones have fine bins in step 1 (`methods.binning`), and
  about as many runs of these as the default bins in steps 2 to 4. In declared bins all is as in the
  paper.
* **Measures** a third of the budget each in steps 1, 2 and 3, in equal parts.
* **Public**: the schema with its bins and structural zeros, and the options. States are merged by
  what was released. States that differ in a structural zero are never merged, so that zeros stay
  exact.
* **Guarantee**: (ε, δ)-DP with discrete Gaussian noise if δ > 0 (Gaussian DP accounting), pure ε-DP
  with geometric noise otherwise; **add/remove and replace**. The score has sensitivity 1 or 2 and
  is not monotone (`understudy.mechanisms.selection_scores`).
* **Costs** one pass over the rows for the columns, one for all pairs; about a second for 50,000
  rows of 14 columns.
* **Choose it** for a fast and plain model, or for very many columns. **Do not** choose it where
  relations beyond a tree of pairs matter: `marginals` keeps more at the same budget.

Source: McKenna, Miklau & Sheldon (2021), "Winning the NIST Contest: A scalable and general approach
to differentially private synthetic data", Journal of Privacy and Confidentiality 11(3),
doi:10.29012/jpc.778.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import ClassVar, final

import numpy as np

from understudy.dp.budget import Budget, split
from understudy.dp.gate import Gate
from understudy.graphical.estimation import MaxEntropy
from understudy.mechanisms.selection import CandidateColumns
from understudy.mechanisms.selection_scores import DistanceFromProduct
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import Effort, Facts, Prepared, known_rows, pairs_effort
from understudy.methods.binning import fine_bins
from understudy.methods.marginal_based import MarginalMethod, fit_of
from understudy.methods.noisy_marginals import CompressedDomain, rare_groups
from understudy.methods.plan import PlannedTable, plan_table, planned_choice, small
from understudy.models.model import Model
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class Mst(MarginalMethod):
    """MST, as configured; see `MarginalMethod`."""

    facts: ClassVar[Facts] = Facts(
        name="mst",
        title="a tree of two-way tables chosen privately",
        paper="McKenna, Miklau & Sheldon (2021)",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="many columns, related pair by pair",
        cost="rows × pairs of columns",
        cost_class="fast",
    )
    fine_numbers: ClassVar[bool] = True

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One-way tables, choices, and as many pairs, each as large as any that may be chosen."""
        third, d = spend / 3, len(schema.names)
        fine = schema.with_bins(fine_bins(schema))
        if d == 1:
            return tuple(self._planned_one_ways(fine, spend, budget))
        share, sizes = third / (d - 1), sorted(schema.sizes)
        query = f"one of {math.comb(d, 2)} candidates by {DistanceFromProduct.title}"
        choices = [planned_choice(schema, query, share, budget, chosen=k > 0) for k in range(d - 1)]
        pair = plan_table(
            schema,
            (),
            share,
            budget,
            self._noise(budget),
            n_cells=int(min(sizes[-1] * sizes[-2], max(self._cells, sizes[-1]))),
            query="counts by two columns",
        )
        return (*self._planned_one_ways(fine, third, budget), *choices, *[pair] * (d - 1))

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """All pairs are counted once (`understudy.methods.base`)."""
        return pairs_effort(schema, self._cells)

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """Fine bins for numbers whose bins are the default ones."""
        d = len(gate.schema.names)
        each = gate.remaining / fits / (3 * d if d > 1 else 1)
        own, fine = self._fine(gate, each)
        return Prepared(partial(self._fit, own, fine), own.schema)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure columns, grow the tree, measure its pairs."""
        return self._fit(gate, (), spend, n_rows)

    def _fit(self, gate: Gate, fine: tuple[str, ...], spend: Fraction, n_rows: int) -> Model:
        """The same, where some columns of numbers are in fine bins."""
        gate.require(spend)
        names, total = gate.schema.names, known_rows(gate)
        if len(names) == 1:
            return self._through(gate, self._one_ways(gate, spend), total)
        third = spend / 3
        marginals = self._one_ways(gate, third)
        runs = self._number_runs(gate.schema, marginals, fine, total)
        groups = {**rare_groups(gate.schema, marginals), **runs.groups}
        merged = CompressedDomain(gate.schema, groups, runs.masses)
        view = gate.group(merged.groups)
        model = fit_of(merged, marginals, total, model_cells=self._cells)
        pairs = grow_forest(view, model, third, self._cells, names=names)
        distribution = self._noise(gate.budget)
        measured = view.ask(NoisyTables(pairs, noise=distribution), spend=third)
        marginals += [table.value for table in measured]
        return self._through(gate, marginals, total)


def grow_forest(
    view: Gate,
    model: MaxEntropy,
    spend: Fraction,
    most_cells: float,
    *,
    names: Sequence[str],
    grown: Sequence[tuple[str, ...]] = (),
    most: int | None = None,
) -> list[tuple[str, ...]]:
    """Choose pairs of columns that connect all of them, as far as they fit into a model.

    Args:
        view: in whose columns pairs are chosen.
        model: of these columns, independent ones.
        spend: cost of all choices.
        most_cells: of all tables of pairs together.
        names: columns to connect.
        grown: pairs that connect some columns already.
        most: pairs to choose at most; as many as connect all if None.
    """
    schema, place = view.schema, {name: j for j, name in enumerate(view.schema.names)}
    pairs = list(combinations(names, 2))
    pairs = [pairs[k] for k in small(schema, pairs, most_cells)]
    component, edges, free = np.arange(len(place)), [], most_cells

    def join(pair: tuple[str, ...]) -> int:
        a, b = (place[name] for name in pair)
        component[component == component[a]] = component[b]
        return schema.sizes[a] * schema.sizes[b]

    free -= sum(map(join, grown))
    apart = {component[place[name]] for name in names}
    if len(apart) < 2 or not pairs:
        return []
    score = _score(view, pairs, model)
    columns = np.array([(place[a], place[b]) for a, b in pairs], dtype=np.int64)
    cells = np.array(schema.sizes)[columns].prod(axis=1)
    lacking = len(apart) - 1
    for share in split(spend, [1] * (lacking if most is None else min(most, lacking))):
        first, second = component[columns].T
        open_pairs = (first != second) & (cells <= free)
        if not open_pairs.any():
            break
        edges.append(view.ask(CandidateColumns(pairs, score, open_pairs), spend=share).value)
        free -= join(edges[-1])
    return edges


def _score(view: Gate, pairs: Sequence[tuple[str, ...]], model: MaxEntropy) -> DistanceFromProduct:
    one_ways = tuple(model.marginal((j,)) for j in range(len(view.schema.names)))
    return DistanceFromProduct(view.schema, tuple(pairs), one_ways, model.total)
