"""Many numbers in one cell of a row of results."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def joined(numbers: Iterable[float] | NDArray[np.float64]) -> str:
    """Numbers as the text that a row of results holds, to six digits.

    Example:
        >>> joined([0.5, 2.0])
        '0.5 2'
    """
    return " ".join(f"{number:.6g}" for number in numbers)


def parted(text: str) -> NDArray[np.float64]:
    """The numbers of such a text.

    Example:
        >>> parted("0.5 2").tolist()
        [0.5, 2.0]
    """
    return np.array([float(word) for word in text.split()])
