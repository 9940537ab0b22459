"""What every score is: one name for one meaning, in `evaluate` and on the pages of benchmarks.

A score of `evaluate` has the name that stands here, or begins with it where more belongs to it (a
column, a model). The yardstick of the benchmarks (`benchmarks/yardstick.py`) scores whole tables of
codes by rules of its own; where these differ from `evaluate`, so do the names.

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
        yardstick: whether it is one of the benchmarks' yardstick, not of `evaluate`.
        headline: what it can stand for at the head of a page, if anything.
        variant: what its name says beyond that.
    """

    name: str
    meaning: str
    range: str
    better: Better = Better.LOW
    yardstick: bool = False
    headline: Headline | None = None
    variant: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines."""
        content = asdict(self)
        return {name: content[name] for name in ("name", "meaning", "range", "better", "yardstick")}


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

_EVALUATE = (
    Definition(
        "total variation, 1-way",
        f"{_TV}, mean over all columns",
        "0 to 1",
        headline=Headline.ONE_WAY,
    ),
    Definition("total variation, worst 1-way", f"{_TV}, of the worst column", "0 to 1"),
    Definition(
        "total variation, 2-way",
        f"{_TV}, mean over all pairs of columns",
        "0 to 1",
        headline=Headline.TWO_WAY,
    ),
    Definition("total variation, worst 2-way", f"{_TV}, of the worst pair", "0 to 1"),
    Definition(
        "total variation, 3-way (all triples)",
        f"{_TV}, mean over all triples of columns",
        "0 to 1",
        headline=Headline.THREE_WAY,
        variant="(all triples)",
    ),
    Definition(
        "total variation, 3-way (500 triples)",
        f"{_TV}, mean over 500 triples of columns drawn with the seed, of more than 500",
        "0 to 1",
        headline=Headline.THREE_WAY,
        variant="(500 triples)",
    ),
    Definition(
        "conditional distance",
        "L1 distance of the laws of one column given another, mean over ordered pairs",
        "0 to 2",
    ),
    Definition(
        "difference of correlation",
        "|difference| of Pearson's correlation of states, mean over pairs of ordered columns",
        "0 to 2",
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
        "coefficient distance",
        "Euclidean distance of the coefficients that all tables determine, in their own units",
        "0 to ∞",
    ),
    *(
        Definition(
            f"trained on synthetic, {name}",
            meaning,
            range_,
            Better.HIGH,
            headline=Headline.TRAINED,
            variant=name,
        )
        for name, meaning, range_ in (
            ("accuracy", f"accuracy {_TRAINED}", "1 to 0"),
            (
                "area under the curve",
                f"area under the ROC curve {_TRAINED}; .5 is guessing",
                "1 to 0",
            ),
            ("R²", f"share of variance explained {_TRAINED}", "1 to −∞"),
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
    ),
)

_YARDSTICK = (
    Definition("tv1", "the same as total variation, 1-way", "0 to 1", yardstick=True),
    Definition("tv2", "the same as total variation, 2-way", "0 to 1", yardstick=True),
    Definition(
        "tv3 (64)",
        f"{_TV}, mean over 64 triples of columns, the same ones for every release of a table",
        "0 to 1",
        yardstick=True,
    ),
    Definition(
        "SPECKS-lr",
        f"{_SPECKS}, by logistic regression on main effects of all rows, columns of more than 24 "
        "codes cut into 16 groups at quantiles of the real rows",
        "0 to 1",
        yardstick=True,
    ),
    Definition(
        "SPECKS-cart",
        f"{_SPECKS}, by a tree of depth 5 with at least 20 rows in a leaf on the codes of all rows",
        "0 to 1",
        yardstick=True,
    ),
    Definition(
        "pMSE / resampled",
        "pMSE of the model of SPECKS-lr over its expectation for rows drawn from the real ones "
        "with replacement; a fresh sample of the population has 2",
        "0 to ∞",
        yardstick=True,
    ),
    Definition(
        "AUC",
        "area under the ROC curve of predicting a fifth of the real rows, learned from all "
        "synthetic rows by gradient boosting (100 rounds); mean of one class against the rest",
        "1 to 0",
        Better.HIGH,
        yardstick=True,
    ),
    Definition(
        "accuracy", "accuracy of the same prediction", "1 to 0", Better.HIGH, yardstick=True
    ),
)

DEFINITIONS = {definition.name: definition for definition in (*_EVALUATE, *_YARDSTICK)}
"""Name → score."""
