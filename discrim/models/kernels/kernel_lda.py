"""Kernel discriminant analysis: the verb `kernel_lda`, its results, its summary and permutation importance.

Kernel, scale, width and ridge are options or are chosen by the loss of left-out rows. Fits by landmarks or
random features are in `feature_lda`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.kernels.feature_lda import FeatureLDAFit, restore_kernel_lda
from discrim.core.kernels.kernel_lda import MAX_DEGREE, KernelLDAFit, fit_kernel_lda
from discrim.core.kernels.kernel_ridge import (
    N_SAMPLE_ROWS,
    ChosenKernel,
    KernelCandidate,
    KernelRows,
    SearchSpace,
    SelectionLoss,
    choose_kernel,
    kernel_candidates,
)
from discrim.core.kernels.kernels import KernelName, ScaleName
from discrim.core.numerics.arrays import Codes, Floats, check_memory
from discrim.core.numerics.progress import Progress
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule, best_class, log_posteriors
from discrim.design.design_rows import DesignRows
from discrim.design.rows import gather_weighted_rows, read_rows
from discrim.errors import DataError, NotSupportedError
from discrim.inference.resampling import random_generator
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, ModelSpec
from discrim.models.base.reading import Data, NaAction, Prior, one_line_repr, verb_options, warn_of_tied_axes
from discrim.models.base.refits import stored_path
from discrim.models.evaluation.assessment import raise_if_no_evaluated_rows, read_labelled_rows
from discrim.models.kernels import feature_lda
from discrim.models.kernels.feature_lda import (
    FeaturePlan,
    FittedByFeatures,
    factor_columns,
    fit_by_features,
    refit_with_features,
    refit_with_new_features,
)
from discrim.models.regression.fda import VariateResults, variate_axes, variate_centroids, variate_classes
from discrim.models.results import headers
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections
from discrim.subspace import KernelFeatures, read_features

KernelFunction = Callable[[Any, Any], Any]
"""Function of rows (m, q) and (n, q), in q coordinates, that returns the kernel matrix (m, n)."""

MAX_ROWS = 6_000
"""Largest number of rows of a fit without `components`; the time grows with its cube."""


@reading.with_public_errors
def kernel_lda(
    formula: str,
    data: Data,
    *,
    kernel: KernelName | Literal["auto"] | KernelFunction = "auto",
    width: float | None = None,
    ridge: float | None = None,
    scale: ScaleName | Literal["auto"] = "auto",
    degree: int = 3,
    select: SelectionLoss = "squared",
    calibrate: bool = True,
    ncomp: int | None = None,
    components: int | KernelFeatures | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> KernelLDAResults:
    """Kernel discriminant analysis.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table
        A DataFrame of pandas, or any other table in memory that narwhals supports, such as one of polars or
        Arrow. Every row is compared with every other; therefore sources that are read in chunks, such as a
        file or a DataFrame of Dask, and more than 6,000 rows are refused: pass a sample as a DataFrame. With
        `components` any number of rows can be fitted, from any source that can be read more than once.
    kernel : {"auto", "gaussian", "laplace", "polynomial", "linear", "arccos"} or callable
        The kernel of two rows in coordinates a and b: "gaussian" is exp(-d'd / (2 width^2)), d = a - b;
        "laplace" is exp(-s / width), with s the sum of the absolute differences; "polynomial" is (1 + a'b /
        width^2)^degree; "linear" is a'b, without a width; "arccos" is the arc-cosine kernel of order 1 of Cho
        & Saul (2009), between (a / width, 1) and (b / width, 1), which is the kernel of a wide network of
        rectified linear units. "auto" chooses between "gaussian" and "laplace". A callable is called with two
        arrays of rows, (m, q) and (n, q), in coordinates, and returns their kernels (m, n); it has to be
        symmetric and positive semidefinite, which is checked on the rows.
    width : float, optional
        Width of the kernel, in coordinates. By default it is chosen.
    ridge : float, optional
        The penalty on the fitted function, like the alpha of scikit-learn's KernelRidge. By default it is
        chosen.
    scale : {"auto", "sd", "ranks", "categories", "none"}
        Coordinates of columns of numbers: "sd" divides by the standard deviation over all rows; "ranks" uses
        normal scores of the ranks, with linear interpolation between them and the extreme scores outside
        their range; "categories" is "sd" except that columns of up to ten different values are treated as
        categories; "none" divides all columns by one number, the root of the mean of their variances, for
        columns in one unit such as pixels. "auto" chooses among the first three.
    degree : int
        Degree of the polynomial kernel, 1 to 10.
    select : {"squared", "log_loss", "error"}
        The loss of left-out rows that the choice minimizes: the mean squared error of the fitted indicators,
        summed over the classes; the log loss of their softmax with the best slope; or the error rate, with
        ties settled by the squared error.
    calibrate : bool
        Whether posteriors come from a map of the fitted indicators that is estimated from left-out rows, with
        a slope and a constant a class, or from normal classes in the space of the variates, as in `fda`.
    ncomp : int, optional
        Number of axes to keep; by default K - 1. Calibrated posteriors use all of them.
    components : int, or specification of `discrim.subspace`, optional
        Features that approximate the kernel of all rows, which make it possible to fit many rows:
        `discrim.subspace.Landmarks` or `RandomFeatures`. A number is the number of landmarks.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    KernelLDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also a kernel that is
        unknown or not positive semidefinite, a width, ridge or degree that is not positive, a width of a
        kernel without one, a ridge so small that coefficients are rounding errors, and more rows than fit in
        memory.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        Every column is constant, or there are at most as many rows as classes.
    NotSupportedError
        There are more than 6,000 rows, and `components` is None.

    Notes
    -----
    The indicators of the classes are regressed on the kernel with a ridge and a free constant, which is
    Fisher's discriminant analysis in the space of the kernel (Mika et al., 1999, Neural Networks for Signal
    Processing 9, 41-48; Baudat & Anouar, 2000, Neural Computation 12, 2385-2404; Roth & Steinhage, 2000, NIPS
    12), by the optimal scoring of Hastie, Tibshirani & Buja (1994, JASA 89, 1255-1270). With kernel="linear",
    scale="sd", a ridge near zero and calibrate=False the fit equals `lda(method="mle")`.

    A category has distances that depend neither on its coding nor on its reference: all levels of a factor
    are equally far from each other, and their mean squared distance over pairs of rows is two, as it is for a
    standardized column.

    By default kernel, scale, width and ridge are chosen to predict left-out rows best. One factorization
    leaves out each row in closed form: for up to 400 rows the eigenvectors of each kernel yield the losses
    at all ridges. For more rows, 200 landmarks replace the rows in the wide search (Williams & Seeger, 2001,
    NIPS 13), and all rows decide among the best. For more than 1,500 rows, a random sample of about 1,000 of
    them, stratified by class, takes the place of all rows in both steps; the fit to all rows then uses its
    choice, and with up to 3,419 rows also tries other widths and ridges. From the median distance of rows,
    widths are doubled or halved as long as this decreases the loss, and then changed by the root of two;
    ridges by factors of two. The same rows in the same order lead to the same choice; in another order the
    landmarks and the sample differ. If losses are equal up to rounding, the larger ridge is chosen, and then
    the larger width; with more than 400 rows a step has to gain a thousandth of the loss. The least of many
    losses is smaller than the loss on new rows will be, especially with few rows: `cross_validate` and
    `error_rates(["cv"])` choose again in each fold.

    With `components` the fit is a function of the moments of the features f(x), which need two passes over
    the rows. The first draws an even sample of the different rows, 5,000 or twice as many as landmarks; the
    kernel, the scale and the width are chosen by leave-one-out of 1,000 of these, and ranks and categories
    are estimated from all of them. Landmarks are drawn from it by randomly pivoted Cholesky (Chen, Epperly,
    Tropp & Webber, 2025, Communications on Pure and Applied Mathematics 78, 995-1041), f(x)' = k(x, Z) R^-1
    with R'R = k(Z, Z), and directions of random features from the Fourier transform of the kernel (Rahimi &
    Recht, 2007, NIPS 20), orthogonal if its distribution allows. The second pass adds up the moments. The
    ridge is then the one with the least generalized cross-validation (Golub, Heath & Wahba, 1979,
    Technometrics 21, 215-223), which needs only the moments and is the mean squared error of left-out rows
    with all leverages at their mean; `select` does not affect it. The map to posteriors is estimated from
    rows of the sample, each left out in closed form. All draws have a fixed seed, and whether a row is in the
    sample depends only on its values. Therefore the fit is the same whether rows are read at once or in
    chunks, in any order, repeated or with weights; in other units the sample and the landmarks differ.
    Leave-one-out keeps the features fixed, too.

    A saved fit contains its rows, with their classes; with `components` the rows of its sample and its
    landmarks.

    Examples
    --------
    >>> from discrim import kernel_lda
    >>> from discrim.datasets import load_iris
    >>> fit = kernel_lda("species ~ .", load_iris(), kernel="gaussian", width=2.0, ridge=0.1)
    >>> fit.error_rates(["loo"])["wrong"].tolist()
    [7.0]
    """
    options = verb_options(locals())
    features = read_features(components)
    search = _read_search(kernel, width, ridge, scale, degree, select)
    reading.check_flag("calibrate", calibrate)
    reason = None
    if features is None:
        reason = "kernel_lda() without components= compares each row with all others, and"
    else:
        feature_lda.check_features(features, search)
    design_rows = read_rows(
        formula, data, weights=weights, levels=levels, functions=functions, in_memory=reason
    )
    if features is None:
        _raise_if_too_many_rows(design_rows)
    design_rows, moments = reading.usable_rows(design_rows, "diagonal", na_action)
    reading.raise_if_no_within_variance(moments)
    max_ncomp = moments.n_classes - 1
    if ncomp is not None:
        reading.check_integer(
            "ncomp", ncomp, 1, max_ncomp, also=f", the axes of {max_ncomp + 1} classes, or None"
        )
    priors, estimated = reading.read_prior(prior, design_rows.design.levels, moments.counts)
    if features is not None:
        plan = FeaturePlan(features, search, bool(calibrate), ncomp)
        feature_fit = fit_by_features(design_rows, moments, priors, plan, estimated_prior=estimated)
        warn_of_tied_axes(
            "ncomp", len(feature_fit.estimates.flexible.values), feature_fit.estimates.flexible.tied_axes()
        )
        return KernelLDAResults(_fitted_feature_model(feature_fit, design_rows, options, plan))
    sample = _kernel_rows(design_rows, moments.n_classes)
    chosen = _choose_kernel(sample, search)
    estimates = fit_kernel_lda(
        chosen, sample, moments, priors,
        ncomp=ncomp, calibrate=bool(calibrate), estimated_prior=estimated,
    )  # fmt: skip
    warn_of_tied_axes("ncomp", len(estimates.flexible.values), estimates.flexible.tied_axes())
    path = _candidate_table(chosen) if chosen.candidates else None
    spec = KernelLDASpec(None if path is None else search)
    return KernelLDAResults(spec.fit(estimates, design_rows, options, path=path))


def _read_search(kernel: Any, width: Any, ridge: Any, scale: Any, degree: Any, select: Any) -> SearchSpace:
    """Validate the options of the verb on the kernel; return the fixed values and what is to be chosen.

    Parameters
    ----------
    kernel : str or callable
        Name of the kernel, "auto" or a kernel function.
    width, ridge : float or None
        None stands for a choice.
    scale : str
        Name of the coordinates or "auto".
    degree : int
        Degree of the polynomial kernel.
    select : {"squared", "log_loss", "error"}
        Loss that the choice minimizes.

    Returns
    -------
    SearchSpace
        One kernel ("callable" for a function) and one scale, "auto" if it is to be chosen; None for a width
        or ridge that is to be chosen.

    Raises
    ------
    DataError
        An option is not valid, or a width was passed for the kernel "linear" or a kernel function.
    """
    function = kernel if callable(kernel) else None
    if function is None:
        reading.check_word("kernel", kernel, (*_literal_values(KernelName), "auto"))
    reading.check_word("scale", scale, (*_literal_values(ScaleName), "auto"))
    reading.check_word("select", select, SelectionLoss)
    reading.check_integer("degree", degree, 1, MAX_DEGREE)
    alternative = ", or None to have it chosen"
    if width is not None:
        if function is not None or kernel == "linear":
            raise DataError(
                f"width={width!r} cannot be combined with a linear kernel or a kernel function, which have "
                "no width.",
                hint="Leave out width=.",
            )
        width = reading.check_number("width", width, 0, ends="()", also=alternative)
    if ridge is not None:
        ridge = reading.check_number("ridge", ridge, 0, ends="()", also=alternative)
    return SearchSpace(
        ("callable" if function is not None else kernel,),
        (scale,),
        width,
        ridge,
        select,
        int(degree),
        function,
    )


def _literal_values(literal: Any) -> tuple[str, ...]:
    """Return the values of a Literal type, all of which are strings."""
    return tuple(literal.__args__)


def _raise_if_too_many_rows(design_rows: DesignRows) -> None:
    """Raise NotSupportedError if the table has more than `MAX_ROWS` rows, also counting incomplete ones.

    DataError is raised if three kernel matrices of these rows need too much memory; see `check_memory`.
    """
    n = design_rows.table.nrows
    hint = "Pass components=1000, or take a sample of the rows, as in data.sample(5000, random_state=0)."
    if n > MAX_ROWS:
        raise NotSupportedError(
            f"kernel_lda() without components= compares each row with all others and supports up to "
            f"{MAX_ROWS:,} rows; the table has {n:,}.",
            hint=hint,
        )
    check_memory(3.0 * n**2, f"The kernels of {n:,} rows with each other", hint)


def _kernel_rows(design_rows: DesignRows, n_classes: int) -> KernelRows:
    """Read the rows that a fit uses; return them standardized, with classes, weights and factor columns."""
    x, codes, weights = gather_weighted_rows(design_rows)
    return KernelRows.from_rows(
        np.ascontiguousarray(x), codes, weights, n_classes, factor_columns(design_rows)
    )


def _choose_kernel(sample: KernelRows, search: SearchSpace) -> ChosenKernel:
    """Choose kernel, scale, width and ridge by the leave-one-out loss of the rows, and fit the regression.

    `search` has one kernel and one scale, or "auto". Without a choice the only candidate is fitted, and
    `candidates` of the result is empty.
    """
    kernels, scales = kernel_candidates(search.kernels[0], search.scales[0], sample.u, sample.factors)
    with Progress(0, "choice of the kernel") as progress:
        return choose_kernel(sample, replace(search, kernels=kernels, scales=scales), progress)


def _candidate_table(chosen: ChosenKernel) -> pd.DataFrame:
    """Return `KernelLDAResults.path` of a fit without features: one `_candidate_row` for each candidate."""
    return pd.DataFrame([_candidate_row(candidate, chosen) for candidate in chosen.candidates])


def _candidate_row(candidate: KernelCandidate, chosen: ChosenKernel) -> dict[str, Any]:
    """Return the row of `KernelLDAResults.path` for a candidate.

    The keys are the columns of the path: kernel, scale, width (NaN if undefined), ridge, loss, se,
    by ("all rows", "landmarks" or "sample") and chosen. "chosen" is False for a loss by landmarks or of a
    sample, even if `chosen` has the same kernel, scale and ridge.
    """
    kernel = candidate.kernel
    is_chosen = (kernel, candidate.scale, candidate.ridge) == (chosen.kernel, chosen.scale, chosen.ridge)
    return {
        "kernel": kernel.name,
        "scale": candidate.scale,
        "width": kernel.width if SearchSpace.has_width(kernel.name) else np.nan,
        "ridge": candidate.ridge,
        "loss": candidate.loss,
        "se": candidate.se,
        "by": "all rows" if candidate.source == "rows" else candidate.source,
        "chosen": is_chosen and candidate.source == "rows",
    }


def _fitted_feature_model(
    feature_fit: FittedByFeatures, design_rows: DesignRows, options: Mapping[str, Any], plan: FeaturePlan
) -> FittedModel[FeatureLDAFit]:
    """Return the fitted model of a fit by features, with the table of its candidates.

    A warning is issued if there are fewer landmarks than requested.

    Parameters
    ----------
    feature_fit : FittedByFeatures
        The estimates, the choice of the kernel and the candidate ridges.
    design_rows : DesignRows
        The rows.
    options : mapping
        Options of the verb.
    plan : FeaturePlan
        Options with which refits choose features again.

    Returns
    -------
    FittedModel
        Its `path` has a row for each candidate kernel and then one for each candidate ridge. The ridge with
        the smallest loss is marked as chosen, or the kernel if the ridge was an option (see
        `KernelLDAResults.path`). None if neither kernel nor ridge was chosen.
    """
    estimates, chosen, ridges = feature_fit
    feature_lda.warn_of_fewer_landmarks(estimates, plan.features.n)
    kernel = estimates.kernel
    min_loss = min((candidate.loss for candidate in ridges), default=np.nan)
    lines = (
        []
        if chosen is None
        else [
            # With candidate ridges, the chosen row is one of theirs.
            _candidate_row(candidate, chosen) | ({"chosen": False} if ridges else {})
            for candidate in chosen.candidates
        ]
    )
    for line in lines:
        line["by"] = "sample" if line["by"] == "all rows" else line["by"]
    lines += [
        {
            "kernel": kernel.name,
            "scale": estimates.scale,
            "width": kernel.width if SearchSpace.has_width(kernel.name) else np.nan,
            "ridge": candidate.ridge,
            "loss": candidate.loss,
            "se": np.nan,
            "by": "GCV",
            "chosen": candidate.loss == min_loss,
        }
        for candidate in ridges
    ]
    path = pd.DataFrame(lines) if lines else None
    return FeatureLDASpec(plan, is_chosen=path is not None).fit(estimates, design_rows, options, path=path)


def _describe_choice(options: Mapping[str, Any]) -> str:
    """Describe the parameters that the options of the verb leave to be chosen from the rows.

    They are kernel or scale if "auto", and width or ridge if None. The text is "" for none of them, "the
    width and the ridge", for example, for one or two, and "the kernel and its options" for more.
    """
    names = [name for name in ("kernel", "scale") if options[name] == "auto"]
    names += [name for name in ("width", "ridge") if options[name] is None]
    return " and ".join(f"the {name}" for name in names) if len(names) < 3 else "the kernel and its options"


def _refit_rule(
    search: SearchSpace | None, fit: FittedModel[KernelLDAFit], design_rows: DesignRows
) -> Rule | None:
    """Refit to other rows and return the classification rule, under the prior of the fit.

    Coordinates and the map to posteriors are estimated again.

    Parameters
    ----------
    search : SearchSpace or None
        Candidates to choose from again; None keeps kernel, scale, width and ridge of the fit.
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        The rows.

    Returns
    -------
    Rule or None
        None if the weights of a class sum to zero, all weights sum to at most the number of classes, or the
        choice or the regression raises DataError, for example because the ridge is too small.
    """
    estimates = fit.estimates
    moments = reading.class_moments(design_rows, "diagonal")
    if not (moments.counts > 0).all() or moments.total <= moments.n_classes:
        return None
    sample = _kernel_rows(design_rows, moments.n_classes)
    kernel = estimates.indicators.kernel
    fixed_search = SearchSpace(
        (kernel.name,), (estimates.scale,), kernel.width, estimates.ridge,
        degree=kernel.degree, function=kernel.function,
    )  # fmt: skip
    try:
        refit = fit_kernel_lda(
            _choose_kernel(sample, fixed_search if search is None else search),
            sample, moments, estimates.prior,
            ncomp=estimates.ncomp, calibrate=estimates.calibrator is not None,
        )  # fmt: skip
    except DataError:
        return None
    return refit.rule(fit.log_prior())


def _permutation_importance(
    fit: FittedModel[Any], data: Data | None, repeats: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Compute the mean increase of the losses if a term is permuted; see `KernelLDAResults.importance`.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    data : table, optional
        New rows; by default the rows of the fit, each scored by the rule fitted without it.
    repeats : int
        Number of permutations of each term.
    rng : Generator
        Source of the permutations, whose state changes.

    Returns
    -------
    DataFrame
        Terms of the formula that have columns in the fit, by log_loss, log_loss_se, error, error_se, in
        decreasing order of log_loss. The standard errors are NaN if the weights sum to at most one.

    Raises
    ------
    NotSupportedError, DataError
        The rows to permute are not available; see `_rows_to_permute`.
    """
    test_rows = _rows_to_permute(fit, data)
    terms = _columns_by_term(fit.design_rows)
    losses = test_rows.losses(test_rows.rows)
    lines = []
    with Progress(len(terms) * repeats, "permutations of terms") as progress:
        for columns in terms.values():
            increases = np.zeros_like(losses)
            for _ in range(repeats):
                permuted = test_rows.rows.copy()
                permuted[:, columns] = test_rows.rows[rng.permutation(len(permuted))][:, columns]
                increases += (test_rows.losses(permuted) - losses) / repeats
                progress(1)
            lines.append(test_rows.mean_increases(increases))
    names = ["log_loss", "log_loss_se", "error", "error_se"]
    table = pd.DataFrame(lines, index=pd.Index(list(terms), name="term"), columns=names)
    return table.sort_values("log_loss", ascending=False, kind="stable")


