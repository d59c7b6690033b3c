"""The names that scripts are written with are there, as what they are said to be.

What is written here is the contract of the public names, and not read from the package. What is an attribute
is there at no cost, what is a method takes options or time. A public function that stands in no table here is
a name that nobody has promised yet.
"""

import importlib
import inspect

import pandas as pd
import pytest

import discrim
from discrim import errors
from discrim.datasets import load_iris
from discrim.models.registry import BY_MODEL

IRIS = load_iris()
FORMULA = "species ~ sepal_width + petal_width"

SHARED = "formula data levels na_action functions"
"""Keywords of every verb that reads rows."""

VERBS = {
    "lda": "moments prior weights method collinear ncomp covariance components missing",
    "qda": "moments prior weights method covariance components ncomp missing",
    "rda": "moments prior weights alpha gamma folds grid seed parametrization components",
    "naive_bayes": "moments prior weights",
    "logistic": "prior weights reference bias_reduction tol maxiter penalty",
    "indicator": "moments weights",
    "perceptron": "step maxiter seed",
    "hyperplane": "",
    "knn": "prior k metric scale",
    "mixture": "prior weights components covariance",
    "sparse_lda": "prior weights",
    "kernel_density": "prior weights",
    "kernel_lda": "prior weights kernel width ridge scale select calibrate components",
    "pls": "prior weights",
    "nearest_centroid": "moments prior weights",
    "fda": "prior weights engine",
    "shrunken_centroids": "moments prior weights",
    "plda": "moments prior weights components normalize",
    "location": "prior weights smoothing grid",
}

FUNCTIONS = {
    "bayes": "prior densities",
    "mlm": "formula data",
    "box_m": "formula data",
    "lr_test": "lda_fit qda_fit bootstrap seed",
    "compare": "fits",
    "manova": "formula data",
    "stepwise": "formula data",
    "choose": "formula data by folds seconds",
    "cross_validate": "fit folds seed",
    "from_stats": "means covs counts",
    "moments": "formula data",
    "load": "path",
}

NOT_PROMISED = {"covariance_models", "hausman", "permanova", "plan", "sphericity_test"}
"""Public functions that a page teaches, and that no script needs."""

ATTRIBUTES = "formula classes nobs counts prior terms"
METHODS = (
    "predict decision_function summary confusion error_rates assess tidy glance augment plot save update "
    "report to_excel to_sql to_onnx leave_one_out predict_set"
)
WITH_POSTERIORS = "predict_proba predict_log_proba estimate_prior typicality"
LIKELIHOOD = "llf aic bic df_model"

BY_VERB = {
    "lda": (
        f"means cov scaling svd explained coef intercept {LIKELIHOOD}",
        "transform log_odds canonical anova distances manova box_m boundary leave_one_out ranking",
    ),
    "qda": (f"means covs logdet {LIKELIHOOD}", "quadratic leave_one_out"),
    "rda": (f"means covs logdet alpha gamma path {LIKELIHOOD}", "quadratic leave_one_out"),
    "naive_bayes": (f"means {LIKELIHOOD}", "leave_one_out"),
    "logistic": (
        "params bse zvalues pvalues llf llnull prsquared aic bic separation",
        "conf_int cov_params lr_test odds_ratios to_statsmodels",
    ),
    "indicator": ("coef intercept fitted masked", ""),
    "perceptron": ("coef intercept converged updates separable", ""),
    "hyperplane": ("coef intercept margin support multipliers", "distance"),
    "knn": ("k path", ""),
}

KEYWORDS = {
    "predict": "data prior threshold outlier missing unseen out",
    "threshold": "data sensitivity specificity costs youden method",
    "predict_proba": "data prior method convention",
    "predict_log_proba": "data prior",
    "decision_function": "data",
    "confusion": "data method",
    "error_rates": "methods data seed",
    "assess": "data method costs threshold",
    "augment": "data",
    "plot": "kind ax interactive",
    "predict_set": "data level by",
    "typicality": "data method",
    "estimate_prior": "data",
    "log_odds": "reference level",
    "transform": "data",
    "update": "formula data",
    "boundary": "a b",
}
"""Those of methods of a fit of lda()."""


def results_of(verb):
    return getattr(discrim, BY_MODEL[verb].results)


def parameters(function):
    return set(inspect.signature(function).parameters)


@pytest.mark.parametrize("verb", VERBS)
def test_verb_accepts_its_documented_keywords(verb):
    assert {*SHARED.split(), *VERBS[verb].split()} <= parameters(getattr(discrim, verb))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_accepts_its_documented_keywords(name):
    assert set(FUNCTIONS[name].split()) <= parameters(getattr(discrim, name))


def test_every_public_function_is_in_the_contract_or_excluded():
    public = {name for name in discrim.__all__ if inspect.isfunction(getattr(discrim, name))}
    assert public == {*VERBS, *FUNCTIONS, *NOT_PROMISED}


@pytest.mark.parametrize("verb", VERBS)
def test_every_fit_has_the_common_attributes(verb):
    kind = results_of(verb)
    methods = f"{METHODS} {WITH_POSTERIORS}" if BY_MODEL[verb].posteriors else METHODS
    for name in ATTRIBUTES.split():
        assert isinstance(inspect.getattr_static(kind, name), property), name
    for name in methods.split():
        assert callable(getattr(kind, name)), name


