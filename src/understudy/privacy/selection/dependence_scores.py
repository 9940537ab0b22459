r"""How strongly a column depends on others: the scores by which PrivBayes chooses a network.

A candidate is a column X with a set Π of parents. All scores come from the table c of X by the
combinations of Π, n = Σ c records, and all are in units of **records**, n times those of the paper.
So the number of rows never divides a score, and a private one needs no special care. A record with
one of these columns out of domain is first moved to the first cell, which is a map of single
records: neighbours stay neighbours, n counts all records, and a binary column stays binary.

Notation: r and s are the row and column sums of c, p = r/n, q = s/n; x and π the levels of a record
that leaves, x′ and π′ of one that enters. "Binary" means that X or Π has at most two public levels.

**R**, distance from independence: ½ Σ |c - r sᵀ/n| = max over sets S of cells of c(S) - (r sᵀ)(S)/n
(total variation). A maximum changes by no more than the largest change of its terms, taken at an S
that is a maximiser after the change; S_x denotes {π: (x, π) ∈ S}, S^π likewise.

*Add one record* at (x, π): the term of S changes by n/(n+1) · [1_S(x, π) - q(S_x) - p(S^π) +
(p qᵀ)(S)]. As (p qᵀ)(S) ≤ p_x q(S_x) + q_π p(S^π) - p_x q_π 1_S(x, π) + (1 - p_x)(1 - q_π), and if
(x, π) ∈ S then q(S_x) ≥ q_π and p(S^π) ≥ p_x, the bracket is at most 2(1 - p_x)(1 - q_π). If
(x, π) ∉ S it is at least -q(S_x)(1 - p_x) - p(S^π)(1 - q_π) ≥ -2(1 - p_x)(1 - q_π), and if
(x, π) ∈ S at least -1. So R changes by at most 2n/(n+1): **Δ = 2**, attained by a first record of
both its levels in an independent table, also a binary one.

*Replace one record*: with p̄ = (p + p′)/2 and q̄ = (q + q′)/2, p′q′ᵀ - p qᵀ = (p′ - p) q̄ᵀ + p̄ (q′
- q)ᵀ. So the term of S changes by 1_S(x′, π′) - 1_S(x, π) + q̄(S_x) - q̄(S_x′) + p̄(S^π) - p̄(S^π′)
≤ 3: **Δ = 3**. Tables approach it (`tests/privacy/selection/test_dependence_scores.py` has one with
2.68), though small enumerations suggest 2. If X is binary, **Δ = 2**: unless (x′, π′) ∈ S and (x,
π) ∉ S, the indicators add nothing and the rest is at most 2; and if so, either x = x′, the two
terms of q̄ cancel, and 1 + p̄(S^π) - p̄(S^π′) ≤ 2; or S^π ⊆ {x′} ⊆ S^π′, so p̄(S^π) ≤ p̄(S^π′), and
1 + q̄(S_x) ≤ 2; or π = π′ and only 1 + q̄(S_x) - q̄(S_x′) ≤ 2 is left. If Π is, the same with the
roles exchanged. (The paper states 3 + 2/n.)

**I**, mutual information in bits: Σ h(c) - Σ h(r) - Σ h(s) + h(n), h(k) = k log₂ k. Let
g(k) = h(k) - h(k-1), which is 0 at 1, increasing and concave.

*Replace one record*, x ≠ x′ and π ≠ π′: I changes by [g(c_x′π′ + 1) - g(r_x′ + 1) - g(s_π′ + 1)] +
[g(r_x) + g(s_π) - g(c_xπ)]. The first bracket is at most 0, as c_x′π′ ≤ s_π′. In the second
r_x + s_π ≤ n + j with j = c_xπ ≥ 1, so by concavity it is at most 2g((n+j)/2) - g(j), which falls
in j: at most **2 g((n+1)/2)**. If π = π′ (or x = x′) two terms cancel in the change, and what is
left is at most g(n) ≤ 2 g((n+1)/2). If X is binary, r_x′ = n - r_x and s_π - c_xπ ≤ n - r_x, so
the first bracket is at most -g(n - r_x + 1), and g(s_π) - g(c_xπ) ≤ g(n - r_x + 1) - g(1): the
change is at most g(r_x) ≤ **g(n)**. Both bounds are those of the paper, and are attained.

*Add one record*, at most N after it: I changes by g(c_xπ + 1) - g(r_x + 1) - g(s_π + 1) + g(n + 1),
at most g(n + 1) ≤ g(N). It falls by at most 2g(n/2 + 1) - g(n + 1) ≤ g(N), by concavity again.
N must be public, and is the schema's `row_limit`. Nothing makes rows keep to it, so from a table of
more than N records only the first N in the order of its cells count: a record more then replaces
one of them at most, or changes nothing. So Δ is that of replace with n = N, which is no less than
g(N).

**F**, distance from a table of maximal mutual information, for binary columns:
-½ Σ |c - c°| for the nearest c° in which each parent combination has one of the levels alone and
both levels have n/2. With a assigning a level to each combination, K₀ and K₁ the records that agree
with it, F = -min over a of (n/2 - K₀)₊ + (n/2 - K₁)₊. Replacing a record lowers one K by 1 at most,
and raises one by 1 at most, so each term in the minimum moves within [-1, 1]: **Δ = 1**. Adding
one raises n/2 by ½ and one of K₀, K₁ by 1 or none: the term moves within [-½, 1]. So **Δ = 1** as
well, and both are attained.

None is monotone. R and F are exact up to the rounding of the last division, which the lattice of
`understudy.privacy.selection.exponential_mechanism` has room for. Of I each h(k) is rounded to a
public lattice; at most 12 of them differ between neighbours, and Δ has 12 such errors added. The
proofs are enumerated in `tests/privacy/selection/test_dependence_scores.py`.

Sources: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), PrivBayes, ACM TODS 42(4), §4 and §5
(the scores and their bounds under replace). The bound of R is a little smaller here, and the
add/remove forms are new.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy.engine import Engine, ExactTable
from understudy.engine.marginal_counter import in_groups
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.selection.association_measures import (
    distance_from_dependence,
    distance_from_independence,
    information_sensitivity,
    mutual_information,
)
from understudy.schema import Schema

Known = dict[tuple[str, tuple[int, ...]], float]
_Integers = NDArray[np.int64]

_BATCH_CELLS: Final = 2**23
"""Cells that are counted at once: they and their sums fill some 100 MB."""


@dataclass(frozen=True)
class Dependence(ABC):
    """A score of candidates, each of which has a table of its own.

    Attributes:
        schema: that of the gate which is asked; the sensitivity follows from it.
        candidates: names of a column and of its parents, the column first.

    Raises:
        MethodError: a score that does not fit the schema.
    """

    schema: Schema
    candidates: tuple[tuple[str, ...], ...]

    title: ClassVar[str]
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse what has no proof."""
        self.require(self.schema)

    @staticmethod
    @abstractmethod
    def require(schema: Schema) -> None:
        """Refuse a schema for which the score has no proof; a public check.

        Raises:
            MethodError: columns or a number of rows that do not fit.
        """

    @abstractmethod
    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""

    @abstractmethod
    def score(self, counts: _Integers) -> float:
        """Score in records of one table, shape (levels, parent combinations)."""

    def queries(self) -> Sequence[tuple[int, ...]]:
        """Tables to be counted, the column's axis first."""
        place = {name: j for j, name in enumerate(self.schema.names)}
        return [tuple(place[name] for name in names) for names in self.candidates]

    def evaluate(self, tables: Sequence[ExactTable]) -> NDArray[np.float64]:
        """Score of each candidate in records, shape (candidates,)."""
        return np.array([self.score(_folded(table)) for table in tables], dtype=np.float64)

    def evaluate_new(self, engine: Engine, known: Known) -> NDArray[np.float64]:
        """The same, counting only what is not known yet, some tables at a time.

        Args:
            engine: the rows.
            known: values by score and table; confidential, and extended here.
        """
        queries, name = self.queries(), type(self).__name__
        new = [query for query in dict.fromkeys(queries) if (name, query) not in known]
        cells = [math.prod(self.schema.sizes[j] + 1 for j in query) for query in new]
        for batch in in_groups(new, cells, _BATCH_CELLS):
            values = self.evaluate(engine.count(batch).expose())
            known.update({(name, q): v for q, v in zip(batch, values.tolist(), strict=True)})
        return np.array([known[name, query] for query in queries], dtype=np.float64)

    @property
    def binary(self) -> bool:
        """Whether the column or its parents have at most two levels, in all candidates."""
        sizes = self.schema.sizes
        return all(
            min(sizes[child], math.prod(sizes[j] for j in parents)) <= 2
            for child, *parents in self.queries()
        )


