"""Files of other programs that packages ship: SAS, SPSS and Stata by haven, .xls by statsmodels.

Read where the packages are; each test is skipped where they are not. The workbook in .ods is made
here, as the format has it.
"""

import importlib.util
import shutil
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.schema import Schema

MEASURES = ("Sepal_Length", "Sepal_Width", "Petal_Length", "Petal_Width")
IRIS = """
[columns.{0}]
kind = "continuous"
lower = 0
upper = 10
decimals = 1
source = "botany"
reviewed = true
"""


def haven_examples():
    """The folder of haven's examples."""
    if shutil.which("Rscript") is None:
        pytest.skip("there is no R")
    asked = ["Rscript", "-e", "cat(system.file('examples', package = 'haven'))"]
    found = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False).stdout
    if not found or not (Path(found) / "iris.sas7bdat").is_file():
        pytest.skip("haven is not installed")
    return Path(found)


def released(data, schema, n):
    """A release at an ε that leaves no noise to speak of."""
    made = us.synthesize(
        data, schema, epsilon=10**6, method="independent", insecure_noise_seed=1, frame="polars"
    )
    assert abs(made.manifest.n_rows - n) <= 1
    return made.tables[0]


@pytest.mark.parametrize("name", ["iris.sas7bdat", "iris.sav", "iris.dta"])
@pytest.mark.nightly(every=3)
def test_iris_is_read_from_files_of_three_programs(name):
    pytest.importorskip("pyreadstat")
    file = haven_examples() / name
    draft = Schema.loads(us.draft(file))
    measures = [one for one in draft.columns if "species" not in one.lower()]
    (species,) = set(draft.columns) - set(measures)
    levels = draft.columns[species].levels
    assert len(measures) == 4
    assert len(levels) == 3
    text = "".join(IRIS.format(f'"{one}"') for one in measures)
    text += f"[columns.{species}]\nkind = 'categorical'\nlevels = {list(levels)}\n"
    schema = Schema.loads(f"{text}source = 'botany'\nreviewed = true\n")
    assert us.check(file, schema).findings == ()
    table = released(file, schema, 150)
    # Records are drawn: the sd of each count is below 6.
    assert all(abs(n - 50) <= 18 for n in Counter(table[species].to_list()).values())
    # The means of iris, as everybody has them; bins are .5 wide.
    for one, mean in zip(measures, (5.843, 3.057, 3.758, 1.199), strict=True):
        assert abs(table[one].mean() - mean) < 0.4


def test_an_old_workbook_is_read():
    pytest.importorskip("fastexcel")
    found = importlib.util.find_spec("statsmodels")
    if found is None or found.origin is None:
        pytest.skip("statsmodels is not installed")
    place = Path(found.origin).parent / "datasets" / "macrodata" / "src" / "macrodata.xls"
    file = next((one for one in (place, place / place.name) if one.is_file()), None)
    if file is None:
        pytest.skip("statsmodels ships no workbook")
    schema = Schema.loads(
        """
        [file]
        sheet = "Quarterly"
        source = "documentation"
        reviewed = true
        [columns.DATE]
        kind = "date"
        lower = 1947-01-01
        upper = 2009-12-31
        bins = 3
        source = "documentation"
        reviewed = true
        [columns.GDPC96]
        kind = "continuous"
        lower = 1000
        upper = 15000
        decimals = 1
        bins = 4
        source = "documentation"
        reviewed = true
        """
    )
    found = us.check(file, schema).findings
    assert [one for one in found if one.column in schema.names] == []
    table = released(file, schema, 251)  # quarters from 1947 to the third of 2009
    thirds = np.bincount((table["DATE"].dt.year().to_numpy() - 1947) // 21, minlength=3)
    assert (np.abs(thirds - 84) <= 30).all()
    assert 5_000 < table["GDPC96"].mean() < 9_000


def ods(place, rows):
    """A workbook of OpenDocument: the smallest that programs open."""

    def cell(value):
        if isinstance(value, str):
            kind = 'office:value-type="string"'
            return f"<table:table-cell {kind}><text:p>{value}</text:p></table:table-cell>"
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'

    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    names = ("office", "table", "text")
    spaces = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in names)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} '
        'office:version="1.2"><office:body><office:spreadsheet><table:table table:name="people">'
        f"{lines}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        '<?xml version="1.0"?><manifest:manifest xmlns:manifest='
        '"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
        'manifest:full-path="/" manifest:media-type='
        '"application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>'
    )
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)


def test_a_workbook_of_open_document_is_read(tmp_path):
    pytest.importorskip("fastexcel")
    file = tmp_path / "people.ods"
    ods(file, [["age", "sex"], *([20 + k % 60, "fm"[k % 2]] for k in range(400))])
    schema = Schema.loads(
        """
        [columns.age]
        kind = "integer"
        lower = 18
        upper = 99
        source = "definition"
        reviewed = true
        [columns.sex]
        kind = "categorical"
        levels = ["f", "m"]
        source = "definition"
        reviewed = true
        """
    )
    assert us.check(file, schema).findings == ()
    table = released(file, schema, 400)
    assert abs((table["sex"] == "f").sum() - 200) <= 50
    assert abs(table["age"].mean() - 48.5) < 4
