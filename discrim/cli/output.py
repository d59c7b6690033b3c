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


def html_page(title: str, body: str) -> str:
    """Return an HTML page with a title as text and a body as HTML.

    Examples
    --------
    >>> html_page("a < b", "<p>c</p>").splitlines()[6]
    '<title>a &lt; b</title>'
    """
    return _PAGE.format(title=html.escape(title), body=body)


_MAX_MESSAGE = 2000
"""Largest number of characters of a message; the middle of longer ones is omitted."""

# Unicode categories: controls, formats (which reorder text or lack a width), surrogates, line separators.
_CONTROL_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def prepare_streams() -> None:
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


def read_standard_input() -> str:
    """Read standard input as text; raise a DataError if it is closed."""
    if sys.stdin is None:
        raise DataError(
            "Standard input is closed, but - reads the table from it.", hint="Name a file instead."
        )
    try:
        return sys.stdin.read()
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"Standard input cannot be read: {reason}.", hint="Name a file instead.") from error


def write_output(text: str) -> None:
    """Write text to standard output, with control characters escaped for a terminal.

    Raises an OSError whose file name is "standard output", such as a BrokenPipeError, if that fails.
    """
    stream = standard_output()
    try:
        stream.write(escape_controls(text) if stream.isatty() else text)
        stream.flush()
    except OSError as error:
        # Otherwise the interpreter would flush the stream at exit, and fail again.
        discard_stream(stream)
        raise OSError(error.errno, error.strerror, "standard output") from error


def standard_output() -> TextIO:
    """Return standard output; raise a DataError if it is closed."""
    if sys.stdout is None:
        raise DataError("Standard output is closed.", hint="Redirect it to a file, or to /dev/null.")
    return sys.stdout


def escape_controls(text: str) -> str:
    r"""Replace control characters of a terminal by escapes, except line ends.

    Examples
    --------
    >>> escape_controls("a\x1b[31m\n")
    'a\\x1b[31m\n'
    """
    control_characters = {
        c for c in set(text) if c != "\n" and unicodedata.category(c) in _CONTROL_CATEGORIES
    }
    return text.translate({ord(c): ascii(c)[1:-1] for c in control_characters})


def write_message(message: object) -> None:
    """Write a message to standard error as one line; nothing if standard error is closed."""
    if sys.stderr is not None:
        try:
            print(f"discrim: {error_line(message)}", file=sys.stderr, flush=True)
        except OSError:
            discard_stream(sys.stderr)


def discard_stream(stream: TextIO) -> None:
    """Redirect a broken stream to the null device; otherwise the interpreter fails to flush it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def error_line(message: object) -> str:
    """Format a message as one line, without the carets below a formula; other controls are escaped.

    The middle of a message of more than `_MAX_MESSAGE` characters is omitted.
    """
    text = str(message)
    half = _MAX_MESSAGE // 2
    if len(text) > _MAX_MESSAGE:
        text = f"{text[:half]} [{len(text) - _MAX_MESSAGE:,} characters] {text[-half:]}"
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
    summary_format : str
        Format of the summary: one of `FORMATS`, or `EXCEL`.
    width : int or None
        Width of text in characters; None for the width of the terminal, or 100 in a file.
    summary_path : str or None
        File of the summary, None for standard output.
    plot_path : str or None
        File of the plot; None for no plot.
    plot_arguments : mapping
        Arguments `kind`, `columns` and `axes` of the method `plot`, if they were typed.
    fit_path : str or None
        File to which the fit is saved; None if it is not saved.
    calibrated : bool
        Whether the fit is saved with the calibration of its posteriors.
    """

    summary_format: str
    width: int | None = None
    summary_path: str | None = None
    plot_path: str | None = None
    plot_arguments: Mapping[str, Any] = MappingProxyType({})
    fit_path: str | None = None
    calibrated: bool = False


