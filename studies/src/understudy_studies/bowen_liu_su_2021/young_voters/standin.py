"""Real rows in place of the paper's: a public sample of the same survey, kept outside this house.

`cps_voting_10k` is a small sample of the Current Population Survey's Voting and Registration
Supplements 1994-2018, as packaged by Reed College's Early Voting Information Center (R package
cpsvote): 5,497 adults of all ages whose answer on voting is known. It lacks family income,
preregistration laws and much else of the paper's file, and it is much smaller. Eleven columns are
taken or derived so that the table has about as many cells, 1,053,000.

Where the file is not at hand, the study that needs it says so and does nothing.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl

from understudy.schema import Schema
from understudy_studies.framework import public_files

WORDS = (
    "Real rows: 5,497 adults of the Current Population Survey's Voting and Registration "
    "Supplements 1994-2018, a public sample of the survey that the paper used. Eleven columns, "
    "1,053,000 cells that can occur. It has no preregistration laws and no income; the third "
    "column of STEPS-3, and the exposure of the regression, is whether someone is Hispanic."
)

DIVISIONS = {
    "New England": "CT ME MA NH RI VT",
    "Middle Atlantic": "NJ NY PA",
    "East North Central": "IL IN MI OH WI",
    "West North Central": "IA KS MN MO NE ND SD",
    "South Atlantic": "DE DC FL GA MD NC SC VA WV",
    "East South Central": "AL KY MS TN",
    "West South Central": "AR LA OK TX",
    "Mountain": "AZ CO ID MT NV NM UT WY",
    "Pacific": "AK CA HI OR WA",
}
"""Census divisions and their states."""


@cache
def schema() -> Schema:
    """The public schema: 11 columns."""
    return Schema.loads((files(__package__) / "standin.toml").read_text(encoding="utf-8"))


def path() -> Path:
    """Where the file is looked for."""
    return public_files.path("cps_voting_10k", "cps_voting_10k.csv")


def require() -> None:
    """See that the file is at hand.

    Raises:
        StudyError: it is not.
    """
    public_files.require(path(), instead="steps-voter")


@cache
def rows() -> pl.DataFrame:
    """The rows, by the columns of the schema.

    Raises:
        StudyError: the file is not at hand.
    """
    require()
    raw = pl.read_csv(path(), infer_schema_length=0)
    division = {state: name for name, states in DIVISIONS.items() for state in states.split()}
    return raw.select(
        voted=_yes("Voted"),
        registered=_yes("Registered"),
        college=_yes("College"),
        female=_yes("Sex", "FEMALE"),
        hispanic=_yes("Hispanic", "HISPANIC"),
        dmv=_yes("RegistrationMethod", "DMV"),
        race=pl.col("Race"),
        residence=pl.col("LengthOfResidence").fill_null("unknown"),
        age=pl.col("Age").cast(pl.Int64).clip(18, 89),
        year=pl.col("Year").cast(pl.Int64),
        division=pl.col("State").replace_strict(division),
    )


def _yes(column: str, level: str = "YES") -> pl.Expr:
    return pl.when(pl.col(column) == level).then(pl.lit("yes")).otherwise(pl.lit("no"))
