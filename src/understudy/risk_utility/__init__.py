"""R-U maps: the risk of a release against its utility, by method and budget.

Each method is run at each budget, several times, and every release is scored on two axes: what an
intruder gains (the budget ε itself, or a measured risk), and what an analyst loses. A map shows
where the lines of the methods lie; lower left is better.

**A map is internal.** It is computed from the rows without a budget, so it, and a choice of ε or of
a method that follows from it, is outside any ε. Draw it on public rows, on simulated ones, or on a
release of an earlier year with the same schema.

For the same reason the noise of these releases need not be secret: none of them is ever written or
published. It is seeded, and the same seed gives the same map.

Sources:
    Duncan, Keller-McNulty & Stokes (2001), "Disclosure Risk vs. Data Utility: The R-U
    Confidentiality Map", National Institute of Statistical Sciences; used for perturbed Gibbs
    samplers by Park & Ghosh (2014), section 4.3.
"""

from understudy.risk_utility.map_design import Design
from understudy.risk_utility.map_results import Interval, Point, Tradeoff
from understudy.risk_utility.risk_utility_map import DEFAULT_METHODS, tradeoff

__all__ = ["DEFAULT_METHODS", "Design", "Interval", "Point", "Tradeoff", "tradeoff"]
