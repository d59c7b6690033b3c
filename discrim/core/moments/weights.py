"""Weights that sum to little: what divides by their sum less the degrees of freedom that means take."""

from __future__ import annotations

from discrim.errors import NotSupportedError

__all__ = ["LIGHT", "no_freedom"]

LIGHT = 1e-9
"""Share by which weights have to exceed what is taken off their sum, which rounding may leave."""


def no_freedom(total: float, n_classes: int, n_columns: int) -> NotSupportedError:
    """The error that refuses what takes N - K of p or more, for weights that sum to less."""
    return NotSupportedError(
        f"The rows have weights that sum to {total:g}, and this needs {n_classes + n_columns} or "
        "more, the number of classes and columns. Pass weights that count rows, for example divided "
        "by their mean."
    )
