"""What a column becomes of what a codebook says: lists, lines, codes of absence, what is asked."""

import datetime

import pytest

from understudy.metadata.codebook import Codebook
from understudy.metadata.variables import CodedValue, Variable


def book_of(**said):
    return Codebook.of("Book", "book.xml", [Variable("x", **said)])


def column_of(**said):
    return book_of(**said).columns["x"]


def coded(*texts, **said):
    return tuple(CodedValue(text, f"label of {text}", **said) for text in texts)


def test_labelled_codes_are_the_levels():
    assert column_of(values=coded("1", "2")).levels == (1, 2)
    assert column_of(values=coded("1", "2"), ordered=True).kind == "ordinal"
    assert column_of(values=coded("1", "2"), value_type="text").levels == ("1", "2")


def test_leading_zeros_are_kept_unless_the_values_are_numbers():
    assert column_of(values=coded("01", "10")).levels == ("01", "10")
    assert column_of(values=coded("01", "10"), value_type="integer").levels == (1, 10)


@pytest.mark.parametrize("values", [coded("true", "false"), coded("FALSE", "TRUE")])
def test_true_and_false_are_boolean(values):
    assert column_of(values=values).kind == "boolean"


def test_codes_of_a_range_of_missing_ones_are_missing():
    column = column_of(values=coded("1", "2", "97"), absent_ranges=(("97", "99"),))
    assert column.levels == (1, 2)
    assert column.missing == (97, 98, 99)
    # Of an open range, only listed codes are known.
    column = column_of(values=coded("1", "2", "-5"), absent_ranges=(("", "-1"),))
    assert (column.levels, column.missing) == ((1, 2), (-5,))


def test_a_line_takes_labelled_values_as_spikes_and_far_ones_as_absent():
    book = book_of(lower="1", upper="97", values=coded("0", "98", "999"), value_type="integer")
    column = book.columns["x"]
    assert (column.lower, column.upper, column.spikes, column.missing) == (0, 98, (0, 98), (999,))
    assert set(column.value_labels) == {"0", "98", "999"}
    assert "far from its range" in book.notes["x"]
    few = column_of(lower="0", upper="10", values=coded("0", "10"), on_a_scale=True)
    assert (few.kind, few.spikes, few.value_labels) == ("integer", (), {})


def test_a_range_from_code_to_code_is_that_of_a_list():
    assert column_of(lower="1", upper="9", values=coded("1", "2", "9")).levels == (1, 2, 9)
    assert column_of(lower="1", upper="9", values=coded("1", "2", "8")).kind == "integer"


def test_a_scale_has_the_ends_that_its_label_says():
    label = "How satisfied are you, from 0 (not at all) to 10?"
    book = book_of(label=label, values=(*coded("0", "10"), *coded("99")))
    column = book.columns["x"]
    assert (column.lower, column.upper, column.missing, column.drafted) == (0, 10, (99,), {})
    assert "its label says 0 to 10" in book.notes["x"]
    assert column_of(label="1-3", values=coded("1", "2", "3")).levels == (1, 2, 3)
    assert book_of(label="pay 2019-2020").asked["x"].needed == ("kind",)


def test_words_beside_a_range_are_codes_of_absence():
    column = column_of(lower="0", upper="5000", values=coded("N"))
    assert (column.kind, column.missing) == ("integer", ("N",))


def test_labels_of_codes_that_are_kept_for_absence_are_no_list():
    book = book_of(values=coded("999997", "999998", "-1"), value_type="integer")
    assert book.asked["x"].needed == ("lower", "upper")
    assert book.asked["x"].entries["missing"] == (999997, 999998, -1)
    assert "by custom" in book.notes["x"]
    assert column_of(values=coded("1", "2", "99")).levels == (1, 2, 99)
    assert book_of(values=coded("98", "99")).asked["x"].needed == ("kind",)


def test_bare_numbers_are_no_list_and_bare_words_are_marked():
    seen = tuple(CodedValue(str(k), maybe_observed=True) for k in range(18, 60))
    book = book_of(values=seen, value_type="integer")
    assert book.asked["x"].needed == ("lower", "upper")
    listed = column_of(values=seen, value_type="integer", in_categories=True)
    assert (len(listed.levels), listed.left_as_drafted) == (42, ("levels",))
    words = column_of(values=(CodedValue("AL", maybe_observed=True), *coded("NY")))
    assert words.levels == ("AL", "NY")
    assert words.left_as_drafted == ("levels",)
    assert words.model_copy(update={"levels": ("NY",)}).left_as_drafted == ()


def test_bounds_that_may_be_observed_are_marked_until_they_are_changed():
    column = column_of(lower="18", upper="97", bounds_maybe_observed=True)
    assert column.left_as_drafted == ("lower", "upper")
    assert column.model_copy(update={"upper": 120}).left_as_drafted == ("lower",)
    asked = book_of(lower="18", value_type="integer", bounds_maybe_observed=True).asked["x"]
    assert set(asked.entries["drafted"]) == {"lower"}


def test_dates_and_what_is_asked_for():
    column = column_of(value_type="date", lower="2000-01-01", upper="2009-12-31")
    assert column.upper == datetime.date(2009, 12, 31)
    assert book_of(value_type="number").asked["x"].needed == ("lower", "upper")
    assert book_of(value_type="categories").asked["x"].needed == ("levels",)
    assert book_of().asked["x"].needed == ("kind",)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"names_rows": True}, "identifier"),
        ({"values": coded("1", "1.0"), "value_type": "number"}, "stands twice"),
        ({"lower": "9", "upper": "1", "value_type": "integer"}, "exchanged"),
        ({"lower": "a", "upper": "b", "value_type": "integer"}, "lower"),
        ({"lower": "0", "upper": "9" * 400, "value_type": "number"}, "upper"),
        ({"lower": "1999-99-99", "upper": "2000-01-01", "value_type": "date"}, "lower"),
    ],
)
def test_what_holds_no_column_is_left_out_with_a_reason(said, words):
    book = book_of(**said)
    assert words in book.left_out["x"]
    assert book.told == book.left_out


def test_kinds_that_are_not_read_are_told_and_left_to_the_rows():
    book = book_of(value_type="other")
    assert "declare it by hand" in book.told["x"]
    assert book.asked["x"].needed == ("kind",)


def test_free_text_is_told_and_not_written():
    book = Codebook.of(
        "", "b", [Variable("t", value_type="text"), Variable("b", value_type="boolean")]
    )
    assert "list of its values" in book.told["t"]
    assert "[columns.t]" not in book.dumps()
