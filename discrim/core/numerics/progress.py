"""What takes long says how far it has come, where a person looks on.

A task may be made of others, and a terminal has one line for all of them: it shows the first task that is
under way, and beside it what the last one does. Whoever works tells of what is done; after a second the line
is there, and then it is drawn a few times a second. No thread and no signal of our own wakes it: a call of
LAPACK is silent until it returns.

*A pass whose result adds up* says so here: what one part of the rows gives, and how two such values become
one. Of rows that are read here the pass is made over all of them; of rows on the machines of a cluster, the
work goes to the rows, and no row comes back.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock, get_ident
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

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


class NoBar:
    """What shows how far a task has come, where nobody looks on: nothing."""

    def show(self, what: str, done: int, total: int, seconds: float, within: Within | None) -> bool:
        """Show it, and whether there is anybody who sees it."""
        return False

    def close(self) -> None:
        """Leave nothing behind."""

    def forget(self) -> None:
        """Leave what is shown to the process that this one was forked from."""


def new_bar() -> NoBar:
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
    return text if len(text) <= most else text[: max(most, 8) - 3].rstrip(" ,") + "..."


def _parts(what: str, done: int, total: int, within: Within | None, columns: int) -> _Parts:
    """A line of so many columns; what is done within comes last, where there is space for it."""
    known = total > 0 and done <= total
    count = f" {done:,}/{total:,}" if known and total <= COUNTED else ""
    if not known:
        count = f" {done:,}" if done else ""
    # The times may take three more signs than they have in the first hour.
    times, percent, least = (16, 5, LEAST + 3) if known else (12, 0, 0)
    width = columns - percent - least - times
    count = count if len(what) + len(count) <= width else ""
    before = _cut(what, width - len(count))
    inner = _inner(within, columns - len(before) - percent - least - len(count) - times - 2)
    # What is not tqdm's own is no field of the format, whatever it holds.
    count, inner = (text.replace("{", "{{").replace("}", "}}") for text in (count, inner))
    bar, left = ("{percentage:3.0f}%|{bar}|", "<{remaining}") if known else ("", "")
    return _Parts(before, "{desc}:" + bar + count + " [{elapsed}" + left + inner + "]")


def _inner(within: Within | None, width: int) -> str:
    """What is done within, in so many columns, after a comma; nothing where these are too few."""
    if within is None:
        return ""
    what, done, total = within
    far = f" {done / total:.0%}" if total > 0 and done <= total else f" {done:,}" if done else ""
    return f", {_cut(what, width - len(far))}{far}" if width >= LEAST + len(far) else ""


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


class _LineBar(NoBar):
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
    bar.n = done
    bar.total = total if total >= done else None
    bar.desc = parts.before
    bar.bar_format = parts.form
    # A bar that was not drawn since it began is not cleared.
    bar.start_t = now - seconds
    bar.last_print_t = now
    # The clock on the wall may be set while a task runs, which a line would show as hours.
    bar._time = lambda: now


class _CellBar(NoBar):
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
            self._bar = kind(file=io.StringIO(), leave=False, ncols=CELL, ascii=False, disable=False)
            self._widget = None
            self._handle = shown(NOTHING, raw=True, display_id=True)

    def show(self, what: str, done: int, total: int, seconds: float, within: Within | None) -> bool:
        """Show it in the cell."""
        _tell(self._bar, _parts(what, done, total, within, CELL), done, total, seconds)
        if self._widget is None:
            self._handle.update({"text/plain": str(self._bar)}, raw=True)
            return True
        bar = self._widget.children[1]
        known = total > 0 and done <= total
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


T = TypeVar("T")


def is_read_here(rows: Any) -> bool:
    """Whether a pass brings rows here, so that a part of them is sooner worked on than all."""
    return bool(getattr(rows, "read_here", True))


def reduced(rows: Any, task: Callable[[Any], T], merge: Callable[[T, T], T]) -> T:
    """What a task makes of rows, or of each of their parts, merged.

    Rows are an iterable of blocks. Those whose rows lie elsewhere have a callable of this name, which takes
    the other two; it is None, or is not there, where the rows are read here. The task is sent to where they
    lie. What merges takes the values of two parts, in their order, and leaves these as they are.

    Examples
    --------
    >>> reduced([[1, 2], [3]], lambda rows: sum(map(sum, rows)), lambda a, b: a + b)
    6
    """
    own: Callable[..., T] | None = getattr(rows, "reduced", None)
    return task(rows) if own is None else own(task, merge)


V = TypeVar("V")

DELAY = 1.0
"""Seconds after which the first task is shown."""

EVERY = 0.2
"""Seconds from one drawing to the next."""

PAUSE = 0.2
"""Seconds between two tasks up to which they are parts of one work, which has begun with the first."""


class Task:
    """Something that takes long, of zero steps where they are not known; it is told of those done."""

    def __init__(self, total: int, what: str) -> None:
        self.total = total
        self.what = what
        self.parts = 0.0
        self.begun, self.thread = monotonic(), get_ident()

    def __call__(self, more: float = 1) -> None:
        """Tell of more that are done, or with zero that the work goes on."""
        self.parts += more
        _line().told()

    @property
    def done(self) -> int:
        """How many are done; one is whose shares have summed up to it but for rounding."""
        return int(self.parts + 1e-6)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """While something else is done that this task is not made of; what was begun within it rests, too."""
        line = _line()
        rest = line.leave(self)
        try:
            yield
        finally:
            line.enter(rest)


class _Line:
    """The tasks under way in this process, in the order in which they began, and the bar that shows them.

    The lock is one of our own: that of tqdm is one for all processes, and where one that was forked ends
    while it holds it, the others wait for ever. A process that is forked has a line of its own.
    """

    def __init__(self) -> None:
        self.pid, self.lock = os.getpid(), RLock()
        self.tasks: list[Task] = []
        self.bar: NoBar | None = None
        self.drawn = self.next = -EVERY
        self.begun = self.ended = float("-inf")

    def enter(self, tasks: list[Task]) -> None:
        """Add tasks to those under way."""
        with self.lock:
            first = not self.tasks
            if first and tasks:
                begun = tasks[0].begun
                # A fit of ten passes of a second each is one of ten seconds.
                self.begun = self.begun if begun <= self.ended + PAUSE else begun
                self.next = max(self.begun + DELAY, begun + EVERY, self.drawn + EVERY)
            self.tasks += tasks
        if not first:
            self.told()

    def leave(self, task: Task) -> list[Task]:
        """Take a task away, and those of its thread that were begun after it; the bar ends with the last."""
        with self.lock:
            if task not in self.tasks:
                return []
            later = self.tasks[self.tasks.index(task) :]
            gone = [each for each in later if each.thread == task.thread]
            self.tasks = [each for each in self.tasks if each not in gone]
            if not self.tasks:
                self.ended = monotonic()
                self.close()
        return gone

    def close(self) -> None:
        """Leave nothing of the bar behind."""
        bar = self.bar
        self.bar = None
        if bar is not None:
            bar.close()

    def told(self) -> None:
        """Draw, where it is time to."""
        now = monotonic()
        if now < self.next:
            return
        with self.lock:
            if not self.tasks:
                return
            first, last = self.tasks[0], self.tasks[-1]
            if self.bar is None:
                self.bar = new_bar()
            within = None if last is first else (last.what, last.done, last.total)
            shown = self.bar.show(first.what, first.done, first.total, now - first.begun, within)
            # Where nobody looks on, nobody is asked again until all is done.
            self.drawn = now
            self.next = now + EVERY if shown else float("inf")


_lines = [_Line()]


def _line() -> _Line:
    """That of this process."""
    if _lines[0].pid != os.getpid():
        forked = _lines[0]
        _lines[0] = _Line()
        if forked.bar is not None:
            forked.bar.forget()
    return _lines[0]


@contextmanager
def late_bar(total: int, what: str) -> Iterator[Task]:
    """A task, which is told of so many more that are done; after a second it is shown.

    The total is zero where it is not known. A quick task does not wait for the bar's package to be imported.
    What is begun within it, here or in other functions, is shown beside it.

    Examples
    --------
    >>> with late_bar(3, "rows") as tell:
    ...     for row in range(3):
    ...         tell(1)
    >>> tell.done
    3
    """
    task = Task(total, what)
    try:
        _line().enter([task])
        yield task
    finally:
        _line().leave(task)


def tick() -> None:
    """Tell that the work goes on, whatever it is a part of; where no task is under way, nothing happens."""
    if monotonic() >= _lines[0].next:
        _line().told()


@contextmanager
def watched(rows: Iterable[T], what: str) -> Iterator[Iterable[T]]:
    """Rows that are passed over again and again, with a bar that counts the passes."""
    with late_bar(0, what) as tell:
        yield _Watched(rows, tell)


class _Watched(Iterable[T]):
    def __init__(self, rows: Iterable[T], tell: Task) -> None:
        self._rows = rows
        self._tell = tell

    def __iter__(self) -> Iterator[T]:
        yield from self._rows
        self._tell(1)

    @property
    def read_here(self) -> bool:
        return is_read_here(self._rows)

    def reduced(self, task: Callable[[Any], V], merge: Callable[[V, V], V]) -> V:
        value = reduced(self._rows, task, merge)
        self._tell(1)
        return value


class Kept(Generic[T]):
    """What was made of rows, kept where it was made: questions go to it, and their answers come back.

    This one is kept here.
    """

    def __init__(self, value: T) -> None:
        self._value = value

    def value(self) -> T:
        """The value, brought here."""
        return self._value

    def told(self, question: Callable[..., V], *others: Kept[Any]) -> V:
        """What a question to this value, and to others, is answered."""
        return question(self.value(), *(each.value() for each in others))

    def then(self, change: Callable[..., V], *others: Kept[Any]) -> Kept[V]:
        """What a function makes of this value, and of others, kept likewise."""
        return Kept(self.told(change, *others))
