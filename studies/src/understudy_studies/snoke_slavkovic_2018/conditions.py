"""Under which conditions the paper's comparisons are made: its own, as far as known, and others.

**n and m.** The numbers of records and of sets are lost from the text that we have. Two columns of
the paper's table 2 tell n/m: noise of noisy Bayes has a scale in ε·n/m, and the exponent of the
mechanism is ε·n·pMSE/(2m). Both fit n/m = 500; m = 10 and n = 5,000 are the round numbers that do.
With n = 5,000, and one rule for the trees, the rates of table 1 come out too (`bound_violations`).

**Trees.** The paper has greedy trees with "a complexity parameter requiring a certain percentage
improvement in order to make an additional split" (§5): a split must gain more than a share c of the
impurity of the root. That is the rule "stop", which all studies of this paper have, and the method
`pmse` with `mode=paper`. The values of c are lost. Table 1 has two of them (fitted to its rates in
`bound_violations`); that of §6 and §7 is fitted so that sets without privacy have the printed mean
pMSE, .0066, which depends on n. The other rule, "prune", is that of rpart, and is asked beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from understudy.papers.trees_greedy import Greedy
from understudy_studies.measures.cart_path import GreedyFamily
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS


@dataclass(frozen=True)
class Condition:
    """Records, sets and trees of a comparison.

    Attributes:
        n_rows: n.
        sets: numbers of sets m, the first for the paper's methods.
        complexity: c of greedy trees.
        rule: what c means, see `understudy.papers.trees_greedy.Greedy`.
        worlds: simulated sets of a candidate, over which its pMSE is averaged.
    """

    n_rows: int
    sets: tuple[int, ...]
    complexity: float
    rule: Literal["stop", "prune"] = "stop"
    worlds: int = 12

    def trees(self, *depths: int | None) -> GreedyFamily:
        """Greedy trees of some depths; None for no limit."""
        return GreedyFamily(
            tuple(
                Greedy(depth=depth, complexity=self.complexity, rule=self.rule) for depth in depths
            )
        )

    @cached_property
    def unlimited(self) -> GreedyFamily:
        """Greedy trees without limit of depth."""
        return self.trees(None)


PAPER = "n = 5,000"
SMALLER, SMALLEST = "n = 1,000", "n = 500"
PRUNED = "n = 5,000, pruned trees"
LARGER_C = "n = 5,000, c of table 1"

CONDITIONS = {
    PAPER: Condition(N_ROWS, (methods.SETS, 1), 0.00036),
    SMALLER: Condition(1_000, (methods.SETS, 2, 1), 0.0021),
    SMALLEST: Condition(500, (1,), 0.0046),
    PRUNED: Condition(N_ROWS, (methods.SETS,), 0.0006, "prune", worlds=2),
    LARGER_C: Condition(N_ROWS, (methods.SETS,), 0.0005, worlds=6),
}
"""The paper's condition first, then those that show what hangs on it."""
