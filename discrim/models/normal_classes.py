"""What fits of normal classes with variances of their own show: labelled frames of their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core import gaussian
from discrim.models.labels import class_code, covariance_frame
from discrim.models.prediction import scored

if TYPE_CHECKING:
    from discrim.models.naive_bayes import NaiveBayesResults
    from discrim.models.qda import QDAResults

__all__ = [
    "Quadratic",
    "covariances_by_class",
    "log_determinants_by_class",
    "means_by_class",
    "moments_by_class",
    "quadratic_log_odds",
    "scores_by_class",
]


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


def means_by_class(fit: QDAResults | NaiveBayesResults) -> pd.DataFrame:
    """Class means, classes by terms."""
    return pd.DataFrame(fit._fit.moments.class_means, index=fit.classes, columns=fit.terms)


def covariances_by_class(fit: QDAResults | NaiveBayesResults) -> dict[Any, pd.DataFrame]:
    """Covariance of each class, terms by terms."""
    return {
        label: covariance_frame(covariance, fit._fit.moments.scale, fit.terms)
        for label, covariance in zip(fit.classes, fit._fit.covariances, strict=True)
    }


def log_determinants_by_class(fit: QDAResults | NaiveBayesResults) -> pd.Series:
    """Log-determinants of the covariances."""
    units = 2.0 * np.log(fit._fit.moments.scale).sum()
    return pd.Series([c.logdet - units for c in fit._fit.covariances], index=fit.classes, name="logdet")


def scores_by_class(fit: QDAResults | NaiveBayesResults, data: Any) -> pd.DataFrame | pd.Series:
    """Scores, rows by classes; for two classes the log odds of the second against the first."""
    blocks = fit._new_rows(data)
    out = np.empty((len(fit.classes), blocks.table.nrows))
    rule = fit._rule(fit._prior_values(None))
    for place, scores in scored(blocks, rule, len(fit.classes)):
        out[:, place] = scores.T
    if len(fit.classes) == 2:
        return pd.Series(out[1] - out[0], index=blocks.table.index, name=str(fit.classes[1]))
    return pd.DataFrame(out.T, index=blocks.table.index, columns=fit.classes)


def quadratic_log_odds(fit: QDAResults | NaiveBayesResults, a: Any, b: Any) -> Quadratic:
    """Log odds of class a against class b as x'Ax + x'b + c."""
    i, j = class_code(a, fit.classes), class_code(b, fit.classes)
    matrix, slopes, constant = gaussian.quadratic_form(
        fit._fit.moments, fit._fit.covariances, fit._log_prior(), i, j
    )
    return Quadratic(
        pd.DataFrame(matrix, index=fit.terms, columns=fit.terms),
        pd.Series(slopes, index=fit.terms, name="b"),
        constant,
    )


def moments_by_class(fit: QDAResults | NaiveBayesResults) -> pd.DataFrame:
    """One row a class and term: mean and standard deviation within the class."""
    frame = pd.DataFrame(index=pd.MultiIndex.from_product([fit.classes, fit.terms], names=["class", "term"]))
    frame["mean"] = fit.means.to_numpy().ravel()
    frame["sd"] = np.concatenate([c.sd / fit._fit.moments.scale for c in fit._fit.covariances])
    return frame.reset_index()
