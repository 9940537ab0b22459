"""What the number of a column is to a model: a public scale on which it is of order one.

A number y becomes t(y), and then z = (t(y) - shift)/scale, so that the public bounds of the column
are z = -3 and z = 3 and one prior fits every column. Models know z alone.

* "asinh": t = asinh(y/unit), which is nearly y/unit up to the unit and the sign of y times
  log(2|y|/unit) far beyond it. It takes numbers of any sign, and is the default. The unit is
  public; without one it is a thousandth of the bound that is farther from 0: three decades of the
  range are then on a logarithmic scale. Which unit is best depends on the table: under vector
  weights about a thousandth kept the 90th percentile of income far better than a hundredth on two
  of three tables, and worse on the third (study `pseudo-posterior`). A much smaller unit would
  spend the scale on differences between numbers near 0, a larger one leaves a long tail long.
* "log": t = log(y + offset), as the paper has it for incomes. Its incomes go down to -7,000, where
  no logarithm is; so an offset that keeps y + offset positive up to the bounds has to be given.
* "identity": t = y.

Densities are counted per unit of t(y), not of z: log f of that scale is what the paper's bounds are
made of, and `log_unit` turns one into the other. A bound of |log f| depends on the scale in which
numbers are told; with "log" and "asinh" it does not depend on the currency.

Source: Savitsky, Williams & Hu (2020), appendix, for the logarithm; Burbidge, Magee & Robb (1988),
Journal of the American Statistical Association 83, for asinh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.schema import NUMERIC, Column

Floats = NDArray[np.float64]
Form = Literal["asinh", "log", "identity"]

REACH: Final = 3.0
"""Where the bounds stand on the scale of models."""
UNITS: Final = 1_000.0
"""Default units of asinh from 0 to the bound that is farther from it."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """The scale of one column; all its numbers are public.

    Attributes:
        form: which t.
        low: lower bound of y.
        high: upper bound of y.
        offset: of the logarithm.
        unit: of asinh.

    Raises:
        MethodError: t is not a finite number at one of the bounds.

    Example:
        >>> income = Response(form="asinh", low=-7e3, high=1.8e6, unit=18e3)
        >>> z = income.to(np.array([-7e3, 0.0, 5e4, 1.8e6]))
        >>> z.round(2).tolist(), income.back(z).round(6).tolist()
        ([-3.0, -2.6, -0.75, 3.0], [-7000.0, 0.0, 50000.0, 1800000.0])
    """

    form: Form
    low: float
    high: float
    offset: float = 0.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        """Check that the bounds have a place."""
        if self.form not in get_args(Form):
            raise MethodError(f"A response is one of {', '.join(get_args(Form))}.")
        if not 0 < self.unit < math.inf or not math.isfinite(self.offset):
            raise MethodError("The unit of a response is positive, and its offset a number.")
        if self.form == "log" and not self.low + self.offset > 0:
            raise MethodError("A logarithm needs a lower bound plus offset above 0.")
        if not np.isfinite(self._ends).all() or self.low > self.high:
            raise MethodError("The bounds of a response are finite numbers in order.")

    @classmethod
    def of(
        cls,
        name: str,
        column: Column,
        form: Form = "asinh",
        *,
        offset: float | None = None,
        unit: float | None = None,
    ) -> Response:
        """The scale of a numeric column.

        Args:
            name: of the column, for messages.
            column: as the schema declares it.
            form: which t.
            offset: of the logarithm; None is 0.
            unit: of asinh; None is a thousandth of the bound that is farther from 0.

        Raises:
            MethodError: a column that is not numeric, or bounds that do not fit the form.
        """
        if not isinstance(column, NUMERIC):
            raise MethodError(f"The column {name!r} has no numbers, so it has no scale.")
        low, high = column.bounds
        largest = max(abs(low), abs(high))
        unit = (largest / UNITS or 1.0) if unit is None else unit
        try:
            return cls(form=form, low=low, high=high, offset=offset or 0.0, unit=unit)
        except MethodError as error:
            raise MethodError(_advice(name, form, low, str(error))) from None

    @property
    def shift(self) -> float:
        """The value of t at z = 0."""
        low, high = self._ends
        return float(low / 2 + high / 2)

    @property
    def scale(self) -> float:
        """Units of t in one of z."""
        low, high = self._ends
        return float(high / (2 * REACH) - low / (2 * REACH)) or 1.0

    @property
    def log_unit(self) -> float:
        """What the logarithm of a density per unit of z lacks to one per unit of t."""
        return -math.log(self.scale)

    def to(self, numbers: Floats) -> Floats:
        """Numbers on the scale of models.

        Args:
            numbers: within the bounds, shape (n,); NaN stays.
        """
        return np.asarray((self._forwards(numbers) - self.shift) / self.scale)

    def back(self, places: Floats) -> Floats:
        """Numbers at places of the scale of models, clipped to the bounds.

        Args:
            places: shape (n,); NaN stays.
        """
        at = np.clip(places, -REACH, REACH) * self.scale + self.shift
        return np.clip(self._backwards(at), self.low, self.high)

    @property
    def _ends(self) -> Floats:
        with np.errstate(over="ignore"):
            return self._forwards(np.array([self.low, self.high], dtype=np.float64))

    def _forwards(self, numbers: Floats) -> Floats:
        if self.form == "log":
            return np.asarray(np.log(numbers + self.offset))
        return np.asarray(np.arcsinh(numbers / self.unit)) if self.form == "asinh" else numbers

    def _backwards(self, at: Floats) -> Floats:
        if self.form == "log":
            return np.asarray(np.exp(at) - self.offset)
        return np.asarray(self.unit * np.sinh(at)) if self.form == "asinh" else at


def _advice(name: str, form: Form, low: float, fault: str) -> str:
    """A message that names the column and what to do; bounds are public."""
    if form == "log":
        return (
            f"The column {name!r} goes down to {low:g}, so that its logarithm needs an offset "
            f"above {0 - low:g}; give one, or transform by asinh, which takes numbers of any sign."
        )
    return f"The column {name!r} does not fit the transformation {form!r}: {fault}"
