"""Noise in every cell of a contingency table that can be written out, and the number of rows.

Sensitivity and proof: `understudy.privacy.noise.calibration`. The noise vector is independent of
the rows, covers all allowed cells including empty ones, and structural zeros are public; so the
noisy table satisfies the guarantee of its noise, and everything computed from it is
post-processing. Several tables are as many steps of the ledger.

Adding or removing a record changes the number of rows by 1, as it does one cell of a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np

from understudy.domain.domain import Domain
from understudy.engine.confidential import ExactTable
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import divided
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer, answers
from understudy.privacy.noise.calibration import NoiseName
from understudy.privacy.noise.distributions import DiscreteNoise
from understudy.privacy.noise.perturbation import (
    EXACTLY,
    Bounds,
    Mode,
    NoiseDistribution,
    count_noise,
    count_sensitivity,
    perturb,
    recorded,
    unpaid_leak,
    words,
)
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyTable, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms

L = TypeVar("L", bound=NoiseDistribution)
MAX_CELLS = 2**26
"""Cells of a table that is written out."""


@dataclass(frozen=True)
class NoisyTables(Mechanism[tuple[Released[NoisyTable], ...], NoiseDistribution]):
    """Noisy contingency tables, with noise in every allowed cell.

    Attributes:
        marginals: column names of each table.
        noise: "geometric", "laplace" or "gaussian".
        weights: how the cost is divided among the tables; evenly if None.
        bounds: "truncate" draws numbers inside [0, limit] (`perturbation.count_noise`); under
            "threshold" clipping is left to post-processing.
        mode: "paper" for continuous Laplace noise of scale 1/ε, whatever the distribution; the
            guarantee then names the unpaid leak.
        overspend: how many times its cost the noise is worth, in paper mode; that is named, too.
    """

    name: ClassVar[str] = "noisy table"

    marginals: Sequence[tuple[str, ...]]
    noise: NoiseName
    weights: Sequence[int | Fraction] | None = None
    bounds: Bounds = "threshold"
    mode: Mode = "strict"
    overspend: Fraction = EXACTLY

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[NoiseDistribution], ...]:
        """One step for each table.

        Raises:
            MethodError: a table too large to write out, or noise that does not fit the accounting.
            BudgetError: more than is left, or next to nothing.
        """
        domains = [dense_domain(terms, names) for names in self.marginals]
        shares = divided(spend, self.weights, len(self.marginals))
        terms.require(spend)
        noises = [
            count_noise(
                self.noise,
                spend=share,
                accounting=terms.accounting,
                schema=terms.schema,
                bounds=self.bounds,
                mode=self.mode,
                overspend=self.overspend,
            )
            for share in shares
        ]
        return tuple(
            count_charge(
                terms,
                self.name,
                query_of(names),
                distribution=distribution,
                cells=domain.n_allowed + 1,
                spend=share,
                mode=self.mode,
            )
            for names, domain, distribution, share in zip(
                self.marginals, domains, noises, shares, strict=True
            )
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[NoiseDistribution], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyTable], ...]]:
        """Count all of them in one pass, and add noise to each."""
        view, exact = rows.view, rows.tables(self.marginals)
        tables = [
            replace(
                noisy_table(table, names, view.domain(names), charge.parameter, source),
                bins=view.bins_of(names),
                groups=view.groups_of(names),
            )
            for names, table, charge in zip(self.marginals, exact, charges, strict=True)
        ]
        leaks = unpaid_leak(view.neighbours, self.bounds, self.mode, self.overspend)
        return answers(tables, leaks=leaks)


@dataclass(frozen=True)
class RowCount(Mechanism[Released[int], DiscreteNoise]):
    """Number of rows: declared if the schema makes it public, else bought.

    Clipping to [0, row_limit] is post-processing.
    """

    name: ClassVar[str] = "noisy count"

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step; none where the number is public."""
        if terms.schema.rows == "public":
            return ()
        distribution = terms.calibrated(
            "geometric" if terms.accounting == "pure" else "gaussian", spend
        )
        return (
            count_charge(
                terms, self.name, "number of rows", distribution=distribution, cells=1, spend=spend
            ),
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[Released[int]]:
        """Count, and add noise."""
        schema = rows.view.schema
        if not charges:
            assert schema.n_rows is not None
            return answer(schema.n_rows)
        (noise,) = charges[0].parameter.sample(1, source).tolist()
        noisy = rows.total() + int(noise)
        limit = noisy if schema.row_limit is None else schema.row_limit
        return answer(max(0, min(noisy, limit)), counts_rows=True)


def noisy_table(
    exact: ExactTable,
    columns: tuple[str, ...],
    domain: Domain,
    distribution: NoiseDistribution,
    randomness: Randomness,
) -> NoisyTable:
    """Add independent noise to each allowed cell and to the out-of-domain count.

    Args:
        exact: the exact table over `columns`.
        columns: names, one per axis.
        domain: the domain of these columns.
        distribution: calibrated noise.
        randomness: source of the noise.
    """
    allowed = domain.allowed_mask()
    noisy = perturb(np.append(exact.inside[allowed], exact.outside), distribution, randomness)
    counts = np.zeros(domain.sizes, dtype=noisy.dtype)
    # A record in a structurally impossible cell was coded out of domain, so these cells hold 0.
    counts[allowed] = noisy[:-1]
    return NoisyTable(columns, counts, outside=float(noisy[-1]))


def count_charge(
    terms: Terms,
    mechanism: str,
    query: str,
    *,
    distribution: L,
    cells: int,
    spend: Fraction,
    mode: Mode = "strict",
) -> Charge[L]:
    """The line of the ledger for noise on a contingency table.

    Args:
        terms: say which tables are neighbours.
        mechanism: its name.
        query: what is asked, in words.
        distribution: calibrated noise.
        cells: numbers that get it.
        spend: cost.
        mode: "paper" for the noise as published.
    """
    return Charge(
        spent=spend,
        mechanism=mechanism,
        query=query,
        sensitivity=count_sensitivity(distribution, terms.neighbours, mode),
        noise=words(distribution),
        cells=cells,
        parameter=distribution,
        recorded=recorded(distribution),
    )


def coded_charges(
    terms: Terms,
    mechanism: str,
    queries: Mapping[str, int],
    *,
    spend: Fraction,
    weights: Sequence[int] | None = None,
) -> tuple[Charge[DiscreteNoise], ...]:
    """A line of the ledger for each of some columns that are coded in cells of their own.

    Gaussian noise under zCDP and GDP, geometric under pure ε.

    Args:
        terms: what is known, and left.
        mechanism: its name.
        queries: what is asked, in words → number of cells; what is out of domain is one more.
        spend: cost of all of them.
        weights: how it is divided among them; evenly if None.
    """
    noise: NoiseName = "geometric" if terms.accounting == "pure" else "gaussian"
    return tuple(
        count_charge(
            terms,
            mechanism,
            query,
            distribution=terms.calibrated(noise, share),
            cells=cells + 1,
            spend=share,
        )
        for (query, cells), share in zip(
            queries.items(), divided(spend, weights, len(queries)), strict=True
        )
    )


def query_of(columns: tuple[str, ...]) -> str:
    """A table in the words of the ledger."""
    return "counts by " + " × ".join(columns) if columns else "count"


def dense_domain(terms: Terms, names: tuple[str, ...]) -> Domain:
    """The cells of a table that is written out.

    Raises:
        MethodError: an unknown column, or more cells than `MAX_CELLS`.
    """
    domain = terms.view.domain(names)
    if domain.n_cells > MAX_CELLS:
        raise MethodError(
            f"The table of {', '.join(names)} has {domain.n_cells:,} cells, too many to write out "
            f"(at most {MAX_CELLS:,}); take a filtered or lazy form, or coarser bins."
        )
    return domain
