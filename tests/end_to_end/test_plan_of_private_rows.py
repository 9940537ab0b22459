"""A plan for a public number of rows says what a private one would give, and promise."""

import re

import pytest

import understudy as us

COLUMNS = """
[columns.a]
kind = "categorical"
levels = ["x", "y", "z"]
source = "codebook"
reviewed = true
"""
PUBLIC = us.Schema.loads('rows = "public"\nn_rows = 5000' + COLUMNS)
PRIVATE = us.Schema.loads('rows = "private"\nrow_limit = 5000' + COLUMNS)


def beside(schema, **asked):
    found = [text for text in us.plan(schema, **asked).remarks if 'rows = "private"' in text]
    assert len(found) <= 1
    return found[0] if found else ""


@pytest.mark.parametrize(("delta", "method"), [(0, "auto"), ("1e-6", "auto"), (0, "laplace")])
def test_both_noises_are_those_of_both_plans(delta, method):
    asked = {"epsilon": 1, "delta": delta, "method": method}
    there, here = re.findall(r"(?:of|has) ([\d.]+)", beside(PUBLIC, **asked))[:2]
    for text, schema in ((here, PUBLIC), (there, PRIVATE)):
        assert text == f"{us.plan(schema, **asked).tables[0].stddev:,.3g}"
    assert float(there) < float(here)


def test_nothing_is_said_where_rows_are_private_or_have_to_be_public():
    assert not beside(PRIVATE, epsilon=1)
    assert not beside(PUBLIC, epsilon=1, method="pmse", options={"mode": "paper"})
