"""Truncated noise: what `dp.truncated_laplace` says of log Z, for every width, place and change.

In units of the scale. X = e^-s, D = e^-d and R = e^-(w - s - d), each in [0, 1] (q to these powers
on the integers), name a statistic s, a change d, and what is left of the width w. Each inequality
is an identity between polynomials, checked exactly, whose one side is a sum of products of numbers
that are not negative.
"""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmas.intervals import arb, flint
from night import NIGHT
from understudy.dp.truncated_laplace import calibrated_scale, realised_epsilon

X, D, R, Q = flint.fmpq_mpoly_ctx.get(("X", "D", "R", "q"), "lex").gens()
LINE, INTEGERS = "line", "integers"


def mass(kind, below, above):
    """2Z(s) on the line, Z(s) on the integers, by e^-s and e^-(w - s)."""
    return 2 - below - above if kind == LINE else 1 + Q - Q * (below + above)


@pytest.mark.parametrize("kind", [LINE, INTEGERS])
def test_a_change_from_an_end_moves_log_z_the_most(kind):
    """Z(d)/Z(0) ≥ Z(s + d)/Z(s); s and s + d change places by the symmetry of the interval."""
    found = mass(kind, D, X * R) * mass(kind, X, D * R)
    found -= mass(kind, X**0, X * D * R) * mass(kind, X * D, R)
    less = (1 - X) + (1 - D) + (1 - X * D)
    if kind == LINE:
        positive = 2 * (1 - R) + R * less
    else:
        positive = Q * ((1 - Q * R) + Q * (1 - R) + R * (1 - Q) + Q * R * less)
    assert found == (1 - X) * (1 - D) * positive


@pytest.mark.parametrize("kind", [LINE, INTEGERS])
def test_log_z_is_concave_and_no_steeper_than_the_noise(kind):
    """Z'² - ZZ'' ≥ 0, so what several coordinates add is most if they share a change alike; and
    |Z'| ≤ Z in units of the scale, so what is realised grows with the change. Here x = X, y = R.
    """
    z, slope = mass(kind, X, R), X - R if kind == LINE else Q * (X - R)
    curve = -(X + R) if kind == LINE else -Q * (X + R)
    mixed = X * (1 - R) + R * (1 - X)
    concave = 2 * mixed if kind == LINE else 2 * Q**2 * mixed + Q * (1 - Q) * (X + R)
    assert slope**2 - z * curve == concave
    for steep, end in ((z + slope, R), (z - slope, X)):
        assert steep == (2 * (1 - end) if kind == LINE else (1 - Q) + 2 * Q * (1 - end))


def exact(number):
    return arb(number.numerator) / number.denominator


def exact_epsilon(scale, sensitivity, width, coordinates, discrete):
    """Δ/b + c(log Z(Δ/c) - log Z(0)), as the module states it."""
    change, q = exact(min(sensitivity / coordinates, width)), (-1 / exact(scale)).exp()
    if discrete:
        start, moved = (
            1 + q - q ** (s + 1) - q ** (exact(width) - s + 1) for s in (arb(0), change)
        )
    else:
        start, moved = (2 - q**s - q ** (exact(width) - s) for s in (arb(0), change))
    return coordinates * (change / exact(scale) + (moved / start).log())


@pytest.mark.parametrize("discrete", [False, True])
@given(
    epsilon=st.fractions(Fraction(1, 1000), 20, max_denominator=1000),
    sensitivity=st.integers(1, 50),
    width=st.integers(1, 10**6),
    coordinates=st.integers(1, 4),
)
@settings(derandomize=True, deadline=None, max_examples=150 if NIGHT else 60)
def test_a_calibrated_scale_realises_no_more_than_was_paid(
    discrete, epsilon, sensitivity, width, coordinates
):
    sensitivity = Fraction(sensitivity)
    how = {"coordinates": coordinates, "discrete": discrete}
    scale = calibrated_scale(epsilon, sensitivity, width, **how)
    realised = exact_epsilon(scale, sensitivity, Fraction(width), coordinates, discrete)
    assert realised <= exact(epsilon)
    found = realised_epsilon(scale, sensitivity, width, **how)
    assert abs(arb(found) / realised - 1) < arb("1e-12")
