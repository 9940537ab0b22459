"""The records of every set of a release: free sets from one fit, split sets from a fit each.

What a release does, and what a bootstrap replicate of it does again, is this one function.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.methods import Method
from understudy.models import Model, Sample
from understudy.pipeline.planning import Request
from understudy.privacy.gate import Gate
from understudy.privacy.released import Noise, NoisyTable, Released


def draw_sets(
    request: Request, method: Method, gate: Gate, n_rows: int, rng: np.random.Generator
) -> list[Sample]:
    """Fit, and draw.

    Args:
        request: what was asked for.
        method: after its `setup`.
        gate: through which it measures.
        n_rows: records of each set.
        rng: randomness of sampling that follows the last paid step.
    """
    per_fit = request.sets // request.fits
    drawn: list[Sample] = []
    for _ in range(request.fits):
        if method.draws_records(gate.schema):
            records = method.synthesize(gate, n_rows * per_fit, request.fit_spend).value.columns
            parts = [slice(i * n_rows, (i + 1) * n_rows) for i in range(per_fit)]
            drawn += [Sample([column[part] for column in records]) for part in parts]
        else:
            model = _fitted(method, gate, request, n_rows, several=per_fit > 1)
            drawn += [model.sample(n_rows, rng) for _ in range(per_fit)]
    return drawn


def _fitted(method: Method, gate: Gate, request: Request, n_rows: int, *, several: bool) -> Model:
    """A fit; for several posterior sets, what draws parameters for each of them."""
    before = len(gate.measured)
    model = method.fit(gate, request.fit_spend)
    if not several or method.sets != "posterior":
        return model
    return method.redrawn(gate.schema, _tables(gate.measured[before:]), n_rows, model)


def _tables(measured: Sequence[Released[object]]) -> list[tuple[NoisyTable, Noise]]:
    return [(one.value, one.noise) for one in measured if isinstance(one.value, NoisyTable)]
