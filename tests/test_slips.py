"""A keyword or an attribute that there is not names the one that is meant, or what does that job here."""

import copy
import inspect
import pickle
import re
import sys

import numpy as np
import pytest

import discrim
from discrim import slips
from discrim.datasets import load_iris
from discrim.errors import NoSeparationWarning, NotSupportedError
from discrim.models.base.reading import with_public_errors
from discrim.models.discriminant.components import CorrespondenceSubspace
from discrim.models.discriminant.covariance_results import FactorModel, SeparableModel, ShrunkCorrelationModel
from discrim.models.discriminant.covariates import CovariateModel
from discrim.models.discriminant.robust import RobustModel
from discrim.specification import Specification

IRIS = load_iris()
FORMULA = "species ~ ."
FIT = discrim.lda(FORMULA, IRIS)

VERB_KEYWORDS = {
    ("lda", "CV"): "leave_one_out()",
    ("lda", "cv"): "leave_one_out()",
    ("lda", "subset"): "data=df.query(...)",
    ("lda", "colinear"): "use collinear=.",
    ("lda", "priors"): "use prior=.",
    ("lda", "na.action"): "use na_action=.",
    ("lda", "type"): "predict_proba() posteriors",
    ("lda", "n_components"): "use ncomp=.",
    ("lda", "grouping"): 'use formula=, as in "species ~ a + b".',
    ("lda", "newdata"): "use data=.",
    ("lda", "store_covariance"): "leave it out",
    ("lda", "pool"): "lr_test(lda_fit, qda_fit)",
    ("lda", "n_neighbors"): "knn() has k=",
    ("lda", "level"): "conf_int(level=)",
    ("lda", "slpool"): "lr_test(lda_fit, qda_fit)",
    ("lda", "robust"): 'covariance="mcd"',
    ("lda", "covariates"): 'as in "y ~ x|age"',
    ("lda", "folds"): "leave_one_out()",
    ("stepwise", "method"): "use criterion=.",
    ("lda", "nothing_like_it"): "the keywords are formula, data, moments, prior,",
    ("rda", "lambda_"): "alpha= is 1 minus the lambda of Friedman and klaR",
    ("rda", "reg_param"): "use gamma=.",
    ("rda", "ridge"): "use gamma=.",
    ("knn", "n_neighbors"): "use k=.",
    ("knn", "p"): "use metric=.",
    ("lda", "p"): "the keywords are formula,",
    ("lda", "subclasses"): "mixture() has several components per class",
    ("lda", "figsize"): "plot(ax=) of a fit",
    ("lda", "alpha"): "conf_int(level=) and other methods of a fit have it",
    ("logistic", "tolerance"): "use tol=.",
    ("logistic", "conf_level"): "conf_int(level=) and other methods of a fit have it",
    ("logistic", "robust"): "robust() of the fit",
    ("stepwise", "center"): "the keywords are formula,",
    ("mixture", "cost"): "predict(costs=)",
    ("from_stats", "cost"): "predict(costs=)",
    ("qda", "delta"): "shrunken_centroids() has it",
    ("shrunken_centroids", "delta"): "use threshold=.",
    ("knn", "weights"): "df.index.repeat(n)",
    ("pls", "n_components"): "use ncomp=.",
    ("pls", "components"): "use ncomp=.",
    ("pls", "cv"): "use folds=.",
    ("compare", "cv"): "use folds=.",
    ("pls", "multilevel"): "use within=.",
    ("mixture", "subclasses"): "use components=.",
    ("sparse_lda", "components"): "use ncomp=.",
    ("logistic", "max_iter"): "use maxiter=.",
    ("naive_bayes", "fL"): "use laplace=.",
    ("kernel_density", "bw"): "use bandwidth=.",
    ("kernel_lda", "alpha"): "use ridge=.",
    ("kernel_lda", "gamma"): "use width=, which is 1 / (2 gamma)**0.5",
    ("shrunken_centroids", "shrink_threshold"): "use threshold=.",
    ("stepwise", "slentry"): "use enter=.",
    ("stepwise", "tol"): "use tolerance=.",
    ("perceptron", "eta0"): "use step=.",
    ("from_stats", "priors"): "the keywords are means, covs, counts, method",
    ("moments", "sample_weight"): "use weights=.",
    ("box_m", "subset"): "data=df.query(...)",
    ("mlm", "df"): "use data=.",
    ("mlm", "idata"): "repeated() of a fit of mlm() specifies the design within rows",
    ("mlm", "within"): "repeated() of a fit of mlm() specifies the design within rows",
    ("load", "file"): "use path=.",
    ("permanova", "strata"): "use within=.",
    ("permanova", "plots"): "use groups=.",
    ("permanova", "method"): "use distance=.",
    ("permanova", "by"): 'type=1 is by="terms"',
    ("permanova", "nperm"): "use permutations=.",
    ("manova", "strata"): "use within=.",
}

