"""RobustCovariance estimates in a fit: how they are asked for, refitted, and which rows they flag."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.robust import ExactFit, RobustCovariance, fit_mcd, fit_t
from discrim.core.covariance.student import NU_RANGE, Student, own_distances
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlock
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import chi2_isf
from discrim.core.rules.rules import Rule
from discrim.design.blocks import Blocks
from discrim.design.levels import Unseen
from discrim.design.matrix import response_codes
from discrim.design.rows import repeated, used_rows
from discrim.errors import CollinearError, ConvergenceWarning, NotSupportedError, warn_user
from discrim.inference.error_rates import check_level
from discrim.models.base.available import available_if
from discrim.models.base.data_range import check_data_range
from discrim.models.base.fit import FittedModel, Gaps
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.reading import Data, class_moments, listed

MOST_REPEATED = 2**25
"""Numbers that rows, each repeated as often as its weight says, may be."""

HELD_NUMBERS = 2**22
"""Numbers (rows x columns) up to which the rows of a search are held in memory."""


def robust_moments(
    blocks: Blocks, start: ClassMoments, wanted: Any, begin: Student | None = None
) -> tuple[ClassMoments, RobustCovariance]:
    """RobustCovariance means and scatters of the rows that the moments `start` are of.

    A DataError says that class means are so far apart that squares of their distances are no doubles; a
    CollinearError, that too many rows lie in a plane, or a class has too few for a minimum covariance
    determinant; a NotSupportedError, that weights are no whole numbers, for "mcd", or degrees of freedom are
    estimated as 2 or less.
    """
    if wanted.method == "t":
        return _t_moments(blocks, start, wanted, begin)
    x, codes = _repeated_rows(blocks)
    n = np.bincount(codes, minlength=start.n_classes)
    p = start.n_columns
    few = np.flatnonzero(n <= p)
    if len(few):
        raise CollinearError(
            f"Class {blocks.design.levels[few[0]]!r} has {n[few[0]]} rows and there are {p} columns "
            f'({listed(blocks.terms)}): covariance="mcd" needs more rows than columns in each class.',
            hint='Name fewer columns, or pass covariance="t".',
            options={"covariance": "t"},
            classes=(blocks.design.levels[few[0]],),
        )
    # The search compares rows in the units of the classes that vary least.
    check_data_range(class_moments(blocks, "diagonal"), blocks)
    found = fit_mcd(x, codes, start, wanted.support_fraction)
    if isinstance(found, ExactFit):
        raise _exact_fit(found, blocks)
    check_data_range(found[0], blocks)
    return found


def _held(blocks: Blocks) -> Iterable[RowBlock]:
    """Few rows in memory, so that a formula is worked out once and not at each step."""
    if blocks.table.nrows * len(blocks.terms) > HELD_NUMBERS:
        return blocks
    return [(x.copy(order="K"), codes.copy(), weights) for x, codes, weights in blocks]


def _t_moments(
    blocks: Blocks, start: ClassMoments, wanted: Any, begin: Student | None
) -> tuple[ClassMoments, RobustCovariance]:
    rows = _held(blocks)
    moments, robust, search = fit_t(rows, start, wanted.asked_nu, inflated=wanted.inflated, begin=begin)
    levels = blocks.design.levels
    if search.collapsed is not None:
        where = f"of class {levels[search.collapsed]!r}" if start.spread == "class" else "within classes"
        raise CollinearError(
            f"The scale {where} of the t distribution became singular: at nu={search.nu:g} too many rows "
            f"lie in a plane of fewer dimensions than the {len(blocks.terms)} columns "
            f"({listed(blocks.terms)}).",
            hint="Name fewer columns, or pass a larger nu.",
        )
    if not search.converged:
        what = "the common scale" if search.slowest is None else f"class {levels[search.slowest]!r}"
        warn_user(
            f"The search for t distributions did not converge in {search.steps} steps: the last still moved "
            f"{what}, by {search.change:.1e} of its scale.",
            ConvergenceWarning,
        )
    if wanted.estimated_nu and search.nu in NU_RANGE:
        end = "heavier tails than any that are looked for" if search.nu == NU_RANGE[0] else "normal tails"
        warn_user(f"The likelihood is largest at the end nu={search.nu:g} of the range: the rows have {end}.")
    if wanted.inflated and search.nu <= 2:
        raise NotSupportedError(
            f"nu is estimated as {search.nu:.3g}, where a t distribution has no covariance.",
            hint='Pass covariance=discrim.covariance.StudentT(None, scatter="scale").',
        )
    return moments, robust


def _repeated_rows(blocks: Blocks) -> tuple[Floats, Codes]:
    """Rows (n, p) in memory and their classes, each as often as its weight says."""
    parts = []
    total = 0.0
    most = MOST_REPEATED // len(blocks.terms)
    for place, x, codes, weights in used_rows(blocks):
        times = np.ones(len(codes)) if weights is None else weights
        broken = times != np.round(times)
        if broken.any():
            positions = np.arange(place.start, place.stop) if isinstance(place, slice) else place
            i = int(np.argmax(broken))
            raise NotSupportedError(
                'covariance="mcd" chooses rows: it takes weights that are whole numbers, and row '
                f"{blocks.table.label(int(positions[i]))!r} has {times[i]:g}.",
                hint='Pass covariance="t".',
                options={"covariance": "t"},
                rows=(blocks.table.label(int(positions[i])),),
            )
        total += times.sum()
        if weights is not None and total > max(most, blocks.table.nrows):
            raise NotSupportedError(
                f'covariance="mcd" repeats a row as often as its weight says, up to {most:,} rows of '
                f"{len(blocks.terms)} columns, and the weights add up to {total:g} or more.",
                hint=(
                    'Divide the weights by a common factor that leaves them whole, or pass covariance="t".'
                ),
                options={"covariance": "t"},
            )
        parts.append(repeated(x, codes, weights))
    x, codes = (np.concatenate(part) for part in zip(*parts, strict=True))
    return x, codes


def _exact_fit(found: ExactFit, blocks: Blocks) -> CollinearError:
    where = "" if found.k is None else f" of class {blocks.design.levels[found.k]!r}"
    columns = listed(blocks.terms[j] for j in found.columns)
    what = f"have one value of {columns}" if found.constant else f"determine {columns} by the columns before"
    about = "" if found.k is not None else ", centred by class,"
    return CollinearError(
        f"{found.rows.sum()} of the {len(found.rows)} rows{where}{about} {what}, so that the least "
        "covariance determinant is zero.",
        hint='Leave the column out, pass a larger support_fraction, or covariance="t".',
        options={"covariance": "t"},
    )


class RobustModel(FitComponent):
    """RobustCovariance means and covariances, of t distributions or by the minimum covariance determinant.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import StudentT
    >>> from discrim.datasets import load_iris
    >>> model = lda("species ~ .", load_iris(), covariance=StudentT(nu=None)).covariance_model
    >>> round(model.nu, 1)
    9.6
    >>> int(model.robust_distances()["flagged"].sum())
    6
    """

    @property
    def _model(self) -> Any:
        return self._fit.estimates.covariance_model

    @property
    @available_if(lambda self: self._model.method == "t", 'fit with covariance="t"')
    def nu(self) -> float:
        """Degrees of freedom of the t distributions."""
        return float(self._model.nu)

    @property
    @available_if(lambda self: self._model.method == "mcd", 'fit with covariance="mcd"')
    def support_fraction(self) -> float:
        """Share of the observations that the subset of the minimum covariance determinant has."""
        return float(self._model.support_fraction)

    def robust_distances(
        self, data: Data | None = None, *, level: float = 0.975, unseen: Unseen | None = None
    ) -> pd.DataFrame:
        """Distance of each row to the mean of its own class under the robust covariance.

        Parameters
        ----------
        data : table, optional
            New observations with their response. By default the data of the fit.
        level : float
            Level of the quantile at which the cutoff lies.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame
            For each row its class, its distance (not squared), the cutoff (the root of the quantile of
            chi-square on p degrees of freedom), and whether the row is flagged. A row that the fit cannot use
            has no distance.

        Examples
        --------
        >>> from discrim import qda
        >>> from discrim.datasets import load_penguins
        >>> fit = qda("species ~ bill_length_mm + bill_depth_mm", load_penguins(), covariance="mcd")
        >>> distances = fit.covariance_model.robust_distances()
        >>> distances.groupby("class", observed=True)["flagged"].sum().tolist()
        [4, 2, 4]
        """
        check_level(level)
        given = None if data is None else self._fit.new_rows(data, Gaps(unseen))
        blocks = self._fit.rows("robust_distances()") if given is None else given
        codes = blocks.codes
        if data is not None:
            codes = response_codes(blocks.design, blocks.table, blocks.functions)
        distance = row_distances(
            blocks, codes, self._fit.estimates.moments, _covariances(self._fit.estimates)
        )
        index = blocks.table.index
        cutoff = float(np.sqrt(chi2_isf(1 - level, len(self._fit.terms))))
        return pd.DataFrame(
            {
                "class": self._fit.labelled(np.where(np.isnan(distance), -1, codes), index),
                "distance": distance,
                "cutoff": cutoff,
                "flagged": distance > cutoff,
            },
            index=index,
        )

    def _classical_distances(self) -> Floats:
        """Distances (n,) of the rows of the fit by means and covariances of moments."""
        from discrim.core.discriminant.lda import LDAFit, fit_lda
        from discrim.core.discriminant.qda import fit_qda

        blocks = self._fit.drawn_rows('plot("distances")')
        moments = class_moments(blocks, self._fit.estimates.moments.spread)
        fit = fit_lda if isinstance(self._fit.estimates, LDAFit) else fit_qda
        plain = fit(moments, self._fit.estimates.prior)
        return row_distances(blocks, blocks.codes, moments, _covariances(plain))


def robust_rule(fit: FittedModel[Any], blocks: Blocks) -> Rule | None:
    """The rule of a robust fit to other weights of the rows, the prior held; None where there is none."""
    estimates = fit.estimates
    start = class_moments(blocks, estimates.moments.spread)
    if estimates.refit(start) is None:
        return fit.spec.refit_to_moments(fit, start)
    try:
        same = start.n_columns == estimates.moments.n_columns
        begin = Student(estimates.moments, _covariances(estimates), 1.0) if same else None
        moments, robust = robust_moments(blocks, start, estimates.covariance_model, begin)
    except CollinearError:
        return None
    refit = estimates.refit(moments, robust)
    return None if refit is None else refit.rule(fit.log_prior())


def _covariances(fit: Any) -> Any:
    return fit.distances().covariances


def row_distances(blocks: Blocks, codes: Codes, moments: ClassMoments, covariances: Any) -> Floats:
    """Distances (n,) of rows to the means of their classes; missing for rows without a class or a value."""
    out = np.full(blocks.table.nrows, np.nan)
    for place, x, missing in blocks.every_row():
        own = codes[place]
        known = own >= 0 if missing is None else (own >= 0) & ~missing
        rows = place.start + np.flatnonzero(known)
        out[rows] = np.sqrt(own_distances(moments, covariances, x[known], own[known]))
    return out
