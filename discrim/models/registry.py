"""The models and the other public names, as text: the one list of them, from which all others are made.

Nothing is imported here but what `resolve` is asked for, so that `import discrim` stays cheap and no model
knows another by way of this file. An address is "package.module:name".
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from discrim.models import kinds

BY_FOLDS = ("folds", "select", "grid", "seed", "cv")
"""Options of a choice by folds."""


class Row(NamedTuple):
    """One model.

    Attributes
    ----------
    verb, module : str
        The public function that makes a fit, and its module.
    results, results_module : str
        The public class of the fits, and its module.
    summary : str
        Module of its summary: `<name>_sections` and `<name>_brief`, tables of its sections by name, or
        functions of the results and their fit that give them.
    pictures : tuple of Kind
        What `plot` draws; the first that suits a fit is its default.
    estimator : str or None
        Address of its estimator of scikit-learn; None of a model that is not fitted to rows.
    chosen : dict of str to str
        Options that the rows may choose, and the attributes of a fit's numbers that hold what was chosen.
    choosing : tuple of str
        Options that say how, and have no part in a refit that holds it.
    command : str or None
        What the command line says of its verb; None where the command line does not have it.
    examples : tuple of str
        What may stand after the verb on the command line, as its help shows; each runs.
    posteriors : bool
        Whether it has probabilities, and so takes a prior.
    weights : bool
        Whether it takes frequencies of rows.
    """

    verb: str
    module: str
    results: str
    results_module: str
    summary: str
    pictures: tuple[kinds.Kind, ...]
    estimator: str | None = None
    chosen: Mapping[str, str] = MappingProxyType({})
    choosing: tuple[str, ...] = ()
    command: str | None = None
    examples: tuple[str, ...] = ('"species ~ ." iris',)
    posteriors: bool = True
    weights: bool = True
    can_be_saved: bool = True
    kin: str = ""

    @property
    def name(self) -> str:
        """Name of the model, that of its verb where the verb has no other."""
        return self.kin or self.verb


MODELS = (
    Row(
        "lda",
        "discrim.models.normal.lda",
        "LDAResults",
        "discrim.models.normal.lda",
        "discrim.models.normal.lda_shown",
        pictures=(
            *kinds.DISCRIMINANTS,
            *kinds.NORMAL,
            *kinds.WITH_POSTERIORS,
            *kinds.LOG_ODDS,
            kinds.RANKING,
            kinds.ROBUST,
        ),
        estimator="discrim.sklearn.normal:LDAClassifier",
        command="linear discriminant analysis: one covariance for all classes",
        examples=(
            '"species ~ ." iris --prior equal --sections header,functions',
            '"species ~ ." iris --errors loo,cv --seed 1 --plot iris.png',
        ),
    ),
    Row(
        "qda",
        "discrim.models.normal.qda",
        "QDAResults",
        "discrim.models.normal.qda",
        "discrim.models.normal.qda_shown",
        pictures=(
            *kinds.WITH_POSTERIORS,
            *kinds.NORMAL,
            kinds.LOG_DETERMINANTS,
            kinds.ROBUST,
            kinds.EIGENVALUES,
        ),
        estimator="discrim.sklearn.normal:QDAClassifier",
        command="quadratic discriminant analysis: a covariance for each class",
        examples=('"species ~ bill_length_mm + body_mass_g" penguins --prior equal',),
    ),
    Row(
        "rda",
        "discrim.models.normal.rda",
        "RDAResults",
        "discrim.models.normal.rda",
        "discrim.models.normal.qda_shown",
        pictures=(*kinds.WITH_POSTERIORS, kinds.ELLIPSES, kinds.CHOSEN_PAIR),
        estimator="discrim.sklearn.chosen:RDAClassifier",
        chosen={"alpha": "alpha", "gamma": "gamma"},
        choosing=BY_FOLDS,
        command="regularized discriminant analysis: between LDA, QDA and nearest centroids",
        examples=('"species ~ ." iris --alpha 0.5 --gamma 0.9',),
    ),
    Row(
        "naive_bayes",
        "discrim.models.independent.naive_bayes",
        "NaiveBayesResults",
        "discrim.models.independent.naive_bayes",
        "discrim.models.independent.naive_bayes_shown",
        pictures=(*kinds.WITH_POSTERIORS, kinds.ELLIPSES, kinds.DENSITY, kinds.TABLE),
        estimator="discrim.sklearn.normal:NaiveBayesClassifier",
        command="naive Bayes: columns independent within classes",
        examples=('"species ~ ." iris --kernel petal_length,petal_width',),
    ),
    Row(
        "shrunken_centroids",
        "discrim.models.independent.shrunken_centroids",
        "ShrunkenCentroidsResults",
        "discrim.models.independent.shrunken_centroids",
        "discrim.models.independent.shrunken_shown",
        pictures=(kinds.CENTROIDS, kinds.CHOSEN_THRESHOLD, *kinds.WITH_POSTERIORS),
        estimator="discrim.sklearn.chosen:ShrunkenCentroidsClassifier",
        chosen={"threshold": "threshold"},
        choosing=(*BY_FOLDS, "n_thresholds"),
        command="nearest shrunken centroids: few of many columns, one spread each",
        examples=('"cultivar ~ ." wine --threshold 2',),
    ),
    Row(
        "nearest_centroid",
        "discrim.models.normal.nearest_centroid",
        "NearestCentroidResults",
        "discrim.models.normal.nearest_centroid",
        "discrim.models.normal.nearest_centroid",
        pictures=kinds.WITH_POSTERIORS,
        estimator="discrim.sklearn.geometric:NearestCentroidClassifier",
        command="nearest centroids: the class of the nearest mean",
        examples=('"species ~ ." iris',),
    ),
    Row(
        "knn",
        "discrim.models.neighbours.knn",
        "KNNResults",
        "discrim.models.neighbours.knn",
        "discrim.models.neighbours.knn_shown",
        pictures=(kinds.CHOSEN_K, *kinds.POSTERIORS_FIRST),
        estimator="discrim.sklearn.geometric:KNNClassifier",
        chosen={"k": "k"},
        choosing=("grid",),
        command="k nearest neighbours: the class of most of the rows nearby",
        weights=False,
        examples=('"species ~ ." iris --k 5 --prior equal',),
    ),
    Row(
        "kernel_density",
        "discrim.models.neighbours.kernel_density",
        "KernelDensityResults",
        "discrim.models.neighbours.kernel_density",
        "discrim.models.neighbours.kernel_shown",
        pictures=(*kinds.WITH_POSTERIORS, kinds.CHOSEN_BANDWIDTH),
        estimator="discrim.sklearn.geometric:KernelDensityClassifier",
        chosen={"bandwidth": "radii"},
        choosing=("select", "grid"),
        command="kernel densities: the class whose rows lie most densely about a row",
        examples=('"species ~ petal_length + petal_width" iris --bandwidth 0.5',),
    ),
    Row(
        "logistic",
        "discrim.models.regression.logistic",
        "LogisticResults",
        "discrim.models.regression.logistic_results",
        "discrim.models.regression.logistic_shown",
        pictures=(*kinds.POSTERIORS_FIRST, *kinds.LOG_ODDS),
        estimator="discrim.sklearn.regressions:LogisticClassifier",
        command="logistic regression: log odds linear in the columns",
        examples=(
            '"sex ~ body_mass_g + bill_depth_mm" penguins',
            '"species ~ petal_length" iris --bias-reduction',
            '"species ~ ." iris --penalty lasso --strength 0.05',
        ),
    ),
    Row(
        "logistic",
        "discrim.models.regression.logistic",
        "PenalizedLogisticResults",
        "discrim.models.regression.penalized",
        "discrim.models.regression.logistic_shown",
        pictures=(kinds.CHOSEN_STRENGTH, kinds.STRENGTHS, *kinds.POSTERIORS_FIRST),
        estimator="discrim.sklearn.regressions:LogisticClassifier",
        chosen={"strength": "strength"},
        choosing=("folds", "select", "seed", "cv"),
        kin="penalized_logistic",
    ),
    Row(
        "indicator",
        "discrim.models.regression.indicator",
        "IndicatorResults",
        "discrim.models.regression.indicator",
        "discrim.models.regression.indicator_shown",
        pictures=(kinds.FITTED, kinds.REGIONS, kinds.PARTITION, kinds.PAIRS, kinds.SIDES, *kinds.JUDGED),
        estimator="discrim.sklearn.regressions:IndicatorClassifier",
        command="least squares of the indicators of the classes",
        posteriors=False,
    ),
    Row(
        "perceptron",
        "discrim.models.planes.perceptron",
        "PerceptronResults",
        "discrim.models.planes.perceptron",
        "discrim.models.planes.plane_shown",
        pictures=(
            kinds.HISTORY,
            kinds.UPDATES,
            kinds.REGIONS,
            kinds.PARTITION,
            kinds.PAIRS,
            kinds.SIDES,
            *kinds.JUDGED,
        ),
        estimator="discrim.sklearn.geometric:PerceptronClassifier",
        command="Rosenblatt's perceptron: a separating line by its mistakes",
        posteriors=False,
        weights=False,
        examples=('"species ~ ." iris --seed 1 --sections header',),
    ),
    Row(
        "hyperplane",
        "discrim.models.planes.hyperplane",
        "HyperplaneResults",
        "discrim.models.planes.hyperplane",
        "discrim.models.planes.plane_shown",
        pictures=(kinds.MARGIN, kinds.MARGIN_SIDES, kinds.PARTITION, kinds.PAIRS, *kinds.JUDGED),
        estimator="discrim.sklearn.geometric:HyperplaneClassifier",
        command="the optimal separating hyperplane of two classes",
        posteriors=False,
        weights=False,
        examples=('"diagnosis ~ ." breast_cancer --sections header',),
    ),
    Row(
        "fda",
        "discrim.models.regression.fda",
        "FDAResults",
        "discrim.models.regression.fda",
        "discrim.models.regression.indicator_shown",
        pictures=(kinds.SCORES, *kinds.WITH_POSTERIORS, kinds.TERRITORY),
        estimator="discrim.sklearn.regressions:FDAClassifier",
        command="flexible discriminant analysis: any regression of scikit-learn as its engine",
        examples=('"species ~ ." iris --engine "KernelRidge(kernel=\'rbf\', gamma=0.1)"',),
        can_be_saved=False,
    ),
    Row(
        "pls",
        "discrim.models.projections.pls",
        "PLSResults",
        "discrim.models.projections.pls",
        "discrim.models.projections.pls_shown",
        pictures=(*kinds.PLS, *kinds.WITH_POSTERIORS),
        estimator="discrim.sklearn.projections:PLSClassifier",
        chosen={"components": "components"},
        choosing=BY_FOLDS,
        command="partial least squares: few directions that covary with the classes",
        examples=('"cultivar ~ ." wine --components 2',),
    ),
    Row(
        "sparse_lda",
        "discrim.models.projections.sparse_lda",
        "SparseLDAResults",
        "discrim.models.projections.sparse_lda",
        "discrim.models.projections.sparse_shown",
        pictures=(
            kinds.CHOSEN_PENALTY,
            kinds.PENALTIES,
            kinds.SCORES,
            *kinds.WITH_POSTERIORS,
            kinds.TERRITORY,
        ),
        estimator="discrim.sklearn.projections:SparseLDAClassifier",
        chosen={"penalty": "penalty"},
        choosing=(*BY_FOLDS, "n_penalties"),
        command="sparse discriminant analysis: discriminants of few of many columns",
        examples=('"cultivar ~ ." wine --nonzero 3',),
    ),
    Row(
        "mixture",
        "discrim.models.mixtures.mixture",
        "MixtureResults",
        "discrim.models.mixtures.mixture",
        "discrim.models.mixtures.mixture_shown",
        pictures=(*kinds.WITH_POSTERIORS, kinds.COMPONENTS, kinds.CHOSEN_MIXTURE),
        estimator="discrim.sklearn.normal:MixtureClassifier",
        chosen={"components": "sizes", "covariance": "forms", "over": "over"},
        choosing=("most",),
        command="mixture discriminant analysis: each class a mixture of normals",
        examples=('"species ~ ." iris --components 2 --covariance pooled',),
    ),
    Row(
        "bayes",
        "discrim.models.law.bayes",
        "BayesResults",
        "discrim.models.law.bayes",
        "discrim.models.law.bayes_shown",
        pictures=(kinds.LAW_REGIONS, kinds.LAW_DENSITIES),
        weights=False,
        can_be_saved=False,
    ),
)
"""The models, in the order in which the command line shows them."""

BY_RESULTS = {model.results: model for model in MODELS}
BY_MODEL = {model.name: model for model in MODELS}
BY_VERB = {model.verb: model for model in MODELS if not model.kin}

_OTHERS = {
    "CrossValidation": "discrim.models.comparing.cross_validation",
    "MLMResults": "discrim.models.comparing.mlm",
    "Moments": "discrim.models.moments.moments",
    "StepwiseResults": "discrim.models.comparing.stepwise",
    "box_m": "discrim.models.comparing.covariance_tests",
    "compare": "discrim.models.comparing.comparison",
    "covariance_models": "discrim.models.comparing.covariance_tests",
    "cross_validate": "discrim.models.comparing.cross_validation",
    "from_stats": "discrim.models.moments.verb",
    "hausman": "discrim.models.comparing.covariance_tests",
    "load": "discrim.models.store",
    "lr_test": "discrim.models.comparing.covariance_tests",
    "manova": "discrim.models.comparing.mlm",
    "mlm": "discrim.models.comparing.mlm",
    "moments": "discrim.models.moments.verb",
    "stepwise": "discrim.models.comparing.stepwise",
}

HOME = (
    {model.verb: model.module for model in MODELS}
    | {model.results: model.results_module for model in MODELS}
    | _OTHERS
)
"""Public names, and the modules that they are in."""


def resolve(address: str) -> Any:
    """What an address is of, imported: a name in a module, or the module where it gives no name.

    No other place imports one of our modules by a text that is made elsewhere.
    """
    module, _, name = address.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


SUMMARIES = {
    "Assessment": "discrim.models.results.assessed:summary",
    "CanonicalResults": "discrim.models.results.canonical:summary",
    "CrossValidation": "discrim.models.comparing.cross_validation_shown:cross_validation_summary",
    "MLMResults": "discrim.models.comparing.mlm_shown:mlm_summary",
    "TermCanonicalResults": "discrim.models.comparing.mlm_shown:canonical_summary",
}
"""Summaries of what is no model, by the class of the results."""


def summary_of(results: Any, *asked: Any) -> Any:
    """The summary of results that are of no model."""
    return resolve(SUMMARIES[type(results).__name__])(results, *asked)


def summary_part(model: str, which: str) -> Any:
    """The sections of a model's summary ("sections"), or those of its short form ("brief")."""
    return resolve(f"{BY_MODEL[model].summary}:{model}_{which}")
