from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.dp.guarantee import Guarantee, PublicInput
from understudy.dp.released import NoiseFamily
from understudy.models.model import InferenceFacts
from understudy.release.decoding import decode
from understudy.release.measurement import Measurement
from understudy.report.accuracy import factor_95, laplace_sum_95, marginal, noisy_total, reliability
from understudy.report.columns import bars, mean_shares, state_counts
from understudy.report.public_page import public_page
from understudy.report.sections import ledger, relations, sets_words
from understudy.report.text import badge, best_guess, explain_promise
from understudy.schema import Schema


@pytest.fixture
def release(mixed, make):
    return make.release(mixed, make.one_way(mixed, np.random.default_rng(3)))


def test_page_is_whole_deterministic_and_self_contained(release, check):
    page = public_page(release)
    found = check(page)
    assert page == public_page(release)
    images = sum(attrs.get("role") == "img" for _, attrs in found.tags)
    assert images == len(release.schema.names) + 1  # a chart for each column, and the map of pairs
    assert "nan" not in found.text.lower().split()
    assert "None" not in found.text.split()


def test_guarantee_and_every_step_appear(release, check):
    found = check(public_page(release))
    assert release.guarantee.statement in found.text
    assert "ε = 1, pure DP, one record added or removed" in found.text
    assert "e ε = 2.72" in found.text or "eε = 2.72" in found.text
    assert "at most 73.2 %" in found.text
    for entry in release.manifest.ledger:
        for field in ("query", "mechanism", "sensitivity", "noise"):
            assert entry[field] in found.text
    for public in release.guarantee.public_inputs:
        assert public.what in found.text
    assert "1 of 6 entries carries a doubt" in found.text
    assert "The steps cost exactly the stated budget." in found.text
    assert "NOT private" not in found.text
    assert "Associations between columns are NOT preserved" in found.text


def test_loud_banner_when_not_private(release, check):
    nothing = release.guarantee.not_private("The noise was seeded.")
    seeded = replace(release, manifest=replace(release.manifest, guarantee=nothing, secure=False))
    page = public_page(seeded)
    found = check(page)
    assert 'class="banner"' in page
    assert "This release is NOT private." in found.text
    assert "The noise was seeded." in found.text
    assert "73.2" not in found.text
    # Seeded noise is never passed off as private, whatever the guarantee says.
    forgotten = replace(release, manifest=replace(release.manifest, secure=False))
    assert 'class="banner"' in public_page(forgotten)


def test_leaks_and_conditions_are_told(release, check):
    guarantee = replace(release.guarantee, leaks=("Bin widths were read.",), conditions=("If so.",))
    changed = replace(release, manifest=replace(release.manifest, guarantee=guarantee))
    found = check(public_page(changed))
    assert "Bin widths were read." in found.text
    assert "Conditions" in found.text


def test_odd_names_are_escaped(make, check):
    name, level = '<b>"x|y', "</td><script>alert('$x_1$')</script>\u202e\x07"
    column = {"kind": "categorical", "levels": [level, "漢字", "&amp;"], "unit": "<i>"}
    schema = Schema.model_validate({"columns": {name: column}, "title": "<title>&"})
    rng = np.random.default_rng(0)
    page = public_page(make.release(schema, make.one_way(schema, rng)))
    found = check(page)
    assert "<script" not in page
    assert name in found.text
    assert "漢字" in found.text
    assert "&amp;amp;" in page
    assert "\u202e" not in page
    assert "\x07" not in page


@pytest.mark.whole
@pytest.mark.nightly
def test_wide_table_stays_below_one_megabyte(make, check):
    columns = {
        f"variable number {j} of the survey": {
            "kind": "categorical",
            "levels": [f"{'a rather long level name ' * 2}{i}" for i in range(40)],
            "description": "what was asked " * 10,
        }
        for j in range(110)
    }
    schema = Schema.model_validate({"columns": columns})
    page = public_page(make.release(schema, make.one_way(schema, np.random.default_rng(0))))
    found = check(page)
    assert "To keep this page below one megabyte, charts show at most" in found.text
    assert "Show all 110 steps" in found.text
    assert sum(attrs.get("role") == "img" for _, attrs in found.tags) == 110


