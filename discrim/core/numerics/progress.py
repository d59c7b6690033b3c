"""Progress bars of tasks that take longer than a second.

`Progress` counts the finished steps of a task. The first of the running tasks has a tqdm bar, which also
names the task that was started last. The bar appears after a second on a terminal or in a notebook, and
disappears at the end. Tasks redraw it when they report steps; no thread does. TQDM_DISABLE=1 hides it.
A task within `time_limit` is also interrupted when it reports steps.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock, get_ident
from time import monotonic, time
from typing import Any

DELAY = 1.0
"""Seconds from the start of a task until its bar appears."""

INTERVAL = 0.2
"""Seconds between two updates of a bar."""

# Formats of a bar with a known total, without a total, and before the first step.
WITH_TOTAL = "{desc}: {percentage:3.0f}%|{bar}| {n:,}/{total:,} [{elapsed}<{remaining}{postfix}]"
WITHOUT_TOTAL = "{desc}: {n:,} [{elapsed}{postfix}]"
WITHOUT_STEPS = "{desc} [{elapsed}{postfix}]"


class Progress:
    """Count the finished steps of a task, and show them if the task takes longer than a second.

    Tasks that are started within it, here or in other functions, are named in its bar.

    Parameters
    ----------
    total : int
        Number of steps; zero if it is unknown.
    description : str
        A few words on what is done.

    Examples
    --------
    >>> with Progress(3, "rows") as progress:
    ...     for row in range(3):
    ...         progress(1)
    >>> progress.done
    3
    """

    def __init__(self, total: int, description: str) -> None:
        self.total = total
        self.description = " ".join(description.split())
        self.start_time = monotonic()
        self.thread = get_ident()
        self._steps = 0.0

    @property
    def done(self) -> int:
        """Number of finished steps, which may be reported in fractions."""
        return int(self._steps + 1e-6)

    @property
    def has_total(self) -> bool:
        """Whether the total is known and has not been exceeded."""
        return self.total > 0 and self.done <= self.total

    def __call__(self, steps: float = 1) -> None:
        """Report finished steps, and redraw the bar if it is due."""
        self._steps += steps
        refresh_progress()

    def __enter__(self) -> Progress:
        _display.start([self])
        return self

    def __exit__(self, *_: object) -> None:
        _display.stop(self)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Remove this task and those within it from the display during the block.

        A generator uses it while it is suspended and its caller works on something else.
        """
        tasks = _display.stop(self)
        try:
            yield
        finally:
            _display.start(tasks)

    def __str__(self) -> str:
        steps = f" {self.done / self.total:.0%}" if self.has_total else f" {self.done:,}" if self.done else ""
        return f"{self.description}{steps}"


