"""Small releases made by hand, and what holds for every page."""

from __future__ import annotations

import re
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

from understudy.dp.accountant import Entry
from understudy.dp.guarantee import Guarantee, public_inputs
from understudy.models.model import InferenceFacts
from understudy.release.decoding import decode
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.schema import Schema

MIXED = """
title = "A small survey"
[unit]
description = "one person"
[columns.sex]
kind = "categorical"
levels = ["f", "m", "x"]
missing = ["refused"]
source = "questionnaire"
reviewed = true
[columns.health]
kind = "ordinal"
levels = [1, 2, 3]
not_applicable = [-1]
missing = [""]
reviewed = true
[columns.employed]
kind = "boolean"
missing = [""]
source = "questionnaire"
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 10
source = "law"
reviewed = true
[columns.income]
kind = "continuous"
lower = 0.0
upper = 1000.0
bins = 5
spikes = [0.0, 500.0]
missing = [-9, ""]
unit = "euro"
source = "judgement"
reviewed = true
[columns.born]
kind = "date"
lower = 1950-01-01
upper = 2009-12-31
bins = 6
missing = ["unknown"]
source = "law"
reviewed = true
"""


def table(
    name, columns, counts, *, distribution="discrete_laplace", scale="10", stddev=14.1, entry=1
):
    """A whole measured table."""
    counts = np.asarray(counts)
    return Measurement(
        "table",
        columns,
        np.arange(counts.size),
        counts.reshape(-1),
        name=name,
        distribution=distribution,
        scale=scale,
        stddev=stddev,
        entry=entry,
    )


def one_way(schema, rng, *, total=3000, stddev=14.1):
    """A one-way table for each column."""
    found = []
    for k, (name, column) in enumerate(schema.columns.items(), start=1):
        shares = rng.dirichlet(np.ones(column.size))
        noise = np.rint(rng.laplace(0, stddev / np.sqrt(2), column.size)).astype(np.int64)
        counts = rng.multinomial(total, shares) + noise
        found.append(table(f"table-{k}", (name,), counts, stddev=stddev, entry=k))
    return tuple(found)


def entries(measurements):
    """A ledger that splits ε = 1 evenly."""
    n = len(measurements)
    return tuple(
        Entry(
            number=k,
            mechanism="discrete Laplace",
            query=f"counts by {' × '.join(one.columns)}",
            accounting="pure",
            spent=Fraction(1, n),
            sensitivity="1 (ℓ₁)",
            noise=f"discrete Laplace (geometric), scale {n}",
            cells=len(one.codes) + 1,
        ).to_json()
        for k, one in enumerate(measurements, start=1)
    )


def release_of(schema, measurements, *, n_rows=200, sets=2, guarantee=None, **manifest):
    """A release with rows drawn at random."""
    rng = np.random.default_rng(1)
    tables = tuple(
        decode([rng.integers(0, size, n_rows) for size in schema.sizes], schema, rng)
        for _ in range(sets)
    )
    content = {
        "method": "independent",
        "options": {"noise": "auto"},
        "reason": "",
        "sets": sets,
        "sets_kind": "free",
        "n_rows": n_rows,
        "rows_obtained": "measured with noise",
        "guarantee": guarantee
        or Guarantee(
            "pure", Fraction(1), Fraction(0), "add_remove", public_inputs=public_inputs(schema)
        ),
        "budget": {"epsilon": "1", "delta": "0", "unit": "epsilon", "amount": "1"},
        "ledger": entries(measurements),
        "secure": True,
        "sampling_seed": 7,
        "software": {"understudy": "0.1.0"},
        "inference": InferenceFacts(independent=True),
    }
    return Release(tables, schema, Manifest(**(content | manifest)), tuple(measurements))


@pytest.fixture
def mixed():
    return Schema.loads(MIXED)


@pytest.fixture
def make():
    """The builders above, for tests (which import nothing from one another)."""

    class Make:
        table = staticmethod(table)
        one_way = staticmethod(one_way)
        release = staticmethod(release_of)

    return Make


VOID = {"meta", "br", "hr", "img", "input", "link", "path"}


class Balanced(HTMLParser):
    """Checks that tags nest, ids are unique and labels point to ids; collects the text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.labels, self.headings, self.parts = [], [], [], [], []
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        self.labels += [value for name, value in attrs if name == "aria-labelledby"]
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.parts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.parts).replace("\N{NO-BREAK SPACE}", " ").split())


def parsed(page):
    found = Balanced()
    found.feed(page)
    found.close()
    assert not found.open
    return found


def check_page(page, at_most=1_000_000):
    """What holds for every page."""
    found = parsed(page)
    assert len(page.encode()) <= at_most
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.labels) <= set(found.ids)
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(found.headings, found.headings[1:], strict=False))
    for tag, attrs in found.tags:
        assert tag not in {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
        assert not {"src", "srcset", "data", "action", "xlink:href"} & attrs.keys()
        assert attrs.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)
        if tag == "svg" and attrs.get("role") == "img":
            assert attrs["aria-label"]
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    used = set(re.findall(r"var\((--[\w-]+)\)", page))
    assert used <= set(re.findall(r"(--[\w-]+):", style)), "a colour that no style sheet sets"
    classes = {
        name for tag, attrs in found.tags if tag == "text" for name in attrs["class"].split()
    }
    coloured = set(re.findall(r"svg \.([\w-]+) \{", style))
    assert classes <= coloured | {"start", "ink"}, "a class of texts that no style sheet knows"
    assert "http:" not in page
    assert "https:" not in page
    return found


@pytest.fixture(scope="session")
def check():
    return check_page


def _luminance(colour):
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast_of(one, other):
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(scope="session")
def contrast():
    """Contrast of two colours by WCAG."""
    return contrast_of
