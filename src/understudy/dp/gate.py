"""The gate: the one door between rows and everything else, and its one verb.

A method holds a gate and nothing more. It hands in a mechanism, and the gate does the same with
each of them, in this order, and nowhere else in the package:

1. *check*: the mechanism is one of a closed list, by its exact type, and is made again from its
   fields alone (`understudy.dp.admission`);
2. *price*: it says what it costs and how, from public facts;
3. *charge*: the ledger takes that or refuses, on disk first if there is a journal;
4. *run*: only now it sees rows;
5. *publish*: its outcome, on disk first if there is a journal, becomes `Released`.

**Claim.** Nothing is read from the rows before it is paid for, and what is given out is what a
named mechanism returned. *Proof.* `_rows` is handed out in one line of this file, below the charge;
the list of mechanisms is below, each with a proof of its own; and whoever makes a gate with another
class among them gets releases that are stamped not private.

**The closed list** has every mechanism of this package. A new mechanism is listed here; its proof
stands beside it. The list holds names, so that a gate loads no mechanism that nobody asks for. A
class is listed if it is the very one that stood in a module of the list, under its name there, when
a gate first looked. What a class says of itself is never asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Self, cast

from understudy.dp.accountant import Entry, PrivacyAccountant
from understudy.dp.admission import SafeCopies, admit, twins, verb
from understudy.dp.budget import Budget, Neighbours, decimal_down
from understudy.dp.confidential import CodedView, DiagnosticCallback, PublicContext, SecretRows
from understudy.dp.guarantee import Guarantee, Promise, Unpaid
from understudy.dp.mechanism import (
    A,
    Charge,
    Mechanism,
    Mechanisms,
    Outcome,
    require_permission,
)
from understudy.dp.randomness import Randomness
from understudy.dp.released import NO_NOISE, Bins, Groups, Published, Released, read_only
from understudy.errors import MethodError
from understudy.schema import Schema, private_copy

if TYPE_CHECKING:
    from understudy.data.base import Engine


Place = tuple[str, str]
"""A module of this package, and the name of a class in it."""

WITH_EPSILON: Final[tuple[Place, ...]] = (
    ("understudy.mechanisms.private_selection", "PrivateSelection"),
    ("understudy.mechanisms.private_selection", "TableDistance"),
    ("understudy.mechanisms.regression", "Regression"),
    ("understudy.mechanisms.second_moments", "RankProducts"),
    ("understudy.mechanisms.second_moments", "SecondMoments"),
    ("understudy.mechanisms.second_moments", "TermMoments"),
    ("understudy.mechanisms.second_moments", "WeightedMoments"),
    ("understudy.mechanisms.selection", "Candidate"),
    ("understudy.mechanisms.selection", "CandidateColumns"),
    ("understudy.mechanisms.selection", "RandomOrder"),
    ("understudy.mechanisms.sparse_tables", "LazyTable"),
    ("understudy.mechanisms.sparse_tables", "ThresholdTable"),
    ("understudy.mechanisms.sums", "Moments"),
    ("understudy.mechanisms.tables", "BinomialCount"),
    ("understudy.mechanisms.tables", "HeapCounts"),
    ("understudy.mechanisms.tables", "NoisyTables"),
    ("understudy.mechanisms.tables", "NumberLines"),
    ("understudy.mechanisms.tables", "RowCount"),
    ("understudy.mechanisms.urn", "Urn"),
    ("understudy.mechanisms.votes", "Votes"),
    ("understudy.mechanisms.weighted_tables", "WeightedTable"),
    ("understudy.papers.empirical_distribution", "CumulativeDistributions"),
    ("understudy.papers.generator_scores", "ListedParameters"),
    ("understudy.papers.generator_scores", "WalkedParameters"),
    ("understudy.papers.hierarchy_mechanisms", "ColumnSplits"),
    ("understudy.papers.hierarchy_mechanisms", "GroupSplit"),
    ("understudy.papers.hierarchy_mechanisms", "HierarchyLayers"),
    ("understudy.papers.hierarchy_mechanisms", "LazyLeaves"),
    ("understudy.papers.hierarchy_mechanisms", "LeafRecords"),
    ("understudy.papers.hierarchy_mechanisms", "RangeCounts"),
    ("understudy.papers.imputation_draws", "ImputedRecords"),
    ("understudy.papers.perturbed_gibbs", "LazyRows"),
    ("understudy.papers.perturbed_gibbs", "PerturbedGibbs"),
    ("understudy.papers.perturbed_gibbs", "ResetBlocks"),
)
"""All that have a finite cost."""

WITHOUT_EPSILON: Final[tuple[Place, ...]] = (
    ("understudy.papers.exact", "ExactDeviations"),
    ("understudy.papers.exact", "ExactFullTable"),
    ("understudy.papers.exact", "ExactMoments"),
    ("understudy.papers.exact", "ExactQuartileRanges"),
    ("understudy.papers.exact", "ExactTables"),
    ("understudy.papers.perturbed_gibbs", "DiverseRows"),
    ("understudy.papers.pseudo_posterior", "OpenColumns"),
    ("understudy.papers.pseudo_posterior", "PosteriorDraw"),
)
"""What leaves without a finite ε. A release whose ledger names one of these is stamped."""


def is_listed(kind: type) -> bool:
    """Return whether a class is the very one that stands in this package under a listed name.

    Modules that are not loaded have no class yet that could be asked for.

    Args:
        kind: a class; nothing of it is read or run.
    """
    listed = (*WITH_EPSILON, *WITHOUT_EPSILON)
    return any(_at(place) is kind for place in listed if place[0] in sys.modules)


def load_mechanisms(places: tuple[Place, ...] = WITH_EPSILON + WITHOUT_EPSILON) -> Mechanisms:
    """Load the classes of some places, all by default."""
    return tuple(_at(place) for place in places)


@cache
def _at(place: Place) -> type:
    """The class of a place, as it was when it was first looked for."""
    module, name = place
    found: type = getattr(import_module(module), name)
    return found


class Unrecorded:
    """A journal that writes nothing down and knows of no earlier run.

    `understudy.checkpoint.replay` has one with a journal.

    Attributes:
        factor: by what costs shrink, because an earlier run lost charges.
    """

    factor = Fraction(1)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """While this is open, nobody else asks."""
        yield

    def take_over(self, mechanism: Mechanism[Any, Any], view: CodedView) -> None:
        """Take over what earlier runs paid for this very step without an answer."""

    def find_answer(
        self, mechanism: Mechanism[A, Any], charges: tuple[Charge[Any], ...], view: CodedView
    ) -> tuple[tuple[int, ...], Outcome[A] | None] | None:
        """Numbers of the entries if an earlier run has paid, and the outcome if it is written down.

        The ledger has the entries then.

        Raises:
            CheckpointError: earlier runs asked for something else at this point.
        """
        return None

    def keep(self, outcome: Outcome[Any]) -> None:
        """Write down what was just paid and run."""

    def look(self, stopping: Callable[[], bool]) -> bool:
        """Return whether to end between rounds."""
        return stopping()


Measured = Released[Published]
DECLARED = "declared"


class Gate:
    """Answers questions about the rows, for a price, with noise.

    Args:
        engine: the rows.
        budget: all that may be spent.
        randomness: source of the noise; one that is not secure makes the release not private.
        mechanisms: what may be asked for, the closed list if None; a class among them that is not
            of that list makes the release not private.
        allow_nonprivate: permit steps of infinite cost, which make the release not private.
        stop: says whether whoever waits has asked for an end; it must not depend on the rows.
        confide: takes diagnostics, which depend on the rows: for the steward, not this gate's user.
        record: what earlier runs asked, paid and were told.
    """

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        randomness: Randomness,
        *,
        mechanisms: Mechanisms | None = None,
        allow_nonprivate: bool = False,
        stop: Callable[[], bool] = lambda: False,
        confide: DiagnosticCallback = lambda _diagnostic: None,
        record: Callable[[PrivacyAccountant], Unrecorded] = lambda _ledger: Unrecorded(),
    ) -> None:
        # Fingerprints of a draft tell what was read from the rows: they stay in front of the gate.
        self.schema: Schema = engine.schema.strip_fingerprints()
        self.budget = budget
        # Prices and the promise rest on a copy: fractions that are shown can be overwritten.
        self._budget = Budget(Fraction(budget.epsilon), Fraction(budget.delta), budget.approximate)
        self.neighbours: Neighbours = engine.schema.neighbours
        self._declared = private_copy(engine.schema)
        view = CodedView(schema=Schema.strip_fingerprints(self._declared))
        self._rows = SecretRows(engine, view, confide)
        self._source, self._stop = randomness, stop
        self._mechanisms, self._allow_nonprivate = mechanisms, allow_nonprivate
        self._ledger = PrivacyAccountant(budget)
        self._record = record(self._ledger)
        self._promise = Promise(engine.premises)
        self._measured: list[Measured] = []
        self._counted: list[Released[int]] = []
        self._stops: list[bool] = []
        self._views: dict[str, Self] = {}

    def __repr__(self) -> str:
        return f"Gate({self.budget.unit} left: {decimal_down(self.remaining)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A gate cannot be copied or pickled: it would spend its budget twice.")

    # --- the verb -------------------------------------------------------------------------------

    def ask(self, mechanism: Mechanism[A, Any], *, spend: Fraction = Fraction(0)) -> A:
        """Pay for a mechanism and return its answer.

        Args:
            mechanism: one of the named ones, with its public parameters.
            spend: what all of it may cost; not needed where the cost is none, or infinite.

        Raises:
            MethodError: another mechanism, or one that does not fit the schema or the accounting.
            BudgetError: more than is left, or next to nothing.
            NotPrivateError: an infinite cost, and `allow_nonprivate` is not set.
        """
        named, spend = self._admit(mechanism), admit(spend, Fraction, (), "spend")
        with self._record.turn():
            with self._ledger.alone():  # nobody else may spend of what the price rests on
                first = len(self._ledger.entries)
                self._record.take_over(named, self._rows.view)
                charges = named.price(self._terms, spend * self._record.factor)
                require_permission(charges, allowed=self._allow_nonprivate)
                known = self._record.find_answer(named, charges, self._rows.view)
                paid = self._pay(charges, known[0] if known else None, first)
            outcome = known[1] if known else None
            if outcome is None:
                outcome = named.run(self._rows, paid, self._source)
                self._record.keep(outcome)
            return self._publish(outcome, paid)

    def _admit(self, mechanism: Mechanism[A, Any]) -> Mechanism[A, Any]:
        """A mechanism of the list, made again of its fields alone; nothing foreign was run."""
        kind = type(mechanism)
        if not self._takes(kind):
            raise MethodError(
                f"The gate takes no {kind.__name__} as mechanism: it lets near the rows what it "
                "knows by name, and nothing else."
            )
        made: Mechanism[A, Any] = admit(mechanism, kind, self._own, "mechanism")
        self._rows.require_records(made.name, needed=made.needs_records)
        return made

    def _takes(self, kind: type) -> bool:
        """Return whether a class of mechanisms may be asked for."""
        if self._mechanisms is None:
            return is_listed(kind)
        return any(kind is listed for listed in self._mechanisms)

    def _pay(
        self, charges: tuple[Charge[Any], ...], entries: tuple[int, ...] | None, first: int
    ) -> tuple[Charge[Any], ...]:
        """Pay, or learn which lines of the ledger have paid."""
        if entries is None:
            if whole := sum((charge.spent or Fraction(0) for charge in charges), Fraction(0)):
                self._ledger.require(whole)
            entries = tuple(
                self._ledger.charge(
                    charge.spent,
                    charge.mechanism,
                    charge.query,
                    sensitivity=charge.sensitivity,
                    noise=charge.noise,
                    cells=charge.cells,
                    left_in=charge.unpaid is Unpaid.LEFT_IN,
                )
                for charge in charges
            )
        infinite = [entry for entry in self._ledger.entries[first:] if entry.spent is None]
        for entry in infinite:  # those that an earlier run lost at this step are of its kind
            self._promise.record_unpaid(entry.number, charges[-1].unpaid or Unpaid.EXACT)
        numbered = zip(charges, entries, strict=True)
        return tuple(replace(charge, entry=entry) for charge, entry in numbered)

    def _publish(self, outcome: Outcome[A], charges: tuple[Charge[Any], ...]) -> A:
        """Prepare what a mechanism returned for release."""
        self._promise.add(outcome)
        paid_by = charges[: 1 if outcome.single else None]
        published = outcome.measurements
        # Nobody may alter what is published, knowingly or not. Records are not published here.
        answers = read_only(outcome.answers, copied=published is None)
        given = _release_values(answers, paid_by)
        measured = outcome.answers if published is None else published
        self._measured.extend(_release_values(measured, paid_by if published is None else charges))
        if outcome.counts_rows:
            self._counted.extend(_release_values(outcome.answers, charges))
        return cast(A, given[0] if outcome.single else given)

    # --- what is public about it ----------------------------------------------------------------

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """Every step so far."""
        return self._ledger.entries

    @property
    def measured(self) -> tuple[Measured, ...]:
        """Everything given out so far that a release publishes in `noisy/`."""
        return tuple(
            replace(one, value=read_only(one.value), noise=replace(one.noise))
            for one in self._measured
        )

    @property
    def remaining(self) -> Fraction:
        """Amount left, in the budget's unit; charges that an earlier run lost are not counted."""
        factor = self._record.factor
        return self._ledger.remaining / factor if factor else Fraction(0)

    @property
    def share_spent(self) -> Fraction:
        """Part of the stated budget that is spent if the run ends now, in [0, 1]."""
        return self.spent / self._budget.amount

    @property
    def spent(self) -> Fraction:
        """Cost of the run if it ends now (`RunCost`), infinite steps not counted."""
        return self._ledger.spent

    @property
    def n_rows(self) -> Released[int]:
        """Number of rows, as declared or as bought.

        Raises:
            MethodError: it is private and was not measured yet.
        """
        known = self._known_rows
        if known is None:
            raise MethodError("The number of rows is private and was not measured yet.")
        return known

    @property
    def stopping(self) -> bool:
        """True if the run should end now: methods in rounds look at it between rounds."""
        with self._record.turn():
            self._stops.append(self._record.look(self._stop))
            return self._stops[-1]

    @property
    def ended_early(self) -> bool:
        """True if a method that looked was told to end."""
        return any(self._stops)

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Have every new entry told: paid, and not computed yet."""
        self._ledger.listen(listener)

    @verb
    def require(self, spend: Fraction) -> None:
        """Refuse what the budget cannot pay, before the first of several steps is paid.

        Raises:
            InsufficientBudgetError: more than is left.
        """
        self._ledger.require(spend * self._record.factor)

    def guarantee(self) -> Guarantee:
        """State what may be promised about everything given out so far: the stated budget."""
        return self._promise.guarantee(
            self._declared,
            self._budget,
            infinite=[entry.number for entry in self.ledger if entry.spent is None],
            secure=self._source.secure,
            genuine=all(map(is_listed, self._mechanisms or ())),
        )

    # --- views ----------------------------------------------------------------------------------

    @verb
    def rebin(self, bins: Bins) -> Self:
        """The same gate, seen through other bins: it shares ledger, budget and measurements.

        Args:
            bins: numeric column → number of bins of equal width, or all edges; public or released.

        Raises:
            SchemaError: bins that do not fit their column.
        """
        return self._view(self._rows.rebin, bins) if bins else self

    @verb
    def group(self, groups: Groups) -> Self:
        """The same gate, seen through coarser columns; for counts and choices.

        Merging states is a map from record to record, so all sensitivities stay as they are.

        Args:
            groups: column → group of each of its states; public or released.

        Raises:
            SchemaError: groups that do not fit their column.
        """
        return self._view(self._rows.group, groups) if groups else self

    def _view(self, seen_through: Callable[[Any], SecretRows], changed: Bins | Groups) -> Self:
        """This gate in front of the same rows, coded in another way; made once."""
        key = repr((seen_through.__name__, sorted(changed.items())))
        if key not in self._views:
            view = object.__new__(type(self))
            view.__dict__.update(self.__dict__)
            view._rows, view._views = seen_through(changed), {}
            view.schema = private_copy(view._rows.view.schema)
            self._views[key] = view
        return self._views[key]

    # --- what prices and admission rest on ------------------------------------------------------

    @property
    def _terms(self) -> PublicContext:
        left, rows = self._ledger.remaining, self._known_rows
        return PublicContext(view=self._rows.view, budget=self._budget, left=left, n_rows=rows)

    @property
    def _known_rows(self) -> Released[int] | None:
        declared = self._rows.view.schema.n_rows
        if declared is not None:
            return _release_values((declared,), ())[0]
        last = self._counted[-1:]
        return replace(last[0], noise=replace(last[0].noise)) if last else None

    @property
    def _own(self) -> SafeCopies:
        """Objects that mechanisms may hold beside plain values, and their replacements."""
        return twins(self.schema, self._rows.view.schema)


def _release_values(
    values: tuple[Any, ...], charges: tuple[Charge[Any], ...]
) -> tuple[Released[Any], ...]:
    """Values as they leave, one for each charge; what follows without a charge says so."""
    about = [
        (replace(charge.recorded), charge.mechanism, charge.entry) for charge in charges if values
    ]
    about = about or [(replace(NO_NOISE), DECLARED, 0)] * len(values)
    return tuple(Released(value, *its) for value, its in zip(values, about, strict=True))
