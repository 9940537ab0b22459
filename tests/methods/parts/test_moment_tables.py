"""Tables by second moments: what products of scores say, cell by cell, and how noisily."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.released import Noise, NoisyProducts, NoisyTable, Released
from understudy.features.scores import UNIT, FeatureMap
from understudy.graphical.estimation import Observation, fit_max_entropy
from understudy.mechanisms.second_moments import ONE, stack_sums
from understudy.methods.marginal_based import (
    FARTHEST,
    level_moments,
    level_tables,
    measured_beside,
    pairs_beyond,
    select_telling,
)
from understudy.methods.noisy_marginals import CompressedDomain
from understudy.methods.registry import configure
from understudy.workflow.analyze import model_of

SCHEMA = us.Schema.loads(
    """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[columns.job]
kind = "categorical"
levels = ["a", "b", "c"]
missing = [""]
reviewed = true
[columns.size]
kind = "integer"
lower = 0
upper = 9
reviewed = true
[columns.size2]
kind = "ordinal"
levels = ["s", "m", "l"]
reviewed = true
"""
)
NAMES = ("sex", "job", "size", "size2")
RNG = np.random.default_rng(3)
ROWS = pl.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], 300, p=[0.7, 0.3]),
        "job": RNG.choice(["a", "b", "c", ""], 300, p=[0.5, 0.3, 0.1, 0.1]),
        "size": RNG.integers(0, 10, 300),
        "size2": RNG.choice(["s", "m", "l"], 300),
    }
)
UNNOISY = Noise("discrete_gaussian", "1", 1.0)


def products(rows=ROWS, columns=NAMES, **more):
    """Second moments of rows, without noise."""
    scores = FeatureMap.of(SCHEMA, columns)
    exact = Table(rows, SCHEMA).score_products(scores).expose()
    return NoisyProducts(columns, stack_sums(exact, scores) / ONE, UNNOISY, **more)


def exact_table(rows, columns):
    """The contingency table by a plain count."""
    states = [[*SCHEMA.columns[name].levels, *SCHEMA.columns[name].codes].index for name in columns]
    table = np.zeros([SCHEMA.columns[name].size for name in columns])
    for row in rows.select(columns).iter_rows():
        table[tuple(find(value) for find, value in zip(states, row, strict=True))] += 1
    return table


def by_columns(moments, beside=(NAMES,)):
    return {one.columns: one for one in level_tables(level_moments(moments, SCHEMA), 300, beside)}


def test_pairs_are_told_that_a_table_holds():
    found = by_columns([products()], [("job",), ("size2", "size", "sex")])
    assert [*found] == [("sex",), ("job",), ("size2",), ("sex", "size2")]


def test_without_noise_they_are_the_tables():
    """Contrasts are rounded to 2⁻¹⁵, which 300 records may move by a hundredth."""
    found = by_columns([products()])
    pairs = [("sex", "job"), ("sex", "size2"), ("job", "size2")]
    assert [*found] == [("sex",), ("job",), ("size2",), *pairs]
    for columns, one in found.items():
        np.testing.assert_allclose(one.counts, exact_table(ROWS, columns), atol=300 / UNIT)


def test_columns_of_many_levels_among_many_columns_tell_theirs():
    """Their contrasts are shorter, so that noise in their tables is larger."""
    levels, names = [str(k) for k in range(24)], tuple("abcdefghi")
    wide = "".join(
        f"[columns.{name}]\nkind = 'categorical'\nlevels = {own}\nreviewed = true\n"
        for name, own in zip(names, [levels, *[["x", "y", "z"]] * 8], strict=True)
    )
    schema = us.Schema.loads(f"rows = 'public'\nn_rows = 300\n{wide}")
    rows = pl.DataFrame({name: RNG.choice([*schema.columns[name].levels], 300) for name in names})
    scores = FeatureMap.of(schema, names)
    sums = stack_sums(Table(rows, schema).score_products(scores).expose(), scores) / ONE
    moments = NoisyProducts(names, sums, UNNOISY)
    found = {
        one.columns: one
        for one in level_tables(level_moments([moments], schema), 300, [("a", "b", "c")])
    }
    counts = np.zeros((24, 3))
    for a, b in rows.select("a", "b").iter_rows():
        counts[levels.index(a), "xyz".index(b)] += 1
    np.testing.assert_allclose(found["a", "b"].counts, counts, atol=3 * 300 / UNIT)
    np.testing.assert_allclose(found["a",].counts, counts.sum(axis=1), atol=3 * 300 / UNIT)
    assert found["b", "c"].noise.stddev == pytest.approx(1)
    assert found["a", "b"].noise.stddev == pytest.approx(24 / 16)


def test_records_out_of_domain_count_as_an_even_mix():
    stray = ROWS.with_columns(
        sex=pl.when(pl.int_range(300) < 30).then(pl.lit("x")).otherwise("sex")
    )
    found = by_columns([products(stray)])
    inside = stray.filter(pl.col("sex") != "x")
    expected = exact_table(inside, ("sex",)) + 15
    np.testing.assert_allclose(found["sex",].counts, expected, atol=300 / UNIT)


@pytest.mark.parametrize("more", [{"pure": True}, {"complete": ("job",)}])
def test_moments_of_other_scores_or_of_some_records_tell_none(more):
    assert by_columns([products(**more)]) == {}


def test_structural_zeros_hold_nothing():
    forbidding = us.Schema.loads(
        SCHEMA.dumps() + '\n[[forbidden]]\nwhere = { sex = "f", size2 = "l" }\n'
    )
    moments = products()
    own = replace(moments, values=moments.values + RNG.normal(0, 9, moments.values.shape))
    found = {
        one.columns: one for one in level_tables(level_moments([own], forbidding), 300, [NAMES])
    }
    counts = found["sex", "size2"].counts
    assert counts[0, 2] == 0
    assert (counts != 0).sum() == 5


def test_cells_have_the_noise_that_is_stated():
    """The interaction of a table, its part that is no margin's, has (k − 1)(l − 1) numbers of
    variance σ² each. With 400 draws a mean square is off by 15 % once in 10⁵."""
    scores, exact, sigma = FeatureMap.of(SCHEMA, NAMES), products().values, 5.0
    rng, sizes = np.random.default_rng(11), {("job",): 3, ("job", "size2"): 6}
    sums = dict.fromkeys(sizes, 0.0)
    before = by_columns([NoisyProducts(NAMES, exact, UNNOISY)])
    stated = {}
    for _ in range(400):
        noise = Noise("discrete_gaussian", "25", sigma)
        found = by_columns([NoisyProducts(NAMES, exact + rng.normal(0, sigma, exact.shape), noise)])
        for columns in sizes:
            error = found[columns].counts - before[columns].counts
            for axis in range(error.ndim):
                error = error - error.mean(axis=axis, keepdims=True)
            sums[columns] += float((error**2).sum()) / 400
            stated[columns] = found[columns].stddev
    assert stated == {("job",): sigma / float(scores.weight), ("job", "size2"): sigma}
    for columns, many in sizes.items():
        assert sums[columns] == pytest.approx(many * stated[columns] ** 2, rel=0.15)
        assert sums[columns] != pytest.approx(many * (1.2 * stated[columns]) ** 2, rel=0.15)


def measured(columns, stddev, outside=0.0, *, groups=None):
    counts = np.zeros([(groups or {}).get(name, SCHEMA.columns[name].size) for name in columns])
    noise = Noise("discrete_gaussian", str(stddev**2), stddev)
    return NoisyTable(columns, counts, outside, noise)


def test_a_pair_is_told_where_a_table_holds_it_and_is_not_much_better():
    """A table of three columns has the noise of as many cells as the third has states."""
    whole = measured(("sex", "job", "size"), 1.0)
    fits, far = FARTHEST**0.5 * 10**0.5 * 0.99, FARTHEST**0.5 * 10**0.5 * 1.01
    pair, other = measured(("sex", "job"), fits), measured(("sex", "size2"), fits)
    assert select_telling([pair, other], [whole]) == [pair]
    assert select_telling([measured(("sex", "job"), far)], [whole]) == []
    assert select_telling([pair], [whole, measured(("sex", "job"), 1.0)]) == []


def test_states_that_are_merged_have_the_noise_of_all_of_them():
    """A table of two groups of jobs has half the cells; one of all states has as much noise in a
    group as what moments tell."""
    halved, whole = (measured(("sex", "job"), 1.0, groups=own) for own in ({"job": 2}, None))
    pair = measured(("sex", "job"), FARTHEST**0.5 * 0.99)
    assert select_telling([pair], [halved]) == []
    assert select_telling([pair], [whole]) == [pair]


def test_a_column_with_records_out_of_domain_is_left_out():
    one_way, outside = measured(("job",), 1.0), measured(("job",), 1.0, outside=5.0)
    assert select_telling([one_way], [one_way]) == [one_way]
    assert select_telling([one_way], [outside]) == []


def test_moments_are_found_among_what_was_measured():
    table = Released(measured(("sex",), 1.0), UNNOISY, "noisy table", 1)
    own = Released(products(), UNNOISY, "noisy score moments", 2)
    assert measured_beside([table, own]) == [own.value]


@pytest.fixture(scope="module")
def release():
    """Columns of levels that hang together, under a budget that triples of them take."""
    rng = np.random.default_rng(5)
    many, group = 20_000, rng.integers(0, 3, 20_000)
    columns = {
        name: np.where(rng.random(many) < 0.6, group, rng.integers(0, 3, many)).astype(str)
        for name in "abcde"
    }
    declared = "\n".join(
        f'[columns.{name}]\nkind = "categorical"\nlevels = ["0", "1", "2"]\nreviewed = true'
        for name in columns
    )
    return pl.DataFrame(columns), us.synthesize(
        pl.DataFrame(columns),
        us.Schema.loads(declared),
        epsilon="0.5",
        delta="1e-6",
        method="marginals",
        sets=3,
        budget={"answers": "0.5"},
        insecure_noise_seed=2,
        seed=2,
    )


@pytest.mark.nightly
def test_a_fit_is_nearer_for_what_moments_tell(release):
    """Of all pairs together; half of the budget bought the moments, and is not lost to the sets."""
    rows, made = release
    with_them = model_of(made, 1)
    tables = [one.noisy(made.schema) for one in made.measurements if one.kind.value == "table"]
    without = configure("marginals", {}).rebuilt(made.schema, tables, made.manifest.n_rows)
    pairs = [(i, j) for j in range(5) for i in range(j)]

    def crossed(states):
        return [
            np.bincount(3 * states[i] + states[j], minlength=9) / len(states[i]) for i, j in pairs
        ]

    exact = crossed([rows[name].cast(pl.Int64).to_numpy() for name in rows.columns[:5]])
    errors = []
    for model in (with_them, without):
        drawn = model.sample(50_000, np.random.default_rng(1)).states
        found = crossed([drawn[k].astype(np.int64) for k in range(5)])
        errors.append(sum(np.abs(a - b).sum() for a, b in zip(found, exact, strict=True)))
    assert errors[0] < 0.9 * errors[1], errors


def test_pairs_in_groups_are_what_is_left_without_additive_effects():
    merged = CompressedDomain(SCHEMA, {"job": (0, 1, 1, 0)})
    (moments,) = level_moments([products()], SCHEMA)
    pair = moments.pair("job", "size2", merged)
    table = exact_table(ROWS, ("job", "size2"))
    rest = table - table.mean(0) - table.mean(1)[:, None] + table.mean()
    expected = np.stack([rest[0] + rest[3], rest[1] + rest[2]])
    np.testing.assert_allclose(pair.noisy, expected, atol=4 * 300 / UNIT)
    assert pair.columns == (1, 3)
    assert [one.tolist() for one in pair.states] == [[2, 2], [1, 1, 1]]
    assert pair.stddev == UNNOISY.stddev


def test_only_pairs_that_no_table_holds_are_beyond_a_model():
    merged = CompressedDomain(SCHEMA, {})
    sizes, noise = SCHEMA.sizes, Noise("discrete-gaussian", "1", 1.0)
    held = Observation((0, 1), exact_table(ROWS, ("sex", "job")), 1.0)
    fit = fit_max_entropy(sizes, [held], 300, regularisation=0.1)
    moments = level_moments([products()], SCHEMA)
    measured = [NoisyTable(("sex", "job"), held.counts, 0.0, noise)]
    found = pairs_beyond(moments, merged, measured, fit, 300)
    assert [pair.columns for pair in found.pairs] == [(0, 3), (1, 3)]
    assert {*found.held} >= {(0, 1), (0,), (1,), (2,), (3,)}
    assert pairs_beyond([], merged, measured, fit, 300) is None
    stray = [*measured, NoisyTable(("size2",), np.zeros(3), 99.0, noise)]
    assert pairs_beyond(moments, merged, stray, fit, 300) is None