REWRITTEN = {
    ("logistic", "strength", 0.1): "penalty=discrim.penalty.Lasso(0.1)",
    ("logistic", "lambda", 0.1): "penalty=discrim.penalty.Lasso(0.1)",
    ("logistic", "alpha", 0.5): "penalty=discrim.penalty.ElasticNet(0.5)",
    ("logistic", "l1_ratio", 0.5): "penalty=discrim.penalty.ElasticNet(0.5)",
    (
        "logistic",
        "C",
        2.0,
    ): "penalty=discrim.penalty.Ridge(1 / (N * 2.0)), where N is the number of observations",
    ("logistic", "nfolds", 5): "penalty=discrim.penalty.Lasso(folds=5)",
    ("logistic", "random_state", 1): "penalty=discrim.penalty.Lasso(seed=1)",
    ("kernel_lda", "features", "random"): "components=discrim.subspace.RandomFeatures(n)",
    ("pls", "orthoI", 1): "algorithm=discrim.subspace.OrthogonalPLS(1)",
    ("pls", "keepX", (3, 2)): "algorithm=discrim.subspace.SparsePLS((3, 2))",
    ("pls", "select", "1se"): 'ncomp="1se"',
    ("rda", "standardize", True): "parametrization=discrim.covariance.Regularized(standardize=True)",
    ("rda", "select", "1se"): 'alpha="1se"',
    ("sparse_lda", "select", "1se"): 'penalty="1se"',
    ("shrunken_centroids", "select", "1se"): 'threshold="1se"',
    ("stepwise", "f_enter", 3.84): 'by="F", enter=3.84, stay=3.84',
    ("stepwise", "FIN", 3.84): 'by="F", enter=3.84',
    ("stepwise", "FOUT", 2.71): 'by="F", enter=2.71, stay=2.71',
    ("stepwise", "PR2ENTRY", 0.1): 'by="r2", enter=0.1',
    ("stepwise", "r2_stay", 0.1): 'by="r2", enter=0.1, stay=0.1',
    ("stepwise", "VIN", 1): 'by="v", enter=1, criterion="rao"',
    ("stepwise", "options", None): 'verb=functools.partial(discrim.qda, prior="equal")',
}

METHOD_KEYWORDS = {
    ("predict", "newdata"): "use data=.",
    ("predict", "type"): "predict_proba() posteriors",
    ("assess", "y"): "the response is a column of the table in data=",
    ("predict_proba", "X"): "use data=.",
    ("transform", "X"): "use data=.",
    ("plot", "type"): "use kind=.",
    ("plot", "figsize"): "plt.subplots(figsize=...)",
    ("plot", "color"): "use colors=.",
    ("confusion", "cv"): "use folds=.",
    ("error_rates", "nboot"): "use replicates=.",
    ("error_rates", "alpha"): "use level=.",
    ("error_rates", "random_state"): "use seed=.",
    ("summary", "digits"): "the keywords are sections.",
    ("leave_one_out", "prior"): "the keywords are refit_prior.",
    ("save", "filename"): "use path=.",
}

ATTRIBUTES = {
    "posterior": "use predict_proba().",
    "predit": "use predict.",
    "coef_": "use coef.",
    "fittedvalues": "use predict().",
    "x": "use transform().",
    "classes_": "use classes.",
    "class_": "use predict().",
    "means_": "use means.",
    "priors_": "use prior.",
    "scalings_": "use scaling.",
    "covariance_": "use cov.",
    "explained_variance_ratio_": "use explained.",
    "N": "use nobs.",
    "lev": "use classes.",
    "AIC": "use aic.",
    "logLik": "use llf.",
    "score": "use assess().",
    "cohens_d": "use differences().",
    "TukeyHSD": "use differences().",
    "confusion_matrix": "use confusion().",
    "cross_validate": "use discrim.cross_validate(fit, folds=10).",
    "to_latex": "use summary().as_latex().",
    "nothing_like_it": "See dir() for all attributes.",
}

