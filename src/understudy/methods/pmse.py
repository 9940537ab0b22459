"""The pMSE mechanism: parameters of a generator, chosen so that its records pass for the rows.

1. Declare a generator: each column is drawn by a regression on some columns before it. Its
   parameters θ have a public prior.
2. Simulate a set Z(θ) for each of many public candidates θ, all from the same random numbers ω.
3. Choose a candidate by the exponential mechanism. Its score is how little the best tree of a fixed
   class can tell Z(θ) from the rows (`privacy.selection.tree_distinguisher_score`).
4. Draw records from the generator at the chosen θ.

* **Search.** `together` chooses all parameters at once, as published. `columns` (default) chooses
  those of one column after the other, each given the columns already simulated, at an equal share
  of the budget: some candidates cover the few parameters of a column as thousands cannot cover
  those of all columns. `refinements` are further rounds among closer candidates, each paid for like
  the first; they pay off at a large ε only. `walk` replaces candidates by a Metropolis walk, as
  published.
* **Generators.** `regressions`: multinomial logits for categories, logistic-normal numbers and
  ordinals within their bounds. `normal`: the paper's normal regressions, numeric columns only.
  Priors are proper and spread over the bounds (`functions.sequential_generator`). The paper's own,
  a thousand times as wide as the bounds (`flat`), has so little mass near any table that candidates
  miss it; at small ε or with many sets the exact target misses it too (study `pmse-table2`).
  `network` says which columns each is drawn given, parents first; by default the schema's order and
  the `parents` columns before.
* **Trees**: all of depth 1, 2 (default) or 3 over the states of the columns, or the best of public
  random partitions of any depth. With `mode=paper` greedy ones over the states, as published.
  (Trees without limit of depth would tell any two sets of numbers apart: a constant score.)
* **Measures** nothing but choices; the chosen parameters are published.
* **Public**: the schema with its bins, the options, the candidates, ω, and the number of rows, or
  that number bought with noise.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP through zCDP if δ > 0, add/remove and replace; conditional
  with `search=walk` (a walk never quite arrives) and with `mode=paper` (greedy trees exceed the
  published bound). The published sensitivity, 1/n of pMSE, is more than twice too large for optimal
  trees: it is 1/(2(n + 1)).
* **Costs** G simulated sets of the compared columns for each round: seconds to a minute.
* **Choose it** where a trusted parametric model of few parameters exists, or to reproduce
  published results. Bounds need not be tight, as the score does not depend on the range. **Do not**
  choose it for a table of many columns: G candidates for p parameters leave steps of G^(−1/p) of
  the prior, so with dozens of them together the best candidate is hardly better than a plain draw
  from the prior; `independent` and `marginals` are far closer to the rows at the same ε.
* **Inference**: none. How far the generator and its best candidate are from the rows is alike in
  all sets, so intervals are refused.

Source: Snoke & Slavković (2018), "pMSE Mechanism: Differentially Private Synthetic Data with
Maximal Distributional Similarity", arXiv:1805.09392.

What the pMSE mechanism judges candidates by: how well their simulated records pass for the rows.

For one column the records of its parents follow from parameters that were chosen before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy.arrays import Floats
from understudy.decision_trees import (
    Greedy,
    Grid,
    GridDepthThree,
    GridDepthTwo,
    Stumps,
    Trees,
    random_partitions,
)
from understudy.errors import MethodError
from understudy.families.effort import Effort, expected_rows, known_rows
from understudy.families.generator_family import GeneratingMethod, ScoreOf, Search
from understudy.families.measurement_plan import PlannedTable
from understudy.families.method import Facts
from understudy.features.number_line import Drawn
from understudy.functions.parameter_prior import NORMAL, NormalWidths
from understudy.functions.sequential_generator import SequentialGenerator
from understudy.functions.simulated_tables import SimulatedColumn, SimulatedRecords, even_numbers
from understudy.models import Model
from understudy.models.bayesian.column_sequence_model import GeneratedModel
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.selection.tree_distinguisher_score import PropensityTrees
from understudy.schema import Categorical, Schema

_BEST_SIZE = 2
"""Simulated records for each row: the ratio that tells sets apart best, once they are close."""


@final
@dataclass(frozen=True, kw_only=True)
class Pmse(GeneratingMethod):
    """Configuration; that of generator and search is in `GeneratingMethod`.

    Attributes:
        flat: with model=normal, the paper's prior: N(0, 1000²) for all parameters, in half ranges.
        width: of a walk's steps, in standard deviations of the prior.
        trees: "depth-1", "depth-2", "depth-3" or "partitions"; greedy ones in paper mode.
        depth: of partitions (6 if None), or of greedy trees (no limit if None).
        partitions: how many public random ones.
        complexity: of greedy trees: a split must gain so much of the impurity at the root.
        records: simulated records of a candidate, at most; they count several times where there are
            more rows.
        draws: sets of a candidate, whose mean score is taken.
        world: public seed of ω.
        mode: "strict", or "paper" for greedy trees with the published bound.
    """

    facts: ClassVar[Facts] = Facts(
        name="pmse",
        title="a generator's parameters, chosen so that trees cannot tell its records",
        paper="Snoke & Slavković (2018)",
        guarantee="pure ε, or (ε, δ); both neighbours (conditional as published, or by a walk)",
        data="few columns with a trusted parametric model",
        cost="candidates × records × columns²",
        cost_class="slow",
    )

    flat: bool = False
    width: Annotated[float, Field(gt=0)] = 0.1
    trees: Literal["depth-1", "depth-2", "depth-3", "partitions"] = "depth-2"
    depth: Annotated[int, Field(ge=0, le=12)] | None = None
    partitions: Annotated[int, Field(ge=1, le=10_000)] = 16
    complexity: Annotated[float, Field(ge=0, lt=1)] = 0.001
    records: Annotated[int, Field(ge=1)] = 1_024
    draws: Annotated[int, Field(ge=1)] = 1
    world: Annotated[int, Field(ge=0)] = 0
    mode: Literal["strict", "paper"] = "strict"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """A choice for each round of each stage."""
        self._require(schema)
        return self._search.plan(
            self._generator(schema), lambda names: self._trees(schema, names).title, spend, budget
        )

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Choose the parameters through the gate."""
        schema = gate.schema
        self._require(schema)
        gate.require(spend)
        declared = self._generator(schema)
        records, copies = self._sizes(known_rows(gate))
        worlds = even_numbers(self.draws, len(schema.names), records, self.world)
        scoring = SimulatedScoring(
            declared, worlds, lambda names: self._trees(schema, names), copies, self.mode
        )
        return GeneratedModel(declared, self._search.parameters(gate, declared, scoring, spend))

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """Simulated records, and pairs of columns counted in them."""
        records, _ = self._sizes(expected_rows(schema))
        d = 1 + self.parents if self.search == "columns" else len(schema.names)
        sets = len(tables) * self.draws * (self.steps if self.search == "walk" else self.candidates)
        coded = 8 * expected_rows(schema) * len(schema.names)
        seconds = sets * records * (1e-7 * (1 if self.search == "columns" else d) + 2e-9 * d * d)
        return Effort((coded + 16 * records * len(schema.names) * self.draws) / 1e6, seconds)

    def _sizes(self, n_rows: int) -> tuple[int, int]:
        """Simulated records of a set, and how often each counts."""
        if self.mode == "paper":
            return max(1, n_rows), 1
        total = max(1, _BEST_SIZE * n_rows)
        records = min(self.records, total)
        return records, max(1, round(total / records))

    @property
    def _search(self) -> Search:
        return self._searching(by_column=self.search == "columns", stride=self.width)

    def _generator(self, schema: Schema, widths: NormalWidths = NORMAL) -> SequentialGenerator:
        return super()._generator(schema, NormalWidths.flat() if self.flat else widths)

    def _trees(self, schema: Schema, names: tuple[str, ...]) -> Trees:
        """The class of trees over the states of some columns."""
        if self.mode == "paper":
            return Greedy(depth=self.depth, complexity=self.complexity, rule="stop")
        columns = [schema.columns[name] for name in names]
        sizes = tuple(column.size for column in columns)
        nominal = tuple(isinstance(column, Categorical) for column in columns)
        if self.trees == "partitions":
            return random_partitions(
                [0] * len(sizes),
                [size - 1 for size in sizes],
                depth=6 if self.depth is None else self.depth,
                trees=self.partitions,
                seed=self.world,
                nominal=nominal,
            )
        if self.trees == "depth-1":
            return Stumps()
        grid = Grid(sizes, nominal)
        return GridDepthTwo(grid) if self.trees == "depth-2" else GridDepthThree(grid)

    def _require(self, schema: Schema) -> None:
        """Refuse what cannot be done, from public facts alone."""
        if self.mode == "paper" and schema.rows != "public":
            raise MethodError(
                "mode=paper has a bound for a replaced row and a public number of rows alone; "
                'declare rows = "public" and n_rows, or leave mode out.'
            )
        if self.flat and self.model != "normal":
            raise MethodError("The option flat is for model=normal; leave it out.")
        uses_depth = self.mode == "paper" or self.trees == "partitions"
        if self.depth is not None and not uses_depth:
            raise MethodError(
                "The option depth is for partitions, and for the greedy trees of mode=paper; name "
                "other trees by depth-1, depth-2 or depth-3."
            )


