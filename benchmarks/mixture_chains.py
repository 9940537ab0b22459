"""Chains on the density of a mixture raised to weights: effective draws, R̂, and milliseconds.

    python benchmarks/mixture_chains.py [--chains 4] [--draws 400] [--burn-in 100] [--unit 1000]
                                        [--rows 6208] [--components 10] [--nuts]

The table is the simulated one of the study `pseudo-posterior`: income given ten predictors. Chains
of one target begin at different random states; R̂ is the split one, effective draws are those of
all chains together. With `--nuts` chains by the No-U-Turn sampler of the extra numpyro stand
beside, on the same target; take few rows for it. A trace is told by its mean ± Monte Carlo error:
the weighted log-likelihood, log of the largest |α·log f|, and of the median one. CPU milliseconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from understudy.dp.randomness import SeededRandomness
from understudy.papers.mixture_gibbs import MixturePrior, Mixtures, log_likelihoods
from understudy.papers.mixture_metropolis import MixtureMetropolis, metropolis_draws
from understudy.papers.mixture_nuts import MixtureNuts, nuts_draws
from understudy_studies.savitsky_williams_hu_2020 import consumer_case, mechanisms
from understudy_studies.savitsky_williams_hu_2020.risk_and_utility import effective_draws

Floats = NDArray[np.float64]
Rows = tuple[Floats, Floats]
Chain = Callable[[int], Mixtures]
WEIGHTS = (1.0, 0.6, 0.3)


def rows(unit: float, n: int) -> Rows:
    """Responses and design of the first n records."""
    case = consumer_case.find(consumer_case.SIMULATED)
    model = mechanisms.income_law(case, mechanisms.Model("asinh", unit)).column_models[0]
    assert isinstance(model, mechanisms.NumberModel)
    records, numbers = case.records(), case.values
    design = model.features.matrix(records, len(numbers))
    return model.response.to(numbers)[:n], design[:n]


def traces(drawn: Mixtures, of: Rows, weight: float) -> dict[str, Floats]:
    """What chains are told by, each of shape (draws,)."""
    logs = weight * np.concatenate(list(log_likelihoods(drawn, *of)))
    sizes = np.abs(logs)
    return {
        "log-likelihood": logs.sum(axis=1),
        "log bound": np.log(sizes.max(axis=1)),
        "log median": np.log(np.median(sizes, axis=1)),
    }


def split_scale(chains: Floats) -> float:
    """Split R̂ (Gelman, Carlin, Stern, Dunson, Vehtari & Rubin 2013, §11.4) of (chains, draws)."""
    half = chains.shape[1] // 2
    parts = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    within, between = parts.var(axis=1, ddof=1).mean(), parts.mean(axis=1).var(ddof=1)
    return float(np.sqrt((half - 1) / half + between / within))


def told(table: Table, name: str, chain: Chain, target: tuple[Rows, float], asked: int) -> None:
    """Run chains and add a line for each trace."""
    (of, weight), start = target, time.process_time()
    drawn = [chain(seed) for seed in range(asked)]
    milliseconds = 1e3 * (time.process_time() - start)
    every = [traces(one, of, weight) for one in drawn]
    for trace in every[0]:
        chains = np.array([one[trace] for one in every])
        draws = sum(effective_draws(one) for one in chains)
        table.add_row(
            f"{weight:g}",
            name,
            trace,
            f"{chains.mean():.3f} ± {chains.std() / np.sqrt(draws):.3f}",
            f"{draws:.0f}",
            f"{split_scale(chains):.3f}",
            f"{milliseconds / draws:.0f}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--burn-in", type=int, default=100)
    parser.add_argument("--unit", type=float, default=1_000)
    parser.add_argument("--rows", type=int, default=6_208)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--nuts", action="store_true")
    asked = parser.parse_args()
    of, prior = rows(asked.unit, asked.rows), MixturePrior(components=asked.components)
    lengths = {"draws": asked.draws, "burn_in": asked.burn_in}
    table = Table("α", "sampler", "trace", "mean", "effective draws", "R̂", "ms an effective draw")
    table.title = f"{asked.chains} chains of {asked.draws} draws, {len(of[0]):,} records"
    for weight in WEIGHTS:
        weights = np.full(len(of[0]), weight)

        def ours(seed: int, weights: Floats = weights) -> Mixtures:
            target = MixtureMetropolis(prior, *of, weights)
            return metropolis_draws(target, SeededRandomness(seed), **lengths)

        def nuts(seed: int, weights: Floats = weights) -> Mixtures:
            target = MixtureNuts(prior, *of, weights)
            source = SeededRandomness(seed)
            return nuts_draws(target, source, draws=asked.draws, warm_up=asked.burn_in).mixtures

        with threadpool_limits(limits=1):
            told(table, "metropolis", ours, (of, weight), asked.chains)
            if asked.nuts:
                told(table, "nuts", nuts, (of, weight), asked.chains)
    Console().print(table)


if __name__ == "__main__":
    main()
