"""Exceptions and warnings of the package.

Each error is also a :class:`ValueError`, so code that is written for other libraries catches it. An error has
a message, a hint how to solve the problem, and the columns, classes and rows at fault.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from errno import ENOSPC
from types import MappingProxyType
from typing import Any, Self

__all__ = [
    "CollinearError",
    "CollinearWarning",
    "ConvergenceWarning",
    "DamagedFileError",
    "DataError",
    "DiscrimError",
    "DiscrimWarning",
    "DroppedColumnsWarning",
    "DroppedRowsWarning",
    "EmptyClassWarning",
    "FallbackWarning",
    "FolderGivenError",
    "FormulaError",
    "FormulaWarning",
    "LabelWarning",
    "MissingFileError",
    "MissingFolderError",
    "MissingPackageError",
    "MissingPredictionWarning",
    "NoSeparationWarning",
    "NotAFitError",
    "NotComparableWarning",
    "NotSupportedError",
    "OutOfRangeError",
    "PrecisionWarning",
    "PriorError",
    "ReadOnlyError",
    "ScaleWarning",
    "SeparationError",
    "SeparationWarning",
    "TiedAxesWarning",
    "UninformativeFitWarning",
    "UnreadableFileError",
    "UnseenLevelWarning",
    "UnwritableFileError",
    "WeightsWarning",
]


def __dir__() -> list[str]:
    """List the errors and warnings. The helpers that raise them are not public."""
    return __all__


class DiscrimError(ValueError):
    """Base class of all errors of the package.

    Parameters
    ----------
    message : str
        The problem.
    hint : str, default ""
        How to solve it.
    options : mapping, default {}
        Arguments that the hint suggests, and their values.
    columns, classes, rows : iterable, default ()
        Names of the columns, labels of the classes and labels of the rows at fault.

    Attributes
    ----------
    message, hint : str
        The problem, and how to solve it. The text of the error is the message followed by the hint.
    options : dict of str to object
        Arguments that the hint suggests, and their values. The command line shows them as options.
    columns, classes, rows : tuple
        Columns, classes and rows at fault; empty if absent or unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        options: Mapping[str, object] = MappingProxyType({}),
        columns: Iterable[object] = (),
        classes: Iterable[object] = (),
        rows: Iterable[object] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.options = dict(options)
        self.columns = tuple(columns)
        self.classes = tuple(classes)
        self.rows = tuple(rows)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def with_message(self, message: str, **data: Any) -> Self:
        """Return a copy of the error with another message, and with other data, such as a hint.

        Parameters
        ----------
        message : str
            The new message.
        **data
            Attributes to replace.

        Returns
        -------
        DiscrimError
            An error of the same class.
        """
        error = copy(self)
        error.args = (message,)
        error.__dict__ |= {"message": message, **data}
        return error


class FormulaError(DiscrimError):
    """The formula cannot be read, is not allowed, or does not fit the table.

    Attributes
    ----------
    location : str
        The position in the formula, with the text around it; empty if absent.
    """

    def __init__(self, message: str, *, location: str = "", **data: Any) -> None:
        super().__init__(message, **data)
        self.location = location

    def __str__(self) -> str:
        return f"{super().__str__()} {self.location}".strip()


class DataError(DiscrimError):
    """The table, the weights, the classes or an option cannot be used as they are."""


class OutOfRangeError(DataError):
    """A value lies more than 1e100 within-class standard deviations from the class means."""


class NotAFitError(DataError):
    """The file was not written by `save`."""


class DamagedFileError(DataError):
    """A file of a fit was changed or cut off, has another format, or contradicts itself.

    Attributes
    ----------
    reason : str
        Why the file cannot be read.
    """

    def __init__(self, message: str, *, reason: str = "", **data: Any) -> None:
        super().__init__(message, **data)
        self.reason = reason


