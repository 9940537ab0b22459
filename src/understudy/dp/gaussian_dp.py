"""Gaussian differential privacy: μ, what it promises, how it composes, what steps cost in it.

A mechanism is μ-GDP if telling its outputs on two neighbours apart is never easier than telling
N(0, 1) from N(μ, 1) by one draw: its trade-off function (smallest type II error β as a function of
the type I error α) lies on or above G_μ(α) = Φ(Φ⁻¹(1 - α) - μ) (Dong, Roth & Su 2022). Amounts are
kept as c = μ²/2, because these add up, and because noise N(0, v) on a number of sensitivity Δ costs
Δ²/(2v), as it does in ρ of zCDP.

**What it promises.** μ-GDP is equivalent to (ε, δ)-DP for every ε with δ(ε) = Φ(μ/2 - ε/μ) - e^ε
Φ(-μ/2 - ε/μ) (Balle & Wang 2018, Theorem 8; Dong et al., Corollary 2.13). zCDP keeps moments only
and must promise less: for Gaussian noise at (1, 10⁻⁹) a tenth more may be spent here.

**Composition is free, fully adaptive.** Steps and their amounts may be chosen from what was
released before, as long as the amounts can never sum to more than c; the whole is √(2c)-GDP (Smith
& Thakurta 2022; Koskela, Tobaben & Honkela 2022). Proof, by induction from the last step back: let
a step cost a, and whatever follows be √(2(c - a))-GDP given any outcome of that step. If steps i =
1, 2 are μᵢ-GDP, the second whatever the first gave, both together are √(μ₁² + μ₂²)-GDP (Dong et
al., Theorem 3.2 and Corollary 3.3). Hence all is √(2a + 2(c - a))-GDP. Which step is taken, and at
which a, may depend on the past, as the claim holds for each choice.

**k records** that change at once make it kμ-GDP: the amount grows by k² (Dong et al., Theorem
2.14).

**Mechanisms of bounded range.** A mechanism is ε-bounded-range (Durfee & Rogers 2019) if for every
two neighbours its privacy losses log P/P' lie in some [t - ε, t]; the exponential mechanism at ε is
(`selection.zcdp_cost`). It is μ-GDP with

    μ = 2 Φ⁻¹(1 / (1 + e^(-ε/2))).                                                           (1)

Proof. (i) *Two points are worst.* The trade-off function is determined by the hockey sticks H_γ =
E'[(e^L - γ)₊], γ ≥ 0, under P'; the larger they are, the lower it is. They are means of convex
functions of e^L, whose own mean E'[e^L] is 1 and which lies in [e^(t-ε), e^t]. Among such
distributions the one on the two ends has the largest, as a convex function lies below its chord. So
the trade-off function is at least that of the pair with the losses t and t - ε only, 0 ≤ t ≤ ε
(Dong, Durfee & Rogers 2020 use the same pair).
(ii) *One vertex.* Let p and q be the probabilities of the loss t in that pair. Its trade-off
function joins (0, 1), (q, 1 - p) and (1, 0) by straight lines. G_μ is convex, so it lies on or
below these lines if and only if it does at the vertex, that is if Φ⁻¹(p) - Φ⁻¹(q) ≤ μ.
(iii) *The worst t.* From q e^t + (1 - q) e^(t-ε) = 1 and p = q e^t follows logit p - logit q = ε
for every t. So the difference is ∫ g'(λ) dλ over a window of length ε, with g(λ) = Φ⁻¹(1/(1 +
e^(-λ))). At z = g(λ) the slope is g' = Φ(z)Φ(-z)/φ(z), an even function of z. For z > 0 it
decreases: Φ(z)Φ(-z) = ∫ (2Φ(u) - 1) φ(u) du and φ(z) = ∫ u φ(u) du over u ≥ z, so g' is the mean of
(2Φ(u) - 1)/u, a decreasing function as Φ is concave there, with weights u φ(u) on [z, ∞). An even
function that falls on both sides has its largest integral over the centred window, λ from -ε/2 to
ε/2, which is t = ε/2 and the μ above. It is attained there.

For small ε this costs πε²/16, 57 % more than the r = ε²/8 of zCDP.

**A choice that leaves a rest.** The 57 % are the price of one coarse step alone. Where m is left to
spend after it, r < m, a choice costs only

    a = r / (1 - r/m),     that is     1/r = 1/a + 1/m.                                      (2)

Proof. In the induction above it is enough that the pair (two points, then anything √(2m)-GDP) is
√(2(a + m))-GDP. By the composition theorem it is no easier to tell apart than the product of the
two points with N(0, 1) against N(μ, 1), μ² = 2m. There the loss log Q/Q' is X + Y, X one of t and t
- ε, Y normal with variance μ², independent. Its density h under Q' is a mixture of two normal ones,
so (log h)'' = -1/μ² + Var(X | X + Y)/μ⁴ ≤ -1/μ² + ε²/(4μ⁴) = -1/M², for every t, with M² = μ²/(1 -
ε²/(4μ²)), M²/2 = m/(1 - r/m) = m + a. It remains to show:

*Lemma.* If the density h of the loss under Q' has (log h)'' ≤ -1/M² everywhere, the pair is M-GDP.
Proof. Let h₀ be that of N(-M²/2, M²), the same for N(M, 1) against N(0, 1), and T the increasing
map that carries h₀ to h. *T(l) - l never increases:* were T' = h₀/h(T) > 1 at l₀, then log h(l +
T(l₀) - l₀) - log h₀(l), a concave function of l, were negative at l₀. The two densities have equal
masses on either side of l₀, so it were positive somewhere on both sides, which no concave function
can be. *Power:* the best tests reject if the loss is large. At equal α, thresholds T(s) and s, the
power of one minus that of the other is the integral of (e^T(l) - e^l) h₀(l) over l > s. Over all l
it is 1 - 1 = 0, and its integrand turns from positive to negative once, so over l > s it is at most
0: the Gaussian pair is the easier one at every α.

An ε-DP mechanism has losses in [-ε, ε], range 2ε: it costs what a choice at 2ε costs.

**As a run ended.** (2) holds for all that may follow, m, whether it is spent or not: the stated
budget bounds the run. What the run cost if it ends earlier is another number. From its last step
back, let T be the cost of what followed a step. Then the step and what followed cost

    s(T) = T + c,  c its price, or, of a choice, s(T) = T + min(alone, r/(1 - r/T) if T > r),  (3)

alone = the μ²/2 of (1); the run costs T₀, the s of its first step. (`RunCost` adds it up.)

*No more than the budget, no less than the prices.* s increases: the second branch of a choice, T +
rT/(T - r), has the slope 1 - (r/(T - r))², which is positive for T > 2r. It is taken where r/(1 -
r/T) ≤ alone, that is T ≥ r/(1 - r/alone). By (iii), μ in (1) is at most ε·√(π/8), so alone ≤
(π/2)·r, and T ≥ r/(1 - 2/π) > 2r there. A choice was priced with all that was left after it, so
s(left) ≤ left + price; no more than that follows, so T₀ is at most the budget, by induction. And as
T ≤ left, alone and r/(1 - r/T) are at least the price, so T₀ is at least the sum of prices.

*Costs of ended runs add up.* Let any number of runs, one after the other or at once, ask of the
same rows; steps, and when a run ends, may depend on all outcomes. Let the costs T₀ of all runs, as
they ended, always sum to C at most. Then all is √(2C)-GDP. Proof, by induction from the last step
back. With the history h so far, let w(h) be the least upper bound of C - Σ (T₀ - T), over all that
can still come; the sum is over the runs, T the cost (3) of those steps of a run that are still to
come. Claim: whatever follows is √(2w(h))-GDP. At the end T = 0 and w = C - Σ T₀ ≥ 0. Before it, let
the next step be one of run A, and h⁺ the history with its outcome. In any future of h⁺ let v = C -
Σ (T₀ - T), and T* what A still does. Then T* ≤ v ≤ w(h⁺), as C ≥ Σ T₀ and all T ≥ 0. Seen from h,
the same future has s(T*) in the place of T*, so w(h) ≥ v + s(T*) - T*. Of a step of price c that is
v + c. Of a choice, s(T*) - T* is at least what it costs where w(h⁺) is left, as that falls with
what is left. As v may come near to w(h⁺), w(h) is at least w(h⁺) and the cost of the step. So the
step and what follows are √(2w(h))-GDP, by composition, or by (1) and (2). At the start T = T₀ and
w = C.

A reservation that counts a whole budget while its run is open, and T₀ from its end on, keeps to
that, as T₀ is at most the budget.

**Discrete Gaussian noise** costs a little more than 1/(2v). Let X be discrete Gaussian with
parameter v = σ², p its probabilities, F its distribution function. Neighbours shift a count by 1.

*Its trade-off function.* p(k)/p(k - 1) = exp((1 - 2k)/(2v)) falls with k, so the best tests of X
against X + 1 reject from some k on (Neyman & Pearson): α = P(X ≥ k) and β = P(X ≤ k - 2). These are
the vertices of the trade-off function, which is linear between them; G_μ is convex. So it lies on
or above G_μ everywhere if and only if it does at every vertex:

    Φ⁻¹(F(k)) - Φ⁻¹(F(k - 1)) ≤ μ   for all k.                                              (4)

For continuous noise the left side would be 1/σ. For this distribution it is more: by 1/(24σ²) of it
in the centre, k = 0, by at most 0.025/σ² in the far tails, and by much more for σ < 1.

*Theorem.* (4) holds if 1/v ≤ E(μ), with

    E(μ) = 2 log( (2Φ(μ/2) - 1) / (Φ(3μ/2) - Φ(μ/2)) )  ≥  μ²(1 - μ²/12).                      (5)

Proof. For a real s let g(j) = Φ((j + ½)μ + s) - Φ((j - ½)μ + s), the probabilities of a normal
distribution in cells of width μ.

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
the variance of a uniform distribution on the cell, as the normal density is larger in the middle.
So D ≤ -μ²(1 - μ²/12).

(ii) *One crossing.* Suppose (4) fails at k. Choose s such that Φ((k - ½)μ + s) = F(k - 1). Then g
has the mass F(k - 1) below k, as p has, hence equal mass from k on too, and p(k) > g(k). The second
difference of log p is -1/v ≥ -E(μ), that of log g at most -E(μ), so r = log p - log g is convex on
the integers. As r(k) > 0 and the masses from k on are equal, r is negative somewhere above k. Being
convex, r is positive at all places below k. But the masses below k are equal. Contradiction.

*Larger changes.* A count that changes by an integer j is j such shifts, jμ-GDP (group privacy),
and independent noise in several cells composes: an integer vector that changes by Δ in the L2 norm
costs Δ² times the cost of one shift. Replacing a record changes two cells by 1: Δ² = 2.

The bound wastes little: the variance it asks for exceeds the smallest possible one, from (4) at k =
0, by 2·10⁻³ of it at v = 1, and by at most 5·10⁻³ at any v.
`tests/dp/accounting/test_gaussian_dp.py` checks the vertices with high precision.

Sources: Canonne, Kamath & Steinke (2020) for that distribution; Dong, Roth & Su (2022) for GDP. Its
proof is ours; (ii) is the discrete form of an argument on transport maps between log-concave
distributions.
"""

