"""The promise of a release as README and pages say it word for word, in one block for checkers.

The sentence itself is `Guarantee.statement` (`dp/guarantee.py`).

In `README.md` it is the one fenced block that begins with ```` ```promise ````, in a page the one
element `<blockquote id="promise">`, with a paragraph for each line. It says what the manifest says,
and which version of this software rendered the text that it stands in
(`docs/reference/release-format.md`, Pages).
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from understudy.errors import line
from understudy.release.manifest import Manifest

RENDERED: Final = "Rendered by understudy "
"""How its last line begins; the version follows."""


def promise_block(manifest: Manifest) -> tuple[str, ...]:
    """The lines of the block, as this version renders them.

    Args:
        manifest: of the release.
    """
    return (*promise_lines(manifest), f"{RENDERED}{version('understudy')}")


def promise_lines(manifest: Manifest) -> tuple[str, ...]:
    """Its lines without the last one: guarantee, its size, tables and method.

    Args:
        manifest: of the release.
    """
    size = manifest.promised_size or "This release is NOT private"
    tables = f"{manifest.sets} synthetic table{'s' if manifest.sets > 1 else ''}"
    made = f"{tables} of {manifest.n_rows:,} rows, made by the method “{manifest.method}”"
    if (kept := manifest.minimum_count) is not None:
        made += f"; combinations of {', '.join(kept.columns)} occur {kept.count} times or never"
    texts = (" ".join(line(text).split()) for text in (manifest.guarantee.statement, size, made))
    return tuple(text.replace("<", "‹").replace(">", "›") for text in texts)
