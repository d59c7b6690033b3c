"""The command line: a formula and a table in, a summary out; a saved fit and a table in, labels out.

``discrim lda "species ~ ." iris`` prints what ``discrim.lda("species ~ .", data=iris).summary()`` prints.
What a person gets wrong is one line on standard error and exit status 2, never a traceback; a warning is a
line there too, so standard output carries the summary alone.
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from errno import EINVAL, EISDIR, ENOENT
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from discrim import datasets
from discrim.cli_files import readable
from discrim.cli_labels import Labels, labels_of_fit, labels_to_fit
from discrim.cli_options import build_parser, parse_prior
from discrim.cli_sources import labels_in, source_given
from discrim.cli_streams import prepare, say, standard_output, write
from discrim.errors import DataError, DiscrimError, DiscrimWarning, NotAFitError, NotSupportedError, warn_user

if TYPE_CHECKING:
    import pandas as pd

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".tar")


def read_table(source: str, labels: Labels | None = None) -> Any:
    """Read a table by the name of a bundled one or of a file.

    Parameters
    ----------
    source : str
        As DATA on the command line.
    labels : Labels, optional
        Columns that hold labels and no measurements, which are kept as they are written.

    Returns
    -------
    DataFrame
        Of pandas, or of polars where a Parquet file is read without pyarrow.

    Raises
    ------
    DataError
        The file cannot be read as a table, or two columns have the same name.
    OSError
        The file cannot be opened.

    Examples
    --------
    >>> read_table("iris").shape
    (150, 5)
    """
    if source in datasets.names():
        return datasets.load(source)
    if "://" in source:
        raise DataError(f"{source!r} is an address, not a file: download it first")
    suffixes = [suffix.lower() for suffix in PurePath(source).suffixes]
    packed = any(suffix in _COMPRESSED for suffix in suffixes[-1:])
    kind = next((suffix for suffix in reversed(suffixes) if suffix not in _COMPRESSED), "")
    try:
        if kind in (".parquet", ".pq"):
            return _read_parquet(source)
        return _read_delimited(source, "\t" if kind == ".tsv" else ",", labels or Labels())
    except DiscrimError:
        raise
    except FileNotFoundError:
        known = ", ".join(datasets.names())
        raise DataError(
            f"{source!r} is neither a file nor a table of the package: name a file, or one of {known}"
        ) from None
    except UnicodeDecodeError as error:
        if kind in (".parquet", ".pq"):
            raise DataError(f"{source!r} cannot be read as Parquet: {error}. Write it again") from error
        raise DataError(f"{source!r} is not text in UTF-8: save it as CSV in UTF-8, or Parquet") from error
    except MemoryError as error:
        raise DataError(f"{source!r} is larger than the memory: give some of its rows or columns") from error
    except Exception as error:
        # Readers of packed files and of Parquet raise errors of kinds that only they know.
        if isinstance(error, OSError) and error.filename is not None:
            raise
        said = str(error).strip().rstrip(".") or type(error).__name__
        fault, way = "read as a table", "Give a CSV or Parquet file"
        if packed and not isinstance(error, ValueError):
            fault, way = "unpacked", "Download or pack it again"
        raise DataError(f"{source!r} cannot be {fault}: {said}. {way}") from error


def _read_delimited(source: str, separator: str, labels: Labels) -> pd.DataFrame:
    """Read text columns, and refuse or report what pandas would mend in silence."""
    import pandas as pd

    file = readable(source)
    header = pd.read_csv(file, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False)
    given = [str(name) for name in header.iloc[0]]
    twice = [name for name, times in Counter(given).items() if name and times > 1]
    if twice:
        raise DataError(f"{source!r} has more than one column named {twice[0]!r}: rename all but one")
    if not isinstance(file, str):
        file.seek(0)
    # pandas before 3.1 reads numbers fast and wrong in the last digit unless told otherwise.
    exact: Any = {"float_precision": "round_trip"} if _pandas_before(3, 1) else {}
    dtypes: Any = dict.fromkeys(labels.as_text(given), str)
    table: pd.DataFrame = labels.with_types(pd.read_csv(file, sep=separator, dtype=dtypes, **exact))
    if not isinstance(table.index, pd.RangeIndex):
        raise DataError(f"{source!r} has rows longer than its first: give every column a name there")
    for position, name in enumerate(given):
        if not name:
            read_as = table.columns[position]
            message = (
                f"column {position + 1} of {source!r} has no name and is called {read_as!r}: "
                f"leave it out with - `{read_as}` if it only numbers the rows"
            )
            warn_user(message)
    return table


def _pandas_before(major: int, minor: int) -> bool:
    import pandas as pd

    release = pd.__version__.split(".")
    return (int(release[0]), int(release[1])) < (major, minor)


def _read_parquet(source: str) -> Any:
    """Read Parquet with what there is: pandas' engine, else polars."""
    import pandas as pd

    try:
        file: Any = readable(source)
        return _whole_columns(pd.read_parquet(file), file)
    except ImportError:
        pass
    try:
        import polars as pl
    except ImportError:
        raise DataError(f"{source!r}: Parquet needs pyarrow or polars: pip install pyarrow") from None
    try:
        return pl.read_parquet(source)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{source!r} cannot be read as Parquet: {error}. Give a Parquet file, or name the file .csv "
            "if it is one"
        ) from error


