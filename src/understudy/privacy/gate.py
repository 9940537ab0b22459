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
from typing import Literal, TypeVar

from understudy.engine import Engine
from understudy.errors import MethodError, NotPrivateError
from understudy.privacy.budget import Budget, Neighbours, decimal_down, split
from understudy.privacy.calibration import (
    LawName,
    calibrate,
    noise_of,
)
from understudy.privacy.deviations import UNPAID, standard_deviation
from understudy.privacy.distribution import ROUNDING as DISTANCE_ROUNDING
from understudy.privacy.distribution import (
    CumulativeDistribution,
    describe_distance,
    drawn_distribution,
    line_query,
    noise_of_distance,
    require_drawable,
)
from understudy.privacy.empty_cells import ROUNDING
from understudy.privacy.filtered import noisy_cells
from understudy.privacy.guarantee import Guarantee, Kind, drafted_leaks, public_inputs
from understudy.privacy.laws import DiscreteGaussian, NoiseLaw
from understudy.privacy.lazy import LazyTable, lazy_records, require_tokens_fit
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.moments import (
    Calibration,
    exact_moment,
    noisy_moment,
    planned_moments,
)
from understudy.privacy.moments import conceded as conceded_moments
from understudy.privacy.noise import (
    Bounds,
    Law,
    Mode,
    conceded,
    count_law,
    count_sensitivity,
    recorded,
    require_pure,
    words,
)
from understudy.privacy.randomness import Randomness
from understudy.privacy.scatter import moments_of
from understudy.privacy.scores import SCORES, Score
from understudy.privacy.selection import select, selection_epsilon
from understudy.privacy.successes import SENSITIVITY, noisy_successes, planned_successes
from understudy.privacy.successes import conceded as conceded_successes
from understudy.privacy.tables import MAX_CELLS, noisy_table
from understudy.privacy.urn import (
    Urn,
    describe_urn,
    prior_weight,
    urn_epsilon,
    urn_noise,
    urn_query,
    urn_records,
)
from understudy.privacy.values import (
    NO_NOISE,
    Bins,
    DrawnDistribution,
    ExactStatistics,
    NoisyCells,
    NoisyMoment,
    NoisySuccesses,
    NoisyTable,
    NoisyTotals,
    Records,
    Released,
    UrnDraws,
)
from understudy.schema import Domain, Schema

