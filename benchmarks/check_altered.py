"""Two programs on altered releases: ``python benchmarks/check_altered.py [HOW_MANY] [SEED]``.

Each is a genuine release in which a stated rule of `docs/release-format.md` is broken at random,
with its checksums redone. Loading and the independent checker must both refuse it; what one of them
lets pass is printed, and the exit code is 1.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import understudy as us
from altered_releases import ALTERATIONS, BASES, altered, base
from understudy.errors import ReleaseError
from understudy_verify import verify


def refused(place: Path) -> tuple[bool, bool]:
    """Whether loading refuses a folder, and whether the checker does."""
    try:
        us.Release.load(place)
    except ReleaseError:
        ours = True
    else:
        ours = False
    return ours, any(state == "broken" for _, state, _ in verify(place))


def main(many: int, seed: int) -> int:
    """Alter so many releases; the exit code."""
    rng, passed, tried = np.random.default_rng(seed), Counter[str](), Counter[str]()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        bases = [base(name, Path(folder)) for name in BASES]
        for name in BASES:
            assert refused(Path(folder) / name) == (False, False), name
        for _ in range(many):
            name, release = altered(bases, rng)
            place = release.lay(Path(folder) / "altered")
            tried[name] += 1
            for who, found in zip(("loading", "the checker"), refused(place), strict=True):
                passed[f"{who}: {name}"] += not found
            shutil.rmtree(place)
    seconds = time.perf_counter() - start
    print(f"{many:,} altered releases of {len(bases)}, {len(tried)} of {len(ALTERATIONS)} ways")
    print(f"{sum(passed.values())} let pass, {seconds:.0f} s")
    for name, times in passed.items():
        if times:
            print(f"  {name}: {times} of {tried[name.partition(': ')[2]]}")
    return int(sum(passed.values()) > 0)


if __name__ == "__main__":
    counts = [int(one) for one in sys.argv[1:3]]
    sys.exit(main(*counts, *(10_000, 1)[len(counts) :]))
