"""Named mechanisms: `price` from public facts, `run` on rows that are paid for.

A mechanism is a frozen dataclass in the file of its subject, with its proof. The gate
(`understudy.dp.gate.Gate.ask`) makes it again from its fields alone, asks for its price,
charges that, and only then runs it. So a mechanism never charges, and it never publishes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.guarantee import Unpaid
from understudy.dp.randomness import Randomness
from understudy.dp.released import NO_NOISE, Noise, Published, Released
from understudy.errors import NotPrivateError

A = TypeVar("A")
"""What the gate gives out: a released value, or a tuple of them."""
P = TypeVar("P")
"""What a mechanism draws with: a distribution of noise, an ε, a prior weight."""
V = TypeVar("V")


class Form(StrEnum):
    """The form of a mechanism's outcome, by the word that a plan shows."""

    DENSE = "dense"  # every noisy cell of a table is written out
    FILTERED = "filtered"  # cells above a public threshold are
    LAZY = "lazy"  # a noisy cell is drawn when a record first comes to it
    NODES = "nodes"  # of a layer of a hierarchy
    RANGES = "ranges"  # of a layer of a tree of ranges
    MOMENTS = "moments"
    LINE = "line"
    HEAPS = "heaps"  # how numbers are rounded
    DRAWS = "draws"
    SWEEPS = "sweeps"
    DISTRIBUTION = "distribution"
    CHOICE = "choice"
    POSTERIOR = "posterior"
    ROUNDS = "rounds"  # choices and tables; what is measured decides how many there are

    @property
    def counts_cells(self) -> bool:
        """True if the cells of one contingency table are counted."""
        return self in (Form.DENSE, Form.FILTERED, Form.LAZY)

    @property
    def has_noise_mass(self) -> bool:
        """True if empty cells keep the noise that they receive, so that its mass matters."""
        return self in (Form.DENSE, Form.LAZY, Form.DRAWS)

    @property
    def has_noise(self) -> bool:
        """True if one number has noise that is known before anything is measured."""
        return self not in (Form.CHOICE, Form.ROUNDS, Form.SWEEPS, Form.POSTERIOR)

    @property
    def has_cells(self) -> bool:
        """True if it has numbers that can be counted."""
        return self is not Form.CHOICE

    @property
    def draws_records(self) -> bool:
        """True if the records themselves leave, and no table that they are drawn from."""
        return self in (Form.LAZY, Form.DRAWS, Form.SWEEPS)


@dataclass(frozen=True, kw_only=True)
class Charge(Generic[P]):
    """One line of the ledger: announced by `price`, paid by the gate, and handed to `run`.

    Attributes:
        spent: cost in the budget's unit; None stands for an infinite one, 0 for an unpaid
            leak of a published form of a method.
        mechanism: its name in the ledger.
        query: what is asked, in words.
        sensitivity: by how much one record can change the answer, in words and numbers.
        noise: distribution of the noise with its exact parameter, or "".
        cells: how many numbers are perturbed.
        parameter: what `run` draws with; public.
        recorded: what the released value says about its noise.
        unpaid: what kind of step has an infinite cost, or none; None where `spent` is a cost.
        columns: names of those that it is about; all of them if None.
        entry: number of its line in the ledger, once it is paid; 0 before.
    """

    spent: Fraction | None
    mechanism: str
    query: str
    sensitivity: str
    noise: str
    cells: int
    parameter: P
    recorded: Noise = NO_NOISE
    unpaid: Unpaid | None = None
    columns: tuple[str, ...] | None = None
    entry: int = 0

    def __post_init__(self) -> None:
        """A step without a cost says what kind of step it is."""
        if (self.spent is None) != (self.unpaid not in (None, Unpaid.LEFT_IN)):
            raise ValueError("A step of infinite cost, and no other, names its kind.")
        if (self.spent == 0) != (self.unpaid is Unpaid.LEFT_IN):
            raise ValueError("A step that costs nothing, and no other, is an unpaid leak.")


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[A]):
    """The outcome of a mechanism; the gate publishes it, and a checkpoint can hold it.

    Attributes:
        answers: values, one for each charge; of a mechanism with a single answer, that alone.
        single: whether there is a single answer.
        measurements: what a release publishes of it, one for each charge; () for nothing; None
            where these are the answers themselves.
        conditions: what must hold for the promise to hold.
        unproved: the same, where nobody can check it in a single run.
        leaks: the unpaid leaks of a published form.
        printed: bounds read off the rows that a published form prints.
        counts_rows: whether the answer is the number of rows, on which later steps may rest.
    """

    answers: tuple[Any, ...]
    single: bool
    measurements: tuple[Published, ...] | None = None
    conditions: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    printed: tuple[float, ...] = ()
    counts_rows: bool = False


def answer(
    value: V, measurements: Sequence[Published] | None = (), **promise: Any
) -> Outcome[Released[V]]:
    """A single answer.

    Args:
        value: what is given out.
        measurements: as in `Outcome`, and so are the others.
        **promise: conditions, unproved, leaks, printed, counts_rows.
    """
    published = None if measurements is None else tuple(measurements)
    return Outcome(answers=(value,), single=True, measurements=published, **promise)


def answers(
    values: Sequence[V], measurements: Sequence[Published] | None = None, **promise: Any
) -> Outcome[tuple[Released[V], ...]]:
    """An answer for each charge; they are also what a release publishes, unless it is said."""
    published = None if measurements is None else tuple(measurements)
    return Outcome(answers=tuple(values), single=False, measurements=published, **promise)


class Mechanism(ABC, Generic[A, P]):
    """A named mechanism; its file proves it.

    A mechanism is a frozen dataclass whose fields are plain values, arrays, or such dataclasses of
    this package's inner rooms (`understudy.dp.admission`).

    Attributes:
        name: in the ledger.
        form: what it gives out, for plans; those that no plan prices by themselves have none.
        needs_records: whether it runs on whole records, which only an engine in this process has.
        unfinished: whether something of it stays behind the gate that a later mechanism needs, and
            that no checkpoint can hold.
    """

    name: ClassVar[str]
    form: ClassVar[Form]
    needs_records: ClassVar[bool] = False
    unfinished: ClassVar[bool] = False

    @abstractmethod
    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[P], ...]:
        """List what will be in the ledger, from public facts alone.

        Args:
            terms: public.
            spend: what all of it may cost.

        Returns:
            The lines of the ledger; none where the answer follows from what is paid already.

        Raises:
            MethodError: what is asked does not fit the schema, the accounting, or the proof.
            BudgetError: more than is left, or next to nothing.
        """

    @abstractmethod
    def run(
        self, rows: SecretRows, charges: tuple[Charge[P], ...], source: Randomness
    ) -> Outcome[A]:
        """CONFIDENTIAL inside; what it returns is what leaves.

        Args:
            rows: exact.
            charges: what `price` announced, paid for.
            source: of every draw.
        """


Mechanisms = tuple[type[Mechanism[Any, Any]], ...]
"""Those that a gate can be asked for."""


def require_permission(charges: Sequence[Charge[Any]], *, allowed: bool) -> None:
    """Refuse steps of infinite cost that nobody has permitted.

    Raises:
        NotPrivateError: there is one.
    """
    for charge in charges:
        if charge.spent is None and charge.unpaid and not allowed:
            raise NotPrivateError(
                f"This method {charge.unpaid.value}; it needs allow_nonprivate=True, and its "
                "release is stamped not private."
            )
