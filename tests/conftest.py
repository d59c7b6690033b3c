"""What every test may use."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers share the cores, so that a product of matrices has one; it is read where numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib
import pytest

from discrim.core.numerics import progress
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
def bars(monkeypatch):
    """The bars that are shown instead of tqdm's: what each is of, how far it came, its total, and its end."""
    shown = []

    class Bar:
        def __init__(self):
            shown.append(["", 0, 0])

        def show(self, what, done, total, seconds, within):
            shown[-1][:] = [what, done, total]
            return True

        def close(self):
            shown[-1].append("closed")

    monkeypatch.setattr(progress, "new_bar", Bar)
    monkeypatch.setattr(progress, "_lines", [progress._Line()])
    return shown
