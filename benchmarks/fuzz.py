"""Searches for a file that a reader breaks at: schemas, questions, codebooks, rows, manifests.

    python benchmarks/fuzz.py [TARGET …] [--seconds 60] [--keep FOLDER]

With atheris (`pip install atheris`, on Linux) new coverage of the package's code leads the search;
without it, Hypothesis changes the files that it begins from at random. Each target has a process of
its own. A file that breaks one is kept, and the exit code is 1.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = ("schemas", "questions", "formulas", "codebooks", "rows", "manifests", "signatures")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", choices=[*NAMES, []], metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--keep", type=Path, default=Path("fuzzed"), help="where files go")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.alone:
        return search(asked.targets[0], asked.seconds, asked.keep)
    asked.keep.mkdir(exist_ok=True)
    broken = []
    for name in asked.targets or NAMES:
        how = ["--alone", "--seconds", str(asked.seconds), "--keep", str(asked.keep)]
        ran = subprocess.run([sys.executable, __file__, name, *how], check=False)
        print(f"{name}: {'a file broke it' if ran.returncode else 'nothing found'}", flush=True)
        broken += [name] if ran.returncode else []
    return bool(broken)


def search(name: str, seconds: int, keep: Path) -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    search_by = guided if find_spec("atheris") else at_random
    return search_by(name, seconds, keep)


def guided(name: str, seconds: int, keep: Path) -> int:
    """Coverage of the package's own code leads libFuzzer from one file to the next."""
    import atheris

    with atheris.instrument_imports(include=["understudy", "understudy_verify"], exclude=kernels()):
        from fuzz_targets import TOKENS, targets
    target = targets()[name]
    with tempfile.TemporaryDirectory() as folder:
        for k, seed in enumerate(target.seeds):
            (Path(folder) / str(k)).write_bytes(seed)
        words = Path(folder).with_suffix(".words")
        hexed = ("".join(rf"\x{byte:02x}" for byte in token) for token in TOKENS if token)
        words.write_text("\n".join(f'"{token}"' for token in hexed), encoding="ascii")
        options = [
            f"-max_total_time={seconds}",
            f"-artifact_prefix={keep}/{name}-",
            "-rss_limit_mb=0",
        ]
        options += [f"-dict={words}", "-max_len=20000", "-timeout=60", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, folder], target.run)
        atheris.Fuzz()
    return 0


def kernels() -> list[str]:
    """Modules with compiled functions, which no compiler takes once they count what they run."""
    source = ROOT / "src"
    files = (source / "understudy").rglob("*.py")
    found = [file for file in files if re.search("numba|compiled", file.read_text("utf-8"))]
    return [".".join(file.relative_to(source).with_suffix("").parts) for file in found]


def at_random(name: str, seconds: int, keep: Path) -> int:
    """Changes at random, as long as there is time."""
    from hypothesis import HealthCheck, given, settings

    from fuzz_targets import spliced, targets

    target, end, tried = targets()[name], time.monotonic() + seconds, 0

    @settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
    @given(spliced(target))
    def attack(data: bytes) -> None:
        nonlocal tried
        tried += 1
        (keep / f"{name}-last").write_bytes(data)
        target.run(data)

    while time.monotonic() < end:
        attack()
    (keep / f"{name}-last").unlink(missing_ok=True)
    print(f"{tried} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
