"""The verb that asks for the normal equations of a linear regression."""

from __future__ import annotations

from fractions import Fraction

from understudy.privacy.admission import verb
from understudy.privacy.door import Door
from understudy.privacy.mechanisms.sums.linear_regression import (
    MECHANISMS,
    NoisyRegression,
    Regression,
    one_bin,
    planned_regression,
    sanitise,
)
from understudy.privacy.mechanisms.sums.normal_equations import exact_statistics
from understudy.privacy.noise.perturbation import require_pure
from understudy.privacy.released import Released


class Regressing(Door):
    """Linear regressions."""

    @verb
    def regress(self, specification: Regression, *, spend: Fraction) -> Released[NoisyRegression]:
        """Noisy normal equations, from which coefficients follow at no further cost.

        Only records count that have a number in each of the columns; see
        `understudy.privacy.mechanisms.sums.normal_equations` for what that does to their number.
        The answer is none of the measurements that a release publishes, since no synthesis rests on
        it.

        Args:
            specification: which regression, by which named mechanism.
            spend: cost, in ε.

        Raises:
            MethodError: columns or a mechanism that do not fit, or another accounting than pure ε.
            BudgetError: more than is left, or too little to draw the noise exactly.
        """
        one = specification
        require_pure(self.budget.accounting)
        self._ledger.require(spend)
        planned = planned_regression(self.own_schema, one, spend=spend)
        entry = self._ledger.charge(
            spend,
            MECHANISMS[one.mechanism],
            one.query,
            sensitivity=planned.sensitivity,
            noise=planned.noise,
            cells=planned.equations.size,
        )
        view = self.rebinned(one_bin(self.own_schema, one.columns))
        columns = [view.schema.columns[name] for name in one.columns]
        places = view._places(one.columns)
        sums = view._secret_engine.sums(places, places).expose()
        exact = exact_statistics(planned.equations, sums, columns)
        value = NoisyRegression(
            columns=one.columns,
            bounds=tuple(column.bounds for column in columns),  # type: ignore[union-attr]
            equations=planned.equations,
            statistics=sanitise(exact, planned, self._secret_randomness),
            n_rows=None if planned.equations.counted else self.own_schema.n_rows,
        )
        return Released(value, planned.recorded, MECHANISMS[one.mechanism], entry)
