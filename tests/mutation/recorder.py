"""Pytest plugin that records which test reaches which line, and how long each test takes.

It is loaded by ``-p tests.mutation.recorder``; the environment variable `RECORD` names the file to write,
`CASES` the number of cases of a test with parameters that are run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tests.mutation.mutants import FOLDERS

_RECORD = Path(os.environ["RECORD"])
_COVERAGE = coverage.Coverage(
    data_file=str(_RECORD), include=[f"*/{room}/*" for room in FOLDERS], branch=False
)
_MAX_CASES = int(os.environ["CASES"])
_SECONDS: dict[str, float] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.split("[")[0], []).append(item)
    # Select cases that are far apart in the list, because they differ most.
    selected = {id(one) for cases in by_test.values() for one in cases[:: -(-len(cases) // _MAX_CASES)]}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in selected])
    items[:] = [item for item in items if id(item) in selected]


@pytest.hookimpl(wrapper=True)
def pytest_sessionstart() -> Iterator[None]:
    _COVERAGE.erase()
    _COVERAGE.start()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    # Lines reached in a shared fixture are attributed to the first test that uses it.
    _COVERAGE.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _COVERAGE.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.passed and report.when == "call":
        _SECONDS.pop(report.nodeid, None)
        return
    if report.when != "setup" or report.passed:
        _SECONDS[report.nodeid] = _SECONDS.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    _COVERAGE.stop()
    _COVERAGE.save()
    _RECORD.with_name(_RECORD.name + ".seconds.json").write_text(json.dumps(_SECONDS))
