"""Records from an urn: the theorem of `mechanisms.urn`.

With c = ñ/α, u = α/a, v = a/N and w = y_j/ñ, all of u, v, w in [0, 1], the factors by which an
added record multiplies a probability are A = 1 + wuc and B = 1/(1 + uvc). Independent draws are
the same with ñ = 1 and w = 1, draw by draw.
"""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmas.intervals import arb, ctx, flint
from night import NIGHT
from understudy.mechanisms.urn import prior_weight

NAMES = ("u", "v", "w", "c")


def polynomials():
    ring = flint.fmpq_mpoly_ctx.get(NAMES, "lex")
    return ring.gens()


def test_no_outcome_changes_by_more_than_the_prior_allows():
    """1/(1 + c) ≤ AB ≤ 1 + c, over every table, outcome, number of cells, and prior.

    Without denominators, both differences are c times a sum of products of numbers that are not
    negative. The identities are of polynomials, exact: they hold for every u, v, w and c.
    """
    u, v, w, c = polynomials()
    a, b_below = 1 + w * u * c, 1 + u * v * c
    assert (1 + c) * b_below - a == c * ((1 - w * u) + u * v * (1 + c))
    assert a * (1 + c) - b_below == c * ((1 - u * v) + w * u * (1 + c))


def test_a_replaced_record_divides_two_factors_of_one_kind():
    """A/A' with both in [1, 1 + c]: 1 + c - A = c(1 - wu), and A - 1 = wuc."""
    u, _, w, c = polynomials()
    a = 1 + w * u * c
    assert 1 + c - a == c * (1 - w * u)
    assert a - 1 == w * u * c


def exact(number):
    return arb(number.numerator) / number.denominator


@pytest.mark.parametrize("reinforced", [True, False])
@given(
    n_rows=st.integers(1, 10**9),
    epsilon=st.fractions(Fraction(1, 10**9), 60, max_denominator=10**9),
)
@settings(derandomize=True, deadline=None, max_examples=150 if NIGHT else 60)
def test_the_prior_that_is_drawn_with_is_enough(reinforced, n_rows, epsilon):
    """1 + ñ/α ≤ e^ε, or (1 + 1/α)^ñ ≤ e^ε, at 400 digits of two; and not much more than needed."""
    prior = prior_weight(n_rows, epsilon, reinforced=reinforced)
    bits = ctx.prec
    ctx.prec = 400
    try:
        alpha, allowed = exact(prior), exact(epsilon)
        if reinforced:
            assert (1 + n_rows / alpha).log() <= allowed
        else:
            assert n_rows * (1 + 1 / alpha).log() <= allowed
        power = allowed if reinforced else allowed / n_rows
        least = (n_rows if reinforced else 1) / (power.exp() - 1)
        assert alpha <= least * (1 + arb(2) ** -21) + arb(2) ** -31
    finally:
        ctx.prec = bits
