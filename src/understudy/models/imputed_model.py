"""Records imputed from an exact table: by regressions, their parameters drawn anew for each set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.models.model import Sample
from understudy.models.table_models import unravel
from understudy.privacy.mechanisms.records.imputation_draws import imputed_records
from understudy.privacy.mechanisms.records.imputers import Imputation, fit_imputers
from understudy.privacy.noise.randomness import SeededRandomness
from understudy.schema import Domain


@dataclass(frozen=True)
class ImputedModel:
    """Imputation without perturbation, from an exact table: not private.

    Attributes:
        domain: sizes and structural zeros of all columns.
        codes: mixed-radix numbers of the occupied cells, shape (cells,).
        counts: records in them, shape (cells,).
        imputation: how columns are regressed, and how often each is drawn.
    """

    domain: Domain
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    imputation: Imputation

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw weights of the rows, fit to the weighted rows, and draw records.

        Weights are those of the Bayesian bootstrap (Rubin 1981): independent exponential numbers.
        """
        states = unravel(np.repeat(self.codes, self.counts), self.domain.sizes)
        weights = rng.standard_exponential(len(states[0]))
        randomness = SeededRandomness(int(rng.integers(2**63)))
        imputers = fit_imputers(
            states, self.domain.sizes, self.imputation, randomness, weights=weights
        )
        records = imputed_records(
            imputers,
            self.domain,
            None,
            n_rows,
            sweeps=self.imputation.sweeps,
            randomness=randomness,
        )
        return Sample([*records.columns])
