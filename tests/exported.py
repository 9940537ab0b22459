"""A release with every kind of column, labels and codes of absence, for tests of its exports."""

import numpy as np
import polars as pl

import understudy as us

SCHEMA = us.Schema.loads("""
title = "Little survey"
[columns.sex]
kind = "categorical"
levels = [2, 1]
missing = [9]
value_labels = { 1 = "male", 2 = "female", 9 = "refused" }
description = "Sex as registered"
source = "codebook"
reviewed = true
[columns.region]
kind = "categorical"
levels = ["n", "s", "=e"]
missing = ["x"]
value_labels = { n = "North", s = "South", "=e" = "East & <beyond>", x = "abroad" }
source = "codebook"
reviewed = true
[columns.'net income']
kind = "continuous"
lower = 0
upper = 1000
bins = 5
spikes = [0]
decimals = 2
not_applicable = [-7, -6]
missing = [-9, -8]
unit = "euro"
value_labels = { 0 = "none", -9 = "refused", -8 = "not known" }
description = "Income after tax"
source = "codebook"
reviewed = true
[columns.health]
kind = "ordinal"
levels = ["bad", "fair", "good"]
missing = ["", "refused"]
source = "codebook"
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
missing = ["refused", ""]
value_labels = { "" = "not asked" }
source = "codebook"
reviewed = true
[columns.born]
kind = "date"
lower = 1950-01-01
upper = 2000-12-31
missing = ["unknown"]
bins = 4
source = "codebook"
reviewed = true
[columns.member]
kind = "boolean"
missing = [9]
source = "codebook"
reviewed = true
[columns.moved]
kind = "date"
lower = 2020-01-01
upper = 2020-12-31
missing = [""]
bins = 4
source = "codebook"
reviewed = true
""")


def rows(n=200):
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "sex": rng.choice([1, 2, 9], n),
            "region": rng.choice(["n", "s", "=e", "x"], n),
            "net income": rng.choice([0.0, -9, -8, -7, -6, 12.5, 400.25], n),
            "health": rng.choice(["bad", "fair", "good", "refused", ""], n),
            "age": rng.choice(["12", "45", "refused", ""], n),
            "born": rng.choice(["1960-02-03", "1999-12-31", "unknown"], n),
            "member": rng.choice(["true", "false", "9"], n),
            "moved": rng.choice(["2020-02-03", "2020-12-31", ""], n),
        }
    )


def release(sets=1, schema=SCHEMA):
    return us.synthesize(rows(), schema, epsilon=50, sets=sets, method="independent")
