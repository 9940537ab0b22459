"""Records from an urn: Dirichlet–multinomial and fixed-prior synthesis, drawn exactly.

**Distribution.** Let K be the number of allowed cells, n_k the real records in cell k, n = Σ n_k,
and α > 0 the *prior weight* of a cell. Record i = 0, 1, …, ñ − 1 is

* a real record's cell, each of the n real records with weight 1;
* a cell uniform over all K allowed ones, with weight Kα;
* *reinforced* only: a copy of an earlier synthetic record, each of the i with weight 1.

Reinforced, this is the urn of Blackwell & MacQueen (1973), by which the records z have

    P(z) = Π_k (n_k + α)^{↑y_k} / (n + Kα)^{↑ñ},   a^{↑y} = a(a + 1)⋯(a + y − 1),

y_k of them in cell k: the distribution of ñ draws from a probability vector that was itself drawn
from the posterior Dirichlet(n_1 + α, …, n_K + α) (Abowd & Vilhuber 2008; K = 2: beta–binomial,
Charest 2010). Without reinforcement the records are independent, P(zᵢ = k) = p_k =
(n_k + α)/(n + Kα) (McClure & Reiter 2012; on the bins of a histogram, Wasserman & Zhou 2010). The
urn never looks at empty cells, so its cost is occupied cells and records, whatever K is.

**Theorem.** Drawing ñ records is ε-DP, for adding or removing a record and for replacing one, if

    reinforced: α ≥ ñ/(e^ε − 1)            fixed: α ≥ 1/(e^(ε/ñ) − 1).

*Proof.* Take an outcome z, and write a = n_j + α, N = n + Kα; note N ≥ a ≥ α.

Reinforced, *adding* a record to cell j multiplies P(z) by A·B with A = (a + y_j)/a in
[1, 1 + ñ/α] and B = N/(N + ñ) in [1/(1 + ñ/α), 1]. So A·B and its inverse are at most
1 + ñ/α ≤ e^ε. *Replacing* a record of cell l by one of cell j leaves n alone and multiplies P(z) by
A/A' with A as above and A' = (n_l − 1 + α + y_l)/(n_l − 1 + α) in [1, 1 + ñ/α] too: both ways at
most e^ε. It is attained at n_j = 0, y_j = ñ, y_l = 0, so α cannot be smaller.

Fixed, it is enough that one draw changes by a factor of at most 1 + 1/α ≤ e^(ε/ñ), as the ñ draws
are independent. *Adding* a record to j: p_j is multiplied by (a + 1)/a · N/(N + 1), of which the
first factor is in [1, 1 + 1/α] and the second in [1/(1 + 1/α), 1]; other cells get the second
alone. *Replacing*: p_j is multiplied by (a + 1)/a, p_l by the inverse of such a factor, the rest by
1. Attained by ñ draws of a cell that was empty. ∎

What the proof does not need: ñ = n; a public n; K > 1 (for K = 1 all outcomes have probability 1);
that all records lie in the domain. One whose value is out of domain, or in a structural zero, is in
no cell: when a record is replaced by such a one, the urn sees a removal. ñ must be public or
released, never n itself; if it was bought with noise, the costs add up.

Only the records may leave. The probabilities p_k, the drawn Dirichlet vector and the tokens
would reveal n_k, and several sets are several draws, each at its own cost.

**Exactness.** A larger α satisfies the theorem too, so `prior_weight` rounds α *up*, to a multiple
of 2⁻ᵏ; k follows from ñ and ε. With such an α each draw is one exactly uniform integer,
and the guarantee holds without any rounding
error.

Sources:
    Blackwell & MacQueen (1973), "Ferguson distributions via Pólya urn schemes"; Abowd & Vilhuber
    (2008), "How protective are synthetic data?"; Charest (2010), "How can we analyze
    differentially-private synthetic datasets?"; McClure & Reiter (2012), "Differential privacy and
    statistical disclosure risk measures"; Wasserman & Zhou (2010), "A statistical framework for
    differential privacy"; Bowen & Liu (2020), §3.1. Proof and sharpness: ours.

**The draws of an urn: each record is one exactly uniform integer, a token.**

Let the prior weight of a cell be A/2ᵏ. Record i of an urn with n real records and K cells draws a
token below K·A + 2ᵏ(n + i), or below K·A + 2ᵏn if draws add no weight. The first K·A tokens are the
prior's, A for each cell in turn; so such a token also names its cell, and nothing is looked up. Of
those that follow, 2ᵏ belong to each real record, and then 2ᵏ to each synthetic record so far, of
which the new one is a copy. All decisions compare integers, so the distribution is exact.

A draw is a function of the word stream. When a buffer of words ends within a draw, that draw is
repeated on the same words and fresh ones behind them; starting it again would favour draws that
need few words.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Integers, compiled
from understudy.dp.admission import HowMany
from understudy.dp.budget import Accounting, pure_within
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer
from understudy.dp.randomness import Randomness
from understudy.dp.released import Noise, Records, Released, UrnDraws
from understudy.errors import BudgetError
from understudy.mechanisms.tables import columns_of
from understudy.schema import Domain

if TYPE_CHECKING:
    from understudy.data.base import ExactCells

_CHUNK_WORDS: Final = 2**16
_LARGEST_TOTAL: Final = 2**63

_Words = NDArray[np.uint64]


def draw_urn(
    counts: Integers,
    n_cells: int,
    prior: Fraction,
    n_rows: int,
    *,
    reinforced: bool,
    randomness: Randomness,
) -> Integers:
    """Draw records from urns, one urn per repetition, exactly.

    Cost: one word and about 10 ns a record (20 ns where real records and prior are equally likely),
    as long as 2ᵏ(n + ñ) + K·2ᵏα < 2⁶³; beyond that Python integers take about 3 µs a record.

    Args:
        counts: real records in the listed cells, shape (repetitions, J); all cells that are not
            listed hold none.
        n_cells: allowed cells K, listed or not.
        prior: weight of each cell, in records, as from `prior_weight`.
        n_rows: records to draw in each repetition.
        reinforced: whether draws add to the weight of their cell.
        randomness: source of every draw.

    Returns:
        Shape (repetitions, n_rows). A number r ≥ 0 is a place among the listed cells. A number
        below 0 was drawn from the prior: cell number −1 − r (in NumPy: ``~r``) of the K allowed
        ones, listed ones included.

    Raises:
        ValueError: no cell, a negative n_rows, or a prior that is not a positive multiple of 2⁻ᵏ.

    Example:
        >>> from understudy.dp.randomness import SeededRandomness
        >>> one = SeededRandomness(1)
        >>> draw_urn(np.array([[9, 5]]), 3, Fraction(2), 8, reinforced=True, randomness=one)
        array([[-1, -1, -1,  1, -3,  0,  0,  0]])
    """
    unit = prior.denominator
    if n_cells < 1 or n_rows < 0 or prior <= 0 or unit & (unit - 1):
        raise ValueError("draw_urn: expected cells, rows and a positive multiple of 2**-k")
    drawn = np.empty((len(counts), n_rows), dtype=np.int64)
    ends = np.cumsum(counts, axis=1, dtype=np.int64)
    most = (int(ends.max(initial=0)) + n_rows) * unit + n_cells * prior.numerator
    if most >= _LARGEST_TOTAL:
        _fill_wide(drawn, (ends, unit, prior.numerator, n_cells, reinforced), randomness)
        return drawn
    terms = (ends, unit.bit_length() - 1, prior.numerator, n_cells, reinforced)
    done, words = 0, np.empty(0, dtype=np.uint64)
    while done < drawn.size:
        fresh = randomness.words(min(_CHUNK_WORDS, drawn.size - done + 16))
        words = np.concatenate((words, fresh))
        done, used = _fill(words, drawn, done, terms)
        words = words[used:]
    return drawn


@compiled
def _product_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """⌊ab / 2⁶⁴⌋ (kernel)."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    low, high = b & mask, b >> half
    middle = (a >> half) * low + (((a & mask) * low) >> half)
    other = (a & mask) * high + (middle & mask)
    return (a >> half) * high + (middle >> half) + (other >> half)


