"""The number and the form of components of most evidence: every one is tried, and BIC decides.

BIC = df ln n - 2 llf of the rows within classes (Schwarz, 1978, Annals of Statistics 6, 461-464; Fraley &
Raftery, 2002): smaller is better, the negative of what mclust prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.mixtures.em import Degenerate, Plan
from discrim.core.mixtures.forms import form_of
from discrim.core.mixtures.mixture import MixtureFit, class_hierarchies, fit_mixture
from discrim.core.moments.moments import ClassMoments

__all__ = ["Tried", "candidates", "tried_forms"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class Tried(NamedTuple):
    """One number and form of components.

    Attributes
    ----------
    components : int
    form : str
    df : int
        Free parameters of the law of the rows within classes.
    llf, bic : float
        Of the rows given their classes; missing where EM found no maximum.
    """

    components: int
    form: str
    df: int
    llf: float
    bic: float


def candidates(sizes: Sequence[int], forms: Sequence[str], classes: int) -> list[tuple[int, str]]:
    """Numbers and forms that differ: of a single component, a form stands for those that are the same."""
    found: list[tuple[int, str]] = []
    for size in sizes:
        seen: set[str] = set()
        for form in forms:
            name = form_of(form, size * classes)
            if name not in seen:
                found.append((size, form))
            seen.add(name)
    return found


def tried_forms(
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    asked: Sequence[tuple[int, str]],
    plan: Plan,
    tell: Callable[[float], None] = lambda more: None,
) -> list[Tried]:
    """Fits of each number and form that is asked for to some classes, whose components share the form.

    Parameters
    ----------
    moments : ClassMoments
        Of the rows.
    x : (n, p) float
    codes : (n,) int
    weights : (n,) float, optional
    asked : sequence of (int, str)
    plan : Plan
    tell : callable
        Called after each.
    """
    shares, found = moments.counts / moments.total, []
    several = any(size > 1 for size, _ in asked)
    hierarchies = class_hierarchies(moments, x, codes, weights) if several else None
    for size, form in asked:
        k = moments.n_classes
        fit = fit_mixture(
            moments, x, codes, weights, shares,
            forms=[form] * k, sizes=[size] * k, together=True, plan=plan, hierarchies=hierarchies,
            rows_too=False,
        )  # fmt: skip
        tell(1)
        if isinstance(fit, Degenerate):
            found.append(Tried(size, form, 0, np.nan, np.nan))
            continue
        found.append(_tried(fit, size, form))
    return found


def _tried(fit: MixtureFit, size: int, form: str) -> Tried:
    df, llf = fit.df_given(), fit.llf_given
    return Tried(size, form, df, llf, float(df * np.log(fit.moments.total) - 2 * llf))
