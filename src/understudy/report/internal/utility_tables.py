"""What the internal page says in tables: worst columns and pairs, agreement, subgroups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.evaluation.evaluation_results import Coefficient, Evaluation, Marginal, Subgroup
from understudy.report.number_text import figure, percent

CLASSES = ("p < .01", ".01 – .05", ".05 – .10", "p ≥ .10")
_LEVELS = (".01", ".05", ".10")
_LARGEST = 3  # states that a marginal's note names


@dataclass(frozen=True)
class Cell:
    """A cell of the table of decisions.

    Attributes:
        count: pairs of columns.
        share: of all pairs.
        step: place on the colour scale, 0 to 9.
        agrees: whether both fall into the same class.
    """

    count: int
    share: float
    step: int
    agrees: bool


@dataclass(frozen=True)
class Level:
    """Decisions at one level of significance, as shares of all pairs.

    Attributes:
        level: the level.
        agree: both significant, or both not.
        lost: significant in the original alone.
        invented: significant in the synthetic sets alone.
    """

    level: str
    agree: float
    lost: float
    invented: float


@dataclass(frozen=True)
class Agreement:
    """χ² decisions of the original (rows) and the synthetic sets (columns).

    Attributes:
        rows: cells, with the name of their row.
        levels: agreement at each level.
        total: pairs tested.
    """

    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    levels: tuple[Level, ...]
    total: int


def agreement(counts: Sequence[Sequence[int]]) -> Agreement | None:
    """Decisions in words; None if no pair was tested."""
    total = sum(map(sum, counts))
    if not total:
        return None
    rows = tuple(
        (name, tuple(_cell(n, total, i == j) for j, n in enumerate(row)))
        for i, (name, row) in enumerate(zip(CLASSES, counts, strict=True))
    )
    levels = tuple(_level(k, counts, total) for k in range(1, 4))
    return Agreement(rows, levels, total)


def _cell(count: int, total: int, agrees: bool) -> Cell:
    return Cell(count, count / total, min(int(10 * count / total), 9), agrees)


def _level(k: int, counts: Sequence[Sequence[int]], total: int) -> Level:
    """The first k classes are the significant ones."""
    lost = sum(sum(row[k:]) for row in counts[:k]) / total
    invented = sum(sum(row[:k]) for row in counts[k:]) / total
    return Level(_LEVELS[k - 1], 1 - lost - invented, lost, invented)


def worst_marginals(marginals: Sequence[Marginal]) -> list[Marginal]:
    """The most distant columns first, those without a number last."""
    return sorted(marginals, key=lambda one: -(one.distance if _is_number(one.distance) else -1.0))


def _is_number(value: float) -> bool:
    return math.isfinite(value)


def gap_words(marginal: Marginal) -> str:
    """The states whose shares are furthest apart."""
    states = zip(marginal.labels, marginal.original, marginal.synthetic, strict=True)
    known = [one for one in states if _is_number(one[1]) and _is_number(one[2])]
    ordered = sorted(known, key=lambda one: -abs(one[1] - one[2]))[:_LARGEST]
    return "; ".join(f"{name}: {percent(a)} → {percent(b)}" for name, a, b in ordered if a != b)


def spoken_marginal(marginal: Marginal) -> str:
    """The chart of a column in words."""
    words = gap_words(marginal)
    largest = f" Largest gaps, original to synthetic: {words}." if words else ""
    return (
        f"Bar chart of {marginal.column}: shares of {len(marginal.labels)} states in original and "
        f"synthetic rows, distance {figure(marginal.distance)}.{largest}"
    )


def by_model(coefficients: Sequence[Coefficient]) -> dict[str, list[Coefficient]]:
    """Coefficients of each model, in the order given."""
    found: dict[str, list[Coefficient]] = {}
    for one in coefficients:
        found.setdefault(one.model, []).append(one)
    return found


def shown_terms(coefficients: Sequence[Coefficient], at_most: int) -> list[Coefficient]:
    """Of a long model, the coefficients furthest apart, in the model's order."""
    ranked = sorted(
        range(len(coefficients)), key=lambda k: -_or_infinity(coefficients[k].standardised)
    )
    return [coefficients[k] for k in sorted(ranked[:at_most])]


def worst_coefficients(coefficients: Sequence[Coefficient]) -> list[Coefficient]:
    """The coefficients furthest apart first."""
    return sorted(coefficients, key=lambda one: -_or_infinity(one.standardised))


def _or_infinity(value: float) -> float:
    return math.inf if math.isnan(value) else value


def mean_overlap(coefficients: Sequence[Coefficient]) -> float | None:
    """Mean interval overlap, of those that have one."""
    known = [one.overlap for one in coefficients if _is_number(one.overlap)]
    return sum(known) / len(known) if known else None


def names_of_scores(subgroups: Sequence[Subgroup]) -> list[str]:
    """Scores that any subgroup has, in order of appearance."""
    return list(dict.fromkeys(name for group in subgroups for name in group.scores))


def share_of_synthetic(evaluation: Evaluation) -> float:
    """Share of one synthetic set in the rows that a propensity model sees."""
    total = evaluation.n_original + evaluation.n_synthetic
    return evaluation.n_synthetic / total if total else 0.5
