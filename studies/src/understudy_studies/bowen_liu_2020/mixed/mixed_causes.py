"""Why points of the paper about study 3 do not hold here, each checked by a table of its page.

**Ten noisy means at small budgets.** Noise far wider than the bounds leaves a noisy mean of MODIPS
at one of them, either with probability ½: W/2 from their middle, W their width. Its estimate, the
mean of k sets, has the middle as its expectation, like that of a histogram of nothing but noise, so
that both have the same bias; and it has a standard deviation of W/(2√k), while the histogram's
estimate hardly varies. So MODIPS has the smaller RMSE where a mean is farther than about W/(2√k)
from the middle; k is about half of ten sets, as the others have no record in the cell.

**Cells without records.** At such budgets a cell has records in a set with probability about ½, as
its noisy count is positive or not. A mean is pooled over the k sets that have some, at least two of
ten. With probability 2^(1 − k) all of them are at the same bound: then they do not differ, and the
interval misses. With k binomial(10, ½), given k ≥ 2, that is 10 % of all intervals.
"""

from __future__ import annotations

import math

from understudy_studies.framework.verdict_causes import (
    Cause,
    contradiction,
    difference,
    reading,
    wording,
)


def of_sets_at_one_bound(sets: int = 10) -> float:
    """Probability that all sets with records of a cell have its mean at one bound, as ε vanishes.

    Example:
        >>> round(of_sets_at_one_bound(), 3)
        0.102
    """
    weights = [math.comb(sets, k) / 2**sets for k in range(sets + 1)]
    missed: float = sum(math.ldexp(weight, 1 - k) for k, weight in enumerate(weights) if k >= 2)
    return float(missed / sum(weights[2:]))


MEANS_BIASED = wording(
    "it does from about ε = e on. With smaller budgets noisy means of MODIPS lie at the bounds and "
    "the histogram is uniform, so that the middle of the bounds is the expectation of both, and "
    "their biases are alike wherever the means are; see “Other populations”."
)
MEANS_APART = reading(
    "the means of the cells are lost. With small budgets a noisy mean of MODIPS lies at either "
    "bound, which gives the half of ten sets that have records in a cell an error of W/(2√5), 1.7 "
    "here, while the error of the histogram is the distance of a mean from the middle of the "
    "bounds, at most 1 here. With means farther away MODIPS has the smaller RMSE from log ε = 2 "
    "on; see “Other populations”. (Of study 2, §4.2 itself says that with small budgets RMSE is "
    "smaller with histograms.)"
)
MEANS_COVERED = reading(
    "how a set without records in a cell enters is lost. Here a mean is pooled over the sets that "
    "have some; with small budgets that is half of them (table of empty cells), and in "
    f"{100 * of_sets_at_one_bound():.0f} % of cases all of these are at one bound, where their "
    "interval misses. From log ε = 2 on the point holds; see “Means of cells by budget”."
)
MEANS_UNDERCOVERED = reading(
    "the means of the cells are lost. The farther they are from the middle of the bounds, the less "
    "the histogram covers; see “Other populations”, where it is below 93 % up to log ε = 2."
)
MEANS_END = contradiction(
    "numbers are spread over bins, which §4.3 itself gives as the reason why variances never come "
    "to those of the data. In a cell of few records bins are wide, and ten sets are drawn: RMSE is "
    "√(1 + r + (1 + 2r)/10) times that of the data, r = h²/(12σ²); see “Means from bins”."
)
SHARES_APART = difference(
    "with the smallest budgets both know next to nothing of the shares, and with the largest both "
    "draw ten sets from them. Between these the histogram is better, as half of its budget is for "
    "counts, and a sixth of that of MODIPS; see “Shares by budget”."
)
SMALL_CELLS = difference(
    "with small budgets the counts of all cells are noise, and their expected share is 1/24, "
    "whatever it was: the rarest and the commonest cells are biased by .035, more than the "
    "standard error of ten sets, about .02. Shares of levels, sums of many cells, are hardly "
    "biased. See “Shares by budget”."
)
PRODUCT_COVERED = difference(
    "places within bins are independent of each other, so that spreading numbers over bins widens "
    "variances and not the covariance, which comes to its value as noise vanishes. See σ₁₂ in "
    "“Other populations”."
)
_UNKNOWN = (
    "it does from log ε = 2 on. With smaller budgets neither knows anything of the covariance, the "
    "expectation of both is 0, and their errors are alike, in any population"
)
OF_COVARIANCE: dict[str, Cause] = {
    "σ₁₂": wording(
        f"{_UNKNOWN}; and with the largest, places within bins do not bias it, so that both come "
        "to the data; see “Other populations”."
    ),
    "ρ": wording(f"{_UNKNOWN}; see “Other populations”."),
}
