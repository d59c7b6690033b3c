"""The numbers of a Gaussian naive Bayes classifier, and the pure function that fits them.

Theory. Columns that are independent and normal within classes have a diagonal covariance in each class,
so that naive Bayes is the diagonal quadratic rule. With smoothing s every variance grows by

    e = s max_j V_j,   V_j the variance of column j over all rows, divisor N,

in the units of the data, which is scikit-learn's `var_smoothing`: it depends on the units of the columns.
Without a row x of weight w, N V_j falls by w N / (N - w) (x_j - mean_j)^2: e follows in closed form too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core import gaussian
from discrim.core.canonical import weighted_centre
from discrim.core.covariance import Covariance
from discrim.core.leave_one_out import SPOILT, LeftOut, diagonal_scores
from discrim.core.moments import ClassMoments
from discrim.core.qda import QDAFit, fit_qda
from discrim.core.rules import Distances, GaussianRule, IndependentRule, Rule, standard_columns
from discrim.errors import DataError

__all__ = ["NaiveBayesFit", "added_variances", "fit_naive_bayes", "has_fit", "naive_bayes_from_file"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class NaiveBayesFit:
    """The numbers of a Gaussian naive Bayes classifier.

    Attributes
    ----------
    normal : QDAFit
        The diagonal quadratic fit that it is, its variances smoothed.
    smoothing : float
        Share of the largest variance that was added to every variance.
    """

    normal: QDAFit
    smoothing: float

    @property
    def moments(self) -> ClassMoments:
        """By class, diagonal."""
        return self.normal.moments

    @property
    def prior(self) -> Floats:
        """Prior probabilities (K,)."""
        return self.normal.prior

    @property
    def estimated_prior(self) -> bool:
        """Whether the prior is the class proportions of the rows."""
        return self.normal.estimated_prior

    @property
    def method(self) -> str:
        """Divisor of the variances: "moment", n_k - 1, or "mle", n_k."""
        return self.normal.method

    @property
    def covariances(self) -> tuple[Covariance, ...]:
        """Variances of each class, smoothed, in the coordinates of the moments."""
        return self.normal.covariances

    @property
    def has_distances(self) -> bool:
        """Whether the covariances are full: never."""
        return False

    def distances(self) -> Distances:
        """Squared distances to the class means."""
        return self.normal.distances()

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,); it integrates out missing columns.

        Raises
        ------
        NotSupportedError
            Any method but "plugin".
        """
        whole = self.normal.rule(log_prior, method, convention)
        return IndependentRule(whole, log_prior) if isinstance(whole, GaussianRule) else whole

    def refit(self, moments: ClassMoments) -> NaiveBayesFit | None:
        """The same model of other rows, the prior held; None where a variance is zero."""
        if not self.smoothing:
            normal = self.normal.refit(moments)
            return None if normal is None else replace(self, normal=normal)
        if not has_fit(moments, self.method, self.smoothing):
            return None
        return fit_naive_bayes(
            moments,
            self.prior,
            method=self.method,
            smoothing=self.smoothing,
            estimated_prior=self.estimated_prior,
        )

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them, its smoothing included."""
        if not self.smoothing:
            return self.normal.left_out(log_prior)
        held, moments = self.normal.distances(), self.moments
        before = added_variances(moments, self.smoothing)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            added = before, self._added_without(x, weights)
            divisors = self.normal.divisors
            return diagonal_scores(x, codes, weights, held, moments.counts, divisors, log_prior, added)

        return scores

    def _added_without(self, x: Floats, weights: Floats | None) -> Floats:
        """What is added to the variances (p, m) without each row; NaN where a difference lost its digits."""
        moments, total = self.moments, self.moments.total
        out = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
        middle = weighted_centre(moments.means, moments.counts)
        squares = _total_squares(moments)[:, None]
        lost = (standard_columns(x, moments.origin, moments.scale) - middle[:, None]) ** 2
        left = squares - out * total / (total - out) * lost
        lengths = np.sqrt(np.where(left > SPOILT * squares, left, 0.0)) / moments.scale[:, None]
        largest = lengths.max(axis=0) / np.sqrt(total - out)
        # What lost its digits may be as long as this in truth, and then nothing is known.
        spoilt = np.where(left > SPOILT * squares, 0.0, np.sqrt(SPOILT * squares)) / moments.scale[:, None]
        largest[spoilt.max(axis=0) >= lengths.max(axis=0)] = np.nan
        return np.asarray(self.smoothing * (largest * moments.scale[:, None]) ** 2)

    def df_model(self) -> int:
        """Free parameters: means, variances and, where estimated, prior."""
        return self.normal.df_model()

    def llf(self) -> float:
        """Log-likelihood of class and row at variances of divisor n_k, smoothed where the fit's are."""
        if not self.smoothing:
            return self.normal.llf()
        moments = self.moments
        added = added_variances(moments, self.smoothing)
        variances = moments.scatters / moments.counts[:, None] + added
        # Beyond the maximum, where a sum of squares is n_k variances: it is short of that by n_k added.
        surplus = 0.5 * float(moments.counts @ (added / variances).sum(axis=1))
        return gaussian.log_likelihood(moments, np.log(variances).sum(axis=1), self.prior) + surplus