from __future__ import annotations

import math
from fractions import Fraction

_SAFETY = 1e-12
_STEPS = 200
_FAR, _TERMS = 10.0, 30
"""From where on Mills' ratio is a continued fraction, of as many terms."""


def log_delta_of(mu: float, epsilon: float) -> float:
    """Logarithm of the smallest δ such that μ-GDP implies (ε, δ)-DP, rounded up.

    With a, b = ε/μ ∓ μ/2 and Mills' ratio M(x) = Φ(-x)/φ(x), e^ε φ(b) = φ(a), so
    δ = Φ(-a)·(1 - M(b)/M(a)): free of e^ε, which would overflow or cancel.

    Args:
        mu: above 0.
        epsilon: above 0.
    """
    middle = epsilon / mu
    a, b = middle - mu / 2, middle + mu / 2
    ratio = (
        _mills(b) / _mills(a) if a > 0 else _mills(b) * math.exp(_log_density(a) - _log_upper(a))
    )
    # Rounding of the ratio, then of a, by which the logarithm changes at most |a| + 1 times.
    lost = 1e-13 + 1e-15 * middle * (abs(a) + 1)
    return min(0.0, _log_upper(a) + math.log(max(0.0, 1 - ratio) + 1e-14) + lost)


def amount_within(epsilon: float, log_delta: float) -> float:
    """Largest c = μ²/2 such that μ-GDP implies (ε, δ)-DP, rounded down.

    Args:
        epsilon: above 0.
        log_delta: log δ, below 0.
    """
    target = log_delta - _SAFETY
    high = 1.0
    while log_delta_of(high, epsilon) <= target:
        high *= 2
    low = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta_of(middle, epsilon) <= target else (low, middle)
    return low**2 / 2 * (1 - _SAFETY)


