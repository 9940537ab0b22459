"""e to the power of many numbers up to 0, in vector instructions."""

from understudy.arrays import Floats, Integers, compiled

_LEAST_LOG = -345.0
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93145751953125e-1
_LN2_LOW = 1.42860682030941723212e-6
_SHIFT = 6755399441055744.0
"""1.5·2⁵²: adding it rounds to a whole number and leaves that in the low bits."""


@compiled
def exponentiate(numbers: Floats, scale: Floats, bits: Integers) -> None:
    """Raise e to numbers up to 0, in place; 0 where it would be below e⁻³⁴⁵.

    The library's function is called once for each number; this one is compiled to vector
    instructions. e^x = 2^k·e^r with |r| ≤ ln 2 / 2, and a Taylor polynomial of degree 13 (an error
    of 5e−18, less than rounding) for e^r. No fast-math here: it would undo the rounding.

    Args:
        numbers: shape (n,).
        scale: written to; chunks of its length are raised at once.
        bits: the same memory as whole numbers.
    """
    for start in range(0, len(numbers), len(scale)):
        x = numbers[start : start + len(scale)]
        for i in range(len(x)):
            scale[i] = (x[i] if x[i] > _LEAST_LOG else _LEAST_LOG) * _LOG2_E + _SHIFT
        for i in range(len(x)):
            k = scale[i] - _SHIFT
            r = ((x[i] if x[i] > _LEAST_LOG else _LEAST_LOG) - k * _LN2_HIGH) - k * _LN2_LOW
            x[i] = _polynomial(r) if x[i] > _LEAST_LOG else 0.0
        for i in range(len(x)):
            bits[i] = (bits[i] + 1023) << 52
        for i in range(len(x)):
            x[i] *= scale[i]


@compiled(no_cpython_wrapper=True, fastmath={"contract"})
def _polynomial(r: float) -> float:
    """Taylor's, degree 13."""
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    return p * r + 1.0
