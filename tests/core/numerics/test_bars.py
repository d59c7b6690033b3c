"""Bars where they are seen: a terminal of sixty columns, a notebook, and neither."""

from __future__ import annotations

import fcntl
import itertools
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
from discrim.core.numerics import progress as bars_of
from discrim.core.numerics.progress import NoBar, late_bar, new_bar
from discrim.covariance import StudentT
from discrim.datasets import load_iris

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
    clock.each = 1.0


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
    x = rng.normal(size=(300, 3))
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


@pytest.mark.parametrize("what", TASKS)
def test_a_long_task_is_told_of_on_one_line_and_leaves_nothing(terminal, at_once, what):
    shown = terminal()
    TASKS[what](tables())
    drawn = shown.drawn()
    assert any(line.startswith(what) for line in drawn)
    assert all(len(line) <= COLUMNS and "\n" not in line for line in drawn)
    assert not drawn[-1].strip()
    assert not drawn[-2].strip()


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_what_ends_the_work_leaves_nothing(terminal, at_once, raised):
    shown = terminal()

    def work():
        with late_bar(10, "folds") as tell, late_bar(0, "rows") as within:
            tell(3)
            within(5)
            raise raised

    with pytest.raises(raised):
        work()
    drawn = shown.drawn()
    assert any(line.startswith("folds: 30%") and "rows 5]" in line for line in drawn)
    assert "\n" not in "".join(drawn)
    assert not drawn[-1].strip()
    assert not drawn[-2].strip()


@pytest.mark.parametrize("columns", [20, 40, 60, 100, 200])
@pytest.mark.parametrize("total", [0, 7, 9_999, 10**9])
@pytest.mark.parametrize("within", [None, ("rows read", 5, 9), ("a name that is {long} " * 9, 123_456, 0)])
def test_a_line_has_the_terminal_s_columns(terminal, columns, total, within):
    shown = terminal(columns)
    bar = new_bar()
    assert bar.show("likelihood ratio without\nC(group){0}", 5, total, 12.0, within)
    assert bar.show("likelihood ratio without\nC(group){0}", 6, total, 40_000.0, within)
    bar.close()
    drawn = shown.drawn()
    assert all(len(line) <= columns and "\n" not in line for line in drawn)
    if columns >= 60:
        assert drawn[1].startswith("likelihood ratio")
        assert drawn[1].rstrip().endswith("]")
    if columns == 200:
        assert drawn[1].startswith("likelihood ratio without C(group){0}:")
        assert within is None or within[0][:30].strip() in drawn[1]
    assert not drawn[-1].strip()


def test_a_clock_that_is_set_meanwhile_changes_no_line(monkeypatch, terminal):
    shown = terminal()
    clock = itertools.count(1.8e9, 1e7)
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    bar = new_bar()
    assert bar.show("rows", 5, 0, 12.0, None)
    assert bar.show("rows", 6, 0, 13.0, None)
    bar.close()
    drawn = [line.strip() for line in shown.drawn()]
    assert drawn == ["", "rows: 5 [00:12]", "rows: 6 [00:13]", "", ""]


def test_a_terminal_that_has_gone_ends_no_work(terminal, at_once):
    shown = terminal()
    with late_bar(10, "rows") as tell:
        tell(1)
        shown.stream.close()
        for _ in range(5):
            tell(1)
    assert tell.done == 6
    shown.drawn()


# ---- nobody looks on


def test_nothing_is_said_without_a_terminal(at_once, capfd):
    for task in TASKS.values():
        task(tables())
    assert capfd.readouterr().err == ""
    assert isinstance(new_bar(), NoBar)


@pytest.mark.parametrize(("value", "hidden"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_a_variable_hides_bars(monkeypatch, terminal, at_once, value, hidden):
    monkeypatch.setenv("TQDM_DISABLE", value)
    shown = terminal()
    with late_bar(10, "rows") as tell:
        tell(1)
    assert (shown.drawn() == [""]) is hidden


# ---- folds


@pytest.mark.parametrize("verb", ["lda", "logistic", "knn", "perceptron"])
def test_cross_validation_counts_each_fold_of_each_repeat(shown_by, at_once, verb):
    counted = []

    class Bar:
        def show(self, what, done, total, seconds, within):
            counted.append((what, done, total))
            return True

        def close(self):
            pass

    options = {"k": 3} if verb == "knn" else {"bias_reduction": True} if verb == "logistic" else {}
    fit = getattr(discrim, verb)("species ~ .", load_iris(), **options)
    shown_by(Bar)
    discrim.cross_validate(fit, folds=5, repeats=3, seed=1)
    assert {(what, total) for what, _, total in counted} == {("cross-validation", 15)}
    assert [done for _, done, _ in counted][-1] == 15
    assert {done for _, done, _ in counted} == set(range(16))


# ---- notebooks


def test_a_script_that_imports_the_kernels_package_is_no_notebook(monkeypatch, at_once, capfd):
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    assert isinstance(new_bar(), NoBar)
    shell = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert isinstance(new_bar(), NoBar)


@pytest.mark.parametrize(
    ("name", "pid", "kind"),
    [
        ("ZMQInteractiveShell", 0, "notebook"),
        ("SpyderShell", 0, "console"),
        ("ZMQInteractiveShell", 1, None),
    ],
)
def test_a_kernel_says_where_it_writes(monkeypatch, name, pid, kind):
    shell = type(name, (), {})()
    shell.kernel = SimpleNamespace(session=SimpleNamespace(pid=os.getpid() + pid))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert bars_of._kernel() == kind


CELL = """
import warnings
warnings.simplefilter("error")
from discrim.core.numerics import progress
progress.DELAY = progress.EVERY = 0.0
from discrim import cross_validate, knn, lda
from discrim.datasets import load_iris
print("before")
cross_validate(lda("species ~ .", load_iris()), repeats=3, seed=1)
try:
    with progress.late_bar(3, "ends early") as tell:
        tell(1)
        raise ValueError
except ValueError:
    print("after")
"""


@pytest.mark.slow
def test_a_notebook_shows_bars_and_keeps_none():
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
