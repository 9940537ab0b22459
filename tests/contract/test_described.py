"""A release describes itself: what inference needs stands in its manifest, for every method."""

import json

import pytest

from understudy.models.model import InferenceFacts


@pytest.mark.nightly(every=2)
def test_what_a_method_says_is_written(case, released, saved):
    """The manifest holds it. That no genuine release is taken for one that contradicts itself, and
    each is read as it was, is in `test_every_kind_of_release_is_read_as_it_was`.
    """
    release = released(case)
    manifest = release.manifest
    facts = case.configured.inference_facts(release.schema)
    assert manifest.inference.swept == facts.swept
    assert manifest.inference.shrunk == facts.shrunk
    assert manifest.inference.independent == facts.independent
    assert manifest.inference.modelled == facts.modelled
    wanted = facts.posterior_rule if case.sets_kind == "posterior" else None
    assert manifest.inference.posterior_rule == wanted
    content = json.loads((saved(case) / "manifest.json").read_text(encoding="utf-8"))
    assert content["format"] == 2
    assert InferenceFacts.from_json(content["inference"]) == manifest.inference
