"""Why points of the paper about study 1 do not hold here, each checked by a table of its page.

**Sets that are drawn.** Let an estimate of the data have the variance v = π(1 − π)/n. As noise
vanishes, m sets whose shares are drawn from the posterior of π, and then records with these shares,
have a mean of the variance v(1 + 2/m); m sets drawn with the data's own share v(1 + 1/m); and a set
that is the data themselves v. With m = 10, √1.2 = 1.095.

**DP-prior at π = ½.** Records are drawn with p = (n₁ + a)/(n + 2a), so that p − ½ = s(n₁/n − ½),
s = n/(n + 2a). At π = ½ the mean of p is ½ and its variance s²/(4n); given p the share of n draws
has the variance p(1 − p)/n, on average (¼ − s²/(4n))/n. Together

    Var = 1/(4n) · (1 + s²(1 − 1/n)),

at every ε at least that of the data, 1/(4n). An interval from u = q(1 − q)/n ≤ 1/(4n) is as wide as
that of the data, for an estimate that varies more, so that it cannot overcover either.
"""

from __future__ import annotations

import math

from understudy_studies.bowen_liu_2020.binary.simulation import LAPLACE, MD, SETS
from understudy_studies.framework.verdict_causes import (
    Cause,
    contradiction,
    difference,
    reading,
    wording,
)


def of_drawn_sets(sets: int = SETS) -> float:
    """RMSE of m sets from posterior draws, over that of the data, as noise vanishes.

    Example:
        >>> round(of_drawn_sets(), 3)
        1.095
    """
    return math.sqrt(1 + 2 / sets)


def of_dp_prior(epsilon: float, n_rows: int) -> float:
    """RMSE of DP-prior at π = ½, over that of the data, by the head of this file.

    Args:
        epsilon: budget of the one set.
        n_rows: records n of the data and of the set.

    Example:
        >>> round(of_dp_prior(1.0, 40), 3), round(of_dp_prior(1e6, 40), 3)
        (1.054, 1.405)
    """
    weight = 1 / math.expm1(min(epsilon / n_rows, 700.0))
    shrinks = n_rows / (n_rows + 2 * weight)
    return math.sqrt(1 + shrinks**2 * (1 - 1 / n_rows))


_LIMIT = (
    "§4.1 says of both at once that “modips and the Laplace sanitizer” come to multiple synthesis "
    "and MD to the data. "
)
GROWING: dict[str, Cause] = {
    LAPLACE: contradiction(
        _LIMIT + "But its Laplace sanitizer releases one set whose share is the noisy one, which "
        "without noise is that of the data themselves, while multiple synthesis draws ten sets, "
        f"which leaves it {of_drawn_sets():.3f} times as far off. With the names of MD and Laplace "
        "exchanged the sentence holds; see “Readings of the Laplace sanitizer”."
    ),
    MD: contradiction(
        _LIMIT + "But §3.3 calls MD “a modips approach for categorical data”: it draws ten sets "
        "from posterior draws, as multiple synthesis does, so that its error without noise is "
        f"√(1 + 2/10) = {of_drawn_sets():.3f} times that of the data. With the names of MD and "
        "Laplace exchanged the sentence holds; see “Readings of the Laplace sanitizer”."
    ),
}
DP_PRIOR_AT_HALF = contradiction(
    "§3.1.1 draws n records with p = (n₁ + a)/(n + 2a), which at π = ½ gives the variance "
    "(1 + s²(1 − 1/n))/(4n), s = n/(n + 2a): at no ε below that of the data, 1/(4n). So RMSE "
    "cannot be smaller, and an interval of the same width cannot overcover. Ten sets at ε/10, as "
    "the paper makes them for MD, would have the smaller RMSE; see “RMSE of DP-prior at π = ½”."
)
BEST_AT_HALF = wording(
    "“best” holds where noise decides. Where the data’s own error does, RMSE is largest at π = ½, "
    "since √(π(1 − π)/n) is; in units of that error the point holds more often; see “RMSE at "
    "π = ½”."
)
THRESHOLD_RMSE = difference(
    "it holds in the middle only. Where noise is far wider than [0, n], a noisy count is anywhere "
    "in it with truncation, variance n²/12, and at one of its ends with thresholding, variance "
    "n²/4, while the biases are alike; where it hardly reaches a bound, truncation cuts the tail "
    "that thresholding piles up there. In both truncation has the smaller RMSE. See “RMSE of the "
    "two kinds of MODIPS”."
)
NARROW_SAMPLES = reading(
    "up to which budget intervals shrink and the bias does not is lost; log ε ≤ −4 here. At that "
    "budget noise is already narrower than n = 1,000 records, so that the bias falls there; up to "
    "−5 the point holds in all cases; see “Coverage for small and large n”."
)
