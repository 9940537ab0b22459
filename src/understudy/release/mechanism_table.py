"""What each mechanism of a ledger can have bought: kinds of measurements, laws of noise, a price.

A step says which mechanism it was, and a measurement says what kind of numbers it has and which law
their noise follows. Either can be written anew, so that exact counts could pass for the choice of a
column, which has no noise. Hence one table: whatever does not stand in it is refused. It belongs to
the format, and stands in `docs/release-format.md` and in `understudy_verify` as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Price = Literal["paid", "as published", "free", "none"]
"""What a step cost: a finite price; a finite price with noise as published, of which the guarantee
names what that leaves in; nothing, which it names too; or no finite price, so that nothing is
promised."""


@dataclass(frozen=True)
class Purchase:
    """Measurements that a mechanism can have bought.

    Attributes:
        mechanism: by its name in a ledger.
        price: what such a step cost.
        kinds: of the measurement, by their words; none where it has no measurement.
        laws: of the noise in its numbers, by their names in a manifest.
    """

    mechanism: str
    price: Price
    kinds: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()


STATED_ELSEWHERE: Final = "stated elsewhere"
"""A step of another system, with the guarantee that its publisher states; never part of ours."""

_LAPLACE = ("discrete_laplace", "lattice_laplace")
_DISCRETE = ("discrete_laplace", "discrete_gaussian")
_ADDED = (*_LAPLACE, "discrete_gaussian")
_TRUNCATED = "truncated_discrete_laplace"
_PUBLISHED = ("laplace", "truncated_laplace")
_SWEPT = ("perturbed sweeps", "blocks with reset", "perturbed imputation")
_ELSEWHERE = (
    *("table", "cells", "totals", "successes", "sums", "means", "scatter", "products", "ranks"),
    *("distribution", "nodes", "leaf-sums", "ranges", "line", "heaps"),
)

PURCHASES: Final = (
    Purchase("noisy count", "paid"),
    Purchase("noisy table", "paid", ("table",), (*_ADDED, _TRUNCATED)),
    Purchase("noisy table", "as published", ("table",), _PUBLISHED),
    Purchase("noisy number line", "paid", ("line",), _DISCRETE),
    Purchase("noisy heaps", "paid", ("heaps",), _DISCRETE),
    Purchase("noisy layer", "paid", ("table", "nodes"), _ADDED),
    Purchase("noisy layer", "as published", ("table", "nodes"), ("laplace",)),
    Purchase("noisy ranges", "paid", ("table", "ranges"), _ADDED),
    Purchase("filtered noisy table", "paid", ("cells",), _LAPLACE),
    Purchase("lazy noisy table", "paid", ("totals",), _LAPLACE),
    Purchase("lazy leaf layer", "paid", ("leaf-sums",), _LAPLACE),
    Purchase("noisy rows", "paid", ("sweeps",), _DISCRETE),
    Purchase("noisy successes", "paid", ("successes",), ("discrete_laplace", _TRUNCATED)),
    Purchase("noisy successes", "as published", ("successes",), _PUBLISHED),
    Purchase("noisy moment", "paid", ("sums", "scatter"), (*_LAPLACE, _TRUNCATED)),
    Purchase("noisy moment", "as published", ("sums", "means", "scatter"), _PUBLISHED),
    Purchase("noisy score moments", "paid", ("products",), _ADDED),
    Purchase("noisy rank products", "paid", ("ranks",), ("lattice_laplace", "discrete_gaussian")),
    Purchase("exponential mechanism", "paid", ("choice", "parameters"), ("none",)),
    Purchase("exponential mechanism", "paid", ("distribution",), ("exponential_mechanism",)),
    Purchase("urn draws", "paid", ("draws",), ("Dirichlet–multinomial", "fixed prior")),
    *(Purchase(name, "paid", ("sweeps",), (name,)) for name in _SWEPT),
    Purchase("functional mechanism", "paid"),
    Purchase("functional mechanism, published bound", "paid"),
    Purchase("K-norm mechanism", "paid"),
    Purchase("exact deviation", "free"),
    Purchase("exact interquartile range", "free"),
    Purchase("exact table", "none", ("exact",), ("none",)),
    Purchase("exact moment", "none", ("exact",), ("none",)),
    Purchase("diverse rows", "none", ("exact",), ("diverse rows",)),
    Purchase("posterior", "none", ("posterior",), ("none",)),
    Purchase("pseudo posterior", "none", ("posterior",), ("none",)),
    Purchase("as they stand", "none", ("kept",), ("none",)),
    Purchase(STATED_ELSEWHERE, "none", _ELSEWHERE, (*_ADDED, _TRUNCATED, *_PUBLISHED)),
)
TABLES: Final[Mapping[int, tuple[Purchase, ...]]] = {1: PURCHASES, 2: PURCHASES}
"""Format of a manifest → what its steps can have bought. Another row needs another format, or a
checker of this one refuses its releases."""


def purchase_of(
    mechanism: str, price: Price, measured: tuple[str, str] | None, version: int
) -> Purchase | None:
    """The row of the table that a step has; None if there is none.

    Args:
        mechanism: by its name in the ledger.
        price: what it cost; "paid" stands for a finite price of either kind.
        measured: kind and law of what it measured; None where nothing was.
        version: format of the manifest.

    Example:
        >>> purchase_of("noisy table", "paid", ("table", "discrete_laplace"), 2).price
        'paid'
        >>> purchase_of("exponential mechanism", "paid", ("table", "none"), 2) is None
        True
    """
    prices = ("paid", "as published") if price == "paid" else (price,)
    for one in TABLES[version]:
        if one.mechanism == mechanism and one.price in prices:
            if measured is None and not one.kinds:
                return one
            if measured is not None and measured[0] in one.kinds and measured[1] in one.laws:
                return one
    return None
