"""Second moments that little could be answered from are not bought.

An automatic release spends part of its budget on second moments of all columns. Their noise does
not depend on the rows; where so few rows are released that it is a large part of any product of two
scores, questions that rest on them are refused, or have intervals that tell next to nothing. Then
their part buys records instead. Whether it does follows from the number of rows as it is declared
or was bought, and plans say below which number that is. Whoever states the part, a priority or
analyses gets what was asked for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from understudy.pipeline.request import Request

WITH_LINES, WITHOUT = 0.09, 0.15
"""Deviation of the noise in a mean product of two scores, whose size is 1 at most, from which on
moments are not bought. Shares of records with two levels have intervals of ± .2 then, or wider. Of
six made tables of 1,000 rows no slope or correlation was answered, means and differences of groups
up to a fifth, and of all questions 5 to 20 in a hundred more than without, nearly all such shares.
That is no proof: lines of numbers cannot rule out that some lie beyond their bounds, and of groups
of levels only one that is a third of all could be told from none. Two-way distances of random
tables there are 2 to 18 % less without."""


def least_rows(request: Request) -> int:
    """Rows from which on second moments are bought; 0 if they are in any case, or never."""
    if not (request.usual_answers and request.answers):
        return 0
    most = WITHOUT if request.lines is None else WITH_LINES
    return math.ceil(max(step.stddev for step in request.answer_steps()) / most)


def settled(request: Request, n_rows: int) -> Request:
    """The request, without the usual second moments where there are too few rows for them.

    Args:
        request: as made.
        n_rows: as declared, or as bought.
    """
    if n_rows >= least_rows(request):
        return request
    return replace(request, answers_spend=Fraction(0), usual_answers=False)


def remarks(request: Request) -> tuple[str, ...]:
    """What a plan says of it, where the number of rows is yet to be bought."""
    least = least_rows(request)
    if not least or request.schema.rows == "public":
        return ()
    return (
        f"Second moments are bought if the number of rows comes out at {least:,} or more; of fewer "
        "little could be answered from them, and their part buys tables for the records, unless "
        "answers_share is stated.",
    )
