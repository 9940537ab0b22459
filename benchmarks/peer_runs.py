"""One synthetic table by another library, in an environment of its own: started by `peers.py`.

    PYTHON peer_runs.py PEER ROWS.npz MADE.npz EPSILON DELTA SEED

`ROWS.npz` holds `codes`, whole numbers of shape (rows, columns), and `sizes`, the number of codes
of each column; `MADE.npz` gets the `codes` of as many synthetic records, and the processor seconds.
Nothing of Understudy is imported: these libraries need other versions of what it rests on.

* `mbi`: the MST mechanism on the inference of mbi 2 (Apache-2.0), which holds no mechanism itself:
  a third of ρ for one-way tables, one for the choice of a spanning tree, one for its tables.
* `dpmm-mst`, `dpmm-privbayes`: the pipelines of dpmm 0.1.9, as they come.

Source: McKenna, Miklau & Sheldon (2021), J. Privacy and Confidentiality 11(3), for MST; Canonne,
Kamath & Steinke (2020), NeurIPS, proposition 12, for ρ of (ε, δ).
"""

import math
import sys
import time
from itertools import combinations

import numpy as np

LEAST = 3.0
"""Standard deviations of its noise that a count needs, or its level is merged with others."""
STEPS = 1000
"""Steps of mbi's fit, with which its loss has settled."""


def zero_concentrated(epsilon, delta):
    """The largest ρ whose zero-concentrated guarantee implies (ε, δ), by bisection."""

    def implied(rho):
        orders = 1 + np.exp(np.linspace(-9, 9, 20_000))
        logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders)
        return float(np.exp(np.min(logs - np.log(orders - 1))))

    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if implied(middle) <= delta else (low, middle)
    return low


def by_mbi(codes, sizes, budget, rng):
    """MST on mbi's inference."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi

    names = [str(j) for j in range(len(sizes))]
    third = zero_concentrated(*budget) / 3

    def measure(rows, domain, cliques):
        stddev = math.sqrt(len(cliques) / (2 * third))
        data = mbi.Dataset(dict(zip(names, rows.T, strict=True)), domain)
        return [
            mbi.LinearMeasurement(
                np.asarray(data.project(clique).datavector())
                + rng.normal(0, stddev, math.prod(domain[one] for one in clique)),
                clique,
                stddev,
            )
            for clique in cliques
        ]

    whole = mbi.Domain(names, [int(size) for size in sizes])
    singles = [(name,) for name in names]
    known = measure(codes, whole, singles)
    # Rare levels are one: what a noisy count cannot tell from none.
    merged, back, ones = codes.copy(), [], []
    for j, one in enumerate(known):
        counts = np.asarray(one.noisy_measurement)
        kept = np.flatnonzero(counts >= LEAST * one.stddev)
        rest = np.setdiff1d(np.arange(len(counts)), kept)
        places = np.full(len(counts), len(kept))
        places[kept] = np.arange(len(kept))
        merged[:, j] = places[codes[:, j]]
        back.append((kept, rest))
        sums = [*counts[kept], *([counts[rest].sum() / math.sqrt(len(rest))] if len(rest) else [])]
        weights = np.ones(len(sums))
        if len(rest):
            weights[-1] = 1 / math.sqrt(len(rest))
        query = mbi.WeightedQuery(weights)
        ones.append(mbi.LinearMeasurement(np.array(sums), one.clique, one.stddev, query=query))
    domain = mbi.Domain(names, [len(kept) + bool(len(rest)) for kept, rest in back])
    total = max(1.0, float(np.mean([np.sum(one.noisy_measurement) for one in known])))
    fit = mbi.estimation.MirrorDescent()
    model = fit.estimate(domain, ones, total, iters=STEPS)
    data = mbi.Dataset(dict(zip(names, merged.T, strict=True)), domain)
    far = {
        pair: float(
            np.abs(
                np.asarray(data.project(pair).datavector())
                - np.asarray(model.project(pair).datavector())
            ).sum()
        )
        for pair in combinations(names, 2)
    }
    chosen, root = [], {name: name for name in names}
    each = math.sqrt(8 * third / (len(names) - 1))
    for _ in range(len(names) - 1):
        free = [pair for pair in far if root[pair[0]] != root[pair[1]]]
        scores = np.array([far[pair] for pair in free]) * each / 2
        pair = free[int(np.argmax(scores + rng.gumbel(size=len(free))))]
        chosen.append(pair)
        old, new = root[pair[0]], root[pair[1]]
        root = {name: new if one == old else one for name, one in root.items()}
    tables = measure(merged, domain, chosen)
    model = fit.estimate(domain, [*ones, *tables], total, iters=STEPS)
    drawn = model.synthetic_data(len(codes)).to_dict()
    made = np.empty((len(codes), len(names)), dtype=np.int64)
    for j, (name, (kept, rest)) in enumerate(zip(names, back, strict=True)):
        column = np.asarray(drawn[name])
        alone = column < len(kept)
        made[alone, j] = kept[column[alone]]
        if len(rest):
            made[~alone, j] = rng.choice(rest, size=int((~alone).sum()))
    return made


def by_dpmm(pipeline, codes, sizes, budget, rng):
    """One of dpmm's pipelines, told the codes of every column."""
    import dpmm.pipelines
    import pandas as pd

    names = [f"c{j}" for j in range(len(sizes))]
    frame = pd.DataFrame(codes.astype(str), columns=names)
    domain = {
        name: {"categories": [str(code) for code in range(int(size))]}
        for name, size in zip(names, sizes, strict=True)
    }
    frame = frame.astype({name: pd.CategoricalDtype(domain[name]["categories"]) for name in names})
    epsilon, delta = budget
    maker = getattr(dpmm.pipelines, pipeline)(epsilon=epsilon, delta=delta)
    maker.fit(frame, domain, random_state=int(rng.integers(2**31)))
    made = maker.generate(n_records=len(codes), random_state=int(rng.integers(2**31)))
    return made[names].astype(str).astype(int).to_numpy()


PEERS = {
    "mbi": by_mbi,
    "dpmm-mst": lambda *given: by_dpmm("MSTPipeline", *given),
    "dpmm-privbayes": lambda *given: by_dpmm("PrivBayesPipeline", *given),
}


def main():
    """Make one table."""
    peer, rows, made, epsilon, delta, seed = sys.argv[1:]
    given, rng = np.load(rows), np.random.default_rng(int(seed))
    codes = given["codes"].astype(np.int64)
    drawn = PEERS[peer](codes, given["sizes"], (float(epsilon), float(delta)), rng)
    np.savez(made, codes=drawn, seconds=time.process_time())


if __name__ == "__main__":
    main()
