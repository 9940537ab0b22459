"""What methods share that choose the parameters of a generator which draws column by column.

A *stage* fixes some parameters of the generator: those of one column given the columns before it,
whose parameters stand by then, or all of them at once. A *round* of a stage chooses one of G public
candidates by a score, or where a walk ends. Candidates of the first round are points of the prior;
each further round costs as much again and lays its points around the one chosen before, in a space
that is narrower by a public factor. Finer steps are bought; nothing is tuned to the rows.

What candidates are judged by is a `Scoring`: how well simulated records pass for the rows (`pmse`),
or a likelihood (`censored-posterior`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Protocol

import numpy as np
from pydantic import Field

from understudy.arrays import Floats
from understudy.families.measurement_plan import PlannedTable, planned_choice
from understudy.families.method import Method, Names
from understudy.families.network_options import declared
from understudy.functions.parameter_prior import NORMAL, NormalWidths, Prior
from understudy.functions.sequential_generator import (
    SequentialGenerator,
    normal_regressions,
    regressions,
)
from understudy.privacy.accounting.budget import Budget, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.parameters import (
    CandidateScore,
    ListedParameters,
    WalkedParameters,
    candidates_query,
    walk_query,
)
from understudy.privacy.selection.metropolis import Walk
from understudy.schema import NUMERIC, Schema

ScoreOf = Callable[[Floats], CandidateScore]
"""Candidates, shape (G, p) → how well each suits the rows."""
TitleOf = Callable[[tuple[str, ...]], str]
"""Columns that are looked at → what candidates are judged by, in the words of the ledger."""


class Scoring(Protocol):
    """What candidates are judged by."""

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
                theta[part] = self._chosen(gate, scoring(place, theta), prior, share)
            else:
                theta = self._chosen(gate, scoring(None, theta), generator.prior, share)
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
        """How few candidates there are for the parameters; "" of a walk, and where there are none.

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
        """Which columns have a stage; (0,) stands for all columns at once.

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

    def _chosen(self, gate: Gate, score_of: ScoreOf, prior: Prior, spend: Fraction) -> Floats:
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
        declared(schema, network)
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

    picked: ClassVar[bool] = True
    needs_records = True

    sets: Literal["free", "split"] = "free"
    model: Literal["regressions", "normal"] = "regressions"
    network: Names = ()
    parents: Annotated[int, Field(ge=0)] = 1
    search: Literal["columns", "together", "walk"] = "columns"
    candidates: Annotated[int, Field(ge=1, le=10**6)] = 2_048
    refinements: Annotated[int, Field(ge=0)] = 0
    shrink: Annotated[float, Field(gt=0, lt=1)] = 0.4
    steps: Annotated[int, Field(ge=1)] = 2_000

    def modelled(self, schema: Schema) -> tuple[str, ...]:
        """All numeric columns but those of one state, of which nothing can be compared."""
        return tuple(
            name
            for name, column in schema.columns.items()
            if isinstance(column, NUMERIC) and column.size > 1
        )

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """How few candidates there are for the parameters."""
        remark = self._search.remark(self._generator(schema))
        return (remark,) if remark else ()

    @property
    @abstractmethod
    def _search(self) -> Search:
        """The search that the method makes."""

    def _searching(self, *, by_column: bool, stride: float) -> Search:
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
