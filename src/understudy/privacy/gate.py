"""The gate: the one door between rows and everything else.

A method holds a gate and nothing more. Each verb checks what is public, charges the ledger, and
only then computes; what it gives out is `Released`. A request that the budget cannot pay is refused
before anything is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from understudy.engine import Engine
from understudy.errors import MethodError, NotPrivateError
from understudy.privacy.budget import Budget, Neighbours, decimal_down, pure_within, split
from understudy.privacy.calibration import (
    LawName,
    calibrate,
    describe,
    noise_of,
    sensitivity_text,
)
from understudy.privacy.empty_cells import ROUNDING
from understudy.privacy.filtered import noisy_cells
from understudy.privacy.guarantee import Guarantee, Kind, drafted_leaks, public_inputs
from understudy.privacy.laws import DiscreteGaussian, NoiseLaw
from understudy.privacy.lazy import LazyTable, lazy_records, require_tokens_fit
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.randomness import Randomness
from understudy.privacy.scores import SCORES, Score
from understudy.privacy.selection import select
from understudy.privacy.tables import MAX_CELLS, noisy_table
from understudy.privacy.urn import (
    Urn,
    describe_urn,
    prior_weight,
    urn_noise,
    urn_query,
    urn_records,
)
from understudy.privacy.values import (
    NO_NOISE,
    Bins,
    DrawnDistribution,
    NoisyCells,
    NoisyMoment,
    NoisyTable,
    NoisyTotals,
    Records,
    Released,
    UrnDraws,
)
from understudy.schema import Domain, Schema

C = TypeVar("C")
Measured = Released[
    NoisyTable | NoisyCells | NoisyTotals | NoisyMoment | UrnDraws | DrawnDistribution
]


class Gate:
    """Answers questions about the rows, for a price, with noise.

    Args:
        engine: the rows.
        budget: all that may be spent.
        randomness: source of the noise; one that is not secure makes the release not private.
        allow_nonprivate: permit `reveal`, which makes the release not private.
    """

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        randomness: Randomness,
        *,
        allow_nonprivate: bool = False,
    ) -> None:
        self.__engine = engine
        self.__randomness = randomness
        self._allow_nonprivate = allow_nonprivate
        self._ledger = Ledger(budget)
        self._measured: list[Measured] = []
        self._conditions: list[str] = []
        self._leaks: list[str] = []
        self._rows: list[Released[int]] = []
        self._bins: Bins = {}
        self._views: dict[str, Gate] = {}
        self.budget = budget
        self.schema: Schema = engine.schema
        self.neighbours: Neighbours = engine.schema.neighbours

    def __repr__(self) -> str:
        return f"Gate({self.budget.unit} left: {decimal_down(self.remaining)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A gate cannot be copied or pickled: it would spend its budget twice.")

    # --- what is public about the gate itself ---------------------------------------------------

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

    def rebinned(self, bins: Bins) -> Gate:
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
            view = object.__new__(Gate)
            view.__dict__.update(self.__dict__)
            view.schema, view._bins, view._views = schema, {**self._bins, **bins}, {}
            view.__engine = self.__engine.recoded(schema)
            self._views[key] = view
        return self._views[key]

    # --- verbs ----------------------------------------------------------------------------------

    def count_rows(self, *, spend: Fraction) -> Released[int]:
        """Number of rows: declared if the schema makes it public, else bought.

        Adding or removing a record changes it by 1. Clipping to [0, row_limit] is post-processing.

        Args:
            spend: cost; not charged where the number is public.
        """
        if self.schema.rows == "public":
            return self._declared_rows()
        gaussian = self.budget.accounting == "zcdp"
        law = self._calibrate("gaussian" if gaussian else "geometric", spend)
        entry = self._charge(spend, "noisy count", "number of rows", law, 1)
        noisy = self.__engine.total().expose() + int(law.sample(1, self.__randomness)[0])
        limit = noisy if self.schema.row_limit is None else self.schema.row_limit
        self._rows.append(Released(max(0, min(noisy, limit)), noise_of(law), "noisy count", entry))
        return self._rows[-1]

    def count(
        self,
        marginals: Sequence[tuple[str, ...]],
        *,
        spend: Fraction,
        law: LawName,
        weights: Sequence[int | Fraction] | None = None,
    ) -> list[Released[NoisyTable]]:
        """Noisy contingency tables, with noise in every allowed cell.

        Args:
            marginals: column names of each table.
            spend: cost of all of them together.
            law: "geometric", "laplace" or "gaussian".
            weights: how the cost is divided among the tables; evenly if None.

        Raises:
            MethodError: a table too large to write out, or noise that does not fit the accounting.
            InsufficientBudgetError: more than is left.
        """
        places = [self._places(names) for names in marginals]
        domains = [self.schema.domain.project(place) for place in places]
        for names, domain in zip(marginals, domains, strict=True):
            _require_dense(names, domain)
        shares = split(spend, weights or [1] * len(marginals)) if marginals else []
        laws = [self._calibrate(law, share) for share in shares]
        self._ledger.require(spend)
        entries = [
            self._charge(share, "noisy table", _query(names), noise, domain.n_allowed + 1)
            for names, domain, noise, share in zip(marginals, domains, laws, shares, strict=True)
        ]
        exact = self.__engine.count(places).expose()
        released = [
            Released(
                replace(
                    noisy_table(table, names, domain, noise, self.__randomness),
                    bins=self._bins_of(names),
                ),
                noise_of(noise),
                "noisy table",
                entry,
            )
            for table, names, domain, noise, entry in zip(
                exact, marginals, domains, laws, entries, strict=True
            )
        ]
        self._measured.extend(released)
        return released

    def count_above(
        self, columns: tuple[str, ...], threshold: int, *, spend: Fraction, law: LawName
    ) -> Released[NoisyCells]:
        """The cells of a noisy table of any size that reach a public threshold.

        Args:
            columns: column names of the table.
            threshold: at least 1, chosen without looking at the rows.
            spend: cost.
            law: "geometric" or "laplace".

        Raises:
            MethodError: more than 2⁶² cells, or a law or threshold that does not fit.
            InsufficientBudgetError: more than is left.
        """
        domain = self._sparse_domain(columns)
        if threshold < 1:
            raise MethodError("The threshold must be at least 1; take the dense form below that.")
        noise = self._calibrate(law, spend)
        if isinstance(noise, DiscreteGaussian):
            raise MethodError("A filtered table needs geometric or laplace noise.")
        entry = self._charge(
            spend, "filtered noisy table", _query(columns), noise, domain.n_allowed + 1
        )
        self._under(ROUNDING)
        exact = self.__engine.occupied(self._places(columns)).expose()
        cells = noisy_cells(
            exact, columns, domain, noise, threshold=threshold, randomness=self.__randomness
        )
        cells = replace(cells, bins=self._bins_of(columns))
        released = Released(cells, noise_of(noise), "filtered noisy table", entry)
        self._measured.append(released)
        return released

    def records(
        self, specification: LazyTable, *, n_rows: int, spend: Fraction
    ) -> Released[Records]:
        """Synthetic records from a mechanism in which drawing them is the mechanism.

        Args:
            specification: a named mechanism and its public parameters.
            n_rows: how many; public or released.
            spend: cost of all of them together.

        Raises:
            MethodError: a table too large for it.
            InsufficientBudgetError: more than is left.
        """
        columns = specification.columns
        domain = self._sparse_domain(columns)
        noise = self._calibrate(specification.law, spend)
        if isinstance(noise, DiscreteGaussian):
            raise MethodError("A lazy table needs geometric or laplace noise.")
        require_tokens_fit(domain, noise)
        entry = self._charge(
            spend, "lazy noisy table", _query(columns), noise, domain.n_allowed + 1
        )
        self._under(ROUNDING)
        exact = self.__engine.occupied(self._places(columns)).expose()
        drawn, totals = lazy_records(
            exact, columns, domain, noise, n_rows=n_rows, randomness=self.__randomness
        )
        self._measured.append(Released(totals, noise_of(noise), "lazy noisy table", entry))
        return Released(drawn, noise_of(noise), "lazy noisy table", entry)

    def posterior(
        self, specification: Urn, *, n_rows: int, spend: Fraction
    ) -> Released[Records]:
        """Synthetic records from a posterior predictive law that is itself the mechanism.

        Proof: `understudy.privacy.urn`. The prior weight follows from `n_rows` and `spend`.

        Args:
            specification: a named mechanism and its public parameters.
            n_rows: how many; public or released.
            spend: cost of all of them together.

        Raises:
            MethodError: more than 2⁶² cells.
            InsufficientBudgetError: more than is left.
        """
        columns, reinforced = specification.columns, specification.reinforced
        domain = self._sparse_domain(columns)
        self._ledger.require(spend)
        epsilon = spend if self.budget.accounting == "pure" else pure_within(spend)
        prior = prior_weight(n_rows, epsilon, reinforced=reinforced)
        entry = self._ledger.charge(
            spend,
            "urn draws",
            urn_query(columns),
            sensitivity="one record of weight 1",
            noise=describe_urn(epsilon, reinforced=reinforced),
            cells=domain.n_allowed,
        )
        exact = self.__engine.occupied(self._places(columns)).expose()
        drawn = urn_records(
            exact, domain, prior, n_rows, reinforced=reinforced, randomness=self.__randomness
        )
        noise = urn_noise(prior, reinforced=reinforced)
        urn = UrnDraws(columns, prior, domain.n_allowed, reinforced, self._bins_of(columns))
        self._measured.append(Released(urn, noise, "urn draws", entry))
        return Released(drawn, noise, "urn draws", entry)

    def choose(
        self,
        candidates: Sequence[C],
        score: Score,
        *,
        spend: Fraction,
        feasible: Callable[[C], bool] | None = None,
    ) -> Released[C]:
        """One candidate, by the exponential mechanism; only the winner leaves.

        Args:
            candidates: public; as many as the score has values.
            score: one of the named scores.
            spend: cost.
            feasible: a public rule; infeasible candidates are passed over inside the mechanism.

        Raises:
            MethodError: no candidate, or none that is feasible (a public fact).
            InsufficientBudgetError: more than is left.
        """
        if not isinstance(score, SCORES):
            raise MethodError(
                f"{type(score).__name__} is not among the named scores; a score sees "
                "the rows and needs a proof in privacy/scores.py."
            )
        if not candidates:
            raise MethodError("There is no candidate to choose from.")
        monotone = score.monotone and self.neighbours == "add_remove"
        sensitivity = score.sensitivity(self.neighbours)
        epsilon = self._selection_epsilon(spend)
        entry = self._ledger.charge(
            spend,
            "exponential mechanism",
            f"one of {len(candidates)} candidates by {type(score).__name__}",
            sensitivity=f"score: {sensitivity}{', monotone' * monotone}",
            noise="",
            cells=1,
        )
        values = score.evaluate(self.__engine.count(score.queries()).expose())
        if len(values) != len(candidates):
            raise MethodError("The score does not have one value per candidate.")
        rule = None if feasible is None else lambda k: feasible(candidates[k])
        winner = select(
            values,
            epsilon=epsilon,
            sensitivity=sensitivity,
            monotone=monotone,
            feasible=rule,
            source=self.__randomness,
        )
        if winner is None:
            raise MethodError("No candidate is feasible; widen the public limit.")
        return Released(candidates[winner], NO_NOISE, "exponential mechanism", entry)

    def reveal(self, marginals: Sequence[tuple[str, ...]]) -> list[Released[NoisyTable]]:
        """Exact tables, for classical baselines: the release becomes not private.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
        """
        if not self._allow_nonprivate:
            raise NotPrivateError(
                "This method publishes exact statistics; it needs "
                "allow_nonprivate=True, and its release is stamped not private."
            )
        places = [self._places(names) for names in marginals]
        entries = [
            self._ledger.charge(
                None, "exact table", _query(names), sensitivity="none", noise="", cells=0
            )
            for names in marginals
        ]
        exact = self.__engine.count(places).expose()
        return [
            Released(
                NoisyTable(names, table.inside, float(table.outside), self._bins_of(names)),
                NO_NOISE,
                "exact table",
                entry,
            )
            for names, table, entry in zip(marginals, exact, entries, strict=True)
        ]

    # --- the promise ----------------------------------------------------------------------------

    def guarantee(self) -> Guarantee:
        """What may be promised about everything given out so far: the stated budget."""
        approximate = self.budget.accounting == "zcdp"
        kind: Kind = "approximate" if approximate else "pure"
        promise = Guarantee(
            kind="conditional" if self._leaks else kind,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            rho=self.budget.amount if approximate else None,
            neighbours=self.neighbours,
            public_inputs=public_inputs(self.schema),
            conditions=tuple(self._conditions),
            leaks=(*drafted_leaks(self.schema), *self._leaks),
        )
        if any(entry.spent is None for entry in self.ledger):
            promise = promise.not_private("Exact statistics of the rows were published.")
        if not self.__randomness.secure:
            promise = promise.not_private("Its noise was drawn from a seed, so it can be removed.")
        return promise

    # --- inside ---------------------------------------------------------------------------------

    def _places(self, names: tuple[str, ...]) -> tuple[int, ...]:
        index = {name: j for j, name in enumerate(self.schema.names)}
        unknown = [name for name in names if name not in index]
        if unknown:
            raise MethodError(f"There is no column {unknown[0]!r} in the schema.")
        return tuple(index[name] for name in names)

    def _sparse_domain(self, columns: tuple[str, ...]) -> Domain:
        domain = self.schema.domain.project(self._places(columns))
        if domain.n_cells > 2**62:
            raise MethodError(
                f"The full table has about 10^{math.log10(domain.n_cells):.0f} cells, more than "
                "2^62, which 64-bit codes cannot number; take the method independent, or coarser "
                "bins and fewer columns."
            )
        return domain

    def _calibrate(self, law: LawName, spend: Fraction) -> NoiseLaw:
        self._ledger.require(spend)
        return calibrate(
            law, spend=spend, accounting=self.budget.accounting, neighbours=self.neighbours
        )

    def _selection_epsilon(self, spend: Fraction) -> Fraction:
        """ε of an exponential mechanism that costs `spend`.

        ρ = ε²/8 by its bounded range (Cesar & Rogers 2021).
        """
        return spend if self.budget.accounting == "pure" else 2 * pure_within(spend)

    def _charge(
        self, spend: Fraction, mechanism: str, query: str, law: NoiseLaw, cells: int
    ) -> int:
        """Pay for noise on a contingency table; the number of the ledger entry."""
        return self._ledger.charge(
            spend,
            mechanism,
            query,
            sensitivity=sensitivity_text(law, self.neighbours),
            noise=describe(law),
            cells=cells,
        )

    def _declared_rows(self) -> Released[int]:
        assert self.schema.n_rows is not None
        return Released(self.schema.n_rows, NO_NOISE, "declared", 0)

    def _bins_of(self, columns: tuple[str, ...]) -> Bins:
        return {name: bins for name, bins in self._bins.items() if name in columns}

    def _under(self, condition: str) -> None:
        if condition not in self._conditions:
            self._conditions.append(condition)

    def _concede(self, leak: str) -> None:
        """Say what a published form of a mechanism leaves in; the promise then is conditional."""
        if leak not in self._leaks:
            self._leaks.append(leak)


def _query(columns: tuple[str, ...]) -> str:
    return "counts by " + " × ".join(columns) if columns else "count"


def _require_dense(names: tuple[str, ...], domain: Domain) -> None:
    if domain.n_cells > MAX_CELLS:
        raise MethodError(
            f"The table of {', '.join(names)} has {domain.n_cells:,} cells, too many to write out "
            f"(at most {MAX_CELLS:,}); take a filtered or lazy form, or coarser bins."
        )
