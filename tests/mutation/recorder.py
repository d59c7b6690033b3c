"""A plugin of pytest: which test reaches which line, and how long each takes.

It is loaded by ``-p tests.mutation.recorder``; `RECORD` of the environment names the file to write,
`CASES` how many cases of a test with parameters are run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tests.mutation.mutants import ROOMS

_RECORD = Path(os.environ["RECORD"])
_CORE = coverage.Coverage(data_file=str(_RECORD), include=[f"*/{room}/*" for room in ROOMS], branch=False)
_CASES = int(os.environ["CASES"])
_SECONDS: dict[str, float] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.split("[")[0], []).append(item)
    # Of many cases those that lie apart in the list, which differ the most.
    kept = {id(one) for cases in by_test.values() for one in cases[:: -(-len(cases) // _CASES)]}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


@pytest.hookimpl(wrapper=True)
def pytest_sessionstart() -> Iterator[None]:
    _CORE.erase()
    _CORE.start()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    # What a fixture does for several tests is counted to the first of them.
    _CORE.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _CORE.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.passed and report.when == "call":
        _SECONDS.pop(report.nodeid, None)
        return
    if report.when != "setup" or report.passed:
        _SECONDS[report.nodeid] = _SECONDS.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    _CORE.stop()
    _CORE.save()
    _RECORD.with_name(_RECORD.name + ".seconds.json").write_text(json.dumps(_SECONDS))
