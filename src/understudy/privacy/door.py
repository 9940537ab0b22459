"""The door that every verb of the gate goes through: ledger, budget, views, and the promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from understudy.engine import Engine, ExactCells
from understudy.engine.coding import Codes
from understudy.errors import MethodError, NotPrivateError
from understudy.features.column_draws import Drawn
from understudy.privacy.accounting.budget import Budget, Neighbours, decimal_down
from understudy.privacy.accounting.guarantee import (
    Guarantee,
    Kind,
    drafted_leaks,
    file_conditions,
    public_inputs,
)
from understudy.privacy.accounting.ledger import Entry, Ledger
from understudy.privacy.admission import HowMany, verb
from understudy.privacy.diagnostics import Confide
from understudy.privacy.mechanisms.counts.lazy_leaves import Leaves
from understudy.privacy.mechanisms.counts.tables import MAX_CELLS
from understudy.privacy.noise.calibration import LawName, calibrate
from understudy.privacy.noise.distributions import NoiseLaw
from understudy.privacy.noise.perturbation import Law, Mode, count_sensitivity, words
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.not_dp.held_posterior import HeldPosterior, printed_bounds
from understudy.privacy.released import NO_NOISE, Bins, Groups, Published, Released
from understudy.privacy.rows_with_numbers import NumberedRows
from understudy.privacy.selection.exponential_mechanism import select, selection_epsilon
from understudy.schema import Domain, Partition, Schema

Measured = Released[Published]
CHOICE = "exponential mechanism"
PSEUDO_POSTERIOR = "pseudo posterior"
POSTERIOR = "posterior"
AS_THEY_STAND = "as they stand"

_EXACT = "Exact statistics of the rows were published."
_FROM_POSTERIOR = (
    "Records were drawn from parameters of the posterior of the exact rows, without weights."
)


class Pick(Protocol):
    """Picks a place from scores, among those that a public mask leaves."""

    def __call__(
        self, scores: NDArray[np.float64], feasible: NDArray[np.bool_] | None = None
    ) -> int:
        """The place of the winner."""
        ...


class Door:
    """What the verbs of the gate share.

    Args:
        engine: the rows.
        budget: all that may be spent.
        randomness: source of the noise; one that is not secure makes the release not private.
        allow_nonprivate: permit exact statistics to leave, which makes the release not private.
        stop: says whether whoever waits has asked for an end; it must not depend on the rows.
        confide: told how each walk by Markov chain went, and how records were weighted, which
            depends on the rows: for the steward alone. Who holds a gate cannot ask for it.
    """

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        randomness: Randomness,
        *,
        allow_nonprivate: bool = False,
        stop: Callable[[], bool] = lambda: False,
        confide: Confide = lambda _confided: None,
    ) -> None:
        self._secret_engine = engine
        self._secret_randomness = randomness
        self._allow_nonprivate = allow_nonprivate
        self._ledger = Ledger(budget)
        self._stop = stop
        self._secret_confide = confide
        self._stops: list[bool] = []
        self._measured: list[Measured] = []
        self._conditions: list[str] = []
        self._unproved: list[str] = []
        self._leaks: list[str] = []
        self._rows: list[Released[int]] = []
        self._bins: Bins = {}
        self._groups: Groups = {}
        self._views: dict[str, Self] = {}
        self._secret_leaves: dict[int, Leaves] = {}
        self._secret_scores: dict[tuple[str, tuple[int, ...]], float] = {}
        self._secret_tables: dict[tuple[int, ...], NDArray[np.int32 | np.int64]] = {}
        self._secret_coded: list[Codes] | None = None
        self._secret_numbered: NumberedRows | None = None
        self._secret_posteriors: dict[str, HeldPosterior] = {}
        self._open: dict[tuple[str, ...], Released[Mapping[str, Drawn]]] = {}
        self._drawn_from: list[str] = []
        self._printed: list[float] = []
        self._declared = engine.schema
        self.budget = budget
        # Fingerprints of a draft tell what was read from the rows: they stay in front of the gate.
        self.schema: Schema = engine.schema.released()
        self.neighbours: Neighbours = engine.schema.neighbours

    def __repr__(self) -> str:
        return f"Gate({self.budget.unit} left: {decimal_down(self.remaining)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A gate cannot be copied or pickled: it would spend its budget twice.")

    # --- what is public about it ----------------------------------------------------------------

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """Every step so far."""
        return self._ledger.entries

    @property
    def measured(self) -> tuple[Measured, ...]:
        """Every noisy table given out so far; what a release publishes in `noisy/`."""
        return tuple(self._measured)

    @property
    def remaining(self) -> Fraction:
        """What is left, in the budget's unit."""
        return self._ledger.remaining

    @property
    def share_spent(self) -> Fraction:
        """Part of the stated budget that is spent, in [0, 1] (infinite steps not counted)."""
        return 1 - self._ledger.remaining / self.budget.amount

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Have every new entry of the ledger told: paid, and not computed yet."""
        self._ledger.listen(listener)

    @property
    def stopping(self) -> bool:
        """Whether to end now: methods in rounds look at it between rounds, and end if it is so."""
        return self._stopped(self._stop())

    @property
    def ended_early(self) -> bool:
        """Whether a method that looked was told to end."""
        return any(self._stops)

    @property
    def n_rows(self) -> Released[int]:
        """Number of rows, as declared or as bought.

        Raises:
            MethodError: it is private and was not bought yet.
        """
        if self.schema.rows == "public":
            return self._declared_rows()
        if not self._rows:
            raise MethodError("The number of rows is private and was not bought yet.")
        return self._rows[-1]

    @verb
    def rebinned(self, bins: Bins) -> Self:
        """The same door, seen through other bins: it shares ledger, budget and measurements.

        Args:
            bins: numeric column → number of bins of equal width, or all edges; public or released.

        Raises:
            SchemaError: bins that do not fit their column.
        """
        if not bins:
            return self
        key = repr(sorted(bins.items()))
        if key not in self._views:
            schema = self.schema.with_bins(bins)
            self._views[key] = self._view(schema, self._secret_engine.recoded(schema))
            self._views[key]._bins = {**self._bins, **bins}
        return self._views[key]

    @verb
    def grouped(self, groups: Groups) -> Self:
        """The same door, seen through coarser columns; for counts and choices.

        Merging states is a map from record to record, so all sensitivities stay as they are.

        Args:
            groups: column → group of each of its states; public or released.

        Raises:
            SchemaError: groups that do not fit their column.
        """
        if not groups:
            return self
        key = repr(sorted(groups.items()))
        if key not in self._views:
            schema = self.schema.with_groups(groups)
            engine = self._secret_engine.grouped(schema, groups)
            self._views[key] = self._view(schema, engine)
            self._views[key]._groups = {**self._groups, **groups}
        return self._views[key]

    def _view(self, schema: Schema, engine: Engine) -> Self:
        """This door in front of the same rows, coded in another way."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view.schema, view._secret_engine = schema, engine
        view._views, view._secret_scores, view._secret_tables = {}, {}, {}
        view._secret_coded = view._secret_numbered = None
        view._secret_posteriors, view._open = {}, {}
        return view

    @verb
    def random_order(self, n: HowMany) -> tuple[int, ...]:
        """A uniformly random order of 0 … n - 1, independent of the rows: free, and public."""
        return tuple(self._secret_randomness.permutation(n).tolist())

    @verb
    def require(self, spend: Fraction) -> None:
        """Refuse what the budget cannot pay, before the first of several steps is paid.

        Raises:
            InsufficientBudgetError: more than is left.
        """
        self._ledger.require(spend)

    # --- the promise ----------------------------------------------------------------------------

    def guarantee(self) -> Guarantee:
        """What may be promised about everything given out so far: the stated budget."""
        accounting = self.budget.accounting
        kind: Kind = "pure" if accounting == "pure" else "approximate"
        unproved = (*self._unproved, *file_conditions(self.schema))
        promise = Guarantee(
            kind="conditional" if unproved else kind,  # leaks make it so by themselves
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            rho=self.budget.amount if accounting == "zcdp" else None,
            mu=self.budget.mu,
            neighbours=self.neighbours,
            public_inputs=public_inputs(self._declared),
            conditions=(*self._conditions, *unproved),
            leaks=(
                *drafted_leaks(self._declared),
                *self._leaks,
                *printed_bounds(self._printed, self.neighbours),
            ),
        )
        unpaid = {entry.mechanism for entry in self.ledger if entry.spent is None}
        if PSEUDO_POSTERIOR in unpaid and unpaid <= {PSEUDO_POSTERIOR, AS_THEY_STAND}:
            promise = promise.asymptotic()
        elif unpaid:
            others = unpaid - {PSEUDO_POSTERIOR, POSTERIOR, AS_THEY_STAND}
            by_posterior = POSTERIOR in unpaid and not others
            promise = promise.not_private(_FROM_POSTERIOR if by_posterior else _EXACT)
        if not self._secret_randomness.secure:
            promise = promise.not_private("Its noise was drawn from a seed, so it can be removed.")
        return promise

    @property
    def _own(self) -> tuple[object, ...]:
        """What arguments of verbs may hold beside plain values: schema, columns and domain."""
        return self.schema, self.schema.domain, *self.schema.columns.values()

    def _stopped(self, stopping: bool) -> bool:
        self._stops.append(stopping)
        return stopping

    # --- for the verbs --------------------------------------------------------------------------

    def _places(self, names: tuple[str, ...]) -> tuple[int, ...]:
        index = {name: j for j, name in enumerate(self.schema.names)}
        unknown = [name for name in names if name not in index]
        if unknown:
            raise MethodError(f"There is no column {unknown[0]!r} in the schema.")
        if len(set(names)) < len(names):
            raise MethodError("A table names each of its columns once.")
        return tuple(index[name] for name in names)

    def _sparse_domain(self, columns: tuple[str, ...]) -> Domain:
        if not columns:
            raise MethodError("A table that is not written out needs a column.")
        domain = self.schema.domain.project(self._places(columns))
        if domain.n_cells > 2**62:
            raise MethodError(
                f"The full table has about 10^{math.log10(domain.n_cells):.0f} cells, more than "
                "2^62, which 64-bit codes cannot number; take the method independent, or coarser "
                "bins and fewer columns."
            )
        return domain

    def _tree_domain(self, partition: Partition) -> Domain:
        """The domain of a tree, which must be that of the schema and small enough to number.

        Its layers are made here, before anything is paid: each record then has its node.
        """
        if partition.domain != self.schema.domain:
            raise MethodError("The tree divides the cells of another schema.")
        try:
            _ = partition.layers
        except ValueError as error:
            raise MethodError(f"The splits are those of no tree: {error}.") from None
        return self._sparse_domain(self.schema.names)

    def _secret_rows(self) -> list[Codes]:
        """States of all rows, one array per column; read once."""
        if self._secret_coded is None:
            self._secret_coded = self._secret_engine.coded().expose()
        return self._secret_coded

    def _secret_cells(self) -> ExactCells:
        """Occupied cells of the full table."""
        return self._secret_engine.occupied(tuple(range(len(self.schema.names)))).expose()

    def _calibrate(self, law: LawName, spend: Fraction) -> NoiseLaw:
        self._ledger.require(spend)
        return calibrate(
            law, spend=spend, accounting=self.budget.accounting, neighbours=self.neighbours
        )

    def _require_permission(self, what: str = "publishes exact statistics") -> None:
        if not self._allow_nonprivate:
            raise NotPrivateError(
                f"This method {what}; it needs allow_nonprivate=True, and its release is stamped "
                "not private."
            )

    def _selection_epsilon(self, spend: Fraction) -> Fraction:
        """ε of an exponential mechanism that costs `spend`, whatever follows."""
        self._ledger.require(spend)
        return selection_epsilon(spend, self.budget.accounting)

    def _pay_choice(
        self,
        query: str,
        *,
        sensitivity: Fraction,
        monotone: bool,
        cells: int,
        spend: Fraction,
        stated: str = "",
    ) -> tuple[Pick, int]:
        """Pay for choices by the exponential mechanism, at an ε that counts what is left then.

        Args:
            query: what is asked, in the words of the ledger.
            sensitivity: of the score.
            monotone: whether an added record moves no score down.
            cells: how many choices.
            spend: their cost.
            stated: the sensitivity as the ledger says it; its number if "".

        Returns:
            What picks a place from scores, and the number of the ledger entry.
        """
        with self._ledger.alone():  # nobody else may spend of the rest before this is paid
            self._ledger.require(spend)
            rest = self._ledger.remaining - spend
            epsilon = selection_epsilon(spend, self.budget.accounting, rest=rest)
            entry = self._ledger.charge(
                spend,
                CHOICE,
                query,
                sensitivity=f"score: {stated or sensitivity}{', monotone' * monotone}",
                noise="",
                cells=cells,
            )

        def pick(scores: NDArray[np.float64], feasible: NDArray[np.bool_] | None = None) -> int:
            return select(
                scores,
                epsilon=epsilon,
                sensitivity=sensitivity,
                monotone=monotone,
                feasible=feasible,
                source=self._secret_randomness,
            )

        return pick, entry

    def _charge(
        self,
        spend: Fraction,
        mechanism: str,
        query: str,
        law: Law,
        cells: int,
        *,
        mode: Mode = "strict",
    ) -> int:
        """Pay for noise on a contingency table; the number of the ledger entry."""
        return self._ledger.charge(
            spend,
            mechanism,
            query,
            sensitivity=count_sensitivity(law, self.neighbours, mode),
            noise=words(law),
            cells=cells,
        )

    def _declared_rows(self) -> Released[int]:
        assert self.schema.n_rows is not None
        return Released(self.schema.n_rows, NO_NOISE, "declared", 0)

    def _bins_of(self, columns: tuple[str, ...]) -> Bins:
        return {name: bins for name, bins in self._bins.items() if name in columns}

    def _groups_of(self, columns: tuple[str, ...]) -> Groups:
        return {name: groups for name, groups in self._groups.items() if name in columns}

    def _under(self, condition: str) -> None:
        if condition not in self._conditions:
            self._conditions.append(condition)

    def _suppose(self, condition: str) -> None:
        """Say what nobody can check in a single run; the promise then is conditional."""
        if condition not in self._unproved:
            self._unproved.append(condition)

    def _concede(self, leak: str) -> None:
        """Say what a published form of a mechanism leaves in; the promise then is conditional."""
        if leak not in self._leaks:
            self._leaks.append(leak)


def query_of(columns: tuple[str, ...]) -> str:
    """A table in the words of the ledger."""
    return "counts by " + " × ".join(columns) if columns else "count"


def require_dense(names: tuple[str, ...], domain: Domain) -> None:
    """Refuse a table too large to be written out.

    Raises:
        MethodError: more cells than `MAX_CELLS`.
    """
    if domain.n_cells > MAX_CELLS:
        raise MethodError(
            f"The table of {', '.join(names)} has {domain.n_cells:,} cells, too many to write out "
            f"(at most {MAX_CELLS:,}); take a filtered or lazy form, or coarser bins."
        )
