"""What tests of the command line share."""

from __future__ import annotations

import os

from discrim import cli


def said(capsys, *arguments: str) -> str:
    """What a command prints that ends well and has nothing to say on standard error."""
    assert cli.main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys, *arguments: str) -> str:
    """The one line on standard error of a command that is refused."""
    try:
        status = cli.main(arguments)
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    assert (status, captured.out) == (2, "")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("discrim: ").rstrip("\n")


def read_terminal(ours: int) -> bytes:
    """All that is written to the other end of a pseudo-terminal, which is closed then."""
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        written += part
    os.close(ours)
    return written
