"""How far canonical axes turn when the rows are drawn again."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.canonical import Canonical
from discrim.core.normal.lda import LDAFit
from discrim.core.numerics.progress import late_bar
from discrim.frame.blocks import Blocks
from discrim.inference.error_rates import check_level
from discrim.models.fits.fit import Fit
from discrim.models.fits.reading import class_moments
from discrim.models.judging.bootstrap import BootstrapSamples

__all__ = ["axis_stability"]

Floats = NDArray[np.float64]


def axis_stability(
    fit: Fit[LDAFit], axes: Canonical, names: pd.Index, replicates: int, level: float, seed: int | None
) -> pd.DataFrame:
    """Eigenvalues and cosines over bootstrap samples; see `CanonicalResults.stability`."""
    check_level(level)
    samples = BootstrapSamples(fit.rows("stability()"), replicates, seed)
    root, rank = fit.numbers.unbiased().root, len(names)
    held = root @ axes.axes
    roots, cosines = np.zeros((replicates, rank)), np.zeros((replicates, rank, rank))

    def refitted(drawn: Blocks) -> LDAFit | None:
        return fit.numbers.refit(class_moments(drawn, "pooled"))

    with late_bar(replicates, "bootstrap of the axes") as tell:
        for i in range(replicates):
            drawn, _ = samples.fitted(refitted)
            theirs = drawn.canonical()
            # In the units of the fit's moments, under whose covariance its axes are orthonormal.
            turned = root @ (
                theirs.axes[:, :rank] * (drawn.moments.scale / fit.numbers.moments.scale)[:, None]
            )
            turned = turned / np.sqrt((turned**2).sum(axis=0))
            found = turned.shape[1]
            roots[i, :found] = theirs.singular[:rank] ** 2
            cosines[i, :, :found] = np.abs(held.T @ turned)
            tell(1)
    tail = (1 - level) / 2
    own = np.diagonal(cosines, axis1=1, axis2=2)
    table = pd.DataFrame(index=names)
    table["eigenvalue"] = axes.singular**2
    table["se"] = roots.std(axis=0, ddof=1)
    table["low"], table["high"] = np.quantile(roots, [tail, 1 - tail], axis=0)
    table["cosine"], table["cosine_low"] = np.median(own, axis=0), np.quantile(own, 1 - level, axis=0)
    table["same_rank"] = (own >= cosines.max(axis=2)).mean(axis=0)
    return table
