"""Change the code in one place at a time, run the tests that read that place, and list what no test noticed.

::

    python -m tests.mutation --seed 0 --count 200

The changes are drawn from `discrim/core` and `discrim/inference`, or from the folders and files that are
named, and made in a copy of the project. A change is caught when a test fails or hangs. What survives is a
gap of the tests, or equivalent: those that were found to be so, and why, are in `equivalent.toml`.

Which test reaches which line is recorded first, under `build/mutation`, and again whenever a source has
changed; that takes about as long as the tests do, on one core. ``--keep`` takes the records as they are. It
needs the package `coverage`, and a system that forks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path

from tests.mutation.mutants import ROOMS, Mutant, drawn
from tests.mutation.records import Records, parts_of, record
from tests.mutation.trial import Verdict, run, tried, warmed

ROOT = Path(__file__).resolve().parents[2]

CAUGHT = ("caught", "hung")
UNUSED = (".git", "*_cache", ".venv", "build", "dist", "__pycache__")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; its status is that of a check: 1 where changes survived of which nobody says why."""
    options = _options(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as top:
        tree = copied(ROOT, Path(top))
        if not options.keep:
            for part in parts_of(tree):
                record(tree, options.folder.resolve(), part, options.cases)
        warmed()
        found = trials(tree, Records(options.folder), options)
        # A test that fails without any change has caught nothing.
        catchers = sorted({test for _, verdict in found for test in verdict.failed[:1]})
        failing = set(run(tree, catchers, 60.0 + len(catchers)).failed) if catchers else set()
    known, counts, gaps = _equivalents(), Counter[str](), []
    for mutant, verdict in found:
        what = "doubtful" if failing.intersection(verdict.failed[:1]) else verdict.found
        if what not in CAUGHT and (mutant.path, mutant.before, mutant.after) in known:
            what = "equivalent"
        elif what not in CAUGHT:
            gaps.append((what, mutant))
        counts[what] += 1
    for what, mutant in gaps:
        print(f"\n{what}: {mutant.path}:{mutant.line}\n{shown(mutant)}")
    caught = sum(counts[what] for what in CAUGHT)
    print(f"\n{len(found)} changes: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    print(f"caught of all: {caught / max(len(found), 1):.1%}", end="; ")
    print(f"of those that are not equivalent: {caught / max(caught + len(gaps), 1):.1%}")
    for path, before, _ in sorted(known):
        if not (ROOT / path).exists() or before not in (ROOT / path).read_text("utf-8"):
            print(f"equivalent.toml names a line of {path} that is no longer there: {before}")
    return 1 if gaps else 0


def trials(tree: Path, records: Records, options: argparse.Namespace) -> list[tuple[Mutant, Verdict]]:
    """Every change and what became of it, printed as it goes."""
    found = []
    for i, mutant in enumerate(drawn(tree, options.seed, options.count, options.within or ROOMS), 1):
        begun, source = time.monotonic(), (tree / mutant.path).read_text("utf-8")
        tests = records.tests_of(mutant, source, options.seconds)
        verdict = tried(tree, mutant, tests, i, options.seconds) if tests else Verdict("unreached", [])
        found.append((mutant, verdict))
        seconds = time.monotonic() - begun
        print(f"{i:4d} {verdict.found:9s} {seconds:5.1f} s  {mutant.path}:{mutant.line}", flush=True)
        if verdict.found not in CAUGHT:
            print(shown(mutant), flush=True)
    return found


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.split("\n")[0])
    parser.add_argument("within", nargs="*", help=f"folders or files; all of {' and '.join(ROOMS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests that are run for one change")
    parser.add_argument("--cases", type=int, default=3, help="that are recorded of a test with parameters")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation", help="of the records")
    parser.add_argument("--keep", action="store_true", help="take the records as they are")
    return parser.parse_args(arguments)


def _equivalents() -> set[tuple[str, str, str]]:
    """Changes after which every result is the same."""
    with open(Path(__file__).with_name("equivalent.toml"), "rb") as file:
        return {(m["path"], m["before"], m["after"]) for m in tomllib.load(file)["mutant"]}


def copied(root: Path, top: Path) -> Path:
    """A copy of the project, with the real tables beside it that the tests look for there."""
    tree = top / "tree"
    shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*UNUSED))
    if (root.parent / "shared").exists():
        (top / "shared").symlink_to(root.parent / "shared")
    return tree


def shown(mutant: Mutant) -> str:
    """The line, before and after."""
    return f"       - {mutant.before}\n       + {mutant.after}"


if __name__ == "__main__":
    # One thread of products of matrices, which are small; a process that forks has no other threads.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    sys.exit(main())
