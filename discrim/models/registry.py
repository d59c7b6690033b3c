"""The list of models, and the module of every public name.

Modules are listed by name and imported by `resolve` on demand, which keeps `import discrim` fast: this file
does not import any model. An address is "package.module:name". The modules of models are relative to
`discrim.models`. `discrim/__init__.py` looks up public names in `MODULE_BY_NAME`; `load()`, the command line
and the estimators use `MODELS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, NamedTuple, get_args

Proportional = Literal["proportional", "size"]
PROPORTIONAL_PRIOR_WORDS: tuple[Proportional, ...] = get_args(Proportional)
"""Words of SAS and SPSS for a prior equal to the class proportions, the same as None."""

PlotKind = Literal[
    "scores", "biplot", "structure", "scree", "regions", "partition", "territory", "posteriors",
    "log_determinants", "confusion", "roc", "precision_recall", "calibration", "ellipses", "pairs", "he",
    "qq", "simplex", "forest", "odds_ratios", "distances", "ranking", "path", "choice", "centroids",
    "components", "vip", "loadings", "density", "table", "fitted", "history", "updates", "densities", "folds",
    "differences", "permutations", "candidates", "importance", "trials", "slopes", "s_plot", "stability",
    "errors", "curve", "axes",
]  # fmt: skip
"""Every kind of plot, for editors."""


class ModelEntry(NamedTuple):
    """One model: the addresses of its parts, and properties that are needed before its module is imported.

    Attributes
    ----------
    verb : str
        The public function that fits the model.
    results : str
        The public class of its results.
    home : str
        Module of the results, of the `ModelSpec`, and of the verb unless `verb_home` is set; relative to
        `discrim.models`.
    spec_class : str
        Name of its subclass of `ModelSpec`.
    verb_home : str
        Module of the verb, relative to `discrim.models`, if it is another one; else "".
    estimator : str or None
        Address of its scikit-learn estimator; None if the model is not fitted to rows.
    command : str or None
        Description of the verb in the help of the command line; None if the command line does not have it.
    examples : tuple of str
        Arguments of the verb on the command line, shown in its help. A test runs each.
    posteriors : bool
        Whether the model has posterior probabilities and accepts a prior.
    weights : bool
        Whether it accepts frequency weights.
    can_be_saved : bool
        Whether a file can store its fits.
    name_in_files : str
        Name of the model, if it differs from its verb, which may fit two models.
    """

    verb: str
    results: str
    home: str
    spec_class: str
    verb_home: str = ""
    estimator: str | None = None
    command: str | None = None
    examples: tuple[str, ...] = ('"species ~ ." iris',)
    posteriors: bool = True
    weights: bool = True
    can_be_saved: bool = True
    name_in_files: str = ""

    @property
    def name(self) -> str:
        """Name of the model in files and of its `ModelSpec`; by default the name of the verb."""
        return self.name_in_files or self.verb

    @property
    def module(self) -> str:
        """Module of the verb."""
        return f"discrim.models.{self.verb_home or self.home}"

    @property
    def results_module(self) -> str:
        """Module of the results."""
        return f"discrim.models.{self.home}"

    @property
    def spec(self) -> str:
        """Address of the subclass of `ModelSpec`."""
        return f"{self.results_module}:{self.spec_class}"


MODELS = (
    ModelEntry(
        "lda",
        "LDAResults",
        "discriminant.lda",
        spec_class="LDASpec",
        estimator="discrim.sklearn.normal:LDAClassifier",
        command="linear discriminant analysis: one covariance for all classes",
        examples=(
            '"species ~ ." iris --prior equal --sections header,functions',
            '"species ~ ." iris --errors loo,cv --seed 1 --plot iris.png',
        ),
    ),
    ModelEntry(
        "qda",
        "QDAResults",
        "discriminant.qda",
        spec_class="QDASpec",
        estimator="discrim.sklearn.normal:QDAClassifier",
        command="quadratic discriminant analysis: a covariance for each class",
        examples=('"species ~ bill_length_mm + body_mass_g" penguins --prior equal',),
    ),
    ModelEntry(
        "rda",
        "RDAResults",
        "discriminant.rda",
        spec_class="RDASpec",
        estimator="discrim.sklearn.normal:RDAClassifier",
        command="regularized discriminant analysis: between LDA, QDA and nearest centroids",
        examples=('"species ~ ." iris --alpha 0.5 --gamma 0.9',),
    ),
    ModelEntry(
        "plda",
        "PLDAResults",
        "discriminant.plda",
        spec_class="PLDASpec",
        estimator="discrim.sklearn.normal:PLDAClassifier",
        command="probabilistic linear discriminant analysis: classes drawn at random",
        examples=('"cultivar ~ ." wine --components 2',),
    ),
    ModelEntry(
        "location",
        "LocationResults",
        "discriminant.location",
        spec_class="LocationSpec",
        estimator="discrim.sklearn.normal:LocationClassifier",
        command="the location model: normal numbers within each combination of categories",
        examples=('"species ~ sex + island + bill_length_mm" penguins --smoothing 0.1',),
    ),
    ModelEntry(
        "naive_bayes",
        "NaiveBayesResults",
        "naive_bayes.naive_bayes",
        spec_class="NaiveBayesSpec",
        estimator="discrim.sklearn.normal:NaiveBayesClassifier",
        command="naive Bayes: columns independent within classes",
        examples=('"species ~ ." iris --kernel petal_length,petal_width',),
    ),
    ModelEntry(
        "shrunken_centroids",
        "ShrunkenCentroidsResults",
        "naive_bayes.shrunken_centroids",
        spec_class="ShrunkenCentroidsSpec",
        estimator="discrim.sklearn.geometric:ShrunkenCentroidsClassifier",
        command="nearest shrunken centroids: few of many columns, one spread each",
        examples=('"cultivar ~ ." wine --threshold 2',),
    ),
    ModelEntry(
        "nearest_centroid",
        "NearestCentroidResults",
        "discriminant.nearest_centroid",
        spec_class="NearestCentroidSpec",
        estimator="discrim.sklearn.geometric:NearestCentroidClassifier",
        command="nearest centroids: the class of the nearest mean",
        examples=('"species ~ ." iris',),
    ),
    ModelEntry(
        "knn",
        "KNNResults",
        "neighbours.knn",
        spec_class="KNNSpec",
        estimator="discrim.sklearn.geometric:KNNClassifier",
        command="k nearest neighbours: the class of most of the nearest rows",
        weights=False,
        examples=('"species ~ ." iris --k 5 --prior equal',),
    ),
    ModelEntry(
        "kernel_density",
        "KernelDensityResults",
        "neighbours.kernel_density",
        spec_class="KernelDensitySpec",
        estimator="discrim.sklearn.geometric:KernelDensityClassifier",
        command="kernel densities: the class with the largest density at a row",
        examples=('"species ~ petal_length + petal_width" iris --bandwidth 0.5',),
    ),
    ModelEntry(
        "logistic",
        "LogisticResults",
        "regression.logistic_results",
        spec_class="LogisticSpec",
        verb_home="regression.logistic",
        estimator="discrim.sklearn.regressions:LogisticClassifier",
        command="logistic regression: log odds linear in the columns",
        examples=(
            '"sex ~ body_mass_g + bill_depth_mm" penguins',
            '"species ~ petal_length" iris --bias-reduction',
            '"species ~ ." iris --penalty "lasso(strength=0.05)"',
        ),
    ),
    ModelEntry(
        "logistic",
        "PenalizedLogisticResults",
        "regression.penalized",
        spec_class="PenalizedLogisticSpec",
        verb_home="regression.logistic",
        estimator="discrim.sklearn.regressions:LogisticClassifier",
        name_in_files="penalized_logistic",
    ),
    ModelEntry(
        "indicator",
        "IndicatorResults",
        "regression.indicator",
        spec_class="IndicatorSpec",
        estimator="discrim.sklearn.regressions:IndicatorClassifier",
        command="least squares of the indicators of the classes",
        posteriors=False,
    ),
    ModelEntry(
        "perceptron",
        "PerceptronResults",
        "hyperplanes.perceptron",
        spec_class="PerceptronSpec",
        estimator="discrim.sklearn.geometric:PerceptronClassifier",
        command="Rosenblatt's perceptron: a separating line, learnt from its errors",
        posteriors=False,
        weights=False,
        examples=('"species ~ ." iris --seed 1 --sections header',),
    ),
    ModelEntry(
        "hyperplane",
        "HyperplaneResults",
        "hyperplanes.hyperplane",
        spec_class="HyperplaneSpec",
        estimator="discrim.sklearn.geometric:HyperplaneClassifier",
        command="the optimal separating hyperplane of two classes",
        posteriors=False,
        weights=False,
        examples=('"diagnosis ~ ." breast_cancer --sections header',),
    ),
    ModelEntry(
        "fda",
        "FDAResults",
        "regression.fda",
        spec_class="FDASpec",
        estimator="discrim.sklearn.regressions:FDAClassifier",
        command="flexible discriminant analysis: any regression of scikit-learn as its engine",
        examples=('"species ~ ." iris --engine "KernelRidge(kernel=\'rbf\', gamma=0.1)"',),
        can_be_saved=False,
    ),
    ModelEntry(
        "kernel_lda",
        "KernelLDAResults",
        "kernels.kernel_lda",
        spec_class="KernelLDASpec",
        estimator="discrim.sklearn.regressions:KernelLDAClassifier",
        command="kernel discriminant analysis: curved discriminants, chosen by rows left out",
        examples=('"species ~ ." iris --kernel gaussian --width 2 --ridge 0.1',),
    ),
    ModelEntry(
        "pls",
        "PLSResults",
        "projections.pls",
        spec_class="PLSSpec",
        estimator="discrim.sklearn.projections:PLSClassifier",
        command="partial least squares: few directions that covary with the classes",
        examples=('"cultivar ~ ." wine --ncomp 2',),
    ),
    ModelEntry(
        "sparse_lda",
        "SparseLDAResults",
        "projections.sparse_lda",
        spec_class="SparseLDASpec",
        estimator="discrim.sklearn.projections:SparseLDAClassifier",
        command="sparse discriminant analysis: discriminants of few of many columns",
        examples=('"cultivar ~ ." wine --nonzero 3',),
    ),
    ModelEntry(
        "mixture",
        "MixtureResults",
        "mixtures.mixture",
        spec_class="MixtureSpec",
        estimator="discrim.sklearn.normal:MixtureClassifier",
        command="mixture discriminant analysis: each class a mixture of normals",
        examples=('"species ~ ." iris --components 2 --covariance pooled',),
    ),
    ModelEntry(
        "bayes",
        "BayesResults",
        "distributions.bayes",
        spec_class="BayesSpec",
        weights=False,
        can_be_saved=False,
    ),
)
"""The models, in the order of the help of the command line."""

BY_MODEL = {model.name: model for model in MODELS}
"""The models by name."""

BY_VERB = {model.verb: model for model in MODELS if not model.name_in_files}
"""The models by verb; of a verb with two models, the one with its name."""

_OTHER_NAMES = {
    "selection.choose": ("ChooseResults", "choose"),
    "selection.comparison": ("compare",),
    "selection.covariance_tests": ("box_m", "covariance_models", "hausman", "lr_test"),
    "selection.cross_validation": ("CrossValidation", "cross_validate"),
    "linear_model.high_dimensional": ("sphericity_test",),
    "linear_model.mlm": ("MLMResults", "manova", "mlm"),
    "linear_model.permanova": ("PermanovaResults", "permanova"),
    "selection.planning": ("Plan", "plan"),
    "selection.stepwise": ("StepwiseResults", "stepwise"),
    "moments.moments": ("Moments", "moments"),
    "moments.published": ("from_stats",),
    "results.results": ("ClassifierResults",),
    "store": ("load",),
}
"""Public names that do not belong to one model, by module."""

MODULE_BY_NAME = (
    {model.verb: model.module for model in MODELS}
    | {model.results: model.results_module for model in MODELS}
    | {name: f"discrim.models.{module}" for module, names in _OTHER_NAMES.items() for name in names}
)
"""The module of each public name."""


FOLD_PLOTS = "discrim.models.selection.fold_plots:PLOTS"
"""Address of the plots of a cross-validation. Their module imports cross-validation, not the other way."""

COMPARISON_PLOTS = "discrim.models.selection.comparison_plots:CURVES"
"""Address of the plots of a comparison."""


def resolve(address: str) -> Any:
    """Import the module of an address and return the named object, or the module without a name.

    All imports of modules by text go through this function.
    """
    module_name, _, name = address.partition(":")
    module = import_module(module_name)
    return getattr(module, name) if name else module


SUMMARIES = {
    "Assessment": "discrim.models.results.assessed:summary",
    "CanonicalResults": "discrim.models.discriminant.normal_summary:canonical_summary",
    "Threshold": "discrim.models.results.thresholds:threshold_summary",
}
"""Addresses of the summaries of results without a `ModelSpec`, by the name of their class.

The summary of a model comes from `ModelSpec.summary_sections`.
"""


def summary_of(results: Any, *arguments: Any) -> Any:
    """Return the `Summary` of results without a `ModelSpec`, whose class has to be listed in `SUMMARIES`.

    `arguments` are the arguments of their method `summary`.
    """
    return resolve(SUMMARIES[type(results).__name__])(results, *arguments)


def spec_of(model: ModelEntry) -> Any:
    """Import the module of a model and return an instance of its `ModelSpec`."""
    return resolve(model.spec)()


def plot_kinds(model: ModelEntry) -> tuple[PlotKind, ...]:
    """Import the module of a model and return the kinds of its plots, such as "scores", the default first."""
    return tuple(plot.kind for plot in spec_of(model).plots())
