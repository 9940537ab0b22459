"""Populations for questions that are real tables, or have many columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from made_population import CODEBOOK, Population, Table, levels, number
from understudy.demo import demo_data, demo_schema

N_LEVELS, N_NUMBERS = 20, 15
_SIZES = (2, 2, 3, 2, 4, 2, 5, 2, 3, 2, 2, 4, 2, 3, 2, 5, 2, 2, 4, 3)
_EDGES = (0, 20, 40, 60, 80, 100)


def demo(_: np.random.Generator) -> Population:
    """The survey of `make demo`: its rows are the population."""
    declared = demo_schema().model_dump(exclude_none=True, exclude={"rows", "row_limit"})
    return Population(pl.from_pandas(demo_data()), declared)


def wide(rng: np.random.Generator, size: int = 200_000) -> Population:
    """Twenty columns of levels and fifteen of numbers, by four traits; absences in half of them."""
    traits, people, columns = rng.normal(size=(size, 4)), dict[str, pl.Series](), Table()
    for j, n_levels in enumerate(_SIZES):
        trait = traits[:, j % 4] * (0.3, 0.8)[j // 4 % 2] + rng.normal(size=size)
        edges = np.quantile(trait, np.linspace(0, 1, n_levels + 1)[1:-1])
        names = np.array([*(f"l{k}" for k in range(n_levels)), "?"])
        coded = j % 3 == 0
        absent = coded & (rng.random(size) < 0.05)
        states = np.where(absent, n_levels, np.searchsorted(edges, trait))
        people[f"c{j}"] = pl.Series(names[states])
        columns[f"c{j}"] = levels(*names[:-1], **({"missing": ["?"]} if coded else {}))
    for j in range(N_NUMBERS):
        trait, coded = traits[:, j % 4] * 0.7 + rng.normal(size=size), j % 2 == 0
        values = np.clip(np.rint(50 + 15 * trait if j % 3 else np.exp(2 + 0.8 * trait)), 0, 100)
        absent = coded & (rng.random(size) < 0.06)
        people[f"x{j}"] = pl.Series(np.where(absent, -9, values).astype(int))
        columns[f"x{j}"] = number(0, 100, *_EDGES, **({"missing": [-9]} if coded else {}))
    return Population(pl.DataFrame(people), {"columns": columns})


KNOWN = {
    "adult": ("adult_mixed/adult_mixed.csv.gz", ()),
    "discharges": (
        "hospital_diabetes130/hospital_diabetes130.parquet",
        (
            *("race", "gender", "age", "admission_type_id", "discharge_disposition_id"),
            *("admission_source_id", "time_in_hospital", "payer_code", "medical_specialty"),
            *("num_lab_procedures", "num_procedures", "num_medications", "number_emergency"),
            *("number_inpatient", "diag_1", "number_diagnoses", "A1Cresult", "insulin"),
            "readmitted",
        ),
    ),
    "labour": (
        "nist_acs_national2019/nist_acs_national2019.csv",
        (
            *("AGEP", "SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "PINCP"),
            *("POVPIP", "DVET", "DREM", "DPHY", "DEYE", "DEAR"),
        ),
    ),
}
"""Name of a real table → its file in a folder of tables, and the columns taken; () for all."""


def known_table(folder: Path, name: str) -> Population:
    """A real table with raw numbers: its rows are the population; of the labour force, adults.

    Args:
        folder: that has a folder for each table, with the table and its `domain.json`.
        name: one of `KNOWN`.
    """
    path, columns = KNOWN[name]
    file = folder / path
    domain = json.loads((file.parent / "domain.json").read_text(encoding="utf-8"))
    chosen = columns or tuple(column for column in domain if column != "fnlwgt")
    if file.suffix == ".parquet":
        people = pl.read_parquet(file, columns=list(chosen))
    else:
        people = pl.read_csv(file, columns=list(chosen), infer_schema_length=0)
    numbers = [column for column in chosen if domain[column]["type"] == "numeric"]
    people = people.with_columns(pl.col(numbers).cast(pl.Float64).cast(pl.Int64))
    if name == "labour":
        people = people.filter(pl.col("AGEP") >= 18, pl.col("PINCP").is_not_null())
        people = people.with_columns(pl.col("POVPIP").fill_null(-1))
    return Population(people, {"columns": {k: _declared(domain[k]) for k in chosen}})


def _declared(column: Table) -> Table:
    """A column in the words of a schema."""
    if column["type"] == "numeric":
        absent = {"missing": [-1]} if column["lower"] == 0 and column.get("nullable") else {}
        return number(column["lower"], column["upper"], **absent)
    absent_levels = [level for level in column["levels"] if level == "?"]
    known = [level for level in column["levels"] if level != "?"]
    return {"kind": "categorical", "levels": known, "missing": absent_levels} | CODEBOOK
