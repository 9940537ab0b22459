"""Discrete Gaussian noise under Gaussian DP: (4) and (5) of `dp.gaussian_dp`."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmas.intervals import arb, density, flint, holds_everywhere, quantile_above, upper
from night import NIGHT
from understudy.dp.gaussian_dp import unit_variance

ORDER = 30


def concavity(mu):
    """E(μ) of (5), and its derivative."""
    inner, ring = 1 - 2 * upper(mu / 2), upper(mu / 2) - upper(3 * mu / 2)
    slope = density(mu / 2) / inner - (3 * density(3 * mu / 2) - density(mu / 2)) / (2 * ring)
    return 2 * (inner / ring).log(), 2 * slope


# --- (5): the polynomial that is used for amounts up to 1/8 --------------------------------------


def rational(coefficients):
    flint.ctx.cap = ORDER
    exact = [flint.fmpq(c.numerator, c.denominator) for c in coefficients]
    return flint.fmpq_series(exact, prec=ORDER)


def masses_over_mu(low, high):
    """√(2π)(Φ(high·μ) - Φ(low·μ))/μ as a power series in y = μ², exact."""
    return rational(
        [
            Fraction((-1) ** n, math.factorial(n) * 2**n * (2 * n + 1))
            * (high ** (2 * n + 1) - low ** (2 * n + 1))
            for n in range(ORDER)
        ]
    )


def shortfall():
    """N(y) = (2Φ(μ/2) - 1)/μ - (Φ(3μ/2) - Φ(μ/2))/μ · e^((y - y²/12)/2), times √(2π).

    (5) is N ≥ 0: E(μ) is twice the logarithm of the quotient of both masses.
    """
    half = Fraction(1, 2)
    power = rational([Fraction(0), half, Fraction(-1, 24)]).exp()
    return masses_over_mu(-half, half) - masses_over_mu(half, 3 * half) * power


def test_the_polynomial_is_below_for_every_mu_up_to_a_half():
    """N(y) > 0 for 0 < y ≤ 1/4, by its series, exact but for a bound on its rest.

    Its terms below y³ vanish, and that of y³ is above all that follow together. From y³⁰ on they
    are bounded by Cauchy's estimate on the disc |y| ≤ 2: a mass over μ is a mean of e^(-yu²/2), u²
    ≤ 9/4, over an interval of length 1, so at most e^(9/4) there, and the exponential at most
    e^(7/6). A term c_n y^n is then at most that bound times 8^-n, and terms over y³ add up to less
    than twice the first.
    """
    terms = [Fraction(int(c.p), int(c.q)) for c in shortfall().coeffs()]
    assert terms[:3] == [0, 0, 0]
    assert terms[3] > 0
    y = Fraction(1, 4)
    known = sum(abs(c) * y ** (n - 3) for n, c in enumerate(terms) if n > 3)
    largest = (arb(9) / 4).exp() * (1 + (arb(7) / 6).exp())
    rest = 2 * largest / arb(8) ** ORDER / arb(y.numerator) ** 3 * arb(y.denominator) ** 3
    left = terms[3] - known
    assert arb(left.numerator) / left.denominator > rest


# --- (4): every vertex ---------------------------------------------------------------------------


def vertices(variance):
    """Φ⁻¹(F(k)) and its slope in the variance, for k = 0 … 8σ."""
    last = math.ceil(8 * math.sqrt(float(variance.upper()))) + 1
    end = 3 * last + 20
    weights = [(-(arb(j) ** 2) / (2 * variance)).exp() for j in range(end)]
    # Beyond the end: terms, with j² before them, fall faster than by a half each.
    rest = arb(0).union(2 * weights[-1] * end**2)
    masses, squares = [rest], [rest]
    for j in range(end - 1, 0, -1):
        masses.append(masses[-1] + weights[j])
        squares.append(squares[-1] + weights[j] * j * j)
    masses.reverse()  # masses[k]: of all above k
    squares.reverse()
    whole, second = 1 + 2 * masses[0], 2 * squares[0]
    for k in range(last + 1):
        mass = masses[k] / whole
        z = quantile_above(mass)
        moved = (squares[k] / whole - mass * second / whole) / (2 * variance**2)
        yield z, -moved / density(z)


def widest(mu):
    """μ less the widest step between vertices, and the least of its slopes in μ, as intervals.

    The variance is that at which (5) is an equality.
    """
    e, slope = concavity(mu)
    variance = 1 / e
    if not 0 < variance < 100:  # an interval too wide to say anything
        return [(arb("nan"), arb("nan"))]
    faster = -slope * variance**2
    places = list(vertices(variance))
    steps = [(2 * places[0][0], 2 * places[0][1])]  # F(-1) = 1 - F(0)
    steps += [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(places)]
    return [(mu - step, 1 - moved * faster) for step, moved in steps]


def shown(mu):
    """The least of what all vertices leave, over an interval of μ, from its middle by slopes."""
    here = [left for left, _ in widest(arb(mu.mid()))]
    slopes = [slope for _, slope in widest(mu)]
    # Where σ passes a number the far vertices differ; those of both are compared.
    left = [a - abs(s) * mu.rad() for a, s in zip(here, slopes, strict=False)]
    least = left[0]
    for one in left[1:]:
        least = least.min(one)
    return least


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (2.5, 4.0),
        pytest.param(1.0, 2.5, marks=pytest.mark.nightly),
        pytest.param(0.25, 1.0, marks=pytest.mark.audit),
        pytest.param(4.0, 5.0, marks=pytest.mark.audit),
    ],
)
def test_no_vertex_lies_below_the_gaussian(low, high):
    """For every μ, with the variance that (5) asks for: from 16 down to 0.1 for μ from 1/4 to 5.

    Vertices up to 8σ from the middle, those on the other side by symmetry. Beyond these ranges the
    proof of (4) stands alone; it says the same for every variance and every vertex.
    """
    holds_everywhere(shown, [(low, high)])


def test_the_check_sees_the_variance_of_continuous_noise_fail():
    """1/μ² is too little, by 1/(24σ²) of μ in the middle."""
    for mu in (0.3, 1.0, 3.0):
        places = list(vertices(1 / arb(mu) ** 2))
        assert 2 * places[0][0] > arb(mu)


@given(amount=st.fractions(Fraction(1, 10**6), 50, max_denominator=10**6))
@settings(derandomize=True, deadline=None, max_examples=200 if NIGHT else 80)
def test_the_variance_that_is_drawn_is_at_least_what_the_theorem_asks_for(amount):
    variance = unit_variance(amount)
    mu = (2 * arb(amount.numerator) / amount.denominator).sqrt()
    assert arb(variance.numerator) / variance.denominator >= 1 / concavity(mu)[0]
