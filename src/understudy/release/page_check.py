"""Whether README and pages say what the manifest says.

Few people read a manifest. Whoever alters README or a page, and redoes their checksums, would have
readers believe another promise. So the sentence that states the guarantee, the sizes of ε and δ,
method, sets and rows must stand there as texts; what else is there is not compared.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping

from understudy.errors import shown
from understudy.release.manifest import Manifest
from understudy.release.shape import Fault, named

_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>#|~])")
_TAG = re.compile(r"<[^>]*>")
_LONGEST = 2_000
"""Characters of a text that a README shows."""


def require_pages(manifest: Manifest, readme: str, pages: Mapping[str, str]) -> None:
    """Refuse a README or page that does not say what the manifest says.

    Args:
        manifest: of the release.
        readme: text of `README.md`.
        pages: file name → text; what a page of answers says of method and size is not looked
            at, nor what a codebook says.

    Raises:
        Fault: names the file and what it lacks.
    """
    told = tuple(_told(manifest))
    texts = {"README.md": _ESCAPED.sub(r"\1", readme)}
    found = ((name, pages[name]) for name in ("report.html", "results.html") if name in pages)
    texts |= {name: html.unescape(_TAG.sub("", page)) for name, page in found}
    for name, text in texts.items():
        plain = _plain(text)
        for sentence in told[:1] if name == "results.html" else told:
            if _plain(sentence)[:_LONGEST] not in plain:
                raise Fault(f"{name} does not say {named(sentence)}")


def _told(manifest: Manifest) -> Iterator[str]:
    """What must be said, the sentence of the guarantee first."""
    guarantee = manifest.guarantee.to_json()
    yield guarantee["statement"]
    yield f"{manifest.sets} synthetic table"
    yield f" of {manifest.n_rows:,} rows"
    yield f"“{manifest.method}”"
    if guarantee["epsilon"] is None or not manifest.secure:
        yield "This release is NOT private"
    else:
        delta = guarantee["delta"]
        yield f"ε = {guarantee['epsilon']}" + f", δ = {delta}" * (delta != "0")


def _plain(text: str) -> str:
    """A text on one line, with a sign in the place of what cannot be seen."""
    return " ".join(shown(text).split())
