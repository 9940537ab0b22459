"""Counts of the disjoint parts of one layer: nodes of a tree of cells, or ranges of a column.

**Nodes.** The nodes of one layer are disjoint and every record that fits the schema is in exactly
one of them. So the counts of a layer, with the number of records that do not fit as one more count,
change like a contingency table: one count by 1 under add/remove, at most two counts by 1 under
replace. All nodes get noise, empty ones included; nodes without an allowed cell do not exist.

**Ranges of one column's states.** The ranges of one layer are disjoint, and every record whose
value is in domain is in exactly one of them. So their counts, with the number of records out of
domain as one more count, change like a one-way table: one count by 1 under add/remove; under
replace one falls and another rises by 1, or none changes. Each layer has L1 sensitivity 1 or 2 (L2:
1 or √2), and the costs of layers add up. All ranges get noise, empty ones included, and so do
ranges of states that cannot occur.

**As published** (`mode=paper`, Bowen, Liu & Su 2021) nodes get continuous Laplace noise for a
record that is added or removed, also where the number of rows is public, and `overspend` times the
ε that is charged: the paper divides its budget by L, and counts L + 1 layers. What that leaves
unpaid is stamped on the guarantee (`understudy.dp.perturbation.unpaid_leak`).

**The leaf layer of a hierarchy that is too large to be written out.**

Noise goes into every allowed cell of the full table, empty ones included: the leaves of a
`Partition`, each below one node of its last layer. Two things are asked of the noisy leaves Y, and
both are functions of Y (and of randomness that does not depend on the rows), so together they cost
what releasing Y would cost:

1. The sum of the noisy leaves below each node v. Y of an empty leaf is noise alone, so with K₀
   empty leaves the sum is Σ (noisy occupied leaves) + S₊ − S₋, where P ~ Binomial(K₀, q/(1+q))
   leaves are positive, S₊ = P + NegBin(P, 1−q), and −Y of the K₀ − P others is geometric from 0, so
   S₋ = NegBin(K₀ − P, 1−q).
2. Records: how many fall below each node is up to whoever asks, as long as he decides by what is
   released (the consistent counts of the inner nodes, say); below a node they fall on leaves in
   proportion to max(Y, 0), by tokens, as in `understudy.mechanisms.sparse_tables`, with
   the very P and S₊ of step 1. A node without positive leaves is uniform over its allowed cells.

P, S₊ and the noisy occupied leaves stay here between the two. The cost is that of occupied leaves,
nodes and records.

Sources: Bowen, Liu & Su (2021), METRON 79, §2.2; for the empty leaves Bowen & Liu (2020), §3.1.1.

**What divides the nodes of a tree of cells, by the exponential mechanism.**

A node that holds no record is divided like any other: the tree follows from the schema and from
paid choices alone. Scores, sensitivity and the cost of a layer, in which each record is in one node
only, stand below. The answer is the splits of the new layer; the release says which columns they
are of.

**Two groups in any order** (`apart`) are chosen by the absolute difference of their means, which
costs what a choice among ordered ones does, and which of them divides the root is a second choice,
among two. As published (`mode=paper`) that one is read off the rows, unpaid, and the guarantee says
so.

**AIC of one column within a node, the score by which STEPS divides a node (Bowen, Liu & Su 2021).**

**Score.** A node v holds n records, n_k of them in state k of a column of K public states. The
univariate log-linear model has

    log L = log n! - Σ log n_k! + Σ n_k log(n_k / n),    AIC = -2 log L + 2K,

and the column of *smallest* AIC is the best: the score is -AIC. With s(k) = log k! - k log k + k
and s(0) = 0, log L = s(n) - Σ s(n_k): the linear terms cancel, and no large numbers are left to
cancel in floating point either, as s(k) is about ½ log(2πk).

**Sensitivity.** s(k) − s(k−1) = 1 − g(k) with g(1) = 0, g(k) = (k−1) log(k/(k−1)), increasing to 1.
Adding a record of state j to the node changes AIC by

    −2[(1 − g(n+1)) − (1 − g(n_j+1))] = 2(g(n+1) − g(n_j+1)) ∈ [0, 2),

since n_j ≤ n. So under add/remove every AIC moves one way, by less than 2: the score is monotone
with Δ = 2, and exp(−ε·AIC/2) is ε-DP. **K must be the number of public states.** With the number
of *occupied* states, as in the proof of lemma 1 of the paper, a first record of a state adds 2 more
and the supremum is 4; without the multinomial coefficient it grows like 2 log n.

Under replace inside a node one record leaves and one enters, so AIC changes by less than 2 either
way: Δ = 2, no longer monotone, and exp(−ε·AIC/4) is ε-DP (eq. 5 of the paper).

**All nodes of a layer together cost ε once.** Nodes are disjoint. Under add/remove the record is in
one node. Under replace it may leave one node and enter another: all AICs of the first fall by less
than 2 and all of the second rise by less than 2. Within one node a shift of all scores one way by
less than Δ changes log P, at the rate ε/(2Δ), by less than ε/2 (with all weights moving by factors
in [1, e^{ε/2}], so does their sum). Both together: less than ε. The choices are independent given
the rows, so the layer is ε-DP. Under zCDP the same two nodes have ranges ε/2 each, and
2·(ε/2)²/8 ≤ ε²/8. An empty node has log L = 0: its AICs are 2K, and it is divided like any other.

**Groups.** All columns may instead be divided into two groups, of which one divides the root. The
score is the mean AIC of the other group less the mean AIC of that one. (The paper takes the
absolute difference and then puts the better group first; which one that is depends on the rows as
well, so here a candidate is an ordered pair.) Under add/remove both means rise by an amount in
[0, 2), so Δ = 2, not monotone; under replace both move by less than 2 either way, so Δ = 4. An
absolute difference changes by no more than the difference does: 2^(p−1) − 1 unordered pairs of
groups of p columns have the same Δ, and which of the two comes first is one more choice.

`tests/mechanisms/choices/test_tree_split.py` enumerates the neighbours.

Sources: Bowen, Liu & Su (2021), METRON 79, arXiv:1803.06763, §2.2.3 and lemma 1, with the
corrections above.

**BIC of one column within a node, another score by which STEPS may divide a node.**

**Score.** With the notation above, of the same model,

    BIC = −2 log L + K log max(n, 1),

and the column of *smallest* BIC is the best. The penalty depends on the n records of the node,
which are private, so that the sensitivity is not that of AIC. (A node of no record has BIC 0.)

**Sensitivity.** A record of state j that is added to n ≥ 1 records changes BIC by

    2(g(n+1) − g(n_j+1)) + K log((n+1)/n) ∈ [0, h(n)],    h(n) = (2n + K) log((n+1)/n),

as g(n+1) = n log((n+1)/n) and g ≥ 0; a first record changes it by 0. For K ≥ 1 h decreases: its
derivative is 2 log((n+1)/n) − (2n + K)/(n(n+1)), and log((n+1)/n), the integral of 1/t from n to
n + 1, is below the trapezoid (1/n + 1/(n+1))/2 = (2n + 1)/(2n(n+1)). So the most is
h(1) = (K + 2) log 2, which two records of different states attain. Every BIC moves one way, by at
most Δ = (K + 2) log 2 with K the most states of a column: monotone under add/remove.

A record that is replaced inside a node leaves n as it is, so that BIC changes as AIC does, by less
than 2 ≤ Δ; one that leaves a node for another (or the domain) moves the BICs of each one way by at
most Δ. So all nodes of a layer cost ε once, by the argument for AIC.

**Groups.** The difference of two mean BICs changes by at most Δ if a record is added or removed,
and by at most max(Δ, 4) if one is replaced.

`tests/mechanisms/choices/test_tree_split.py` enumerates the neighbours.

Source: Schwarz (1978), for the criterion; Bowen, Liu & Su (2021), §2.2.2, who name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.data.marginals import encode
from understudy.dp.accountant import CHOICE
from understudy.dp.admission import HowMany
from understudy.dp.budget import Neighbours, divide_cost, split
from understudy.dp.calibration import NoiseName
from understudy.dp.confidential import CodedView, PublicContext, SecretRows
from understudy.dp.distributions import (
    DiscreteLaplace,
    DiscreteNoise,
    LatticeLaplace,
    PureNoise,
)
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer, answers
from understudy.dp.perturbation import (
    EXACTLY,
    Mode,
    NoiseDistribution,
    count_noise,
    describe_noise,
    perturb,
    unpaid_leak,
)
from understudy.dp.randomness import Randomness
from understudy.dp.released import Choice, NoisyNodes, NoisyRanges, NoisyTable, Records, Released
from understudy.dp.sampling import Uniforms, negative_binomial
from understudy.errors import MethodError
from understudy.mechanisms.selection import Choosing, choice_charge
from understudy.mechanisms.sparse_tables import (
    ROUNDING,
    Tokens,
    drawn_cells,
    in_units,
    odds,
    pure_noise,
    require_tokens_fit,
)
from understudy.mechanisms.tables import MAX_CELLS, columns_of, count_charge, query_of
from understudy.schema import Partition
from understudy.schema.partitions import Split

if TYPE_CHECKING:
    from understudy.data.base import ExactCells


@dataclass(frozen=True)
class HierarchyLayers(Mechanism[tuple[Released[NoisyTable | NoisyNodes], ...], NoiseDistribution]):
    """Noisy counts of all nodes of some layers, of records that fit the schema.

    A layer is answered as a full table, if all nodes above it were divided alike; else by its
    nodes.

    Attributes:
        partition: a tree of this schema's cells.
        depths: which layers, from 1.
        noise: "geometric", "laplace" or "gaussian".
        weights: how the cost is divided among the layers; evenly if None.
        mode: "paper" for continuous Laplace noise of scale 1/ε, whatever the distribution; the
            guarantee then names the unpaid leak.
        overspend: how many times its cost the noise is worth, in paper mode; that is named, too.
    """

    name: ClassVar[str] = "noisy layer"

    partition: Partition
    depths: Sequence[int]
    noise: NoiseName
    weights: Sequence[int | Fraction] | None = None
    mode: Mode = "strict"
    overspend: Fraction = EXACTLY

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[NoiseDistribution], ...]:
        """One step for each layer.

        Raises:
            MethodError: noise that does not fit the accounting, a tree of another schema, splits
                of no tree, or layers that it does not have.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.tree_domain(self.partition)
        if not all(1 <= depth <= self.partition.depth for depth in self.depths):
            raise MethodError(f"The layers below the root are 1 to {self.partition.depth}.")
        shares = divide_cost(spend, self.weights, len(self.depths))
        terms.require(spend)
        return tuple(
            count_charge(
                terms,
                self.name,
                _query(tree, terms.schema.names),
                distribution=self._noise(terms, share),
                cells=len(tree.layers[-1]) + 1,
                spend=share,
                mode=self.mode,
            )
            for share, tree in zip(shares, self._trees, strict=True)
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[NoiseDistribution], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyTable | NoisyNodes], ...]]:
        """Count the nodes, layer by layer."""
        exact = rows.cells(rows.view.schema.names)
        layers = [
            _noisy_layer(tree, rows.view, exact, charge.parameter, source)
            for tree, charge in zip(self._trees, charges, strict=True)
        ]
        leaks = unpaid_leak(rows.view.neighbours, "threshold", self.mode, self.overspend)
        return answers(layers, leaks=leaks)

    def _noise(self, terms: PublicContext, spend: Fraction) -> NoiseDistribution:
        """The noise of one layer."""
        terms.require(spend)
        return count_noise(
            self.noise,
            spend=spend,
            accounting=terms.accounting,
            schema=terms.schema,
            mode=self.mode,
            overspend=self.overspend,
        )

    @property
    def _trees(self) -> list[Partition]:
        return [self.partition.until(depth) for depth in self.depths]


