"""A method that says it can be continued asks the same again, and no row for what is known."""

import pytest

from understudy.data.table import Table

UNPAID = "none: unpaid"
"""Noise of what a published form leaves in, in the words of the ledger."""


def content(release):
    measured = [
        (m.codes.tolist(), m.counts.tolist(), m.outside, m.totals) for m in release.measurements
    ]
    return [table.rows() for table in release.tables], measured, release.manifest.to_json()


@pytest.fixture
def no_rows(monkeypatch):
    """From `no_rows()` on, whoever asks the rows for anything fails."""

    def asked(*_, **__):
        raise AssertionError("the rows were asked")

    def start():
        asks = (
            "total",
            "count",
            "count_occupied",
            "sums",
            "score_products",
            "rank_sums",
            "line_counts",
        )
        for name in (*asks, "code_rows", "read"):
            monkeypatch.setattr(Table, name, asked)

    return start


@pytest.mark.nightly(every=3)
def test_a_seed_fixes_the_release_with_a_checkpoint_and_from_it(
    continued, released, tables, epsilon, tmp_path, no_rows
):
    """Three runs with one noise seed: without a checkpoint, writing one, and continued from it.

    What was paid for is not asked of the rows again; what has no finite cost is, since no
    checkpoint holds it."""
    kept = {"checkpoint": tmp_path, "keep_checkpoint": True, "insecure_noise_seed": 3}
    asked = tables["ordinary"], epsilon
    undisturbed = released(continued, insecure_noise_seed=3)
    assert content(continued.release(*asked, **kept)) == content(undisturbed)
    if (
        all(entry["noise"] != UNPAID for entry in undisturbed.manifest.ledger)
        and continued.configured.private
    ):
        no_rows()
    assert content(continued.release(*asked, **kept)) == content(undisturbed)
