"""A case that computes for ever is stopped; a case that waits for the processor is not."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from tests.fuzz.processor_time import raise_after, was_killed
from tests.support import ROOT

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="cases are limited by signals of Unix")

CASE = "from tests.fuzz.processor_time import kill_after\nwith kill_after(0.2):\n    {}\nprint('done')"


def run(block: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CASE.format(block)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "block", ["while True: pass", "import re; re.match('(a*)*b', 'a' * 40)", "sum(iter(int, 1))"]
)
def test_a_process_that_computes_for_ever_is_ended_with_a_traceback(block):
    """The last block is one call of native code, which a handler in Python cannot interrupt."""
    ended = run(block)
    assert was_killed(ended.returncode)
    assert "File" in ended.stderr


def test_a_process_that_sleeps_goes_on():
    ended = run("import time; time.sleep(0.6)")
    assert ended.stdout == "done\n", ended.stderr


def test_endless_computation_raises_and_sleeping_does_not():
    before = signal.getsignal(signal.SIGPROF)
    with raise_after(0.2):
        time.sleep(0.6)
    with pytest.raises(TimeoutError, match=r"more than 0\.2 s of processor time"), raise_after(0.2):
        sum(iter(lambda: 0, 1))
    assert signal.getsignal(signal.SIGPROF) == before


def test_a_block_that_waits_for_ever_raises():
    with pytest.raises(TimeoutError, match=r"waits for 0\.2 s"), raise_after(30, waiting=0.2):
        time.sleep(60)
