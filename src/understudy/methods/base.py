"""Methods: the declarations and functions that each one has.

A method is a frozen configuration. `plan` says from the schema alone what it will measure; `fit`
asks the gate for it and gives back a model, from which records are drawn. Where drawing records
*is* the mechanism, the model holds the records that were paid for (below).

A method whose questions rest on no answer says them once, in `measure` (`NonAdaptiveMethod`). One
that asks by what it was told has a plan of its own: that states bounds, such as the largest table
that may be chosen, and no run on made-up answers would.

What is bought once for all fits is the affair of `setup`, which gives back a `Prepared`.

**How long a fit takes, and how much memory, foretold from public facts alone.**

Figures are those of two busy cores, after compiled code was loaded; a factor of two is to be
expected. Dense tables: `benchmarks/dense.py`, 10 to 40 million cells a second. Marginal methods
rest on `benchmarks/marginals.py`, and for very many columns, levels or rows on
`benchmarks/wide_tables.py` and `benchmarks/large_releases.py`:

* counting each candidate once: 1.5·10⁹ records a second and table, of all rows, since one table of
  several columns serves many;
* 25 µs and 1.2 kB for each state of each column, which is named, coded and freed of noise;
* for a tree of pairs, 20 ms for each column, and 0.26 µs for each candidate at each choice;
* in each round, counting all candidates in records drawn from the model: 5·10⁸ a second and table;
  drawing, choosing and fitting: 10 ms, and 1 ms for each column;
* 24 bytes for each value of the rows, which are coded again over groups, and 5 for each of the
  records drawn; 8 bytes for each cell of all candidates together; 12 for each cell of the largest
  model, and 180 for each cell that is measured (`graphical.estimation`).

**Methods whose published form makes each set by itself: m runs at ε/m, with choices of their own.**

A method chooses what it measures once for all sets, since a choice costs as much whatever it is
used for. The papers on STEPS and PrivBayes divide the whole budget by the number of sets instead
and make each from the beginning. `mode=paper` does that, by running `fit` once for each set, so
that nothing but the budget is shared. What else it stands for is said by the method.

Source: Bowen, Liu & Su (2021), METRON 79, arXiv:1803.06763, §2.2.3.

Methods whose mechanism draws the records: paid records as a model, by urns.

Records that a mechanism drew are a model, so that a method has one way to answer. Where drawing
records is the mechanism, each record is paid for, and there are no more of them than were drawn.
They are handed out in the order in which they were drawn, each of them once.

Urn methods ask one step; the mechanism, its distribution and its proof stand in
`understudy.mechanisms.urn`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from understudy.dp.budget import Approximate, Budget
from understudy.dp.gate import Gate
from understudy.dp.mechanism import Form
from understudy.dp.perturbation import Mode
from understudy.dp.released import (
    NoisyLine,
    NoisyProducts,
    NoisyRanks,
    NoisyTable,
    Records,
    Released,
)
from understudy.errors import MethodError
from understudy.mechanisms.urn import Urn, prior_weight
from understudy.methods.plan import AnyGate, PlannedTable, PlanningGate
from understudy.models.model import Edge, InferenceFacts, Model, Sample
from understudy.schema import Schema

DENSE_CELLS = 2**22
"""Cells of the tables of a fit, together, that are written out unless the user says otherwise."""

EFFORT_ROWS = 50_000
"""Rows that are counted on, where their number is neither public nor limited."""

_COUNTED = 1.5e9
_STATE_SECONDS, _STATE_BYTES = 2.5e-5, 1200
_DRAWN = (20_000, 200_000)
"""Fewest and most records that are drawn from a model to score candidates."""


@dataclass(frozen=True)
class Effort:
    """The effort of one fit.

    Attributes:
        memory_mb: memory beyond the rows at its peak, in megabytes.
        seconds: beyond reading the rows.
        shared: seconds that all fits of a release take together, beside those of each.
    """

    memory_mb: float
    seconds: float
    shared: float = 0.0


def dense_effort(n_cells: int, bytes_per_cell: int) -> Effort:
    """For tables that are written out.

    Args:
        n_cells: of all tables of a fit.
        bytes_per_cell: memory for each of them.
    """
    return Effort(bytes_per_cell * n_cells / 1e6, n_cells / 2e7)


def expected_rows(schema: Schema) -> int:
    """The number of rows, or its limit, or `EFFORT_ROWS`."""
    known = schema.most_rows
    return EFFORT_ROWS if known is None else known


def pairs_effort(schema: Schema, model_cells: float) -> Effort:
    """For pairs that are counted once and chosen by a model of single columns.

    Args:
        schema: the columns.
        model_cells: most cells of the model.
    """
    d, n = len(schema.names), expected_rows(schema)
    pairs = [a * b for k, a in enumerate(schema.sizes) for b in schema.sizes[:k]]
    cells = sum(size for size in pairs if size <= model_cells)
    model = min(model_cells, sum(sorted(pairs)[-d:]))
    states = sum(schema.sizes)
    memory = 24 * n * d + 16 * cells + 190 * model + _STATE_BYTES * states
    choosing = d * (0.02 + 2.6e-7 * len(pairs))
    return Effort(memory / 1e6, choosing + len(pairs) * n / _COUNTED + _STATE_SECONDS * states)


def rounds_effort(
    schema: Schema,
    candidates: Sequence[tuple[str, ...]],
    *,
    rounds: float,
    n_drawn: int,
    most_cells: float,
    model_cells: float,
) -> Effort:
    """For rounds that choose among candidates.

    Args:
        schema: the columns.
        candidates: names of the columns of each.
        rounds: how many rounds are expected.
        n_drawn: records drawn from the model in each.
        most_cells: of a candidate.
        model_cells: of the model, at most.
    """
    size = dict(zip(schema.names, schema.sizes, strict=True))
    sizes = [math.prod(size[name] for name in columns) for columns in candidates]
    sizes = [cells for cells in sizes if cells <= most_cells]
    d, n = len(schema.names), expected_rows(schema)
    counted = sum(sizes)
    measured = min(model_cells, rounds * max(sizes, default=0))
    states = sum(schema.sizes)
    memory = 24 * n * d + 5 * n_drawn * d + 8 * counted + 12 * model_cells + 180 * measured
    seconds = len(sizes) * n / _COUNTED + _STATE_SECONDS * states
    seconds += rounds * (len(sizes) * n_drawn / 5e8 + 0.01 + 0.001 * d)
    return Effort((memory + _STATE_BYTES * states) / 1e6, seconds)


def records_drawn(n_rows: float) -> int:
    """Records that are drawn from a model of so many to score candidates."""
    return int(min(max(2 * n_rows, _DRAWN[0]), _DRAWN[1]))


def known_rows(gate: AnyGate) -> int:
    """The number of rows, as declared or bought; its public limit where it was not bought.

    Raises:
        MethodError: neither known nor limited.
    """
    limit = gate.schema.row_limit
    try:
        return gate.n_rows.value
    except MethodError:
        if limit is None:
            raise
        return limit


MOST_CELLS = 2**62
SetsKind = Literal["free", "split", "posterior"]
CostClass = Literal["fast", "slow", "mcmc"]
Tables = Sequence[NoisyTable]
"""What was measured of tables with every cell."""
Beside = Sequence[NoisyProducts | NoisyRanks | NoisyLine]
"""What was measured beside them: second moments, ranks and number lines."""


def split_names(value: Any) -> Any:
    """An option that is a list, also as it comes from the command line: "age, income"."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]


