"""Noisy sums of the weights of records, in every cell of a table.

Each record counts with a factor t = min(w, B)/B in [0, 1] by its own weight w, B public, or with
t². What is released of a cell is the sum of the factors of its records. So

* *added or removed*, a record changes one cell, by t: L1 = L2 = 1 at most;
* *replaced*, it changes one cell by |t − t'|, or two by t and by t': L1 = 2 and L2 = √2 at most.

A record that counts in full attains both. That is what it changes of counts
(`understudy.dp.calibration`), so a table of weights costs what one of counts costs. Cells may be
unions of states, in other bins or groups: these are a map from record to record. Random groups of
clusters are one more axis of the table, and change nothing.

Factors are whole multiples of 1/2¹⁴, record by record, so sums are whole in these steps; discrete
Gaussian and discrete Laplace noise is drawn on the same lattice, in every allowed cell, whatever
the rows are. Structural zeros are public. Records out of domain add nothing.

Source: the sensitivity is ours; `tests/mechanisms/counts/test_weighted_tables.py` enumerates the
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.dp.budget import pure_within
from understudy.dp.calibration import gaussian_variance, representable, sensitivity_text
from understudy.dp.confidential import CodedView, PublicContext, SecretRows
from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer
from understudy.dp.perturbation import too_little
from understudy.dp.released import Bins, Groups, NoisyWeightedTable, Released
from understudy.errors import MethodError
from understudy.features.scores import TICKS, Weighting
from understudy.mechanisms.second_moments import ONE, WIDEST, ProductNoise, require_weights
from understudy.mechanisms.tables import dense_domain

if TYPE_CHECKING:
    from fractions import Fraction

    from understudy.dp.randomness import Randomness


@dataclass(frozen=True)
class WeightedTable(Mechanism[Released[NoisyWeightedTable], ProductNoise]):
    """Noisy sums of the factors of records, with noise in every allowed cell.

    Attributes:
        columns: names of the table's columns.
        weighting: factor of each record.
        bins: of numeric columns, where these are counted in others than those of the view.
        groups: column → group of each of its states, where these are counted together.
    """

    name: ClassVar[str] = "noisy weighted table"
    form: ClassVar[Form] = Form.MOMENTS

    columns: tuple[str, ...]
    weighting: Weighting
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[ProductNoise], ...]:
        """One step: Gaussian noise under zCDP and GDP, Laplace noise under pure ε.

        Raises:
            MethodError: an unknown column, a table too large, or no weights within bounds.
            SchemaError: bins or groups that do not fit their column.
            BudgetError: more than is left, or next to nothing.
        """
        domain = dense_domain(self._view(terms.view), self.columns)
        require_weights(self.weighting, terms)
        if self.weighting.by:
            raise MethodError("A table is taken apart by a column of its own.")
        terms.require(spend)
        noise = _noise(terms, spend)
        charge: Charge[ProductNoise] = Charge(
            spent=spend,
            mechanism=self.name,
            query=f"sums by {' × '.join(self.columns)}, {self.weighting.words}",
            sensitivity=noise.sensitivity,
            noise=noise.words,
            cells=domain.n_allowed,
            parameter=noise,
            recorded=noise.recorded,
            columns=tuple(dict.fromkeys((*self.columns, self.weighting.column))),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[ProductNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyWeightedTable]]:
        """Sum in one pass, and add noise to each allowed cell."""
        noise, view = charges[0].parameter, self._view(rows.view)
        rows = rows.rebin(self.bins) if self.bins else rows
        exact = rows.weighted_counts(self.columns, self.weighting, self.groups)
        allowed = view.domain(self.columns).allowed_mask()
        values = np.zeros(exact.shape)
        noisy = exact[allowed] + noise.distribution.sample(int(allowed.sum()), source)
        values[allowed] = noisy.astype(np.float64) * float(noise.step)
        value = NoisyWeightedTable(
            self.columns,
            values,
            charges[0].recorded,
            self.weighting,
            bins=view.bins_of(self.columns),
            groups=view.groups_of(self.columns),
        )
        return answer(value, None)

    def _view(self, view: CodedView) -> CodedView:
        """How the records of the table are coded."""
        counted = view.rebin(self.bins) if self.bins else view
        return counted.group(self.groups) if self.groups else counted


def _noise(terms: PublicContext, spend: Fraction) -> ProductNoise:
    """The noise in steps of 1/`TICKS`.

    Raises:
        BudgetError: next to nothing is paid.
    """
    changed, accounting = 2 if terms.neighbours == "replace" else 1, terms.accounting
    pure = accounting == "pure"
    if pure:
        width = changed * TICKS / pure_within(spend, accounting)
    else:
        width = gaussian_variance(spend, accounting=accounting, squared=changed * TICKS**2)
    if width > (WIDEST if pure else WIDEST**2):
        raise too_little()
    exact = representable(width)
    distribution = DiscreteLaplace(exact) if pure else DiscreteGaussian(exact)
    return ProductNoise(
        distribution, ONE // TICKS, sensitivity_text(distribution, terms.neighbours)
    )
