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
  proofs for both relations (`understudy.mechanisms.selection_scores`), the published ones
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

**Networks of columns as PrivBayes uses them: declared by the user, or candidates for a choice.**

Everything here is public: names, numbers of states and the options.

How large a table may be so that its counts stand out of their noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy.dp.budget import Budget, exact, split
from understudy.dp.calibration import NoiseName, calibrate
from understudy.dp.gate import Gate
from understudy.dp.released import NoisyTable
from understudy.errors import MethodError
from understudy.mechanisms.selection import CandidateColumns, RandomOrder
from understudy.mechanisms.selection_scores import (
    DistanceFromDependence,
    DistanceFromIndependence,
    MutualInformation,
)
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import (
    Beside,
    Facts,
    Names,
    Prepared,
    PublishedSets,
    Tables,
    known_rows,
)
from understudy.methods.noisy_marginals import _require_cells, require_columns
from understudy.methods.plan import (
    PlannedTable,
    natural_noise,
    plan_mechanism,
    plan_table,
    planned_choice,
)
from understudy.models.bayesian_network import BayesianNetwork
from understudy.models.model import Edge, Model
from understudy.schema import Schema

MOST_CANDIDATES = 100_000
"""Candidates that may be scored in one round."""

USUAL_CANDIDATES = 10_000
"""Candidates of a round, where the number of parents may be limited to that end."""

LARGEST_TABLE = 2**22
"""Cells of a candidate's table, unless the column alone has more: each is counted to be scored."""


def read_network(schema: Schema, entries: Sequence[str]) -> tuple[Edge, ...]:
    """A network in words: "age", "job<-age", "income<-age&job".

    Args:
        schema: the columns.
        entries: one for each column, parents before children.

    Raises:
        MethodError: entries that are no network over these columns, or a table too large.
    """
    edges = tuple(edge(schema, entry, "network") for entry in entries)
    require_order(schema, edges)
    for column, parents in edges:
        _require_cells(schema, (column, *parents))
    return edges


def require_order(schema: Schema, edges: Sequence[Edge], given: Sequence[str] = ()) -> None:
    """Refuse edges that are no network over the columns that are not given.

    Args:
        schema: the columns.
        edges: one for each column, parents before children.
        given: columns that have none and may be parents of any.

    Raises:
        MethodError: a column twice or absent, a parent twice or not before.
    """
    seen = set(given)
    for column, parents in edges:
        if column in seen:
            raise MethodError(f"The option network has the column {column!r} twice.")
        late = [name for name in parents if name not in seen]
        if late:
            raise MethodError(
                f"The option network names {late[0]!r} as a parent of {column!r} before it has a "
                "line of its own; put it first."
            )
        if len(set(parents)) < len(parents):
            raise MethodError(f"The option network names a parent of {column!r} twice.")
        seen.add(column)
    absent = [name for name in schema.names if name not in seen]
    if absent:
        raise MethodError(
            f"The option network lacks the column {absent[0]!r}; without parents it is an entry "
            "of its name alone."
        )


def edge(
    schema: Schema, entry: str, option: str, example: str = "age, job<-age, income<-age&job"
) -> Edge:
    """A column and what it is drawn given, in words: "age", or "income<-age & job".

    Args:
        schema: the columns.
        entry: the words.
        option: where they stand, for the error.
        example: of what may stand there.

    Raises:
        MethodError: something that is no column.
    """
    names = schema.names
    if entry in names:
        return entry, ()
    column, arrow, listed = entry.partition("<-")
    parents = tuple(part.strip() for part in listed.split("&")) if arrow else ()
    for name in (column.strip(), *parents):
        if name not in names:
            raise MethodError(
                f"The option {option} names {name!r}, which is no column; write it like "
                f'"{example}".'
            )
    return column.strip(), parents


def joints(edges: Sequence[Edge]) -> tuple[tuple[str, ...], ...]:
    """The tables that a network needs: a column with its parents, unless another table has them.

    Columns of a table stand in the order of the network, the one with parents last.

    Example:
        >>> joints((("a", ()), ("b", ("a",)), ("c", ("b", "a")), ("d", ("a",))))
        (('a', 'b', 'c'), ('a', 'd'))
    """
    tables = own_joints(edges)
    sets = [set(table) for table in tables]
    return tuple(
        table
        for k, table in enumerate(tables)
        if not any(sets[k] < other for other in sets) and sets[k] not in sets[:k]
    )


