"""What a fit says of single rows, beyond their labels and posteriors: a parent of `ClassifierResults`."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd

from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import check_word

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
