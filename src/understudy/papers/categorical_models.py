"""Columns of states under record weights: multinomial logits, and Dirichlet tables.

**States by a multinomial logit: few coefficients for many parents.**

    P(state k | parents) ∝ exp(β_k0 + Σ_j β_kj f_j),

with the features f of the parents (`features.design`) and β = 0 for the first state, the reference;
as the model of kinds of a number (`papers.column_models`) the reference is an ordinary number.
Priors are independent normal: intercepts N(0, w₀²), coefficients N(0, w²/parents), so that parents
share what they explain. Under record weights the posterior is exactly ∝ p(β)·∏ f(x_i | β)^α_i: it
is log-concave, always proper, and drawn by chains.

**Widths** are 2.5: about what a table with Dirichlet(½) cells says of a log-odds ratio, whose
standard deviation is 3.1 there. A parent that goes from its middle to a bound multiplies odds by at
most 150 (two standard deviations, one parent), or by 6 (eight parents); records outweigh that soon.
Where features separate the states perfectly, the prior alone keeps coefficients finite.

**Choose it** where several parents matter. It adds up what they say: a table of all of them would
be empty in most cells, and one of two of them would not know of the others. Effects of numeric and
ordinal parents are straight lines on the scale of log-odds, and there are no interactions; where
these matter and parents are few, a table says more.

**Cost**: 83 transitions of eight chains for 500 draws, three evaluations each: for 6,000 records
0.3 seconds for two states and 17 features, 1 second for seven states and 33 features. 97 % and more
of the transitions were accepted in the first case, 90 % in the second, and the 500 draws were worth
320 or more independent ones in any coefficient, and 210; in the hardest case tried, 200 records
that 66 features separate, 83 % and 100. Steps that are refused too often become shorter: with up to
20,000 records, states that never occur and one parent of 29 states 76 % or more were accepted, at a
half to twice the time.

Sources: Gelman, Jakulin, Pittau & Su (2008), Annals of Applied Statistics 2, for weakly informative
priors of logits and separation; for the chains see there.

**States by tables: multinomial in each cell of the parents, with Dirichlet priors.**

In each combination of the parents' states ("cell") the column has a state with probabilities θ of
its own, θ ~ Dirichlet(a, …, a). Under record weights the posterior is conjugate and exact:

    p(θ_cell | records) = Dirichlet(a + Σ α_i over the records of the cell in each state),

and a record contributes θ^α. Cells without records keep the prior: the table is dense, so that what
can be drawn does not tell which combinations occur. Ordinal columns are treated as categorical.

Draws are independent and exact up to rounding, some five million probabilities in a second.

Source: Gelman, Carlin, Stern, Dunson, Vehtari & Rubin (2013), Bayesian Data Analysis, §3.4.

**The target of a Bayesian multinomial logit under record weights, on arrays.**

Outcomes 0, …, m of n records with features x (an intercept first); outcome 0 is the reference:

    log P(k | x, B) = η_k - log(1 + Σ_l exp(η_l)),   η_k = x'B_k, η_0 = 0.

Priors are independent normal with mean 0 and public precisions λ. Under record weights α the log of
the target is, up to a constant,

    h(B) = Σ_k B_k's_k - Σ_i α_i·log(1 + Σ_l exp(x_i'B_l)) - ½ Σ_kj λ_j B_kj²,
    s_k = Σ_{i in outcome k} α_i·x_i,

with gradient s_k - Σ_i α_i P_ik x_i - λB_k, and -h has the positive definite matrix of second
derivatives Σ_i α_i (1[k = l]·P_ik - P_ik P_il) x_i x_i' + λ. So h is strictly concave, whatever the
rows: outcomes that features separate, or that never occur, have a proper posterior by their prior.

Several B ("chains") are evaluated at once, records block by block.

Source: Agresti (2013), Categorical Data Analysis, §8.1; the second derivatives: Böhning (1992),
Annals of the Institute of Statistical Mathematics 44.

**Draws from the posterior of a weighted multinomial logit: Hamiltonian steps around its mode.**

1. The mode by Newton's method; the height is strictly concave, and steps that would not rise are
   halved. With A the second derivatives there, A = GG', points are B = mode + G⁻ᵀz.
2. Chains begin at z ~ N(0, I), the normal approximation of Laplace, each on its own.
3. A transition draws a velocity v ~ N(0, I) and follows, for a few steps of length t,

       v += (t/2)·(∇h(z) + z);   (z, v) turned by the angle t;   v += (t/2)·(∇h(z) + z),

   and the end is taken with probability min(1, exp[h(z') - ½v'v' - h(z) + ½vv]).
4. Where many ends are refused while chains burn in, steps become shorter and more: as far in all.
   After that they stay as they are.

**The target is left exactly as it is.** The pushes change v by a function of z alone, and turning
is a rotation: both preserve volume. Run backwards from the end with velocity reversed the same
steps lead to the beginning, and t is drawn before and apart from z. So the proposal is symmetric on
(z, v), and accepting it by the ratio of exp(h(z) - ½v'v) satisfies detailed balance for that
distribution, whose margin in z is the target. Errors of the mode and of A cost acceptance, never
exactness; nor does it matter how the steps were chosen before, as each choice leaves the target as
it is.

Where the target is normal, h + ½z'z is constant, nothing pushes and all is accepted: without
records draws are exact and independent. Elsewhere only what is not normal is approximated, so that
few steps reach far, in hundreds of dimensions too.

Sources: Shahbaba, Lan, Johnson & Neal (2014), "Split Hamiltonian Monte Carlo", Statistics and
Computing 24, §3.1; Beskos, Pinski, Sanz-Serna & Stuart (2011), Stochastic Processes and their
Applications 121; Newton with halved steps: Boyd & Vandenberghe (2004), Convex Optimization, §9.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from understudy._arrays import Floats, Integers, compiled
from understudy.dp.randomness import Randomness
from understudy.errors import MethodError
from understudy.features.design import Features, outcomes_of
from understudy.features.grids import Drawn
from understudy.papers.sampling_base import Records, Theta, many_log_gammas, normals, slices
from understudy.schema import NUMERIC, Schema

LARGEST: Final = 10_000
"""Probabilities in a table, at most."""
LOGS: Final = "log_probabilities"
"""Name of the one array of θ."""


@dataclass(frozen=True)
class StateTable:
    """The model of a column's states; θ is "log_probabilities", shape (S, cells, states).

    Attributes:
        column: its name.
        size: how many states it has.
        given: the parents and how many states each has; the last one changes fastest in cells.
        concentration: a.

    Raises:
        MethodError: a table with more than `LARGEST` probabilities, or a that is not positive.

    Example:
        >>> table = StateTable("job", 4, {"sex": 2, "region": 3})
        >>> table.cells
        6
    """

    column: str
    size: int
    given: Mapping[str, int] = field(default_factory=dict)
    concentration: float = 0.5

    def __post_init__(self) -> None:
        """Check what is public."""
        if not 0 < self.concentration < math.inf:
            raise MethodError("The concentration of a table's prior is positive and finite.")
        if self.cells * self.size > LARGEST:
            raise MethodError(
                f"The table of {self.column!r} given {', '.join(map(repr, self.given))} would have "
                f"{self.cells * self.size:,} probabilities, and {LARGEST:,} is the most; give it "
                "fewer parents, or coarser states."
            )

    @classmethod
    def of(
        cls, schema: Schema, column: str, parents: tuple[str, ...], *, concentration: float = 0.5
    ) -> StateTable:
        """The table of a column of a schema.

        Raises:
            MethodError: a numeric column, which has numbers beside its states, or too large a
                table.
        """
        if isinstance(schema.columns[column], NUMERIC):
            raise MethodError(f"The column {column!r} has numbers, and a table is for states only.")
        sizes = {name: schema.columns[name].size for name in parents}
        return cls(column, schema.columns[column].size, sizes, concentration)

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents."""
        return tuple(self.given)

    @cached_property
    def cells(self) -> int:
        """Combinations of the parents' states; 1 without parents."""
        return math.prod(self.given.values())

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Independent exact draws; see `ColumnModel`."""
        at = self._places(records)
        totals = np.bincount(at, weights, minlength=self.cells * self.size)
        shapes = self.concentration + totals.reshape(self.cells, self.size)
        logs = np.empty((draws, *shapes.shape))
        for part in slices(draws, shapes.size):
            drawn = logs[part]
            drawn[:] = many_log_gammas(np.broadcast_to(shapes, drawn.shape), source)
            drawn -= scipy.special.logsumexp(drawn, axis=2, keepdims=True)
        return {LOGS: logs}

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log θ of each record's cell and state; see `ColumnModel`."""
        return self.log_contributions(draws, records, np.ones(len(records[self.column].states)))

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """α·log θ; see `ColumnModel`."""
        at = self._places(records)
        logs = draws[LOGS].reshape(len(draws[LOGS]), -1)
        for part in slices(len(logs), len(at)):
            yield _weight_logs(logs[part], at, weights)

    def draw(self, theta: Theta, drawn: Records, uniforms: Floats) -> Drawn:
        """States by inversion of the first row of uniform numbers; see `ColumnModel`."""
        ends = np.cumsum(np.exp(theta[LOGS]), axis=1)
        ends /= ends[:, -1:]
        return Drawn(_invert(ends, self._cells(drawn, uniforms.shape[1]), uniforms[0]))

    def _places(self, records: Records) -> Integers:
        """Of the records' probabilities in the table laid flat, shape (n,)."""
        states = records[self.column].states
        return self._cells(records, len(states)) * self.size + states

    def _cells(self, records: Records, n: int) -> Integers:
        cells = np.zeros(n, dtype=np.int64)
        for name, size in self.given.items():
            cells = cells * size + records[name].states
        return cells