def test_hugely_many_columns_are_cut_with_a_word_about_it(make, monkeypatch, check):
    monkeypatch.setattr("understudy.report.public_page.MAX_BYTES", 120_000)
    columns = {f"v{j}": {"kind": "categorical", "levels": list(range(20))} for j in range(60)}
    schema = Schema.model_validate({"columns": columns})
    page = public_page(make.release(schema, make.one_way(schema, np.random.default_rng(0))))
    found = check(page)
    assert len(page.encode()) <= 120_000
    assert re.search(r"\d+ more columns are left out", found.text)


def test_long_ledgers_are_cut_with_a_word_about_it(release, check):
    entry = release.manifest.ledger[0] | {
        "epsilon_exact": "1/3000",
        "query": "counts by a × b " * 5,
    }
    steps = tuple(entry | {"number": k} for k in range(1, 3001))
    found = check(public_page(replace(release, manifest=replace(release.manifest, ledger=steps))))
    assert re.search(r"[\d,]+ more steps are left out", found.text)


def test_no_rows_and_no_positive_counts(mixed, make, check):
    measured = tuple(
        make.table(f"t{k}", (name,), -np.arange(column.size))
        for k, (name, column) in enumerate(mixed.columns.items())
    )
    found = check(public_page(make.release(mixed, measured, n_rows=0)))
    assert "The synthetic sets have no rows" in found.text
    assert "the noisy total does not rise above its own noise" in found.text
    zero = tuple(replace(one, counts=one.counts * 0) for one in measured)
    check(public_page(make.release(mixed, zero, n_rows=0, sets=1)))


def test_no_measurements_no_ledger(mixed, make, check):
    found = check(
        public_page(make.release(mixed, (), method="pegs", inference=InferenceFacts(swept=True)))
    )
    assert "The ledger is empty" in found.text
    assert "comes without noisy measurements" in found.text
    assert "this column has no released measurement" in found.text


def test_filtered_and_lazy_measurements_have_no_band(mixed, make, check):
    cells = Measurement(
        "cells", mixed.names, np.array([3, 50]), np.array([40, 31]), 2.0, threshold=30.0,
        name="table-1", distribution="discrete_laplace", scale="2", stddev=2.83, entry=1,
    )  # fmt: skip
    totals = Measurement(
        "totals", mixed.names, outside=2.0,
        totals={"positive_cells": 10**9, "positive_mass": 2.5e9},
        name="", distribution="lattice_laplace", scale="2", stddev=2.83, entry=1,
    )  # fmt: skip
    found = check(
        public_page(make.release(mixed, (cells,), method="laplace", inference=InferenceFacts()))
    )
    assert "only cells above a public threshold were released" in found.text
    assert "only the 2 cells whose noisy count reached the public threshold 30" in found.text
    assert "sums to 71 of about 200 records (36 %)" in found.text
    found = check(
        public_page(make.release(mixed, (totals,), method="laplace", inference=InferenceFacts()))
    )
    assert "only totals of the noisy table were released" in found.text
    assert "roughly 99.9 % of what the synthetic rows were drawn from is noise" in found.text
    assert "All columns were measured together" in found.text


def test_exact_values_show_an_infinite_cost(mixed, make, check):
    exact = make.table("t", ("sex",), [10, 20, 30, 1], distribution="none", scale="0", stddev=0.0)
    entry = {
        "number": 1, "mechanism": "none", "query": "reveal", "epsilon": None,
        "epsilon_exact": None, "sensitivity": "unbounded", "noise": "", "cells": 4,
    }  # fmt: skip
    guarantee = Guarantee("none", None, Fraction(0), "add_remove", leaks=("Exact counts.",))
    found = check(public_page(make.release(mixed, (exact,), guarantee=guarantee, ledger=(entry,))))
    assert "At least one step has an infinite cost" in found.text
    assert "Measured without noise." in found.text


