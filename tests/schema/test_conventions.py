"""Conventions: chosen by name and type alone, well-formed, and marked as what they are."""

import polars as pl
import pytest

import understudy as us
from understudy.schema import Schema
from understudy.steward.conventions import all_forms, forms_for, propose_form, type_of

NAMES = [
    ("age", "number", "ages in whole years, 0 to 120, by five-year groups"),
    ("Mother's age", "number", "ages in whole years, 0 to 120, by five-year groups"),
    ("motherAge", "number", "ages in whole years, 0 to 120, by five-year groups"),
    ("edad_de_la_madre", "number", "ages in whole years, 0 to 120, by five-year groups"),
    ("Alter", "number", "ages in whole years, 0 to 120, by five-year groups"),
    ("age", "text", None),  # groups of ages, say
    ("age", "date", None),
    ("ages ago", "text", None),
    ("voltage", "number", None),
    ("Geschlecht", "text", "sex in German"),
    ("sexe", "text", "sex in French"),
    ("GENDER", "number", "sex as 1 and 2"),
    ("geslacht", "text", "sex in Dutch"),
    ("sexo", "text", "sex in Spanish"),
    ("Year", "number", "years, 1945 to 2030"),
    ("birth_year", "number", "years of birth, 1900 to 2030"),
    ("month", "number", "months, 1 to 12"),
    ("Monat", "text", "months in German"),
    ("visits per month", "number", None),
    ("hours-per-week", "number", "hours of a week, 0 to 168, by fives up to 80"),
    (
        "annual_income",
        "number",
        "amounts of money from 0 to 1,000,000, bins in steps of 1, 2 and 5",
    ),
    ("pct", "number", "percentages, 0 to 100"),
    ("Anteil", "number", "shares, 0 to 1"),
    ("has_car", "number", "yes or no as 0 and 1"),
    ("hat_auto", "text", "yes or no in German"),
    ("Familienstand", "text", "marital status in German"),
    ("État civil", "text", "marital status in French"),
    ("job_satisfaction", "number", "a scale from 1 to 5"),
    ("satisfaction_0_10", "number", "a scale from 0 to 10"),
    ("How satisfied (1 to 7)?", "number", None),
    ("agree_1_9", "number", None),
    ("Zufriedenheit", "text", "satisfaction in German"),
    ("cntry", "text", "countries by ISO 3166-1, two letters"),
    ("iso3", "text", "countries by ISO 3166-1, three letters"),
    ("state_fips", "number", "states of the United States by FIPS number"),
    ("NUTS1", "text", "regions of the European Union by NUTS 2021, level 1"),
    ("currency", "text", "currencies by ISO 4217"),
    ("total_collection_amount_ever", "number", None),
    ("ever_smoked", "number", "yes or no as 0 and 1"),
    ("amount it has", "number", None),
    ("age_group", "number", None),
    ("number_of_the_month", "number", None),
    ("Income €/month", "number", None),
    ("Sex/Gender", "text", "sex in English"),
    ("sex_ratio", "number", None),
    ("pay class", "number", None),
    ("number of children", "number", "children of a person or household, 0 to 20"),
    ("q7", "number", None),
    ("", "number", None),
    ("?!", "text", None),
]


@pytest.mark.parametrize(("name", "type_", "title"), NAMES)
def test_a_name_and_a_type_decide(name, type_, title):
    form = propose_form(name, type_)
    assert (form and form.title) == title
    assert form is None or form in forms_for(name)


def test_every_form_is_a_column_that_names_its_source_and_is_not_reviewed():
    forms = all_forms()
    assert len({form.title for form in forms}) > 80
    for form in forms:
        assert form.column.source == f"convention: {form.title}"
        assert not form.column.reviewed
        assert (form.column.drafted, form.column.missing) == ({}, ())
        assert form.type in ("number", "text")
        assert form.type == type_of(form.column) or form.title == "yes or no as 0 and 1"


def test_lists_of_codes_have_as_many_as_their_standards():
    sizes = {form.title: form.column.size for form in all_forms()}
    assert sizes["countries by ISO 3166-1, two letters"] == 249
    assert sizes["countries by ISO 3166-1, three letters"] == 249
    assert sizes["states of the United States by letters"] == 51
    assert sizes["states of the United States by FIPS number"] == 51
    assert sizes["regions of the European Union by NUTS 2021, level 1"] == 92


ROWS = {
    "age": [[3, 17, 90] * 20, [-5, 10**6, 0] * 20],
    "sex": [[1, 2, 1] * 20, [7, 8, 9] * 20],
    "Monat": [["Mai", "Juni", "Mai"] * 20, ["nie", "Jänner", "SECRET"] * 20],
    "income": [[0.0, 10.5, 3e9] * 20, [-1.0, -2.0, 7.7] * 20],
}


@pytest.mark.parametrize("name", ROWS)
def test_no_value_has_a_part_in_a_proposal(name):
    """Claim: what a convention proposes is the same for all rows, and so carries no mark."""
    first, second = (
        Schema.loads(us.draft(pl.DataFrame({name: values}))).columns[name] for values in ROWS[name]
    )
    assert first == second
    assert first.drafted == {}
    assert first.source.startswith("convention: ")
    assert not first.reviewed


def test_of_absent_cells_the_rows_decide_and_leave_their_mark():
    rows = pl.DataFrame({"age": [30, None] * 20, "x": [3, 4] * 20})
    columns = Schema.loads(us.draft(rows)).columns
    assert columns["age"].missing == ("",)
    assert columns["age"].left_as_drafted == ("missing",)
    assert columns["x"].left_as_drafted == ("levels",)


def test_where_rows_and_a_proposal_differ_only_a_check_says_so():
    rows = pl.DataFrame({"sex": ["weiblich", "male"] * 20})
    text = us.draft(rows)
    assert "weiblich" not in text
    (finding,) = us.check(rows, Schema.loads(text)).findings
    assert "not among the levels" in finding.problem
