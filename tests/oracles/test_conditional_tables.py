"""Sweeps against a Gibbs sampler written plainly, and lazy rows against tables written out.

Laws are compared by chi-square tests with a false-alarm rate of 10⁻⁴ each; seeds are fixed. The
same comparison must reject noise whose scale is wrong by 30 %, by day that of 30 % too much.
"""

from collections import Counter
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from scipy import stats

from night import NIGHT
from understudy.data.base import ExactCells, ExactTable
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import NO_NOISE, NoisyTable
from understudy.mechanisms.tables import noisy_table
from understudy.papers.gibbs_mechanisms import HashedRows
from understudy.papers.pegs_tables import ConditionalTables
from understudy.papers.perturbed_gibbs import NoisyRows, lazy_gibbs_records
from understudy.schema import Domain, GibbsSweep

LEVEL = 1e-4
NAMES = ("a", "b", "c")
# No a = 1 with c = 2, a rule that the tables of b and c do not know; no b = 1 with c = 0.
RULES = (
    {0: frozenset({1}), 2: frozenset({2})},
    {1: frozenset({1}), 2: frozenset({0})},
)


def gibbs_sweep(rules=()):
    return GibbsSweep(NAMES, Domain((2, 3, 4), tuple(rules)), ((2, 1), (2,), (1,)))


def noisy_tables(sweep, seed):
    rng = np.random.default_rng(seed)
    found = []
    for places in sweep.tables:
        domain = sweep.domain.project(places)
        counts = rng.integers(-4, 5, domain.sizes) * domain.allowed_mask()
        found.append(NoisyTable(tuple(NAMES[j] for j in places), counts, 0, NO_NOISE))
    return found


def open_to(sweep, record, column):
    """States that leave a record allowed, one after the other."""
    size = sweep.domain.sizes[column]
    changed = [[*record[:column], state, *record[column + 1 :]] for state in range(size)]
    return [
        not any(all(one[j] in box[j] for j in box) for box in sweep.domain.boxes) for one in changed
    ]


def picked(weights, still_open, uniform):
    """The state by inversion; any open one alike where no open one has weight."""
    open_weights = [w if o else 0.0 for w, o in zip(weights, still_open, strict=True)]
    if sum(open_weights) <= 0:
        open_weights = [float(o) for o in still_open]
    place, reached = uniform * sum(open_weights), 0.0
    for state, weight in enumerate(open_weights):
        reached += weight
        if weight and reached > place:
            return state
    raise AssertionError


def swept(sweep, tables, seeds, sweeps, rng):
    """Records after some sweeps, with clipped tables and keys looked up in them."""
    records = [list(one) for one in seeds]
    for _ in range(sweeps):
        for column, places in enumerate(sweep.tables):
            uniforms = rng.random((len(records),))
            for record, uniform in zip(records, uniforms, strict=True):
                row = tables[column].counts[tuple(record[j] for j in places[:-1])]
                weights = [max(0.0, float(n)) for n in row]
                record[column] = picked(weights, open_to(sweep, record, column), uniform)
    return records


@pytest.mark.parametrize("rules", [(), RULES], ids=["plain", "ruled"])
@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_does_what_a_plain_sampler_does(rules, seed):
    """From the same uniform numbers the same records."""
    sweep = gibbs_sweep(rules)
    tables = noisy_tables(sweep, seed)
    model = ConditionalTables.of_tables(
        sweep, tables, 50, sweeps=3, allocation="clipped", seeds="uniform"
    )
    found = model.sample(40, np.random.default_rng(seed)).states
    rng = np.random.default_rng(seed)
    seeds = np.stack(sweep.domain.draw(40, rng.random), axis=1).tolist()
    assert np.stack(found, axis=1).tolist() == swept(sweep, tables, seeds, 3, rng)


# --- lazy rows against tables written out ---------------------------------------------------------

SMALL = GibbsSweep(
    ("a", "b"), Domain((2, 3), ({0: frozenset({1}), 1: frozenset({2})},)), ((1,), (0,))
)
EXACT = np.array([[4, 0, 2], [0, 3, 0]])
SCALE = F(3)
RUNS = 3000 if NIGHT else 1500


def exact_tables():
    """The table of a by b, and of b by a."""
    return [EXACT.T, EXACT]


def hashed(counts):
    codes = np.flatnonzero(counts)
    return HashedRows.of(ExactCells(codes, counts.reshape(-1)[codes], 0), counts.shape[-1])


def lazy_run(scale, randomness):
    """Two records from tables of their own."""
    distribution = DiscreteLaplace(scale)
    tables = [NoisyRows(hashed(one), one.shape[-1], distribution) for one in exact_tables()]
    drawn = lazy_gibbs_records(tables, SMALL, 2, sweeps=2, randomness=randomness)
    return tuple(np.stack(drawn.columns).reshape(-1).tolist())


def dense_run(randomness, rng):
    distribution, tables = DiscreteLaplace(SCALE), []
    for counts, places in zip(exact_tables(), SMALL.tables, strict=True):
        names = tuple(SMALL.names[j] for j in places)
        exact, domain = ExactTable(counts, 0), SMALL.domain.project(places)
        tables.append(noisy_table(exact, names, domain, distribution, randomness))
    model = ConditionalTables.of_tables(
        SMALL, tables, 9, sweeps=2, allocation="clipped", seeds="uniform"
    )
    return tuple(np.stack(model.sample(2, rng).states).reshape(-1).tolist())


@pytest.fixture(scope="module")
def dense():
    randomness, rng = SeededRandomness(1), np.random.default_rng(2)
    return Counter(dense_run(randomness, rng) for _ in range(RUNS))


def p_value(dense, scale):
    randomness = SeededRandomness(3)
    lazy = Counter(lazy_run(scale, randomness) for _ in range(RUNS))
    assert set(dense) | set(lazy) <= allowed_pairs()
    often = [one for one in set(dense) | set(lazy) if dense[one] + lazy[one] >= 10]
    table = np.array([[one[pair] for pair in often] for one in (dense, lazy)])
    rest = [[sum(one.values()) - row.sum()] for one, row in zip((dense, lazy), table, strict=True)]
    table = np.hstack([table, rest])
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


def allowed_pairs():
    cells = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    return {(x[0], y[0], x[1], y[1]) for x, y in product(cells, repeat=2)}


def test_lazy_rows_have_the_law_of_tables_written_out(dense):
    assert p_value(dense, SCALE) > LEVEL


@pytest.mark.parametrize("factor", [pytest.param(F(7, 10), marks=pytest.mark.nightly), F(13, 10)])
def test_the_comparison_rejects_a_wrong_scale(dense, factor):
    assert p_value(dense, SCALE * factor) < LEVEL