def test_replace_gaussian_split_and_pairs(make, check):
    text = """
rows = "public"
n_rows = 500
[columns.a]
kind = "categorical"
levels = ["0", "1"]
[columns.b]
kind = "integer"
lower = 1
upper = 3
[columns.c]
kind = "boolean"
[[forbidden]]
where = { a = "1", b = 3 }
"""
    schema = Schema.loads(text)
    delta = Fraction(1, 10**9)
    guarantee = Guarantee("approximate", Fraction(1), delta, "replace", rho=Fraction(1, 50))
    pairs = tuple(
        make.table(
            f"t{k}", ("a", "b"), [[100, 90, 80], [70, 60, 0]], distribution="discrete_gaussian"
        )
        for k in range(2)
    )
    ledger_rows = tuple(
        {
            "number": k, "mechanism": "discrete Gaussian", "query": "counts by a × b",
            "rho": "0.01", "rho_exact": "1/100", "sensitivity": "2", "noise": "N", "cells": 6,
        }
        for k in (1, 2)
    )  # fmt: skip
    budget = {"epsilon": "1", "delta": "0.000000001", "unit": "rho", "amount": "0.02"}
    release = make.release(
        schema, pairs, guarantee=guarantee, sets_kind="split", ledger=ledger_rows,
        budget=budget, method="mst", inference=InferenceFacts(),
    )  # fmt: skip
    found = check(public_page(release))
    assert "δ = 10⁻⁹" in found.text
    assert "which of two given records one person has in the table" in found.text
    assert "Total ρ = 0.02" in found.text
    assert "1 of 3 pairs of columns were measured together" in found.text
    assert "a × b" in found.text
    assert "privacy noise and a share of the budget of its own" in found.text
    noisy = marginal("b", release.measurements, schema)
    assert noisy is not None
    assert noisy.n_cells.tolist() == [2, 2, 1]  # the forbidden cell carries no noise
    np.testing.assert_allclose(noisy.counts, [170, 150, 80])
    np.testing.assert_allclose(noisy.variance, 14.1**2 * np.array([2, 2, 1]) / 2)
    assert marginal("c", release.measurements, schema) is None


def test_band_equals_hand_computation(mixed, make):
    counts = np.array([600, 300, 90, 10])
    measured = make.table("t", ("sex",), counts, stddev=20.0)
    noisy = marginal("sex", (measured,), mixed)
    assert noisy is not None
    found = noisy.shares()
    assert found is not None
    share, half = found
    np.testing.assert_allclose(share, counts / 1000)
    # First state: (1 − p)² σ² + p² 3σ² with p = 0.6, Laplace quantile ln 20 / √2 of σ.
    by_hand = math.log(20) / math.sqrt(2) * 20 * math.sqrt(0.16 + 3 * 0.36) / 1000
    assert half[0] == pytest.approx(by_hand, rel=1e-9)
    gaussian = marginal("sex", (replace(measured, distribution="discrete_gaussian"),), mixed)
    assert gaussian is not None
    shares = gaussian.shares()
    assert shares is not None
    assert shares[1][3] == pytest.approx(
        1.959963984540054 * 20 * math.sqrt(0.99**2 + 3 * 0.01**2) / 1000
    )


def test_band_holds_its_level(mixed, make):
    """5 % of bands miss; 20,000 draws, bounds at ± 4 standard errors (false alarm < 1 in 10⁴)."""
    rng = np.random.default_rng(5)
    true = np.array([600, 300, 90, 10])
    misses = 0
    for noise in rng.laplace(0, 20 / math.sqrt(2), (5000, 4)):
        noisy = marginal("sex", (make.table("t", ("sex",), true + noise, stddev=20.0),), mixed)
        share, half = noisy.shares()
        misses += int((abs(share - true / 1000) > half).sum())
    # Noise in the total mixes Laplace variables, so large shares miss a little less than 5 %.
    assert 0.042 <= misses / 20_000 <= 0.0562


