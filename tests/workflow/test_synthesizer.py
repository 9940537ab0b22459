"""A fit pays once; samples never do; what would pay for each record is refused before."""

import copy
import pickle

import pandas as pd
import pytest

import understudy as us
from schemas import PEOPLE
from understudy.errors import MethodError, SchemaError
from understudy.workflow import synthesizer

SCHEMA = us.Schema.loads(PEOPLE)
ROWS = pd.DataFrame({"city": ["Aa", "Bb", "Cc", "Aa"] * 25, "age": [*range(100)]})


class Unreadable:
    """Data that must not be looked at."""


@pytest.fixture(scope="module")
def fitted():
    return us.Synthesizer(SCHEMA, epsilon=3, method="independent").fit(ROWS)


def test_sampling_needs_no_rows_and_pays_nothing(fitted, monkeypatch):
    def pays(*_args, **_more):
        raise AssertionError

    ledger = fitted.release_.manifest.ledger
    monkeypatch.setattr(synthesizer, "synthesize", pays)
    monkeypatch.setattr("understudy.dp.gate.Gate.ask", pays)
    one, two = (fitted.sample(5, where={"city": "Aa"}, seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert (one["city"] == "Aa").all()
    assert len(fitted.sample()) == 1
    pd.testing.assert_frame_equal(fitted.sample(4, seed=1), us.sample(fitted.release_, 4, seed=1))
    assert fitted.release_.manifest.ledger is ledger
    assert "3" in repr(fitted)
    assert fitted.release_.guarantee.epsilon == 3


def test_a_second_fit_would_pay_again_and_is_refused(fitted):
    with pytest.raises(MethodError, match="a second fit would pay once more; make a new one"):
        fitted.fit(Unreadable())
    with pytest.raises(MethodError, match="a fit with other parameters would pay once more"):
        fitted.set_params(epsilon=5)
    assert fitted.epsilon == 3


def test_what_is_not_fitted_has_nothing_to_sample():
    plain = us.Synthesizer(SCHEMA, epsilon=1)
    with pytest.raises(MethodError, match="not fitted yet; call fit"):
        plain.sample(1)
    assert repr(plain).endswith("not fitted)")
    assert not hasattr(plain, "release_")


@pytest.mark.parametrize(
    ("method", "options", "why"),
    [
        ("dirichlet", {}, "drawing records is what its budget pays for"),
        ("pegs", {}, "drawing records is what its budget pays for"),
        ("laplace", {"form": "filtered"}, "its model does not follow from what it releases"),
        ("laplace", {"form": "lazy"}, "drawing records is what its budget pays for"),
    ],
)
def test_a_method_without_a_model_to_sample_is_refused_before_the_rows_are_read(
    method, options, why
):
    one = us.Synthesizer(SCHEMA, epsilon=1, method=method, options=options)
    with pytest.raises(MethodError, match=why):
        one.fit(Unreadable())


def test_parameters_are_the_very_objects_that_came_in():
    options = {"sets": "free"}
    one = us.Synthesizer(SCHEMA, epsilon="1", delta="1e-6", method="mst", options=options)
    params = one.get_params()
    assert [*params] == [*us.Synthesizer(SCHEMA, epsilon=1).get_params(deep=False)]
    assert params["options"] is options
    assert params["schema"] is SCHEMA
    again = us.Synthesizer(**params)
    assert again.get_params() == params
    assert one.set_params(epsilon=2, sets=3) is one
    assert (one.epsilon, one.sets) == (2, 3)
    with pytest.raises(MethodError, match="has no 'epsilonn'"):
        one.set_params(sets=1, epsilonn=2)
    assert one.sets == 3, "nothing is changed by what is refused"


def test_what_it_was_made_with_is_checked_by_fit():
    with pytest.raises(SchemaError):
        us.Synthesizer(3, epsilon=1).fit(Unreadable())
    with pytest.raises(MethodError, match="mst"):
        us.Synthesizer(SCHEMA, epsilon=1, method="msst").fit(Unreadable())


def test_clones_of_scikit_learn_are_not_fitted(fitted):
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    clone = base.clone(fitted)
    assert not hasattr(clone, "release_")
    theirs, mine = clone.get_params(), fitted.get_params()
    assert theirs == mine
    assert len(clone.fit(ROWS, None).sample(3)) == 3


@pytest.mark.parametrize(
    "check",
    [
        *("check_estimator_cloneable", "check_estimator_repr", "check_get_params_invariance"),
        *("check_mixin_order", "check_no_attributes_set_in_init", "check_set_params"),
        *("check_estimator_tags_renamed", "check_valid_tag_types"),
    ],
)
def test_checks_of_scikit_learn_that_fit_nothing(check):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    one = us.Synthesizer(SCHEMA, epsilon=1, method="independent")
    getattr(checks, check)("Synthesizer", one)


def test_scikit_learn_tells_what_is_fitted_and_puts_it_into_a_pipeline(fitted):
    validation = pytest.importorskip("sklearn.utils.validation")
    exceptions = pytest.importorskip("sklearn.exceptions")
    plain = us.Synthesizer(SCHEMA, epsilon=1, method="independent")
    validation.check_is_fitted(fitted)
    with pytest.raises(exceptions.NotFittedError):
        validation.check_is_fitted(plain)
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline(plain)
    pipeline.set_params(synthesizer__epsilon=2).fit(ROWS)
    assert pipeline[-1].release_.guarantee.epsilon == 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_samples_the_same_records(fitted, copied):
    other = copied(fitted)
    assert repr(other) == repr(fitted)
    pd.testing.assert_frame_equal(other.sample(3, seed=1), fitted.sample(3, seed=1))