def epsilon_of(amount: float, log_delta: float) -> float:
    """Smallest ε such that √(2·amount)-GDP implies (ε, δ)-DP, rounded up.

    Args:
        amount: μ²/2, above 0.
        log_delta: log δ, below 0.
    """
    mu, target = math.sqrt(2 * amount) * (1 + _SAFETY), log_delta - _SAFETY
    high = 1e-12
    while log_delta_of(mu, high) > target:
        high *= 2
    low = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle <= 0:
            break
        low, high = (low, middle) if log_delta_of(mu, middle) <= target else (middle, high)
    return high * (1 + _SAFETY)


def pure_within(amount: float) -> float:
    """Largest ε such that every ε-DP mechanism costs at most an amount, rounded down.

    ε = logit Φ(μ/2), μ = √(2·amount). A mechanism of bounded range may have twice this range.

    Args:
        amount: μ²/2, not below 0.
    """
    half = math.sqrt(amount / 2)
    if half < 1:
        return 2 * math.atanh(math.erf(half / math.sqrt(2))) * (1 - _SAFETY)
    return (_log_upper(-half) - _log_upper(half)) * (1 - _SAFETY)


def amount_of_pure(epsilon: float) -> float:
    """Compute the cost of an ε-DP mechanism: μ²/2, rounded up; of range r, that of ε = r/2.

    Args:
        epsilon: above 0.
    """
    from scipy.special import erfinv, ndtri_exp

    if epsilon < 1:
        half = math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2)))
    else:
        half = -float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return 2 * half**2 * (1 + _SAFETY)


