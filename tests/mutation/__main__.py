"""Change the code in one place at a time, run the tests that reach that place, and list undetected changes.

::

    python -m tests.mutation --seed 0 --count 200

The changes are drawn from `discrim/core` and `discrim/inference`, or from the given folders and files, and
made in a copy of the project. A change is caught if a test fails or hangs. An undetected change is either a
gap of the tests or equivalent; known equivalent changes and their reasons are listed in `equivalent.toml`.

First, the lines that each test reaches are recorded under `build/mutation`, and again whenever a source
file has changed; that takes about as long as the tests on one core. ``--keep`` uses the existing records.
The package `coverage` and a system that can fork are required.
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

from tests.mutation.mutants import FOLDERS, Mutant, draw_mutants
from tests.mutation.records import Records, folders_to_record, record_coverage
from tests.mutation.trial import Verdict, preload_packages, run_tests, try_mutant

ROOT = Path(__file__).resolve().parents[2]

DETECTED = ("caught", "hung")
NOT_COPIED = (".git", "*_cache", ".venv", "build", "dist", "__pycache__")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 if there are undetected changes that are not known to be equivalent."""
    options = _parse_options(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        tree = copy_project(ROOT, Path(temporary))
        if not options.keep:
            for folder in folders_to_record(tree):
                record_coverage(tree, options.folder.resolve(), folder, options.cases)
        preload_packages()
        results = try_mutants(tree, Records(options.folder), options)
        # A test that also fails without a change has not detected the change.
        catchers = sorted({test for _, verdict in results for test in verdict.failed[:1]})
        failing = set(run_tests(tree, catchers, 60.0 + len(catchers)).failed) if catchers else set()
    equivalents, counts, undetected = _equivalents(), Counter[str](), []
    for mutant, verdict in results:
        outcome = "doubtful" if failing.intersection(verdict.failed[:1]) else verdict.outcome
        if outcome not in DETECTED and (mutant.path, mutant.before, mutant.after) in equivalents:
            outcome = "equivalent"
        elif outcome not in DETECTED:
            undetected.append((outcome, mutant))
        counts[outcome] += 1
    for outcome, mutant in undetected:
        print(f"\n{outcome}: {mutant.path}:{mutant.line}\n{format_change(mutant)}")
    caught = sum(counts[what] for what in DETECTED)
    print(f"\n{len(results)} changes: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    print(f"caught of all: {caught / max(len(results), 1):.1%}", end="; ")
    print(f"of those that are not equivalent: {caught / max(caught + len(undetected), 1):.1%}")
    for path, before, _ in sorted(equivalents):
        if not (ROOT / path).exists() or before not in (ROOT / path).read_text("utf-8"):
            print(f"equivalent.toml names a line of {path} that is no longer there: {before}")
    return 1 if undetected else 0


def try_mutants(tree: Path, records: Records, options: argparse.Namespace) -> list[tuple[Mutant, Verdict]]:
    """Try every change and return it with its verdict, printing each one."""
    results = []
    for i, mutant in enumerate(draw_mutants(tree, options.seed, options.count, options.within or FOLDERS), 1):
        start, source = time.monotonic(), (tree / mutant.path).read_text("utf-8")
        tests = records.select_tests(mutant, source, options.seconds)
        verdict = try_mutant(tree, mutant, tests, i, options.seconds) if tests else Verdict("unreached", [])
        results.append((mutant, verdict))
        seconds = time.monotonic() - start
        print(f"{i:4d} {verdict.outcome:9s} {seconds:5.1f} s  {mutant.path}:{mutant.line}", flush=True)
        if verdict.outcome not in DETECTED:
            print(format_change(mutant), flush=True)
    return results


def _parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.split("\n")[0])
    parser.add_argument("within", nargs="*", help=f"folders or files; all of {' and '.join(FOLDERS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of the tests that are run for one change"
    )
    parser.add_argument(
        "--cases", type=int, default=3, help="number of recorded cases of a test with parameters"
    )
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "mutation", help="folder of the records"
    )
    parser.add_argument("--keep", action="store_true", help="use the existing records")
    return parser.parse_args(arguments)


def _equivalents() -> set[tuple[str, str, str]]:
    """Return the changes known to leave every result the same, as (path, before, after)."""
    with open(Path(__file__).with_name("equivalent.toml"), "rb") as file:
        return {(m["path"], m["before"], m["after"]) for m in tomllib.load(file)["mutant"]}


def copy_project(root: Path, folder: Path) -> Path:
    """Copy the project, and link the folder of external tables next to it."""
    tree = folder / "tree"
    shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
    if (root.parent / "shared").exists():
        (folder / "shared").symlink_to(root.parent / "shared")
    return tree


def format_change(mutant: Mutant) -> str:
    """Return the line before and after the change."""
    return f"       - {mutant.before}\n       + {mutant.after}"


if __name__ == "__main__":
    # One BLAS thread: the matrices are small, and a process that forks must not have other threads.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    sys.exit(main())
