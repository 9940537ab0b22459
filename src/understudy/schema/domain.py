"""The cells of the full cross-tabulation, and of tables: how many there are, which are impossible.

A cell is one state for each column. Rules declare boxes of cells that cannot occur. Everything
here is public: it follows from the schema alone.

Counting the allowed cells and drawing them walk the columns with a *live set* of rules
(below), whatever the number of cells.

**Live sets: the rules that every state of a cell so far has matched.**

A cell is forbidden as soon as a rule is live after its last column. The number of distinct live
sets, not the number of cells, bounds the work, so 10¹² cells and more cost no more than a few.

**Dense tables stand one after the other** where rows are counted into all of them. The kernel needs
one compiled form for each width of code and of cell, whoever counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import compiled
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


Uniforms = Callable[[int], NDArray[np.float64]]

_SWEEPS, _CLOSE, _STILL = 200, 1e-4, 1e-6
"""Of raked weights: most sweeps, largest difference of shares that is left alone, and change of it
in a sweep below which no further one follows."""


@dataclass(frozen=True)
class Domain:
    """Sizes of the columns and the forbidden boxes over them.

    Attributes:
        sizes: number of states of each column.
        boxes: each maps a column index to the states concerned; a cell in all of them is forbidden.
    """

    sizes: tuple[int, ...]
    boxes: tuple[dict[int, frozenset[int]], ...] = ()

    @property
    def n_cells(self) -> int:
        """All cells, forbidden ones included; exact for any size."""
        product = 1
        for size in self.sizes:
            product *= size
        return product

    @cached_property
    def n_allowed(self) -> int:
        """Cells that can occur, counted exactly; only live sets of rules are enumerated.

        Raises:
            SchemaError: the rules interlock in more ways than can be kept track of.
        """
        if not self.boxes:
            return self.n_cells
        ones = [np.ones(size, dtype=object) for size in self.sizes]
        return int(self._live.futures(ones)[0].get(self._live.all_live, 0))

    def project(self, columns: Sequence[int]) -> Domain:
        """The domain of some columns, with the rules that mention no other column."""
        place = {column: k for k, column in enumerate(columns)}
        boxes = tuple(
            {place[column]: states for column, states in box.items()}
            for box in self.boxes
            if box.keys() <= place.keys()
        )
        return Domain(tuple(self.sizes[column] for column in columns), boxes)

    def fix_states(self, states: Sequence[int]) -> Domain:
        """The domain of the columns that are left open when the others have these states.

        Args:
            states: a state for each column, negative where it is open.

        Returns:
            A domain of the open columns, in their order; one without cells if nothing is allowed.

        Example:
            >>> domain = Domain((2, 3), ({0: frozenset({1}), 1: frozenset({0, 2})},))
            >>> domain.fix_states((1, -1)).n_allowed
            1
        """
        open_columns = [j for j, state in enumerate(states) if state < 0]
        place = {column: k for k, column in enumerate(open_columns)}
        boxes = []
        for box in self.boxes:
            if all(states[j] in box[j] for j in box if j not in place):
                boxes.append({place[j]: box[j] for j in box if j in place})
        if {} in boxes:
            return Domain((0,))
        return Domain(tuple(self.sizes[j] for j in open_columns), tuple(boxes))

    def find_forbidden(self, columns: Sequence[NDArray[np.integer]]) -> NDArray[np.bool_]:
        """Find the records that lie in a forbidden box.

        Args:
            columns: one array of states per column, all of shape (n,).

        Returns:
            Shape (n,). Out-of-domain states (equal to the size) match no rule.
        """
        result = np.zeros(len(columns[0]) if columns else 0, dtype=np.bool_)
        for box in self.boxes:
            result |= box_contains(box, self.sizes, columns)
        return result

    def open_states(
        self, column: int, columns: Sequence[NDArray[np.integer]]
    ) -> NDArray[np.bool_] | None:
        """Find the states of a column that leave a record allowed, given its other columns.

        Args:
            column: place of the column.
            columns: states of allowed records, one array per column, each of shape (n,).

        Returns:
            Shape (n, size); None if no rule mentions the column, so that all states do.

        Example:
            >>> domain = Domain((2, 3), ({0: frozenset({1}), 1: frozenset({0, 2})},))
            >>> domain.open_states(1, [np.array([0, 1]), np.array([0, 1])]).tolist()
            [[True, True, True], [False, True, False]]
        """
        boxes = [box for box in self.boxes if column in box]
        if not boxes:
            return None
        mask = np.ones((len(columns[0]), self.sizes[column]), dtype=np.bool_)
        for box in boxes:
            others = {j: states for j, states in box.items() if j != column}
            rows = np.flatnonzero(box_contains(others, self.sizes, columns))
            mask[rows[:, None], np.array(sorted(box[column]))] = False
        return mask

    def allowed_mask(self) -> NDArray[np.bool_]:
        """Dense array of shape `sizes`: True where a cell can occur. For small domains."""
        mask = np.ones(self.sizes, dtype=np.bool_)
        for box in self.boxes:
            index = [sorted(box.get(j, range(size))) for j, size in enumerate(self.sizes)]
            mask[np.ix_(*index)] = False
        return mask

    @cached_property
    def allowed_codes(self) -> NDArray[np.int64]:
        """Mixed-radix numbers of the cells that can occur, ascending. For small domains."""
        codes = np.flatnonzero(self.allowed_mask())
        codes.setflags(write=False)
        return codes

    def cells(self, numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The allowed cells with these numbers, counted in mixed-radix order past forbidden ones.

        A uniform number thus becomes a uniform allowed cell, exactly.

        Args:
            numbers: from 0 to n_allowed − 1, shape (n,); n_allowed at most 2⁶².

        Returns:
            One array of states per column, each of shape (n,).
        """
        futures = self._live.futures([np.ones(size, dtype=object) for size in self.sizes])
        ahead, live = numbers.copy(), np.zeros_like(numbers)
        result: list[NDArray[np.int64]] = []
        for j in range(len(self.sizes)):
            distinct, by_state = self._live.signatures[j]
            groups, later = sorted(futures[j]), sorted(futures[j + 1])
            states, following = np.zeros_like(ahead), np.zeros_like(ahead)
            for g in np.unique(live):
                steps = [self._live.step(j, groups[g], signature) for signature in distinct]
                known = [0 if s is None else int(futures[j + 1][s]) for s in steps]
                cells = np.array(known, dtype=np.int64)[by_state]  # behind each state
                ends, rows = np.cumsum(cells), np.flatnonzero(live == g)
                chosen = np.searchsorted(ends, ahead[rows], side="right")
                ahead[rows] -= ends[chosen] - cells[chosen]
                states[rows] = chosen
                places = np.array([-1 if s is None else later.index(s) for s in steps])
                following[rows] = places[by_state[chosen]]
            result.append(states)
            live = following
        return result

    def draw(
        self, n: int, uniforms: Uniforms, weights: Sequence[NDArray[np.float64]] | None = None
    ) -> list[NDArray[np.int64]]:
        """Draw allowed cells: uniformly, or with probability ∝ the product of column weights.

        Exact conditioning on the rules, without rejection: suffix sums over live sets, then one
        column after the other.

        Args:
            n: number of cells, drawn independently.
            uniforms: source of uniform numbers in (0, 1), called with how many are needed.
            weights: one array of non-negative weights per column, shape (size,); uniform if None.

        Returns:
            One array of states per column, each of shape (n,). If no allowed cell has positive
            weight, the draw is uniform over the allowed cells.

        Raises:
            ValueError: no cell is allowed.
        """
        plain = [np.full(size, 1 / size) for size in self.sizes]
        used = plain if weights is None else [_share(w) for w in weights]
        futures = self._live.futures(used)
        if not futures[0].get(self._live.all_live, 0) > 0:
            used, futures = plain, self._live.futures(plain)
        if not futures[0].get(self._live.all_live, 0) > 0:
            raise ValueError("the rules forbid every cell, so none can be drawn")
        live = np.zeros(n, dtype=np.int64)  # place of each draw's live set in `sorted(futures[j])`
        result: list[NDArray[np.int64]] = []
        for j, weight in enumerate(used):
            states, live = self._draw_column(j, live, weight, futures, uniforms)
            result.append(states)
        return result

    def rake(self, shares: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Weights of the product that has these shares in each column, given the rules.

        A product that is conditioned on the rules no longer has the shares that it was made of:
        what a rule forbids is missing from every column in it. Weights are scaled column by column
        until shares are as wanted (iterative proportional fitting, Deming & Stephan 1940), each
        time exactly, by the sums over live sets before and behind the column. Shares that the rules
        make contradict each other, as noisy ones do a little, are met as nearly as sweeps go.

        Args:
            shares: one array of non-negative weights per column, shape (size,).

        Returns:
            Weights for `draw`, a share each; the shares themselves if no allowed cell has weight.

        Example:
            >>> domain = Domain((2, 2), ({0: frozenset({0}), 1: frozenset({1})},))
            >>> weights = domain.rake([np.array([0.5, 0.5]), np.array([0.8, 0.2])])
            >>> drawn = domain.draw(10_000, np.random.default_rng(1).random, weights)
            >>> [round(float(column.mean()), 1) for column in drawn]
            [0.5, 0.2]
        """
        wanted = [_share(share) for share in shares]
        weights, gap = [*wanted], math.inf
        for _ in range(_SWEEPS):
            futures, before = self._live.futures(weights), gap
            if not futures[0].get(self._live.all_live, 0) > 0:
                return wanted
            gap = self._scale(weights, wanted, futures)
            if gap < _CLOSE or abs(gap - before) < _STILL:
                break
        return weights

    def _scale(
        self,
        weights: list[NDArray[np.float64]],
        wanted: Sequence[NDArray[np.float64]],
        futures: Sequence[dict[int, float]],
    ) -> float:
        """One sweep over the columns, in place; the largest difference of a share that it met."""
        past, gap = {self._live.all_live: 1.0}, 0.0
        for j, target in enumerate(wanted):
            distinct, by_state = self._live.signatures[j]
            reach, steps = np.zeros(len(distinct)), []
            for place, signature in enumerate(distinct):
                for live, mass in past.items():
                    step = self._live.step(j, live, signature)
                    if step is not None:
                        reach[place] += mass * futures[j + 1][step]
                        steps.append((place, step, mass))
            share = weights[j] * reach[by_state]
            share /= share.sum()
            gap = max(gap, float(np.abs(share - target).max()))
            factor = np.divide(target, share, out=np.ones_like(share), where=share > 0)
            weights[j] = _share(weights[j] * factor)
            passed = np.bincount(by_state, weights[j], minlength=len(distinct))
            past = {}
            for place, step, mass in steps:
                past[step] = past.get(step, 0.0) + mass * float(passed[place])
            largest = max(past.values())
            past = {step: mass / largest for step, mass in past.items() if mass > 0}
        return gap

    def has_weight(self, weights: Sequence[NDArray[np.generic]]) -> bool:
        """Return whether some allowed cell has a weight, the product over its states, above 0.

        Args:
            weights: as for `draw`.
        """
        return bool(self._live.futures(weights)[0].get(self._live.all_live, 0) > 0)

    @cached_property
    def _live(self) -> LiveSets:
        return LiveSets(self.sizes, self.boxes)

    def _draw_column(
        self,
        j: int,
        live: NDArray[np.int64],
        weights: NDArray[np.float64],
        futures: list[dict[int, float]],
        uniforms: Uniforms,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """States of column j for every draw, and the live sets afterwards."""
        distinct, by_state = self._live.signatures[j]
        groups = sorted(futures[j])
        place = {step: k for k, step in enumerate(sorted(futures[j + 1]))}
        states, next_live = np.zeros_like(live), np.zeros_like(live)
        u = uniforms(len(live))
        for g in np.unique(live):
            steps = [self._live.step(j, groups[g], signature) for signature in distinct]
            future = [0.0 if s is None else float(futures[j + 1][s]) for s in steps]
            mass = weights * np.array(future)[by_state]
            rows = np.flatnonzero(live == g)
            states[rows] = _pick(mass, u[rows])
            next_places = np.array([-1 if s is None else place[s] for s in steps])
            next_live[rows] = next_places[by_state[states[rows]]]
        return states, next_live


def _pick(mass: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.int64]:
    """States drawn with probability ∝ mass, by inversion; never one of mass zero."""
    edges = np.cumsum(mass)
    picked = np.searchsorted(edges, u * edges[-1], side="right")
    last = int(np.flatnonzero(mass)[-1])  # rounding must not carry u onto a mass of zero
    clipped: NDArray[np.int64] = np.minimum(picked, last)
    return clipped


def _share(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights as shares, so that products over many columns neither overflow nor vanish."""
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))


