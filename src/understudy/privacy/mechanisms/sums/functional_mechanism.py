"""The functional mechanism for linear regression: Laplace noise in what least squares minimises.

Zhang, Zhang, Xiao, Yang & Winslett (2012), "Functional Mechanism: Regression Analysis under
Differential Privacy" perturb the objective rather than its minimum: a polynomial of degree 2 in the
regression's coefficients, whose own coefficients are the sums and products of
`understudy.privacy.mechanisms.sums.normal_equations`. Whatever minimises the noisy polynomial is
post-processing.

**Guarantee.** Let t and t' be the statistics of two neighbouring tables in whole numbers,
‖t − t'‖₁ ≤ Δ = M·2³⁰ (M and its proof: there). Rounded to a public lattice g times as coarse, they
differ by at most Δ_g = m + ⌊(Δ − m)/g⌋ in all (`moment_sensitivity.py`). Discrete Laplace noise of
scale Δ_g/ε in each of the m numbers has P(noise = v) ∝ exp(−ε‖v‖₁/Δ_g), so any outcome is at most
e^ε times as likely with t as with t': **pure ε**, for add/remove and for replace. The draw is exact
(`understudy.privacy.noise.distributions`).

**Against the paper.** Its sensitivity is the bound 2(d + 1)², ours the exact (d + 1)(d + 4)/2. Each
product of two predictors gets one noise, not one in each of two triangles, and the intercept is
part of the model.

**When.** It is the better known comparator. Where records are added or removed, the mechanism of
`understudy.privacy.mechanisms.sums.k_norm` has about half the noise at the same ε; where they are
replaced, the two are much alike.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.privacy.mechanisms.sums.moment_sensitivity import coarseness, rounded_sensitivity
from understudy.privacy.mechanisms.sums.normal_equations import ONE, NormalEquations
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.distributions import DiscreteLaplace


def functional_law(
    equations: NormalEquations, epsilon: Fraction
) -> tuple[DiscreteLaplace, int, int]:
    """The noise of each statistic, from public facts alone.

    Args:
        equations: which statistics.
        epsilon: cost of all of them together.

    Returns:
        The law in lattice steps; whole numbers per step; L1 sensitivity in steps.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    whole = equations.l1_sensitivity * ONE
    step = coarseness(whole, equations.size, epsilon)
    rounded = rounded_sensitivity(whole, equations.size, step)
    return perturbation.additive(rounded / epsilon), step, rounded
