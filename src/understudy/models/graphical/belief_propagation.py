"""Calibration of a junction tree: the normalising constant and all marginals of a log-linear model.

p(x) ∝ exp(Σ θ_c(x_c)) over the allowed cells. One pass from the leaves to the root turns each
clique into a conditional distribution of its own columns given the separator and sends the
logarithm of what they sum to; one pass back multiplies by the separator's marginal. Source: Jensen,
Lauritzen & Olesen (1990), in the form with conditionals (Shafer & Shenoy's messages upwards).

Every conditional is scaled by its own largest cell and messages are sums of logarithms, so nothing
overflows, and a state of the separator keeps its conditional however unlikely it is: cells more
than e⁻³⁴⁵ below the largest one with the same separator, and separators below 1e−150, count as
zero, which also keeps denormal numbers (slow) out. A forbidden cell has exactly probability 0.

Cost: one exponential per cell of the tree, and two passes over a clique for each table in it that
lies in no other table.

Marginals of any columns of a calibrated junction tree.

Within a clique, a sum. Across cliques, along the part of the tree between them: from its far ends
towards its root, each clique's conditional distribution given its separator is multiplied by what
its children sent, and all columns are summed out but the separator and those wanted. This is exact
(Koller & Friedman 2009, §10.3.3.2). Cost: cells of these cliques times combinations of the states
of the wanted columns below them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from understudy.arrays import Floats, Integers, compiled
from understudy.functions.triangulation import Columns
from understudy.models.graphical.clique_layout import Program, TreeLayout
from understudy.models.graphical.factor_kernels import add, maximise, multiply, sum_up
from understudy.models.graphical.junction_tree import JunctionTree

FORBIDDEN = -1e300
"""Stands for the logarithm of 0: sums of it stay finite."""
_IMPOSSIBLE = -1e200
_LEAST_LOG = -345.0
_LEAST_SHARE = 1e-150

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93145751953125e-1
_LN2_LOW = 1.42860682030941723212e-6
_SHIFT = 6755399441055744.0
"""1.5·2⁵²: adding it rounds to a whole number and leaves that in the low bits."""
_CHUNK = 512


class _Work(NamedTuple):
    """What a calibration writes to; kernels that allocate nothing are compiled sooner.

    Attributes:
        masses: of the states of all separators, shape (cells of separators,).
        digits: zeros, see `factor_kernels`.
        scale: see `exponentiate`.
        bits: the same.
    """

    masses: Floats
    digits: Integers
    scale: Floats
    bits: Integers


def _work(program: Program) -> _Work:
    scale = np.empty(_CHUNK)
    return _Work(
        np.empty(program.nodes[len(program.cliques) - 1]),
        np.zeros(int(np.diff(program.links).max()), dtype=np.int64),
        scale,
        scale.view(np.int64),
    )


def calibrate(program: Program, forbidden: Integers, cliques: Floats, nodes: Floats) -> float:
    """Calibrate in place.

    Args:
        program: see `TreeLayout.program`.
        forbidden: cells of `cliques` that cannot occur.
        cliques: receives the probabilities in each clique; its content is not read.
        nodes: log-potentials of the measured tables, behind zeros for separators and aids; receives
            the probabilities in all of them.

    Returns:
        log Σ exp(Σ θ_c(x_c)) over the allowed cells; below −1e200 if there is none.
    """
    work = _work(program)
    cliques[:] = 0.0
    cliques[forbidden] = FORBIDDEN
    _collect(program, cliques, nodes, work)
    constant = float(nodes[0])
    nodes[0] = 1.0
    _distribute(program, cliques, nodes, work)
    return constant


@compiled
def _collect(program: Program, cliques: Floats, nodes: Floats, work: _Work) -> None:
    """Turn clique k into conditionals; leave the log of their masses in its separator."""
    for k in range(len(program.cliques) - 2, -1, -1):
        clique = cliques[program.cliques[k] : program.cliques[k + 1]]
        for m in range(program.first[k + 1] - 1, program.first[k] - 1, -1):
            node = program.members[m]
            host = program.hosts[node]
            large = clique if host < 0 else nodes[program.nodes[host] : program.nodes[host + 1]]
            small = nodes[program.nodes[node] : program.nodes[node + 1]]
            a, b = program.links[node], program.links[node + 1]
            add(large, small, program.extents[a:b], program.steps[a:b], work.digits)
        separator = nodes[program.nodes[k] : program.nodes[k + 1]]
        mass = work.masses[program.nodes[k] : program.nodes[k + 1]]
        link = len(program.nodes) - 1 + k
        a, b = program.links[link], program.links[link + 1]
        extents, steps = program.extents[a:b], program.steps[a:b]
        separator[:] = 2 * FORBIDDEN
        maximise(clique, separator, extents, steps, work.digits)
        for s in range(len(separator)):
            mass[s] = -separator[s] if separator[s] > _IMPOSSIBLE else 0.0
        add(clique, mass, extents, steps, work.digits)
        exponentiate(clique, work.scale, work.bits)
        mass[:] = 0.0
        sum_up(clique, mass, extents, steps, work.digits)
        for s in range(len(separator)):
            separator[s] = separator[s] + np.log(mass[s]) if mass[s] > 0 else FORBIDDEN


@compiled
def _distribute(program: Program, cliques: Floats, nodes: Floats, work: _Work) -> None:
    """Turn clique k into probabilities, and read its nodes off."""
    for k in range(len(program.cliques) - 1):
        clique = cliques[program.cliques[k] : program.cliques[k + 1]]
        separator = nodes[program.nodes[k] : program.nodes[k + 1]]
        mass = work.masses[program.nodes[k] : program.nodes[k + 1]]
        for s in range(len(separator)):
            mass[s] = separator[s] / mass[s] if separator[s] > _LEAST_SHARE and mass[s] > 0 else 0.0
        link = len(program.nodes) - 1 + k
        a, b = program.links[link], program.links[link + 1]
        multiply(clique, mass, program.extents[a:b], program.steps[a:b], work.digits)
        for m in range(program.first[k], program.first[k + 1]):
            node = program.members[m]
            host = program.hosts[node]
            large = clique if host < 0 else nodes[program.nodes[host] : program.nodes[host + 1]]
            small = nodes[program.nodes[node] : program.nodes[node + 1]]
            small[:] = 0.0
            a, b = program.links[node], program.links[node + 1]
            sum_up(large, small, program.extents[a:b], program.steps[a:b], work.digits)


@compiled
def exponentiate(numbers: Floats, scale: Floats, bits: Integers) -> None:
    """Raise e to numbers up to 0, in place; 0 where it would be below e⁻³⁴⁵.

    The library's function is called once for each number; this one is compiled to vector
    instructions. e^x = 2^k·e^r with |r| ≤ ln 2 / 2, and a Taylor polynomial of degree 13 (an error
    of 5e−18, less than rounding) for e^r. No fast-math here: it would undo the rounding.

    Args:
        numbers: shape (n,).
        scale: written to; chunks of its length are raised at once.
        bits: the same memory as whole numbers.
    """
    for start in range(0, len(numbers), len(scale)):
        x = numbers[start : start + len(scale)]
        for i in range(len(x)):
            scale[i] = (x[i] if x[i] > _LEAST_LOG else _LEAST_LOG) * _LOG2_E + _SHIFT
        for i in range(len(x)):
            k = scale[i] - _SHIFT
            r = ((x[i] if x[i] > _LEAST_LOG else _LEAST_LOG) - k * _LN2_HIGH) - k * _LN2_LOW
            x[i] = _polynomial(r) if x[i] > _LEAST_LOG else 0.0
        for i in range(len(x)):
            bits[i] = (bits[i] + 1023) << 52
        for i in range(len(x)):
            x[i] *= scale[i]


@compiled(no_cpython_wrapper=True, fastmath={"contract"})
def _polynomial(r: float) -> float:
    """Taylor's, degree 13."""
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    return p * r + 1.0