def test_quantile_of_laplace_sums_against_simulation():
    rng = np.random.default_rng(11)
    for n in (1, 2, 7):
        sums = rng.laplace(0, 1 / math.sqrt(2), (200_000, n)).sum(1)
        rate = float((abs(sums) > laplace_sum_95(n) * math.sqrt(n)).mean())
        # Four standard errors of 5 % at 200,000 draws: false alarm below 1 in 10⁴ each.
        assert abs(rate - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 200_000)
        assert abs(float((abs(sums) > 1.3 * laplace_sum_95(n) * math.sqrt(n)).mean()) - 0.05) > 0.01
    assert factor_95(NoiseFamily.DISCRETE_GAUSSIAN, 1) == pytest.approx(1.959964)
    assert factor_95(NoiseFamily.LATTICE_LAPLACE, 1) == pytest.approx(math.log(20) / math.sqrt(2))


def test_reliability_by_hand(mixed, make):
    release = make.release(mixed, (make.table("t", ("sex",), [600, 300, 90, 10], stddev=20.0),))
    found = reliability(release)
    assert found.total == 1000
    assert found.levels == (20.0,)
    share, count, errors = found.rows[0]
    assert (share, count) == (0.5, 500)
    assert errors[0] == pytest.approx(math.log(20) / math.sqrt(2) * 20 / 500)
    assert "4 counts were measured with noise. 3 of them" in found.sentences[0]
    assert "here 60 records (up to 6 % of all records)" in found.sentences[1]
    assert noisy_total((), mixed) is None


def test_states_are_recovered_from_released_values(mixed):
    rng = np.random.default_rng(2)
    states = [rng.integers(0, size, 3000) for size in mixed.sizes]
    table = decode(states, mixed, rng)
    for (name, column), drawn in zip(mixed.columns.items(), states, strict=True):
        counted = state_counts(table.get_column(name), column)
        np.testing.assert_array_equal(counted, np.bincount(drawn, minlength=column.size), name)
    some, none = (
        SimpleNamespace(schema=mixed, tables=tables, worked_out={})
        for tables in ((table, table.head(0)), (table.head(0),))
    )
    assert mean_shares(some, "sex").sum() == pytest.approx(1)
    assert mean_shares(none, "sex") is None


def test_text_column_with_null_and_numbers():
    text = """
[columns.a]
kind = "integer"
lower = 0
upper = 9
missing = ["no answer", ""]
"""
    column = Schema.loads(text).columns["a"]
    values = pl.Series(["0", "9", "no answer", None, "3", "3"])
    assert state_counts(values, column).tolist() == [1, 0, 0, 2, 0, 0, 0, 0, 0, 1, 1, 1]


def test_many_states_are_pooled():
    levels = {"kind": "categorical", "levels": list(range(100))}
    column = Schema.model_validate({"columns": {"a": levels}}).columns["a"]
    shares = np.arange(100) / np.arange(100).sum()
    found = bars(column, shares, None, at_most=30)
    assert len(found) == 30
    assert found[-1].label == "71 other states"
    assert sum(bar.share for bar in found) == pytest.approx(1)
    line = Schema.loads("[columns.a]\nkind='integer'\nlower=0\nupper=999\nbins=200\nspikes=[0]")
    found = bars(line.columns["a"], np.full(201, 1 / 201), None, at_most=30)
    assert len(found) <= 30
    assert found[0].spike
    assert sum(bar.share for bar in found) == pytest.approx(1)
    assert found[1].label == "0 to 4 … 35 to 39"


