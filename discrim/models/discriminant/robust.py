"""Robust means and covariances of fits: t distributions and the minimum covariance determinant (MCD).

`lda` and `qda` call `estimate_robust_moments`, and their refits call `refit_robustly`. `RobustModel` is the
`covariance_model` of the results, with the robust distances of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.robust import ExactFit, RobustCovariance, fit_mcd, fit_t
from discrim.core.covariance.student import NU_RANGE, StudentEstimates, squared_distances_to_own_means
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlock
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import chi2_isf
from discrim.core.rules.rules import Rule
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.matrix import response_codes
from discrim.design.rows import repeat_rows, used_rows
from discrim.errors import CollinearError, ConvergenceWarning, NotSupportedError, warn_user
from discrim.inference.error_rates import check_level
from discrim.models.base.available import available_if
from discrim.models.base.data_range import check_data_range
from discrim.models.base.fit import FittedModel, MissingPolicy
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.reading import Data, class_moments, join_labels

MAX_REPEATED_VALUES = 2**25
"""Largest number of values (rows times columns) of rows that are repeated according to their weights."""

MAX_VALUES_IN_MEMORY = 2**22
"""Largest number of values (rows times columns) that a search keeps in memory."""


def estimate_robust_moments(
    design_rows: DesignRows,
    start_moments: ClassMoments,
    covariance_model: Any,
    start_estimates: StudentEstimates | None = None,
) -> tuple[ClassMoments, RobustCovariance]:
    """Estimate robust means and scatter matrices by the method of the model, "t" or "mcd".

    The rows are read several times, or into memory. Warns if the search for t distributions does not
    converge, or if degrees of freedom are estimated at a limit of their range.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    start_moments : ClassMoments
        Moments of these rows, pooled or by class. The estimates have the same structure.
    covariance_model : CovarianceModel
        Robust model with its options.
    start_estimates : StudentEstimates, optional
        Estimates from which the search for t distributions starts; by default the moments. Not used by "mcd".

    Returns
    -------
    moments : ClassMoments
        Robust means and scatter matrices in the form of moments, with the counts of the rows. By "mcd" they
        are the reweighted estimates.
    covariance_model : RobustCovariance
        The model with the record of the search.

    Raises
    ------
    DataError
        Squared distances between class means exceed double precision ("mcd").
    CollinearError
        Too many rows lie in a hyperplane, or, for the MCD, a class has at most as many rows as columns.
    NotSupportedError
        For the MCD, weights are not integers or too large; for t, the degrees of freedom are estimated as 2
        or less, and the model requires a covariance instead of a scale matrix.
    """
    if covariance_model.method == "t":
        return _estimate_t_moments(design_rows, start_moments, covariance_model, start_estimates)
    x, codes = _read_repeated_rows(design_rows)
    n = np.bincount(codes, minlength=start_moments.n_classes)
    p = start_moments.n_columns
    small_classes = np.flatnonzero(n <= p)
    if len(small_classes):
        raise CollinearError(
            'covariance="mcd" requires more rows than columns in each class. Class '
            f"{design_rows.design.levels[small_classes[0]]!r} has {n[small_classes[0]]} rows, and there are "
            f"{p} columns ({join_labels(design_rows.terms)}).",
            hint='Use fewer columns, or pass covariance="t".',
            options={"covariance": "t"},
            classes=(design_rows.design.levels[small_classes[0]],),
        )
    # The search divides by the standard deviations of the least variable class.
    check_data_range(class_moments(design_rows, "diagonal"), design_rows)
    mcd = fit_mcd(x, codes, start_moments, covariance_model.support_fraction)
    if isinstance(mcd, ExactFit):
        raise _exact_fit_error(mcd, design_rows)
    check_data_range(mcd[0], design_rows)
    return mcd


def _copy_if_small(design_rows: DesignRows) -> Iterable[RowBlock]:
    """Return blocks of rows, copied to memory if they have at most `MAX_VALUES_IN_MEMORY` values.

    Rows in memory save the evaluation of the formula in each step of a search.
    """
    if design_rows.table.nrows * len(design_rows.terms) > MAX_VALUES_IN_MEMORY:
        return design_rows
    return [(x.copy(order="K"), codes.copy(), weights) for x, codes, weights in design_rows]


def _estimate_t_moments(
    design_rows: DesignRows,
    start_moments: ClassMoments,
    covariance_model: Any,
    start_estimates: StudentEstimates | None,
) -> tuple[ClassMoments, RobustCovariance]:
    """Estimate the means and scatter matrices of t distributions, one matrix or one for each class.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    start_moments : ClassMoments
        Moments of these rows.
    covariance_model : StudentTCovariance
        The model with its options.
    start_estimates : StudentEstimates or None
        Estimates from which the search starts; by default the moments.

    Returns
    -------
    moments : ClassMoments
        Means and scatter matrices in the form of moments.
    covariance_model : RobustCovariance
        The model with the record of the search and the degrees of freedom.

    Raises
    ------
    CollinearError
        A scale matrix becomes singular, because too many rows lie in a hyperplane.
    NotSupportedError
        The degrees of freedom are estimated as 2 or less, and the model requires a covariance.

    Warns
    -----
    ConvergenceWarning
        The search does not converge. A plain warning states that degrees of freedom are at a limit.
    """
    rows = _copy_if_small(design_rows)
    moments, robust, search = fit_t(
        rows,
        start_moments,
        covariance_model.requested_nu,
        inflated=covariance_model.inflated,
        initial=start_estimates,
    )
    levels = design_rows.design.levels
    if search.collapsed is not None:
        scope = (
            f"of class {levels[search.collapsed]!r}"
            if start_moments.scatter_type == "class"
            else "within classes"
        )
        raise CollinearError(
            f"The scale matrix {scope} of the t distribution became singular at nu={search.nu:g}: too many "
            f"rows lie in a hyperplane of the {len(design_rows.terms)} columns "
            f"({join_labels(design_rows.terms)}).",
            hint="Use fewer columns, or pass a larger nu.",
            classes=(levels[search.collapsed],) if start_moments.scatter_type == "class" else (),
        )
    if not search.converged:
        slowest_text = "the common scale" if search.slowest is None else f"class {levels[search.slowest]!r}"
        warn_user(
            f"The search for t distributions did not converge in {search.steps} steps: the last step changed "
            f"{slowest_text} by {search.change:.1e} of its scale.",
            ConvergenceWarning,
        )
    if covariance_model.estimated_nu and search.nu in NU_RANGE:
        tail_text = "heavier tails than the range allows" if search.nu == NU_RANGE[0] else "normal tails"
        warn_user(
            f"The likelihood is largest at nu={search.nu:g}, a limit of the range: the observations have "
            f"{tail_text}."
        )
    if covariance_model.inflated and search.nu <= 2:
        raise NotSupportedError(
            f"nu is estimated as {search.nu:.3g}. A t distribution with nu up to 2 has no covariance.",
            hint='Pass covariance=discrim.covariance.StudentT(None, scatter="scale").',
        )
    return moments, robust


def _read_repeated_rows(design_rows: DesignRows) -> tuple[Floats, Codes]:
    """Read rows (n, p) and their classes (n,) into memory, each repeated as often as its integer weight.

    Raises NotSupportedError if a weight is not an integer, or if weights repeat the rows to more than
    `MAX_REPEATED_VALUES` values.
    """
    chunks = []
    total = 0.0
    max_rows = MAX_REPEATED_VALUES // len(design_rows.terms)
    for rows, x, codes, weights in used_rows(design_rows):
        chunk_weights = np.ones(len(codes)) if weights is None else weights
        is_fractional = chunk_weights != np.round(chunk_weights)
        if is_fractional.any():
            positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            i = int(np.argmax(is_fractional))
            raise NotSupportedError(
                'covariance="mcd" requires integer weights, but row '
                f"{design_rows.table.label(int(positions[i]))!r} has {chunk_weights[i]:g}.",
                hint='Pass covariance="t".',
                options={"covariance": "t"},
                rows=(design_rows.table.label(int(positions[i])),),
            )
        total += chunk_weights.sum()
        if weights is not None and total > max(max_rows, design_rows.table.nrows):
            raise NotSupportedError(
                f'covariance="mcd" repeats rows according to their weights, up to {max_rows:,} rows of '
                f"{len(design_rows.terms)} columns; the sum of the weights is at least {total:g}.",
                hint='Divide the weights by a common integer factor, or pass covariance="t".',
                options={"covariance": "t"},
            )
        chunks.append(repeat_rows(x, codes, weights))
    x, codes = (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
    return x, codes


def _exact_fit_error(exact_fit: ExactFit, design_rows: DesignRows) -> CollinearError:
    """Return the error for a minimum covariance determinant of zero.

    It names the constant or collinear columns, the number of rows in the hyperplane, and the class unless the
    covariance is common.
    """
    scope = "" if exact_fit.k is None else f" of class {design_rows.design.levels[exact_fit.k]!r}"
    columns = join_labels(design_rows.terms[j] for j in exact_fit.columns)
    problem = (
        f"have the same value of {columns}"
        if exact_fit.is_constant
        else f"satisfy a linear equation that determines {columns} from preceding columns"
    )
    centring_text = "" if exact_fit.k is not None else ", centred by class,"
    return CollinearError(
        f"{exact_fit.rows.sum()} of the {len(exact_fit.rows)} rows{scope}{centring_text} {problem}. The "
        "minimum covariance determinant is zero.",
        hint='Leave out the column, pass a larger support_fraction, or covariance="t".',
        options={"covariance": "t"},
        columns=[design_rows.terms[j] for j in exact_fit.columns],
        classes=() if exact_fit.k is None else (design_rows.design.levels[exact_fit.k],),
    )


class RobustModel(FitComponent):
    """Robust means and covariances, of t distributions or by the minimum covariance determinant.

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
        """Robust covariance model of the fit."""
        return self._fit.estimates.covariance_model

    @property
    @available_if(lambda self: self._model.method == "t", 'fit with covariance="t"')
    def nu(self) -> float:
        """Degrees of freedom of the t distributions, one for all classes; given or estimated."""
        return float(self._model.nu)

    @property
    @available_if(lambda self: self._model.method == "mcd", 'fit with covariance="mcd"')
    def support_fraction(self) -> float:
        """Option `support_fraction` of the MCD, from 0.5 to 1.

        Of n rows with p columns the subset contains (n + p + 1)/2 for 0.5 and n for 1, and a number between
        these, linear in the option, for other values.
        """
        return float(self._model.support_fraction)

    def robust_distances(
        self, data: Data | None = None, *, level: float = 0.975, unseen: Unseen | None = None
    ) -> pd.DataFrame:
        """Mahalanobis distance of each row to the robust mean of its class, under the robust covariance.

        Parameters
        ----------
        data : table, optional
            New observations with their response. By default the data of the fit.
        level : float
            Level of the quantile that is the cutoff.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame
            For each row of the table: class, distance (not squared), cutoff (the root of the quantile of
            chi-square with p degrees of freedom, p columns), and flagged (whether the distance exceeds the
            cutoff). Class and distance are missing for a row without a class or with a missing value, which
            is not flagged.

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
        new_blocks = None if data is None else self._fit.new_rows(data, MissingPolicy(unseen))
        design_rows = self._fit.require_rows("robust_distances()") if new_blocks is None else new_blocks
        codes = design_rows.codes
        if data is not None:
            codes = response_codes(design_rows.design, design_rows.table, design_rows.functions)
        distance = row_distances(
            design_rows, codes, self._fit.estimates.moments, _covariances(self._fit.estimates)
        )
        index = design_rows.table.index
        cutoff = float(np.sqrt(chi2_isf(1 - level, len(self._fit.terms))))
        return pd.DataFrame(
            {
                "class": self._fit.to_labels(np.where(np.isnan(distance), -1, codes), index),
                "distance": distance,
                "cutoff": cutoff,
                "flagged": distance > cutoff,
            },
            index=index,
        )

    def _classical_distances(self) -> Floats:
        """Return the Mahalanobis distances (n,) of the rows of the fit, by sample means and covariances.

        They are not squared, and NaN for a row without a class or with a missing value. Raises
        NotSupportedError if the rows are not in memory.
        """
        from discrim.core.discriminant.lda import LDAFit, fit_lda
        from discrim.core.discriminant.qda import fit_qda

        design_rows = self._fit.require_rows_in_memory('plot("distances")')
        moments = class_moments(design_rows, self._fit.estimates.moments.scatter_type)
        fit = fit_lda if isinstance(self._fit.estimates, LDAFit) else fit_qda
        classical_fit = fit(moments, self._fit.estimates.prior)
        return row_distances(design_rows, design_rows.codes, moments, _covariances(classical_fit))


def refit_robustly(fit: FittedModel[Any], design_rows: DesignRows) -> Rule | None:
    """Refit robustly to rows with other weights and return the rule under the prior of the fit, or None.

    If the sample covariance of the rows is singular, `refit_to_moments` computes the rule and leaves out
    columns. None if too many rows lie in a hyperplane, a class has too few rows, or a covariance is singular.
    """
    estimates = fit.estimates
    start_moments = class_moments(design_rows, estimates.moments.scatter_type)
    if estimates.refit(start_moments) is None:
        return fit.spec.refit_to_moments(fit, start_moments)
    try:
        has_same_columns = start_moments.n_columns == estimates.moments.n_columns
        start_estimates = (
            StudentEstimates(estimates.moments, _covariances(estimates), 1.0) if has_same_columns else None
        )
        moments, robust = estimate_robust_moments(
            design_rows, start_moments, estimates.covariance_model, start_estimates
        )
    except CollinearError:
        return None
    refit = estimates.refit(moments, robust)
    return None if refit is None else refit.rule(fit.log_prior())


def _covariances(fit: Any) -> Any:
    """Return the covariances of an `LDAFit` (a tuple of one) or `QDAFit` (one for each class)."""
    return fit.distances().covariances


def row_distances(design_rows: DesignRows, codes: Codes, moments: ClassMoments, covariances: Any) -> Floats:
    """Compute the Mahalanobis distances of rows to the means of their classes.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    codes : (n,) int
        Their classes; -1 if unknown.
    moments : ClassMoments
        The class means.
    covariances : sequence of Covariance
        One, or one for each class.

    Returns
    -------
    (n,) float
        Distances (not squared) of all rows of the table; NaN for rows without a class or with a missing
        value.
    """
    distances = np.full(design_rows.table.nrows, np.nan)
    for row_slice, x, missing in design_rows.iter_all_rows():
        block_codes = codes[row_slice]
        is_used = block_codes >= 0 if missing is None else (block_codes >= 0) & ~missing
        rows = row_slice.start + np.flatnonzero(is_used)
        distances[rows] = np.sqrt(
            squared_distances_to_own_means(moments, covariances, x[is_used], block_codes[is_used])
        )
    return distances
