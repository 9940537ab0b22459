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
"""

from __future__ import annotations

import numpy as np
from numba import njit

from understudy.models.graphical.clique_layout import Program
from understudy.models.graphical.factor_kernels import add, maximise, multiply, sum_up
from understudy.models.hierarchical.node_least_squares import Floats, Integers

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
    masses = np.empty(program.nodes[len(program.cliques) - 1])
    cliques[:] = 0.0
    cliques[forbidden] = FORBIDDEN
    _collect(program, cliques, nodes, masses)
    constant = float(nodes[0])
    nodes[0] = 1.0
    _distribute(program, cliques, nodes, masses)
    return constant


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _collect(program: Program, cliques: Floats, nodes: Floats, masses: Floats) -> None:
    """Turn clique k into conditionals; leave the log of their masses in its separator."""
    for k in range(len(program.cliques) - 2, -1, -1):
        clique = cliques[program.cliques[k] : program.cliques[k + 1]]
        for m in range(program.first[k + 1] - 1, program.first[k] - 1, -1):
            node = program.members[m]
            host = program.hosts[node]
            large = clique if host < 0 else nodes[program.nodes[host] : program.nodes[host + 1]]
            small = nodes[program.nodes[node] : program.nodes[node + 1]]
            a, b = program.links[node], program.links[node + 1]
            add(large, small, program.extents[a:b], program.steps[a:b])
        separator = nodes[program.nodes[k] : program.nodes[k + 1]]
        mass = masses[program.nodes[k] : program.nodes[k + 1]]
        link = len(program.nodes) - 1 + k
        a, b = program.links[link], program.links[link + 1]
        extents, steps = program.extents[a:b], program.steps[a:b]
        separator[:] = 2 * FORBIDDEN
        maximise(clique, separator, extents, steps)
        for s in range(len(separator)):
            mass[s] = -separator[s] if separator[s] > _IMPOSSIBLE else 0.0
        add(clique, mass, extents, steps)
        exponentiate(clique)
        mass[:] = 0.0
        sum_up(clique, mass, extents, steps)
        for s in range(len(separator)):
            separator[s] = separator[s] + np.log(mass[s]) if mass[s] > 0 else FORBIDDEN


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _distribute(program: Program, cliques: Floats, nodes: Floats, masses: Floats) -> None:
    """Turn clique k into probabilities, and read its nodes off."""
    for k in range(len(program.cliques) - 1):
        clique = cliques[program.cliques[k] : program.cliques[k + 1]]
        separator = nodes[program.nodes[k] : program.nodes[k + 1]]
        mass = masses[program.nodes[k] : program.nodes[k + 1]]
        for s in range(len(separator)):
            mass[s] = separator[s] / mass[s] if separator[s] > _LEAST_SHARE and mass[s] > 0 else 0.0
        link = len(program.nodes) - 1 + k
        a, b = program.links[link], program.links[link + 1]
        multiply(clique, mass, program.extents[a:b], program.steps[a:b])
        for m in range(program.first[k], program.first[k + 1]):
            node = program.members[m]
            host = program.hosts[node]
            large = clique if host < 0 else nodes[program.nodes[host] : program.nodes[host + 1]]
            small = nodes[program.nodes[node] : program.nodes[node + 1]]
            small[:] = 0.0
            a, b = program.links[node], program.links[node + 1]
            sum_up(large, small, program.extents[a:b], program.steps[a:b])


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def exponentiate(numbers: Floats) -> None:
    """Raise e to numbers up to 0, in place; 0 where it would be below e⁻³⁴⁵.

    The library's function is called once for each number; this one is compiled to vector
    instructions. e^x = 2^k·e^r with |r| ≤ ln 2 / 2, and a Taylor polynomial of degree 13 (an error
    of 5e−18, less than rounding) for e^r. No fast-math here: it would undo the rounding.
    """
    scale = np.empty(_CHUNK)
    bits = scale.view(np.int64)
    for start in range(0, len(numbers), _CHUNK):
        x = numbers[start : start + _CHUNK]
        for i in range(len(x)):
            scale[i] = max(x[i], _LEAST_LOG) * _LOG2_E + _SHIFT
        for i in range(len(x)):
            k = scale[i] - _SHIFT
            r = (max(x[i], _LEAST_LOG) - k * _LN2_HIGH) - k * _LN2_LOW
            x[i] = _polynomial(r) if x[i] > _LEAST_LOG else 0.0
        for i in range(len(x)):
            bits[i] = (bits[i] + 1023) << 52
        for i in range(len(x)):
            x[i] *= scale[i]


@njit(cache=True, nogil=True, fastmath={"contract"})  # type: ignore[untyped-decorator]
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
