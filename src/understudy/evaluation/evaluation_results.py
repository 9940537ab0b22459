"""What an evaluation finds. All of it compares with the rows, so all of it is internal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, stdev
from typing import Any

from understudy.evaluation.definitions import Better, Definition
from understudy.evaluation.kept_details import CorrelationKept, GroupKept, NumberKept, RelationKept
from understudy.evaluation.risk.risk_results import Risks


@dataclass(frozen=True)
class Score:
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
    ) -> Score:
        """The mean of a score over the sets, and its standard deviation over them.

        Args:
            definition: what the score is.
            values: of each set.
            detail: what its name says beyond that, with the sign before it: ", income".
            null: as in `Score`.
            null_sd: as in `Score`.
            note: as in `Score`.
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
        """What its name says beyond the headline that it can stand for."""
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
    scores: tuple[Score, ...]
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
        """What it is, without a figure."""
        return f"Evaluation(INTERNAL, {len(self.scores)} scores of a release by {self.method})"

    @property
    def median_width(self) -> float | None:
        """Median ratio of the widths; None where nothing was compared."""
        ratios = [width.ratio for width in self.widths if width.ratio is not None]
        return median(ratios) if ratios else None

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What the scores are, each once, in their order; groups last."""
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
