"""Suggestions for unknown names: names of R, SAS, SPSS, Stata, scikit-learn or statsmodels, and misspellings.

This module is imported only if a keyword or an attribute is unknown. The tables of foreign names (names in
other packages) are texts. Each line has the equivalents in this package on the left of ``<-``, separated by
``|``, and foreign names on the right. The first equivalent that applies is suggested. It is a name, which
applies if it exists in the context, or a clause, which contains blanks. A clause after a name and a colon
applies only if that name exists. Names are compared without case, dots and underscores.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from discrim.errors import sentence

MIN_SIMILARITY = 0.7
"""Smallest similarity (of difflib, from 0 to 1) of a misspelled name to the suggested one."""

MIN_SIMILARITY_OF_FOREIGN = 0.92
"""Smallest similarity for a name that is in a table of foreign names, whose meaning is known."""

KEYWORDS = """
formula | data <- x variables var exog features
formula | data: the response is a column of the table in data= <- y grouping group groups endog
formula | data: the response is a column of the table in data= <- class cl target response truth
data <- newdata df dataset table frame testdata test train
pass only these rows, as in data=df.query(...) <- subset select where if
prior <- priors classprior classpriors priorprob priorprobabilities classweight fitprior prevalence
metric <- p distance dist distfun
weights <- weight sampleweight freq frequency wt
formula: repeat rows with a weight above 1, as in df.loc[df.index.repeat(n)] <- weights sampleweight
folds <- k
cv <- folds nfolds nsplits
folds | a fit has leave_one_out() and error_rates(["loo", "cv"]) <- cv crossvalidate nfolds nsplits
a fit has leave_one_out() and error_rates(["loo", "cv"]) <- folds loo lootable leaveoneout
conf_int(level=) and other methods of a fit have it <- level
predict(costs=) and error_rates(costs=) of a fit have it <- costs
predict() of a fit has it <- outlier reject typicality
kind | predict() returns labels, predict_proba() posteriors, transform() variates <- type output prob proba
nonzero <- keepx
within <- multilevel subject repeated id
formula: lda() adjusts columns for covariates after a bar, as in "y ~ x|age" <- covariates covariate covar
ncomp | components <- dimen ncan nd ndim ncomponents nfactors ncp ncomp components
starts: use components= | mixture() has several components per class (components=) <- subclasses g
k | knn() has k=, the number of neighbours <- k nneighbors nneighbours neighbors neighbours
seed | the result is not random, so leave it out <- randomstate randomseed seed
maxiter <- maxit niter iterations
na_action <- naomit narm dropna
levels | classes <- labels classes classnames lev targetnames
reference | levels= determines the order of the classes <- baseline ref refcat baseoutcome
lda() pools the covariance and qda() does not; lr_test(lda_fit, qda_fit) compares them <- pool slpool
canonical() of a fit of lda() gives the canonical analysis <- canonical can
tol | tolerance | collinear <- tol tolerance
collinear <- singular
gamma <- regparam
gamma <- ridge
alpha: alpha= is 1 minus the lambda of Friedman and klaR <- lambda
penalty <- lambda
ridge <- alpha tau
level <- alpha
level | conf_int(level=) and other methods of a fit have it <- alpha conflevel confidence conf
costs | predict(costs=) and error_rates(costs=) of a fit have it <- cost loss lossmatrix costmatrix
replicates | bootstrap <- nboot nbootstrap b
permutations <- nperm npermutations
scale <- center standardise scaled normalize standardize
kernel | kernel_density(), kernel_lda() and naive_bayes() have kernels <- usekernel kernel
laplace | smoothing <- fl varsmoothing
bandwidth <- adjust bw h r
width: use width=, which is 1 / (2 gamma)**0.5 for a kernel of gamma |d|^2 <- gamma sigma kpar
offset: use threshold= | shrunken_centroids() has it as threshold= <- shrinkthreshold delta
covariance <- covarianceestimator covariancetype
step <- eta eta0 learningrate
it is not needed here, so leave it out <- solver njobs verbose disp storecovariance trace fitintercept
enter | stepwise() selects columns <- pin slentry sle stepwise
stay | stepwise() selects columns <- pout slstay sls
stepwise() selects columns <- fin ftoenter fentry fout ftoremove fremove pr2entry pr2stay vin
logistic() fits two classes or more <- family link
bias_reduction: robust() of the fit computes robust standard errors <- robust
covariance="t" and covariance="mcd" of lda() and qda() are robust <- robust
distance <- method metric dist
within <- strata block blocks
groups <- plots plot
type: type=1 is by="terms"; type=2 is by="margin" if no term contains another <- by
criterion <- method
robust() of a fit of logistic() computes robust standard errors <- covtype vce
write C(x, Treatment), C(x, Sum) or the like in the formula <- contrasts
repeated() of a fit of mlm() specifies the design within rows <- idata idesign within rm repeated
ax: pass ax= of plt.subplots(figsize=...) | plot(ax=) of a fit accepts axes of any size <- figsize size dpi
colors <- colour color palette cmap
path | out <- file filename filepath
"""
"""Foreign names of keywords."""

ATTRIBUTES = """
predict_proba() <- posterior posteriors proba probabilities
predict_proba(method="calibrated") <- calibrate calibrated calibrator platt temperaturescaling
transform() | decision_function() <- x scores variates canonicalscores
predict() <- class fittedvalues fitted labels predictions
classes <- lev levels targetnames groups
nobs <- n nsamples
counts <- classcount freq
prior <- priors classprior
terms <- xname xnames variables featurenamesin featurenames
formula <- call
coef | params | coefficients() <- coef coefficients coefs betas weights
means | centroids | canonical() <- theta centroids centers centres
cov | covs <- covariance sigma within
subspace.loadings | scaling | rotations | canonical() | a fit with components= has them <- loadings
scaling | rotations | canonical() <- scalings rotation ld
explained | proportion <- explainedvarianceratio proportionoftrace trace
correlations | canonical() <- cancorr canonicalcorrelations
subspace.eigenvalues | canonical() | lda() on axes of multiple correspondence analysis has them <- eigenvalues
canonical() <- structure
marginal_means() <- emmeans lsmeans marginalmeans
covariate_model.adjusted_means() | lda() with covariates has covariate_model.adjusted_means() <- adjustedmeans
covariate_model.adjusted_means() | lda() with covariates has adjusted means <- emmeans lsmeans marginalmeans
covariate_model.slopes() | lda() with covariates has covariate_model.slopes() <- slopes
covariate_model.tests() | lda() with covariates has covariate_model.tests() <- covariatetests tests
covariate_model.covariates | lda() with covariates has covariate_model.covariates <- covariates
covariance_model.variance_shrinkage | covariance="correlation" shrinks variances too <- varianceshrinkage
covariance_model.path | subspace.path | lda() and qda() with Shrunk("loo") have covariance_model.path <- path
covariance_model.nu | a fit of t distributions has it <- nu
covariance_model.support_fraction | a fit with covariance="mcd" has it <- supportfraction
covariance_model.row_cov | a fit with a separable covariance has it <- rowcov
covariance_model.column_cov | a fit with a separable covariance has it <- columncov
covariance_model.separability_test() | a fit with a separable covariance has it <- separabilitytest
covariance_model.robust_distances() | a robust fit, by "t" or "mcd", has them <- robustdistances
covariance_model.factors | qda(covariance="factor") has them <- factors
covariance_model.dimensions | qda(covariance="factor") has them <- dimensions
covariance_model.scree() | qda(covariance="factor") has it <- scree
subspace.n_components | a fit with components= has it <- components ncomponents
subspace.shares | a fit with components= has them <- componentshares shares
subspace.level_coordinates() | lda() on axes of multiple correspondence analysis has them <- levelcoordinates
boundary().distance() <- distance
boundary().foot() <- foot
assess().classification() <- classification misclassified
discrim.covariance_models(formula, data) <- covariancemodels
wilks | manova() <- wilkslambda lambda
discrim.box_m(formula, data) <- boxm boxtest
distances() | centroid_distances() <- mahalanobis d2
leave_one_out() <- loo jackknife crossvalidated lootable
discrim.cross_validate(fit, folds=10) <- cv crossvalscore crossvalidate
by_class: use confusion | confusion() <- confusionmatrix predtable classtable table
assess() | overall <- score accuracy auc kappa classificationreport
error_rates() | table() <- error errors errorrate misclassification
assess().plot("roc") | unpredicted: use plot("roc") <- roc roccurve
assess().plot("precision_recall") | unpredicted: use plot("precision_recall") <- precisionrecall prcurve
threshold() | assess().thresholds() <- cutoff cutpoint coords youden bestthreshold
predict: use plot("regions") <- partimat decisionboundary
llf <- loglik loglikelihood
residuals() <- resid residual
repeated: repeated(within) has sphericity(), with Mauchly's test <- mauchly mauchlytest sphericity
repeated: repeated(within) has univariate(), with corrections <- idata idesign within epsilon aovez
profile: profile().tests() has parallelism, level and flatness <- parallelism flatness pbg profr
differences() | pairs() <- cohensd cohend scheffe tukeyhsd pairwise pairs posthoc simultaneous
differences() <- emmeans
cov_params() <- vcov
conf_int() | log_odds() <- confint ci
prsquared | assess() <- rsquared r2 mcfadden
marginal_effects() <- margeff getmargeff margins
odds_ratios() <- oddsratio or
update() <- fit refit partialfit
verify() | decision_function() <- llr loglikelihoodratio fastpldascoring samedifferent
save() <- dump topickle write
tidy() | table | tables <- tocsv todataframe toframe
summary().as_html() | as_html() <- tohtml html
summary().as_latex() | as_latex() <- tolatex latex
summary().as_markdown() | as_markdown() <- tomarkdown markdown
summary().as_text() | as_text() <- tostring totext text
fit <- predict predictproba posterior
augment() <- data df
"""
"""Foreign names of attributes of results."""

NAMES = """
lda <- lineardiscriminantanalysis fisher linda discriminant
qda <- quadraticdiscriminantanalysis qdacov
pls <- plsda splsda plsregression plsr
pls(..., algorithm=discrim.subspace.OrthogonalPLS(1)) <- opls oplsda kopls
logistic <- logit mnlogit mlogit multinom glm logisticregression
logistic(..., penalty="lasso") <- glmnet cvglmnet lasso
naive_bayes <- gaussiannb categoricalnb multinomialnb nb
knn <- kneighborsclassifier knncv
kernel_density <- kda kde npar
kernel_lda <- kfda kfd kfisher kernelridge lssvm gda klda ksvm
shrunken_centroids <- pamr pam nsc
mixture <- mda mclustda mclust gaussianmixture gmm
location <- locationmodel mixeddiscriminant
plda <- probabilisticlda twocovariance ivectorplda
sparse_lda <- penalizedlda dsda
hyperplane <- svm svc linearsvc
choose <- automl autoclassifier gridsearchcv modelselection bestmodel tune train caret pycaret tpot
permanova <- adonis adonis2 npmanova
permanova(...) tests distances between rows <- anosim mrpp
permanova(...).dispersion() <- betadisper permdisp
stepwise <- stepdisc stepclass greedywilks step stepaic
lda(..., covariance="correlation") <- sda catscore
manova(..., method="srivastava") <- srivastava apvalsri2008
manova(..., method="chen-qin") <- chenqin testmean apvalchen2010
box_m(..., method="schott") <- schott schott2007 testcov
box_m(..., method="li-chen") <- lichen equalcovs
qda(..., covariance="factor") <- hdda
qda(..., ncomp=2) <- dr slicedaveragevarianceestimation
lda(..., components=discrim.subspace.MultipleCorrespondence(2)) <- disqual dismix gfalda mcalda
lda(...).canonical() <- candisc cancor
that is a package of R; lda() and qda() are here <- mass klar
it is a method of a fit, as in fit.predict() <- predict predictproba summary plot confusion update errorrates
it is a method of a fit, as in fit.predict() <- save anova confint logodds tidy glance augment assess report
from discrim.sklearn import LDAClassifier, or another <- ldaclassifier qdaclassifier knnclassifier
discrim.datasets.load_iris() <- iris loadiris
discrim.datasets.load_penguins() <- penguins palmerpenguins loadpenguins
discrim.datasets.load_wine() <- wine loadwine
discrim.datasets.load_breast_cancer() <- breastcancer loadbreastcancer
load <- read readmodel loadmodel
cross_validate <- cv crossvalscore
compare <- comparemodels
confusion() is a method of a fit <- confusionmatrix table
df.sample(frac=0.7) of pandas draws rows <- traintestsplit sample
lda() and other functions accept the path of a file as data= <- readcsv
write import discrim.sklearn, which needs scikit-learn <- sklearn
"""
"""Foreign names of functions and classes."""

ESTIMATORS = """
LDAClassifier <- lineardiscriminantanalysis lda discriminantanalysis
QDAClassifier <- quadraticdiscriminantanalysis qda
KNNClassifier <- kneighborsclassifier knn
NaiveBayesClassifier <- gaussiannb categoricalnb multinomialnb naivebayes
LogisticClassifier <- logisticregression logit
PLSClassifier <- plsregression plsda pls
MixtureClassifier <- gaussianmixture mda
HyperplaneClassifier <- svc linearsvc
IndicatorClassifier <- ridgeclassifier
"""
"""Foreign names of estimators."""

TABLES = """
load_iris() <- iris
load_penguins() <- penguins
load_wine() <- wine
load_breast_cancer() <- breastcancer breast
the tables here are iris, penguins, wine and breast_cancer <- loaddigits loaddiabetes fetchopenml digits
load("iris") | load() <- loaddata getdata read readcsv
"""
"""Foreign names of the data sets."""


OPTION_BY_KEYWORD: dict[str, dict[str, str]] = {
    "kernellda": {
        "features": "components=discrim.subspace.RandomFeatures(n) or Landmarks(n), with the number n",
    },
    "rda": {
        "standardize": "parametrization=discrim.covariance.Regularized(standardize={0}), or with principal "
        "axes components=discrim.subspace.PrincipalComponents(2, standardize={0})",
        "select": 'alpha="1se" for the simplest pair within one standard error; else leave it out',
    },
    "shrunkencentroids": {
        "select": 'threshold="1se" for the largest threshold within one standard error; else leave it out',
    },
    "pls": {
        **dict.fromkeys(
            ("orthogonal", "orthoi", "northo", "northogonal", "ortho"),
            "algorithm=discrim.subspace.OrthogonalPLS({})",
        ),
        **dict.fromkeys(("nonzero", "keepx"), "algorithm=discrim.subspace.SparsePLS({})"),
        "engine": "algorithm={}",
        "indicators": 'scale="columns" for centred indicators, or scale=True',
        "select": 'ncomp="1se" for the fewest components within one standard error; else leave it out',
    },
    "sparselda": {
        "select": 'penalty="1se" for the largest penalty within one standard error; else leave it out',
    },
    "stepwise": {
        "options": 'verb=functools.partial(discrim.qda, prior="equal"), for example',
    },
}
"""Keywords that belong to another option here, by verb, with the text to write instead.

