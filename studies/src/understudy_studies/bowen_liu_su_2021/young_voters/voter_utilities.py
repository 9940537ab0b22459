"""What is measured of a release: the three utilities of the paper, and what they hide.

Source: Bowen, Liu & Su (2021), section 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.evaluate.associations import LI, agreement, class_table
from understudy.evaluate.comparison import Comparison, Rows, code_table
from understudy.schema import Column, Schema
from understudy_studies.bowen_liu_su_2021.young_voters.voter_case import Case
from understudy_studies.framework.study import Row
from understudy_studies.measures.difference_in_differences import difference_overlaps
from understudy_studies.measures.pairwise_logistic import Memory, pairwise_specks
from understudy_studies.measures.rank_sums import Better

CLASSES = "classes"
"""Column with the 4 × 4 table of p-value classes, its 16 numbers joined by blanks."""


@dataclass(frozen=True)
class Measure:
    """A number that each release gets.

    Attributes:
        name: column of `results.csv`.
        words: heading.
        better: whether low or high is good.
    """

    name: str
    words: str
    better: Better


SPECKS = Measure("specks", "SPECKS", "low")
AGREEMENTS = (
    Measure("agree_1", "χ² at 1 %", "high"),
    Measure("agree_5", "χ² at 5 %", "high"),
    Measure("agree_10", "χ² at 10 %", "high"),
)
OVERLAP = Measure("overlap", "overlap, all", "high")
EXPOSURE = Measure("overlap_exposure", "exposure", "high")
GROUP = Measure("overlap_group", "registered", "high")
PRODUCT = Measure("overlap_product", "product", "high")
PAPERS = (SPECKS, *AGREEMENTS, OVERLAP, EXPOSURE, GROUP, PRODUCT)
"""The eight columns of the paper's table 3, in its order."""

WITHIN = Measure("overlap_within", "exposure within registered", "high")
DETERMINED = Measure("overlap_determined", "overlap, determined ones", "high")
WIDTH = Measure("width", "median width ratio", "low")
SAME = Measure("same_class", "same class", "high")
SHRUNK = Measure("shrunk_sets", "sets without a maximum", "low")
OURS = (WITHIN, DETERMINED, WIDTH, SAME, SHRUNK)

MEASURES = (*PAPERS, *OURS)


def measured(table: Case, sets: Sequence[pl.DataFrame], memory: Memory | None = None) -> Row:
    """All measures of one release.

    `overlap_determined` is the mean over the coefficients that a regression can tell: without
    intercept, exposure, registration and product, of which only a prior tells where nobody
    unregistered votes. `width` is the median of their synthetic over original interval widths.

    Args:
        table: the original.
        sets: the sets of the release.
        memory: where the search for SPECKS begins.
    """
    schema = table.without_zeros
    states = tuple(state_numbers(schema, one) for one in sets)
    comparison = Comparison(schema, table.coded, states)
    classes = class_table(comparison, rule=LI)
    found = difference_overlaps(comparison, table.model, table.original_fit)
    model = table.model
    untold = ("intercept", model.exposure, model.group, model.product)
    told = ~np.isin(found.terms, untold)
    return {
        SPECKS.name: float(np.mean(pairwise_specks(comparison, memory=memory))),
        **{measure.name: agreement(classes, k) for k, measure in enumerate(AGREEMENTS, start=1)},
        OVERLAP.name: found.mean,
        EXPOSURE.name: found.of(model.exposure),
        GROUP.name: found.of(model.group),
        PRODUCT.name: found.of(model.product),
        WITHIN.name: found.within,
        DETERMINED.name: float(np.nanmean(found.overlap[told])),
        WIDTH.name: _median(found.width[told]),
        SAME.name: int(np.trace(classes)),
        SHRUNK.name: found.shrunk[1],
        CLASSES: " ".join(map(str, classes.ravel())),
    }


def state_numbers(schema: Schema, frame: pl.DataFrame) -> Rows:
    """A table as state numbers, one array for each column.

    Columns of a release that are written with their labels have these numbers already; looking
    texts up would take as long as testing all pairs.

    Args:
        schema: the public schema.
        frame: a set of a release, or a table like one.
    """
    return [_numbered(frame, name, column) for name, column in schema.columns.items()]


def _numbered(frame: pl.DataFrame, name: str, column: Column) -> NDArray[np.unsignedinteger]:
    values = frame[name]
    kind = values.dtype
    labelled = isinstance(kind, pl.Enum) and kind.categories.to_list() == list(column.labels)
    if labelled and not values.null_count():
        return values.to_physical().to_numpy().astype(np.min_scalar_type(column.size))
    return code_table(Schema(columns={name: column}), frame)[0]


def _median(values: NDArray[np.float64]) -> float | None:
    """Median of what is known; None if nothing is."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else None
