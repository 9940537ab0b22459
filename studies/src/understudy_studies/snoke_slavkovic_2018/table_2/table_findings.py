"""What was found beyond the points that the paper makes about its table 2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy._arrays import Floats
from understudy_studies.framework.result_curves import Curves, plain, span
from understudy_studies.snoke_slavkovic_2018 import candidates, comparators, methods
from understudy_studies.snoke_slavkovic_2018.conditions import CONDITIONS, PAPER, PRUNED
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS
from understudy_studies.snoke_slavkovic_2018.table_2 import paper
from understudy_studies.snoke_slavkovic_2018.table_2.simulation import GREEDY, ODDS, WALKS

_POINT = (PAPER,)
_PUBLISHED = methods.published(None, methods.SETS)


def findings(curves: Curves) -> Iterator[str]:
    """What was found beyond the paper’s points."""

    def mean(method: str, estimand: str = GREEDY) -> Floats:
        return curves.along("mean", _POINT, estimand, method)

    grids = np.concatenate([mean(one)[curves.budgets >= 0.5] for one in methods.STRICT[:3]])
    columns, best = mean(methods.COLUMNS), paper.means(methods.PAPER)
    yield (
        f"With exact trees, the proven sensitivity n/(n + 1) and one public grid of "
        f"{candidates.CANDIDATES:,} points of the prior, the grid is what limits the mechanism, "
        f"and hardly the budget: from ε = 0.5 on its mean pMSE is {span(grids, '.3f')}. Column by "
        f"column, each at half of the budget, it goes from {columns[0]:.3f} at ε = 0.25 to "
        f"{columns[-1]:.3f} at ε = 4, with a proven guarantee; the published values go from "
        f"{best[0]:.3f} to {best[-1]:.3f}."
    )
    many = mean(_PUBLISHED)
    yield (
        f"As published, with n = {N_ROWS:,} and m = {methods.SETS}, its mean pMSE is "
        f"{' / '.join(f'{one:.3f}' for one in many)}, where the paper has "
        f"{' / '.join(f'{one:.3f}' for one in best)}. The promise is violated, since greedy trees "
        "exceed the bound 1/n behind the exponent."
    )
    pruned = curves.along("mean", (PRUNED,), GREEDY, methods.NON_PRIVATE)
    without = paper.means(methods.NON_PRIVATE)
    yield (
        "No single c gives tables 1 and 2 by trees that stop. Trees that are pruned at c = "
        f"{CONDITIONS[PRUNED].complexity:g}, one of those that fit table 1, have a mean pMSE of "
        f"{pruned[0]:.4f} without privacy, where the paper has {without[0]:.4f}, and values much "
        "like those of table 2 (sensitivity table); but by pruning the rates of table 1 are far "
        "off (`pmse-failure`)."
    )
    whole, each, fitted = (
        mean(one) for one in (methods.SMOOTHED, methods.PER_RECORD, methods.AS_PRINTED)
    )
    theirs = paper.means(methods.SMOOTHED)
    yield (
        "The smoothed histogram of the paper cannot be one whose n records cost ε together. There "
        "the uniform law has a share of about K/(K + ε) for K bins, whatever n is, and the mean "
        f"pMSE hardly moves: {span(whole, '.3f')}. With {comparators.PRINTED_BINS} bins a side and "
        "a weight of 1/ε a bin, at which each record costs log(1 + ε) and the set n times as much, "
        f"it goes from {fitted[0]:.3f} to {fitted[-1]:.3f}, as the paper’s goes from "
        f"{theirs[0]:.3f} to {theirs[-1]:.3f}; with ε a record and bins by Scott’s rule from "
        f"{each[0]:.3f} to {each[-1]:.3f}."
    )
    odds = mean(_PUBLISHED, ODDS)
    yield (
        "The published prior, read as normal with standard deviation 1,000, is not harmless. Its "
        "mass near the data, tilted as published, is to that where all trees part synthetic from "
        f"original records like {_power(odds[0])} to 1 at ε = 0.25, {_power(odds[1])} to 1 at "
        f"ε = 0.5 and {_power(odds[2])} to 1 at ε = 1 (m = {methods.SETS}). Where these odds are "
        "small, a walk that follows the law long enough leaves the data for good, and good results "
        "can only come from walks that had not left their start."
    )
    short, long = (mean(methods.walking(steps)) for steps in WALKS)
    yield (
        f"Walks from the fitted parameters show it: at ε = 0.25, m = {methods.SETS}, after "
        f"{min(WALKS):,} steps the mean pMSE is {short[0]:.3f}, after {max(WALKS):,} it is "
        f"{long[0]:.3f}. At ε = 1: {short[2]:.3f} and {long[2]:.3f}."
    )


def _power(exponent: float) -> str:
    """A power of ten, as far as the exponent is known.

    Example:
        >>> _power(-12.7)
        '10^−13'
    """
    return "unknown" if np.isnan(exponent) else f"10^{plain(round(exponent))}"