@compiled
def _token(words: _Words, cursor: Integers, total: np.uint64) -> np.uint64:
    """Return an integer exactly uniform on {0, …, total − 1}, total ≤ 2⁶³ (kernel).

    ⌊w·total/2⁶⁴⌋, where words are redrawn that would give some tokens one word more than others
    (Lemire 2019, "Fast random integer generation in an interval"). Past the end of the words the
    cursor moves on and the draw is to be dropped.
    """
    at = cursor[0]
    while True:
        word = words[at] if at < words.size else np.uint64(0)
        at += 1
        rest = word * total
        if at > words.size or rest >= total or rest >= (np.uint64(0) - total) % total:
            cursor[0] = at
            return _product_high(word, total)


@compiled
def _place(ends: Integers, r: int, record: np.int64) -> int:
    """The first place whose cumulative count in row r exceeds `record` (kernel, binary search)."""
    low, length = 0, ends.shape[1]
    while length > 1:
        half = length >> 1
        low += half * np.int64(ends[r, low + half - 1] <= record)
        length -= half
    return low


@compiled
def _fill(
    words: _Words,
    drawn: Integers,
    done: int,
    terms: tuple[Integers, int, int, int, bool],
) -> tuple[int, int]:
    """Fill `drawn` from flat index `done`; (records complete, words used by them) (kernel)."""
    ends, digits, weight, n_cells, reinforced = terms
    shift, share = np.uint64(digits), np.uint64(weight)
    mass = share * np.uint64(n_cells)
    cursor = np.zeros(1, dtype=np.int64)
    n_rows, listed = drawn.shape[1], ends.shape[1]
    r = done // n_rows
    i = done - r * n_rows
    for index in range(done, drawn.size):
        start = cursor[0]
        n = ends[r, listed - 1] if listed else 0
        weighty = np.uint64(n + i if reinforced else n)
        token = _token(words, cursor, (weighty << shift) + mass)
        if cursor[0] > words.size:
            return index, start
        if token < mass:
            drawn[r, i] = -1 - np.int64(token // share)
        else:
            record = np.int64((token - mass) >> shift)
            drawn[r, i] = _place(ends, r, record) if record < n else drawn[r, record - n]
        i += 1
        if i == n_rows:
            r, i = r + 1, 0
    return drawn.size, cursor[0]


def _fill_wide(
    drawn: Integers, terms: tuple[Integers, int, int, int, bool], randomness: Randomness
) -> None:
    """The same with integers of any size, one record at a time."""
    ends, unit, weight, n_cells, reinforced = terms
    mass = n_cells * weight
    for records, row in zip(drawn, ends, strict=True):
        n = int(row[-1]) if len(row) else 0
        for i in range(len(records)):
            token = _below((n + i * reinforced) * unit + mass, randomness)
            record = (token - mass) // unit
            if token < mass:
                records[i] = ~(token // weight)
            elif record < n:
                records[i] = np.searchsorted(row, record, side="right")
            else:
                records[i] = records[record - n]


def _below(bound: int, randomness: Randomness) -> int:
    """An integer exactly uniform on {0, …, bound − 1}, of any size, by rejection."""
    digits = bound.bit_length()
    n_words = -(-digits // 64)
    while True:
        bits = int.from_bytes(randomness.words(n_words).tobytes(), "little")
        if (token := bits >> (64 * n_words - digits)) < bound:
            return token


_FINEST: Final = 32
"""A prior weight is a multiple of 2⁻³² at the finest."""

_DIGITS: Final = 23
"""Binary digits of a prior weight, where it is not below 2⁻¹⁰: so much that rounding it up raises
it by less than 2⁻²², so little that 10¹² cells still fit 64-bit tokens."""

_LARGEST_POWER: Final = 64


@dataclass(frozen=True, kw_only=True)
class Urn(Mechanism[Released[Records], Fraction]):
    """Synthetic records from real ones and a uniform prior; drawing them is the mechanism.

    The prior weight follows from the number of records and from what they may cost.

    Attributes:
        columns: names of the table's columns.
        reinforced: whether draws add to the weight of their cell (Dirichlet–multinomial), or the
            probabilities stay as they are (fixed prior).
        n_rows: how many records; public or released.
    """

    name: ClassVar[str] = "urn draws"
    form: ClassVar[Form] = Form.DRAWS

    columns: tuple[str, ...]
    reinforced: bool
    n_rows: HowMany

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Fraction], ...]:
        """One step for all records; n stands for their number in its words.

        Raises:
            MethodError: no column, or more than 2⁶² cells.
            BudgetError: more than is left, or next to nothing.
        """
        domain = terms.view.sparse_domain(self.columns)
        terms.require(spend)
        epsilon = urn_epsilon(spend, terms.accounting)
        prior = prior_weight(self.n_rows, epsilon, reinforced=self.reinforced)
        charge = Charge(
            spent=spend,
            mechanism=self.name,
            query="records of " + " × ".join(self.columns),
            sensitivity="one record of weight 1",
            noise=_describe_draws(epsilon, reinforced=self.reinforced),
            cells=domain.n_allowed,
            parameter=prior,
            recorded=Noise(_LAWS[self.reinforced], str(prior), 0.0),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Fraction], ...], source: Randomness
    ) -> Outcome[Released[Records]]:
        """Draw; the records leave, and what is public about them is published."""
        view, prior, domain = rows.view, charges[0].parameter, rows.view.domain(self.columns)
        drawn = urn_records(
            rows.cells(self.columns),
            domain,
            prior,
            self.n_rows,
            reinforced=self.reinforced,
            randomness=source,
        )
        bins = view.bins_of(self.columns)
        public = UrnDraws(self.columns, prior, domain.n_allowed, self.reinforced, bins)
        return answer(drawn, [public])