def box_contains(
    box: dict[int, frozenset[int]],
    sizes: Sequence[int],
    columns: Sequence[NDArray[np.integer]],
) -> NDArray[np.bool_]:
    """Find the records (states per column, shape (n,)) that lie in one forbidden box."""
    inside = np.ones(len(columns[0]), dtype=np.bool_)
    for j, states in box.items():
        table = np.zeros(sizes[j] + 1, dtype=np.bool_)
        table[list(states)] = True
        inside &= table[columns[j]]
    return inside


Codes = Sequence[NDArray[np.integer[Any]]]


def completions(
    domain: Domain, given: Sequence[int], states: Codes
) -> Iterator[tuple[NDArray[np.int64], Domain]]:
    """Records in groups, each with the domain of the columns that are open.

    What is left depends only on which rules a record has matched so far, so that there are as many
    groups as records differ in that, however many there are.

    Args:
        domain: of all columns.
        given: places of the columns that records have.
        states: of these columns, within their sizes, each of shape (n,).

    Yields:
        Numbers of the records of a group, ascending, and the domain of the other columns in their
        order; it has no allowed cell where the rules leave nothing.

    Example:
        >>> domain = Domain((2, 3), ({0: frozenset({1}), 1: frozenset({0, 2})},))
        >>> for rows, left in completions(domain, [0], [np.array([1, 0, 1])]):
        ...     print(rows.tolist(), left.n_allowed)
        [1] 3
        [0, 2] 1
    """
    n = len(states[0]) if states else 0
    columns = [np.full(n, size) for size in domain.sizes]
    for place, codes in zip(given, states, strict=True):
        columns[place] = np.asarray(codes, dtype=np.int64)
    groups = np.zeros(n, dtype=np.int64)
    for box in domain.boxes:
        known = {place: box[place] for place in box if place in given}
        inside = box_contains(known, domain.sizes, columns)
        _, groups = np.unique(2 * groups + inside, return_inverse=True)
    for group in range(int(groups.max(initial=-1)) + 1):
        rows = np.flatnonzero(groups == group)
        first = rows[0]
        fixed = [int(column[first]) if j in given else -1 for j, column in enumerate(columns)]
        yield rows, domain.fix_states(fixed)


