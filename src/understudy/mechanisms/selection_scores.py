"""Scores that the exponential mechanism may use: named, with a proved sensitivity each.

A score sees exact tables, so it lives here and not in a method. The gate accepts the classes of
`Score` and nothing else (`understudy.dp.admission`).

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

**How strongly a column depends on others: the scores by which PrivBayes chooses a network.**

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
≤ 3: **Δ = 3**. Tables approach it (`tests/mechanisms/selection/test_dependence_scores.py` has one
with 2.68), though small enumerations suggest 2. If X is binary, **Δ = 2**: unless (x′, π′) ∈ S and
(x, π) ∉ S, the indicators add nothing and the rest is at most 2; and if so, either x = x′, the two
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
`understudy.mechanisms.selection` has room for. Of I each h(k) is rounded to a
public lattice; at most 12 of them differ between neighbours, and Δ has 12 such errors added. The
proofs are enumerated in `tests/mechanisms/selection/test_dependence_scores.py`.

Sources: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), PrivBayes, ACM TODS 42(4), §4 and §5
(the scores and their bounds under replace). The bound of R is a little smaller here, and the
add/remove forms are new.

**How strongly the rows and columns of one contingency table go together, in records.**

Three statistics and what is needed of their sensitivity; proofs
are above. Each is computed in whole numbers, so that its
value does not depend on the order of the sums.

Source: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), PrivBayes, ACM TODS 42(4), §4 and §5.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Integers, compiled
from understudy.data.marginals import in_groups
from understudy.dp.budget import Neighbours
from understudy.errors import MethodError
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.data.base import Engine, ExactTable

_LATTICE: Final = 2.0**-16
"""Step to which the terms of the mutual information are rounded, in bits. Public."""


def information_sensitivity(n_rows: int, *, binary: bool) -> Fraction:
    """Δ of the mutual information of up to n records, in bits times records, rounded up.

    Args:
        n_rows: public number of rows, or public limit of it.
        binary: whether X or Π has at most two levels in all candidates.

    Example:
        Of ten records, 10 times the paper's bounds:

        >>> [round(float(information_sensitivity(10, binary=b)), 3) for b in (True, False)]
        [4.691, 7.525]
    """
    n = max(n_rows, 1)
    exact = _step(n) if binary else 2 * _step((n + 1) / 2)
    # Rounding of each term, and that of x·log₂ x itself.
    rounding = 12 * (_LATTICE + max(1.0, n * math.log2(n)) * 2.0**-49)
    return Fraction(math.ceil((exact + rounding) * 1_000), 1_000)


def _step(k: float) -> float:
    """Return g(k) = k log₂ k - (k-1) log₂(k-1), which is 0 at 1."""
    return math.log2(k) - (k - 1) * math.log1p(-1 / k) / math.log(2) if k > 1 else 0.0


def mutual_information(counts: Integers) -> float:
    """Mutual information in bits, times the number of records.

    Args:
        counts: shape (levels, parent combinations).

    Example:
        >>> float(mutual_information(np.array([[2, 0], [1, 1]])) / 4).__round__(4)
        0.3113
    """
    flat, rows, columns = _parts(counts)
    separate = _entropy(rows) + _entropy(columns)
    return (_entropy(flat) + _entropy(counts.sum(keepdims=True)) - separate) * _LATTICE


def distance_from_independence(counts: Integers) -> float:
    """Half the L1 distance from the table with the same margins and no dependence, in records.

    Args:
        counts: shape (levels, parent combinations).

    Example:
        >>> distance_from_independence(np.array([[2, 0], [1, 1]])) / 4
        0.25
    """
    flat, rows, columns = _parts(counts)
    total = int(rows.sum())
    if total >= 2**31:  # n² does not fit: the same sum in integers of any size
        over = counts.astype(object) * total - np.outer(rows.astype(object), columns.astype(object))
        return int(over[over > 0].sum()) / total
    return int(_excess(flat, rows, columns, total)) / total if total else 0.0


def distance_from_dependence(counts: Integers) -> float:
    """Minus half the L1 distance from the nearest table of maximal mutual information, in records.

    Args:
        counts: shape (2, parent combinations).

    Example:
        >>> distance_from_dependence(np.array([[2, 0], [0, 2]]))
        0.0
        >>> distance_from_dependence(np.array([[2, 0], [1, 1]]))
        -1.0
    """
    return -int(_least_misfit(counts, int(counts.sum()))) / 2


def _parts(counts: Integers) -> tuple[Integers, Integers, Integers]:
    """The cells in C order, row sums and column sums."""
    return counts.reshape(-1), counts.sum(axis=1), counts.sum(axis=0)


def _entropy(counts: Integers) -> int:
    return int(_rounded_entropy(counts.reshape(-1), 1 / _LATTICE))


@compiled
def _rounded_entropy(counts: Integers, steps: float) -> int:
    """Return Σ k log₂ k, each term a whole number of lattice steps."""
    total = 0
    for k in counts:
        if k > 1:
            total += int(np.rint(k * np.log2(k) * steps))
    return total


@compiled
def _excess(flat: Integers, rows: Integers, columns: Integers, total: int) -> int:
    """Return n times Σ (c - r sᵀ/n)₊: only occupied cells have a positive part."""
    result = 0
    at = 0
    for i in range(rows.size):
        for j in range(columns.size):
            if flat[at] > 0:
                over = flat[at] * total - rows[i] * columns[j]
                if over > 0:
                    result += over
            at += 1
    return result


@compiled
def _least_misfit(counts: Integers, total: int) -> int:
    """Return min over assignments of (n - 2K₀)₊ + (n - 2K₁)₊, by the largest K₁ for each K₀.

    K₀ beyond n/2 counts as n/2, rounded up.
    """
    top = (total + 1) // 2
    best = np.full(top + 1, -1, dtype=np.int64)
    best[0] = 0
    reach = 0
    for j in range(counts.shape[1]):
        zero, one = counts[0, j], counts[1, j]
        if zero + one == 0:
            continue
        further = min(top, reach + zero)
        beyond = -1
        for k in range(max(0, top - zero), reach + 1):
            beyond = max(beyond, best[k])
        for k in range(further, -1, -1):
            stay = best[k] + one if best[k] >= 0 else -1
            best[k] = max(stay, best[k - zero]) if k >= zero else stay
        if further == top:
            best[top] = max(best[top], beyond)
        reach = further
    least = 2 * total
    for k in range(reach + 1):
        if best[k] >= 0:
            least = min(least, max(0, total - 2 * k) + max(0, total - 2 * best[k]))
    return least


KnownDependence = dict[tuple[str, tuple[int, ...]], float]

_BATCH_DEPENDENCE_CELLS: Final = 2**23
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
    def score(self, counts: Integers) -> float:
        """Score in records of one table, shape (levels, parent combinations)."""

    def queries(self) -> Sequence[tuple[int, ...]]:
        """Tables to be counted, the column's axis first."""
        place = {name: j for j, name in enumerate(self.schema.names)}
        return [tuple(place[name] for name in names) for names in self.candidates]

    def evaluate(self, tables: Sequence[ExactTable]) -> NDArray[np.float64]:
        """Score of each candidate in records, shape (candidates,)."""
        return np.array([self.score(_fold_table(table)) for table in tables], dtype=np.float64)

    def evaluate_new(self, engine: Engine, known: KnownDependence) -> NDArray[np.float64]:
        """The same, counting only what is not known yet, some tables at a time.

        Args:
            engine: the rows.
            known: values by score and table; confidential, and extended here.
        """
        queries, name = self.queries(), type(self).__name__
        new = [query for query in dict.fromkeys(queries) if (name, query) not in known]
        cells = [math.prod(self.schema.sizes[j] + 1 for j in query) for query in new]
        for batch in in_groups(new, cells, _BATCH_DEPENDENCE_CELLS):
            values = self.evaluate(engine.count(batch).expose())
            known.update({(name, q): v for q, v in zip(batch, values.tolist(), strict=True)})
        return np.array([known[name, query] for query in queries], dtype=np.float64)

    @property
    def binary(self) -> bool:
        """True if the column or its parents have at most two levels, in all candidates."""
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

    def score(self, counts: Integers) -> float:
        """Mutual information of the first records, up to the public limit."""
        return mutual_information(_first(counts, self._most_rows))

    @property
    def _most_rows(self) -> int:
        limit = self.schema.most_rows
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

    def score(self, counts: Integers) -> float:
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

    def score(self, counts: Integers) -> float:
        """Minus the distance from the nearest table of maximal mutual information."""
        # A column of one state has a second one that no record is in.
        return distance_from_dependence(np.pad(counts, ((0, 2 - len(counts)), (0, 0))))


def _fold_table(table: ExactTable) -> Integers:
    """Shape (levels, parent combinations); records out of domain are in the first cell."""
    counts = table.inside.reshape(table.inside.shape[0], -1).copy()
    counts[0, 0] += table.outside
    return counts


def _first(counts: Integers, limit: int) -> Integers:
    """The first records in the order of the cells, up to a limit."""
    if counts.sum() <= limit:
        return counts
    reached = np.minimum(np.cumsum(counts.reshape(-1)), limit)
    return np.diff(reached, prepend=0).reshape(counts.shape)


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
            last = judged["last"] = Judged(self, self._compute(engine))
        return last.values.copy()

    def _asks_what(self, other: DistanceFromProduct) -> bool:
        """Return whether another score has the same values."""
        return (
            self.candidates == other.candidates
            and self.total == other.total
            and all(map(np.array_equal, self.one_ways, other.one_ways))
        )

    def _compute(self, engine: Engine) -> NDArray[np.float64]:
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
    """The values of a score for all candidates. CONFIDENTIAL.

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
    """Count the candidates that a score has a value for.

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
