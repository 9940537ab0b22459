"""A choice that leaves a rest of the budget: (2) of `accounting.gaussian_dp`.

In units of μ, the standard deviation of what the rest loses, the two losses of the choice lie κ = ε/μ
apart, and r < m is κ < 2. The density of the whole loss is h = qφ(x) + (1 - q)φ(x + κ) up to a shift,
and M = 1/√(1 - κ²/4).
"""

from fractions import Fraction

import pytest
from lemmas.intervals import arb, density, holds_everywhere, quantile_above, upper

FAR = 6.0


def excess(x, q, kappa):
    """How far h lies above the wider normal density where both have equal mass above, in units of μ.

    T' ≤ 1 in the proof of the lemma is h(T(l)) ≥ h₀(l), and h₀ is φ(z)/M at its quantile z. x counts
    from the middle between the two normal densities.
    """
    near, far, narrow = x - kappa / 2, x + kappa / 2, (1 - kappa * kappa / 4).sqrt()
    above, above_far, at, at_far = upper(near), upper(far), density(near), density(far)
    h, z = q * at + (1 - q) * at_far, quantile_above(q * above + (1 - q) * above_far)
    top = density(z)
    slope_in_x = z * h * narrow - q * near * at - (1 - q) * far * at_far
    slope_in_q = at - at_far - narrow * z * (above - above_far)
    moved = (q * at - (1 - q) * at_far) / 2
    slope_in_kappa = (q * near * at - (1 - q) * far * at_far) / 2 - narrow * z * moved
    slope_in_kappa += top * kappa / (4 * narrow)
    return h - top * narrow, (slope_in_x, slope_in_q, slope_in_kappa)


def shown(x, q, kappa):
    """The excess over a box, as it stands, or from its middle by its slopes if that shows more."""
    straight, slopes = excess(x, q, kappa)
    if straight > 0:
        return straight
    middle, _ = excess(x.mid(), q.mid(), kappa.mid())
    return middle - sum(abs(s) * v.rad() for s, v in zip(slopes, (x, q, kappa), strict=True))
