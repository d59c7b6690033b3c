"""Public messages and hints of the errors of the core.

The core does not know the options of verbs and the names of columns. Its errors have a reason, a key of
`DESCRIPTIONS`, and values that are inserted into the message. `models.base.fit` registers `describe` in the
core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from discrim.core.covariance.factor import has_common_dimension
from discrim.core.errors import CoreError
from discrim.errors import CollinearError, DataError, DiscrimError, NotSupportedError


def _describe_singular_principal_scores(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return message and hint for a singular covariance of scores on principal axes (`components=`).

    `values` are described in `_describe_singular_scores`.
    """
    return _describe_singular_scores(values, "components", "principal axes", 'covariance="shrunk"')


def _describe_singular_ncomp_scores(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return message and hint for a singular covariance of scores on the axes of `ncomp=`.

    `values` are described in `_describe_singular_scores`.
    """
    return _describe_singular_scores(values, "ncomp", "axes of ncomp=", 'covariance="shrunk" without ncomp=')


def _describe_singular_scores(
    values: Mapping[str, Any], option: str, axes: str, other: str
) -> tuple[str, str]:
    """Return message and hint for a singular covariance of scores.

    Parameters
    ----------
    values : mapping
        Data of the error: number of axes ("wanted"), degrees of freedom ("df"), and where the covariance was
        estimated, such as "in class 'a'" ("where").
    option, axes : str
        Option that sets the number of axes, and the name of these axes.
    other : str
        Options of a model that has a covariance.

    Returns
    -------
    message, hint : str
        The hint proposes fewer axes, if any number is possible, or `other`.
    """
    n_axes = values["wanted"]
    df = values["df"]
    cause = f"the observations leave only {df} degrees of freedom there"
    if df >= n_axes:
        cause = "they vary along fewer directions there"
    fewer = min(df, n_axes - 1)
    return (
        f"The scores on {n_axes} {axes} have a singular covariance {values['where']}: {cause}.",
        f"Pass {option}={fewer} or a smaller number, or pass {other}." if fewer > 0 else f"Pass {other}.",
    )


def _describe_missing_noise(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return message and hint for a factor model whose signal dimensions leave none for the noise.

    `values` are the number of signal dimensions ("dimension"), the rank of the covariance ("rank"), and where
    it was estimated, such as "in class 'a'" ("where").
    """
    dimension = values["dimension"]
    rank = values["rank"]
    hint = f'Pass dimensions= with at most {rank - 1}, or covariance="shrunk".'
    if rank <= 1:
        hint = 'Pass covariance="shrunk", or drop the class.'
    return (
        f"No variance is left for the noise with {dimension} signal dimension{'s' * (dimension != 1)}: the "
        f"observations vary in only {rank} dimension{'s' * (rank != 1)} {values['where']}.",
        hint,
    )


def _describe_signal_below_noise(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return message and hint for a factor model with a signal variance smaller than the noise variance.

    `values` are the option `form=`, such as "AkjBkQkD" ("form"), and the class ("class_name"), which is the
    repr of its label or, for example, "number 2".
    """
    form = values["form"]
    component = "signal" if "Bk" in form else "noise"
    other = "AkjBkQkD" if has_common_dimension(form) else "AkjBkQkDk"
    return (
        f'form="{form}" has a common {component} variance of all classes, with which a signal dimension of '
        f"class {values['class_name']} has a smaller variance than the noise.",
        f'Pass form="{other}", or fewer dimensions.',
    )


def _describe_missing_likelihood(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return message and hint for a covariance that is not a maximum likelihood estimate.

    `values` contain the name of the covariance model ("name"): a value of `covariance=` or a key of
    `COVARIANCE_NAMES`.
    """
    name = COVARIANCE_NAMES.get(values["name"], f'covariance="{values["name"]}"')
    return (
        f"A likelihood requires a maximum likelihood estimate, which {name} is not.",
        'Compare models by error_rates(["cv"]), or fit another covariance.',
    )


COVARIANCE_NAMES: Mapping[str, str] = {
    "projected": "a covariance within principal axes",
    "sliced": "a covariance on the axes of ncomp=",
    "adjusted": "a covariance that is adjusted for covariates",
    "estimator": "a covariance of an estimator of scikit-learn",
}
"""Names of covariance models that are not values of covariance=."""

DESCRIPTIONS: Mapping[str, tuple[str, str] | Callable[[Mapping[str, Any]], tuple[str, str]]] = {
    "singular_scores": _describe_singular_principal_scores,
    "singular_scores_of_ncomp": _describe_singular_ncomp_scores,
    "no_noise": _describe_missing_noise,
    "signal_below_noise": _describe_signal_below_noise,
    "few_degrees_of_freedom": (
        "Nonlinear shrinkage requires {least} degrees of freedom {where}. There are {df:g}.",
        'Pass covariance="shrunk".',
    ),
    "no_likelihood_of_covariance": _describe_missing_likelihood,
    "reduced_likelihood": (
        "The log-likelihood is not defined for a fit with reduced rank (ncomp=).",
        "Fit without ncomp=.",
    ),
    "search_for_each_row": (
        "leave_one_out() would repeat the search of the robust covariance for each of {n_rows:,} "
        "observations.",
        'Use cross-validation instead: error_rates(["cv"]) or confusion("cv").',
    ),
    "unshrunken_correlations": (
        "CAT scores of more variables than observations require shrunken correlations.",
        'Fit with covariance="correlation", or with covariance="diagonal" for t-scores.',
    ),
    "adjusted_for_covariates": (
        "{what} requires columns without adjustment, and this fit adjusts them for covariates.",
        "Fit without covariates, or replace the `|` of the formula by +.",
    ),
    "not_full_covariance": (
        'method="{method}" requires the full covariance, and this fit has the {covariance} one.',
        'Use method="plugin" or method="calibrated".',
    ),
    "reduced_dimensions": (
        'method="{method}" is not defined for a fit with reduced rank (ncomp=).',
        "Fit without ncomp=.",
    ),
    "too_few_for_debiased": (
        'method="debiased" requires N - K > p + 1. Here N - K is {df:g} and p is {n_columns}.',
        'Use method="plugin".',
    ),
    "reduced_leave_one_out": (
        "leave_one_out() has no closed form for a fit with reduced rank (ncomp=).",
        'Fit without ncomp=, or use cross-validation: error_rates(["cv"]) or confusion("cv").',
    ),
    "not_full_covariances": (
        'method="{method}" requires full covariances, and this fit has {covariance} ones.',
        'Use method="plugin" or method="calibrated".',
    ),
    "not_elliptical": (
        "The boundary is defined for normal and t distributions only.",
        "",
    ),
    "no_posterior": (
        "The posterior is not defined at x = {x}, a random point of class {class_name}: the densities are "
        "zero, infinite or missing there.",
        "Change the unit of x, or the distribution.",
    ),
    "negative_density": (
        "The density is {value:g} at {x:g}.",
        "Pass a density that is nowhere negative.",
    ),
    "not_a_distribution": (
        "{distribution} is not a distribution.",
        "Pass a frozen distribution of scipy.stats, such as scipy.stats.norm(0, 1), or the density as a "
        "function of one variable.",
    ),
    "not_frozen": (
        "{distribution} is not frozen, or random numbers cannot be drawn from it.",
        "Freeze it by passing its parameters, or pass its pdf, a function of one variable.",
    ),
    "not_multivariate": (
        "{distribution} is not a multivariate density: its logpdf does not accept an array of rows.",
        "Use multivariate_normal, multivariate_t, or distributions of one variable. ({cause})",
    ),
    "array_parameters": (
        "{distribution} has arrays as parameters.",
        "Pass one distribution for each class.",
    ),
    "parameters_out_of_range": (
        "{distribution} has parameters that are out of range.",
        "Pass parameters that scipy.stats accepts.",
    ),
    "infinite_integral": (
        "The density does not integrate to one: its integral diverges, in the tails or at a pole, or cannot "
        "be computed.",
        "Pass another density, or a distribution of scipy.stats.",
    ),
    "integral_not_one": (
        "The density integrates to {integral:.6g}, not to one.",
        "Divide it by its integral. If it is much narrower than its distance from zero, the integration "
        "misses it: pass a distribution of scipy.stats with loc and scale.",
    ),
    "density_raised": (
        "{distribution} raised {error_type} for {n_points} points: {error}.",
        "Correct the function, or pass a frozen distribution of scipy.stats.",
    ),
    "not_a_number_for_each": (
        "{distribution} returned {value} for {n_points} points.",
        "Pass a function that returns one number for each point.",
    ),
    "zero_variance": (
        "{distribution} has a variance of zero and therefore no density.",
        "Pass a distribution with a positive variance.",
    ),
    "missing_parameters": (
        "{distribution} requires parameters.",
        "Freeze it by passing its parameters.",
    ),
    "no_nearest_point": (
        "The search for the nearest point did not converge in {n_rounds:,} iterations.",
        "Scale the columns to similar sizes.",
    ),
    "no_solution": (
        "The linear program of the separation was not solved ({message_of_solver}).",
        "Scale the columns to similar sizes, or use lda().",
    ),
    "out_of_time": (
        "Whether a hyperplane separates the {n_classes} classes is undecided: the linear program with "
        "{n_coefficients:,} coefficients was not solved in {seconds:.0f} seconds.",
        "Pass bias_reduction=True, whose estimates always exist, name fewer columns, or merge classes.",
    ),
    "ridge_rounded_away": (
        "ridge={ridge:.3g} is so small compared with the features that rounding errors dominate the "
        "coefficients.",
        "Pass a larger ridge=, or None.",
    ),
    "equal_features": (
        "All observations have the same features. They cannot be separated.",
        "Name other columns in the formula.",
    ),
    "no_random_features": (
        "Random features exist for the kernels {kernels}, not for kernel={kernel!r}.",
        "Use one of these kernels, or components=discrim.subspace.Landmarks(n).",
    ),
    "kernel_diagonal": (
        "The diagonal of the kernel matrix is zero, or has a value that is negative or not finite.",
        "Pass another kernel= or width=.",
    ),
    "odd_features": (
        "components={count} is odd. The random features of this kernel are pairs of a cosine and a sine.",
        "Pass an even number, such as components={even}.",
    ),
    "no_rows_of_file": (
        "A loaded fit has no rows to leave out.",
        "Fit the model to the rows again.",
    ),
    "ridge_too_small": (
        "ridge={ridge:.6g} is so small that rounding errors dominate the coefficients.",
        "Pass ridge={smallest:.2g} or more, or None to choose it.",
    ),
    "kernel_not_definite": (
        "The kernel matrix with ridge={ridge:.6g} is not positive definite in double precision.",
        "Pass a larger ridge=, or None to choose it.",
    ),
    "kernel_not_symmetric": (
        "The kernel function is not symmetric: k(a, b) differs from k(b, a) for rows of the table.",
        "Pass a symmetric function, for example the mean of both if it is positive semidefinite.",
    ),
    "kernel_not_semidefinite": (
        "The kernel function is not positive semidefinite: its matrix over the rows has the "
        "smallest eigenvalue {smallest:.3g} and the largest {largest:.3g}.",
        "Pass a positive semidefinite function, such as a sum or a product of standard kernels.",
    ),
    "constant_kernel": (
        "With width={width:.6g} the kernel has the same value for all pairs of rows.",
        "Pass another width=, or None to choose it.",
    ),
    "kernel_shape": (
        "The kernel function returns an array of shape {shape} for rows of shapes {a} and {b}.",
        "Pass a function that returns the kernel of each pair, an array of shape {expected}.",
    ),
    "kernel_not_finite": (
        "The kernel function returns values that are not finite.",
        "Pass a function that returns finite numbers.",
    ),
    "equal_rows": (
        "All observations are equal in the columns of the formula. They cannot be separated.",
        "Name other columns in the formula.",
    ),
    "kernel_raised": (
        "The kernel function fails on rows of shapes {a} and {b}: {error}.",
        "Pass a function of two arrays of rows, (m, q) and (n, q), that returns their kernels, (m, n).",
    ),
    "not_a_row_of_the_fit": (
        "A row that is to be left out is not a row of the fit.",
        "Pass the table to which the model was fitted.",
    ),
    "too_little_weight": (
        "The weights sum to {total:g}. The sum has to be {required} or more, the number of classes plus the "
        "number of columns.",
        "Pass frequency weights, for example the weights divided by their mean.",
    ),
    "unlike_moments": (
        "Moments of {n_classes} classes, {n_columns} columns ({spread}) and of {other_classes} "
        "classes, {other_columns} columns ({other_spread}) cannot be merged.",
        "Compute both with the same formula, levels and options.",
    ),
    "no_normal_columns": (
        "Distances to class means require normal columns, and this fit has none.",
        "Name numeric columns in the formula.",
    ),
    "plugin_of_naive_bayes": (
        'method="{method}" is defined for normal classes with full covariances.',
        'Use method="plugin", or fit lda() or qda().',
    ),
    "kernel_densities": (
        "{what} is not defined for kernel densities, nor are AIC and BIC.",
        "Compare models by error_rates(['loo']).",
    ),
    "too_few_neighbours": (
        "{left}, fewer than k={k}.",
        "Pass a smaller k=.",
    ),
    "singular_metric": (
        "The covariance within classes is singular.",
        "",
    ),
    "constant_column": (
        "A column is constant.",
        "",
    ),
    "not_binary": (
        "metric={metric!r} requires columns of zeros and ones. Column {column_name} has the value {value:g}.",
        "Use another metric=.",
    ),
    "undefined_distance": (
        "metric={metric!r} does not define the distance between some rows: {cause}.",
        "Drop these rows, or use another metric=.",
    ),
    "nothing_to_calibrate": (
        "No left-out observation has a class and a score. The posteriors cannot be calibrated.",
        'Use the posteriors without calibration, with method="plugin".',
    ),
    "infinite_scores": (
        "Observations with infinite scores: {n_rows}. No finite slope calibrates them.",
        "Scale the columns to similar sizes.",
    ),
    "impossible_rows": (
        "Every left-out observation has probability zero in its own class.",
        "Fit more observations of each class.",
    ),
    "calibration_not_found": (
        "The maximum likelihood calibration was not found, for example because the classes are separated.",
        "Use the penalty, or temperature scaling.",
    ),
    "many_calibration_parameters": (
        "A {kind} calibration of {n_classes} classes has {n_parameters:,} parameters.",
        'Use "temperature" or "vector" calibration.',
    ),
    "no_errors_to_calibrate": (
        "Every left-out observation is classified correctly. The likelihood of the slope has no maximum.",
        "Use the penalty, with which the maximum exists.",
    ),
    "many_refits": (
        "Leave-one-out {takes}; {n_rows} are more than {limit:,}.",
        'Use cross-validation instead: error_rates(["cv"]) or confusion("cv").',
    ),
    "plugin_only": (
        'method="{method}" {cause}.',
        'Use method="plugin" or method="calibrated".',
    ),
    "no_likelihood_of_kernel_density": (
        "The likelihood of a kernel density at its own observations does not measure the fit.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_kernel_density": (
        "A kernel density has no number of parameters.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_knn": (
        "Nearest neighbours have no likelihood, AIC or BIC.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_knn": (
        "Nearest neighbours have no number of parameters.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_kernel_lda": (
        "A kernel discriminant analysis has no likelihood, AIC or BIC.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_kernel_lda": (
        "A kernel discriminant analysis has no number of parameters.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_sparse_lda": (
        "A sparse discriminant analysis does not maximize a likelihood.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_sparse_lda": (
        "A sparse discriminant analysis has no number of free parameters, AIC or BIC.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_pls": (
        "Partial least squares does not maximize a likelihood.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_pls": (
        "Partial least squares has no number of free parameters, AIC or BIC.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_shrunken_centroids": (
        "Shrunken centroids do not maximize a likelihood.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_shrunken_centroids": (
        "Shrunken centroids have no number of free parameters, AIC or BIC.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_location": (
        "Means that are smoothed over cells do not maximize a likelihood.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_location": (
        "Means that are smoothed over cells have no integer number of parameters.",
        "Compare models by error_rates().",
    ),
    "estimator_not_definite": (
        "The covariance_ of {name} {where} is not positive definite.",
        "Use an estimator with regularization, or fewer columns.",
    ),
    "estimator_leave_one_out": (
        "Leave-one-out of {estimator} has no closed form and would fit it again for each observation.",
        'Use cross-validation instead: error_rates(["cv"]) or confusion("cv") fits it once for each fold.',
    ),
    "estimator_shape": (
        "The covariance_ of {name} {where} has shape {shape} instead of {expected}.",
        "Use another estimator.",
    ),
    "estimator_not_finite": (
        "The covariance_ of {name} {where} has a value that is not finite.",
        "Use another estimator, or scale the columns.",
    ),
    "estimator_not_symmetric": (
        "The covariance_ of {name} {where} is not symmetric.",
        "Use another estimator.",
    ),
    "estimator_of_rows": (
        "{estimator} does not accept weights that are not integers.",
        "Pass integer weights.",
    ),
    "estimator_fails": (
        "{name} cannot be fitted to the {n_rows} observations {where}: {error}.",
        "Use another estimator, or fewer columns.",
    ),
    "no_estimator": (
        "{name} has no covariance_ after fit(X).",
        "Pass a covariance estimator, for example one of sklearn.covariance.",
    ),
    "estimator_not_numeric": (
        "The covariance_ of {name} {where} is not a numeric matrix.",
        "Use another estimator.",
    ),
    "no_likelihood_of_rows": (
        "The likelihood is not finite at the means and standard deviations of the observed values: values "
        "or weights are out of range.",
        "Divide them by their maximum, or drop the extreme ones.",
    ),
    "one_column_for_factors": (
        'covariance="factor" requires two columns or more, and the formula has one.',
        'Use covariance="full".',
    ),
    "one_common_dimension": (
        'form="{form}" has one dimension for all classes, and dimensions= has several.',
        "Pass one number as dimensions=.",
    ),
    "one_common_dimension_of_own_axes": (
        'form="{form}" has one dimension for all classes, and dimensions= has several.',
        'Pass one number as dimensions=, or pass form="{form}k".',
    ),
    "axes_without_each_row": (
        "{what} would compute the principal axes again for each of {n_rows:,} left-out observations, which "
        "is slow.",
        'Use cross-validation instead: error_rates(["cv"]) or components="cv".',
    ),
    "matrix_of_other_size": (
        "Separable({n_rows}, {n_columns}) describes matrices of {n_entries} entries, and the formula has "
        "{n_varying} column{plural} that vary.",
        "Pass the numbers of rows and columns of the matrix without its constant rows and columns.",
    ),
    "nothing_to_shrink": (
        "No column varies within classes. There is no covariance to shrink.",
        "Name other columns in the formula.",
    ),
    "shrinkage_out_of_range": (
        "shrinkage={shrinkage!r} is not valid.",
        "Pass a number from 0 to 1.",
    ),
    "shrinkage_too_small": (
        "shrinkage={shrinkage!r} is too small for more variables than observations.",
        "Pass a number greater than 0 and at most 1.",
    ),
    "unknown_class_of_dimensions": (
        "Unknown class {label!r} in dimensions=.",
        "Use the classes of the fit as keys.",
    ),
    "missing_class_of_dimensions": (
        "dimensions= has no value for class {label!r}.",
        "Pass a number for each class.",
    ),
    "no_separable_covariance": (
        "The separable covariance of {n_rows} x {n_columns} matrices does not exist {where}: there are only "
        "{df} degrees of freedom, or a row or column of the matrix is constant or determined by others.",
        'Fit more observations, drop that row or column, or pass covariance="shrunk".',
    ),
    "fewer_columns_than_axes": (
        "ncomp={wanted} exceeds the number of columns, {available}.",
        "Pass a number up to {available}.",
    ),
    "singular_total": (
        "ncomp= whitens the columns by the total covariance, which is singular: there are {n_rows} "
        "observations and {n_columns} columns.",
        "Name fewer columns, or pass components= for principal axes.",
    ),
    "fewer_axes_than_wanted": (
        "components={wanted} exceeds the number of principal axes with variance, {available}.",
        "Pass a number up to {available}, or a proportion of the variance, such as components=0.9.",
    ),
}
"""Message and hint of each reason, or the function that returns them. Models catch errors without a hint.

In addition to the values of the error, format strings have the fields `where` (for example "in class 'a'"),
`class_name` and `column_name`.
"""


def describe(
    error: CoreError, columns: Sequence[str] | None = None, classes: Sequence[Any] | None = None
) -> tuple[str, str]:
    """Return the public message and hint of an error of the core.

    Parameters
    ----------
    error : CoreError
        A reason that is not in `DESCRIPTIONS` is a message itself, for example after unpickling.
    columns, classes : sequence, optional
        Names of the columns and labels of the classes; without them, numbers from one are used.

    Returns
    -------
    message, hint : str
        The hint is "" for errors without a hint.
    """
    description = DESCRIPTIONS.get(error.reason, (error.reason, ""))
    values = {"where": "within classes", **error.values}
    for j in error.column_positions:
        values["column_name"] = f"number {j + 1}" if columns is None else repr(columns[j])
    for k in error.class_positions:
        values["class_name"] = f"number {k + 1}" if classes is None else repr(classes[k])
        values["where"] = f"in class {values['class_name']}"
    if not isinstance(description, tuple):
        return description(values)
    if error.reason not in DESCRIPTIONS:
        return description
    message, hint = description
    return message.format(**values), hint.format(**values)


@contextmanager
def named_errors(columns: Sequence[str], classes: Sequence[Any]) -> Iterator[None]:
    """Context manager that raises a CoreError of its block as a public error; see `public_error`.

    The message has names of columns and labels of classes instead of positions.

    Parameters
    ----------
    columns : sequence of str
        Columns of the design.
    classes : sequence
        Labels of the classes.
    """
    try:
        yield
    except CoreError as error:
        raise public_error(error, columns, classes) from error.__cause__


def public_error(
    error: CoreError, columns: Sequence[str] | None = None, classes: Sequence[Any] | None = None
) -> DiscrimError:
    """Convert an error of the core to a public error.

    Parameters
    ----------
    error : CoreError
    columns, classes : sequence, optional
        Names of the columns and labels of the classes, which replace positions in the message.

    Returns
    -------
    CollinearError, NotSupportedError or DataError
        The public class from which the class of `error` derives. Its attributes `columns`, `classes` and
        `rows` have names and labels, if they are known.
    """
    message, hint = error.message, error.hint
    # Without a reference to positions the message may already name more, such as the class of a density.
    if error.column_positions or error.class_positions:
        message, hint = describe(error, columns, classes)
    public = next(cls for cls in (CollinearError, NotSupportedError, DataError) if isinstance(error, cls))
    return public(
        message,
        hint=hint,
        columns=error.columns or [columns[j] for j in error.column_positions if columns is not None],
        classes=error.classes or [classes[k] for k in error.class_positions if classes is not None],
        rows=error.rows,
    )