@dataclass(frozen=True)
class Facts:
    """The entries of the table of methods about one of them.

    Attributes:
        name: name on the command line.
        title: what it does, in a line.
        paper: where it was published.
        guarantee: what it can promise, and under which neighbours.
        data: which data it is for.
        cost: how work grows.
        cost_class: how many repetitions a simulation study can afford.
    """

    name: str
    title: str
    paper: str
    guarantee: str
    data: str
    cost: str
    cost_class: CostClass


@dataclass(frozen=True)
class Prepared:
    """A method with all that is bought once: what is left is a fit, or several.

    Attributes:
        fit: what a fit may spend, and how many records are to be drawn from it → its model.
        schema: in whose bins the states of those records are.
    """

    fit: Callable[[Fraction, int], Model]
    schema: Schema


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A synthesizer: a configuration that can plan, and fit through a gate.

    Attributes:
        sets: "free": all sets are drawn from one paid-for fit; "split": each set has a fit of its
            own, and its share of the budget; "posterior": one fit, and each set is drawn from
            parameters of its own.
        private: whether it has a guarantee at all.
        unprotected: why it has none, in words after the name of the method.
        rounds: whether it measures in rounds and looks at `gate.stopping` between them.
        inference: what `inference_facts` says, whatever the options and the schema are.
        fine_numbers: whether numbers whose bins are the default ones have fine bins (`fine_bins`).
        picked: whether records come from a generator whose parameters were chosen, or drawn under
            weights, so that nothing of the rows is kept as it was measured.
        bytes_per_cell: memory per cell of a table that is written out, for plans
            (`benchmarks/dense.py`).
    """

    facts: ClassVar[Facts]
    private: ClassVar[bool] = True
    unprotected: ClassVar[str] = "publishes what it reads off the rows, without noise"
    rounds: ClassVar[bool] = False
    inference: ClassVar[InferenceFacts] = InferenceFacts()
    fine_numbers: ClassVar[bool] = False
    picked: ClassVar[bool] = False
    bytes_per_cell: ClassVar[int] = 40

    sets: SetsKind = "free"

    @abstractmethod
    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """Plan the measurements of one fit, from public facts alone.

        Args:
            schema: the public schema.
            spend: what one fit may spend, in the unit of the budget.
            budget: the whole budget, for its accounting.

        Raises:
            MethodError: the method does not fit this schema or budget.
        """

    @property
    def accounting(self) -> Approximate:
        """The unit in which a budget with δ is best kept: "gdp" where the noise is Gaussian.

        Gaussian DP allows about a tenth more of that. It charges a choice about what zCDP does as
        long as several times its cost is left after it, and up to 57 % more for a last choice and
        for Laplace noise (`understudy.dp.gaussian_dp`).
        """
        return "zcdp"

    def require_pure(self, budget: Budget) -> None:
        """Refuse a budget with δ, where the proof is for pure ε.

        Raises:
            MethodError: δ above 0.
        """
        if budget.accounting != "pure":
            raise MethodError(f"{self.facts.name} gives a pure guarantee; leave delta at 0.")

    def require_numbered(self, schema: Schema) -> None:
        """Refuse a full table whose cells 64-bit codes cannot number.

        Raises:
            MethodError: more than 2⁶² cells.
        """
        if schema.domain.n_cells > MOST_CELLS:
            raise MethodError(
                f"{self.facts.name} needs the full table, and {len(schema.names)} columns span "
                "more than 2^62 cells; take the method independent, fewer columns, or coarser bins."
            )

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """Memory and time of one fit, from public facts alone; by its dense tables, by default.

        Args:
            schema: the public schema.
            tables: what `plan` says of the fit.
            budget: the whole budget.
        """
        cells = sum(table.n_cells for table in tables if table.form is Form.DENSE)
        return dense_effort(cells, self.bytes_per_cell)

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """List further sentences for whoever plans a release, from public facts alone."""
        return ()

    def cautions(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[str, ...]:
        """List sentences on this budget for whoever plans, from public facts alone.

        Args:
            schema: the public schema.
            spend: what one fit may spend.
            budget: the whole budget.
        """
        return ()

    @property
    def anew(self) -> bool:
        """True if each fit buys for itself what `setup` buys, as some published forms do.

        So m sets are m independent runs of `fit`, each at the m-th part of the budget.
        """
        return False

    def inference_facts(self, schema: Schema) -> InferenceFacts:
        """Return what inference needs to know: a release has it in its manifest.

        Its combining rule is for sets="posterior". The network is that of `network_of`.
        """
        return self.inference

    def network_of(
        self, schema: Schema, tables: tuple[tuple[str, ...], ...]
    ) -> tuple[Edge, ...] | None:
        """The Bayesian network that sets are drawn from: each column, and its parents.

        Args:
            schema: the public schema.
            tables: columns of each measured table, in the order in which they were paid for.
        """
        return None

    def rebuilt(
        self, schema: Schema, tables: Tables, n_rows: int, beside: Beside = ()
    ) -> Model | None:
        """The model that sets were drawn from, made again from what is released; None if it cannot.

        Args:
            schema: of the release.
            tables: released tables with every cell, in the order in which they were paid for.
            n_rows: number of rows, as released.
            beside: number lines and second moments that were bought before the fit, and ranks that
                it measured.
        """
        return None

    def by_fit(self, schema: Schema, tables: Tables, fits: int) -> list[Tables]:
        """Released tables, divided by the fit that measured them; equally many each, by default.

        Args:
            schema: of the release.
            tables: in the order in which they were paid for.
            fits: how many fits there were.
        """
        size = len(tables) // fits
        return [tables[k * size : (k + 1) * size] for k in range(fits)]

    def redrawn(
        self, schema: Schema, tables: Tables, n_rows: int, model: Model, beside: Beside = ()
    ) -> Model:
        """Return the model of each set, where each has parameters of its own.

        Args:
            schema: in which the tables were measured.
            tables: that the fit measured.
            n_rows: number of rows, as released.
            model: the fit itself, which already draws parameters by default.
            beside: number lines and second moments that were bought before the fit, and ranks that
                it measured.
        """
        return model

    @property
    def needs_records(self) -> bool:
        """True if it needs whole records, and not sums over them alone."""
        return False

    def can_resume(self, schema: Schema) -> bool:
        """Return whether a checkpoint can hold what is measured, for this schema and options."""
        return True  # a method asks the same questions when it gets the same answers

    def setup_share(self, schema: Schema) -> Fraction:
        """Part of the budget that `setup` may spend, once for all fits; 0 if it buys nothing."""
        return Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """Plan the measurements of `setup`, from public facts alone."""
        return ()

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """Buy what is bought once for all fits, and prepare these.

        Args:
            gate: knows the number of rows by now.
            spend: what may be spent, `setup_share` of the budget that rows leave.
            fits: how many fits will share what is left.
        """
        return Prepared(partial(self.fit, gate), gate.schema)

    @abstractmethod
    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure through the gate and fit a model, from which drawing records costs nothing.

        Args:
            gate: knows the number of rows by now.
            spend: what may be spent.
            n_rows: records that are to be drawn from the model, those of all its sets together.
        """


