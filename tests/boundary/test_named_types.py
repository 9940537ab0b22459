"""What is let near rows is on a closed list: the lists are closed, and five foreigners stay out.

`tests/attacks/test_gate.py` has the attacks on every verb, parameter and field; here stand the five
objects that once got in, each written as a method would write it.
"""

import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from understudy.data.table import Table
from understudy.dp.admission import PLAIN, admit, verb
from understudy.dp.budget import Budget
from understudy.dp.gate import (
    WITH_EPSILON,
    WITHOUT_EPSILON,
    Gate,
    is_listed,
    load_mechanisms,
)
from understudy.dp.mechanism import Mechanism
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms.selection import CandidateColumns
from understudy.mechanisms.selection_scores import DistanceFromIndependence
from understudy.papers.column_models import SequentialModel
from understudy.papers.generator_scores import (
    ListedParameters,
    PropensityTrees,
    Walk,
    WalkedParameters,
)
from understudy.papers.generators import Prior, SimulatedRecords, even_numbers, regressions
from understudy.papers.imputation_draws import Imputation, ImputedRecords
from understudy.papers.perturbed_gibbs import PerturbedGibbs
from understudy.papers.pseudo_posterior import PosteriorDraw
from understudy.papers.record_weights import PseudoPosterior
from understudy.papers.trees_exact import Stumps
from understudy.schema import GibbsSweep, Schema
from understudy.workflow.gates import open_gate

SCHEMA = Schema.loads(
    '[columns.a]\nkind = "boolean"\nsource = "codebook"\nreviewed = true\n'
    '[columns.b]\nkind = "boolean"\nsource = "codebook"\nreviewed = true\n'
)
ROWS = pl.DataFrame({"a": [True, False, True], "b": [True, True, False]})
KEPT = []


def keep(*seen):
    KEPT.append(seen)
    raise AssertionError("foreign code was run")


def gate():
    return open_gate(Table(ROWS, SCHEMA), Budget.of(9), SeededRandomness(1), allow_nonprivate=True)


# --- five foreigners ------------------------------------------------------------------------------


class OwnPrice(PerturbedGibbs):
    """A sweep with a price and draws of its own."""

    price = run = epsilon = keep


class OwnScore:
    """All that a score of parameters has, and ears."""

    schema, columns, points = SCHEMA, ("a", "b"), np.zeros((2, 1))
    title = bound = "the smallest SSE"
    monotone = True

    def sensitivity(self, _):
        return Fraction(1)

    def leaks(self, _):
        return ()

    evaluate = against = keep


class OwnTrees(Stumps):
    """A genuine class of trees but for one function."""

    prepare = keep


class OwnDependence(DistanceFromIndependence):
    """A genuine score of tables but for one function."""

    score = evaluate = evaluate_new = keep


class OwnLaw:
    """All that a law of a column has, and ears."""

    column, parents = "a", ()

    posterior = log_likelihoods = log_contributions = draw = keep


class OwnImputation(Imputation):
    """A genuine specification but for what it answers."""

    def __getattribute__(self, name):
        keep(name)


def own_trees():
    generator = regressions(SCHEMA, [("a", ()), ("b", ("a",))])
    simulated = SimulatedRecords(generator, even_numbers(1, 2, 4, 1)[0])
    return PropensityTrees(SCHEMA, (simulated,), generator.prior.points(2), OwnTrees())


PRIOR = Prior(("p",), np.zeros(1), np.ones(1))
WALK = Walk(PRIOR, PRIOR.means, PRIOR.stddevs, 2)
PAIRS = (("a", "b"),)
SWEEP = GibbsSweep.of(SCHEMA.names, SCHEMA.domain, {})
ONE = Fraction(1)
FOREIGNERS = {
    "a sweep with its own price and draws": lambda g: g.ask(
        OwnPrice(sweep=SWEEP, n_rows=2), spend=ONE
    ),
    "a score of candidates": lambda g: g.ask(ListedParameters(OwnScore(), ["p"]), spend=ONE),
    "a score of a walk": lambda g: g.ask(WalkedParameters(OwnScore(), ["p"], WALK), spend=ONE),
    "trees within a genuine score": lambda g: g.ask(
        ListedParameters(own_trees(), [f"p{k}" for k in range(3)]), spend=ONE
    ),
    "the heir of a genuine score": lambda g: g.ask(
        CandidateColumns(PAIRS, OwnDependence(SCHEMA, PAIRS)), spend=ONE
    ),
    "a law within a genuine mechanism": lambda g: g.ask(
        PosteriorDraw(PseudoPosterior(SequentialModel((OwnLaw(),)), draws=2))
    ),
    "the heir of a genuine imputation": lambda g: g.ask(
        ImputedRecords(imputation=OwnImputation(), n_rows=1), spend=ONE
    ),
}


@pytest.mark.parametrize("ask", FOREIGNERS.values(), ids=FOREIGNERS)
def test_foreigners_stay_out(ask):
    door = gate()
    KEPT.clear()
    with pytest.raises(MethodError, match="The gate takes no Own"):
        ask(door)
    assert (KEPT, door.ledger, door.measured) == ([], (), ())


Scalar = TypeVar("Scalar", bound=np.generic)
NAMED_ARRAY = TypeAliasType("NAMED_ARRAY", np.ndarray[Any, np.dtype[Scalar]], type_params=(Scalar,))