@pytest.mark.parametrize("verb", BY_VERB)
def test_fit_has_the_attributes_of_its_model(verb):
    kind, (attributes, methods) = results_of(verb), BY_VERB[verb]
    for name in attributes.split():
        assert not callable(inspect.getattr_static(kind, name)), name
    for name in methods.split():
        assert callable(getattr(kind, name)), name


@pytest.mark.parametrize("method", KEYWORDS)
def test_method_accepts_its_documented_keywords(method):
    assert set(KEYWORDS[method].split()) <= parameters(getattr(discrim.LDAResults, method))


WORDS = [
    *(("lda", "method", word) for word in ("moment", "mle")),
    *(("lda", "collinear", word) for word in ("raise", "drop")),
    *(("lda", "na_action", word) for word in ("raise", "drop")),
    *(("lda", "prior", word) for word in (None, "equal", "proportional", "size")),
    *(("rda", "parametrization", word) for word in ("esl", "friedman", "klar")),
    *(("knn", "metric", word) for word in ("euclidean", "mahalanobis")),
]


@pytest.mark.parametrize(("verb", "keyword", "word"), WORDS)
def test_keyword_accepts_its_documented_words(verb, keyword, word):
    chosen = {"rda": {"alpha": 0.5, "gamma": 0.1}, "knn": {"k": 3}}.get(verb, {})
    assert getattr(discrim, verb)(FORMULA, IRIS, **chosen, **{keyword: word}).nobs == 150


@pytest.fixture(scope="module")
def fit():
    return discrim.lda(FORMULA, IRIS)


def test_tables_have_their_documented_columns(fit):
    odds = fit.log_odds()
    assert list(odds.columns) == ["coef", "se", "z", "p", "low", "high"]
    assert odds.index.nlevels == 2
    assert fit.coef.shape == (2, 3)
    assert fit.scaling.columns.tolist() == ["LD1", "LD2"]
    assert {"estimate", "se", "low", "high"} <= set(fit.error_rates().columns)
    assert {"estimate", "std_error", "statistic", "p_value"} <= set(fit.tidy().columns)
    assert fit.confusion("loo").equals(fit.confusion(method="loo"))
    assert fit.leave_one_out().columns.tolist() == ["label", *fit.classes]
    canonical = fit.canonical()
    for name in ("eigenvalues", "correlations", "dimension_tests", "raw", "standardized", "centroids"):
        assert isinstance(getattr(canonical, name), pd.DataFrame | pd.Series), name
    for kind in ("within", "total", "between"):
        assert isinstance(canonical.structure(kind), pd.DataFrame)
    assert all(hasattr(fit.wilks, name) for name in ("statistic", "df", "pvalue"))


def test_posteriors_support_their_documented_methods(fit):
    for method in ("plugin", "predictive", "debiased", "calibrated"):
        assert fit.predict_proba(method=method).shape == (150, 3)
    assert fit.predict_proba(method="predictive", convention="MASS").shape == (150, 3)


def test_labels_are_series_and_scores_are_frames(fit):
    assert isinstance(fit.predict(), pd.Series)
    assert fit.predict_proba().columns.tolist() == fit.classes.tolist()
    two = discrim.lda("species ~ petal_width", IRIS[50:])
    assert isinstance(two.decision_function(), pd.Series)
    assert isinstance(fit.decision_function(), pd.DataFrame)
    border = two.boundary("versicolor", "virginica")
    assert {"normal", "offset", "midpoint", "c"} <= set(dir(border))


def test_summary_has_four_formats(fit):
    summary = fit.summary()
    for name in ("as_text", "as_html", "as_latex", "as_markdown", "_repr_html_"):
        assert isinstance(getattr(summary, name)(), str)
    assert all(isinstance(table, pd.DataFrame) for table in summary.tables.values())


def test_comparisons_return_one_result_type(fit):
    table = discrim.compare(fit, discrim.qda(FORMULA, IRIS))
    assert {"llf", "aic", "bic"} <= set(table.columns)
    assert callable(table.pairs)


def test_bayes_fit_has_its_documented_errors():
    assert not callable(inspect.getattr_static(discrim.BayesResults, "error_rate"))
    assert not callable(inspect.getattr_static(discrim.BayesResults, "decision"))
    assert callable(discrim.BayesResults.risk)


def test_every_error_is_a_discrim_error_and_a_value_error():
    names = [
        "FormulaError",
        "DataError",
        "PriorError",
        "CollinearError",
        "SeparationError",
        "NotSupportedError",
    ]
    for name in names:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.DiscrimError)
        assert issubclass(kind, ValueError)
    assert issubclass(errors.NotSupportedError, AttributeError)
    assert issubclass(errors.DiscrimWarning, Warning)


def test_modules_that_scripts_import_are_there():
    assert callable(discrim.datasets.load_iris)
    assert callable(importlib.import_module("discrim.cli").main)
    assert callable(pytest.importorskip("discrim.sklearn").LDAClassifier)
