"""Households as one wide table: made-up ones whose members stand in slots, and their schema.

A household has `size` members, at most so many as there are slots, and slot k is filled exactly if
size ≥ k. All columns of an empty slot hold the code "no such member". Children neither work nor
have an occupation nor finished schools; whoever does not work has no occupation. So most pairs of
columns share impossible combinations, and late slots are nearly always empty.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from understudy.schema import Schema

ABSENT = -1
"""Code of every column of a slot without a member."""
TRAITS = ("age", "sex", "school", "work", "job", "pay")
"""Columns of a member: levels are whole numbers, of which 0 stands for none, or too young."""
_LEVELS = {"sex": 2, "school": 8, "work": 4, "job": 8, "pay": 5}
_AGES = (0, 3, 6, 10, 16, 20, 25, 35, 45, 55, 65, 75, 85, 97)
_ADULT = 16
_CHILD, _WORKING = 0, 1


def households(
    n: int, *, seed: int, slots: int = 6, traits: tuple[str, ...] = TRAITS
) -> pl.DataFrame:
    """Made-up households, a row each, the oldest member first.

    Args:
        n: how many.
        seed: of chance.
        slots: most members.
        traits: columns of a member, some of `TRAITS`.
    """
    rng = np.random.default_rng(seed)
    share = 0.62 ** np.arange(slots) * np.r_[1.0, 1.6, 1.2, 1.4, np.ones(slots)][:slots]
    size = 1 + rng.choice(slots, n, p=share / share.sum())
    region, urban = rng.choice(9, n, p=np.arange(9, 0, -1) / 45), rng.random(n)
    wealth = rng.normal(0, 1, n) + 0.4 * (urban > 0.7)
    head = np.where(size > 2, rng.normal(42, 9, n), rng.normal(56, 18, n)).clip(18, 97)
    columns: dict[str, np.ndarray] = {
        "size": size,
        "region": region,
        "tenure": (wealth + rng.normal(0, 0.7, n) > [[-0.8], [0.2], [1.3]]).sum(0),
        "means": (wealth + 0.1 * size + rng.normal(0, 0.5, n) > [[-1], [-0.2], [0.6], [1.5]]).sum(
            0
        ),
    }
    ages = [head]
    for k in range(1, slots):
        partner = head - np.abs(rng.normal(0, 4, n))
        child = head - rng.normal(29, 5, n)
        ages.append(np.where((k == 1) & (rng.random(n) < 0.85), partner, child))
    age = np.where(np.arange(slots)[:, None] < size, np.clip(ages, 0, 97).astype(int), ABSENT)
    age = -np.sort(-age, axis=0)
    first_sex = rng.integers(0, 2, n)
    for k in range(slots):
        here, adult = age[k] != ABSENT, age[k] >= _ADULT
        tied = (k == 1) & adult & (rng.random(n) < 0.92)
        sex = np.where(tied, 1 - first_sex, first_sex if k == 0 else rng.integers(0, 2, n))
        learnt = wealth + 0.4 * (age[k] < 45) + rng.normal(0, 0.8, n)
        school = 1 + (learnt > np.linspace(-1.5, 2, 6)[:, None]).sum(0)
        retired = adult & (age[k] + rng.normal(0, 3, n) > 61)
        work = np.where(retired, 2, np.where(rng.random(n) < 0.72 + 0.08 * sex, _WORKING, 3))
        job = 1 + (school - 1 + rng.integers(-1, 2, n)).clip(0, 6)
        earned = 0.5 * wealth + 0.8 * (work == _WORKING) + 0.2 * school + rng.normal(0, 0.6, n)
        pay = 1 + (earned > [[0.4], [1.2], [2.1]]).sum(0)
        values = {
            "age": age[k],
            "sex": sex,
            "school": np.where(adult, school, 0),
            "work": np.where(adult, work, _CHILD),
            "job": np.where(adult & (work == _WORKING), job, 0),
            "pay": np.where(adult, pay, 0),
        }
        for name in traits:
            columns[f"{name}_{k + 1}"] = np.where(here, values[name], ABSENT)
    return pl.DataFrame(columns).cast(pl.Int64)


def household_schema(
    *,
    slots: int = 6,
    traits: tuple[str, ...] = TRAITS,
    absent_together: bool = False,
    cross: bool = False,
) -> Schema:
    """Their schema, the number of households private.

    Args:
        slots: most members.
        traits: columns of a member.
        absent_together: whether rules tie the columns of a slot to its first one, and that to the
            size, in place of each to the size.
        cross: whether slots are ordered too: nobody stands behind somebody much younger. Each pair
            of slots has rules of its own, so that no small tree holds all of them.
    """
    head = {"source": "made up", "reviewed": True}
    columns: dict[str, object] = {
        "size": {"kind": "ordinal", "levels": [*range(1, slots + 1)], **head},
        "region": {"kind": "categorical", "levels": [*range(9)], **head},
        "tenure": {"kind": "categorical", "levels": [*range(4)], **head},
        "means": {"kind": "ordinal", "levels": [*range(5)], **head},
    }
    rules: list[dict[str, object]] = []
    for k in range(1, slots + 1):
        for name in traits:
            own = {"not_applicable": [ABSENT], **head}
            columns[f"{name}_{k}"] = (
                {"kind": "integer", "lower": 0, "upper": 97, "bins": _AGES, **own}
                if name == "age"
                else {"kind": "categorical", "levels": [*range(_LEVELS[name])], **own}
            )
            rules += _absences(k, name, traits[0] if absent_together else "size", slots)
        rules += _of_children(k, traits)
        if cross:
            rules += _of_pairs(k)
    told = [{"where": rule, **head} for rule in rules]
    return Schema.model_validate({"rows": "private", "columns": columns, "forbidden": told})


def _absences(k: int, name: str, by: str, slots: int) -> list[dict[str, object]]:
    """A slot is empty exactly if the household is too small for it."""
    mine = f"{name}_{k}"
    filled: object = [*range(_LEVELS[name])] if name != "age" else {"lower": 0, "upper": 97}
    if by == "size" or name == by:
        small, large = [*range(1, k)], [*range(k, slots + 1)]
        found: list[dict[str, object]] = [{"size": large, mine: ABSENT}]
        return found + ([{"size": small, mine: filled}] if small else [])
    first = f"{by}_{k}"
    others: object = [*range(_LEVELS[by])] if by != "age" else {"lower": 0, "upper": 97}
    return [{first: ABSENT, mine: filled}, {first: others, mine: ABSENT}]


def _of_children(k: int, traits: tuple[str, ...]) -> list[dict[str, object]]:
    """Children have no school, work, job or pay; who does not work has no job, who does has one."""
    young, adult = {"lower": 0, "upper": 15}, {"lower": _ADULT, "upper": 97}
    rules: list[dict[str, object]] = []
    for name in [name for name in ("school", "work", "job", "pay") if name in traits]:
        some = [*range(1, _LEVELS[name])]
        if "age" in traits:
            rules.append({f"age_{k}": young, f"{name}_{k}": some})
            if name != "job":
                rules.append({f"age_{k}": adult, f"{name}_{k}": 0})
    if {"work", "job"} <= {*traits}:
        idle = [level for level in range(_LEVELS["work"]) if level != _WORKING]
        rules.append({f"work_{k}": idle, f"job_{k}": [*range(1, _LEVELS["job"])]})
        rules.append({f"work_{k}": _WORKING, f"job_{k}": 0})
    return rules


def _of_pairs(k: int) -> list[dict[str, object]]:
    """Nobody stands behind somebody who is younger by more than an age class."""
    starts, rules = _AGES[:-1], list[dict[str, object]]()
    for j in range(1, k):
        for place, start in enumerate(starts[:-2]):
            young = {"lower": start, "upper": starts[place + 1] - 1}
            rules.append({f"age_{j}": young, f"age_{k}": {"lower": starts[place + 2], "upper": 97}})
    return rules
