"""Binomial, Poisson and negative binomial numbers of any size, from secure uniform numbers.

Library quantile functions lose tiny probabilities (1 − p rounds to 1) and do not end for 10¹⁸
trials. The recursions here are exact in real arithmetic and take a number of steps logarithmic in
the size: they split the trials at a beta-distributed order statistic until few are left (Devroye
1986, "Non-Uniform Random Variate Generation", §X.4.3 and §X.3.3). Evaluated in double precision,
with 53-bit uniform numbers, their probabilities hold up to rounding.
"""

from __future__ import annotations

import math

from understudy.privacy.noise.randomness import Randomness

_FEW = 64


class Uniforms:
    """Uniform numbers in (0, 1), one at a time.

    Args:
        randomness: where they come from.
    """

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._left: list[float] = []

    def __call__(self) -> float:
        """The next one."""
        if not self._left:
            self._left = self._randomness.uniforms(_FEW).tolist()
        return self._left.pop()


def binomial(n: int, p: float, uniform: Uniforms) -> int:
    """Successes in n trials of probability p.

    If B is the i-th smallest of n uniform numbers, then B ≤ p makes i of them successes and leaves
    the n − i larger ones open; otherwise the i − 1 smaller ones are open.
    """
    successes = 0
    while n > _FEW and 0 < p < 1:
        i = (n + 1) // 2
        b = beta(i, n + 1 - i, uniform)
        if b <= p:
            successes, n, p = successes + i, n - i, (p - b) / (1 - b)
        else:
            n, p = i - 1, p / b
    if p <= 0:
        return successes
    return successes + (n if p >= 1 else sum(uniform() < p for _ in range(n)))


def poisson(mean: float, uniform: Uniforms) -> int:
    """Events of a unit-rate Poisson process in a time `mean`: jump to a late event, fill in."""
    events = 0
    while mean > _FEW:
        m = int(mean * 7 / 8)
        time = gamma(m, uniform)
        if time > mean:
            return events + binomial(m - 1, mean / time, uniform)
        events, mean = events + m, mean - time
    product = uniform()
    limit = math.exp(-mean)
    while product > limit:
        events, product = events + 1, product * uniform()
    return events


def negative_binomial(n: int, odds: float, uniform: Uniforms) -> int:
    """Sum of n geometric numbers (from 0) of mean `odds`: a Poisson number of gamma mean."""
    if n == 0 or odds <= 0:
        return 0
    return poisson(gamma(n, uniform) * odds, uniform)


def beta(a: int, b: int, uniform: Uniforms) -> float:
    """Beta(a, b) for a, b ≥ 1."""
    x = gamma(a, uniform)
    return x / (x + gamma(b, uniform))


def gamma(shape: int, uniform: Uniforms) -> float:
    """Gamma(shape, 1) for shape ≥ 1 (Marsaglia & Tsang 2000).

    The acceptance test compares log u with x²/2 + d(1 − v + log v), v = (1 + cx)³. For large d its
    terms cancel almost wholly; in t = cx it reads 3(log(1+t) − t) − 3t² − t³, without cancellation.
    """
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal(uniform)
        t = c * x
        if t <= -1:
            continue
        gain = 3 * log1p_minus(t) - 3 * t * t - t**3
        if math.log(uniform()) < x * x / 2 + d * gain:
            return float(d * (1 + t) ** 3)


def normal(uniform: Uniforms) -> float:
    """Standard normal number (Box & Muller 1958)."""
    return math.sqrt(-2 * math.log(uniform())) * math.cos(2 * math.pi * uniform())


def log1p_minus(t: float) -> float:
    """log(1 + t) − t, accurate near 0."""
    if abs(t) > 0.01:
        return math.log1p(t) - t
    return sum((-1.0) ** (k + 1) * t**k / k for k in range(2, 10))
