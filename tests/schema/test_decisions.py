"""Decisions about a draft: what each changes, what is refused, and that marks outlive them."""

import os
import stat

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy import _storage
from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.steward.conventions import all_forms, forms_for
from understudy.steward.review import Review, leak_of

RNG = np.random.default_rng(5)
ROWS = pl.DataFrame(
    {
        "age": pl.Series([int(a) for a in RNG.integers(18, 90, 200)]).replace(20, None),
        "sex": RNG.choice(["f", "m"], 200),
        "since": RNG.integers(1930, 2000, 200),
        "mood": RNG.choice([1, 2, 9], 200),
        "weight": RNG.normal(70, 9, 200).round(3),
    }
)
DRAFT = us.draft(ROWS)


def column(name):
    return ("columns", name)


@pytest.fixture
def review(tmp_path):
    place = tmp_path / "draft.toml"
    place.write_text(DRAFT, encoding="utf-8")
    return Review.of(place)


def test_what_is_open_and_what_comes_from_public_sources(review):
    assert review.open == tuple(map(column, ROWS.columns))
    assert review.sourced == (column("sex"),)
    done = review.accept(*review.sourced)
    assert done.decisions == 1
    assert done.open == tuple(map(column, ("age", "since", "mood", "weight")))
    assert done.part(column("sex")).reviewed


def test_what_was_read_from_rows_is_not_accepted_but_confirmed_one_by_one(review):
    with pytest.raises(SchemaError, match=r"Column 'mood': levels were read from the rows"):
        review.accept(column("mood"))
    with pytest.raises(SchemaError, match="needs a source"):
        review.confirm(column("mood"), "  ")
    done = review.confirm(column("mood"), "codebook, page 3")
    part = done.part(column("mood"))
    assert (part.confirmed, part.source) == (
        {"levels": "codebook, page 3"},
        "codebook, page 3",
    )
    assert part.left_as_drafted == ()
    assert part.drafted == review.part(column("mood")).drafted
    assert column("mood") not in done.open


def test_a_convention_keeps_its_source_where_something_else_is_confirmed(review):
    done = review.confirm(column("age"), "questionnaire").part(column("age"))
    assert done.source.startswith("convention: ages")
    assert done.confirmed == {"missing": "questionnaire"}


def test_an_entry_that_is_changed_loses_the_source_of_the_old_one(review):
    done = review.edit(column("sex"), 'levels = ["f", "m"]')
    part = done.part(column("sex"))
    assert (part.levels, part.source, part.reviewed) == (("f", "m"), "", False)
    assert review.edit(column("sex"), 'description = "x"').part(column("sex")).source
    both = 'levels = ["f", "m"]\nsource = "law"'
    assert review.edit(column("sex"), both).part(column("sex")).source == "law"


def test_marks_stay_whatever_is_changed(review):
    for text in ("drafted = {}", "drafted.levels = ''"):
        with pytest.raises(SchemaError, match="marks of a draft are not edited"):
            review.edit(column("mood"), text)
    block = '[columns.mood]\nkind = "categorical"\nlevels = [1, 2]\nreviewed = true\n'
    part = review.rewrite(column("mood"), block).part(column("mood"))
    assert part.left_as_drafted == ("levels",)


def test_what_holds_not_together_is_refused_and_nothing_changes(review):
    for text in ("levels = [1, 1]", "uper = 3", "upper =", "upper = 3"):
        with pytest.raises(SchemaError):
            review.edit(column("mood"), text)
    assert str(review.text) == DRAFT


def test_a_form_of_a_convention_is_the_confirmation_of_its_own_values(review):
    letters = next(form for form in forms_for("sex") if form.title == "sex in letters")
    part = review.choose(column("sex"), letters).part(column("sex"))
    assert (part.levels, part.reviewed, part.source) == (("f", "m"), True, letters.column.source)
    adults = next(form for form in forms_for("age") if "adults" in form.title)
    part = review.choose(column("age"), adults).part(column("age"))
    assert (part.lower, part.missing, part.reviewed) == (18, ("",), False), (
        "of absence it is silent"
    )
    assert part.left_as_drafted == ("missing",)
    iso = next(form for form in all_forms() if form.title == "sex by ISO 5218")
    part = review.choose(column("mood"), iso).part(column("mood"))
    assert (part.levels, part.left_as_drafted) == ((0, 1, 2, 9), ())
    assert part.confirmed == {"levels": iso.column.source}, "1, 2 and 9 are what the draft read"


def test_a_column_that_others_name_is_not_taken_out(review):
    done = review.exclude(column("weight"))
    assert list(done.schema.declared) == ["age", "sex", "since", "mood"]
    assert "# Column 'weight' was taken out" in str(done.text)
    named = (
        f"{DRAFT}\n[[forbidden]]\nwhere = {{ mood = 1, weight = {{ lower = 0, upper = 99 }} }}\n"
    )
    review.place.write_text(named.replace("upper = 99", "upper = 1000"), encoding="utf-8")
    with pytest.raises(SchemaError, match="'weight' cannot be taken out"):
        Review.of(review.place).exclude(column("weight"))


def test_what_is_kept_as_drafted_is_named_and_stays_open(review):
    done = review.keep(column("mood"))
    assert done.part(column("mood")).reviewed
    assert column("mood") in done.open
    assert done.part(column("mood")).left_as_drafted == ("levels",)


def test_the_whole_way_leaves_nothing_as_drafted(review):
    done = review.accept(*review.sourced)
    for path in done.open:
        done = done.confirm(path, "codebook")
    assert (done.open, done.decisions) == ((), 5)
    schema = Schema.loads(str(done.text))
    schema.require_reviewed()
    assert not any(part.left_as_drafted for _, part in schema.vouched)


def test_a_decision_is_in_the_file_at_once_and_only_there(review):
    os.chmod(review.place, 0o640)
    done = review.confirm(column("mood"), "codebook")
    done.save(DRAFT)
    assert review.place.read_text(encoding="utf-8") == str(done.text)
    assert stat.S_IMODE(review.place.stat().st_mode) == 0o640
    assert [place.name for place in review.place.parent.iterdir()] == ["draft.toml"]
    with pytest.raises(SchemaError, match="changed by someone else"):
        done.save(DRAFT)


def test_a_disk_that_fails_leaves_the_file_as_it_was(review, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_storage, "write_all", full)
    with pytest.raises(SchemaError, match="cannot be written: No space left on device"):
        review.keep(column("mood")).save(DRAFT)
    assert review.place.read_text(encoding="utf-8") == DRAFT
    assert [place.name for place in review.place.parent.iterdir()] == ["draft.toml"]


def test_every_entry_that_can_be_read_from_rows_has_its_leak():
    entries = {entry for _, part in review_parts() for entry in part.readable}
    assert len(entries) > 12
    assert {leak_of(entry) for entry in entries}.isdisjoint({leak_of("nothing of the kind")})


def review_parts():
    yield from Schema.loads(DRAFT).vouched
    yield from Schema.loads('[columns.c]\nkind = "continuous"\nlower = 0\nupper = 1').vouched


def test_what_no_rows_tell_is_said_once(review):
    told = review.tell(
        title="People", unit="one person", rows="public", count=200, population="adults"
    )
    schema = told.schema
    assert (schema.title, schema.unit.description) == ("People", "one person")
    assert (schema.rows, schema.n_rows, schema.ledger.population) == ("public", 200, "adults")
    assert review.tell(rows="private", count=500).schema.row_limit == 500
    assert told.tell().schema == schema