NAMES = {
    ("", "plsda"): "use pls.",
    ("", "opls"): "pls(..., algorithm=discrim.subspace.OrthogonalPLS(1))",
    ("", "logit"): "use logistic.",
    ("", "LinearDiscriminantAnalysis"): "use lda.",
    ("", "MASS"): "lda() and qda() are here.",
    ("", "LDA"): "use lda.",
    ("", "stepclass"): "use stepwise.",
    ("", "dr"): "use qda(..., ncomp=2).",
    ("", "disqual"): "use lda(..., components=discrim.subspace.MultipleCorrespondence(2)).",
    ("", "AutoML"): "use choose.",
    ("", "GridSearchCV"): "use choose.",
    ("", "predict"): "fit.predict()",
    ("", "anova"): "fit.predict()",
    ("", "wine"): "use discrim.datasets.load_wine().",
    ("", "load_model"): "use load.",
    ("", "compare_models"): "use compare.",
    ("", "LDAClassifier"): "from discrim.sklearn import LDAClassifier",
    ("", "testMean"): 'use manova(..., method="chen-qin").',
    ("", "Schott2007"): 'use box_m(..., method="schott").',
    ("", "nothing_like_it"): "See dir() for all attributes.",
    ("datasets", "iris"): "use load_iris().",
    ("datasets", "load_irsi"): "use load_iris.",
    ("datasets", "load_digits"): "iris, penguins, wine and breast_cancer.",
    ("sklearn", "LinearDiscriminantAnalysis"): "use LDAClassifier.",
    ("sklearn", "LDA"): "use LDAClassifier.",
    ("sklearn", "KNeighborsClassifier"): "use KNNClassifier.",
    ("sklearn", "Pipeline"): "See dir() for all attributes.",
}


def refused(kind, call, *args, **kwargs):
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is kind
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize(("verb", "keyword"), VERB_KEYWORDS)
def test_a_verb_names_the_keyword_that_is_meant(verb, keyword):
    said = refused(TypeError, getattr(discrim, verb), **{keyword: 1})
    assert said.startswith(f"{verb}() has no keyword {keyword!r}: ")
    assert VERB_KEYWORDS[verb, keyword] in said


@pytest.mark.parametrize(("verb", "keyword", "value"), REWRITTEN)
def test_an_old_keyword_names_its_specification(verb, keyword, value):
    message = refused(TypeError, getattr(discrim, verb), **{keyword: value})
    assert message.startswith(f"{verb}() has no keyword {keyword!r}. Write ")
    assert REWRITTEN[verb, keyword, value] in message


SPECIFIED = [
    ("lda", {"shrinkage": 0.1}, "Write covariance=discrim.covariance.Shrunk(0.1)."),
    ("lda", {"method": "t", "nu": 5}, "Write covariance=discrim.covariance.StudentT(nu=5)."),
    ("qda", {"method": "t", "nu": None}, "Write covariance=discrim.covariance.StudentT(nu=None)."),
    (
        "lda",
        {"covariance": "shrunk", "shrinkage": 0.1, "standardize": True},
        "Write covariance=discrim.covariance.Shrunk(shrinkage=0.1, standardize=True).",
    ),
    ("lda", {"solver": "lsqr", "shrinkage": "auto"}, "Shrunk(shrinkage='ledoit-wolf', standardize=True)."),
    ("lda", {"standardise": True}, "Write covariance=discrim.covariance.Shrunk(standardize=True)."),
    ("qda", {"reg_param": 0.2}, "Write covariance=discrim.covariance.Shrunk(0.2)."),
    (
        "lda",
        {"lambda": 0.2, "lambda.var": 0.1},
        "Write covariance=discrim.covariance.ShrunkCorrelation(shrinkage=0.2, variance_shrinkage=0.1).",
    ),
    ("lda", {"lambda": 0.2}, "Write covariance=discrim.covariance.ShrunkCorrelation(0.2)."),
    ("lda", {"support_fraction": 0.7}, "Write covariance=discrim.covariance.MCD(support_fraction=0.7)."),
    ("lda", {"shape": (2, 2)}, "Write covariance=discrim.covariance.Separable(rows=2, columns=2)."),
    (
        "qda",
        {"dimensions": "bic", "form": "ABQD"},
        "Write covariance=discrim.covariance.FactorAnalytic(dimensions='bic', form='ABQD').",
    ),
    (
        "lda",
        {"components": 3, "standardize": True},
        "Write components=discrim.subspace.PrincipalComponents(3, standardize=True).",
    ),
    (
        "lda",
        {"components": 2, "correspondence": True},
        "Write components=discrim.subspace.MultipleCorrespondence(2).",
    ),
    ("lda", {"shrinkage": None}, "Leave it out."),
]