@dataclass(frozen=True, kw_only=True)
class PreparingMethod(Method):
    """A method that has something to choose or to buy before its fits, once for all of them."""

    @abstractmethod
    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """Choose or buy it; arguments are those of `Method.setup`."""

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """A single fit, with what it needs bought from the same budget."""
        gate.require(spend)
        bought = spend * self.setup_share(gate.schema)
        return self.setup(gate, bought).fit(spend - bought, n_rows)


Estimate = Callable[[], Model]
"""What makes the model of the answers, once everything is asked; it costs nothing."""


@dataclass(frozen=True, kw_only=True)
class NonAdaptiveMethod(Method):
    """A method whose questions rest on public facts alone, and on no answer.

    So its plan is its fit, asked of a gate that has prices and no rows.
    """

    @abstractmethod
    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Ask everything, without a look at an answer; arguments are those of `fit`."""

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """List what `measure` asks."""
        gate = PlanningGate(schema, budget)
        self.measure(gate, spend, schema.n_rows or 1)
        return tuple(gate.steps)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure, then estimate."""
        return self.measure(gate, spend, n_rows)()


@dataclass(frozen=True, kw_only=True)
class PublishedSets(PreparingMethod):
    """A method with a published form of the kind.

    Attributes:
        mode: "strict", or "paper" for the form as published.
    """

    mode: Mode = "strict"

    def __post_init__(self) -> None:
        """As published each set is made by itself."""
        if self.mode == "paper":
            object.__setattr__(self, "sets", "split")

    @property
    def anew(self) -> bool:
        """As published each set has choices of its own."""
        return self.mode == "paper"


