"""Bars on the line of a terminal, or in the cell of a notebook, where a person looks on."""

from __future__ import annotations

import io
import os
import sys
import warnings
from functools import cache
from threading import RLock
from time import monotonic
from typing import Any, NamedTuple, Protocol

__all__ = ["Bar", "new_bar"]

Within = tuple[str, int, int]
"""What is done within what a bar shows, how many, and of how many; of zero where that is not known."""

COUNTED = 9_999
"""Total up to which a bar shows numbers beside the percentage."""

LEAST = 10
"""Columns of a bar, and of a text that is cut."""

CELL = 79
"""Columns in a notebook."""

NOTHING = {"text/plain": "", "text/html": "", "text/latex": ""}
"""An output that takes no place in a page or a paper; of one without a form exporters would complain."""


class Bar(Protocol):
    """What shows how far a task has come."""

    def show(self, what: str, done: int, total: int, seconds: float, within: Within | None) -> bool:
        """Show it, and whether there is anybody who sees it."""

    def close(self) -> None:
        """Leave nothing behind."""

    def forget(self) -> None:
        """Leave what is shown to the process that this one was forked from."""


class NoBar:
    """Takes the place of a bar where nobody looks on."""

    def show(self, what: str, done: int, total: int, seconds: float, within: Within | None) -> bool:
        """Show nothing."""
        return False

    def close(self) -> None:
        """Do nothing."""

    def forget(self) -> None:
        """Do nothing."""


def new_bar() -> Bar:
    """A bar where a person looks on: on a terminal, or in a notebook; TQDM_DISABLE=1 hides it there too."""
    if os.environ.get("TQDM_DISABLE", "").lower() not in ("", "0", "false"):
        return NoBar()
    kernel = _kernel()
    if kernel == "notebook":
        return _CellBar()
    return _LineBar() if kernel == "console" or _is_terminal() else NoBar()


def _is_terminal() -> bool:
    """Whether standard error is one; it may be closed, or a program may have none."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


def _kernel() -> str | None:
    """Whether this runs in a Jupyter kernel, and then what it shows: a "notebook" or a "console"'s lines.

    That the package of the kernels is imported does not say so, and neither does IPython, which has terminals
    too. A process that was forked from a kernel may not write to its notebook.
    """
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    kernel = getattr(shell, "kernel", None)
    if kernel is None or getattr(getattr(kernel, "session", None), "pid", os.getpid()) != os.getpid():
        return None
    # Spyder's console and Qt's write lines, which are not replaced but by a carriage return.
    name = type(shell).__name__.lower()
    return "console" if "spyder" in name or "qt" in name else "notebook"


class _Parts(NamedTuple):
    """What tqdm is told: before the bar, and how all of it is put together."""

    before: str
    form: str


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most, LEAST) - 3].rstrip(" ,") + "..."


def _parts(what: str, done: int, total: int, within: Within | None, columns: int) -> _Parts:
    """A line of so many columns; what is done within comes last, where there is room for it."""
    known = total > 0 and done <= total
    count = f" {done:,}/{total:,}" if known and total <= COUNTED else ""
    if not known:
        count = f" {done:,}" if done else ""
    # The times take two more digits than they have in the first hour.
    times, percent, least = (16, 5, LEAST + 3) if known else (9, 0, 0)
    room = columns - percent - least - times
    count = count if len(what) + len(count) <= room else ""
    before = _cut(what, room - len(count))
    inner = _inner(within, columns - len(before) - percent - least - len(count) - times - 2)
    # What is not tqdm's own is no field of the format, whatever it holds.
    count, inner = (text.replace("{", "{{").replace("}", "}}") for text in (count, inner))
    bar, left = ("{percentage:3.0f}%|{bar}|", "<{remaining}") if known else ("", "")
    return _Parts(before, "{desc}:" + bar + count + " [{elapsed}" + left + inner + "]")


def _inner(within: Within | None, room: int) -> str:
    """What is done within, in so many columns, after a comma; nothing where these are too few."""
    if within is None:
        return ""
    what, done, total = within
    far = f" {done / total:.0%}" if total > 0 and done <= total else f" {done:,}" if done else ""
    return f", {_cut(what, room - len(far))}{far}" if room >= LEAST + len(far) else ""


@cache
def _kind(pid: int, *, notebook: bool) -> Any:
    """A kind of tqdm's bars, with a lock of its own in each process, and without a thread that watches it."""
    with warnings.catch_warnings():
        # A notebook without ipywidgets has lines of text.
        warnings.simplefilter("ignore")
        if notebook:
            from tqdm.auto import tqdm
        else:
            from tqdm.std import tqdm
    kind: Any = type("Bar", (tqdm,), {"monitor_interval": 0})
    kind.set_lock(RLock())
    return kind


