"""Declared answers about members cover over samples drawn anew."""

import numpy as np
import pytest

from member_coverage import POPULATIONS, hits_of


@pytest.mark.nightly
@pytest.mark.statistical
def test_intervals_of_declared_answers_about_members_cover():
    """100 samples: each quantity covers 95 %, in 87 of them at least.

    By chance a quantity covers less in 1 of 3,000 runs, and one of the 40 in 1 of 70.
    """
    for (question, units), found in hits_of(POPULATIONS["families"], "8", 100).items():
        assert np.nanmean(found, axis=0).min() >= 0.87, (question, units)
        assert np.isnan(found).mean() < 0.5, (question, units)
