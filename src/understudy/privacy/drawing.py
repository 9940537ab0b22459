"""Transitional: verbs whose answer is drawn, and that are not mechanisms yet."""

from __future__ import annotations

from fractions import Fraction

from understudy.privacy.admission import HowMany, verb
from understudy.privacy.door import Door
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
