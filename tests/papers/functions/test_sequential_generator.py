"""Sequential generators: records as a function of θ and ω, priors that spread, rules that hold."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, qmc

from understudy.data.coding import Coder
from understudy.errors import MethodError
from understudy.features.design import list_indicated
from understudy.papers import column_models as column_models_module
from understudy.papers.column_models import GeneratedModel
from understudy.papers.generators import (
    LogisticNormal,
    MultinomialLogit,
    NormalRegression,
    SequentialGenerator,
    SimulatedColumn,
    SimulatedRecords,
    even_numbers,
    normal_regressions,
    regressions,
)
from understudy.release.decoding import decode
from understudy.schema import NUMERIC, Schema

# A correct model fails one chi-square test with probability 1e-6; seeds are fixed.
LEVEL = 1e-6
KINDS = {
    "categorical": 'kind = "categorical"\nlevels = ["f", "m", "x"]\nmissing = [""]',
    "single": 'kind = "categorical"\nlevels = ["only"]',
    "ordinal": 'kind = "ordinal"\nlevels = [1, 2, 3, 4, 5]\nnot_applicable = ["none"]',
    "short": 'kind = "ordinal"\nlevels = ["low", "high"]',
    "boolean": 'kind = "boolean"',
    "integer": 'kind = "integer"\nlower = -5\nupper = 90\nbins = 7\nspikes = [0, 90]',
    "real": 'kind = "continuous"\nlower = 0.5\nupper = 2\nbins = 4\nmissing = [""]',
    "decimals": 'kind = "continuous"\nlower = 0\nupper = 9\nspikes = [0, 9]\ndecimals = 1',
    "date": 'kind = "date"\nlower = 1990-01-01\nupper = 2020-06-30\nbins = 9\nmissing = [""]',
    "point": 'kind = "integer"\nlower = 3\nupper = 3',
}
NUMBERS = {f"x{j}": f'kind = "continuous"\nlower = {-j}\nupper = 4\nbins = 6' for j in range(3)}


def schema_of(columns, rules=""):
    parts = [
        f'[columns.{name}]\n{text}\nsource = "codebook"\nreviewed = true'
        for name, text in columns.items()
    ]
    return Schema.loads("\n".join([*parts, rules]))


def chain(schema, parents=1):
    names = schema.names
    return [(name, names[max(0, j - parents) : j]) for j, name in enumerate(names)]


def all_kinds(parents=2):
    schema = schema_of(KINDS)
    return regressions(schema, chain(schema, parents))


@st.composite
def generators(draw):
    names = draw(st.permutations(list(KINDS)))[: draw(st.integers(1, 5))]
    schema = schema_of({name: KINDS[name] for name in names})
    order = draw(st.permutations(names))
    edges = [
        (name, tuple(draw(st.lists(st.sampled_from(order[:j]), unique=True)) if j else ()))
        for j, name in enumerate(order)
    ]
    return regressions(schema, edges)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(generators(), st.integers(0, 2**32), st.integers(0, 60))
def test_released_records_are_read_back_into_their_states(generator, seed, n):
    rng, schema = np.random.default_rng(seed), generator.schema
    prior = generator.prior
    theta = rng.normal(prior.means, prior.stddevs)
    sample = GeneratedModel(generator, theta).sample(n, rng)
    assert [len(one) for one in sample.states] == [n] * len(schema.names)
    released = decode(sample.states, schema, rng, sample.values)
    for states, coded in zip(sample.states, Coder(schema).code(released), strict=True):
        assert np.array_equal(states, coded)
    for name, numbers in sample.values.items():
        states = sample.states[schema.names.index(name)]
        assert np.array_equal(
            np.isnan(numbers), np.isin(states, list_indicated(schema.columns[name]))
        )


def test_records_follow_from_parameters_and_uniforms_alone_in_any_thread():
    generator = all_kinds()
    rng = np.random.default_rng(1)
    thetas, uniforms = generator.prior.points(8), rng.random((len(KINDS), 2, 500))
    simulated = SimulatedRecords(generator, uniforms)
    alone = [simulated.codes(theta) for theta in thetas]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(SimulatedRecords(all_kinds(), uniforms).codes, thetas))
    for one, other in zip(alone, together, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(alone[0], alone[1], strict=True))


def test_a_record_depends_on_its_own_uniforms_only():
    generator = all_kinds()
    theta = generator.prior.points(3)[2]
    uniforms = np.random.default_rng(1).random((len(KINDS), 2, 400))
    whole = SimulatedRecords(generator, uniforms).codes(theta)
    part = SimulatedRecords(generator, uniforms[:, :, 100:150]).codes(theta)
    assert all(np.array_equal(a[100:150], b) for a, b in zip(whole, part, strict=True))


def test_parts_cut_the_parameters_by_law():
    generator = all_kinds()
    assert [generator.prior.names[part] for part in generator.parts] == [
        column_model.prior.names for column_model in generator.column_models
    ]


def test_each_kind_of_column_has_its_law():
    column_models = {
        column_model.column: type(column_model) for column_model in all_kinds().column_models
    }
    logits = {
        name for name, column_model in column_models.items() if column_model is MultinomialLogit
    }
    assert logits == {"categorical", "single", "boolean", "short"}
    assert all(
        column_model is LogisticNormal
        for name, column_model in column_models.items()
        if name not in logits
    )
    schema = schema_of({"x": KINDS["point"], "c": KINDS["single"]})
    mixed = regressions(schema, chain(schema), numbers="normal")
    assert [type(column_model) for column_model in mixed.column_models] == [
        NormalRegression,
        MultinomialLogit,
    ]


SIX = {
    "number": 'kind = "continuous"\nlower = -3\nupper = 9\nbins = 6',
    "whole": 'kind = "integer"\nlower = 1\nupper = 60\nbins = 6',
    "ordinal": f'kind = "ordinal"\nlevels = {list(range(6))}',
    "category": f'kind = "categorical"\nlevels = {list("abcdef")}',
    "last": f'kind = "categorical"\nlevels = {list("abcdef")}',
    "spiked": 'kind = "continuous"\nlower = 0\nupper = 1\nbins = 4\nspikes = [0]\nmissing = [""]',
}


def predictive(generator, n_points=600, n=40):
    """Expected share of each state under the prior."""
    rng, schema = np.random.default_rng(1), generator.schema
    shares = {name: np.zeros(size) for name, size in zip(schema.names, schema.sizes, strict=True)}
    for theta in generator.prior.points(n_points):
        records = generator.records(theta, rng.random((len(schema.names), 2, n)))
        for name, one in records.items():
            shares[name] += np.bincount(one.states, minlength=len(shares[name])) / n / n_points
    return shares


@pytest.mark.parametrize("parents", [0, 1, 3])
@pytest.mark.nightly(every=3)
def test_before_anything_is_known_every_one_of_six_states_is_expected(parents):
    for columns, make in ((SIX, regressions), (NUMBERS, normal_regressions)):
        schema = schema_of(columns)
        for name, shares in predictive(make(schema, chain(schema, parents))).items():
            assert ((shares > 0.05) & (shares < 0.4)).all(), (name, shares)
            if name in ("category", "last"):
                assert shares == pytest.approx([0.125, *[0.175] * 5], abs=0.015)


def test_few_normal_numbers_are_clipped_before_anything_is_known():
    schema = schema_of(NUMBERS)
    generator, rng = normal_regressions(schema, chain(schema, 2)), np.random.default_rng(1)
    clipped = np.zeros(3)
    for theta in generator.prior.points(500):
        records = generator.records(theta, rng.random((3, 2, 40)))
        for j, (name, one) in enumerate(records.items()):
            clipped[j] += np.isin(one.numbers, schema.columns[name].bounds).mean() / 500
    assert clipped == pytest.approx([0.09, 0.12, 0.12], abs=0.015)


RULE = (
    '[[forbidden]]\nwhere = { a = "1", b = ["0", "2"] }\nreviewed = true\nsource = "law"\n'
    '[[forbidden]]\nwhere = { b = "1", c = "0" }\nreviewed = true\nsource = "law"\n'
)
THREE = {
    name: f'kind = "categorical"\nlevels = {[str(k) for k in range(size)]}'
    for name, size in {"a": 2, "b": 3, "c": 2}.items()
}


def test_samples_keep_to_the_rules_and_to_the_law_given_the_rules():
    """Against the cells of an unconditioned sample, which are counted with the same θ."""
    free, ruled = schema_of(THREE), schema_of(THREE, RULE)
    theta = np.random.default_rng(2).normal(size=8)
    plain = GeneratedModel(regressions(free, chain(free)), theta)
    kept = GeneratedModel(regressions(ruled, chain(ruled)), theta)
    rng = np.random.default_rng(1)
    seen = [
        np.bincount(np.ravel_multi_index(model.sample(n, rng).states, (2, 3, 2)), minlength=12)
        for model, n in ((plain, 1_000_000), (kept, 20_000))
    ]
    allowed = ruled.domain.allowed_mask().ravel()
    assert not seen[1][~allowed].any()
    expected = seen[0][allowed] / seen[0][allowed].sum() * 20_000
    assert chisquare(seen[1][allowed], expected).pvalue > LEVEL
    uneven = np.random.default_rng(3).permutation(expected)
    assert chisquare(seen[1][allowed], uneven).pvalue < LEVEL


def test_records_that_never_become_possible_are_uniform_over_the_allowed_cells():
    columns = {"a": THREE["a"], "x": NUMBERS["x0"]}
    rule = '[[forbidden]]\nwhere = { a = "1" }\nreviewed = true\nsource = "law"\n'
    schema = schema_of(columns, rule)
    theta = np.array([60.0, 0.0, 0.0, 0.0])
    model = GeneratedModel(regressions(schema, chain(schema)), theta)
    sample = model.sample(3000, np.random.default_rng(1))
    assert not sample.states[0].any()
    assert chisquare(np.bincount(sample.states[1], minlength=6)).pvalue > LEVEL
    assert np.isnan(sample.values["x"]).all()


def test_long_samples_are_drawn_in_pieces_and_seeds_repeat_them(monkeypatch):
    generator = all_kinds()
    model = GeneratedModel(generator, generator.prior.means)
    monkeypatch.setattr(column_models_module, "_CHUNK", 64)
    one, two = (model.sample(1000, np.random.default_rng(5)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one.states, two.states, strict=True))
    counts = np.bincount(one.states[0][64:], minlength=4)
    assert chisquare(counts).pvalue > LEVEL  # at the mean of the prior all categories are alike
    assert not np.array_equal(one.states[0][:64], one.states[0][64:128])


def test_no_rows_are_a_sample_too():
    generator = all_kinds()
    sample = GeneratedModel(generator, generator.prior.means).sample(0, np.random.default_rng(1))
    assert [one.shape for one in sample.states] == [(0,)] * len(KINDS)
    numeric = [n for n, c in generator.schema.columns.items() if isinstance(c, NUMERIC)]
    assert list(sample.values) == numeric


@pytest.mark.parametrize(
    "edges",
    [
        [("a", ()), ("b", ("c",)), ("c", ())],
        [("a", ()), ("b", ())],
        [("a", ()), ("b", ("b",)), ("c", ())],
        [("a", ()), ("b", ()), ("b", ()), ("c", ())],
        [("a", ()), ("b", ("a", "a")), ("c", ())],
        [("a", ()), ("b", ()), ("c", ()), ("d", ())],
    ],
)
def test_edges_that_are_no_network_are_refused(edges):
    schema = schema_of(THREE)
    with pytest.raises(ValueError, match="network"):
        regressions(schema, edges)
    if all(name in schema.names for name, _ in edges):
        column_models = {
            column_model.column: column_model
            for column_model in regressions(schema, chain(schema)).column_models
        }
        with pytest.raises(ValueError, match="network"):
            SequentialGenerator(
                schema, (column_models["b"], column_models["a"], column_models["c"])
            )


def test_normal_regressions_name_the_column_that_they_cannot_draw():
    for text, match in ((KINDS["categorical"], "'c' is not numeric"), (KINDS["real"], "'c'")):
        schema = schema_of({**NUMBERS, "c": text})
        with pytest.raises(MethodError, match=match):
            normal_regressions(schema, chain(schema))


def test_another_number_of_parameters_is_refused():
    generator = all_kinds()
    with pytest.raises(ValueError, match="parameters"):
        GeneratedModel(generator, np.zeros(3))


def test_one_column_given_its_parents_is_the_column_of_the_whole():
    generator = all_kinds()
    prior, uniforms = generator.prior, np.random.default_rng(1).random((len(KINDS), 2, 300))
    theta = prior.points(5)[4]
    drawn = generator.records(theta, uniforms)
    codes = SimulatedRecords(generator, uniforms).codes(theta)
    whole = dict(zip(generator.schema.names, codes, strict=True))
    for k, (column_model, part) in enumerate(
        zip(generator.column_models, generator.parts, strict=True)
    ):
        parents = {name: drawn[name] for name in column_model.parents}
        one = SimulatedColumn(generator, k, parents, uniforms[k])
        assert one.columns == (*column_model.parents, column_model.column)
        assert one.prior.names == prior.names[part]
        codes = one.codes(theta[part])
        for name, states in zip(one.columns, codes, strict=True):
            assert np.array_equal(states, whole[name])


def test_simulated_sets_refuse_uniforms_of_another_shape_and_absent_parents():
    generator = all_kinds()
    for shape in ((2, 5), (len(KINDS), 3, 5), (1, 2, 5)):
        with pytest.raises(ValueError, match="uniforms"):
            SimulatedRecords(generator, np.full(shape, 0.5))
    with pytest.raises(ValueError, match="uniforms"):
        SimulatedColumn(generator, 0, {}, np.full((1, 2, 5), 0.5))
    with pytest.raises(ValueError, match="parents"):
        SimulatedColumn(generator, 1, {}, np.full((2, 5), 0.5))


def test_even_numbers_fill_their_cube_better_than_random_ones():
    """The centred discrepancy of every pair of coordinates; sets differ, and seeds do."""
    even = even_numbers(2, 3, 256, 7)
    assert even.shape == (2, 3, 2, 256)
    assert (even > 0).all()
    assert (even < 1).all()
    random = np.random.default_rng(1).random((20, 256, 2))
    best = min(qmc.discrepancy(one) for one in random)
    places = even[0].reshape(6, 256).T
    pairs = itertools.combinations(range(6), 2)
    assert max(qmc.discrepancy(places[:, list(pair)]) for pair in pairs) < best
    assert not np.array_equal(even[0], even[1])
    assert not np.array_equal(even, even_numbers(2, 3, 256, 8))
    assert np.array_equal(even, even_numbers(2, 3, 256, 7))
