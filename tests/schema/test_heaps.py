"""Heaps: which class a number is of, by its value alone, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.schema import Schema

WHOLE = "[columns.x]\nkind = 'integer'\nlower = -50\nupper = 1000\n"
REAL = "[columns.x]\nkind = 'continuous'\nlower = 0\nupper = 1000\n"


def column(text):
    return Schema.loads(text).columns["x"]


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.integers(2, 60), unique=True, min_size=1, max_size=4),
    st.lists(st.integers(-50, 1000), min_size=1, max_size=50),
)
def test_the_first_heap_that_divides_a_number_has_it(heaps, numbers):
    try:
        own = column(f"{WHOLE}heaps = {heaps}").roundings
    except SchemaError:  # one has no number of its own
        return
    slow = [next((k for k, h in enumerate(heaps) if x % h == 0), len(heaps)) for x in numbers]
    assert own.classes(np.array(numbers, dtype=float)).tolist() == slow


def test_heaps_begin_where_it_is_said_and_are_met_as_nearly_as_32_bits_tell():
    own = column(f"{REAL}decimals = 2\nheaps = [1, {{ every = 1, at = 0.99 }}, 0.5]").roundings
    numbers = np.array([0, 4.99, 5.5, 5.25, 999.99, 999.98, 7 * 0.1 * 10, 1000])
    assert own.classes(numbers).tolist() == [0, 1, 2, 3, 1, 3, 0, 0]
    short = numbers.astype(np.float32).astype(float)
    assert own.classes(short).tolist() == own.classes(numbers).tolist()


def test_lengths_of_time_are_heaps_of_times():
    times = Schema.loads(
        """
        [columns.at]
        kind = "time"
        resolution = "minute"
        heaps = ["PT1H", "PT15M"]
        [columns.day]
        kind = "date"
        lower = 2024-01-01
        upper = 2024-12-31
        heaps = [{ every = "P7D", at = 2024-01-01 }]
        [columns.stay]
        kind = "duration"
        lower = "PT0H"
        upper = "P30D"
        resolution = "hour"
        heaps = ["P7D", "P1D"]
        """
    ).columns
    assert times["at"].roundings.classes(np.array([60.0, 75, 76])).tolist() == [0, 1, 2]
    monday = times["day"].position("2024-03-04")
    assert times["day"].roundings.classes(np.array([monday, monday + 1])).tolist() == [0, 1]
    assert times["stay"].roundings.classes(np.array([168.0, 24, 1])).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{WHOLE}heaps = [10, 20]", "heap 20 has no number of its own"),
        (f"{WHOLE}heaps = [10, 10]", "heap 10 has no number of its own"),
        (f"{WHOLE}heaps = [{{ every = 5000, at = 2000 }}]", "heap 5000 has no number of its own"),
        (f"{WHOLE}heaps = [0]", "must be above 0"),
        (f"{WHOLE}heaps = [-5]", "must be above 0"),
        (f"{WHOLE}heaps = [1]", "every value of the column"),
        (f"{WHOLE}heaps = [2.5]", "does not lie on the values"),
        (f"{WHOLE}heaps = ['often']", "'often' is no number"),
        (f"{WHOLE}heaps = [{{ every = 5, at = 'noon' }}]", "'noon' is no value of the column"),
        (f"{WHOLE}heaps = [{{ every = 5 }}]", "heaps: must be a list of distances"),
        (f"{WHOLE}heaps = 5", "heaps: must be a list of distances"),
        (f"{WHOLE}heaps = {list(range(2, 11))}", "at most 8"),
        (f"{REAL}heaps = [0.0001]", "finer than numbers up to 1000 can be told apart"),
        ("[columns.x]\nkind = 'time'\nheaps = [15]", "'15' is no length of whole units"),
        (
            "[columns.x]\nkind = 'time'\nresolution = 'hour'\nheaps = ['PT15M']",
            "no length of whole",
        ),
        (f"{WHOLE}heaps = [5]\nderived = 'y * 2'\n[columns.y]\nkind='boolean'", "derived column"),
    ],
)
def test_what_cannot_be_a_heap_is_refused_in_a_sentence(text, said):
    with pytest.raises(SchemaError, match="x") as error:
        Schema.loads(text)
    assert said in str(error.value)


def test_a_schema_with_heaps_is_written_and_read_again():
    text = f"{REAL}decimals = 2\nheaps = [10, {{ every = 1, at = 0.99 }}]\n"
    schema = Schema.loads(text)
    again = Schema.loads(schema.dumps())
    assert again == schema
    assert again.columns["x"].roundings == schema.columns["x"].roundings