def own_joints(edges: Sequence[Edge]) -> tuple[tuple[str, ...], ...]:
    """A table for every column, with its parents."""
    order = [column for column, _ in edges]
    return tuple((*sorted(parents, key=order.index), column) for column, parents in edges)


def edges_of(tables: Sequence[tuple[str, ...]]) -> tuple[Edge, ...]:
    """The chosen network behind its tables, which stand in its order.

    The columns of the first table follow each other with all before as parents; each later table
    adds its last column. (Of a declared network the option says the edges, not its tables.)

    Example:
        >>> edges_of((("a", "b"), ("b", "c")))
        (('a', ()), ('b', ('a',)), ('c', ('b',)))
    """
    first, *later = tables
    chain = [(column, first[:k]) for k, column in enumerate(first)]
    return (*chain, *((columns[-1], columns[:-1]) for columns in later))


def candidates(
    schema: Schema, chosen: Sequence[str], *, degree: int, cells: float
) -> tuple[tuple[str, ...], ...]:
    """Columns that may come next, each with its largest sets of parents (`parent_sets`).

    Args:
        schema: the columns.
        chosen: those that stand in the network already.
        degree: most parents.
        cells: most cells of a table.

    Returns:
        Names, the column first, parents in the order of `chosen`.
    """
    rest = [name for name in schema.names if name not in chosen]
    return tuple(
        (column, *parents)
        for column in rest
        for parents in parent_sets(schema, column, chosen, degree, cells)
    )


def parent_sets(
    schema: Schema, column: str, chosen: Sequence[str], degree: int, cells: float
) -> Iterator[tuple[str, ...]]:
    """The largest sets of some columns that a column's table may have beside it.

    A set is largest if no column can be added: it has `degree` columns, or the table would have
    more than `cells`.

    Args:
        schema: the columns.
        column: the column.
        chosen: those that may stand in a set.
        degree: most columns of a set.
        cells: most cells of the table; if the column alone has more, the set is empty.
    """
    sizes = {name: schema.columns[name].size for name in (column, *chosen)}
    most = min(degree, len(chosen))
    for width in range(most + 1):
        for parents in combinations(chosen, width):
            n = math.prod(sizes[name] for name in (column, *parents))
            if n > cells and parents:
                continue
            others = [sizes[name] for name in chosen if name not in parents]
            if width == most or n * min(others) > cells:
                yield parents


def most_candidates(n_columns: int, degree: int) -> int:
    """Most candidates of any round, where sets of parents have at most so many columns."""
    return max(
        ((n_columns - i) * math.comb(i, min(degree, i)) for i in range(1, n_columns)), default=0
    )


def usual_degree(n_columns: int) -> int:
    """Most parents for which no round has more than `USUAL_CANDIDATES`; at least 1.

    Example:
        >>> [usual_degree(d) for d in (5, 14, 50, 110)]
        [4, 13, 2, 1]
    """
    degree = 1
    while degree < n_columns - 1 and most_candidates(n_columns, degree + 1) <= USUAL_CANDIDATES:
        degree += 1
    return degree