Verbs and keywords are without case, dots and underscores; ``{}`` and ``{0}`` stand for the typed value.
"""


PENALTY_PARAMETERS = {
    "strength": "strength",
    "lambda": "strength",
    "ridge": "strength",
    "l1ratio": "l1_ratio",
    "alpha": "l1_ratio",
    "grid": "grid",
    **dict.fromkeys(("nstrengths", "nlambda"), "n_strengths"),
    **dict.fromkeys(("folds", "nfolds", "cv"), "folds"),
    "select": "select",
    **dict.fromkeys(("seed", "randomstate"), "seed"),
}
"""Keywords that are parameters of a penalty of `logistic` here, without case, dots and underscores."""

PENALTY_WORDS = {
    "ridge": "Ridge",
    "l2": "Ridge",
    "lasso": "Lasso",
    "l1": "Lasso",
    "elasticnet": "ElasticNet",
}
"""Values of `penalty=`, also in scikit-learn, and the specifications that they stand for.

The values are without case, dots and underscores.
"""

LIMIT_KEYWORDS = {
    **dict.fromkeys(("fenter", "fin", "ftoenter", "fentry"), ("F", "enter")),
    **dict.fromkeys(("fstay", "fout", "ftoremove", "fremove"), ("F", "stay")),
    **dict.fromkeys(("r2enter", "pr2entry"), ("r2", "enter")),
    **dict.fromkeys(("r2stay", "pr2stay"), ("r2", "stay")),
    **dict.fromkeys(("venter", "vin"), ("v", "enter")),
}
"""Limits of `stepwise` in other systems and in earlier interfaces, with `by=` and the keyword here.