def _columns_by_term(design_rows: DesignRows) -> dict[str, list[int]]:
    """Return the positions of the columns of each term of the formula, by the label of the term.

    Positions count the columns that the rows have; terms without such columns are left out.
    """
    column_positions = (
        range(len(design_rows.design.terms)) if design_rows.kept_columns is None else design_rows.kept_columns
    )
    index_of_column = {j: i for i, j in enumerate(column_positions)}
    terms = {
        term.label: [index_of_column[j] for j in term.columns if j in index_of_column]
        for term in design_rows.design.design_terms()
    }
    return {label: columns for label, columns in terms.items() if columns}


@dataclass(frozen=True, slots=True, eq=False)
class _TestRows:
    """Labelled rows whose losses are compared before and after a permutation of columns.

    Attributes
    ----------
    rows : (m, p) float64
        Columns of the rows, in the units that `scores` requires: standardized for rows of the fit, and in
        units of the data for new rows.
    codes : (m,) int
        Classes of the rows, 0 to K - 1.
    weights : (m,) float64 or None
        Frequency weights; None for ones.
    scores : callable
        Function of modified rows (m, p) that returns class scores (m, K). Row i of the fit is scored by the
        rule fitted without the original row i.
    """

    rows: Floats
    codes: Codes
    weights: Floats | None
    scores: Callable[[Floats], Floats]

    def losses(self, rows: Floats) -> Floats:
        """Return log loss and error (0 or 1), shape (m, 2), of the original or modified rows (m, p)."""
        scores = self.scores(rows)
        log_losses = -log_posteriors(scores)[np.arange(len(rows)), self.codes]
        return np.column_stack([log_losses, best_class(scores) != self.codes])

    def mean_increases(self, increases: Floats) -> list[float]:
        """Return the weighted means of increases of log loss and error, with their standard errors.

        `increases` (m, 2) has the increases of log loss and error of each row; see `losses`. The result has
        four numbers: mean and standard error for the log loss, then for the error. The standard errors are
        NaN if the weights sum to at most one.
        """
        total = len(increases) if self.weights is None else float(self.weights.sum())
        mean = np.average(increases, axis=0, weights=self.weights)
        squares = np.average((increases - mean) ** 2, axis=0, weights=self.weights)
        errors = np.sqrt(squares / (total - 1)) if total > 1 else np.full(2, np.nan)
        return [mean[0], errors[0], mean[1], errors[1]]


