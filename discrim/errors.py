"""Every exception and warning the package raises.

Each error is also a :class:`ValueError`, so code written for other libraries
catches it; each message names the column, class or row at fault and the way out.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from errno import ENOSPC
from typing import Any

__all__ = [
    "CollinearError",
    "DataError",
    "DiscrimError",
    "DiscrimWarning",
    "FolderGivenError",
    "FormulaError",
    "MissingFileError",
    "MissingFolderError",
    "MissingPackageError",
    "NotAFitError",
    "NotSupportedError",
    "OutOfRangeError",
    "PriorError",
    "ReadOnlyError",
    "SeparationError",
    "TiedAxesWarning",
    "UnreadableFileError",
    "UnwritableFileError",
]


def __dir__() -> list[str]:
    """The errors and warnings; what the package uses to raise them is not public."""
    return __all__


class DiscrimError(ValueError):
    """Base class of all errors of the package: `except DiscrimError` catches each of them."""


class FormulaError(DiscrimError):
    """The formula cannot be read, is not allowed, or does not fit the table."""


class DataError(DiscrimError):
    """The table, the weights or the classes cannot be used as they are."""


class OutOfRangeError(DataError):
    """A value lies more than 1e100 within-class standard deviations from the class means.

    Attributes
    ----------
    columns : tuple of str
        Columns at fault.
    rows : tuple
        Labels of the rows at fault; empty if the rows are not available, as for moments.
    """

    def __init__(self, message: str, columns: tuple[str, ...] = (), rows: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns
        self.rows = rows


class NotAFitError(DataError):
    """The file was not written by `save`."""


class UnreadableFileError(DataError, OSError):
    """A file cannot be opened or read. This error is also an OSError."""


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file does not exist. This error is also a FileNotFoundError."""


class UnwritableFileError(OSError, DataError):
    """A file cannot be written. This error is also an OSError, and has its `errno` and `filename`."""

    def __str__(self) -> str:
        return f"{self.strerror}: {self.filename!r}."


class MissingFolderError(UnwritableFileError, FileNotFoundError):
    """The folder of a file that is to be written does not exist. This error is also a FileNotFoundError."""


class FolderGivenError(UnwritableFileError, IsADirectoryError):
    """What is to be written as a file is a folder. This error is also an IsADirectoryError."""


class ReadOnlyError(UnwritableFileError, PermissionError):
    """A file or its folder may not be written to. This error is also a PermissionError."""


def unwritable(error: OSError, path: str) -> UnwritableFileError:
    """The error of the package for what a system says of a path that is to be written."""
    classes: dict[type[OSError], type[UnwritableFileError]] = {
        FileNotFoundError: MissingFolderError,
        IsADirectoryError: FolderGivenError,
        PermissionError: ReadOnlyError,
    }
    text = error.strerror
    if error.errno == ENOSPC:
        text = "The disk is full: free some of it, or name a file on another"
    elif isinstance(error, FileExistsError):
        text = "A file has the name that a folder is to have: move it, or name another"
    return classes.get(type(error), UnwritableFileError)(error.errno, text, path)


class PriorError(DiscrimError):
    """The prior is not a probability distribution over the classes."""


class CollinearError(DiscrimError):
    """A within-class covariance is singular, so the rule has no answer."""


class SeparationError(DiscrimError):
    """A hyperplane separates the classes, so the estimates are infinite; or none does, so there is no plane.

    Estimates are also infinite under quasi-complete separation, in which some observations lie on the
    hyperplane (Albert & Anderson, 1984, Biometrika 71, 1-10).

    Attributes
    ----------
    certificate : Certificate or None
        What the linear program found, with the proof of it.
    """

    def __init__(self, message: str, certificate: object = None) -> None:
        super().__init__(message)
        self.certificate = certificate


class NotSupportedError(DiscrimError, AttributeError):
    """What was asked for does not exist for this model.

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
        Extra of discrim that installs it.
    """

    def __init__(self, purpose: str, package: str, extra: str, alternative: str = "") -> None:
        super().__init__(
            f"{purpose} requires the package {package}. Install it with pip install 'discrim[{extra}]'"
            f"{alternative and ', or ' + alternative}."
        )
        self.name = package
        self.extra = extra


class DiscrimWarning(UserWarning):
    """Base class of all warnings of the package."""


class TiedAxesWarning(DiscrimWarning):
    """A number of axes separates axes of equal eigenvalues, so that the axes that are kept are arbitrary."""


MOST = 10**308
"""The largest whole number that an option may be."""


def told(value: Any) -> str:
    """What was given for an option, for a message: a scalar as it is, of anything else its type."""
    # Not at the top, since `import discrim` takes no numpy.
    import numpy as np

    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, int) and abs(value) > MOST:
        # More digits than can be read, or than Python writes.
        return f"a number beyond 1e{len(str(MOST)) - 1}"
    plain = value is None or isinstance(value, str | int | float)
    return repr(value) if plain else f"<{type(value).__name__}>"


_KEPT: ContextVar[list[str] | None] = ContextVar("_KEPT", default=None)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Messages of `warn_user`, kept and not given where nobody sees them, as on another machine."""
    messages: list[str] = []
    token = _KEPT.set(messages)
    try:
        yield messages
    finally:
        _KEPT.reset(token)


def warn_user(message: str, kind: type[DiscrimWarning] = DiscrimWarning) -> None:
    """Give a warning at the line that called the package, by however many of its functions."""
    kept = _KEPT.get()
    if kept is not None:
        kept.append(message)
        return
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "discrim":
        level = level + 1
        frame = frame.f_back
    warnings.warn(message, kind, stacklevel=level)
