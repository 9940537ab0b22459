"""The censored posterior: parameters of a generator, drawn from a posterior that is private.

1. Declare a generator: each column is drawn by a regression on some columns before it. Its
   parameters θ have a public prior.
2. Lay public candidates for the parameters of one column evenly over their prior.
3. Draw one of them with odds exp(r·u(θ)): u is the sum over the rows of the logarithm of P(state of
   the column | states of its parents; θ), each row's cut to an interval of width W
   (`papers.generator_scores`). That is the posterior of the censored
   likelihood to the power r: ε/W under add/remove, ε/(2W) under replace, ε the column's share.
4. Draw records from the generator at the drawn θ.

* **Width.** W = log(states) + 2 by default. A candidate that puts all of a column on its most
  frequent state, of share f, scores -(1 - f)·W a row. The truth scores -h(f) - (1 - f)·log(states -
  1) at least, as its entropy is no larger, h(f) = -f·log f - (1 - f)·log(1 - f). So the truth wins
  where W > log(states - 1) + h(f)/(1 - f), and h(f)/(1 - f) reaches 2 at f = 0.69. A narrower
  interval rewards whoever fits a few rows best, and more rows do not help; a wider one costs power,
  which is ε/W. On simulated tables and the bundled survey 2 to 3 in place of 2 are alike; 1
  is worse, and so is 7 at a small ε. W = ε, as published, is the posterior to the power one, and as
  bad as no rows at all (docs/evidence/censored-demo.md).
* **Censoring.** `own-peak` (default) cuts each row's log probabilities below its own largest one,
  among the candidates; `interval` below 0, nearly the same; `own-weight` and `own-range` shrink
  instead of cutting, and learn far more slowly. Nothing else is on the list: weights that are made
  of the rows would void the guarantee.
* **Search.** `columns` (default) draws from a list; `refinements` are further rounds among closer
  candidates, each paid for like the first; they pay off at a large ε only. `walk` is a Metropolis
  walk for each column: it reaches what no list does, at a guarantee that is conditional.
* **Generators**: as in `pmse`, `regressions` or `normal`, and `network` or `parents`.
* **Measures** nothing but choices; the drawn parameters are published. Any number of sets can be
  drawn from one θ (`sets="free"`); with `sets="split"` each set has a θ of its own at its share
  of the budget.
* **Public**: the schema with its bins, the options, and the candidates.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP through zCDP if δ > 0, add/remove and replace; conditional
  with `search=walk` (a walk never quite arrives).
* **Costs** G log probabilities for each cell of a column and its parents that holds rows: under a
  second for the bundled survey, whatever the number of rows. A walk takes ten times as long.
* **Choose it** where a trusted parametric model of few parameters exists and its likelihood is what
  matters. It comes a little nearer to the rows than `pmse` with the same generator, in an eighth
  of the time. **Do not** choose it for columns of many categories: candidates do not cover so many
  parameters. `independent`, `marginals` and mostly `modips` are far closer to the rows at the same
  ε.
* **Inference**: none. How far the generator and its best candidate are from the rows is alike in
  all sets, so intervals are refused.

Rows are judged by their states: a numeric parent stands at the middle of its bin, and rules between
columns play no part in the likelihood (records that break them are drawn again).

Sources: Hu, Williams & Savitsky (2022), "Mechanisms for Global Differential Privacy under Bayesian
Data Synthesis", arXiv:2205.05003; Dimitrakakis, Nelson, Zhang, Mitrokotsa & Rubinstein (2017),
Journal of Machine Learning Research 18.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import log, prod
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy._arrays import Floats
from understudy.dp.budget import Budget
from understudy.dp.gate import Gate
from understudy.errors import MethodError
from understudy.methods.base import Effort, Facts, expected_rows
from understudy.methods.plan import PlannedTable
from understudy.models.model import Model
from understudy.papers.column_models import GeneratedModel
from understudy.papers.generator_scores import Censoring, ColumnLikelihood, Form, censored_title
from understudy.papers.generators import SequentialGenerator
from understudy.papers.pmse import GeneratingMethod, ScoreOf, Search
from understudy.schema import Schema

_ROOM = 2.0
"""Width beyond the logarithm of the number of states; see the head of this file."""


@final
@dataclass(frozen=True, kw_only=True)
class CensoredPosterior(GeneratingMethod):
    """The censored posterior mechanism, as configured.

    Options of generator and search are in `GeneratingMethod`.

    Attributes:
        search: from a list of candidates for each of the "columns", or by a Metropolis "walk",
            whose guarantee is conditional.
        stride: of a walk's steps, in standard deviations of the prior.
        censoring: what a record contributes (`papers.generator_scores`).
        width: W of each column; None: by the number of its states.
    """

    facts: ClassVar[Facts] = Facts(
        name="censored-posterior",
        title="a generator's parameters, drawn from a posterior of censored likelihoods",
        paper="Hu, Williams & Savitsky (2022)",
        guarantee="pure ε, or (ε, δ); both neighbours (conditional by a walk)",
        data="few columns with a trusted parametric model",
        cost="candidates × occupied cells of a column and its parents",
        cost_class="slow",
    )

    search: Literal["columns", "walk"] = "columns"
    candidates: Annotated[int, Field(ge=1, le=10**6)] = 16_384
    stride: Annotated[float, Field(gt=0)] = 0.2
    censoring: Form = "own-peak"
    width: Annotated[float, Field(ge=1e-6, le=1e6)] | None = None

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """A choice for each round of each column."""
        self._require()

        def title(columns: tuple[str, ...]) -> str:
            return censored_title(self._limit_contributions(schema, columns[-1]))

        return self._search.plan(self._generator(schema), title, spend, budget)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Choose the parameters through the gate."""
        self._require()
        gate.require(spend)
        declared = self._generator(gate.schema)
        scoring = partial(self._score_of, declared)
        return GeneratedModel(declared, self._search.parameters(gate, declared, scoring, spend))

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """Log probabilities of the cells that can hold rows, at each candidate."""
        n, column_models = expected_rows(schema), self._generator(schema).column_models
        sizes = {name: schema.columns[name].size for name in schema.names}
        cells = [
            min(n, prod(sizes[name] for name in (*model.parents, model.column)))
            for model in column_models
        ]
        memory = (8 * n * len(column_models) + 2**25) / 1e6
        if self.search == "walk":
            groups = [
                min(n, prod(sizes[name] for name in model.parents)) for model in column_models
            ]
            return Effort(memory, self.steps * (5e-5 * sum(groups) + 1e-4 * len(column_models)))
        widest = max((len(model.prior.names) for model in column_models), default=0)
        seconds = 6e-8 * self.candidates * sum(cells) * (1 + self.refinements)
        return Effort(memory + 32 * self.candidates * widest / 1e6, seconds)

    def _score_of(self, declared: SequentialGenerator, place: int | None, theta: Floats) -> ScoreOf:
        """The likelihood of one column, which parameters of other columns have no part in."""
        assert place is not None, "all stages are columns"
        column_model = declared.column_models[place]
        censoring = self._limit_contributions(declared.schema, column_model.column)
        return lambda points: ColumnLikelihood(declared.schema, column_model, points, censoring)

    def _limit_contributions(self, schema: Schema, column: str) -> Censoring:
        """Compute what a record contributes: of probabilities, whose logarithms are 0 at most."""
        form: Form = "interval" if self.search == "walk" else self.censoring
        width = self.width
        if width is None:
            width = round(log(schema.columns[column].size) + _ROOM, 2)
        return Censoring(form=form, width=width, high=0.0 if form == "interval" else None)

    @property
    def _search(self) -> Search:
        return self._create_search(by_column=True, stride=self.stride)

    def _require(self) -> None:
        """Refuse what cannot be done, from public facts alone."""
        if self.search == "walk" and self.censoring not in {"own-peak", "interval"}:
            raise MethodError(
                "A walk knows no list of candidates, among which to weigh a record by its own "
                "range; take censoring=own-peak or interval, or search=columns."
            )
