"""Schema texts that several files of tests use; `pyproject.toml` puts them within reach."""

import json


def column(name, kind, **entries):
    """A reviewed column as TOML: `column("sex", "categorical", levels=["f", "m"])`.

    Days are given as text that TOML reads as a day: `lower=Day("2000-01-01")`.
    """
    told = {"kind": kind, **entries, "reviewed": True}
    lines = [f"{key} = {_toml(value)}" for key, value in told.items()]
    return "\n".join([f"[columns.{name}]", *lines, ""])


class Day(str):
    """A day, written without quotation marks."""


def _toml(value):
    return value if isinstance(value, Day) else json.dumps(value)


CITY = """
[columns.city]
kind = "categorical"
levels = ["Aa", "Bb", "Cc"]
source = "codebook"
reviewed = true
"""
AGE = """
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
source = "law"
reviewed = true
"""
MEMBER = """
[columns.member]
kind = "boolean"
source = "codebook"
reviewed = true
"""
PEOPLE = f"row_limit = 1000{CITY}{AGE}"

JOB_INCOME_MOOD = """
[columns.job]
kind = "categorical"
levels = ["none", "worker", "boss"]
reviewed = true
source = "codebook"
[columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = 8
decimals = 1
spikes = [0]
reviewed = true
source = "law"
[columns.mood]
kind = "ordinal"
levels = ["low", "fair", "high"]
missing = ["?"]
reviewed = true
source = "codebook"
"""
NO_INCOME_WITHOUT_JOB = """
[[forbidden]]
where = { job = "none", income = { lower = 50, upper = 100 } }
reviewed = true
source = "law"
"""
TWO_NUMBERS = """
[columns.x]
kind = "continuous"
lower = -5
upper = 5
bins = 32
reviewed = true
source = "judgement"
[columns.y]
kind = "continuous"
lower = -8
upper = 8
bins = 32
reviewed = true
source = "judgement"
"""
