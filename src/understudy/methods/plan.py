"""The plan of a method: what it will measure, from public facts alone.

**Which marginals a release should get right, and how much each of them matters.**

A workload is a set of marginals with weights c. A method measures any marginal that is part of one
of them, and prefers those that help most: r has the weight w_r = Σ_s c_s |r ∩ s| over the marginals
s of the workload (McKenna et al. 2022, §3.2). For all k-way marginals that is |r| times a constant.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Self, cast

from understudy.dp.budget import Accounting, Budget, exact
from understudy.dp.calibration import NoiseName, mean_positive
from understudy.dp.confidential import terms_of
from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.gate import Gate
from understudy.dp.mechanism import A, Charge, Form, Mechanism
from understudy.dp.perturbation import (
    DISTRIBUTIONS,
    EXACTLY,
    Mode,
    NoiseDistribution,
    count_noise,
    words,
)
from understudy.dp.released import Bins, Released
from understudy.dp.truncated_laplace import TruncatedDiscreteLaplace, TruncatedLaplace
from understudy.errors import MethodError
from understudy.mechanisms.selection_scores import MOST_WEIGHT
from understudy.mechanisms.sparse_tables import ThresholdTable
from understudy.schema import Schema


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


def size_weights(
    schema: Schema,
    exponent: float,
    halved: Collection[str] = (),
    *,
    most: int | None = None,
) -> list[Fraction]:
    """Weigh the columns for dividing a budget: ∝ states to the power of `exponent`.

    Exponent 2/3 minimises the sum over columns of n·σ, the L1 error of flat noise, at a given
    Σ 1/σ². Columns that are measured a second time take half as much.

    Args:
        schema: the columns.
        exponent: above 0.
        halved: names of the columns that are measured a second time.
        most: states that count, at most; all if None.
    """
    return [
        Fraction(
            round(1000 * min(size, most or size) ** exponent), 2000 if name in halved else 1000
        )
        for name, size in zip(schema.names, schema.sizes, strict=True)
    ]


def plan_table(
    schema: Schema,
    columns: tuple[str, ...],
    spend: Fraction,
    budget: Budget,
    distribution: NoiseName,
    *,
    form: Form = Form.DENSE,
    n_cells: int | None = None,
    query: str = "",
    mode: Mode = "strict",
    overspend: Fraction = EXACTLY,
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
        mode: "paper" for the noise as published.
        overspend: how many times its cost that noise is worth.
    """
    noise = count_noise(
        distribution,
        spend=spend,
        accounting=budget.accounting,
        schema=schema,
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
        query=query,
        chosen=not columns,
        records=form.draws_records,
    )


def planned_charge(
    mechanism: Mechanism[Any, Any],
    charge: Charge[Any],
    schema: Schema,
    budget: Budget,
    *,
    chosen: bool = False,
) -> PlannedTable:
    """A line of the ledger, as a mechanism announces it: the plan is the ledger.

    Args:
        mechanism: that the method will ask for.
        charge: one of those that `Mechanism.price` gives.
        schema: the public schema.
        budget: the whole budget.
        chosen: as in `PlannedTable`.
    """
    noise = charge.parameter
    return PlannedTable(
        columns=schema.names if charge.columns is None else charge.columns,
        n_cells=charge.cells,
        share=(charge.spent or Fraction(0)) / budget.amount,
        noise=charge.noise,
        stddev=charge.recorded.stddev,
        noise_mass=(charge.cells - 1) * _mean_in_empty_cell(noise)
        if isinstance(noise, DISTRIBUTIONS)
        else 0.0,
        form=mechanism.form,
        threshold=mechanism.threshold if isinstance(mechanism, ThresholdTable) else None,
        query=charge.query,
        chosen=chosen,
        records=mechanism.form.draws_records,
    )


def plan_mechanism(
    mechanism: Mechanism[Any, Any],
    schema: Schema,
    spend: Fraction,
    budget: Budget,
    *,
    chosen: bool = False,
) -> tuple[PlannedTable, ...]:
    """Plan what a mechanism will have in the ledger.

    Args:
        mechanism: that the method will ask for.
        schema: the public schema.
        spend: what it may cost.
        budget: the whole budget.
        chosen: as in `PlannedTable`.
    """
    charges = mechanism.price(terms_of(schema, budget), spend)
    return tuple(
        planned_charge(mechanism, charge, schema, budget, chosen=chosen) for charge in charges
    )


