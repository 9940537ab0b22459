"""A method that says it can be continued asks the same again, and no row for what is known."""

import pytest

from understudy.engine import Table
from understudy.methods import METHODS


def content(release):
    measured = [
        (m.codes.tolist(), m.counts.tolist(), m.outside, m.totals) for m in release.measurements
    ]
    return [table.rows() for table in release.tables], measured, release.manifest.to_json()


@pytest.fixture
def no_rows(monkeypatch):
    """From `no_rows()` on, whoever asks the rows for anything fails."""

    def asked(*_):
        raise AssertionError("the rows were asked")

    def start():
        for name in ("total", "count", "occupied", "sums"):
            monkeypatch.setattr(Table, name, asked)

    return start


def test_a_method_in_rounds_can_be_continued():
    assert all(one.resumable for one in METHODS.values() if one.rounds)


def test_a_checkpoint_changes_nothing_and_gives_the_release_again(
    resumable, released, tables, epsilon, tmp_path, no_rows
):
    kept = {"checkpoint": tmp_path, "keep_checkpoint": True, "insecure_noise_seed": 3}
    asked = tables["ordinary"], epsilon
    undisturbed = released(resumable, insecure_noise_seed=3)
    assert content(resumable.release(*asked, **kept)) == content(undisturbed)
    no_rows()
    assert content(resumable.release(*asked, **kept)) == content(undisturbed)
