"""Records that were paid for are handed out once, in the order in which they were drawn."""

import numpy as np
import pytest

import understudy as us
from understudy.errors import MethodError
from understudy.methods.base import PaidRecords

RNG = np.random.default_rng(1)


def test_sets_are_parts_one_after_the_other():
    paid = PaidRecords((np.arange(6), np.arange(6) * 10))
    first, second = (paid.sample(3, RNG).states for _ in range(2))
    assert [one.tolist() for one in first] == [[0, 1, 2], [0, 10, 20]]
    assert [one.tolist() for one in second] == [[3, 4, 5], [30, 40, 50]]
    assert paid.sample(0, RNG).states[0].size == 0


def test_there_are_no_more_than_were_paid_for():
    paid = PaidRecords((np.arange(5),))
    paid.sample(3, RNG)
    with pytest.raises(ValueError, match="paid for"):
        paid.sample(3, RNG)
    assert paid.sample(2, RNG).states[0].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("dirichlet", {}),
        ("pegs", {}),
        ("laplace", {"form": "lazy"}),
        ("pegs-tables", {"form": "lazy"}),
        ("steps", {"consistency": "gls_inner"}),
        ("perturbed-imputation", {}),
        ("pegs-diverse", {}),
    ],
)
def test_no_seed_is_taken_where_drawing_is_the_mechanism(method, options):
    """Said by the plan, before rows are looked at: none are given here."""
    column = 'kind = "categorical"\nlevels = ["x", "y"]\nsource = "codebook"\nreviewed = true\n'
    columns = "".join(f"[columns.{name}]\n{column}" for name in "abc")
    schema = us.Schema.loads(f'rows = "public"\nn_rows = 10\n{columns}')
    with pytest.raises(MethodError, match="no seed is accepted"):
        us.synthesize(
            object(),
            schema,
            epsilon=1,
            method=method,
            options=options,
            seed=1,
            allow_nonprivate=True,
        )
