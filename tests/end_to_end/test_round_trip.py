"""From a file of SPSS to a release and back, by the commands: labels and missing codes stay."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from understudy.cli.app import app
from understudy.schema import Schema

pyreadstat = pytest.importorskip("pyreadstat")

ABOUT = {
    "column_labels": {"sex": "Sex", "health": "How is your health?", "income": "Income a month"},
    "variable_value_labels": {
        "sex": {1: "male", 2: "female", 9: "refused"},
        "health": {1: "bad", 2: "fair", 3: "good", 8: "does not know", 9: "refused"},
        "income": {-9: "refused", -8: "unknown"},
    },
    "missing_ranges": {"sex": [9], "health": [8, 9], "income": [-9, -8]},
    "variable_measure": {"sex": "nominal", "health": "ordinal", "income": "scale"},
    "variable_format": {"sex": "F1.0", "health": "F1.0", "income": "F8.0"},
}


@pytest.fixture
def survey(tmp_path):
    """The path of a file with labels and user-missing codes; nobody's health is "bad"."""
    rng, n = np.random.default_rng(1), 600
    rows = pd.DataFrame(
        {
            "sex": rng.choice([1.0, 2.0, 9.0], n, p=[0.5, 0.45, 0.05]),
            "health": rng.choice([2.0, 3.0, 8.0, 9.0], n),
            "income": np.where(rng.random(n) < 0.1, -9.0, rng.integers(0, 500, n) * 10.0),
        }
    )
    pyreadstat.write_sav(rows, str(tmp_path / "survey.sav"), **ABOUT)
    return tmp_path / "survey.sav"


def run(*arguments):
    ran = CliRunner().invoke(app, [*map(str, arguments)])
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_what_a_file_says_of_its_variables_comes_back(survey, tmp_path):
    schema, out = tmp_path / "survey.toml", tmp_path / "release"
    run("schema", "draft", survey, "-o", schema)
    answers = "c the questionnaire\n" * 3
    ran = CliRunner().invoke(app, ["schema", "review", str(schema)], input=answers)
    assert ran.exit_code == 0, ran.output
    run("schema", "check", survey, schema)
    assert Schema.load(schema).columns["sex"].left_as_drafted == ()
    run("synthesize", survey, "--schema", schema, "--epsilon", "20", "--also", "sav", "--out", out)
    released, about = pyreadstat.read_sav(out / "synthetic" / "set-1.sav", user_missing=True)
    _, before = pyreadstat.read_sav(survey, user_missing=True)
    for name in ("column_names", "column_names_to_labels", "variable_value_labels"):
        assert getattr(about, name) == getattr(before, name)
    assert about.variable_measure == before.variable_measure

    def codes(ranges):
        return sorted({bound for one in ranges for bound in (one["lo"], one["hi"])})

    assert {name: codes(its) for name, its in about.missing_ranges.items()} == {
        name: codes(its) for name, its in before.missing_ranges.items()
    }
    assert set(released["health"]) <= {1.0, 2.0, 3.0, 8.0, 9.0}
    assert (released["income"] == -9.0).mean() == pytest.approx(0.1, abs=0.05)
