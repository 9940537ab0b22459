"""What is bought to answer some analyses of a question after a release.

Counts of a table, where two traits or only levels are asked about and the table is small; number
lines for quantiles, totals, shares of conditions on a number and means of functions of it; both
second moments and lines for means of numbers; second moments for everything else. Where a release
has a number in bins that no line divides, its table in these bins stands for the line. Each
analysis has an equal part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from understudy.families.measurement_plan import natural_noise
from understudy.features.line_cells import is_finer, line_bins
from understudy.inference.declared_analyses import DeclaredAnalysis, by_absences, on_lines
from understudy.inference.estimates.estimands import TWO_WAY
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.mechanism import Mechanism
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.mechanisms.counts.number_lines import NumberLines
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments
from understudy.privacy.noise.calibration import NoiseName
from understudy.schema import NUMERIC, Column, Schema

MOST_CELLS: Final = 4_096
"""Cells of a table that is bought for a question about levels."""
_BY_COUNTS: Final = ("quantile", "proportion", "total")
_OF_LEVELS: Final = ("mean", "proportion", "table", "total")


@dataclass(frozen=True)
class Purchase:
    """One step that is bought for a question.

    Attributes:
        mechanism: that measures.
        share: part of what the question may spend.
    """

    mechanism: Mechanism[Any, Any]
    share: Fraction


def purchases(
    analyses: Sequence[DeclaredAnalysis], schema: Schema, budget: Budget
) -> tuple[Purchase, ...]:
    """What is bought for some analyses; each has an equal part of the whole.

    Args:
        analyses: of a question.
        schema: of the release.
        budget: whose unit decides on the noise.
    """
    each, noise = Fraction(1, len(analyses)), natural_noise(budget.accounting)
    of_levels = [one for one in analyses if _small_table(one, schema)]
    lined = [one for one in analyses if one not in of_levels and on_lines([one], schema)]
    alone = [one for one in lined if _by_counts_alone(one, schema)]
    numbers = [one for one in analyses if one not in of_levels and one not in alone]
    found = []
    if of_levels:
        tables = tuple(dict.fromkeys(one.estimand(schema).columns for one in of_levels))
        share = each * len(of_levels)
        found.append(Purchase(NoisyTables(marginals=tables, noise=noise), share))
    halves = [one for one in lined if one not in alone]
    if lined:
        share = each * (len(alone) + Fraction(len(halves), 2))
        found += _counted(on_lines(lined, schema), schema, noise, share)
    weight = each * (len(numbers) - Fraction(len(halves), 2))
    groups = by_absences(numbers, schema)
    for coded, columns in groups.items():
        found.append(Purchase(ScoreMoments(columns, coded), weight / len(groups)))
    return tuple(found)


def _small_table(analysis: DeclaredAnalysis, schema: Schema) -> bool:
    """Whether it asks about levels or traits, of a table that can be counted cell by cell."""
    columns = analysis.estimand(schema).columns
    levels = not any(isinstance(schema.columns[name], NUMERIC) for name in columns)
    counted = analysis.kind in TWO_WAY or (levels and analysis.kind in _OF_LEVELS)
    return counted and schema.table(columns).n_cells <= MOST_CELLS


def _by_counts_alone(analysis: DeclaredAnalysis, schema: Schema) -> bool:
    """Whether counts of the values of one column have the whole answer, and moments have none."""
    if len(analysis.estimand(schema).columns) > 1:
        return False
    return analysis.kind in _BY_COUNTS or analysis.formula.strip() not in schema.names


def _counted(
    columns: tuple[str, ...], schema: Schema, noise: NoiseName, share: Fraction
) -> Iterator[Purchase]:
    """Counts of numbers: on number lines, or in the bins of the release where no line is finer."""
    lines = tuple(name for name in columns if _has_line(schema.columns[name], name, schema))
    tables = tuple((name,) for name in columns if name not in lines)
    if lines:
        yield Purchase(NumberLines(lines), share * Fraction(len(lines), len(columns)))
    if tables:
        counted = NoisyTables(marginals=tables, noise=noise)
        yield Purchase(counted, share * Fraction(len(tables), len(columns)))


def _has_line(column: Column, name: str, schema: Schema) -> bool:
    """Whether the cells of a number line divide the bins that a release has of a column."""
    assert isinstance(column, NUMERIC)
    fine = schema.part([name]).with_bins({name: line_bins(column)}).columns[name]
    assert isinstance(fine, NUMERIC)
    return is_finer(fine, column)
