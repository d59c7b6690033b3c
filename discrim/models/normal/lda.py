"""Linear discriminant analysis: normal classes with one covariance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pandas as pd

from discrim.core.covariance.principal import ignored
from discrim.core.moments.moments import ClassMoments
from discrim.core.normal.lda import LDAFit
from discrim.core.shrinkage.shrinkage import spread_of
from discrim.errors import DataError, warn_user
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.models.fits.arguments import check_word, is_whole, prior_vector
from discrim.models.fits.reading import (
    NaAction,
    collinear_error,
    drop_columns,
    is_wide,
    lean,
    refuse_few_rows,
    refuse_light,
    refuse_no_freedom,
    usable_rows,
)
from discrim.models.moments.given import FOUND_FROM_ROWS, given_sample, table_given
from discrim.models.moments.moments import Moments
from discrim.models.moments.once import by_moments
from discrim.models.normal.covariance_options import (
    Shrinking,
    read_shrinking,
    warn_where_units_differ,
    with_units,
    with_variances,
)
from discrim.models.normal.em import MissingRows, check_em, em_sample
from discrim.models.normal.estimators import CovarianceEstimator
from discrim.models.normal.lda_results import LDAResults, lda_fit
from discrim.models.normal.linear import linear_fit
from discrim.models.normal.robust import Method, Scatter, robust_choice, robust_moments

__all__ = ["lda"]

STRUCTURES = ("pooled", "diagonal", "shrunk", "correlation", "spherical", "pinv")
"""What `covariance=` may be, the full one first."""


@by_moments("pooled")
def lda(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    prior: Any = None,
    weights: Any = None,
    method: Method = "moment",
    nu: float | None = 5,
    scatter: Scatter = "covariance",
    support_fraction: float = 0.5,
    covariance: Literal["pooled", "diagonal", "shrunk", "correlation", "spherical", "pinv"]
    | CovarianceEstimator = "pooled",
    shrinkage: float | Literal["oas", "ledoit-wolf", "loo", "strimmer"] | None = None,
    variance_shrinkage: float | Literal["strimmer"] | None = None,
    grid: Sequence[float] | None = None,
    standardize: bool = False,
    ncomp: int | None = None,
    collinear: Literal["raise", "drop"] = "raise",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    missing: MissingRows | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LDAResults:
    """Linear discriminant analysis.

    Parameters
    ----------
    formula : str
        Response and predictors, `species ~ .`; the language is R's, see the page on formulas.
    data : DataFrame, or any table narwhals knows; or a source of tables
        A source is read part by part, and may be larger than memory: an Arrow dataset or stream, a LazyFrame
        of polars, a relation of DuckDB, a DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a
        pattern, or a list of them), a function that gives an iterator of frames, or such an iterator, which
        can be read once. See Notes for how often it is read.
    moments : Moments, optional
        In the place of formula and data, what `discrim.moments` or `discrim.from_stats` gave, or a sum of it.
        The fit has no rows then: what needs them takes `data=`.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities; None for the class proportions.
    weights : str or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.``.
    method : {"moment", "mle", "t", "mcd"}
        Divisor of the covariance: N - K, or N; or robust means and covariance: those of multivariate t
        distributions by maximum likelihood, or of the rows within the .975 quantile of their distance by
        those of minimum covariance determinant, as "mcd" of rrcov's Linda.
    nu : float, optional
        Degrees of freedom of "t"; None for those of largest likelihood, from 1 to 256.
    scatter : {"covariance", "scale"}
        What the covariance of "t" is: nu/(nu - 2) times the scale matrix, as in R's MASS::lda, or the scale.
    support_fraction : float
        Share of the rows, from 0.5 to 1, that "mcd" rests on: less bears more wild rows, more is more exact.
    covariance : {"pooled", "diagonal", "shrunk", "correlation", "spherical", "pinv"}, or an estimator
        The full covariance within classes; its variances only; shrunk towards a sphere; with its
        correlations shrunk towards zero and its variances towards their median, as R's sda; one variance for
        all columns; or the full one with the inverse of Moore and Penrose. All but the first work for more
        columns than rows, in as many dimensions as there are rows. Or an object with `fit(X)` and then
        `covariance_`, as those of `sklearn.covariance`: a copy is fitted to the rows less their class's
        means, and its covariance taken as it is.
    shrinkage : float, "oas", "ledoit-wolf", "loo" or "strimmer", optional
        Of "shrunk", in the units of the columns: a number from 0 to 1; that of OAS (the default) or of Ledoit
        & Wolf, as scikit-learn's of the N rows less their class's means; or of least leave-one-out error
        (`path`), ties to more shrinkage. Of "diagonal", towards the median of the variances: a number,
        Opgen-Rhein & Strimmer's, or "loo"; by default none. Of "correlation", of the correlations: a number,
        or Schaefer & Strimmer's (the default).
    variance_shrinkage : float or "strimmer", optional
        Of "correlation", of the variances towards their median: a number from 0 to 1, or Opgen-Rhein &
        Strimmer's (the default).
    grid : sequence of float, optional
        Shrinkages that "loo" chooses from; by default 0, 0.001, 0.002, 0.005, ..., 0.1, 0.2, ..., 1.
    standardize : bool
        Whether the sphere of "shrunk" and "spherical" is one of columns over their standard deviations within
        classes, which no unit of a column changes. By default it is one in the units of the columns, as
        scikit-learn's, and a warning is given where these differ by much. Refits learn the standard
        deviations anew, folds too; `leave_one_out()` holds them.
    ncomp : int, optional
        Restrict rule and transformation to the leading canonical axes.
    collinear : {"raise", "drop"}
        Refuse columns that others determine within classes, or drop the later ones with a warning.
    levels : sequence, optional
        The classes in order; by default the categories' order, else sorted.
    na_action : {"drop", "raise"}
        Drop rows with a missing value (they are counted), or refuse them.
    missing : {"drop", "em"}, optional
        "em" uses the values that such rows have: means and covariance are those of largest likelihood of all
        that is observed (see Notes), and the fit predicts rows with missing values by their other columns.
        The rows are held in memory.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call. Each is given whole columns once, as Series, and
        gives for each row a number, a truth value, text or a category, or a row of a matrix: an array in the
        order of the rows, or a Series or DataFrame, which is aligned by its index. It looks at each row
        alone: one that gives a row something else with other rows beside it, as `x - x.mean()` or ranks, is
        refused. `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category is
        missing.

    Returns
    -------
    LDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        An unknown column, an infinite value, no row left, one class only; a shrinkage outside [0, 1]; an
        estimator that cannot be fitted or has no `covariance_`.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance is singular; the message names the columns.

    Notes
    -----
    The rule is that of normal classes with one covariance (Fisher, 1936, Annals of Eugenics 7, 179-188;
    Welch, 1939, Biometrika 31, 218-220; Rao, 1948, Journal of the Royal Statistical Society B 10,
    159-203).

    `leave_one_out()` takes each row's own shrinkage by "oas", "ledoit-wolf" and "strimmer", and holds one
    that was given or chosen by leave-one-out, whose error it is the least of; `error_rates(["cv"])`
    chooses anew in each fold, and fits an estimator there. scikit-learn's
    `LinearDiscriminantAnalysis(shrinkage="auto")` takes Ledoit & Wolf's class by class, of columns first
    divided by their standard deviations.

    *Rows of a source* are read once by the fit, of which a first pass over the response alone finds the
    classes, but where `levels=` or the type of a category says them; over all columns, where the formula has
    categories or transforms that learn. Few rows, and columns that are nearly collinear, take one pass more.
    The summary, the apparent error and leave-one-out take two each (classes, then scores), of which the
    second answers for both errors; folds take two as well, or five a fold where transforms are learnt
    without it. `confusion(data=)` takes three and `predict(data)` one. A bar shows each that takes more than
    a second. Beside the moments, what is held is a class for each row and, by leave-one-out and folds, its K
    scores.

    *Missing values by "em"* (Little & Rubin, 2020, Statistical Analysis with Missing Data, 3rd ed., ch. 11):
    EM with the classes known, until what is left to the maximum is below 1e-8 standard errors and 1e-10 of
    the log-likelihood; `em` says how it went. It is right where it does not depend on the missing values that
    they are missing. `llf`, AIC and BIC are of the observed values; the divisor N - K of method="moment" is
    put in the place of N afterwards, as of complete rows. Only rows without a class, or without any value,
    are dropped. Standard errors and tests, which rest on the law of complete rows, are refused, and so is
    leave-one-out; folds are refitted by EM.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> fit = lda("species ~ .", data=load_iris())
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 48, 2], [0, 1, 49]]
    >>> fit.explained.round(4).tolist()
    [0.9912, 0.0088]
    >>> from discrim.datasets import load_penguins
    >>> fit = lda("species ~ bill_length_mm + bill_depth_mm + sex", load_penguins(), missing="em")
    >>> int(fit.nobs), fit.em.incomplete, fit.em.converged
    (342, 9, True)
    """
    check_word("collinear", collinear, ("raise", "drop"))
    asked = with_units(read_shrinking(covariance, shrinkage, grid, method, STRUCTURES), standardize)
    asked = with_variances(asked, variance_shrinkage)
    wanted = robust_choice(method, nu, scatter, support_fraction, asked.structure)
    has_rows, em = moments is None, None
    by_em = check_em(missing, method, asked.structure, na_action, has_rows=has_rows, collinear=collinear)
    if moments is None:
        asked_of = table_given("lda", formula, data)
        blocks = read(*asked_of, weights=weights, levels=levels, functions=functions)
        blocks, held, em = em_sample(blocks, common=True) if by_em else _sample(asked, blocks, na_action)
    else:
        needs_rows = asked.needs_rows or wanted is not None
        blocks, held = given_sample(
            moments, spread_of(asked.structure, "pooled"), why_rows=FOUND_FROM_ROWS if needs_rows else "",
            formula=formula, data=data, weights=weights, levels=levels, functions=functions,
        )  # fmt: skip
    refuse_no_freedom(held, blocks.terms, diagonal=not asked.takes_full_rank(held.n_columns))
    if method == "moment":
        refuse_light(held.total, held.n_classes)
    blocks, held = _independent(asked, blocks, held, collinear)
    warn_where_units_differ(asked, held, blocks.terms)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), held.counts)
    _check_axes(ncomp, held)
    robust = None
    if wanted is not None:
        held, robust = robust_moments(blocks, held, wanted)
    fit, path = linear_fit(
        asked,
        blocks,
        held,
        shares,
        method=method,
        ncomp=None if ncomp is None else int(ncomp),
        estimated_prior=prior is None,
        robust=robust,
    )
    if fit.structure == "pinv":
        _warn_of_pseudo_inverse(fit, blocks.terms)
    drops, fit = collinear == "drop", replace(fit, em=em)
    return LDAResults(lda_fit(fit, blocks, has_rows=has_rows, asked=asked, path=path, drops=drops))


def _sample(asked: Shrinking, blocks: Blocks, na_action: NaAction) -> tuple[Blocks, ClassMoments, None]:
    """Complete rows, and their moments."""
    blocks = lean(blocks)
    if asked.structure == "full":
        refuse_few_rows(blocks)
    spread = spread_of(asked.structure, "pooled", thin=is_wide(blocks))
    return *usable_rows(blocks, spread, na_action), None


def _independent(
    asked: Shrinking, blocks: Blocks, held: ClassMoments, collinear: str
) -> tuple[Blocks, ClassMoments]:
    """Blocks and moments of columns that no others determine, or the error that names those."""
    found = asked.obstacles(held)
    if found and collinear == "raise":
        raise collinear_error(found, blocks.terms)
    return drop_columns(blocks, held, found) if found else (blocks, held)


def _check_axes(ncomp: Any, held: ClassMoments) -> None:
    """Raise a DataError for a number of canonical axes that there is not."""
    most = min(held.n_columns, held.n_classes - 1)
    if ncomp is not None and not (is_whole(ncomp) and 1 <= ncomp <= most):
        raise DataError(
            f"ncomp={ncomp!r}: {held.n_columns} columns and {held.n_classes} classes have "
            f"{most} canonical axes; give a number from 1 to {most}, or None for all."
        )


def _warn_of_pseudo_inverse(fit: LDAFit, terms: tuple[str, ...]) -> None:
    """Say what distances leave out where the covariance has no inverse."""
    rank, lost = ignored(fit.covariance, fit.moments)
    if rank < len(terms):
        warn_user(
            f'covariance="pinv": the rows vary within classes in {rank} of {len(terms)} dimensions. '
            f"Distances are taken in these alone and leave out {lost:.1%} of the squared differences of the "
            'class means, which lie beyond them; covariance="shrunk" uses all.'
        )
