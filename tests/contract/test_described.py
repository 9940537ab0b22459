"""A release describes itself: what inference needs stands in its manifest, for every method."""

import json
from dataclasses import replace

from understudy.methods.registry import METHODS
from understudy.release import load
from understudy.release.manifest import InferenceFacts


def test_what_a_method_says_is_written(case, released, saved):
    """The manifest holds it. That no genuine release is taken for one that contradicts itself, and
    each is read as it was, is in `test_every_kind_of_release_is_read_as_it_was`.

    What format 1 would have left to the method is the same, by the table that is kept of it; a
    method or a form that was added later, as sets made by themselves were, never wrote that format.
    """
    release = released(case)
    manifest = release.manifest
    method = case.configured
    assert manifest.inference.swept == method.swept
    assert manifest.inference.shrunk == method.shrunk
    assert manifest.inference.independent == method.independent
    assert manifest.inference.modelled == method.modelled(release.schema)
    wanted = method.posterior_rule if case.sets_kind == "posterior" else None
    assert manifest.inference.posterior_rule == wanted
    content = json.loads((saved(case) / "manifest.json").read_text(encoding="utf-8"))
    assert content["format"] == 2
    assert InferenceFacts.from_json(content["inference"]) == manifest.inference
    tables = [one.columns for one in release.measurements if one.kind == "table"]
    asked = case.method, content["options"], case.sets_kind
    if case.method in load.METHODS and not method.anew:
        said = replace(manifest.inference, rows_stddev=0.0)  # of which format 1 says nothing
        assert load.facts_of(*asked, release.schema, tables) == said


def test_what_is_kept_of_format_1_has_every_method_of_its_time():
    """Methods that were added later never wrote it, so the table stays as it is."""
    assert set(load.METHODS) <= set(METHODS)
    assert len(load.METHODS) == 26
