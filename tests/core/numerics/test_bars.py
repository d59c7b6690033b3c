"""Bars where they are seen: a terminal of sixty columns, a notebook, and neither."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
import threading
from contextlib import ExitStack, redirect_stderr
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.numerics.progress import Progress, open_bar
from discrim.covariance import StudentT

COLUMNS = 60
END = b"\x04"


class Terminal:
    """What a terminal was sent."""

    def __init__(self, columns):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.stream = os.fdopen(theirs, "w", encoding="utf-8")
        self.said = b""
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        while not self.said.endswith(END):
            try:
                text = os.read(self.ours, 65536)
            except OSError:
                return
            if not text:
                return
            self.said += text

    def drawn(self):
        """The lines drawn one over the other, once all is said; the last is what is left."""
        if not self.stream.closed:
            # What is under way when a terminal is closed may be lost.
            self.stream.write(END.decode())
            self.stream.flush()
            self.thread.join()
            self.stream.close()
        self.thread.join()
        os.close(self.ours)
        return self.said.removesuffix(END).decode().split("\r")


@pytest.fixture
def at_once(clock):
    """Tasks are shown whenever they tell of something: each time a second has gone by."""
    clock.seconds_per_read = 1.0


@pytest.fixture
def terminal():
    """Makes standard error a terminal of so many columns, once a test has begun: pytest sets it before."""

    def begin(columns=COLUMNS):
        made = Terminal(columns)
        stack.enter_context(redirect_stderr(made.stream))
        return made

    with ExitStack() as stack:
        yield begin


def tables():
    rng = np.random.default_rng(3)
    x = rng.standard_t(5, size=(300, 3))
    codes = rng.integers(0, 3, 300)
    return pd.DataFrame(x + codes[:, None]).add_prefix("x").assign(y=codes)


TASKS = {
    "cross-validation": lambda t: discrim.cross_validate(discrim.lda("y ~ .", t), folds=5, repeats=2, seed=1),
    "minimum determinant": lambda t: discrim.lda("y ~ .", t, covariance="mcd"),
    "degrees of freedom": lambda t: discrim.lda("y ~ .", t, covariance=StudentT(nu=None)),
    "passes over the rows": lambda t: discrim.perceptron("y ~ .", t, maxiter=5),
    "choice of k": lambda t: discrim.knn("y ~ .", t, k=None),
    "scores of rows": lambda t: discrim.naive_bayes("y ~ .", t, kernel=True).predict(),
    "logistic": lambda t: discrim.logistic("y ~ .", t),
    "bounds by profile": lambda t: discrim.logistic("y ~ .", t).conf_int(method="profile"),
    "rows left out": lambda t: discrim.lda("y ~ .", t).leave_one_out(),
    ".632+ bootstrap": lambda t: discrim.lda("y ~ .", t).error_rates(["632+"], replicates=5, seed=1),
    "moments of the rows": lambda t: discrim.moments("y ~ .", t),
}


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
@pytest.mark.parametrize("what", TASKS)
def test_long_task_shows_one_line_and_clears_it(terminal, at_once, what):
    shown = terminal()
    TASKS[what](tables())
    drawn = shown.drawn()
    assert any(line.startswith(what) for line in drawn)
    assert all(len(line) <= COLUMNS and "\n" not in line for line in drawn)
    assert not drawn[-1].strip()
    assert not drawn[-2].strip()


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_error_clears_the_bar(terminal, at_once, raised):
    shown = terminal()

    def work():
        with Progress(10, "folds") as progress, Progress(0, "rows") as within:
            progress(3)
            within(5)
            raise raised

    with pytest.raises(raised):
        work()
    drawn = shown.drawn()
    assert any(line.startswith("folds:  30%") and "rows 5]" in line for line in drawn)
    assert "\n" not in "".join(drawn)
    assert not drawn[-1].strip()
    assert not drawn[-2].strip()


@pytest.mark.parametrize("columns", [20, 40, 60, 100, 200])
@pytest.mark.parametrize("total", [0, 7, 9_999, 10**9])
@pytest.mark.parametrize("within", ["rows read", "a name that is {long} " * 9])
def test_line_fits_the_terminal_width(terminal, at_once, columns, total, within):
    shown = terminal(columns)
    with Progress(total, "likelihood ratio without\nC(group){0}") as progress:
        progress(5)
        with Progress(10, within) as inner:
            inner(4)
    drawn = shown.drawn()
    assert all(len(line) <= columns and "\n" not in line for line in drawn)
    if columns == 200:
        assert drawn[1].startswith("likelihood ratio without C(group){0}:")
        assert any(within[:30].strip() in line for line in drawn)
    assert not drawn[-1].strip()


def test_closed_terminal_does_not_stop_the_task(terminal, at_once):
    shown = terminal()
    with Progress(10, "rows") as progress:
        progress(1)
        shown.stream.close()
        for _ in range(5):
            progress(1)
    assert progress.done == 6
    shown.drawn()


# ---- no terminal


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
def test_nothing_is_shown_without_a_terminal(at_once, capfd):
    for task in TASKS.values():
        task(tables())
    assert capfd.readouterr().err == ""
    assert open_bar() is None


@pytest.mark.parametrize(("value", "hidden"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_environment_variable_hides_bars(monkeypatch, terminal, at_once, value, hidden):
    monkeypatch.setenv("TQDM_DISABLE", value)
    shown = terminal()
    with Progress(10, "rows") as progress:
        progress(1)
    assert (shown.drawn() == [""]) is hidden


# ---- notebooks


@pytest.mark.parametrize(("name", "shown"), [("SpyderShell", True), ("TerminalInteractiveShell", False)])
def test_a_console_that_is_not_a_terminal(monkeypatch, name, shown):
    shell = type(name, (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert (open_bar() is not None) is shown


CELL = """
import warnings
warnings.simplefilter("error")
from discrim.core.numerics import progress
progress.DELAY = progress.INTERVAL = 0.0
from discrim import cross_validate, knn, lda
from discrim.datasets import load_iris
print("before")
cross_validate(lda("species ~ .", load_iris()), folds=3, seed=1)
try:
    with progress.Progress(3, "ends early") as task:
        task(1)
        raise ValueError
except ValueError:
    print("after")
"""


@pytest.mark.slow
def test_notebook_shows_bars_and_clears_them():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3")
    seen, handle = [], client.process_message

    def process(message, *rest):
        seen.append(message)
        return handle(message, *rest)

    client.process_message = process
    client.execute()
    outputs = notebook.cells[0].outputs
    assert [each for each in outputs if each.output_type == "stream" and each.name == "stderr"] == []
    texts = [each.text for each in outputs if each.output_type == "stream"]
    assert "".join(texts) == "before\nafter\n"
    for each in outputs:
        assert each.output_type == "stream" or not any(each.data.values())
    shown = [str(message["content"].get("data")) for message in seen]
    assert any("cross-validation" in text or "widget" in text for text in shown)