def _rows_to_permute(fit: FittedModel[Any], data: Data | None) -> _TestRows:
    """Return the rows to permute: rows of the fit, each scored without itself, or new labelled rows.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    data : table, optional
        New rows with their classes.

    Returns
    -------
    _TestRows
        Of the fit, all rows, standardized, with their weights; of new data, those with a class of the fit and
        without missing values, in units of the data and without weights.

    Raises
    ------
    NotSupportedError
        `data` is None, and the fit lacks rows or was made by features.
    DataError
        None of the new rows has a class and all values.
    """
    estimates = fit.estimates
    log_prior = fit.log_prior()
    if data is None:
        fit.require_rows("importance()", "pass data=")
        if estimates.feature_type:
            raise NotSupportedError(
                "importance() of a fit with components= requires new rows.",
                hint="Pass data=.",
            )
        sample = estimates.rows
        return _TestRows(sample.u, sample.codes, sample.weights, estimates.modified_row_scorer(log_prior))
    rows = read_labelled_rows(fit, data, MissingPolicy(), None, _design_values)
    is_tested = (rows.actual >= 0) & ~np.isnan(rows.predictions).any(axis=1)
    raise_if_no_evaluated_rows(is_tested)
    return _TestRows(rows.predictions[is_tested], rows.actual[is_tested], None, fit.rule().scores)


