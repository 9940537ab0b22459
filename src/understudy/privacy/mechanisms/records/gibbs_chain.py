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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BudgetError, MethodError
from understudy.privacy.accounting.budget import Accounting, Neighbours
from understudy.privacy.mechanism import Charge
from understudy.privacy.mechanisms.records.gibbs_chain_kernels import run
from understudy.privacy.mechanisms.records.key_counts import HashedRows, joined, n_cells
from understudy.privacy.mechanisms.records.state_weights import (
    FINEST,
    StateShares,
    state_weight,
)
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import GibbsDraws, Noise, Records
from understudy.privacy.terms import Terms, View
from understudy.schema import Domain, GibbsSweep

__all__ = [
    "FINEST",
    "UNIFORM",
    "Chains",
    "chain_records",
    "cost_words",
    "even_weights",
    "gibbs_charge",
    "gibbs_draws",
    "require_own",
    "require_small",
    "state_weight",
    "weighted_records",
]

UNIFORM: Final = -1
"""A weight that leaves out the real records of a row."""

_CHUNK_WORDS: Final = 2**16
_LARGEST_WEIGHT: Final = 2**61

_Integers = NDArray[np.int64]
_Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Chains:
    """How records hang together.

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


def require_own(sweep: GibbsSweep, terms: Terms) -> None:
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
    view: View,
    sweep: GibbsSweep,
    distribution: str,
    prior: Fraction | None = None,
    block: int | None = None,
) -> GibbsDraws:
    """What is public about records of a sweep."""
    keys = dict(zip(sweep.names, sweep.keys, strict=True))
    return GibbsDraws(sweep.names, keys, distribution, prior, block, view.bins_of(sweep.names))


def even_weights(rows: Sequence[HashedRows], prior: Fraction) -> list[_Integers]:
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
    weights: Sequence[_Integers],
    sweep: GibbsSweep,
    n_rows: int,
    *,
    unit: int,
    chains: Chains,
    randomness: Randomness,
    by_state: Sequence[_Integers] | None = None,
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
    whole, first_row = joined(rows)
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


def _marks(domain: Domain) -> tuple[_Words, _Integers, NDArray[np.bool_]]:
    """Which rules each state of each column can complete, as bits.

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
