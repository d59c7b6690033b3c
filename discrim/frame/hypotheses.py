"""Hypotheses on coefficients, written as equations: "a = b, c = 0"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discrim.errors import FormulaError
from discrim.frame.scan import MAX_TEXT

__all__ = ["equations"]

Floats = NDArray[np.float64]


def equations(text: str, names: Sequence[str]) -> tuple[Floats, Floats]:
    """The matrix (r, k) and the right side (r,) of equations in coefficients.

    The language is patsy's, which statsmodels takes: names, numbers, `+ - * / ( )`, `=` and commas. A part
    without `=` is zero under the hypothesis. Names stand as they are, whatever is in them.

    Parameters
    ----------
    text : str
    names : sequence of str
        Of the coefficients.

    Raises
    ------
    FormulaError
        The text cannot be read; the message points at the place.

    Examples
    --------
    >>> equations("a = b, 2 * c = 1", ["a", "b", "c"])
    (array([[ 1., -1.,  0.],
           [ 0.,  0.,  2.]]), array([0., 1.]))
    """
    from patsy import DesignInfo, PatsyError

    if len(text) > MAX_TEXT:
        raise FormulaError(f"The hypothesis has {len(text):,} characters: write {MAX_TEXT:,} at most.")
    try:
        with np.errstate(all="ignore"):
            found = DesignInfo(list(names)).linear_constraint(text)
    except PatsyError as error:
        origin = error.origin
        where = "" if origin is None else f" at {text[origin.start :][:40]!r}"
        raise FormulaError(
            f"The hypothesis {text[:80]!r} cannot be read{where} ({error.message}): write equations in the "
            f"coefficients, such as '{names[-1]} = 0', with commas between them."
        ) from None
    except (
        ZeroDivisionError,
        IndexError,
        AssertionError,
        ValueError,
        AttributeError,
        RecursionError,
    ) as error:
        raise FormulaError(
            f"The hypothesis {text[:80]!r} cannot be read ({type(error).__name__}): write equations in the "
            f"coefficients, such as '{names[-1]} = 0', with commas between them."
        ) from None
    coefs, values = np.asarray(found.coefs, dtype=np.float64), np.asarray(found.constants, dtype=np.float64)
    if not (np.isfinite(coefs).all() and np.isfinite(values).all()):
        raise FormulaError(
            f"The hypothesis {text[:80]!r} divides by zero, or has a number out of range: write finite ones."
        )
    return coefs, values[:, 0]
