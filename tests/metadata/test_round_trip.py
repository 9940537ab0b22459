"""A schema written as DDI by a release, and read back as a codebook, gives the same columns."""

from types import SimpleNamespace

import understudy as us
from understudy.release.export_values import variables
from understudy.release.metadata import codebook_xml
from understudy.schema import Schema

SCHEMA = """
title = "People"
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
missing = ["", "9"]
not_applicable = ["8"]
value_labels = { f = "female", m = "male", 9 = "no answer", 8 = "not asked" }
description = "Sex of the respondent"
[columns.mood]
kind = "ordinal"
levels = ["bad", "so so", "good"]
out_of_domain = "other"
value_labels = { bad = "bad mood", "so so" = "so so mood", good = "good mood" }
[columns.job]
kind = "categorical"
levels = [1, 2, 10]
[columns.works]
kind = "boolean"
[columns.age]
kind = "integer"
lower = 0
upper = 120
missing = [999]
value_labels = { 999 = "refused" }
[columns.income]
kind = "continuous"
lower = 0
upper = 1000.5
decimals = 2
spikes = [0]
value_labels = { 0 = "none" }
[columns.born]
kind = "date"
lower = 1900-01-01
upper = 2024-12-31
"""


def told(column):
    """What DDI can say of a column."""
    levels = [str(level) for level in getattr(column, "levels", ())]
    bounds = (getattr(column, "lower", None), getattr(column, "upper", None))
    spikes = tuple(map(float, getattr(column, "spikes", ())))
    codes = [[str(code) for code in some] for some in (column.missing, column.not_applicable)]
    entries = (column.description, column.value_labels, column.out_of_domain)
    return column.kind, levels, bounds, spikes, codes, entries


def test_a_schema_comes_back_from_the_ddi_of_its_release(tmp_path):
    schema = Schema.loads(SCHEMA)
    guarantee = SimpleNamespace(statement="not private", epsilon=None)
    manifest = SimpleNamespace(
        sets=2,
        n_rows=10,
        method="laplace",
        software={},
        guarantee=guarantee,
        promised_size=None,
        created=None,
    )
    path = tmp_path / "codebook.xml"
    text = codebook_xml(manifest, schema, variables(schema))
    path.write_text(text, encoding="utf-8")
    book = us.read_codebook(path)
    assert book.title == "People"
    assert not book.told
    assert not book.asked
    assert {name: told(one) for name, one in book.columns.items()} == {
        name: told(one) for name, one in schema.declared.items()
    }
    marked = {name for name, column in book.columns.items() if column.drafted}
    assert marked == {"job", "age", "income", "born"}, "bare codes and bounds may be observed ones"
