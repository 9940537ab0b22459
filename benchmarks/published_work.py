"""Work that published methods do as well: models of rows from populations with known truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from populations import SIZE, Population, levels, number, truth_value


@dataclass(frozen=True)
class Work:
    """One model, asked of rows of one population.

    Attributes:
        title: in the table.
        population: whose coefficients are the truth.
        kind: "ols" or "logit".
        formula: outcome first.
        epsilon: with δ = 10⁻⁶.
        marginals: columns that NAPSU-MQ measures together.
        intercept: whether BinAgg gets a column of ones.
    """

    title: str
    population: Population
    kind: str
    formula: str
    epsilon: float = 1.0
    marginals: tuple[tuple[str, ...], ...] = ()
    intercept: bool = True

    @property
    def rows(self) -> str:
        """Whether a record is replaced ("public"), or more or less."""
        return "public" if self.marginals else "private"

    @property
    def columns(self) -> list[str]:
        """Predictors in their order, and the outcome."""
        outcome, _, terms = self.formula.partition(" ~ ")
        return [*terms.split(" + "), outcome]


def linear() -> Iterator[Work]:
    """Pay with a mean that is linear in four numbers, and a spread that grows with it."""
    rng = np.random.default_rng(1)
    age, school = rng.integers(18, 91, SIZE), np.clip(np.rint(rng.normal(12, 3, SIZE)), 6, 20)
    man, hours = rng.integers(0, 2, SIZE), np.clip(np.rint(rng.normal(35, 12, SIZE)), 0, 80)
    mean = 5 + 0.2 * age + school + 4 * man + 0.2 * hours
    pay = mean * 4 * rng.beta(2, 6, SIZE)  # at most 4 · 63, so that no bound cuts it
    people = pl.DataFrame({"age": age, "school": school, "man": man, "hours": hours})
    people = people.cast(pl.Int64).with_columns(pay=pay)
    bounds = {"age": (18, 90), "school": (6, 20), "man": (0, 1), "hours": (0, 80)}
    columns = {name: number(*ends) for name, ends in bounds.items()}
    columns["pay"] = number(0, 260, kind="continuous")
    for k in (1, 2, 4):
        names = list(bounds)[:k]
        used = people.select([*names, "pay"])
        whole = Population(used, {"columns": {name: columns[name] for name in used.columns}})
        yield Work(f"pay, {k} predictors", whole, "ols", "pay ~ " + " + ".join(names))


def own() -> Iterator[Work]:
    """The setting of the paper of BinAgg."""
    rng = np.random.default_rng(42)
    x, names = rng.random((SIZE, 5)), [f"x{k}" for k in range(1, 6)]
    y = np.clip(x @ rng.uniform(1, 2, 5) + rng.normal(size=SIZE), 0, 7)
    people = pl.DataFrame({name: x[:, k] for k, name in enumerate(names)} | {"y": y})
    columns = {name: number(0, 1, kind="continuous") for name in names}
    whole = Population(people, {"columns": columns | {"y": number(0, 7, kind="continuous")}})
    model = "y ~ " + " + ".join(names)
    yield Work("their setting", whole, "ols", model, epsilon=4.8865, intercept=False)


def cells() -> Iterator[Work]:
    """Two logit models of truth values, the first that of the paper, and a linear one."""
    rng = np.random.default_rng(1)
    for slopes in ([1.0, 0.0], [1.0, 0.0, 0.5, -1.0]):
        names = list("abcd")[: len(slopes)]
        x = rng.random((SIZE, len(slopes))) < 0.5
        y = rng.random(SIZE) < 1 / (1 + np.exp(-(x.astype(float) @ np.array(slopes))))
        people = pl.DataFrame({name: x[:, k] for k, name in enumerate(names)} | {"y": y})
        declared = {"columns": {name: truth_value() for name in people.columns}}
        model, marginals = "y ~ " + " + ".join(names), (tuple(people.columns),)
        title = f"logit, {len(slopes)} of two levels"
        whole = Population(people, declared)
        yield Work(title, whole, "logit", model, marginals=marginals)
    region, works = rng.choice(3, SIZE, p=[0.5, 0.3, 0.2]), rng.random(SIZE) < 0.6
    man, trust = rng.random(SIZE) < 0.5, rng.normal(2.6, 1, SIZE)
    score = np.clip(np.rint(trust + 0.4 * works + 0.3 * region - 0.2 * man), 1, 5).astype(int)
    region = np.array(["a", "b", "c"])[region]
    people = pl.DataFrame({"region": region, "man": man, "works": works, "score": score})
    columns = {"region": levels("a", "b", "c"), "man": truth_value(), "works": truth_value()}
    whole = Population(
        people, {"columns": columns | {"score": levels(*range(1, 6), kind="ordinal")}}
    )
    predictors = ("region", "man", "works")
    marginals = (predictors, *((name, "score") for name in predictors))
    model = "score ~ region + man + works"
    yield Work("linear, five levels", whole, "ols", model, marginals=marginals)


WORK: dict[str, Callable[[], Iterator[Work]]] = {"linear": linear, "own": own, "cells": cells}