The limits are without case, dots and underscores.
"""


class Respelling(NamedTuple):
    """The correct spelling of a keyword that is a parameter of another option.

    Attributes
    ----------
    name : str
        The keyword; empty if absent.
    hint : str
        A sentence with the correct spelling.
    options : mapping of str to str
        Options that replace the keyword, and their values as they are typed on the command line.
    """

    name: str = ""
    hint: str = ""
    options: Mapping[str, str] = MappingProxyType({})


def respell_penalty(keywords: Mapping[str, Any]) -> Respelling:
    """Return the correct spelling of keywords that are parameters of a penalty of `logistic`.

    `keywords` are the unknown keywords of a call, and `penalty`. scikit-learn's C counts as a parameter, too.
    The keyword of the result is the first such keyword; otherwise the result is empty.

    Examples
    --------
    >>> respell_penalty({"penalty": "ridge", "strength": 0.1, "folds": 5})[:2]
    ('strength', 'Write penalty=discrim.penalty.Ridge(0.1, folds=5).')
    """
    names = {name: PENALTY_PARAMETERS.get(normalize_name(name), "") for name in keywords}
    is_inverse = {name: normalize_name(name) == "c" for name in keywords}
    first = next((name for name in keywords if names[name] or is_inverse[name]), "")
    if not first:
        return Respelling()
    texts = {names[name]: _value_text(value) for name, value in keywords.items() if names[name]}
    inverse = next((_value_text(keywords[name]) for name in keywords if is_inverse[name]), "")
    penalty_value = keywords.get("penalty")
    specification_name = (
        PENALTY_WORDS.get(normalize_name(penalty_value), "")
        if isinstance(penalty_value, str)
        else type(penalty_value).__name__
    )
    if texts.keys() == {"seed"} and penalty_value is None:
        note = " if a strength is chosen; else leave it out"
    else:
        note = ", where N is the number of observations" if inverse else ""
    if inverse:
        texts["strength"] = f"1 / (N * {inverse})"
    if specification_name not in PENALTY_WORDS.values():
        specification_name = "Ridge" if inverse or "ridge" in map(normalize_name, keywords) else "Lasso"
    if "l1_ratio" in texts:
        ends = {"0": "Ridge", "0.0": "Ridge", "1": "Lasso", "1.0": "Lasso"}
        specification_name = ends.get(texts["l1_ratio"], "ElasticNet")
    leading = "l1_ratio" if specification_name == "ElasticNet" else "strength"
    if specification_name != "ElasticNet":
        texts.pop("l1_ratio", None)
    arguments = [texts.pop(leading)] if leading in texts else []
    arguments += [f"{name}={text}" for name, text in texts.items()]
    penalty = f"{specification_name}({', '.join(arguments)})"
    return Respelling(first, f"Write penalty=discrim.penalty.{penalty}{note}.", {"penalty": penalty})


def respell_limits(keywords: Mapping[str, Any]) -> Respelling:
    """Return the correct spelling of keywords that are limits of stepwise selection in other packages.

    The keyword of the result is the first such keyword; otherwise the result is empty.

    Examples
    --------
    >>> respell_limits({"f_enter": 3.84, "f_stay": 2.71})[:2]
    ('f_enter', 'Write by="F", enter=3.84, stay=2.71.')
    """
    limits = {
        name: LIMIT_KEYWORDS[normalize_name(name)]
        for name in keywords
        if normalize_name(name) in LIMIT_KEYWORDS
    }
    if not limits:
        return Respelling()
    first = next(iter(limits))
    by = limits[first][0]
    texts = {
        option: _value_text(keywords[name]) for name, (criterion, option) in limits.items() if criterion == by
    }
    if by == "v":
        texts["criterion"] = "rao"
    else:
        # Both limits are required; if only one was typed, it is used for both.
        other = next(iter(texts.values()))
        texts = {option: texts.get(option, other) for option in ("enter", "stay")}
    options = {"by": by} | texts
    text_options = ("by", "criterion")
    written = [
        f'{name}="{text}"' if name in text_options else f"{name}={text}" for name, text in options.items()
    ]
    return Respelling(first, f"Write {', '.join(written)}.", options)


def normalize_name(name: str) -> str:
    """Normalize a name: lower case, without dots and underscores."""
    return name.casefold().replace("_", "").replace(".", "")


def _leading_name(equivalent: str) -> str:
    """Return the part of an equivalent before its arguments: "predict_proba" of "predict_proba()"."""
    return equivalent.partition("(")[0]


def suggest_name(name: str, existing_names: Iterable[str], table: str) -> str:
    """Suggest an existing name or a clause for an unknown name; return "" if nothing fits.

    Parameters
    ----------
    name : str
        The unknown name.
    existing_names : iterable of str
        Existing names.
    table : str
        Table of foreign names, such as `KEYWORDS`; see the docstring of the module.

    Returns
    -------
    str

    Examples
    --------
    >>> suggest_name("priors", ["data", "prior"], KEYWORDS), suggest_name("colinear", ["collinear"], KEYWORDS)
    ('prior', 'collinear')
    """
    name_by_form = {
        normalize_name(existing_name): existing_name
        for existing_name in existing_names
        if not existing_name.startswith("_")
    }
    if normalize_name(name) in name_by_form:
        return name_by_form[normalize_name(name)]
    is_foreign_name = False
    for line in table.split("\n"):
        equivalents, _, foreign_names = line.partition(" <- ")
        if normalize_name(name) in foreign_names.split():
            is_foreign_name = True
            for equivalent in equivalents.split(" | "):
                required_name, colon, clause = equivalent.partition(": ")
                if colon and required_name in name_by_form.values():
                    return clause
                if not colon and (
                    " " in equivalent
                    or equivalent.startswith("discrim.")
                    or _leading_name(equivalent) in name_by_form.values()
                ):
                    return equivalent
    close_matches = get_close_matches(
        normalize_name(name),
        name_by_form,
        n=1,
        cutoff=MIN_SIMILARITY_OF_FOREIGN if is_foreign_name else MIN_SIMILARITY,
    )
    return name_by_form[close_matches[0]] if close_matches else ""


SPECIFICATIONS = {
    "StudentT": ("nu", "scatter"),
    "MCD": ("support_fraction",),
    "Separable": ("shape",),
    "FactorAnalytic": ("dimensions", "form", "threshold", "standardize"),
    "ShrunkCorrelation": ("shrinkage", "variance_shrinkage"),
    "Diagonal": ("shrinkage", "grid"),
    "Spherical": ("standardize",),
    "Shrunk": ("shrinkage", "grid", "standardize"),
}
"""Parameters of specifications, which are keywords in other packages and in earlier interfaces.

