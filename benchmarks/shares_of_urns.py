"""How often intervals of shares from urns hold: ``python benchmarks/shares_of_urns.py [--runs K]``.

Samples of n records, a part π of which has a trait, are drawn; one synthetic set of each comes from
the beta-binomial sanitizer (`dirichlet`) or the DP-prior sanitizer (`dp-prior`) with ε and K cells,
of which one has the trait. Shown is how many of 100 nominal 95 % intervals hold π: of the unbiased
estimate alone, of the exact posterior alone (Charest 2010), and of what `analyze proportion` gives,
which holds both; and the mean widths of the last two.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

import numpy as np

from understudy.inference.combining import Pooled
from understudy.inference.contributions import CellScores
from understudy.inference.counts import (
    DrawnShares,
    Urns,
    pooled_ratios,
    urn_ratios,
    with_posteriors,
)
from understudy.inference.question import Estimand
from understudy.mechanisms.urn import prior_weight

ROWS = (20, 100, 1_000, 10_000, 100_000, 1_000_000)
SHARES = (0.01, 0.05, 0.3)
WAYS = ((True, 2, "1"), (True, 10, "5"), (False, 2, "5"), (False, 10, "5"))
ESTIMAND = Estimand("proportion", "trait", ("trait",), levels=("trait",))
SCORES = CellScores(
    ("yes", "no"), np.zeros(2, dtype=np.int64), np.arange(2), np.ones(2), np.ones(2)
)


def intervals(
    n: int, share: float, way: tuple[bool, int, str], rng: np.random.Generator
) -> tuple[tuple[float, float], ...]:
    """Ends of the interval of the estimate, of the posterior, and of what is given."""
    reinforced, cells, epsilon = way
    prior = float(prior_weight(n, Fraction(epsilon), reinforced=reinforced))
    own = rng.binomial(n, share)
    inside, outside = own + prior, n - own + (cells - 1) * prior
    chance = rng.beta(inside, outside) if reinforced else inside / (inside + outside)
    drawn = rng.binomial(n, chance)
    counts = np.array([[drawn, n - drawn]], dtype=np.float64)
    urns = Urns(
        np.array(prior), np.array([1.0, cells - 1.0]), np.array(float(n)), 0.0, 1, reinforced
    )
    sums, totals = urn_ratios(counts[0], urns, SCORES)
    pooled = pooled_ratios(ESTIMAND, SCORES, sums, totals, 1)
    given = with_posteriors(pooled, counts, urns, SCORES)
    assert isinstance(given, DrawnShares)
    assert given.posteriors[0] is not None
    ends = [Pooled.interval(given), given.interval()]
    alone, both = ((float(low[0]), float(high[0])) for low, high in ends)
    return alone, given.posteriors[0].interval(), both


def measured(n: int, share: float, way: tuple[bool, int, str], runs: int) -> list[float]:
    """How often each interval holds the share, and the mean widths of the last two, in percent."""
    rng = np.random.default_rng([n, round(1000 * share), way[1], way[0]])
    each = np.array([intervals(n, share, way, rng) for _ in range(runs)])
    hold = ((each[..., 0] <= share) & (share <= each[..., 1])).mean(axis=0)
    widths = np.diff(np.clip(each, 0, 1), axis=2)[:, 1:, 0].mean(axis=0)
    return [*(100 * hold), *(100 * widths)]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    print("| sanitizer | K, ε | n | π | estimate | posterior | given | widths (%) |")
    print("|---|---|---|---|---|---|---|---|")
    for way in WAYS:
        name = "dirichlet" if way[0] else "dp-prior"
        for n in ROWS:
            for share in SHARES:
                *hold, narrow, wide = measured(n, share, way, runs)
                told = " | ".join(f"{one:.0f}" for one in hold)
                print(
                    f"| {name} | {way[1]}, {way[2]} | {n:,} | {share} | {told} | "
                    f"{narrow:.2g}, {wide:.2g} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