def _design_values(design_rows: DesignRows) -> Floats:
    """Return the design matrix (m, p) of all rows, with NaN in all columns of a row with a missing value."""
    columns = np.full((design_rows.table.nrows, len(design_rows.terms)), np.nan)
    for row_slice, x, missing in design_rows.iter_all_rows():
        columns[row_slice] = x if missing is None else np.where(missing[:, None], np.nan, x)
    return columns


class KernelLDAResults(VariateResults):
    """A fitted kernel discriminant analysis.

    Attributes
    ----------
    scores : DataFrame, classes by LD1, LD2, ...
        Optimal scores of the classes, with mean zero and mean square one over the rows; on each axis the one
        with the largest absolute value is positive.
    centroids : DataFrame, classes by LD1, LD2, ...
        Class means of the variates: fitted scores divided by sqrt(l (1 - l)), with l in `values`.
    values, explained : Series by LD1, LD2, ...
        Squared canonical correlations l of class scores and fitted scores, and the share of each axis in the
        sum of l / (1 - l) over all axes, also those that `ncomp=` drops.
    means : DataFrame, classes by terms
        Class means.
    """

    _fit: FittedModel[KernelLDAFit | FeatureLDAFit]

    @property
    def _loss_name(self) -> str:
        """Loss that `select=` names, for titles and notes: "squared error", "log loss" or "error rate"."""
        names = {"squared": "squared error", "log_loss": "log loss", "error": "error rate"}
        return names[self._fit.options["select"]]

    @property
    def components(self) -> int | None:
        """Number of features; None if the fit uses the kernel of all rows."""
        return self._fit.estimates.components

    @property
    def kernel(self) -> str:
        """Name of the kernel; for a function of the user its `__name__`, or its repr without one."""
        function = self._fit.estimates.kernel.function
        return (
            self._fit.estimates.kernel_name
            if function is None
            else getattr(function, "__name__", one_line_repr(function))
        )

    @property
    def scale(self) -> str:
        """Name of the coordinates of numeric columns, not "auto"; see `scale` of `discrim.kernel_lda`."""
        return self._fit.estimates.scale

    @property
    def width(self) -> float:
        """Width of the kernel, in coordinates; NaN for a kernel without a width."""
        estimates = self._fit.estimates
        return estimates.width if SearchSpace.has_width(estimates.kernel_name) else np.nan

    @property
    def ridge(self) -> float:
        """The penalty on the fitted function, like the alpha of scikit-learn's KernelRidge."""
        return self._fit.estimates.ridge

    @property
    @available_if()
    @with_display_formats(loss="general", se="general", ridge="general", width="general")
    def path(self) -> pd.DataFrame:
        """Kernels that were tried, each with its best ridge, and the losses of left-out rows.

        Columns: kernel, scale, width (NaN if undefined), ridge, loss (mean loss of `select=`), se
        (its standard error), by, chosen (bool). `by` is "all rows" or "landmarks", which approximate the
        loss. With more than 1,500 rows or `components=` it is "sample", for the loss of about 1,000 rows, or
        "landmarks" of this sample for the wide search, and with `components=` it is "GCV" for candidates of
        the ridge, whose loss is generalized cross-validation without a standard error (NaN);
        one of the latter is marked as chosen, or the kernel if `ridge=` was passed.

        Raises
        ------
        NotSupportedError
            Kernel, scale, width and ridge were all options, or the fit was loaded.
        """
        reason = "because kernel, scale, width and ridge were set, or the fit was loaded"
        return stored_path(self._fit, reason, "fit without ridge= to have it chosen")

    @with_display_formats(log_loss="general", log_loss_se="general", error="share", error_se="share")
    def importance(self, data: Data | None = None, *, repeats: int = 5, seed: int | None = 0) -> pd.DataFrame:
        """Increase of the losses when the values of a term are permuted among the rows.

        Parameters
        ----------
        data : table, optional
            New rows with their classes. By default the rows of the fit, each predicted without itself.
        repeats : int
            Number of permutations of each term, over which the losses of a row are averaged.
        seed : int, optional
            Seed of the permutations: the same each time, unless it is None.

        Returns
        -------
        DataFrame, terms by log_loss, log_loss_se, error, error_se
            Mean increase of the log loss and of the error rate with standard errors. The largest increase of
            the log loss comes first.

        Raises
        ------
        NotSupportedError
            `data` is None, and the fit does not contain its rows or was made with `components=`.
        DataError
            None of the rows of the data has a class and all values, or the classes are missing.

        Notes
        -----
        The importance of Breiman (2001, Machine Learning 45, 5-32) for a fixed fit. A term is a term of the
        formula, with all its columns: the levels of a factor, or the columns of `poly(x, 2)`, are permuted
        together. If other terms carry the same information as the permuted one, the loss increases little;
        neither of two similar terms may seem to matter. The standard errors assume independent rows; they are
        standard errors of means over rows for this fit, without the uncertainty of the choice of kernel,
        width and ridge.

        Examples
        --------
        >>> from discrim import kernel_lda
        >>> fit = kernel_lda("species ~ .", "iris", kernel="gaussian", scale="sd", width=2.0, ridge=0.1)
        >>> fit.importance(seed=1).index[:2].tolist()
        ['petal_length', 'petal_width']
        """
        repeats = reading.check_integer("repeats", repeats, 1)
        return _permutation_importance(self._fit, data, repeats, random_generator(seed))

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit.

        Columns: nobs, classes, terms, axes (their number), kernel, scale, width, components (None without
        features), ridge, calibrated (bool).
        """
        row = {"axes": len(self._axis_names), "kernel": self.kernel, "scale": self.scale, "width": self.width}
        row |= {"components": self.components}
        calibrated = self._fit.estimates.calibrator is not None
        return pd.DataFrame([self._sizes() | row | {"ridge": self.ridge, "calibrated": calibrated}])


@dataclass(frozen=True, eq=False)
class KernelLDASpec(ModelSpec[Any]):
    """Specification of kernel discriminant analysis with the kernel of all rows.

    Parameters
    ----------
    search : SearchSpace or None
        Candidates of the choice; None if kernel, scale, width and ridge were options, or for a fit from a
        file.
    """

    name = "kernel_lda"
    title = "Kernel discriminant analysis"
    results_class = KernelLDAResults
    refit_failure = ("a class has no row, or the ridge is too small", "a larger ridge")
    chosen_options = MappingProxyType(
        {"kernel": "kernel_name", "scale": "scale", "width": "width", "ridge": "ridge"}
    )
    search_options = ("select",)
    constructor = staticmethod(restore_kernel_lda)
    file_moments = "diagonal"
    allows_constant = True
    # Distances are to the rows of the fit, which may be far from the class means.
    scores_class_means = False

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `kernel_lda_sections` and `kernel_lda_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return kernel_lda_sections, kernel_lda_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "scores", "territory", "path" and "importance".
        """
        from discrim.models.kernels.plots import KERNEL_LDA_PLOTS

        return KERNEL_LDA_PLOTS

    def fit(
        self, estimates: KernelLDAFit | FeatureLDAFit, rows: DesignRows, arguments: Mapping[str, Any],
        **options: Any,
    ) -> FittedModel[Any]:  # fmt: skip
        """Return a fitted model, with this specification or, for estimates by features, a `FeatureLDASpec`.

        Parameters
        ----------
        estimates : KernelLDAFit or FeatureLDAFit
            The estimates. A `FeatureLDAFit` comes to a `KernelLDASpec` if the fit is read from a file.
        rows : DesignRows
            The rows, or a design without rows.
        arguments : mapping
            Options of the verb.
        **options
            Further parameters of `ModelSpec.fit`, such as `path`.

        Returns
        -------
        FittedModel
        """
        if isinstance(estimates, FeatureLDAFit) and not isinstance(self, FeatureLDASpec):
            return FeatureLDASpec().fit(estimates, rows, arguments, **options)
        return super().fit(estimates, rows, arguments, **options)

    def likelihood_of(self, fit: FittedModel[Any]) -> str:
        """Return "none": the model does not compute a likelihood; see `ModelSpec.likelihood_of`."""
        return "none"

    def required_moments(self, fit: FittedModel[Any]) -> None:
        """Return None: a refit needs the rows."""

    def choice_description(self, fit: FittedModel[Any]) -> str:
        """Return `_describe_choice` of the options, such as "the width and the ridge"; "" if all were set."""
        return "" if self.search is None else _describe_choice(fit.options)

    def refit_to_rows(self, fit: FittedModel[Any], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that chooses again what was chosen; coordinates are estimated again.

        None if a class is empty, the total weight is at most the number of classes, or the regression cannot
        be computed; see `_refit_rule`.
        """
        return _refit_rule(self.search, fit, rows)

    def refit_with_fixed(self, fit: FittedModel[Any], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that keeps kernel, scale, width and ridge.

        Coordinates, regression and the map to posteriors are estimated again. None if a class is empty, the
        total weight is at most the number of classes, or the regression cannot be computed.
        """
        return _refit_rule(None, fit, rows)

    def leave_one_out(self, fit: FittedModel[Any]) -> LeaveOneOutScorer | Floats:
        """Return the leave-one-out scores (n, K) of all rows, or for features a function that scores rows.

        Kernel, scale, width, ridge, coordinates, features and the map to posteriors are fixed. Scores of a
        row that is alone in its class are NaN, and the caller then refits without it.
        """
        if isinstance(fit.estimates, FeatureLDAFit):
            return super().leave_one_out(fit)
        scores: Floats = fit.estimates.leave_one_out_scores(fit.log_prior())
        return scores

    def kept_if_constant(self, fit: FittedModel[Any]) -> Sequence[int]:
        """Return the positions of all columns: refits keep a column that is constant in a fold."""
        return range(len(fit.design_rows.terms))


@dataclass(frozen=True, eq=False)
class FeatureLDASpec(KernelLDASpec):
    """Specification of kernel discriminant analysis by features: landmarks or random features.

    Parameters
    ----------
    search : FeaturePlan or None
        Options with which refits choose features again; None for a fit from a file.
    is_chosen : bool
        Whether kernel, scale, width or ridge was chosen from the rows; False for a fit from a file.
    """

    search: FeaturePlan | None = None
    is_chosen: bool = False

    def choice_description(self, fit: FittedModel[Any]) -> str:
        """Return `_describe_choice` of the options, such as "the ridge"; "" if nothing was chosen."""
        return _describe_choice(fit.options) if self.is_chosen else ""

    def refit_to_rows(self, fit: FittedModel[Any], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit with new features, which chooses kernel and ridge again if they were.

        None if the fit is from a file, a class is empty, the total weight is at most the number of classes,
        every column is constant, or the regression cannot be computed.
        """
        return refit_with_new_features(self.search, fit, rows)

    def refit_with_fixed(self, fit: FittedModel[Any], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that keeps features, kernel, ridge and the map to posteriors.

        None if a class is empty, the total weight is at most the number of classes, or the regression cannot
        be computed.
        """
        return refit_with_features(fit, rows)

    def recode(
        self, fit: FittedModel[Any], rows: DesignRows, *, fixed: bool
    ) -> tuple[FittedModel[Any], DesignRows]:
        """Return the fit and the rows for a refit to rows that lack levels of the fit.

        The fit is returned unchanged. If `fixed`, the rows get the design and the columns of the fit, which
        its features require; otherwise they are returned unchanged, too.
        """
        return fit, replace(
            rows, design=fit.design_rows.design, kept_columns=fit.design_rows.kept_columns
        ) if fixed else rows


MAX_SHOWN_CANDIDATES = 12
"""Number of candidates with the least loss that the summary shows, in addition to the chosen one."""

MIN_INTERPOLATION_R2 = 0.999
"""Squared canonical correlation above which the summary warns that the fit interpolates its rows."""


def kernel_lda_sections(results: KernelLDAResults, fit: FittedModel[KernelLDAFit]) -> Sections:
    """Return the section functions of the full summary, by name, in their order.

    The names are "header", "classes", "axes", "centroids" and "path"; each function accepts `results` and
    `fit` and returns a section. "path" is left out if the fit does not store the losses of a choice.
    """
    section_functions: Sections = {
        "header": _header_section,
        "classes": variate_classes,
        "axes": _axes_section,
    }
    section_functions |= {"centroids": variate_centroids}
    return section_functions if fit.path is None else section_functions | {"path": _path_section}


def _header_section(results: KernelLDAResults, fit: FittedModel[KernelLDAFit]) -> Pairs:
    """Return the header of the summary: rows, kernel, width and ridge, features, posteriors and errors.

    Features are left out for a fit without them. A note about the optimism of the leave-one-out error is
    added if parameters were chosen and the fit stores the `path`.
    """
    estimates = fit.estimates
    width = "none" if np.isnan(results.width) else f"{results.width:.4g}"
    calibrator = estimates.calibrator
    posteriors = "normal classes" if calibrator is None else f"calibrated, {calibrator.kind}"
    name = (
        f"{results.kernel}, degree {estimates.degree}" if results.kernel == "polynomial" else results.kernel
    )
    chosen_by = "sample and GCV" if estimates.feature_type else "leave-one-out"
    if not estimates.feature_type and fit.path is not None and (fit.path["by"] == "sample").any():
        chosen_by = "sample and leave-one-out"
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem(
            "Kernel and scale",
            results.kernel,
            f"{name}, {results.scale}",
            brief="kernel and scale",
            options=("kernel", "scale", "degree"),
        ),
        HeaderItem(
            "Width and ridge",
            results.width,
            f"{width}, {results.ridge:.4g}",
            brief="width and ridge",
            options=("width", "ridge"),
        ),
        *(
            [
                HeaderItem(
                    "Features", estimates.components, f"{estimates.components:,}, {estimates.feature_type}"
                )
            ]
            if estimates.feature_type
            else []
        ),
        headers.chosen_item(fit, chosen_by),
        HeaderItem("Posteriors", posteriors),
        *headers.size_items(fit),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = ""
    if fit.path is not None:
        note = (
            "The leave-one-out error is optimistic, because the same observations were used to choose "
            f"{fit.refits.choice_description(fit)}. error_rates(['cv']) repeats this choice in each fold."
        )
    return headers.header(fit, items, note)


def _axes_section(results: KernelLDAResults, fit: FittedModel[KernelLDAFit]) -> Section:
    """Return the section of the axes: squared correlation, share, and the share predicted by leave-one-out.

    For fits by features, and if a loaded fit lacks leverages, it is `variate_axes`, without
    the predicted share.
    """
    if fit.estimates.feature_type or fit.estimates.one_minus_leverages is None:
        return variate_axes(results, fit)
    columns = {"squared correlation": results.values, "share": results.explained}
    table = pd.DataFrame(columns).assign(predicted=fit.estimates.predicted_fractions())
    note = (
        "Squared correlation: the mean product of class scores and fitted values, which the ridge lowers. "
        "Predicted: the share of the variance of the class scores that leave-one-out fits predict, with "
        "scores, kernel and ridge fixed."
    )
    if results.values.iloc[0] > MIN_INTERPOLATION_R2:
        note += (
            " The fit nearly interpolates the observations: variates and centroids are in units of the small "
            "remaining standard deviation within classes and do not measure the separation of the classes."
        )
    return Section("Axes", table, "share", note=note, source="fit.values, fit.explained")


def _path_section(results: KernelLDAResults, fit: FittedModel[KernelLDAFit]) -> Section:
    """Return the section of the candidates of least left-out loss, in the order of the path.

    It has the best `MAX_SHOWN_CANDIDATES` of them and the chosen one, which "*" marks.
    """
    path = results.path
    best = path.sort_values("loss", kind="stable").index[:MAX_SHOWN_CANDIDATES]
    listed = path.loc[sorted({*best, *path.index[path["chosen"]]})]
    table = listed.drop(columns="chosen")
    table["chosen"] = np.where(listed["chosen"], "*", "")
    # The same kernel is in many rows; row names have to be distinct.
    table.index = pd.Index([f"{position + 1}" for position in listed.index])
    formats: dict[Any, Any] = {
        "kernel": "text",
        "scale": "text", "width": "general", "ridge": "general", "loss": "general", "se": "general",
        "by": "text", "chosen": "text",
    }  # fmt: skip
    note = (
        f"The best {len(listed)} of {len(path)} candidates, in their order, each with its best ridge. "
        f"loss is the mean {results._loss_name} of left-out observations; its standard error assumes "
        "independent observations."
    )
    if not fit.estimates.feature_type and (path["by"] == "sample").any():
        note += f" Sample and landmarks: losses of a random sample of about {N_SAMPLE_ROWS:,} observations."
    if (listed["by"] == "GCV").any():
        note += " Generalized cross-validation (GCV) uses all rows and has no standard error."
    title = "Left-out loss, by kernel"
    return Section(title, table, formats, headings=SHARED_HEADINGS, note=note, source="fit.path")


kernel_lda_brief: Sections = {"classes": variate_classes, "axes": variate_axes}
"""Sections of the short summary: classes and axes."""
