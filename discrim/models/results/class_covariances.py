"""What models with a covariance for each class share: QDA and what lies between it and LDA."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.rules import gaussian
from discrim.errors import DataError, warn_user
from discrim.frame.categories import shown
from discrim.frame.unseen import Unseen
from discrim.inference.mean_differences import generalized_distances
from discrim.models.fits.arguments import listed
from discrim.models.fits.labels import beyond_doubles, class_code, covariance_frame
from discrim.models.fits.prediction import score_frame
from discrim.models.results.group_summary import group_summary

__all__ = ["Quadratic", "SeparateCovariances"]

RANGE = 1000
"""Binary orders of magnitude of a coefficient up to which it, and what is made of it, is a double."""


class Quadratic(NamedTuple):
    """Log odds of one class against another, x'Ax + x'b + c.

    Attributes
    ----------
    A : DataFrame, terms by terms
    b : Series by term
    c : float
    """

    A: pd.DataFrame
    b: pd.Series
    c: float


class SeparateCovariances:
    """Means, covariances and scores by class; for children of `ClassifierResults`."""

    @property
    def means(self: Any) -> pd.DataFrame:
        """Class means."""
        return pd.DataFrame(self._fit.numbers.moments.class_means, index=self.classes, columns=self.terms)

    @property
    def covs(self: Any) -> dict[Any, pd.DataFrame]:
        """Covariance of each class."""
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
        units = 2.0 * np.log(self._fit.numbers.moments.scale).sum()
        return pd.Series(
            [c.logdet - units for c in self._fit.numbers.covariances], index=self.classes, name="logdet"
        )

    def decision_function(
        self: Any, data: Any = None, *, unseen: Unseen | None = None
    ) -> pd.DataFrame | pd.Series:
        """Scores ln prior_k - ln|S_k|/2 - D2_k/2, rows by classes.

        Returns
        -------
        DataFrame, or Series for two classes
            Where the classes share one covariance, or a row's distances exceed the largest number, the
            scores of a row are known up to a number that all its classes have in common. For two classes
            the log odds of the second against the first: positive is the second class.
        """
        rule = self._fit.rule()
        return score_frame(self._fit.new_rows(data, unseen), rule, self.classes, np.asarray)

    def quadratic(self: Any, a: Any, b: Any) -> Quadratic:
        """Log odds of class a against class b as x'Ax + x'b + c."""
        i, j = class_code(a, self.classes), class_code(b, self.classes)
        if not self.prior.iloc[[i, j]].to_numpy().any():
            raise DataError(
                f"{shown(a)} and {shown(b)} both have a prior of zero, so that there are no odds between "
                "them: name a "
                "class with a positive prior, or fit with another prior=."
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

    def generalized_distances(self: Any) -> pd.DataFrame:
        """Generalized squared distance from the mean of one class (rows) to another (columns), as SAS's."""
        fit = self._fit.numbers
        return generalized_distances(fit.moments, fit.covariances, self._fit.log_prior(), self.classes)

    def group_summary(self: Any) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total")."""
        return group_summary(self._fit)

    def tidy(self: Any) -> pd.DataFrame:
        """One row a class and term: mean and standard deviation within the class."""
        frame = pd.DataFrame(
            index=pd.MultiIndex.from_product([self.classes, self.terms], names=["class", "term"])
        )
        frame["mean"] = self.means.to_numpy().ravel()
        frame["sd"] = np.concatenate(
            [c.sd / self._fit.numbers.moments.scale for c in self._fit.numbers.covariances]
        )
        return frame.reset_index()