@dataclass(frozen=True)
class PlanningGate:
    """A gate in front of no rows: it prices what it is asked, and notes that for the plan.

    It has no answers. So it stands in place of a gate only where nobody looks at answers before
    everything is asked (`understudy.methods.base.NonAdaptiveMethod`).

    Attributes:
        schema: the public schema.
        budget: the whole budget.
        steps: what was asked so far.
    """

    schema: Schema
    budget: Budget
    steps: list[PlannedTable] = field(default_factory=list)

    @property
    def n_rows(self) -> Released[int]:
        """Refuse: of how many rows there are, a plan does not know."""
        raise MethodError("A plan does not know the number of rows.")

    def ask(self, mechanism: Mechanism[A, Any], *, spend: Fraction = Fraction(0)) -> A:
        """Note what the mechanism will have in the ledger."""
        self.steps.extend(plan_mechanism(mechanism, self.schema, spend, self.budget))
        return cast("A", None)  # nobody looks at it

    def require(self, spend: Fraction) -> None:
        """Refuse what the budget cannot pay."""
        terms_of(self.schema, self.budget).require(spend)

    def rebin(self, bins: Bins) -> Self:
        """The same in other bins."""
        return replace(self, schema=self.schema.with_bins(bins))


AnyGate = Gate | PlanningGate
"""What a method sees that asks without choices: all that both of them have."""


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


MANY_COLUMNS = 25
"""Beyond so many columns the workload is all pairs, else all triples: 17,296 triples of 48."""

FAVOUR = 4
"""How many times as much a marginal counts for each column with priority that it has."""

DEEPEST, FEW_CELLS, MOST_DEEPER = 5, 32, 3_000
"""Columns and cells of a small marginal beyond a workload, and how many of a width there may be."""

MOST_CANDIDATES = 20_000
MOST_TOGETHER = 2**26
"""Cells of all candidates together: they are held twice, as counted and as estimated."""


@dataclass(frozen=True)
class Workload:
    """Candidate marginals, smaller ones first, and their weights.

    Attributes:
        candidates: names of columns, in the order of the schema.
        weights: whole numbers from 1 to `MOST_WEIGHT`.
    """

    candidates: tuple[tuple[str, ...], ...]
    weights: tuple[int, ...]

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        degree: int | None,
        target: str,
        entries: Sequence[str],
        priority: Sequence[str] = (),
    ) -> Workload:
        """The workload that options ask for.

        Args:
            schema: the columns.
            degree: all marginals of so many columns; 3, or 2 for many columns, if None.
            target: a column that all marginals of the workload have, or "".
            entries: marginals as text, "age & job" or with a weight "age & job: 2.5"; nothing else
                then is in the workload.
            priority: columns that matter most: a marginal counts `FAVOUR` times as much for each
                of them that it has.

        Raises:
            MethodError: an unknown column, a weight that is none, or too many marginals.
        """
        for option, names in (("target", [target] if target else []), ("priority", priority)):
            for name in names:
                if name not in schema.names:
                    raise MethodError(f"The option {option} names {name!r}, which is no column.")
        marginals = [_entry(schema, text) for text in entries]
        if not marginals:
            marginals = [(columns, Fraction(1)) for columns in _all_ways(schema, degree, target)]
        mass, favoured = dict.fromkeys(schema.names, Fraction(0)), set(priority)
        for columns, weight in marginals:
            for name in columns:
                mass[name] += weight
        candidates = _parts(schema, [columns for columns, _ in marginals])
        raw = [
            sum((mass[name] for name in columns), Fraction(0))
            * FAVOUR ** len(favoured & set(columns))
            for columns in candidates
        ]
        largest = max(raw)
        weights = tuple(max(1, round(MOST_WEIGHT * mass / largest)) for mass in raw)
        return cls(candidates, weights)

    def without_constants(self, schema: Schema) -> Workload:
        """Only marginals of columns that have more than one state; all if no pair has."""
        size = dict(zip(schema.names, schema.sizes, strict=True))
        kept = [pair for pair in self._pairs if all(size[name] > 1 for name in pair[0])]
        if not any(len(columns) > 1 for columns, _ in kept):
            return self
        return Workload(*map(tuple, zip(*kept, strict=True)))

    def deeper(self, schema: Schema, target: str = "") -> Workload:
        """With small marginals of more columns as further candidates, where these are not many.

        What columns have in common may show in no marginal of fewer: a label that is the parity of
        three truth values is in none of three columns. Where a table has few cells, it costs little
        to look.

        Args:
            schema: the columns.
            target: a column that all of them have, or "".
        """
        single = {columns[0]: weight for columns, weight in self._pairs if len(columns) == 1}
        size = dict(zip(schema.names, schema.sizes, strict=True))
        more: list[tuple[str, ...]] = []
        for width in range(1 + max(map(len, self.candidates)), DEEPEST + 1):
            narrow = [name for name in single if size[name] <= FEW_CELLS >> (width - 1)]
            fixed = 1 if target in narrow else 0
            if math.comb(len(narrow) - fixed, width - fixed) > MOST_DEEPER:
                break
            more += [
                columns
                for columns in combinations(narrow, width)
                if target in ("", *columns)
                and math.prod(size[name] for name in columns) <= FEW_CELLS
            ]
        weights = (min(sum(single[name] for name in columns), MOST_WEIGHT) for columns in more)
        return Workload((*self.candidates, *more), (*self.weights, *weights))

    @property
    def _pairs(self) -> Iterator[tuple[tuple[str, ...], int]]:
        return zip(self.candidates, self.weights, strict=True)

    def within(self, schema: Schema, cells: float) -> Workload:
        """Only marginals of at most so many cells; those of a single column stay.

        The largest ones are left out as well where all together exceed `MOST_TOGETHER`.
        """
        kept = small(schema, self.candidates, cells)
        return Workload(
            tuple(self.candidates[k] for k in kept), tuple(self.weights[k] for k in kept)
        )


