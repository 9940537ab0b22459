"""Whether README and pages say what the manifest says, where readers see it.

Few people read a manifest. Whoever alters README or a page, and redoes their checksums, would have
readers believe another promise. So each of them holds the promise in one block
(`promise_block`), which must be that of the manifest, and must be seen: outside comments and
whatever may hide it. What may hide it is everything that is not known to show it.

Texts that this version rendered are rendered anew and compared (`require_rendered`). Of texts by
other versions the rest is the publisher's word, and texts of versions that had no block must say
its parts somewhere where they are seen.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html.parser import HTMLParser
from typing import Final

from understudy.errors import shown
from understudy.release.manifest import Manifest
from understudy.release.promise_block import RENDERED, promise_lines
from understudy.release.shape import Fault, named

FENCE: Final = "```promise"
STYLE_SHEETS: Final = frozenset(
    {"8b487f6179a6315cf5a64270c772a6b21e05aa95e4506e849318e6ed748d490c"}
)
"""SHA-256 of the style sheets that pages had and have: none hides an element that is checked."""

_SHOWING: Final = frozenset({"html", "body", "main", "section"})
"""What the block of a page may stand in."""
_OPEN: Final = _SHOWING | frozenset(
    {"header", "footer", "div", "p", "blockquote", "strong", "code", "h1", "h2", "h3", "ul", "li"}
)
"""What texts of older pages may stand in."""
_ELEMENTS: Final = _OPEN | frozenset(
    {
        "a",
        "article",
        "caption",
        "dd",
        "details",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "g",
        "head",
        "i",
        "meta",
        "nav",
        "path",
        "pre",
        "rect",
        "small",
        "span",
        "style",
        "summary",
        "sup",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
    }
)
_ALONE: Final = frozenset({"meta", "path", "rect"})
_ATTRIBUTES: Final = frozenset(
    {
        "aria-hidden",
        "aria-label",
        "aria-labelledby",
        "charset",
        "class",
        "colspan",
        "content",
        "d",
        "data-label",
        "height",
        "href",
        "http-equiv",
        "id",
        "lang",
        "name",
        "preserveaspectratio",
        "role",
        "scope",
        "style",
        "tabindex",
        "viewbox",
        "width",
        "x",
        "xmlns",
        "y",
    }
)
_PLAIN_ATTRIBUTES: Final = frozenset({"id", "lang", "aria-label", "aria-labelledby"})
_STYLE = re.compile(r"((fill|stroke(-[a-z]+)?|width):[\w.%()#, -]+;?\s*)*")
_LINK = re.compile(r"#[^\s]*|https?://[^\s]*|[\w./-]*")
_NUMBER = re.compile(r"((?:\d+(?:,\d{3})*)(?:\.\d+)?)", re.ASCII)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>#|~])")
_RAW_HTML = re.compile(r"(?<!\\)<[A-Za-z/!?]")
_DEFINITION = re.compile(r" {0,3}\[[^\]]*\]:")
_LONGEST = 2_000
"""Characters of a text that a README shows."""
_DEEPEST: Final = 10**9
"""More elements than stand in one another."""


def require_pages(manifest: Manifest, readme: str, pages: Mapping[str, str]) -> None:
    """Refuse a README or page that does not say what the manifest says, or may hide it.

    Args:
        manifest: of the release.
        readme: text of `README.md`.
        pages: file name → text.

    Raises:
        Fault: names the file and what it lacks.
    """
    expected = promise_lines(manifest)
    texts = {"README.md": readme, **pages}
    for name, text in texts.items():
        block = _block(name, text)
        if block is not None:
            if not _same(block, expected):
                raise Fault(f"{name} states another promise than the manifest")
            continue
        if name != "codebook.html":  # older ones had no promise in it
            plain = _plain(_seen(name, text))
            for sentence in _told(manifest, brief=name == "results.html"):
                if _plain(sentence)[:_LONGEST] not in plain:
                    raise Fault(f"{name} does not say {named(sentence)} where it is seen")


def rendered_by(name: str, text: str) -> str:
    """The version of this software that says it has rendered a text; "" where none is named.

    Args:
        name: of the file.
        text: its content, which `require_pages` has seen.
    """
    block = _block(name, text)
    return "" if block is None else block[-1].removeprefix(RENDERED)


def is_of_this_version(manifest: Manifest, name: str, text: str) -> bool:
    """Whether a text can be compared: rendered by this version, with the libraries that are here.

    Args:
        manifest: of the release; it names the libraries.
        name: of the file.
        text: its content.
    """
    if rendered_by(name, text) != _version_here("understudy"):
        return False
    named = {k: v for k, v in manifest.software.items() if k != "python"}
    return all(_version_here(library) == told for library, told in named.items())


@lru_cache(maxsize=64)  # of few libraries; finding one takes longer than reading a small page
def _version_here(library: str) -> str | None:
    """The version of a library that is installed; None where it is not."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def require_rendered(name: str, text: str, anew: Iterable[str]) -> None:
    """Refuse a text that is none of those that this version renders.

    Numbers on a page are computed, and may differ in their last digits from one processor to
    another: there they need to agree to a thousandth, or to one in the last decimal that is
    written. Those of the promise were compared exactly.

    Args:
        name: of the file.
        text: its content.
        anew: what this version renders of the release.

    Raises:
        Fault: names the file.
    """
    if not any(_is_rendered(text, one) for one in anew):
        raise Fault(f"{name} is not what this version renders of the release; it was altered")


