"""Rules of some of the columns of normal classes: what the models are once the others are integrated out.

Theory. Under the estimates, the law of some columns has their means and their part of the covariances,
whatever these were estimated as. Under the *predictive* law of class k, a t distribution of nu_k - p + 1
degrees of freedom in p dimensions, it is one of as many degrees of freedom in q of them; it is not what a fit
to the q columns alone would give, whose vague prior is that of fewer dimensions. The *debiased* log density
of q columns is the unbiased estimate of theirs, as their part of a Wishart matrix is one.

The part of a covariance that is of some of its columns, in factored form.

Theory. With R'R = S, the covariance of some columns is that of the same columns of R, whose triangle a QR
gives: nothing is squared. Of a covariance U V U' + v (I - U U') it is v I + U_o (V - v) U_o', whose axes are
the singular vectors of U_o times the roots of V - v.

The linear rule of some of the columns; the theory is that of `marginal`.

A rule within canonical axes is that of normal classes whose means lie in a plane, c + S A A'(m_k - c) for
axes A with A'S A = I.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discrim.core.moments.moments import ClassMoments, split_mean
from discrim.core.moments.row_sums import packed_triangle
from discrim.core.normal.lda import LDAFit
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.singular_values import svd
from discrim.core.rules import gaussian
from discrim.core.rules.gaussian import means_of_columns
from discrim.core.rules.rules import Rule
from discrim.core.scatter.covariance import EPS, Covariance
from discrim.core.scatter.principal import Canonical, ThinCovariance

if TYPE_CHECKING:
    from discrim.core.normal.nearest_centroid import NearestCentroidFit
    from discrim.core.normal.qda import QDAFit
    from discrim.core.normal.rda import RDAFit


def of_columns(covariance: Covariance, keep: Codes) -> Covariance:
    """The covariance of some columns (q,).

    Examples
    --------
    >>> import numpy as np
    >>> whole = Covariance.from_root(np.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> of_columns(whole, np.array([1])).matrix().round(12).tolist()
    [[10.0]]
    """
    if isinstance(covariance, ThinCovariance):
        return _thin(covariance, keep)
    if covariance.is_diagonal:
        return Covariance.from_root(covariance.root[keep])
    return Covariance.from_root(packed_triangle(covariance.root[:, keep]))


def _thin(held: ThinCovariance, keep: Codes) -> ThinCovariance:
    unit, axes = held.unit[keep], held.axes[:, keep]
    sd = np.sqrt(((held.root * held.unit) ** 2).sum(axis=1))
    beyond = np.sqrt(np.maximum((sd - held.sphere) * (sd + held.sphere), 0.0))
    _, lengths, turned = svd(beyond[:, None] * axes, full_matrices=False)
    if not held.sphere:
        # Without a sphere what lies beyond the axes is left out, as it is of all columns.
        there = lengths > EPS * max(axes.shape) * lengths.max(initial=0.0)
        lengths, turned = lengths[there], turned[there]
    spread = np.hypot(lengths, held.sphere)[:, None]
    return ThinCovariance(spread * turned / unit, (turned / spread * unit).T, turned, unit, held.sphere)


def quadratic_marginal(fit: QDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """The rule of some columns (q,) by a method that the rule of all of them has."""
    held = means_of_columns(fit.moments, keep)
    if method == "plugin":
        return gaussian.separate_plugin(held, _each(fit.covariances, keep), log_prior)
    covariances = _each(fit.scaled(fit.moments.counts - 1), keep)
    if method == "predictive":
        gone = fit.moments.n_columns - len(keep)
        return gaussian.separate_predictive(held, covariances, log_prior, gone=gone)
    return gaussian.separate_debiased(held, covariances, log_prior)


def regularized_marginal(fit: RDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """As `quadratic_marginal`, of regularized covariances, for which there is one method."""
    held = means_of_columns(fit.moments, keep)
    if fit.alpha == 0:
        return gaussian.linear_rule(held, of_columns(fit.covariances[0], keep), log_prior)
    return gaussian.separate_plugin(held, _each(fit.covariances, keep), log_prior)


def centroid_marginal(fit: NearestCentroidFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """As `quadratic_marginal`, of one variance: the mean that is nearest in the columns there are."""
    held = means_of_columns(fit.within_reach, keep)
    return gaussian.linear_rule(held, of_columns(fit.covariance, keep), log_prior)


def _each(covariances: tuple[Covariance, ...], keep: Codes) -> tuple[Covariance, ...]:
    return tuple(of_columns(covariance, keep) for covariance in covariances)


def linear_marginal(fit: LDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """The rule of some columns (q,) by a method that the rule of all of them has."""
    moments, reduced = fit.moments, fit.reduced()
    held = means_of_columns(moments if reduced is None else _in_plane(moments, fit.covariance, reduced), keep)
    if method == "plugin":
        return gaussian.linear_rule(held, of_columns(fit.covariance, keep), log_prior)
    covariance, nu = of_columns(fit.unbiased(), keep), fit.residual_df
    if method == "predictive":
        gone = moments.n_columns - len(keep)
        return gaussian.common_predictive(held, covariance, log_prior, nu, gone=gone)
    return gaussian.common_debiased(held, covariance, log_prior, nu)


def _in_plane(moments: ClassMoments, covariance: Covariance, reduced: Canonical) -> ClassMoments:
    """The moments with the means of the rule within canonical axes, which lie in a plane."""
    gaps = (moments.means - reduced.centre) @ reduced.axes
    means = reduced.centre + covariance.times(reduced.axes @ gaps.T).T
    centres, rests = split_mean(moments.origin, means, moments.scale)
    return replace(moments, centres=centres, rests=rests)