Factor = tuple[Floats, Columns]
"""A table and the columns of its axes."""


def marginal(layout: TreeLayout, probabilities: Floats, columns: Sequence[int]) -> Floats:
    """Probabilities of the combinations of states of some columns.

    Args:
        layout: the tree, and where its cliques lie.
        probabilities: of the cells of each clique.
        columns: distinct, in any order.

    Returns:
        Shape: sizes of the columns, in the order given.

    Raises:
        ValueError: columns that are not distinct columns of the table.
    """
    asked = tuple(columns)
    if len(set(asked)) < len(asked) or not set(asked) <= {*range(len(layout.tree.sizes))}:
        raise ValueError(f"a marginal has distinct columns of the table: {asked}")
    home = layout.tree.covering(asked)
    if home is not None:
        flat = probabilities[layout.clique_starts[home] : layout.clique_starts[home + 1]]
        return layout.read(flat, layout.tree.cliques[home], asked)
    return _across(layout, probabilities, asked)


def _across(layout: TreeLayout, probabilities: Floats, asked: Columns) -> Floats:
    tree = layout.tree
    sent: dict[int, list[Factor]] = {}
    between = _between(tree, asked)
    for k in reversed(between):
        columns = tree.cliques[k]
        flat = probabilities[layout.clique_starts[k] : layout.clique_starts[k + 1]]
        table = layout.read(flat, columns, columns)
        top = k == between[0]
        separator = () if top else tree.separators[k]
        if not top:
            table = conditional(table, columns, separator)
        factors = [(table, columns), *sent.pop(k, [])]
        below = {j for _, axes in factors for j in axes}
        kept = (*separator, *(j for j in asked if j in below and j not in separator))
        result = _contracted(factors, asked if top else kept)
        sent.setdefault(tree.parents[k], []).append((result, kept))
    return result


def _between(tree: JunctionTree, asked: Columns) -> list[int]:
    """Cliques on the paths between those nearest to the root that hold a wanted column."""
    tops = {next(k for k, clique in enumerate(tree.cliques) if j in clique) for j in asked}
    nodes = set(tops)
    ends = set(tops)
    while len(ends) > 1:  # parents stand before children, so the last of them is no one's ancestor
        last = max(ends)
        ends.remove(last)
        ends.add(tree.parents[last])
        nodes.add(tree.parents[last])
    return sorted(nodes)


def conditional(table: Floats, columns: Columns, separator: Columns) -> Floats:
    """A table given its separator; 0 where that has probability 0.

    Args:
        table: probabilities, an axis for each column.
        columns: of the axes.
        separator: some of them.
    """
    others = tuple(k for k, j in enumerate(columns) if j not in separator)
    given = table.sum(axis=others, keepdims=True)
    return np.asarray(np.divide(table, given, out=np.zeros_like(table), where=given > 0))


def _contracted(factors: Sequence[Factor], kept: Columns) -> Floats:
    """The product of tables, summed over all columns but some."""
    labels = {j: k for k, j in enumerate(sorted({j for _, axes in factors for j in axes}))}
    operands: list[Any] = []
    for table, axes in factors:
        operands += [table, [labels[j] for j in axes]]
    operands.append([labels[j] for j in kept])
    return np.asarray(np.einsum(*operands, optimize="greedy"))