class MutualInformation(Dependence):
    """I, in bits times records."""

    title = "mutual information"

    @staticmethod
    def require(schema: Schema) -> None:
        """Refuse a number of rows without a public limit.

        Raises:
            MethodError: there is none.
        """
        if schema.rows == "private" and schema.row_limit is None:
            raise MethodError(
                "The sensitivity of mutual information grows with the number of rows, which is "
                "private; declare row_limit in the schema, or take score=r."
            )

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change; the same bound holds for both kinds of neighbours."""
        return information_sensitivity(self._most_rows, binary=self.binary)

    def score(self, counts: _Integers) -> float:
        """Mutual information of the first records, up to the public limit."""
        return mutual_information(_first(counts, self._most_rows))

    @property
    def _most_rows(self) -> int:
        limit = self.schema.n_rows if self.schema.rows == "public" else self.schema.row_limit
        assert limit is not None
        return limit


class DistanceFromIndependence(Dependence):
    """R, in records."""

    title = "distance from independence"

    @staticmethod
    def require(schema: Schema) -> None:
        """Every schema fits."""

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change."""
        return Fraction(2 if neighbours == "add_remove" or self.binary else 3)

    def score(self, counts: _Integers) -> float:
        """Distance from the table with the same margins and no dependence."""
        return distance_from_independence(counts)


class DistanceFromDependence(Dependence):
    """F, in records."""

    title = "distance from dependence"

    @staticmethod
    def require(schema: Schema) -> None:
        """Refuse columns of more than two states.

        Raises:
            MethodError: there is one.
        """
        if max(schema.sizes) > 2:
            raise MethodError("The score f needs columns of two states each; take score=r.")

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change."""
        return Fraction(1)

    def score(self, counts: _Integers) -> float:
        """Minus the distance from the nearest table of maximal mutual information."""
        # A column of one state has a second one that no record is in.
        return distance_from_dependence(np.pad(counts, ((0, 2 - len(counts)), (0, 0))))


def _folded(table: ExactTable) -> _Integers:
    """Shape (levels, parent combinations); records out of domain are in the first cell."""
    counts = table.inside.reshape(table.inside.shape[0], -1).copy()
    counts[0, 0] += table.outside
    return counts


def _first(counts: _Integers, limit: int) -> _Integers:
    """The first records in the order of the cells, up to a limit."""
    if counts.sum() <= limit:
        return counts
    reached = np.minimum(np.cumsum(counts.reshape(-1)), limit)
    return np.diff(reached, prepend=0).reshape(counts.shape)
