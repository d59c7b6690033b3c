"""One change, made in a copy of the project and tried by tests in a process of its own."""

from __future__ import annotations

import importlib
import os
import re
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutation.mutants import Mutant
from tests.mutation.records import ANY

__all__ = ["Verdict", "run", "tried", "warmed"]

FIRST = 8
"""Tests that are run before the rest of them is collected: most changes go no further."""

BROKEN = 99
"""Status of a process that came to no verdict."""

GIGABYTES = 6
"""A change may ask for any memory."""

_HEAVY = ("numpy", "scipy.stats", "scipy.optimize", "pandas", "statsmodels.api", "patsy", "matplotlib.pyplot")
_HEAVY += ("sklearn.base", "narwhals", "tqdm", "hypothesis", "mpmath")


def warmed() -> None:
    """Import what every trial needs, and nothing of ours, so that each begins from there."""
    for name in _HEAVY:
        importlib.import_module(name)


class Verdict(NamedTuple):
    """What tests say of a change, and which of them failed.

    It is "caught", "hung" or "survived", or "broken" where the tests did not run.
    """

    found: str
    failed: list[str]


def tried(tree: Path, mutant: Mutant, tests: list[str], number: int, seconds: float) -> Verdict:
    """Make a change in the copy `tree`, run the tests on it, the first of them first, and take it back.

    Parameters
    ----------
    tree : Path
    mutant : Mutant
    tests : list of str
    number : int
        Another for each change: the file's time, by which Python knows what it compiled.
    seconds : float
        What the tests take.
    """
    path = tree / mutant.path
    source, times = path.read_text("utf-8"), path.stat()
    path.write_text(mutant.applied(source), "utf-8")
    os.utime(path, (number, number))
    try:
        return run(tree, tests, seconds, "-x")
    finally:
        path.write_text(source, "utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def run(tree: Path, tests: list[str], seconds: float, *settings: str) -> Verdict:
    """Run tests on the copy as it is, in a process of their own."""
    log = tree.parent / "log"
    child = os.fork()
    if not child:
        _run(tree, tests, log, int(20 + 3 * seconds), settings)
    # A test that waits for nothing uses no time of the processor.
    last = time.monotonic() + 20 * (20 + 3 * seconds)
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended:
        if time.monotonic() > last:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    told = log.read_text("utf-8", "replace")
    failed = re.findall(r"^(?:FAILED|ERROR) (tests/.*?)(?: - .*)?$", told, re.MULTILINE)
    if os.WIFSIGNALED(status):
        killed = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return Verdict("hung" if killed else "caught", failed)
    if not os.WEXITSTATUS(status):
        return Verdict("survived", failed)
    # Only a test that failed, or the package that could not be imported, is a verdict on the change.
    if failed or "ImportError while loading conftest" in told:
        return Verdict("caught", failed)
    print(told[-1000:])
    return Verdict("broken", [])


def _run(tree: Path, tests: list[str], log: Path, seconds: int, given: tuple[str, ...]) -> None:
    """Run the tests in this process, which a parent forked, and end it: status 0 where all passed."""
    status = BROKEN
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(tree)
        os.environ["PYTHONPATH"] = str(tree)
        sys.path.insert(0, str(tree))
        for name in [n for n in sys.modules if n.split(".")[0] in ("tests", "discrim")]:
            del sys.modules[name]
        settings = [*given, "-q", "-rfE", "-m", ANY, "-p", "no:cacheprovider"]
        for part in (tests[:FIRST], tests[FIRST:]):
            if part and (status := int(pytest.main([*settings, *part]))):
                break
        package = sys.modules.get("discrim")
        if not status and (package is None or not str(package.__file__).startswith(str(tree))):
            status = BROKEN
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