def _is_rendered(text: str, anew: str) -> bool:
    if text == anew:
        return True
    told, computed = _NUMBER.split(text), _NUMBER.split(anew)
    if not text.startswith("<") or len(told) != len(computed) or told[::2] != computed[::2]:
        return False
    return all(map(_agree, told[1::2], computed[1::2]))


def _agree(told: str, computed: str) -> bool:
    """Whether two numbers are one, but for how it was rounded."""
    first, second = float(told.replace(",", "")), float(computed.replace(",", ""))
    decimals = {len(text.partition(".")[2]) for text in (told, computed)}
    unit = 10.0 ** -min(decimals) if 0 not in decimals else 0.0
    return abs(first - second) <= max(1e-3 * max(abs(first), abs(second)), 1.001 * unit)


@lru_cache(maxsize=8)
def _block(name: str, text: str) -> tuple[str, ...] | None:
    """The lines of the block of a README or page; None where it has none.

    Raises:
        Fault: several, one that may be hidden, or a version that is none.
    """
    found = _fenced(text) if name == "README.md" else _Page.of(name, text).promise
    if found is None:
        return None
    lines = [one for one in found.splitlines() if one.strip()]
    stated = lines[-1].removeprefix(RENDERED) if lines else ""
    if not lines or stated == lines[-1] or not re.fullmatch(r"[\w.+!-]{1,40}", stated, re.ASCII):
        raise Fault(f"{name} does not say which version rendered it")
    return tuple(lines)


def _same(block: tuple[str, ...], expected: tuple[str, ...]) -> bool:
    return [_plain(one) for one in block[:-1]] == [_plain(one) for one in expected]


def _fenced(text: str) -> str | None:
    """What stands between the fences of the block in Markdown; None where there are none."""
    lines = text.splitlines()
    starts = [k for k, one in enumerate(lines) if one.startswith(FENCE)]
    if not starts:
        return None
    _require_markdown(text)
    outside = sum(one.startswith(("```", "~~~")) for one in lines[: starts[0]]) % 2 == 0
    after = lines[starts[0] + 1 :]
    if len(starts) > 1 or not outside or "```" not in after:
        raise Fault("README.md does not state its promise once, where it is seen")
    return "\n".join(after[: after.index("```")])


def _require_markdown(text: str) -> None:
    """Refuse HTML in a README, and a head that is not shown: both hide what stands in them.

    Raises:
        Fault: there is some.
    """
    fenced = False
    for one in text.splitlines():
        if one.startswith("```"):
            fenced = not fenced
        elif not fenced and _RAW_HTML.search(one):
            raise Fault("README.md holds HTML, which may hide what it says")
    if not text.startswith("# "):
        raise Fault("README.md does not begin with a title")


def _seen(name: str, text: str) -> str:
    """The text that readers see."""
    if name != "README.md":
        return _Page.of(name, text).text
    _require_markdown(text)
    parts = re.split(r"\n\s*\n", text)
    return "\n\n".join(_ESCAPED.sub(r"\1", one) for one in parts if not _DEFINITION.match(one))


