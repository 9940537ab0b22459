"""Attacks on the gate by what is handed in: objects of the attacker's own, on every verb.

The attacker writes a method. He holds a gate, calls its public verbs, and hands them objects that
keep whatever they are given or asked. Each claim that he tries to break stands in a docstring.
"""

import copy
import inspect
from dataclasses import fields, is_dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from pydantic import BaseModel

import understudy as us
from understudy.checkpoint.journal import Journal
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.gate import Gate, load_mechanisms
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.features.design import Computed, LevelValues
from understudy.features.scores import RankScores, Weighting
from understudy.graphical.junction_tree import TreeLimit
from understudy.mechanisms.private_selection import PrivateSelection, TableDistance
from understudy.mechanisms.regression import Regression
from understudy.mechanisms.second_moments import (
    RankProducts,
    SecondMoments,
    TermMoments,
    WeightedMoments,
)
from understudy.mechanisms.selection import Candidate, CandidateColumns, RandomOrder
from understudy.mechanisms.selection_scores import (
    CellCount,
    DistanceFromIndependence,
    DistanceFromModel,
    DistanceFromProduct,
)
from understudy.mechanisms.sparse_tables import LazyTable, ThresholdTable
from understudy.mechanisms.sums import Moments
from understudy.mechanisms.tables import (
    BinomialCount,
    HeapCounts,
    NoisyTables,
    NumberLines,
    RowCount,
)
from understudy.mechanisms.urn import Urn
from understudy.mechanisms.votes import Votes
from understudy.mechanisms.weighted_tables import WeightedTable
from understudy.papers.categorical_models import StateLogit, StateTable
from understudy.papers.column_models import NumberModel, SequentialModel
from understudy.papers.empirical_distribution import CumulativeDistributions
from understudy.papers.exact import (
    ExactDeviations,
    ExactFullTable,
    ExactMoments,
    ExactQuartileRanges,
    ExactTables,
)
from understudy.papers.generator_scores import (
    Censoring,
    ColumnLikelihood,
    ListedParameters,
    PropensityTrees,
    Walk,
    WalkedParameters,
)
from understudy.papers.generators import (
    SimulatedColumn,
    SimulatedRecords,
    even_numbers,
    regressions,
)
from understudy.papers.gibbs_mechanisms import StateShares
from understudy.papers.hierarchy_mechanisms import (
    ColumnSplits,
    GroupSplit,
    HierarchyLayers,
    LazyLeaves,
    LeafRecords,
    RangeCounts,
)
from understudy.papers.imputation_draws import Imputation, ImputedRecords
from understudy.papers.perturbed_gibbs import DiverseRows, LazyRows, PerturbedGibbs, ResetBlocks
from understudy.papers.pseudo_posterior import OpenColumns, PosteriorDraw
from understudy.papers.record_weights import PseudoPosterior
from understudy.papers.sampling_base import NormalLinear
from understudy.papers.trees_exact import Grid, GridDepthTwo, Stumps
from understudy.schema import GibbsSweep, Partition, Schema
from understudy.workflow.gates import open_gate

F = Fraction
SCHEMA = """
rows = "public"
n_rows = 6
[columns.a]
kind = "categorical"
levels = ["x", "y", "z"]
reviewed = true
source = "codebook"
[columns.b]
kind = "boolean"
reviewed = true
source = "codebook"
[columns.c]
kind = "continuous"
lower = 0
upper = 8
bins = 4
heaps = [2, 0.5]
reviewed = true
source = "codebook"
[columns.d]
kind = "continuous"
lower = 0
upper = 4
bins = 1
reviewed = true
source = "codebook"
"""
ROWS = pl.DataFrame(
    {
        "a": ["x", "x", "y", "y", "z", "z"],
        "b": [True, False, True, True, False, False],
        "c": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0],
        "d": [0.5, 1.5, 1.0, 2.5, 3.0, 3.5],
    }
)
NO_QUESTION = {"listen", "guarantee"}
"""Public functions of a gate that ask nothing of the rows, and take nothing near them."""


