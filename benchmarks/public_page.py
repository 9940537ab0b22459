"""The pictures of the public page that the README shows: ``python benchmarks/public_page.py``.

Makes the release of `make demo`, opens its `report.html` in a browser without a window, and writes
`docs/start/report-light.png` and `report-dark.png`. The noise is real, so each run draws another
release. Needs Chromium or Chrome; no test runs it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from house import ROOT

PICTURES = {"light": 1, "dark": 0}
"""Name of each picture, and the number that the browser has for this preference."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZE = "1200,1180"
"""What is promised and what can be answered: the upper part of the page, in pixels."""


def main() -> None:
    """Make the release and take both pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"None of these browsers is installed: {', '.join(BROWSERS)}.")
    with tempfile.TemporaryDirectory() as place:
        release = Path(place) / "demo-release"
        command = [sys.executable, "-m", "understudy", "demo", "--out", str(release)]
        subprocess.run(command, check=True)
        for name, preference in PICTURES.items():
            picture = ROOT / "docs" / "start" / f"report-{name}.png"
            take(browser, release / "report.html", picture, preference)
            print(f"{picture.relative_to(ROOT)} is written.")


def take(browser: str, page: Path, picture: Path, preference: int) -> None:
    """Write the upper part of a page as a PNG."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",  # a page that was made a moment ago, without a network
                "--hide-scrollbars",
                f"--user-data-dir={profile}",
                f"--blink-settings=preferredColorScheme={preference}",
                f"--window-size={SIZE}",
                f"--screenshot={picture}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