class _Page(HTMLParser):
    """The block of a page, and texts that are seen on it.

    Elements, attributes and the style sheet are those of a closed list, each element is closed in
    its order, and nothing is left to how a browser mends a page.

    Attributes:
        promise: text of its block; None where it has none.
        text: of elements that show it.
        stack: elements that are open, and whether each has no attribute that could hide it.
        sheet: text of its style sheet; None where none came yet.
    """

    def __init__(self, name: str) -> None:
        super().__init__(convert_charrefs=True)
        self.promise: str | None = None
        self.text = ""
        self._name = name
        self.stack: list[tuple[str, bool]] = []
        self.sheet: str | None = None
        self._depth = _DEEPEST

    @classmethod
    def of(cls, name: str, text: str) -> _Page:
        """Read a page.

        Raises:
            Fault: it holds something that may hide what it says.
        """
        page = cls(name)
        body = text.lstrip()
        if not body.startswith("<!DOCTYPE html>") or re.search(r"<[!?]|</[^a-zA-Z]", body[1:]):
            raise page.odd("markup that browsers read in several ways")
        page.feed(body)
        page.close()
        if page.stack or page.rawdata:
            raise page.odd("an element that is not closed")
        sheet = hashlib.sha256((page.sheet or "").strip().encode()).hexdigest()
        if sheet not in STYLE_SHEETS:
            raise page.odd("another style sheet than its versions had")
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        self._require(tag, attrs)
        names = {name for name, _ in attrs}
        if tag == "style" and (self.sheet is not None or self._tags != ["html", "head"]):
            raise self.odd("several style sheets")
        if ("id", "promise") in attrs:
            plain = all(shows for _, shows in self.stack) and {*self._tags} <= _SHOWING
            if self.promise is not None or tag != "blockquote" or names != {"id"} or not plain:
                raise self.odd("a promise twice, or where it may not be seen")
            self.promise, self._depth = "", len(self.stack)
        elif self._is_in_block and (tag, names) != ("p", set()):
            raise self.odd("other elements in its promise than paragraphs")
        self.stack.append((tag, names <= _PLAIN_ATTRIBUTES))
        if tag in _ALONE:
            self.stack.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element that closes itself, as some of a picture do; browsers know no other."""
        if tag not in _ALONE:
            raise self.odd("an element that is not closed")
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Close an element, the one that was opened last."""
        if self._is_in_block and tag == "p":
            self.promise = f"{self.promise}\n"
        if not self.stack or self.stack.pop()[0] != tag:
            raise self.odd("an element that is not closed")
        if len(self.stack) <= self._depth:
            self._depth = _DEEPEST

    def handle_data(self, data: str) -> None:
        """Text."""
        tags = self._tags
        if tags[-1:] == ["style"]:
            self.sheet = (self.sheet or "") + data
        elif self._is_in_block:
            self.promise = f"{self.promise}{data}"
        elif {*tags} <= _OPEN:
            self.text += data

    @property
    def _tags(self) -> list[str]:
        return [tag for tag, _ in self.stack]

    @property
    def _is_in_block(self) -> bool:
        return len(self.stack) > self._depth

    def _require(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Refuse an element or attribute that no page has."""
        given = dict(attrs)
        if tag not in _ELEMENTS or not {*given} <= _ATTRIBUTES or len(given) < len(attrs):
            raise self.odd(f"the element {named(tag)}, or an attribute of it")
        fits = (
            _STYLE.fullmatch(given.get("style") or ""),
            _LINK.fullmatch(given.get("href") or ""),
            given.get("content") == _POLICY or "http-equiv" not in given,
            "skip" not in (given.get("class") or "").split() or tag == "a",
        )
        if not all(fits):
            raise self.odd(f"an attribute of {named(tag)} that no page has")

    def odd(self, what: str) -> Fault:
        """What is said of a page that holds something that may hide what it says."""
        return Fault(f"{self._name} holds {what}, which may hide what it says")


def _told(manifest: Manifest, *, brief: bool) -> Iterator[str]:
    """What older texts must say, the sentence of the guarantee first; a page of answers no more."""
    _, size, _ = promise_lines(manifest)
    yield manifest.guarantee.statement
    if not brief:
        yield f"{manifest.sets} synthetic table"
        yield f" of {manifest.n_rows:,} rows"
        yield f"“{manifest.method}”"
        yield size


def _plain(text: str) -> str:
    """A text on one line, with a sign in the place of what cannot be seen."""
    return " ".join(shown(text).split())