class Spied(Table):
    """Rows that note when they are looked at."""

    def __init__(self):
        super().__init__(ROWS, Schema.loads(SCHEMA))
        self.asked = []

    def _note(self, name, *args, **options):
        self.asked.append(name)
        return getattr(super(), name)(*args, **options)

    def total(self):
        return self._note("total")

    def count(self, *args):
        return self._note("count", *args)

    def count_occupied(self, *args, **part):
        return self._note("count_occupied", *args, **part)

    def sums(self, *args):
        return self._note("sums", *args)

    def score_products(self, *args):
        return self._note("score_products", *args)

    def grouped_products(self, *args):
        return self._note("grouped_products", *args)

    def weighted_counts(self, *args):
        return self._note("weighted_counts", *args)

    def rank_sums(self, *args):
        return self._note("rank_sums", *args)

    def line_counts(self, *args):
        return self._note("line_counts", *args)

    def code_rows(self):
        return self._note("code_rows")

    def read(self, *args):
        return self._note("read", *args)

    def recode(self, *args):
        return self._note("recode", *args)


def plain(_folder):
    engine = Spied()
    budget, source = Budget.of(10**6), SeededRandomness(1)
    return open_gate(engine, budget, source, allow_nonprivate=True), engine


def recorded(folder):
    engine, journal = Spied(), Journal(folder / "checkpoint", {}, seed=1)
    budget, source = Budget.of(10**6), SeededRandomness(1)
    return open_gate(engine, budget, source, journal, allow_nonprivate=True), engine


GATES = {"plain": plain, "recorded": recorded}


