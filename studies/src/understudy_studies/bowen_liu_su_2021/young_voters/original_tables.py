"""The rows that methods are compared on, beside what the paper prints of its own.

Source: Bowen, Liu & Su (2021), tables 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy.evaluate.comparison import distinct
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    CELL_COUNTS,
    CELL_SIZES,
    SPREADS,
)
from understudy_studies.bowen_liu_su_2021.young_voters.voter_case import Case
from understudy_studies.framework.study import TextTable

_LARGEST = len(CELL_SIZES) - 2
"""Records of a cell that are told apart."""


def cell_counts(table: Case) -> tuple[int, ...]:
    """How many cells that can occur hold 0, 1, 2, 3, 4, 5, or more records.

    Args:
        table: the rows.
    """
    _, records = distinct(table.coded, [column.size for column in table.schema.columns.values()])
    found = np.bincount(np.minimum(records, _LARGEST + 1), minlength=_LARGEST + 2)
    return (table.schema.domain.n_allowed - len(records), *found[1:].tolist())


def cells_by_size(table: Case, *, printed: bool) -> TextTable:
    """The paper's table 2.

    Args:
        table: the rows.
        printed: whether the paper's numbers stand beside ours.
    """
    ours = cell_counts(table)
    paper = CELL_COUNTS if printed else (None,) * len(ours)
    rows = [
        (size, f"{one:,}", f"{100 * one / sum(ours):.2f} %", *(() if of is None else _printed(of)))
        for size, one, of in zip(CELL_SIZES, ours, paper, strict=True)
    ]
    occupied = (f"{sum(ours[1:]):,}", f"{100 * sum(ours[1:]) / sum(ours):.2f} %")
    last = _printed(sum(CELL_COUNTS[1:])) if printed else ()
    return TextTable(
        caption="Cells of the full table by how many records they hold"
        + (", and as the paper’s table 2 prints it of its own rows" if printed else ""),
        headings=(
            "records",
            "cells here",
            "share",
            *(("cells in the paper", "share") if printed else ()),
        ),
        rows=(*rows, ("1 or more", *occupied, *last)),
    )


def _printed(count: int) -> tuple[str, str]:
    return f"{count:,}", f"{100 * count / sum(CELL_COUNTS):.2f} %"


def shares_of_levels(table: Case, printed: bool) -> Iterator[TextTable]:
    """The paper's table 1, where there are numbers to compare with.

    Args:
        table: the rows.
        printed: whether the table has the paper's columns.
    """
    if not printed:
        return
    rows = []
    for name, codes in zip(table.schema.names, table.coded, strict=True):
        labels = table.schema.columns[name].labels
        shares = 100 * np.bincount(codes, minlength=len(labels))[: len(labels)] / len(codes)
        rows.append((name, _in_words(name, labels, shares), SPREADS[name]))
    yield TextTable(
        caption="Shares of levels in per cent, and as the paper’s table 1 prints them, misprints "
        "included",
        headings=("column", "here", "printed"),
        rows=tuple(rows),
        words=3,
        fold=True,
    )


def _in_words(name: str, labels: tuple[str, ...], shares: np.ndarray) -> str:
    if name == "income":
        low, middle, high = np.quantile(shares, (0, 0.5, 1))
        return f"least {low:.1f}, median {middle:.1f}, most {high:.1f}"
    if len(labels) == 2:
        return f"yes {shares[1]:.1f}, no {shares[0]:.1f}"
    return ", ".join(f"{share:.1f}" for share in shares)
