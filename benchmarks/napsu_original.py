"""Synthetic tables by the authors' NAPSU-MQ, in an interpreter of its own.

    PYTHON benchmarks/napsu_original.py < request.json > answer.json

Called by `literature.py --twinify PYTHON`. The package twinify 2.0.0 needs versions that cannot
stand beside those of this package; an environment in which it runs:

    pip install twinify==2.0.0 jax==0.4.23 jaxlib==0.4.23 numpyro==0.10.1 \
        "scipy<1.13" "matplotlib<3.8"

The request has columns (codes by name), levels (their number by name), marginals (names), epsilon,
delta, seed and sets; the answer the counts of all cells in each set, and CPU seconds.
"""

from __future__ import annotations

import json
import sys
import warnings

import d3p.random
import numpy as np
import pandas as pd
from twinify.napsu_mq.napsu_mq import NapsuMQModel


def main() -> None:
    """Read, fit, draw, write."""
    asked = json.load(sys.stdin)
    levels = asked["levels"]
    frame = pd.DataFrame(
        {
            name: pd.Categorical(codes, categories=range(levels[name]))
            for name, codes in asked["columns"].items()
        }
    )
    marginals = [tuple(one) for one in asked["marginals"]]
    fitting, drawing = d3p.random.split(d3p.random.PRNGKey(asked["seed"]), 2)
    warnings.simplefilter("ignore")
    fitted = NapsuMQModel(column_feature_set=marginals).fit(
        data=frame,
        rng=fitting,
        epsilon=asked["epsilon"],
        delta=asked["delta"],
        query_sets=marginals,
    )
    sets = fitted.generate(
        rng=drawing,
        num_data_per_parameter_sample=len(frame),
        num_parameter_samples=asked["sets"],
        single_dataframe=False,
    )
    sizes = tuple(levels[name] for name in frame.columns)
    cells = [
        np.ravel_multi_index(tuple(one[name].astype(int) for name in frame.columns), sizes)
        for one in sets
    ]
    counts = [np.bincount(one, minlength=int(np.prod(sizes))).tolist() for one in cells]
    json.dump(counts, sys.stdout)


if __name__ == "__main__":
    main()
