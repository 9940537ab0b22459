"""The check itself: a claim that fails somewhere, if only by little, is not shown."""

import pytest

from lemmas.intervals import arb, holds_everywhere


def test_a_claim_that_fails_somewhere_is_not_shown():
    assert holds_everywhere(lambda x: x * x - x + arb("0.26"), [(0.0, 1.0)]) > 1
    with pytest.raises(AssertionError, match="not shown"):
        holds_everywhere(lambda x: x * x - x + arb("0.24"), [(0.0, 1.0)])
