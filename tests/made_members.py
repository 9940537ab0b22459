"""Made-up households with their members, as two tables, and a schema of both tables."""

from __future__ import annotations

import numpy as np
import polars as pl

SCHEMA = """
title = "Living conditions, made up"
[unit]
table = "household"
description = "a household with all its members"

[tables.household]
key = "hid"
[tables.household.columns.region]
kind = "categorical"
levels = ["north", "south"]
source = "questionnaire"
reviewed = true
[tables.household.columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = 4
decimals = 0
source = "questionnaire"
reviewed = true

[tables.person]
of = "household"
key = "hid"
rows_per_unit = 3
order = ["role", "-age"]
source = "questionnaire: three sheets"
reviewed = true
[tables.person.columns.role]
kind = "ordinal"
levels = ["reference", "partner", "child"]
source = "questionnaire"
reviewed = true
[tables.person.columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 16, 30, 50, 99]
source = "questionnaire"
reviewed = true
[tables.person.columns.work]
kind = "boolean"
missing = [""]
source = "questionnaire"
reviewed = true
"""
RULES = """
[[tables.person.forbidden]]
where = { age = { lower = 0, upper = 15 }, work = true }
source = "law"
reviewed = true
[[tables.person.rules]]
exactly = 1
where = { role = "reference" }
source = "questionnaire"
reviewed = true
[[tables.person.rules]]
at_most = 1
where = { role = "partner" }
source = "questionnaire"
reviewed = true
[[tables.person.rules]]
between = { role = ["reference", "child"] }
inequality = "reference.age >= child.age + 14"
source = "questionnaire"
reviewed = true
"""


def tables(n: int, *, seed: int, most: int = 5) -> dict[str, pl.DataFrame]:
    """Households that keep to all rules, a table of them and one of their members.

    Args:
        n: how many households.
        seed: of chance.
        most: members of the largest.
    """
    rng = np.random.default_rng(seed)
    homes, people = [], []
    for key in rng.permutation(10 * n)[:n].tolist():
        older = int(rng.integers(30, 90))
        members = [("reference", older)]
        if rng.random() < 0.5 and most > 1:
            members.append(("partner", int(rng.integers(20, 90))))
        while len(members) < most and rng.random() < 0.5:
            members.append(("child", int(rng.integers(0, older - 14))))
        homes.append((key, ["north", "south"][older % 2], float(rng.integers(0, 101))))
        for role, age in members:
            works = None if rng.random() < 0.05 else bool(age > 15 and rng.random() < 0.6)
            people.append((key, role, age, works))
    schema = ["hid", "role", "age", "work"]
    order = rng.permutation(len(people))
    return {
        "household": pl.DataFrame(homes, schema=["hid", "region", "income"], orient="row"),
        "person": pl.DataFrame(people, schema=schema, orient="row")[order],
    }
