"""Errors of the numerical core. They carry a reason and values, and neither option names nor hints.

`discrim.models.base.core_errors` has the message and the hint of each reason. It registers them here, because
the core does not import the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discrim.errors import CollinearError, DataError, DiscrimError, NotSupportedError

__all__ = [
    "CoreCollinearError",
    "CoreDataError",
    "CoreError",
    "CoreNotSupportedError",
    "InvalidStateError",
    "NoEstimateError",
    "register_descriptions",
]

Describe = Callable[[str, Mapping[str, object]], tuple[str, str]]
"""Message and hint of a reason and its values."""


def _describe_plainly(reason: str, values: Mapping[str, object]) -> tuple[str, str]:
    return reason, ""


_descriptions: list[Describe] = [_describe_plainly]


def register_descriptions(describe: Describe) -> None:
    """Set the function that returns message and hint of a reason."""
    _descriptions[0] = describe


class CoreError(DiscrimError):
    """Base class of errors of the core.

    Parameters
    ----------
    reason : str
        Key of the message and the hint.
    classes : sequence, default ()
        Labels of the classes at fault, if the core has them.
    **values
        Values that the message shows. Columns and classes are positions.

    Attributes
    ----------
    reason : str
    values : dict
    """

    def __init__(self, reason: str, *, classes: Iterable[object] = (), **values: object) -> None:
        message, hint = _descriptions[0](reason, values)
        super().__init__(message, hint=hint, classes=classes)
        self.reason = reason
        self.values = values


class CoreDataError(CoreError, DataError):
    """The data, or an option, cannot be used as they are."""


class CoreCollinearError(CoreError, CollinearError):
    """A covariance is singular."""


class NoEstimateError(CoreCollinearError):
    """A covariance model has no estimate.

    Attributes
    ----------
    class_position : int or None
        Class without an estimate, None if it is that of all classes.
    """

    def __init__(self, reason: str, *, class_position: int | None = None, **values: Any) -> None:
        super().__init__(reason, **values)
        self.class_position = class_position


class CoreNotSupportedError(CoreError, NotSupportedError):
    """The model does not have a result, or does not support an option."""


class InvalidStateError(DataError):
    """Stored arrays or options of a fit contradict each other. The message says what is wrong with "it"."""
