"""Documents for registers, auditors and lawyers say what the release says, and nothing else."""

import json
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import understudy as us
from schemas import column
from understudy.cli.app import app
from understudy.dp.distributions import DiscreteLaplace
from understudy.errors import ReleaseError
from understudy.report.documents import Publication, nist_sheet, registry_entry, threshold_words

SCHEMA = us.Schema.loads(
    'title = "Survey: of jobs"\nrow_limit = 1000\n'
    + column("job", "categorical", levels=["a", "b"], source="law")
    + column("city", "categorical", levels=["x", "y"], source="law")
)
STATED = {"curators": ["Office: A"], "use": "Teaching", "region": "Nowhere"}
PUBLICATION = Publication(**STATED, published="2026-11-28", sector="Government")
# Of the registry's schema, as it was in November 2026: what an entry needs, and what it may have.
NEEDED = {"name", "data_curators", "description", "intended_use", "data_product_type"}
NEEDED |= {"data_product_region", "publication_date"}
GROUPS = {"basic", "dp_variant", "privacy_loss", "deployment_model", "accounting"}
GROUPS |= {"implementation", "administrative"}


@pytest.fixture(scope="module")
def release():
    rows = pl.DataFrame({"job": ["a", "b"] * 50, "city": ["x", "y", "y", "y"] * 25})
    return us.synthesize(rows, SCHEMA, epsilon=1, method="independent", seed=1)


def read(text):
    """The subset of YAML that is written: maps by indent, lists of texts, JSON as scalars."""
    root: dict = {}
    open_maps, last = [(-1, root)], None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith("- "):
            holder, name = last
            holder[name] = [*(holder[name] or []), json.loads(line.lstrip()[2:])]
            continue
        while open_maps[-1][0] >= indent:
            open_maps.pop()
        name, _, value = line.strip().partition(":")
        holder = open_maps[-1][1]
        holder[name] = json.loads(value) if value else {}
        if not value:
            open_maps.append((indent, holder[name]))
            last = holder, name
    return root


def test_the_entry_of_the_registry_has_what_its_schema_asks_for(release):
    entry = read(registry_entry(release, PUBLICATION))
    assert (entry["status"], entry["tier"]) == ("Draft", 3)
    assert entry["url_slug"] == "survey-of-jobs-office-a"
    told = entry["deployment"]
    assert set(told) == GROUPS
    assert set(told["basic"]) >= NEEDED
    assert told["basic"]["data_curators"] == ["Office: A"]
    assert told["dp_variant"]["variant_name"] == "Pure DP"
    assert told["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert told["dp_variant"]["unprotected_quantities"] == "None."
    assert "not real people" in told["basic"]["description"]
    assert told["administrative"]["registry_authors"] == ["Office: A"]


@pytest.mark.parametrize(
    "changed", [{"curators": []}, {"use": ""}, {"published": "28.11.2026"}, {"sector": "Mining"}]
)
def test_an_entry_that_the_registry_would_refuse_is_refused(changed):
    with pytest.raises(ReleaseError):
        Publication(**{**STATED, "published": "2026-11-28", **changed})


def test_a_release_without_a_promise_has_no_entry():
    rows = pl.DataFrame({"job": ["a"], "city": ["x"]})
    seeded = us.synthesize(rows, SCHEMA, epsilon=1, method="independent", insecure_noise_seed=1)
    with pytest.raises(ReleaseError, match="not private"):
        registry_entry(seeded, PUBLICATION)
    assert "NOT private" in nist_sheet(seeded)


def test_the_threshold_is_that_of_the_noise(release):
    """An empty cell stays within the bound with 95 % at least, and one less would not do."""
    first, second, last = threshold_words(release)
    (one, _) = [m for m in release.measurements if m.kind.value == "table"]
    bound = int(first.split("a cell below ")[1].split()[0])
    assert f"by {' × '.join(one.columns)}, a cell below {bound} cannot be told from 0" in first
    noise = DiscreteLaplace(Fraction(one.scale))
    inside = [float(noise.pmf(np.arange(-w, w + 1)).sum()) for w in (bound - 2, bound)]
    assert inside[0] < 0.95 <= inside[1] + 1e-3
    assert math.isclose(noise.stddev, one.stddev, rel_tol=1e-9)
    assert "95 of 100" in last
    assert second


def test_the_sheet_answers_each_part(release):
    sheet = nist_sheet(release)
    for part in ("Privacy parameters", "Unit of privacy", "Algorithms", "Trust model", "Bias"):
        assert f"## {part}" in sheet
    assert "ε = 1." in sheet
    assert "For the publisher to answer." in sheet
    assert release.guarantee.statement in sheet


def test_the_command_writes_each(release, tmp_path):
    release.save(tmp_path / "release")
    told = ["document", str(tmp_path / "release")]
    asked = ["--curator", "A", "--use", "B", "--region", "C", "--published", "2026-11-28"]
    out = ["--out", str(tmp_path / "entry.yaml")]
    assert CliRunner().invoke(app, [*told, "registry", *asked, *out]).exit_code == 0
    assert read((tmp_path / "entry.yaml").read_text(encoding="utf-8"))["tier"] == 3
    shown = CliRunner().invoke(app, [*told, "thresholds"])
    assert "cannot be told from 0" in shown.output
    assert "NIST" in CliRunner().invoke(app, [*told, "nist"]).output
    cited = CliRunner().invoke(app, [*told, "citation"]).output
    assert cited.startswith(
        "Survey: of jobs. Synthetic microdata, 1 set, method “independent”, ε = 1"
    )
