"""The release that the R package carries: made of rows that were invented here, with secure noise.

Run by the Python that has Understudy, in the folder `r`: python data-raw/example.py
"""

import shutil
from pathlib import Path

import numpy as np
import polars as pl

import understudy as us

SCHEMA = us.Schema.loads("""
title = "Example: a survey of 2,000 invented people"
rows = "public"
n_rows = 2000
[columns.sex]
kind = "categorical"
levels = [1, 2]
value_labels = { 1 = "man", 2 = "woman" }
description = "Sex"
source = "questionnaire"
reviewed = true
[columns.works]
kind = "boolean"
description = "In paid work last week"
source = "questionnaire"
reviewed = true
[columns.health]
kind = "ordinal"
levels = [1, 2, 3]
missing = [9]
value_labels = { 1 = "bad", 2 = "fair", 3 = "good", 9 = "refused" }
description = "General health"
source = "questionnaire"
reviewed = true
[columns.rooms]
kind = "integer"
lower = 1
upper = 6
missing = [-9]
value_labels = { -9 = "not known" }
description = "Rooms of the dwelling"
source = "questionnaire"
reviewed = true
""")


def main() -> None:
    """Invent the rows and write the release anew."""
    rng = np.random.default_rng(2026)
    n = 2_000
    sex = rng.integers(1, 3, n)
    works = rng.random(n) < np.where(sex == 1, 0.7, 0.6)
    health = np.where(rng.random(n) < 0.04, 9, 1 + rng.binomial(2, np.where(works, 0.8, 0.6)))
    rooms = np.where(rng.random(n) < 0.05, -9, 1 + rng.binomial(5, np.where(works, 0.5, 0.4)))
    rows = pl.DataFrame({"sex": sex, "works": works, "health": health, "rooms": rooms})
    place = Path("inst/extdata/example")
    shutil.rmtree(place, ignore_errors=True)
    options = {"sets": "split"}
    release = us.synthesize(
        rows, SCHEMA, epsilon=4, delta=1e-9, method="mst", sets=3, options=options
    )
    release.save(place)


main()