def _weight_logs(logs: Floats, at: Integers, weights: Floats) -> Floats:
    weighted = logs[:, at]
    weighted *= weights
    return np.asarray(weighted)


@compiled
def _invert(ends: Floats, cells: Integers, uniforms: Floats) -> Integers:
    """The first state whose end lies above the uniform number, or the last (kernel)."""
    states = np.empty(len(cells), dtype=np.int64)
    last = ends.shape[1] - 1
    for i in range(len(cells)):
        state = 0
        while state < last and ends[cells[i], state] <= uniforms[i]:
            state += 1
        states[i] = state
    return states


BLOCK: Final = 1 << 16
"""Linear predictors in a block of records, about (½ MiB)."""


@dataclass(frozen=True, eq=False)
class WeightedLogit:
    """A target. CONFIDENTIAL.

    Attributes:
        design: x, shape (n, p).
        outcomes: from 0 to m, shape (n,).
        weights: α, shape (n,).
        size: m, how many outcomes there are beside the reference.
        precisions: λ of each feature, shape (p,).
    """

    design: Floats
    outcomes: Integers
    weights: Floats
    size: int
    precisions: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Of B: (m, p)."""
        return self.size, self.design.shape[1]

    def evaluate(self, points: Floats) -> tuple[Floats, Floats]:
        """Heights h and their gradients.

        Args:
            points: B of C chains, shape (C, m, p).

        Returns:
            Shapes (C,) and (C, m, p).
        """
        prior = self.precisions * points
        heights = np.sum((self._sums - 0.5 * prior) * points, axis=(1, 2))
        gradients = self._sums - prior
        flat = points.reshape(-1, self.design.shape[1])
        for part in _blocks(len(self.design), len(flat)):
            rows = self.design[part]
            shares = (rows @ flat.T).reshape(len(rows), *points.shape[:2])
            heights -= _normalise(shares, self.weights[part])
            gradients -= (shares.reshape(len(rows), -1).T @ rows).reshape(points.shape)
        return heights, gradients

    def curvature(self, point: Floats) -> Floats:
        """Second derivatives of -h.

        Args:
            point: B, shape (m, p).

        Returns:
            Shape (m·p, m·p), B laid flat.
        """
        m, p = self.shape
        matrix = np.zeros((m, p, m, p))
        for part in _blocks(len(self.design), max(m, p)):
            rows, weights = self.design[part], self.weights[part]
            shares = (rows @ point.T)[:, np.newaxis]
            _normalise(shares, np.ones(len(rows)))
            for k in range(m):
                for other in range(k, m):
                    by = shares[:, 0, k] * (float(k == other) - shares[:, 0, other]) * weights
                    matrix[k, :, other] += (rows * by[:, np.newaxis]).T @ rows
        for k in range(m):
            matrix[k, :, k] += np.diag(self.precisions)
            for other in range(k):
                matrix[k, :, other] = matrix[other, :, k].T
        return matrix.reshape(m * p, m * p)

    @cached_property
    def _sums(self) -> Floats:
        """s, shape (m, p)."""
        return np.array(
            [(self.weights * (self.outcomes == k)) @ self.design for k in range(1, self.size + 1)]
        ).reshape(self.shape)


def own_logs(points: Floats, design: Floats, outcomes: Integers) -> Floats:
    """Log probabilities of the records' own outcomes.

    Args:
        points: B of C draws, shape (C, m, p).
        design: shape (n, p).
        outcomes: from 0 to m, shape (n,).

    Returns:
        Shape (C, n).
    """
    logs = np.empty((len(points), len(design)))
    for row, point in zip(logs, points, strict=True):
        for part in _blocks(len(design), len(point)):
            predictors = (design[part] @ point.T)[:, np.newaxis]
            row[part] = _own(predictors, outcomes[part])
            row[part] -= _exponentials(predictors)[0][:, 0]
    return logs


def _blocks(records: int, width: int) -> Iterator[slice]:
    """Blocks of records with so many linear predictors each."""
    step = max(1, BLOCK // max(width, 1))
    for first in range(0, records, step):
        yield slice(first, first + step)


def _normalise(predictors: Floats, weights: Floats) -> Floats:
    """Weighted sums of log(1 + Σ exp η) over records, shape (C,).

    Args:
        predictors: η, shape (n, C, m); weighted probabilities α·P stand there in the end.
        weights: α, shape (n,).
    """
    logs, totals = _exponentials(predictors)
    _scale_terms(predictors, weights[:, np.newaxis] / totals)
    return np.asarray(weights @ logs)


def _exponentials(predictors: Floats) -> tuple[Floats, Floats]:
    """Log(1 + Σ exp η), and its sum of terms relative to the largest, shapes (n, C).

    Exponentials are taken between kernels, where numpy has them several at a time.

    Args:
        predictors: η, shape (n, C, m); terms relative to the largest stand there in the end.
    """
    tops = np.empty(predictors.shape[:2])
    _lower(predictors, tops)
    np.exp(predictors, out=predictors)
    totals = np.exp(-tops)
    _add_terms(predictors, totals)
    return tops + np.log(totals), totals


@compiled
def _lower(predictors: Floats, tops: Floats) -> None:
    """Take the largest predictor away, the reference's 0 among them, and say it (kernel)."""
    n, chains, m = predictors.shape
    for i in range(n):
        for c in range(chains):
            row = predictors[i, c]
            top = 0.0
            for k in range(m):
                top = max(top, row[k])
            for k in range(m):
                row[k] -= top
            tops[i, c] = top


