"""How a release says where its number of rows comes from: declared as public, or bought."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from understudy.privacy.accounting.budget import decimal_up

PUBLIC_ROWS: Final = "declared as public in the schema"


def bought_rows(unit: str, spent: Fraction, noise: str) -> str:
    """A number of rows that was bought, in words.

    Args:
        unit: of the budget, as people write it.
        spent: what it cost, in that unit.
        noise: its distribution, in words.

    Example:
        >>> bought_rows("ε", Fraction(1, 20), "discrete Laplace (geometric), scale 20")
        'bought once for ε = 0.05 (discrete Laplace (geometric), scale 20)'
    """
    return f"bought once for {unit} = {decimal_up(spent)} ({noise})"
