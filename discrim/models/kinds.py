"""The kinds of pictures, as text: what each shows, where it is drawn, and which options it takes.

Nothing is imported here, so that the registry can name the kinds of each model.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Kind(NamedTuple):
    """One kind of picture.

    Attributes
    ----------
    name : str
        As `plot(kind=)` takes it.
    line : str
        What it shows, in a line.
    address : str
        Of the function that draws it, of the results and what was asked.
    takes : tuple of str
        Options of `plot` that it reads, beside `ax`, `data`, `colors` and `title`; others are refused.
    first : {"", "plane", "chosen"}
        Where it is the default of models that name it first: always; of two plain numeric columns; of a fit
        whose option was chosen from several.
    leaves : tuple of str
        Of `data` and `colors`, what it cannot make use of, and refuses.
    refits : bool
        It fits the model again, so that it costs as much as several fits.
    """

    name: str
    line: str
    address: str
    takes: tuple[str, ...] = ()
    first: Literal["", "plane", "chosen"] = ""
    leaves: tuple[str, ...] = ()
    refits: bool = False


_SPACES, _PLANES, _JUDGED = (f"discrim.models.pictures.{room}:" for room in ("spaces", "planes", "judged"))

SCORES = Kind(
    "scores",
    "scores of the rows on the discriminants, by class, with outlines of the classes",
    f"{_SPACES}scores",
    takes=("axes", "level"),
)
BIPLOT = Kind(
    "biplot",
    "canonical scores, and the columns as arrows of their structure",
    f"{_SPACES}biplot",
    takes=("axes", "structure"),
)
STRUCTURE = Kind(
    "structure",
    "correlations of the columns with the discriminants, as bars",
    f"{_SPACES}structure",
    takes=("axes", "structure"),
)
SCREE = Kind("scree", "shares of the discriminants, with the tests of the dimensions", f"{_SPACES}scree")
REGIONS = Kind(
    "regions",
    "regions of the classes in the plane of two columns, or of each pair of more, other columns held",
    f"{_PLANES}regions",
    takes=("columns", "at"),
    first="plane",
)
PARTITION = Kind(
    "partition",
    "regions of fits to each pair of columns alone, with their error rates",
    "discrim.models.pictures.planes:partition",
    takes=("columns",),
    refits=True,
)
TERRITORY = Kind(
    "territory",
    "regions of the classes in the space of two discriminants",
    "discrim.models.pictures.spaces:territory",
    takes=("axes",),
)
POSTERIORS = Kind("posteriors", "posterior of each row's own class, by class", f"{_JUDGED}posteriors")
LOG_DETERMINANTS = Kind(
    "log_determinants",
    "log-determinants of the covariances, with intervals",
    f"{_JUDGED}log_determinants",
    leaves=("data",),
)

CONFUSION = Kind(
    "confusion", "counts of actual by predicted classes", f"{_JUDGED}confusion", takes=("method",)
)
ROC = Kind(
    "roc",
    "ROC curves with the areas under them, of each class against the rest",
    f"{_JUDGED}roc",
    takes=("method", "level"),
)
CALIBRATION = Kind(
    "calibration",
    "predicted probabilities against the shares that were seen",
    f"{_JUDGED}calibration",
    takes=("method", "level"),
)
ASSESSED = (
    Kind(
        "confusion", "counts of actual by predicted classes", f"{_JUDGED}assessed_confusion", leaves=("data",)
    ),
    Kind(
        "roc", "ROC curves with bands, and the areas under them", f"{_JUDGED}assessed_roc", leaves=("data",)
    ),
    Kind(
        "calibration",
        "predicted probabilities against the shares that were seen, with bands",
        f"{_JUDGED}assessed_calibration",
        leaves=("data",),
    ),
)
"""Of an assessment."""

_SPREAD = "discrim.models.pictures.spaces:"
ELLIPSES = Kind(
    "ellipses",
    "ellipses of the classes' covariances beside the pooled one",
    f"{_SPREAD}ellipses",
    takes=("columns", "level", "centred"),
)
PAIRS = Kind(
    "pairs", "each pair of columns, with the outlines of the classes", f"{_SPREAD}pairs", ("columns", "level")
)
HE = Kind(
    "he",
    "ellipses of hypothesis and error: do the means differ beyond what rows do",
    f"{_SPREAD}he",
    takes=("columns", "axes", "level"),
)
QQ = Kind("qq", "squared distances by class against the quantiles of their law", f"{_SPREAD}qq", ("classes",))
SIMPLEX = Kind(
    "simplex",
    "three posteriors as places in a triangle",
    "discrim.models.pictures.judged:simplex",
    ("classes",),
)

_ODDS = "discrim.models.pictures.judged:"
FOREST = Kind("forest", "log odds with their intervals", f"{_ODDS}forest", takes=("level",), leaves=("data",))
RATIOS = Kind(
    "odds_ratios",
    "odds ratios with their intervals",
    f"{_ODDS}odds_ratios",
    takes=("level",),
    leaves=("data",),
)

LOG_ODDS = (FOREST, RATIOS)
"""What models have whose log odds have standard errors."""

JUDGED = (CONFUSION, ROC)
"""What every fitted model has."""

WITH_POSTERIORS = (REGIONS, POSTERIORS, PARTITION, PAIRS, SIMPLEX, *JUDGED, CALIBRATION)
"""What models with posteriors have."""

POSTERIORS_FIRST = (POSTERIORS, *(kind for kind in WITH_POSTERIORS if kind is not POSTERIORS))
"""The same of models that have no geometry to be seen in a plane."""

NORMAL = (ELLIPSES, QQ)
"""What models with a normal law and full covariances have."""

DISCRIMINANTS = (SCORES, BIPLOT, TERRITORY, STRUCTURE, SCREE, HE)
"""What models with discriminants have."""

ROBUST = Kind(
    "distances",
    "robust distances of the rows against classical ones, of robust fits",
    "discrim.models.normal.gaussian_shown:distances",
    leaves=("data",),
)
EIGENVALUES = Kind(
    "scree",
    'eigenvalues of the classes\' covariances, with the signal and the noise of covariance="factor"',
    "discrim.models.normal.qda_shown:scree",
    leaves=("data",),
)
RANKING = Kind(
    "ranking",
    "the first columns of the ranking, with their scores by class",
    "discrim.models.normal.lda_shown:ranking",
    leaves=("data",),
)
CHOSEN_BANDWIDTH = Kind(
    "path",
    "leave-one-out error and likelihood by bandwidth",
    "discrim.models.neighbours.kernel_shown:path",
    leaves=("data", "colors"),
)
CHOSEN_K = Kind(
    "path",
    "leave-one-out error by k",
    "discrim.models.neighbours.knn_shown:path",
    first="chosen",
    leaves=("data", "colors"),
)
CHOSEN_PAIR = Kind(
    "path",
    "errors of the choice by alpha and gamma",
    "discrim.models.normal.qda_shown:path",
    leaves=("data",),
)
CHOSEN_THRESHOLD = Kind(
    "path",
    "cross-validated error by threshold",
    "discrim.models.independent.shrunken_shown:path",
    leaves=("data", "colors"),
)
CHOSEN_STRENGTH = Kind(
    "choice",
    "deviance of rows left out by strength of the penalty",
    "discrim.models.regression.logistic_shown:choice",
    first="chosen",
    leaves=("data", "colors"),
)
STRENGTHS = Kind(
    "path",
    "coefficients along the strength of the penalty",
    "discrim.models.regression.logistic_shown:path",
    leaves=("data", "colors"),
)
_SPARSE = "discrim.models.projections.sparse_shown:"
CHOSEN_PENALTY = Kind(
    "choice",
    "cross-validated error by penalty",
    f"{_SPARSE}choice",
    first="chosen",
    leaves=("data", "colors"),
)
PENALTIES = Kind(
    "path", "coefficients of the directions along the penalty", f"{_SPARSE}path", leaves=("data", "colors")
)
CENTROIDS = Kind(
    "centroids",
    "shrunken differences of the columns that survive, by class",
    "discrim.models.independent.shrunken_shown:centroids",
    leaves=("data",),
)
_MIXTURES = "discrim.models.mixtures.mixture_shown:"
COMPONENTS = Kind(
    "components",
    "outlines of the components of each class in the plane of two columns",
    f"{_MIXTURES}components",
    takes=("columns", "level"),
)
CHOSEN_MIXTURE = Kind(
    "path", "BIC of what was tried, by number of components", f"{_MIXTURES}path", leaves=("data", "colors")
)
_PLS = "discrim.models.projections.pls_shown:"
PLS_SCORES = Kind(
    "scores",
    "scores of the rows on two components, by class, with outlines of the classes",
    f"{_PLS}scores",
    takes=("axes", "level"),
)
PLS_COLUMNS = Kind(
    "vip", "importance of the columns in the projection (VIP)", f"{_PLS}vip", leaves=("data", "colors")
)
PLS_LOADINGS = Kind(
    "loadings",
    "loadings of the columns in their order, a line for each component",
    f"{_PLS}loadings",
    takes=("axes",),
    leaves=("data", "colors"),
)
CHOSEN_COMPONENTS = Kind(
    "path",
    "cross-validated error, R2 and Q2 by number of components",
    f"{_PLS}path",
    leaves=("data", "colors"),
)
PLS = (PLS_SCORES, PLS_COLUMNS, PLS_LOADINGS, CHOSEN_COMPONENTS)
"""What partial least squares has of its own."""
DENSITY = Kind(
    "density",
    "density of a column in each class",
    "discrim.models.independent.naive_bayes_shown:density",
    takes=("columns",),
    leaves=("data",),
)
TABLE = Kind(
    "table",
    "shares of the levels of a column in each class",
    "discrim.models.independent.naive_bayes_shown:table",
    takes=("columns",),
    leaves=("data",),
)
FITTED = Kind(
    "fitted",
    "fitted values of the indicators against a column",
    "discrim.models.regression.indicator_shown:fitted",
    takes=("columns",),
)
HISTORY = Kind(
    "history",
    "errors of the perceptron after each pass",
    "discrim.models.planes.plane_shown:history",
    leaves=("data",),
)
UPDATES = Kind(
    "updates",
    "the first lines of the perceptron, each with the row that moves it, and the line kept",
    "discrim.models.planes.plane_shown:updates",
    leaves=("data",),
)
SIDES = Kind(
    "distances",
    "signed distances of the rows of two classes",
    "discrim.models.planes.plane_shown:distances",
)
MARGIN = Kind(
    "regions",
    "the line, its margin and support points, in the plane of two columns",
    "discrim.models.planes.plane_shown:margin",
    takes=("columns", "at"),
    first="plane",
)
MARGIN_SIDES = Kind(
    "distances",
    "signed distances of the rows, with the margin",
    "discrim.models.planes.plane_shown:margin_distances",
)
LAW_REGIONS = Kind(
    "regions",
    "regions of two columns, with rows of a sample",
    "discrim.models.law.bayes_shown:regions",
    takes=("columns", "at"),
    first="plane",
    leaves=("data",),
)
LAW_DENSITIES = Kind(
    "densities",
    "prior times density of one variable, or of the values of a table",
    "discrim.models.law.bayes_shown:densities",
    leaves=("data",),
)

STEPS = (
    Kind(
        "path",
        "the criterion after each step",
        "discrim.models.comparing.stepwise:steps_picture",
        leaves=("data",),
    ),
)
"""Of a choice of terms."""

_SHOWN = "discrim.models.comparing.cross_validation_shown:"
FOLDS = (
    Kind("folds", "error of each fold and the mean", f"{_SHOWN}folds_picture", leaves=("data",)),
    Kind(
        "differences",
        "error less that of another model, fold by fold",
        f"{_SHOWN}differences_picture",
        takes=("other",),
        leaves=("data",),
    ),
    Kind(
        "confusion", "counts of actual by predicted classes", f"{_SHOWN}confusion_picture", leaves=("data",)
    ),
    Kind(
        "permutations",
        "hit rates of shuffled labels, and that of the labels seen",
        f"{_SHOWN}permutations_picture",
        leaves=("data",),
    ),
)
"""Of a cross-validation."""
