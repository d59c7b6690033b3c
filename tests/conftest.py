"""Fixtures and options that every test can use."""

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
    # Workers share the cores, so each uses one BLAS thread. NumPy reads the variable on import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import matplotlib
import pytest

from discrim.core.numerics import arrays, progress
from tests.fuzz.session import Fuzz, format_counts, seconds_per_fuzzer

matplotlib.use("Agg")

# An example on a busy machine may take longer than the default deadline. Each run draws other examples.
hypothesis.settings.register_profile("discrim", deadline=None, max_examples=50)
hypothesis.settings.load_profile("discrim")

_FUZZERS: pytest.StashKey[int] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fuzzers")
    group.addoption(
        "--fuzz-minutes", type=float, metavar="N", help="minutes for each fuzzer (default: a few seconds)"
    )
    group.addoption(
        "--fuzz-seed",
        default="0",
        metavar="SEED",
        help="seed of the fuzzers, or the printed seed of one case",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[Any]:
    # More than a million objects of modules and tests stay until the end; do not collect them.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[_FUZZERS] = sum("fuzz" in getattr(item, "fixturenames", ()) for item in items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # The counts are complete at teardown, whose reports are stored under the empty name.
    if lines := format_counts(terminalreporter.stats.get("", [])):
        terminalreporter.section("fuzzers")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Iterator[Fuzz]:
    """Yield cases for a fuzzer until its time is over; see :mod:`tests.fuzz.session`."""
    config = request.config
    minutes = config.getoption("--fuzz-minutes")
    if minutes is not None:
        # A long run may exceed the time limit of tests.
        faulthandler.cancel_dump_traceback_later()
    seconds = seconds_per_fuzzer(minutes, config.stash[_FUZZERS])
    fuzz = Fuzz(request.node.name, config.getoption("--fuzz-seed"), seconds)
    yield fuzz
    request.node.user_properties.append(("fuzz", dict(fuzz.counts)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture
def memory_of() -> Iterator[Callable[[float], None]]:
    """Return a function that makes the machine appear to have the given bytes of memory."""
    original_sysconf = os.sysconf

    def set_memory(size: float) -> None:
        values = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": size}
        monkeypatch.setattr(
            os, "sysconf", lambda name: values[name] if name in values else original_sysconf(name)
        )
        # The memory is read once in a process.
        arrays.available_memory.cache_clear()

    with pytest.MonkeyPatch.context() as monkeypatch:
        yield set_memory
    arrays.available_memory.cache_clear()


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes blocks sixteen rows long, so that few rows make several blocks."""
    return lambda: monkeypatch.setattr("discrim.design.design_rows.BLOCK_ROW_LIMITS", (16, 16))


@pytest.fixture
def system_fails(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, BaseException], None]:
    """Return a function that makes a function of `os` fail, for example os.fsync as on a full disk."""

    def make_fail(name: str, error: BaseException) -> None:
        def raise_error(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(os, name, raise_error)

    return make_fail


@dataclass
class Clock:
    """Clock of the progress bars; it advances by `seconds_per_read` whenever it is read."""

    now: float = 0.0
    seconds_per_read: float = 0.0

    def __call__(self) -> float:
        self.now += self.seconds_per_read
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock that the test can set; no progress bar is running."""
    fake_clock = Clock()
    monkeypatch.setattr(progress, "monotonic", fake_clock)
    monkeypatch.setattr(progress, "_display", progress._Display())
    return fake_clock


class RecordedBar:
    """Progress bar that records (description, steps, total, postfix) whenever it is drawn."""

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
    """Return the list of progress bars that are shown, in order of appearance."""
    opened: list[RecordedBar] = []

    def open_bar() -> RecordedBar:
        opened.append(RecordedBar())
        return opened[-1]

    monkeypatch.setattr(progress, "open_bar", open_bar)
    return opened


if sys.platform == "win32":
    # These need a terminal or resource limits of processes, which Windows does not have.
    collect_ignore = ["core/numerics/test_bars.py", "fuzz"]
