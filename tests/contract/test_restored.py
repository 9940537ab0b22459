"""Whoever has the folder of a release can make anew the model that its sets were drawn from."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.dp.released import Noise, NoisyProducts, NoisyTable
from understudy.features.scores import FeatureMap
from understudy.methods.registry import METHODS, configure
from understudy.release.shape import Kind
from understudy.workflow.analyze import model_of, rebuildable, request_again


def drawn(model, n=400):
    sample = model.sample(n, np.random.default_rng(7))
    return [states.tolist() for states in sample.states], {
        name: repr(values.tolist()) for name, values in sample.values.items()
    }


@pytest.fixture
def fitted(monkeypatch):
    """Models in the order in which methods of any kind fit them."""
    found = []

    def watch(kind):
        setup = kind.setup

        def setup_and_keep(self, gate, spend, *, fits=1):
            prepared = setup(self, gate, spend, fits=fits)

            def fit_and_keep(spend, n_rows):
                model = prepared.fit(spend, n_rows)
                if not found or model is not found[-1]:  # as a setup calls that of its parent
                    found.append(model)
                return model

            return replace(prepared, fit=fit_and_keep)

        monkeypatch.setattr(kind, "setup", setup_and_keep)

    for kind in METHODS.values():
        watch(kind)
    return found


@pytest.mark.nightly(every=3)
def test_the_restored_model_is_the_one_that_sets_were_drawn_from(
    rebuildable, some, fitted, tmp_path
):
    release = rebuildable.release(some(40), "2")
    model = model_of(us.Release.load(release.save(tmp_path / "release")), 1)
    if model is None:
        assert rebuildable.forms != {"dense"}  # not every cell is released
    else:
        assert drawn(model) == drawn(fitted[-1])


LEVELS = us.Schema.loads(
    "\n".join(
        f'[columns.{name}]\nkind = "categorical"\nlevels = ["0", "1", "2"]\nreviewed = true'
        for name in "abc"
    )
)
ROWS = pl.DataFrame(
    {name: [str(k // every % 3) for k in range(90)] for every, name in enumerate("abc", 1)}
)


def without_moments(release):
    """As it would be if it had not bought any."""
    tables = tuple(one for one in release.measurements if one.kind is not Kind.PRODUCTS)
    assert len(tables) == len(release.measurements) - 1
    return replace(release, measurements=tables)


@pytest.mark.parametrize("method", ["marginals", "mst", "aim"])
@pytest.mark.nightly(every=3)
def test_second_moments_that_a_fit_took_are_taken_again(method, fitted, tmp_path):
    asked = {"epsilon": "9", "delta": "1e-6", "method": method, "budget": {"answers": "0.5"}}
    release = us.synthesize(ROWS, LEVELS, **asked)
    again = us.Release.load(release.save(tmp_path / "release"))
    assert drawn(model_of(again, 1)) == drawn(fitted[-1])
    assert drawn(model_of(without_moments(again), 1)) != drawn(fitted[-1])


def test_posterior_sets_have_moments_drawn_again():
    """What moments without noise say is in each set; noisy ones are as noisy in what sets say."""
    none = np.zeros(FeatureMap.of(LEVELS, ("a", "b")).size)
    exact, usual, wide = (Noise("discrete_gaussian", str(sd**2), sd) for sd in (0.01, 1.0, 8.0))
    tables = [NoisyTable((name,), np.full(3, 30.0), 0.0, usual) for name in "abc"]
    tables.append(NoisyTable(("a", "b"), np.full((3, 3), 10.0), 0.0, wide))
    spreads, method = [], configure("mst", {})
    for noise in (exact, wide):
        moments = [NoisyProducts(("a", "b"), none, noise)]
        model = method.rebuilt(LEVELS, tables, 90, moments)
        sets = method.redrawn(LEVELS, tables, 90, model, moments)
        pairs = [sets.refit(np.random.default_rng(k)).fit.marginal((0, 1)) for k in range(8)]
        spreads.append(float(np.std(pairs, axis=0).mean()))
    assert 5 * spreads[0] < spreads[1], spreads


def test_split_sets_take_no_second_moments():
    """Their noise would be the same in all sets, and none of it in what lies between them."""
    asked = {"epsilon": "9", "delta": "1e-6", "method": "mst", "budget": {"answers": "0.5"}}
    release = us.synthesize(ROWS, LEVELS, sets=2, options={"sets": "split"}, **asked)
    assert drawn(model_of(release, 2)) == drawn(model_of(without_moments(release), 2))


def test_a_method_without_a_released_model_has_none(default, released):
    if default.method not in rebuildable():
        assert model_of(released(default), 1) is None


@pytest.mark.nightly(every=3)
def test_split_sets_are_drawn_from_all_of_their_fits_together(divided, some, fitted):
    divided.release(some(40), "2")  # whose rehearsal fits as well, once in a process
    fitted.clear()
    release = divided.release(some(40), "2")
    model = model_of(release, divided.sets)
    if model is None:
        assert divided.forms != {"dense"}
        return
    assert len(fitted) == divided.sets
    rng = np.random.default_rng(7)
    parts = [one.sample(n, rng).states for one, n in zip(fitted, (14, 13, 13), strict=True)]
    expected = [np.concatenate(column).tolist() for column in zip(*parts, strict=True)]
    assert drawn(model, 40)[0] == expected


@pytest.mark.nightly(every=3)
def test_a_request_is_read_back_from_a_release(default, released, tmp_path):
    if default.method not in rebuildable():
        return
    release = released(default)
    again = request_again(us.Release.load(release.save(tmp_path / "release")))
    manifest = release.manifest
    known = manifest.method, manifest.sets, manifest.options
    assert (again.name, again.sets, again.options) == known
    paid = sum(cost(entry) for entry in manifest.ledger)
    asked = again.rows_spend + again.setup_spend + again.fits * again.fit_spend
    assert paid == pytest.approx(float(asked))
    assert bool(again.rows_spend) == (default.rows == "private")


def cost(entry):
    return next(
        float(entry[unit]) for unit in ("epsilon", "rho", "half_mu_squared") if unit in entry
    )


def test_a_release_that_does_not_say_how_rows_were_bought_is_read(default, released):
    """As those of earlier versions: the usual share is taken."""
    if default.method not in rebuildable():
        return
    release = released(default)
    old = replace(release, manifest=replace(release.manifest, rows_share=None))
    assert request_again(old).rows_spend == request_again(release).rows_spend