class _LineBar:
    """A line of a terminal, gone at the end."""

    def __init__(self) -> None:
        made: Any = _kind(os.getpid(), notebook=False)
        self._bar = made(file=sys.stderr, leave=False, dynamic_ncols=True, delay=1e-9, disable=False)

    def show(self, what: str, done: int, total: int, seconds: float, within: Within | None) -> bool:
        """Draw the line anew; a terminal that has gone is no error."""
        bar = self._bar
        columns = bar.format_dict["ncols"] or CELL
        parts = _parts(self._written(what), done, total, within, columns)
        _tell(bar, parts._replace(form=self._written(parts.form)), done, total, seconds)
        try:
            bar.refresh(nolock=True)
        except (OSError, ValueError):
            return False
        return True

    @staticmethod
    def _written(text: str) -> str:
        """What the terminal can write of a text, which may have names of columns, in one line."""
        encoding = getattr(sys.stderr, "encoding", None) or "ascii"
        return " ".join(text.split()).encode(encoding, "replace").decode(encoding)

    def close(self) -> None:
        """Clear the line."""
        try:
            self._bar.close()
        except (OSError, ValueError):
            self.forget()

    def forget(self) -> None:
        """Let it be without a word."""
        self._bar.disable = True


def _tell(bar: Any, parts: _Parts, done: int, total: int, seconds: float) -> None:
    """Have the next drawing show this."""
    now = monotonic()
    bar.n, bar.total = done, total if total >= done else None
    bar.desc, bar.bar_format = parts.before, parts.form
    # A bar that was not drawn since it began is not cleared.
    bar.start_t, bar.last_print_t = now - seconds, now
    # The clock on the wall may be set while a task runs, which a line would show as hours.
    bar._time = lambda: now


class _CellBar:
    """A widget of a notebook, or a line of text where there are none, of which an empty output is left.

    An output that is replaced leaves those of the cell as they are, which to clear the cell would not, and
    what is exported later has no trace of it, as standard error would.
    """

    def __init__(self) -> None:
        kind = _kind(os.getpid(), notebook=True)
        widgets = sys.modules.get("tqdm.notebook")
        from IPython.display import display

        shown: Any = display
        if widgets is not None and issubclass(kind, widgets.tqdm_notebook):
            self._bar = kind(total=1, leave=False, display=False)
            self._widget = self._bar.container
            self._handle = shown(self._widget, display_id=True)
        else:
            self._bar, self._widget = (
                kind(file=io.StringIO(), leave=False, ncols=CELL, ascii=False, disable=False),
                None,
            )
            self._handle = shown(NOTHING, raw=True, display_id=True)

    def show(self, what: str, done: int, total: int, seconds: float, within: Within | None) -> bool:
        """Show it in the cell."""
        _tell(self._bar, _parts(what, done, total, within, CELL), done, total, seconds)
        if self._widget is None:
            self._handle.update({"text/plain": str(self._bar)}, raw=True)
            return True
        bar, known = self._widget.children[1], total > 0 and done <= total
        bar.max, bar.bar_style = (total, "") if known else (max(done, 1), "info")
        self._bar.refresh(nolock=True)
        return True

    def close(self) -> None:
        """Take it away."""
        self._bar.total = None
        self._bar.close()
        for each in () if self._widget is None else self._widget.children:
            each.close()
        self._handle.update(NOTHING, raw=True)

    def forget(self) -> None:
        """Let it be without a word."""
        self._bar.disable = True
