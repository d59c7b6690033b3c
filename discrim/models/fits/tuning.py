"""The choice of a tuning parameter: the path of errors of what was tried, and the choice from it."""

from __future__ import annotations

from typing import Any

import pandas as pd
from numpy.typing import NDArray

from discrim.errors import NotSupportedError
from discrim.inference.rates_along import TIE, as_good, rates_along
from discrim.models.fits.fit import Fit

__all__ = ["error_path", "held_path", "largest_as_good"]


def error_path(
    name: str, tried: Any, wrong: NDArray[Any], rows: NDArray[Any], prior: NDArray[Any], *, sampled: bool
) -> pd.DataFrame:
    """What was tried, under its name, with error and se; the other parameters are those of `rates_along`."""
    path = pd.DataFrame({name: tried})
    path["error"], path["se"] = rates_along(wrong, rows, prior, sampled=sampled)
    return path


def largest_as_good(path: pd.DataFrame, slack: float = TIE) -> Any:
    """The largest of what was tried, and so the simplest model, of those as good as the best."""
    return path.iloc[:, 0].to_numpy()[as_good(path["error"].to_numpy(), slack)].max().item()


def held_path(fit: Fit[Any], why: str, way_out: str) -> pd.DataFrame:
    """The path of a choice, of what a fit keeps.

    Raises
    ------
    NotSupportedError
        There is none; the message says why, and the way out.
    """
    if "path" not in fit.cache:
        raise NotSupportedError(f"There is no path, {why}: {way_out}.")
    held: pd.DataFrame = fit.cache["path"]
    return held.copy()
