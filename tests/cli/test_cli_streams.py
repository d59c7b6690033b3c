"""The command line at streams that are closed, full, read no more, or a terminal, and at an interrupt."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pandas as pd
import pytest

import discrim
from discrim import cli, datasets
from discrim.cli.output import escape_controls
from discrim.core.numerics.progress import Progress
from tests.cli.support import read_terminal
from tests.support import ROOT

COMMAND = [sys.executable, "-m", "discrim"]
MISTAKE = ["datasets", "irsi"]
FROM_INPUT = ("lda", "species ~ .", "-")
HOSTILE = {
    "setosa": "\x1b[2J\x1b]0;owned\x07a",
    "versicolor": "\u202eb\x9b31m",
    "virginica": "=cmd|' /C calc'!A0\rc",
}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the streams of Windows are other ones")


def shell(redirection: str, *arguments: str) -> tuple[int, str, str]:
    """Run the command under a redirection of the shell; exit status, standard output, standard error."""
    command = ["sh", "-c", f'"$@" {redirection}', "sh", *COMMAND, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("redirection", "arguments", "says"),
    [
        pytest.param("<&-", FROM_INPUT, "Standard input is closed", marks=pytest.mark.slow),
        pytest.param(
            "0>/dev/null",
            FROM_INPUT,
            "Standard input cannot be read: Bad file descriptor",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ">&-", ("lda", "species ~ .", "iris"), "Standard output is closed", marks=pytest.mark.slow
        ),
        (">&-", ("--help",), "Standard output is closed"),
        pytest.param(
            ">&-", ("predict", "no_such.fit", "iris"), "Standard output is closed", marks=pytest.mark.slow
        ),
        (">/dev/full", ("--version",), "'standard output': No space left on device"),
        ("1</dev/null", ("--version",), "'standard output': Bad file descriptor"),
    ],
)
def test_unusable_streams_are_one_line(redirection, arguments, says):
    status, out, err = shell(redirection, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"discrim: {says}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&- 2>&-", "<&- >&- 2>&-"])
def test_closed_standard_error_keeps_the_exit_status(redirection):
    assert shell(redirection, *MISTAKE) == (2, "", "")
    assert shell(redirection, "lad") == (2, "", "")


def test_a_bar_of_progress_needs_no_standard_error(clock):
    # Each look at it is a second later, so that bars are shown.
    clock.seconds_per_read = 1.0
    with redirect_stderr(None):
        with Progress(2, "rows") as progress:
            progress(2)
        assert cli.main(["rda", "species ~ .", "iris", "--folds", "loo", "--sections", "header"]) == 0


def test_closed_streams_that_are_not_used_do_no_harm():
    status, out, err = shell("<&-", "--version")
    assert (status, out, err) == (0, f"discrim {discrim.__version__}\n", "")


def test_a_file_never_gets_the_number_of_a_closed_stream(tmp_path):
    code = "import os; from discrim.cli.output import prepare_streams as prepare; prepare(); "
    code += "print(os.open('setup.cfg', 0))"
    command = ["sh", "-c", '"$@" <&- 2>&-', "sh", sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("datasets", "iris"),
        pytest.param(("lda", "species ~ .", "iris"), marks=pytest.mark.slow),
    ],
)
def test_broken_pipe_exits_with_141_silently(arguments):
    unread, written = os.pipe()
    os.close(unread)
    done = subprocess.run([*COMMAND, *arguments], cwd=ROOT, stdout=written, stderr=subprocess.PIPE)
    os.close(written)
    assert (done.returncode, done.stderr) == (141, b"")


def test_broken_standard_error_is_ignored():
    unread, written = os.pipe()
    os.close(unread)
    done = subprocess.run([*COMMAND, *MISTAKE], cwd=ROOT, stdout=subprocess.PIPE, stderr=written)
    os.close(written)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.slow
def test_an_interrupt_while_it_waits_is_130_and_no_line():
    program = subprocess.Popen(
        [*COMMAND, "lda", "species ~ .", "-"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # It has imported pandas, and waits for input, when it has read the first part of it.
    time.sleep(0.3)
    while program.poll() is None and not waits(program.pid):
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out, err) == (130, b"", b"")


def waits(pid: int) -> bool:
    """Say whether a process sleeps in a read of a pipe; where the system does not tell, after a second."""
    try:
        return "pipe" in Path(f"/proc/{pid}/wchan").read_text(encoding="ascii")
    except OSError:
        time.sleep(1.0)
        return True


# ---- what a terminal is shown


@pytest.fixture
def hostile(tmp_path):
    """A saved fit whose labels steer a terminal, and a table with such columns."""
    table = datasets.load_iris().replace({"species": HOSTILE})
    table = table.assign(note="\x1b[8mhidden")
    table.to_csv(tmp_path / "hostile.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    discrim.lda("species ~ petal_length", data=table).save(tmp_path / "hostile.fit")
    return str(tmp_path / "hostile.fit"), str(tmp_path / "hostile.csv")


def on_a_terminal(*arguments: str) -> str:
    """What the command writes where its standard output is a terminal."""
    ours, its = os.openpty()
    program = subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, stdout=its, stderr=subprocess.PIPE)
    os.close(its)
    written = read_terminal(ours)
    assert program.communicate(timeout=60)[1] == b""
    assert program.returncode == 0
    return written.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_labels_do_not_steer_a_terminal_and_stay_as_they_are_in_a_pipe(hostile, capsys):
    fit, data = hostile
    on_terminal = on_a_terminal("predict", fit, data, "--augment")
    assert "\x1b" not in on_terminal
    assert r"\x1b[2J\x1b]0;owned\x07a" in on_terminal
    assert r"\u202eb\x9b31m" in on_terminal
    assert r"\x1b[8mhidden" in on_terminal
    assert cli.main(["predict", fit, data, "--augment"]) == 0
    piped = capsys.readouterr().out
    assert escape_controls(piped) == on_terminal
    returned = pd.read_csv(io.StringIO(piped))
    assert set(returned["species"]) == set(HOSTILE.values())


@pytest.mark.parametrize("style", ["text", "html", "latex", "markdown"])
def test_summaries_have_no_control_characters(hostile, style):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    with redirect_stdout(Terminal()) as terminal:
        assert cli.main(["lda", "species ~ petal_length", hostile[1], "--format", style]) == 0
    written = terminal.getvalue()
    assert "owned" in written
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(written)


def test_only_control_characters_are_escaped():
    plain = "Größe, 数, \u00a0, e\u0301, =cmd, \\x1b\n"
    assert escape_controls(plain) == plain
    assert escape_controls("\ta\r\x00\x7f\x85\u2028\ud800\u200b") == r"\ta\r\x00\x7f\x85\u2028\ud800\u200b"
