"""What a request buys of so many rows, once their number is declared or bought.

**Second moments** that little could be answered from are not bought. An automatic release spends
part of its budget on those of all columns. Their noise does not depend on the rows; where so few
rows are released that it is a large part of any product of two scores, questions that rest on them
are refused, or have intervals that tell next to nothing. Whoever states the part, a priority or
analyses gets what was asked for. **Heaps** are counted as closely as is worth it, for less of many
rows. What is left buys records. Plans say both.
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
HEAPS = 400
"""Rows in a standard deviation of the noise in counts of heaps, which is little enough: that of a
class in all zones is .006 of the rows then, and in one of six equal ones .015."""
LEAST_HEAPS = Fraction(1, 100)
"""Of what counts of heaps may cost, at least."""


def least_rows(request: Request) -> int:
    """Rows from which on second moments are bought; 0 if they are in any case, or never."""
    if not (request.usual_answers and request.answers):
        return 0
    most = WITHOUT if request.lines is None else WITH_LINES
    return math.ceil(max(step.stddev for step in request.answer_steps()) / most)


def settled(request: Request, n_rows: int) -> Request:
    """The request as it is for so many rows.

    Args:
        request: as made.
        n_rows: as declared, or as bought.
    """
    part = _part_of_heaps(request, n_rows)
    if part < 1:
        request = replace(request, heaps_spend=part * request.heaps_spend)
    if n_rows >= least_rows(request):
        return request
    return replace(request, answers_spend=Fraction(0), usual_answers=False)


def _part_of_heaps(request: Request, n_rows: int) -> Fraction:
    """Part of what counts of heaps may cost that so many rows need."""
    now = max((step.stddev for step in request.heap_steps()), default=math.inf)
    noisier = n_rows / HEAPS / now
    if noisier <= 1:
        return Fraction(1)
    power = 1 if request.budget.accounting == "pure" else 2
    return max(Fraction(math.floor(1000 / noisier**power), 1000), LEAST_HEAPS)


def remarks(request: Request) -> tuple[str, ...]:
    """What a plan says of it, where the number of rows is yet to be bought."""
    if request.schema.rows == "public":
        return ()
    least, heaps = least_rows(request), request.heap_steps()
    moments = (
        f"Second moments are bought if the number of rows comes out at {least:,} or more; of fewer "
        "little could be answered from them, and their part buys tables for the records, unless "
        "answers_share is stated."
    )
    many = math.ceil(HEAPS * max((step.stddev for step in heaps), default=0.0))
    closely = (
        f"If the number of rows comes out above {many:,}, counts of heaps cost less than shown, "
        "and the records get the rest."
    )
    return (moments,) * bool(least) + (closely,) * bool(heaps)
