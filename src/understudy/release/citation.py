"""How a release is cited, in one line; its publisher and year are for the publisher to add."""

from __future__ import annotations

from understudy.errors import line
from understudy.release.manifest import Manifest
from understudy.schema import Schema


def citation(manifest: Manifest, schema: Schema) -> str:
    """Title, size, method, promise and software.

    Args:
        manifest: how the release was made.
        schema: of the release.
    """
    sets = f"{manifest.sets} {'set' if manifest.sets == 1 else 'sets'}"
    promised = manifest.promised_size or "not private"
    version = f" {manifest.software['understudy']}" if "understudy" in manifest.software else ""
    return (
        f"{line(schema.heading)}. Synthetic microdata, {sets}, method "
        f"“{manifest.method}”, {promised}. Made with Understudy{version}."
    )
