"""Transitional: verbs whose answer is drawn, and that are not mechanisms yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from understudy.privacy.accounting.budget import divided
from understudy.privacy.admission import HowMany, verb
from understudy.privacy.door import CHOICE, Door
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
from understudy.privacy.mechanisms.records.urn import (
    Urn,
    describe_urn,
    prior_weight,
    urn_epsilon,
    urn_noise,
    urn_query,
    urn_records,
)
from understudy.privacy.released import (
    DrawnDistribution,
    Records,
    Released,
    UrnDraws,
)


class Drawing(Door):
    """Draws from mechanisms in which drawing is the mechanism."""

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
