"""What models with a covariance for each class share: QDA and what lies between it and LDA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.rules import gaussian
from discrim.errors import DataError, warn_user
from discrim.frame.categories import shown
from discrim.inference.mean_differences import generalized_distances
from discrim.models.fits.arguments import listed
from discrim.models.fits.displayed import displayed
from discrim.models.fits.labels import beyond_doubles, by_class_and_term, class_code, covariance_frame
from discrim.models.fits.shown import shown_briefly
from discrim.models.results.group_summary import group_summary

if TYPE_CHECKING:
    from discrim.report.tables import Summary

__all__ = ["ClassCovariances", "Quadratic", "SeparateCovariances"]

RANGE = 1000
"""Binary orders of magnitude of a coefficient up to which it, and what is made of it, is a double."""


@shown_briefly
class Quadratic(NamedTuple):
    """Log odds of one class against another, x'Ax + x'b + c.

    Attributes
    ----------
    A : DataFrame, terms by terms
        Coefficients of the squares and products.
    b : Series by term
        Coefficients of the columns.
    c : float
        Constant.
    """

    A: pd.DataFrame
    b: pd.Series
    c: float

    def _brief(self) -> Summary:
        from discrim.report.tables import Section, Summary

        line = pd.DataFrame({"b": [*self.b, self.c]}, index=[*self.b.index, "c"])
        errors = np.full(len(line), np.inf)
        parts = {
            "A": Section(
                "A, symmetric", self.A, triangle=True, errors=np.full(len(self.A), np.inf), source=".A"
            ),
            "b": Section("b and the constant c", line, errors=errors, source=".b, .c"),
        }
        return Summary("Log odds of one class against another, x'Ax + x'b + c", parts)


class ClassCovariances:
    """Covariances by class, and what follows from them; for children of `ClassifierResults`."""

    def _need_covariances(self, what: str) -> None:
        """Raise NotSupportedError where classes have other parameters than a covariance."""

    @property
    def covs(self: Any) -> dict[Any, pd.DataFrame]:
        """Covariance of each class."""
        self._need_covariances("covs")
        covariances, scale = self._fit.numbers.covariances, self._fit.numbers.moments.scale
        if note := beyond_doubles(covariances, scale, self.terms):
            warn_user(note)
        return {
            label: covariance_frame(covariance, scale, self.terms)
            for label, covariance in zip(self.classes, covariances, strict=True)
        }

    @property
    def logdet(self: Any) -> pd.Series:
        """Log-determinants of the covariances."""
        self._need_covariances("logdet")
        units = 2.0 * np.log(self._fit.numbers.moments.scale).sum()
        return pd.Series(
            [c.logdet - units for c in self._fit.numbers.covariances], index=self.classes, name="logdet"
        )

    def quadratic(self: Any, a: Any, b: Any) -> Quadratic:
        """Log odds of class a against class b as x'Ax + x'b + c.

        Parameters
        ----------
        a, b : label
            Two classes of the fit.

        Returns
        -------
        Quadratic
            A (p, p), b (p,) and c, under the names of the columns.
        """
        self._need_covariances("quadratic()")
        i, j = class_code(a, self.classes), class_code(b, self.classes)
        if not self.prior.iloc[[i, j]].to_numpy().any():
            raise DataError(
                f"{shown(a)} and {shown(b)} both have a prior of zero, so that there are no odds between "
                "them: name a class with a positive prior, or fit with another prior=."
            )
        self._refuse_extreme(i, j)
        matrix, slopes, constant = gaussian.quadratic_form(
            self._fit.numbers.moments, self._fit.numbers.covariances, self._fit.log_prior(), i, j
        )
        return Quadratic(
            pd.DataFrame(matrix, index=self.terms, columns=self.terms),
            pd.Series(slopes, index=self.terms, name="b"),
            constant,
        )

    def _refuse_extreme(self: Any, *pair: int) -> None:
        """Raise where an inverse variance is out of the range of doubles in the units of its column."""
        numbers = self._fit.numbers
        inverse = np.max([np.diagonal(numbers.covariances[k].precision()) for k in pair], axis=0)
        wild = np.abs(np.log2(inverse) + 2 * np.log2(numbers.moments.scale)) > RANGE
        if wild.any():
            raise DataError(
                f"A quadratic coefficient of {listed(self.terms[wild])} is out of the range of double "
                "precision: divide the column by its size and fit again. Posteriors hold in any "
                "units."
            )

    @displayed()
    def generalized_distances(self: Any) -> pd.DataFrame:
        """Generalized squared distance from the mean of one class (rows) to another (columns), as in SAS."""
        self._need_covariances("generalized_distances()")
        fit = self._fit.numbers
        return generalized_distances(fit.moments, fit.covariances, self._fit.log_prior(), self.classes)

    @displayed()
    def group_summary(self: Any) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total")."""
        return group_summary(self._fit)


class SeparateCovariances(ClassCovariances):
    """Means and covariances by class; for children of `ClassifierResults` with a normal law in each."""

    @property
    def means(self: Any) -> pd.DataFrame:
        """Class means."""
        means: pd.DataFrame = self._fit.class_means()
        return means

    @displayed()
    def tidy(self: Any) -> pd.DataFrame:
        """One row for each class and term: mean and standard deviation within the class."""
        frame = pd.DataFrame(index=by_class_and_term(self.classes, self.terms))
        frame["mean"] = self.means.to_numpy().ravel()
        frame["sd"] = np.concatenate(
            [c.sd / self._fit.numbers.moments.scale for c in self._fit.numbers.covariances]
        )
        return frame.reset_index()
