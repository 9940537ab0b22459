"""Records drawn column by column from hashed rows, exactly: what all sweeps share.

A *chain* starts at a seed. A step draws one column again, given what stands in the key columns;
when all columns had their turn (once in each sweep) the record is complete, and the next one of the
chain goes on from there. With S the states of the column that structural zeros leave open, the
other columns being as they are, and n_v the real records of the row with state v, state v ∈ S has

    P(v) = (n_v + α) / Σ_{u ∈ S} (n_u + α).

A row that does not exist holds no record: uniform over S. *Resetting* chains draw each row once;
from then on, and until the chain ends, that row is uniform too. Weights may also differ by state,
α_v for α (`state_weights`); what is uniform above is then in proportion to them.

**Exactness.** With α = A/2ᵏ a step is one uniform integer below |S|·A + 2ᵏ·Σ n_u. The first |S|·A
belong to the open states, A each; of the rest 2ᵏ belong to each real record of the row that is in
an open state. Nothing is rejected but words that would favour some integers, nothing is rounded.

A step is a function of the word stream. When a buffer of words ends within a step, that step is
repeated on the same words and fresh ones behind them; starting it again would favour draws that
need few words. Totals stay below 2⁶³ as long as |S|·A ≤ 2⁶¹ (`require_small`) and a row has fewer
than 2⁶²⁻ᵏ records: 4·10¹² of them, more than any machine holds, with the k ≤ 20 of `state_weight`.

With weights α_v = A_v/2ᵏ the first Σ A_v belong to the open states, A_v each.

Cost: a word and a binary search among the occupied rows for each step.

**The compiled steps of chains; their distribution, and why they are exact, stand above.**

`cursor` holds the index of the next word. Past the end words read as 0, and the step is dropped.

**Hashed tables: what real records hold in one column, by the states of some others.**

The *row* of a key counts the real records with this key by their state in the column. Only rows
with a record in them are kept: a hashed table is nothing but the occupied cells of the contingency
table of key columns and column, ordered by key. Its memory is 8 bytes for each occupied row and 20
for each occupied cell, whatever the number of possible keys is. CONFIDENTIAL, all of it.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3.2 ("statistical building blocks").

**Weights that are added to the states of hashed rows: all alike, or in proportion to marginals.**

A step of perturbed Gibbs sampling draws state v of a column with P(v) ∝ n_v + α_v, n_v the real
records of the row (`perturbed_gibbs`). Three forms of the weights α_v:

* **even**: α_v = α for all states.
* **bought**: α_v ≥ α, in proportion to shares q of the column's states that are public, or were
  released by noisy counts that are paid for. Shares below a tenth of an even one are raised to
  that, so that the weights sum to at most 11 times as much as even ones:

      α_v = α · q'_v / min_u q'_u,    q'_v = max(q_v, 1/(10·C)),  C states.

* **paper**: α_v = C·α·q_v with the exact shares q of the rows: the same sum as even weights.

**Theorem.** With α ≥ 1/(e^ε₀ − 1), *even* and *bought* weights make a step ε₀-DP for adding or
removing a record and for replacing one, and of ε₀-bounded range for the former.

*Proof.* The proof in `perturbed_gibbs` uses of the weights that they are fixed by what is public or
released, and that a = n_w + α_w ≥ α for the state w of the record that comes or goes, and a ≤ N.
Both hold if every α_v ≥ α: the ratio of the two factors is 1 + 1/a ≤ 1 + 1/α_w ≤ 1 + 1/α. A row
that does not exist, or was reset, is drawn by its weights alone, which are public. ∎

So the rarest state sets the price: what is gained for common states is paid with larger weights.

**What the published form leaves in.** Park & Ghosh name weights in proportion to the marginal
distribution as an example, without a proof. Read off the rows, the shares are not paid for; and a
state of share q_v has only C·q_v times the weight of the theorem, so a record in it may cost
log(1 + 1/(C·α·q_v)), above ε₀ where q_v < 1/C. Hence the promise is conditional, and says so.

**Exactness.** Weights are whole multiples of 2⁻²⁰, rounded up, in *paper* at least one.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3.3, who give even weights a proof and name the others. Proof of the others: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Integers, compiled
from understudy.dp.budget import Accounting, Neighbours
from understudy.dp.confidential import CodedView, PublicContext, SecretRows
from understudy.dp.mechanism import Charge
from understudy.dp.randomness import Randomness
from understudy.dp.released import GibbsDraws, Noise, Records
from understudy.dp.sampling import word_below
from understudy.errors import BudgetError, MethodError
from understudy.mechanisms.urn import prior_weight
from understudy.schema import Domain, GibbsSweep

if TYPE_CHECKING:
    from understudy.data.base import ExactCells

_Words = NDArray[np.uint64]
_Tables = tuple[Integers, Integers, NDArray[np.int32], Integers, Integers, int]
"""Keys, first cells, states, records before each cell, weights of rows, and k."""
_Shape = tuple[Integers, Integers, Integers, _Words, Integers, NDArray[np.bool_], Integers]
"""First row of each table, sizes, strides, which rules states can complete (`chains`), and running
sums of the weights of each column's states; none where these do not differ within a row."""


