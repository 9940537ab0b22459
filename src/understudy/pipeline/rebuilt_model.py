"""The model that the sets of a release were drawn from, made again from what is released."""

from __future__ import annotations

from understudy.families.method import Method
from understudy.methods import METHODS
from understudy.methods.configuration import configure
from understudy.models import Model
from understudy.models.model import Blend
from understudy.release import Release
from understudy.release.measurement_content import Kind


def restorable() -> tuple[str, ...]:
    """Names of the methods whose model can be made again from a release."""
    return tuple(name for name, kind in METHODS.items() if kind.restored is not Method.restored)


def model_of(release: Release, fits: int) -> Model | None:
    """The model that the sets of a release were drawn from, made again; None if it has none.

    Args:
        release: the release.
        fits: how many fits it was made with; records then come from all of them alike.
    """
    schema, manifest = release.schema, release.manifest
    tables = [one.noisy(schema) for one in release.measurements if one.kind is Kind.TABLE]
    if manifest.method not in METHODS or not tables:
        return None
    method = configure(manifest.method, manifest.options)
    parts = method.by_fit(schema, tables, fits)
    found = [method.restored(schema, part, manifest.n_rows) for part in parts]
    models = [one for one in found if one is not None]
    if len(models) < fits:
        return None
    return models[0] if fits == 1 else Blend(tuple(models))