def _noisy_layer(
    tree: Partition,
    view: CodedView,
    exact: ExactCells,
    distribution: NoiseDistribution,
    source: Randomness,
) -> NoisyTable | NoisyNodes:
    nodes = tree.layers[-1]
    place = tree.locate(columns_of(exact.codes, tree.domain))
    counts = np.bincount(place, weights=exact.counts, minlength=len(nodes)).astype(np.int64)
    noisy = perturb(np.append(counts, exact.outside), distribution, source)
    counts, outside = noisy[:-1], float(noisy[-1])
    order, alike = tree.order
    names = tuple(view.schema.names[j] for j in order)
    if alike:
        table = np.zeros([tree.domain.sizes[j] for j in order], dtype=noisy.dtype)
        table[tuple(nodes.states[:, order].T)] = counts
        noise = describe_noise(distribution)
        return NoisyTable(names, table, outside, noise, view.bins_of(names))
    ones = np.ones(len(nodes), dtype=np.int64)
    return NoisyNodes(
        names, nodes.states[:, order], counts, outside, ones, bins=view.bins_of(names)
    )


def _query(tree: Partition, names: tuple[str, ...]) -> str:
    order, alike = tree.order
    return layer_query(tuple(names[j] for j in order), tree.depth, alike=alike)


def layer_query(columns: tuple[str, ...], depth: int, *, alike: bool) -> str:
    """A layer in the words of the ledger.

    Args:
        columns: columns that divide it and the layers above.
        depth: from 1.
        alike: whether all nodes of one layer are divided by the same columns.
    """
    return query_of(columns) if alike else f"counts of the nodes of layer {depth}"


