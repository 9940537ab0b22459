"""A generator of records at chosen parameters, as a model of the whole table.

Laws of columns know no rules. Records in impossible combinations are drawn again, and in the end
uniformly over the allowed cells (`conditioning`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from understudy.features.column_draws import Drawn
from understudy.functions.parameter_prior import Floats
from understudy.functions.sequential_generator import SequentialGenerator
from understudy.models.model import Sample
from understudy.models.structural_zero_rejection import REDRAWS, conditioned, put
from understudy.schema import NUMERIC

_CHUNK = 2**16
"""Records drawn at once, to bound memory."""


@dataclass(frozen=True, eq=False)
class GeneratedModel:
    """A generator at chosen parameters: a model of the whole table.

    Attributes:
        generator: G.
        theta: shape (p,); released, or drawn from the prior.
        redraws: how often impossible records are drawn again.

    Raises:
        ValueError: a number of parameters that is not the generator's.
    """

    generator: SequentialGenerator
    theta: Floats
    redraws: int = field(default=REDRAWS, kw_only=True)

    def __post_init__(self) -> None:
        if self.theta.shape != self.generator.prior.means.shape:
            raise ValueError(f"the generator has {len(self.generator.prior.names)} parameters")

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records."""
        domain = self.generator.schema.domain
        sample = self._draw(n_rows, rng)
        return conditioned(sample, domain, lambda n: self._draw(n, rng), rng, redraws=self.redraws)

    def _draw(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Records, rules left aside."""
        schema = self.generator.schema
        numeric = [name for name, one in schema.columns.items() if isinstance(one, NUMERIC)]
        sample = Sample(
            [np.empty(n_rows, dtype=np.int64) for _ in schema.names],
            {name: np.empty(n_rows) for name in numeric},
        )
        for start in range(0, n_rows, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, n_rows))
            uniforms = rng.random((len(schema.names), 2, len(rows)))
            drawn = self.generator.records(self.theta, uniforms)
            numbers = {name: _numbers(drawn[name]) for name in numeric}
            put(sample, rows, Sample([drawn[name].states for name in schema.names], numbers))
        return sample


def _numbers(drawn: Drawn) -> Floats:
    assert drawn.numbers is not None
    return drawn.numbers
