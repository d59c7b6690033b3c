"""The planes between classes, for every model whose rule is linear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.rules.plane import Plane
from discrim.core.rules.rules import LinearRule
from discrim.errors import DataError
from discrim.frame.categories import shown
from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.labels import class_code
from discrim.models.fits.shown import shown_briefly

if TYPE_CHECKING:
    from discrim.report.grid import Part
    from discrim.report.tables import Summary

__all__ = ["Boundary", "LinearGeometry"]


@shown_briefly
class Boundary(NamedTuple):
    """The plane between two classes: normal'x + offset is the score of the first less that of the second.

    Attributes
    ----------
    normal : Series by term
        Normal vector of the plane.
    offset : float
        Value of the function at zero.
    midpoint : Series by term
        The point halfway between the two means.
    """

    normal: pd.Series
    offset: float
    midpoint: pd.Series

    @property
    def c(self) -> float:
        """The cut normal'midpoint: under LDA with equal priors larger normal'x mean the first class."""
        return float(self.normal.to_numpy() @ self.midpoint.to_numpy())

    @property
    def from_origin(self) -> float:
        """Distance of the plane from the origin: |offset| divided by the length of the normal.

        It is missing where the normal has length zero, because there is no plane then.
        """
        length = float(np.hypot.reduce(self.normal.to_numpy()))
        return abs(self.offset) / length if length > 0 else np.nan

    def _brief(self) -> Summary:
        from discrim.report.tables import Pairs, Section, Summary

        items = [
            ("Offset", self.offset, f"{self.offset:.6g}"),
            ("Distance from the origin", self.from_origin, f"{self.from_origin:.6g}"),
        ]
        table = pd.DataFrame({"normal": self.normal, "midpoint": self.midpoint})
        errors = np.full(table.shape, np.inf)
        parts: dict[str, Part] = {
            "header": Pairs("normal'x + offset: the score of the first class above the second's", items),
            "plane": Section("By term", table, errors=errors, source=".normal, .midpoint"),
        }
        return Summary("Plane between two classes", parts)


class LinearGeometry:
    """Distances to the planes between classes; of models with a linear rule."""

    def _plane(self: Any, i: int, j: int) -> Plane:
        """Where classes i and j tie, positive on the side of i."""
        rule: LinearRule = self._fit.rule()
        normal = (rule.coef[:, i] - rule.coef[:, j]) * rule.scale
        return Plane(normal, rule.origin, float(rule.intercept[i] - rule.intercept[j]))

    def boundary(self: Any, a: Any = None, b: Any = None) -> Boundary:
        """The plane on which two classes tie: where their posteriors, or their scores, are equal.

        Parameters
        ----------
        a, b : label, optional
            Two classes of the fit. Where there are only two, the default is the second for a and the first
            for b.

        Returns
        -------
        Boundary
            (normal, offset, midpoint). normal'x + offset is positive on the side of a; for LDA and logistic
            regression it is the log odds of a against b.

        Raises
        ------
        DataError
            There is no such class; there are more than two classes and none is named; or a class has a prior
            of zero.
        """
        i, j = _pair(self, a, b)
        plane = _tie(self, i, j)
        means = self._fit.numbers.moments.class_means
        return Boundary(
            pd.Series(plane.normal, index=self.terms, name="normal"),
            plane.offset,
            pd.Series((means[i] + means[j]) / 2, index=self.terms, name="midpoint"),
        )

    def distance(
        self: Any, data: Any = None, a: Any = None, b: Any = None, *, unseen: Unseen | None = None
    ) -> pd.Series:
        """Signed distance of rows to the plane between two classes, in units of the columns.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit.
        a, b : label, optional
            Two classes of the fit. Where there are only two, the default is the second for a and the first
            for b.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.

        Returns
        -------
        Series
            Positive on the side of a; missing for a row with a missing value.
        """
        plane = _proper_plane(self, a, b)
        blocks = self._fit.new_rows(data, Gaps(unseen))
        out = np.empty(blocks.table.nrows)
        for place, x, _ in blocks.every_row():
            out[place] = plane.distances(x)
        return pd.Series(out, index=blocks.table.index, name="distance")

    def foot(
        self: Any, data: Any = None, a: Any = None, b: Any = None, *, unseen: Unseen | None = None
    ) -> pd.DataFrame:
        """Feet of the perpendiculars from rows to the plane between two classes.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit.
        a, b : label, optional
            Two classes of the fit. Where there are only two, the default is the second for a and the first
            for b.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.

        Returns
        -------
        DataFrame, rows by terms
            The nearest point of the plane, which is the row less its distance times the normal of length one.
        """
        plane = _proper_plane(self, a, b)
        blocks = self._fit.new_rows(data, Gaps(unseen))
        out = np.empty((blocks.table.nrows, len(self.terms)))
        for place, x, _ in blocks.every_row():
            out[place] = plane.feet(x)
        return pd.DataFrame(out, index=blocks.table.index, columns=self.terms)


def _pair(fit: Fit[Any], a: Any, b: Any) -> tuple[int, int]:
    if a is None and b is None and len(fit.classes) == 2:
        return 1, 0
    if a is None or b is None:
        raise DataError(
            f"A plane lies between two of the classes {listed(fit.classes)}: name both, as "
            f"({shown(fit.classes[1])}, {shown(fit.classes[0])})."
        )
    i, j = class_code(a, fit.classes), class_code(b, fit.classes)
    if i == j:
        raise DataError(f"There is no plane between {a!r} and itself: name two classes.")
    return i, j


def _tie(fit: Any, i: int, j: int) -> Plane:
    for k in (i, j):
        if not fit.prior.iloc[k] > 0:
            raise DataError(
                f"{shown(fit.classes[k])} has a prior of zero, so that it ties with no class at any row: "
                "name two classes with positive priors, or fit with another prior=."
            )
    plane: Plane = fit._plane(i, j)
    return plane


def _proper_plane(fit: Any, a: Any, b: Any) -> Plane:
    i, j = _pair(fit, a, b)
    plane = _tie(fit, i, j)
    if not plane.length > 0:
        raise DataError(
            f"The scores of {shown(fit.classes[i])} and {shown(fit.classes[j])} do not differ in any "
            "column: there is no plane between them. Name two other classes."
        )
    return plane
