"""The Bayes classifier of a known law: where prior and densities are known nothing has to be estimated.

The rule that gives x the class of the largest posterior errs least of all rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discrim.errors import DataError
from discrim.inference.folds import generator
from discrim.models.law.bayes_input import known_law
from discrim.models.law.bayes_results import BayesResults

__all__ = ["bayes"]


def bayes(
    prior: Any,
    densities: Any,
    *,
    columns: Sequence[str] | None = None,
    response: str | None = None,
    costs: Any = None,
    draws: int = 65536,
    seed: int | None = 0,
) -> BayesResults:
    """The Bayes classifier of a known law.

    Parameters
    ----------
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for equal ones, because there are no rows to take
        proportions of.
    densities : DataFrame of P(x | class), classes by values; or dict of distributions by class
        The columns of a DataFrame are the values of x; a MultiIndex has the values of several columns.
        Distributions are frozen ones of `scipy.stats`, of one variable or of rows, all continuous or all
        discrete; or functions of one variable that return its density. Their order is that of the classes.
    columns : sequence of str, optional
        Names of the columns of x. By default those of the table, or else "x", or "x1", "x2", ...
    response : str, optional
        Name of the class in samples. By default that of the table's index, or else "y".
    costs : DataFrame or (K, K) array, optional
        Cost of giving a row of one class (row) the label of another (column). The label of least expected
        cost is then given. `error_rate` is then the mean cost.
    draws : int
        Number of random points for each class, where densities of rows have no closed form.
    seed : int, optional
        Seed of these points.

    Returns
    -------
    BayesResults

    Raises
    ------
    PriorError
        The prior is not a distribution over the classes that have densities.
    DataError
        Probabilities do not sum to one, a density does not integrate to one, names of classes overlap, or
        distributions cannot be combined.

    Notes
    -----
    Devroye, Gyorfi & Lugosi (1996, A Probabilistic Theory of Pattern Recognition, ch. 2) show that no rule
    has a smaller error.

    Examples
    --------
    >>> import pandas as pd
    >>> from discrim import bayes
    >>> table = pd.DataFrame([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], index=["a", "b"], columns=[1, 2, 3])
    >>> law = bayes({"a": 0.5, "b": 0.5}, table)
    >>> law.predict([1, 2, 3]).tolist(), round(law.error_rate, 12)
    (['a', 'b', 'b'], 0.2)
    >>> round(float(law.risk(pd.Series(["a", "a", "b"], index=[1, 2, 3]))["excess"]), 12)
    0.05

    >>> from scipy.stats import norm
    >>> law = bayes(None, {"a": norm(0, 1), "b": norm(2, 1)})
    >>> round(law.error_rate, 6), law.error_bound
    (0.158655, 0.0)
    """
    generator(seed)
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 64:
        raise DataError(f"draws={draws!r}: give a number of random points, 64 or more.")
    known = known_law(densities, columns, response)
    return BayesResults(known, prior, costs, int(draws), seed)
