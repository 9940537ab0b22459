"""Where things stand in this distribution: names that tell, and files and functions of a size."""

import ast
from collections import Counter
from pathlib import Path

import understudy_studies

FILES = sorted(Path(understudy_studies.__file__).parent.rglob("*.py"))
PARTS = {"population", "simulation", "figures", "claims", "page"}
"""What every study has, or some of it."""
MOST_LINES, LONGEST_FUNCTION = 320, 60


def test_no_two_files_have_one_name_but_the_parts_of_a_study():
    names = Counter(file.stem for file in FILES)
    assert {name for name, times in names.items() if times > 1} <= PARTS | {"__init__"}
    assert len(FILES) > 100


def test_files_are_short():
    assert [file for file in FILES if len(file.read_text().splitlines()) > MOST_LINES] == []


def test_functions_are_short():
    found = [
        f"{file.name}: {node.name}"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= LONGEST_FUNCTION
    ]
    assert found == []
