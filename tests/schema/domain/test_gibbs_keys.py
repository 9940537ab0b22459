"""Sweeps: keys by hand and by increments, and states that rules leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.errors import MethodError
from understudy.schema import Domain, GibbsSweep


def schema(*sizes: int) -> us.Schema:
    columns = [
        f'[columns.x{j}]\nkind = "integer"\nlower = 0\nupper = {size - 1}\nbins = {size}\n'
        'reviewed = true\nsource = "codebook"\n'
        for j, size in enumerate(sizes)
    ]
    return us.Schema.loads("".join(columns))


def gibbs_sweep(table: us.Schema, keys: Mapping[str, Sequence[str]]) -> GibbsSweep:
    return GibbsSweep.of(table.names, table.domain, keys)


def test_keys_are_mixed_radix_numbers_of_the_key_columns() -> None:
    sweep = gibbs_sweep(schema(2, 3, 4), {"x0": ("x2", "x1"), "x2": ("x0",)})
    states = [np.array([0, 1]), np.array([2, 1]), np.array([3, 0])]
    assert sweep.keys_of(states).tolist() == [[3 * 3 + 2, 1], [0, 0], [0, 1]]
    assert sweep.n_keys == (12, 1, 2)
    assert sweep.keys == (("x2", "x1"), (), ("x0",))
    assert sweep.tables == ((2, 1, 0), (1,), (0, 2))


@given(seed=st.integers(0, 2**32), d=st.integers(1, 5))
def test_moved_keys_are_those_of_the_new_states(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, d).tolist()
    names = [f"x{j}" for j in range(d)]
    keys = {name: [one for one in names if one != name and rng.random() < 0.6] for name in names}
    sweep = gibbs_sweep(schema(*sizes), keys)
    states = [rng.integers(0, size, 7) for size in sizes]
    moving = sweep.keys_of(states)
    for column in rng.integers(0, d, 4).tolist():
        fresh = rng.integers(0, sizes[column], 7)
        sweep.move(moving, column, fresh - states[column])
        states[column] = fresh
        assert (moving == sweep.keys_of(states)).all()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"x0": ("y",)}, "'y'"),
        ({"y": ("x0",)}, "'y'"),
        ({"x0": ("x0",)}, "'x0'"),
        ({"x0": ("x1", "x1")}, "'x0'"),
    ],
)
def test_keys_that_are_none_are_refused(keys: dict[str, tuple[str, ...]], said: str) -> None:
    with pytest.raises(MethodError, match=said):
        gibbs_sweep(schema(2, 2), keys)


def test_keys_beyond_64_bits_are_refused() -> None:
    wide = schema(*[1000] * 8)
    with pytest.raises(MethodError, match="too many values"):
        gibbs_sweep(wide, {"x0": tuple(f"x{j}" for j in range(1, 8))})


def test_open_states_are_those_that_no_rule_forbids() -> None:
    boxes = (
        {0: frozenset({1}), 1: frozenset({0, 2})},
        {1: frozenset({1}), 2: frozenset({0}), 0: frozenset({0, 1})},
    )
    domain = Domain((2, 3, 2), boxes)
    allowed = np.argwhere(domain.allowed_mask())
    columns = [allowed[:, j] for j in range(3)]
    for j, size in enumerate(domain.sizes):
        mask = domain.open_states(j, columns)
        assert mask is not None
        for state in range(size):
            changed = [np.full(len(allowed), state) if i == j else columns[i] for i in range(3)]
            assert (mask[:, state] == ~domain.find_forbidden(changed)).all()
    assert Domain((2, 3)).open_states(0, columns[:2]) is None
