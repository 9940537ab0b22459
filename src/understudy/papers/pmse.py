"""The pMSE mechanism: parameters of a generator, chosen so that its records pass for the rows.

1. Declare a generator: each column is drawn by a regression on some columns before it. Its
   parameters θ have a public prior.
2. Simulate a set Z(θ) for each of many public candidates θ, all from the same random numbers ω.
3. Choose a candidate by the exponential mechanism. Its score is how little the best tree of a fixed
   class can tell Z(θ) from the rows (`papers.generator_scores`).
4. Draw records from the generator at the chosen θ.

* **Search.** `together` chooses all parameters at once, as published. `columns` (default) chooses
  those of one column after the other, each given the columns already simulated, at an equal share
  of the budget: some candidates cover the few parameters of a column as thousands cannot cover
  those of all columns. `refinements` are further rounds among closer candidates, each paid for like
  the first; they pay off at a large ε only. `walk` replaces candidates by a Metropolis walk, as
  published.
* **Generators.** `regressions`: multinomial logits for categories, logistic-normal numbers and
  ordinals within their bounds. `normal`: the paper's normal regressions, numeric columns only.
  Priors are proper and spread over the bounds (`papers.generators`). The paper's own,
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

**What methods share that choose the parameters of a generator which draws column by column.**

A *stage* fixes some parameters of the generator: those of one column given the columns before it,
whose parameters stand by then, or all of them at once. A *round* of a stage chooses one of G public
candidates by a score, or where a walk ends. Candidates of the first round are points of the prior;
each further round costs as much again and lays its points around the one chosen before, in a space
that is narrower by a public factor. Finer steps are bought; nothing is tuned to the rows.

What candidates are judged by is a `Scoring`: how well simulated records pass for the rows (`pmse`),
or a likelihood (`censored-posterior`).

**Public functions that a mechanism evaluates at secret arguments; they know no rows and no noise.**

A walk over parameters asks for simulated records, or for probabilities, wherever it stands; a
choice asks how large a model a drawn candidate would make. Whoever could put code of their own
there would see draws that nobody paid for. So `privacy` calls the functions of this room, which it
knows by name, and no others. The room sees the schema alone; models and methods use it too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Protocol, final

import numpy as np
from pydantic import Field

from understudy._arrays import Floats
from understudy.dp.budget import Budget, split
from understudy.dp.gate import Gate
from understudy.dp.perturbation import Mode
from understudy.errors import MethodError
from understudy.features.grids import Drawn
from understudy.methods.base import Effort, Facts, Method, Names, expected_rows, known_rows
from understudy.methods.plan import PlannedTable, planned_choice
from understudy.methods.privbayes import read_network
from understudy.models.model import InferenceFacts, Model
from understudy.papers.column_models import GeneratedModel
from understudy.papers.generator_scores import (
    CandidateScore,
    ListedParameters,
    PropensityTrees,
    Walk,
    WalkedParameters,
    candidates_query,
    walk_query,
)
from understudy.papers.generators import (
    NORMAL,
    NormalWidths,
    Prior,
    SequentialGenerator,
    SimulatedColumn,
    SimulatedRecords,
    even_numbers,
    normal_regressions,
    regressions,
)
from understudy.papers.trees_exact import Grid, GridDepthThree, GridDepthTwo, Stumps, Trees
from understudy.papers.trees_greedy import Greedy, random_partitions
from understudy.schema import NUMERIC, Categorical, Schema

ScoreOf = Callable[[Floats], CandidateScore]
"""Candidates, shape (G, p) → how well each suits the rows."""
TitleOf = Callable[[tuple[str, ...]], str]
"""Columns that are looked at → what candidates are judged by, in the words of the ledger."""


class Scoring(Protocol):
    """The criterion that candidates are judged by."""

    def __call__(self, place: int | None, theta: Floats) -> ScoreOf:
        """The score of one stage.

        Args:
            place: of the column whose parameters are looked for; None for all columns at once.
            theta: all parameters of the generator; those of columns before `place` are chosen.
        """
        ...


@dataclass(frozen=True)
class Search:
    """A search, described by public numbers.

    Attributes:
        by_column: whether the parameters of each column are a stage of their own.
        rounds: of each stage.
        candidates: G, of each round.
        shrink: by which factor the space narrows from round to round.
        steps: of a Metropolis walk, which then stands in place of candidates; None for none.
        stride: of a walk's steps, in standard deviations of the prior.
    """

    by_column: bool
    rounds: int
    candidates: int
    shrink: float
    steps: int | None
    stride: float

    def parameters(
        self, gate: Gate, generator: SequentialGenerator, scoring: Scoring, spend: Fraction
    ) -> Floats:
        """Choose θ, stage by stage.

        Args:
            gate: in whose states the generator draws.
            generator: whose parameters are looked for.
            scoring: what candidates are judged by.
            spend: cost of all stages together.
        """
        theta, stages = generator.prior.means.copy(), self.stages(generator)
        for place, share in zip(stages, _shares(spend, len(stages)), strict=True):
            if self.by_column:
                prior, part = generator.column_models[place].prior, generator.parts[place]
                theta[part] = self._choose_stage(gate, scoring(place, theta), prior, share)
            else:
                theta = self._choose_stage(gate, scoring(None, theta), generator.prior, share)
        return theta

    def plan(
        self, generator: SequentialGenerator, title_of: TitleOf, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """A choice for each round of each stage.

        Args:
            generator: whose parameters are looked for.
            title_of: what candidates are judged by.
            spend: cost of all stages together.
            budget: the whole budget.
        """
        schema, stages = generator.schema, self.stages(generator)
        models = [generator.column_models[place] for place in stages]
        compared = [
            (*model.parents, model.column) if self.by_column else schema.names for model in models
        ]
        return tuple(
            planned_choice(schema, self._query(names, title_of(names)), each, budget)
            for names, share in zip(compared, _shares(spend, len(stages)), strict=True)
            for each in split(share, [1] * self.rounds)
        )

    def remark(self, generator: SequentialGenerator) -> str:
        """Remark how few candidates the parameters have; "" of a walk, and where there are none.

        Args:
            generator: whose parameters are looked for.
        """
        sizes = [len(model.prior.names) for model in generator.column_models]
        most, stages = (max(sizes), "a column") if self.by_column else (sum(sizes), "all columns")
        if self.steps or not most:
            return ""
        return (
            f"The generator has {sum(sizes)} parameters. {self.candidates:,} candidates cover the "
            f"{most} of {stages} in steps of about {self.candidates ** (-1 / most):.2g} of the "
            "prior's range; closer ones are bought by refinements."
        )

    def stages(self, generator: SequentialGenerator) -> tuple[int, ...]:
        """List the columns that have a stage; (0,) stands for all columns at once.

        A column of one state needs none: nothing of it can be compared.
        """
        states = generator.schema.columns
        sizes = [
            len(model.prior.names) * (states[model.column].size > 1)
            for model in generator.column_models
        ]
        if self.by_column:
            return tuple(k for k, size in enumerate(sizes) if size)
        return (0,) if sum(sizes) else ()

    def _choose_stage(self, gate: Gate, score_of: ScoreOf, prior: Prior, spend: Fraction) -> Floats:
        """The parameters of one stage."""
        for share in split(spend, [1] * self.rounds):
            theta = self._round(gate, score_of, prior, share)
            prior = prior.around(theta, self.shrink)
        return theta

    def _round(self, gate: Gate, score_of: ScoreOf, prior: Prior, spend: Fraction) -> Floats:
        score = score_of(prior.points(1 if self.steps else self.candidates))
        if self.steps:
            walk = Walk(prior, prior.means, self.stride * prior.stddevs, self.steps)
            chosen = gate.ask(WalkedParameters(score, prior.names, walk), spend=spend)
        else:
            chosen = gate.ask(ListedParameters(score, prior.names), spend=spend)
        return np.array(chosen.value.values)

    def _query(self, columns: tuple[str, ...], title: str) -> str:
        if self.steps:
            return walk_query(self.steps, columns, title)
        return candidates_query(self.candidates, columns, title)


def _shares(spend: Fraction, n: int) -> list[Fraction]:
    """Equal shares for so many stages; none for none."""
    return split(spend, [1] * n) if n else []


Kind = Literal["regressions", "normal"]


def generator(
    schema: Schema,
    kind: Kind,
    *,
    network: Sequence[str],
    parents: int,
    widths: NormalWidths = NORMAL,
) -> SequentialGenerator:
    """A generator that draws column by column.

    Args:
        schema: the columns.
        kind: regressions of mixed types, or normal ones throughout.
        network: what each column is drawn given, like "age", "job<-age".
        parents: without a network, how many columns before it in the schema each is drawn given.
        widths: the prior of normal regressions.

    Raises:
        MethodError: a network that is none, or columns that normal regressions cannot draw.
    """
    names = schema.names
    edges = (
        read_network(schema, network)
        if network
        else tuple((name, names[max(0, k - parents) : k]) for k, name in enumerate(names))
    )
    if kind == "normal":
        return normal_regressions(schema, edges, widths=widths)
    return regressions(schema, edges)


@dataclass(frozen=True, kw_only=True)
class GeneratingMethod(Method):
    """A generator, and how its parameters are looked for.

    Attributes:
        sets: "free": all sets from one θ; "split": a θ for each, at its share of the budget.
        model: "regressions" (logits for categories, bounded numbers), or "normal" regressions of
            numeric columns only, as published.
        network: what each column is drawn given, like "age, job<-age, income<-age&job".
        parents: without a network, how many columns before it each is drawn given.
        search: parameters of one column after the other ("columns"), of all "together", or by a
            Metropolis "walk", whose guarantee is conditional.
        candidates: G, how many of each round.
        refinements: rounds after the first one.
        shrink: by which factor the space narrows from round to round.
        steps: of a walk.
    """

    needs_records = True
    picked: ClassVar[bool] = True

    sets: Literal["free", "split"] = "free"
    model: Literal["regressions", "normal"] = "regressions"
    network: Names = ()
    parents: Annotated[int, Field(ge=0)] = 1
    search: Literal["columns", "together", "walk"] = "columns"
    candidates: Annotated[int, Field(ge=1, le=10**6)] = 2_048
    refinements: Annotated[int, Field(ge=0)] = 0
    shrink: Annotated[float, Field(gt=0, lt=1)] = 0.4
    steps: Annotated[int, Field(ge=1)] = 2_000

    def inference_facts(self, schema: Schema) -> InferenceFacts:
        """The model draws all numbers but those of one state, of which nothing can be compared."""
        columns = schema.columns.items()
        numbers = [
            name for name, column in columns if isinstance(column, NUMERIC) and column.size > 1
        ]
        return InferenceFacts(modelled=tuple(numbers))

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """Remark how few candidates there are for the parameters."""
        remark = self._search.remark(self._generator(schema))
        return (remark,) if remark else ()

    @property
    @abstractmethod
    def _search(self) -> Search:
        """The search that the method makes."""

    def _create_search(self, *, by_column: bool, stride: float) -> Search:
        """A search; what methods differ in is said."""
        return Search(
            by_column=by_column,
            rounds=1 + self.refinements,
            candidates=self.candidates,
            shrink=self.shrink,
            steps=self.steps if self.search == "walk" else None,
            stride=stride,
        )

    def _generator(self, schema: Schema, widths: NormalWidths = NORMAL) -> SequentialGenerator:
        return generator(
            schema, self.model, network=self.network, parents=self.parents, widths=widths
        )


_BEST_SIZE = 2
"""Simulated records for each row: the ratio that tells sets apart best, once they are close."""


@final
@dataclass(frozen=True, kw_only=True)
class Pmse(GeneratingMethod):
    """The pMSE mechanism, as configured; generator and search are in `GeneratingMethod`.

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
        return self._create_search(by_column=self.search == "columns", stride=self.width)

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
