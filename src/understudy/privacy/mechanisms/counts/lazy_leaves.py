"""The leaf layer of a hierarchy that is too large to be written out.

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
   proportion to max(Y, 0), by tokens, as in `understudy.privacy.mechanisms.counts.lazy_table`, with
   the very P and S₊ of step 1. A node without positive leaves is uniform over its allowed cells.

P, S₊ and the noisy occupied leaves stay here between the two. The cost is that of occupied leaves,
nodes and records.

Sources: Bowen, Liu & Su (2021), METRON 79, §2.2; for the empty leaves Bowen & Liu (2020), §3.1.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.domain.cell_tree import Partition
from understudy.engine import ExactCells
from understudy.engine.occupied_cells import encode
from understudy.errors import MethodError
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.counts.lazy_table import Tokens, odds, require_tokens_fit
from understudy.privacy.mechanisms.counts.noisy_table import count_charge, query_of
from understudy.privacy.mechanisms.counts.threshold_table import (
    ROUNDING,
    columns_of,
    drawn_cells,
    in_units,
)
from understudy.privacy.noise.calibration import NoiseName
from understudy.privacy.noise.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    LatticeLaplace,
    PureNoise,
)
from understudy.privacy.noise.large_counts import Uniforms, negative_binomial
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyNodes, Records, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms

Integers = NDArray[np.int64]


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

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[PureNoise], ...]:
        """One step, for the leaves and the records together.

        Raises:
            MethodError: a table too large for it, or Gaussian noise.
            BudgetError: more than is left, or next to nothing.
        """
        domain = terms.view.tree_domain(self.partition)
        noise = terms.calibrated(self.noise, spend)
        if isinstance(noise, DiscreteGaussian):
            raise MethodError("Leaves that are not written out need geometric or laplace noise.")
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

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
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
    subdomain = domain.fixed(fixed.tolist())
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