def useful_cells(
    schema: Schema,
    n_rows: int,
    spend: Fraction,
    budget: Budget,
    *,
    distribution: NoiseName,
    theta: float,
) -> float:
    """Cells at which the records in one are θ times the scale of its noise, on average.

    For Laplace noise of scale b that is n/cells ≥ θ·b; other noise counts by its standard
    deviation, which is b·√2 there.

    Args:
        schema: whose neighbours count.
        n_rows: records.
        spend: cost of the table.
        budget: the whole budget, for its accounting.
        distribution: noise.
        theta: least number of records per cell and scale of noise.

    Source: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), PrivBayes, ACM TODS 42(4), §4.5.
    """
    noise = calibrate(
        distribution, spend=spend, accounting=budget.accounting, neighbours=schema.neighbours
    )
    return n_rows * math.sqrt(2) / max(theta * noise.stddev, 1e-300)


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
    """PrivBayes, as configured.

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
            tables = self._tables(schema, read_network(schema, self.network))
            asked = NoisyTables(tables, noise=self._noise(budget))
            return plan_mechanism(asked, schema, spend, budget)
        n_tables = self._n_tables(schema)
        table = plan_table(
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
            edges = read_network(schema, self.network)
        else:
            share = self.setup_share(schema)
            left = spend / share - spend if share else gate.remaining
            edges = self._choose_network(gate, spend, left / fits)
        return Prepared(partial(self._measure_network, gate, edges), schema)

    def _measure_network(
        self, gate: Gate, edges: tuple[Edge, ...], spend: Fraction, n_rows: int
    ) -> BayesianNetwork:
        """Measure the tables of a network."""
        names = self._tables(gate.schema, edges)
        tables = gate.ask(NoisyTables(names, noise=self._noise(gate.budget)), spend=spend)
        return self._fit_network(gate.schema, edges, [table.value for table in tables])

    def network_of(
        self, schema: Schema, tables: tuple[tuple[str, ...], ...]
    ) -> tuple[Edge, ...] | None:
        """As declared, or as its tables stand; of unequal ones, columns alone."""
        if self.network:
            return read_network(schema, self.network)
        if self.anew and len(tables) > self._n_tables(schema):
            return tuple((name, ()) for name in schema.names)
        return edges_of(tables) if tables else None

    def rebuilt(
        self, schema: Schema, tables: Tables, n_rows: int, beside: Beside = ()
    ) -> Model | None:
        """The network, as declared or as the released tables tell, with their counts."""
        edges = self.network_of(schema, tuple(dict.fromkeys(table.columns for table in tables)))
        return None if edges is None else self._fit_network(schema, edges, tables)

    def _fit_network(
        self, schema: Schema, edges: tuple[Edge, ...], tables: Sequence[NoisyTable]
    ) -> BayesianNetwork:
        return BayesianNetwork.of_tables(schema, edges, tables, margin=self.mode == "strict")

    def _choose_network(self, gate: Gate, spend: Fraction, left: Fraction) -> tuple[Edge, ...]:
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
        n_rows = schema.most_rows
        if self.degree is None and n_rows is not None:
            most = min(most, self._usefulness(schema, n_rows, budget.amount, budget))
        return max(largest[0], int(most))

    def _most_parents(self, schema: Schema) -> int:
        most = len(schema.names) - 1
        return min(most, usual_degree(len(schema.names)) if self.degree is None else self.degree)

    def _has_fixed_degree(self, schema: Schema) -> bool:
        """Return whether all sets of parents have `degree` columns, or all chosen before."""
        largest = sorted(schema.sizes, reverse=True)[: self._most_parents(schema) + 1]
        return self.degree is not None and math.prod(largest) <= LARGEST_TABLE

    def _n_tables(self, schema: Schema) -> int:
        d = len(schema.names)
        return d - self._most_parents(schema) if self._has_fixed_degree(schema) else d

    def _rounds(self, schema: Schema) -> list[int | None]:
        """Number of candidates for each column after the first; None where choices decide it."""
        d, k = len(schema.names), self._most_parents(schema)
        if self.network:
            return []
        if self._has_fixed_degree(schema):
            return [(d - i) * math.comb(i, min(k, i)) for i in range(1, d)]
        return [1] * (d - 1) if d <= 2 else [None] * (d - 1)

    def _pays(self, schema: Schema) -> list[bool]:
        """For each column after the first, whether there is something to choose."""
        return [n != 1 for n in self._rounds(schema)]

    def _tables(self, schema: Schema, edges: tuple[Edge, ...]) -> tuple[tuple[str, ...], ...]:
        """Columns of each table that is measured; one of them covers each edge."""
        return (
            joints(edges) if self.network or self._has_fixed_degree(schema) else own_joints(edges)
        )

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
            read_network(schema, self.network)
            return
        _SCORES[self.score].require(schema)
        n = most_candidates(len(schema.names), self._most_parents(schema))
        if n > MOST_CANDIDATES:
            raise MethodError(
                f"With degree={self.degree} a choice among {len(schema.names)} columns has up to "
                f"{n:,} candidates (at most {MOST_CANDIDATES:,}); take a smaller degree, or "
                "declare the network."
            )
