"""The site of `make docs` opens from its folder, asks nobody outside, and can be searched.

Skipped where it was not built, or there is no Chromium.
"""

import shutil
from pathlib import Path

import pytest

pytestmark = [pytest.mark.desk, pytest.mark.whole]

SITE = Path(__file__).parents[2] / "site"
sync = pytest.importorskip("playwright.sync_api", reason="No playwright: the site is not opened.")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
if CHROMIUM is None or not (SITE / "index.html").exists():
    pytest.skip("The site was not built, or there is no Chromium.", allow_module_level=True)


@pytest.fixture(scope="module")
def visit():
    """A page of a browser without a network, and what it asked for outside of the folder."""
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(offline=True)
        page = context.new_page()
        outside = []
        page.on(
            "request", lambda one: one.url.startswith(("file:", "data:")) or outside.append(one)
        )
        yield page, outside
        browser.close()


@pytest.mark.parametrize(
    "name", ["index", "start/first-release", "generated/python", "evidence/coverage"]
)
def test_a_page_asks_nobody_outside(visit, name):
    page, outside = visit
    page.goto((SITE / f"{name}.html").as_uri())
    assert page.locator("h1").count() == 1
    assert [one.url for one in outside] == []


def test_search_works_from_the_folder(visit):
    page, outside = visit
    page.goto((SITE / "search.html").as_uri() + "?q=ledger")
    page.wait_for_selector("#search-results ul.search li")
    assert page.locator("#search-results ul.search li").count() > 3
    assert outside == []


@pytest.mark.parametrize(
    "name", ["index", "start/first-release", "understand/epsilon", "generated/schema"]
)
def test_axe_finds_nothing_serious(visit, name):
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed.")
    page, _ = visit
    page.goto((SITE / f"{name}.html").as_uri())
    page.evaluate(axe.AXE_SCRIPT)
    found = page.evaluate("async () => (await axe.run(document)).violations")
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
