"""What a step can have bought, as a page: ``python benchmarks/purchases.py``.

Writes `docs/reference/steps.md` from the table by which releases are loaded. A test compares it
with that table and with the independent checker's (`tests/attacks/test_relabelled_steps.py`).
"""

from __future__ import annotations

from pathlib import Path

from understudy.release.noise_check import PURCHASES, Purchase

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "steps.md"
HEAD = """<!-- Written by benchmarks/purchases.py; do not edit. -->

# What a step can have bought

A part of [the format of a release folder](release-format.md#what-a-step-can-have-bought), which
says what the words under Price mean. A checker refuses what does not stand here.

| Mechanism | Price | Kinds | Laws |
|---|---|---|---|
"""


def row(one: Purchase) -> str:
    """A row of the table, in Markdown."""
    names = (one.kinds, one.laws)
    kinds, laws = (", ".join(f"`{word}`" for word in words) or "–" for words in names)
    return f"| `{one.mechanism}` | {one.price} | {kinds} | {laws} |\n"


if __name__ == "__main__":
    PAGE.write_text(HEAD + "".join(map(row, PURCHASES)), encoding="utf-8")
    print(f"{PAGE.name} is written.")
