"""Guarantees: the exact promise of a release, and the premises that it rests on.

**What a release may promise, folded from what its mechanisms said as they were paid and run.**
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any, Final, Literal, Protocol

from understudy import _notebook
from understudy.data.premises import NO_PREMISES, Premises
from understudy.dp.budget import Budget, Neighbours, decimal_up, exact, size_in_signs
from understudy.schema import NUMERIC, Schema
from understudy.schema.base import Reviewed
from understudy.schema.derived import rule_text
from understudy.schema.file_format import RECORD_LINES

Kind = Literal["pure", "approximate", "zcdp", "asymptotic", "conditional", "none"]

_NEIGHBOUR_WORDS = {
    "add_remove": "one record is added or removed",
    "replace": "one record is replaced by another (the number of records is public)",
}

PUBLIC_ROWS: Final = "declared as public in the schema"


def bought_rows(unit: str, spent: Fraction, noise: str) -> str:
    """A number of rows that was bought, in words.

    Args:
        unit: of the budget, as people write it.
        spent: what it cost, in that unit.
        noise: its distribution, in words.

    Example:
        >>> bought_rows("ε", Fraction(1, 20), "discrete Laplace (geometric), scale 20")
        'bought once for ε = 0.05 (discrete Laplace (geometric), scale 20)'
    """
    return f"bought once for {unit} = {decimal_up(spent)} ({noise})"


@dataclass(frozen=True)
class PublicInput:
    """Something the guarantee takes as public knowledge.

    Attributes:
        what: the quantity, in words.
        source: where it comes from; "" if nobody said.
        note: "" or what is doubtful about it.
    """

    what: str
    source: str
    note: str = ""


@dataclass(frozen=True)
class Guarantee:
    """The promise of a release.

    Attributes:
        kind: pure ε-DP, approximate (ε, δ)-DP, zCDP, asymptotic only, conditional, or none.
        epsilon: ε; None where there is no finite one.
        delta: δ.
        neighbours: which tables the promise cannot tell apart.
        rho: ρ, where the ledger was kept in zCDP.
        mu: μ, where it was kept in Gaussian differential privacy; ε and δ follow from it.
        public_inputs: what is taken as public knowledge, and its sources.
        conditions: what must hold for the promise to hold.
        leaks: what left the rows without being paid for.
    """

    kind: Kind
    epsilon: Fraction | None
    delta: Fraction
    neighbours: Neighbours
    rho: Fraction | None = None
    mu: Fraction | None = None
    public_inputs: tuple[PublicInput, ...] = ()
    conditions: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """No proof covers what left the rows unpaid: with a leak of any kind ε is conditional."""
        if self.leaks and self.kind in ("pure", "approximate", "zcdp"):
            object.__setattr__(self, "kind", "conditional")

    def __repr__(self) -> str:
        """One line."""
        parts = [self.brief, self.neighbours, f"{len(self.public_inputs)} public inputs"]
        for what, sentences in (("conditions", self.conditions), ("leaks", self.leaks)):
            parts += [f"{len(sentences)} {what}"] if sentences else []
        return f"Guarantee({', '.join(parts)})"

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        inputs = [(one.what, one.source, one.note) for one in self.public_inputs]
        title = "Taken as public"
        return _notebook.facts("Guarantee", {self.brief: self.statement}) + _notebook.grid(
            title, ["what", "source", "doubt"], inputs
        )

    @property
    def brief(self) -> str:
        """The promise in a few words; `statement` is the whole of it.

        Example:
            >>> Guarantee("pure", Fraction(1), Fraction(0), "add_remove").brief
            'pure, ε = 1'
        """
        if self.kind == "none" or self.epsilon is None:
            return "asymptotic, NOT private" if self.kind == "asymptotic" else "NOT private"
        nominal = "nominal " if self.is_nominal else ""
        return f"{self.kind}, {nominal}{size_in_signs(self.epsilon, self.delta)}"

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        if self.kind == "asymptotic" and self.epsilon is None:
            return self._asymptotic_statement
        if self.kind == "none" or self.epsilon is None:
            reason = f" {' '.join(self.leaks)}" if self.leaks else ""
            return f"This release is NOT private: no differential-privacy guarantee holds.{reason}"
        size = size_in_signs(self.epsilon, self.delta)
        rest = (
            f" It holds under these conditions: {' '.join(self.conditions)}"
            if self.conditions
            else ""
        )
        leaks = f" Left in, unpaid: {' '.join(self.leaks)}" if self.leaks else ""
        gaussian = (
            f" This follows from Gaussian differential privacy with μ = {decimal_up(self.mu)}: "
            "telling the two apart is at least as hard as telling one draw of N(0, 1) from one of "
            "N(μ, 1)."
            if self.mu is not None and not self.is_nominal
            else ""
        )
        nominal = " nominal" if self.is_nominal else ""
        but = "were it not for what is left in, " if self.is_nominal else ""
        return (
            f"{_KIND_WORDS[self.kind]} differential privacy with{nominal} {size}: {but}whatever is "
            f"computed from this release, its probability changes by a factor of at most e^ε"
            f"{' (up to δ)' if self.delta else ''} if {_NEIGHBOUR_WORDS[self.neighbours]}."
            f"{gaussian}{rest}{leaks}"
        )

    @property
    def _asymptotic_statement(self) -> str:
        """Statement for the case that nothing holds at the number of rows that there is."""
        rest = f" {' '.join(self.conditions)}" if self.conditions else ""
        leaks = f" Left in, unpaid: {' '.join(self.leaks)}" if self.leaks else ""
        return (
            "This release is NOT differentially private at its number of rows: no ε holds for it. "
            f"{PSEUDO_POSTERIOR_CLAIM} if {_NEIGHBOUR_WORDS[self.neighbours]}.{rest}{leaks}"
        )

    @property
    def is_nominal(self) -> bool:
        """True if the proof behind ε leaves out an unpaid leak."""
        return self.kind == "conditional" and bool(self.leaks)

    def not_private(self, reason: str) -> Guarantee:
        """The guarantee `none`, with the reason among the leaks."""
        return replace(
            self, kind="none", epsilon=None, rho=None, mu=None, leaks=(*self.leaks, reason)
        )

    def asymptotic(self) -> Guarantee:
        """The guarantee `asymptotic`, which promises nothing for these rows."""
        return replace(self, kind="asymptotic", epsilon=None, delta=Fraction(0), rho=None, mu=None)

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest; numbers as decimal text, rounded up."""
        return {
            "kind": self.kind,
            "epsilon": None if self.epsilon is None else decimal_up(self.epsilon),
            "delta": decimal_up(self.delta),
            "rho": None if self.rho is None else decimal_up(self.rho),
            "mu": None if self.mu is None else decimal_up(self.mu),
            "neighbours": self.neighbours,
            "statement": self.statement,
            "public_inputs": [vars(public) for public in self.public_inputs],
            "conditions": list(self.conditions),
            "leaks": list(self.leaks),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Guarantee:
        """Read back what `to_json` wrote."""
        return cls(
            kind=data["kind"],
            epsilon=None if data["epsilon"] is None else exact(data["epsilon"]),
            delta=exact(data["delta"]),
            neighbours=data["neighbours"],
            rho=None if data["rho"] is None else exact(data["rho"]),
            # Older releases do not have it.
            mu=None if data.get("mu") is None else exact(data["mu"]),
            public_inputs=tuple(PublicInput(**public) for public in data["public_inputs"]),
            conditions=tuple(data["conditions"]),
            leaks=tuple(data["leaks"]),
        )


PSEUDO_POSTERIOR_CLAIM = (
    "It was made from parameters drawn from a pseudo posterior, in which each record counts with a "
    "weight of 1 at most. The weights, and the bound that is claimed of them, are those of these "
    "very rows and of the parameters that happened to be drawn, and any other table may have a "
    "larger one; one record that changes moves the weights of others; and the records say which "
    "draws are dropped. "
    "What is claimed for the method holds in the limit alone, as the number of records grows and "
    "they come to fill the space of values, which rare values never do: then the probability of a "
    "drawn parameter changes by a bounded factor"
)
"""What the guarantee `asymptotic` says of the mechanism."""

_KIND_WORDS = {
    "pure": "Pure",
    "approximate": "Approximate",
    "zcdp": "Zero-concentrated",
    "asymptotic": "Asymptotic (not for this number of rows)",
    "conditional": "Conditional",
    "none": "No",
}

NO_SOURCE = "no source named"
UNCHANGED = "unchanged from the draft that was read from the data"


def public_inputs(schema: Schema) -> tuple[PublicInput, ...]:
    """Everything that a schema declares as public, with its sources and doubts.

    What has no source is doubtful, and no leak: that nobody named one does not say that the rows
    were read. What stands as drafted is known to have been read from them (`drafted_leaks`).
    """
    inputs = []
    if schema.rows == "public":
        inputs.append(PublicInput(f"number of rows, {schema.n_rows}", "declared in the schema"))
    elif schema.row_limit is not None:
        inputs.append(PublicInput(f"upper limit of rows, {schema.row_limit}", "declared"))
    if (form := schema.members) is not None:
        what = (
            f"one record is a row of the table {form.of!r} with its rows of {form.table!r}, of "
            f"whom {form.rows_per_unit} at most are used; their order"
        )
        size = schema.stated[form.size]
        inputs.append(PublicInput(what, size.sources, _doubts(size)))
    if schema.unit.of:
        what = (
            f"columns of {schema.unit.of!r} beside each row of {schema.unit.table!r}, as given; "
            "they are protected as a group of so many records is"
        )
        inputs.append(PublicInput(what, "declared in the schema"))
    for name, column in schema.stated.items():
        what = "bounds and bins" if isinstance(column, NUMERIC) else "levels"
        by = f", computed by the rule {rule_text(column)}" if column.derived is not None else ""
        inputs.append(PublicInput(f"{what} of {name}{by}", column.sources, _doubts(column)))
    if schema.file.told:
        what = f"how a text file is written: {schema.file.told}"
        inputs.append(PublicInput(what, schema.file.sources, _doubts(schema.file)))
    if schema.design.deff is not None:
        effect = schema.design.deff
        inputs.append(PublicInput(f"design effect {effect.default:g}", effect.source))
    if (fpc := schema.design.fpc) is not None:
        by = f" of strata of {schema.design.strata}" if fpc.strata else ""
        inputs.append(PublicInput(f"sampling fractions{by}", fpc.source))
    if schema.design.dealt:
        what = f"clusters dealt to groups of {schema.design.psu}, stratum by stratum"
        inputs.append(PublicInput(what, schema.design.dealt))
    for exact_totals in schema.geography.invariants:
        what = f"exact totals of the level {exact_totals.level}, which no promise covers"
        inputs.append(PublicInput(what, exact_totals.source))
    for rule in schema.forbidden:
        note = "" if rule.source else NO_SOURCE
        inputs.append(PublicInput(f"impossible: {rule.text}", rule.source, note))
    for one in schema.relations:
        note = "" if one.source else NO_SOURCE
        inputs.append(PublicInput(f"always holds: {one.text}", one.source, note))
    return tuple(inputs)


def _doubts(part: Reviewed) -> str:
    left = part.left_as_drafted
    doubts = [NO_SOURCE] if part.is_unsourced else []
    return "; ".join([*doubts, *([f"{', '.join(left)} {UNCHANGED}"] if left else [])])


def drafted_leaks(schema: Schema) -> tuple[str, ...]:
    """Everything that stands in a schema as it was read from the rows."""
    left = ((name, part.left_as_drafted) for name, part in schema.vouched)
    entries = [f"{name} ({', '.join(keys)})" for name, keys in left if keys]
    if not entries:
        return ()
    return (
        f"Entries of {', '.join(entries)} are unchanged from a draft that was read from the rows, "
        "and no codebook is named that confirms them; the guarantee holds only if a reviewer knew "
        "them from elsewhere.",
    )


def file_conditions(schema: Schema) -> tuple[str, ...]:
    """State what reading a text file as the schema declares it takes for granted of the rows."""
    if not schema.file.multiline:
        return ()
    return (
        "No quote in the text file stands where it should not: line breaks inside quotes were read "
        f"as part of a cell, so that one record with a stray quote can hide up to "
        f"{RECORD_LINES - 1} lines that follow it.",
    )


def design_conditions(schema: Schema) -> tuple[str, ...]:
    """State what weights that depend on other records take for granted.

    A record that comes or goes moves the adjusted weights of others, by no bounded amount in all.
    """
    if schema.design.fixed != "adjusted":
        return ()
    return (
        f"The weights in {schema.design.weight} were adjusted to the records, and the weights of "
        "all other records are taken as fixed as they are: what one record did to these is not "
        "protected.",
    )


FROM_POSTERIOR = (
    "Records were drawn from parameters of the posterior of the exact rows, without weights."
)
EXACT = "Exact statistics of the rows were published."
FOREIGN = "It rests on a mechanism that is none of this package's, for which there is no proof."
SEEDED = "Its noise was drawn from a seed, so it can be removed."


class Unpaid(Enum):
    """A step that no finite cost stands for; its value says what such a method does."""

    LEFT_IN = "leaves statistics in, unpaid"
    """Read off the rows as a published form of a method does: the promise is conditional."""
    WEIGHTED_POSTERIOR = "makes no promise of differential privacy at a number of rows"
    """Drawn under record weights: the promise is asymptotic."""
    POSTERIOR = "draws from the posterior of the exact rows"
    AS_THEY_STAND = "publishes columns as they stand"
    EXACT = "publishes exact statistics"


class Said(Protocol):
    """The statement of a mechanism about its own outcome."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Conditions under which the promise holds."""
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
    """The promise of everything that was given out so far.

    Args:
        premises: what an engine takes for granted of its rows.
    """

    def __init__(self, premises: Premises = NO_PREMISES) -> None:
        self._conditions: list[str] = [*premises.conditions]
        self._unproved: list[str] = [*premises.unproved]
        self._leaks: list[str] = []
        self._printed: list[float] = []
        self._unpaid: dict[int, Unpaid] = {}

    def record_unpaid(self, entry: int, unpaid: Unpaid) -> None:
        """A step of the ledger has no finite cost."""
        self._unpaid[entry] = unpaid

    def add(self, outcome: Said) -> None:
        """Add what an outcome says of itself; the same is said once."""
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
        unproved = (*self._unproved, *file_conditions(schema), *design_conditions(schema))
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
    """Reduce a promise to what is left of it after steps of infinite cost."""
    others = unpaid - {Unpaid.AS_THEY_STAND}
    if not unpaid:
        return promise
    if others == {Unpaid.WEIGHTED_POSTERIOR}:
        return promise.asymptotic()
    drawn = Unpaid.POSTERIOR in unpaid and others <= {Unpaid.POSTERIOR, Unpaid.WEIGHTED_POSTERIOR}
    return promise.not_private(FROM_POSTERIOR if drawn else EXACT)


def nominal_epsilon(bound: float, *, sets: int = 1, neighbours: Neighbours = "add_remove") -> float:
    """Compute what the source of the pseudo posterior mechanism calls ε: 2mΔ_α for m sets.

    It is a figure for comparing settings, and not a guarantee; see
    `understudy.papers.record_weights`. Under replace the same argument gives 4mΔ_α.

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
