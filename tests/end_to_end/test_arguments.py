"""What a newcomer hands to a public function by mistake: each ends in one clear sentence.

Each row of the table is a call, the kind of error, and words that its sentence must hold.
"""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import (
    BudgetError,
    CheckpointError,
    DataError,
    InferenceError,
    MethodError,
    ReleaseError,
    SchemaError,
)

SECRET = "SECRET-VALUE-1234"


def frame():
    return pd.DataFrame({"city": [SECRET], "age": [1]})


def synthesize(**changes):
    """A call of `synthesize` that works, but for the changes."""
    return lambda one: us.synthesize(
        **{"data": one.rows, "schema": one.schema, "epsilon": 1} | changes
    )


def analyze(**changes):
    given = {"kind": "mean", "formula": "age"} | changes
    return lambda one: us.analyze(given.get("release", one.release), **_without(given, "release"))


def evaluate(**changes):
    given = {"release": None} | changes
    return lambda one: us.evaluate(
        one.rows, changes.get("release", one.release), **_without(given, "release")
    )


def regress(**changes):
    given = {"formula": "age ~ city", "epsilon": 1} | changes
    return lambda one: us.regress(one.rows, one.schema, **given)


def tradeoff(**changes):
    given = {"methods": ["laplace"], "epsilons": [1], "repetitions": 1} | changes
    return lambda one: us.tradeoff(one.rows, one.schema, **given)


def _without(given, name):
    return {key: value for key, value in given.items() if key != name}


MISTAKES = [
    # --- schemas
    (
        "swapped",
        lambda one: us.synthesize(one.schema, one.rows, epsilon=1),
        SchemaError,
        "DataFrame",
    ),
    ("no schema", synthesize(schema=None), SchemaError, "not None"),
    ("a dictionary", synthesize(schema={"columns": {}}), SchemaError, "not dict"),
    ("no such file", synthesize(schema="nothing.toml"), SchemaError, "nothing.toml"),
    ("TOML text", synthesize(schema='title = "a"\nrows = "private"'), SchemaError, "a path"),
    ("rows as schema", lambda _: us.plan(frame(), epsilon=1), SchemaError, "not DataFrame"),
    ("check None", lambda one: us.check(one.rows, None), SchemaError, "not None"),
    (
        "check swapped",
        lambda one: us.check(one.schema, one.rows),
        SchemaError,
        "the data come first",
    ),
    (
        "regress None",
        lambda one: us.regress(one.rows, None, "a ~ b", epsilon=1),
        SchemaError,
        "None",
    ),
    ("map swapped", lambda one: us.tradeoff(one.schema, one.rows), SchemaError, "DataFrame"),
    ("load None", lambda _: us.Schema.load(None), SchemaError, "must be a path"),
    ("load rows", lambda _: us.Schema.load(frame()), SchemaError, "not DataFrame"),
    ("loads None", lambda _: us.Schema.loads(None), SchemaError, "must be text"),
    ("save nowhere", lambda one: one.schema.save(None), SchemaError, "must be a path"),
    ("save in a folder", lambda one: one.schema.save(one.folder), SchemaError, "cannot be written"),
    ("title", lambda one: us.draft(one.rows, title=5), SchemaError, "title must be text"),
    # --- data
    ("a list", synthesize(data=[1, 2]), DataError, "not list"),
    ("an array", synthesize(data=np.zeros((2, 2))), DataError, "not ndarray"),
    ("no data", synthesize(data=None), DataError, "not NoneType"),
    ("draft a schema", lambda one: us.draft(one.schema), DataError, "not Schema"),
    ("release as data", lambda one: us.check(one.release, one.schema), DataError, "not Release"),
    # --- budgets, methods and options
    ("epsilon in words", synthesize(epsilon="one"), BudgetError, "such as 1 or 0.5"),
    ("no epsilon", synthesize(epsilon=None), BudgetError, "such as 1 or 0.5"),
    ("a list of epsilons", synthesize(epsilon=[1]), BudgetError, "such as 1 or 0.5"),
    ("no method", synthesize(method=None), MethodError, "method must be text"),
    ("several methods", synthesize(method=["mst"]), MethodError, "not list"),
    ("facts", synthesize(method=us.list_methods()[0]), MethodError, "not Facts"),
    ("options in text", synthesize(options="form=lazy"), MethodError, "a mapping"),
    ("options in a list", synthesize(options=["form=lazy"]), MethodError, "a mapping"),
    ("numbered options", synthesize(options={1: 2}), MethodError, "a mapping"),
    ("sets in text", synthesize(sets="5"), MethodError, "sets must be a whole number"),
    ("seed in text", synthesize(seed="a"), MethodError, "seed must be a whole number"),
    ("negative seed", synthesize(seed=-1), MethodError, "at least 0"),
    ("fraction of a seed", synthesize(insecure_noise_seed=1.5), MethodError, "whole number"),
    ("frame", synthesize(frame="numpy"), ReleaseError, "pandas, polars, arrow"),
    ("checkpoint", synthesize(checkpoint=5, method="mst"), CheckpointError, "must be a path"),
    ("progress", synthesize(progress=True), MethodError, "progress must be a function"),
    ("confide", synthesize(confide=True), MethodError, "confide must be a function"),
    # --- releases
    ("rows for a release", analyze(release=frame()), ReleaseError, "not DataFrame"),
    ("no release", analyze(release=None), ReleaseError, "not None"),
    ("a schema for a release", lambda one: us.analyze(one.schema, "mean"), ReleaseError, "Schema"),
    ("no such folder", analyze(release="nothing"), ReleaseError, "nothing"),
    ("evaluate swapped", lambda one: us.evaluate(one.release, one.rows), ReleaseError, "DataFrame"),
    ("evaluate a set", evaluate(release=frame()), ReleaseError, "not DataFrame"),
    ("risk of None", lambda one: us.risk(one.rows, None), ReleaseError, "not None"),
    ("load a number", lambda _: us.Release.load(5), ReleaseError, "must be a path"),
    ("load a release", lambda one: us.Release.load(one.release), ReleaseError, "not Release"),
    (
        "load a file",
        lambda one: us.Release.load(one.folder / "people.csv"),
        ReleaseError,
        "not a release",
    ),
    ("save to None", lambda one: one.release.save(None), ReleaseError, "must be a path"),
    (
        "load as numpy",
        lambda one: us.Release.load(one.folder / "release", frame="numpy"),
        ReleaseError,
        "pandas, polars, arrow",
    ),
    # --- questions
    ("no kind", analyze(kind=None), InferenceError, "kind"),
    ("misspelt kind", analyze(kind="meen"), InferenceError, "Did you mean 'mean'"),
    ("no formula", analyze(formula=None), InferenceError, "formula must be text"),
    ("a list of columns", analyze(formula=["age"]), InferenceError, "not list"),
    ("level in text", analyze(level="95"), InferenceError, "level must be a number"),
    ("level in per cent", analyze(level=95), InferenceError, "between 0 and 1"),
    ("probability", analyze(probability="x"), InferenceError, "probability must be a number"),
    ("uncertainty", analyze(uncertainty="boot"), InferenceError, "'bootstrap'"),
    (
        "regress None",
        lambda one: us.regress(one.rows, one.schema, None, epsilon=1),
        InferenceError,
        "text",
    ),
    ("mechanism", regress(mechanism=None), MethodError, "k-norm"),
    ("repair", regress(mechanism="k-norm", repair=5), InferenceError, "ridge"),
    ("kind of a regression", regress(kind="olz"), InferenceError, "did you mean 'ols'"),
    ("no kind of a regression", regress(kind=None), InferenceError, "ols, logit, poisson"),
    ("level of a regression", regress(level=95), InferenceError, "between 0 and 1"),
    ("progress of a regression", regress(progress=True), MethodError, "must be a function"),
    ("formulas in text", evaluate(formulas="age ~ city"), MethodError, "a list"),
    ("by number", evaluate(by=5), MethodError, "by must be text"),
    ("by a list", evaluate(by=["city"]), MethodError, "not list"),
    ("target", evaluate(target=5), MethodError, "target must be text"),
    ("control", evaluate(control=5), DataError, "not int"),
    ("keys in text", evaluate(keys="city"), MethodError, "a list"),
    (
        "targets",
        lambda one: us.risk(one.rows, one.release, targets="x"),
        MethodError,
        "whole number",
    ),
    ("pool None", lambda _: us.pool(None, None), InferenceError, "Expected"),
    ("pool text", lambda _: us.pool("a", "b"), InferenceError, "numbers"),
    ("pool names", lambda _: us.pool([1, 2], [1, 2], names=5), InferenceError, "a list"),
    (
        "pool sizes",
        lambda _: us.pool([1, 2], [1, 2], n_synthetic="a", n_original=1),
        InferenceError,
        "n_synthetic must be a number",
    ),
    # --- maps
    ("methods in text", tradeoff(methods="laplace"), MethodError, "a list"),
    ("numbered methods", tradeoff(methods=[1]), MethodError, "no method 1"),
    ("one epsilon", tradeoff(epsilons=1), BudgetError, "a list"),
    ("epsilons in text", tradeoff(epsilons="1"), BudgetError, "a list"),
    ("risk", tradeoff(risk=None), MethodError, "no risk None"),
    ("holdout", tradeoff(holdout="a"), MethodError, "holdout must be a number"),
    ("options of a map", tradeoff(options=5), MethodError, "a mapping"),
    ("options of a method", tradeoff(options={"laplace": "form=lazy"}), MethodError, "a mapping"),
    ("workers", tradeoff(workers="a"), MethodError, "whole number"),
]


