"""Definitions of scores: one name for one meaning, in `evaluate` and on the pages of benchmarks.

A score of `evaluate` has the name that stands here, or begins with it where more belongs to it (a
column, a model). The yardstick of the benchmarks (`benchmarks/yardstick.py`) is made of scores of
`evaluate`; its tables head them by the short names that stand beside.

Sources: Woo, Reiter, Oganian & Karr (2009) and Snoke et al. (2018) for pMSE; Bowen & Liu (2020) for
SPECKS; Karr et al. (2006) for the overlap of intervals; Bergsma (2013) for Cramér's V.

**What an evaluation finds. All of it compares with the rows, so all of it is internal.**

**What users look up first: numbers, correlations, groups and relations, one by one. INTERNAL.**
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum, StrEnum, auto
from statistics import fmean, median, stdev
from typing import Any

from understudy.evaluate.attack_setup import Risks


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


def _plain(value: object) -> object:
    """Convert a value to what JSON can hold: None for what is not finite."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Detail:
    """A finding with plain fields."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines; what is not finite becomes None."""
        return {name: _plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class NumberKept(_Detail):
    """One column of numbers, original beside synthetic; NaN where there is no figure.

    Attributes:
        column: its name.
        original: mean and standard deviation of the original values.
        synthetic: the same, means over the sets.
        absent: share of records without a value, original and mean over the sets.
        relative_error: |difference of means| over |mean|, mean over the sets; NaN where the mean is
            within two standard errors of 0.
        standard_errors: |difference of means| in standard errors of the original mean.
        sd_ratio: synthetic over original standard deviation.
        rank_error: largest distance of a synthetic decile's rank among the original values.
        kept: share of the sets that keep the mean, the standard deviation, the deciles.
    """

    column: str
    original: tuple[float, float]
    synthetic: tuple[float, float]
    absent: tuple[float, float]
    relative_error: float
    standard_errors: float
    sd_ratio: float
    rank_error: float
    kept: tuple[float, float, float]

    @property
    def lost(self) -> tuple[str, ...]:
        """Names of what a set does not keep."""
        names = ("mean", "sd", "deciles")
        return tuple(name for name, share in zip(names, self.kept, strict=True) if share < 1)


@dataclass(frozen=True)
class CorrelationKept(_Detail):
    """Spearman's correlation of two ordered columns, original beside synthetic.

    Attributes:
        columns: names of both.
        original: correlation in the original rows.
        synthetic: mean over the sets.
        kept: share of the sets that keep it; NaN where it is too weak to be judged.
    """

    columns: tuple[str, str]
    original: float
    synthetic: float
    kept: float


@dataclass(frozen=True)
class GroupKept(_Detail):
    """A small group of records: how far its other columns are from the original ones.

    Attributes:
        column: the grouping column.
        label: the group.
        rows: original records in it.
        share: of the original records.
        distance: mean total variation distance of the other columns within the group; mean over
            the sets, 1 in a set without such records.
        fresh: the same for a fresh sample; NaN where no set has such records.
        ungrouped: the same for the columns of all original records, with no trace of the group.
    """

    column: str
    label: str
    rows: int
    share: float
    distance: float
    fresh: float
    ungrouped: float


@dataclass(frozen=True)
class RelationKept(_Detail):
    """A relation that every original record keeps.

    Attributes:
        relation: in words, such as "education → education-num" (the first determines the second).
        records: original records that it is about.
        broken: share of synthetic records that break it, mean over the sets.
        unrelated: share that would break it if the columns were independent.
    """

    relation: str
    records: int
    broken: float
    unrelated: float


@dataclass(frozen=True)
class Metric:
    """One utility score of a release.

    Attributes:
        name: what it is, such as "pMSE, logistic with pairs".
        value: mean over the sets.
        spread: standard deviation over the sets; None for one set.
        null: what the score would be if the sets came from the same distribution as the original;
            None if not known.
        null_sd: standard deviation of the score under that hypothesis; None if not known.
        better: which values are good.
        note: "" or what to know when reading it.
        definition: what it is, where its name is one that is defined, or begins with it.
    """

    name: str
    value: float
    spread: float | None = None
    null: float | None = None
    null_sd: float | None = None
    better: Better = Better.LOW
    note: str = ""
    definition: Definition | None = None

    @classmethod
    def over_sets(
        cls,
        definition: Definition,
        values: Sequence[float],
        *,
        detail: str = "",
        null: float | None = None,
        null_sd: float | None = None,
        note: str = "",
    ) -> Metric:
        """The mean of a score over the sets, and its standard deviation over them.

        Args:
            definition: what the score is.
            values: of each set.
            detail: what its name says beyond that, with the sign before it: ", income".
            null: as in `Metric`.
            null_sd: as in `Metric`.
            note: as in `Metric`.
        """
        plain = [float(value) for value in values]
        return cls(
            definition.name + detail,
            fmean(plain),
            stdev(plain) if len(plain) > 1 else None,
            null,
            null_sd,
            definition.better,
            note,
            definition,
        )

    @property
    def variant(self) -> str:
        """Part of its name beyond the headline that it can stand for."""
        if self.definition is None:
            return ""
        return self.definition.variant + self.name.removeprefix(self.definition.name)

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines."""
        content = {name: value for name, value in vars(self).items() if name != "definition"}
        return {**content, "ratio": self.ratio, "standardised": self.standardised}

    @property
    def ratio(self) -> float | None:
        """Value over its expectation under the null; 1 is as good as a fresh sample."""
        return None if not self.null else self.value / self.null

    @property
    def standardised(self) -> float | None:
        """Distance from the null in its standard deviations."""
        if self.null is None or not self.null_sd:
            return None
        return (self.value - self.null) / self.null_sd


@dataclass(frozen=True)
class Marginal:
    """One column, original beside synthetic.

    Attributes:
        column: its name.
        labels: text of each state.
        original: share of each state in the original rows.
        synthetic: mean share over the sets.
        distance: total variation distance, mean over the sets.
    """

    column: str
    labels: tuple[str, ...]
    original: tuple[float, ...]
    synthetic: tuple[float, ...]
    distance: float


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of a reference regression, original beside synthetic.

    Attributes:
        model: the model, such as "income ~ age + sex (ols)".
        term: name of the coefficient.
        original: estimate, lower and upper end of the 95 % interval from the original rows.
        synthetic: the same, median over the sets.
        overlap: interval overlap (Karr et al. 2006), mean over the sets.
        standardised: |difference| in standard errors of the original, median over the sets.
    """

    model: str
    term: str
    original: tuple[float, float, float]
    synthetic: tuple[float, float, float]
    overlap: float
    standardised: float


@dataclass(frozen=True)
class Subgroup:
    """Scores within one group of records.

    Attributes:
        column: the grouping column.
        label: the group.
        rows: original records in it.
        small: whether it is too small for its scores to mean much.
        scores: score name → value.
        definitions: what these scores are.
    """

    column: str
    label: str
    rows: int
    small: bool
    scores: dict[str, float]
    definitions: tuple[Definition, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines."""
        return {name: value for name, value in vars(self).items() if name != "definitions"}


@dataclass(frozen=True)
class AnswerWidth:
    """The interval of a release beside that of the rows, for one estimate of one analysis.

    Attributes:
        question: kind and formula.
        term: name of the estimate; "" where there is none.
        original: ends of the textbook 95 % interval from the original rows.
        released: ends of the interval that `analyze` gives from the release alone.
        refused: why nothing is compared; "" if something is.
    """

    question: str
    term: str
    original: tuple[float, float] = (math.nan, math.nan)
    released: tuple[float, float] = (math.nan, math.nan)
    refused: str = ""

    @property
    def ratio(self) -> float | None:
        """Width from the release over width from the rows; None where there is none."""
        own, other = self.original[1] - self.original[0], self.released[1] - self.released[0]
        return other / own if own > 0 and math.isfinite(own) and not math.isnan(other) else None

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines; what is not finite becomes None."""
        ends = {
            name: [end if math.isfinite(end) else None for end in pair]
            for name, pair in (("original", self.original), ("released", self.released))
        }
        ratio = self.ratio if self.ratio is not None and math.isfinite(self.ratio) else None
        asked = {"question": self.question, "term": self.term, "refused": self.refused}
        return {**asked, **ends, "ratio": ratio}


@dataclass(frozen=True)
class Evaluation:
    """Everything that an evaluation found.

    Attributes:
        title: title of the table.
        n_original: original rows.
        n_synthetic: rows of each set.
        sets: number of sets.
        method: the release's method.
        guarantee: the release's promise, in words.
        scores: all scores, the most important first.
        marginals: every column, worst first.
        pairs: total variation distance of each pair of columns (mean over sets), by names.
        propensity: model name → (grid, ECDF of the original, ECDF of the synthetic rows).
        coefficients: coefficients of the reference regressions.
        agreement: χ² decisions: p-value class of the original × of the synthetic sets, counts of
            pairs; classes are p < .01, .01–.05, .05–.10, ≥ .10.
        widths: intervals of declared analyses (or of a few means and shares) beside the rows'.
        subgroups: scores by group.
        risks: what attacks find; None for a table of one column.
        numbers: every column of numbers, worst first.
        correlations: every pair of ordered columns, worst first.
        groups: small groups of records, worst first.
        relations: what every original record keeps, worst first.
        warnings: what could not be computed, and why.
    """

    title: str
    n_original: int
    n_synthetic: int
    sets: int
    method: str
    guarantee: str
    scores: tuple[Metric, ...]
    marginals: tuple[Marginal, ...]
    pairs: dict[tuple[str, str], float]
    propensity: dict[str, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]]
    coefficients: tuple[Coefficient, ...]
    agreement: tuple[tuple[int, ...], ...]
    widths: tuple[AnswerWidth, ...] = ()
    subgroups: tuple[Subgroup, ...] = ()
    risks: Risks | None = None
    numbers: tuple[NumberKept, ...] = ()
    correlations: tuple[CorrelationKept, ...] = ()
    groups: tuple[GroupKept, ...] = ()
    relations: tuple[RelationKept, ...] = ()
    warnings: tuple[str, ...] = field(default_factory=tuple)

    def __repr__(self) -> str:
        """Describe it without a figure."""
        return f"Evaluation(INTERNAL, {len(self.scores)} scores of a release by {self.method})"

    @property
    def median_width(self) -> float | None:
        """Median ratio of the widths; None where nothing was compared."""
        ratios = [width.ratio for width in self.widths if width.ratio is not None]
        return median(ratios) if ratios else None

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """Definitions of the scores, each once, in their order; groups last."""
        known = [score.definition for score in self.scores]
        known += [definition for group in self.subgroups for definition in group.definitions]
        return tuple(dict.fromkeys(definition for definition in known if definition is not None))

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines; stamped internal."""
        return {
            "internal": "compares with confidential data, not for release",
            "title": self.title,
            "n_original": self.n_original,
            "n_synthetic": self.n_synthetic,
            "sets": self.sets,
            "method": self.method,
            "guarantee": self.guarantee,
            "scores": [score.to_json() for score in self.scores],
            "definitions": [definition.to_json() for definition in self.definitions],
            "marginals": [vars(marginal) for marginal in self.marginals],
            "pairs": [
                {"columns": list(names), "distance": value} for names, value in self.pairs.items()
            ],
            "coefficients": [vars(coefficient) for coefficient in self.coefficients],
            "agreement": [list(row) for row in self.agreement],
            "widths": [width.to_json() for width in self.widths],
            "subgroups": [group.to_json() for group in self.subgroups],
            "risks": self.risks and self.risks.to_json(),
            "numbers": [number.to_json() for number in self.numbers],
            "correlations": [pair.to_json() for pair in self.correlations],
            "groups": [group.to_json() for group in self.groups],
            "relations": [relation.to_json() for relation in self.relations],
            "warnings": list(self.warnings),
        }