def fit_naive_bayes(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str = "moment",
    smoothing: float = 0.0,
    estimated_prior: bool = True,
) -> NaiveBayesFit:
    """Fit from diagonal moments by class that `has_fit` accepts."""
    if not smoothing:
        normal = fit_qda(moments, prior, method=method, structure="diagonal", estimated_prior=estimated_prior)
        return NaiveBayesFit(normal, smoothing)
    divisors = moments.counts - (1.0 if method == "moment" else 0.0)
    variances = _smoothed(moments, divisors, smoothing)
    covariances = tuple(Covariance.from_root(sd) for sd in np.sqrt(variances))
    return NaiveBayesFit(
        QDAFit(moments, prior, estimated_prior, method, covariances, divisors, "diagonal"), float(smoothing)
    )


def has_fit(moments: ClassMoments, method: str, smoothing: float) -> bool:
    """Whether smoothed variances are all positive and finite."""
    divisors = moments.counts - (1.0 if method == "moment" else 0.0)
    if not (divisors > 0).all():
        return False
    variances = _smoothed(moments, divisors, smoothing)
    return bool(((variances > 0) & np.isfinite(variances)).all())


def naive_bayes_from_file(
    moments: ClassMoments, prior: Floats, *, method: str, smoothing: float, estimated_prior: bool
) -> NaiveBayesFit:
    """Fit from moments that were read from a file.

    Raises
    ------
    DataError
        A variance is not positive, or not finite.
    """
    if not has_fit(moments, method, smoothing):
        raise DataError("A saved fit of naive Bayes is damaged: a variance of it is zero or not finite.")
    return fit_naive_bayes(
        moments, prior, method=method, smoothing=smoothing, estimated_prior=estimated_prior
    )


def added_variances(moments: ClassMoments, smoothing: float) -> Floats:
    """A share of the largest variance of a column over all rows, divisor N, in the units of each column (p,).

    Infinite where the units of the columns are too far apart for it.
    """
    widest = (np.sqrt(_total_squares(moments) / moments.total) / moments.scale).max()
    with np.errstate(over="ignore"):
        return np.asarray(smoothing * (widest * moments.scale) ** 2)


def _smoothed(moments: ClassMoments, divisors: Floats, smoothing: float) -> Floats:
    return np.asarray(moments.scatters / divisors[:, None] + added_variances(moments, smoothing))


def _total_squares(moments: ClassMoments) -> Floats:
    """Sum of squares (p,) of each column about its mean over all rows."""
    means = moments.means
    between = moments.counts @ (means - weighted_centre(means, moments.counts)) ** 2
    return np.asarray(moments.scatters.sum(axis=0) + between)