@pytest.mark.parametrize(
    ("call", "error", "words"), [one[1:] for one in MISTAKES], ids=[one[0] for one in MISTAKES]
)
def test_a_wrong_argument_ends_in_one_sentence(small, call, error, words):
    with pytest.raises(error) as raised:
        call(small)
    sentence = str(raised.value)
    assert words in sentence
    assert sentence[-1] in ".?"
    assert "\n" not in sentence
    assert SECRET not in sentence
    assert len(sentence) < 400


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_path_does_for_a_schema(small, kind):
    """Wherever a schema is taken, the path of its file gives the same as the schema itself."""
    path = kind(small.folder / "people.toml")
    asked = {"epsilon": 1, "method": "laplace"}
    assert us.plan(path, **asked) == us.plan(small.schema, **asked)
    assert us.check(small.rows, path) == us.check(small.rows, small.schema)
    seeded = {"insecure_noise_seed": 1, "seed": 1, **asked}
    one, other = (us.synthesize(small.rows, schema, **seeded) for schema in (path, small.schema))
    assert one.schema == other.schema
    assert one.tables[0].equals(other.tables[0])
    drawn = [
        us.tradeoff(small.rows, schema, methods=["laplace"], epsilons=[1], repetitions=1).value
        for schema in (path, small.schema)
    ]
    assert drawn[0] == drawn[1]
    with pytest.raises(InferenceError, match="its own predictors"):  # the schema was read
        us.regress(small.rows, path, "age ~ age", epsilon=1)


def test_a_path_does_for_a_release(small):
    folder = small.folder / "release"
    assert str(us.analyze(str(folder), "mean", "age")) == str(
        us.analyze(small.release, "mean", "age")
    )
