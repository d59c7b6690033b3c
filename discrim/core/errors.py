"""Errors of the numerical core. They carry a reason and values, and neither option names nor hints.

`discrim.models.base.core_errors` has the message and the hint of each reason. It registers them here, because
the core does not import the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from discrim.errors import CollinearError, DataError, DiscrimError, NotSupportedError

__all__ = [
    "CoreCollinearError",
    "CoreDataError",
    "CoreError",
    "CoreNotSupportedError",
    "InvalidStateError",
    "NoEstimateError",
    "SingularEstimateError",
    "UnsuitableOptionError",
    "positions_at_fault",
    "register_descriptions",
]

ErrorDescriber = Callable[["CoreError"], tuple[str, str]]
"""Function that returns the message and the hint of an error."""

_descriptions: list[ErrorDescriber] = [lambda error: (error.reason, "")]
"""The registered function, the only element; before registration the message is the reason."""


def register_descriptions(describe: ErrorDescriber) -> None:
    """Set the function from which all errors of the core get their message and hint."""
    _descriptions[0] = describe


class CoreError(DiscrimError):
    """Base class of errors of the core.

    `discrim.models.base.core_errors.named_errors` turns positions into names.

    Parameters
    ----------
    reason : str
        Key of the message and the hint.
    column_positions, class_positions : sequence of int, default ()
        Columns and classes at fault.
    classes : sequence, default ()
        Labels of the classes at fault, if the user named them.
    **values
        Values that the message shows.

    Attributes
    ----------
    reason : str
    column_positions, class_positions : tuple of int
    values : dict
    """

    reason: str

    def __init__(
        self,
        reason: str,
        *,
        column_positions: Iterable[int] = (),
        class_positions: Iterable[int] = (),
        classes: Iterable[object] = (),
        **values: object,
    ) -> None:
        self.reason = reason
        self.column_positions = tuple(column_positions)
        self.class_positions = tuple(class_positions)
        self.values = values
        message, hint = _descriptions[0](self)
        super().__init__(message, hint=hint, classes=classes)


class CoreDataError(CoreError, DataError):
    """The data or an option are invalid."""


class CoreCollinearError(CoreError, CollinearError):
    """A covariance is singular."""


class NoEstimateError(CoreError):
    """A covariance model cannot be estimated."""


class SingularEstimateError(NoEstimateError, CoreCollinearError):
    """The covariance of a class, or the one of all classes, is singular."""


class UnsuitableOptionError(NoEstimateError, CoreDataError):
    """A covariance model cannot be estimated with an option, for example a number of axes."""


def positions_at_fault(k: int | None) -> tuple[int, ...]:
    """Return the argument `class_positions` of an error: (k,), or () for an estimate of all classes."""
    return () if k is None else (k,)


class CoreNotSupportedError(CoreError, NotSupportedError):
    """The model does not support a result or an option."""


class InvalidStateError(DataError):
    """Stored arrays or options of a fit contradict each other.

    The message describes the problem; its subject is "it", the fit.
    """
