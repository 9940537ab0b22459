"""What every method declares and answers.

A method is a frozen configuration. `plan` says from the schema alone what it will measure; `fit`
asks the gate for it and gives back a model, from which records are drawn. Where drawing records
*is* the mechanism, the model holds the records that were paid for (`paid_records`).

What is bought once for all fits is the affair of `setup`, which gives back a `Prepared`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from understudy.domain.network import Edge
from understudy.errors import MethodError
from understudy.families.effort import Effort, dense_effort
from understudy.families.measurement_plan import Form, PlannedTable
from understudy.models import Model
from understudy.privacy.accounting.budget import Approximate, Budget
from understudy.privacy.gate import Gate
from understudy.privacy.released import Noise, NoisyLine, NoisyProducts, NoisyRanks, NoisyTable
from understudy.schema import Schema

MOST_CELLS = 2**62
SetsKind = Literal["free", "split", "posterior"]
CostClass = Literal["fast", "slow", "mcmc"]
Tables = Sequence[tuple[NoisyTable, Noise]]
"""What was measured of tables with every cell."""
Beside = Sequence[tuple[NoisyProducts | NoisyRanks | NoisyLine, Noise]]
"""What was measured beside them: second moments, ranks and number lines."""


def listed(value: Any) -> Any:
    """An option that is a list, also as it comes from the command line: "age, income"."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(listed)]


@dataclass(frozen=True)
class Facts:
    """What the table of methods says about one of them.

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

    What inference needs of a method (`posterior_rule`, `swept`, `shrunk`, `independent`,
    `modelled`, `network_of`, `prior_weight`, `leaves_only`) is copied into the manifest of each
    release that it makes (`release.manifest.InferenceFacts`); nobody asks the method again.

    Attributes:
        sets: "free": all sets are drawn from one paid-for fit; "split": each set has a fit of its
            own, and its share of the budget; "posterior": one fit, and each set is drawn from
            parameters of its own.
        private: whether it has a guarantee at all.
        unprotected: why it has none, in words after the name of the method.
        posterior_rule: combining rule for sets="posterior"
            (`understudy.inference.choice.rule_table`).
        rounds: whether it measures in rounds and looks at `gate.stopping` between them.
        swept: whether records are drawn column by column from rows that contradict each other, or
            that were pulled towards an even spread, so that sets keep no table as it was measured.
        shrunk: whether a penalty makes relations between columns weaker, in every set alike.
        independent: whether columns are drawn independently of each other.
        fine_numbers: whether numbers whose bins are the default ones have fine bins (`fine_bins`).
        picked: whether records come from a generator whose parameters were chosen, or drawn under
            weights, so that nothing of the rows is kept as it was measured.
        bytes_per_cell: memory per cell of a table that is written out, for plans
            (`benchmarks/dense.py`).
    """

    facts: ClassVar[Facts]
    private: ClassVar[bool] = True
    unprotected: ClassVar[str] = "publishes what it reads off the rows, without noise"
    posterior_rule: ClassVar[Literal["partial", "mi"]] = "partial"
    rounds: ClassVar[bool] = False
    swept: ClassVar[bool] = False
    shrunk: ClassVar[bool] = False
    independent: ClassVar[bool] = False
    fine_numbers: ClassVar[bool] = False
    picked: ClassVar[bool] = False
    bytes_per_cell: ClassVar[int] = 40

    sets: SetsKind = "free"

    @abstractmethod
    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """What will be measured for one fit, from public facts alone.

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
        for Laplace noise (`understudy.privacy.accounting.gaussian_dp`).
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
        """What else whoever plans a release should know: sentences, from public facts alone."""
        return ()

    def cautions(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[str, ...]:
        """What whoever plans should know about this budget: sentences, from public facts alone.

        Args:
            schema: the public schema.
            spend: what one fit may spend.
            budget: the whole budget.
        """
        return ()

    @property
    def anew(self) -> bool:
        """Whether each fit buys for itself what `setup` buys, as some published forms do.

        So m sets are m independent runs of `fit`, each at the m-th part of the budget.
        """
        return False

    @property
    def prior_weight(self) -> float:
        """Records that are added to each cell of a measured table before records are drawn."""
        return 0.0

    @property
    def leaves_only(self) -> bool:
        """Whether records come from the cells of the full table alone, where it is measured."""
        return False

    def modelled(self, schema: Schema) -> tuple[str, ...]:
        """Numeric columns of which the model draws the numbers, not only the bins."""
        return ()

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
        """What each of several sets is drawn from, where each has parameters of its own.

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
        """Whether it needs whole records, and not sums over them alone."""
        return False

    def can_resume(self, schema: Schema) -> bool:
        """Whether a checkpoint can hold what is measured, for this schema and these options."""
        return True  # a method asks the same questions when it gets the same answers

    def setup_share(self, schema: Schema) -> Fraction:
        """Part of the budget that `setup` may spend, once for all fits; 0 if it buys nothing."""
        return Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """What `setup` will measure, from public facts alone."""
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