@dataclass(frozen=True)
class RangeCounts(Mechanism[tuple[Released[NoisyRanges], ...], DiscreteNoise]):
    """Noisy counts of ranges of states, layer by layer, at equal cost.

    Attributes:
        column: its name.
        layers: for each layer the first states of its ranges, ascending from 0, and the end of the
            last one: at least the number of states. Beyond it there are no records.
        noise: "geometric", "laplace" or "gaussian".
    """

    name: ClassVar[str] = "noisy ranges"
    form: ClassVar[Form] = Form.RANGES

    column: str
    layers: Sequence[NDArray[np.int64]]
    noise: NoiseName

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step for each layer.

        Raises:
            MethodError: ranges that do not hold every state, or noise that does not fit.
            BudgetError: more than is left, or next to nothing.
        """
        (place,) = terms.view.places((self.column,))
        size = terms.schema.sizes[place]
        for edges in self.layers:
            if len(edges) < 2 or edges[0] != 0 or edges[-1] < size or (np.diff(edges) < 1).any():
                raise MethodError("Ranges must ascend from state 0 and hold every state.")
        shares = split(spend, [1] * len(self.layers)) if self.layers else []
        terms.require(spend)
        return tuple(
            count_charge(
                terms,
                self.name,
                range_query(self.column, len(edges) - 1),
                columns=(self.column,),
                distribution=terms.calibrate_noise(self.noise, share),
                cells=len(edges),
                spend=share,
            )
            for share, edges in zip(shares, self.layers, strict=True)
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyRanges], ...]]:
        """Count the column once, and sum it up layer by layer."""
        (exact,) = rows.tables([(self.column,)])
        bins, ranges = rows.view.bins_of((self.column,)), []
        for edges, charge in zip(self.layers, charges, strict=True):
            counts = np.append(_sums(exact.inside, edges), exact.outside)
            noisy = perturb(counts, charge.parameter, source)
            ranges.append(NoisyRanges((self.column,), edges, noisy[:-1], float(noisy[-1]), bins))
        return answers(ranges)


def range_query(column: str, n_ranges: int) -> str:
    """A layer of ranges in the words of the ledger."""
    return f"counts of {n_ranges} ranges of {column}"


def _sums(counts: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Records in each range; 0 beyond the last state."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return np.diff(ends[np.minimum(edges, len(counts))])


@dataclass(frozen=True)
class Leaves:
    """Noisy leaves, as far as they were drawn. CONFIDENTIAL.

    Attributes:
        partition: whose leaves they are.
        tokens: positive counts of the leaves below each node of its last layer.
    """

    partition: Partition
    tokens: tuple[Tokens, ...]


@dataclass(frozen=True)
class LazyLeaves(Mechanism[Released[NoisyNodes], PureNoise]):
    """Noise in every cell of the full table, never written out: its sums below each last node.

    The noisy leaves stay behind the gate for `LeafRecords`.

    Attributes:
        partition: a tree of this schema's cells.
        noise: "geometric" or "laplace".
    """

    name: ClassVar[str] = "lazy leaf layer"
    unfinished: ClassVar[bool] = True

    partition: Partition
    noise: NoiseName

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[PureNoise], ...]:
        """One step, for the leaves and the records together.

        Raises:
            MethodError: a table too large for it, or Gaussian noise.
            BudgetError: more than is left, or next to nothing.
        """
        domain = terms.view.tree_domain(self.partition)
        noise = pure_noise(terms, self.noise, spend, "Leaves that are not written out need")
        require_tokens_fit(domain, noise)
        query = query_of(terms.schema.names)
        return (
            count_charge(
                terms, self.name, query, distribution=noise, cells=domain.n_allowed + 1, spend=spend
            ),
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[PureNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyNodes]]:
        """Keep the leaves, and release their sums."""
        names = rows.view.schema.names
        leaves, sums = noisy_leaves(
            rows.cells(names), names, self.partition, charges[0].parameter, source
        )
        rows.memory(LazyLeaves)[charges[0].entry] = leaves
        sums = replace(sums, bins=rows.view.bins_of(names))
        return answer(sums, None, conditions=(ROUNDING,))


@dataclass(frozen=True)
class LeafRecords(Mechanism[Released[Records], None]):
    """Records on the leaves that `LazyLeaves` paid for; once, at no further cost.

    Attributes:
        leaves: what `LazyLeaves` gave.
        weights: of each last node, non-negative, shape (nodes,); from released values.
        n_rows: how many records.
    """

    name: ClassVar[str] = LazyLeaves.name

    leaves: Released[NoisyNodes]
    weights: NDArray[np.float64]
    n_rows: HowMany

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
        """Nothing: what is drawn was paid for."""
        return ()

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[Records]]:
        """Draw them.

        Raises:
            MethodError: leaves whose records were drawn already.
        """
        kept = rows.memory(LazyLeaves).pop(self.leaves.entry, None)
        if kept is None:
            raise MethodError("Records can be drawn once from leaves that were counted here.")
        return answer(records_below(kept, self.weights, self.n_rows, source))


def noisy_leaves(
    exact: ExactCells,
    names: tuple[str, ...],
    partition: Partition,
    distribution: DiscreteLaplace | LatticeLaplace,
    randomness: Randomness,
) -> tuple[Leaves, NoisyNodes]:
    """Perturb all leaves.

    Args:
        exact: occupied cells of the full table.
        names: of its columns.
        partition: the tree above the leaves.
        distribution: calibrated noise.
        randomness: source of every draw.

    Returns:
        The leaves, to be kept, and their sums below each node, to be released.
    """
    units, step = in_units(distribution)
    noisy = exact.counts * int(1 / step) + units.sample(len(exact.counts), randomness)
    nodes = partition.locate(columns_of(exact.codes, partition.domain))
    by_node = np.argsort(nodes, kind="stable")
    last = partition.layers[-1]
    ends = np.searchsorted(nodes[by_node], np.arange(len(last) + 1))
    uniform = Uniforms(randomness)
    tokens, sums = [], []
    for node, size in enumerate(last.sizes):
        below = by_node[ends[node] : ends[node + 1]]
        n_empty = size - len(below)
        node_tokens = Tokens.of(exact.codes[below], noisy[below], n_empty, units, uniform)
        negative = negative_binomial(n_empty - node_tokens.positive, odds(units), uniform)
        tokens.append(node_tokens)
        sums.append(int(noisy[below].sum()) + node_tokens.positive + node_tokens.extra - negative)
    positive = sum(node_tokens.positive for node_tokens in tokens) + int((noisy > 0).sum())
    mass = float(sum(node_tokens.total for node_tokens in tokens) * step)
    counts = np.array(sums, dtype=np.int64)
    order = partition.order[0]
    released = NoisyNodes(
        columns=tuple(names[j] for j in order),
        states=last.states[:, order],
        counts=counts if step == 1 else counts * float(step),
        outside=float(exact.outside + distribution.sample(1, randomness)[0]),
        summed=np.array(last.sizes, dtype=np.int64),
        below=names,
        totals={"positive_cells": positive, "positive_mass": mass},
    )
    return Leaves(partition, tuple(tokens)), released


def records_below(
    leaves: Leaves, weights: NDArray[np.float64], n_rows: int, randomness: Randomness
) -> Records:
    """Records on the leaves, in random order.

    Args:
        leaves: noisy leaves.
        weights: of each node of the last layer, non-negative, shape (nodes,); public. If all are 0,
            nodes weigh as many cells as they have.
        n_rows: how many records.
        randomness: source of every draw.
    """
    last = leaves.partition.layers[-1]
    used = weights if weights.sum() > 0 else np.array(last.sizes, dtype=np.float64)
    edges = np.cumsum(used)
    node = np.searchsorted(edges, randomness.uniforms(n_rows) * edges[-1], side="right")
    # Rounding must not carry a draw onto a node of weight 0 at the end.
    sizes = np.bincount(np.minimum(node, np.flatnonzero(used)[-1]), minlength=len(last))
    codes = [_below(leaves, int(v), int(sizes[v]), randomness) for v in np.flatnonzero(sizes)]
    drawn = np.concatenate([np.zeros(0, dtype=np.int64), *codes])
    return Records(columns_of(drawn[randomness.permutation(n_rows)], leaves.partition.domain))


def _below(leaves: Leaves, node: int, n_rows: int, randomness: Randomness) -> Integers:
    """Codes of records below one node."""
    domain, fixed = leaves.partition.domain, leaves.partition.layers[-1].states[node]
    tokens = leaves.tokens[node]
    subdomain = domain.fix_states(fixed.tolist())
    free = np.flatnonzero(fixed < 0)

    def full(columns: tuple[Integers, ...] | list[Integers], n: int) -> Integers:
        states = [np.full(n, state, dtype=np.int64) for state in np.maximum(fixed, 0)]
        for j, column in zip(free, columns, strict=True):
            states[j] = column
        return encode([column.astype(np.uint32) for column in states], domain.sizes)

    if not tokens.total:
        return full(subdomain.cells(randomness.below(subdomain.n_allowed, n_rows)), n_rows)
    if not len(free):
        return full((), n_rows)

    def fresh(n: int) -> Integers:
        occupied = columns_of(tokens.codes, domain)
        columns = [occupied[j].astype(np.uint32) for j in free]
        # Below a node the order of the codes is that of the open columns.
        codes = drawn_cells(n, subdomain, encode(columns, subdomain.sizes), randomness)
        return full(columns_of(codes, subdomain), n)

    return tokens.draw(n_rows, fresh, randomness)


SENSITIVITY = Fraction(2)
_SERIES_FROM = 64


def aic_group_sensitivity(neighbours: Neighbours) -> Fraction:
    """Largest change of the difference of two mean AICs between neighbours."""
    return SENSITIVITY if neighbours == "add_remove" else 2 * SENSITIVITY


def aic(counts: NDArray[Any]) -> Floats:
    """AIC of the univariate log-linear model.

    Args:
        counts: records in each public state, shape (..., states).

    Returns:
        Shape (...).

    Example:
        >>> float(aic(np.array([3, 1, 0])).round(6))
        7.726092
    """
    likelihood = _excess(counts.sum(axis=-1)) - _excess(counts).sum(axis=-1)
    return np.asarray(-2 * likelihood + 2 * counts.shape[-1])


def ordered_groups(columns: Sequence[int]) -> list[Split]:
    """All proper groups of columns that could divide the root, the others being left to the leaves.

    Example:
        >>> ordered_groups((0, 1, 2))
        [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    sizes = range(1, len(columns))
    return [group for size in sizes for group in combinations(columns, size)]


def unordered_groups(columns: Sequence[int]) -> list[Split]:
    """One group of each pair into which columns can be divided: the one with the first column.

    Example:
        >>> unordered_groups((0, 1, 2)), len(unordered_groups(range(5)))
        ([(0,), (0, 1), (0, 2)], 15)
    """
    return [group for group in ordered_groups(columns) if columns[0] in group]


def group_scores(scores: Floats, groups: Sequence[Split]) -> Floats:
    """Mean AIC of the columns outside each group less that of those in it, shape (groups,).

    Args:
        scores: AIC of each column, shape (columns,).
        groups: places in `scores`.
    """
    inside = np.zeros((len(groups), len(scores)))
    for row, group in zip(inside, groups, strict=True):
        row[list(group)] = 1
    size = inside.sum(axis=1)
    within = inside @ scores
    return np.asarray((scores.sum() - within) / (len(scores) - size) - within / size)


def _excess(counts: NDArray[Any]) -> Floats:
    """Log k! − k log k + k, and 0 at 0; the Stirling series where the terms would cancel."""
    k = np.asarray(counts, dtype=np.float64)
    large = np.maximum(k, _SERIES_FROM)
    series = 0.5 * np.log(2 * np.pi * large) + 1 / (12 * large) - 1 / (360 * large**3)
    small = np.minimum(k, _SERIES_FROM)
    return np.where(
        k > _SERIES_FROM,
        series,
        scipy.special.gammaln(small + 1) - scipy.special.xlogy(small, small) + small,
    )


LOG_2 = Fraction(6931471806, 10**10)
"""Rounded up."""


def sensitivity(sizes: Sequence[int]) -> Fraction:
    """Largest change between neighbours, rounded up.

    Args:
        sizes: public numbers of states of the columns.

    Example:
        >>> float(sensitivity((2, 3)))
        3.465735903
    """
    return (max(sizes) + 2) * LOG_2


def bic_group_sensitivity(sizes: Sequence[int], neighbours: Neighbours) -> Fraction:
    """Largest change of the difference of two mean BICs between neighbours."""
    of_groups = aic_group_sensitivity(neighbours)
    return max(sensitivity(sizes), of_groups) if neighbours == "replace" else sensitivity(sizes)


def words(change: Fraction) -> str:
    """A sensitivity for the ledger.

    Example:
        >>> words(sensitivity((2, 3))), words(Fraction(4))
        ('5 · log 2', '4')
    """
    times = change / LOG_2
    return f"{times} · log 2" if times.denominator == 1 else str(change)


def bic(counts: NDArray[Any]) -> Floats:
    """BIC of the univariate log-linear model.

    Args:
        counts: records in each public state, shape (..., states).

    Returns:
        Shape (...).

    Example:
        >>> float(bic(np.array([3, 1, 0])).round(6))
        5.884976
    """
    n, states = np.maximum(counts.sum(axis=-1), 1), counts.shape[-1]
    return np.asarray(aic(counts) + states * (np.log(n) - 2))


MOST_GROUPED = 15
"""Columns of which all groups are candidates: 2¹⁵ of them."""

ORDER_READ = "Which of the two groups of columns divides the root was read off the rows."

Splits = tuple[Split, ...]
Utility = Literal["aic", "bic"]


@dataclass(frozen=True)
class ColumnSplits(Mechanism[Released[Splits], Choosing]):
    """One layer more: each node is divided by the open column of smallest AIC or BIC, privately.

    Attributes:
        partition: a tree of this schema's cells; each last node leaves a column open.
        utility: "aic" or "bic".
    """

    name: ClassVar[str] = CHOICE

    partition: Partition
    utility: Utility = "aic"

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Choosing], ...]:
        """One step for all choices of the layer.

        Raises:
            MethodError: too many nodes, one that leaves no column open, or splits of no tree.
            BudgetError: more than is left, or next to nothing.
        """
        sizes = terms.view.tree_domain(self.partition).sizes
        nodes = len(self.partition.layers[-1])
        if nodes * max(sizes) > MAX_CELLS:
            raise MethodError("The tree has too many nodes to choose from; take fewer layers.")
        if not all(self.partition.open_columns(node) for node in range(nodes)):
            raise MethodError("Every column divides a node already; nothing is left to choose.")
        change = SENSITIVITY if self.utility == "aic" else sensitivity(sizes)
        charge = choice_charge(
            terms,
            choice_query(self.partition.depth + 1, utility=self.utility),
            sensitivity=change,
            monotone=True,
            cells=nodes,
            spend=spend,
            stated=words(change),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[Splits]]:
        """Choose a column for each node."""
        scores, splits = -_exact(self.partition, rows, self.utility), []
        for node, score in enumerate(scores):
            columns = list(self.partition.open_columns(node))
            splits.append((columns[charges[0].parameter.pick(score[columns], source)],))
        return _publish_splits(splits, rows.view)