@pytest.mark.parametrize("array", [NDArray, NAMED_ARRAY], ids=["as installed", "a named type"])
def test_arrays_are_admitted_however_their_type_is_named(array):
    """From NumPy 2.5 on NDArray is a name for a type, and no type by itself."""
    given = np.array([1.0, 2.0])
    for declared in (array[np.float64], array[np.float64] | None, tuple[array[np.float64], ...]):
        value = (given,) if get_origin(declared) is tuple else given
        made = admit(value, declared)
        taken = made[0] if type(made) is tuple else made
        assert taken.tolist() == [1.0, 2.0]
        assert taken is not given
    assert admit(np.array([1, 2]), array[np.float64]).tolist() == [1, 2]
    for foreigner in (np.array(["a"]), given.view(np.recarray), [1.0, 2.0]):
        with pytest.raises(MethodError, match="The gate takes no"):
            admit(foreigner, array[np.float64])
    with pytest.raises(MethodError, match="The gate takes no"):
        admit(given, array[np.int64])


# --- the lists are closed -------------------------------------------------------------------------

ROOMS = tuple(f"understudy.{room}." for room in ("dp", "features", "mechanisms", "schema"))
FILES = {module for module, _ in (*WITH_EPSILON, *WITHOUT_EPSILON)} | {
    f"understudy.papers.{file}"
    for file in (
        *("categorical_models", "column_models", "generators", "gibbs_mechanisms"),
        *("mixture_gibbs", "mixture_regression", "record_weights", "sampling_base"),
        *("trees_exact", "trees_greedy"),
    )
}
FILES |= {"understudy.graphical.junction_tree"}  # how large a tree of chosen columns may be
"""Files with mechanisms among the papers, and with what mechanisms hold."""
CONTAINERS = (tuple, list, dict, frozenset, Mapping, Sequence)


def open_parts(declared, seen=frozenset()):
    """What in an annotation is no closed list of types of this package's inner rooms."""
    origin, inner = get_origin(declared), get_args(declared)
    if hasattr(origin, "__value__"):
        return open_parts(origin.__value__[inner], seen)
    kind = origin or declared
    if dataclasses.is_dataclass(kind):
        if not (kind.__module__.startswith(ROOMS) or kind.__module__ in FILES):
            return [f"{kind.__name__} of {kind.__module__}"]
        if kind in seen:
            return []
        hints = get_type_hints(kind, include_extras=True)
        parts = [hints[one.name] for one in dataclasses.fields(kind)]
        return [found for part in [*parts, *inner] for found in open_parts(part, seen | {kind})]
    if origin is Literal or declared in (Ellipsis, Any) or isinstance(declared, TypeVar):
        return []
    if origin is Annotated:
        return open_parts(inner[0], seen)
    if origin is np.ndarray:
        return []
    if origin in CONTAINERS or origin in (Union, types.UnionType):
        return [found for part in inner for found in open_parts(part, seen)]
    if declared in PLAIN or (inspect.isclass(declared) and issubclass(declared, BaseModel)):
        return []
    return [str(declared)]


def open_verbs(kind):
    return [
        f"{name}: {found}"
        for name, function in inspect.getmembers(kind, inspect.isfunction)
        if hasattr(function, "__wrapped__") and not name.startswith("_")
        for parameter, declared in get_type_hints(function.__wrapped__, include_extras=True).items()
        if parameter != "return"
        for found in open_parts(declared)
    ]


def test_all_that_a_verb_may_take_is_on_a_closed_list():
    """Plain types, arrays, and dataclasses of the inner rooms, whose fields are such: no protocol,
    no callable, no bare object, down to the last field."""
    assert open_verbs(Gate) == []


@pytest.mark.parametrize("mechanism", load_mechanisms(), ids=lambda one: one.__name__)
def test_all_that_a_mechanism_may_hold_is_on_a_closed_list(mechanism):
    assert dataclasses.is_dataclass(mechanism)
    assert mechanism.__dataclass_params__.frozen
    assert open_parts(mechanism) == []


def test_every_mechanism_of_the_package_is_named():
    """Claim: there is none beside the list, and the list holds this package's own."""
    assert set(load_mechanisms()) == set(subclasses(Mechanism))
    assert all(is_listed(one) for one in load_mechanisms())


def subclasses(kind):
    """All classes below one that can be made, of this package."""
    below = [one for heir in kind.__subclasses__() for one in (heir, *subclasses(heir))]
    return [
        one
        for one in below
        if one.__module__.startswith("understudy.") and not inspect.isabstract(one)
    ]


class Ducks(Protocol):
    def look(self): ...


@dataclasses.dataclass(frozen=True)
class Foreign:
    x: int


Foreign.__module__ = "understudy.methods.x"


class Open:
    """Verbs as they must not be."""

    @verb
    def takes_a_duck(self, one: Ducks) -> None: ...

    @verb
    def takes_a_function(self, one: Sequence[Callable[[int], bool]]) -> None: ...

    @verb
    def takes_anything(self, one: dict[str, object]) -> None: ...

    @verb
    def takes_what_a_method_defines(self, one: Foreign | None) -> None: ...


def test_an_open_list_is_noticed():
    named = {found.split(":")[0] for found in open_verbs(Open)}
    assert named == {name for name in vars(Open) if name.startswith("takes")}
