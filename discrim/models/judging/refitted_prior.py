"""The prior of rules that did not see some rows: held, as of all rows, or estimated anew without them.

Held class proportions know of the rows that are left out. A logistic regression has them in its constants,
where they favour the class of the row that is left out, and nearest neighbours have no prior but the rows:
both are refitted with the shares of the rows that are left. Models of the rows within classes estimate the
prior apart from the rest, and hold it by the convention of R's MASS, unless asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.models.fits.fit import Fit

__all__ = ["left_out_shift", "prior_of_rest", "refits_prior", "uneven"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

IN_TURN = 2.0
"""Rows of a class that folds dealt in turn may lack at most to have all classes in proportion."""


def refits_prior(fit: Fit[Any], asked: bool | None) -> bool:
    """Whether rules without some rows estimate the prior anew; one that was given is held whatever is asked.

    Raises
    ------
    DataError
        What is asked is not True, False or None.
    NotSupportedError
        The prior is to be held of a model that has none.
    """
    if asked is not None and not isinstance(asked, bool):
        raise DataError(f"refit_prior={asked!r}: give True, False, or None for what the model does.")
    if fit.model.prior_without == "none":
        if asked is False:
            fit.need_posteriors("refit_prior=False")
        return False
    if not fit.numbers.estimated_prior:
        return False
    return fit.model.prior_without == "refitted" if asked is None else asked


def prior_of_rest(fit: Fit[Any], asked: bool | None) -> str:
    """What became of the prior in rules without some rows, in words; empty where there is none."""
    if fit.model.prior_without == "none":
        return ""
    if not fit.numbers.estimated_prior:
        return "given"
    return "refitted" if refits_prior(fit, asked) else "held"


def left_out_shift(codes: Codes, weights: Floats | None, counts: Floats) -> Floats:
    """What the score (m,) of its own class gains where each row leaves the class proportions.

    The log shares ln (n_k - w)/(N - w) differ from ln n_k/N by ln(1 - w/n_g) in the row's class g, and by a
    constant of the row in all classes.
    """
    out = np.ones(len(codes)) if weights is None else np.minimum(weights, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.minimum(out / counts[codes], 1.0)))


def uneven(rest: Floats, counts: Floats) -> tuple[int, int] | None:
    """The fold and class whose share among the rows outside the fold is farthest from that of all rows.

    Parameters
    ----------
    rest : (F, K) float
        Rows, or sums of weights, of each class outside each fold.
    counts : (K,) float
        The same of all rows.

    Returns
    -------
    (fold, class) or None
        None where folds hold the classes in proportion, as far as whole rows let them.
    """
    share = counts / counts.sum()
    lacking = np.abs(rest - rest.sum(axis=1, keepdims=True) * share)
    if not (lacking > IN_TURN).any():
        return None
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(np.abs(rest / rest.sum(axis=1, keepdims=True) - share))
    fold, code = np.unravel_index(int(np.where(lacking > IN_TURN, apart, -1.0).argmax()), apart.shape)
    return int(fold), int(code)
