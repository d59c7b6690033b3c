"""Canonical variates of a linear discriminant analysis, and their bootstrap stability.

Classes are weighted by their rows, independently of the prior of the fit, and the covariance within classes
has divisor N - K: eigenvalues, tests and coefficients are those that SAS, Stata, SPSS and R print. The
stability of an axis is measured by its rotation in bootstrap samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.covariance.principal import CanonicalAxes, svd_signs
from discrim.core.discriminant.lda import LDAFit
from discrim.core.moments.moments import too_little_weight_error
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules import gaussian
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.errors import NotSupportedError
from discrim.inference.error_rates import check_level
from discrim.inference.manova import dimension_table
from discrim.inference.mean_differences import between_squares
from discrim.models.base.available import available_if
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy
from discrim.models.base.reading import Data, Structure, check_word, class_moments
from discrim.models.evaluation.validation import BootstrapSamples
from discrim.models.registry import summary_of

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary


def axis_stability(
    fit: FittedModel[LDAFit],
    axes: CanonicalAxes,
    names: pd.Index,
    replicates: int,
    level: float,
    seed: int | None,
) -> pd.DataFrame:
    """Return the stability of canonical axes in bootstrap samples; see `CanonicalResults.stability`.

    Parameters
    ----------
    fit : FittedModel
    axes : CanonicalAxes
        Axes of the fit.
    names : Index of length r
        Names of the axes.
    replicates : int
        Number of bootstrap samples.
    level : float
        Level of the intervals.
    seed : int or None
        Seed of the random numbers.

    Returns
    -------
    DataFrame by axis
        `eigenvalue` of the fit; its bootstrap standard error `se` and percentiles `low` and `high`; median
        `cosine`, and (1 - level)-quantile `cosine_low`, of the absolute cosines with the axes of the same
        rank in the samples; and `same_rank`, the share of samples in which no other axis is closer. An axis
        that a sample lacks has eigenvalue and cosine zero.
    """
    check_level(level)
    samples = BootstrapSamples(fit.require_rows("stability()"), replicates, seed)
    root = fit.estimates.unbiased_covariance().root
    rank = len(names)
    axes_of_fit = root @ axes.axes
    roots = np.zeros((replicates, rank))
    cosines = np.zeros((replicates, rank, rank))

    def refit_sample(sample: DesignRows) -> LDAFit | None:
        """Return the estimates of the fit's model from a sample; None if its covariance is singular."""
        return fit.estimates.refit(class_moments(sample, "pooled"))

    with Progress(replicates, "bootstrap of the axes") as progress:
        for i in range(replicates):
            sample_fit, _ = samples.fit_sample(refit_sample)
            sample_axes = sample_fit.canonical()
            # In the units of the fit's moments, under whose covariance its axes are orthonormal.
            rotated = root @ (
                sample_axes.axes[:, :rank] * (sample_fit.moments.scale / fit.estimates.moments.scale)[:, None]
            )
            rotated = rotated / np.sqrt((rotated**2).sum(axis=0))
            count = rotated.shape[1]
            roots[i, :count] = sample_axes.singular_values[:rank] ** 2
            cosines[i, :, :count] = np.abs(axes_of_fit.T @ rotated)
            progress(1)
    tail = (1 - level) / 2
    matching_cosines = np.diagonal(cosines, axis1=1, axis2=2)
    table = pd.DataFrame(index=names)
    table["eigenvalue"] = axes.singular_values**2
    table["se"] = roots.std(axis=0, ddof=1)
    table["low"], table["high"] = np.quantile(roots, [tail, 1 - tail], axis=0)
    table["cosine"], table["cosine_low"] = (
        np.median(matching_cosines, axis=0),
        np.quantile(matching_cosines, 1 - level, axis=0),
    )
    table["same_rank"] = (matching_cosines >= cosines.max(axis=2)).mean(axis=0)
    return table


Convention = Literal["mass", "stata", "sas", "spss", "sklearn"]


