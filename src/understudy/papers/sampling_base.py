"""Bayesian synthesizers: models of columns, posteriors under record weights, and draws.

A column model says how a column is distributed given columns before it, with parameters θ that have
a proper prior. It is a frozen configuration of public numbers; rows are handed to it by a verb of
the gate, and what it makes of them is CONFIDENTIAL until that verb lets it out.

Under weights α_i in [0, 1] a record has the power α_i in the likelihood:

    p(θ) · ∏_i c_i(θ),   c_i = f(x_i | θ)^α_i,

or another c_i that is f at α = 1 and 1 at α = 0, which the model then states (a mixture's sampler).

The model of a number is made of a regression of responses z on the rows of a design X. That one
knows arrays alone: the model of the column (`papers.column_models`) makes z and X of records, and
cuts what is large.

**Normal, gamma and Wishart variables made of uniforms, and the regression that they alone draw.**

**Variables** are what the steps of a Gibbs sampler draw. They go by inversion, or by rejection, of
words of the boundary's own source. They are rounded real numbers; who needs an exact distribution
finds one in `understudy.dp.distributions`.

**Normal linear regression with a conjugate prior**: exact posterior draws under record weights.
z ~ N(x'β, σ²). Prior: σ² ~ InverseGamma(ν/2, ν·s²/2), restricted to σ above a public floor, and β
given σ² ~ N(0, σ²·A²·I). A record of weight α contributes N(z | x'β, σ²)^α. With W = Σ α_i,
P = I/A² + Σ α_i·x_i·x_i' and m = P⁻¹·Σ α_i·x_i·z_i, completing the square in β gives

    -½[Σ α_i(z_i - x_i'β)² + β'β/A²] = -½[(β - m)'P(β - m) + Σ α_i(z_i - x_i'm)² + m'm/A²],

and so, (σ²)^(-W/2) coming from the powers of the densities,

    σ² ~ InverseGamma((ν + W)/2, [ν·s² + Σ α_i(z_i - x_i'm)² + m'm/A²]/2), above the floor,
    β given σ² ~ N(m, σ²·P⁻¹).

Draws are independent and exact up to rounding: no chain, and nothing to wait for. The floor bounds
the density of a response by 1/(floor·√(2π)), as in `papers.mixture_gibbs`. Choose it where numbers
follow one line with one spread on the scale of the response; choose a mixture otherwise.

Sources: Bartlett (1933), Proceedings of the Royal Society of Edinburgh 53, for the Wishart
distribution; Marsaglia & Tsang (2000), ACM Transactions on Mathematical Software 26, for gamma by
rejection; Gelman, Carlin, Stern, Dunson, Vehtari & Rubin (2013), Bayesian Data Analysis, §14.

**A design whose rows share their halves, so that sums over records are sums over few patterns.**

Predictors that are states of a few columns make many different rows, but few different first
halves and few different second halves. Both are kept once. Then x'β costs one addition a record,
and Σ_i w_i x_i x_i' one product of a weight and a half row: with halves a_g and b_h of the records'
patterns g(i) and h(i), and W_g = Σ w_i over the records of g,

    Σ w aa' = Σ_g W_g a_g a_g',   Σ w bb' = Σ_h W_h b_h b_h',   Σ w ba' = Σ_g T_g a_g',

T_g = Σ w_i b_{h(i)} over the records of g. Where no two records are alike, as with measured
numbers, the sums are as right, and as slow as without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import scipy

from understudy._arrays import Floats, Integers, compiled
from understudy.dp.randomness import Randomness
from understudy.errors import MethodError
from understudy.features.grids import Drawn, normal_quantiles

Records = Mapping[str, Drawn]
"""Column → its values in n records; the same n records in all."""
Theta = Mapping[str, Floats]
"""Parameters of a column model: name → array. Arrays of S draws have a leading axis (S,)."""

CHUNK: Final = 1 << 21
"""Numbers in a chunk of a matrix of draws by records, at most (16 MiB); never less than a draw."""


class ColumnModel(Protocol):
    """The model of one column given others, with a prior."""

    @property
    def column(self) -> str:
        """Name of the column."""
        ...

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the columns that it is given."""
        ...

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws of θ from the posterior under record weights. CONFIDENTIAL.

        Args:
            records: the column and its parents, n ≥ 0 records.
            weights: α, shape (n,).
            source: where the randomness comes from.
            draws: S ≥ 1.

        Returns:
            Arrays with a leading axis (S,).
        """
        ...

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log f(x_i | parents, θ_s). CONFIDENTIAL.

        Returns:
            Chunks of shape (draws in it, n), cut by `slices`, together (S, n).
        """
        ...

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """Log c_i(θ_s): what a record of weight α_i adds to the log of the target. CONFIDENTIAL.

        Returns:
            Chunks as those of `log_likelihoods`; 0 at α = 0, log f at α = 1.
        """
        ...

    def draw(self, theta: Theta, drawn: Records, uniforms: Floats) -> Drawn:
        """New values of the column, a function of its arguments alone.

        Args:
            theta: one draw, without leading axis.
            drawn: records of the parents at least, n each.
            uniforms: in (0, 1), shape (3, n): for the state or its kind, for the component of a
                mixture, and for the number.
        """
        ...


