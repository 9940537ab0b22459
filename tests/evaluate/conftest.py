"""Small comparisons whose true law is known, and releases made of given states."""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from night import NIGHT
from understudy._parallel import single_threaded
from understudy.data.table import Table
from understudy.demo import demo_data, demo_schema
from understudy.evaluate import propensity
from understudy.evaluate.comparison import Comparison
from understudy.release.decoding import decode

SCHEMA = us.Schema.loads(
    """
    [columns.city]
    kind = "categorical"
    levels = ["Aa", "Bb", "Cc", "Dd"]
    missing = ["?"]
    source = "codebook"
    reviewed = true
    [columns.age]
    kind = "integer"
    lower = 0
    upper = 9
    bins = 10
    missing = [-1]
    source = "law"
    reviewed = true
    [columns.member]
    kind = "boolean"
    source = "codebook"
    reviewed = true
    [columns.grade]
    kind = "ordinal"
    levels = [1, 2, 3, 4, 5]
    source = "codebook"
    reviewed = true
    """
)


def draw_rows(n, seed):
    """Dependent columns with missing values and a few values outside the domain."""
    rng = np.random.default_rng(seed)
    age = rng.binomial(9, 0.4, n)
    city = np.minimum((age + rng.integers(0, 4, n)) // 3, 3)
    member = (rng.random(n) < 0.2 + 0.06 * age).astype(int)
    grade = np.clip(age // 2 + rng.integers(-1, 2, n), 0, 4)
    city[rng.random(n) < 0.05] = 4  # declared missing
    age[rng.random(n) < 0.05] = 10
    grade[rng.random(n) < 0.01] = 5  # outside the domain
    return [column.astype(np.uint8) for column in (city, age, member, grade)]


@pytest.fixture(autouse=True)
def one_thread():
    """Small fits on several threads wait for each other on a busy machine."""
    with single_threaded():
        yield


@pytest.fixture(scope="session", autouse=True)
def few_permutations():
    """By day trees are fitted to as few permuted labels as they may be: half of an evaluation."""
    with pytest.MonkeyPatch.context() as patch:
        if not NIGHT:
            patch.setattr(propensity, "_TREE_WORK", 0)
        yield


@pytest.fixture(scope="session")
def evaluation():
    """Of two sets of 600 rows of six columns of the demonstration, with everything in it."""
    names = ["rate_marriage", "age", "children", "religious", "educ", "affairs"]
    data, schema = demo_data()[names][:600], demo_schema().part(names)
    made = us.synthesize(
        data, schema, epsilon=1, method="independent", sets=2, insecure_noise_seed=1
    )
    return us.evaluate(data, made, by="religious").value


@pytest.fixture
def schema():
    return SCHEMA


@pytest.fixture
def draw():
    return draw_rows


@pytest.fixture
def compare():
    """A comparison of samples of one law, drawn with the given seeds."""

    def make(n=400, n_synthetic=None, sets=2, seed=0):
        wanted = n if n_synthetic is None else n_synthetic
        tables = tuple(draw_rows(wanted, 1000 * seed + k + 1) for k in range(sets))
        return Comparison(SCHEMA, draw_rows(n, 1000 * seed), tables, seed=7)

    return make


@pytest.fixture
def release_of():
    """A release of the rows that a function of the coded original gives for each set."""

    def make(data, schema, change, sets=1):
        made = us.synthesize(data, schema, epsilon=1, method="independent", insecure_noise_seed=1)
        original = Table(data, schema).code_rows().expose()
        rng = np.random.default_rng(5)
        tables = tuple(decode(change(original, rng), schema, rng) for _ in range(sets))
        return replace(made, tables=tables)

    return make