def _whole_columns(table: pd.DataFrame, file: Any) -> pd.DataFrame:
    """Read whole numbers of Parquet beside missing ones again, as whole numbers.

    Parameters
    ----------
    table : DataFrame
        As pandas reads the file: such columns are floating, and beyond 2^53 they are rounded.
    file : str or file object
    """
    import pandas as pd

    floating = [str(name) for name, dtype in table.dtypes.items() if dtype == "float64"]
    holed = [name for name in floating if bool(table[name].isna().any())]
    if not holed:
        return table
    if not isinstance(file, str):
        file.seek(0)
    again = pd.read_parquet(file, columns=holed, dtype_backend="numpy_nullable")
    whole = [name for name in holed if pd.api.types.is_integer_dtype(again[name].dtype)]
    return table.assign(**{name: again[name] for name in whole}) if whole else table


def _classes_as_typed(prior: Any, formula: str, data: Any) -> Any:
    """Give a prior by class the labels of the response column, which need not be text."""
    response = formula.partition("~")[0].strip().strip("`")
    columns = getattr(data, "columns", None)
    if not isinstance(prior, dict) or response not in (data.names if columns is None else columns):
        return prior
    return _by_label(prior, labels_in(data, response) if columns is None else data[response].unique())


def _by_label(prior: Any, labels: Any) -> Any:
    """Name the classes of a prior by their labels, of which the command line has the text."""
    if not isinstance(prior, dict):
        return prior
    label_of = {str(label): label for label in labels}
    return {label_of.get(name, name): value for name, value in prior.items()}


def _check_target(target: str, force: bool) -> None:
    """Raise where a fit may not be written, before time is spent on it."""
    import discrim

    place = Path(target)
    if not place.parent.is_dir():
        raise FileNotFoundError(
            ENOENT, "There is no such folder: make it, or name another", str(place.parent)
        )
    # What ends in a separator is a folder, though pathlib drops it.
    if place.is_dir() or target.endswith(("/", os.sep)):
        raise IsADirectoryError(EISDIR, "This is a folder: name a file in it", target)
    if place.exists() and not place.is_file():
        raise OSError(EINVAL, "This is a device, a pipe or a socket: name a file", target)
    try:
        held = discrim.load(target)
        if isinstance(held, discrim.Moments) and not force:
            raise NotAFitError(f"{target!r} holds moments and no fit")
    except NotAFitError:
        if not force:
            raise DataError(
                f"{target!r} is there and is no saved fit: name another file to --save to, or give --force "
                "to replace it"
            ) from None
    except DiscrimError:
        # There is none yet, or a fit that is damaged or of a later version, which may be replaced.
        pass


def _summarize(arguments: argparse.Namespace) -> tuple[str, Callable[[], None]]:
    """Fit what the arguments ask for, render its summary, and give what saves it."""
    options = dict(vars(arguments))
    verb, formula = options.pop("verb"), options.pop("formula")
    target, force = options.pop("save", None), options.pop("force", False)
    if target is not None:
        _check_target(target, force)
    given, style, sections = options.pop("data"), options.pop("format"), options.pop("sections", None)
    if "prior" in options:
        options["prior"] = parse_prior(options["prior"])
    labels = labels_to_fit(formula)
    source = source_given(given, labels)
    try:
        fit = _fitted(verb, formula, read_table(given, labels) if source is None else source, options)
    except NotSupportedError:
        # A single file may be what goes into memory for a verb that asks for all rows.
        if source is None or not os.path.isfile(given):
            raise
        fit = _fitted(verb, formula, read_table(given, labels), options)
    summary = fit.summary() if sections is None else fit.summary(sections=sections)
    text = str(getattr(summary, f"as_{style}")())
    return text, _nothing if target is None else partial(fit.save, target)


def _fitted(verb: str, formula: str, data: Any, options: dict[str, Any]) -> Any:
    """Fit a verb to a table or a source."""
    import discrim

    own = dict(options)
    if "prior" in own:
        own["prior"] = _classes_as_typed(own["prior"], formula, data)
    return getattr(discrim, verb.replace("-", "_"))(formula, data=data, **own)


