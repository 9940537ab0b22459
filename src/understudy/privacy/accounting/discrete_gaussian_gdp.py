r"""What discrete Gaussian noise costs in Gaussian differential privacy: a little more than 1/(2v).

Let X be discrete Gaussian with parameter v = σ², p its probabilities, F its distribution function.
Neighbours shift a count by 1.

**Its trade-off function.** p(k)/p(k - 1) = exp((1 - 2k)/(2v)) falls with k, so the best tests of X
against X + 1 reject from some k on (Neyman & Pearson): α = P(X ≥ k) and β = P(X ≤ k - 2). These are
the vertices of the trade-off function, which is linear between them; G_μ is convex. So it lies on
or above G_μ everywhere if and only if it does at every vertex:

    Φ⁻¹(F(k)) - Φ⁻¹(F(k - 1)) ≤ μ   for all k.                                              (1)

For continuous noise the left side would be 1/σ. For this law it is more: by 1/(24σ²) of it in the
centre, k = 0, by at most 0.025/σ² in the far tails, and by much more for σ < 1.

**Theorem.** (1) holds if 1/v ≤ E(μ), with

    E(μ) = 2 log( (2Φ(μ/2) - 1) / (Φ(3μ/2) - Φ(μ/2)) )  ≥  μ²(1 - μ²/12).                      (2)

Proof. For a real s let g(j) = Φ((j + ½)μ + s) - Φ((j - ½)μ + s), the probabilities of a normal law
in cells of width μ.

(i) *How concave log g is.* With G(x) = log(Φ(x + μ/2) - Φ(x - μ/2)), G'' = V - 1, V(x) the variance
of a normal variable given that it lies in [x - μ/2, x + μ/2]. V is even, and decreases for x > 0:
with T = μ/2 and y the distance from the middle of the cell, V is the variance of the density f(y) ∝
exp(-xy - y²/2) on [-T, T], and V'(x) = -κ₃, its third central moment. Its mean m lies in (-x, 0),
as the mean without truncation is -x and the ends pull it to the middle. Then f(m + u) - f(m - u) is
negative for 0 < u < T + m, where the log ratio is -2u(x + m), and not negative beyond, where f(m -
u) is cut off. It changes sign once, from below, and ∫ u(f(m + u) - f(m - u)) du = 0 over u > 0, so
the integral with u³ is positive: κ₃ > 0. The second difference D(x) = G(x + μ) - 2G(x) + G(x - μ)
is the integral of G'' against a triangle of area μ² centred at x. Both are even and fall on both
sides, hence so does D (Wintner 1938), and its maximum is D(0) = -E(μ). Moreover V ≤ V(0) ≤ μ²/12,
the variance of a uniform law on the cell, as the normal density is larger in the middle. So D ≤
-μ²(1 - μ²/12).

(ii) *One crossing.* Suppose (1) fails at k. Choose s such that Φ((k - ½)μ + s) = F(k - 1). Then g
has the mass F(k - 1) below k, as p has, hence equal mass from k on too, and p(k) > g(k). The second
difference of log p is -1/v ≥ -E(μ), that of log g at most -E(μ), so r = log p - log g is convex on
the integers. As r(k) > 0 and the masses from k on are equal, r is negative somewhere above k. Being
convex, r is positive at all places below k. But the masses below k are equal. Contradiction.

**Larger changes.** A count that changes by an integer j is j such shifts, jμ-GDP (group privacy),
and independent noise in several cells composes: an integer vector that changes by Δ in the L2 norm
costs Δ² times the cost of one shift. Replacing a record changes two cells by 1: Δ² = 2.

The bound wastes little: the variance it asks for exceeds the smallest possible one, from (1) at k =
0, by 2·10⁻³ of it at v = 1, and by at most 5·10⁻³ at any v.
`tests/privacy/accounting/test_gaussian_dp.py` checks the vertices with high precision.

Sources: Canonne, Kamath & Steinke (2020) for the law; Dong, Roth & Su (2022) for GDP. The proof is
ours; (ii) is the discrete form of an argument on transport maps between log-concave laws.
"""

from __future__ import annotations

import math
from fractions import Fraction

from scipy.special import log_ndtr

__all__ = ["unit_amount", "unit_variance"]

_SAFETY = 1e-12
# Up to here the polynomial of (2) is used, which is exact in fractions; it asks for at most 0.02 %
# more variance than E does.
_EXACT = Fraction(1, 8)


def unit_variance(amount: Fraction) -> Fraction:
    """Variance at which a discrete Gaussian on a count that changes by 1 costs an amount.

    Args:
        amount: μ²/2, above 0.

    Returns:
        v with 1/v ≤ E(μ), at most 10⁻¹² more than needed above 1/8 and exact up to there.

    Raises:
        ZeroDivisionError: no amount.
    """
    if amount <= _EXACT:
        return 1 / (2 * amount * (1 - amount / 6))
    return 1 / Fraction(_log_concavity(math.sqrt(2 * float(amount))) * (1 - _SAFETY))


def unit_amount(variance: Fraction) -> Fraction:
    """What discrete Gaussian noise costs on a count that changes by 1: μ²/2, rounded up.

    Args:
        variance: parameter of the law, above 0.
    """
    low, high = 1 / (2 * variance), 4 / variance
    while high - low > high * Fraction(1, 10**12):
        middle = Fraction(float(low + high) / 2)
        low, high = (low, middle) if unit_variance(middle) <= variance else (middle, high)
    return high


def _log_concavity(mu: float) -> float:
    """E(μ) of (2), free of cancellation in the tail."""
    near, far = float(log_ndtr(-mu / 2)), float(log_ndtr(-3 * mu / 2))
    ring = near + math.log1p(-math.exp(far - near))
    return 2 * (math.log(math.erf(mu / math.sqrt(8))) - ring)