def pop_output_options(options: dict[str, Any], *read: str) -> Output:
    """Remove the output options from a dictionary, validate them, and return them as an `Output`.

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
        raise DataError(f"--{next(iter(view))} requires --plot.", hint="Add --plot FILE, or leave it out.")
    if len(view.get("columns", ())) == 1:
        view["columns"] = view["columns"][0]
    style = options.pop("format", None)
    is_misnamed = style is None and path is not None and PurePath(path).suffix.lower() in NOT_SUMMARIES
    if style is None:
        extension = "" if path is None else PurePath(path).suffix.lower()
        formats = (name for name, endings in FORMATS.items() if extension in endings)
        style = EXCEL if extension == ".xlsx" else next(formats, "text")
    width = options.pop("text_width", None)
    if width is not None and style != "text":
        raise DataError(
            f"--text-width requires the format text, and the format is {style}.",
            hint="Leave it out, or add --format text.",
        )
    if save is not None:
        _check_fit_target(save, force)
    elif calibrated:
        raise DataError("--calibrated requires --save.", hint="Add --save FILE, or leave it out.")
    if picture is not None:
        picture_format(picture)
    for option, target in (("--out", path), ("--plot", picture)):
        if target is not None:
            check_writable(target)
            check_not_an_input(option, target, *read)
    targets = [target for target in (save, path, picture) if target is not None]
    real_paths = [os.path.realpath(target) for target in targets]
    for target_index, target in enumerate(targets):
        if real_paths[target_index] in real_paths[:target_index]:
            raise DataError(
                f"{target!r} is the target of two outputs.", hint="Name another file for one of them."
            )
    if is_misnamed:
        raise DataError(
            f"--out {path!r} has the extension of another format, but the output is text.",
            hint="Name a file that ends in .txt, .html, .tex, .md or .xlsx, or use --plot for a plot.",
        )
    return Output(style, width, path, picture, view, save, calibrated)


def picture_format(picture: str) -> str:
    """Return the format of a picture, its extension without the dot; raise a DataError for an unknown one."""
    from discrim.report.plots.style import FORMATS

    extension = PurePath(picture).suffix.lower().lstrip(".")
    if extension not in (*FORMATS, "html"):
        raise DataError(
            f"--plot {picture!r} has no known file extension.",
            hint="Name a file that ends in .png, .svg or .pdf; an .html file is interactive.",
        )
    return extension


def check_writable(target: str, description: str = FIT_FILE, *suffixes: str) -> None:
    """Raise an error if a file cannot be written, or does not have one of the allowed extensions.

    The error is a ReadOnlyError if the folder cannot be written to, else the error of `validate_output_path`.

    Parameters
    ----------
    target : str
        The file.
    description : str
        Description of the file in messages.
    *suffixes : str
        Allowed extensions; all by default.
    """
    folder = resolve_target(validate_output_path(target, description, *suffixes)).parent
    if not os.access(folder, os.W_OK):
        raise ReadOnlyError(
            EACCES,
            "This folder cannot be written to",
            str(folder),
            hint="Name another folder, or change its permissions.",
        )


def _check_fit_target(target: str, force: bool) -> None:
    """Raise an error if a fit cannot be saved to a file.

    A file that exists and is not a saved fit may be replaced only with `force` (otherwise a DataError). A
    damaged fit may always be replaced.
    """
    check_writable(target)
    try:
        existing = discrim.load(target)
        if isinstance(existing, discrim.Moments) and not force:
            raise NotAFitError(f"{target!r} contains moments and not a fit.", hint="Name a file of a fit.")
    except NotAFitError:
        if not force:
            raise DataError(
                f"{target!r} exists and is not a saved fit.",
                hint="Name another file, or add --force to replace it.",
            ) from None
    except DiscrimError:
        # The file does not exist, or is a damaged fit or one of another format, which may be replaced.
        pass


def check_no_options(options: Mapping[str, Any], reason: str, hint: str) -> None:
    """Raise a DataError if there are any options, because they do not apply.

    Parameters
    ----------
    options : mapping
        Options by name, of which the error names the first.
    reason : str
        Rest of the message after the name of the option, such as "requires --sql".
    hint : str
        Hint of the error.
    """
    for name in options:
        raise DataError(f"--{name.replace('_', '-')} {reason}.", hint=hint)


def check_not_an_input(option: str, out: str, *read: str) -> None:
    """Raise a DataError if the output file `out` of an option is one of the files `read`."""
    for path in read:
        if os.path.exists(out) and os.path.isfile(path) and os.path.samefile(out, path):
            raise DataError(f"{option} {out!r} is also an input file.", hint="Name another output file.")


def check_not_in_source(output: Output, rows: Any) -> None:
    """Raise a DataError if an output file is one of the files from which the rows are read.

    Parameters
    ----------
    output : Output
        Files of the output.
    rows : table or Source
        Rows that are read.
    """
    from discrim.data.sources.sources import source_of_rows

    source = source_of_rows(rows)
    for option, target in (
        ("--out", output.summary_path),
        ("--plot", output.plot_path),
        ("--save", output.fit_path),
    ):
        if target is not None and source.reads(target):
            raise DataError(
                f"{option} {target!r} belongs to {source.description}, from which the rows are read.",
                hint="Name another file.",
            )


def write_results(
    summary: Any,
    output: Output,
    *,
    draw: Callable[..., Any] | None = None,
    save: Callable[[str], None] | None = None,
) -> None:
    """Write a summary, and then the plot and the fit, if they were requested.

    Parameters
    ----------
    summary : Summary
    output : Output
        Formats and files.
    draw : callable, optional
        Function that draws the plot for the arguments in `output.plot_arguments`.
    save : callable, optional
        Function that saves the fit to a path.
    """
    text = ""
    if output.summary_format == "html":
        text = html_page(summary.title, summary.as_html())
    elif output.summary_format == "text":
        # A file is not a terminal, even if standard output is one.
        width = 100 if output.width is None and output.summary_path is not None else output.width
        text = summary.as_text(width=width)
    elif output.summary_format != EXCEL:
        text = getattr(summary, f"as_{output.summary_format}")()
    text = text.rstrip("\n") + "\n"
    picture = (
        None
        if output.plot_path is None or draw is None
        else _draw_picture(draw, output.plot_path, output.plot_arguments)
    )

    def finish() -> None:
        if picture is not None and output.plot_path is not None:
            write_to_file(output.plot_path, picture)
        # The fit is saved last: if the command fails, an existing file of a fit must remain.
        if save is not None and output.fit_path is not None:
            save(output.fit_path)

    if output.summary_path is not None and output.summary_format == EXCEL:
        summary.to_excel(output.summary_path)
    elif output.summary_path is not None:
        write_to_file(output.summary_path, text.encode("utf-8", errors="backslashreplace"))
    else:
        try:
            write_output(text)
        except BrokenPipeError:
            # Save the fit even if standard output was closed, for example by `| head`.
            finish()
            raise
    finish()


def _draw_picture(draw: Callable[..., Any], target: str, plot_arguments: Mapping[str, Any]) -> bytes:
    """Return a plot as the content of a file.

    Parameters
    ----------
    draw : callable
        Function that draws the plot.
    target : str
        Path of the file, whose extension determines the format.
    plot_arguments : mapping
        Arguments of `draw`.

    Returns
    -------
    bytes
    """
    from discrim.report.plots.style import picture_bytes

    if picture_format(target) == "html":
        try:
            text: str = draw(**plot_arguments, interactive=True).to_html()
        except NotSupportedError as error:
            raise error.with_message(
                f"--plot {target!r} requires an interactive figure. {error.message}",
                hint=f"{error.hint} Or name a file that ends in .png, .svg or .pdf.",
            ) from None
        return text.encode("utf-8")
    return picture_bytes(lambda: draw(**plot_arguments), picture_format(target))


def write_to_file(target: str, contents: bytes) -> None:
    """Write a file atomically: after an error an existing file is unchanged."""
    with atomic_write(validate_path(target)) as file:
        file.write(contents)
