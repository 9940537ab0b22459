"""Whether more records can be drawn from a release is known before it is paid for."""

import pytest

from understudy.errors import MethodError
from understudy.pipeline.request import request_of
from understudy.pipeline.sampling import ReleasedModel, require_more


def test_a_release_gives_more_records_if_its_request_says_so(one_set, released):
    request = request_of(one_set.schema(10), **one_set.arguments(), rows_share="0.05")
    try:
        require_more(request)
    except MethodError as error:
        paid = any(step.records for step in one_set.small_plan.tables)
        assert ("pays for" in str(error)) == paid
        if one_set.options in ({}, {"form": "filtered"}):  # a release of each would take long
            with pytest.raises(MethodError) as refused:
                ReleasedModel.of(released(one_set))
            assert str(refused.value) == str(error)
    else:
        release = released(one_set)
        table = ReleasedModel.of(release).frame(3, seed=1, kind="polars")
        assert table.schema == release.tables[0].schema