_LAWS: Final = {True: "Dirichlet–multinomial", False: "fixed prior"}


def _describe_draws(epsilon: Fraction, *, reinforced: bool) -> str:
    """The mechanism with its parameter, for the ledger."""
    if reinforced:
        return f"Dirichlet–multinomial draws of n records, prior weight n/(exp({epsilon}) - 1)"
    return f"independent draws of n records, prior weight 1/(exp({epsilon}/n) - 1)"


def urn_epsilon(spend: Fraction, accounting: Accounting) -> Fraction:
    """The ε at which draws cost `spend`, rounded down (`pure_within`).

    Raises:
        BudgetError: so small a cost that ε would be below 10⁻¹².
    """
    epsilon = pure_within(spend, accounting)
    if epsilon <= 0:
        raise BudgetError(
            "This budget leaves next to nothing for a step; raise epsilon, or ask for fewer sets."
        )
    return epsilon


def prior_weight(n_rows: int, epsilon: Fraction, *, reinforced: bool) -> Fraction:
    """Smallest sufficient prior weight of a cell, in records, rounded up by less than 2⁻²².

    Below 2⁻¹⁰ it is rounded up to a multiple of 2⁻³². For no rows any weight will do.

    Args:
        n_rows: records to draw, ñ; public or released.
        epsilon: cost of all of them together.
        reinforced: ñ/(e^ε − 1) if so, else 1/(e^(ε/ñ) − 1).

    Raises:
        ValueError: fewer than no rows, or ε not positive.

    Example:
        >>> round(float(prior_weight(40, Fraction(1), reinforced=True)), 4)
        23.2791
        >>> round(float(prior_weight(40, Fraction(1), reinforced=False)), 4)
        39.5021
    """
    if n_rows < 0 or epsilon <= 0:
        raise ValueError("prior_weight: expected n_rows >= 0 and epsilon > 0")
    if n_rows == 0:
        return Fraction(1, 2**_FINEST)
    least = n_rows / _expm1(epsilon) if reinforced else 1 / _expm1(epsilon / n_rows)
    digits = int(least * 2**_FINEST).bit_length()
    unit = 2 ** (_FINEST - min(_FINEST, max(0, digits - _DIGITS)))
    return Fraction(ceil(least * unit), unit)


