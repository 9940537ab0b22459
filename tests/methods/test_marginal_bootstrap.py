"""Marginal Bayesian bootstrap: not private and stamped so; one-way posterior, no relations."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import NotPrivateError
from understudy.methods.registry import configure
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

COLUMNS = "".join(
    f'[columns.{name}]\nkind = "categorical"\nlevels = ["0", "1", "2"]\nreviewed = true\n'
    for name in "ab"
)
RULE = '[[forbidden]]\nwhere = { a = "0", b = "0" }\nreviewed = true\n'
GIVEN = {"method": "marginal-bootstrap", "epsilon": 1, "frame": "polars"}


def schema(n, rule=""):
    return Schema.loads(f'rows = "public"\nn_rows = {n}\n{COLUMNS}{rule}')


def model(a, b, rule=""):
    rows = pl.DataFrame({"a": [str(x) for x in a], "b": [str(x) for x in b]})
    table = Table(rows, schema(len(rows), rule))
    gate = open_gate(table, Budget.of(1), SeededRandomness(1), allow_nonprivate=True)
    return configure("marginal-bootstrap", {}).fit(gate, gate.budget.amount, 10)


def test_it_is_refused_without_permission_and_before_the_rows_are_read():
    with pytest.raises(NotPrivateError, match="allow_nonprivate"):
        us.synthesize(object(), schema(10), **GIVEN)


def test_sets_have_shares_of_their_own_from_the_dirichlet_posterior():
    """Counts (30, 10, 0): a share is Beta(30, 10). Mean and variance of 400 sets of 2,000 records.

    Mean within 5 deviations; the ratio of variances leaves 1 ± 0.35 with probability below 10⁻⁵.
    """
    one, rng = model([0] * 30 + [1] * 10, [0, 1] * 20), np.random.default_rng(1)
    shares, never = [], 0
    for _ in range(400):
        a, _ = one.sample(2_000, rng).states
        shares.append((a == 0).mean())
        never += (a == 2).sum()
    variance = 0.75 * 0.25 / 41
    assert never == 0
    assert abs(np.mean(shares) - 0.75) < 5 * np.sqrt(variance / 400)
    assert np.var(shares) / (variance + 0.75 * 0.25 / 2_000) == pytest.approx(1, abs=0.35)


def test_relations_are_lost_and_impossible_combinations_stay_so():
    """Equal columns become independent: 20,000 records, covariance within 5 deviations."""
    equal, rng = [0, 1, 2] * 200, np.random.default_rng(2)
    a, b = model(equal, equal).sample(20_000, rng).states
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(20_000)
    a, b = model(equal, [1, 2, 0] * 200, RULE).sample(2_000, rng).states
    assert not np.any((a == 0) & (b == 0))
    assert np.any((a == 0) & (b == 1))


def test_the_release_is_stamped_and_pooled():
    rows = pl.DataFrame({"a": ["0", "1"] * 40, "b": ["2"] * 80})
    release = us.synthesize(rows, schema(80), sets=4, allow_nonprivate=True, **GIVEN)
    assert release.guarantee.kind == "none"
    assert release.manifest.sets_kind == "posterior"
    assert [one.columns for one in release.measurements] == [("a",), ("b",)]
    assert us.analyze(release, "proportion", "a").pooled.rule == "partial"
