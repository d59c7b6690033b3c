"""Pictures of the terms of a linear model: ellipses of hypothesis and error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from discrim.errors import DataError
from discrim.models.fits.arguments import listed, told
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["he_of_axes", "he_of_terms", "radius_of"]

SHARE = 0.68
"""Of the quantile that the radius of both ellipses is made of, as in R's heplots."""


def radius_of(free: float) -> float:
    """The distance sqrt(2 F) at which R's heplots draws ellipses, F on 2 and the residuals' degrees.

    Examples
    --------
    >>> round(radius_of(147), 4)
    1.5155
    """
    return float(np.sqrt(2 * stats.f.ppf(SHARE, 2, free)))


def he_of_terms(
    found: Any,
    terms: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    size: Any,
    level: float,
    type: int | str,
    ax: Axes | None,
    title: str | None,
) -> Axes:
    """Ellipses of the terms beside that of the residuals, in the plane of two responses."""
    from discrim.report.plots.he_terms import he_terms

    names = _two(columns, list(found.responses), "columns", "responses")
    given = list(found.terms) if terms is None else [terms] if isinstance(terms, str) else list(terms)
    shapes, means = {}, {}
    for term in given:
        at = found._model.position(term)
        label = found.terms[at]
        shape = found.hypothesis_ellipse(label, size=size, level=level, type=type)
        shapes[label] = shape.loc[names, names].to_numpy()
        # Means of combinations of levels would hide those of the levels.
        cells = _means(found, at).reindex(columns=names)
        means[label] = cells if len(found._model.terms[at].factors) == 1 else cells.iloc[:0]
    centre = _centre(found)[names].to_numpy()
    error = found.cov_resid.loc[names, names].to_numpy()
    drawn = he_terms(
        means, shapes, error, centre, radius_of(found.df_resid), names=(names[0], names[1]), ax=ax
    )
    said = f"Roy, {100 * (1 - level):.3g} %" if size == "evidence" else "effect size"
    set_title(drawn, title if title is not None else f"Hypothesis and error ({said})")
    return drawn


def he_of_axes(
    found: Any,
    axes: Sequence[str] | None,
    level: float,
    ax: Axes | None,
    title: str | None,
) -> Axes:
    """Ellipses of a term and of the residuals, in the plane of two canonical axes."""
    from discrim.report.plots.he import he
    from discrim.report.plots.scores import axis_name

    names = list(found.eigenvalues.index)
    if len(names) < 2:
        raise DataError(
            f"The term {found.term!r} has {len(names)} canonical axis, and a plane has two: use "
            f"plot(term={found.term!r}) of the model, in the plane of two responses."
        )
    chosen = _two(axes, names, "axes", "canonical axes")
    at = [names.index(name) for name in chosen]
    shape = np.diag(found.eigenvalues.to_numpy()[at] / found._critical(level))
    drawn = he(
        found.centroids[chosen].dropna(),
        shape,
        np.eye(2),
        np.zeros(2),
        radius_of(found._model.numbers.df),
        names=(axis_name(chosen[0], found.proportion), axis_name(chosen[1], found.proportion, of="")),
        arrows=found.structure()[chosen],
        equal=True,
        ax=ax,
    )
    set_title(drawn, title if title is not None else f"Canonical variates of {found.term}")
    return drawn


def _two(given: Sequence[str] | None, names: list[str], option: str, what: str) -> list[str]:
    chosen = names[:2] if given is None else [given] if isinstance(given, str) else list(given)
    unknown = [name for name in chosen if name not in names]
    if unknown or len(set(chosen)) != 2 or len(chosen) != 2:
        raise DataError(f"{option}={told(given)}: name two of the {what}, {listed(names, 20)}.")
    return chosen


def _means(found: Any, at: int) -> pd.DataFrame:
    """Means of the responses in the cells of a term, without those that have no row."""
    model = found._model
    cells, _, means = model.cells(at)
    if cells is None:
        return pd.DataFrame(columns=found.responses, dtype=float)
    labels = [":".join(map(str, cell)) for cell in cells.labels]
    values = means * model.unit + model.origin[model.n_model - 1 :]
    return pd.DataFrame(values, index=labels, columns=found.responses).dropna()


def _centre(found: Any) -> pd.Series:
    model = found._model
    x, y = model.numbers.x[:, 0], model.numbers.y
    values = x @ y / (x @ x) * model.unit + model.origin[model.n_model - 1 :]
    return pd.Series(values, index=found.responses)
