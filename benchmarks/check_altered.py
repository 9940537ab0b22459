"""Two programs on releases: ``python benchmarks/check_altered.py [ALTERED] [HONEST] [SEED]``.

Altered ones are genuine releases in which a rule of `docs/reference/release-format.md` is broken at
random,
with all checksums redone: loading and the independent checker must both refuse them. Honest ones
are of schemas, methods and options at random: both must accept them. Whatever one of them finds
otherwise is printed, and the exit code is 1.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import understudy as us
from altered_releases import ALTERATIONS, BASES, altered, base
from honest_releases import honest
from understudy.errors import ReleaseError
from understudy_verify import verify

WHO = ("loading", "the checker")


def refused(place: Path) -> tuple[bool, bool]:
    """Whether loading refuses a folder, and whether the checker does."""
    try:
        us.Release.load(place)
    except ReleaseError:
        ours = True
    else:
        ours = False
    return ours, any(state == "broken" for _, state, _ in verify(place))


def check_altered(many: int, rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Alter so many releases; what was let pass, and by whom."""
    passed, tried, start = Counter[str](), Counter[str](), time.perf_counter()
    bases = [base(name, folder) for name in BASES]
    for name in BASES:
        if any(refused(folder / name)):
            passed[f"refused although genuine: {name}"] += 1
    for _ in range(many):
        name, release = altered(bases, rng)
        place = release.lay(folder / "altered")
        tried[name] += 1
        for who, found in zip(WHO, refused(place), strict=True):
            passed[f"let pass by {who}: {name}"] += not found
        shutil.rmtree(place)
    seconds = time.perf_counter() - start
    print(f"{many:,} altered releases of {len(bases)}, {len(tried)} of {len(ALTERATIONS)} ways")
    print(f"{sum(passed.values())} let pass, {seconds:.0f} s")
    return passed


def check_honest(many: int, rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Make so many releases; which were refused, and by whom."""
    wrong, methods, made, start = Counter[str](), set[str](), 0, time.perf_counter()
    while made < many:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            for name, release in honest(rng, Path(place)):
                made += 1
                methods.add(name.partition(" ε")[0])
                for who, found in zip(WHO, refused(release), strict=True):
                    wrong[f"refused by {who} although honest: {name}"] += found
    seconds = time.perf_counter() - start
    print(f"{made:,} honest releases of {len(methods)} methods with options")
    print(f"{sum(wrong.values())} refused, {seconds:.0f} s")
    return wrong


def main(many: int, honest_ones: int, seed: int) -> int:
    """Check both kinds; the exit code."""
    warnings.simplefilter("ignore")  # of the requests, not of the check
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        found = check_altered(many, rng, Path(folder)) if many else Counter[str]()
        found += check_honest(honest_ones, rng, Path(folder))
    for name, times in found.items():
        print(f"  {name}: {times}")
    return int(sum(found.values()) > 0)


if __name__ == "__main__":
    counts = [int(one) for one in sys.argv[1:4]]
    sys.exit(main(*counts, *(20_000, 500, 1)[len(counts) :]))