def test_guarantee_in_words():
    pure = Guarantee("pure", Fraction(1), Fraction(0), "add_remove")
    words = " ".join(text for _, text in explain_promise(pure))
    assert "e^ε = 2.72" in words
    assert "at most 73.2 %" in words
    assert "e^2ε = 7.39" in words
    approximate = replace(pure, kind="approximate", delta=Fraction(1, 100))
    assert best_guess(1, 0.01) in " ".join(text for _, text in explain_promise(approximate))
    assert best_guess(1, 0.01) == f"{math.ceil(1000 * (math.e + 0.01) / (1 + math.e)) / 10} %"
    assert best_guess(1000) == "practically 100 %"
    assert best_guess(1, 1) == "practically 100 %"
    asymptotic = replace(pure, kind="asymptotic")
    assert "nothing is proven" in explain_promise(asymptotic)[0][1]
    assert "%" not in explain_promise(asymptotic)[0][1]
    conditional = replace(pure, kind="conditional")
    assert explain_promise(conditional)[0][1].startswith("As long as the conditions below hold")
    published = replace(conditional, leaks=("Noise was halved.",))
    assert "must not be read as a promise" in explain_promise(published)[0][1]
    assert "nominal ε = 1: were it not for what is left in, whatever" in published.statement
    assert "nominal" not in pure.statement + conditional.statement
    assert badge(replace(pure, kind="none", epsilon=None)) == "not private"


def test_ledger_sums(release):
    book = ledger(release.manifest)
    assert (book.total, book.stated, book.unit) == ("1", "1", "ε")
    assert sum(row.share for row in book.rows) == pytest.approx(1)
    less = replace(release.manifest, ledger=release.manifest.ledger[:3])
    assert "50 % unspent" in ledger(less).words
    more = replace(release.manifest, ledger=release.manifest.ledger * 2)
    assert ledger(more).words == "The steps cost more than the stated budget."


def test_sets_and_relations_in_words(release):
    single = replace(release.manifest, sets=1)
    assert "one synthetic set" in sets_words(replace(release, manifest=single))
    assert "share the same privacy noise" in sets_words(release)
    unknown = replace(release, manifest=replace(release.manifest, inference=InferenceFacts()))
    assert "No released measurement covers two columns" in relations(unknown).sentence


def test_measured_ranks_are_told_beside_what_no_table_has(release):
    """Of k ordered columns, with the noise of a mean product of ranks."""
    facts = replace(release.manifest.inference, independent=False)
    tables = [one for one in release.measurements if one.kind.is_joint]
    pair = replace(tables[0], columns=release.schema.names[:2])
    ranks = replace(tables[0], kind="ranks", columns=release.schema.names, stddev=30.0)
    manifest = replace(release.manifest, n_rows=1_000, inference=facts)
    alone, both = (
        relations(replace(release, manifest=manifest, measurements=several)).sentence
        for several in ((pair,), (pair, ranks))
    )
    assert alone.endswith("take their association as not preserved.")
    assert f"ranks of {len(release.schema.names)} columns with an order go together" in both
    assert "about 0.03 in a correlation" in both


def test_sweeps_keep_what_a_column_was_drawn_given_and_no_rule_combines_them(release):
    swept = InferenceFacts(swept=True)
    manifest = replace(release.manifest, method="pegs", sets_kind="split", inference=swept)
    assert "no combining rule holds" in sets_words(replace(release, manifest=manifest))
    names = release.schema.names
    sweeps = replace(release.measurements[0], kind="sweeps", columns=names, of=("a<-b",))
    found = relations(replace(release, manifest=manifest, measurements=(sweeps,)))
    assert "weakened, between a column and those that it was drawn given" in found.sentence
    assert found.groups == ("a<-b",)


