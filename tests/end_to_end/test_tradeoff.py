"""`understudy tradeoff` from end to end, and every mistake: exit code 2 and one line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

SECRET = "SECRET-VALUE-1234"
SCHEMA = """
title = "Members"
[columns.city]
kind = "categorical"
levels = ["Aa", "Bb"]
source = "codebook"
reviewed = true
[columns.member]
kind = "boolean"
source = "codebook"
reviewed = true
"""
FEW = ("--methods", "independent,laplace", "--epsilons", "1,5", "--repetitions", 2, "--jobs", 1)


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(1)
    city = rng.choice(["Aa", "Bb"], 200)
    rows = pd.DataFrame({"city": city, "member": rng.random(200) < 0.4, "note": SECRET})
    rows.loc[0, "city"] = SECRET
    rows.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def test_confidential_rows_give_a_stamped_page_and_table(understudy, place):
    out = place / "map.html"
    code, shown, said = understudy(
        "tradeoff", place / "rows.csv", "--schema", place / "schema.toml", *FEW, "-o", out
    )
    assert (code, said) == (0, "")
    assert shown.startswith("INTERNAL: compares with confidential data, not for release.")
    assert "leak outside ε" in shown
    assert shown.count("independent") == 2
    assert not out.exists()
    text = (place / "map.internal.html").read_text(encoding="utf-8")
    assert "<strong>Internal</strong>" in text
    assert SECRET not in shown + text


def test_json_has_every_point(understudy, place):
    found = understudy(
        *("tradeoff", place / "rows.csv", "--schema", place / "schema.toml", *FEW, "--json"),
        *("--option", "laplace.form=filtered", "--utility", "one-way", "--risk", "attribute"),
        *("--secrets", "member", "--public"),
    )
    assert (found.code, found.err) == (0, "")
    content = found.json
    assert "public" in content
    assert "internal" not in content
    assert content["options"] == {"laplace": {"form": "filtered"}}
    assert (content["keys"], content["secrets"]) == (["city"], ["member"])
    assert [(one["method"], one["epsilon"]) for one in content["points"]] == [
        (method, epsilon) for method in ("independent", "laplace") for epsilon in ("1", "5")
    ]
    assert all(one["risk"]["low"] < one["risk"]["high"] for one in content["points"])


@pytest.mark.nightly
def test_without_data_it_maps_the_public_demo(understudy, tmp_path):
    out = tmp_path / "map.html"
    code, shown, said = understudy(
        *("tradeoff", "--methods", "independent", "--epsilons", "1", "--repetitions", 1),
        *("--utility", "one-way", "--jobs", 1, "--quiet", "-o", out),
    )
    assert (code, shown, said) == (0, "", "")
    assert "Public data" in out.read_text(encoding="utf-8")


MISTAKES = {
    "method": (("--methods", "laplase"), "did you mean 'laplace'"),
    "loss": (("--utility", "two"), "There is no utility 'two'"),
    "risk": (("--risk", "members"), "There is no risk 'members'"),
    "epsilon": (("--epsilons", "1,-1"), "epsilon must be above 0"),
    "no epsilon": (("--epsilons", ","), "at least one ε"),
    "option": (("--option", "form=filtered"), "must name the method too"),
    "column": (("--risk", "attribute", "--secrets", "afairs"), "did you mean 'affairs'"),
    "data without schema": (("no.csv",), "both DATA and --schema"),
    "folder": (("-o", "no/such/map.html"), "create it first"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.nightly(every=4)
def test_a_mistake_is_one_sentence_before_anything_is_computed(
    mistake, understudy, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("understudy.demo.demo_data", lambda: pytest.fail("rows were read"))
    arguments, words = MISTAKES[mistake]
    code, shown, said = understudy("tradeoff", *arguments)
    assert (code, shown) == (2, "")
    assert words in said
    assert said.count("\n") == 1
