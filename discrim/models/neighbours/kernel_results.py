"""What a fit of kernel densities gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from discrim.core.neighbours.kernel_density import KernelDensityFit
from discrim.core.rules.rules import logs_of_prior
from discrim.frame.unseen import Unseen
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.prediction import posterior_frame
from discrim.models.fits.tuning import held_path
from discrim.models.neighbours.kernel_fits import MODEL, SAVED
from discrim.models.results.group_summary import group_summary
from discrim.models.results.results import ClassifierResults

__all__ = ["MODEL", "SAVED", "KernelDensityResults"]


class KernelDensityResults(ClassifierResults):
    """A fit of kernel densities.

    Attributes
    ----------
    bandwidth : Series by class
        Radii of the kernels in the metric.
    kernel, metric : str
        As they were given.
    means : DataFrame, classes by terms
        Class means.
    path : DataFrame
        The errors of a choice by leave-one-out: bandwidth, error, se, llf.
    """

    _fit: Fit[KernelDensityFit]

    @property
    def bandwidth(self) -> pd.Series:
        """Radius of the kernels of each class, in the metric."""
        return pd.Series(self._fit.numbers.radii, index=self.classes, name="bandwidth")

    @property
    def kernel(self) -> str:
        """Shape of the kernels."""
        return self._fit.numbers.kernel

    @property
    def metric(self) -> str:
        """How distances are measured."""
        return self._fit.numbers.metric

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        return self._fit.class_means()

    @property
    @displayed(se="share")
    def path(self) -> pd.DataFrame:
        """Error of the rows left out, and their log-likelihood given the classes, by bandwidth.

        Rows that are equal in all columns are left out together, as the choice does it, so that the error is
        that of `error_rates(["loo"])` only where all rows differ. The number of rows, or their weight, that
        equal another one is in `attrs["equal_rows"]`.

        Raises
        ------
        NotSupportedError
            The bandwidth was given, or the fit was loaded.
        """
        why = "as the bandwidth was given, or the fit was loaded"
        return held_path(self._fit, why, "fit without bandwidth= to have it chosen")

    def log_densities(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Log densities of the classes at rows.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.

        Returns
        -------
        DataFrame, rows by classes
            Minus infinity where no kernel of the class reaches the row; missing where the row has a missing
            value. The densities at rows of the fit include the rows' own kernels.

        Examples
        --------
        >>> from discrim import kernel_density
        >>> from discrim.datasets import load_iris
        >>> fit = kernel_density("species ~ petal_length", load_iris(), bandwidth=0.5, kernel="uniform")
        >>> fit.log_densities().iloc[0].round(3).tolist()
        [0.669, -inf, -inf]
        """
        blocks = self._fit.new_rows(data, Gaps(unseen))
        flat = self._fit.numbers.rule(logs_of_prior(np.ones(len(self.classes))))
        return posterior_frame(blocks, flat, self.classes, np.asarray)

    @displayed()
    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total")."""
        return group_summary(self._fit)

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each class: prior, rows, bandwidth."""
        table = pd.DataFrame({"prior": self.prior, "rows": self.counts, "bandwidth": self.bandwidth})
        return table.rename_axis("class").reset_index()

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        radii = self._fit.numbers.radii
        own = {
            "kernel": self.kernel,
            "metric": self.metric,
            "covariance": "pooled" if self._fit.numbers.common else "class",
            "bandwidth": float(radii[0]) if (radii == radii[0]).all() else np.nan,
        }
        return pd.DataFrame([self._sizes() | own])
