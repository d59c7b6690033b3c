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
    warn_of_near,
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
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
        The Notes say how often a source is read.
    moments : Moments, optional
        What `discrim.moments` or `discrim.from_stats` returned, or a sum of such moments, in place of formula
        and data. The fit then has no rows, and methods that need rows take them as `data=`.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
    method : {"moment", "mle", "t", "mcd"}
        "moment" divides the covariance by N - K, "mle" by N. The other two are robust. "t" estimates the
        means and the covariance of multivariate t distributions by maximum likelihood. "mcd" takes the rows
        whose distance by the minimum covariance determinant is within its .975 quantile, as "mcd" of rrcov's
        Linda does.
    nu : float, optional
        Degrees of freedom of method="t". None chooses those of largest likelihood, from 1 to 256.
    scatter : {"covariance", "scale"}
        Whether method="t" takes nu/(nu - 2) times the scale matrix for the covariance, as R's MASS::lda does,
        or the scale matrix itself, as R's MASS::qda does.
    support_fraction : float
        Share of the rows, from 0.5 to 1, that method="mcd" rests on. A smaller share tolerates more outliers,
        and a larger one gives more precise estimates.
    covariance : {"pooled", "diagonal", "shrunk", "correlation", "spherical", "pinv"}, or an estimator
        "pooled" is the full covariance within classes and "diagonal" has its variances alone. "shrunk"
        shrinks it towards a sphere. "correlation" shrinks the correlations towards zero and the variances
        towards their median, as R's sda does. "spherical" has one variance for all columns. "pinv" is the
        full covariance with the inverse of Moore and Penrose. All but "pooled" also work with more columns
        than rows, in as many dimensions as there are rows. An estimator is an object with `fit(X)` and then
        `covariance_`, such as those of `sklearn.covariance`: a copy of it is fitted to the rows less their
        class means, and its covariance is taken as it is.
    shrinkage : float, "oas", "ledoit-wolf", "loo" or "strimmer", optional
        How much is shrunk: a number from 0, nothing, to 1, or the rule that chooses the number. For "shrunk"
        the rules are "oas" (the default) and "ledoit-wolf", computed as in scikit-learn from the rows less
        their class means, and "loo", which takes the number of least leave-one-out error (see `path`) and of
        equal errors the largest number. For "diagonal" the variances are shrunk towards their median by a
        number, by the rule of Opgen-Rhein and Strimmer ("strimmer"), or by "loo"; by default they are not
        shrunk. For "correlation" the correlations are shrunk by a number, or by the rule of Schaefer and
        Strimmer ("strimmer", the default).
    variance_shrinkage : float or "strimmer", optional
        How much covariance="correlation" shrinks the variances towards their median: a number from 0 to 1, or
        the rule of Opgen-Rhein and Strimmer (the default).
    grid : sequence of float, optional
        Numbers that shrinkage="loo" chooses from; by default 0, 0.001, 0.002, 0.005, ..., 0.1, 0.2, ..., 1.
    standardize : bool
        Whether the sphere of "shrunk" and "spherical" is meant for columns divided by their standard
        deviations within classes, so that the units of the columns do not matter. By default it is meant in
        the units of the columns, as in scikit-learn, and a warning is given where these differ by much.
        Refits learn the standard deviations anew, also in folds; `leave_one_out()` holds them.
    ncomp : int, optional
        Number of leading canonical axes that the rule and `transform` use; by default all.
    collinear : {"raise", "drop"}
        Whether columns that others determine within classes are refused, or the later ones dropped with a
        warning.
    levels : sequence, optional
        The classes in order. By default they have the order of the categories, and are sorted where the
        response has none.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped, and counted, or refused.
    missing : {"drop", "em"}, optional
        "em" also uses the values that rows with a missing value do have: the means and covariances are those
        of largest likelihood of all observed values, and the fit predicts such rows from their other columns.
        The rows are then held in memory.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call, by name. Each is called once with whole columns, as
        Series, and returns for every row a number, a truth value, a text or category, or a row of a matrix; a
        Series or DataFrame is aligned by its index. It has to treat each row alone: a function whose value
        for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The formula's own
        `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category counts as
        missing.

    Returns
    -------
    LDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also a shrinkage
        outside 0 to 1, and an estimator that cannot be fitted or has no `covariance_`.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance is singular; the message names the columns.

    Notes
    -----
    The rule is that of normal classes with one covariance (Fisher, 1936, Annals of Eugenics 7, 179-188;
    Welch, 1939, Biometrika 31, 218-220; Rao, 1948, Journal of the Royal Statistical Society B 10, 159-203).

    *Leaving out and shrinkage.* Under "oas", "ledoit-wolf" and "strimmer", `leave_one_out()` computes the
    shrinkage again without each row. It holds a shrinkage that was given or chosen by "loo", so that its
    error is then the least of those tried. `error_rates(["cv"])` chooses the shrinkage, and fits an
    estimator, anew in each fold. scikit-learn's `LinearDiscriminantAnalysis(shrinkage="auto")` differs: it
    applies the rule of Ledoit and Wolf class by class, to columns that were first divided by their standard
    deviations.

    *Columns that are nearly collinear.* A warning names a column of which the columns before it leave less
    than a millionth of its standard deviation within classes, and those columns: its variance inflation
    factor is beyond 1e12. Predictions keep the digits that the columns have; the coefficients are huge and
    nearly cancel.

    *How often a source is read.* The fit reads the rows once. A first pass reads the response alone to find
    the classes, unless `levels=` or the type of a category names them; it reads all columns where the formula
    has categories or transforms that learn. Few rows, and columns that are nearly collinear, take one more
    pass. The summary, the apparent error and leave-one-out take two passes each, one for the classes and one
    for the scores; the latter serves both errors. Folds take two as well, or five for each fold where
    transforms are learnt without it. `confusion(data=)` takes three and `predict(data)` one. A pass of more
    than a second shows a bar. Beside the moments, memory holds a class for each row and, for leave-one-out
    and folds, its K scores.

    *Missing values by "em"* (Little & Rubin, 2020, Statistical Analysis with Missing Data, 3rd ed., ch. 11).
    The EM algorithm, with the classes known, runs until the distance to the maximum is below 1e-8 standard
    errors and 1e-10 of the log-likelihood; `em` reports the search. The method is valid where the missing
    values do not themselves decide that they are missing. `llf`, AIC and BIC are those of the observed
    values. With method="moment" the divisor N is afterwards replaced by N - K, as for complete rows. Only
    rows without a class or without any value are dropped. Standard errors and tests assume complete rows and
    are refused, and so is leave-one-out; folds are refitted by EM.

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
    if asked.structure == "full":
        warn_of_near(held, blocks.terms)
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
