r"""Write the output of the command line to the standard streams or to files.

Streams may be closed, full, or terminals. Text for a file or a pipe is written unchanged. In a terminal
control characters, which labels may contain, are written as escapes such as ``\x1b``. Output files are
checked before the computation starts, and are written completely or not at all.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import sys
import unicodedata
from collections.abc import Callable, Mapping
from errno import EACCES
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

import discrim
from discrim.core.numerics.atomic_write import (
    FIT_FILE,
    atomic_write,
    resolve_target,
    validate_output_path,
    validate_path,
)
from discrim.errors import (
    DataError,
    DiscrimError,
    NotAFitError,
    NotSupportedError,
    ReadOnlyError,
)

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 72rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.45 system-ui, sans-serif;
  background: Canvas; color: CanvasText; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def page(title: str, body: str) -> str:
    """Return an HTML page with a title as text and a body as HTML.

    Examples
    --------
    >>> page("a < b", "<p>c</p>").splitlines()[6]
    '<title>a &lt; b</title>'
    """
    return _PAGE.format(title=html.escape(title), body=body)


_LONGEST = 2000
"""Largest number of characters of a message."""

# Unicode categories: controls, formats (which reorder text or have no width), surrogates, line separators.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def prepare() -> None:
    """Set the standard streams to UTF-8, and open the null device for those that are closed.

    Otherwise a file that is opened later would get the file descriptor of a closed stream, and its output.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            errors = "strict" if stream is sys.stdin else "backslashreplace"
            stream.reconfigure(encoding="utf-8", errors=errors)


def standard_input() -> str:
    """Read standard input as text; raise a DataError if it is closed."""
    if sys.stdin is None:
        raise DataError(
            "Standard input is closed, and - reads the table from it.", hint="Name a file instead."
        )
    try:
        return sys.stdin.read()
    except OSError as error:
        said = error.strerror or error
        raise DataError(f"Standard input cannot be read: {said}.", hint="Name a file instead.") from error


def write_output(text: str) -> None:
    """Write text to standard output, with control characters escaped for a terminal."""
    stream = standard_output()
    try:
        stream.write(shown_output(text) if stream.isatty() else text)
        stream.flush()
    except OSError as error:
        # Otherwise the interpreter would flush the stream at exit, and fail again.
        give_up(stream)
        raise OSError(error.errno, error.strerror, "standard output") from error


def standard_output() -> TextIO:
    """Return standard output; raise a DataError if it is closed."""
    if sys.stdout is None:
        raise DataError("Standard output is closed.", hint="Send it to a file, or to /dev/null.")
    return sys.stdout


def shown_output(text: str) -> str:
    r"""Replace control characters of a terminal by escapes, except line ends.

    Examples
    --------
    >>> shown_output("a\x1b[31m\n")
    'a\\x1b[31m\n'
    """
    odd = {c for c in set(text) if c != "\n" and unicodedata.category(c) in _STEERING}
    return text.translate({ord(c): ascii(c)[1:-1] for c in odd})


def say(message: object) -> None:
    """Write a message to standard error as one line, if it is open."""
    if sys.stderr is not None:
        try:
            print(f"discrim: {error_line(message)}", file=sys.stderr, flush=True)
        except OSError:
            give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Redirect a broken stream to the null device; otherwise the interpreter fails to flush it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def error_line(message: object) -> str:
    """Format a message as one line, without the carets below a formula or control characters.

    The middle of a long message is omitted.
    """
    text = str(message)
    half = _LONGEST // 2
    if len(text) > _LONGEST:
        text = f"{text[:half]} [{len(text) - _LONGEST:,} characters] {text[-half:]}"
    lines = [line for line in text.splitlines() if line.strip(" ^")]
    line = " ".join(" ".join(lines).split())
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


FORMATS = {"text": (".txt",), "html": (".html", ".htm"), "latex": (".tex",), "markdown": (".md",)}
"""Text formats of a summary, each with a method `as_<format>`, and the extensions of their files."""

EXCEL = "excel"
"""The format of .xlsx files, which are not text."""

NOT_SUMMARIES = {".pdf", ".png", ".svg", ".doc", ".docx", ".odt", ".rtf", ".ods"}
"""Extensions of file types that are not formats of a summary."""


