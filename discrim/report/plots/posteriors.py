"""Posteriors of rows by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.points import draw_strips
from discrim.report.plots.style import SIGNS, Signs, label_codes, new_axes, numbers
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["posteriors"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def posteriors(proba: pd.DataFrame, labels: pd.Series, ax: Axes | None = None, signs: Signs = SIGNS) -> Axes:
    """Posterior of each row's own class, by class: how sure the rule is, and where it is wrong.

    Parameters
    ----------
    proba : DataFrame, rows by classes
    labels : Series
        Class of each row; a row without one, or without posteriors, is left out.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    classes = list(proba.columns)
    codes = label_codes(labels, classes)
    p = numbers(proba)
    own = p[np.arange(len(p)), codes]
    axes, _ = new_axes(ax, len(classes))
    draw_strips(axes, own, codes, classes, wrong=own < p.max(axis=1, initial=0.0), signs=signs)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("Posterior probability of the row's own class")
    set_title(axes, "Posteriors; rows of another predicted class are ringed")
    return axes
