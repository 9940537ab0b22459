"""What the desk says stands in one catalogue, and is said in a language that has a file."""

import re
import shlex
import subprocess
import sys
from collections import defaultdict
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from jinja2 import Environment, nodes

from desk_visits import Visitor, refusal
from understudy.desk import words

ROOT = Path(__file__).parents[2]
DESK = ROOT / "src/understudy/desk"
CATALOGUE = DESK / "words.pot"
VISIBLE = {"alt", "aria-label", "aria-valuetext", "placeholder", "title"}
PROGRAM = re.compile(r"\b(MB|UTC)\b")
LETTERS = re.compile(r"[^\W\d_]{2,}")
SAYS = {"_", "gettext", "ngettext"}


def test_the_catalogue_is_what_the_sources_say(tmp_path):
    made = re.search(r"/pybabel (.* -o )\S+( .*)", (ROOT / "Makefile").read_text())
    said = tmp_path / "words.pot"
    arguments = shlex.split(f"{made[1]}{said}{made[2]}")
    subprocess.run(
        [sys.executable, "-m", "babel.messages.frontend", *arguments], cwd=ROOT, check=True
    )
    assert CATALOGUE.read_text() == said.read_text(), "make words"


def test_a_sign_for_per_cent_is_doubled_in_every_message():
    with CATALOGUE.open("rb") as file:
        messages = [text for one in read_po(file) if (text := one.id)]
    assert len(messages) > 300
    for text in messages:
        for form in (text,) if isinstance(text, str) else text:
            assert "%(" not in form % defaultdict(str)


TRANSLATED = {
    "Projects": "Projekte",
    "Ledger": "Kassenbuch",
    "Say the project's folder.": "Nennen Sie den Ordner des Projekts.",
    "%(what)s is a whole number such as 5000.": "Eine ganze Zahl wie 5000 ist: %(what)s.",
    "The number of rows": "die Zahl der Zeilen",
    "Below %(root)s, such as survey-2026. Only you will be able to look into it.": (
        "Unterhalb von %(root)s; nur Sie sehen hinein."
    ),
    "Mark between cells": "Zeichen zwischen Zellen",
    "%(title)s – Understudy desk": "%(title)s – Schreibtisch",
    "%(who)s, by %(num)s": "%(who)s <em>%(num)s</em>",
    ("%(num)s file of %(who)s", "%(num)s files of %(who)s"): ("%(num)s von %(who)s", "alle"),
}


@pytest.fixture
def german(tmp_path, monkeypatch):
    """A visitor of a desk that has a file with some messages in German."""
    catalogue = Catalog(locale="de")
    for text, translated in TRANSLATED.items():
        catalogue.add(text, translated)
    place = tmp_path / "locale/de/LC_MESSAGES/desk.mo"
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        write_mo(file, catalogue)
    monkeypatch.setattr(words, "LOCALE", tmp_path / "locale")
    monkeypatch.setenv("LANGUAGE", "de")
    words.translation.cache_clear()
    yield Visitor(tmp_path)
    words.translation.cache_clear()


def test_pages_and_refusals_are_said_in_a_language_that_has_a_file(german):
    first = german.get("/")
    assert '<html lang="de">' in first.text
    assert "<title>Projekte – Schreibtisch</title>" in first.text
    assert '<a href="/ledger">Kassenbuch</a>' in first.text
    assert f"Unterhalb von {german.root}; nur Sie sehen hinein." in first.text
    assert "Make a new project" in first.text  # which has no translation
    refused = german.post("/", folder="", do="new")
    assert refusal(refused) == "Nennen Sie den Ordner des Projekts."
    german.new_project()
    assert "Zeichen zwischen Zellen</label>" in german.get("file").text
    typed = {"title": "Incomes", "unit": "one person", "rows": "public", "count": "many"}
    answer = german.post("file", data="fair.csv", do="save", **typed)
    assert refusal(answer) == "Eine ganze Zahl wie 5000 ist: die Zahl der Zeilen."


def test_what_is_put_into_a_message_stays_text(german):
    pages = german.app._templates
    hostile = "<b>\u202e"
    page = pages.from_string("{% trans num=2 %}{{ who }}, by {{ num }}{% endtrans %}")
    assert page.render(who=hostile) == "&lt;b&gt;\ufffd <em>2</em>"
    page = pages.from_string(
        "{% trans num=n %}{{ num }} file of {{ who }}{% pluralize %}"
        "{{ num }} files of {{ who }}{% endtrans %}"
    )
    assert page.render(n=1, who=hostile) == "1 von &lt;b&gt;\ufffd"
    assert page.render(n=2, who=hostile) == "alle"