BLOCK_ROWS = 2**12
"""Rows whose cell indices are computed at once: the indices stay in the first-level cache."""


class StackedTables(NamedTuple):
    """Where the tables lie and which columns they are made of.

    Attributes:
        offsets: Table ``t`` is ``counts[offsets[t]:offsets[t + 1]]``, its last column fastest.
        starts: Table ``t`` has the columns ``slots[starts[t]:starts[t + 1]]``.
        slots: Places of columns among those that are used, table after table.
        radices: Number of values of the column in each slot, in the type of the cell indices.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    slots: NDArray[np.int64]
    radices: NDArray[np.unsignedinteger]

    @classmethod
    def of(
        cls, tables: Sequence[tuple[int, ...]], sizes: Sequence[int]
    ) -> tuple[StackedTables, tuple[int, ...]]:
        """Lay out tables; also the columns that they use, in the order of the slots.

        Args:
            tables: Column indices of each, at most 2³² cells.
            sizes: Number of values of each column.
        """
        used = sorted({j for table in tables for j in table})
        flat = [j for table in tables for j in table]
        cells = [math.prod(sizes[j] for j in table) for table in tables]
        index_type = np.uint16 if max(cells, default=1) <= 2**16 else np.uint32
        layout = cls(
            offsets=_starts(cells),
            starts=_starts([len(table) for table in tables]),
            slots=np.searchsorted(np.array(used, dtype=np.int64), np.array(flat, dtype=np.int64)),
            # A radix of 2^16 wraps to 0, rightly: its column is then the only one that varies.
            radices=np.array([sizes[j] for j in flat], dtype=np.int64).astype(index_type),
        )
        return layout, tuple(used)

    def add(
        self,
        codes: NDArray[np.unsignedinteger],
        rows: int,
        counts: NDArray[np.uint32 | np.int64],
    ) -> None:
        """Add rows to all tables.

        Args:
            codes: Of the used columns, shape ``(n_used_columns, capacity)``; not checked.
            rows: How many of them to count.
            counts: All tables, flat; incremented in place.
        """
        _count_rows(codes, rows, self, counts, np.zeros(BLOCK_ROWS, dtype=self.radices.dtype))


def table_counts(
    states: NDArray[np.integer],
    sizes: Sequence[int],
    tables: Sequence[tuple[int, ...]],
    *,
    weight: float = 1.0,
) -> NDArray[np.float32]:
    """Weighted counts of every cell of several tables.

    Args:
        states: of records, shape (columns, n).
        sizes: number of states of each column.
        tables: columns of each.
        weight: of a record.

    Returns:
        All tables, one after the other, each in C order.

    Example:
        >>> table_counts(np.array([[0, 1, 1], [0, 0, 1]]), (2, 2), [(0,), (0, 1)]).tolist()
        [1.0, 2.0, 1.0, 0.0, 1.0, 1.0]
    """
    layout, used = StackedTables.of(tables, sizes)
    codes = np.empty((len(used), states.shape[1]), dtype=code_type([sizes[j] for j in used]))
    for slot, j in enumerate(used):
        codes[slot] = states[j]
    counts = np.zeros(int(layout.offsets[-1]), dtype=np.uint32)
    layout.add(codes, states.shape[1], counts)
    return np.multiply(counts, np.float32(weight), dtype=np.float32)


def code_type(sizes: Sequence[int]) -> np.dtype[np.unsignedinteger]:
    """The smallest type that holds the codes of columns of such sizes."""
    return np.min_scalar_type(max(sizes, default=1) - 1)


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Start of each of several consecutive runs, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)


@compiled
def _count_rows(
    stage: NDArray[np.unsignedinteger],
    rows: int,
    layout: StackedTables,
    counts: NDArray[np.uint32 | np.int64],
    index: NDArray[np.unsignedinteger],
) -> None:
    """Add rows to all tables.

    The index loops run over contiguous memory and vectorise; only the increments are scattered.

    Args:
        stage: Codes, shape ``(n_used_columns, capacity)``.
        rows: How many of them to count.
        layout: The tables.
        counts: All tables, flat; incremented in place.
        index: Scratch for cell indices; its length is the number of rows treated at once.
    """
    for t in range(len(layout.offsets) - 1):
        table = counts[layout.offsets[t] : layout.offsets[t + 1]]
        for begin in range(0, rows, len(index)):
            n = len(index) if len(index) < rows - begin else rows - begin
            index[:n] = 0
            for k in range(layout.starts[t], layout.starts[t + 1]):
                codes = stage[layout.slots[k], begin : begin + n]
                radix = layout.radices[k]
                for i in range(n):
                    index[i] = index[i] * radix + codes[i]
            for i in range(n):
                table[index[i]] += 1
