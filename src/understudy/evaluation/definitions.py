"""What every score is: one name for one meaning, in `evaluate` and on the pages of benchmarks.

A score of `evaluate` has the name that stands here, or begins with it where more belongs to it (a
column, a model). The yardstick of the benchmarks (`benchmarks/yardstick.py`) is made of scores of
`evaluate`; its tables head them by the short names that stand beside.

Sources: Woo, Reiter, Oganian & Karr (2009) and Snoke et al. (2018) for pMSE; Bowen & Liu (2020) for
SPECKS; Karr et al. (2006) for the overlap of intervals; Bergsma (2013) for Cramér's V.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum, StrEnum, auto
from typing import Any


class Better(StrEnum):
    """Which values of a score are good."""

    LOW = "low"
    HIGH = "high"
    ONE = "one"

    @property
    def arrow(self) -> str:
        """A sign for tables."""
        return {Better.LOW: "↓", Better.HIGH: "↑", Better.ONE: "→ 1"}[self]

    @property
    def sentence(self) -> str:
        """The same in words."""
        return "Near 1 is best." if self is Better.ONE else f"{self.capitalize()}er is better."


class Headline(Enum):
    """Kinds of scores that stand at the head of an internal page, each by one of its scores."""

    PMSE = auto()
    SPECKS = auto()
    ONE_WAY = auto()
    TWO_WAY = auto()
    THREE_WAY = auto()
    TRAINED = auto()


@dataclass(frozen=True)
class Definition:
    """One score.

    Attributes:
        name: what it is called wherever it is printed.
        meaning: what is computed.
        range: smallest and largest value, the best one first where that is one of the two.
        better: which values are good.
        headline: what it can stand for at the head of a page, if anything.
        variant: what its name says beyond that.
        short: heading in the tables of the benchmarks; "" if it is not in their yardstick.
    """

    name: str
    meaning: str
    range: str
    better: Better = Better.LOW
    headline: Headline | None = None
    variant: str = ""
    short: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines."""
        content = asdict(self)
        return {name: content[name] for name in ("name", "meaning", "range", "better", "short")}


_TV = "share of records that would have to move (total variation distance)"
_GROUPED = (
    "with at most 24 groups of states a column (neighbours joined, rare levels together) and at "
    "most 50,000 rows of each table"
)
_MODELS = {
    "logistic, main effects": f"logistic regression on main effects, {_GROUPED}",
    "logistic, with pairs": "the same with products of pairs of columns, 600 parameters at most",
    "CART": "a tree of depth 5 with at least 20 rows in a leaf, at most 50,000 rows of each table",
}
_SHORT = {"logistic, main effects": "SPECKS", "CART": "SPECKS, tree"}
_PMSE = (
    "mean squared distance of the probability that a row is synthetic from the share of synthetic "
    "rows"
)
_SPECKS = (
    "largest distance of the laws of the probability that a row is synthetic among original and "
    "synthetic rows"
)
_TRAINED = (
    "of predicting a fifth of the original rows, learned from a set by gradient boosting (60 "
    "rounds, at most 40,000 rows)"
)

_KEPT = (
    Definition(
        "relative error of means, median",
        "|difference| of means over |mean|, median over columns of numbers (numeric, or ordinal "
        "with numbers for levels) whose mean is more than two standard errors from 0",
        "0 to ∞",
        short="mean error",
    ),
    Definition(
        "relative error of standard deviations, median",
        "|ratio of standard deviations − 1|, median over columns of numbers",
        "0 to ∞",
        short="sd error",
    ),
    Definition(
        "rank error of deciles",
        "largest distance of k/10 from the ranks that the k-th decile of a set has among the "
        "original values (an interval for a value of many records), mean over columns of numbers",
        "0 to .9",
        short="decile error",
    ),
    Definition(
        "means kept",
        "share of columns of numbers whose mean is within 5 % or two standard errors of the "
        "original, whichever is wider",
        "1 to 0",
        Better.HIGH,
        short="means kept",
    ),
    Definition(
        "standard deviations kept",
        "share of columns of numbers whose standard deviation is within 15 % of the original",
        "1 to 0",
        Better.HIGH,
        short="sds kept",
    ),
    Definition(
        "deciles kept",
        "share of columns of numbers of which no decile's rank is off by more than .03",
        "1 to 0",
        Better.HIGH,
        short="deciles kept",
    ),
    Definition(
        "within-group distance",
        f"within groups of 2 to 6 % of the original records: {_TV}, mean over the other columns "
        "and over at most 60 groups; 1 where a set has no such records",
        "0 to 1",
        short="in groups",
    ),
    Definition(
        "relations broken",
        "share of records of a set that break a relation that every original record keeps: a "
        "column that another determines, a number or date that another never exceeds",
        "0 to 1",
        short="relations",
    ),
)