def slices(draws: int, records: int, *, chunk: int = CHUNK) -> Iterator[slice]:
    """Cut a matrix of S draws by n records into slices, alike in all models.

    Example:
        >>> list(slices(5, 10, chunk=20))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, chunk // max(records, 1))
    for first in range(0, draws, step):
        yield slice(first, min(first + step, draws))


class Regression(Protocol):
    """A regression with a proper prior. Of n records; p is the number of columns of X."""

    def draws(
        self, responses: Floats, design: Floats, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws from the posterior under record weights. CONFIDENTIAL.

        Args:
            responses: z, shape (n,).
            design: X, its first column 1, shape (n, p).
            weights: α in [0, 1], shape (n,).
            source: where the randomness comes from.
            draws: S ≥ 1.

        Returns:
            Arrays with a leading axis (S,).
        """
        ...

    def log_likelihoods(self, draws: Theta, responses: Floats, design: Floats) -> Floats:
        """Log f(z_i | x_i, θ_s), shape (S, n). CONFIDENTIAL."""
        ...

    def log_contributions(
        self, draws: Theta, responses: Floats, design: Floats, weights: Floats
    ) -> Floats:
        """Log c_i(θ_s): 0 at α = 0 and log f at α = 1, shape (S, n). CONFIDENTIAL."""
        ...

    def numbers(self, theta: Theta, design: Floats, uniforms: Floats) -> Floats:
        """New responses, a function of the arguments alone.

        Args:
            theta: one draw, without leading axis.
            design: X of the new records.
            uniforms: in (0, 1), shape (2, n): for the component and for the number.
        """
        ...

    def labels(self, theta: Theta, responses: Floats, design: Floats, uniforms: Floats) -> Integers:
        """Components of records given their own responses. CONFIDENTIAL.

        Args:
            theta: one draw.
            responses: z, shape (n,).
            design: X, shape (n, p).
            uniforms: in (0, 1), shape (n,).
        """
        ...

    def draw_given_labels(
        self, theta: Theta, design: Floats, labels: Integers, uniforms: Floats
    ) -> Floats:
        """New responses from given components. CONFIDENTIAL if the labels are.

        Args:
            theta: one draw.
            design: X of the new records.
            labels: a component each; -1 has one drawn by its probability.
            uniforms: as in `numbers`.
        """
        ...


TINY: Final = 1e-300
"""Stands for what is not positive, where it is refused; its logarithm is far below any height."""
RARE: Final = 1e-10
"""Below this mass the far tail is drawn by rejection, as inversion would lose its digits."""


def normals(shape: tuple[int, ...], source: Randomness) -> Floats:
    """Independent standard normal numbers, of the shape asked for."""
    return np.asarray(scipy.special.ndtri(source.uniforms(int(np.prod(shape)))).reshape(shape))


def log_gammas(shapes: Floats, source: Randomness) -> Floats:
    """Logarithms of independent gamma variables of rate 1.

    If G has shape s + 1 and U is uniform, G·U^(1/s) has shape s. Its logarithm stays finite where
    the variable itself is far below the smallest number, as under a sparse Dirichlet distribution.

    Args:
        shapes: s > 0, any shape of array, which the answer has too.
        source: where the randomness comes from.
    """
    uniforms = source.uniforms(2 * shapes.size).reshape(2, *shapes.shape)
    logs = (
        np.log(scipy.special.gammaincinv(shapes + 1.0, uniforms[0])) + np.log(uniforms[1]) / shapes
    )
    return np.asarray(logs)