@dataclass(eq=False)
class PaidRecords:
    """Records that were paid for, of all sets of a fit together.

    Attributes:
        columns: states of each column of the schema, of shape (records,) each.
        given: how many were handed out already.
    """

    columns: tuple[NDArray[np.int64], ...]
    given: int = field(default=0, init=False)

    @classmethod
    def of(cls, released: Released[Records]) -> Self:
        """From what the gate gave out."""
        return cls(released.value.columns)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """The next records; nothing is left to chance.

        Raises:
            ValueError: more than were paid for.
        """
        rest = slice(self.given, self.given + n_rows)
        drawn = [column[rest] for column in self.columns]
        if any(len(column) < n_rows for column in drawn):
            raise ValueError("more records are wanted than were paid for")
        self.given += n_rows
        return Sample([*drawn])


@dataclass(frozen=True, kw_only=True)
class UrnMethod(NonAdaptiveMethod):
    """A method whose records are drawn from real ones and a prior.

    Attributes:
        sets: always "split": each set is drawn at a cost of its own.
    """

    sets: Literal["split"] = "split"

    @abstractmethod
    def urn(self, columns: tuple[str, ...], n_rows: int) -> Urn:
        """The mechanism: what happens to a record that was drawn.

        Args:
            columns: names of all columns.
            n_rows: records to be drawn.
        """

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Draw the records."""
        self.require_pure(gate.budget)
        self.require_numbered(gate.schema)
        records = gate.ask(self.urn(gate.schema.names, n_rows), spend=spend)
        return lambda: PaidRecords.of(records)

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all columns.

        Nothing is added to a number, so its standard deviation is 0. Its noise mass is the prior
        weight of all cells together, or 0 where that depends on a private number of rows.
        """
        (step,) = super().plan(schema, spend, budget)
        if schema.n_rows is None:
            return (step,)
        reinforced = self.urn(schema.names, 1).reinforced
        prior = prior_weight(schema.n_rows, spend, reinforced=reinforced)
        return (replace(step, noise_mass=float(step.n_cells * prior)),)
