"""What codes stand for: labels of levels, spikes and codes of absence."""

import pytest

from understudy.errors import SchemaError
from understudy.schema import Schema

SURVEY = """
[columns.sex]
kind = "categorical"
levels = [1, 2]
missing = [9]
value_labels = { 1 = "male", 2 = "female", 9 = "refused" }
source = "codebook"
reviewed = true

[columns.income]
kind = "integer"
lower = 0
upper = 100
spikes = [0]
missing = [-9, ""]
value_labels = { 0 = "none", -9 = "refused", "" = "no answer" }
source = "codebook"
reviewed = true
"""


def test_labels_come_back_from_text():
    schema = Schema.loads(SURVEY)
    assert schema.columns["income"].value_labels[""] == "no answer"
    assert Schema.loads(schema.dumps()) == schema
    assert 'value_labels = { 1 = "male", 2 = "female", 9 = "refused" }' in schema.dumps()


def test_many_labels_have_a_table_of_their_own():
    levels = list(range(50))
    labels = "\n".join(f'{level} = "label of {level}"' for level in levels)
    schema = Schema.loads(
        f'[columns.x]\nkind = "categorical"\nlevels = {levels}\n[columns.x.value_labels]\n{labels}'
    )
    assert "[columns.x.value_labels]" in schema.dumps()
    assert Schema.loads(schema.dumps()) == schema


def test_what_is_no_value_of_the_column_has_no_label():
    with pytest.raises(SchemaError, match=r"(?s)sex.*value_labels.*'3'.*no level, spike or code"):
        Schema.loads(SURVEY.replace('2 = "female"', '3 = "female"'))


def test_a_label_that_was_read_is_left_as_drafted_until_it_is_confirmed():
    drafted = Schema.loads(SURVEY).columns["sex"]
    drafted = drafted.model_copy(update={"drafted": drafted.fingerprints()})
    assert "value_labels" in drafted.left_as_drafted
    other = drafted.model_copy(update={"value_labels": {"1": "men", "2": "women"}})
    assert "value_labels" not in other.left_as_drafted
    confirmed = drafted.model_copy(update={"confirmed": {"value_labels": "codebook, page 3"}})
    assert "value_labels" not in confirmed.left_as_drafted


def test_labels_stay_where_bins_change():
    schema = Schema.loads(SURVEY).with_bins({"income": 5})
    assert schema.columns["income"].value_labels["0"] == "none"
