"""A round of a Gibbs sampler: each column in turn, given some of the others.

What a column is drawn given is its *key*: the states of its key columns, as one mixed-radix number.
Records are compared with a hashed table by this number alone. It changes by a known step when one
column changes, so it is never computed again. Everything here is public.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3.2, where the columns of a key are the foremost ones of an order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.domain.domain import Domain
from understudy.errors import MethodError

MOST_KEYS = 2**62


@dataclass(frozen=True)
class GibbsSweep:
    """The columns of a schema in their order, and what each is drawn given.

    Attributes:
        names: names of the columns.
        domain: their sizes and structural zeros.
        given: for each column, the places of its key columns; the last one varies fastest.
    """

    names: tuple[str, ...]
    domain: Domain
    given: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, names: Sequence[str], domain: Domain, keys: Mapping[str, Sequence[str]]
    ) -> GibbsSweep:
        """The sweep in which columns have these key columns; a column without any has none.

        Args:
            names: names of the columns.
            domain: their sizes and structural zeros.
            keys: names of the key columns of each column.

        Raises:
            MethodError: an unknown column, a column in its own key or twice in it, or a table whose
                cells 64-bit codes cannot number.
        """
        place = {name: j for j, name in enumerate(names)}
        for name in (*keys, *(other for key in keys.values() for other in key)):
            if name not in place:
                raise MethodError(f"A key names {name!r}, which is no column of the schema.")
        for name, key in keys.items():
            if name in key or len(set(key)) < len(key):
                raise MethodError(f"The key of {name!r} has the column itself, or one twice.")
        given = tuple(tuple(place[other] for other in keys.get(name, ())) for name in names)
        sweep = cls(tuple(names), domain, given)
        for name, n_keys, size in zip(names, sweep.n_keys, domain.sizes, strict=True):
            if n_keys * size > MOST_KEYS:
                raise MethodError(f"The key of {name!r} has too many values; leave columns out.")
        return sweep

    @property
    def n_keys(self) -> tuple[int, ...]:
        """How many values the key of each column has."""
        return tuple(math.prod(self.domain.sizes[j] for j in key) for key in self.given)

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Names of the key columns of each column."""
        return tuple(tuple(self.names[j] for j in key) for key in self.given)

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """For each column the places of its key columns, and of itself at the end.

        A cell of this table has the mixed-radix number key · size + state.
        """
        return tuple((*key, j) for j, key in enumerate(self.given))

    @cached_property
    def strides(self) -> NDArray[np.int64]:
        """By how much the key of column i (rows) grows with the state of column j, shape (d, d)."""
        strides = np.zeros((len(self.names), len(self.names)), dtype=np.int64)
        for i, key in enumerate(self.given):
            step = 1
            for j in reversed(key):
                strides[i, j], step = step, step * self.domain.sizes[j]
        return strides

    def keys_of(self, states: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
        """The keys of records.

        Args:
            states: one array per column, each of shape (n,).

        Returns:
            Shape (d, n): the key of every column.
        """
        return self.strides @ np.array(states, dtype=np.int64)

    def move(
        self, keys: NDArray[np.int64], column: int, change: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Keep the keys up with a column that changed, in place.

        Args:
            keys: shape (d, n).
            column: place of the column.
            change: new states less old ones, shape (n,).

        Returns:
            The same array.
        """
        touched = np.flatnonzero(self.strides[:, column])
        keys[touched] += self.strides[touched, column, None] * change
        return keys
