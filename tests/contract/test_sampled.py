"""Whether more records can be drawn from a release is known before it is paid for."""

import pytest

import understudy as us
from understudy.errors import MethodError
from understudy.workflow.request import request_of
from understudy.workflow.sample import ReleasedModel, why_not


@pytest.mark.nightly(every=3)
def test_a_release_gives_more_records_if_its_request_says_so(one_set, released):
    asked = one_set.arguments()
    budget = {name: asked.pop(name) for name in ("epsilon", "delta")}
    why = why_not(request_of(one_set.schema(10), **budget, how=us.SynthesisOptions(**asked)))
    assert ("pays for" in why) == any(step.records for step in one_set.small_plan.tables)
    if not why:
        release = released(one_set)
        table = ReleasedModel.of(release).frame(3, seed=1, kind="polars")
        assert table.schema == release.tables[0].schema
    elif one_set.options in ({}, {"form": "filtered"}):  # a release of each would take long
        release = released(one_set)
        with pytest.raises(MethodError, match=why):
            ReleasedModel.of(release)
