"""The desk over a survey of 35 columns, walked by keys: ``python benchmarks/desk_walk.py``.

A made-up survey of 5,000 respondents goes from its file to an archive in a real browser, without a
pointer: once with a codebook that says all of it, and once without one, where each amount is
confirmed by a page of a questionnaire and all answers by another. Shown are decisions about the
schema, keys, and seconds of the machine; then how long the server takes for each page, and a
slider until its intervals are on the screen. How long a person reads and thinks is not measured.

It needs Playwright and a Chromium of the system.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from playwright.sync_api import Page, sync_playwright

N, COLUMNS = 5_000, 35
PAGES = ("file", "schema", "questions", "plan", "approve", "release", "look", "publish", "asked")


def write_survey(root: Path) -> None:
    """Write the rows, and the codebook that says all of them."""
    rng = np.random.default_rng(35)
    columns, fields = {}, []
    for k in range(COLUMNS):
        if k % 3:
            levels = ["no", "yes", "perhaps"][: 2 + k % 2]
            columns[f"answer_{k}"] = rng.choice(levels, N)
            fields.append({"type": "string", "constraints": {"enum": levels}})
        else:
            columns[f"amount_{k}"] = rng.integers(0, 2_000, N)
            fields.append({"type": "integer", "constraints": {"minimum": 0, "maximum": 2_000}})
        fields[-1]["name"] = [*columns][-1]
    pl.DataFrame(columns).write_csv(root / "wide.csv")
    (root / "wide.json").write_text(json.dumps({"fields": fields}), encoding="utf-8")


class Walk:
    """Somebody with a keyboard alone.

    Args:
        page: that is walked through.
    """

    def __init__(self, page: Page) -> None:
        self.page, self.keys, self.begun = page, 0, time.monotonic()

    def press(self, key: str) -> None:
        """Press a key."""
        self.page.keyboard.press(key)
        self.keys += 1

    def fill(self, label: str, text: str) -> None:
        """Type into a field; the keys that lead there are counted as one."""
        self.page.get_by_label(label, exact=True).focus()
        self.page.keyboard.type(text)
        self.keys += 1 + len(text)

    def button(self, name: str) -> None:
        """Press a button or follow a link, as one key and one that leads there."""
        found = self.page.get_by_role("button", name=name, exact=True)
        found = found.or_(self.page.get_by_role("link", name=name, exact=True)).first
        found.wait_for()
        found.focus()
        self.press("Enter")
        self.keys += 1

    def until(self, text: str) -> None:
        """Wait until a text is shown."""
        self.page.get_by_text(text).first.wait_for(timeout=300_000)


def decide(walk: Walk) -> None:
    """Confirm each amount by its own page, and all answers by another."""
    for k in range(0, COLUMNS, 3):
        while walk.page.locator("#card-name").inner_text() != f"amount_{k}":
            was = walk.page.locator("#card-name").inner_text()
            walk.page.locator("h1").focus()
            walk.press("j")
            walk.page.locator(f"#card-name:not(:text-is('{was}'))").wait_for()
        walk.press("c")
        walk.page.keyboard.type(f"questionnaire, page {k}")
        walk.keys += len(f"questionnaire, page {k}")
        walk.press("Enter")
        walk.until(f"{COLUMNS - k // 3 - 1} of {COLUMNS} to decide")
    walk.button("Tick all that are open")
    walk.fill("One source for all that is ticked", "questionnaire, part B")
    walk.press("Enter")


def go(page: Page, root: Path, link: str, name: str, *, codebook: bool) -> str:
    """Walk from the first page to the archive, and say what it took."""
    page.goto(link)
    walk = Walk(page)
    walk.fill("Folder", name)
    walk.press("Enter")
    walk.until("Nothing is uploaded")
    if codebook:
        walk.fill("Codebook", "wide.json")
    walk.fill("Confidential file", "wide.csv")
    walk.fill("Title", "A wide survey")
    walk.fill("Whose row it is", "one respondent")
    walk.press("Enter")
    walk.until(f"{COLUMNS} of {COLUMNS} to decide")
    if codebook:
        walk.button(f"Accept {COLUMNS} from public sources at once")
    else:
        decide(walk)
    walk.until("All is decided")
    walk.button("Go on to the questions")
    walk.fill("Of", "amount_0")
    walk.button("Add the question")
    walk.until("How large amount_0 is on average")
    walk.button("Go on to the plan")
    walk.until("± ")
    walk.button("Save the plan")
    walk.fill("Who approves", "A. Steward")
    walk.press("Enter")
    walk.button("Start the release")
    walk.until("The release is made")
    walk.button("Look at it")
    walk.fill("Reason", "It is fit for its use.")
    walk.press("Enter")
    walk.button("Verify")
    page.locator(".good").wait_for(timeout=120_000)
    walk.button("Make the archive")
    walk.until("release.zip")
    log = (root / name / "log.jsonl").read_text(encoding="utf-8").splitlines()
    decisions = sum(json.loads(line).get("what") == "schema decision" for line in log)
    took = time.monotonic() - walk.begun
    return f"{decisions:>9} {walk.keys:>6} {took:>8.0f} s"


def served(page: Page, address: str) -> float:
    """Milliseconds until the server answers, the median of five, once it was asked before."""
    took = []
    for _ in range(6):
        page.goto(address)
        timing = "() => { const t = performance.getEntriesByType('navigation')[0];"
        took.append(page.evaluate(f"{timing} return t.responseStart - t.requestStart }}"))
    return float(np.median(took[1:]))


def slide(page: Page, address: str) -> float:
    """Milliseconds from a key on the slider of ε to other intervals, the median of nine."""
    page.goto(address)
    page.get_by_text("± ").first.wait_for()
    page.locator("#slide_epsilon").focus()
    took = []
    for _ in range(10):
        was = page.locator("#epsilon").input_value()  # which the server writes with the intervals
        begun = time.monotonic()
        page.keyboard.press("ArrowRight")
        changed = "(was) => document.getElementById('epsilon').value !== was"
        page.wait_for_function(changed, arg=was)
        took.append(1_000 * (time.monotonic() - begun))
    return float(np.median(took[1:]))


def main() -> None:
    """Walk twice, and time pages."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))))
    root = Path(tempfile.mkdtemp())
    write_survey(root)
    begun = time.monotonic()
    desk = subprocess.Popen(
        [sys.executable, "-m", "understudy", "desk", "--root", str(root)],
        env={**os.environ, "XDG_CONFIG_HOME": str(root / "configuration")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert desk.stdin is not None
    assert desk.stdout is not None
    link = re.search(r"http://\S+", desk.stdout.readline())[0]  # type: ignore[index]
    print(f"the desk answers after {time.monotonic() - begun:.1f} s")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_context(viewport={"width": 900, "height": 900}).new_page()
            page.set_default_timeout(120_000)
            print("codebook  decisions   keys    machine")
            print("     yes", go(page, root, link, "with", codebook=True))
            desk.stdin.write("\n")
            desk.stdin.flush()
            link = re.search(r"http://\S+", desk.stdout.readline())[0]  # type: ignore[index]
            print("      no", go(page, root, link, "without", codebook=False))
            here = page.url.rpartition("/")[0]
            for name in PAGES:
                taken = served(page, f"{here}/{name}")
                heights = []
                for width in (400, 900):
                    page.set_viewport_size({"width": width, "height": 900})
                    heights.append(page.evaluate("() => document.documentElement.scrollHeight"))
                tall = " and ".join(f"{height:,}" for height in heights)
                print(f"{name:>10}: {taken:.0f} ms of the server; {tall} px at 400 and 900")
            print(f"slider to screen: {slide(page, f'{here}/plan'):.0f} ms")
            browser.close()
    finally:
        desk.kill()
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
