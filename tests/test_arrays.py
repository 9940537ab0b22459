"""How kernels are compiled."""

from understudy._arrays import compiled

SHIFT = 6755399441055744.0
"""Adding it rounds, as long as sums are not reordered."""


@compiled
def rounded(x: float) -> float:
    return (x + SHIFT) - SHIFT


@compiled(fastmath={"reassoc", "nsz"})
def loosely_rounded(x: float) -> float:
    return rounded(x)


def test_rules_of_arithmetic_are_those_of_the_kernel_not_of_its_first_caller():
    assert loosely_rounded(0.3) == 0.0
    assert rounded(0.3) == 0.0
