"""The functional mechanism for linear regression: Laplace noise in what least squares minimises.

Zhang, Zhang, Xiao, Yang & Winslett (2012), "Functional Mechanism: Regression Analysis under
Differential Privacy", perturb the objective rather than its minimum: a polynomial of degree 2 in
the regression's coefficients, whose own coefficients are the sums and products of
`understudy.privacy.mechanisms.sums.normal_equations`. Whatever minimises the noisy polynomial is
post-processing.

**Guarantee.** Let t and t' be the statistics of two neighbouring tables in whole numbers,
‖t − t'‖₁ ≤ Δ = M·2³⁰ (M and its proof: there). Rounded to a public lattice g times as coarse, they
differ by at most Δ_g = m + ⌊(Δ − m)/g⌋ in all (`moment_noise.py`). Discrete Laplace noise of
scale Δ_g/ε in each of the m numbers has P(noise = v) ∝ exp(−ε‖v‖₁/Δ_g), so any outcome is at most
e^ε times as likely with t as with t': **pure ε**, for add/remove and for replace. The draw is exact
(`understudy.privacy.noise.distributions`).

**The published bound.** The paper counts each of the (d + 1)² products of a record once, in two
triangles, and doubles that for a replaced record: Δ = 2(d + 1)², 8 for a single predictor. Ours is
the exact M = (d + 1)(d + 4)/2, 5 for a single predictor. Since 4(d + 1) ≥ d + 4, the published
bound is never below M, and Δ_g grows with Δ: with it the proof above holds as it stands, and **pure
ε** with it. It only buys less, with 1.6 times the noise for d = 1 and up to 4 times for many
predictors. It is here (`functional-published`) because published comparisons rest on it.

**Against the paper.** Each product of two predictors gets one noise, not one in each of two
triangles, and the intercept is part of the model.

**When.** It is the better known comparator. Where records are added or removed, the mechanism of
`understudy.privacy.mechanisms.sums.k_norm` has about half the noise at the same ε; where they are
replaced, the two are much alike.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.privacy.mechanisms.sums.moment_noise import coarseness, rounded_sensitivity
from understudy.privacy.mechanisms.sums.normal_equations import ONE, NormalEquations
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.distributions import DiscreteLaplace


def functional_noise(
    equations: NormalEquations, epsilon: Fraction, *, published: bool = False
) -> tuple[DiscreteLaplace, int, int]:
    """The noise of each statistic, from public facts alone.

    Args:
        equations: which statistics.
        epsilon: cost of all of them together.
        published: take the published bound of the L1 sensitivity, which is larger than the exact.

    Returns:
        The distribution in lattice steps; whole numbers per step; L1 sensitivity in steps.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    bound = equations.published_l1_bound if published else equations.l1_sensitivity
    whole = bound * ONE
    step = coarseness(whole, equations.size, epsilon)
    rounded = rounded_sensitivity(whole, equations.size, step)
    return perturbation.additive(rounded / epsilon), step, rounded
