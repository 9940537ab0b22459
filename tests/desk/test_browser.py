"""The desk in a real browser: the whole way, by keyboard, after a kill, and as it looks.

Skipped where there is no Chromium. `make desk-test` runs these tests alone.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from desk_visits import ALL, finished_project, survey, wide_survey

pytestmark = [pytest.mark.desk, pytest.mark.whole]

sync = pytest.importorskip(
    "playwright.sync_api", reason="The desk is not tested in a browser: no playwright."
)
pytest.importorskip("statsmodels")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
if CHROMIUM is None:
    pytest.skip("The desk is not tested in a browser: no Chromium.", allow_module_level=True)


class Server:
    """The command, and the link that it prints."""

    def __init__(self, root):
        self.root = root
        self.process = subprocess.Popen(
            [sys.executable, "-m", "understudy", "desk", "--root", str(root)],
            env={**os.environ, "XDG_CONFIG_HOME": str(root / "configuration")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.link = self._next_link()

    def _next_link(self):
        return re.search(r"http://\S+", self.process.stdout.readline())[0]

    def another_link(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._next_link()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def browser():
    with sync.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A page that must say nothing in its console, and ask nobody but the desk."""
    context = browser.new_context(viewport={"width": 900, "height": 900})
    found = context.new_page()
    found.set_default_timeout(60_000)
    said, asked = [], []
    found.on("console", lambda one: said.append(one.text) if one.type == "error" else None)
    found.on("pageerror", lambda error: said.append(str(error)))
    found.on("request", lambda one: asked.append(one.url))
    yield found
    context.close()
    refused = [one for one in said if "422" not in one]  # a form that was refused with a sentence
    assert not refused
    assert not [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:"))]


@pytest.fixture
def server(tmp_path):
    survey(tmp_path, ALL)
    found = Server(tmp_path)
    yield found
    found.kill()


def heading(page, name):
    page.get_by_role("heading", name=name, exact=True).first.wait_for()


def walk_to_release(page, server):
    """From the first page to the one on which a release is started."""
    page.goto(server.link)
    page.get_by_label("Folder").fill("survey")
    page.get_by_role("button", name="Make a new project").click()
    heading(page, "File")
    page.get_by_role("button", name="Choose: Or a reviewed schema").click()
    page.get_by_role("button", name="fair.toml").click()
    chosen = page.get_by_label("Or a reviewed schema", exact=True)
    sync.expect(chosen).to_have_value(re.compile("fair.toml"), timeout=30_000)
    page.get_by_role("button", name="Choose: Confidential file").click()
    page.get_by_role("button", name="fair.csv").click()
    chosen = page.get_by_label("Confidential file", exact=True)
    sync.expect(chosen).to_have_value(re.compile("fair.csv"), timeout=30_000)
    page.get_by_role("button", name="Save, and draft the schema").click()
    page.get_by_role("link", name="Go on to the questions").click()
    heading(page, "Questions")
    page.get_by_label("Of", exact=True).select_option("affairs")
    page.get_by_role("button", name="Add the question").click()
    page.get_by_text("How large affairs is on average").wait_for()
    page.get_by_role("button", name="Go on to the plan").click()
    heading(page, "Plan")
    page.get_by_text("± ").first.wait_for()


def approve_and_start(page):
    page.get_by_role("button", name="Save the plan").click()
    heading(page, "Approve")
    page.get_by_label("Who approves").fill("A. Steward")
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Start the release").click()


def test_the_whole_way_to_the_archive(page, server):
    walk_to_release(page, server)
    before = page.locator("#outlook table td").first.inner_text()
    page.locator("#slide_epsilon").fill("400")
    page.wait_for_function(
        "(was) => document.querySelector('#outlook table td').innerText !== was", arg=before
    )
    assert page.evaluate("() => document.activeElement.id") in ("slide_epsilon", "")
    page.get_by_label("mean affairs").fill("1.2")
    page.get_by_role("button", name="Find the least ε").click()
    page.wait_for_function("() => document.getElementById('epsilon').value !== '4.37'")
    assert 0 < float(page.locator("#epsilon").input_value()) < 4
    approve_and_start(page)
    page.get_by_text("At work").wait_for()
    page.get_by_role("link", name="Look at it").click()
    heading(page, "Verdict")
    frame = page.frame_locator("iframe").first
    frame.get_by_role("heading").first.wait_for()
    page.get_by_label("Reason").fill("It is fit for its use.")
    page.get_by_role("button", name="Accept", exact=True).click()
    page.get_by_role("button", name="Verify").click()
    page.locator(".good").wait_for()
    page.get_by_role("button", name="Make the archive").click()
    page.get_by_text("release.zip").wait_for()
    assert (server.root / "survey" / "release.zip").exists()
    assert page.evaluate("() => localStorage.length + sessionStorage.length") == 0


def test_a_killed_desk_loses_nothing_and_spends_nothing_twice(page, browser, server):
    first = browser.new_page()  # whose console says that the desk is gone
    first.set_default_timeout(60_000)
    walk_to_release(first, server)
    approve_and_start(first)
    first.get_by_text("At work").wait_for()
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    first.close()
    second = Server(server.root)
    try:
        page.goto(second.link)
        page.get_by_role("link", name="survey").click()
        page.get_by_role("link", name="Look at it").wait_for(timeout=240_000)
    finally:
        second.kill()
    folder = server.root / "survey"
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [one["run"] for one in log if one.get("what") == "run"] == ["release"]
    assert (folder / "release" / "manifest.json").exists()
    assert not (folder / "release.checkpoint").joinpath("journal.jsonl").exists()


def test_a_stopped_run_is_gone_on_with(page, server):
    walk_to_release(page, server)
    approve_and_start(page)
    page.get_by_text(re.compile("Measuring")).wait_for()
    page.get_by_role("button", name="Stop, and keep what is paid for").click()
    page.get_by_role("button", name="Go on with the run").click(timeout=120_000)
    page.get_by_role("link", name="Look at it").wait_for(timeout=240_000)


def test_a_new_link_lets_another_browser_take_over(page, browser, server):
    page.goto(server.link)
    heading(page, "Projects")
    other = browser.new_context()
    taking = other.new_page()
    taking.goto(server.another_link())
    heading(taking, "Projects")
    page.get_by_label("Folder").fill("x")
    other.close()
    assert not (server.root / "x").exists()


def test_keys_go_through_the_schema_and_nothing_is_cut(page, server):
    names = [f"a_rather_long_name_of_column_{k}" for k in range(35)]
    columns = "".join(
        f'\n[columns.{name}]\nkind = "categorical"\nlevels = ["a", "b"]\nsource = "codebook"\n'
        for name in names
    )
    (server.root / "many.toml").write_text(
        f'title = "Many"\nrows = "public"\nn_rows = 5000\n{columns}'
    )
    page.goto(server.link)
    page.get_by_label("Folder").fill("many")
    page.keyboard.press("Enter")
    heading(page, "File")
    page.get_by_label("Or a reviewed schema", exact=True).fill("many.toml")
    page.get_by_label("Confidential file", exact=True).fill("fair.csv")
    page.keyboard.press("Enter")
    page.get_by_text("35 of 35 to decide").wait_for()
    page.keyboard.press("a")
    page.get_by_text("34 of 35 to decide").wait_for()
    page.keyboard.press("j")
    page.locator(f"#card-name:text('{names[2]}')").wait_for()
    page.keyboard.press("k")
    page.locator(f"#card-name:text('{names[1]}')").wait_for()
    page.keyboard.press("u")
    page.get_by_text("35 of 35 to decide").wait_for()
    page.keyboard.press("c")
    assert page.evaluate("() => document.activeElement.id") == "source"
    for width, most in ((400, 4_000), (900, 2_200), (1_600, 2_200)):
        page.set_viewport_size({"width": width, "height": 900})
        tall, wide = page.evaluate(
            "() => [document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
        )
        assert tall <= most
        assert wide <= width
        cut = page.evaluate(
            "() => [...document.querySelectorAll('.columns a')]"
            ".filter((one) => one.scrollWidth > one.clientWidth).length"
        )
        assert cut == 0


class Keyboard:
    """Somebody who has no pointer.

    Args:
        page: that is walked through.
    """

    def __init__(self, page):
        self.page = page

    def to(self, name):
        """Go on by the tabulator until what has this name has the focus."""
        late = time.monotonic() + 60
        while time.monotonic() < late:
            self.page.keyboard.press("Tab")
            here = self.page.evaluate(
                "() => { const one = document.activeElement, label = (one.labels || [])[0] || one;"
                " return (one.getAttribute('aria-label') || label.innerText || '').trim() }"
            )
            if here == name or here.startswith(f"{name} "):
                return self
        raise AssertionError(f"No key leads to {name!r}.")

    def type(self, name, text):
        self.to(name)
        self.page.keyboard.type(text)
        return self

    def press(self, name, key="Enter"):
        self.to(name).page.keyboard.press(key)
        return self


def plan_by_keys(keys, page, first):
    """From the questions to the look at the release."""
    heading(page, "Questions")
    keys.type("Of", first)
    keys.press("Add the question")
    page.get_by_text(f"How large {first} is on average").wait_for()
    keys.press("Go on to the plan")
    heading(page, "Plan")
    page.get_by_text("± ").first.wait_for()
    keys.press("Synthetic tables", "Control+A")
    page.keyboard.type("1")
    keys.press("ε on a scale", "ArrowRight")
    page.wait_for_function("() => document.getElementById('epsilon').value === '1.02'")
    keys.press("Save the plan")
    heading(page, "Approve")
    keys.type("Who approves", "A. Steward")
    page.keyboard.press("Enter")
    keys.press("Start the release")
    page.get_by_role("link", name="Look at it").wait_for(timeout=300_000)
    keys.press("Look at it")


@pytest.mark.parametrize("n_columns", [6, pytest.param(35, marks=pytest.mark.nightly)])
def test_the_whole_way_by_keyboard_alone(page, tmp_path, n_columns):
    wide_survey(tmp_path, n_columns)
    server, keys = Server(tmp_path), Keyboard(page)
    folder = tmp_path / "wide"
    try:
        page.goto(server.link)
        keys.type("Folder", "wide")
        page.keyboard.press("Enter")
        heading(page, "File")
        keys.type("Codebook", "wide.json").type("Confidential file", "wide.csv")
        keys.type("Title", "A wide survey").type("Whose row it is", "one respondent")
        keys.press("is private: it is bought from the budget", "ArrowDown")
        keys.type("Public number, or public limit", "1000")
        page.keyboard.press("Enter")
        page.get_by_text(f"{n_columns} of {n_columns} to decide").wait_for(timeout=120_000)
        keys.press(f"Accept {n_columns} from public sources at once")
        keys.press("Go on to the questions")
        plan_by_keys(keys, page, "amount_0")
        heading(page, "Verdict")
        keys.press("Open it")
        keys.press("Compare with the rows")
        page.frame_locator("iframe[title='Internal comparison']").get_by_text(
            "compares with confidential data"
        ).wait_for(timeout=300_000)
        keys.type("Reason", "It is fit for its use.")
        page.keyboard.press("Enter")
        keys.press("Verify")
        page.locator(".good").wait_for()
        keys.press("Make the archive")
        page.get_by_text("release.zip").wait_for()
    finally:
        server.kill()
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert sum(one.get("what") == "schema decision" for one in log) == 1
    runs = [one["run"] for one in log if one.get("what") == "run"]
    assert runs == ["draft", "release", "evaluate"]
    assert (folder / "release.zip").exists()


@pytest.mark.nightly
def test_35_columns_without_a_codebook_take_few_decisions_by_keyboard(page, tmp_path):
    """Each amount is confirmed by its own page of a questionnaire, all answers by one."""
    wide_survey(tmp_path, 35)
    server, keys = Server(tmp_path), Keyboard(page)
    try:
        page.goto(server.link)
        keys.type("Folder", "wide")
        page.keyboard.press("Enter")
        heading(page, "File")
        keys.type("Confidential file", "wide.csv")
        keys.type("Title", "A wide survey").type("Whose row it is", "one respondent")
        page.keyboard.press("Enter")
        page.get_by_text("35 of 35 to decide").wait_for(timeout=120_000)
        for k in range(0, 35, 3):
            while page.locator("#card-name").inner_text() != f"amount_{k}":
                was = page.locator("#card-name").inner_text()
                page.locator("h1").focus()
                page.keyboard.press("j")
                page.locator(f"#card-name:not(:text-is('{was}'))").wait_for()
            page.keyboard.press("c")
            page.keyboard.type(f"questionnaire, page {k}")
            page.keyboard.press("Enter")
            page.get_by_text(f"{35 - k // 3 - 1} of 35 to decide").wait_for()
        keys.press("Tick all that are open")
        keys.type("One source for all that is ticked", "questionnaire, part B")
        page.keyboard.press("Enter")
        page.get_by_text("All is decided").wait_for()
    finally:
        server.kill()
    log = (tmp_path / "wide" / "log.jsonl").read_text().splitlines()
    assert sum(json.loads(line).get("what") == "schema decision" for line in log) == 13


def test_moved_sliders_are_on_the_screen_at_once(page, server):
    walk_to_release(page, server)
    took = {}
    for name, key in (("epsilon", "ArrowRight"), ("delta", "ArrowLeft"), ("answers", "ArrowRight")):
        page.locator(f"#slide_{name}").focus()
        times = []
        for _ in range(5):
            was = page.locator(f"#{name}").input_value()
            begun = time.monotonic()
            page.keyboard.press(key)
            page.wait_for_function(
                "([name, was]) => document.getElementById(name).value !== was", arg=[name, was]
            )
            times.append(time.monotonic() - begun)
            assert page.evaluate("() => document.activeElement.id") == f"slide_{name}"
        took[name] = min(times[1:])
    assert max(took.values()) < 0.6, took  # 100 ms of it wait for the hand; machines are shared


LOOKS = [(width, theme) for theme in ("light", "dark") for width in (400, 900, 1_600)]


def serious_faults(page, address, looks=LOOKS):
    """What axe finds on a page, by width and theme; and where it is wider than the screen."""
    axe = pytest.importorskip(
        "axe_playwright_python.base", reason="Pages are not checked by axe: it is not installed."
    )
    page.goto(address)
    page.evaluate(axe.AXE_SCRIPT)
    found = []
    for width, theme in looks:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        tall, wide = page.evaluate(
            "() => [document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
        )
        # Only colours differ between themes.
        rules = {"runOnly": ["color-contrast"]} if theme == "dark" else {}
        told = page.evaluate(
            "async (how) => (await axe.run(document, how)).violations"
            ".map((one) => [one.impact, one.id, one.nodes[0].html.slice(0, 200)])",
            {"resultTypes": ["violations"], **rules},
        )
        found += [(width, theme, *one) for one in told if one[0] in ("serious", "critical")]
        if wide > width:
            found.append((width, theme, "wider than the screen"))
        if address.startswith("http") and tall > (4_000 if width == 400 else 2_200):
            found.append((width, theme, "too tall", tall))
    return found


def test_axe_finds_nothing_serious_on_any_page(page, tmp_path):
    project = finished_project(tmp_path, ALL)
    server = Server(tmp_path)
    try:
        page.goto(server.link)
        heading(page, "Projects")
        desk = page.url.rstrip("/")
        steps = page.goto(f"{desk}/p/{project.id}/file") and page.evaluate(
            "() => [...document.querySelectorAll('nav a')].map((one) => one.pathname)"
        )
        assert len(steps) == 9
        for path in ("/", "/ledger", *steps):
            assert serious_faults(page, desk + path) == [], path
            assert page.get_by_role("heading", level=1).inner_text()
    finally:
        server.kill()


def test_axe_finds_nothing_serious_on_published_pages(browser, tmp_path):
    folder = finished_project(tmp_path, ALL).folder / "release"
    page = browser.new_context().new_page()
    for name in ("report.html", "results.html", "codebook.html"):
        looks = [(400, "light"), (900, "dark")]
        assert serious_faults(page, (folder / name).as_uri(), looks) == [], name
    page.context.close()


def test_axe_is_not_blind(browser):
    page = browser.new_page()
    bad = "data:text/html,<html lang=en><title>x</title><main><h1>x</h1><button></button></main>"
    assert any("button-name" in one for one in serious_faults(page, bad, LOOKS[:1]))
    page.close()
