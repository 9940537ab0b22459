"""PrivBayes: a Bayesian network chosen privately, and a noisy table for each of its columns.

1. The first column is drawn at random. Then, column by column, the exponential mechanism chooses
   the next column and its parents among those chosen before, by how strongly they go together
   (`score`).
2. The table of each column with its parents gets noise. With a fixed `degree` k the tables of the
   first k columns are parts of the next one's and are not measured, so there are d - k of d.
3. Records are drawn column by column, each given its parents (`models.bayesian_network`).

* **Parents.** `degree` fixes how many columns a set of parents has. By default a table may have as
  many cells as are θ-useful: with n/cells records in a cell on average, at least θ times the scale
  of the noise. Tables of up to four million cells are scored.
* **Scores.** `r` (default), the distance from independence; `mi`, mutual information, whose
  sensitivity grows with the number of rows, so that a private one needs the schema's `row_limit`;
  `f`, the distance from the greatest dependence, for columns of two states.
* **Measures** d - 1 choices, once for all sets, at `network_share` of the budget in equal parts;
  with `mode=paper` for each set, at its share;
  then the tables in equal parts. A declared `network` costs nothing.
* **Public**: the schema with its bins and structural zeros, the options, the network once chosen.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP through zCDP if δ > 0; **add/remove and replace**. Scores
  are in records, so that a private number of rows divides none of them; their sensitivities have
  proofs for both relations (`understudy.privacy.selection.dependence_scores`), the published ones
  for replace only. Choices and tables share the rows, so their costs add up.
* **Costs** one count of the rows for each set of k + 1 columns; about a million records a second.
* **Choose it** for many columns where relations of a few columns at a time matter. **Do not**
  choose it for a handful of cells (`laplace`), or where the
  noise mass that `plan` shows for a table exceeds the number of records.

What goes together only by way of other columns is kept as far as the network carries it. Where the
noisy table knows nothing of some parents a column has its margin of that table.

As published (`mode=paper`) it has a uniform distribution there, and each set a network of its own,
m runs at ε/m each. Noise is Laplace noise: of scale 2(d − k)/ε where the number of rows is public,
as published, and half of that where it is private; nothing is left unpaid. If the networks of the
sets differ, the manifest names each column without parents: no columns are sure to go together.
Bowen, Liu & Su (2021) ran code with `degree=2`, `score=mi` and `network_share=0.5`.

Source: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), "PrivBayes: Private Data Release via
Bayesian Networks", ACM Transactions on Database Systems 42(4), doi:10.1145/3134428.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy.domain.network import Edge
from understudy.errors import MethodError
from understudy.families.effort import known_rows
from understudy.families.measurement_plan import (
    PlannedTable,
    natural_noise,
    planned,
    planned_choice,
)
from understudy.families.method import Beside, Facts, Names, Prepared, Tables
from understudy.families.network_options import (
    LARGEST_TABLE,
    MOST_CANDIDATES,
    candidates,
    declared,
    edges_of,
    joints,
    most_candidates,
    own_joints,
    require_columns,
    useful_cells,
    usual_degree,
)
from understudy.families.published_sets import PublishedSets
from understudy.models import Model
from understudy.models.bayesian_network import BayesianNetwork
from understudy.privacy.accounting.budget import Budget, exact, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.candidate import CandidateColumns, RandomOrder
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.noise.calibration import NoiseName
from understudy.privacy.released import NoisyTable
from understudy.privacy.selection.dependence_scores import (
    DistanceFromDependence,
    DistanceFromIndependence,
    MutualInformation,
)
from understudy.schema import Schema

_SCORES: dict[
    str, type[DistanceFromDependence] | type[DistanceFromIndependence] | type[MutualInformation]
] = {
    "auto": DistanceFromIndependence,
    "r": DistanceFromIndependence,
    "mi": MutualInformation,
    "f": DistanceFromDependence,
}


@final
@dataclass(frozen=True, kw_only=True)
class PrivBayes(PublishedSets):
    """Configuration.

    Attributes:
        sets: "free" or "split"; the network is one for all sets. Always "split" with mode=paper, a
            network for each set.
        degree: most parents of a column; None for as many as are θ-useful.
        theta: least number of records per cell and scale of noise, without a degree. The paper has
            4. Which is best depends on the table (`benchmarks/privbayes.py` prints errors by θ).
        score: what a choice goes by: "r", distance from independence; "mi", mutual information;
            "f", distance from the greatest dependence, for two states; "auto" is r.
        network_share: part of the budget that buys the network, once for all sets.
        noise: noise of the tables; "auto" is geometric for δ = 0 and Gaussian otherwise.
        network: a public network, one entry per column and parents before children, like
            "age, job<-age, income<-age&job"; nothing is then spent on choosing.
        mode: "strict"; or "paper" for a network for each set, Laplace noise, and uniform columns
            where nothing is known of their parents.
    """

    facts: ClassVar[Facts] = Facts(
        name="privbayes",
        title="a Bayesian network chosen privately",
        paper="Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017)",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="many columns, related a few at a time",
        cost="rows × sets of degree + 1 columns",
        cost_class="fast",
    )

    sets: Literal["free", "split"] = "free"
    degree: Annotated[int, Field(ge=1)] | None = None
    theta: Annotated[float, Field(gt=0)] = 8.0
    score: Literal["auto", "mi", "r", "f"] = "auto"
    network_share: Annotated[float, Field(gt=0, lt=1)] = 0.3
    noise: Literal["auto", "geometric", "laplace", "gaussian"] = "auto"
    network: Names = ()

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The tables of a declared network, or as many unknown ones as there will be."""
        self._require(schema, budget)
        if self.network:
            tables = self._tables(schema, declared(schema, self.network))
            return tuple(
                planned(schema, names, share, budget, self._noise(budget))
                for names, share in zip(tables, split(spend, [1] * len(tables)), strict=True)
            )
        n_tables = self._n_tables(schema)
        table = planned(
            schema,
            (),
            spend / n_tables,
            budget,
            self._noise(budget),
            n_cells=self._most_cells(schema, budget),
            query="counts by a column and its parents",
        )
        return (table,) * n_tables

    def setup_share(self, schema: Schema) -> Fraction:
        """Nothing where there is nothing to choose."""
        return exact(self.network_share) if any(self._pays(schema)) else Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """One choice for each column after the first."""
        rounds = [n for n in self._rounds(schema) if n != 1]
        shares = split(spend, [1] * len(rounds)) if rounds else []
        return tuple(
            planned_choice(
                schema,
                f"one of {n or 'the'} candidates by {_SCORES[self.score].title}",
                share,
                budget,
                chosen=n is None,
            )
            for n, share in zip(rounds, shares, strict=True)
        )

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """The network, once for all fits."""
        schema = gate.schema
        self._require(schema, gate.budget)
        if self.network:
            edges = declared(schema, self.network)
        else:
            share = self.setup_share(schema)
            left = spend / share - spend if share else gate.remaining
            edges = self._chosen(gate, spend, left / fits)
        return Prepared(partial(self._measured, gate, edges), schema)

    def _measured(
        self, gate: Gate, edges: tuple[Edge, ...], spend: Fraction, n_rows: int
    ) -> BayesianNetwork:
        """Measure the tables of a network."""
        names = self._tables(gate.schema, edges)
        tables = gate.ask(NoisyTables(names, noise=self._noise(gate.budget)), spend=spend)
        return self._fitted(gate.schema, edges, [table.value for table in tables])

    def network_of(
        self, schema: Schema, tables: tuple[tuple[str, ...], ...]
    ) -> tuple[Edge, ...] | None:
        """As declared, or as its tables stand; of unequal ones, columns alone."""
        if self.network:
            return declared(schema, self.network)
        if self.anew and len(tables) > self._n_tables(schema):
            return tuple((name, ()) for name in schema.names)
        return edges_of(tables) if tables else None

    def rebuilt(
        self, schema: Schema, tables: Tables, n_rows: int, beside: Beside = ()
    ) -> Model | None:
        """The network, as declared or as the released tables tell, with their counts."""
        released = [table for table, _ in tables]
        edges = self.network_of(schema, tuple(dict.fromkeys(table.columns for table in released)))
        return None if edges is None else self._fitted(schema, edges, released)

    def _fitted(
        self, schema: Schema, edges: tuple[Edge, ...], tables: Sequence[NoisyTable]
    ) -> BayesianNetwork:
        return BayesianNetwork.fitted(schema, edges, tables, margin=self.mode == "strict")

    def _chosen(self, gate: Gate, spend: Fraction, left: Fraction) -> tuple[Edge, ...]:
        """The network, chosen column by column; `left` is what the tables of one fit may cost."""
        schema = gate.schema
        names, pays = schema.names, self._pays(schema)
        cells = self._useful_cells(gate, left) if self.degree is None else LARGEST_TABLE
        shares = iter(split(spend, [1] * sum(pays)) if any(pays) else ())
        edges: list[Edge] = [(names[gate.ask(RandomOrder(len(names))).value[0]], ())]
        for pay in pays:
            chosen = tuple(column for column, _ in edges)
            listed = candidates(schema, chosen, degree=self._most_parents(schema), cells=cells)
            if pay:
                score = _SCORES[self.score](schema, listed)
                winner = gate.ask(CandidateColumns(listed, score), spend=next(shares)).value
            else:
                (winner,) = listed
            edges.append((winner[0], winner[1:]))
        return tuple(edges)

    def _useful_cells(self, gate: Gate, spend: Fraction) -> float:
        """Most cells of a θ-useful table."""
        useful = self._usefulness(gate.schema, known_rows(gate), spend, gate.budget)
        return min(LARGEST_TABLE, useful)

    def _usefulness(self, schema: Schema, n_rows: int, spend: Fraction, budget: Budget) -> float:
        share = spend / len(schema.names)
        return useful_cells(
            schema, n_rows, share, budget, distribution=self._noise(budget), theta=self.theta
        )

    def _most_cells(self, schema: Schema, budget: Budget) -> int:
        """The largest table that may be chosen."""
        width = self._most_parents(schema) + 1
        largest = sorted(schema.sizes, reverse=True)
        most: float = min(math.prod(largest[:width]), max(LARGEST_TABLE, largest[0]))
        n_rows = schema.n_rows if schema.rows == "public" else schema.row_limit
        if self.degree is None and n_rows is not None:
            most = min(most, self._usefulness(schema, n_rows, budget.amount, budget))
        return max(largest[0], int(most))

    def _most_parents(self, schema: Schema) -> int:
        most = len(schema.names) - 1
        return min(most, usual_degree(len(schema.names)) if self.degree is None else self.degree)

    def _fixed(self, schema: Schema) -> bool:
        """Whether every set of parents has `degree` columns, or all that were chosen before."""
        largest = sorted(schema.sizes, reverse=True)[: self._most_parents(schema) + 1]
        return self.degree is not None and math.prod(largest) <= LARGEST_TABLE

    def _n_tables(self, schema: Schema) -> int:
        d = len(schema.names)
        return d - self._most_parents(schema) if self._fixed(schema) else d

    def _rounds(self, schema: Schema) -> list[int | None]:
        """Number of candidates for each column after the first; None where choices decide it."""
        d, k = len(schema.names), self._most_parents(schema)
        if self.network:
            return []
        if self._fixed(schema):
            return [(d - i) * math.comb(i, min(k, i)) for i in range(1, d)]
        return [1] * (d - 1) if d <= 2 else [None] * (d - 1)

    def _pays(self, schema: Schema) -> list[bool]:
        """For each column after the first, whether there is something to choose."""
        return [n != 1 for n in self._rounds(schema)]

    def _tables(self, schema: Schema, edges: tuple[Edge, ...]) -> tuple[tuple[str, ...], ...]:
        """Columns of each table that is measured; one of them covers each edge."""
        return joints(edges) if self.network or self._fixed(schema) else own_joints(edges)

    def _noise(self, budget: Budget) -> NoiseName:
        if self.mode == "paper":
            return "laplace"
        return natural_noise(budget.accounting) if self.noise == "auto" else self.noise

    def _require(self, schema: Schema, budget: Budget) -> None:
        """Refuse what cannot be done, from public facts alone."""
        if self.mode == "paper":
            self.require_pure(budget)
            if self.noise not in ("auto", "laplace"):
                raise MethodError("mode=paper has Laplace noise; leave noise at auto.")
        require_columns(schema)
        if self.network:
            if self.degree is not None:
                raise MethodError("The option network declares the parents; leave degree out.")
            declared(schema, self.network)
            return
        _SCORES[self.score].require(schema)
        n = most_candidates(len(schema.names), self._most_parents(schema))
        if n > MOST_CANDIDATES:
            raise MethodError(
                f"With degree={self.degree} a choice among {len(schema.names)} columns has up to "
                f"{n:,} candidates (at most {MOST_CANDIDATES:,}); take a smaller degree, or "
                "declare the network."
            )
