"""What a method announces that it will measure, from public facts alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from understudy.privacy.accounting.budget import Accounting, Budget
from understudy.privacy.mechanism import Charge, Mechanism
from understudy.privacy.noise.calibration import NoiseName, mean_positive
from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
from understudy.privacy.noise.perturbation import (
    DISTRIBUTIONS,
    EXACTLY,
    Bounds,
    Mode,
    NoiseDistribution,
    count_noise,
    words,
)
from understudy.privacy.noise.truncated_laplace import TruncatedDiscreteLaplace, TruncatedLaplace
from understudy.privacy.terms import terms_of
from understudy.schema import Schema


class Form(StrEnum):
    """What becomes of a step of a plan, by the word that a plan shows."""

    DENSE = "dense"  # every noisy cell of a table is written out
    FILTERED = "filtered"  # cells above a public threshold are
    LAZY = "lazy"  # a noisy cell is drawn when a record first comes to it
    NODES = "nodes"  # of a layer of a hierarchy
    RANGES = "ranges"  # of a layer of a tree of ranges
    MOMENTS = "moments"
    LINE = "line"
    HEAPS = "heaps"  # how numbers are rounded
    DRAWS = "draws"
    SWEEPS = "sweeps"
    DISTRIBUTION = "distribution"
    CHOICE = "choice"
    POSTERIOR = "posterior"
    ROUNDS = "rounds"  # choices and tables; what is measured decides how many there are

    @property
    def counts_cells(self) -> bool:
        """Whether the cells of one contingency table are counted."""
        return self in (Form.DENSE, Form.FILTERED, Form.LAZY)

    @property
    def has_noise_mass(self) -> bool:
        """Whether empty cells keep the noise that they receive, so that its mass matters."""
        return self in (Form.DENSE, Form.LAZY, Form.DRAWS)

    @property
    def has_noise(self) -> bool:
        """Whether one number has noise that is known before anything is measured."""
        return self not in (Form.CHOICE, Form.ROUNDS, Form.SWEEPS, Form.POSTERIOR)

    @property
    def has_cells(self) -> bool:
        """Whether it has numbers that can be counted."""
        return self is not Form.CHOICE


@dataclass(frozen=True)
class PlannedTable:
    """One table that a method will measure, as far as the schema tells.

    Attributes:
        columns: names of its columns.
        n_cells: numbers that get noise.
        share: part of the budget, exact.
        noise: distribution of the noise, in words.
        stddev: standard deviation of the noise in one number.
        noise_mass: records' worth of positive noise that empty cells receive on average.
        form: what becomes of it.
        threshold: public threshold of the filtered form.
        query: what is asked, in the words of the ledger; counts by the columns if "".
        chosen: whether an earlier paid step decides on the columns, or on the cost; `n_cells` and
            `noise_mass` are then the largest possible ones, and a cost that of expected rows.
        records: whether what leaves are the records themselves, so that no seed of one's own can
            fix which are drawn.
    """

    columns: tuple[str, ...]
    n_cells: int
    share: Fraction
    noise: str
    stddev: float
    noise_mass: float
    form: Form = Form.DENSE
    threshold: int | None = None
    query: str = ""
    chosen: bool = False
    records: bool = False

    def __post_init__(self) -> None:
        """Tables are asked for in the words of the ledger."""
        if not self.query:
            object.__setattr__(self, "query", f"counts by {' × '.join(self.columns)}")


def natural_noise(accounting: Accounting) -> NoiseName:
    """The noise that fits the accounting best: geometric for pure ε, else Gaussian."""
    return "geometric" if accounting == "pure" else "gaussian"


def size_weights(schema: Schema, exponent: float, halved: Collection[str] = ()) -> list[Fraction]:
    """How a budget is divided over the columns: ∝ states to the power of `exponent`.

    Exponent 2/3 minimises the sum over columns of n·σ, the L1 error of flat noise, at a given
    Σ 1/σ². Columns that are measured a second time take half as much.
    """
    return [
        Fraction(round(1000 * size**exponent), 2000 if name in halved else 1000)
        for name, size in zip(schema.names, schema.sizes, strict=True)
    ]


def planned(
    schema: Schema,
    columns: tuple[str, ...],
    spend: Fraction,
    budget: Budget,
    distribution: NoiseName,
    *,
    form: Form = Form.DENSE,
    n_cells: int | None = None,
    query: str = "",
    threshold: int | None = None,
    bounds: Bounds = "threshold",
    mode: Mode = "strict",
    overspend: Fraction = EXACTLY,
    records: bool = False,
) -> PlannedTable:
    """A planned table with its noise worked out.

    Args:
        schema: the public schema.
        columns: names; () if an earlier step chooses them.
        spend: its cost.
        budget: the whole budget.
        distribution: noise.
        form: as in `PlannedTable`.
        n_cells: its cells, at most; those that the columns allow if None.
        query: what is asked; counts by the columns if "".
        threshold: public threshold.
        bounds: "truncate" for noise inside limits.
        mode: "paper" for the noise as published.
        overspend: how many times its cost that noise is worth.
        records: whether records leave, and no table.
    """
    noise = count_noise(
        distribution,
        spend=spend,
        accounting=budget.accounting,
        schema=schema,
        bounds=bounds,
        mode=mode,
        overspend=overspend,
    )
    n_cells = schema.table(columns).n_allowed if n_cells is None else n_cells
    return PlannedTable(
        columns=columns,
        n_cells=n_cells + 1,
        share=spend / budget.amount,
        noise=words(noise),
        stddev=noise.stddev,
        noise_mass=n_cells * _mean_in_empty_cell(noise),
        form=form,
        threshold=threshold,
        query=query,
        chosen=not columns,
        records=records,
    )


def planned_charge(
    columns: tuple[str, ...],
    charge: Charge[Any],
    budget: Budget,
    *,
    form: Form = Form.DENSE,
    threshold: int | None = None,
    chosen: bool = False,
    records: bool = False,
) -> PlannedTable:
    """A line of the ledger, as a mechanism announces it: the plan is the ledger.

    Args:
        columns: names.
        charge: one of those that `Mechanism.price` gives.
        budget: the whole budget.
        form: as in `PlannedTable`.
        threshold: public threshold.
        chosen: as in `PlannedTable`.
        records: whether records leave, and no table.
    """
    noise = charge.parameter
    return PlannedTable(
        columns=columns,
        n_cells=charge.cells,
        share=(charge.spent or Fraction(0)) / budget.amount,
        noise=charge.noise,
        stddev=charge.recorded.stddev,
        noise_mass=(charge.cells - 1) * _mean_in_empty_cell(noise)
        if isinstance(noise, DISTRIBUTIONS)
        else 0.0,
        form=form,
        threshold=threshold,
        query=charge.query,
        chosen=chosen,
        records=records,
    )


def announced(
    mechanism: Mechanism[Any, Any],
    schema: Schema,
    spend: Fraction,
    budget: Budget,
    columns: Sequence[tuple[str, ...]],
    **how: Any,
) -> tuple[PlannedTable, ...]:
    """What a mechanism will have in the ledger; it is the plan.

    Args:
        mechanism: that the method will ask for.
        schema: the public schema.
        spend: what it may cost.
        budget: the whole budget.
        columns: names of those of each step.
        **how: form, threshold and records, as in `PlannedTable`.
    """
    charges = mechanism.price(terms_of(schema, budget), spend)
    steps = zip(columns, charges, strict=True)
    return tuple(planned_charge(names, charge, budget, **how) for names, charge in steps)


def planned_choice(
    schema: Schema,
    query: str,
    share: Fraction,
    budget: Budget,
    *,
    n_cells: int = 1,
    chosen: bool = False,
) -> PlannedTable:
    """Choices by the exponential mechanism, paid together.

    Args:
        schema: the public schema, whose columns are chosen from.
        query: what is asked, in the words of the ledger.
        share: the cost.
        budget: the whole budget.
        n_cells: how many choices, or candidates, the ledger counts.
        chosen: whether earlier choices decide on that.
    """
    return PlannedTable(
        columns=schema.names,
        n_cells=n_cells,
        share=share / budget.amount,
        noise="",
        stddev=0.0,
        noise_mass=0.0,
        form=Form.CHOICE,
        query=query,
        chosen=chosen,
    )


def planned_rounds(
    schema: Schema, share: Fraction, budget: Budget, most_cells: float
) -> PlannedTable:
    """Rounds of a choice and a table each, of which what is measured decides how many there are.

    Args:
        schema: the public schema.
        share: what they may cost together.
        budget: the whole budget.
        most_cells: most cells of a table.
    """
    return PlannedTable(
        columns=schema.names,
        n_cells=int(max(min(schema.domain.n_cells, most_cells), *schema.sizes)) + 1,
        share=share / budget.amount,
        noise="",
        stddev=0.0,
        noise_mass=0.0,
        form=Form.ROUNDS,
        query="rounds of a choice and a table",
        chosen=True,
    )


def _mean_in_empty_cell(distribution: NoiseDistribution) -> float:
    """Records' worth of noise that an empty cell receives on average, negative noise set to 0."""
    if isinstance(distribution, ContinuousLaplace):
        return distribution.scale / 2
    if isinstance(distribution, TruncatedDiscreteLaplace | TruncatedLaplace):
        # Exponential on [0, limit]: its scale if the limit is far, half the limit if it is near.
        return min(float(distribution.scale), float(distribution.high - distribution.low) / 2)
    return mean_positive(distribution)
