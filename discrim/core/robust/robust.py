"""How a robust fit was made, beside its means and covariances.

A robust fit holds moments whose counts are those of the rows, whose means are the robust ones, and whose
scatters over the counts are the robust covariances: rules, functions and axes follow from them as they do
from others. What rests on the sampling law of moments does not, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.file_numbers import are_flags, are_whole
from discrim.core.robust.mcd import ExactFit, common_mcd, separate_mcd, subset_size
from discrim.core.robust.student import NU_RANGE, Student, best_nu, fit_student, log_likelihood
from discrim.core.rules.leave_one_out import LeftOut
from discrim.errors import DataError, NotSupportedError

__all__ = ["ROBUST", "Robust", "buffers_with_robust", "fit_mcd", "fit_t", "with_robust"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

ROBUST = ("t", "mcd")
"""Methods that are not moments of the rows."""

MOST_REFITS = 2000
"""Rows up to which leaving each one out is done by as many searches."""


@dataclass(frozen=True, slots=True)
class Robust:
    """How a robust fit was made.

    Attributes
    ----------
    method : {"t", "mcd"}
    nu : float
        Degrees of freedom of the t distribution.
    estimated_nu : bool
        Whether nu is that of largest likelihood.
    inflated : bool
        Whether covariances are nu/(nu - 2) times the scales of the t distribution, or the scales.
    support_fraction : float
        Of the minimum covariance determinant.
    steps : int
        Of the search for the t distribution.
    row_llf : float
        Log-likelihood of the rows given their classes under the t distributions.
    """

    method: str
    nu: float = 0.0
    estimated_nu: bool = False
    inflated: bool = True
    support_fraction: float = 0.0
    steps: int = 0
    row_llf: float = 0.0

    def numbers(self) -> Floats:
        """For a file."""
        return np.array(
            [self.nu, self.estimated_nu, self.inflated, self.support_fraction, self.steps, self.row_llf],
            dtype=np.float64,
        )

    @staticmethod
    def from_numbers(method: str, numbers: Floats) -> Robust | None:
        """From a file; None for a method of moments, of which it holds none."""
        if len(numbers) != (6 if method in ROBUST else 0):
            raise DataError(f"A fit by {method!r} is not described by {len(numbers)} numbers.")
        if method not in ROBUST:
            return None
        nu, estimated, inflated, fraction, steps, llf = numbers.tolist()
        if not (are_flags(numbers[1:3]) and are_whole(steps)):
            raise DataError("its search has no number of steps, or its choices are neither yes nor no")
        if method == "t" and not (nu >= NU_RANGE[0] and (nu > 2 or not inflated)):
            raise DataError(f"its t distribution has {nu:g} degrees of freedom")
        if method == "mcd" and not 0.5 <= fraction <= 1:
            raise DataError(f"its subset is {fraction:g} of the rows")
        return Robust(method, nu, bool(estimated), bool(inflated), fraction, int(steps), llf)

    def subset_sizes(self, moments: ClassMoments) -> Floats:
        """Rows h of each class's subset, and of that of all rows where the covariance is common."""
        rows = moments.counts if moments.spread == "class" else np.append(moments.counts, moments.total)
        return np.array([subset_size(int(n), moments.n_columns, self.support_fraction) for n in rows])

    def refusal(self, what: str) -> NotSupportedError:
        """The error that says what the estimates are not for, and the way out."""
        return NotSupportedError(
            f"{what} assumes the sampling law of moments, which means and covariances with "
            f'method="{self.method}" do not follow: fit with method="moment" or "mle".'
        )

    def df_model(self) -> int:
        """Free parameters beside means and covariances.

        Raises
        ------
        NotSupportedError
            The estimates are not of largest likelihood.
        """
        if self.method == "mcd":
            raise _no_likelihood()
        return int(self.estimated_nu)

    def llf(self, moments: ClassMoments, prior: Floats, *, all_axes: bool = True) -> float:
        """Log-likelihood of class and row under t distributions, at its maximum.

        Raises
        ------
        NotSupportedError
            The estimates are not of largest likelihood, or there are fewer axes than all.
        """
        if self.method == "mcd":
            raise _no_likelihood()
        if not all_axes:
            raise NotSupportedError(
                'The log-likelihood with method="t" exists for all axes only: fit without ncomp=.'
            )
        with np.errstate(divide="ignore"):
            return float(moments.counts @ np.log(prior)) + self.row_llf

    def left_out(self, moments: ClassMoments) -> LeftOut:
        """Missing scores, which take a refit a row.

        Raises
        ------
        NotSupportedError
            There would be too many refits, or each takes too long.
        """
        if self.method == "mcd" or moments.rows.sum() > MOST_REFITS:
            raise NotSupportedError(
                f'leave_one_out() with method="{self.method}" would take a new search for each of '
                f'{moments.rows.sum()} rows: cross-validate instead, with error_rates(["cv"]) or '
                'confusion("cv").'
            )
        k = moments.n_classes
        return lambda x, codes, weights: np.full((len(x), k), np.nan)

    def breakdown(self, moments: ClassMoments) -> float:
        """Share of a class's rows, at wild places, that the estimates bear.

        1/(nu + p) for a t distribution (Dumbgen & Tyler, 2005, Scandinavian Journal of Statistics 32,
        247-264); the least (n - h)/n over the classes for the minimum covariance determinant.
        """
        if self.method == "t":
            return 1 / (self.nu + moments.n_columns)
        h = self.subset_sizes(moments)[: moments.n_classes]
        return float(((moments.counts - h) / moments.counts).min())