def _expm1(power: Fraction) -> Fraction:
    """A positive number at most e^x − 1, and at least that at x = 64 from there on.

    For x < 2⁻⁴⁸ it is x, too small by a factor of at least 1 − 2⁻⁴⁸. `Decimal.exp` is rounded
    correctly, so e^x is not smaller than its 60 digits, less one unit of the 58th; x itself is
    rounded down. What is lost is a factor of 1 − 10⁻⁴² at most.
    """
    if power < Fraction(1, 2**48):
        return power
    power = min(power, Fraction(_LARGEST_POWER))
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_FLOOR
        grown = (Decimal(power.numerator) / Decimal(power.denominator)).exp()
    return Fraction(grown) * (1 - Fraction(1, 10**58)) - 1


def urn_records(
    exact: ExactCells,
    domain: Domain,
    prior: Fraction,
    n_rows: int,
    *,
    reinforced: bool,
    randomness: Randomness,
) -> Records:
    """Draw records of a table.

    Args:
        exact: its occupied cells.
        domain: sizes and structural zeros.
        prior: weight of each allowed cell.
        n_rows: records to draw.
        reinforced: whether draws add to the weight of their cell.
        randomness: source of every draw.
    """
    drawn = draw_urn(
        exact.counts[None],
        domain.n_allowed,
        prior,
        n_rows,
        reinforced=reinforced,
        randomness=randomness,
    )[0]
    fresh = drawn < 0
    real = columns_of(exact.codes[drawn[~fresh]], domain)
    columns = []
    for known, new in zip(real, domain.cells(~drawn[fresh]), strict=True):
        column = np.empty(n_rows, dtype=np.int64)
        column[~fresh], column[fresh] = known, new
        columns.append(column)
    return Records(tuple(columns))
