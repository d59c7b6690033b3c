"""Time each slow case and measure its peak memory in a process of its own with a time limit.

    python -m tests.benchmarks.corners [--only TEXT] [--limit SECONDS] [--package FOLDER]

`--package` is the folder of another checkout whose `discrim` is timed with the same cases.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

from tests.benchmarks import corners


def load_cases() -> dict[str, corners.Case]:
    """Import the modules of this package and return all cases by name."""
    for module in pkgutil.iter_modules(corners.__path__):
        if not module.name.startswith("__"):
            importlib.import_module(f"{corners.__name__}.{module.name}")
    return corners.CASES


def run_case(name: str) -> None:
    """Print the seconds of a case, the memory beyond its data, and its error if it fails."""
    case = load_cases()[name]()
    memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    try:
        case()
        failure = ""
    except Exception as error:
        failure = f"  {type(error).__name__}: {str(error).splitlines()[0][:90]}"
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before
    print(f"{name:60} {seconds:8.2f} s {peak / 1024:8.0f} MB{failure}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.corners")
    parser.add_argument("--only", default="", help="run the cases whose names contain this text")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a case is stopped")
    parser.add_argument("--package", default=".", help="folder of the checkout whose discrim is timed")
    options = parser.parse_args()
    package, checkout = str(Path(options.package).resolve()), str(Path(__file__).resolve().parents[3])
    # The package first, then the cases: the other checkout may have tests of the same names.
    start = f"import sys; sys.path[:0] = [{package!r}]; import discrim; sys.path[:0] = [{checkout!r}]; "
    for name in load_cases():
        if options.only not in name:
            continue
        code = f"{start}from tests.benchmarks.corners.__main__ import run_case; run_case({name!r})"
        try:
            subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=options.limit)
        except subprocess.TimeoutExpired:
            print(f"{name:60} over {options.limit:5.0f} s", flush=True)


if __name__ == "__main__":
    main()