@compiled
def _place(keys: Integers, low: int, high: int, key: int) -> int:
    """Find a key among keys[low:high], ascending; −1 if it is not there (kernel)."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < end and keys[low] == key else -1


@compiled
def _behind(ascending: Integers, low: int, high: int, token: int) -> int:
    """The first of ascending[low:high] above a token, of which there is one (kernel)."""
    while low < high - 1:
        middle = (low + high - 1) >> 1
        if ascending[middle] > token:
            high = middle + 1
        else:
            low = middle + 1
    return low


@compiled
def _weighted_state(
    words: _Words,
    cursor: Integers,
    row: int,
    edges: Integers,
    tables: _Tables,
) -> int:
    """A state where all are open, and weights differ by state (kernel)."""
    _, first, states, before, _, shift = tables
    prior, real, low, high = edges[-1], 0, 0, 0
    if row >= 0:
        low, high = first[row], first[row + 1]
        real = before[high] - before[low]
    token = word_below(words, cursor, prior + (real << shift))
    if token < prior:
        return _behind(edges, 0, edges.size, token)
    record = before[low] + ((token - prior) >> shift)
    return states[_behind(before, low + 1, high + 1, record) - 1]  # type: ignore[no-any-return]


@compiled
def _weighted_open_state(
    source: tuple[_Words, Integers],
    row: int,
    edges: Integers,
    is_open: NDArray[np.bool_],
    tables: _Tables,
) -> int:
    """A state among the open ones, and weights differ by state (kernel)."""
    words, cursor = source
    _, first, states, before, _, shift = tables
    size = is_open.size
    weights = np.zeros(size, dtype=np.int64)
    for state in range(size):
        if is_open[state]:
            weights[state] = edges[state] - (edges[state - 1] if state else 0)
    if row >= 0:
        for cell in range(first[row], first[row + 1]):
            if is_open[states[cell]]:
                weights[states[cell]] += (before[cell + 1] - before[cell]) << shift
    token = word_below(words, cursor, weights.sum())
    for state in range(size):
        token -= weights[state]
        if token < 0:
            return state
    return 0


@compiled
def _any_state(
    words: _Words,
    cursor: Integers,
    row: int,
    size: int,
    tables: _Tables,
) -> int:
    """A state where all are open (kernel)."""
    _, first, states, before, weights, shift = tables
    if row < 0 or weights[row] < 0:
        return word_below(words, cursor, size)
    low, high = first[row], first[row + 1]
    prior = size * weights[row]
    token = word_below(words, cursor, prior + ((before[high] - before[low]) << shift))
    if token < prior:
        return token // weights[row]  # type: ignore[no-any-return]
    record = before[low] + ((token - prior) >> shift)
    while high - low > 1:  # the cell that holds this record
        middle = (low + high) >> 1
        if before[middle] <= record:
            low = middle
        else:
            high = middle
    return states[low]  # type: ignore[no-any-return]


@compiled
def _open_state(
    words: _Words,
    cursor: Integers,
    row: int,
    is_open: NDArray[np.bool_],
    tables: _Tables,
) -> int:
    """A state among the open ones, of which there is at least one (kernel)."""
    _, first, states, before, weights, shift = tables
    n_open, real, weight = is_open.sum(), 0, 1
    low, high = 0, 0
    if row >= 0 and weights[row] >= 0:
        low, high = first[row], first[row + 1]
        for cell in range(low, high):
            if is_open[states[cell]]:
                real += before[cell + 1] - before[cell]
        weight = weights[row] if real > 0 else 1
    token = word_below(words, cursor, n_open * weight + (real << shift))
    if token < n_open * weight:
        rank = token // weight
        for state in range(is_open.size):
            rank -= is_open[state]
            if rank < 0:
                return state
    record = (token - n_open * weight) >> shift
    for cell in range(low, high):
        if is_open[states[cell]]:
            record -= before[cell + 1] - before[cell]
            if record < 0:
                return states[cell]  # type: ignore[no-any-return]
    return 0


@compiled
def _open_states(
    record: Integers, column: int, size: int, marks: _Words, offsets: Integers
) -> NDArray[np.bool_]:
    """Find the states of a column that complete no rule, given the other columns (kernel)."""
    is_open = np.ones(size, dtype=np.bool_)
    for w in range(marks.shape[1]):
        live = ~np.uint64(0)
        for j in range(record.size):
            if j != column:
                live &= marks[offsets[j] + record[j], w]
        if live != 0:
            for state in range(size):
                if live & marks[offsets[column] + state, w] != 0:
                    is_open[state] = False
    return is_open


@compiled
def _step(
    source: tuple[_Words, Integers],
    record: Integers,
    at: tuple[int, int],
    tables: _Tables,
    shape: _Shape,
) -> int:
    """The new state of a column, from a row (kernel)."""
    words, cursor = source
    column, row = at
    _, sizes, _, marks, offsets, ruled, all_edges = shape
    size = sizes[column]
    edges = all_edges[offsets[column] : offsets[column] + size]
    if ruled[column]:
        is_open = _open_states(record, column, size, marks, offsets)
        if not is_open.all():
            if edges.size:
                return _weighted_open_state((words, cursor), row, edges, is_open, tables)
            return _open_state(words, cursor, row, is_open, tables)
    if edges.size:
        return _weighted_state(words, cursor, row, edges, tables)
    return _any_state(words, cursor, row, size, tables)


@compiled
def _start(
    seeds: Integers, chain: int, record: Integers, keys: Integers, strides: Integers
) -> None:
    """Take a seed as the current record, and compute its keys (kernel)."""
    record[:] = seeds[:, chain]
    keys[:] = 0
    for i in range(record.size):
        for j in range(record.size):
            keys[i] += strides[i, j] * record[j]


@compiled
def run(
    words: _Words,
    so_far: tuple[Integers, Integers, Integers, Integers, Integers, Integers],
    tables: _Tables,
    shape: _Shape,
    how: tuple[int, int, bool],
) -> int:
    """Go on from record, sweep and column `at` until all is drawn or words end (kernel).

    Returns:
        How many words were used by complete steps.
    """
    at, record, keys, last, drawn, seeds = so_far
    length, sweeps, resetting = how
    first_row, strides = shape[0], shape[2]
    cursor = np.zeros(1, dtype=np.int64)
    d = record.size
    while at[0] < drawn.shape[1]:
        chain, column = at[0] // length, at[2]
        if at[0] % length == 0 and at[1] == 0 and column == 0:
            _start(seeds, chain, record, keys, strides)
        start = cursor[0]
        row = _place(tables[0], first_row[column], first_row[column + 1], keys[column])
        used = row < 0 or (resetting and last[row] == chain)
        state = _step((words, cursor), record, (column, -1 if used else row), tables, shape)
        if cursor[0] > words.size:
            return start  # type: ignore[no-any-return]
        if row >= 0:
            last[row] = chain
        change = state - record[column]
        record[column] = state
        for i in range(d):
            keys[i] += strides[i, column] * change
        at[2] += 1
        if at[2] == d:
            at[1], at[2] = at[1] + 1, 0
        if at[1] == sweeps:
            drawn[:, at[0]] = record
            at[0], at[1] = at[0] + 1, 0
    return cursor[0]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class HashedRows:
    """One hashed table, or several behind one another. CONFIDENTIAL.

    Attributes:
        keys: keys of the rows, ascending, shape (rows,).
        first: first cell of each row, and the number of cells, shape (rows + 1,).
        states: state of the column in each cell, ascending within a row, shape (cells,).
        before: records in all cells before each cell, and in all cells, shape (cells + 1,).
    """

    keys: NDArray[np.int64]
    first: NDArray[np.int64]
    states: NDArray[np.int32]
    before: NDArray[np.int64]

    @classmethod
    def of(cls, exact: ExactCells, size: int) -> HashedRows:
        """The rows of a contingency table whose last column is the one that is drawn.

        Args:
            exact: its occupied cells, numbered key · size + state.
            size: number of states of the column.

        Example:
            >>> from understudy.data.base import ExactCells
            >>> cells = ExactCells(np.array([1, 2, 7]), np.array([4, 1, 2]), 0)
            >>> HashedRows.of(cells, 3).keys.tolist(), HashedRows.of(cells, 3).totals.tolist()
            ([0, 2], [5, 2])
        """
        return cls.of_cells(exact.codes, exact.counts, size)

    @classmethod
    def of_cells(cls, codes: NDArray[np.int64], counts: NDArray[np.int64], size: int) -> HashedRows:
        """The rows of occupied cells.

        Args:
            codes: key · size + state of each, ascending, shape (cells,).
            counts: records in them, shape (cells,).
            size: number of states of the column.
        """
        keys, states = np.divmod(codes, size)
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        return cls(
            keys=keys[starts],
            first=np.append(starts, len(keys)).astype(np.int64),
            states=states.astype(np.int32),
            before=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        )

    @property
    def totals(self) -> NDArray[np.int64]:
        """Real records of each row, shape (rows,)."""
        return np.diff(self.before[self.first])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Real records in each cell, shape (cells,)."""
        return np.diff(self.before)