class _Display:
    """The running tasks of a process, in the order of their start, and the bar of the first.

    Attributes
    ----------
    lock : RLock
        Protects the other attributes.
    tasks : list of Progress
        Running tasks, in the order of their start.
    bar : tqdm or None
        Bar of the first task; None if it has not been drawn.
    last_update, next_update : float
        Time of `monotonic` of the last drawing, and from which the next one is due. `next_update` is infinite
        if no drawing is due.
    is_forked : bool
        Whether this is a forked process, which does not draw a bar.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.tasks: list[Progress] = []
        self.bar: Any = None
        self.last_update = float("-inf")
        self.next_update = float("inf")
        self.is_forked = False

    def start(self, tasks: list[Progress]) -> None:
        """Add tasks to the running ones.

        If no task was running, the bar is due `DELAY` seconds after the start of the first of `tasks`, and
        not before `INTERVAL` seconds after the last update.
        """
        with self.lock:
            if tasks and not self.tasks:
                self.next_update = max(tasks[0].start_time + DELAY, self.last_update + INTERVAL)
            self.tasks += tasks

    def stop(self, task: Progress) -> list[Progress]:
        """Remove a task, and the later tasks of its thread, which may remain in a suspended generator.

        The bar is closed if no task remains.

        Returns
        -------
        list of Progress
            The removed tasks, in the order of their start; empty if the task is not running.
        """
        with self.lock:
            if task not in self.tasks:
                return []
            later_tasks = self.tasks[self.tasks.index(task) :]
            stopped = [other for other in later_tasks if other.thread == task.thread]
            self.tasks = [other for other in self.tasks if other not in stopped]
            if not self.tasks and self.bar is not None:
                self.bar.close()
                self.bar = None
        return stopped

    def update(self, now: float) -> None:
        """Draw the bar of the first task with the name of the last one.

        Nothing is drawn if no task is running, in a forked process, or if `open_bar` returns None.

        Parameters
        ----------
        now : float
            Current time of `monotonic`.
        """
        with self.lock:
            if not self.tasks:
                return
            if self.bar is None and not self.is_forked:
                self.bar = open_bar()
            self.last_update = now
            self.next_update = now + INTERVAL
            if self.bar is None:
                # Do not look for a terminal again until all tasks have finished.
                self.next_update = float("inf")
                return
            first, last = self.tasks[0], self.tasks[-1]
            self.bar.desc = first.description
            self.bar.n = first.done
            self.bar.total = first.total if first.has_total else None
            self.bar.bar_format = (
                WITH_TOTAL if first.has_total else WITHOUT_TOTAL if first.done else WITHOUT_STEPS
            )
            # tqdm clears the line only if the task started before the bar was opened.
            self.bar.start_t = time() - (monotonic() - first.start_time)
            self.bar.set_postfix_str("" if last is first else str(last), refresh=False)
            self.bar.refresh()

    def reset_after_fork(self) -> None:
        """Forget the tasks and stop drawing in a forked process: the terminal belongs to the parent."""
        if self.bar is not None:
            self.bar.disable = True
        self.bar = None
        self.lock = RLock()
        self.tasks = []
        self.is_forked = True


_display = _Display()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _display.reset_after_fork())


class TimeLimitReached(BaseException):
    """The time of `time_limit` has passed. Handlers of errors do not catch it, like a KeyboardInterrupt."""


_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))


@contextmanager
def time_limit(deadline: float) -> Iterator[None]:
    """Raise TimeLimitReached in a task of this thread that reports a step after a time of `monotonic`.

    An earlier deadline of an enclosing block remains.
    """
    token = _deadline.set(min(deadline, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def refresh_progress() -> None:
    """Redraw the bar of the running tasks if it is due; do nothing if no task is running.

    Raises TimeLimitReached after the deadline of `time_limit`.
    """
    now = monotonic()
    if now > _deadline.get():
        raise TimeLimitReached
    if now >= _display.next_update:
        _display.update(now)


def open_bar() -> Any:
    """Return a tqdm bar on the terminal or in the notebook.

    Returns
    -------
    tqdm or None
        None if the environment variable TQDM_DISABLE is set to a value other than "", "0" and "false", or if
        standard error is not a terminal and the process is not a Jupyter or Spyder console.
    """
    if os.environ.get("TQDM_DISABLE", "").lower() not in ("", "0", "false"):
        return None
    ipython: Any = sys.modules.get("IPython")
    shell = type(ipython.get_ipython()).__name__ if hasattr(ipython, "get_ipython") else ""
    # Standard error may be missing or closed.
    is_terminal = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
    if shell not in ("ZMQInteractiveShell", "SpyderShell") and not is_terminal:
        return None
    from tqdm.std import tqdm
    from tqdm.utils import disp_trim

    def trimmed_line(bar: Any) -> str:
        """Return the line of a bar, trimmed to the width of the output.

        Versions of tqdm before 4.70 do not trim the line of a bar without a total.
        """
        line = tqdm.__str__(bar)
        columns = bar.format_dict["ncols"]
        return str(disp_trim(line, columns)) if columns else line

    # A bar without tqdm's monitor thread.
    Bar: Any = type("Bar", (tqdm,), {"monitor_interval": 0, "__str__": trimmed_line})
    # The default lock is shared with other processes, which may end without releasing it.
    Bar.set_lock(RLock())
    # A positive delay suppresses the line that tqdm draws before the task is known.
    options = {"leave": False, "delay": 1e-9, "disable": False}
    if shell == "ZMQInteractiveShell":
        return Bar(file=_NotebookOutput(), ncols=79, **options)
    return Bar(file=sys.stderr, dynamic_ncols=True, **options)


class _NotebookOutput:
    """Output of a notebook cell that shows the last line written, and is empty at the end.

    Unlike output to standard error, it does not remain in an exported notebook.
    """

    encoding = "utf-8"

    def __init__(self) -> None:
        """Display an empty output in the current cell, which `write` updates."""
        from IPython.display import display

        show: Any = display
        self._handle = show(self._content(""), raw=True, display_id=True)

    @staticmethod
    def _content(line: str) -> dict[str, str]:
        """Return a line as MIME bundle; an empty line clears the output in every format."""
        return {"text/plain": line} if line else {"text/plain": "", "text/html": "", "text/latex": ""}

    def write(self, text: str) -> None:
        """Replace the shown line by another."""
        self._handle.update(self._content(text.strip()), raw=True)

    def flush(self) -> None:
        """Do nothing: outputs are not buffered."""