class Output(NamedTuple):
    """Where and how a verb writes its results.

    Attributes
    ----------
    style : str
        Format of the summary.
    width : int or None
        Width of text in characters.
    path : str or None
        File of the summary, None for standard output.
    picture : str or None
        File of the plot.
    view : mapping
        Arguments of `plot`.
    save : str or None
        File of the fit.
    calibrated : bool
        Whether the fit is saved with the calibration of its posteriors.
    """

    style: str
    width: int | None = None
    path: str | None = None
    picture: str | None = None
    view: Mapping[str, Any] = MappingProxyType({})
    save: str | None = None
    calibrated: bool = False


def output_of(options: dict[str, Any], *read: str) -> Output:
    """Remove the output options from a dictionary, and validate them.

    Parameters
    ----------
    options : dict
        Options of the command line, which is updated.
    *read : str
        Files that the command reads, which must not be overwritten.

    Returns
    -------
    Output

    Raises
    ------
    DataError
        Options contradict each other, or a file cannot be written.
    """
    force = options.pop("force", False)
    calibrated = options.pop("calibrated", False)
    save, path, picture = (options.pop(name, None) for name in ("save", "out", "plot"))
    # "-" is standard output.
    path = None if path == "-" else path
    view: dict[str, Any] = {
        name: options.pop(name) for name in ("kind", "columns", "axes") if name in options
    }
    if view and picture is None:
        raise DataError(
            f"--{next(iter(view))} says what --plot draws.", hint="Add --plot FILE, or leave it out."
        )
    if len(view.get("columns", ())) == 1:
        view["columns"] = view["columns"][0]
    style = options.pop("format", None)
    unfit = style is None and path is not None and PurePath(path).suffix.lower() in NOT_SUMMARIES
    if style is None:
        ending = "" if path is None else PurePath(path).suffix.lower()
        formats = (name for name, endings in FORMATS.items() if ending in endings)
        style = EXCEL if ending == ".xlsx" else next(formats, "text")
    width = options.pop("text_width", None)
    if width is not None and style != "text":
        raise DataError(
            f"--text-width is for text, and this is {style}.", hint="Leave it out, or give --format text."
        )
    if save is not None:
        _check_target(save, force)
    elif calibrated:
        raise DataError(
            "--calibrated is of the file that --save writes.", hint="Add --save FILE, or leave it out."
        )
    if picture is not None:
        suffix(picture)
    for option, target in (("--out", path), ("--plot", picture)):
        if target is not None:
            check_place(target)
            refuse_same(option, target, *read)
    named = [target for target in (save, path, picture) if target is not None]
    real = [os.path.realpath(target) for target in named]
    for place, target in enumerate(named):
        if real[place] in real[:place]:
            raise DataError(
                f"{target!r} is named for two things to be written.", hint="Name another file for one."
            )
    if unfit:
        raise DataError(
            f"--out {path!r} would hold text under a name that says otherwise.",
            hint="Name a file that ends in .txt, .html, .tex, .md or .xlsx, or give --plot for a picture.",
        )
    return Output(style, width, path, picture, view, save, calibrated)


def suffix(picture: str) -> str:
    """Return the format of a picture by its extension; raise a DataError for an unknown one."""
    from discrim.report.plots.style import FORMATS

    found = PurePath(picture).suffix.lower().lstrip(".")
    if found not in (*FORMATS, "html"):
        raise DataError(
            f"--plot {picture!r} does not say what to write.",
            hint="Name a file that ends in .png, .svg or .pdf; one that ends in .html answers a pointer.",
        )
    return found


def check_place(target: str, what: str = FIT_FILE, *suffixes: str) -> None:
    """Raise an error if a file cannot be written, or has none of some extensions.

    Parameters
    ----------
    target : str
        The file.
    what : str
        Description of the file in messages.
    *suffixes : str
        Allowed extensions; all if there are none.
    """
    folder = resolve_target(validate_output_path(target, what, *suffixes)).parent
    if not os.access(folder, os.W_OK):
        raise ReadOnlyError(
            EACCES, "This folder cannot be written to", str(folder), hint="Name another, or allow it."
        )


