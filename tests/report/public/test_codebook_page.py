"""The codebook page: every column and what its values stand for, and no figure of the rows."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import understudy as us
from exported import SCHEMA, release
from schemas import column
from understudy.report.public_page import MAX_BYTES, codebook_page, public_page


class _Texts(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.links, self.ids, self.cells = [], set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.ids |= {told["id"]} if "id" in told else set()
        self.links += [told["href"]] if "href" in told else []

    def handle_data(self, data):
        self.cells.append(data.strip())


def test_every_column_and_every_value_is_there():
    made = release()
    page = codebook_page(made)
    found = _Texts(page)
    for name, one in SCHEMA.declared.items():
        assert name in found.cells
        assert {label for label in one.value_labels.values() if label != "not asked"} <= {
            cell.removesuffix(", missing").removesuffix(", not applicable") for cell in found.cells
        }
    assert "not asked, missing" in found.cells
    assert all(link.startswith("#") and link[1:] in found.ids | {"main"} for link in found.links)
    assert "url(" not in page
    assert not re.search(r"(?:src|action)=", page)


def test_it_follows_from_schema_and_manifest_alone():
    one, other = release(), release()
    assert not one.tables[0].equals(other.tables[0])
    assert codebook_page(replace(other, manifest=one.manifest)) == codebook_page(one)


def test_heaps_are_told_in_words():
    pay = column("pay", "integer", lower=0, upper=9000, heaps=[1000, 500])
    pay = pay.replace("500]", "500, { every = 7, at = 3 }]")
    page = codebook_page(replace(release(), schema=us.Schema.loads(pay)))
    assert "Often rounded to multiples of 1000, 500, steps of 7 from 3" in page
    assert "rounded" not in codebook_page(release())


def test_wide_tables_stay_below_one_megabyte():
    schema = us.Schema.loads(
        "".join(
            column(f"c{k}", "categorical", levels=[f"level {j} of this column" for j in range(40)])
            for k in range(600)
        )
    )
    page = codebook_page(replace(release(), schema=schema))
    assert len(page.encode()) < MAX_BYTES
    assert "more columns are left out" in page


def test_the_charts_of_columns_show_labels_beside_codes():
    page = public_page(release())
    for words in ("1 male", "2 female", "9 refused", "(empty) not asked", "0 none"):
        assert words in page, words
