"""What every model answers: it holds released values only, and records are drawn from it freely.

Beside it models that are made of models, and samples that keep to the structural zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Domain

States = list[NDArray[np.integer[Any]]]


@dataclass(frozen=True)
class Sample:
    """Synthetic records.

    Attributes:
        states: one array of states per column of the schema, each of shape (n,).
        values: for numeric columns of which the model draws the values themselves: places on the
            number line within the bounds, shape (n,); they stand where the state is a bin. Of other
            columns, and where the place is NaN, a value is drawn uniformly within its bin.
    """

    states: States
    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


class Model(Protocol):
    """A fitted model of the whole table.

    A model that says `in_parts = True` draws records that do not know of each other, up to the
    rounding of expected counts: so many records may be drawn some after others.
    """

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records."""
        ...


@dataclass(frozen=True)
class PooledFits:
    """What split sets are drawn from, taken together.

    Attributes:
        models: one for each fit, all over the same columns and with numbers for the same ones.
    """

    models: tuple[Model, ...]

    @property
    def in_parts(self) -> bool:
        """Whether all of them draw in parts."""
        return all(map(drawn_in_parts, self.models))

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records, those of one model after those of another; the first have one more."""
        m = len(self.models)
        sizes = [n_rows // m + (k < n_rows % m) for k in range(m)]
        parts = [model.sample(n, rng) for model, n in zip(self.models, sizes, strict=True)]
        states = [np.concatenate(column) for column in zip(*(p.states for p in parts), strict=True)]
        names = parts[0].values
        return Sample(states, {n: np.concatenate([p.values[n] for p in parts]) for n in names})


@dataclass(frozen=True)
class PosteriorPredictive:
    """Parameters first, then records.

    Attributes:
        refit: draws parameters, as a model.
    """

    refit: Callable[[np.random.Generator], Model]

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records of one set."""
        return self.refit(rng).sample(n_rows, rng)


def settled(model: Model, rng: np.random.Generator) -> Model:
    """The model of one set, its parameters drawn."""
    return model.refit(rng) if isinstance(model, PosteriorPredictive) else model


def drawn_in_parts(model: Model) -> bool:
    """Whether records may be drawn from it some after others."""
    return bool(getattr(model, "in_parts", False))


REDRAWS = 100
"""Rounds."""


def conditioned(
    sample: Sample,
    domain: Domain,
    draw: Callable[[int], Sample],
    rng: np.random.Generator,
    *,
    redraws: int = REDRAWS,
) -> Sample:
    """The sample with its impossible records replaced, in place.

    Args:
        sample: records of all columns, rules left aside.
        domain: its rules.
        draw: so many more of the same kind.
        rng: of the last, uniform draw; numbers of these records are left to the bin.
        redraws: most rounds before that.
    """
    bad = impossible(domain, sample.states)
    for _ in range(redraws):
        if not bad.size:
            return sample
        again = draw(len(bad))
        put(sample, bad, again)
        bad = bad[impossible(domain, again.states)]
    if bad.size:
        absent = {name: np.full(len(bad), np.nan) for name in sample.values}
        put(sample, bad, Sample([*domain.draw(len(bad), rng.random)], absent))
    return sample


def put(sample: Sample, rows: NDArray[np.int64], other: Sample) -> None:
    """Write records over others; a sample is written to only while it is being drawn."""
    for mine, theirs in zip(sample.states, other.states, strict=True):
        mine[rows] = theirs
    for name, numbers in other.values.items():
        sample.values[name][rows] = numbers


def impossible(domain: Domain, states: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.int64]:
    """Numbers of the records that the rules forbid.

    Args:
        domain: with the rules.
        states: one array per column, each of shape (n,).
    """
    if not domain.boxes:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(domain.forbidden(states))
