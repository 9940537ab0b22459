"""Several measurements of second moments put together: against the slow and obvious way."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from night import NIGHT
from understudy.data.table import Table
from understudy.features.scores import FeatureMap
from understudy.inference.measured_moments import moments_of
from understudy.inference.second_moments import MomentSource, average_numbers, joined_matrix
from understudy.mechanisms.second_moments import ONE, stack_sums
from understudy.release.measurement import Measurement
from understudy.release.shape import Kind
from understudy.schema import Schema

PLAIN = Schema.loads(
    """
    [columns.a]
    kind = "categorical"
    levels = ["f", "m"]
    [columns.b]
    kind = "categorical"
    levels = ["p", "q", "r"]
    [columns.c]
    kind = "categorical"
    levels = ["u", "v", "w"]
    [columns.x]
    kind = "integer"
    lower = 0
    upper = 5
    bins = [0, 3, 5]
    """
)
CODED = Schema.loads(
    """
    [columns.job]
    kind = "categorical"
    levels = ["p", "q", "r"]
    missing = ["?", "no"]
    [columns.pay]
    kind = "integer"
    lower = 0
    upper = 9
    bins = [0, 3, 9]
    missing = [-1]
    [columns.wage]
    kind = "integer"
    lower = 0
    upper = 40
    bins = 20
    missing = [-1, -2]
    [columns.sex]
    kind = "categorical"
    levels = ["f", "m"]
    """
)
ABOUT = (50.0, 0.0)


def exact(frame, schema, columns, complete=(), *, pure=False):
    """All that is released of some columns, with weights and without noise."""
    scores = FeatureMap.of(schema, columns, complete, pure=pure)
    return scores, stack_sums(Table(frame, schema).score_products(scores).expose(), scores) / ONE


def source(frame, schema, columns, complete=(), *, pure=False, stddev=1.0, rng=None):
    """What a measurement has, with normal noise if there is a source of it."""
    scores, values = exact(frame, schema, columns, complete, pure=pure)
    if rng is not None:
        values = values + stddev * rng.standard_normal(len(values))
    return MomentSource.from_values(scores, values, stddev, pure=pure)


def people(rng, n):
    """Records of the coded columns, many values absent, and some out of domain."""
    return pl.DataFrame(
        {
            "job": rng.choice(["p", "q", "r", "?", "no"], n),
            "pay": rng.choice([-1, *range(10)], n, p=[0.3, *[0.07] * 10]),
            "wage": rng.choice([-1, -2, *range(41)], n, p=[0.2, 0.1, *[0.7 / 41] * 41]),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def every_record():
    """One record of each kind, of three numbers and none; no number is out of domain."""
    each = list(product("fm", "pqr", "uvw", [0, 2, 5, None]))
    types = {"a": str, "b": str, "c": str, "x": int}
    return [pl.DataFrame([one], schema=types, orient="row") for one in each]


def test_they_are_generalised_least_squares_of_the_full_table():
    """Of the unknown counts of all 72 kinds of records, by dense normal equations."""
    rng, kinds = np.random.default_rng(1), every_record()
    parts = [(("a", "b", "x"), 3.0), (("b", "c", "x"), 2.0), (("c", "x"), 5.0)]
    counts = rng.integers(0, 30, len(kinds)).astype(float)
    maps, released, precision, sources = [], [], [], []
    for columns, stddev in parts:
        scores, seen = FeatureMap.of(PLAIN, columns), {}
        for kind in kinds:  # only columns that are asked for count
            if (values := kind.select(columns).row(0)) not in seen:
                products = Table(kind, PLAIN).score_products(scores).expose()
                seen[values] = stack_sums(products, scores) / ONE
        own = np.column_stack([seen[kind.select(columns).row(0)] for kind in kinds])
        values = own @ counts + stddev * rng.standard_normal(len(own))
        maps.append(own)
        released.append(values)
        precision += [stddev**-2] * len(own)
        sources.append(MomentSource.from_values(scores, values, stddev, pure=False))
    design, weights = np.vstack(maps), np.array(precision)
    gram = np.linalg.pinv((design.T * weights) @ design, rcond=1e-12)
    fitted = gram @ (design.T * weights) @ np.concatenate(released)
    for (asked, _), one, own in zip(parts, sources, maps, strict=True):
        unweighted = own / one.scores.factors[:, None]
        matrix = joined_matrix(sources, PLAIN, asked, ABOUT)
        assert np.allclose(matrix.numbers[:-1], unweighted @ fitted, atol=1e-6)
        expected = np.diag(unweighted @ gram @ unweighted.T)
        assert np.allclose(matrix.variances[:-1], expected, rtol=1e-6)


def test_columns_of_many_levels_are_told_from_few_columns_or_from_many():
    """Sums of contrasts at both lengths give the same counts of levels."""
    levels = [str(k) for k in range(24)]
    names = tuple("abcdefghi")
    schema = Schema.loads(
        "".join(
            f"[columns.{name}]\nkind = 'categorical'\nlevels = {own}\nreviewed = true\n"
            for name, own in zip(names, [levels, *[["x", "y", "z"]] * 8], strict=True)
        )
    )
    rng = np.random.default_rng(2)
    rows = pl.DataFrame({name: rng.choice([*schema.columns[name].levels], 200) for name in names})
    many, few = (source(rows, schema, own) for own in (names, names[:2]))
    assert many.scores.many
    assert not few.scores.many
    counts = rows["a"].value_counts()
    expected = dict(counts.iter_rows())
    for sources in ([many], [few], [few, many]):
        matrix = joined_matrix(sources, schema, names[:2], (200.0, 0.0))
        found = [matrix.sums[0, matrix.place["a", k]] for k in range(24)]
        assert found == pytest.approx([expected.get(level, 0) for level in levels], abs=0.1)


def test_a_question_needs_each_pair_of_its_columns():
    kinds = pl.concat(every_record())
    first, second, third = (source(kinds, PLAIN, own) for own in ("ab", "bc", "ac"))
    assert joined_matrix([first, second], PLAIN, "abc", ABOUT) is None
    assert joined_matrix([], PLAIN, "ab", ABOUT) is None
    alone, improved = (
        joined_matrix(own, PLAIN, "ab", ABOUT) for own in ([first], [first, second, third])
    )
    halved = alone.variances[:-1] / improved.variances[:-1]
    assert halved[:3] == pytest.approx(2)  # the sums of a and of b: third and second have them
    assert halved[3:] == pytest.approx(1)
    whole = joined_matrix([first, second, third], PLAIN, "abc", ABOUT)
    expected = joined_matrix([source(kinds, PLAIN, "abc")], PLAIN, "abc", ABOUT)
    assert np.allclose(whole.numbers, expected.numbers, atol=0.01)


@pytest.mark.parametrize("stated", [1.0, 1.2, 0.8], ids=["right", "too much", "too little"])
@pytest.mark.nightly(every=3)
def test_the_noise_is_as_stated(stated):
    """A wrong scale of one of two measurements is found.

    The squared errors of all repetitions, over their variances, are χ²: a false alarm in 10⁶.
    """
    rng, kinds = np.random.default_rng(2), pl.concat(every_record())
    first, second = source(kinds, PLAIN, "abx", stddev=3.0), source(kinds, PLAIN, "bcx", stddev=2.0)
    truth = joined_matrix([first], PLAIN, "abx", ABOUT).numbers[:-1]
    total, size = 0.0, 0
    for _ in range(1_000 if NIGHT else 150):
        noisy = [
            replace(own, numbers=own.numbers + rng.normal(0, np.sqrt(own.variances)))
            for own in (first, second)
        ]
        noisy[1] = replace(noisy[1], variances=stated**2 * second.variances)
        matrix = joined_matrix(noisy, PLAIN, "abx", ABOUT)
        total += float(((matrix.numbers[:-1] - truth) ** 2 / matrix.variances[:-1]).sum())
        size += len(truth)
    p = 2 * min(stats.chi2.cdf(total, size), stats.chi2.sf(total, size))
    assert (p > 1e-6) == (stated == 1.0)


@pytest.mark.parametrize("wanted", [(), ("job",), ("pay",), ("job", "pay"), ("pay", "wage")])
@pytest.mark.parametrize("given", [(), ("job",), ("wage",), ("job", "pay"), ("pay", "wage")])
@pytest.mark.nightly(every=4)
def test_the_same_number_among_other_records(given, wanted):
    """What is taken for a wanted number is that number, whoever the records are."""
    scores = FeatureMap.of(CODED, CODED.names, wanted)
    for seed in (3, 4):
        frame = people(np.random.default_rng(seed), 60)
        truth = source(frame, CODED, CODED.names, wanted).numbers
        numbers, variances = average_numbers(scores, [source(frame, CODED, CODED.names, given)])
        known = np.isfinite(variances)
        assert np.allclose(numbers[known], truth[known], atol=0.01)
        differing = set(given) ^ set(wanted)
        products = scores.order.split(known)[2]
        first, second = ([scores.each[k].column for k in own] for own in scores.pairs)
        for told, *columns in zip(products, first, second, strict=True):
            if set(given) <= set(wanted):  # so that each wanted score is among the given
                assert told == (differing <= set(columns))
            assert not told or differing <= set(columns)
        assert known.all() or differing


def test_indicators_are_no_contrasts():
    """Of measurements in different units, columns of two levels and numbers go together."""
    kinds = pl.concat(every_record())
    gaussian, laplace = (source(kinds, PLAIN, "abx", pure=pure) for pure in (False, True))
    matrix = joined_matrix([laplace, gaussian], PLAIN, "ab", ABOUT)
    assert len(matrix.scores) == 1 + 2  # contrasts
    assert matrix.variances[0] == pytest.approx(
        1 / (1 / gaussian.variances[0] + 1 / laplace.variances[0])
    )
    assert (matrix.variances[1:3] == gaussian.variances[1:3]).all()
    alone = joined_matrix([laplace], PLAIN, "ab", ABOUT)
    assert len(alone.scores) == 1 + 3


def measurement(scores, values, stddev, name, *, pure):
    """Second moments as a release has them."""
    return Measurement(
        name=name,
        kind=Kind.PRODUCTS,
        columns=scores.columns,
        codes=np.arange(len(values)),
        counts=values,
        outside=0.0,
        distribution="discrete_laplace" if pure else "discrete_gaussian",
        scale="",
        stddev=stddev,
        entry=1,
        of=scores.complete,
    )


def table(columns, counts, stddev=1.0):
    """A full noisy table."""
    counts = np.asarray(counts, dtype=float).ravel()
    about = {"name": "t", "distribution": "discrete_gaussian", "scale": "", "entry": 1}
    codes = np.arange(len(counts))
    return Measurement("table", columns, codes, counts, stddev=stddev, **about)


@pytest.mark.parametrize(
    ("columns", "complete", "pure", "n_told"),
    [
        (("job", "sex"), (), False, 4 + 1 + 4),
        (("job", "sex"), (), True, 5 * 2),  # no sums: they would share noise with the products
        (("job", "sex"), ("job",), False, 2 + 1 + 2),
        (("job", "sex"), ("job",), True, 3 + 3),
        (("job", "pay"), ("job", "pay"), False, 2 + 1 + 2),
        (("job", "pay"), ("job", "pay"), True, 3),
    ],
)
@pytest.mark.nightly(every=3)
def test_tables_tell_the_same_numbers_with_noise_of_their_own(columns, complete, pure, n_told):
    """By the linear map from the cells of a table to what it is taken to tell."""
    frame = people(np.random.default_rng(5), 200)
    scores, values = exact(frame, CODED, columns, complete, pure=pure)
    weak = 1e6  # of the moments, so that what a table tells is all that is known
    moments = measurement(scores, values, weak, "m", pure=pure)

    def matrix(*measurements):
        return moments_of([moments, *measurements], CODED, columns, ABOUT)

    place = tuple(CODED.names.index(name) for name in columns)
    told = matrix(table(columns, Table(frame, CODED).count([place]).expose()[0].inside))
    assert told.scores.complete == complete
    known = told.variances[:-1] < 1e-3 * matrix().variances[:-1]
    assert known.sum() == n_told
    assert np.abs(told.numbers - matrix().numbers)[:-1][known].max() < 0.01
    sizes = CODED.table(columns).sizes
    units = np.eye(np.prod(sizes))
    none = matrix(table(columns, units[0] * 0)).numbers
    noise = np.column_stack([matrix(table(columns, unit)).numbers - none for unit in units])
    noise = noise[:-1][known]
    assert np.allclose(noise @ noise.T, np.diag(told.variances[:-1][known]), atol=0.01)