def many_log_gammas(shapes: Floats, source: Randomness) -> Floats:
    """`log_gammas` by rejection, some ten times as fast for thousands of variables.

    For a shape s + 1, d = s + ⅔ and c = 1/√(9d), a normal number x is kept with probability
    exp(x²/2 + d - dv + d·log v), v = (1 + cx)³ > 0; then d·v has that distribution, and more than
    95 in 100 are kept (Marsaglia & Tsang 2000). What is left of small shapes goes as in
    `log_gammas`.

    Args:
        shapes: s > 0, any shape of array, which the answer has too.
        source: where the randomness comes from.
    """
    flat = shapes.ravel()
    logs = np.empty(flat.size)
    left = np.arange(flat.size)
    while left.size:
        d = flat[left] + 2.0 / 3.0
        x = normals((left.size,), source)
        stretch = np.maximum(1.0 + x / (3.0 * np.sqrt(d)), TINY)
        height = 0.5 * x * x + d * (1.0 - stretch**3 + 3.0 * np.log(stretch))
        kept = np.log(source.uniforms(left.size)) < height
        logs[left[kept]] = (np.log(d) + 3.0 * np.log(stretch))[kept]
        left = left[~kept]
    return np.asarray((logs + np.log(source.uniforms(flat.size)) / flat).reshape(shapes.shape))


def gammas(shapes: Floats, source: Randomness) -> Floats:
    """Independent gamma variables of rate 1; shapes as in `log_gammas`, not much below ½."""
    return np.asarray(np.exp(log_gammas(shapes, source)))


def gammas_below(shapes: Floats, ceilings: Floats, source: Randomness) -> Floats:
    """Independent gamma variables of rate 1, each given that it is at most its ceiling.

    By inversion on [0, P(G ≤ c)]. Where that mass is below `RARE`, c lies far below the shape s.
    There, with G = c·e^(-t), t has a density ∝ exp(-st - c·e^(-t)) ≤ exp(-c)·exp(-(s - c)t), as
    e^(-t) ≥ 1 - t: an exponential variable of rate s - c is kept with probability
    exp(-c(e^(-t) - 1 + t)), which is near 1.

    Args:
        shapes: s ≥ ½.
        ceilings: c > 0, of the same shape of array; infinity is none.
        source: where the randomness comes from.
    """
    mass = np.asarray(scipy.special.gammainc(shapes, ceilings))
    drawn = scipy.special.gammaincinv(
        shapes, source.uniforms(shapes.size).reshape(shapes.shape) * mass
    )
    drawn = np.asarray(drawn)
    rare = mass < RARE
    if rare.any():
        drawn[rare] = _far_below(shapes[rare], ceilings[rare], source)
    return np.asarray(np.minimum(drawn, ceilings))


def _far_below(shapes: Floats, ceilings: Floats, source: Randomness) -> Floats:
    drawn = np.empty(len(shapes))
    left = np.arange(len(shapes))
    while left.size:
        uniforms = source.uniforms(2 * left.size).reshape(2, left.size)
        c = ceilings[left]
        t = -np.log(uniforms[0]) / (shapes[left] - c)
        drawn[left] = c * np.exp(-t)
        left = left[np.log(uniforms[1]) >= -c * (np.expm1(-t) + t)]
    return drawn


def wisharts(df: float, inverse_scales: Floats, source: Randomness) -> Floats:
    """Independent Wishart matrices, of mean df·S⁻¹.

    With S = LL' (Cholesky) and A lower triangular, standard normal below the diagonal and
    A_jj² ~ χ² of df - j degrees, j = 0, 1, …, the matrix L⁻ᵀ·AA'·L⁻¹ has that distribution
    (Bartlett).

    Args:
        df: above p - 1.
        inverse_scales: S, shape (..., p, p).
        source: where the randomness comes from.

    Returns:
        Shape (..., p, p).
    """
    *lead, p, _ = inverse_scales.shape
    halves = np.broadcast_to((df - np.arange(p)) / 2.0, (*lead, p))
    factor = np.tril(normals((*lead, p, p), source), -1)
    factor[..., np.arange(p), np.arange(p)] = np.sqrt(2.0 * gammas(halves, source))
    lower = np.linalg.cholesky(inverse_scales)
    root = np.linalg.solve(np.swapaxes(lower, -1, -2), factor)
    return np.asarray(root @ np.swapaxes(root, -1, -2))


