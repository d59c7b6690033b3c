"""What a mixture discriminant analysis gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.mixtures.forms import form_of
from discrim.core.mixtures.mixture import MixtureFit
from discrim.core.rules.rules import log_posteriors, logs_of_prior
from discrim.errors import NotSupportedError
from discrim.frame.unseen import Unseen
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.tuning import held_path
from discrim.models.mixtures.mixture_fits import MODEL, SAVED
from discrim.models.results.group_summary import group_summary
from discrim.models.results.results import ClassifierResults

__all__ = ["MODEL", "SAVED", "MixtureResults"]

Floats = NDArray[np.float64]


class MixtureResults(ClassifierResults):
    """A fit of mixtures of normals.

    Attributes
    ----------
    components : Series by class
        Number of components of each class.
    covariance : Series by class
        Form of the covariances in mclust's letters. All letters but I are X where a class has one component
        with a covariance of its own.
    shares : Series by (class, component)
        Shares of the components in the rows of their class. The components are numbered from the largest
        share on.
    component_means : DataFrame, (class, component) by terms
        Means of the components.
    covs : dict of (class, component) to DataFrame
        Covariances of the components; the divisor is the weight of the component.
    logdet : Series by (class, component)
        Log-determinants of these covariances.
    means : DataFrame, classes by terms
        Means of the rows of the classes.
    llf, aic, bic : float
        Log-likelihood of class and row, and its criteria, of which smaller values are better.
    llf_given, llf_rows : float
        Log-likelihood of the rows given their classes, and of the rows whatever their classes, as mclust
        prints it.
    df_model : int
        Number of free parameters.
    path : DataFrame
        What BIC chose from: class, components, covariance, df, llf, BIC, chosen.
    converged : bool
        Whether EM converged.
    runs : DataFrame by class
        From how many starts EM was run to the end, and how many of these runs reached the maximum.
    """

    _fit: Fit[MixtureFit]

    @property
    def components(self) -> pd.Series:
        """How many components each class has."""
        return pd.Series(list(self._fit.numbers.sizes), index=self.classes, name="components")

    @property
    def covariance(self) -> pd.Series:
        """The form of the covariances of each class."""
        numbers = self._fit.numbers
        shown = [
            form if numbers.together else form_of(form, size)
            for form, size in zip(numbers.forms, numbers.sizes, strict=True)
        ]
        return pd.Series(shown, index=self.classes, name="covariance")

    @property
    def _index(self) -> pd.MultiIndex:
        """(class, component), in the order in which components are numbered."""
        numbers = [number for size in self._fit.numbers.sizes for number in range(1, size + 1)]
        labels = self.classes.take(self._fit.numbers.owner)
        return pd.MultiIndex.from_arrays([labels, numbers], names=[self.classes.name or "class", "component"])

    @property
    def _order(self) -> NDArray[np.intp]:
        """Positions of the components, class by class, the largest share first."""
        numbers = self._fit.numbers
        return np.lexsort((-numbers.components.shares, numbers.owner))

    @property
    def shares(self) -> pd.Series:
        """Shares of the components in their classes."""
        return pd.Series(self._fit.numbers.components.shares[self._order], index=self._index, name="share")

    @property
    def component_means(self) -> pd.DataFrame:
        """Means of the components."""
        return pd.DataFrame(self._fit.numbers.means()[self._order], index=self._index, columns=self.terms)

    @property
    def covs(self) -> dict[Any, pd.DataFrame]:
        """Covariances of the components."""
        numbers = self._fit.numbers
        return {
            key: pd.DataFrame(numbers.component_covariance(g), index=self.terms, columns=self.terms)
            for key, g in zip(self._index, self._order.tolist(), strict=True)
        }

    @property
    def logdet(self) -> pd.Series:
        """Log-determinants of the components' covariances."""
        numbers = self._fit.numbers
        units = 2.0 * np.log(numbers.scale).sum()
        values = np.array([held.logdet for held in numbers.components.covariances]) - units
        return pd.Series(values[self._order], index=self._index, name="logdet")

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        return self._fit.class_means()

    @property
    def llf_given(self) -> float:
        """Log-likelihood of the rows given their classes."""
        return self._fit.numbers.llf_given

    @property
    def llf_rows(self) -> float:
        """Log-likelihood of the rows whatever their classes, under the fit's prior."""
        return self._fit.numbers.llf_rows

    @property
    def converged(self) -> bool:
        """Whether EM converged."""
        return self._fit.numbers.converged

    @property
    @displayed()
    def runs(self) -> pd.DataFrame:
        """How far the starts of EM agree, by class: "runs" to the end, and how many "reached" the maximum.

        A run has reached it where its log-likelihood is within a thousand times `tol=` a row of the largest.
        Of classes of more than 2,000 rows there is one run to the end, from the best of short ones.

        Raises
        ------
        NotSupportedError
            The fit is from a file of an earlier release, which does not hold these numbers.
        """
        tried = self._fit.numbers.tried
        if tried is None:
            raise NotSupportedError("This file does not hold the runs of EM: fit again for them.")
        return pd.DataFrame(tried.astype(np.int64), index=self.classes, columns=["runs", "reached"])

    @property
    @displayed()
    def path(self) -> pd.DataFrame:
        """What BIC chose from; a smaller BIC is better, and it is missing where EM found no maximum.

        Raises
        ------
        NotSupportedError
            Components and covariances were given, or the fit was loaded.
        """
        why = "as components and covariances were given, or the fit was loaded"
        return held_path(self._fit, why, 'fit with components="bic" or covariance="bic" to have them chosen')

    def component_posteriors(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Posterior probabilities of the components of all classes.

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
        DataFrame, rows by (class, component)
            The sum over the components of a class is its posterior. A row with a missing value is missing.

        Examples
        --------
        >>> from discrim import mixture
        >>> from discrim.datasets import load_iris
        >>> fit = mixture("species ~ .", load_iris(), components=2, covariance="pooled")
        >>> fit.component_posteriors().iloc[100].round(3).tolist()
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        """
        blocks = self._fit.new_rows(data, Gaps(unseen))
        rule = self._fit.numbers.rule(logs_of_prior(self._fit.prior_values()))
        found = np.full((blocks.table.nrows, len(self._order)), np.nan)
        for place, x, missing in blocks.every_row():
            known = slice(None) if missing is None else ~missing
            part = np.full((len(x), len(self._order)), np.nan)
            if len(x[known]):
                part[known] = np.exp(log_posteriors(rule.components.scores(x[known])))
            found[place] = part
        return pd.DataFrame(found[:, self._order], index=blocks.table.index, columns=self._index)

    # ---- tables

    @displayed()
    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total")."""
        return group_summary(self._fit)

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each class, component and term: share, mean and standard deviation."""
        p, index = len(self.terms), self._index
        sd = [np.sqrt(np.diagonal(cov)) for cov in self.covs.values()]
        columns = {
            "class": index.get_level_values(0).repeat(p),
            "component": index.get_level_values(1).repeat(p),
            "share": self.shares.to_numpy().repeat(p),
            "term": list(self.terms) * len(index),
            "mean": self.component_means.to_numpy().ravel(),
            "sd": np.ravel(sd),
        }
        return pd.DataFrame(columns)

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        numbers = self._fit.numbers
        forms = self.covariance.unique()
        own = {
            "components": sum(numbers.sizes),
            "covariance": forms[0] if len(forms) == 1 else ",".join(self.covariance),
            "llf_given": self.llf_given,
            "llf_rows": self.llf_rows,
        }
        return pd.DataFrame([self._glance() | own])
