"""The R package, with a real R: the same numbers as in Python, and files that R's readers read.

Everything is asked in one process of R, which takes seconds to begin.
"""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from exported import SCHEMA, rows
from schemas import column
from understudy.errors import InferenceError

pytestmark = pytest.mark.whole
pytest.importorskip("pyreadstat", reason="pyreadstat (the extra files) is absent")

ROOT = Path(__file__).parents[2]
NEEDED = ("digest", "haven", "jsonlite", "reticulate", "survey", "testthat")


@pytest.fixture(scope="module")
def r():
    """The program that runs R scripts, if R and the packages that the test needs are there."""
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("there is no R; the R package is not tested")
    listed = ", ".join(f"nzchar(system.file(package = {name!r}))" for name in NEEDED)
    asked = f"quit(status = !all({listed}))"
    if subprocess.run([program, "-e", asked], check=False).returncode:
        pytest.skip(f"R lacks one of {', '.join(NEEDED)}; the R package is not tested")
    return program


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    release = us.synthesize(
        *(rows(), SCHEMA), epsilon=60, sets=3, method="independent", options={"sets": "split"}
    )
    return us.Release.load(release.save(tmp_path_factory.mktemp("r") / "r", also="sav,dta"))


@pytest.fixture(scope="module")
def told(r, made, tmp_path_factory):
    """What R says of a release, with the package installed from its folder."""
    place = tmp_path_factory.mktemp("library")
    folder = made.save(place / "release", also="sav,dta")
    shutil.copytree(ROOT / "r", place / "source")
    expression = 'install.packages("source", repos = NULL, type = "source", lib = "library")'
    (place / "library").mkdir()
    subprocess.run([r, "-e", expression], cwd=place, check=True, capture_output=True)
    guide = written_guide(place / "guide")
    script = Path(__file__).with_name("check_package.R")
    tests = place / "source/tests/testthat"
    ran = subprocess.run(
        [r, script, place / "library", folder, tests, guide],
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
        check=False,
        capture_output=True,
        text=True,
        cwd=place,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def written_guide(place):
    """The R of the guide, as one script, beside a release of the columns that it speaks of."""
    rng = np.random.default_rng(1)
    columns = [column("sex", "categorical", levels=["f", "m"]), column("works", "boolean")]
    columns.append(column("income", "integer", lower=0, upper=9))
    people = {"sex": rng.choice(["f", "m"], 900), "works": rng.random(900) < 0.6}
    people = pl.DataFrame(people | {"income": rng.integers(0, 10, 900)})
    made = us.synthesize(
        *(people, us.Schema.loads("".join(columns))),
        **{"epsilon": 50, "method": "laplace", "sets": 3, "options": {"sets": "split"}},
    )
    made.save(place / "release")
    text = (ROOT / "docs/how-to/r.md").read_text(encoding="utf-8")
    script = "".join(re.findall(r"^```r\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    (place / "guide.R").write_text(script, encoding="utf-8")
    return place / "guide.R"


def same(found, analysis):
    """Whether R has the numbers of Python, to 1e-10, infinite ones too."""
    frame = analysis.to_frame().reset_index()
    assert list(found) == list(frame)
    assert found["term"] == frame["term"].tolist()
    for name in list(frame)[1:]:
        numbers = np.array([float(value) for value in found[name]])
        np.testing.assert_allclose(numbers, frame[name], rtol=1e-10, atol=1e-12)


def test_the_example_of_the_package_is_a_release_that_loads():
    release = us.Release.load(ROOT / "r/inst/extdata/example")
    assert len(release.tables) == 3
    assert release.guarantee.epsilon == 4


def test_every_export_has_a_page_of_its_own():
    exports = re.findall(r"^export\((\w+)\)$", (ROOT / "r/NAMESPACE").read_text(), re.MULTILINE)
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "r/man").glob("*.Rd")]
    for name in exports:
        (page,) = [page for page in pages if f"\\alias{{{name}}}" in page]
        assert f"{name}(" in page.split("\\usage{")[1]
        assert "\\value{" in page
        assert "\\examples{" in page


@pytest.mark.nightly
def test_the_package_passes_the_checks_of_cran(r):
    knitr = [r, "-e", "quit(status = !nzchar(system.file(package = 'knitr')))"]
    if subprocess.run(knitr, check=False).returncode:
        pytest.skip("R lacks knitr; the vignette is not built")
    ran = subprocess.run(
        [ROOT / "packaging/check_r.sh", sys.executable],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]


@pytest.mark.nightly
def test_estimates_are_those_of_python(made, told):
    same(told["mean"], us.analyze(made, "mean", "age"))
    same(told["shares"], us.analyze(made, "proportion", "sex", level=0.9))
    three = [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    same(told["pooled"], us.pool(three, np.full((3, 2), 0.5)))
    assert told["refused"][0].startswith("There is no column or function 'nothing'")


@pytest.mark.nightly
def test_a_model_that_r_fits_is_pooled_by_the_rule_of_the_release(made, told):
    def share(frame):
        values = np.asarray(frame["sex"] == 2, dtype=float)
        return {"(Intercept)": values.mean()}, [[values.var(ddof=1) / len(values)]]

    same(told["fit"], us.analyze(made, share, "sex"))
    with pytest.raises(InferenceError) as refused:
        us.analyze(made, lambda frame: ([frame["age"].mean()], [1.0]), "age")
    assert told["binned"] == [str(refused.value)]


@pytest.mark.nightly
def test_sets_are_data_frames_with_labels_and_without_codes(made, told):
    first = made.tables[0]
    assert told["sets"] == [[made.manifest.n_rows]] * 3
    assert told["factors"] == {
        "sex": ["female", "male"],
        "region": ["North", "South", "East & <beyond>"],
        "health": ["bad", "fair", "good"],
    }
    assert told["absent"]["sex"] == [(first["sex"] == 9).sum()]
    assert told["absent"]["net income"] == [(first["net income"] < 0).sum()]
    lacking = first["age"].is_null() | (first["age"] == "refused")
    assert told["absent"]["age"] == [lacking.sum()]
    assert told["kept"] == {str(k): [(first["sex"] == k).sum()] for k in (2, 1, 9)}
    assert told["alike"] == [True], "read by Python as by a package of R"
    assert told["label"] == ["Sex as registered"]
    assert [row["label"] for row in told["codebook"]] == ["female", "male", "refused"]


@pytest.mark.nightly
def test_haven_reads_labels_and_missing_codes(made, told):
    first = made.tables[0]
    spss, stata = told["spss"], told["stata"]
    assert spss["labels"] == {"female": [2], "male": [1], "refused": [9]}
    assert spss["texts"] == {
        **{"North": ["n"], "South": ["s"]},
        **{"East & <beyond>": ["=e"], "abroad": ["x"]},
    }
    assert spss["health"] == {"bad": [1], "fair": [2], "good": [3], "refused": [9]}
    assert (spss["missing"], spss["range"], spss["label"]) == ([9], [-9, -6], ["Sex as registered"])
    assert spss["absent"] == [(first["net income"] < 0).sum()]
    days = [str(first["moved"].min()), str(first["moved"].max())]
    assert spss["days"] == stata["days"] == days
    codes = zip("abcd", (-7, -6, -9, -8), strict=True)
    counts = {letter: [(first["net income"] == code).sum()] for letter, code in codes}
    assert stata["tags"] == {letter: n for letter, n in counts.items() if n != [0]}
    assert stata["highest"] == [first["net income"].max()]
    assert stata["labels"] == ["male", "female", "refused"]  # in the order of their numbers


@pytest.mark.nightly
def test_survey_runs_on_a_set(made, told):
    income = made.tables[0]["net income"].filter(made.tables[0]["net income"] >= 0)
    mean, error = told["survey"]
    assert mean == pytest.approx(income.mean(), rel=1e-10)
    assert error == pytest.approx(income.std() / math.sqrt(len(income)), rel=1e-10)