class UnreadableFileError(DataError, OSError):
    """A file cannot be opened or read. This error is also an OSError."""

    def __new__(cls, *args: Any, **data: Any) -> Self:
        """Create the error; libraries that send errors between processes call this method."""
        return OSError.__new__(cls, *args)


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file does not exist. This error is also a FileNotFoundError."""


class UnwritableFileError(OSError, DataError):
    """A file cannot be written. This error is also an OSError, and has its `errno` and `filename`."""

    def __init__(self, errno: int | None, strerror: str, filename: str, *, hint: str = "") -> None:
        OSError.__init__(self, errno, strerror, filename)
        self.message = f"{strerror}: {filename!r}."
        self.hint = hint
        self.options = {}
        self.columns = self.classes = self.rows = ()

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class MissingFolderError(UnwritableFileError, FileNotFoundError):
    """The folder of a file that is to be written does not exist. This error is also a FileNotFoundError."""


class FolderGivenError(UnwritableFileError, IsADirectoryError):
    """The path of the file to write is a folder. This error is also an IsADirectoryError."""


class ReadOnlyError(UnwritableFileError, PermissionError):
    """The permission to write a file or to its folder is missing. This error is also a PermissionError."""


def unwritable(error: OSError, path: str) -> UnwritableFileError:
    """Return the error of this package for an OSError that was raised when a file was written.

    Parameters
    ----------
    error : OSError
    path : str
        Path of the file as the user specified it.

    Returns
    -------
    UnwritableFileError
        An error of the subclass that corresponds to the class of the OSError.
    """
    classes: dict[type[OSError], type[UnwritableFileError]] = {
        FileNotFoundError: MissingFolderError,
        IsADirectoryError: FolderGivenError,
        PermissionError: ReadOnlyError,
    }
    text = error.strerror or str(error)
    hint = "Name another file."
    if error.errno == ENOSPC:
        text = "The disk is full"
        hint = "Free some space, or name a file on another disk."
    elif isinstance(error, FileExistsError):
        text = "The folder cannot be created, because a file has this name"
        hint = "Move the file, or name another folder."
    return classes.get(type(error), UnwritableFileError)(error.errno, text, path, hint=hint)


class PriorError(DiscrimError):
    """The prior is not a probability distribution over the classes."""


class CollinearError(DiscrimError):
    """A within-class covariance is singular, so the rule cannot be computed."""


class SeparationError(DiscrimError):
    """A hyperplane separates the classes, so the estimates are infinite; or no hyperplane separates them.

    Estimates are also infinite under quasi-complete separation, in which some observations lie on the
    hyperplane (Albert & Anderson, 1984, Biometrika 71, 1-10).

    Attributes
    ----------
    certificate : Certificate or None
        Result of the linear program, with its proof.
    """

    def __init__(self, message: str, *, certificate: object = None, **data: Any) -> None:
        super().__init__(message, **data)
        self.certificate = certificate


class NotSupportedError(DiscrimError, AttributeError):
    """The model does not have the property or does not support the option.

    This error is also an AttributeError: `hasattr` is false for a property that the model does not have, and
    `getattr` returns its default.
    """


class MissingPackageError(DiscrimError, ImportError):
    """An optional package is not installed. This error is also an ImportError.

    Attributes
    ----------
    name : str
        Package that is missing.
    extra : str
        Extra of discrim that installs it; empty if absent.
    """

    def __init__(self, message: str, *, name: str = "", extra: str = "", **data: Any) -> None:
        super().__init__(message, **data)
        self.name = name
        self.extra = extra


def missing_package(
    purpose: str, package: str, extra: str = "", alternative: str = ""
) -> MissingPackageError:
    """Return the error for an optional package that is not installed.

    Parameters
    ----------
    purpose : str
        Option, method or file that requires the package.
    package : str
        Name of the package.
    extra : str, default ""
        Extra of discrim that installs it. If empty, the hint names the package.
    alternative : str, default ""
        Another way to the result, as an imperative.

    Returns
    -------
    MissingPackageError
    """
    target = f"'discrim[{extra}]'" if extra else package
    return MissingPackageError(
        f"{purpose} requires the package {package}.",
        hint=f"Install it with pip install {target}{alternative and ', or ' + alternative}.",
        name=package,
        extra=extra,
    )


class DiscrimWarning(UserWarning):
    """Base class of all warnings of the package."""


class CollinearWarning(DiscrimWarning):
    """Columns or terms of the design are nearly, or exactly, linear combinations of others."""


class ConvergenceWarning(DiscrimWarning):
    """An iterative method stopped before it converged."""


class DroppedColumnsWarning(DiscrimWarning):
    """Columns, or levels of a predictor, are left out of the fit."""


class DroppedRowsWarning(DiscrimWarning):
    """Observations are left out because a class, a value or a weight is missing."""


class EmptyClassWarning(DiscrimWarning):
    """A class is empty and is left out of the fit."""


class FallbackWarning(DiscrimWarning):
    """The requested model could not be fitted; an estimator fitted a simpler one instead."""


class FormulaWarning(DiscrimWarning):
    """A part of the formula has no effect."""


class LabelWarning(DiscrimWarning):
    """The labels of the response or of a column are probably not the intended ones.

    They differ only by case, blanks or look-alike characters, or there are nearly as many as observations.
    """


class MissingPredictionWarning(DiscrimWarning):
    """Some observations lack a prediction.

    They are impossible in every class, or the rule cannot be fitted without them.
    """


class NoSeparationWarning(DiscrimWarning):
    """No hyperplane separates two classes, so the perceptron does not converge."""


class NotComparableWarning(DiscrimWarning):
    """Measures of the compared fits cannot be compared with each other."""


class PrecisionWarning(DiscrimWarning):
    """A value is rounded noticeably by double precision, or is outside its range."""


class ScaleWarning(DiscrimWarning):
    """The fit depends on the units of the columns, and their standard deviations differ greatly."""


class SeparationWarning(DiscrimWarning):
    """A hyperplane separates the classes, so the estimates are infinite."""


class TiedAxesWarning(DiscrimWarning):
    """The number of axes separates axes of equal eigenvalues, so the choice among them is arbitrary."""


class UninformativeFitWarning(DiscrimWarning):
    """The fitted model predicts no better than the prior probabilities."""


class UnseenLevelWarning(DiscrimWarning):
    """New observations have a level of a categorical column that the fit has not seen."""


class WeightsWarning(DiscrimWarning):
    """The weights are not frequencies, so standard errors and tests treat their sum as the number of rows."""


def sentence(text: str) -> str:
    """Convert a clause to a sentence: with a full stop, and a capital unless its first word is code.

    A first word that does not consist of letters only, such as ``predict()``, is code.
    """
    stop = "" if text.endswith((".", "?")) else "."
    if text.partition(" ")[0].rstrip(",.").isalpha():
        text = text[:1].upper() + text[1:]
    return f"{text}{stop}"


MAX_FLOAT = 10**308
"""Largest absolute value of an integer that an option accepts; larger ones may overflow float64."""


def format_argument(value: Any) -> str:
    """Format the value of an option for a message: the `repr` of a scalar, else the type as ``<list>``."""
    # Imported here because `import discrim` does not import numpy.
    import numpy as np

    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, int) and abs(value) > MAX_FLOAT:
        # Python refuses to format integers of more than 4,300 digits.
        return f"a number of more than {len(str(MAX_FLOAT)) - 1} digits"
    is_plain = value is None or isinstance(value, str | int | float)
    return repr(value) if is_plain else f"<{type(value).__name__}>"


_COLLECTED: ContextVar[list[tuple[str, type[DiscrimWarning]]] | None] = ContextVar("_COLLECTED", default=None)


@contextmanager
def collect_warnings() -> Iterator[list[tuple[str, type[DiscrimWarning]]]]:
    """Collect the messages and categories of warnings of this package in a list instead of issuing them.

    It is used, for example, for a fit on another machine, whose warnings are issued later.
    """
    collected: list[tuple[str, type[DiscrimWarning]]] = []
    token = _COLLECTED.set(collected)
    try:
        yield collected
    finally:
        _COLLECTED.reset(token)


@contextmanager
def add_path_to_errors(path: str | None) -> Iterator[None]:
    """Append the path of the file that is being read to the message of any DiscrimError in the block.

    The error is changed in place and raised again. Nothing is appended if the path is None or is already in
    the message.
    """
    try:
        yield
    except DiscrimError as error:
        if path is not None and path not in str(error):
            error.message = f"{error.message} The file is {path!r}."
        raise


def warn_user(message: str, category: type[DiscrimWarning] = DiscrimWarning) -> None:
    """Issue a warning that points to the line of the user's code that called the package.

    Within `collect_warnings` the warning is collected instead.
    """
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append((message, category))
        return
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "discrim":
        level += 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)