def small(schema: Schema, candidates: Sequence[tuple[str, ...]], cells: float) -> list[int]:
    """Places of the candidates whose tables can be held in memory together.

    Args:
        schema: the columns.
        candidates: names of columns.
        cells: most cells of a table of several columns; smaller ones are preferred where all of
            them have more than `MOST_TOGETHER`.

    Returns:
        Ascending; candidates of a single column are always among them.
    """
    size = dict(zip(schema.names, schema.sizes, strict=True))
    sizes = [math.prod(size[name] for name in columns) for columns in candidates]
    kept, together = [], 0
    for k in sorted(range(len(candidates)), key=sizes.__getitem__):
        if len(candidates[k]) == 1 or (sizes[k] <= cells and together + sizes[k] <= MOST_TOGETHER):
            kept.append(k)
            together += sizes[k]
    return sorted(kept)


def tied_pairs(schema: Schema, most_cells: float) -> list[tuple[str, ...]]:
    """Pairs that a declared relation ties, each once, in the order of the schema.

    Args:
        schema: the columns and relations.
        most_cells: of the table of a pair; pairs of larger ones are left out.
    """
    names, size = schema.names, {name: column.size for name, column in schema.columns.items()}
    pairs = {tuple(sorted(one.columns, key=names.index)) for one in schema.relations}
    fitting = [pair for pair in pairs if size[pair[0]] * size[pair[1]] <= most_cells]
    return sorted(fitting, key=lambda pair: [names.index(name) for name in pair])


def tied_spend(tied: Sequence[tuple[str, ...]], first: Fraction, rounds: Fraction) -> Fraction:
    """Compute the cost of tables of tied pairs: a first round each, half of all rounds at most."""
    return min(first * len(tied), rounds / 2)


def usual_degree(n_columns: int) -> int:
    """Columns of a marginal, where nothing is asked for."""
    return min(n_columns, 3 if n_columns <= MANY_COLUMNS else 2)


def _all_ways(schema: Schema, degree: int | None, target: str) -> Iterator[tuple[str, ...]]:
    names = schema.names
    width = usual_degree(len(names)) if degree is None else min(degree, len(names))
    n = math.comb(len(names) - 1, width - 1) if target else math.comb(len(names), width)
    if n > MOST_CANDIDATES:
        raise MethodError(
            f"There are {n:,} marginals of {width} of {len(names)} columns (at most "
            f"{MOST_CANDIDATES:,}); take a smaller degree, or list a workload."
        )
    return (columns for columns in combinations(names, width) if not target or target in columns)


def _entry(schema: Schema, text: str) -> tuple[tuple[str, ...], Fraction]:
    listed, weight = text, "1"
    if text.rsplit("&", maxsplit=1)[-1].strip() not in schema.names and ":" in text:
        listed, _, weight = text.rpartition(":")
    names = {part.strip() for part in listed.split("&")}
    for name in sorted(names):
        if name not in schema.names:
            raise MethodError(
                f"The option workload names {name!r}, which is no column; write it like "
                '"age & job, age & income: 2".'
            )
    value = exact(weight.strip(), "a weight of the workload")
    if value <= 0:
        raise MethodError("Weights of the workload must be positive.")
    return tuple(name for name in schema.names if name in names), value


def _parts(schema: Schema, marginals: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """All parts of the wanted marginals, and all single columns."""
    parts: set[tuple[str, ...]] = {(name,) for name in schema.names}
    for columns in marginals:
        for width in range(2, len(columns) + 1):
            parts.update(combinations(columns, width))
    if len(parts) > 2 * MOST_CANDIDATES:
        raise MethodError("The workload has too many parts; take marginals of fewer columns.")
    place = {name: j for j, name in enumerate(schema.names)}
    return tuple(
        sorted(parts, key=lambda columns: (len(columns), [place[name] for name in columns]))
    )
