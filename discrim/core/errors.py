"""Errors of the numerical core. They carry data, and neither names of columns and classes nor hints.

`models.base` names the columns and classes and adds the hint.
"""

from __future__ import annotations

from discrim.errors import DataError

__all__ = ["InvalidStateError"]


class InvalidStateError(DataError):
    """Stored arrays or options of a fit contradict each other. The message says what is wrong with "it"."""
