"""Which posteriors the picture of a triangle shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.rules.rules import posteriors
from discrim.errors import DataError, NotSupportedError
from discrim.models.fits.arguments import listed, told
from discrim.models.fits.labels import class_code
from discrim.models.fits.prediction import posterior_frame
from discrim.models.pictures.rows import needed_rows

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes, Signs

__all__ = ["simplex"]


def simplex(results: Any, asked: Asked) -> Axes:
    """Posteriors of three classes in a triangle; of more classes, given that a row is of one of the three."""
    from discrim.report.plots.simplex import simplex as draw

    fit = results._fit
    classes = list(fit.classes)
    if len(classes) < 3:
        raise NotSupportedError(
            "kind='simplex' draws three posteriors, and this fit has two: use kind='posteriors'."
        )
    chosen = list(fit.rows_by_class.sort_values(ascending=False, kind="stable").index[:3])
    chosen = [label for label in classes if label in chosen]
    if asked.classes is not None:
        chosen = list(asked.classes)
        if len(chosen) != 3 or len(set(chosen)) != 3:
            raise DataError(
                f"classes={told(asked.classes)}: name three different classes of {listed(classes)}."
            )
    codes = [class_code(label, fit.classes) for label in chosen]
    rows = needed_rows(fit, asked, "simplex")
    proba = posterior_frame(rows.blocks, fit.rule(), fit.classes, posteriors)
    shown = np.isin(rows.codes, codes) if len(classes) > 3 else np.full(len(proba), True)
    three = proba.iloc[shown, codes].to_numpy()
    total = three.sum(axis=1, keepdims=True)
    shares = np.divide(three, total, out=np.full_like(three, np.nan), where=total > 0)
    signs = _signs(asked, classes, codes)
    axes = draw(pd.DataFrame(shares, columns=chosen), rows.labels[shown], ax=asked.ax, signs=signs)
    if len(classes) > 3:
        axes.set_title(f"{axes.get_title()}\ngiven that a row is of one of these 3 of {len(classes)} classes")
    return axes


def _signs(asked: Asked, classes: list[Any], codes: list[int]) -> Signs:
    """Signs of three classes: those that they have among all, where colours were given by class."""
    signs = asked.signs(classes)
    return signs if len(classes) == 3 else type(signs)(tuple(signs.colour(k) for k in codes))
