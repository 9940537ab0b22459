"""Attacks by README and pages that say another promise, with all checksums made anew.

Both the loader and `understudy_verify` read the same promise from the same place, share no code,
and take for hidden whatever they do not know to be seen.
"""

import json
import re
import shutil

import pytest

import understudy as us
from altered_releases import base
from understudy.errors import ReleaseError
from understudy.release.folder import checksums
from understudy_verify import verify

pytestmark = pytest.mark.whole

NOW = "Rendered by understudy 0"
FALSE = "Perfectly private: ε = 0.01"


@pytest.fixture(scope="module")
def genuine(tmp_path_factory):
    place = tmp_path_factory.mktemp("pages")
    base("gaussian", place)
    return place / "gaussian"


@pytest.fixture
def folder(genuine, tmp_path):
    return shutil.copytree(genuine, tmp_path / "r")


def put(folder, name, text):
    """Write a file, and redo the checksums."""
    (folder / name).write_text(text, encoding="utf-8")
    manifest = folder / "manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    content["files"] = {k: v for k, v in checksums(folder).items() if k != "manifest.json"}
    manifest.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def changed(folder, name, change, *, version):
    text = (folder / name).read_text(encoding="utf-8")
    text = text.replace("<h1>", f"<h1>{FALSE} ", 1).replace("# ", f"# {FALSE} ", 1)
    text = text.replace(NOW, "Rendered by understudy 99") if version == "another" else text
    if version == "none":
        text = re.sub(r'<section aria-labelledby="h-promise">.*?</section>\n', "", text, flags=re.S)
        text = re.sub(r"```promise.*?```\n", "", text, flags=re.S)
    altered = change(text)
    assert altered != text
    put(folder, name, altered)


def within(before, after):
    return lambda text: text.replace("<body>", f"<body>{before}").replace(
        "</body>", f"{after}</body>"
    )


def wrapped(before, after):
    return lambda text: f"# {FALSE}\n\n{before}{text}{after}"


def in_sheet(rule):
    return lambda text: text.replace("</style>", f"{rule}</style>")


HIDDEN = {
    "a comment": ("README.md", wrapped("<!--\n", "\n-->\n")),
    "a comment in a page": ("report.html", within("<!--", "-->")),
    "an element of Markdown": ("README.md", wrapped("<details>\n\n", "\n\n</details>\n")),
    "a head of Markdown": ("README.md", lambda text: f"---\n{text}\n---\n"),
    "hidden": ("report.html", within("<div hidden>", "</div>")),
    "a style": ("report.html", within('<div style="display:none">', "</div>")),
    "details": ("report.html", within("<details><summary>x</summary>", "</details>")),
    "a template": ("report.html", within("<template>", "</template>")),
    "noscript": ("report.html", within("<noscript>", "</noscript>")),
    "a script": ("report.html", within("<script>document.body.remove()</script>", "")),
    "a picture": ("report.html", within("<svg>", "</svg>")),
    "an open tag": ("report.html", within("<details>", "")),
    "a rule": ("report.html", in_sheet("#promise, p { display: none }")),
    "a second sheet": ("report.html", within("<style>p { display: none }</style>", "")),
    "a way off": ("report.html", within('<p onclick="x()">', "</p>")),
    "a class that hides": ("report.html", within('<div class="skip">', "</div>")),
    "another page": (
        "report.html",
        lambda text: text.replace(
            "<title>", '<meta http-equiv="refresh" content="0;url=x"><title>'
        ),
    ),
    "a declaration": ("report.html", within("<![CDATA[", "]]>")),
}


@pytest.mark.parametrize("version", ["ours", "another", "none"])
@pytest.mark.parametrize("how", HIDDEN)
@pytest.mark.nightly(diagonal=True)
def test_a_promise_that_is_hidden_is_none(folder, how, version):
    """Below a false headline, by this version, another one, or one that had no block."""
    name, change = HIDDEN[how]
    changed(folder, name, change, version=version)
    with pytest.raises(ReleaseError, match=name):
        us.Release.load(folder, compare_pages=False)
    assert ("pages", "broken") in [said[:2] for said in verify(folder)]


BLOCK = {
    "README.md": re.compile(r"```promise\n.*?```\n", re.DOTALL),
    "report.html": re.compile(r'<blockquote id="promise">.*?</blockquote>', re.DOTALL),
}


@pytest.mark.parametrize("name", BLOCK)
@pytest.mark.parametrize("what", ["twice", "another size", "no version", "another statement"])
def test_the_promise_stands_there_once_and_is_that_of_the_manifest(folder, name, what):
    size = re.compile(r"(ε = \d[^,<\n]*)(?=, δ = [\d.]+(</p>|\n))")
    change = {
        "twice": lambda block: block + "\n" + block,
        "another size": lambda block: size.sub("ε = 0.01", block),
        "no version": lambda block: block.replace(NOW, "By understudy 0"),
        "another statement": lambda block: block.replace("whatever is", "nothing that is", 1),
    }[what]
    changed(
        folder,
        name,
        lambda text: BLOCK[name].sub(lambda found: change(found[0]), text),
        version="another" if what != "no version" else "ours",
    )
    with pytest.raises(ReleaseError, match=name):
        us.Release.load(folder, compare_pages=False)
    assert ("pages", "broken") in [said[:2] for said in verify(folder)]


@pytest.mark.parametrize("name", ["README.md", "report.html", "codebook.html"])
def test_what_this_version_rendered_is_rendered_anew(folder, name):
    """A headline alone is found by comparison; whoever names another version is told apart."""
    loaded = us.Release.load(folder)
    assert loaded.not_compared == ()
    changed(folder, name, lambda text: text + "\n", version="ours")
    with pytest.raises(ReleaseError, match=f"{name} is not what this version renders"):
        us.Release.load(folder)
    changed(folder, name, lambda text: text + "\n", version="another")
    assert us.Release.load(folder).not_compared == (name,)


@pytest.mark.parametrize("name", ["README.md", "report.html", "codebook.html"])
def test_a_page_without_a_block_is_refused(folder, name):
    """Claim attacked: no text lacks the promise."""
    text = (folder / name).read_text(encoding="utf-8")
    text = re.sub(r'<section aria-labelledby="h-promise">.*?</section>\n', "", text, flags=re.S)
    put(folder, name, re.sub(r"```promise.*?```\n\n", "", text, flags=re.S))
    with pytest.raises(ReleaseError, match=f"{re.escape(name)} does not state its promise once"):
        us.Release.load(folder, compare_pages=False)
    assert ("pages", "broken") in [said[:2] for said in verify(folder)]


def test_numbers_may_differ_in_their_last_digits_and_no_further(folder):
    """Of what is computed; 0.1 % of any number, as processors differ by far less."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    width = re.search(r"width:(\d\d\.\d\d)%", text)
    assert width is not None
    for factor, accepted in ((1.0002, True), (1.1, False)):
        value = f"{float(width[1]) * factor:.5f}"
        put(folder, "report.html", text.replace(f"width:{width[1]}%", f"width:{value}%"))
        if accepted:
            assert us.Release.load(folder).not_compared == ()
        else:
            with pytest.raises(ReleaseError, match=r"report\.html is not what"):
                us.Release.load(folder)
