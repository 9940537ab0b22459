"""What lacks an extra says so in one sentence, before anything is spent."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import understudy as us
from understudy import _validation
from understudy.demo import demo_data
from understudy.errors import MethodError
from understudy.evaluate.tradeoff import Design

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def without(monkeypatch):
    """Makes a library one that is not installed."""

    def hidden(module):
        for loaded in [one for one in sys.modules if one.split(".")[0] == module]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, module, None)

    return hidden


def test_every_extra_that_is_asked_for_can_be_installed():
    offered = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    core = " ".join(offered["dependencies"])
    for name, (library, _) in _validation._LIBRARIES.items():
        wanted = " ".join(offered["optional-dependencies"][name])
        assert library.lower() in wanted
        assert library.lower() not in core
    assert set(_validation._LIBRARIES) <= set(offered["optional-dependencies"])


def test_what_is_installed_is_not_refused():
    for name in ("demo", "evaluate", "ledger"):
        _validation.require_extra(name, "This")


def refused(extra):
    return pytest.raises(MethodError, match=rf"needs .*'{extra}' \(pip.*'\.\[{extra}\]'\)\.$")


def test_the_survey_of_the_demo_ships_with_statsmodels(without):
    without("statsmodels")
    with refused("demo"):
        demo_data()


def test_evaluations_and_methods_that_impute_need_scikit_learn(without, small):
    without("sklearn")
    with refused("evaluate"):
        us.evaluate(small.rows, small.folder / "release")
    with refused("evaluate"):
        us.plan(small.schema, epsilon=1, method="perturbed-imputation")
    with refused("evaluate"):
        Design.of(
            small.schema, methods=["laplace"], epsilons=["1"], repetitions=1, utility=["specks"]
        )


WITHOUT_DATABASES = """
import sys
sys.modules["sqlalchemy"] = None
import understudy as us
from understudy.errors import MethodError
from understudy.workflow.governance import account_of
schema = us.Schema.loads(sys.argv[1])
try:
    account_of(schema, "ledger.db")
except MethodError as error:
    print(error)
"""


def test_a_ledger_needs_its_database_library(small):
    governed = small.schema.dumps() + '\n[ledger]\npopulation = "adults"\n'
    asked = [sys.executable, "-c", WITHOUT_DATABASES, governed]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert told.startswith("A population ledger needs SQLAlchemy, which is not installed; install")
