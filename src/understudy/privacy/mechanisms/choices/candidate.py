"""Verbs whose answer is drawn: records, distributions, a choice among candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.functions.triangulation import Columns, TreeLimit
from understudy.privacy.accounting.budget import divided
from understudy.privacy.admission import HowMany, verb
from understudy.privacy.door import CHOICE, Door, query_of
from understudy.privacy.mechanisms.choices.empirical_distribution import (
    ROUNDING as DISTANCE_ROUNDING,
)
from understudy.privacy.mechanisms.choices.empirical_distribution import (
    CumulativeDistribution,
    describe_distance,
    drawn_distribution,
    line_query,
    noise_of_distance,
    require_drawable,
)
from understudy.privacy.mechanisms.counts.empty_cells import ROUNDING
from understudy.privacy.mechanisms.counts.lazy_table import (
    LazyTable,
    lazy_records,
    require_tokens_fit,
)
from understudy.privacy.mechanisms.records.urn import (
    Urn,
    describe_urn,
    prior_weight,
    urn_epsilon,
    urn_noise,
    urn_query,
    urn_records,
)
from understudy.privacy.noise.calibration import noise_of
from understudy.privacy.noise.distributions import DiscreteGaussian
from understudy.privacy.released import (
    NO_NOISE,
    Choice,
    DrawnDistribution,
    Records,
    Released,
    UrnDraws,
)
from understudy.privacy.selection.dependence_scores import Dependence
from understudy.privacy.selection.exponential_mechanism import first_within
from understudy.privacy.selection.model_error_score import DistanceFromModel
from understudy.privacy.selection.scores import Score, n_judged

C = TypeVar("C")
Feasible = NDArray[np.bool_] | TreeLimit | None
"""Which candidates of a public list may win (see `exponential_mechanism`)."""


class Drawing(Door):
    """Draws from mechanisms in which drawing is the mechanism."""

    @verb
    def records(
        self, specification: LazyTable, *, n_rows: HowMany, spend: Fraction
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
            spend, "lazy noisy table", query_of(columns), noise, domain.n_allowed + 1
        )
        self._under(ROUNDING)
        exact = self._secret_engine.occupied(self._places(columns)).expose()
        drawn, totals = lazy_records(
            exact, columns, domain, noise, n_rows=n_rows, randomness=self._secret_randomness
        )
        self._measured.append(Released(totals, noise_of(noise), "lazy noisy table", entry))
        return Released(drawn, noise_of(noise), "lazy noisy table", entry)

    @verb
    def posterior(
        self, specification: Urn, *, n_rows: HowMany, spend: Fraction
    ) -> Released[Records]:
        """Synthetic records from a posterior predictive law that is itself the mechanism.

        Proof: `understudy.privacy.mechanisms.records.urn`. The prior weight follows from `n_rows`
        and `spend`.

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
        exact = self._secret_engine.occupied(self._places(columns)).expose()
        drawn = urn_records(
            exact, domain, prior, n_rows, reinforced=reinforced, randomness=self._secret_randomness
        )
        noise = urn_noise(prior, reinforced=reinforced)
        urn = UrnDraws(columns, prior, domain.n_allowed, reinforced, self._bins_of(columns))
        self._measured.append(Released(urn, noise, "urn draws", entry))
        return Released(drawn, noise, "urn draws", entry)

    @verb
    def choose(
        self,
        candidates: Sequence[C],
        score: Score,
        *,
        spend: Fraction,
        feasible: Feasible = None,
    ) -> Released[C]:
        """One candidate, by the exponential mechanism; only the winner leaves.

        Args:
            candidates: public; as many as the score has values.
            score: one of the named scores.
            spend: cost.
            feasible: which candidates may win, public, shape (candidates,); or, of sets of columns,
                those that a limit allows. All if None.

        Raises:
            MethodError: no candidate, or none that is feasible (public, and before it is paid), or
                a score that is not among the named ones.
            InsufficientBudgetError: more than is left.
        """
        return self._chosen(candidates, score, spend=spend, feasible=feasible)

    def _chosen(
        self, candidates: Sequence[C], score: Score, *, spend: Fraction, feasible: Feasible
    ) -> Released[C]:
        """See `choose`; what is handed in was admitted."""
        if (
            isinstance(score, Dependence | DistanceFromModel)
            and score.schema is not self.own_schema
        ):
            raise MethodError("The score relies on what another schema makes public.")
        if not candidates:
            raise MethodError("There is no candidate to choose from.")
        if n_judged(score, self.own_schema) != len(candidates):
            raise MethodError("The score does not have one value per candidate.")
        tables = self._require_feasible(candidates, feasible)
        monotone = score.monotone and self.neighbours == "add_remove"
        sensitivity = score.sensitivity(self.neighbours)
        query = f"one of {len(candidates)} candidates by {score.title}"
        pick, entry = self._pay_choice(
            query, sensitivity=sensitivity, monotone=monotone, cells=1, spend=spend
        )
        values = self._secret_values(score)
        if isinstance(feasible, TreeLimit):
            winner = first_within(feasible, tables, lambda left: pick(values, left))
        else:
            winner = pick(values, feasible)
        return Released(candidates[winner], NO_NOISE, CHOICE, entry)

    @verb
    def choose_columns(
        self,
        candidates: Sequence[tuple[str, ...]],
        score: Score,
        *,
        spend: Fraction,
        feasible: Feasible = None,
    ) -> Released[Choice]:
        """The same among sets of columns; the release says which one was chosen.

        Args and errors are those of `choose`.
        """
        winner = self._chosen(candidates, score, spend=spend, feasible=feasible)
        choice = Released(Choice(winner.value), winner.noise, winner.mechanism, winner.entry)
        self._measured.append(choice)
        return choice

    def _require_feasible(self, candidates: Sequence[C], feasible: Feasible) -> list[Columns]:
        """Refuse a rule that leaves nothing; the columns of each candidate, where a limit asks."""
        tables: list[Columns] = []
        if isinstance(feasible, TreeLimit):
            if feasible.sizes != self.own_schema.sizes:
                raise MethodError("The limit is on trees over the columns of another schema.")
            tables = [self._places(_columns(one)) for one in candidates]
            left = any(feasible.allows(table) for table in tables)
        else:
            left = feasible is None or bool(feasible.any())
            if feasible is not None and feasible.shape != (len(candidates),):
                raise MethodError("A mask of feasible candidates needs a place for each of them.")
        if not left:
            raise MethodError("No candidate is feasible; widen the public limit.")
        return tables

    def _secret_values(self, score: Score) -> NDArray[np.float64]:
        """Exact scores; those of one table each are remembered from one choice to the next."""
        if isinstance(score, Dependence):
            return score.evaluate_new(self._secret_engine, self._secret_scores)
        if isinstance(score, DistanceFromModel):
            return score.evaluate(self._secret_engine, self._secret_tables)
        return score.evaluate(self._secret_engine.count(score.queries()).expose())

    @verb
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
        domains = [self.own_schema.domain.project(place) for place in places]
        self._ledger.require(spend)
        shares = divided(spend, weights, len(lines))
        epsilons = [self._selection_epsilon(share) for share in shares]
        for line, domain, epsilon in zip(lines, domains, epsilons, strict=True):
            require_drawable(line.columns, domain, None, epsilon)
        n_rows, margin = self._at_most()
        entries = [
            self._ledger.charge(
                share,
                CHOICE,
                line_query(line.columns),
                sensitivity="distance: 1",
                noise=describe_distance(epsilon),
                cells=domain.n_allowed,
            )
            for line, domain, share, epsilon in zip(lines, domains, shares, epsilons, strict=True)
        ]
        self._under(DISTANCE_ROUNDING)
        exact = self._secret_engine.count(places).expose()
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
                randomness=self._secret_randomness,
            )
            drawn = replace(drawn, bins=self._bins_of(line.columns))
            noise = noise_of_distance(epsilon, domain.n_allowed)
            released.append(Released(drawn, noise, CHOICE, entry))
        self._measured.extend(released)
        return released

    def _at_most(self) -> tuple[int, int]:
        """A public or released number of rows, and by how many it may be too small."""
        limit = self.own_schema.row_limit
        if limit is not None and not self._counted:
            return limit, 0
        rows = self.n_rows
        margin = math.ceil(4 * rows.noise.stddev)
        return rows.value, margin if limit is None else min(margin, limit - rows.value)


def _columns(candidate: object) -> tuple[str, ...]:
    """A candidate that is a set of columns.

    Raises:
        MethodError: it is something else.
    """
    if not isinstance(candidate, tuple):
        raise MethodError("A limit on trees is for candidates that are sets of columns.")
    return candidate