def join_tables(tables: Sequence[HashedRows]) -> tuple[HashedRows, NDArray[np.int64]]:
    """Several tables behind one another, as kernels want them.

    Returns:
        The tables in one, whose keys ascend within each of them; and the first row of each, with
        the number of rows at the end, shape (tables + 1,).
    """
    rows = np.concatenate(([0], np.cumsum([len(table.keys) for table in tables]))).astype(np.int64)
    cells = np.concatenate(([0], np.cumsum([len(table.states) for table in tables])))
    records = np.concatenate(([0], np.cumsum([table.before[-1] for table in tables])))
    whole = HashedRows(
        keys=np.concatenate([table.keys for table in tables]),
        first=_states_behind([table.first for table in tables], cells),
        states=np.concatenate([table.states for table in tables]),
        before=_states_behind([table.before for table in tables], records),
    )
    return whole, rows


def _states_behind(
    parts: Sequence[NDArray[np.int64]], shifts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Running numbers of parts made those of the whole; each part's last is the next one's 0."""
    moved = [part[:-1] + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    return np.concatenate([*moved, shifts[-1:]]).astype(np.int64)


def table_names(sweep: GibbsSweep) -> list[tuple[str, ...]]:
    """Names of the columns of each hashed table: its keys, and the column that is drawn."""
    return [tuple(sweep.names[j] for j in table) for table in sweep.tables]


def n_cells(sweep: GibbsSweep) -> int:
    """Cells of all hashed tables together."""
    return sum(n * size for n, size in zip(sweep.n_keys, sweep.domain.sizes, strict=True))


def hashed_tables(rows: SecretRows, sweep: GibbsSweep) -> list[HashedRows]:
    """The hashed table of each column; paid for before. CONFIDENTIAL."""
    return [
        HashedRows.of(rows.cells(names), size)
        for names, size in zip(table_names(sweep), sweep.domain.sizes, strict=True)
    ]


FINEST: Final = 2**20
"""Weights of states are multiples of 1/FINEST."""
WEIGHT_WORDS: Final[Mapping[str, str]] = {
    "even": "weight of each state 1/(exp(e) - 1)",
    "bought": "weight of each state 1/(exp(e) - 1) or more, by released marginals",
    "paper": "weights of states 1/(exp(e) - 1) on average, by the marginals of the rows",
}
"""The weight of a state for the ledger, by how weights are divided among states."""
LEAST: Final = 10
"""A share is raised to that of an even spread over so many times as many states."""
UNPAID = (
    "The weights of states follow the exact marginals of the rows (as published), which were not "
    "paid for; states rarer than an even spread have a smaller weight than the stated ε needs."
)

Form = Literal["even", "bought", "paper"]
Shares = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class StateShares:
    """Shares of weights among the states of each column.

    Attributes:
        form: even; bought: by `shares`, which are public; paper: by the exact shares of the rows.
        shares: of the states of each column, public, not negative; () where they are not known yet,
            which is as good as even ones.
    """

    form: Form = "even"
    shares: Shares = ()

    def __post_init__(self) -> None:
        """Refuse what is no share.

        Raises:
            MethodError: shares beside another form than "bought", or negative or endless ones.
        """
        numbers = [share for column in self.shares for share in column]
        if (numbers and self.form != "bought") or not all(0 <= one < np.inf for one in numbers):
            raise MethodError("Shares of states are numbers of at least 0, for paid weights.")

    @property
    def most(self) -> int:
        """Largest sum of the weights of a column, relative to even weights."""
        return LEAST + 1 if self.form == "bought" else 1

    @property
    def words(self) -> str:
        """The weight of a state, for the ledger."""
        return WEIGHT_WORDS[self.form]

    @property
    def leaks(self) -> tuple[str, ...]:
        """Leaks that the published form leaves in."""
        return (UNPAID,) if self.form == "paper" else ()

    def require_for(self, sizes: Sequence[int]) -> None:
        """Refuse shares of other columns; a public check.

        Args:
            sizes: states of each column.

        Raises:
            MethodError: they are for others.
        """
        if self.shares and [len(column) for column in self.shares] != list(sizes):
            raise MethodError("Shares of states are for the states of other columns.")

    def weights(
        self, prior: Fraction, rows: Sequence[HashedRows], sizes: Sequence[int]
    ) -> tuple[Integers, ...] | None:
        """Weights of the states of each column in units of 1/FINEST; None if they are even.

        Args:
            prior: α, a multiple of 1/FINEST.
            rows: hashed table of each column; looked at for the published form alone.
            sizes: states of each column.

        Raises:
            MethodError: shares for other columns.
        """
        self.require_for(sizes)
        shares = shares_of_rows(rows, sizes) if self.form == "paper" else self.shares
        if not shares:
            return None
        kept = self.form == "paper"
        return tuple(state_weights(column, prior, sum_kept=kept) for column in shares)


EVEN: Final = StateShares()


def state_weight(epsilon: Fraction) -> Fraction:
    """Weight α of each state at which a step is ε-DP, rounded up to a multiple of 1/FINEST.

    Example:
        >>> round(float(state_weight(Fraction(1, 13))), 4)
        12.5064
    """
    return Fraction(ceil(prior_weight(1, epsilon, reinforced=False) * FINEST), FINEST)


def state_weights(shares: Sequence[float], prior: Fraction, *, sum_kept: bool) -> Integers:
    """Weights of the states of a column in units of 1/FINEST, rounded up.

    Args:
        shares: in proportion to which they are; all alike if none is above 0.
        prior: α.
        sum_kept: whether they sum to C·α, or are at least α each.

    Example:
        >>> (state_weights((0.5, 0.3, 0.2), Fraction(4), sum_kept=False) / FINEST).tolist()
        [10.0, 6.0, 4.0]
        >>> (state_weights((0.5, 0.25, 0.25), Fraction(4), sum_kept=True) / FINEST).tolist()
        [6.0, 3.0, 3.0]
    """
    size, total = len(shares), sum(map(Fraction, shares))
    exact = [Fraction(share) / total if total else Fraction(1, size) for share in shares]
    if sum_kept:
        wanted = [prior * size * share for share in exact]
    else:
        raised = [max(share, Fraction(1, LEAST * size)) for share in exact]
        wanted = [prior * share / min(raised) for share in raised]
    return np.array([max(1, ceil(weight * FINEST)) for weight in wanted], dtype=np.int64)


def shares_of_rows(rows: Sequence[HashedRows], sizes: Sequence[int]) -> Shares:
    """Exact shares of the states of each column among the rows of its table. CONFIDENTIAL.

    Args:
        rows: hashed table of each column.
        sizes: states of each column.
    """
    counts = [
        np.bincount(table.states, weights=table.counts, minlength=size)
        for table, size in zip(rows, sizes, strict=True)
    ]
    return tuple(tuple((one / max(1.0, one.sum())).tolist()) for one in counts)


UNIFORM: Final = -1
"""A weight that leaves out the real records of a row."""

_CHUNK_WORDS: Final = 2**16
_LARGEST_WEIGHT: Final = 2**61


@dataclass(frozen=True, kw_only=True)
class Chains:
    """The order of records in chains.

    Attributes:
        length: records of a chain, at least 1; the last chain may have fewer.
        sweeps: how often each column is drawn for one record.
        resetting: whether a row is uniform once a chain has drawn it.
    """

    length: int = 1
    sweeps: int = 1
    resetting: bool = False


def require_small(prior: Fraction, sizes: Sequence[int]) -> None:
    """Refuse a weight of states that 64-bit tokens cannot number; a public check.

    Raises:
        BudgetError: so small a budget that real records would have next to no say.
    """
    if max(sizes) * prior.numerator > _LARGEST_WEIGHT:
        raise BudgetError(
            "This budget leaves next to nothing for a step; raise epsilon, or ask for fewer "
            "records, sweeps or sets."
        )


def require_own(sweep: GibbsSweep, terms: PublicContext) -> None:
    """Refuse a sweep over other columns than those of the rows.

    Raises:
        MethodError: it is over another schema.
    """
    if (sweep.names, sweep.domain) != (terms.schema.names, terms.schema.domain):
        raise MethodError("The sweep is over the columns of another schema.")


def cost_words(accounting: Accounting, neighbours: Neighbours) -> str:
    """The cost of a step of parameter e, in words."""
    if accounting == "pure":
        return "e"
    if accounting == "gdp":
        return "cost of e"
    return "e^2/8" if neighbours == "add_remove" else "e^2/2"


def gibbs_charge(
    sweep: GibbsSweep,
    epsilon: Fraction,
    spend: Fraction,
    *,
    mechanism: str,
    query: str,
    sensitivity: str,
    noise: str,
    shares: StateShares,
) -> Charge[Fraction]:
    """The line of the ledger for records that pay for what they draw; α is its parameter.

    Args:
        sweep: what each column is drawn given.
        epsilon: ε₀ of a step.
        spend: cost of all steps.
        mechanism: its name.
        query: what is asked, in words.
        sensitivity: what one record changes, in words.
        noise: the distribution of the draws, in words.
        shares: how weights are divided among states.

    Raises:
        MethodError: shares of other columns.
        BudgetError: next to nothing is left for a step.
    """
    shares.require_for(sweep.domain.sizes)
    prior = state_weight(epsilon)
    units = prior if shares.form == "even" else Fraction(ceil(prior * shares.most * FINEST))
    require_small(units, sweep.domain.sizes)
    return Charge(
        spent=spend,
        mechanism=mechanism,
        query=query,
        sensitivity=sensitivity,
        noise=noise,
        cells=n_cells(sweep),
        parameter=prior,
        recorded=Noise(mechanism, str(prior), 0.0),
    )


def gibbs_draws(
    view: CodedView,
    sweep: GibbsSweep,
    distribution: str,
    prior: Fraction | None = None,
    block: int | None = None,
) -> GibbsDraws:
    """Describe what is public about records of a sweep."""
    keys = dict(zip(sweep.names, sweep.keys, strict=True))
    return GibbsDraws(sweep.names, keys, distribution, prior, block, view.bins_of(sweep.names))


def even_weights(rows: Sequence[HashedRows], prior: Fraction) -> list[Integers]:
    """The same weight for the states of all rows, in units of 1/denominator."""
    return [np.full(len(table.keys), prior.numerator, dtype=np.int64) for table in rows]


def weighted_records(
    rows: Sequence[HashedRows],
    sweep: GibbsSweep,
    prior: Fraction,
    n_rows: int,
    *,
    chains: Chains,
    randomness: Randomness,
    shares: StateShares,
) -> Records:
    """Records of chains in which all rows have the same weights.

    Args:
        rows: hashed table of each column.
        sweep: what each column is drawn given.
        prior: α, a multiple of 2⁻ᵏ as from `prior_weight`.
        n_rows: how many records.
        chains: how records hang together.
        randomness: source of every draw.
        shares: how weights are divided among states.
    """
    by_state = shares.weights(prior, rows, sweep.domain.sizes)
    return chain_records(
        rows,
        even_weights(rows, prior),
        sweep,
        n_rows,
        unit=FINEST if by_state else prior.denominator,
        chains=chains,
        randomness=randomness,
        by_state=by_state,
    )


def chain_records(
    rows: Sequence[HashedRows],
    weights: Sequence[Integers],
    sweep: GibbsSweep,
    n_rows: int,
    *,
    unit: int,
    chains: Chains,
    randomness: Randomness,
    by_state: Sequence[Integers] | None = None,
) -> Records:
    """Records of as many chains as they need, each from a seed uniform over the allowed cells.

    Args:
        rows: hashed table of each column.
        weights: A of each row, or `UNIFORM`; one array per column.
        sweep: what each column is drawn given.
        n_rows: how many records.
        unit: 2ᵏ.
        chains: how records hang together.
        randomness: source of every draw.
        by_state: A_v of the states of each column, in place of the weights of rows; None for these.
    """
    n_chains = -(-n_rows // chains.length)
    seeds = np.array(sweep.domain.draw(n_chains, randomness.uniforms), dtype=np.int64)
    whole, first_row = join_tables(rows)
    shift = unit.bit_length() - 1
    all_weights = np.concatenate(list(weights))
    tables = (whole.keys, whole.first, whole.states, whole.before, all_weights, shift)
    edges = (
        np.zeros(0, np.int64)
        if by_state is None
        else np.concatenate([np.cumsum(column) for column in by_state])
    )
    shape = (first_row, np.array(sweep.domain.sizes), sweep.strides, *_marks(sweep.domain), edges)
    how = (chains.length, chains.sweeps, chains.resetting)
    d = len(sweep.names)
    # The current record, its keys, and which chain drew a row last: they outlive a buffer of words.
    now = (np.zeros(d, np.int64), np.zeros(d, np.int64), np.full(len(whole.keys), -1, np.int64))
    drawn, at = np.empty((d, n_rows), dtype=np.int64), np.zeros(3, dtype=np.int64)
    words = np.empty(0, dtype=np.uint64)
    while at[0] < n_rows:
        left = (n_rows - int(at[0])) * d * chains.sweeps
        words = np.concatenate((words, randomness.words(min(_CHUNK_WORDS, left + 16))))
        used = run(words, (at, *now, drawn, seeds), tables, shape, how)
        words = words[used:]
    return Records(tuple(drawn))


def _marks(domain: Domain) -> tuple[_Words, Integers, NDArray[np.bool_]]:
    """Mark the rules that each state of each column can complete, as bits.

    A cell is forbidden if some rule has its bit set in all of its states.

    Returns:
        Bits, shape (all states, words); the first state of each column; and which columns stand in
        a rule.
    """
    offsets = np.concatenate(([0], np.cumsum(domain.sizes))).astype(np.int64)
    marks = np.zeros((offsets[-1], max(1, -(-len(domain.boxes) // 64))), dtype=np.uint64)
    ruled = np.zeros(len(domain.sizes), dtype=np.bool_)
    for r, box in enumerate(domain.boxes):
        bit = np.uint64(1 << (r % 64))
        for j, size in enumerate(domain.sizes):
            matching = offsets[j] + np.array(sorted(box.get(j, range(size))), dtype=np.int64)
            marks[matching, r // 64] |= bit
            ruled[j] |= j in box
    return marks, offsets, ruled
