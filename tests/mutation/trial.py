"""Make one change in a copy of the project and run tests on it in a process of its own."""

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
from tests.mutation.records import MARKS

__all__ = ["Verdict", "preload_packages", "run_tests", "try_mutant"]

N_FIRST_TESTS = 8
"""Number of tests that are run before the others are collected; most changes are detected by them."""

STATUS_BROKEN = 99
"""Exit status of a process without a verdict."""

MAX_GIGABYTES = 6
"""Limit of the address space, because a change may request any amount of memory."""

_PRELOADED = (
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "pandas",
    "statsmodels.api",
    "patsy",
    "matplotlib.pyplot",
)
_PRELOADED += ("sklearn.base", "narwhals", "tqdm", "hypothesis", "mpmath")


def preload_packages() -> None:
    """Import the packages that every trial needs, but not this one."""
    for name in _PRELOADED:
        importlib.import_module(name)


class Verdict(NamedTuple):
    """Outcome of the tests of a change, and the tests that failed.

    The outcome is "caught", "hung", "survived", or "broken" if the tests did not run.
    """

    outcome: str
    failed: list[str]


def try_mutant(tree: Path, mutant: Mutant, tests: list[str], number: int, seconds: float) -> Verdict:
    """Make a change in the copy `tree`, run the tests on it, and undo the change.

    Parameters
    ----------
    tree : Path
    mutant : Mutant
    tests : list of str
    number : int
        Number of the change, used as modification time of the file, by which Python recognizes compiled
        files.
    seconds : float
        Seconds that the tests usually take.
    """
    path = tree / mutant.path
    source, times = path.read_text("utf-8"), path.stat()
    path.write_text(mutant.apply(source), "utf-8")
    os.utime(path, (number, number))
    try:
        return run_tests(tree, tests, seconds, "-x")
    finally:
        path.write_text(source, "utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def run_tests(tree: Path, tests: list[str], seconds: float, *settings: str) -> Verdict:
    """Run tests on the copy in a process of their own."""
    log = tree.parent / "log"
    child = os.fork()
    if not child:
        _run(tree, tests, log, int(20 + 3 * seconds), settings)
    # A test that waits for ever uses no processor time.
    deadline = time.monotonic() + 20 * (20 + 3 * seconds)
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended:
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    output = log.read_text("utf-8", "replace")
    failed = re.findall(r"^(?:FAILED|ERROR) (tests/.*?)(?: - .*)?$", output, re.MULTILINE)
    if os.WIFSIGNALED(status):
        killed = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return Verdict("hung" if killed else "caught", failed)
    if not os.WEXITSTATUS(status):
        return Verdict("survived", failed)
    # Only a failed test or a failed import of the package is a verdict on the change.
    if failed or "ImportError while loading conftest" in output:
        return Verdict("caught", failed)
    print(output[-1000:])
    return Verdict("broken", [])


def _run(tree: Path, tests: list[str], log: Path, seconds: int, pytest_options: tuple[str, ...]) -> None:
    """Run the tests in this forked process and end it, with status 0 if all passed."""
    status = STATUS_BROKEN
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_GIGABYTES << 30, MAX_GIGABYTES << 30))
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(tree)
        os.environ["PYTHONPATH"] = str(tree)
        sys.path.insert(0, str(tree))
        for name in [n for n in sys.modules if n.split(".")[0] in ("tests", "discrim")]:
            del sys.modules[name]
        settings = [*pytest_options, "-q", "-rfE", "-m", MARKS, "-p", "no:cacheprovider"]
        for part in (tests[:N_FIRST_TESTS], tests[N_FIRST_TESTS:]):
            if part and (status := int(pytest.main([*settings, *part]))):
                break
        package = sys.modules.get("discrim")
        if not status and (package is None or not str(package.__file__).startswith(str(tree))):
            status = STATUS_BROKEN
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