class System(NamedTuple):
    """Conventions of a statistical package for scale, signs and names of canonical axes.

    Attributes
    ----------
    name : str
        Name of the package; empty for the conventions of this one.
    axis : str
        Prefix of the names of the axes.
    by_svd : bool
        Whether signs are as the singular value decomposition leaves them; otherwise the largest standardized
        coefficient of an axis is positive.
    divisor_n : bool
        Whether the variance within classes is one with the divisor N instead of N - K.
    """

    name: str
    axis: str
    by_svd: bool = False
    divisor_n: bool = False

    def description(self, n_covariates: int = 0) -> str:
        """Describe the scale and signs of the axes in a sentence, for notes below tables.

        `n_covariates` is subtracted from the divisor N - K, but not from N.
        """
        signs = "those of the SVD" if self.by_svd else "largest standardized coefficient positive"
        whose = f"As {self.name}: u" if self.name else "U"
        divisor = "N" if self.divisor_n else f"N-K-{n_covariates}" if n_covariates else "N-K"
        return f"{whose}nit variance within classes, divisor {divisor}; signs: {signs}"


DEFAULT_SYSTEM = System("", "LD")
"""Conventions of this package."""
SYSTEMS: dict[Convention, System] = {
    "mass": System("R's MASS", "LD", by_svd=True),
    "stata": System("Stata", "function"),
    "sas": System("SAS", "Can"),
    "spss": System("SPSS", "Function "),
    "sklearn": System("scikit-learn 1.9", "LD", by_svd=True, divisor_n=True),
}
"""Conventions of other packages by the option `convention`."""