@pytest.mark.parametrize(("verb", "keywords", "advice"), SPECIFIED)
def test_keywords_together_name_one_specification(verb, keywords, advice):
    message = refused(TypeError, getattr(discrim, verb), FORMULA, IRIS, **keywords)
    assert advice in message
    for written, module in re.findall(r"=(discrim\.(\w+)\.\w+\([^()]*(?:\([^()]*\))?\))", message):
        specification = eval(written, {"discrim": discrim})
        assert isinstance(specification, Specification)
        option = "covariance" if module == "covariance" else "components"
        if "lda" in verb and option == "covariance" and "Separable" not in written:
            assert getattr(discrim, verb)(FORMULA, IRIS, covariance=specification).nobs == 150


COMBINED = [
    ("logistic", {"penalty": "ridge", "strength": 0.1}),
    ("logistic", {"penalty": "elastic_net", "l1_ratio": 0.3, "strength": np.float64(0.1)}),
    ("logistic", {"penalty": "l2", "folds": 3, "n_strengths": 5, "seed": 1}),
    ("logistic", {"alpha": 0, "lambda": 0.1}),
    ("lda", {"shrinkage": np.float64(0.1)}),
    ("lda", {"shape": np.array([2, 2])}),
    ("lda", {"grid": [0.1, 0.5]}),
    ("stepwise", {"f_enter": 3.84, "f_stay": 2.71}),
    ("stepwise", {"f_stay": 2.71}),
    ("stepwise", {"r2_enter": 0.2, "r2_stay": 0.1}),
    ("stepwise", {"v_enter": 3, "criterion": "rao"}),
]


@pytest.mark.parametrize(("verb", "keywords"), COMBINED)
def test_the_advice_runs_and_contains_every_value(verb, keywords):
    message = refused(TypeError, getattr(discrim, verb), FORMULA, IRIS, **keywords)
    written = eval(f"dict({message.partition('Write ')[2].removesuffix('.')})", {"discrim": discrim})
    getattr(discrim, verb)(FORMULA, IRIS, **written)
    values = list(written.values())
    for each in written.values():
        values += each.parameters().values() if isinstance(each, Specification) else []
    words = {"l2", "ridge", "elastic_net", 0}
    given = [each for each in keywords.values() if isinstance(each, str | float) and each not in words]
    assert all(each in values for each in given)


def test_the_penalty_that_was_asked_for_is_the_one_that_is_advised():
    for penalty, name in (
        ("ridge", "Ridge"),
        ("l1", "Lasso"),
        (None, "Lasso"),
        (discrim.penalty.Ridge(), "Ridge"),
    ):
        message = refused(TypeError, discrim.logistic, FORMULA, IRIS, penalty=penalty, strength=0.1)
        assert f"discrim.penalty.{name}(0.1)" in message


@pytest.mark.parametrize(("method", "keyword"), METHOD_KEYWORDS)
def test_a_method_names_the_keyword_that_is_meant(method, keyword):
    said = refused(TypeError, getattr(FIT, method), **{keyword: 1})
    assert said.startswith(f"{method}() has no keyword {keyword!r}: ")
    assert METHOD_KEYWORDS[method, keyword] in said


def test_an_estimator_names_the_keyword_that_is_meant():
    estimators = pytest.importorskip("discrim.sklearn")
    assert "use prior=." in refused(TypeError, estimators.LDAClassifier, priors=None)
    assert "KNNClassifier() has no" in (said := refused(TypeError, estimators.KNNClassifier, n_neighbors=3))
    assert said.endswith("use k=.")
    # Its method fit() takes weights, so that no rows need to be repeated.
    assert "the keywords are prior," in refused(TypeError, estimators.LDAClassifier, sample_weight=None)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_results_name_the_attribute_that_is_meant(name):
    said = refused(NotSupportedError, getattr, FIT, name)
    hint = ATTRIBUTES[name]
    assert said == f"LDAResults has no attribute {name!r}. {hint[:1].upper()}{hint[1:]}"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_modules_name_the_name_that_is_meant(module, name):
    place = discrim
    if module:
        place = pytest.importorskip(f"discrim.{module}")
    said = refused(AttributeError, getattr, place, name)
    assert said.startswith(f"{place.__name__} has no attribute {name!r}. ")
    assert NAMES[module, name].lower() in said.lower()


