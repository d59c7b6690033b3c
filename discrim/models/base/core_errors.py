"""Messages and hints of the errors of the core, which know neither option names nor names of columns.

A text is a format string of the values of the error. `models.base.fit` registers them in the core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from discrim.core.covariance.factor import common_dimension
from discrim.core.errors import CoreError
from discrim.errors import CollinearError, DataError, DiscrimError, NotSupportedError


def _singular_scores(values: Mapping[str, Any]) -> tuple[str, str]:
    return _fewer_axes(values, "components", "principal axes", 'covariance="shrunk"')


def _singular_scores_of_ncomp(values: Mapping[str, Any]) -> tuple[str, str]:
    return _fewer_axes(values, "ncomp", "axes of ncomp=", 'covariance="shrunk" without ncomp=')


def _fewer_axes(values: Mapping[str, Any], option: str, axes: str, other: str) -> tuple[str, str]:
    """Return message and hint of scores without a covariance.

    Parameters
    ----------
    values : mapping
    option, axes : str
        Option that sets the number of axes, and the name of these axes.
    other : str
        Options of a model that has a covariance.

    Returns
    -------
    tuple of str
    """
    wanted = values["wanted"]
    df = values["df"]
    cause = f"the rows leave {df} degrees of freedom there"
    if df >= wanted:
        cause = "they vary along fewer directions there"
    fewer = min(df, wanted - 1)
    return (
        f"The scores on {wanted} {axes} have no full covariance {values['where']}, as {cause}.",
        f"Give {option}={fewer} or fewer, or pass {other}." if fewer > 0 else f"Pass {other}.",
    )


def _no_noise(values: Mapping[str, Any]) -> tuple[str, str]:
    dimension = values["dimension"]
    rank = values["rank"]
    hint = f'Pass dimensions= of {rank - 1} at most, or covariance="shrunk".'
    if rank <= 1:
        hint = 'Pass covariance="shrunk", or leave the class out.'
    return (
        f"{dimension} dimension{'s' * (dimension != 1)} of the signal leave nothing to the noise: the rows "
        f"vary in {rank} dimension{'s' * (rank != 1)} only {values['where']}.",
        hint,
    )


def _signal_below_noise(values: Mapping[str, Any]) -> tuple[str, str]:
    form = values["form"]
    component = "signal" if "Bk" in form else "noise"
    other = "AkjBkQkD" if common_dimension(form) else "AkjBkQkDk"
    return (
        f'In form="{form}", with one variance of the {component} for all classes, a signal of class '
        f"{values['class_name']} varies less than its noise.",
        f'Pass form="{other}", or fewer dimensions.',
    )


def _no_likelihood_of_covariance(values: Mapping[str, Any]) -> tuple[str, str]:
    name = COVARIANCE_NAMES.get(values["name"], f'covariance="{values["name"]}"')
    return (
        f"A likelihood needs a maximum likelihood estimate, which {name} is not.",
        'Compare by error_rates(["cv"]), or fit another covariance.',
    )


COVARIANCE_NAMES: Mapping[str, str] = {
    "projected": "a covariance within principal axes",
    "sliced": "a covariance on the axes of ncomp=",
    "adjusted": "a covariance that is adjusted for covariates",
    "estimator": "a covariance of an estimator of scikit-learn",
}
"""Names of covariance models that are not values of covariance=."""

DESCRIPTIONS: Mapping[str, tuple[str, str] | Callable[[Mapping[str, Any]], tuple[str, str]]] = {
    "singular_scores": _singular_scores,
    "singular_scores_of_ncomp": _singular_scores_of_ncomp,
    "no_noise": _no_noise,
    "signal_below_noise": _signal_below_noise,
    "few_degrees_of_freedom": (
        "Nonlinear shrinkage needs {least} degrees of freedom {where}. There are {df:g}.",
        'Pass covariance="shrunk".',
    ),
    "no_likelihood_of_covariance": _no_likelihood_of_covariance,
    "reduced_likelihood": (
        "The log-likelihood exists for all canonical axes only.",
        "Fit without ncomp=.",
    ),
    "search_for_each_row": (
        "leave_one_out() would take a new search for each of {n_rows:,} rows.",
        'Cross-validate instead, with error_rates(["cv"]) or confusion("cv").',
    ),
    "unshrunken_correlations": (
        "CAT scores of more columns than rows need a covariance whose correlations are shrunk.",
        'Fit with covariance="correlation", or "diagonal" for t-scores.',
    ),
    "adjusted_for_covariates": (
        "{what} takes the columns as they are, and this fit adjusts them for covariates.",
        "Fit without the `|` of the formula, or with + in its place.",
    ),
    "not_full_covariance": (
        'method="{method}" has a closed form for the full covariance, not the {covariance} one.',
        'Use "plugin" or "calibrated".',
    ),
    "reduced_dimensions": (
        'method="{method}" uses all dimensions.',
        "Fit without ncomp=.",
    ),
    "too_few_for_debiased": (
        'method="debiased" needs N - K > p + 1; here N - K is {df:g} and p is {n_columns}.',
        'Use "plugin".',
    ),
    "reduced_leave_one_out": (
        "leave_one_out() has a closed form for all axes only.",
        'Fit without ncomp=, or cross-validate with error_rates(["cv"]) or confusion("cv").',
    ),
    "not_full_covariances": (
        'method="{method}" has a closed form for full covariances, not {covariance} ones.',
        'Use "plugin" or "calibrated".',
    ),
    "not_elliptical": (
        "Points are bent to normal and t distributions only.",
        "",
    ),
    "no_posterior": (
        "At x = {x}, a random point of class {class_name}, the densities are zero, infinite "
        "or not known, so that it has no posterior.",
        "Change the unit of x, or the law.",
    ),
    "negative_density": (
        "The density is {value:g} at {x:g}.",
        "Give one that is 0 or more.",
    ),
    "not_a_distribution": (
        "{distribution} is no distribution.",
        "Give a frozen one of scipy.stats, such as scipy.stats.norm(0, 1), or a function of one "
        "variable that gives its density.",
    ),
    "not_frozen": (
        "{distribution} is not frozen, or cannot be drawn from.",
        "Freeze it, or give its pdf, a function of one variable.",
    ),
    "not_multivariate": (
        "{distribution} is not a density of rows of numbers (its logpdf does not take rows).",
        "See multivariate_normal, multivariate_t, or distributions of one variable. ({cause})",
    ),
    "array_parameters": (
        "{distribution} has arrays of parameters.",
        "Give one distribution a class.",
    ),
    "parameters_out_of_range": (
        "{distribution} has parameters that are out of range.",
        "Give ones that scipy.stats takes.",
    ),
    "infinite_integral": (
        "The density does not integrate to one: its integral grows without end, in the tails or at a "
        "pole, or cannot be found.",
        "Give another density, or a scipy.stats distribution.",
    ),
    "integral_not_one": (
        "The density integrates to {integral:.6g}, not to one.",
        "Divide it by its integral. (A density far narrower than its distance from zero is not seen: "
        "give a scipy.stats distribution, with loc and scale.)",
    ),
    "density_raised": (
        "{distribution} raised {error_type} when it was asked for {n_points} points: {error}.",
        "Correct it, or give a frozen distribution of scipy.stats.",
    ),
    "not_a_number_for_each": (
        "{distribution} gave {value} for {n_points} points.",
        "Give a function that returns a number for each.",
    ),
    "zero_variance": (
        "{distribution} has a variance of zero, and so no density.",
        "Give a larger one.",
    ),
    "missing_parameters": (
        "{distribution} needs parameters.",
        "Freeze it with them.",
    ),
    "no_nearest_point": (
        "The nearest point was not found in {n_rounds:,} rounds.",
        "Bring the columns to like units.",
    ),
    "no_solution": (
        "The linear program of the separation has no answer ({message_of_solver}).",
        "Bring the columns to like units, or use lda().",
    ),
    "out_of_time": (
        "Whether a hyperplane separates the {n_classes} classes was not decided: the linear program "
        "of {n_coefficients:,} coefficients found no answer in {seconds:.0f} seconds.",
        "Pass bias_reduction=True, whose estimates exist in any case, name fewer columns, or merge classes.",
    ),
    "ridge_rounded_away": (
        "ridge={ridge:.3g} is so small beside the features that the coefficients are rounding.",
        "Give a larger one, or None.",
    ),
    "equal_features": (
        "All rows have the same features, so that nothing tells them apart.",
        "Name other columns.",
    ),
    "no_random_features": (
        "Random features exist for the kernels {kernels}, not for kernel={kernel!r}.",
        "Use one of these, or components=discrim.subspace.Landmarks(n).",
    ),
    "kernel_diagonal": (
        "The kernel of some row with itself is negative or not finite, or that of all rows is zero.",
        "Give another kernel or width.",
    ),
    "odd_features": (
        "components={count}: random features of a kernel of differences are cosines and sines, two "
        "for each direction.",
        "Give an even number, such as {even}.",
    ),
    "no_rows_of_file": (
        "A fit from a file does not leave rows out.",
        "Fit the rows again.",
    ),
    "ridge_too_small": (
        "ridge={ridge:.6g} is so small that coefficients are rounding.",
        "Give {smallest:.2g} or more, or None to have it chosen.",
    ),
    "kernel_not_definite": (
        "The kernel with ridge={ridge:.6g} is not positive definite to the digits of doubles.",
        "Give a larger ridge=, or None to have it chosen.",
    ),
    "kernel_not_symmetric": (
        "The kernel function is not symmetric: k(a, b) is not k(b, a) for rows of the table.",
        "Give one that is, such as the mean of both, if that is positive semidefinite.",
    ),
    "kernel_not_semidefinite": (
        "The kernel function is not positive semidefinite: its matrix over the rows has the "
        "eigenvalue {smallest:.3g}, beside {largest:.3g}.",
        "Give one that is, such as a sum or a product of known kernels.",
    ),
    "constant_kernel": (
        "With width={width:.6g} the kernel is the same number for all pairs of rows.",
        "Give another width, or None to have it chosen.",
    ),
    "kernel_shape": (
        "The kernel function returns an array of shape {shape} for rows of shapes {a} and {b}.",
        "Give one that returns the kernels of all pairs, {expected}.",
    ),
    "kernel_not_finite": (
        "The kernel function returns values that are not finite.",
        "Give one that returns finite numbers.",
    ),
    "equal_rows": (
        "All rows are equal in the columns of the formula, so that nothing tells them apart.",
        "Name others.",
    ),
    "kernel_raised": (
        "The kernel function fails on rows of shapes {a} and {b}: {error}.",
        "Give one that takes two arrays of rows, (m, q) and (n, q), and returns their kernels, (m, n).",
    ),
    "not_a_row_of_the_fit": (
        "A row to be left out is not one of the fit.",
        "Pass the table of the fit.",
    ),
    "too_little_weight": (
        "The rows have weights that sum to {total:g}, and this needs {required} or more, the number "
        "of classes and columns.",
        "Pass weights that count rows, for example divided by their mean.",
    ),
    "unlike_moments": (
        "Moments of {n_classes} classes, {n_columns} columns ({spread}) and of {other_classes} "
        "classes, {other_columns} columns ({other_spread}) cannot be merged.",
        "Gather both with the same formula, levels and options.",
    ),
    "no_normal_columns": (
        "Distances to class means need normal columns, and there is none.",
        "Name numeric columns in the formula.",
    ),
    "plugin_of_naive_bayes": (
        'method="{method}" is defined for normal classes with full covariances.',
        'Use "plugin", or fit lda() or qda().',
    ),
    "kernel_densities": (
        "{what} is not defined for kernel densities, nor are AIC and BIC.",
        "Compare by error_rates(['loo']).",
    ),
    "too_few_neighbours": (
        "{left}, fewer than k={k}.",
        "Give a smaller k.",
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
        "Take another metric.",
    ),
    "undefined_distance": (
        "metric={metric!r} gives no distance between some rows: {cause}.",
        "Leave such rows out, or take another metric.",
    ),
    "nothing_to_calibrate": (
        "No row that was left out has a class and a score, so that there is nothing to calibrate by.",
        'Use the posteriors as they are, with method="plugin".',
    ),
    "infinite_scores": (
        "The score of {n_rows} rows is infinitely large, and no finite slope fits it.",
        "Divide the columns by their sizes.",
    ),
    "impossible_rows": (
        "No row that was left out is possible in its class.",
        "Give each class more rows.",
    ),
    "calibration_not_found": (
        "The most likely calibration was not found, as where classes are told apart without error.",
        "Use the penalty, or a temperature.",
    ),
    "many_calibration_parameters": (
        "A {kind} calibration of {n_classes} classes has {n_parameters:,} parameters.",
        'Use "temperature" or "vector".',
    ),
    "no_errors_to_calibrate": (
        "Every row that was left out has the right class, so that no slope is the most likely.",
        "Use the penalty, which has one.",
    ),
    "many_refits": (
        "Leave-one-out {takes}; {n_rows} are more than {limit:,}.",
        'Cross-validate instead, with error_rates(["cv"]) or confusion("cv").',
    ),
    "plugin_only": (
        'method="{method}" {cause}.',
        'Use "plugin" or "calibrated".',
    ),
    "no_likelihood_of_kernel_density": (
        "The likelihood of kernels at their own rows does not measure the fit.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_kernel_density": (
        "Kernels have no parameters to count.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_knn": (
        "Nearest neighbours have no likelihood, AIC or BIC.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_knn": (
        "Nearest neighbours have no parameters to count.",
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
        "A sparse discriminant analysis does not maximise a likelihood.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_sparse_lda": (
        "A sparse discriminant analysis has no count of free parameters, nor AIC and BIC.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_pls": (
        "Partial least squares does not maximise a likelihood.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_pls": (
        "Partial least squares has no count of free parameters, nor AIC and BIC.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_shrunken_centroids": (
        "Shrunken centroids do not maximise a likelihood.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_shrunken_centroids": (
        "Shrunken centroids have no count of free parameters, nor AIC and BIC.",
        "Compare models by error_rates().",
    ),
    "no_likelihood_of_location": (
        "Means that are smoothed over cells maximize no likelihood.",
        "Compare models by error_rates().",
    ),
    "no_parameters_of_location": (
        "Means that are smoothed over cells have no whole number of parameters.",
        "Compare models by error_rates().",
    ),
    "estimator_not_definite": (
        "The covariance_ of {name} {where} is not positive definite.",
        "Use an estimator that regularizes, or fewer columns.",
    ),
    "estimator_leave_one_out": (
        "Leave-one-out of {estimator} has no closed form, and would fit it once for each row.",
        'Cross-validate instead, with error_rates(["cv"]) or confusion(method="cv"), which fits it in'
        " each fold.",
    ),
    "estimator_shape": (
        "The covariance_ of {name} {where} has shape {shape}, where {expected} is asked for.",
        "Use another estimator.",
    ),
    "estimator_not_finite": (
        "The covariance_ of {name} {where} holds a value that is not finite.",
        "Use another estimator, or columns of another scale.",
    ),
    "estimator_not_symmetric": (
        "The covariance_ of {name} {where} is not symmetric.",
        "Use another estimator.",
    ),
    "estimator_of_rows": (
        "{estimator} is fitted to rows.",
        "Give weights that are whole numbers.",
    ),
    "estimator_fails": (
        "{name} cannot be fitted to the {n_rows} rows {where}: {error}.",
        "Use another estimator, or fewer columns.",
    ),
    "no_estimator": (
        "{name} has no covariance_ after fit(X).",
        "Pass an estimator of a covariance, as those of sklearn.covariance.",
    ),
    "estimator_not_numeric": (
        "The covariance_ of {name} {where} is no matrix of numbers.",
        "Use another estimator.",
    ),
    "no_likelihood_of_rows": (
        "The rows have no likelihood at the means and deviations of what is observed: values or "
        "weights are out of range.",
        "Divide them by their largest, or leave them out.",
    ),
    "one_column_for_factors": (
        'covariance="factor" needs two columns or more, and there is one.',
        'Use covariance="full".',
    ),
    "one_common_dimension": (
        'form="{form}" has one dimension for all classes, and dimensions= gives several.',
        "Give one number.",
    ),
    "one_common_dimension_of_own_axes": (
        'form="{form}" has one dimension for all classes, and dimensions= gives several.',
        'Give one number, or pass form="{form}k".',
    ),
    "axes_without_each_row": (
        "{what} learns principal axes without each of {n_rows:,} rows, which takes long here.",
        'Use folds, as error_rates(["cv"]) or components="cv".',
    ),
    "matrix_of_other_size": (
        "Separable({n_rows}, {n_columns}) is a matrix of {n_entries} entries, and the formula leaves "
        "{n_varying} column{plural} that vary.",
        "Give the numbers of its rows and columns, and leave out those that hold a constant.",
    ),
    "nothing_to_shrink": (
        "No column varies within classes: there is no covariance to shrink.",
        "Name other columns.",
    ),
    "shrinkage_out_of_range": (
        "shrinkage={shrinkage!r} is not valid.",
        "Give a number from 0 to 1.",
    ),
    "shrinkage_too_small": (
        "shrinkage={shrinkage!r} is too small for more columns than rows.",
        "Give a number above 0, at most 1.",
    ),
    "unknown_class_of_dimensions": (
        "Unknown class {label!r} in dimensions=.",
        "Name the classes of the fit.",
    ),
    "missing_class_of_dimensions": (
        "dimensions= has no number for class {label!r}.",
        "Give each class a number.",
    ),
    "no_separable_covariance": (
        "There is no separable covariance of matrices of {n_rows} x {n_columns} {where}: the rows leave "
        "{df} degrees of freedom, or a row or column of the matrix is constant or determined by others.",
        'Give more rows, leave that row or column out, or pass covariance="shrunk".',
    ),
    "fewer_columns_than_axes": (
        "ncomp={wanted} is more than the number of columns, {available}.",
        "Give a number up to {available}.",
    ),
    "singular_total": (
        "ncomp= whitens the columns by the covariance of all rows, which is singular: {n_rows} rows "
        "and {n_columns} columns.",
        "Name fewer columns, or pass components= for principal axes.",
    ),
    "fewer_axes_than_wanted": (
        "components={wanted}, but the rows vary along {available} principal axes.",
        "Give a number up to {available}, or a share of the variance, as components=0.9.",
    ),
}
"""Message and hint of each reason, or the function that returns them. Models catch those without a hint.

In addition to the values of the error, format strings have the fields `where` (for example "in class 'a'"),
`class_name` and `column_name`.
"""


def describe(
    error: CoreError, columns: Sequence[str] | None = None, classes: Sequence[Any] | None = None
) -> tuple[str, str]:
    """Return message and hint of an error of the core.

    Parameters
    ----------
    error : CoreError
        A reason that is not in `DESCRIPTIONS` is a message itself, for example after unpickling.
    columns, classes : sequence, optional
        Names of the columns and labels of the classes; without them, numbers are used.

    Returns
    -------
    tuple of str
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
    """Raise errors of the core as public errors with the names of the columns and classes at fault.

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
    """Return the public error of an error of the core.

    Parameters
    ----------
    error : CoreError
    columns, classes : sequence, optional
        Names of the columns and labels of the classes; without them, the message is the one of the error.

    Returns
    -------
    DiscrimError
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