C = TypeVar("C")
Measured = Released[
    NoisyTable
    | NoisyCells
    | NoisyTotals
    | NoisySuccesses
    | NoisyMoment
    | UrnDraws
    | DrawnDistribution
    | ExactStatistics
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

    def require(self, spend: Fraction) -> None:
        """Refuse what the budget cannot pay, before the first of several steps is paid.

        Raises:
            InsufficientBudgetError: more than is left.
        """
        self._ledger.require(spend)

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
        bounds: Bounds = "threshold",
        mode: Mode = "strict",
    ) -> list[Released[NoisyTable]]:
        """Noisy contingency tables, with noise in every allowed cell.

        Args:
            marginals: column names of each table.
            spend: cost of all of them together.
            law: "geometric", "laplace" or "gaussian".
            weights: how the cost is divided among the tables; evenly if None.
            bounds: "truncate" draws numbers inside [0, limit] (`noise.count_law`); under
                "threshold" clipping is left to post-processing.
            mode: "paper" for continuous Laplace noise of scale 1/ε, whatever the law; the guarantee
                then says what that leaves in.

        Raises:
            MethodError: a table too large to write out, or noise that does not fit the accounting.
            InsufficientBudgetError: more than is left.
        """
        places = [self._places(names) for names in marginals]
        domains = [self.schema.domain.project(place) for place in places]
        for names, domain in zip(marginals, domains, strict=True):
            _require_dense(names, domain)
        shares = split(spend, weights or [1] * len(marginals)) if marginals else []
        self._ledger.require(spend)
        laws = [self._count_law(law, share, bounds, mode) for share in shares]
        entries = [
            self._charge(
                share, "noisy table", _query(names), noise, domain.n_allowed + 1, mode=mode
            )
            for names, domain, noise, share in zip(marginals, domains, laws, shares, strict=True)
        ]
        for leak in conceded(self.neighbours, bounds, mode):
            self._concede(leak)
        exact = self.__engine.count(places).expose()
        released = [
            Released(
                replace(
                    noisy_table(table, names, domain, noise, self.__randomness),
                    bins=self._bins_of(names),
                ),
                recorded(noise),
                "noisy table",
                entry,
            )
            for table, names, domain, noise, entry in zip(
                exact, marginals, domains, laws, entries, strict=True
            )
        ]
        self._measured.extend(released)
        return released

    def count_successes(
        self,
        column: str,
        *,
        spend: Fraction,
        bounds: Bounds = "threshold",
        mode: Mode = "strict",
    ) -> Released[NoisySuccesses]:
        """Noisy number of records with the second level of a column of two levels.

        Proof: `understudy.privacy.successes`. Needs a public number of rows.

        Args:
            column: its name.
            spend: cost.
            bounds: "truncate" draws a number inside [0, n], calibrated for that.
            mode: "paper" for continuous Laplace noise; the guarantee then says what that leaves in.

        Raises:
            MethodError: another kind of column, a private number of rows, or zCDP accounting.
            InsufficientBudgetError: more than is left.
        """
        require_pure(self.budget.accounting)
        self._ledger.require(spend)
        plan = planned_successes(self.schema, column, spend=spend, bounds=bounds, mode=mode)
        entry = self._ledger.charge(
            spend,
            "noisy successes",
            plan.query,
            sensitivity=f"L1 = {SENSITIVITY}",
            noise=plan.noise,
            cells=plan.n_cells,
        )
        for leak in conceded_successes(bounds, mode):
            self._concede(leak)
        (table,) = self.__engine.count([self._places((column,))]).expose()
        noisy = noisy_successes(table, plan, self.__randomness)
        value = NoisySuccesses((column,), noisy, self._declared_rows().value)
        released = Released(value, plan.recorded, "noisy successes", entry)
        self._measured.append(released)
        return released

    def moments(
        self,
        of: Sequence[str],
        by: Sequence[str] = (),
        *,
        spend: Fraction,
        weights: Sequence[int | Fraction] | None = None,
        calibration: Calibration = "split",
        bounds: Bounds = "threshold",
        mode: Mode = "strict",
    ) -> list[Released[NoisyMoment]]:
        """Noisy sums of bounded numbers by cell, and their scatters pooled within cells.

        Args:
            of: numeric columns, each with a single bin in this gate's schema (`rebinned`).
            by: columns of the table of cells; those of `of` that it lacks are appended.
            spend: ε of all statistics together.
            weights: how it is divided, one weight per statistic; evenly if None.
            calibration: "split", or "nonsplit" for noise of one scale in all statistics.
            bounds: "truncate" draws numbers inside their admissible intervals, calibrated for that.
            mode: "paper" for the noise of Bowen & Liu (2020); the guarantee then says what that
                leaves in.

        Returns:
            The p sums in the order of `of`, then the p(p+1)/2 scatters (0, 0), (0, 1), …, as
            `moments.planned_moments` announces them; one ledger entry each.

        Raises:
            MethodError: columns or options that do not fit, or another accounting than pure ε.
            BudgetError: more than is left, or too little to draw the noise exactly.
        """
        require_pure(self.budget.accounting)
        self._ledger.require(spend)
        plan = planned_moments(
            self.schema,
            of,
            by,
            spend=spend,
            weights=weights,
            calibration=calibration,
            bounds=bounds,
            mode=mode,
        )
        entries = [
            self._ledger.charge(
                one.share,
                "noisy moment",
                one.query,
                sensitivity=f"L1 = {one.sensitivity}",
                noise=one.noise,
                cells=one.n_cells,
            )
            for one in plan
        ]
        for leak in conceded_moments(plan, self.schema):
            self._concede(leak)
        columns = plan[0].moment.by
        places = self._places(columns), self._places(tuple(of))
        sums, bins = self.__engine.sums(*places).expose(), self._bins_of(columns)
        values = [noisy_moment(one, sums, self.schema, self.__randomness) for one in plan]
        released = [
            Released(replace(value, bins=bins), one.recorded, "noisy moment", entry)
            for value, one, entry in zip(values, plan, entries, strict=True)
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

    def posterior(self, specification: Urn, *, n_rows: int, spend: Fraction) -> Released[Records]:
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
        epsilon = urn_epsilon(spend, self.budget.accounting)
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
        self._ledger.require(spend)
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

    def deviations(
        self, names: Sequence[str], *, mode: Literal["paper"]
    ) -> dict[str, Released[float]]:
        """Exact standard deviations, unpaid, for bins as published: the guarantee says so.

        Args:
            names: numeric columns.
            mode: there is no other; the strict way is `moments`.
        """
        places = self._places(tuple(names))
        self._concede(UNPAID)
        found = {}
        for name, place in zip(names, places, strict=True):
            sums = self.__engine.sums((place,), (place,)).expose()
            exact = standard_deviation(sums, self.schema.columns[name])
            found[name] = Released(exact, NO_NOISE, "exact deviation", 0)
        return found

    def draw(
        self,
        lines: Sequence[CumulativeDistribution],
        *,
        spend: Fraction,
        weights: Sequence[int | Fraction] | None = None,
    ) -> list[Released[DrawnDistribution]]:
        """Distributions, each chosen among all by its Kolmogorov–Smirnov distance from the rows.

        Args:
            lines: named mechanisms, each with its line of cells.
            spend: cost of all of them together.
            weights: how the cost is divided among them; evenly if None.

        Raises:
            MethodError: too many cells, or a number of rows that is neither known nor limited.
            InsufficientBudgetError: more than is left.
        """
        places = [self._places(line.columns) for line in lines]
        domains = [self.schema.domain.project(place) for place in places]
        self._ledger.require(spend)
        shares = split(spend, weights or [1] * len(lines))
        epsilons = [self._selection_epsilon(share) for share in shares]
        for line, domain, epsilon in zip(lines, domains, epsilons, strict=True):
            require_drawable(line.columns, domain, None, epsilon)
        n_rows, margin = self._at_most()
        entries = [
            self._ledger.charge(
                share,
                "exponential mechanism",
                line_query(line.columns),
                sensitivity="distance: 1",
                noise=describe_distance(epsilon),
                cells=domain.n_allowed,
            )
            for line, domain, share, epsilon in zip(lines, domains, shares, epsilons, strict=True)
        ]
        self._under(DISTANCE_ROUNDING)
        exact = self.__engine.count(places).expose()
        released = []
        for line, domain, epsilon, table, entry in zip(
            lines, domains, epsilons, exact, entries, strict=True
        ):
            drawn = drawn_distribution(
                table,
                line.columns,
                domain,
                n_rows=n_rows,
                margin=margin,
                epsilon=epsilon,
                randomness=self.__randomness,
            )
            drawn = replace(drawn, bins=self._bins_of(line.columns))
            noise = noise_of_distance(epsilon, domain.n_allowed)
            released.append(Released(drawn, noise, "exponential mechanism", entry))
        self._measured.extend(released)
        return released

    def reveal(self, marginals: Sequence[tuple[str, ...]]) -> list[Released[NoisyTable]]:
        """Exact tables, for classical baselines: the release becomes not private.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
        """
        self._require_permission()
        places = [self._places(names) for names in marginals]
        entries = [
            self._ledger.charge(
                None, "exact table", _query(names), sensitivity="none", noise="", cells=0
            )
            for names in marginals
        ]
        self._used(list(marginals), entries)
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

    def reveal_moments(
        self, of: Sequence[str], by: Sequence[str] = ()
    ) -> list[Released[NoisyMoment]]:
        """Exact sums and scatters, in the order of `moments`: the release becomes not private.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
            MethodError: columns that do not fit.
        """
        self._require_permission()
        wanted = moments_of(self.schema, of, by)
        entries = [
            self._ledger.charge(
                None, "exact moment", one.query, sensitivity="none", noise="", cells=0
            )
            for one in wanted
        ]
        columns = wanted[0].by
        self._used([columns] * len(entries), entries)
        places = self._places(columns), self._places(tuple(of))
        sums, bins = self.__engine.sums(*places).expose(), self._bins_of(columns)
        return [
            Released(replace(exact_moment(one, sums), bins=bins), NO_NOISE, "exact moment", entry)
            for one, entry in zip(wanted, entries, strict=True)
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

    def _count_law(self, law: LawName, spend: Fraction, bounds: Bounds, mode: Mode) -> Law:
        return count_law(
            law,
            spend=spend,
            accounting=self.budget.accounting,
            schema=self.schema,
            bounds=bounds,
            mode=mode,
        )

    def _require_permission(self) -> None:
        if not self._allow_nonprivate:
            raise NotPrivateError(
                "This method publishes exact statistics; it needs "
                "allow_nonprivate=True, and its release is stamped not private."
            )

    def _selection_epsilon(self, spend: Fraction) -> Fraction:
        """ε of an exponential mechanism that costs `spend`."""
        self._ledger.require(spend)
        return selection_epsilon(spend, self.budget.accounting)

    def _at_most(self) -> tuple[int, int]:
        """A public or released number of rows, and by how many it may be too small."""
        limit = self.schema.row_limit
        if limit is not None and not self._rows:
            return limit, 0
        rows = self.n_rows
        margin = math.ceil(4 * rows.noise.stddev)
        return rows.value, margin if limit is None else min(margin, limit - rows.value)

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

    def _under(self, condition: str) -> None:
        if condition not in self._conditions:
            self._conditions.append(condition)

    def _used(self, columns: Sequence[tuple[str, ...]], entries: Sequence[int]) -> None:
        """Note that exact statistics leave, for the readers of the release."""
        self._measured.extend(
            Released(ExactStatistics(names), NO_NOISE, "exact statistics", entry)
            for names, entry in zip(columns, entries, strict=True)
        )

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
