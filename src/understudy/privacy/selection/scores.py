"""Scores that the exponential mechanism may use: named, with a proved sensitivity each.

A score sees exact tables, so it lives here and not in a method. The gate accepts the classes of
`Score` and nothing else (`understudy.privacy.admission`).

**The distance of marginals from a model**, by which AIM and MST choose. For a candidate table c
with counts n, the model's released estimate ŷ, a weight w and a penalty p, both public,

    score = w · (Σ |K n - K ŷ| - K p),   K = `STEPS`, Kŷ and Kp rounded to whole numbers,

in steps of 1/K records. All terms are whole numbers (w is one too), so that the value does not
depend on the order of the sum, and is held by a float64 exactly as long as it is below 2⁵³.

**Sensitivity.** ŷ, w and p do not depend on the rows. By the triangle inequality
|‖n - ŷ‖₁ - ‖n′ - ŷ‖₁| ≤ ‖n - n′‖₁, which is at most 1 if a record is added or removed and 2 if one
is replaced (records out of domain are in no cell). So no score moves by more than max w · K, or
twice that. A record can raise one score and lower another: **not monotone**.

**The distance of pairs from independence** is the same with w = 1 and p = 0, where ŷ is the product
of two released one-way estimates by their total. It needs no estimate for each cell of each pair,
and is computed once for all choices from the same estimates.

Sources: McKenna, Miklau & Sheldon (2021), "Winning the NIST Contest", Journal of Privacy and
Confidentiality 11(3) (MST); McKenna, Mullins, Sheldon & Miklau (2022), "AIM", PVLDB 15(11),
equation 1 and Lemma 3.
"""

from __future__ import annotations

import math
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import compiled
from understudy.engine import Engine, ExactTable
from understudy.engine.marginal_counter import in_groups
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.selection.dependence_scores import (
    DistanceFromDependence,
    DistanceFromIndependence,
    MutualInformation,
)
from understudy.schema import Schema

STEPS: Final = 16
"""Steps of an estimate per record, K."""

MOST_WEIGHT: Final = 255
_MOST_CELLS: Final = 2**31
_BATCH_CELLS: Final = 2**22

Counts = NDArray[np.int32 | np.int64]
Known = MutableMapping[tuple[int, ...], Counts]


