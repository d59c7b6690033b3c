"""Seconds and peak memory of each corner, in a process of its own that a limit ends.

    python -m tests.benchmarks.corners [--only TEXT] [--limit SECONDS] [--package FOLDER]

`--package` is the folder of another checkout whose `discrim` is timed by the same cases.
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


def cases() -> dict[str, corners.Case]:
    for module in pkgutil.iter_modules(corners.__path__):
        if not module.name.startswith("__"):
            importlib.import_module(f"{corners.__name__}.{module.name}")
    return corners.CASES


def run(name: str) -> None:
    """Print the seconds of one case, or the first line of what it raises, and the memory beyond its data."""
    case = cases()[name]()
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    try:
        case()
        said = ""
    except Exception as error:
        said = f"  {type(error).__name__}: {str(error).splitlines()[0][:90]}"
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held
    print(f"{name:60} {seconds:8.2f} s {peak / 1024:8.0f} MB{said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.corners")
    parser.add_argument("--only", default="", help="run the cases whose name holds this text")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a case is ended")
    parser.add_argument("--package", default=".", help="folder of the checkout whose discrim is timed")
    asked = parser.parse_args()
    package, own = str(Path(asked.package).resolve()), str(Path(__file__).resolve().parents[3])
    # The package first, then the cases: the other checkout may have tests of the same names.
    start = f"import sys; sys.path[:0] = [{package!r}]; import discrim; sys.path[:0] = [{own!r}]; "
    for name in cases():
        if asked.only not in name:
            continue
        code = f"{start}from tests.benchmarks.corners.__main__ import run; run({name!r})"
        try:
            subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=asked.limit)
        except subprocess.TimeoutExpired:
            print(f"{name:60} over {asked.limit:5.0f} s", flush=True)


if __name__ == "__main__":
    main()
