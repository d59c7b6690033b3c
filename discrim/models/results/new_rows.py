"""What a fit says of single rows, beyond their labels and posteriors: a parent of `ClassifierResults`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import check_word

if TYPE_CHECKING:
    from discrim.models.judging.estimated_prior import PriorEstimate

__all__ = ["NewRows"]


class NewRows:
    """How typical rows are of the classes, and how sure their posteriors."""

    def typicality(self: Any, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Probability that a row of the class lies as far from its mean or farther, rows by classes.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit, each judged by the others.
        unseen : optional
            As for `predict`.

        Returns
        -------
        DataFrame
            P(D2 > d2 | class), exact under normal classes.
        """
        from discrim.models.judging.single_rows import typicality

        return typicality(self._fit, data, unseen)

    def posterior_intervals(
        self: Any,
        data: Any = None,
        *,
        method: Literal["delta", "bootstrap"] = "delta",
        level: float = 0.95,
        replicates: int = 999,
        seed: int | None = None,
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        """Posteriors of rows with intervals that show how well the sample determines them.

        Parameters
        ----------
        data : table, optional
            New rows; the rows of the fit by default.
        method : {"delta", "bootstrap"}
            Normal intervals on the logit scale, from the asymptotic variance under the model; or percentiles
            of posteriors under fits to rows drawn again within classes.
        level : float
        replicates, seed : int
            Of the bootstrap.
        unseen : optional
            As for `predict`.

        Returns
        -------
        DataFrame
            Columns (class, "posterior" | "low" | "high").
        """
        from discrim.models.judging.single_rows import posterior_intervals

        check_word("method", method, ("delta", "bootstrap"))
        return posterior_intervals(self._fit, data, method, level, replicates, seed, unseen)

    def estimate_prior(
        self: Any,
        data: Any,
        *,
        tol: float = 1e-10,
        maxiter: int = 200,
        level: float = 0.95,
        interval: Literal["wald", "profile"] = "wald",
        weights: Any = None,
        unseen: Unseen | None = None,
    ) -> PriorEstimate:
        """Shares of the classes among rows whose classes are not known, by maximum likelihood.

        The rows within a class are taken to be as those of the fit, and the classes to come in another mix:
        what an unlabelled batch says of this mix is the prior that its rows are to be predicted with.

        Parameters
        ----------
        data : table, or source of tables
            The batch; a response in it is not read. Of a source the densities are held, rows by classes.
        tol : float
            The search ends where the slope of the mean log-likelihood along each share that is above zero is
            within this of its value at a maximum, and that along a share of zero above it by no more.
        maxiter : int
            Steps of EM (Saerens, Latinne & Decaestecker, 2002, Neural Computation 14, 21-41), of which the
            first are, and of Newton with the bound at zero, which follow.
        level : float
            Of the intervals.
        interval : {"wald", "profile"}
            Normal on the logit scale; or of the profile likelihood, which takes some searches for each class
            and has limits for shares of zero too.
        weights : column name, or vector of length n, optional
            Frequencies of the rows; of a source a column.
        unseen : optional
            As for `predict`.

        Returns
        -------
        PriorEstimate
            `prior`, `bse`, `table`, `test` (likelihood ratio against the fit's prior), `steps`, `converged`.
            Itself it may be passed as `prior=`, as in `predict(batch, prior=found)`.

        Raises
        ------
        DataError
            No row tells of the classes; an option is out of range; the densities are more than the memory.
        NotSupportedError
            The model has no posteriors.

        Warns
        -----
        DiscrimWarning
            The search did not converge.

        Notes
        -----
        The likelihood is concave, so that no other maximum is missed; what certifies it is in
        `discrim.inference.class_shares`. Densities are those of the fit: that these are estimated is not in
        the standard errors, and a model that is wrong of the classes is wrong of their shares. A class with a
        prior of zero in the fit is held at zero.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ .", data=iris)
        >>> found = fit.estimate_prior(iris[30:110])
        >>> found.prior.round(3).to_dict()
        {'setosa': 0.25, 'versicolor': 0.613, 'virginica': 0.137}
        >>> fit.predict(iris[30:110], prior=found).value_counts().tolist()
        [49, 20, 11]
        """
        from discrim.models.judging.estimated_prior import Search, estimated_prior

        return estimated_prior(self._fit, data, Search(tol, maxiter, level, interval), unseen, weights)