@dataclass(frozen=True)
class GroupSplit(Mechanism[Released[Splits], Choosing]):
    """The first layer: a group of columns divides the root, all others are left to the leaves.

    Attributes:
        partition: a tree of one node.
        utility: "aic" or "bic".
        groups: groups to choose from; all of them if None.
        apart: choose how all columns are divided into two groups, whichever comes first; the answer
            is one of the two.
        mode: "paper" to answer with the better of two that were chosen so, unpaid.
    """

    name: ClassVar[str] = CHOICE

    partition: Partition
    utility: Utility = "aic"
    groups: Sequence[Split] | None = None
    apart: bool = False
    mode: Mode = "strict"

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Choosing], ...]:
        """One step.

        Raises:
            MethodError: more than `MOST_GROUPED` columns, or fewer than two, or more nodes; or
                groups that leave no other group.
            BudgetError: more than is left, or next to nothing.
        """
        sizes = terms.view.tree_domain(self.partition).sizes
        n_columns = len(sizes)
        if self.partition.depth:
            raise MethodError("A group of columns divides the root alone; take a tree of one node.")
        if not 2 <= n_columns <= MOST_GROUPED:
            raise MethodError(
                f"Groups can be chosen among 2 to {MOST_GROUPED} columns, and the schema has "
                f"{n_columns}; take split=columns, or declare the order."
            )
        groups = self._candidates(n_columns)
        if not groups or not set(groups) <= set(ordered_groups(range(n_columns))):
            raise MethodError("A group is of some columns in their order, and leaves others.")
        change = aic_group_sensitivity(terms.neighbours)
        if self.utility == "bic":
            change = bic_group_sensitivity(sizes, terms.neighbours)
        charge = choice_charge(
            terms,
            choice_query(1, groups=True, utility=self.utility, apart=self.apart),
            sensitivity=change,
            monotone=False,
            cells=len(groups),
            spend=spend,
            stated=words(change),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[Splits]]:
        """Choose a group for the root."""
        n_columns = len(rows.view.schema.names)
        groups = self._candidates(n_columns)
        exact = _exact(self.partition, rows, self.utility)[0]
        scores = group_scores(exact, groups)
        chosen = charges[0].parameter.pick(np.abs(scores) if self.apart else scores, source)
        group, read = groups[chosen], self.apart and self.mode == "paper"
        if read and scores[chosen] < 0:
            group = tuple(j for j in range(n_columns) if j not in group)
        return _publish_splits([group], rows.view, leaks=((ORDER_READ,) if read else ()))

    def _candidates(self, n_columns: int) -> list[Split]:
        if self.groups is not None:
            return [*self.groups]
        columns = range(n_columns)
        every = unordered_groups if self.apart else ordered_groups
        return every(columns)


