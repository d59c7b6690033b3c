"""The optimal separating hyperplane: of all planes between two classes the one farthest from both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar
from discrim.core.planes.hyperplane import CommonPoint, HyperplaneFit, fit_hyperplane, hyperplane_from_file
from discrim.core.planes.separation import separation, standard
from discrim.core.rules.leave_one_out import LeftOut
from discrim.errors import DataError, NotSupportedError, SeparationError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import GatheredRows, used_codes
from discrim.models.fits.arguments import listed
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.reading import NaAction
from discrim.models.planes.separation_certificate import labelled
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.results import ClassifierResults
from discrim.models.results.scores import SeparatingLines, plane_model, plane_refits, read_rows
from discrim.models.saving.saved import Saved

__all__ = ["HyperplaneResults", "hyperplane"]

MOST_PRODUCTS = 2e10
"""Up to which leave-one-out is computed: a refit, of as many rounds, for each support point."""

NEAR = 1e-6
"""How far beyond the margin a row may lie, relative to it, and yet be refitted without."""


def hyperplane(
    formula: str,
    data: Any,
    *,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> HyperplaneResults:
    """The optimal separating hyperplane of two classes.

    Among the planes between the classes it is the one whose distance to the nearest row is largest. It
    minimizes ``|b|^2/2`` under ``y (x'b + b_0) >= 1`` for every row, where y is 1 for the second class and -1
    for the first.

    Parameters
    ----------
    formula : str
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it.
    data : table
        A DataFrame of pandas, or any other table in memory that narwhals knows, such as one of polars or
        Arrow. The method goes back to single rows, so that a source that is read part by part, such as a file
        or a DataFrame of Dask, is refused: pass a sample of its rows as a DataFrame.
        Distances are in the units of the columns: other units give another plane.
    levels : sequence, optional
        The classes in order. By default they have the order of the categories, and are sorted where the
        response has none.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped, and counted, or refused.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call, by name. Each is called once with whole columns, as
        Series, and returns for every row a number, a truth value, a text or category, or a row of a matrix; a
        Series or DataFrame is aligned by its index. It has to treat each row alone: a function whose value
        for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The formula's own
        `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category counts as
        missing.

    Returns
    -------
    HyperplaneResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or the classes are not two.
    SeparationError
        No plane separates the classes. The message names rows of both classes that have a mixture in common,
        and the error's `certificate`, a `planes.certificate.Certificate`, holds the weights.

    Notes
    -----
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, sec. 4.5.2, describe the
    method. The dual problem, which is to find the shortest vector between the two convex hulls, is solved
    exactly (Wolfe, 1976, Mathematical Programming 11, 128-149), and not as the limit of a soft margin.

    Examples
    --------
    >>> from discrim import hyperplane
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> setosa = iris.assign(setosa=iris["species"] == "setosa").drop(columns="species")
    >>> fit = hyperplane("setosa ~ petal_length + petal_width", setosa)
    >>> round(fit.margin, 4), fit.support.tolist()
    (0.6519, [44, 98])
    """
    blocks, moments, rows = read_rows(formula, data, levels, na_action, functions)
    if moments.n_classes > 2:
        raise DataError(
            f"A hyperplane lies between two classes; {blocks.design.response!r} has {moments.n_classes} "
            f"({listed(blocks.design.levels)}): keep the rows of two, or see perceptron() and logistic()."
        )
    with late_bar(0, "search for the widest margin"):
        found = fit_hyperplane(rows.x, rows.codes, moments, moments.counts / moments.total)
    if isinstance(found, CommonPoint):
        _refuse(found, rows, blocks)
    return HyperplaneResults(hyperplane_fit(found, blocks))


def _refuse(found: CommonPoint, rows: GatheredRows, blocks: Blocks) -> NoReturn:
    levels, codes = blocks.design.levels, rows.codes[found.rows]
    space = standard(rows.x)
    certificate = labelled(separation(space.columns, rows.codes, 2), space.to_data(rows.x), blocks, rows)
    if certificate.kind == "complete":
        spread = np.ptp(rows.x, axis=0)
        wide, narrow = (blocks.terms[int(at)] for at in (np.argmax(spread), np.argmin(spread)))
        message = (
            f"A plane separates {levels[0]!r} from {levels[1]!r}, but in the columns' units its margin is "
            f"less than the rounding of the rows: {wide!r} spreads over {spread.max():.1e}, {narrow!r} over "
            f"{spread.min():.1e}."
        )
        raise SeparationError(
            f"{message} Bring them to like units, as standardize() does.",
            certificate._replace(message=message),
        )
    labels = blocks.table.index[rows.positions[found.rows]]
    sides = []
    for k in (0, 1):
        own = [blocks.table.label(int(rows.positions[i])) for i in found.rows[codes == k]]
        what = f"row {own[0]!r}" if len(own) == 1 else f"a mixture of rows {listed(own)}"
        sides.append(f"{what} of {levels[k]!r}")
    touch = ": quasi-separation, a plane has none on the wrong side but rows of both on it"
    message = (
        f"No plane has {levels[0]!r} on one side and {levels[1]!r} on the other"
        f"{touch if certificate.kind != 'overlap' else ''}. {sides[0][0].upper()}{sides[0][1:]} is also "
        f"{sides[1]}."
    )
    mixture = pd.Series(found.weights, index=labels, name="weight")
    raise SeparationError(
        f"{message} See logistic(), lda(), or perceptron() for the plane with few errors.",
        certificate._replace(mixture=mixture, message=message),
    )


MODEL = plane_model("hyperplane", "Optimal separating hyperplane")


def hyperplane_fit(numbers: HyperplaneFit, blocks: Blocks, *, has_rows: bool = True) -> Fit[HyperplaneFit]:
    """A separating hyperplane as one value."""
    return Fit(MODEL, numbers, blocks, numbers.prior, plane_refits(_left_out), has_rows)


def _left_out(fit: Fit[HyperplaneFit]) -> LeftOut:
    """Scores of rows beyond the margin, any of which the plane can do without; others are missing."""
    held, columns = len(fit.numbers.plane.support), min(len(fit.terms), int(fit.nobs))
    if held**2 * columns * (held**2 + fit.nobs) > MOST_PRODUCTS:
        raise NotSupportedError(
            f"Leave-one-out of a hyperplane takes a refit of {fit.nobs} rows for each of its {held} "
            'support points, which takes long: cross-validate instead, with error_rates(["cv"]) or '
            'confusion("cv").'
        )
    rule = fit.rule()

    def scores(x: NDArray[np.float64], codes: Any, weights: Any) -> NDArray[np.float64]:
        found = rule.scores(x)
        found[np.abs(found[:, 1]) < 1 + NEAR] = np.nan
        return found

    return scores


SAVED = Saved(
    {},
    "diagonal",
    hyperplane_from_file,
    hyperplane_fit,
    HyperplaneFit.ended,
    lambda k, p: {"origin": (p,), "coef": (p,), "support": (-1, 2), "found": (2,)},
)


class HyperplaneResults(SeparatingLines, LinearGeometry, ClassifierResults):
    """A fitted separating hyperplane, x'coef + intercept = 0.

    Attributes
    ----------
    coef : Series by term
        Coefficients of the plane, scaled so that the nearest rows have the values 1 and -1.
    intercept : float
        Value of the plane at zero.
    margin : float
        Distance from the plane to the nearest rows, ``1 / |coef|``.
    support : Index
        Labels, in the index of the table, of the support points: the rows that determine the plane.
    multipliers : Series by support point
        Positive numbers; coef is the sum of y multiplier x over the support points.
    kkt : float
        Largest relative violation of the conditions of Karush, Kuhn and Tucker.
    """

    _fit: Fit[HyperplaneFit]

    @property
    def coef(self) -> pd.Series:
        """Coefficients of the plane."""
        return pd.Series(self._fit.numbers.plane.coef, index=self.terms, name="coef")

    @property
    def intercept(self) -> float:
        """Value of the plane at zero."""
        return self._fit.numbers.plane.intercept - float(
            self._fit.numbers.origin @ self._fit.numbers.plane.coef
        )

    @property
    def margin(self) -> float:
        """Distance from the plane to the nearest rows."""
        return self._fit.numbers.plane.margin

    @property
    def support(self) -> pd.Index:
        """Labels of the support points."""
        return self._fit.rows("support").table.index[self._support_positions()]

    def _support_positions(self) -> NDArray[np.intp]:
        """Positions of the support points in the table."""
        used = np.flatnonzero(used_codes(self._fit.rows("support")) >= 0)
        return used[self._fit.numbers.plane.support]

    @property
    def multipliers(self) -> pd.Series:
        """Multipliers of the support points."""
        held = self._fit.numbers.plane.multipliers
        if not (np.isfinite(held) & (held > 0)).all():
            warn_user(
                "The multipliers change with the square of the columns' units, and are out of the "
                "range of double precision here: give all columns in another unit. The plane itself "
                "is right in any unit."
            )
        return pd.Series(held, index=self.support, name="multiplier")

    @property
    def kkt(self) -> float:
        """Largest relative violation of the optimality conditions."""
        return self._fit.numbers.plane.residual

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each term, under broom's names."""
        estimates = np.append(self.intercept, self.coef)
        return pd.DataFrame({"term": ["constant", *self.terms], "estimate": estimates})

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        row = self._sizes() | {
            "margin": self.margin,
            "support": len(self._fit.numbers.plane.support),
            "kkt": self.kkt,
        }
        return pd.DataFrame([row])
