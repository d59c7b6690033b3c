"""The models, their pictures, and the other public names, as text: the one list from which others are made.

Nothing is imported here but what `resolve` is asked for, so that `import discrim` stays cheap and no model
knows another by way of this file. An address is "package.module:name"; modules of models are named below
`discrim.models`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

Proportional = Literal["proportional", "size"]
PROPORTIONAL: tuple[Proportional, ...] = get_args(Proportional)
"""What SAS and SPSS call a prior of the class proportions, which None stands for as well."""

ROWS_AND_COLORS = ("data", "colors")
"""What pictures of a choice have no use for."""


PictureKind = Literal[
    "scores", "biplot", "structure", "scree", "regions", "partition", "territory", "posteriors",
    "log_determinants", "confusion", "roc", "calibration", "ellipses", "pairs", "he", "qq", "simplex",
    "forest", "odds_ratios", "distances", "ranking", "path", "choice", "centroids", "components", "vip",
    "loadings", "density", "table", "fitted", "history", "updates", "densities", "folds", "differences",
    "permutations", "candidates", "importance", "trials", "slopes", "s_plot", "stability", "errors",
    "curve", "axes",
]  # fmt: skip
"""Every name of a picture, for editors; each model has some of them, which its row below names."""


class Picture(NamedTuple):
    """One kind of picture.

    Attributes
    ----------
    module : str
        That of the function which draws it, of the results and the options of `plot`.
    name : str
        As `plot(kind=)` takes it.
    line : str
        What it shows, in a line.
    takes : tuple of str
        Options of `plot` that it reads, beside `ax`, `data`, `colors` and `title`; others are refused.
    first : {"", "numbers", "plane", "chosen", "without"}
        Where it is the default of models that name it first: always; of columns of numbers whose ranges are
        known; of two plain numeric columns; of a fit whose option was chosen from several; of one without
        rows.
    leaves : tuple of str
        Of `data` and `colors`, what it cannot make use of, and refuses.
    refits : bool
        It fits the model again, so that it costs as much as several fits.
    drawn_by : str
        The function, where that has another name than the picture.
    """

    module: str
    name: PictureKind
    line: str
    takes: tuple[str, ...] = ()
    first: Literal["", "numbers", "plane", "chosen", "without"] = ""
    leaves: tuple[str, ...] = ()
    refits: bool = False
    drawn_by: str = ""

    @property
    def address(self) -> str:
        """Address of the function that draws it."""
        return f"discrim.models.{self.module}:{self.drawn_by or self.name}"


_in_space = partial(Picture, "plots.spaces")
_in_plane = partial(Picture, "plots.planes")
_judged = partial(Picture, "plots.judged")
_of_pls = partial(Picture, "projections.pls_summary")
_of_line = partial(Picture, "hyperplanes.plane_summary")
_of_folds = partial(Picture, "selection.cross_validation")
_of_sparse = partial(Picture, "projections.sparse_summary")
_of_kernels = partial(Picture, "kernels.kernel_lda_summary")
_of_naive_bayes = partial(Picture, "naive_bayes.naive_bayes_summary")
_of_logistic = partial(Picture, "regression.logistic_summary")
_of_mixture = partial(Picture, "mixtures.mixture_summary")
_of_centroids = partial(Picture, "naive_bayes.shrunken_summary")
_of_neighbours = partial(Picture, "neighbours.neighbours_summary")
_of_law = partial(Picture, "distributions.bayes_summary")
_of_plda = partial(Picture, "discriminant.plda_summary")
_of_normal = partial(Picture, "discriminant.normal_summary")

SCORES = _in_space(
    "scores",
    "scores of the rows on the discriminants, by class, with outlines of the classes",
    takes=("axes", "level", "interactive"),
)
BIPLOT = _in_space(
    "biplot", "canonical scores, and the columns as arrows of their structure", takes=("axes", "structure")
)
STRUCTURE = _in_space(
    "structure",
    "correlations of the columns with the discriminants, as bars",
    takes=("axes", "structure"),
    leaves=ROWS_AND_COLORS,
)
SCREE = _in_space(
    "scree", "shares of the discriminants, with the tests of the dimensions", leaves=ROWS_AND_COLORS
)
REGIONS = _in_plane(
    "regions",
    "regions of the classes in the plane of two columns, or of each pair of more, with what the model is",
    takes=("columns", "at", "interactive"),
    first="numbers",
)
PARTITION = _in_plane(
    "partition",
    "regions of fits to each pair of columns alone, with their error rates",
    takes=("columns",),
    refits=True,
)
TERRITORY = _in_space(
    "territory", "regions of the classes in the space of two discriminants", takes=("axes",)
)
POSTERIORS = _judged("posteriors", "posterior of each row's own class, by class", takes=("interactive",))
LOG_DETERMINANTS = _judged(
    "log_determinants", "log-determinants of the covariances, with intervals", leaves=("data",)
)
CONFUSION = _judged("confusion", "counts of actual by predicted classes", takes=("method",))
ROC = _judged(
    "roc",
    "ROC curves with the areas under them, of each class against the rest",
    takes=("method", "level", "classes", "label"),
)
CALIBRATION = _judged(
    "calibration",
    "predicted probabilities against observed shares",
    takes=("method", "level", "classes"),
)
ASSESSED = (
    _judged(
        "confusion", "counts of actual by predicted classes", leaves=("data",), drawn_by="assessed_confusion"
    ),
    _judged(
        "roc",
        "ROC curves with bands, and the areas under them",
        takes=("classes", "label"),
        leaves=("data",),
        drawn_by="assessed_roc",
    ),
    _judged(
        "calibration",
        "predicted probabilities against observed shares, with bands",
        takes=("classes",),
        leaves=("data",),
        drawn_by="assessed_calibration",
    ),
)
"""Of an assessment."""

ELLIPSES = _in_space(
    "ellipses",
    "ellipses of the classes' covariances beside the pooled one",
    takes=("columns", "level", "centred"),
)
PAIRS = _in_space(
    "pairs",
    "each pair of columns, with the outlines of the classes",
    takes=("columns", "level", "interactive"),
)
HYPOTHESIS_AND_ERROR = _in_space(
    "he",
    "ellipses of hypothesis and error, which test the means",
    takes=("columns", "axes", "level"),
    leaves=("data",),
)
QQ = _in_space("qq", "squared distances by class against quantiles of their distribution", takes=("classes",))
SIMPLEX = _judged("simplex", "three posteriors as points in a triangle", takes=("classes", "interactive"))
_of_odds = partial(_judged, takes=("level", "standardized"), leaves=("data",))
FOREST = _of_odds("forest", "log odds with their intervals", first="without")
ODDS_RATIOS = _of_odds("odds_ratios", "odds ratios with their intervals")
LOG_ODDS = (FOREST, ODDS_RATIOS)
"""What models have whose log odds have standard errors."""

OF_EVERY_FIT = (CONFUSION, ROC)
"""What every fitted model has."""

WITH_POSTERIORS = (REGIONS, POSTERIORS, PARTITION, PAIRS, SIMPLEX, *OF_EVERY_FIT, CALIBRATION)
"""What models with posteriors have."""

NORMAL = (ELLIPSES, QQ)
"""What models with a normal law and full covariances have."""

DISCRIMINANTS = (SCORES, BIPLOT, TERRITORY, STRUCTURE, SCREE, HYPOTHESIS_AND_ERROR)
"""What models with discriminants have."""

ROBUST_DISTANCES = _of_normal(
    "distances",
    "robust distances of the rows against classical ones, of robust fits",
    leaves=("data",),
)
EIGENVALUES = _of_normal(
    "scree",
    'eigenvalues of the classes\' covariances, with the signal and the noise of covariance="factor"',
    leaves=("data",),
)
SAVE_AXES = _in_space(
    "axes",
    "scores of the rows on two axes of ncomp=, by class, with the regions where these are all",
    takes=("axes",),
    drawn_by="save_axes",
)
SLOPES = _of_normal(
    "slopes",
    "a column against a covariate, with the lines of the classes",
    takes=("columns",),
    drawn_by="slopes_picture",
)
RANKING = _of_normal(
    "ranking",
    "the first columns of the ranking, with their scores by class",
    leaves=("data",),
)
CHOSEN_BANDWIDTH = _of_neighbours(
    "path",
    "leave-one-out error and likelihood by bandwidth",
    leaves=ROWS_AND_COLORS,
    drawn_by="bandwidth_path",
)
CHOSEN_K = _of_neighbours(
    "path", "leave-one-out error by k", first="chosen", leaves=ROWS_AND_COLORS, drawn_by="knn_path"
)
CHOSEN_NUMBER = _of_normal(
    "path",
    "errors of the choice of a shrinkage, or of a number of principal axes",
    leaves=ROWS_AND_COLORS,
    drawn_by="choice_path",
)
CHOSEN_PAIR = _of_normal("path", "errors of the choice by alpha and gamma", leaves=("data",))
CHOSEN_THRESHOLD = _of_centroids("path", "cross-validated error by threshold", leaves=ROWS_AND_COLORS)
CHOSEN_STRENGTH = _of_logistic(
    "choice", "deviance of rows left out by strength of the penalty", first="chosen", leaves=ROWS_AND_COLORS
)
STRENGTHS = _of_logistic("path", "coefficients along the strength of the penalty", leaves=ROWS_AND_COLORS)
CHOSEN_PENALTY = _of_sparse(
    "choice", "cross-validated error by penalty", first="chosen", leaves=ROWS_AND_COLORS
)
PENALTIES = _of_sparse("path", "coefficients of the directions along the penalty", leaves=ROWS_AND_COLORS)
CENTROIDS = _of_centroids(
    "centroids", "shrunken differences of the columns that survive, by class", leaves=("data",)
)
COMPONENTS = _of_mixture(
    "components",
    "outlines of the components of each class in the plane of two columns",
    takes=("columns", "level"),
)
CHOSEN_MIXTURE = _of_mixture("path", "BIC of what was tried, by number of components", leaves=ROWS_AND_COLORS)
PLS_SCORES = _of_pls(
    "scores",
    "scores of the rows on two components, by class, with outlines of the classes",
    takes=("axes", "level", "interactive"),
)
PLS_COLUMNS = _of_pls("vip", "importance of the columns in the projection (VIP)", leaves=ROWS_AND_COLORS)
PLS_LOADINGS = _of_pls(
    "loadings",
    "loadings of the columns in their order, a line for each component",
    takes=("axes",),
    leaves=ROWS_AND_COLORS,
)
SELECTED = _of_pls(
    "stability", "how often columns are selected where rows are left out", leaves=ROWS_AND_COLORS, refits=True
)
S_PLOT = _of_pls(
    "s_plot",
    "covariance and correlation of the columns with the scores of a component",
    takes=("axes",),
    leaves=ROWS_AND_COLORS,
)
CHOSEN_COMPONENTS = _of_pls(
    "path", "cross-validated error, R2 and Q2 by number of components", leaves=ROWS_AND_COLORS
)
PLS = (PLS_SCORES, PLS_COLUMNS, PLS_LOADINGS, S_PLOT, SELECTED, CHOSEN_COMPONENTS)
"""What partial least squares has of its own."""

DENSITY = _of_naive_bayes(
    "density", "density of a column in each class, with the rows below", takes=("columns",)
)
LEVEL_SHARES = _of_naive_bayes(
    "table", "shares of the levels of a column in each class", takes=("columns",), leaves=("data",)
)
CHOSEN_KERNEL = _of_kernels(
    "path", "loss of rows left out by width of the kernel", first="chosen", leaves=ROWS_AND_COLORS,
    drawn_by="kernel_path",
)  # fmt: skip
PERMUTED_TERMS = _of_kernels(
    "importance",
    "rise of the log loss of rows left out where a term is permuted",
    leaves=ROWS_AND_COLORS,
    drawn_by="importance",
)
FITTED = Picture(
    "regression.indicator_summary",
    "fitted",
    "fitted values of the indicators against a column",
    takes=("columns",),
)
HISTORY = _of_line("history", "errors of the perceptron after each pass", leaves=("data",))
UPDATES = _of_line(
    "updates",
    "the first lines of the perceptron, each with the row that moves it, and the line kept",
    leaves=("data",),
)
DISTANCES = _of_line("distances", "signed distances of the rows of two classes")
MARGIN = _of_line(
    "regions",
    "the line, its margin and support points, in the plane of two columns",
    takes=("columns", "at"),
    first="plane",
    drawn_by="margin",
)
MARGIN_DISTANCES = _of_line(
    "distances", "signed distances of the rows, with the margin", drawn_by="margin_distances"
)
LAW_REGIONS = _of_law(
    "regions",
    "regions of two columns, with rows of a sample",
    takes=("columns", "at"),
    first="plane",
    leaves=("data",),
)
LAW_DENSITIES = _of_law(
    "densities", "prior times density of one variable, or of the values of a table", leaves=("data",)
)
STEPS = (
    Picture(
        "selection.stepwise",
        "path",
        "the criterion after each step",
        leaves=("data",),
        drawn_by="steps_picture",
    ),
)
"""Of a choice of terms."""

CHOICE = (
    Picture(
        "selection.choose",
        "candidates",
        "loss of each candidate less that of the best, with one standard error",
        leaves=("data",),
        drawn_by="candidates_picture",
    ),
)
"""Of a choice of a model."""

TRIALS = _of_plda(
    "trials", "log likelihood ratios of pairs of one class and of two, with errors at each threshold"
)
"""Of verification."""

FOLDS = (
    _of_folds("folds", "error of each fold and the mean", leaves=("data",), drawn_by="folds_picture"),
    Picture(
        "selection.comparison",
        "differences",
        "error less that of another model, fold by fold",
        takes=("other",),
        leaves=("data",),
        drawn_by="differences_picture",
    ),
    _of_folds(
        "confusion", "counts of actual by predicted classes", leaves=("data",), drawn_by="confusion_picture"
    ),
    _of_folds(
        "permutations",
        "hit rates of shuffled labels, and of the observed labels",
        leaves=("data",),
        drawn_by="permutations_picture",
    ),
)
"""Of a cross-validation."""

PLANNED = (Picture("selection.planning", "errors", "expected error by rows", drawn_by="errors_picture"),)
"""Of a plan."""

CURVE = (Picture("selection.learning", "curve", "error by rows, and its law", drawn_by="curve_picture"),)
"""Of a learning curve."""

BY_FOLDS = ("folds", "grid", "seed")
"""Options of a choice by folds."""


class Row(NamedTuple):
    """One model.

    Attributes
    ----------
    verb : str
        The public function that makes a fit.
    results : str
        The public class of the fits.
    home : str
        The module of the results, and of the verb where `verb_home` names no other.
    pictures : tuple of Picture
        What `plot` draws; the first that suits a fit is its default.
    shown : str
        Module of its summary, where that is not the module of the results with "_summary": `<name>_sections`
        and `<name>_brief`, tables of its sections by name, or functions of the results and their fit that
        give them.
    estimator : str or None
        Address of its estimator of scikit-learn; None of a model that is not fitted to rows.
    chosen : dict of str to str
        Options that the rows may choose, and the attributes of a fit's numbers that hold what was chosen. The
        attribute of an option that takes specifications is a dict of the parameters that were chosen.
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
    can_be_saved : bool
        Whether a file can hold its fits: the module of the results then has `SAVED`, which says how.
    name_in_files : str
        Name of the model, as files have it, where another one has the name of their verb.
    """

    verb: str
    results: str
    home: str
    pictures: tuple[Picture, ...]
    shown: str = ""
    verb_home: str = ""
    estimator: str | None = None
    chosen: Mapping[str, str] = MappingProxyType({})
    choosing: tuple[str, ...] = ()
    command: str | None = None
    examples: tuple[str, ...] = ('"species ~ ." iris',)
    posteriors: bool = True
    weights: bool = True
    can_be_saved: bool = True
    name_in_files: str = ""

    @property
    def name(self) -> str:
        """Name of the model, that of its verb where the verb has no other."""
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
    def summary(self) -> str:
        """Module of the summary."""
        return f"discrim.models.{self.shown or f'{self.home}_summary'}"


MODELS = (
    Row(
        "lda",
        "LDAResults",
        "discriminant.lda",
        shown="discriminant.normal_summary",
        pictures=(
            *DISCRIMINANTS,
            *NORMAL,
            *WITH_POSTERIORS,
            *LOG_ODDS,
            RANKING,
            SLOPES,
            ROBUST_DISTANCES,
            CHOSEN_NUMBER,
        ),
        estimator="discrim.sklearn.normal:LDAClassifier",
        chosen={"covariance": "chosen_covariance", "components": "chosen_components"},
        command="linear discriminant analysis: one covariance for all classes",
        examples=(
            '"species ~ ." iris --prior equal --sections header,functions',
            '"species ~ ." iris --errors loo,cv --seed 1 --plot iris.png',
        ),
    ),
    Row(
        "qda",
        "QDAResults",
        "discriminant.qda",
        shown="discriminant.normal_summary",
        pictures=(
            *WITH_POSTERIORS,
            *NORMAL,
            LOG_DETERMINANTS,
            ROBUST_DISTANCES,
            EIGENVALUES,
            CHOSEN_NUMBER,
            SAVE_AXES,
        ),
        estimator="discrim.sklearn.normal:QDAClassifier",
        chosen={"covariance": "chosen_covariance", "components": "chosen_components"},
        command="quadratic discriminant analysis: a covariance for each class",
        examples=('"species ~ bill_length_mm + body_mass_g" penguins --prior equal',),
    ),
    Row(
        "rda",
        "RDAResults",
        "discriminant.rda",
        shown="discriminant.normal_summary",
        pictures=(*WITH_POSTERIORS, ELLIPSES, CHOSEN_PAIR),
        estimator="discrim.sklearn.normal:RDAClassifier",
        chosen={"alpha": "alpha", "gamma": "gamma", "components": "chosen_components"},
        choosing=BY_FOLDS,
        command="regularized discriminant analysis: between LDA, QDA and nearest centroids",
        examples=('"species ~ ." iris --alpha 0.5 --gamma 0.9',),
    ),
    Row(
        "plda",
        "PLDAResults",
        "discriminant.plda",
        pictures=(TRIALS, *WITH_POSTERIORS),
        estimator="discrim.sklearn.normal:PLDAClassifier",
        command="probabilistic linear discriminant analysis: classes drawn at random",
        examples=('"cultivar ~ ." wine --components 2',),
    ),
    Row(
        "location",
        "LocationResults",
        "discriminant.location",
        pictures=WITH_POSTERIORS,
        estimator="discrim.sklearn.normal:LocationClassifier",
        chosen={"smoothing": "smoothing"},
        choosing=("grid",),
        command="the location model: normal numbers within each combination of categories",
        examples=('"species ~ sex + island + bill_length_mm" penguins --smoothing 0.1',),
    ),
    Row(
        "naive_bayes",
        "NaiveBayesResults",
        "naive_bayes.naive_bayes",
        pictures=(REGIONS, LEVEL_SHARES, *WITH_POSTERIORS[1:], ELLIPSES, DENSITY),
        estimator="discrim.sklearn.normal:NaiveBayesClassifier",
        command="naive Bayes: columns independent within classes",
        examples=('"species ~ ." iris --kernel petal_length,petal_width',),
    ),
    Row(
        "shrunken_centroids",
        "ShrunkenCentroidsResults",
        "naive_bayes.shrunken_centroids",
        shown="naive_bayes.shrunken_summary",
        pictures=(CENTROIDS, CHOSEN_THRESHOLD, *WITH_POSTERIORS),
        estimator="discrim.sklearn.geometric:ShrunkenCentroidsClassifier",
        chosen={"threshold": "threshold"},
        choosing=(*BY_FOLDS, "n_thresholds"),
        command="nearest shrunken centroids: few of many columns, one spread each",
        examples=('"cultivar ~ ." wine --threshold 2',),
    ),
    Row(
        "nearest_centroid",
        "NearestCentroidResults",
        "discriminant.nearest_centroid",
        shown="discriminant.nearest_centroid",
        pictures=WITH_POSTERIORS,
        estimator="discrim.sklearn.geometric:NearestCentroidClassifier",
        command="nearest centroids: the class of the nearest mean",
        examples=('"species ~ ." iris',),
    ),
    Row(
        "knn",
        "KNNResults",
        "neighbours.knn",
        shown="neighbours.neighbours_summary",
        pictures=(*WITH_POSTERIORS, CHOSEN_K),
        estimator="discrim.sklearn.geometric:KNNClassifier",
        chosen={"k": "k"},
        choosing=("grid",),
        command="k nearest neighbours: the class of most of the nearest rows",
        weights=False,
        examples=('"species ~ ." iris --k 5 --prior equal',),
    ),
    Row(
        "kernel_density",
        "KernelDensityResults",
        "neighbours.kernel_density",
        shown="neighbours.neighbours_summary",
        pictures=(*WITH_POSTERIORS, CHOSEN_BANDWIDTH),
        estimator="discrim.sklearn.geometric:KernelDensityClassifier",
        chosen={"bandwidth": "radii"},
        choosing=("select", "grid"),
        command="kernel densities: the class with the largest density at a row",
        examples=('"species ~ petal_length + petal_width" iris --bandwidth 0.5',),
    ),
    Row(
        "logistic",
        "LogisticResults",
        "regression.logistic_results",
        shown="regression.logistic_summary",
        verb_home="regression.logistic",
        pictures=(REGIONS, *LOG_ODDS[:1], *WITH_POSTERIORS[1:], *LOG_ODDS[1:]),
        estimator="discrim.sklearn.regressions:LogisticClassifier",
        command="logistic regression: log odds linear in the columns",
        examples=(
            '"sex ~ body_mass_g + bill_depth_mm" penguins',
            '"species ~ petal_length" iris --bias-reduction',
            '"species ~ ." iris --penalty "lasso(strength=0.05)"',
        ),
    ),
    Row(
        "logistic",
        "PenalizedLogisticResults",
        "regression.penalized",
        shown="regression.logistic_summary",
        verb_home="regression.logistic",
        pictures=(CHOSEN_STRENGTH, STRENGTHS, *WITH_POSTERIORS),
        estimator="discrim.sklearn.regressions:LogisticClassifier",
        chosen={"penalty": "chosen_penalty"},
        name_in_files="penalized_logistic",
    ),
    Row(
        "indicator",
        "IndicatorResults",
        "regression.indicator",
        pictures=(FITTED, REGIONS, PARTITION, PAIRS, DISTANCES, *OF_EVERY_FIT),
        estimator="discrim.sklearn.regressions:IndicatorClassifier",
        command="least squares of the indicators of the classes",
        posteriors=False,
    ),
    Row(
        "perceptron",
        "PerceptronResults",
        "hyperplanes.perceptron",
        shown="hyperplanes.plane_summary",
        pictures=(HISTORY, UPDATES, REGIONS, PARTITION, PAIRS, DISTANCES, *OF_EVERY_FIT),
        estimator="discrim.sklearn.geometric:PerceptronClassifier",
        command="Rosenblatt's perceptron: a separating line, learnt from its errors",
        posteriors=False,
        weights=False,
        examples=('"species ~ ." iris --seed 1 --sections header',),
    ),
    Row(
        "hyperplane",
        "HyperplaneResults",
        "hyperplanes.hyperplane",
        shown="hyperplanes.plane_summary",
        pictures=(MARGIN, MARGIN_DISTANCES, PARTITION, PAIRS, *OF_EVERY_FIT),
        estimator="discrim.sklearn.geometric:HyperplaneClassifier",
        command="the optimal separating hyperplane of two classes",
        posteriors=False,
        weights=False,
        examples=('"diagnosis ~ ." breast_cancer --sections header',),
    ),
    Row(
        "fda",
        "FDAResults",
        "regression.fda",
        shown="regression.indicator_summary",
        pictures=(SCORES, *WITH_POSTERIORS, TERRITORY),
        estimator="discrim.sklearn.regressions:FDAClassifier",
        command="flexible discriminant analysis: any regression of scikit-learn as its engine",
        examples=('"species ~ ." iris --engine "KernelRidge(kernel=\'rbf\', gamma=0.1)"',),
        can_be_saved=False,
    ),
    Row(
        "kernel_lda",
        "KernelLDAResults",
        "kernels.kernel_lda",
        pictures=(SCORES, *WITH_POSTERIORS, TERRITORY, CHOSEN_KERNEL, PERMUTED_TERMS),
        estimator="discrim.sklearn.regressions:KernelLDAClassifier",
        chosen={"kernel": "kernel_name", "scale": "scale", "width": "width", "ridge": "ridge"},
        choosing=("select",),
        command="kernel discriminant analysis: curved discriminants, chosen by rows left out",
        examples=('"species ~ ." iris --kernel gaussian --width 2 --ridge 0.1',),
    ),
    Row(
        "pls",
        "PLSResults",
        "projections.pls",
        pictures=(*PLS, *WITH_POSTERIORS),
        estimator="discrim.sklearn.projections:PLSClassifier",
        chosen={"ncomp": "predictive", "algorithm": "chosen_algorithm"},
        choosing=BY_FOLDS,
        command="partial least squares: few directions that covary with the classes",
        examples=('"cultivar ~ ." wine --ncomp 2',),
    ),
    Row(
        "sparse_lda",
        "SparseLDAResults",
        "projections.sparse_lda",
        shown="projections.sparse_summary",
        pictures=(SCORES, CHOSEN_PENALTY, PENALTIES, *WITH_POSTERIORS, TERRITORY),
        estimator="discrim.sklearn.projections:SparseLDAClassifier",
        chosen={"penalty": "penalty"},
        choosing=(*BY_FOLDS, "n_penalties"),
        command="sparse discriminant analysis: discriminants of few of many columns",
        examples=('"cultivar ~ ." wine --nonzero 3',),
    ),
    Row(
        "mixture",
        "MixtureResults",
        "mixtures.mixture",
        pictures=(*WITH_POSTERIORS, COMPONENTS, CHOSEN_MIXTURE),
        estimator="discrim.sklearn.normal:MixtureClassifier",
        chosen={"components": "sizes", "covariance": "forms", "over": "over"},
        choosing=("most",),
        command="mixture discriminant analysis: each class a mixture of normals",
        examples=('"species ~ ." iris --components 2 --covariance pooled',),
    ),
    Row(
        "bayes",
        "BayesResults",
        "distributions.bayes",
        pictures=(LAW_REGIONS, LAW_DENSITIES),
        weights=False,
        can_be_saved=False,
    ),
)
"""The models, in the order in which the command line shows them."""

BY_RESULTS = {model.results: model for model in MODELS}
BY_MODEL = {model.name: model for model in MODELS}
BY_VERB = {model.verb: model for model in MODELS if not model.name_in_files}

_OTHERS = {
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
"""Public names that are of no one model, by module."""

HOME = (
    {model.verb: model.module for model in MODELS}
    | {model.results: model.results_module for model in MODELS}
    | {name: f"discrim.models.{module}" for module, names in _OTHERS.items() for name in names}
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
    "CanonicalResults": "discrim.models.discriminant.normal_summary:canonical_summary",
    "CrossValidation": "discrim.models.selection.cross_validation:cross_validation_summary",
    "Dispersion": "discrim.models.linear_model.mlm_summary:dispersion_summary",
    "LearningCurve": "discrim.models.selection.learning:curve_summary",
    "MLMResults": "discrim.models.linear_model.mlm_summary:mlm_summary",
    "PermanovaResults": "discrim.models.linear_model.mlm_summary:permanova_summary",
    "Plan": "discrim.models.selection.planning:plan_summary",
    "ProfileResults": "discrim.models.linear_model.repeated_summary:profile_summary",
    "RepeatedResults": "discrim.models.linear_model.repeated_summary:repeated_summary",
    "TermCanonicalResults": "discrim.models.linear_model.mlm_summary:canonical_summary",
}
"""Summaries of what is no model, by the class of the results."""


def summary_of(results: Any, *asked: Any) -> Any:
    """The summary of results that are of no model."""
    return resolve(SUMMARIES[type(results).__name__])(results, *asked)


def summary_part(model: str, which: str) -> Any:
    """The sections of a model's summary ("sections"), or those of its short form ("brief")."""
    return resolve(f"{BY_MODEL[model].summary}:{model}_{which}")