def _mills(x: float) -> float:
    """Mills' ratio Φ(-x)/φ(x), x ≥ 0, to 2⁻⁵⁰ of itself.

    scipy's take a quarter of a second to load, and most plans need nothing else of it.
    """
    if x < _FAR:
        z = x / math.sqrt(2)
        high = round(z * 2**20) / 2**20  # its square is exact: e^(z²) then loses no digits
        scale = math.exp(high**2) * math.exp((z - high) * (z + high))
        return math.sqrt(math.pi / 2) * scale * math.erfc(z)
    below = x
    for k in range(_TERMS, 0, -1):
        below = x + k / below  # Laplace's continued fraction
    return 1 / below


def _log_density(x: float) -> float:
    return -(x**2) / 2 - math.log(2 * math.pi) / 2


def _log_upper(x: float) -> float:
    """Log P(Z ≥ x)."""
    if x < 0:
        return math.log1p(-math.erfc(-x / math.sqrt(2)) / 2)
    return _log_density(x) + math.log(_mills(x))


# Up to here the polynomial of (5) is used, which is exact in fractions; it asks for at most 0.02 %
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


def _log_concavity(mu: float) -> float:
    """E(μ) of (5), free of cancellation in the tail."""
    near, far = _log_upper(mu / 2), _log_upper(3 * mu / 2)
    ring = near + math.log1p(-math.exp(far - near))
    return 2 * (math.log(math.erf(mu / math.sqrt(8))) - ring)
