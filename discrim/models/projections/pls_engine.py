"""Components of partial least squares found by a regression of the user ("engine"), such as PLSRegression.

`pls` uses it for `algorithm=` with an object that has `fit(X, Y)`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from discrim.core.covariance.by_estimator import clone_estimator
from discrim.core.moments.moments import ClassMoments, standardize_columns
from discrim.core.numerics.arrays import Floats
from discrim.core.projections import pls as core
from discrim.core.projections.latent import Latent, latent_from_rotations
from discrim.core.projections.pls import PLSFit
from discrim.design.design_rows import DesignRows
from discrim.design.rows import gather_weighted_rows, repeat_rows
from discrim.errors import DataError, NotSupportedError
from discrim.models.base import reading
from discrim.models.base.reading import one_line_repr
from discrim.models.projections.pls_choice import raise_if_fewer_components


def latent_from_engine(matrices: list[Any], a: Floats, b: Floats) -> Latent:
    """Convert the components found by an engine to the core's representation.

    Parameters
    ----------
    matrices : list of three (p, c) float64
        Weights, loadings and rotations of the c components.
    a, b : (r, p) and (r, K) float64
        Columns and class indicators, centred and scaled: small tables with the same cross-products as the
        tables of all rows, which `core.fit_pls` passes.

    Returns
    -------
    Latent
        Weights, loadings and rotations of the engine, with scores and loadings of the indicators from a, b.
    """
    return latent_from_rotations(a, b, *matrices)


ENGINE_ATTRIBUTES = ("x_weights_", "x_loadings_", "x_rotations_")
"""Attributes of a fitted engine that are read: each is an array, columns by components."""


def read_n_components(engine: Any, components: int | None) -> int:
    """Validate the engine; return the number of components: `ncomp`, or else the engine's `n_components`.

    Parameters
    ----------
    engine : object
        The regression.
    components : int, optional
        The option `ncomp`; None stands for the engine's `n_components`.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    DataError
        `engine` is a class or lacks a method `fit`, or the number is missing or not a positive whole number.
    """
    if isinstance(engine, type) or not callable(getattr(engine, "fit", None)):
        engine_label = f"the class {engine.__name__}" if isinstance(engine, type) else one_line_repr(engine)
        raise DataError(
            f"algorithm={engine_label} is not a regression.",
            hint=(
                "Pass an object with fit(X, Y), such as scikit-learn's PLSRegression(3), a specification "
                "of discrim.subspace, 'nipals' or 'simpls'."
            ),
        )
    count: Any = getattr(engine, "n_components", None) if components is None else components
    if not (reading.is_integer(count) and count >= 1):
        raise DataError(
            f"algorithm={one_line_repr(engine)} has an invalid "
            f"n_components={reading.format_argument(count)}.",
            hint="Pass ncomp=, a number of at least 1.",
        )
    return int(count)


def fit_with_engine(
    engine: Any, design_rows: DesignRows, moments: ClassMoments, prior: Floats, components: int, **shared: Any
) -> PLSFit:
    """Fit partial least squares with the components that a copy of an engine finds in the rows.

    The engine is fitted to centred columns and indicators, divided by their standard deviations if the
    options of the fit require it.

    Parameters
    ----------
    engine : object
        Regression with `fit(X, Y)` and the attributes `ENGINE_ATTRIBUTES`.
    design_rows : DesignRows
        The rows; weights have to be whole numbers, by which rows are repeated.
    moments : ClassMoments
        Class moments of the rows.
    prior : (K,) float64
        Prior probabilities of the classes.
    components : int
        Number of components.
    **shared
        Options of `core.fit_pls`: scale, indicators, decides, estimated_prior.

    Returns
    -------
    PLSFit
        Its `algorithm` is "engine", and it has exactly `components` components.

    Raises
    ------
    NotSupportedError
        The weights are not whole numbers, or the rows do not fit in memory.
    DataError
        The engine fails or finds another number of components.
    CollinearError
        The rule is "lda", and the scores do not vary within classes in all components.
    """
    if design_rows.weights is not None and not design_rows.rows.has_whole_weights():
        raise NotSupportedError(
            f"algorithm={one_line_repr(engine)} is fitted to repeated rows and requires integer weights.",
            hint="Pass weights that are whole numbers, repeat rows, or leave algorithm= out.",
        )
    reading.raise_if_large(design_rows, "pls() gives the engine all rows", n_repeated_rows=moments.total)
    fitted = partial(core.fit_pls, moments, prior, components=components, algorithm="engine", **shared)
    tables = core.small_tables(moments, scale=shared["scale"], indicator_scaling=shared["indicators"])
    # A fit without components provides the centre and the units of the columns.
    center_fit = fitted(engine=partial(latent_from_engine, [np.zeros((moments.n_columns, 0))] * 3))
    x, codes, weights = gather_weighted_rows(design_rows)
    if weights is not None:
        x, codes = repeat_rows(x, codes, weights)
    z = standardize_columns(x, center_fit.origin, center_fit.moments.scale) - center_fit.centre[:, None]
    indicators_of = np.equal(codes[:, None], np.arange(len(prior))).astype(np.float64)
    y = (indicators_of - center_fit.class_proportions) / tables.sizes
    latent = _find_engine_components(engine, (z / center_fit.column_scale[:, None]).T, y, components)
    fit = fitted(engine=partial(latent_from_engine, latent))
    raise_if_fewer_components(fit, components)
    return fit


def _find_engine_components(engine: Any, x: Floats, y: Floats, components: int) -> list[Floats]:
    """Fit a copy of the engine and read its components.

    The parameters `n_components` and `scale` (False) of the copy are set if the engine has them.

    Parameters
    ----------
    engine : object
        The regression, which is not changed.
    x : (n, p) float64
        Columns, centred and scaled.
    y : (n, K) float64
        Indicators, centred and scaled.
    components : int
        Number of components, c.

    Returns
    -------
    list of three (p, c) float64
        Weights, loadings and rotations.

    Raises
    ------
    DataError
        The engine fails, or does not find so many components.
    """
    name = one_line_repr(engine)
    try:
        copy = clone_estimator(engine)
        parameters = copy.get_params() if hasattr(copy, "get_params") else {}
        settings = {"n_components": components, "scale": False}
        copy.set_params(**{key: value for key, value in settings.items() if key in parameters})
        copy.fit(np.ascontiguousarray(x), y)
        matrices = [np.asarray(getattr(copy, attribute), dtype=np.float64) for attribute in ENGINE_ATTRIBUTES]
    except Exception as error:
        # An engine is the user's own code, which can raise any exception.
        raise DataError(
            f"algorithm={name} cannot be fitted to {len(x)} rows, or lacks attributes after the fit: "
            f"{str(error).rstrip('.')}. It must have fit(X, Y), and then {', '.join(ENGINE_ATTRIBUTES)}.",
            hint="Use PLSRegression, or leave algorithm= out.",
        ) from error
    shape = (x.shape[1], components)
    if any(matrix.shape != shape or not np.isfinite(matrix).all() for matrix in matrices) or not (
        matrices[-1].any(axis=0).all()
    ):
        raise DataError(
            f"algorithm={name} does not return {components} components for {x.shape[1]} columns.",
            hint="Use fewer components.",
        )
    return matrices
