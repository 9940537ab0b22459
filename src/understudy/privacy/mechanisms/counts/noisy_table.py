"""Verbs that count records with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from understudy.errors import MethodError
from understudy.privacy.accounting.budget import divided
from understudy.privacy.admission import verb
from understudy.privacy.door import Door, query_of, require_dense
from understudy.privacy.mechanisms.counts.binomial_count import (
    SENSITIVITY,
    noisy_successes,
    planned_successes,
)
from understudy.privacy.mechanisms.counts.binomial_count import conceded as conceded_successes
from understudy.privacy.mechanisms.counts.tables import noisy_table
from understudy.privacy.mechanisms.counts.threshold_table import in_units, noisy_cells
from understudy.privacy.noise.calibration import LawName, noise_of
from understudy.privacy.noise.distributions import DiscreteGaussian
from understudy.privacy.noise.perturbation import (
    Bounds,
    Law,
    Mode,
    conceded,
    count_law,
    recorded,
    require_pure,
)
from understudy.privacy.released import NoisyCells, NoisySuccesses, NoisyTable, Released


class Counting(Door):
    """Counts of records."""

    @verb
    def count_rows(self, *, spend: Fraction) -> Released[int]:
        """Number of rows: declared if the schema makes it public, else bought.

        Adding or removing a record changes it by 1. Clipping to [0, row_limit] is post-processing.

        Args:
            spend: cost; not charged where the number is public.
        """
        if self.schema.rows == "public":
            return self._declared_rows()
        pure = self.budget.accounting == "pure"
        law = self._calibrate("geometric" if pure else "gaussian", spend)
        entry = self._charge(spend, "noisy count", "number of rows", law, 1)
        (noise,) = law.sample(1, self._secret_randomness).tolist()
        noisy = self._secret_engine.total().expose() + int(noise)
        limit = noisy if self.schema.row_limit is None else self.schema.row_limit
        self._rows.append(Released(max(0, min(noisy, limit)), noise_of(law), "noisy count", entry))
        return self._rows[-1]

    @verb
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
            require_dense(names, domain)
        shares = divided(spend, weights, len(marginals))
        self._ledger.require(spend)
        laws = [self._count_law(law, share, bounds, mode) for share in shares]
        entries = [
            self._charge(
                share, "noisy table", query_of(names), noise, domain.n_allowed + 1, mode=mode
            )
            for names, domain, noise, share in zip(marginals, domains, laws, shares, strict=True)
        ]
        for leak in conceded(self.neighbours, bounds, mode):
            self._concede(leak)
        exact = self._secret_engine.count(places).expose()
        released = [
            Released(
                replace(
                    noisy_table(table, names, domain, noise, self._secret_randomness),
                    bins=self._bins_of(names),
                    groups=self._groups_of(names),
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

    @verb
    def count_successes(
        self,
        column: str,
        *,
        spend: Fraction,
        bounds: Bounds = "threshold",
        mode: Mode = "strict",
    ) -> Released[NoisySuccesses]:
        """Noisy number of records with the second level of a column of two levels.

        Proof: `understudy.privacy.mechanisms.counts.binomial_count`. Needs a public number of rows.

        Args:
            column: its name.
            spend: cost.
            bounds: "truncate" draws a number inside [0, n], calibrated for that.
            mode: "paper" for continuous Laplace noise; the guarantee then says what that leaves in.

        Raises:
            MethodError: another kind of column, a private number of rows, or a budget with δ.
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
        (table,) = self._secret_engine.count([self._places((column,))]).expose()
        noisy = noisy_successes(table, plan, self._secret_randomness)
        value = NoisySuccesses((column,), noisy, self._declared_rows().value)
        released = Released(value, plan.recorded, "noisy successes", entry)
        self._measured.append(released)
        return released

    @verb
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
        if threshold / in_units(noise)[1] >= 2**62:
            raise MethodError("The threshold is so high that 64-bit counts cannot reach it.")
        entry = self._charge(
            spend, "filtered noisy table", query_of(columns), noise, domain.n_allowed + 1
        )
        exact = self._secret_engine.occupied(self._places(columns)).expose()
        cells = noisy_cells(
            exact, columns, domain, noise, threshold=threshold, randomness=self._secret_randomness
        )
        cells = replace(cells, bins=self._bins_of(columns))
        released = Released(cells, noise_of(noise), "filtered noisy table", entry)
        self._measured.append(released)
        return released

    def _count_law(self, law: LawName, spend: Fraction, bounds: Bounds, mode: Mode) -> Law:
        return count_law(
            law,
            spend=spend,
            accounting=self.budget.accounting,
            schema=self.schema,
            bounds=bounds,
            mode=mode,
        )
