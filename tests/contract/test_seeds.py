"""What a seed fixes, and what a release then says of itself."""

from dataclasses import replace

import pytest

import understudy as us
from understudy.errors import MethodError
from understudy_verify import verify


def content(release):
    measured = [
        (m.codes.tolist(), m.counts.tolist(), m.outside, m.totals) for m in release.measurements
    ]
    return [table.rows() for table in release.tables], measured, release.manifest.to_json()


@pytest.mark.nightly(every=3)
def test_a_noise_seed_stamps_the_release_not_private(case, released):
    """And fixes it: see `test_a_seed_fixes_the_release_with_a_checkpoint_and_from_it`."""
    one = released(case, insecure_noise_seed=3)
    assert one.guarantee.kind == "none"
    assert one.guarantee.epsilon is None
    assert "NOT private" in one.guarantee.statement
    assert not one.manifest.secure


@pytest.mark.nightly(every=3)
def test_a_release_of_a_noise_seed_can_be_read(private, released, tmp_path):
    """By both programs, also where without the seed an asymptotic promise would be left."""
    release = replace(released(private, insecure_noise_seed=3), pages=None)
    folder = release.save(tmp_path / "out")
    assert us.Release.load(folder).guarantee == release.guarantee
    assert [line for line in verify(folder) if line[1] == "broken"] == []


@pytest.mark.nightly(every=3)
def test_another_noise_seed_gives_another_release(default, released):
    """Of each method: it hands on the seed, and no option takes the noise away, as the next test
    shows."""
    one, two = (released(default, insecure_noise_seed=k) for k in (3, 4))
    assert content(one)[:2] != content(two)[:2]


@pytest.mark.nightly(every=3)
def test_without_a_noise_seed_two_runs_differ(one_set, released, tables, epsilon):
    """A false alarm would need equal rows, or none in both runs and equal noise in all that was
    measured: probability below 1e-8 per case."""
    one, two = released(one_set), one_set.release(tables["ordinary"], epsilon)
    assert content(one)[:2] != content(two)[:2]
    assert one.manifest.secure
    if one_set.configured.private:
        proved = "pure" if one_set.delta == "0" else "approximate"
        assert one.guarantee.kind == ("conditional" if one_set.unpaid else proved)
    assert one.manifest.sampling_seed is None


class Unreadable:
    """Data that must not be looked at."""


def test_where_drawing_is_the_mechanism_a_seed_is_refused_before_the_rows_are_read(drawing):
    arguments = drawing.arguments() | drawing.permission
    with pytest.raises(MethodError, match="no seed is accepted"):
        us.synthesize(Unreadable(), drawing.schema(10), **arguments, seed=1)


@pytest.mark.nightly(every=3)
def test_a_seed_is_recorded_and_leaves_the_release_private(optioned_modelling, some):
    release = optioned_modelling.release(some(20), seed=17)
    assert release.manifest.sampling_seed == 17
    assert release.manifest.secure
    assert (release.guarantee.epsilon is not None) == optioned_modelling.configured.private


@pytest.mark.nightly(every=2)
def test_a_seed_fixes_the_records_but_neither_their_order_nor_the_noise(whole_modelling, some):
    """With next to no noise, two runs draw the same records. A false alarm: the two orders agree
    (below 1e-6), or the noise of every table does (below 1e-6 per case)."""
    case = whole_modelling
    one, two = (case.release(some(40), case.huge(), seed=17).tables[0].rows() for _ in range(2))
    assert sorted(one, key=repr) == sorted(two, key=repr)
    assert one != two
    three, four = (case.release(some(40), seed=17) for _ in range(2))
    assert content(three)[1] != content(four)[1]
