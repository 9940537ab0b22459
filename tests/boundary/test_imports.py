"""Which room may know of which: the contracts of `pyproject.toml`, by import-linter.

Each contract is also shown to catch a violation.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter")  # which the oldest libraries do not go with
pytestmark = pytest.mark.whole  # `make check` asks the linter itself
ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "pyproject.toml"
HOUSES = (ROOT / "src" / "understudy", ROOT / "studies" / "src" / "understudy_studies")
COMMAND = (
    "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
)
PLANTED = {
    "A room knows of no room beside or above it": "schema/base: from understudy.dp import budget",
    "The studies stand above all": "errors: import understudy_studies",
    "Public names are for users": "release/citation: from understudy import synthesize",
    "The boundary knows of nothing above it": "dp/budget: from understudy.dp import sampling",
    "The gate is read without any": "dp/confidential: import understudy.mechanisms.tables",
    "Few rooms see rows": "methods/base: from understudy.data import coding",
    "What reads a release knows": "report/text: import understudy.methods.privbayes",
    "The desk is a face": "desk/project: from understudy.data import coding",
    "No circles": "models/model: import understudy.models.tables",
}
"""The first words of a contract → a module, and an import within one of its functions."""


def contracts(place: Path) -> dict[str, str]:
    """Whether each contract is kept by the packages in a folder, as the command says."""
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(place)!r}); {COMMAND}"],
        cwd=place,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    found = dict(re.findall(r"^(\w.*) (KEPT|BROKEN)", ran.stdout, re.MULTILINE))
    assert len(found) == len(PLANTED), ran.stdout + ran.stderr
    return found


@pytest.fixture
def house(tmp_path):
    """A copy of the house."""
    for one in HOUSES:
        shutil.copytree(one, tmp_path / one.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CONFIG, tmp_path)
    return tmp_path


def test_the_house_keeps_its_contracts(house):
    assert set(contracts(house).values()) == {"KEPT"}


def test_every_contract_catches_a_violation(house):
    for planted in PLANTED.values():
        module, statement = planted.split(": ")
        with (house / "understudy" / f"{module}.py").open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef planted():\n    {statement}\n")
    for name, state in contracts(house).items():
        assert state == "BROKEN", name
        assert any(name.startswith(words) for words in PLANTED)


def test_every_module_stands_in_a_room(house):
    for room in ("", "dp"):
        (house / "understudy" / room / "unheard_of.py").touch()
    found = contracts(house)
    assert {name for name, state in found.items() if state == "BROKEN"} == {
        name for name in found if "knows of no" in name
    }
