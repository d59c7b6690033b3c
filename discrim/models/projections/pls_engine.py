"""Partial least squares whose components a regression of the user's own finds, such as scikit-learn's."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.coordinates import standard_columns
from discrim.core.moments.moments import ClassMoments
from discrim.core.projections.latent import Latent, latent_of
from discrim.core.projections.pls import Decides, Indicators, PLSFit, fit_pls, tables_of
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import gathered_rows, repeated
from discrim.models.fits.arguments import is_whole, told
from discrim.models.fits.reading import refuse_large
from discrim.models.normal.estimators import copied, text_of

__all__ = ["components_of", "engine_fit"]

Floats = NDArray[np.float64]

FOUND = ("x_weights_", "x_loadings_", "x_rotations_")
"""What an engine has when it is fitted, (p, a) each."""


def components_of(engine: Any, components: int | None) -> int:
    """The number of components: that which is given, or the engine's own.

    Raises
    ------
    DataError
        The engine is none, or has no such number.
    """
    if isinstance(engine, type) or not callable(getattr(engine, "fit", None)):
        given = f"the class {engine.__name__}" if isinstance(engine, type) else text_of(engine)
        raise DataError(
            f"engine={given} is no regression: give an object with fit(X, Y), such as "
            "scikit-learn's PLSRegression(3), or None."
        )
    count: Any = getattr(engine, "n_components", None) if components is None else components
    if not (is_whole(count) and count >= 1):
        raise DataError(
            f"engine={text_of(engine)} has n_components={told(count)}: give components=, a number from 1 on."
        )
    return int(count)


def engine_fit(
    engine: Any,
    blocks: Blocks,
    moments: ClassMoments,
    prior: Floats,
    *,
    components: int,
    scale: bool,
    indicators: Indicators,
    decides: Decides,
    estimated_prior: bool,
) -> PLSFit:
    """The fit by the components that a copy of an engine finds in the rows.

    Parameters
    ----------
    engine : object
        With `fit(X, Y)`, and then x_weights_, x_loadings_ and x_rotations_. It is given columns and
        indicators that are centred, and scaled where that is asked for.
    blocks : Blocks
    moments : ClassMoments
    prior, components, scale, indicators, decides, estimated_prior
        As of `fit_pls`.

    Raises
    ------
    DataError
        The engine cannot be fitted, or does not say what it has found.
    NotSupportedError
        Weights that are not whole numbers of rows.
    """
    if blocks.weights is not None and not blocks.has_whole_weights():
        raise NotSupportedError(
            f"engine={text_of(engine)} is fitted to rows: it takes weights that are whole numbers. Give such "
            "weights, repeat rows, or leave engine= out."
        )
    refuse_large(blocks, "pls() gives the engine all rows", times=moments.total)
    held = partial(
        fit_pls, moments, prior, components=components, scale=scale, indicators=indicators, decides=decides,
        estimated_prior=estimated_prior, algorithm="engine",
    )  # fmt: skip
    tables = tables_of(moments, scale=scale, indicators=indicators)
    # Without components, for the middle of the rows.
    middle = held(found=lambda a, b: _none(a, b))
    rows = gathered_rows(blocks)
    x, codes = rows.x, rows.codes
    if blocks.weights is not None:
        x, codes = repeated(x, codes, blocks.weights[rows.positions])
    z = standard_columns(x, middle.origin, middle.moments.scale) - middle.centre[:, None]
    seen = np.equal(codes[:, None], np.arange(len(prior))).astype(np.float64)
    own = _fitted(engine, (z / middle.unit[:, None]).T, (seen - middle.shares) / tables.sizes, components)
    return held(found=lambda a, b: latent_of(a, b, *own))


def _none(a: Floats, b: Floats) -> Latent:
    nothing = np.zeros((a.shape[1], 0))
    return latent_of(a, b, nothing, nothing, nothing)


def _fitted(engine: Any, x: Floats, y: Floats, components: int) -> list[Floats]:
    """Weights, loadings and rotations (p, a) that a copy of the engine finds."""
    name = text_of(engine)
    try:
        own = copied(engine)
        known = own.get_params() if hasattr(own, "get_params") else {}
        asked = {"n_components": components, "scale": False}
        own.set_params(**{key: value for key, value in asked.items() if key in known})
        own.fit(np.ascontiguousarray(x), y)
        found = [np.asarray(getattr(own, attribute), dtype=np.float64) for attribute in FOUND]
    except Exception as error:
        # An engine is the user's own code, which may raise anything.
        raise DataError(
            f"engine={name} cannot be fitted to {len(x)} rows, or does not say what it has found: "
            f"{str(error).rstrip('.')}. An engine has fit(X, Y), and then {', '.join(FOUND)}: "
            "use PLSRegression, or leave engine= out."
        ) from error
    shape = (x.shape[1], components)
    if any(each.shape != shape or not np.isfinite(each).all() for each in found) or not (
        found[-1].any(axis=0).all()
    ):
        raise DataError(
            f"engine={name} finds no {components} components of {x.shape[1]} columns: give fewer components."
        )
    return found
