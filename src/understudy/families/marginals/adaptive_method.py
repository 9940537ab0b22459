"""What AIM and its improvement share: a workload, and rounds on what the model gets wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from pydantic import Field

from understudy.families.marginals.adaptive_rounds import Pace, run_rounds
from understudy.families.marginals.marginal_family import MarginalMethod, fit_of
from understudy.families.marginals.noisy_marginal import Merged, Noted
from understudy.families.marginals.workload import Workload
from understudy.families.method import Names, known_rows
from understudy.models import Model
from understudy.models.graphical.max_entropy import MaxEntropy
from understudy.privacy.gate import Gate
from understudy.schema import Schema

_STEPS = 12
"""Steps of the fit between two rounds; the last fit runs until it has converged."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveMethod(MarginalMethod):
    """Options of a method that measures marginals of a workload in rounds.

    Attributes:
        degree: the workload is all marginals of so many columns; 3, or 2 for more than 25 columns,
            by default.
        target: only those that have this column.
        workload: marginals instead, "age & job" or with a weight "age & job: 2.5".
    """

    rounds: ClassVar[bool] = True

    degree: Annotated[int, Field(ge=1)] | None = None
    target: str = ""
    workload: Names = ()

    def _workload(self, schema: Schema) -> Workload:
        return Workload.of(schema, degree=self.degree, target=self.target, entries=self.workload)

    def _in_rounds(
        self, gate: Gate, merged: Merged, known: Sequence[Noted], pace: Pace, *, bought: Fraction
    ) -> Model:
        """The model after rounds that spend what pace says.

        Args:
            gate: states not merged.
            merged: its columns, with groups of states.
            known: one-way tables.
            pace: how rounds spend.
            bought: what the one-way tables cost.
        """
        n_rows, view = known_rows(gate), gate.grouped(merged.groups)

        def fit(noted: Sequence[Noted], warm: MaxEntropy | None) -> MaxEntropy:
            return fit_of(merged, noted, n_rows, warm=warm, steps=_STEPS)

        workload = self._workload(view.schema)
        noted = run_rounds(view, known, workload, spent=bought, pace=pace, fit=fit)
        return self._model(gate.schema, noted, n_rows)
