"""Whether what a schema says of the number of rows fits together."""

from __future__ import annotations

from collections.abc import Iterator


def row_faults(rows: str, n_rows: int | None, row_limit: int | None) -> Iterator[str]:
    """What is wrong with entries about the number of rows, a sentence each.

    Args:
        rows: "public" or "private".
        n_rows: the public number.
        row_limit: public upper limit of a private number.
    """
    if rows == "public" and n_rows is None:
        yield 'rows = "public" needs n_rows, the public number of rows'
    if rows == "private" and n_rows is not None:
        yield (
            'n_rows is for rows = "public"; with private rows the number is '
            "bought from the budget (row_limit may bound it)"
        )
    if rows == "public" and row_limit is not None:
        yield 'row_limit is for rows = "private"; rows = "public" has n_rows'
