from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from understudy.dp.guarantee import Guarantee, public_inputs
from understudy.models.model import InferenceFacts
from understudy.release import readme as readme_file
from understudy.release.decoding import decode
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.schema import Schema

TEXT = """
title = "A small survey"
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
description = "as registered"
[columns.'<b>"x|y']
kind = "ordinal"
levels = [1, 2, 3]
"""


def readme(release: Release, *, csv: bool) -> str:
    return readme_file.readme(
        release.manifest,
        release.schema,
        release.measurements,
        formats=("csv",) if csv else (),
        pages=() if release.pages is None else ("report.html",),
    )


def _release(schema, **changes):
    rng = np.random.default_rng(0)
    measurements = tuple(
        Measurement(
            "table", (name,), np.arange(column.size), np.arange(column.size), name=f"table-{k}",
            distribution="discrete_laplace", scale="2", stddev=2.72, entry=k,
        )
        for k, (name, column) in enumerate(schema.columns.items(), start=1)
    )  # fmt: skip
    guarantee = Guarantee(
        "pure", Fraction(1), Fraction(0), "add_remove", public_inputs=public_inputs(schema)
    )
    content = {
        "method": "independent", "options": {}, "reason": "", "sets": 2, "sets_kind": "free",
        "n_rows": 10, "rows_obtained": "measured with noise", "guarantee": guarantee,
        "budget": {"epsilon": "1", "delta": "0"}, "ledger": (), "secure": True,
        "sampling_seed": None, "software": {"understudy": "0.1.0"},
        "inference": InferenceFacts(independent=True),
    }  # fmt: skip
    tables = tuple(
        decode([rng.integers(0, size, 10) for size in schema.sizes], schema, rng) for _ in range(2)
    )
    return Release(tables, schema, Manifest(**(content | changes)), measurements)


@pytest.fixture
def release():
    return _release(Schema.loads(TEXT))


def test_readme_says_what_a_stranger_needs(release):
    text = readme(release, csv=True)
    assert text.startswith("# A small survey\n")
    assert release.guarantee.statement in text.replace("\\", "")
    for words in (
        "synthetic/set-1.parquet", "set-2.parquet", "noisy/table-1.parquet", "schema.toml",
        "manifest.json", "`outside`", "`scale`", "CSV", "read_parquet", "library(arrow)",
        "share its privacy noise", "Associations between columns are not preserved", "How to cite",
        "2.72",
    ):  # fmt: skip
        assert words in text, words
    assert "CSV" not in readme(release, csv=False)
    assert "report.html" not in text
    assert "report.html" in readme(replace(release, pages=lambda _: {}), csv=False)
    assert text.count("\n") < 120
    assert "\n\n\n" not in text
    assert readme(release, csv=True) == text


def test_tables_survive_odd_names(release):
    text = readme(release, csv=False)
    assert '\\<b\\>"x\\|y' in text
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}
        assert len(widths) == 1, block


def test_line_breaks_cannot_start_a_section(release):
    loud = release.schema.model_copy(update={"title": "x\n# Not a title\n| a |"})
    text = readme(replace(release, schema=loud), csv=False)
    assert not re.search(r"^# Not a title", text, flags=re.MULTILINE)


def test_not_private_is_said_first(release):
    nothing = release.guarantee.not_private("The noise was seeded.")
    manifest = replace(release.manifest, guarantee=nothing, secure=False)
    text = readme(replace(release, manifest=manifest), csv=False)
    assert text.splitlines()[2].startswith("> **This release is NOT private.**")
    assert "ε = 1" not in text


def test_many_columns_stay_short():
    text = "\n".join(
        f"[columns.v{k}]\nkind='boolean'\nreviewed=true\nsource='law'" for k in range(200)
    )
    found = readme(_release(Schema.loads(text)), csv=False)
    assert found.count("\n") < 120
    assert "The 200 columns are described in" in found
    assert "The 200 tables are listed in" in found


def test_other_forms(release):
    one = release.measurements[0]
    empty = np.zeros(0, dtype=np.int64)
    totals = replace(
        one, name="", kind="totals", codes=empty, counts=empty,
        totals={"positive_cells": 1, "positive_mass": 2.0},
    )  # fmt: skip
    text = readme(replace(release, measurements=(totals,)), csv=False)
    assert "noisy table was not written out" in text
    assert "## The noisy counts" not in text
    cells = replace(one, kind="cells", threshold=5.0, columns=release.schema.names)
    manifest = replace(
        release.manifest, method="laplace", sets_kind="split", inference=InferenceFacts()
    )
    text = readme(replace(release, measurements=(cells,), manifest=manifest), csv=False)
    assert "`threshold`" in text
    assert "has its own noisy fit" in text
    assert "kept, up to noise, for columns that were measured together" in text
    alone = replace(release.manifest, sets=1, method="other", inference=InferenceFacts())
    text = readme(replace(release, manifest=alone, measurements=()), csv=False)
    assert "There is one set." in text
    assert "take associations as not preserved" in text


def test_rows_drawn_by_sweeps_promise_no_error_bars(release):
    swept = InferenceFacts(swept=True)
    manifest = replace(release.manifest, method="pegs", sets_kind="split", inference=swept)
    sweeps = replace(release.measurements[0], name="", kind="sweeps", of=("a<-b",))
    text = readme(replace(release, manifest=manifest, measurements=(sweeps,)), csv=False)
    assert "No error bars can be given" in text
    assert "us.analyze" not in text
    assert "then combine" not in text
    tables = replace(release, manifest=replace(manifest, method="pegs-tables"))
    text = readme(tables, csv=False)
    assert "Error bars come from the noisy counts alone" in text
    assert "us.analyze" in text
    assert "then combine" not in text