def choices_of_parameters(schema):
    """Genuine ones, by both kinds of scores, and of simulators by both."""
    generator = regressions(schema, [("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ("c",))])
    worlds = even_numbers(1, 4, 8, 3)
    whole = (SimulatedRecords(generator, worlds[0]),)
    drawn = generator.records(generator.prior.means, worlds[0])
    column = (SimulatedColumn(generator, 1, drawn, worlds[0, 1]),)
    grid = GridDepthTwo(Grid(schema.sizes))
    likelihood = ColumnLikelihood(
        schema,
        generator.column_models[1],
        generator.column_models[1].prior.points(4),
        Censoring(form="interval", width=3.0, high=0.0),
    )
    points, own = generator.prior.points(3), generator.column_models[1].prior.points(3)
    stumps = PropensityTrees(schema, column, own, Stumps())
    listed = {"": PropensityTrees(schema, whole, points, grid), " of a column": stumps}
    walked = {"": likelihood, " by trees": stumps}
    prior = generator.column_models[1].prior
    how = Walk(prior, prior.means, 0.1 * prior.stddevs, 3)
    return {
        f"ListedParameters{words}": ListedParameters(score, names_of(score))
        for words, score in (listed | {" by likelihood": likelihood}).items()
    } | {
        f"WalkedParameters{words}": WalkedParameters(score, names_of(score), how)
        for words, score in walked.items()
    }


def names_of(score):
    return [f"p{k}" for k in range(score.points.shape[1])]


def posterior(schema):
    number = NumberModel.of(schema, "c", ("a",), NormalLinear())
    table, logit = StateTable.of(schema, "a", ()), StateLogit.of(schema, "b", ("a",))
    return PseudoPosterior(SequentialModel((table, logit, number)), draws=4)


PARAMETERS = ("ListedParameters", "WalkedParameters")
"""The mechanisms whose calls are the dearest to put together."""


def mechanisms(schema, words=PARAMETERS[0]):
    """Every mechanism: "class" or "class, in words" → one of it; choices of parameters only where
    these words are of one."""
    tree = Partition(schema.domain)
    pairs = (("a", "b"), ("b", "a"))
    model = DistanceFromModel(schema, pairs, np.zeros(12), (1, 2), np.zeros(2))
    limit = TreeLimit(schema.sizes, ((0, 1),), 100.0)
    sweep = GibbsSweep.of(schema.names, schema.domain, {"a": ("b",), "b": ("a",)})
    shares = tuple((1.0,) * size for size in schema.sizes)
    return {
        "BinomialCount": BinomialCount("b", bounds="threshold", mode="strict"),
        "Candidate": Candidate(("x", "y", "z"), CellCount((0,)), np.array([True, True, False])),
        "CandidateColumns": CandidateColumns(pairs, model, limit),
        "CandidateColumns by dependence": CandidateColumns(
            pairs, DistanceFromIndependence(schema, pairs), np.array([True, False])
        ),
        "CandidateColumns by distance from products": CandidateColumns(
            pairs, DistanceFromProduct(schema, pairs, tuple(map(np.ones, schema.sizes)), 3.0)
        ),
        "ColumnSplits": ColumnSplits(tree),
        "CumulativeDistributions": CumulativeDistributions([("a",)], [1]),
        "DiverseRows": DiverseRows(sweep=sweep, diversity=1.5, sensitive=(0,), n_rows=2),
        "ExactDeviations": ExactDeviations(["c"]),
        "ExactFullTable": ExactFullTable(),
        "ExactMoments": ExactMoments(["d"], ["a"]),
        "ExactQuartileRanges": ExactQuartileRanges(["c"]),
        "ExactTables": ExactTables([("a",)]),
        "GroupSplit": GroupSplit(tree),
        "HeapCounts": HeapCounts(("c",)),
        "HierarchyLayers": HierarchyLayers(tree.divide([(0,)]), [1], "geometric", [1]),
        "ImputedRecords": ImputedRecords(imputation=Imputation(penalty=0.1), n_rows=2),
        "LazyLeaves": LazyLeaves(tree.divide([(0,)]), "geometric"),
        "LazyRows": LazyRows(sweep=sweep, sweeps=1, n_rows=2),
        "LazyTable": LazyTable(columns=("a", "b"), n_rows=3),
        "Moments": Moments(["d"], ["a"], [1, 2], "split", "threshold", "strict"),
        "NoisyTables": NoisyTables([("a",), ("a", "b")], "geometric", [1, F(1, 2)]),
        "NoisyTables in bins": NoisyTables(
            [("a", "c")], "geometric", bins={"c": 2, "d": (0.0, 1.0, 4.0)}
        ),
        "NumberLines": NumberLines(("c", "d"), (1, 2)),
        "OpenColumns": OpenColumns(("a", "b")),
        "PerturbedGibbs": PerturbedGibbs(sweep=sweep, n_rows=2),
        "PerturbedGibbs by shares": PerturbedGibbs(
            sweep=sweep, n_rows=2, shares=StateShares(form="bought", shares=shares)
        ),
        "PrivateSelection": PrivateSelection(2, F(1), F(1, 4)),
        "TableDistance": TableDistance((("a",),), (np.array([2, 2, 2, 0]),), 1, (0,)),
        "PosteriorDraw": PosteriorDraw(posterior(schema), 0, "strict"),
        "RandomOrder": RandomOrder(3),
        "RankProducts": RankProducts(RankScores({"b": (-9, 9), "c": (-9, -3, 3, 9)})),
        "RangeCounts": RangeCounts("c", [np.array([0, 2, 4])], "geometric"),
        "Regression": Regression(response="c", predictors=("d",), mechanism="functional"),
        "ResetBlocks": ResetBlocks(sweep=sweep, n_rows=2, block=2),
        "RowCount": RowCount(),
        "SecondMoments": SecondMoments(("a", "d")),
        "ThresholdTable": ThresholdTable(("a", "b"), 2, "laplace"),
        "Urn": Urn(columns=("a", "b"), reinforced=True, n_rows=3),
        "TermMoments": TermMoments(("a",), among=({"a": (0,)}, {"b": (1,)})),
        "WeightedMoments": WeightedMoments(("a",), "d", 2.0),
        "WeightedTable": WeightedTable(("a", "b"), Weighting("d", 2.0, 1)),
        "Votes": Votes(
            kind="ols",
            outcome=(Computed("d"),),
            design=((), (Computed("c", log=True), LevelValues("b", (0.0, 1.0)))),
            border=0.5,
            above=True,
            subsets=2,
        ),
        **(choices_of_parameters(schema) if words.split()[0] in PARAMETERS else {}),
    }


def calls(gate, words=PARAMETERS[0]):
    """A genuine call of every verb, and of `ask` for every mechanism: words → its arguments."""
    schema, spend = gate.schema, F(2)
    found = {
        "rebin": {"bins": {"c": 2, "d": (0.0, 1.0, 4.0)}},
        "group": {"groups": {"a": (0, 0, 1)}},
        "require": {"spend": spend},
    }
    found |= {
        name: {"mechanism": one, "spend": spend} for name, one in mechanisms(schema, words).items()
    }
    return found


def with_leaves(gate, engine):
    """`LeafRecords` needs leaves that were paid for."""
    tree = Partition(gate.schema.domain).divide([(0,)])
    leaves = gate.ask(LazyLeaves(tree, noise="geometric"), spend=F(2))
    engine.asked.clear()
    return {"mechanism": LeafRecords(leaves, np.ones(3), n_rows=2), "spend": F(0)}


def verbs():
    public = {name for name in dir(Gate) if not name.startswith("_")}
    return {one for one in public if callable(inspect.getattr_static(Gate, one))} - NO_QUESTION


WORDS = [*calls(plain(None)[0]), "LeafRecords"]


def call(gate, engine, words):
    """The genuine arguments of a call, and the verb."""
    found = with_leaves(gate, engine) if words == "LeafRecords" else calls(gate, words)[words]
    return gate.ask if "mechanism" in found and "spend" in found else getattr(
        gate, words.split()[0]
    ), found


# --- objects that keep what they see --------------------------------------------------------------

SEEN = []


def keeping(*args, **named):
    """A function of the attacker."""
    SEEN.append((args, named))
    raise AssertionError("foreign code was run")


def duck_of(value):
    """Something that claims to be of the genuine class, and keeps whatever it is asked."""

    class Duck:
        __class__ = type(value)

        def __getattr__(self, name):
            return keeping(name)

        __call__ = __len__ = __iter__ = __getitem__ = __eq__ = __hash__ = keeping
        __index__ = __float__ = __bool__ = __array__ = __lt__ = __gt__ = keeping

    return Duck()


def heir_of(value):
    """An instance of a subclass of the genuine class whose methods keep what they are given."""
    kind = type(value)
    keep = {
        name: keeping
        for name in dir(kind)
        if callable(getattr(kind, name, None)) and not name.startswith("__")
    }
    keep |= dict.fromkeys(
        ("__eq__", "__hash__", "__len__", "__iter__", "__lt__", "__gt__"), keeping
    )
    heir = type(f"Heir{kind.__name__}", (kind,), keep)
    if isinstance(value, np.ndarray):
        return value.view(heir)
    if isinstance(value, Fraction):
        return heir(value)
    if is_dataclass(value):
        made = object.__new__(heir)
        for one in fields(value):
            object.__setattr__(made, one.name, getattr(value, one.name))
        return made
    return kind.__new__(heir, value) if kind in (int, str, float, tuple) else _filled(heir, value)


def _filled(heir, value):
    """A list or dictionary of another class, filled behind its back."""
    made = heir.__new__(heir)
    if isinstance(value, dict):
        dict.update(made, value)
    else:
        list.extend(made, value)
    return made


def altered(value, name, inner):
    """A genuine frozen object with another value in a field."""
    made = copy.copy(value)
    object.__setattr__(made, name, inner)
    return made


def poisoned(value, path=""):
    """All ways to bring in something foreign: as the value, or anywhere inside of it."""
    yield f"{path} duck", duck_of(value)
    yield f"{path} function", keeping
    if not isinstance(value, BaseModel | bool | None):
        yield f"{path} heir", heir_of(value)
    if is_dataclass(value):
        for one in fields(value):
            for place, inner in poisoned(getattr(value, one.name), f"{path}.{one.name}"):
                yield place, altered(value, one.name, inner)
    elif isinstance(value, tuple | list) and value:
        for place, inner in poisoned(value[-1], f"{path}[-1]"):
            yield place, type(value)([*value[:-1], inner])
    elif isinstance(value, dict) and value:
        key = next(iter(value))
        for place, inner in poisoned(value[key], f"{path}[{key!r}]"):
            yield place, value | {key: inner}
        yield f"{path} key", {_Key(key): value[key]}
    elif isinstance(value, np.ndarray):
        objects = np.empty(value.shape, dtype=object)
        objects.fill(duck_of(1))
        yield f"{path} of objects", objects
    elif isinstance(value, Fraction):
        yield f"{path} of liars", altered_fraction(value)


class _Key(str):
    """A column name that looks like another one where it suits."""

    __slots__ = ()


class _Liar(int):
    """A whole number that is smaller than any other."""

    def __lt__(self, other):
        return True

    __le__ = __lt__


def altered_fraction(value):
    made = Fraction(value)
    made._numerator = _Liar(value.numerator)
    return made


EVERYWHERE = [("plain", words) for words in WORDS] + [
    pytest.param("recorded", words, marks=() if k % 4 == 0 else pytest.mark.nightly)
    for k, words in enumerate(WORDS)
]
"""What a gate writes down is the same for all: by day a fourth of the calls meet one that does."""


# --- the attacks ----------------------------------------------------------------------------------


def test_no_verb_and_no_mechanism_is_left_out():
    """Claim: this file attacks every verb, and every mechanism. A new one fails here until it is
    attacked as well."""
    gate, engine = plain(None)
    found = [call(gate, engine, words) for words in WORDS]
    assert {verb.__name__ for verb, _ in found} == verbs()
    asked = {type(one["mechanism"]) for verb, one in found if verb == gate.ask}
    assert asked == set(load_mechanisms())


def on_disk(folder):
    return [one.read_bytes() for one in folder.rglob("*.jsonl")]


@pytest.mark.parametrize(("kind", "words"), EVERYWHERE)
def test_nothing_foreign_gets_in_and_nothing_is_paid(tmp_path, kind, words):
    """Claim: a verb refuses whatever is not of the very type it declares, down to the last field:
    subclasses, ducks that claim to be of the class, functions; before it charges, and unasked."""
    gate, engine = GATES[kind](tmp_path)
    verb, arguments = call(gate, engine, words)
    paid, tried, written = gate.ledger, 0, on_disk(tmp_path)
    for name, genuine in arguments.items():
        for place, foreign in poisoned(genuine, name):
            SEEN.clear()
            with pytest.raises(MethodError, match=r"takes no|another schema"):
                verb(**arguments | {name: foreign})
            assert not SEEN, place
            tried += 1
    assert tried >= 2 * len(arguments)
    assert (gate.ledger, engine.asked) == (paid, [])
    assert on_disk(tmp_path) == written, "nothing is written down in a checkpoint"


def shadowed(value):
    """Genuine objects, all the way down, on each of which methods are hidden by foreign ones."""
    if is_dataclass(value):
        made = copy.copy(value)
        for one in fields(value):
            object.__setattr__(made, one.name, shadowed(getattr(value, one.name)))
        if hasattr(made, "__dict__"):
            own = {one.name for one in fields(value)}
            names = {name for name in dir(type(value)) if not name.startswith("__")} - own
            vars(made).update(dict.fromkeys(names, keeping))
        return made
    if isinstance(value, tuple | list):
        return type(value)([shadowed(one) for one in value])
    return value


@pytest.mark.parametrize("words", WORDS)
def test_a_method_put_into_one_object_is_left_behind(tmp_path, words):
    """Claim: what stands beside the fields of a genuine object is never run: neither a function in
    the place of a method, nor a value in the place of one that is computed once and kept. The
    genuine call is answered, too: else the attacks above would prove nothing."""
    gate, engine = plain(tmp_path)
    verb, arguments = call(gate, engine, words)
    assert set(arguments) == set(inspect.signature(verb).parameters)
    SEEN.clear()
    verb(**{name: shadowed(value) for name, value in arguments.items()})
    assert SEEN == []


def planted(schema):
    """A schema on which everything that could be asked of it is hidden by foreign functions."""
    for one in (schema, schema.domain, *schema.declared.values()):
        kind = type(one)
        names = {name for name in dir(kind) if not name.startswith("__")} - NOT_ASKED
        held = set(getattr(kind, "model_fields", {})) | {
            field.name for field in (fields(kind) if is_dataclass(kind) else ())
        }
        vars(one).update(dict.fromkeys(names - held, keeping))


NOT_ASKED = {"domain", "names", "model_fields", "model_computed_fields"}
"""What the gate compares with what is handed in, or what pydantic itself looks at."""


@pytest.mark.parametrize("words", mechanisms(Schema.loads(SCHEMA)))
def test_what_is_planted_on_the_schema_never_meets_the_rows(tmp_path, words):
    """Claim: a mechanism asks a private copy of the schema, its columns and its domain, and so does
    whoever codes the rows: what a method plants on those that it holds is not even run."""
    gate, engine = plain(tmp_path)
    verb, arguments = call(gate, engine, words)
    planted(gate.schema)
    planted(engine.schema)
    SEEN.clear()
    verb(**arguments)
    assert SEEN == []
    assert engine.asked or not gate.ledger or words == "PrivateSelection"  # it looks at no row


def altered_in(value, field, name, inner):
    return altered(value, field, altered(getattr(value, field), name, inner))


def test_numbers_that_were_altered_after_they_were_checked_are_checked_again(tmp_path):
    """Claim: a frozen object that was altered behind its own check is refused by the verb."""
    gate, engine = plain(tmp_path)
    asked = mechanisms(gate.schema)["WalkedParameters"]
    narrow = altered_in(asked.score, "censoring", "width", 1e-200)
    with pytest.raises(MethodError, match="width"):
        gate.ask(altered(asked, "score", narrow), spend=F(2))
    asked = mechanisms(gate.schema, "CandidateColumns")["CandidateColumns"]
    with pytest.raises(MethodError, match="whole numbers"):
        gate.ask(altered_in(asked, "score", "weights", (0, 1)), spend=F(2))
    asked = mechanisms(gate.schema, "ResetBlocks")["ResetBlocks"]
    with pytest.raises(MethodError, match="block"):
        gate.ask(altered(asked, "block", -1), spend=F(2))
    assert (gate.ledger, engine.asked) == ((), [])


def test_what_the_steward_is_told_cannot_be_asked_for(tmp_path):
    """Claim: who holds a gate cannot have himself told how a walk went or how records weigh."""
    gate, _ = plain(tmp_path)
    assert not [name for name in dir(gate) if "confide" in name and not name.startswith("_")]
    with pytest.raises(TypeError):
        gate.ask(**calls(gate)["WalkedParameters"], confide=keeping)


def test_who_listens_hears_what_was_paid_and_nothing_else(tmp_path):
    """Claim: a listener gets entries of the ledger, all of whose fields are public."""
    gate, engine = plain(tmp_path)
    heard = []
    gate.listen(lambda entry: heard.append((entry, list(engine.asked))))
    gate.ask(**calls(gate, "NoisyTables")["NoisyTables"])
    assert [entry for entry, _ in heard] == list(gate.ledger)
    assert all(asked == [] for _, asked in heard), "told before the rows are asked"


class OwnMethod:
    """Not in the table of methods."""

    setup = plan = fit = synthesize = keeping


@pytest.mark.parametrize("method", [OwnMethod(), OwnMethod, ["laplace"], "own"])
def test_a_release_is_made_by_a_method_of_the_table(method):
    """Claim: nobody hands a method of his own to `synthesize`; methods are named."""
    SEEN.clear()
    with pytest.raises(MethodError, match=r"There is no method|method must be text"):
        us.synthesize(ROWS, Schema.loads(SCHEMA), epsilon=1, method=method)
    assert SEEN == []