def _check_target(target: str, force: bool) -> None:
    """Raise an error if a fit cannot be saved to a file, or would replace another kind of file.

    With `force` other files may be replaced.
    """
    check_place(target)
    try:
        held = discrim.load(target)
        if isinstance(held, discrim.Moments) and not force:
            raise NotAFitError(f"{target!r} contains moments and not a fit.", hint="Name a file of a fit.")
    except NotAFitError:
        if not force:
            raise DataError(
                f"{target!r} is there and is no saved fit.",
                hint="Name another file to --save to, or give --force to replace it.",
            ) from None
    except DiscrimError:
        # The file does not exist, or is a damaged fit or one of another format, which may be replaced.
        pass


def refuse_options(options: Mapping[str, Any], reason: str, hint: str) -> None:
    """Raise a DataError with a reason and a hint if there are any options, because they do not apply."""
    for name in options:
        raise DataError(f"--{name.replace('_', '-')} {reason}.", hint=hint)


def refuse_same(option: str, out: str, *read: str) -> None:
    """Raise a DataError if an output file is one of the files that are read."""
    for path in read:
        if os.path.exists(out) and os.path.isfile(path) and os.path.samefile(out, path):
            raise DataError(
                f"{option} {out!r} is a file that is read here.", hint="Name another to write to."
            )


def refuse_part(output: Output, rows: Any) -> None:
    """Raise a DataError if an output file belongs to the source of the rows."""
    from discrim.data.sources.sources import rows_given

    source = rows_given(rows)
    for option, target in (("--out", output.path), ("--plot", output.picture), ("--save", output.save)):
        if target is not None and source.reads(target):
            raise DataError(
                f"{option} {target!r} belongs to {source.what}, which the rows come from.",
                hint="Name another file.",
            )


def deliver(
    summary: Any,
    output: Output,
    *,
    draw: Callable[..., Any] | None = None,
    save: Callable[[str], None] | None = None,
) -> None:
    """Write a summary, and then the plot and the fit.

    Parameters
    ----------
    summary : Summary
    output : Output
    draw : callable, optional
        Function that draws the plot for the arguments in `output.view`.
    save : callable, optional
        Function that saves the fit to a path.
    """
    text = ""
    if output.style == "html":
        text = page(summary.title, summary.as_html())
    elif output.style == "text":
        # A file has no terminal, even if standard output is one.
        width = 100 if output.width is None and output.path is not None else output.width
        text = summary.as_text(width=width)
    elif output.style != EXCEL:
        text = getattr(summary, f"as_{output.style}")()
    text = text.rstrip("\n") + "\n"
    picture = None if output.picture is None or draw is None else _drawn(draw, output.picture, output.view)

    def finish() -> None:
        if picture is not None and output.picture is not None:
            write_to_file(output.picture, picture)
        # The fit is saved last: if the command fails, an existing file of a fit must remain.
        if save is not None and output.save is not None:
            save(output.save)

    if output.path is not None and output.style == EXCEL:
        summary.to_excel(output.path)
    elif output.path is not None:
        write_to_file(output.path, text.encode("utf-8", errors="backslashreplace"))
    else:
        try:
            write_output(text)
        except BrokenPipeError:
            # Save the fit even if standard output was closed, for example by `| head`.
            finish()
            raise
    finish()


def _drawn(draw: Callable[..., Any], target: str, view: Mapping[str, Any]) -> bytes:
    """Draw a plot.

    Parameters
    ----------
    draw : callable
        Function that draws the plot.
    target : str
        File, whose extension is the format.
    view : mapping
        Arguments of `draw`.

    Returns
    -------
    bytes
        Content of the file.
    """
    from discrim.report.plots.style import picture_bytes

    if suffix(target) == "html":
        try:
            text: str = draw(**view, interactive=True).to_html()
        except NotSupportedError as error:
            raise error.with_message(
                f"--plot {target!r} makes an interactive figure. {error.message}",
                hint=f"{error.hint} Or name a file that ends in .png, .svg or .pdf.",
            ) from None
        return text.encode("utf-8")
    return picture_bytes(lambda: draw(**view), suffix(target))


def write_to_file(target: str, contents: bytes) -> None:
    """Write a file completely or not at all."""
    with atomic_write(validate_path(target)) as file:
        file.write(contents)
