"""All classes of errors: what they are to programs that know nothing of this package."""

import importlib
import pickle
import pkgutil
from contextlib import suppress

import pytest

import understudy
import understudy as us
from understudy import errors
from understudy.errors import UnderstudyError


def every_class():
    """All errors of the package, those of single modules too."""
    for module in pkgutil.walk_packages(understudy.__path__, "understudy."):
        with suppress(ImportError, UnderstudyError):  # an extra that is not installed
            importlib.import_module(module.name)
    found, ahead = [], [UnderstudyError]
    while ahead:
        found.append(one := ahead.pop())
        ahead += one.__subclasses__()
    return sorted(set(found), key=lambda one: one.__qualname__)


def made(kind):
    """An error with a sentence and an attribute, whatever its class asks for when it is made."""
    error = kind.__new__(kind)
    error.args = ("A sentence.",)
    error.where = "a place"
    return error


def raise_behind(handled, error):
    """Raise an error while another one is being handled."""
    try:
        raise handled
    except type(handled):
        raise error  # noqa: B904 — what stands behind it is the question


def test_errors_about_values_are_value_errors_and_of_disks_are_os_errors():
    values = {"SchemaError", "DataError", "BudgetError", "MethodError", "InferenceError"}
    for kind in every_class():
        parents = {parent.__name__ for parent in kind.__mro__}
        assert issubclass(kind, ValueError) == bool(parents & values), kind
        assert issubclass(kind, OSError) == ("UnsavedError" in parents), kind
        assert not issubclass(kind, LookupError), kind


@pytest.mark.parametrize("kind", every_class(), ids=lambda kind: kind.__name__)
def test_every_error_says_its_sentence_passes_between_processes_and_hides_what_was_handled(kind):
    error = made(kind)
    assert str(error) == "A sentence."
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.args, again.where) == (kind, error.args, "a place")
    with pytest.raises(kind):
        raise_behind(KeyError("a cell"), error)
    assert error.__context__ is None


def test_errors_with_parts_of_their_own_pass_between_processes_whole():
    unsaved = errors.UnsavedError("there", "no space")
    told = errors.InsufficientBudgetError("2", "1", "ε")
    for error in (unsaved, told):
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert vars(again) == vars(error)
    assert unsaved.what.startswith("The release cannot be written to 'there': no space")


def test_faults_of_public_functions_are_caught_by_what_python_calls_them():
    columns = "[columns.a]\nkind = 'boolean'\nsource = 'form'\nreviewed = true\n"
    schema = us.Schema.loads(columns)
    for wrong in (
        lambda: us.Schema.loads("[columns]"),
        lambda: us.plan("nowhere.toml", epsilon=1),
        lambda: us.plan(schema, epsilon=-1),
        lambda: us.plan(schema, epsilon=1, method="none"),
        lambda: us.synthesize("nowhere.csv", schema, epsilon=1),
        lambda: us.pool([[1.0]], [[1.0]], rule="none"),
    ):
        with pytest.raises(ValueError, match=r"\.$") as caught:
            wrong()
        assert isinstance(caught.value, UnderstudyError)