_EVALUATE = (
    Definition(
        "total variation, 1-way",
        f"{_TV}, mean over all columns",
        "0 to 1",
        headline=Headline.ONE_WAY,
        short="tv1",
    ),
    Definition("total variation, worst 1-way", f"{_TV}, of the worst column", "0 to 1"),
    Definition(
        "total variation, 2-way",
        f"{_TV}, mean over all pairs of columns",
        "0 to 1",
        headline=Headline.TWO_WAY,
        short="tv2",
    ),
    Definition("total variation, worst 2-way", f"{_TV}, of the worst pair", "0 to 1"),
    Definition(
        "total variation, 3-way (all triples)",
        f"{_TV}, mean over all triples of columns",
        "0 to 1",
        headline=Headline.THREE_WAY,
        variant="(all triples)",
        short="tv3",
    ),
    Definition(
        "total variation, 3-way (500 triples)",
        f"{_TV}, mean over 500 triples of columns, of more; the same ones for every release",
        "0 to 1",
        headline=Headline.THREE_WAY,
        variant="(500 triples)",
        short="tv3",
    ),
    Definition(
        "conditional distance",
        "L1 distance of the laws of one column given another, mean over ordered pairs",
        "0 to 2",
    ),
    Definition(
        "difference of correlation",
        "|difference| of Spearman's correlation (numbers by value, ties by mid-ranks, records with "
        "both values), mean over pairs of ordered columns",
        "0 to 2",
        short="Δr",
    ),
    Definition(
        "correlations kept",
        "share of Spearman's correlations beyond ± 0.2 in the original that are within 0.1 in a "
        "set",
        "1 to 0",
        Better.HIGH,
        short="r kept",
    ),
    Definition(
        "difference of Cramér's V",
        "|difference| of Cramér's V, without its bias, mean over pairs with an unordered column",
        "0 to 1",
    ),
    Definition(
        "χ² decisions agreeing",
        "share of pairs of columns whose χ² test of independence decides alike at a level",
        "1 to 0",
        Better.HIGH,
    ),
    *(
        Definition(
            f"pMSE, {name}",
            f"{_PMSE}, by {how}",
            "0 to 1/4",
            headline=Headline.PMSE,
            variant=name,
        )
        for name, how in _MODELS.items()
    ),
    *(
        Definition(
            f"SPECKS, {name}",
            f"{_SPECKS}, by {how}",
            "0 to 1",
            headline=Headline.SPECKS,
            variant=name,
            short=_SHORT.get(name, ""),
        )
        for name, how in _MODELS.items()
    ),
    Definition(
        "confidence-interval overlap",
        "mean share of the 95 % intervals of original and set that lies in the other, mean over "
        "the coefficients that the original determines; 0 where a set does not determine one",
        "1 to 0",
        Better.HIGH,
    ),
    Definition(
        "interval width ratio, median",
        "width of a set's 95 % interval over the original's, median over the coefficients that "
        "both determine",
        "0 to ∞",
        Better.ONE,
    ),
    Definition(
        "standardised coefficient shift, median",
        "|difference| of coefficients in standard errors of the original, median over the "
        "coefficients that both determine",
        "0 to ∞",
    ),
    Definition(
        "coefficients beyond chance",
        "share of the coefficients that the original determines whose two estimates differ by more "
        "than 1.96 times the root of the sum of both squared standard errors, or that a set lost",
        "0 to 1",
    ),
    *(
        Definition(
            f"trained on synthetic, {name}",
            meaning,
            range_,
            Better.HIGH,
            headline=Headline.TRAINED,
            variant=name,
            short=short,
        )
        for name, meaning, range_, short in (
            ("accuracy", f"accuracy {_TRAINED}", "1 to 0", "accuracy, trained"),
            (
                "area under the curve",
                f"area under the ROC curve {_TRAINED}, of more than two classes the mean of each "
                "against the rest; .5 is guessing",
                "1 to 0",
                "AUC, trained",
            ),
            ("R²", f"share of variance explained {_TRAINED}", "1 to −∞", ""),
        )
    ),
    Definition(
        "share, synthetic / original",
        "share of a group among synthetic records over its share among original ones",
        "0 to ∞",
        Better.ONE,
    ),
    *(
        Definition(
            f"total variation, {order}-way, other columns{over}",
            f"within a group: {_TV}, mean over {what} without the grouping column{divided}",
            "0 to ∞" if over else "0 to 1",
        )
        for order, what in ((1, "columns"), (2, "pairs"))
        for over, divided in (
            ("", ""),
            (" / fresh", ", over its expectation for a second sample of the population"),
        )
    ),
    Definition(
        "pMSE / fresh",
        f"{_PMSE}, over its expectation for a second sample of the population, which then has 1",
        "0 to ∞",
        short="pMSE / fresh",
    ),
    *_KEPT,
)

DEFINITIONS = {definition.name: definition for definition in _EVALUATE}
"""Name → score."""
