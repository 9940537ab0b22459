"""What methods share that choose the parameters of a generator which draws column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from understudy.families.generators.generator_options import generator
from understudy.families.generators.parameter_search import Search
from understudy.families.method import Method, Names
from understudy.functions.normal_regression import NORMAL, NormalWidths
from understudy.functions.sequential_generator import SequentialGenerator
from understudy.schema import NUMERIC, Schema


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
        """All numeric columns."""
        return tuple(name for name, one in schema.columns.items() if isinstance(one, NUMERIC))

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """How few candidates there are for the parameters."""
        remark = self._search.remark(self._generator(schema))
        return (remark,) if remark else ()

    @property
    def _search(self) -> Search:
        """The search that the method makes."""
        raise NotImplementedError

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