def test_results_that_are_no_classifier_name_their_attributes_as_well():
    canonical = FIT.canonical()
    assert "Use eigenvalues." in refused(NotSupportedError, getattr, canonical, "eigenvalue")
    assert "use kind=." in refused(TypeError, canonical.structure, type="total")
    assert "Use fit." in refused(NotSupportedError, getattr, discrim.stepwise(FORMULA, IRIS), "predict")
    judged = FIT.assess()
    assert "Use overall." in refused(NotSupportedError, getattr, judged, "overal")
    assert "Use overall." in refused(NotSupportedError, getattr, judged, "accuracy")
    # There it is a table and no method.
    assert "Use confusion." in refused(NotSupportedError, getattr, judged, "confusion_matrix")
    assert 'Use plot("roc").' in refused(NotSupportedError, getattr, judged, "roc_curve")
    for each in (canonical, discrim.mlm("species ~ petal_width + petal_length", IRIS)):
        assert "See dir()" in refused(NotSupportedError, getattr, each, "roc")
    fit = discrim.mlm("species ~ petal_width + petal_length", IRIS)
    assert "sphericity(), with Mauchly's test" in refused(NotSupportedError, getattr, fit, "mauchly_test")
    assert "profile().tests()" in refused(NotSupportedError, getattr, fit, "parallelism")
    assert "Use centroids." in refused(NotSupportedError, getattr, canonical, "centers")


def test_a_word_that_is_known_is_not_taken_for_another_that_looks_like_it():
    knn = discrim.knn(FORMULA, IRIS, k=3)
    for name in ("confint", "resid", "vcov"):
        assert "See dir()" in refused(NotSupportedError, getattr, knn, name)
    indicator = discrim.indicator(FORMULA, IRIS)
    assert "See dir()" in refused(NotSupportedError, getattr, indicator, "resid")
    assert "See dir()" in refused(NotSupportedError, getattr, FIT.assess(), "posterior")


def every_way(table):
    for line in filter(None, table.split("\n")):
        ways, _, elsewhere = line.partition(" <- ")
        assert all(name == slips.normalize_name(name) for name in elsewhere.split()), line
        yield from ((way, elsewhere.split()) for way in ways.split(" | "))


def names_of_results():
    kinds = [getattr(discrim, name) for name in discrim.__all__ if name[0].isupper()]
    there = [name for each in [*kinds, FIT.canonical(), FIT.assess(), FIT.summary()] for name in dir(each)]
    components = [RobustModel, SeparableModel, FactorModel, ShrunkCorrelationModel]
    there += [f"covariance_model.{name}" for each in components for name in dir(each)]
    there += [f"subspace.{name}" for name in dir(CorrespondenceSubspace)]
    there += [f"covariate_model.{name}" for name in dir(CovariateModel)]
    return {name for name in there if not name.startswith("_")}


def test_every_suggestion_exists():
    kinds = [type(FIT), type(FIT.canonical())]
    methods = [getattr(kind, name) for kind in kinds for name in dir(kind)]
    estimators = pytest.importorskip("discrim.sklearn")
    verbs = filter(inspect.isfunction, [*(getattr(discrim, name) for name in discrim.__all__), *methods])
    # `cv` is the name of `folds` in estimators.
    called = [*verbs, *(getattr(estimators, name) for name in estimators.__all__)]
    keywords = {name for function in called for name in inspect.signature(function).parameters}
    for table, there in (
        (slips.KEYWORDS, keywords),
        (slips.ATTRIBUTES, names_of_results()),
        (slips.NAMES, set(discrim.__all__)),
        (slips.TABLES, set(dir(discrim.datasets))),
    ):
        for way, _ in every_way(table):
            needed, colon, _ = way.partition(": ")
            if colon:
                assert needed in there, way
            else:
                assert " " in way or way.startswith("discrim.") or way.partition("(")[0] in there, way


def test_functions_in_clauses_exist():
    specifications = (discrim.covariance, discrim.penalty, discrim.subspace)
    there = {
        *discrim.__all__,
        *names_of_results(),
        *(name for each in specifications for name in each.__all__),
    }
    there |= {"dir", "query", "sample", "repeat", "subplots", "C"}
    for table in (slips.KEYWORDS, slips.NAMES):
        for way, _ in every_way(table):
            assert set(re.findall(r"(\w+)\(", way)) <= there | set(dir(discrim.datasets)), way


