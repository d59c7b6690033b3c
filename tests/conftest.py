"""What every test may use."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers share the cores, so that a product of matrices has one; it is read where numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib
import pytest

from discrim.core.numerics import arrays, progress
from tests.fuzz.session import Fuzz, lines_of_counts, seconds_each

matplotlib.use("Agg")


_FUZZERS: pytest.StashKey[int] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fuzzers")
    group.addoption(
        "--fuzz-minutes", type=float, metavar="N", help="time of each fuzzer; without it, seconds of each"
    )
    group.addoption(
        "--fuzz-seed", default="0", metavar="SEED", help="begins the fuzzers; or that of one case, as printed"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[Any]:
    # Modules and tests, a million objects and more, stay to the end: no collector of garbage walks over them.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[_FUZZERS] = sum("fuzz" in getattr(item, "fixturenames", ()) for item in items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # The counts are complete when a test is torn down; reports of that are kept under no name.
    if lines := lines_of_counts(terminalreporter.stats.get("", [])):
        terminalreporter.section("fuzzers")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Iterator[Fuzz]:
    """Give cases to a fuzzer until its time is over; see :mod:`tests.fuzz.session`."""
    config = request.config
    minutes = config.getoption("--fuzz-minutes")
    if minutes is not None:
        # It is asked to run for longer than any test may.
        faulthandler.cancel_dump_traceback_later()
    seconds = seconds_each(minutes, config.stash[_FUZZERS])
    fuzz = Fuzz(request.node.name, config.getoption("--fuzz-seed"), seconds)
    yield fuzz
    request.node.user_properties.append(("fuzz", dict(fuzz.counts)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture
def memory_of() -> Iterator[Callable[[float], None]]:
    """Makes this a machine of so many bytes of memory, so that nothing large has to be asked for."""
    asked = os.sysconf

    def begin(size: float) -> None:
        told = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": size}
        monkeypatch.setattr(os, "sysconf", lambda name: told[name] if name in told else asked(name))
        # It is asked for once in a process.
        arrays.available_memory.cache_clear()

    with pytest.MonkeyPatch.context() as monkeypatch:
        yield begin
    arrays.available_memory.cache_clear()


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes blocks of sixteen rows from now on: what a fit of few rows is one block of are then many."""
    return lambda: monkeypatch.setattr("discrim.design.design_rows.BLOCK_ROW_LIMITS", (16, 16))


@pytest.fixture
def system_fails(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, BaseException], None]:
    """Makes a function of the operating system fail, as os.fsync does on a full disk."""

    def begin(name: str, error: BaseException) -> None:
        def fails(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(os, name, fails)

    return begin


@dataclass
class Clock:
    """The time of progress bars; it moves on by `each` seconds whenever it is read."""

    now: float = 0.0
    each: float = 0.0

    def __call__(self) -> float:
        self.now += self.each
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that a test sets, for progress bars of which none is running."""
    made = Clock()
    monkeypatch.setattr(progress, "monotonic", made)
    monkeypatch.setattr(progress, "_display", progress._Display())
    return made


class RecordedBar:
    """A bar in place of tqdm's that records (description, steps, total, postfix) whenever it is drawn."""

    desc, n, total, postfix, closed = "", 0, None, "", False

    def __init__(self) -> None:
        self.lines: list[tuple[str, int, int | None, str]] = []

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        self.postfix = text

    def refresh(self) -> None:
        self.lines.append((self.desc, self.n, self.total, self.postfix))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[RecordedBar]:
    """The progress bars that are shown, in the order in which they appear."""
    opened: list[RecordedBar] = []

    def open_bar() -> RecordedBar:
        opened.append(RecordedBar())
        return opened[-1]

    monkeypatch.setattr(progress, "open_bar", open_bar)
    return opened


if sys.platform == "win32":
    # These ask for a terminal, or for the limits of a process, which Windows has not.
    collect_ignore = ["core/numerics/test_bars.py", "fuzz"]
