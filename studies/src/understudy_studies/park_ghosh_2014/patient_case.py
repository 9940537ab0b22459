"""What a table brings to be compared on: rows, a public order, regressions, an intruder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Schema
from understudy_studies.park_ghosh_2014 import hospital, population

DISCHARGES, INPATIENTS = "simulated discharges", "diabetic inpatients"

Values = NDArray[np.float64]
States = NDArray[np.int64]


@dataclass(frozen=True)
class Term:
    """A number in a regression, read off one column.

    Attributes:
        words: its name for people.
        column: the column.
        numbers: number of each state, NaN where there is none; records with one are left out.
    """

    words: str
    column: str
    numbers: Values

    def of(self, case: Case, states: States) -> Values:
        """The numbers of records, shape (n,)."""
        return np.asarray(self.numbers[states[case.place(self.column)]])


@dataclass(frozen=True)
class Regression:
    """A regression of one number on others, with an intercept.

    Attributes:
        name: short name.
        outcome: what is explained; 0 and 1 if binary.
        terms: what explains it.
        binary: whether it is a logistic regression, or least squares.
    """

    name: str
    outcome: Term
    terms: tuple[Term, ...]
    binary: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, the intercept first."""
        return "intercept", *(term.words for term in self.terms)


@dataclass(frozen=True)
class Intruder:
    """Who attacks the synthetic records, and for what.

    Attributes:
        keys: columns that he knows of somebody.
        levels: the column whose level he guesses by the most frequent one.
        number: the number that he guesses by the mean.
        unique: columns by which he looks for records that occur once.
        unit: of the number.
    """

    keys: tuple[str, ...]
    levels: str
    number: Term
    unique: tuple[str, ...]
    unit: str


@dataclass(frozen=True)
class Case:
    """A table that methods are compared on.

    Attributes:
        name: short name.
        schema: its public schema, with a private number of rows; all columns have levels.
        people: gives the states of all records, those of the table first, shape (d, N).
        n_rows: how many of them are in the table.
        order: columns, the most telling first by what is publicly known.
        given: columns that distributions are compared given.
        histograms: columns that are drawn as histograms.
        logistic: a logistic regression.
        linear: a linear regression.
        intruder: the attack.
        words: what the table is.
    """

    name: str
    schema: Schema
    people: Callable[[], States]
    n_rows: int
    order: tuple[str, ...]
    given: tuple[str, str]
    histograms: tuple[str, str]
    logistic: Regression
    linear: Regression
    intruder: Intruder
    words: str

    def place(self, column: str) -> int:
        """Place of a column."""
        return self.schema.names.index(column)

    def places(self, columns: Sequence[str]) -> tuple[int, ...]:
        """Places of columns."""
        return tuple(self.place(column) for column in columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each column."""
        return self.schema.domain.sizes

    @property
    def table(self) -> States:
        """States of the rows, shape (d, n)."""
        return self.people()[:, : self.n_rows]

    @property
    def control(self) -> States:
        """States of people of the same population who are not in the table, shape (d, n')."""
        return self.people()[:, self.n_rows :]


@cache
def find(name: str) -> Case:
    """The case of this name, `DISCHARGES` or `INPATIENTS`."""
    return _discharges() if name == DISCHARGES else _inpatients()


def _discharges() -> Case:
    schema = population.schema()
    age = Term("age, by 10 years", "age", population.AGES / 10)
    female = _flag(schema, "female", "sex", ("female",), unknown=("unknown",))
    stay = Term("days", "los", population.STAYS)
    severity = Term("severity", "sev", np.arange(3.0))
    surgical = _flag(schema, "surgical", "cat", ("surgical",))
    medicare = _flag(schema, "Medicare", "pay", ("Medicare",))
    charge = Term("charge, by $10,000", "charge", population.CHARGES / 10)
    return Case(
        name=DISCHARGES,
        schema=schema,
        people=population.discharges,
        n_rows=population.N_ROWS,
        order=("MDC", "age", "cat", "sev", "typ", "charge", "los", "sex", "pay", "ethncty"),
        given=("age", "patzip"),
        histograms=("charge", "age"),
        logistic=Regression(
            "logistic", surgical, (age, female, stay, severity, medicare, charge), binary=True
        ),
        linear=Regression(
            "linear", charge, (age, female, stay, severity, medicare, surgical), binary=False
        ),
        intruder=Intruder(
            keys=("age", "sex", "los", "patzip"),
            levels="MDC",
            number=Term("charge", "charge", population.CHARGES),
            unique=("age", "sex", "patzip"),
            unit="thousand dollars",
        ),
        words=population.WORDS,
    )


def _inpatients() -> Case:
    schema = hospital.schema()
    age = Term("age, by 10 years", "age", hospital.AGES / 10)
    female = _flag(schema, "female", "gender", ("Female",), unknown=("Unknown/Invalid",))
    stay = Term("days", "time_in_hospital", hospital.STAYS)
    emergency = _flag(schema, "emergency", "admission_type_id", ("1",))
    insulin = _flag(schema, "insulin", "insulin", ("Steady", "Up", "Down"))
    tested = _flag(schema, "A1C taken", "A1Cresult", ("Norm", ">7", ">8"))
    home = _flag(schema, "sent home", "discharge_disposition_id", ("1",))
    again = _flag(schema, "readmitted", "readmitted", ("<30", ">30"))
    return Case(
        name=INPATIENTS,
        schema=schema,
        people=hospital.inpatients,
        n_rows=hospital.N_ROWS,
        order=("diag_1", "age", "admission_type_id", "insulin", "readmitted", "time_in_hospital",
               "discharge_disposition_id", "admission_source_id", "A1Cresult"),
        given=("age", "payer_code"),
        histograms=("time_in_hospital", "age"),
        logistic=Regression(
            "logistic", again, (age, female, stay, emergency, insulin, tested, home), binary=True
        ),
        linear=Regression(
            "linear", stay, (age, female, emergency, insulin, tested, home), binary=False
        ),
        intruder=Intruder(
            keys=("age", "gender", "race", "payer_code"),
            levels="diag_1",
            number=Term("length of stay", "time_in_hospital", hospital.STAYS),
            unique=("age", "gender", "payer_code"),
            unit="days",
        ),
        words=hospital.WORDS,
    )  # fmt: skip


def _flag(
    schema: Schema, words: str, column: str, ones: tuple[str, ...], unknown: tuple[str, ...] = ()
) -> Term:
    """1 at some levels, NaN at those that say nothing, 0 at all others."""
    levels = [str(level) for level in getattr(schema.columns[column], "levels", ())]
    numbers = [np.nan if one in unknown else float(one in ones) for one in levels]
    return Term(words, column, np.array(numbers))