def buffers_with_robust(numbers: Any) -> dict[str, Floats]:
    """The buffers of a file for numbers that may be robust."""
    robust = np.zeros(0) if numbers.robust is None else numbers.robust.numbers()
    own: dict[str, Floats] = numbers.buffers()
    return {"robust": robust} | own


def with_robust(
    from_file: Callable[..., Any],
    moments: ClassMoments,
    prior: Floats,
    *,
    robust: Floats,
    method: str,
    **options: Any,
) -> Any:
    """What `from_file` makes of the parts of a file, how it is robust, or that it is not, among them."""
    return from_file(moments, prior, method=method, robust=Robust.from_numbers(method, robust), **options)


def fit_t(
    blocks: RowBlocks,
    start: ClassMoments,
    nu: float | None,
    *,
    inflated: bool,
    begin: Student | None = None,
) -> tuple[ClassMoments, Robust, Student]:
    """Moments of t distributions, how they were found, and the search.

    Parameters
    ----------
    blocks : re-iterable of (x (m, p), codes (m,), weights (m,) or None)
    start : ClassMoments
        Of the blocks, pooled or by class, of full rank.
    nu : float or None
        None for that of largest likelihood.
    inflated : bool
        Covariances of the t distributions, which need nu > 2, or their scales.
    begin : Student, optional
        Where the search for given nu starts.
    """
    found = best_nu(blocks, start) if nu is None else fit_student(blocks, start, nu, begin=begin)
    if found.collapsed is not None:
        return found.moments, Robust("t", found.nu), found
    moments = found.scatters()
    if inflated:
        factor = found.nu / (found.nu - 2) if found.nu > 2 else np.nan
        moments = _scaled(moments, factor)
    llf, _ = log_likelihood(blocks, found)
    return moments, Robust("t", found.nu, nu is None, inflated, steps=found.steps, row_llf=llf), found


def fit_mcd(
    x: Floats, codes: Codes, start: ClassMoments, support_fraction: float
) -> tuple[ClassMoments, Robust] | ExactFit:
    """Moments of minimum covariance determinants, common or by class as `start` is.

    Parameters
    ----------
    x : (n, p) float
        More rows than columns in each class.
    codes : (n,) int
    start : ClassMoments
        Of the rows.
    support_fraction : float
        From 0.5 to 1.
    """
    fit = separate_mcd if start.spread == "class" else common_mcd
    found = fit(x, codes, start, support_fraction)
    if isinstance(found, ExactFit):
        return found
    return found, Robust("mcd", support_fraction=support_fraction)


def _no_likelihood() -> NotSupportedError:
    return NotSupportedError(
        'method="mcd" maximises no likelihood, so that there are no AIC and BIC either: fit with method="t".'
    )


def _scaled(moments: ClassMoments, factor: float) -> ClassMoments:
    roots = None if moments.roots is None else moments.roots * np.sqrt(factor)
    return replace(moments, scatters=moments.scatters * factor, roots=roots)
