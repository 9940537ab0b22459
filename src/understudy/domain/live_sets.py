"""Live sets: the rules that every state of a cell so far has matched.

A cell is forbidden as soon as a rule is live after its last column. The number of distinct live
sets, not the number of cells, bounds the work, so 10¹² cells and more cost no more than a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError

# Counting cells under rules that interlock freely is #P-hard; give up before memory does.
MAX_LIVE_SETS = 100_000


@dataclass(frozen=True)
class LiveSets:
    """The live sets of a domain, as bits: one for each of its boxes.

    Attributes:
        sizes: number of states of each column.
        boxes: each maps a column index to the states concerned; a cell in all of them is forbidden.
    """

    sizes: tuple[int, ...]
    boxes: tuple[dict[int, frozenset[int]], ...]

    @property
    def all_live(self) -> int:
        """Every rule: the live set before the first column."""
        return (1 << len(self.boxes)) - 1

    @cached_property
    def signatures(self) -> list[tuple[list[int], NDArray[np.int64]]]:
        """For each column: the sets of rules (as bits) that a state can leave live, and by state.

        The second item holds, for each state, the place of its set in the first.
        """
        return [self._column_signatures(j) for j in range(len(self.sizes))]

    def _column_signatures(self, j: int) -> tuple[list[int], NDArray[np.int64]]:
        by_state = [self.all_live] * self.sizes[j]
        for r, box in enumerate(self.boxes):
            for state in set(range(self.sizes[j])) - box.get(j, frozenset(range(self.sizes[j]))):
                by_state[state] &= ~(1 << r)
        distinct = sorted(set(by_state))
        place = {signature: k for k, signature in enumerate(distinct)}
        return distinct, np.array([place[signature] for signature in by_state], dtype=np.int64)

    @cached_property
    def _ending(self) -> list[int]:
        """For each column, the rules (as bits) of which it is the last."""
        ending = [0] * len(self.sizes)
        for r, box in enumerate(self.boxes):
            ending[max(box)] |= 1 << r
        return ending

    def step(self, j: int, live: int, signature: int) -> int | None:
        """The live set after column j; None if a rule is complete, so the cell is forbidden."""
        after = live & signature
        return None if after & self._ending[j] else after

    @cached_property
    def _reachable(self) -> list[set[int]]:
        """Live sets of allowed cells that can stand before each column, and after the last one."""
        levels = [{self.all_live}]
        for j, (distinct, _) in enumerate(self.signatures):
            level: set[int] = set()
            for signature in distinct:
                steps = (self.step(j, live, signature) for live in levels[-1])
                level.update(step for step in steps if step is not None)
                if len(level) > MAX_LIVE_SETS:
                    raise SchemaError(
                        "The forbidden combinations interlock in too many ways; use fewer rules, "
                        "or put columns that stand in one rule next to each other."
                    )
            levels.append(level)
        return levels

    def futures(self, weights: Sequence[NDArray[np.generic]]) -> list[dict[int, float]]:
        """Total weight of allowed completions, by column and live set."""
        levels: list[dict[int, float]] = [dict.fromkeys(self._reachable[-1], 1)]
        for j in range(len(self.sizes) - 1, -1, -1):
            distinct, by_state = self.signatures[j]
            mass = dict.fromkeys(distinct, 0)
            for place, weight in zip(by_state.tolist(), weights[j].tolist(), strict=True):
                mass[distinct[place]] += weight
            after = levels[-1]
            levels.append(
                {
                    live: sum(
                        w * after.get(step, 0)
                        for signature, w in mass.items()
                        if (step := self.step(j, live, signature)) is not None
                    )
                    for live in self._reachable[j]
                }
            )
        return levels[::-1]
