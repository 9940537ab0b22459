"""What a release may promise, folded from what its mechanisms said as they were paid and run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Protocol

from understudy.engine.confidential import NO_PREMISES, Premises
from understudy.privacy.accounting.budget import Budget, Neighbours
from understudy.privacy.accounting.guarantee import (
    Guarantee,
    Kind,
    drafted_leaks,
    file_conditions,
    public_inputs,
)
from understudy.schema import Schema

FROM_POSTERIOR = (
    "Records were drawn from parameters of the posterior of the exact rows, without weights."
)
EXACT = "Exact statistics of the rows were published."
FOREIGN = "It rests on a mechanism that is none of this package's, for which there is no proof."
SEEDED = "Its noise was drawn from a seed, so it can be removed."


class Unpaid(Enum):
    """What a step is that no finite cost stands for; its value says what such a method does."""

    LEFT_IN = "leaves statistics in, unpaid"
    """Read off the rows as a published form of a method does: the promise is conditional."""
    WEIGHTED_POSTERIOR = "makes no promise of differential privacy at a number of rows"
    """Drawn under record weights: the promise is asymptotic."""
    POSTERIOR = "draws from the posterior of the exact rows"
    AS_THEY_STAND = "publishes columns as they stand"
    EXACT = "publishes exact statistics"


class Said(Protocol):
    """What the outcome of a mechanism says of itself."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold for the promise to hold."""
        ...

    @property
    def unproved(self) -> tuple[str, ...]:
        """The same, where nobody can check it in a single run: the promise is then conditional."""
        ...

    @property
    def leaks(self) -> tuple[str, ...]:
        """The unpaid leaks of a published form."""
        ...

    @property
    def printed(self) -> tuple[float, ...]:
        """Bounds read off the rows that a published form prints, one for each set."""
        ...


class Promise:
    """What was said so far of everything that was given out.

    Args:
        premises: what an engine takes for granted of its rows.
    """

    def __init__(self, premises: Premises = NO_PREMISES) -> None:
        self._conditions: list[str] = [*premises.conditions]
        self._unproved: list[str] = [*premises.unproved]
        self._leaks: list[str] = []
        self._printed: list[float] = []
        self._unpaid: dict[int, Unpaid] = {}

    def charged(self, entry: int, unpaid: Unpaid) -> None:
        """A step of the ledger has no finite cost."""
        self._unpaid[entry] = unpaid

    def add(self, outcome: Said) -> None:
        """What an outcome says of itself; the same is said once."""
        for said, more in (
            (self._conditions, outcome.conditions),
            (self._unproved, outcome.unproved),
            (self._leaks, outcome.leaks),
        ):
            said.extend(sentence for sentence in more if sentence not in said)
        self._printed.extend(outcome.printed)

    def guarantee(
        self,
        schema: Schema,
        budget: Budget,
        *,
        infinite: Iterable[int],
        secure: bool,
        genuine: bool,
    ) -> Guarantee:
        """The promise: that of the stated budget, less what was said.

        Args:
            schema: as it was declared.
            budget: all that could be spent.
            infinite: numbers of the ledger's entries of infinite cost.
            secure: whether noise came from a secure source.
            genuine: whether all mechanisms that could be asked for are this package's own.
        """
        unproved = (*self._unproved, *file_conditions(schema))
        pure: Kind = "pure" if budget.accounting == "pure" else "approximate"
        promise = Guarantee(
            kind="conditional" if unproved else pure,  # leaks make it so by themselves
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=budget.amount if budget.accounting == "zcdp" else None,
            mu=budget.mu,
            neighbours=schema.neighbours,
            public_inputs=public_inputs(schema),
            conditions=(*self._conditions, *unproved),
            leaks=(
                *drafted_leaks(schema),
                *self._leaks,
                *printed_bounds(self._printed, schema.neighbours),
            ),
        )
        unknown = {Unpaid.EXACT for number in infinite if number not in self._unpaid}
        left = _without(promise, {*self._unpaid.values(), *unknown})
        # Where not even an asymptotic promise holds, δ is again that of the budget.
        promise = promise if left.kind == "asymptotic" and not (genuine and secure) else left
        if not genuine:
            promise = promise.not_private(FOREIGN)
        return promise if secure else promise.not_private(SEEDED)


def _without(promise: Guarantee, unpaid: set[Unpaid]) -> Guarantee:
    """What is left of a promise after steps of infinite cost."""
    others = unpaid - {Unpaid.AS_THEY_STAND}
    if not unpaid:
        return promise
    if others == {Unpaid.WEIGHTED_POSTERIOR}:
        return promise.asymptotic()
    drawn = Unpaid.POSTERIOR in unpaid and others <= {Unpaid.POSTERIOR, Unpaid.WEIGHTED_POSTERIOR}
    return promise.not_private(FROM_POSTERIOR if drawn else EXACT)


def nominal_epsilon(bound: float, *, sets: int = 1, neighbours: Neighbours = "add_remove") -> float:
    """What the source of the pseudo posterior mechanism would call ε: 2mΔ_α for m sets.

    It is a figure for comparing settings, and not a guarantee; see
    `understudy.privacy.not_dp.record_weights`. Under replace the same argument gives 4mΔ_α.

    Args:
        bound: Δ_α.
        sets: m, synthetic sets published, each from a draw of its own.
        neighbours: which tables count as neighbours.
    """
    return (2 if neighbours == "add_remove" else 4) * sets * bound


def printed_bounds(
    bounds: Sequence[float], neighbours: Neighbours = "add_remove"
) -> tuple[str, ...]:
    """Unpaid leaks of the published form: components given the values, and the bounds it prints.

    Args:
        bounds: Δ_α that is printed, one for each set; equal for sets of one fit.
        neighbours: which tables count as neighbours.
    """
    if not bounds:
        return ()
    m, bound = len(bounds), max(bounds)
    of_set = nominal_epsilon(bound, neighbours=neighbours)
    total = sum(nominal_epsilon(each, neighbours=neighbours) for each in bounds)
    how = "2mΔ" if neighbours == "add_remove" else "4mΔ, twice that of a record added or removed"
    return (
        "Each synthetic value came from a component that was drawn given the confidential value of "
        "the same record, and so depends on it beyond the parameters; no argument covers that.",
        f"As published, the Lipschitz bound of these very rows is printed: Δ = {bound:.4g}. The "
        f"source would call {of_set:.4g} the ε of a set, and {total:.4g} that of all {m} ({how}); "
        "it is a figure for comparing settings, read off the rows without noise, and no bound.",
    )