class CanonicalResults(SummarizedResults):
    """Canonical variates of a linear discriminant analysis.

    The axes are named LD1, LD2, ..., or as the system of the convention names them.

    Parameters
    ----------
    fit : FittedModel
        Fit of `lda` with a full covariance; for other covariances NotSupportedError is raised.
    convention : {"mass", "stata", "sas", "spss", "sklearn"}, optional

    Attributes
    ----------
    convention : str or None
        The system whose scale, signs and names of the axes all tables have; None stands for the package's
        own.
    """

    _FIRST_SECTIONS = ("correlations", "dimensions", "raw", "centroids")

    def __init__(self, fit: FittedModel[LDAFit], convention: Convention | None = None) -> None:
        estimates = fit.estimates
        if not estimates.has_tests:
            raise NotSupportedError(
                "canonical() requires the full covariance.",
                hint='Fit with covariance="pooled", and without components=.',
            )
        if convention is not None:
            check_word("convention", convention, Convention)
        self.convention = convention
        self._system = SYSTEMS[convention] if convention is not None else DEFAULT_SYSTEM
        self._fit = fit
        self._estimates = estimates
        self._covariance, self._axes = estimates.within_covariance(), estimates.canonical()
        rank = len(self._axes.singular_values)
        self._names = pd.Index([f"{self._system.axis}{i + 1}" for i in range(rank)])
        self._factor = np.ones(rank)
        if self._system.by_svd:
            proportions = estimates.moments.counts / estimates.moments.total
            self._factor = svd_signs(estimates.moments.means, self._covariance, proportions, self._axes.axes)
        if self._system.divisor_n:
            self._factor = self._factor * np.sqrt(estimates.moments.total / estimates.within_divisor)

    @property
    def eigenvalues(self) -> pd.Series:
        """Eigenvalues of W^-1 B, W and B the scatters within and between classes, by LD1, LD2, ..."""
        return self._by_axis(self._axes.singular_values**2, "eigenvalue")

    @property
    def proportion(self) -> pd.Series:
        """Share of each eigenvalue in their sum, by LD1, LD2, ..."""
        return (self.eigenvalues / self.eigenvalues.sum()).rename("proportion")

    @property
    def cumulative(self) -> pd.Series:
        """Share of the leading eigenvalues in their sum, by LD1, LD2, ..."""
        return self.proportion.cumsum().rename("cumulative")

    @property
    def correlations(self) -> pd.Series:
        """Canonical correlations of the columns with the classes, by LD1, LD2, ...

        They are the square roots of eigenvalue/(1 + eigenvalue).
        """
        roots = self._axes.singular_values**2
        return self._by_axis(np.sqrt(roots / (1 + roots)), "correlation")

    @property
    @with_display_formats()
    def dimension_tests(self) -> pd.DataFrame:
        """Sequential tests that this and all later axes have eigenvalue zero, by axis.

        The columns are wilks (Wilks' lambda), F, df1, df2 and p of Rao's approximation, and chi2, df and
        p_chi2 of Bartlett's.
        """
        table = dimension_table(self._axes.singular_values**2, *self._estimates.test_sizes)
        return table.set_axis(self._names, axis=0)

    @property
    def raw(self) -> pd.DataFrame:
        """Coefficients of the columns in their own units, terms by LD1, LD2, ...

        The scores have unit variance within classes.
        """
        return self._coefficients(self._estimates.moments.scale)

    @property
    def constant(self) -> pd.Series:
        """Minus the score of the mean of all rows, by LD1, LD2, ...

        With this constant, the scores have mean zero over the rows.
        """
        moments = self._estimates.moments
        grand = moments.origin * moments.scale + self._axes.centre
        return self._by_axis(-(grand @ self._axes.axes) * self._factor, "constant")

    @property
    def standardized(self) -> pd.DataFrame:
        """Coefficients of columns of unit variance within classes (divisor N - K), terms by axes."""
        return self._coefficients(self._covariance.sd)

    @property
    @available_if(lambda self: self._raise_if_covariates("standardized_total"))
    def standardized_total(self) -> pd.DataFrame:
        """Coefficients of columns of unit variance over all rows (divisor N - 1), terms by LD1, LD2, ...

        Fits that adjust columns for covariates do not have them.
        """
        total = self._estimates.moments.total
        if total <= 1:
            raise too_little_weight_error(total, len(self._fit.classes), len(self._fit.terms))
        squares = self._estimates.within_divisor * self._covariance.sd**2
        squares += between_squares(self._estimates.moments)
        return self._coefficients(np.asarray(np.sqrt(squares / (total - 1))))

    def _raise_if_covariates(self, name: str) -> None:
        """Raise NotSupportedError, which names the attribute `name`, if the fit adjusts for covariates."""
        if self._estimates.covariates:
            raise NotSupportedError(
                f"{name} uses the total covariance, and the columns of this fit are adjusted for "
                "covariates within classes.",
                hint='See standardized and structure("within").',
            )

    @property
    def centroids(self) -> pd.DataFrame:
        """Mean scores of the classes, classes by LD1, LD2, ..."""
        return pd.DataFrame(self._axes.scores * self._factor, index=self._fit.classes, columns=self._names)

    def structure(self, kind: Structure = "within") -> pd.DataFrame:
        """Correlations of the columns with the canonical scores.

        Parameters
        ----------
        kind : {"within", "total", "between"}
            "within": pooled within classes (Stata and SPSS), "total": over all rows (R's candisc), "between":
            of the class means weighted by their rows.

        Returns
        -------
        DataFrame, terms by axes
            Correlations; "between" is NaN for a column whose class means are equal.

        Raises
        ------
        NotSupportedError
            "total" or "between" is used with a fit that adjusts columns for covariates.
        """
        check_word("kind", kind, Structure)
        if kind != "within":
            self._raise_if_covariates(f'structure("{kind}")')
        nu = self._estimates.within_divisor
        roots = self._axes.singular_values**2
        # S a: covariances within classes of columns and scores, whose variance is one.
        shared = self._covariance.multiply(self._axes.axes) * np.sign(self._factor)
        if kind == "within":
            return self._by_term(shared / self._covariance.sd[:, None])
        if kind == "total":
            squares = nu * self._covariance.sd**2 + between_squares(self._estimates.moments)
            return self._by_term(shared * np.sqrt(nu * (1 + roots) / squares[:, None]))
        with np.errstate(divide="ignore", invalid="ignore"):
            between = np.sqrt(between_squares(self._estimates.moments))
            return self._by_term(shared * np.sqrt(nu * roots) / between[:, None])

    def scores(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Canonical scores of rows: mean zero over the rows of the fit, unit variance within classes.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame (rows, axes)
            With the index of the rows; missing for a row with a missing value.
        """
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        origin, _ = gaussian.move_origin(self._estimates.moments, self._axes.centre)
        raw = self.raw.to_numpy()
        out = np.empty((len(self._names), design_rows.table.nrows))
        for row_slice, x, _ in design_rows.iter_all_rows():
            out[:, row_slice] = raw.T @ (x.T - origin[:, None])
        return pd.DataFrame(out.T, index=design_rows.table.index, columns=self._names)

    def coef(self, convention: Convention | None = None) -> pd.DataFrame:
        """Raw coefficients, with the constant, in the convention of a system.

        Parameters
        ----------
        convention : {"mass", "stata", "sas", "spss", "sklearn"}, optional
            The system. By default the system of the other tables, or "mass" if these use the package's
            own. R's MASS and scikit-learn (solver "svd") have the signs that the singular value decomposition
            leaves. Stata, SAS and SPSS document no rule of signs; here the largest standardized coefficient
            of an axis is then positive. This solver of scikit-learn has the divisor N since
            version 1.9; before, it had N - K, so that "mass" has the numbers of those versions. MASS and
            scikit-learn print no constant; the one here centres the scores.

        Returns
        -------
        DataFrame
            "constant" and the terms, by axis under the system's names.
        """
        theirs = CanonicalResults(self._fit, convention or self.convention or "mass")
        return pd.concat([theirs.constant.to_frame("constant").T, theirs.raw])

    @available_if(lambda self: self._fit.require_rows("stability()"))
    @with_display_formats()
    def stability(
        self, replicates: int = 199, *, level: float = 0.95, seed: int | None = None
    ) -> pd.DataFrame:
        """How well the rows determine each axis, by the bootstrap within classes.

        Parameters
        ----------
        replicates : int
            Number of samples of the bootstrap.
        level : float
            Level of the intervals: 0.95 stands for 95 percent. They are between percentiles. Eigenvalues
            of few rows are too large, and eigenvalues of resampled rows are larger still. Therefore intervals
            begin above the true value more often than their level implies: in one of four simulations with
            50 rows of two classes.
        seed : int, optional
            Seed of the bootstrap.

        Returns
        -------
        DataFrame
            By axis: the `eigenvalue` with its standard error `se` and interval, `low` and `high`; the
            absolute `cosine` within classes between the axis and the axis of the same rank in a replicate,
            as median, and its lower bound `cosine_low`; and `same_rank`, the share of replicates in which no
            other axis is closer.
        """
        return axis_stability(self._fit, self._axes, self._names, replicates, level, seed)

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables wanted, in order: "correlations", "dimensions", "raw", "standardized",
            "standardized_total", "structure_within", "structure_total", "structure_between" and "centroids";
            by default all. Fits that adjust columns for covariates lack total and between tables.

        Returns
        -------
        Summary
            Its `tables` have the unrounded numbers.
        """
        summary: Summary = summary_of(self, sections)
        return summary

    def plot(
        self,
        structure: Structure = "within",
        *,
        ax: Axes | None = None,
        data: Data | None = None,
        axes: Sequence[str] | None = None,
        colors: Any = None,
        title: str | None = None,
    ) -> Axes:
        """Biplot: scores, class means with 95 % circles, and the columns as arrows of their structure.

        Parameters
        ----------
        structure : {"within", "total", "between"}
            Which correlations the arrows show; see the method `structure`.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default a new figure.
        data : table, optional
            New observations with their response. By default the data of the fit.
        axes : two names of discriminants, optional
            Axes of the picture, such as ("LD1", "LD3"); by default the first two.
        colors : mapping, sequence, str or Colormap, optional
            Colours by class, in the order of the classes, or a colormap of matplotlib or its name.
        title : str, optional
            Title in place of the picture's own; "" for none.

        Returns
        -------
        Axes
            The axes on which the picture is drawn.
        """
        from discrim.models.plots.plottable import PlotOptions, check_names_option
        from discrim.models.plots.spaces import draw_canonical_biplot

        axes = check_names_option("axes", axes)
        options = PlotOptions(ax=ax, data=data, axes=axes, structure=structure, colors=colors, title=title)
        plot_axes = draw_canonical_biplot(self, options)
        if title is not None:
            plot_axes.set_title(title)
        return plot_axes

    def _coefficients(self, unit: Floats) -> pd.DataFrame:
        """Return the coefficients, terms by axes, of columns that are divided by units (p,)."""
        return self._by_term(self._axes.axes * self._factor * unit[:, None])

    def _by_term(self, values: Floats) -> pd.DataFrame:
        """Return values (p, r) as a DataFrame, terms by axes."""
        return pd.DataFrame(values, index=self._fit.terms, columns=self._names)

    def _by_axis(self, values: Floats, name: str) -> pd.Series:
        """Return values (r,) as a Series by axis."""
        return pd.Series(values, index=self._names, name=name)