def test_colours_meet_wcag_aa_in_both_modes(release, contrast):
    page = public_page(release)
    modes = re.findall(r":root \{(.*?)\}", page, flags=re.DOTALL)[:2]
    assert len(modes) == 2
    for mode in modes:
        colour = dict(re.findall(r"--([\w-]+): (#\w{6})", mode))
        for ground in ("page", "panel"):
            for text in ("ink", "muted", "accent", "spike"):
                assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
            for shape in ("bar", "absent", "spike", "ink"):
                assert contrast(colour[shape], colour[ground]) >= 3, (shape, ground)
        assert contrast(colour["warn"], colour["warn-page"]) >= 4.5
        assert contrast(colour["alarm"], colour["alarm-page"]) >= 4.5


def test_doubtful_public_inputs_come_first(release):
    doubt = PublicInput("levels of z", "", "no source named")
    inputs = (*(one for one in release.guarantee.public_inputs if not one.note), doubt)
    guarantee = replace(release.guarantee, public_inputs=inputs)
    page = public_page(replace(release, manifest=replace(release.manifest, guarantee=guarantee)))
    assert page.index("levels of z") < page.index(html.escape(inputs[0].what))
    assert '<tr class="doubt">' in page


@pytest.mark.parametrize(
    ("method", "options", "kind"),
    [
        ("steps", {"layers": 2, "sets": "free"}, "nodes"),
        ("universal-histogram", {"form": "ranges", "fanout": 2}, "ranges"),
    ],
)
def test_all_noisy_counts_are_counted_those_of_nodes_and_ranges_too(method, options, kind):
    """At this seed branches of the tree differ, or the test would say nothing of nodes."""
    entry = '[columns.{}]\nkind = "integer"\nlower = 0\nupper = 4\nbins = 5\nreviewed = true\n'
    schema = Schema.loads('rows = "private"\n' + "".join(map(entry.format, "abc")))
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({name: rng.integers(5, size=300) for name in "abc"})
    made = us.synthesize(
        rows, schema, epsilon=1, method=method, options=options, insecure_noise_seed=2
    )
    assert kind in {one.kind for one in made.measurements}
    n = sum(len(one.codes) for one in made.measurements if one.kind in ("table", "nodes", "ranges"))
    assert reliability(made).sentences[0].startswith(f"{n:,} counts were measured with noise.")


def test_the_ledger_says_that_rounds_were_ended_early(release):
    manifest = release.manifest
    words = "ended the rounds of the method before the budget did"
    assert words not in ledger(manifest).words
    assert words in ledger(replace(manifest, ended_early=True)).words


@pytest.mark.parametrize("n", [8, 9])
def test_charts_of_many_columns_fold_below_an_overview(make, check, n):
    columns = {f"v{j}": {"kind": "categorical", "levels": [0, 1]} for j in range(n)}
    schema = Schema.model_validate({"columns": columns})
    page = public_page(make.release(schema, make.one_way(schema, np.random.default_rng(0))))
    check(page)
    folded = "Show the charts of all columns" in page
    assert folded == (n > 8)
    assert len(re.findall(r'<a href="#c\d', page)) == (n if folded else 0)
    assert page.count('<article class="card"') == n


def test_the_ledger_and_the_sources_are_folded(make, check):
    columns = {f"v{j}": {"kind": "categorical", "levels": [0, 1]} for j in range(5)}
    schema = Schema.model_validate({"columns": columns})
    page = public_page(make.release(schema, make.one_way(schema, np.random.default_rng(0))))
    text = check(page).text
    for what in ("Show all 5 steps", "Show all 5 public entries", "Show all 5 measurements"):
        assert what in text


def test_every_number_of_a_wide_table_carries_its_heading(release):
    """On a phone rows become blocks, each number behind its heading."""
    page = public_page(release)
    wide = re.findall(r'<table class="[^"]*stack[^"]*">(.*?)</table>', page, flags=re.DOTALL)
    assert len(wide) == 5
    for table in wide:
        headings = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", table)
        body = table.partition("<tbody>")[2]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, flags=re.DOTALL):
            labels = re.findall(r'<td data-label="([^"]*)"', row)
            assert len(labels) == row.count("<td") == len(headings) - 1
            assert set(labels) < set(headings)
