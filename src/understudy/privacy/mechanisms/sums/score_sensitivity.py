"""How much one record can change sums of scores, and sums of products of two.

Each record has a vector w_c of scores for each of d columns (`understudy.features.column_scores`)
with |w_c|² = α_c: 1 at most for a code, 1 − 1/k for one of k levels, for a number little more than
1. What is summed over the records is q·w_c for the columns (q the weight of sums), w_c·w_c'ᵀ for
the pairs of columns, 2z² − 1 for each number z that is there, and half of the same once more for
each column that has a code of absence in the record.

**What one record can change.** Let A be the sum of the largest α_c, b how many columns have
numbers, J how many have codes, g of them with numbers.

*Added or removed*: the squared length of block (c, c') is α_c·α_c', so

    L2² ≤ q²A + Σ_{c<c'} α_c α_c' + max_m (b − m)(1 + (m + J − g)/4),   0 ≤ m ≤ g,              (1)

m of the columns with numbers being absent: the others' squares count, once as 1 and for each column
that is absent as ½. Squares are convex in z², and so is all of it: a number is at an end or in the
middle, and there it has less.

*Replaced*, u by w: with α = |w_c|², β = |u_c|², ρ = w_c·u_c the squared change of block (c, c') is
αα' + ββ' − 2ρρ', and of the sums q²(α + β − 2ρ). Added up, with Σρ² ≤ Σαβ,

    ½(Σα)² + ½(Σβ)² − ½Σ(α − β)² + q²Σ(α + β) − (Σρ)² − 2q²Σρ
      ≤ (A + q²)² − (Σρ + q²)² − δ,                                                            (2)

where δ ≥ (A/2 + q²)·Σ|α − β| as one of α and β falls short of its largest by that much. Σρ is no
less than −R, R the sum of 1/k for k levels (0 without contrasts) and little more than 1 for
numbers, so (2) is at most (A + q²)² − max(0, q² − R)². Squares add, for a number in both records,
(α − β)² times 3½ (4, ½ stands in (2) already) and times how often both records have the same code:
at most J times. With Σ|α − β| ≤ b that is at most max(0, J + 3½ − A/2 − q²)·b more than δ. Where a
number gives way to a code or to what is out of domain, its square adds 1; where a column with codes
changes, each number adds at most ½ (¼ where it has one code only).

L1: of added records, with λ_c the largest sum of sizes of w_c, q Σλ + Σ_{c<c'} λλ' and squares as
in (1) with ½ in place of ¼; of replaced ones twice that.

**Records that count.** Where only records with a value of some columns count, how many there are is
one of the sums: q² more. If two that count are exchanged it stays, and (2) holds; if one counts and
the other does not, that is an addition.

The sensitivities are ours; `tests/privacy/mechanisms/sums/test_score_moments.py` enumerates the
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from understudy.features.column_scores import UNIT, Scores
from understudy.privacy.accounting.budget import Neighbours
from understudy.schema import NUMERIC, Schema


@dataclass(frozen=True)
class Sensitivity:
    """How much one record can change the sums and products of some columns.

    Attributes:
        lengths: largest sum of sizes of the scores of each column, λ.
        squared: largest sum of their squares, α.
        opposed: how far the scores of two records can point apart, −ρ, of each column.
        weight: of the sums, q.
        numeric: columns of numbers, b.
        coded: columns of which absences are told apart by squares, J.
        absent: those of them that have numbers, g.
        codes: whether one of them has two codes or more.
        counted: whether the number of records that count is summed as well.
        numbers: how many numbers there are in all, K.
        neighbours: which tables count as neighbours.
    """

    lengths: tuple[Fraction, ...]
    squared: tuple[Fraction, ...]
    opposed: tuple[Fraction, ...]
    weight: Fraction
    numeric: int
    coded: int
    absent: int
    codes: bool
    counted: bool
    numbers: int
    neighbours: Neighbours

    @classmethod
    def of(cls, schema: Schema, scores: Scores) -> Sensitivity:
        """Of scores of columns of a schema."""
        numeric = {name for name in scores.columns if isinstance(schema.columns[name], NUMERIC)}
        coded = {
            name
            for name in scores.columns
            if name not in scores.complete and schema.columns[name].codes
        }
        return cls(
            lengths=scores.lengths,
            squared=scores.squared_lengths,
            opposed=tuple(_opposed(scores, name, name in numeric) for name in scores.columns),
            weight=scores.weight,
            numeric=len(numeric),
            coded=len(coded),
            absent=len(coded & numeric),
            codes=any(len(schema.columns[name].codes) > 1 for name in coded),
            counted=bool(scores.complete),
            numbers=scores.size,
            neighbours=schema.neighbours,
        )

    @property
    def l1(self) -> Fraction:
        """In records."""
        total = sum(self.lengths, Fraction(0))
        pairs = (total * total - sum(x * x for x in self.lengths)) / 2
        sums = self.weight * (total + self.counted)
        added = sums + pairs + self._squares(Fraction(1, 2))
        return added if self.neighbours == "add_remove" else 2 * added

    @property
    def squared_l2(self) -> Fraction:
        """In squared records."""
        total, q2 = sum(self.squared, Fraction(0)), self.weight * self.weight
        pairs = (total * total - sum(x * x for x in self.squared)) / 2
        added = q2 * (total + self.counted) + pairs + self._squares(Fraction(1, 4))
        if self.neighbours == "add_remove":
            return added
        least = max(Fraction(0), q2 - sum(self.opposed))
        apart = (total + q2) * (total + q2) - least * least
        steep = max(Fraction(0), self.coded + Fraction(7, 2) - total / 2 - q2) * self.numeric
        moved = Fraction(self.numeric * self.coded, 2 if self.codes else 4)
        return max(apart + steep + self.numeric + moved, added * self.counted)

    def _squares(self, beside: Fraction) -> Fraction:
        """What the squares of one record can add, those by absence elsewhere `beside` each."""
        levels = self.coded - self.absent
        return max((self.numeric - m) * (1 + (m + levels) * beside) for m in range(self.absent + 1))


def _opposed(scores: Scores, name: str, numeric: bool) -> Fraction:
    """The largest −w·u of two vectors of scores of a column."""
    table = scores.tables[name][:, int(numeric) :]
    return numeric + max(Fraction(0), Fraction(int(-(table @ table.T).min()), UNIT**2))