def test_a_call_without_a_slip_does_not_look_for_one():
    sys.modules.pop("discrim.slips", None)
    fit = discrim.lda(FORMULA, IRIS)
    str(fit.summary())
    fit.predict(IRIS)
    copy.copy(copy.deepcopy(pickle.loads(pickle.dumps(fit))))
    assert not hasattr(fit, "_repr_png_")
    assert "discrim.slips" not in sys.modules


def test_errors_within_calls_are_unchanged():
    @with_public_errors
    def sum_of(numbers):
        return sum(numbers)

    with pytest.raises(TypeError, match="unsupported operand"):
        sum_of(numbers=[1, "2"])
    with pytest.raises(TypeError, match="no keyword 'numbrs': use numbers="):
        sum_of(numbrs=[1, 2])
    with pytest.raises(TypeError, match="positional argument"):
        discrim.lda(FORMULA, IRIS, "equal")


def test_what_a_model_refuses_is_told_by_the_model():
    with pytest.warns(NoSeparationWarning):
        line = discrim.perceptron(FORMULA, IRIS, seed=1, maxiter=2)
    with pytest.raises(NotSupportedError) as caught:
        _ = line.llf
    assert "probabilities" in str(caught.value)
    assert "likelihood" in str(caught.value)
    assert not hasattr(line, "llf")
    assert getattr(line, "posterior", None) is None


def test_signatures_and_pickles_are_those_of_the_verbs():
    assert list(inspect.signature(discrim.lda).parameters)[:3] == ["formula", "data", "moments"]
    assert pickle.loads(pickle.dumps(discrim.lda)) is discrim.lda
    assert pickle.loads(pickle.dumps(FIT.predict)).__name__ == "predict"
    assert discrim.lda.__doc__.startswith("Linear discriminant analysis")


def test_python_appends_no_second_guess():
    with pytest.raises(AttributeError) as caught:
        _ = FIT.predit
    assert caught.value.name == "predit"
    assert caught.value.obj is None


KNOWN_KEYWORDS = sorted({name for _, names in every_way(slips.KEYWORDS) for name in names})


def functions_with_hints():
    methods = {name: getattr(FIT, name, None) for name in dir(FIT) if not name.startswith("_")}
    named = {f"fit.{name}": each for name, each in methods.items() if inspect.ismethod(each)}
    verbs = ("lda", "qda", "knn", "compare", "cross_validate", "choose", "manova")
    return named | {verb: getattr(discrim, verb) for verb in verbs}


@pytest.mark.parametrize("name", functions_with_hints())
def test_a_hint_names_functions_that_take_the_keyword_and_are_not_the_refused_one(name):
    function = functions_with_hints()[name]
    taken = set(inspect.signature(function).parameters)
    hints = 0
    for keyword in set(KNOWN_KEYWORDS) - taken:
        try:
            slips.raise_if_unknown_keyword(function, {keyword: 1})
        except TypeError as error:
            message = str(error).partition("has no keyword")[2]
        else:
            # It takes any keyword.
            continue
        hints += 1
        for called, option in re.findall(r"\b([a-z_]+)\(([a-z_]+)=\)", message):
            other = getattr(FIT, called, None) or getattr(discrim, called)
            assert option in inspect.signature(other).parameters, message
            assert called != name.removeprefix("fit."), message
    assert hints or any(
        each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values()
    )


def test_costs_are_a_matter_of_predictions_and_error_rates():
    for function in (FIT.augment, discrim.compare, discrim.lda):
        message = refused(TypeError, function, costs=1)
        assert "predict(costs=) and error_rates(costs=)" in message


def test_comparisons_of_classes_are_differences_or_marginal_means():
    fit = discrim.mlm("species ~ petal_width + petal_length", IRIS)
    assert "Use pairs()." in refused(NotSupportedError, getattr, fit, "tukeyhsd")
    assert "Use marginal_means()." in refused(NotSupportedError, getattr, fit, "lsmeans")
    assert "Use differences()." in refused(NotSupportedError, getattr, FIT, "pairs")


@pytest.mark.parametrize("form", ["latex", "html", "markdown"])
def test_a_summary_names_the_method_that_is_meant(form):
    summary = FIT.summary()
    assert refused(AttributeError, getattr, summary, f"to_{form}").endswith(f"Use as_{form}().")
    assert copy.copy(summary).as_text() == summary.as_text()
    assert not hasattr(summary, "_repr_png_")