"shape" stands for the parameters `rows` and `columns` of `Separable`.
"""

SPECIFICATION_WORDS = {
    "t": "StudentT",
    "mcd": "MCD",
    "separable": "Separable",
    "factor": "FactorAnalytic",
    "correlation": "ShrunkCorrelation",
    "diagonal": "Diagonal",
    "spherical": "Spherical",
    "shrunk": "Shrunk",
}
"""Values of `covariance=` and `method=`, and the specifications that they stand for."""

OTHER_NAMES = {
    "lambda": "shrinkage",
    "lambdavar": "variance_shrinkage",
    "regparam": "shrinkage",
    "dim": "shape",
    "dims": "shape",
    "matrixshape": "shape",
    "standardise": "standardize",
}
"""Other names of the keywords in `SPECIFICATIONS`, without case, dots and underscores."""

_OWN_KEYWORDS = (
    "nu", "scatter", "support_fraction", "shape", "dimensions", "form", "threshold", "variance_shrinkage"
)  # fmt: skip
"""Parameters that identify a specification, because others do not have them."""


_WITH_SPECIFICATIONS = ("covariance", "method", "components")
"""Known keywords that are passed to `respell_specification` with the unknown ones."""


def respell_specification(keywords: Mapping[str, Any]) -> Respelling:
    """Return the correct spelling of keywords that are parameters of a specification.

    Parameters
    ----------
    keywords : dict of str to object
        The unknown keywords of the call, and the keywords in `_WITH_SPECIFICATIONS`.

    Returns
    -------
    Respelling
        Correct spelling of the first such keyword; otherwise empty. The hint is "Leave it out." if the
        values are the defaults.

    Examples
    --------
    >>> respell_specification({"method": "t", "nu": 5})[:2]
    ('nu', 'Write covariance=discrim.covariance.StudentT(nu=5).')
    >>> respell_specification({"components": 3, "standardize": True})[1]
    'Write components=discrim.subspace.PrincipalComponents(3, standardize=True).'
    """
    known_parameters = {"correspondence"}.union(*SPECIFICATIONS.values())
    names = {name: OTHER_NAMES.get(normalize_name(name), name) for name in keywords}
    first = next((name for name in keywords if names[name] in known_parameters), "")
    if not first:
        return Respelling()
    values = {names[name]: _plain_value(value) for name, value in keywords.items()}
    if "grid" in values:
        values.setdefault("shrinkage", "loo")
    values = {
        name: parameter
        for name, parameter in values.items()
        if name == "nu" or not (parameter is None or parameter is False)
    }
    options = {}
    note = ""
    if values.pop("correspondence", False):
        options["components"] = f"MultipleCorrespondence({values.pop('components', 2)!r})"
        values.pop("standardize", None)
    elif "components" in values and "standardize" in values:
        number = values.pop("components")
        del values["standardize"]
        options["components"] = f"PrincipalComponents({number!r}, standardize=True)"
    if values.get("shrinkage") == "auto":
        values |= {"shrinkage": "ledoit-wolf", "standardize": True}
        note = (
            ' This is closest to shrinkage="auto" of scikit-learn, which shrinks the covariance of each '
            "class separately and averages the results."
        )
    elif not {"covariance", "method"} & set(values) and "lambda" in map(normalize_name, keywords):
        values["covariance"] = "correlation"
    elif "regparam" in map(normalize_name, keywords):
        note = " This shrinks towards (tr S / p) I, whereas scikit-learn shrinks towards I."
    specification_name = _specification_of(values)
    parameters = {name: values[name] for name in SPECIFICATIONS[specification_name] if name in values}
    if parameters:
        options["covariance"] = f"{specification_name}({_format_parameters(parameters)})"
    if not options:
        return Respelling(first, "Leave it out.")
    modules = {"components": "subspace", "covariance": "covariance"}
    advice = [f"{name}=discrim.{modules[name]}.{call}" for name, call in options.items()]
    return Respelling(first, f"Write {', '.join(advice)}.{note}", options)


def _specification_of(values: Mapping[str, Any]) -> str:
    """Return the name of the specification that keywords with these values mean; "Shrunk" by default.

    A word of `method` or `covariance` decides first, then shrinkage="strimmer" (`ShrunkCorrelation`), then a
    parameter that only one specification has.
    """
    for option in ("method", "covariance"):
        word = values.get(option)
        if isinstance(word, str) and word in SPECIFICATION_WORDS:
            return SPECIFICATION_WORDS[word]
    if values.get("shrinkage") == "strimmer":
        return "ShrunkCorrelation"
    distinctive = [name for name in _OWN_KEYWORDS if name in values]
    return next(
        (
            specification_name
            for specification_name, names in SPECIFICATIONS.items()
            if distinctive and distinctive[0] in names
        ),
        "Shrunk",
    )


def _format_parameters(parameters: Mapping[str, Any]) -> str:
    """Format parameters as the arguments of a call, such as "shrinkage=0.1, standardize=True".

    A shrinkage that is the only parameter is positional ("0.1"). A pair `shape` becomes "rows=2, columns=3",
    without other parameters. Values of more than 60 characters become "...".
    """
    if list(parameters) == ["shrinkage"]:
        return repr(parameters["shrinkage"])
    if isinstance(shape := parameters.get("shape"), tuple | list) and len(shape) == 2:
        return f"rows={shape[0]!r}, columns={shape[1]!r}"
    texts = {name: repr(value) for name, value in parameters.items()}
    return ", ".join(f"{name}={text if len(text) <= 60 else '...'}" for name, text in texts.items())


def respell_keyword(function: Callable[..., Any], keywords: Mapping[str, Any]) -> Respelling:
    """Return the correct spelling of an unknown keyword that is a parameter of another option.

    For example `shrinkage` is a parameter of specifications of ``covariance=``, and not a keyword of `lda`.

    Parameters
    ----------
    function : callable
        The function that is called.
    keywords : dict of str to object
        All keywords of the call with their values.

    Returns
    -------
    Respelling
        Respelling of the first such keyword; otherwise empty.
    """
    parameters = inspect.signature(function).parameters
    unknown = [name for name in keywords if name not in parameters]
    function_name = _function_name(function)
    # Only lda() and qda(), and their estimators, have all of these.
    if {"covariance", "components", "ncomp"} <= set(parameters):
        options = {
            name: keywords[name] for name in keywords if name in unknown or name in _WITH_SPECIFICATIONS
        }
        respelling = respell_specification(options)
        if respelling.name in unknown:
            return respelling
    hints = {"logistic": respell_penalty, "stepwise": respell_limits}
    verb = normalize_name(function_name).removesuffix("classifier")
    if verb in hints:
        # `penalty` is a known keyword, but determines the specification of the unknown ones.
        options = {name: keywords[name] for name in keywords if name in unknown or name == "penalty"}
        respelling = hints[verb](options)
        if respelling.name:
            return respelling
    text_by_keyword = OPTION_BY_KEYWORD.get(verb, {})
    if unknown and normalize_name(unknown[0]) in text_by_keyword:
        text = text_by_keyword[normalize_name(unknown[0])].format(_value_text(keywords[unknown[0]]))
        return Respelling(unknown[0], f"Write {text}.")
    return Respelling()


def _function_name(function: Callable[..., Any]) -> str:
    """Return the name by which a function or class is called."""
    return function.__qualname__.removesuffix(".__init__").rpartition(".")[2]


def raise_if_unknown_keyword(function: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    """Raise a TypeError with a suggestion if a keyword is unknown to a function without ``**`` keywords."""
    parameters = inspect.signature(function).parameters
    accepted = [name for name in parameters if name not in ("self", "cls")]
    unknown = [name for name in keywords if name not in parameters]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        function_name = _function_name(function)
        name, hint, _ = respell_keyword(function, keywords)
        if name:
            raise TypeError(f"{function_name}() has no keyword {name!r}. {hint}") from None
        raise_unknown_keyword(function_name, unknown[0], accepted)


def raise_unknown_keyword(function_name: str, name: str, accepted: Sequence[str]) -> NoReturn:
    """Raise a TypeError for an unknown keyword, with a suggestion.

    Parameters
    ----------
    function_name : str
    name : str
        The unknown keyword.
    accepted : sequence of str
        Keywords of the function.
    """
    suggestion = suggest_name(name, accepted, KEYWORDS)
    hint = (
        f"use {suggestion}="
        if suggestion in accepted
        else suggestion or f"the keywords are {', '.join(accepted) or 'none'}"
    )
    hint += ', as in "species ~ a + b"' if suggestion == "formula" else ""
    raise TypeError(f"{function_name}() has no keyword {name!r}: {hint}.") from None


def _value_text(value: Any) -> str:
    """Return the code of a value, or "..." if the code exceeds 40 characters or does not exist."""
    text = repr(_plain_value(value))
    return text if len(text) <= 40 and not text.startswith("<") else "..."


def _plain_value(value: Any) -> Any:
    """Convert NumPy scalars and arrays to Python numbers and lists."""
    return value.tolist() if callable(getattr(value, "tolist", None)) else value


def attribute_hint(name: str, names: Iterable[Iterable[str]], table: str) -> str:
    """Return a sentence that suggests an existing attribute for an unknown one, or `dir()` if none fits.

    Parameters
    ----------
    name : str
        The unknown attribute.
    names : iterable of iterables of str
        Existing attributes. Those of the first iterable are suggested first.
    table : str
        The text of a table of foreign names, such as `ATTRIBUTES`; see the docstring of the module.

    Returns
    -------
    str
    """
    suggestion = next(
        filter(None, (suggest_name(name, candidate_names, table) for candidate_names in names)),
        "see dir() for all attributes",
    )
    # The suggestion is a name, possibly with calls, or a sentence.
    is_name = re.fullmatch(r"\w+(\.\w+|\(([^()]|\([^()]*\))*\))*", suggestion)
    return sentence(f"use {suggestion}" if is_name else suggestion)


def raise_unknown_attribute(owner: str, name: str, existing_names: Iterable[str], table: str) -> NoReturn:
    """Raise an AttributeError with a suggestion for a name that a module or class does not have.

    Parameters
    ----------
    owner : str
        Name of the module or class.
    name : str
        The unknown name.
    existing_names : iterable of str
        Names that the owner has.
    table : str
        The text of a table of foreign names, such as `NAMES`; see the docstring of the module.

    Raises
    ------
    AttributeError
    """
    # Without an object Python does not append a suggestion of its own.
    hint = attribute_hint(name, [existing_names], table)
    raise AttributeError(f"{owner} has no attribute {name!r}. {hint}", name=name, obj=None)
