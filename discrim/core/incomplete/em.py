"""How means and covariances of rows with missing values were found, beside these.

A fit to such rows holds moments whose counts are those of the rows, whose means are those of largest
likelihood, and whose scatters over the counts are the covariances: rules, functions and axes follow from them
as they do from others. What rests on the sampling law of moments does not, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.incomplete.observed import fit_observed, observed_rows
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.file_numbers import are_flags, are_whole
from discrim.core.robust.robust import buffers_with_robust, with_robust
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.marginal import patterns
from discrim.errors import DataError, NotSupportedError

__all__ = ["Collapsed", "Em", "buffers_with_found", "fit_em", "with_found"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Em:
    """How means and covariances of rows with missing values were found.

    Attributes
    ----------
    steps : int
        Number of sweeps of EM over the patterns; where each class has its own covariance, of all classes
        together.
    converged : bool
        Whether the search converged.
    row_llf : float
        Log-likelihood of the observed values, given the classes.
    patterns : int
        Number of different sets of columns that rows have.
    incomplete : int
        Number of rows that miss a value and were completed.
    """

    steps: int
    converged: bool
    row_llf: float
    patterns: int
    incomplete: int

    def numbers(self) -> Floats:
        """For a file."""
        return np.array(
            [self.steps, self.converged, self.row_llf, self.patterns, self.incomplete], dtype=np.float64
        )

    @staticmethod
    def from_numbers(numbers: Floats) -> Em:
        """From a file; a DataError where the numbers describe no search."""
        if len(numbers) != 5:
            raise DataError("A search by EM is described by other numbers: fit the table again.")
        steps, converged, llf, kinds, incomplete = numbers.tolist()
        if not (are_flags(numbers[1:2]) and all(are_whole(each) for each in (steps, kinds, incomplete))):
            raise DataError("its search by EM has no number of steps, patterns or rows")
        return Em(int(steps), bool(converged), llf, int(kinds), int(incomplete))

    def refusal(self, what: str) -> NotSupportedError:
        """The error that says what the estimates are not for, and the way out."""
        return NotSupportedError(
            f"{what} assumes the sampling law of moments of complete rows, which estimates with "
            'missing="em" do not follow: fit the complete rows, without missing="em".'
        )

    def df_model(self) -> int:
        """Free parameters beside means and covariances: none."""
        return 0

    def llf(self, moments: ClassMoments, prior: Floats, *, all_axes: bool = True) -> float:
        """Log-likelihood of class and observed values; a NotSupportedError with fewer axes than all."""
        if not all_axes:
            raise NotSupportedError(
                'The log-likelihood with missing="em" exists for all axes only: fit without ncomp=.'
            )
        with np.errstate(divide="ignore"):
            return float(moments.counts @ np.log(prior)) + self.row_llf

    def left_out(self, moments: ClassMoments) -> LeftOut:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError(
            'leave_one_out() with missing="em" would take a new search for each row: cross-validate '
            'instead, with error_rates(["cv"]) or confusion("cv").'
        )


def buffers_with_found(numbers: Any) -> dict[str, Floats]:
    """The buffers of a file for numbers whose moments may be robust, or of rows with missing values."""
    return buffers_with_robust(numbers) | ({} if numbers.em is None else {"em": numbers.em.numbers()})


def with_found(
    from_file: Callable[..., Any],
    moments: ClassMoments,
    prior: Floats,
    *,
    em: Floats | None = None,
    **options: Any,
) -> Any:
    """As `with_robust`, of moments that may be of rows with missing values."""
    fit = with_robust(from_file, moments, prior, **options)
    return fit if em is None else replace(fit, em=Em.from_numbers(em))


@dataclass(frozen=True, slots=True)
class Collapsed:
    """A covariance that became singular.

    Attributes
    ----------
    k : int or None
        Its class; None for the common one.
    column : int
        Which others determine.
    """

    k: int | None
    column: int


def fit_em(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    n_classes: int,
    *,
    common: bool,
    tell: Callable[[int], None] = lambda steps: None,
) -> tuple[ClassMoments, Em] | Collapsed:
    """Moments of largest likelihood, with one scatter or one a class, and how they were found.

    Parameters
    ----------
    x, codes, weights, n_classes
        As of `observed_rows`.
    common : bool
    tell : callable, optional
        As of `fit_observed`.
    """
    incomplete = int(np.isnan(x).any(axis=1).sum())
    kinds = len(patterns(np.isnan(x)))
    parts, searches = [], []
    for k in [None] if common else range(n_classes):
        own = np.ones(len(x), dtype=bool) if k is None else codes == k
        w = None if weights is None else weights[own]
        labels = codes if k is None else np.zeros(int(np.count_nonzero(own)), dtype=np.intp)
        observed = observed_rows(x[own], labels, w, n_classes if k is None else 1)
        found = fit_observed(observed, tell)
        if found.collapsed is not None:
            return Collapsed(k, found.collapsed)
        rows = np.bincount(labels, minlength=len(observed.counts))
        parts.append(found.moments(observed, rows))
        searches.append(found)
    steps, llf = sum(each.steps for each in searches), sum(each.llf for each in searches)
    made = Em(steps, all(each.converged for each in searches), llf, kinds, incomplete)
    return (parts[0] if common else _joined(parts)), made


def _joined(parts: list[ClassMoments]) -> ClassMoments:
    """The moments of classes, each of which has its own, on one scale."""
    scale = parts[0].scale
    held = [part.rescaled(scale) for part in parts]
    return ClassMoments(
        np.concatenate([part.counts for part in held]),
        np.concatenate([part.rows for part in held]),
        np.concatenate([part.centres for part in held]),
        np.concatenate([part.rests for part in held]),
        scale,
        np.concatenate([part.scatters for part in held]),
        np.concatenate([np.asarray(part.roots) for part in held]),
    )
