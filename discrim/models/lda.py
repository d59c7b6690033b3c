"""Linear discriminant analysis: normal classes with one covariance."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from discrim.core.lda import LDAFit, fit_lda
from discrim.core.shrinkage import Structure, obstacles, spread_of
from discrim.errors import DataError, DiscrimWarning
from discrim.frame.blocks import read
from discrim.models.lda_results import LDAResults
from discrim.models.sample import (
    NaAction,
    choice,
    collinear_error,
    drop_columns,
    is_wide,
    prior_vector,
    refuse_few_rows,
    refuse_no_freedom,
    sample,
)

__all__ = ["lda"]


def lda(
    formula: str,
    data: Any,
    *,
    prior: Any = None,
    weights: Any = None,
    method: Literal["moment", "mle"] = "moment",
    covariance: Literal["pooled", "diagonal", "shrunk", "spherical", "pinv"] = "pooled",
    ncomp: int | None = None,
    collinear: Literal["raise", "drop"] = "raise",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LDAResults:
    """Linear discriminant analysis.

    Parameters
    ----------
    formula : str
        Response and predictors, `species ~ .`; see the README for the language.
    data : DataFrame, or any table narwhals knows
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities; None for the class proportions.
    weights : str or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column named here is not part of `.`.
    method : {"moment", "mle"}
        Divisor of the covariance: N - K, or N.
    covariance : {"pooled", "diagonal", "shrunk", "spherical", "pinv"}
        The full covariance within classes; its variances only; shrunk towards a sphere by `shrinkage` (OAS,
        as scikit-learn's); one variance for all columns; or the full one with the inverse of Moore and
        Penrose. All but the first work for more columns than rows, in as many dimensions as there are rows.
    ncomp : int, optional
        Restrict rule and transformation to the leading canonical axes.
    collinear : {"raise", "drop"}
        Refuse columns that others determine within classes, or drop the later ones with a warning.
    levels : sequence, optional
        The classes in order; by default the categories' order, else sorted.
    na_action : {"drop", "raise"}
        Drop rows with a missing value (they are counted), or refuse them.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call.

    Returns
    -------
    LDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        An unknown column, an infinite value, no row left, one class only.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance is singular; the message names the columns.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> fit = lda("species ~ .", data=load_iris())
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 48, 2], [0, 1, 49]]
    >>> fit.explained.round(4).tolist()
    [0.9912, 0.0088]
    """
    choice("method", method, ("moment", "mle"))
    choice("covariance", covariance, ("pooled", "diagonal", "shrunk", "spherical", "pinv"))
    choice("collinear", collinear, ("raise", "drop"))
    blocks = read(formula, data, weights=weights, levels=levels, functions=functions)
    structure: Structure = "full" if covariance == "pooled" else covariance
    if structure == "full":
        refuse_few_rows(blocks)
    blocks, moments = sample(blocks, spread_of(structure, "pooled", thin=is_wide(blocks)), na_action)
    refuse_no_freedom(moments, blocks.terms, diagonal=structure != "full")
    found = obstacles(moments, structure)
    if found and collinear == "raise":
        raise collinear_error(found, blocks.terms)
    if found:
        blocks, moments = drop_columns(blocks, moments, found)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), moments.counts)
    most = min(moments.n_columns, moments.n_classes - 1)
    if ncomp is not None and not (isinstance(ncomp, int) and 1 <= ncomp <= most):
        raise DataError(
            f"ncomp={ncomp!r}: {moments.n_columns} columns and {moments.n_classes} classes have "
            f"{most} canonical axes; give a number from 1 to {most}, or None for all."
        )
    fit = fit_lda(
        moments, shares, method=method, structure=structure, ncomp=ncomp, estimated_prior=prior is None
    )
    if structure == "pinv":
        _warn_of_pseudo_inverse(fit, blocks.terms)
    return LDAResults(fit, blocks)


def _warn_of_pseudo_inverse(fit: LDAFit, terms: tuple[str, ...]) -> None:
    """Say what distances leave out where the covariance has no inverse."""
    rank, lost = fit.ignored()
    if rank < len(terms):
        warnings.warn(
            f'covariance="pinv": the rows vary within classes in {rank} of {len(terms)} dimensions. '
            f"Distances are taken in these alone and leave out {lost:.1%} of the squared differences of the "
            'class means, which lie beyond them; covariance="shrunk" uses all.',
            DiscrimWarning,
            stacklevel=3,
        )
