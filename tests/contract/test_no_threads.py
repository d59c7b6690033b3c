"""Every verb where no thread can start, and without processes, sockets and `resource`, as in a browser."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import ROOT

BLOCKED = """
import _thread, runpy, socket, sys, threading

def refused(*args, **options):
    raise RuntimeError("can't start new thread")

threading.Thread.start = _thread.start_new_thread = threading._start_new_thread = refused
socket.socket.connect = socket.socket.bind = refused
sys.modules.update(dict.fromkeys(["resource", "_multiprocessing", "_posixshmem", "termios"]))
runpy.run_path("tests/contract/every_verb.py", run_name="__main__")
"""


@pytest.mark.slow
def test_every_verb_runs_if_threads_cannot_start():
    done = subprocess.run([sys.executable, "-c", BLOCKED], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert {"lda", "qda", "logistic", "knn", "mixture"} <= set(done.stdout.split())