def _nothing() -> None:
    """Save no fit."""


def _predict(arguments: argparse.Namespace) -> Iterator[str]:
    """Label the rows of a table by a saved fit: CSV part by part, or nothing where it goes to a file."""
    import discrim

    fit = discrim.load(arguments.fit)
    if isinstance(fit, discrim.Moments):
        raise DataError(
            f"{arguments.fit!r} holds moments and no fit: fit them, as "
            "discrim.lda(moments=discrim.load(...)), and name a file of that fit"
        )
    augment = "augment" in arguments
    labels = labels_of_fit(fit, whole=augment)
    unseen = {"unseen": arguments.unseen} if "unseen" in arguments else {}
    if augment and "prior" in arguments:
        raise DataError("--augment is by the prior of the fit: leave out --prior, or use --proba")
    prior = _by_label(parse_prior(arguments.prior), fit.classes) if "prior" in arguments else None
    source = source_given(arguments.data, labels)
    data = read_table(arguments.data, labels) if source is None else source
    out = getattr(arguments, "out", None)
    if out is not None:
        _refuse_same(out, arguments.data, arguments.fit)
    if augment:
        answer = fit.augment(data, **unseen, out=out)
    else:
        answer = _labelled(fit, data, prior, out, proba="proba" in arguments, **unseen)
    if out is None:
        # Of a source an iterator of frames.
        for number, frame in enumerate([answer] if hasattr(answer, "columns") else answer):
            yield _as_csv(frame, header=number == 0)


def _labelled(fit: Any, data: Any, prior: Any, out: str | None, *, proba: bool, unseen: Any = None) -> Any:
    """Labels of a table, or of each part of a source, with any posteriors beside them."""
    import pandas as pd

    from discrim.models.results.by_parts import answered

    if not proba:
        labels: Any = fit.predict(data, prior=prior, unseen=unseen, out=out)
        return labels.to_frame() if isinstance(labels, pd.Series) else labels

    def answer(results: Any, part: Any) -> pd.DataFrame:
        rows = results._fit.new_rows(part, unseen)
        parts = [results.predict(rows, prior=prior), results.predict_proba(rows, prior=prior)]
        return pd.DataFrame(pd.concat(parts, axis=1))

    return answered(fit, data, out, answer)


def _refuse_same(out: str, *read: str) -> None:
    """Raise where a file that is read would be replaced by what is written."""
    for path in read:
        if os.path.exists(out) and os.path.isfile(path) and os.path.samefile(out, path):
            raise DataError(f"--out {out!r} is a file that is read here: name another to write to")


def _as_csv(table: Any, *, header: bool = True) -> str:
    """Write a table, or a part of one, as CSV that is read back as it was."""
    text = str(table.to_csv(index=False, header=header))
    # Before Python 3.13 its writer does not quote a carriage return, where readers see the end of a line.
    if "\r" in text:
        text = str(table.to_csv(index=False, header=header, quoting=csv.QUOTE_NONNUMERIC))
    return text


def _shown_once() -> Callable[..., None]:
    """Stand in for :func:`warnings.showwarning`: each message alone, and once."""
    said: set[str] = set()

    def show(message: Warning | str, *where: object, **more: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            say(f"warning: {message}")

    return show


def _run(argv: Sequence[str] | None) -> None:
    arguments = build_parser().parse_args(argv)
    standard_output()  # A fit is not made, or saved, where nobody can read what is said of it.
    with warnings.catch_warnings():
        warnings.simplefilter("always", DiscrimWarning)
        warnings.showwarning = _shown_once()
        if arguments.verb == "predict":
            for text in _predict(arguments):
                write(text)
            return
        text, save = _summarize(arguments)
    try:
        write(text.rstrip("\n") + "\n")
    except BrokenPipeError:
        # Who reads the first lines alone wants the fit all the same.
        save()
        raise
    # A command that fails must leave the fit that was there, so the fit is saved last.
    save()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0; 2 where the formula, the data or an option is at fault; 130 where interrupted; 141
        where the reader of the output has gone away.

    Examples
    --------
    >>> main(["lda", "species ~ .", "irsi"])
    2
    """
    prepare()
    try:
        _run(argv)
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        say(f"there is not enough memory{f': {error}' if str(error) else ''}: give fewer rows or columns")
        return 2
    except OSError as error:
        named = error.filename is not None and error.strerror
        say(f"{error.filename!r}: {error.strerror}" if named else error)
        return 2
    except DiscrimError as error:
        say(error)
        return 2
    return 0
