"""What is loaded to begin with: heavy libraries wait until they are needed.

Not timed (`benchmarks/startup.py` is): each test asks a new process which modules it has loaded.
"""

import json
import subprocess
import sys

import pytest

HEAVY = {
    *("numpy", "scipy", "numba", "llvmlite", "polars", "pandas", "pyarrow", "pydantic"),
    *("sklearn", "statsmodels", "matplotlib", "formulaic", "jinja2", "cryptography"),
    *("sqlalchemy", "psycopg"),
}
RARE = {"pandas", "statsmodels", "sklearn", "matplotlib", "formulaic", "scipy.stats"}
"""What most commands do without."""
LATER = {f"understudy.{room}" for room in ("methods", "papers", "evaluate", "report")}
"""Rooms that whoever reads a release does without."""
RUN = """
import sys
from understudy.cli import main
sys.argv = ["understudy", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


def loaded_by(code):
    """Names of all modules that a new process has loaded after some code."""
    tell = "\nimport json, sys\nsys.stderr.write(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", code + tell], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stderr))


def after(*commands):
    """The same after commands of ours, one after the other in one process."""
    return loaded_by("\n".join(RUN.format(arguments=one) for one in commands))


@pytest.mark.parametrize(
    "code",
    [
        "import understudy as us\nassert 'synthesize' in dir(us)\nassert us.__version__"
        "\nfrom understudy import UnderstudyError",
        "\n".join(RUN.format(arguments=one) for one in (["--version"], ["--help"])),
    ],
)
def test_nothing_heavy_is_loaded_to_begin_with(code):
    assert not loaded_by(code) & HEAVY


def test_nothing_heavy_is_loaded_for_the_help_of_a_command():
    """Nothing of ours; the library of the command line itself asks pydantic for its types."""
    commands = ("synthesize", "schema check", "evaluate", "tradeoff")
    loaded = after(*([*command.split(), "--help"] for command in commands))
    assert not loaded & (HEAVY - {"pydantic"})


@pytest.mark.nightly
def test_the_list_of_heavy_libraries_is_not_empty_talk():
    """One public name later most of them are there, so that the names are spelled right."""
    kernel = "from understudy._arrays import compiled\ncompiled(lambda: 0)()"
    later = loaded_by(f"import understudy as us\nus.synthesize\nus.evaluate\nus.regress\n{kernel}")
    assert {"numpy", "numba", "polars", "pydantic", "scipy"} <= later & HEAVY


def test_a_plan_needs_neither_rows_nor_kernels():
    plan = "import understudy as us\nfrom understudy.demo import demo_schema\n"
    plan += "us.plan(demo_schema(), epsilon=1)\nus.plan(demo_schema(), epsilon=1, delta='1e-6')"
    assert not loaded_by(plan) & (HEAVY - {"numpy", "pydantic", "cryptography"})


@pytest.mark.nightly
def test_the_list_of_methods_needs_neither_rows_nor_kernels():
    listed = loaded_by("import understudy as us\nus.list_methods()")
    assert not listed & (HEAVY - {"numpy", "pydantic", "scipy"}) | {"scipy.special"} & listed


@pytest.mark.nightly
def test_a_command_loads_what_it_needs(small):
    csv_file, toml_file = small.folder / "people.csv", small.folder / "people.toml"
    folder = str(small.folder / "release")
    # No method either: the manifest says what a method would. Questions are put to the release,
    # and its pages are rendered anew, by the code that answers and reports.
    asked = {"pandas", "formulaic", "understudy.report", "understudy.evaluate"}
    assert not after(["show", folder], ["show", "--json", folder]) & ((RARE | LATER) - asked)
    checked = after(["schema", "check", str(csv_file), str(toml_file)])
    assert not checked & (RARE | {"understudy.methods", "understudy.models", "understudy.release"})
    planned = ["plan", "--schema", str(toml_file), "--epsilon", "1", "--json"]
    assert not after(["methods", "--json"], planned) & RARE


@pytest.mark.nightly
def test_a_release_loads_no_library_of_what_it_does_not_do(small, tmp_path):
    ask = ["synthesize", str(small.folder / "people.csv"), "--schema"]
    ask += [str(small.folder / "people.toml"), "--epsilon", "1", "--quiet", "--method", "laplace"]
    loaded = after([*ask, "--out", str(tmp_path / "out")])
    assert not loaded & {"scipy.stats", "sklearn", "statsmodels", "sqlalchemy", "matplotlib"}
    assert "formulaic" not in loaded


@pytest.mark.nightly
def test_neither_a_schema_nor_a_release_loads_what_only_tables_and_pages_need():
    assert not loaded_by("import understudy as us\nus.Schema") & {"numba", "scipy", "polars"}
    assert not loaded_by("import understudy as us\nus.Release") & {"jinja2", "pandas", "formulaic"}


@pytest.mark.nightly
def test_a_release_loads_nothing_that_only_papers_stewards_or_codebooks_need():
    loaded = loaded_by("""
import understudy as us
from understudy.demo import demo_data, demo_schema
release = us.synthesize(demo_data(), demo_schema(), epsilon=1, delta="1e-6", insecure_noise_seed=1)
us.analyze(release, "mean", "age")
""")
    rooms = ("papers", "evaluate", "metadata", "spark", "steward", "cli")
    assert not [name for name in loaded if name.startswith(tuple(f"understudy.{r}" for r in rooms))]


@pytest.mark.nightly
def test_public_names_are_themselves_whatever_was_imported_before():
    """A room of the same name, `evaluate`, does not hide the function; all names can be had."""
    code = """
import understudy.methods.registry as registry
import understudy as us
import understudy.evaluate
assert [facts.name for facts in us.list_methods()] == list(registry.METHODS)
from understudy.evaluate.evaluate import evaluate
assert us.evaluate is evaluate and us.evaluate is us.evaluate
for name in us.__all__:
    assert getattr(us, name) is getattr(us, name)
    assert name in dir(us)
try:
    us.nothing
except AttributeError as error:
    assert "nothing" in str(error)
else:
    raise AssertionError
"""
    loaded_by(code)