Simulated = tuple[SimulatedColumn, ...] | tuple[SimulatedRecords, ...]
TreesOf = Callable[[tuple[str, ...]], Trees]
"""Columns → the class of trees that compares them."""


@dataclass(frozen=True, eq=False)
class SimulatedScoring:
    """Trees over simulated records and rows.

    Attributes:
        generator: G(θ, ω).
        worlds: ω of each set that a candidate is judged by, shape (sets, columns, 2, records).
        trees_of: the class of trees for some columns.
        copies: how often each simulated record counts.
        mode: of the score.
    """

    generator: SequentialGenerator
    worlds: Floats
    trees_of: TreesOf
    copies: int
    mode: Mode

    def __call__(self, place: int | None, theta: Floats) -> ScoreOf:
        """The score of one stage; see `Scoring`."""
        simulated = self._everything if place is None else tuple(self._column(place, theta))
        trees = self.trees_of(simulated[0].columns)
        schema = self.generator.schema

        def score_of(points: Floats) -> PropensityTrees:
            return PropensityTrees(schema, simulated, points, trees, self.copies, self.mode)

        return score_of

    @property
    def _everything(self) -> Simulated:
        return tuple(SimulatedRecords(self.generator, world) for world in self.worlds)

    def _column(self, place: int, theta: Floats) -> Iterator[SimulatedColumn]:
        """A column among records of those before it, which follow from θ."""
        before = tuple(zip(self.generator.column_models, self.generator.parts, strict=True))[:place]
        for world in self.worlds:
            drawn: dict[str, Drawn] = {}
            for (model, part), uniforms in zip(before, world, strict=False):
                drawn[model.column] = model.draw(theta[part], drawn, uniforms)
            yield SimulatedColumn(self.generator, place, drawn, world[place])
