"""Inequalities over whole boxes, by interval arithmetic (Arb), so that “for all” is not a grid.

A box is one interval for each variable. A claim is a function of intervals that encloses a number
which must be above 0 everywhere in them: if its enclosure is above 0, the claim holds in the box.
If not, the box is halved, until all parts are shown or there are too many.
"""

import pytest

flint = pytest.importorskip("flint")
arb, ctx = flint.arb, flint.ctx
ctx.prec = 100
ROOT2 = arb(2).sqrt()


def interval(low, high):
    """All numbers from one to another."""
    return arb(low).union(arb(high))


def density(x):
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def upper(x):
    """Φ(-x): the mass of N(0, 1) above x."""
    return (x / ROOT2).erfc() / 2


def quantile_above(mass):
    """The x that has such a mass above it."""
    return ROOT2 * (2 * mass).erfcinv()


def holds_everywhere(claim, box, *, most=200_000):
    """How many parts of a box it took to show a claim in all of it.

    Raises:
        AssertionError: it was not shown; names a part where it could not be.
    """
    whole = [high - low for low, high in box]
    left, shown = [box], 0
    while left:
        part = left.pop()
        if claim(*(interval(*side) for side in part)) > 0:
            shown += 1
            assert shown <= most, f"not shown in {most} parts; open is {part}"
            continue
        shares = [(high - low) / w for (low, high), w in zip(part, whole, strict=True)]
        assert max(shares) > 1e-9, f"not shown at {part}"
        k = shares.index(max(shares))
        low, high = part[k]
        middle = (low + high) / 2
        left += [[*part[:k], half, *part[k + 1 :]] for half in ((low, middle), (middle, high))]
    return shown