@dataclass(frozen=True, kw_only=True)
class NormalLinear:
    """The regression with its prior; θ is "coefficients" and "variances".

    Attributes:
        coefficient_scale: A, prior standard deviation of a coefficient, in σ.
        noise_scale: s.
        noise_df: ν.
        noise_floor: smallest σ; 0 is none.

    Raises:
        MethodError: a number out of range.
    """

    coefficient_scale: float = 5.0
    noise_scale: float = 1.0
    noise_df: float = 3.0
    noise_floor: float = 0.01

    def __post_init__(self) -> None:
        """Check what is public."""
        positive = self.coefficient_scale, self.noise_scale, self.noise_df
        if not all(0 < number < math.inf for number in positive) or self.noise_df < 1:
            raise MethodError("Scales of a regression's prior are positive, and its df at least 1.")
        if not 0 <= self.noise_floor < math.inf:
            raise MethodError("The floor of a regression's σ must not be negative.")

    def draws(
        self, responses: Floats, design: Floats, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Shapes (S, p) and (S,); see `Regression`."""
        p = design.shape[1]
        weighted = design * weights[:, np.newaxis]
        precision = design.T @ weighted + np.eye(p) / self.coefficient_scale**2
        mean = np.linalg.solve(precision, weighted.T @ responses)
        misfit = float(weights @ (responses - design @ mean) ** 2)
        misfit += float(mean @ mean) / self.coefficient_scale**2
        variances = self._variances(float(weights.sum()), misfit, source, draws)
        z = normals((p, draws), source)
        moved = np.linalg.solve(np.linalg.cholesky(precision).T, z).T
        beta = mean + np.sqrt(variances)[:, np.newaxis] * moved
        return {"coefficients": np.asarray(beta), "variances": variances}

    def _variances(self, weight: float, misfit: float, source: Randomness, draws: int) -> Floats:
        """σ², shape (draws,)."""
        rate = (self.noise_df * self.noise_scale**2 + misfit) / 2.0
        floor = self.noise_floor**2
        ceilings = np.full(draws, rate / floor if floor > 0 else np.inf)
        shapes = np.full(draws, (self.noise_df + weight) / 2.0)
        return np.maximum(rate / gammas_below(shapes, ceilings, source), floor)

    def log_likelihoods(self, draws: Theta, responses: Floats, design: Floats) -> Floats:
        """Shape (S, n); see `Regression`."""
        variances = draws["variances"][:, np.newaxis]
        distances = responses - draws["coefficients"] @ design.T
        distances *= distances
        distances *= -0.5 / variances
        distances -= 0.5 * np.log(2.0 * math.pi * variances)
        return np.asarray(distances)

    def log_contributions(
        self, draws: Theta, responses: Floats, design: Floats, weights: Floats
    ) -> Floats:
        """Shape (S, n); see `Regression`."""
        return self.log_likelihoods(draws, responses, design) * weights

    def numbers(self, theta: Theta, design: Floats, uniforms: Floats) -> Floats:
        """Shape (n,); see `Regression`. The first row of uniform numbers is left aside."""
        spread = np.sqrt(theta["variances"]) * normal_quantiles(uniforms[1])
        return np.asarray(design @ theta["coefficients"] + spread)

    def labels(self, theta: Theta, responses: Floats, design: Floats, uniforms: Floats) -> Integers:
        """Zeros: there is one component."""
        return np.zeros(len(responses), dtype=np.int64)

    def draw_given_labels(
        self, theta: Theta, design: Floats, labels: Integers, uniforms: Floats
    ) -> Floats:
        """As `numbers`."""
        return self.numbers(theta, design, uniforms)


_Half = tuple[Integers, Floats]
"""Pattern of each record, shape (n,), and the patterns, shape (patterns, columns)."""


@dataclass(frozen=True, eq=False)
class GroupedDesign:
    """Rows by the patterns of their halves.

    Attributes:
        first: of the first columns.
        second: of the others.

    Example:
        >>> x = np.array([[1.0, 0.0, 2.0], [1.0, 1.0, 2.0], [1.0, 0.0, 3.0]])
        >>> grouped = GroupedDesign.of(x)
        >>> grouped.predict(np.array([1.0, 10.0, 100.0])).tolist()
        [201.0, 211.0, 301.0]
        >>> lower, right = grouped.sums(np.array([1.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.0]))
        >>> lower.tolist(), right.tolist()
        ([[4.0, 0.0, 0.0], [1.0, 1.0, 0.0], [10.0, 2.0, 26.0]], [1.0, 0.0, 2.0])
    """

    first: _Half
    second: _Half

    @classmethod
    def of(cls, design: Floats) -> GroupedDesign:
        """Group the rows of a design of shape (n, p), cut where both halves have like many."""
        first, second = _runs(design), _runs(design[:, ::-1])
        p = design.shape[1]
        cut = next((k for k in range(p) if _count(first[k]) > _count(second[p - k])), p)
        cut = max(cut - 1, 0)
        return cls(_half(design[:, :cut], first[cut]), _half(design[:, cut:], second[p - cut]))

    def predict(self, coefficients: Floats) -> Floats:
        """x'β, shape (n,)."""
        (a, of_a), (b, of_b) = self.first, self.second
        cut = of_a.shape[1]
        sums = (of_a @ coefficients[:cut])[a]
        sums += (of_b @ coefficients[cut:])[b]
        return np.asarray(sums)

    def sums(self, squares: Floats, products: Floats) -> tuple[Floats, Floats]:
        """Σ v xx', of which only the lower part is right, and Σ w x.

        Args:
            squares: v, shape (n,).
            products: w, shape (n,).

        Returns:
            Shapes (p, p) and (p,).
        """
        (a, of_a), (b, of_b) = self.first, self.second
        matrix: Floats = _squares((a, b), (of_a, of_b), squares)
        of_first = np.bincount(a, products, minlength=len(of_a)) @ of_a
        of_second = np.bincount(b, products, minlength=len(of_b)) @ of_b
        return matrix, np.concatenate([of_first, of_second])


def _runs(design: Floats) -> list[Integers]:
    """The pattern of each record in the first 0, 1, …, p columns; p + 1 arrays of shape (n,)."""
    runs = [np.zeros(len(design), dtype=np.int64)]
    for column in design.T:
        values, places = np.unique(column, return_inverse=True)
        _, patterns = np.unique(runs[-1] * len(values) + places, return_inverse=True)
        runs.append(patterns.astype(np.int64))
    return runs


def _count(patterns: Integers) -> int:
    return int(patterns.max(initial=-1)) + 1


def _half(part: Floats, patterns: Integers) -> _Half:
    of = np.empty((_count(patterns), part.shape[1]))
    of[patterns] = part
    return patterns, of


@compiled
def _squares(
    places: tuple[Integers, Integers], patterns: tuple[Floats, Floats], weights: Floats
) -> Floats:
    """Σ v xx' in its lower part, shape (p, p) (kernel)."""
    (a, b), (of_a, of_b) = places, patterns
    cut, rest = of_a.shape[1], of_b.shape[1]
    in_a, in_b = np.zeros(len(of_a)), np.zeros(len(of_b))
    across = np.zeros((len(of_a), rest))
    for i in range(weights.size):
        g, h, weight = a[i], b[i], weights[i]
        in_a[g] += weight
        in_b[h] += weight
        for j in range(rest):
            across[g, j] += weight * of_b[h, j]
    matrix = np.zeros((cut + rest, cut + rest))
    _add_squares(in_a, of_a, matrix[:cut, :cut])
    _add_squares(in_b, of_b, matrix[cut:, cut:])
    for g in range(len(of_a)):
        for j in range(rest):
            part = across[g, j]
            for m in range(cut):
                matrix[cut + j, m] += part * of_a[g, m]
    return matrix


@compiled
def _add_squares(weights: Floats, patterns: Floats, matrix: Floats) -> None:
    """Add Σ_g W_g a_g a_g' to the lower part of a matrix (kernel)."""
    for g in range(len(weights)):
        for j in range(patterns.shape[1]):
            part = weights[g] * patterns[g, j]
            if part != 0.0:
                for m in range(j + 1):
                    matrix[j, m] += part * patterns[g, m]
