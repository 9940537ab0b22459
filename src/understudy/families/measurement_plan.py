"""What a method announces that it will measure, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.privacy.accounting.budget import Budget
from understudy.privacy.mechanism import Charge, Mechanism
from understudy.privacy.noise.calibration import LawName, mean_positive
from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
from understudy.privacy.noise.perturbation import LAWS, Bounds, Law, Mode, count_law, words
from understudy.privacy.noise.truncated_laplace import TruncatedDiscreteLaplace, TruncatedLaplace
from understudy.privacy.terms import terms_of
from understudy.schema import Schema


@dataclass(frozen=True)
class PlannedTable:
    """One table that a method will measure, as far as the schema tells.

    Attributes:
        columns: names of its columns.
        n_cells: numbers that get noise.
        share: part of the budget, exact.
        noise: law of the noise, in words.
        stddev: standard deviation of the noise in one number.
        noise_mass: records' worth of positive noise that empty cells receive on average.
        form: "dense", "filtered" or "lazy"; "nodes" for a layer of a hierarchy, "ranges" for one of
            a tree of ranges; "moments", "draws", "sweeps", "distribution" or "choice" where no
            table is measured; "rounds" for choices and tables whose number is decided by what is
            measured.
        threshold: public threshold of the filtered form.
        query: what is asked, in the words of the ledger; counts by the columns if "".
        chosen: whether an earlier paid step chooses the columns; `n_cells` and `noise_mass` are
            then the largest possible ones.
    """

    columns: tuple[str, ...]
    n_cells: int
    share: Fraction
    noise: str
    stddev: float
    noise_mass: float
    form: str = "dense"
    threshold: int | None = None
    query: str = ""
    chosen: bool = False

    def __post_init__(self) -> None:
        """Tables are asked for in the words of the ledger."""
        if not self.query:
            object.__setattr__(self, "query", f"counts by {' × '.join(self.columns)}")


def planned(
    schema: Schema,
    columns: tuple[str, ...],
    spend: Fraction,
    budget: Budget,
    law: LawName,
    *,
    form: str = "dense",
    n_cells: int | None = None,
    query: str = "",
    threshold: int | None = None,
    bounds: Bounds = "threshold",
    mode: Mode = "strict",
) -> PlannedTable:
    """A planned table with its noise worked out.

    Args:
        schema: the public schema.
        columns: names; () if an earlier step chooses them.
        spend: its cost.
        budget: the whole budget.
        law: noise.
        form: as in `PlannedTable`.
        n_cells: its cells, at most; those that the columns allow if None.
        query: what is asked; counts by the columns if "".
        threshold: public threshold.
        bounds: "truncate" for noise inside limits.
        mode: "paper" for the noise as published.
    """
    noise = count_law(
        law, spend=spend, accounting=budget.accounting, schema=schema, bounds=bounds, mode=mode
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
    )


def planned_charge(
    columns: tuple[str, ...],
    charge: Charge[Any],
    budget: Budget,
    *,
    form: str = "dense",
    threshold: int | None = None,
    chosen: bool = False,
) -> PlannedTable:
    """A line of the ledger, as a mechanism announces it: the plan is the ledger.

    Args:
        columns: names.
        charge: one of those that `Mechanism.price` gives.
        budget: the whole budget.
        form: as in `PlannedTable`.
        threshold: public threshold.
        chosen: as in `PlannedTable`.
    """
    noise = charge.parameter
    return PlannedTable(
        columns=columns,
        n_cells=charge.cells,
        share=(charge.spent or Fraction(0)) / budget.amount,
        noise=charge.noise,
        stddev=charge.recorded.stddev,
        noise_mass=(charge.cells - 1) * _mean_in_empty_cell(noise)
        if isinstance(noise, LAWS)
        else 0.0,
        form=form,
        threshold=threshold,
        query=charge.query,
        chosen=chosen,
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
        **how: form and threshold, as in `PlannedTable`.
    """
    charges = mechanism.price(terms_of(schema, budget), spend)
    steps = zip(columns, charges, strict=True)
    return tuple(planned_charge(names, one, budget, **how) for names, one in steps)


def planned_sweeps(
    schema: Schema,
    spend: Fraction,
    budget: Budget,
    *,
    n_cells: int,
    noise: str,
    query: str,
    stddev: float = 0.0,
    chosen: bool = False,
) -> PlannedTable:
    """Records drawn column by column, as a named mechanism announces them.

    Args:
        schema: the public schema.
        spend: their cost.
        budget: the whole budget.
        n_cells: what is counted of it: cells of the tables behind, or states of a record.
        noise: the mechanism with its parameter, in words.
        query: what is asked, in the words of the ledger.
        stddev: of the noise in a count; 0 where none is added.
        chosen: whether an earlier step chooses the keys.
    """
    return PlannedTable(
        columns=schema.names,
        n_cells=n_cells,
        share=spend / budget.amount,
        noise=noise,
        stddev=stddev,
        noise_mass=0.0,
        form="sweeps",
        query=query,
        chosen=chosen,
    )


def planned_exact(
    columns: tuple[str, ...], query: str = "", *, form: str = "dense", noise: str = ""
) -> PlannedTable:
    """Exact statistics, which cost no budget: a method without a guarantee takes them.

    Args:
        columns: that they hold together.
        query: what is asked; counts by the columns if "".
        form: as in `PlannedTable`.
        noise: what stands in place of noise, in words.
    """
    return PlannedTable(
        columns=columns,
        n_cells=0,
        share=Fraction(0),
        noise=noise,
        stddev=0.0,
        noise_mass=0.0,
        form=form,
        query=query,
    )


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
        form="choice",
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
        form="rounds",
        query="rounds of a choice and a table",
        chosen=True,
    )


def _mean_in_empty_cell(law: Law) -> float:
    """Records' worth of noise that an empty cell receives on average, negative noise set to 0."""
    if isinstance(law, ContinuousLaplace):
        return law.scale / 2
    if isinstance(law, TruncatedDiscreteLaplace | TruncatedLaplace):
        # Exponential on [0, limit]: its scale if the limit is far, half the limit if it is near.
        return min(float(law.scale), float(law.high - law.low) / 2)
    return mean_positive(law)
