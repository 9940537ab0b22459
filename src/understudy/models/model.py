"""Models: they hold released values only, and records are drawn from them freely.

Beside it models that are made of models, samples that keep to the structural zeros, and what
inference needs to know of how records were drawn (`InferenceFacts`).

**Systematic draws: how many records each cell of a group gets, and who in the group gets which.**

The n records of a group stand at u, u + 1, …, u + n − 1 on a line of length n that the cells divide
in proportion to their shares, with one uniform u for each group. So each cell gets its expected
number of records rounded up or down, and exactly so many on average; counting them takes time by
cells, and none by records. Then the records are dealt what there is, in random order: without it,
two columns drawn from one group would both follow the order of the records. Source: Madow & Madow
(1944).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy.schema import Domain

Edge = tuple[str, tuple[str, ...]]
"""A column and its parents."""


def require_network(edges: Sequence[Edge], names: Sequence[str]) -> None:
    """Refuse edges that are no network of these columns.

    Args:
        edges: each column with its parents.
        names: of all columns.

    Raises:
        ValueError: a column that is absent, stands twice, or stands before one of its parents.
    """
    seen: set[str] = set()
    for column, parents in edges:
        if column in seen or not set(parents) <= seen or len(set(parents)) < len(parents):
            raise ValueError("each column stands once in a network, after its parents")
        seen.add(column)
    if seen != set(names):
        raise ValueError("a network has all columns of the schema")


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
    """The fits that split sets are drawn from, taken together.

    Attributes:
        models: one for each fit, all over the same columns and with numbers for the same ones.
    """

    models: tuple[Model, ...]

    @property
    def in_parts(self) -> bool:
        """True if all of them draw in parts."""
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


def draw_parameters(model: Model, rng: np.random.Generator) -> Model:
    """The model of one set, its parameters drawn."""
    return model.refit(rng) if isinstance(model, PosteriorPredictive) else model


def drawn_in_parts(model: Model) -> bool:
    """Return whether records may be drawn from it some after others."""
    return bool(getattr(model, "in_parts", False))


REDRAWS = 100
"""Rounds."""


def replace_impossible(
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
    return np.flatnonzero(domain.find_forbidden(states))


Numbers = NDArray[np.int32]
Thing = TypeVar("Thing", np.int32, np.float64)


def upper_ends(shares: Floats, firsts: Integers) -> Floats:
    """Upper ends of cells, group by group.

    Args:
        shares: of the cells, not negative, those of a group one after the other, shape (cells,).
        firsts: first cell of each group, and the number of cells; shape (groups + 1,).

    Returns:
        Shape (cells,); the sums of the shares of a group up to each.

    Example:
        >>> upper_ends(np.array([1.0, 3.0, 2.0]), np.array([0, 2, 3])).tolist()
        [1.0, 4.0, 2.0]
    """
    ends = np.empty(len(shares))
    for first, after in pairwise(firsts.tolist()):
        ends[first:after] = np.cumsum(shares[first:after])
    return ends


def records_by_cell(ends: Floats, firsts: Integers, sizes: Integers, phases: Floats) -> Integers:
    """Records of each cell.

    Args:
        ends: as `upper_ends` gives them; a group without shares gets all into its first cell.
        firsts: first cell of each group, and the number of cells; no group is without one.
        sizes: records of each group, shape (groups,).
        phases: the place u of the first of them, in [0, 1), shape (groups,).

    Returns:
        Shape (cells,), with the sizes as sums within the groups. Cells without a share get none.

    Example:
        >>> ends, firsts = np.array([0.5, 0.5, 1.0]), np.array([0, 3])
        >>> records_by_cell(ends, firsts, np.array([5]), np.array([0.4])).tolist()
        [3, 0, 2]
    """
    widths = np.diff(firsts)
    whole = np.repeat(ends[firsts[1:] - 1], widths)
    records = np.repeat(sizes, widths)
    places = ends / np.where(whole > 0, whole, 1.0) * records - np.repeat(phases, widths)
    # Rounding must not carry a record into an empty cell at the end.
    below = np.where(ends >= whole, records, np.clip(np.ceil(places), 0, records)).astype(np.int64)
    counts = np.diff(below, prepend=0)
    counts[firsts[:-1]] = below[firsts[:-1]]
    return counts


def dealt(
    groups: NDArray[np.integer[Any]],
    sizes: Integers,
    queue: NDArray[Thing],
    rng: np.random.Generator,
) -> NDArray[Thing]:
    """For each record something of what there is for its group, each thing once, at random.

    Args:
        groups: of the records, shape (n,).
        sizes: records of each group, shape (groups,).
        queue: what there is, group after group, shape (n,).
        rng: randomness.

    Returns:
        Shape (n,).
    """
    return queue[rank_by_group(groups, sizes, rng)]


def rank_by_group(
    groups: NDArray[np.integer[Any]], sizes: Integers, rng: np.random.Generator
) -> Numbers:
    """Place of each record when records are sorted by group, those of one group at random.

    Args:
        groups: of the records, shape (n,).
        sizes: records of each group, shape (groups,).
        rng: randomness.
    """
    own, found = np.asarray(groups, dtype=np.int32), np.arange(len(groups), dtype=np.int32)
    _deal(own, np.concatenate(([0], np.cumsum(sizes))), found.copy(), rng.random(len(own)), found)
    return found


@compiled
def _deal(
    groups: Numbers,
    starts: Integers,
    queue: Numbers,
    uniforms: Floats,
    found: Numbers,
) -> None:
    """Shuffle within groups (Fisher & Yates), then hand out in turn; `starts` runs on."""
    for group in range(len(starts) - 1):
        first, after = starts[group], starts[group + 1]
        for i in range(first, after - 1):
            j = i + np.int64(uniforms[i] * (after - i))
            queue[i], queue[j] = queue[j], queue[i]
    for i in range(len(groups)):
        group = groups[i]
        found[i] = queue[starts[group]]
        starts[group] += 1


PosteriorRule = Literal["partial", "mi"]


@dataclass(frozen=True)
class InferenceFacts:
    """Facts about how the sets were made, as far as they matter to whoever computes with them.

    Attributes:
        posterior_rule: the rule that combines posterior sets: "partial" where parameters were drawn
            again for each set, "mi" where noise was redrawn on top of noise that all sets share
            (`understudy.inference.rules`); None for other kinds of sets.
        swept: whether records were drawn column by column from rows that contradict each other, or
            that were pulled towards an even spread, so that sets keep no table as it was measured.
        shrunk: whether a penalty makes relations between columns weaker, in every set alike.
        independent: whether columns were drawn independently of each other.
        modelled: numeric columns of which a model drew the numbers, not only the bins.
        network: the Bayesian network that sets were drawn from, each column with its parents, which
            stand before it; None without one.
        prior_weight: records that were added to each cell of a measured table.
        leaves_only: whether records were drawn from the cells of the full table alone, where it was
            measured, whatever tables stand above it.
        rows_stddev: standard deviation of the noise in the number of rows; 0 where it is public,
            or in a release that does not say.
    """

    posterior_rule: PosteriorRule | None = None
    swept: bool = False
    shrunk: bool = False
    independent: bool = False
    modelled: tuple[str, ...] = ()
    network: tuple[Edge, ...] | None = None
    prior_weight: float = 0.0
    leaves_only: bool = False
    rows_stddev: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        edges = [{"column": name, "parents": list(given)} for name, given in self.network or ()]
        network = None if self.network is None else edges
        return {**vars(self), "modelled": list(self.modelled), "network": network}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> InferenceFacts:
        """Read back what `to_json` wrote."""
        edges, network = data["network"], None
        if edges is not None:
            network = tuple((edge["column"], tuple(edge["parents"])) for edge in edges)
        return cls(**{**data, "modelled": tuple(data["modelled"]), "network": network})