def test_without_a_file_the_desk_speaks_english(tmp_path, monkeypatch):
    monkeypatch.setenv("LANGUAGE", "xx")
    words.translation.cache_clear()
    page = unescape(Visitor(tmp_path).get("/").text)
    assert '<html lang="en">' in page
    assert "<title>Projects – Understudy desk</title>" in page


class _Outside(HTMLParser):
    """Collects what is visible, and stands in no message."""

    def __init__(self, places):
        super().__init__()
        self.places, self.inside, self.found = places, [], []

    def handle_starttag(self, tag, attrs):
        if tag not in {"br", "circle", "input", "link", "meta", "rect"}:
            self.inside.append(tag)
        for name, value in attrs:
            if name in VISIBLE:
                self.see(value or "")

    def handle_endtag(self, tag):
        if tag in self.inside:
            del self.inside[len(self.inside) - 1 - self.inside[::-1].index(tag) :]

    def handle_data(self, data):
        if not {"code", "script", "style"} & {*self.inside}:
            self.see(data)

    def see(self, text):
        text = PROGRAM.sub("", text)
        said = [text, *(one for mark in text for one in self.places.get(mark, ()))]
        self.found += [one.strip() for one in said if LETTERS.search(one)]


def shown(node):
    """Texts that an expression may give as they stand."""
    if isinstance(node, nodes.Const):
        return [node.value] if isinstance(node.value, str) else []
    parts = {
        nodes.CondExpr: ("expr1", "expr2"),
        nodes.Or: ("left", "right"),
        nodes.And: ("right",),
        nodes.Add: ("left", "right"),
    }
    if isinstance(node, nodes.Concat):
        return [text for one in node.nodes for text in shown(one)]
    if isinstance(node, nodes.Filter):
        return shown(node.node)
    names = parts.get(type(node), ())
    return [text for name in names if getattr(node, name) for text in shown(getattr(node, name))]


def flat(node, places):
    """The template without its logic: texts, and a mark for each expression."""
    if isinstance(node, nodes.TemplateData):
        return node.data
    if isinstance(node, nodes.Output):
        return "".join(flat(one, places) for one in node.nodes)
    if isinstance(node, nodes.Expr):
        mark = chr(0xE000 + len(places))
        places[mark] = shown(node)
        return mark
    return "".join(
        flat(one, places) for one in node.iter_child_nodes(only=("body", "elif_", "else_"))
    )


def outside(source):
    """Visible texts of a template that are in no message."""
    page = Environment(extensions=["jinja2.ext.i18n"])
    page.newstyle_gettext = True
    tree, places = page.parse(source), {}
    parser = _Outside(places)
    parser.feed(flat(tree, places))
    found = parser.found
    for call in tree.find_all(nodes.Call):  # a macro is given words
        if getattr(call.node, "name", "") not in SAYS:
            given = [*call.args, *(one.value for one in call.kwargs)]
            said = [text for one in given for text in shown(one)]
            found += [one for one in said if " " in one or one[:1].isupper()]
    return found


@pytest.mark.parametrize(
    "template", sorted((DESK / "templates").glob("*.html")), ids=lambda p: p.stem
)
def test_no_visible_text_of_a_template_stands_outside_the_catalogue(template):
    assert not outside(template.read_text())


@pytest.mark.parametrize(
    "source",
    [
        "<p>Some words</p>",
        '<p class="a">{% if x %}Some{% else %}{{ _("Others") }}{% endif %}</p>',
        '<input placeholder="such as this">',
        '<b aria-label="Remove: {{ words }}">{{ words }}</b>',
        '<p>{{ "Go on" if x else _("Stay") }}</p>',
        '<p>{{ one.by or "nobody" }}</p>',
        '<p>{{ ", by " ~ name }}</p>',
        '{{ parts.field("by", "Who approves", by) }}',
        '{{ parts.field("by", _("Below ") ~ root ~ ", such as this", by) }}',
    ],
)
def test_a_text_outside_of_messages_is_found(source):
    assert outside(source)
