"""The numbers of a discriminant analysis by partial least squares, and the pure function that fits them.

Theory. Columns and class indicators are centred, and divided by their standard deviations over all rows
(divisor N - 1) where that is asked for; then the indicators are regressed on the columns by partial least
squares (Barker & Rayens, 2003, Journal of Chemometrics 17, 166-173). Three rules follow from the scores t of
a row and the fitted indicators. By "lda" it is the linear discriminant analysis of the scores, with
posteriors; by "max" the class of the largest fitted indicator; by "centroid" that of the nearest centroid in
the space of the scores. All three are linear in the row.

*A table of K + r rows.* With n_k and m_k the count and mean of class k, m the mean of all rows and R a root
of the scatter within classes, let A have the rows sqrt(n_j) (m_j - m) and those of R, and let B have the
rows sqrt(n_j) (delta_jk - n_k / N) and r rows of zeros. Then A'A and A'B are the sums of products of all
rows (see `discrim.core.regression.indicator`), and the components of the one are those of the other. R has
no more rows than there are columns, nor than there are rows: one algorithm serves a million rows of twenty
columns, and a hundred of five thousand.

*As many components as columns.* Then the scores are a rotation of the columns, and the rule "lda" is linear
discriminant analysis. With one component, two classes and columns as they are, its direction is the
difference of the means, which is that of the nearest centroid (Brereton & Lloyd, 2014, Journal of
Chemometrics 28, 213-225).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from discrim.core.covariance.canonical import weighted_centre
from discrim.core.covariance.covariance import EPS, constant_columns, scaled_cholesky, total_squares
from discrim.core.moments.coordinates import standard_columns
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.units import comparable
from discrim.core.projections.latent import Algorithm, Latent, latent
from discrim.core.projections.left_out_pls import Whole, left_out_scores
from discrim.core.rules.gaussian import centred
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.nearest_means import Means, nearest_mean_rule, uncentred
from discrim.core.rules.rules import LinearRule
from discrim.errors import NotSupportedError

__all__ = ["Decides", "Indicators", "PLSFit", "Tables", "fit_pls", "tables_of"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Decides = Literal["lda", "max", "centroid"]
Indicators = Literal["scaled", "centred"]
Found = Callable[[Floats, Floats], Latent]
"""From a table of columns and one of indicators to their components."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Columns and indicators of few rows that have the sums of products of all rows.

    Attributes
    ----------
    columns : (K + r, p) float
        A, in the units of the regression.
    indicators : (K + r, K) float
        B, likewise.
    unit : (p,) float
        What z is divided by; infinite for a column that does not vary.
    sizes : (K,) float
        What indicators are divided by.
    """

    columns: Floats
    indicators: Floats
    unit: Floats
    sizes: Floats


@dataclass(frozen=True, slots=True)
class PLSFit:
    """The numbers of a discriminant analysis by partial least squares.

    Attributes
    ----------
    moments : ClassMoments
        Pooled, or with a thin root.
    prior : (K,) float
    estimated_prior : bool
    components : int
    algorithm : {"nipals", "simpls", "engine"}
    scale : bool
        Whether columns are divided by their standard deviations.
    indicators : {"scaled", "centred"}
        Whether indicators are.
    decides : {"lda", "max", "centroid"}
        The rule.
    unit : (p,) float
        What z is divided by.
    sizes : (K,) float
        What indicators are divided by.
    latent : Latent
        The components, of z over `unit`.
    within : (a, a) float
        Triangular root of the sums of products of the scores within classes.
    origin : (p,) float
        Amid the rows, in the units of the data.
    centre : (p,) float
        What its rounding leaves of the mean of all rows, in z.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    components: int
    algorithm: Algorithm
    scale: bool
    indicators: Indicators
    decides: Decides
    unit: Floats
    sizes: Floats
    latent: Latent
    within: Floats
    origin: Floats
    centre: Floats

    has_distances = False

    @property
    def reach(self) -> float:
        """What scores are multiplied by for the units of the data, where columns are not scaled."""
        return 1.0 if self.scale else float(1.0 / self.moments.scale.min())

    @property
    def residual_df(self) -> float:
        """N - K."""
        return self.moments.total - self.moments.n_classes

    @property
    def shares(self) -> Floats:
        """Shares (K,) of the classes in the rows, which are the means of the indicators."""
        return np.asarray(self.moments.counts / self.moments.total)

    @property
    def column_means(self) -> Floats:
        """Means (p,) of the columns over all rows, in the units of the data."""
        return self.origin + self.centre / self.moments.scale

    @property
    def centroids(self) -> Floats:
        """Means (K, a) of the scores by class."""
        return (self.moments.means_from(self.origin) - self.centre) @ self._turn()

    def _turn(self) -> Floats:
        """What z is multiplied by for scores, (p, a)."""
        return np.asarray(self.latent.rotations / self.unit[:, None])

    def whitening(self) -> Floats:
        """What scores are multiplied by for unit variance within classes, (a, a)."""
        eye = np.eye(len(self.within))
        return np.asarray(solve_triangular(self.within, eye) * np.sqrt(self.residual_df))

    def spread_components(self) -> int:
        """The first components whose scores vary within classes beyond those before them."""
        # What rounding leaves of a product of the table with a rotation.
        reach = np.sqrt(self.latent.x_total * (self.latent.rotations**2).sum(axis=0))
        slack = 10 * max(len(self.unit), len(self.within)) * EPS * reach
        still = np.abs(np.diagonal(self.within)) <= slack
        return int(np.argmax(still)) if still.any() else len(still)

    def transform(self, x: Floats) -> Floats:
        """Scores (m, a) of rows (m, p)."""
        z = standard_columns(x, self.origin, self.moments.scale) - self.centre[:, None]
        return np.asarray(z.T @ self._turn())

    def slopes(self) -> Floats:
        """Slopes (p, K) of the indicators, as zeros and ones, on z."""
        return self._turn() @ (self.latent.y_loadings * self.sizes[:, None]).T

    def regression(self) -> tuple[Floats, Floats]:
        """Coefficients (p, K) and constants (K,) of the indicators in the units of the data."""
        slopes, scale = self.slopes(), self.moments.scale
        return slopes * scale[:, None], self.shares - (self.origin * scale + self.centre) @ slopes

    def fitted_rule(self) -> LinearRule:
        """The fitted indicators as scores."""
        slopes = self.slopes()
        return LinearRule(self.origin, self.moments.scale, slopes, self.shares - self.centre @ slopes)

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """The decision rule under a prior (K,), which "lda" alone has.

        Raises
        ------
        NotSupportedError
            Another method than "plugin".
        """
        if method != "plugin":
            raise NotSupportedError(f'method="{method}" is not defined for scores of PLS: use "plugin".')
        if self.decides == "max":
            return self.fitted_rule()
        by_lda = self.decides == "lda"
        axes = self._turn() @ self.whitening() if by_lda else self._turn()
        moments = self.moments
        means = Means(moments.centres, moments.rests, moments.scale, lambda z: axes.T @ z, lambda y: axes @ y)
        constant = log_prior if by_lda else np.zeros(len(self.prior))
        typical = np.sqrt(moments.squares.sum(axis=0) / moments.total)
        return uncentred(nearest_mean_rule(means, self.origin, constant), typical)

    def along(self, x: Floats, log_prior: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Scores (m, K) of the rule, and fitted indicators (m, K), with one component, two and so on."""
        t, centroids = self.transform(x), self.centroids
        fitted = np.repeat(self.shares[None], len(x), axis=0)
        scores = np.repeat((log_prior if self.decides == "lda" else 0.0 * log_prior)[None], len(x), axis=0)
        loadings = self.latent.y_loadings * self.sizes[:, None]
        y = t
        if self.decides == "lda":
            # The columns of a triangular inverse do not depend on those after them.
            whitening = self.whitening()
            y, centroids = t @ whitening, centroids @ whitening
        for j in range(self.components):
            fitted += np.outer(t[:, j], loadings[:, j])
            scores += np.outer(y[:, j], centroids[:, j]) - centroids[:, j] ** 2 / 2
            yield fitted if self.decides == "max" else scores, fitted

    def refit(self, moments: ClassMoments) -> PLSFit | None:
        """The same model of other rows, prior and number of components held; None where it has none."""
        if (moments.rows < 1).any() or moments.total <= moments.n_classes:
            return None
        found = self.refit_up_to(moments, self.components)
        return found if found is not None and found.components == self.components else None

    def refit_up_to(self, moments: ClassMoments, most: int) -> PLSFit | None:
        """The same of other rows, with as many components as there are up to a number; None without any."""
        found = fit_pls(
            moments,
            self.prior,
            components=most,
            algorithm=self.algorithm,
            scale=self.scale,
            indicators=self.indicators,
            decides=self.decides,
            estimated_prior=self.estimated_prior,
        )
        least = found.components if self.decides != "lda" else found.spread_components()
        return found.with_components(least) if least else None

    def with_components(self, count: int) -> PLSFit:
        """The same with the first few components."""
        if count == self.components:
            return self
        held = self.within[:count, :count]
        return replace(self, components=count, latent=self.latent.first(count), within=held)

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them, the number of components held."""
        table = tables_of(self.moments, scale=self.scale, indicators=self.indicators).columns
        whole = Whole(
            self.moments, self.origin, self.centre, self.unit, table, self.components, self.algorithm,
            self.decides, self.scale, self.indicators == "scaled",
        )  # fmt: skip
        return lambda x, codes, weights: left_out_scores(whole, x, codes, weights, log_prior)

    def llf(self) -> float:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError(
            "Partial least squares does not maximise a likelihood: compare by error_rates(['cv'])."
        )

    def df_model(self) -> int:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError(
            "Partial least squares has no count of free parameters, nor AIC and BIC: compare by "
            "error_rates(['cv'])."
        )


def fit_pls(
    moments: ClassMoments,
    prior: Floats,
    *,
    components: int,
    algorithm: Algorithm = "nipals",
    scale: bool = True,
    indicators: Indicators = "scaled",
    decides: Decides = "lda",
    estimated_prior: bool = True,
    found: Found | None = None,
) -> PLSFit:
    """Fit from pooled moments, or from those with a thin root; with fewer components where there are fewer.

    Parameters
    ----------
    moments : ClassMoments
        Of more rows than classes.
    prior : (K,) float
    components : int
    algorithm : {"nipals", "simpls"}
    scale : bool
    indicators : {"scaled", "centred"}
    decides : {"lda", "max", "centroid"}
    estimated_prior : bool
    found : callable, optional
        What finds the components in the place of the algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 1.0], [2.0, 2.0], [6.0, 1.0], [8.0, 3.0]])
    >>> moments = ClassMoments.from_block(x, np.array([0, 0, 1, 1]), n_classes=2)
    >>> fit = fit_pls(moments, np.array([0.5, 0.5]), components=1, decides="max")
    >>> fit.latent.weights.ravel().round(4).tolist()
    [0.953, 0.3029]
    >>> fit.fitted_rule().scores(x).round(2).tolist()
    [[1.05, -0.05], [0.69, 0.31], [0.38, 0.62], [-0.12, 1.12]]
    """
    if not scale:
        moments = comparable(moments)
    origin, _ = centred(moments, weighted_centre(moments.means, moments.counts))
    centre = weighted_centre(moments.means_from(origin), moments.counts)
    tables = tables_of(moments, scale=scale, indicators=indicators)
    look = found or (lambda a, b: latent(a, b, components, algorithm))
    held = look(tables.columns, tables.indicators)
    root = tables.columns[moments.n_classes :] @ held.rotations
    within = _square(np.asarray(np.linalg.qr(root, mode="r")), held.count)
    return PLSFit(
        moments,
        prior,
        estimated_prior,
        held.count,
        algorithm,
        scale,
        indicators,
        decides,
        tables.unit,
        tables.sizes,
        held,
        within,
        origin,
        centre,
    )


def _square(triangle: Floats, count: int) -> Floats:
    """A triangle of fewer rows than columns with rows of zeros below."""
    return np.concatenate([triangle, np.zeros((count - len(triangle), count))])


def tables_of(moments: ClassMoments, *, scale: bool, indicators: Indicators) -> Tables:
    """The tables that stand for all rows; those within classes come after the K of the means.

    Parameters
    ----------
    moments : ClassMoments
    scale : bool
    indicators : {"scaled", "centred"}
    """
    counts, total = moments.counts, moments.total
    means = moments.means
    heights = np.sqrt(counts)[:, None]
    unit = 1.0 / moments.common_unit
    if scale:
        unit = np.sqrt(total_squares(moments) / (total - 1))
        unit[constant_columns(moments)] = np.inf
    columns = np.concatenate([heights * (means - weighted_centre(means, counts)), _root(moments)]) / unit
    sizes = np.ones(len(counts))
    if indicators == "scaled":
        sizes = np.sqrt(counts * (1 - counts / total) / (total - 1))
        sizes[sizes == 0] = 1.0
    responses = np.zeros((len(columns), len(counts)))
    responses[: len(counts)] = heights * (np.eye(len(counts)) - counts / total) / sizes
    return Tables(columns, responses, unit, sizes)


def _root(moments: ClassMoments) -> Floats:
    """A root (r, p) of the scatter within classes; columns may be constant within these."""
    whole = moments.pooled()
    if whole.roots is not None:
        return np.asarray(whole.roots[0])
    scatter = whole.scatters[0]
    varies = np.flatnonzero(np.diagonal(scatter) > 0)
    root: Floats = np.zeros(scatter.shape)
    root[np.ix_(varies, varies)] = scaled_cholesky(scatter[np.ix_(varies, varies)])
    return root
