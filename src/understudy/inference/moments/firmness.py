"""What is lost in the noise of second moments: how far it must stand out, and what is said of it.

Loads no library of statistics, so that what is known beforehand can be said quickly.
"""

from __future__ import annotations

from understudy.errors import InferenceError

FIRM = 3.0
"""Least denominator, in standard deviations of its noise, of which an interval is given."""
FIRM_MODEL = 6.0
"""The same of the information of a logistic or Poisson model, in its weakest direction."""
_FURTHEST = 20.0  # times the noise, beyond which no factor is named


class LostInNoiseError(InferenceError):
    """A question that second moments have an answer to, which is lost in their noise.

    Attributes:
        short: how far what has to stand out from its noise falls short, in standard deviations of
            it; infinite where that is not known.
    """

    short: float = float("inf")


def lost(what: str, firmness: float, needed: float = FIRM) -> LostInNoiseError:
    """The refusal of what does not stand out from its noise, and what would make it.

    What is measured grows with the number of records, its noise falls with ε: so both are called
    for in the same proportion.

    Args:
        what: does not stand out, as the beginning of a sentence.
        firmness: how far it does, in standard deviations of its noise.
        needed: how far it must.

    Example:
        >>> str(lost("A group is too small", 1.5)).partition(": ")[2]
        'coarser levels, fewer columns, or about 2.0 times the ε or the number of records would do.'
    """
    factor = needed / firmness if firmness > 0 else float("inf")
    more = f", or about {factor:.1f} times the ε or the number of records" * (factor <= _FURTHEST)
    error = LostInNoiseError(
        f"{what} (about {max(firmness, 0.0):.1f} standard deviations of noise above 0; "
        f"{needed:g} are needed): coarser levels, fewer columns{more} would do."
    )
    error.short = needed - firmness
    return error