@compiled
def _add_terms(terms: Floats, totals: Floats) -> None:
    """Add the terms of outcomes to totals (kernel)."""
    n, chains, m = terms.shape
    for i in range(n):
        for c in range(chains):
            row = terms[i, c]
            for k in range(m):
                totals[i, c] += row[k]


@compiled
def _scale_terms(terms: Floats, factors: Floats) -> None:
    """Multiply the terms of outcomes by a factor (kernel)."""
    n, chains, m = terms.shape
    for i in range(n):
        for c in range(chains):
            row = terms[i, c]
            for k in range(m):
                row[k] *= factors[i, c]


@compiled
def _own(predictors: Floats, outcomes: Integers) -> Floats:
    """Predictors of the records' own outcomes in one chain, shape (n,) (kernel)."""
    chosen = np.zeros(len(predictors))
    for i in range(len(predictors)):
        if outcomes[i] > 0:
            chosen[i] = predictors[i, 0, outcomes[i] - 1]
    return chosen


NEWTON: Final = 60
"""Newton steps at most."""
CLOSE: Final = 1e-10
"""Newton's method ends where a step would raise the height by less."""


@dataclass(frozen=True, kw_only=True)
class Chains:
    """Settings of chains; all public.

    Attributes:
        chains: side by side; no more than there are draws.
        burn_in: transitions of each that are left out.
        thin: transitions from one draw to the next.
        steps: of a transition, at first.
        shortest: t is uniform between this and `longest`, at first.
        longest: the other end.
        wanted: share of chains in a transition of the burn-in that must accept it, or steps become
            shorter.
        most_steps: of a transition.
    """

    chains: int = 8
    burn_in: int = 20
    thin: int = 1
    steps: int = 3
    shortest: float = 0.3
    longest: float = 0.7
    wanted: float = 0.6
    most_steps: int = 16

    def slower(self) -> Chains:
        """With a step more, and shorter ones."""
        if self.steps >= self.most_steps:
            return self
        part = self.steps / (self.steps + 1)
        shortest, longest = self.shortest * part, self.longest * part
        return replace(self, steps=self.steps + 1, shortest=shortest, longest=longest)

    def transitions(self, draws: int) -> int:
        """Of each chain, for so many draws of all."""
        return self.burn_in + self.thin * (-(-draws // self.side_by_side(draws)) - 1) + 1

    def evaluations(self, draws: int) -> int:
        """Of the target at one point, in all chains, if steps stay as they are."""
        return self.steps * self.side_by_side(draws) * self.transitions(draws)

    def side_by_side(self, draws: int) -> int:
        """Choose how many chains there are for so many draws."""
        return min(self.chains, draws)


class LogitDraws(NamedTuple):
    """Draws of chains. CONFIDENTIAL.

    Attributes:
        points: B, shape (S, m, p); draws of one chain stand a number of chains apart.
        acceptance: share of transitions after the burn-in that were accepted, in all chains.
        steps: of a transition, in the end.
    """

    points: Floats
    acceptance: float
    steps: int


def logit_draws(
    target: WeightedLogit, source: Randomness, *, draws: int, how: Chains | None = None
) -> LogitDraws:
    """Draws from a target.

    Args:
        target: the posterior.
        source: where the randomness comes from.
        draws: S ≥ 1.
        how: chains run.
    """
    how = Chains() if how is None else how
    space = _Space.around(target)
    count, length = how.side_by_side(draws), how.transitions(draws)
    rounds = -(-draws // count)
    state = space.evaluate(normals((count, target.size * target.design.shape[1]), source))
    kept = np.empty((rounds, *state.places.shape))
    for _ in range(how.burn_in):
        state, share = _move_chains(space, state, how, source)
        how = how if share >= how.wanted else how.slower()
    shares = np.empty(length - how.burn_in)
    for turn in range(len(shares)):
        state, shares[turn] = _move_chains(space, state, how, source)
        if turn % how.thin == 0:
            kept[turn // how.thin] = state.places
    points = space.points(kept.reshape(rounds * count, -1)[:draws])
    return LogitDraws(points, float(shares.mean()), how.steps)


class _State(NamedTuple):
    """Where chains are: z, h(z), and ∇h(z) + z, shapes (C, d), (C,) and (C, d)."""

    places: Floats
    heights: Floats
    pushes: Floats


@dataclass(frozen=True, eq=False)
class _Space:
    """Coordinates in which a target is nearly standard normal.

    Attributes:
        target: the posterior.
        mode: laid flat, shape (d,).
        root: G⁻ᵀ, shape (d, d).
    """

    target: WeightedLogit
    mode: Floats
    root: Floats

    @classmethod
    def around(cls, target: WeightedLogit) -> _Space:
        """Around the mode of a target."""
        mode = mode_of(target)
        factor = np.linalg.cholesky(target.curvature(mode))
        return cls(target, mode.ravel(), np.linalg.inv(factor).T)

    def points(self, places: Floats) -> Floats:
        """B of places z, shape (C, m, p)."""
        return (self.mode + places @ self.root.T).reshape(len(places), *self.target.shape)

    def evaluate(self, places: Floats) -> _State:
        """Heights and pushes."""
        heights, gradients = self.target.evaluate(self.points(places))
        return _State(places, heights, gradients.reshape(places.shape) @ self.root + places)


def mode_of(target: WeightedLogit) -> Floats:
    """Find where a target is highest, shape (m, p), by Newton's method."""
    point = np.zeros(target.shape)
    (height,), (gradient,) = target.evaluate(point[np.newaxis])
    for _ in range(NEWTON):
        step = np.linalg.solve(target.curvature(point), gradient.ravel()).reshape(point.shape)
        rise = float(np.sum(step * gradient))
        size = 1.0
        while rise > CLOSE and size > CLOSE:
            (new,), (slope,) = target.evaluate((point + size * step)[np.newaxis])
            if new > height + 0.1 * size * rise:
                point, height, gradient = point + size * step, new, slope
                break
            size /= 2.0
        else:
            break
    return point


def _move_chains(
    space: _Space, state: _State, how: Chains, source: Randomness
) -> tuple[_State, float]:
    """A transition of all chains, and the share that accepted it."""
    chains = len(state.places)
    v = normals(state.places.shape, source)
    uniforms = source.uniforms(2 * chains).reshape(2, chains)
    times = (how.shortest + (how.longest - how.shortest) * uniforms[0])[:, np.newaxis]
    before = state.heights - 0.5 * np.sum(v * v, axis=1)
    new = state
    for _ in range(how.steps):
        v = v + 0.5 * times * new.pushes
        places = np.cos(times) * new.places + np.sin(times) * v
        v = np.cos(times) * v - np.sin(times) * new.places
        new = space.evaluate(places)
        v = v + 0.5 * times * new.pushes
    after = new.heights - 0.5 * np.sum(v * v, axis=1)
    taken = np.log(uniforms[1]) < after - before
    accepted = taken[:, np.newaxis]
    chosen = _State(
        np.where(accepted, new.places, state.places),
        np.where(taken, new.heights, state.heights),
        np.where(accepted, new.pushes, state.pushes),
    )
    return chosen, float(np.mean(taken))


MOST: Final = 300
"""Coefficients of a logit, at most."""
COEFFICIENTS: Final = "coefficients"
"""Name of the one array of θ."""


@dataclass(frozen=True)
class StateLogit:
    """The model of states; θ is "coefficients", shape (S, states - 1, 1 + features).

    Attributes:
        column: its name.
        size: how many states, or kinds, it has.
        features: of the parents.
        intercept: w₀.
        slope: w, of the parents together.
        chains: how θ is drawn.

    Raises:
        MethodError: more than `MOST` coefficients, or widths that are not positive.

    Example:
        >>> schema = Schema.loads('''
        ... [columns.sex]
        ... kind = "categorical"
        ... levels = ["f", "m"]
        ... [columns.job]
        ... kind = "categorical"
        ... levels = ["none", "part", "full"]
        ... ''')
        >>> StateLogit.of(schema, "job", ("sex",)).coefficients
        4
    """

    column: str
    size: int
    features: Features
    intercept: float = 2.5
    slope: float = 2.5
    chains: Chains = field(default_factory=Chains)

    def __post_init__(self) -> None:
        """Check what is public."""
        if not all(0 < width < math.inf for width in (self.intercept, self.slope)):
            raise MethodError("The widths of a logit's prior are positive and finite.")
        if self.coefficients > MOST:
            raise MethodError(
                f"The logit of {self.column!r} given {', '.join(map(repr, self.parents))} would "
                f"have {self.coefficients:,} coefficients, and {MOST:,} is the most; give it fewer "
                "parents, coarser states, or take a table (states=table)."
            )

    @classmethod
    def of(cls, schema: Schema, column: str, parents: tuple[str, ...]) -> StateLogit:
        """The logit of a column of a schema.

        Raises:
            MethodError: a numeric column, which has numbers beside its states, or too many
                coefficients.
        """
        if isinstance(schema.columns[column], NUMERIC):
            raise MethodError(f"The column {column!r} has numbers, and a logit is for states only.")
        return cls(column, schema.columns[column].size, Features.of(schema, parents))

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents."""
        return self.features.parents

    @cached_property
    def coefficients(self) -> int:
        """Number of coefficients, intercepts among them."""
        return (self.size - 1) * (1 + len(self.features.names))

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws of chains that leave the posterior as it is; see `ColumnModel`."""
        states = records[self.column].states
        design = self.features.matrix(records, len(states))
        target = WeightedLogit(design, states, weights, self.size - 1, self._precisions)
        with threadpool_limits(limits=1, user_api="blas"):
            sampled = logit_draws(target, source, draws=draws, how=self.chains)
        return {COEFFICIENTS: sampled.points}

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log P of each record's state; see `ColumnModel`."""
        return self.log_contributions(draws, records, np.ones(len(records[self.column].states)))

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """α·log P; see `ColumnModel`."""
        states, points = records[self.column].states, draws[COEFFICIENTS]
        design = self.features.matrix(records, len(states))
        for part in slices(len(points), len(states)):
            logs = own_logs(points[part], design, states)
            logs *= weights
            yield logs

    def draw(self, theta: Theta, drawn: Records, uniforms: Floats) -> Drawn:
        """States by inversion of the first row of uniform numbers; see `ColumnModel`."""
        linear = self.features.linear(theta[COEFFICIENTS])
        parents = self.features.gather(drawn, uniforms.shape[1])
        return Drawn(outcomes_of(linear, parents, uniforms[0]))

    @cached_property
    def _precisions(self) -> Floats:
        """Of the prior, for the intercept and each feature."""
        slope = self.slope / math.sqrt(max(len(self.parents), 1))
        return np.array([self.intercept**-2.0, *[slope**-2.0] * len(self.features.names)])
