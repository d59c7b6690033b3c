"""Mixture discriminant analysis: each class a mixture of normals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from discrim.core.mixtures.em import Plan
from discrim.core.mixtures.forms import FORMS
from discrim.core.moments.moments import ClassMoments
from discrim.errors import DataError
from discrim.frame.asked_rows import read
from discrim.models.fits.arguments import check_word, is_number, is_whole, listed, prior_vector, told
from discrim.models.fits.reading import NaAction, refuse_large, usable_rows
from discrim.models.mixtures.mixture_fits import (
    MODEL,
    SAVED,
    Asked,
    fitted_as_asked,
    mixture_fit,
    refuse_few_rows,
    warn_if_unfinished,
)
from discrim.models.mixtures.mixture_results import MixtureResults
from discrim.models.moments.given import table_given

__all__ = ["MODEL", "SAVED", "MixtureResults", "mixture"]

MOST_STARTS = 10_000
"""Random partitions that EM may be tried from: each takes ten steps."""

MOST_TRIED = 1000
"""Components that a choice may try: each number takes all starts, and each component at least a row."""

WORDS = {"full": "VVV", "diagonal": "VVI", "pooled": "EEE"}
"""Words of the other verbs, and the forms that they are."""

MOST = 5
"""Components up to which "bic" tries by default."""


def mixture(
    formula: str,
    data: Any,
    *,
    components: Any = "bic",
    covariance: Any = "full",
    over: Literal["class", "classes"] | None = None,
    most: int = MOST,
    starts: int = 10,
    seed: int = 0,
    tol: float = 1e-8,
    maxiter: int = 1000,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> MixtureResults:
    """Mixture discriminant analysis: the rows of each class are from a mixture of normals.

    A class may consist of several clusters, or be bent. With one component each class is normal, with a
    covariance of one of fourteen forms that include those of `discrim.lda` and `discrim.qda`.

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
        The rows are held in memory, and read more than once, so that such an iterator, or a stream, is
        refused.
    components : int, dict, or "bic"
        Number of components of each class; a dict gives it by class. "bic" tries 1 to `most`.
    covariance : str or dict
        "full" gives each component its own covariance, and "diagonal" does so without correlations. "pooled"
        has one covariance for all components of all classes, as in R's mda. Other names are those of mclust;
        see the Notes of `discrim.mixture`. "bic" tries all of these names. A dict gives names by class.
    over : {"class", "classes"}, optional
        Whether what the letters of a name call equal is equal over the components of each class, or over
        those of all classes. By default it is equal over the classes where each has one component, and within
        each class otherwise.
    most : int
        The largest number of components that "bic" tries: no more than the largest class has rows, nor 1,000.
    starts : int
        Number of random partitions from which EM takes some steps, beside two of hierarchical clustering. It
        is continued from the best of them.
    seed : int
        Seed of the random partitions. The same seed and rows, in whatever order, give the same fit.
    tol : float
        EM ends when a step raises the log-likelihood by less than this for each row.
    maxiter : int
        The largest number of steps of EM.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
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
    MixtureResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also an option that is
        not known, and a class with fewer rows than components.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        From every start a component becomes singular or narrow, or is left without rows. Or a class with one
        component has a singular covariance; the message names the columns.

    Notes
    -----
    The letters of mclust's names stand for volume, shape and orientation: E is equal for all components, V is
    varying, and I is a sphere or no rotation. EII and VII are spheres; EEI, VEI, EVI and VVI are diagonal;
    EEE, VEE, EVE, VVE, EEV, VEV, EVV and VVV are ellipsoids. EII, VII, EVE, VVE, EEV and VEV depend on the
    units of the columns.

    One component for each class, with a form over classes, is mclust's EDDA (Bensmail & Celeux, 1996, Journal
    of the American Statistical Association 91, 1743-1748): EEE is `lda(method="mle")` and VVV is
    `qda(method="mle")`. A form over each class is its MclustDA (Fraley & Raftery, 2002, Journal of the
    American Statistical Association 97, 611-631). "pooled" is the mixture discriminant analysis of Hastie &
    Tibshirani (1996, Journal of the Royal Statistical Society B 58, 155-176).

    `llf`, AIC and BIC are those of class and row, as for the other verbs: the sum over the rows of ln prior_k
    + ln f_k(x). `llf_given` leaves out the prior. `llf_rows`, which mclust prints, is that of the rows
    whatever their class: ln sum_k prior_k f_k(x). The BIC that mclust prints is the negative of the BIC of
    this number. components="bic" and covariance="bic" take BIC = df ln n - 2 llf of the rows within a class,
    or within all classes where the form is over them.

    EM begins at `starts` partitions by k-means and at two by hierarchical clustering: that of Ward, and a
    model-based one (Fraley, 1998, SIAM Journal on Scientific Computing 20, 270-281), which mclust begins at.
    After ten steps it is run to the end from those of hierarchies and from the three best of the others, and
    `runs` says how many of these agree. The hierarchies are of 300 rows of each class at most. Where a class
    has over 2,000 rows the ten steps are taken on 2,000 of them, and only the best is run to the end.

    `leave_one_out` runs EM once for each row, from the components of the fit. Folds and bootstrap samples
    begin anew, and choose anew what BIC chose. A likelihood of normals with their own covariances has no
    upper bound, and it has many maxima at components of a few rows that lie near a plane. The fit is the
    largest maximum found at which no component of 2 (p + 1) rows or fewer is, along any direction, less than
    a hundredth as wide as another component of its class (Hathaway, 1985, Annals of Statistics 13, 795-800).

    Examples
    --------
    >>> from discrim import mixture
    >>> from discrim.datasets import load_iris
    >>> fit = mixture("species ~ .", load_iris(), components=1, covariance="VEV")
    >>> round(fit.llf_rows, 2), fit.df_model
    (-187.71, 38)
    >>> fit = mixture("species ~ .", load_iris(), components=2, covariance="pooled")
    >>> fit.shares.round(3).loc["virginica"].tolist()
    [0.677, 0.323]
    """
    plan = _plan(starts, seed, tol, maxiter)
    if not (is_whole(most) and 1 <= most <= MOST_TRIED):
        raise DataError(f"most={told(most)}: give a number of components from 1 to {MOST_TRIED:,}.")
    check_word("over", over, ("class", "classes"), optional=True)
    asked_of = table_given("mixture", formula, data)
    blocks = read(*asked_of, weights=weights, levels=levels, functions=functions)
    refuse_large(blocks, "mixture() holds the rows")
    blocks, moments = usable_rows(blocks, "diagonal", na_action)
    labels = pd.Index(list(blocks.design.levels))
    sizes = tuple(
        None if isinstance(size, str) else int(size)
        for size in _by_class("components", components, labels, _check_size)
    )
    forms = tuple(
        None if form == "bic" else WORDS.get(form, form)
        for form in _by_class("covariance", covariance, labels, _check_form)
    )
    asked = Asked(sizes, forms, _is_together(covariance, sizes, forms, over), int(most), plan)
    refuse_few_rows(asked, blocks, moments)
    if None in sizes:
        _refuse_too_many(int(most), labels, moments)
    shares = prior_vector(prior, labels, moments.counts)
    fit, path = fitted_as_asked(asked, blocks, moments, shares, estimated_prior=prior is None)
    warn_if_unfinished(fit)
    return MixtureResults(mixture_fit(fit, blocks, asked=asked, path=path))


def _refuse_too_many(most: int, labels: pd.Index, moments: ClassMoments) -> None:
    """Refuse to try more components than any class has rows, beyond those that are tried by default."""
    largest = int(moments.rows.argmax())
    rows = int(moments.rows[largest])
    if most > max(rows, MOST):
        raise DataError(
            f"most={most}: the largest class, {labels[largest]!r}, has {rows} rows: components need rows. "
            f"Give a number from 1 to {rows}."
        )


def _plan(starts: Any, seed: Any, tol: Any, maxiter: Any) -> Plan:
    for name, value, largest in (("starts", starts, MOST_STARTS), ("maxiter", maxiter, None)):
        if not (is_whole(value) and value >= 1 and (largest is None or value <= largest)):
            upto = "on" if largest is None else f"to {largest:,}"
            raise DataError(f"{name}={told(value)}: give a whole number from 1 {upto}.")
    if not (is_whole(seed) and seed >= 0):
        raise DataError(f"seed={told(seed)}: give a whole number from 0 on.")
    if not (is_number(tol) and 0 <= tol < 1):
        raise DataError(f"tol={told(tol)}: give a number from 0 on, below 1.")
    return Plan(int(starts), int(seed), float(tol), int(maxiter))


def _check_size(value: Any) -> None:
    if not (isinstance(value, str) and value == "bic") and not (is_whole(value) and value >= 1):
        raise DataError(f'components={told(value)}: give a number from 1 on for each class, or "bic".')


def _check_form(value: Any) -> None:
    if not isinstance(value, str) or value not in (*FORMS, *WORDS, "bic"):
        raise DataError(f"covariance={told(value)}: give one of {listed([*WORDS, 'bic', *FORMS], most=20)}.")


def _by_class(name: str, value: Any, labels: pd.Index, check: Callable[[Any], None]) -> list[Any]:
    """An option of each class, of a dict or of one value for all.

    Raises
    ------
    DataError
        It is none, or the dict has not the classes.
    """
    if not isinstance(value, Mapping):
        check(value)
        return [value] * len(labels)
    unknown = [key for key in value if key not in labels]
    if unknown:
        raise DataError(f"{name} names {told(unknown[0])}, which is no class: name {listed(labels)}.")
    missing = [label for label in labels if label not in value]
    if missing:
        raise DataError(f"{name} gives nothing for class {told(missing[0])}: give each class a value.")
    for each in value.values():
        check(each)
    return [value[label] for label in labels]


def _is_together(
    covariance: Any, sizes: tuple[int | None, ...], forms: tuple[str | None, ...], over: str | None
) -> bool:
    """Whether a form is that of the components of all classes.

    Raises
    ------
    DataError
        It is to be, and is not the same for all, or BIC is to choose components of one class only.
    """
    alike = len(set(forms)) == 1 and (None not in sizes or len(set(sizes)) == 1)
    if over is None:
        return alike and ((isinstance(covariance, str) and covariance == "pooled") or set(sizes) == {1})
    if over == "classes" and not alike:
        raise DataError(
            'over="classes" is for one covariance= of all classes, and components= that are given or "bic" '
            'for all: leave out over=, or pass over="class".'
        )
    return over == "classes"