@dataclass(frozen=True, eq=False)
class DistanceFromModel:
    """L1 distance of each candidate's table from a released estimate, weighted and penalised.

    Attributes:
        schema: that of the gate which is asked.
        candidates: names of the columns of each table.
        estimates: estimated count of every cell of every candidate in records, candidates one after
            the other, each in C order.
        weights: whole numbers from 1 to `MOST_WEIGHT`, one per candidate.
        penalties: in records, one per candidate; what noise alone would put into the distance.

    Raises:
        MethodError: numbers that do not fit the candidates.
    """

    schema: Schema
    candidates: tuple[tuple[str, ...], ...]
    estimates: NDArray[np.floating]
    weights: tuple[int, ...]
    penalties: NDArray[np.float64]

    title: ClassVar[str] = "distance from the model"
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check what is public, before anything is paid for."""
        n = len(self.candidates)
        if len(self.weights) != n or len(self.penalties) != n:
            raise MethodError("Each candidate needs one weight and one penalty.")
        if any(not 1 <= weight <= MOST_WEIGHT for weight in self.weights):
            raise MethodError(f"Weights of candidates are whole numbers from 1 to {MOST_WEIGHT}.")
        if len(self.estimates) != sum(self.cells) or sum(self.cells) > _MOST_CELLS:
            raise MethodError("There must be an estimate for every cell of every candidate.")

    @cached_property
    def cells(self) -> list[int]:
        """Number of cells of each candidate."""
        size = dict(zip(self.schema.names, self.schema.sizes, strict=True))
        return [math.prod(size[name] for name in names) for names in self.candidates]

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""
        return Fraction(max(self.weights) * STEPS * (1 if neighbours == "add_remove" else 2))

    def evaluate(self, engine: Engine, known: Known) -> NDArray[np.float64]:
        """Score of each candidate, shape (candidates,).

        Args:
            engine: the rows.
            known: exact tables by their columns; confidential, and extended here.
        """
        place = {name: j for j, name in enumerate(self.schema.names)}
        queries = [tuple(place[name] for name in names) for names in self.candidates]
        _count_new(engine, queries, self.cells, known)
        scores = np.empty(len(queries))
        start = 0
        for k, (query, size) in enumerate(zip(queries, self.cells, strict=True)):
            distance = int(_distance(known[query], self.estimates[start : start + size]))
            penalty = round(STEPS * float(self.penalties[k]))
            scores[k] = self.weights[k] * (distance - penalty)
            start += size
        return scores


@dataclass(frozen=True, eq=False)
class DistanceFromProduct:
    """L1 distance of the table of each pair from the product of two released estimates.

    Attributes:
        schema: that of the gate which is asked.
        candidates: names of the two columns of each pair.
        one_ways: estimated count of every state, in records; one array per column of the schema.
        total: estimated number of records, by which a product is divided; at least 1 is taken.

    Raises:
        MethodError: estimates or candidates that do not fit the schema.
    """

    schema: Schema
    candidates: tuple[tuple[str, ...], ...]
    one_ways: tuple[NDArray[np.float64], ...]
    total: float

    title: ClassVar[str] = DistanceFromModel.title
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check what is public, before anything is paid for."""
        if tuple(len(one) for one in self.one_ways) != tuple(self.schema.sizes):
            raise MethodError("There must be an estimate for every state of every column.")
        if set(map(len, self.candidates)) - {2} or not math.isfinite(self.total):
            raise MethodError("Candidates are pairs of columns, and a total is a number.")

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""
        return Fraction(STEPS * (1 if neighbours == "add_remove" else 2))

    def evaluate(self, engine: Engine, judged: MutableMapping[str, Judged]) -> NDArray[np.float64]:
        """Score of each candidate, shape (candidates,).

        Args:
            engine: the rows.
            judged: what was computed last; confidential, and replaced here by what is new.
        """
        last = judged.get("last")
        if last is None or not self._asks_what(last.score):
            last = judged["last"] = Judged(self, self._computed(engine))
        return last.values.copy()

    def _asks_what(self, other: DistanceFromProduct) -> bool:
        """Whether another score has the same values."""
        return (
            self.candidates == other.candidates
            and self.total == other.total
            and all(map(np.array_equal, self.one_ways, other.one_ways))
        )

    def _computed(self, engine: Engine) -> NDArray[np.float64]:
        place = {name: j for j, name in enumerate(self.schema.names)}
        pairs = [(place[a], place[b]) for a, b in self.candidates]
        sizes, total = self.schema.sizes, max(self.total, 1.0)
        value: dict[tuple[int, ...], int] = {}
        different = list(dict.fromkeys(pairs))
        for batch in in_groups(
            different, [sizes[a] * sizes[b] for a, b in different], _BATCH_CELLS
        ):
            for (a, b), table in zip(batch, engine.count(batch).expose(), strict=True):
                product = np.outer(self.one_ways[a], self.one_ways[b]).reshape(-1) / total
                value[a, b] = int(_distance(narrow(table.inside), product))
        return np.array([value[pair] for pair in pairs], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Judged:
    """What a score was for all candidates. CONFIDENTIAL.

    Attributes:
        score: that was asked for.
        values: shape (candidates,).
    """

    score: DistanceFromProduct
    values: NDArray[np.float64]


def _count_new(
    engine: Engine, queries: Sequence[tuple[int, ...]], cells: Sequence[int], known: Known
) -> None:
    """Count what is not known yet, some tables at a time."""
    size = dict(zip(queries, cells, strict=True))
    new = [query for query in size if query not in known]
    for batch in in_groups(new, [size[query] for query in new], _BATCH_CELLS):
        for query, table in zip(batch, engine.count(batch).expose(), strict=True):
            known[query] = narrow(table.inside)


def narrow(counts: NDArray[np.int64]) -> Counts:
    """The counts in the smallest type, flat."""
    flat = counts.reshape(-1)
    return flat.astype(np.int32) if flat.max(initial=0) < 2**31 else flat


@compiled
def _distance(counts: Counts, estimates: NDArray[np.floating]) -> np.int64:
    """Σ |K n - rint(K ŷ)|; an estimate beyond 2⁴⁰ records counts as that, none as 0."""
    total = np.int64(0)
    for k in range(counts.size):
        estimate = float(estimates[k])
        if not estimate > 0.0:  # or no number
            estimate = 0.0
        elif estimate > 2.0**40:
            estimate = 2.0**40
        total += abs(STEPS * np.int64(counts[k]) - np.int64(np.rint(STEPS * estimate)))
    return total


@dataclass(frozen=True)
class CellCount:
    """Number of records in each cell of one table: choosing its most frequent cell.

    **Sensitivity.** A record is in one cell: 1 under add/remove; under replace each single score
    changes by at most 1. **Monotone** under add/remove: adding a record lowers no count, so the
    exponent ε·u/Δ, twice the usual one, already is ε-DP (Dwork & Roth 2014, §3.4). Under replace
    one count rises while another falls, and the monotone rule does not apply.

    Attributes:
        marginal: column indices of the table; its cells, in C order, are the candidates.
    """

    marginal: tuple[int, ...]

    title: ClassVar[str] = "count of a cell"
    monotone = True

    @staticmethod
    def sensitivity(neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""
        return Fraction(1)

    def queries(self) -> Sequence[tuple[int, ...]]:
        """Tables to be counted."""
        return (self.marginal,)

    def evaluate(self, tables: Sequence[ExactTable]) -> NDArray[np.float64]:
        """Score of each cell, shape (cells,)."""
        return tables[0].inside.reshape(-1).astype(np.float64)


Score = (
    CellCount
    | DistanceFromDependence
    | DistanceFromIndependence
    | DistanceFromModel
    | DistanceFromProduct
    | MutualInformation
)
"""All scores of tables; the list is closed."""


def n_judged(score: Score, schema: Schema) -> int:
    """How many candidates a score has a value for.

    Raises:
        MethodError: it counts a column that does not exist.
    """
    if not isinstance(score, CellCount):
        return len(score.candidates)
    if not set(score.marginal) <= set(range(len(schema.sizes))):
        raise MethodError("The score counts a column that is not in the schema.")
    if len(set(score.marginal)) < len(score.marginal):
        raise MethodError("The score counts a column twice.")
    return math.prod(schema.sizes[j] for j in score.marginal)