def choice_query(
    layer: int, *, groups: bool = False, utility: Utility = "aic", apart: bool = False
) -> str:
    """Describe what is chosen, in the words of the ledger.

    Args:
        layer: from 1.
        groups: whether it is a group of columns.
        utility: by which score.
        apart: whether it is how all columns are divided into two groups.
    """
    what = "the columns that divide" if groups else "a column that divides each node of"
    where = "two groups of columns" if apart else f"{what} layer {layer - 1}"
    return f"{where}, by {utility.upper()}"


def _exact(partition: Partition, rows: SecretRows, utility: Utility) -> Floats:
    """Score of each column in each last node, shape (nodes, columns); 0 where it is not open."""
    score = aic if utility == "aic" else bic
    exact = rows.cells(rows.view.schema.names)
    columns = columns_of(exact.codes, partition.domain)
    place, last = partition.locate(columns), partition.layers[-1]
    scores = np.zeros(last.states.shape)
    for j, (states, size) in enumerate(zip(columns, partition.domain.sizes, strict=True)):
        cells = place * size + states
        counts = np.bincount(cells, weights=exact.counts, minlength=len(last) * size)
        scores[:, j] = score(counts.reshape(len(last), size))
    return scores


def _publish_splits(
    splits: Sequence[Split], view: CodedView, leaks: tuple[str, ...] = ()
) -> Outcome[Released[Splits]]:
    """Splits, of which the release names the columns."""
    chosen = dict.fromkeys(view.schema.names[j] for split in splits for j in split)
    return answer(tuple(splits), [Choice(tuple(chosen))], leaks=leaks)
