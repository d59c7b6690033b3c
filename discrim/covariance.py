"""Specifications of the covariance, for `covariance=` of `lda`, `qda` and their estimators.

A word, such as ``"shrunk"``, stands for a specification with its defaults. An estimator with `fit(X)` and
`covariance_`, such as a class of `sklearn.covariance`, can be passed instead of a specification.

=============  ====================  ========
word           specification         verbs
=============  ====================  ========
"pooled"       `Full`                lda
"full"         `Full`                qda
"diagonal"     `Diagonal`            lda, qda
"shrunk"       `Shrunk`              lda, qda
"nonlinear"    `NonlinearShrinkage`  lda, qda
"correlation"  `ShrunkCorrelation`   lda
"spherical"    `Spherical`           lda, qda
"pinv"         `PseudoInverse`       lda
"t"            `StudentT`            lda, qda
"mcd"          `MCD`                 lda, qda
none           `Separable`           lda, qda
"factor"       `FactorAnalytic`      qda
=============  ====================  ========
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from discrim.errors import DataError, format_argument
from discrim.options import check_grid, check_integer, check_number, check_word, is_number, join_labels
from discrim.specification import Specification, read_specification

if TYPE_CHECKING:
    from discrim.core.covariance.factor import FactorAnalyticCovariance
    from discrim.core.covariance.model import CovarianceModel
    from discrim.core.covariance.shrinkage import Shrinkage

__all__ = [
    "MCD",
    "CovarianceSpecification",
    "Diagonal",
    "FactorAnalytic",
    "Full",
    "NonlinearShrinkage",
    "PseudoInverse",
    "Regularized",
    "Separable",
    "Shrunk",
    "ShrunkCorrelation",
    "Spherical",
    "StudentT",
]

Form = Literal[
    "AkjBkQkDk", "AkBkQkDk", "ABkQkDk", "AkjBQkDk", "AkBQkDk", "ABQkDk",
    "AkjBkQkD", "AkBkQkD", "ABkQkD", "AkjBQkD", "AkBQkD", "ABQkD", "AjBQD", "ABQD",
]  # fmt: skip
"""Forms of `FactorAnalytic`, in the names of Bouveyron, Girard & Schmid."""

Parametrization = Literal["esl", "friedman", "klar"]
"""Mixtures of covariances of `rda`."""

FORMS: dict[str, str] = {form.lower(): form for form in get_args(Form)}
"""Forms of `FactorAnalytic` by their names in lower case."""


LinearCovariance = Literal[
    "pooled", "diagonal", "shrunk", "nonlinear", "correlation", "spherical", "pinv", "t", "mcd"
]
"""Words for `covariance=` of `lda`."""

QuadraticCovariance = Literal["full", "diagonal", "shrunk", "nonlinear", "spherical", "t", "mcd", "factor"]
"""Words for `covariance=` of `qda`."""


@dataclass(frozen=True, repr=False)
class CovarianceSpecification(Specification):
    """Base class of the specifications of a covariance.

    Subclasses define `word`, `verbs` if not all of them support the covariance, and `model`.
    """

    verbs: ClassVar[tuple[str, ...]] = ("lda", "qda")
    """Verbs that support the covariance."""

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance, not yet fitted."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Full(CovarianceSpecification):
    """The full covariance: pooled over the classes in `lda`, one for each class in `qda`.

    It is the default. With N observations, n_k of them in class k, of K classes and p columns, it requires
    N - K >= p for `lda`, and n_k > p in each class for `qda`.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import Full
    >>> lda("species ~ .", "iris", covariance=Full()).confusion().to_numpy().trace().item()
    147
    """

    word = "full"

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.model import FullCovariance

        return FullCovariance()


@dataclass(frozen=True, repr=False)
class Diagonal(CovarianceSpecification):
    """Variances of the columns alone, or variances shrunk towards their median.

    The columns are assumed to be independent within classes, which often predicts well if there are many more
    columns than observations (Dudoit, Fridlyand & Speed, 2002, Journal of the American Statistical
    Association 97, 77-87). `leave_one_out()` computes "strimmer" again without each observation and keeps a
    shrinkage that the user specified or "loo" chose.

    Parameters
    ----------
    shrinkage : float, "strimmer" or "loo"
        Share of the median in each variance, from 0 (none, the default) to 1. "strimmer" computes it by the
        rule of Opgen-Rhein & Strimmer (2007, Statistical Applications in Genetics and Molecular Biology 6,
        9). "loo" selects the candidate of smallest leave-one-out error, and the largest of several such
        candidates.
    grid : sequence of float, optional
        Candidates of shrinkage="loo", from 0 to 1; by default 0, 0.001, 0.002, 0.005, ..., 0.1, 0.2, ..., 1.

    Raises
    ------
    DataError
        The shrinkage is not in the range, or there is a grid and no choice.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import Diagonal
    >>> round(lda("species ~ .", "iris", covariance=Diagonal("strimmer")).shrinkage, 4)
    0.0726
    """

    shrinkage: float | Literal["strimmer", "loo"] = 0.0
    grid: Sequence[float] | None = None

    word = "diagonal"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        self._set("shrinkage", _check_shrinkage("shrinkage", self.shrinkage, ("strimmer", "loo")))
        self._set("grid", _check_shrinkage_grid(self.grid, self.shrinkage))

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.diagonal import DiagonalCovariance, ShrunkDiagonalCovariance

        if self.shrinkage == 0:
            return DiagonalCovariance()
        return ShrunkDiagonalCovariance(_shrinkage_model(self.shrinkage, self.grid))


@dataclass(frozen=True, repr=False)
class Shrunk(CovarianceSpecification):
    """The covariance shrunk towards a sphere: (1 - shrinkage) S + shrinkage (tr S / p) I.

    S is the covariance of p columns: pooled over the classes in `lda`, of each class in `qda`.
    Use it if there are about as many columns as observations, or more, and for collinear columns.
    `leave_one_out()` computes a shrinkage by a rule again without each observation. It keeps a shrinkage that
    the user specified, or that "loo" chose, whose error is then the smallest of the candidates and
    optimistic; `error_rates(["cv"])` chooses it again without each fold. scikit-learn's
    ``LinearDiscriminantAnalysis(shrinkage="auto")`` differs from ``Shrunk("ledoit-wolf", standardize=True)``:
    it applies the rule class by class.

    Parameters
    ----------
    shrinkage : float, "oas", "ledoit-wolf" or "loo"
        Share of the sphere, from 0 to 1. "oas" (Chen, Wiesel, Eldar & Hero, 2010, IEEE Transactions on Signal
        Processing 58, 5016-5029) and "ledoit-wolf" (Ledoit & Wolf, 2004, Journal of Multivariate Analysis 88,
        365-411) compute it from the deviations from the class means, as scikit-learn's `OAS` and
        `LedoitWolf`. "loo" selects the candidate of smallest leave-one-out error, and the largest of several
        such candidates. `qda` computes one shrinkage for each class by a rule, and chooses one for all
        classes by "loo".
    grid : sequence of float, optional
        Candidates of shrinkage="loo", from 0 to 1; by default 0, 0.001, 0.002, 0.005, ..., 0.1, 0.2, ..., 1.
    standardize : bool
        Whether columns are divided by their standard deviations within classes first, so that their units do
        not matter. By default they keep their units, like in scikit-learn, with a warning if their standard
        deviations differ greatly. Refits, also in folds, estimate the standard deviations again;
        `leave_one_out()` keeps the standard deviations of the fit. With `components=` pass it to
        `discrim.subspace.PrincipalComponents` instead.

    Raises
    ------
    DataError
        The shrinkage is not in the range, or there is a grid and no choice.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import Shrunk
    >>> round(lda("species ~ .", "iris", covariance=Shrunk("ledoit-wolf")).shrinkage, 4)
    0.0399
    """

    shrinkage: float | Literal["oas", "ledoit-wolf", "loo"] = "oas"
    grid: Sequence[float] | None = None
    standardize: bool = False

    word = "shrunk"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        self._set("shrinkage", _check_shrinkage("shrinkage", self.shrinkage, ("oas", "ledoit-wolf", "loo")))
        self._set("grid", _check_shrinkage_grid(self.grid, self.shrinkage))
        super().__post_init__()

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.model import TARGET_UNITS
        from discrim.core.covariance.shrunk import ShrunkCovariance

        return ShrunkCovariance(_shrinkage_model(self.shrinkage, self.grid), TARGET_UNITS[self.standardize])


@dataclass(frozen=True, repr=False)
class NonlinearShrinkage(CovarianceSpecification):
    """The covariance with eigenvalues that are shrunk by analytical nonlinear shrinkage.

    The estimator is due to Ledoit & Wolf (2020, Annals of Statistics 48, 3043-3065). The eigenvectors of the
    full covariance are kept, and each eigenvalue is replaced by an estimate of the variance along its
    eigenvector, which depends on the eigenvalues near it. `Shrunk`, in contrast, moves all eigenvalues
    towards their mean by the same share. Nothing is chosen.

    Use it for dozens of columns or more if the eigenvalues differ greatly, for example if a few are large.
    Prefer `Shrunk` if they are about equal, or if there are about as many columns as degrees of freedom: the
    theory excludes equal numbers, and the smallest eigenvalues remain too small. Degrees of freedom are the
    number of observations minus the number of classes in `lda`, and the number in the class minus one in
    `qda`; there have to be 12 or more. There may be more columns than degrees of freedom. Otherwise columns
    that are linear combinations of others are refused, as by `Full`.

    `leave_one_out()` shrinks again without each observation. It keeps the standard deviations of the fit if
    columns are standardized.

    Parameters
    ----------
    standardize : bool
        Whether columns are divided by their standard deviations within classes first, so that their units do
        not matter. By default they keep their units, and a warning is given if their standard deviations
        differ greatly.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import NonlinearShrinkage
    >>> fit = lda("species ~ .", "iris", covariance=NonlinearShrinkage())
    >>> fit.confusion().to_numpy().trace().item()
    147
    """

    standardize: bool = False

    word = "nonlinear"

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.model import TARGET_UNITS
        from discrim.core.covariance.nonlinear import NonlinearCovariance

        return NonlinearCovariance(TARGET_UNITS[self.standardize])


@dataclass(frozen=True, repr=False)
class ShrunkCorrelation(CovarianceSpecification):
    """Correlations shrunk towards zero, and variances shrunk towards their median.

    It is invariant to the units of the columns and exists for more columns than observations. With it `lda`
    is the shrinkage discriminant analysis of Ahdesmaki & Strimmer (2010, Annals of Applied Statistics 4,
    503-519), R's sda, whose scores rank the columns. `leave_one_out()` computes "strimmer" again without each
    observation.

    Parameters
    ----------
    shrinkage : float or "strimmer"
        Share by which correlations are shrunk, from 0 to 1. "strimmer" computes it by the rule of Schaefer &
        Strimmer (2005, Statistical Applications in Genetics and Molecular Biology 4, 32).
    variance_shrinkage : float or "strimmer"
        Share of the median in each variance, from 0 to 1, or the rule of Opgen-Rhein & Strimmer (2007).

    Raises
    ------
    DataError
        A shrinkage is not in the range.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import ShrunkCorrelation
    >>> fit = lda("species ~ .", "iris", covariance=ShrunkCorrelation(variance_shrinkage=0))
    >>> round(fit.shrinkage, 4)
    0.0335
    """

    shrinkage: float | Literal["strimmer"] = "strimmer"
    variance_shrinkage: float | Literal["strimmer"] = "strimmer"

    word = "correlation"
    verbs = ("lda",)

    def __post_init__(self) -> None:
        """Validate the parameters."""
        self._set("shrinkage", _check_shrinkage("shrinkage", self.shrinkage, ("strimmer",)))
        variance_value = _check_shrinkage("variance_shrinkage", self.variance_shrinkage, ("strimmer",))
        self._set("variance_shrinkage", variance_value)

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.correlation import ShrunkCorrelationCovariance

        return ShrunkCorrelationCovariance(
            _shrinkage_model(self.shrinkage), _shrinkage_model(self.variance_shrinkage)
        )


@dataclass(frozen=True, repr=False)
class Spherical(CovarianceSpecification):
    """One variance for all columns and no correlations: an observation belongs to the nearest mean.

    Parameters
    ----------
    standardize : bool
        Whether columns are divided by their standard deviations within classes first. By default they keep
        their units, and a warning is given if their standard deviations differ greatly.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import Spherical
    >>> lda("species ~ .", "iris", covariance=Spherical()).confusion().to_numpy().trace().item()
    139
    """

    standardize: bool = False

    word = "spherical"

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.model import TARGET_UNITS
        from discrim.core.covariance.spherical import SphericalCovariance

        return SphericalCovariance(TARGET_UNITS[self.standardize])


@dataclass(frozen=True, repr=False)
class PseudoInverse(CovarianceSpecification):
    """The pseudo-inverse of the pooled covariance, for more columns than observations.

    Directions without variance within classes do not count (Raudys & Duin, 1998, Pattern Recognition Letters
    19, 385-392). The error is largest if there are about as many columns as observations: prefer `Shrunk`.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import PseudoInverse
    >>> lda("species ~ .", "iris", covariance=PseudoInverse()).confusion().to_numpy().trace().item()
    147
    """

    word = "pinv"
    verbs = ("lda",)

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.pseudo_inverse import PseudoInverseCovariance

        return PseudoInverseCovariance()


@dataclass(frozen=True, repr=False)
class StudentT(CovarianceSpecification):
    """Means and covariances of multivariate t distributions by maximum likelihood, robust to outliers.

    The estimator is due to Lange, Little & Taylor (1989, Journal of the American Statistical Association 84,
    881-896). The rule for normal classes is used with these means and covariances, like in R's MASS.

    Parameters
    ----------
    nu : float or None
        Degrees of freedom, 1 or more; smaller ones reduce the weight of distant observations. None selects
        the maximum likelihood estimate between 1 and 256, one for all classes.
    scatter : {"covariance", "scale"}
        Whether the covariance is nu / (nu - 2) times the scale matrix, as in R's `MASS::lda`, or the scale
        matrix itself, as in R's `MASS::qda`. A covariance exists for nu above 2.

    Raises
    ------
    DataError
        `nu` is below 1, or is 2 or less with scatter="covariance".

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import StudentT
    >>> lda("species ~ .", "iris", covariance=StudentT(nu=5)).confusion().to_numpy().trace().item()
    147
    """

    nu: float | None = 5.0
    scatter: Literal["covariance", "scale"] = "covariance"

    word = "t"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_word("scatter", self.scatter, ("covariance", "scale"))
        if self.nu is None:
            return
        also = ", or None to estimate them"
        nu = check_number("nu", self.nu, 1.0, description="degrees of freedom", also=also)
        if nu <= 2 and self.scatter == "covariance":
            raise DataError(
                f"nu={nu:g}: a t distribution has a covariance only if nu is above 2.",
                hint='Write scatter="scale", or a larger nu.',
            )
        self._set("nu", nu)

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.robust import StudentTCovariance

        return StudentTCovariance(self.nu or 0.0, self.nu is None, self.scatter == "covariance")


@dataclass(frozen=True, repr=False)
class MCD(CovarianceSpecification):
    """The minimum covariance determinant of the deviations from the class means, robust to outliers.

    Means and covariances are computed from the observations whose squared distance by the minimum covariance
    determinant (Rousseeuw & Van Driessen, 1999, Technometrics 41, 212-223) is at most the .975 quantile of
    chi-square with as many degrees of freedom as columns, like in R's rrcov (Linda, "mcd", and QdaCov).
    Weights have to be integers. A likelihood and leave-one-out are not available.

    Parameters
    ----------
    support_fraction : float
        Share of the observations, from 0.5 to 1, from which the determinant is computed. A smaller share
        tolerates more outliers, and a larger one yields more precise estimates.

    Raises
    ------
    DataError
        The share is not in the range.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import MCD
    >>> lda("species ~ .", "iris", covariance=MCD()).confusion().to_numpy().trace().item()
    144
    """

    support_fraction: float = 0.5

    word = "mcd"

    def __post_init__(self) -> None:
        """Validate the parameter."""
        description = "a share of the observations"
        self._set(
            "support_fraction",
            check_number("support_fraction", self.support_fraction, 0.5, 1.0, description=description),
        )

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.robust import MCDCovariance

        return MCDCovariance(self.support_fraction)


@dataclass(frozen=True, repr=False)
class Separable(CovarianceSpecification):
    """The Kronecker product of a covariance of rows and one of columns, for observations that are matrices.

    The columns of the formula are the entries of a matrix, row by row, such as the channels by times of a
    recording. The covariance of the entries (j, l) and (k, m), each in (row, column), is U_jk V_lm. The
    estimate is the maximum likelihood estimate (Dutilleul, 1999, Journal of Statistical Computation and
    Simulation 64, 105-123; R's MixMatrix), times the number of observations (of the class in `qda`) over the
    divisor that `method` determines. It follows from the moments, also for more columns than
    observations. `row_cov` of the fit is U, whose trace is the number of rows, and `column_cov` is V times
    that factor; `separability_test()` compares with the full covariance. `leave_one_out()` fits it again
    without each observation.

    Parameters
    ----------
    rows, columns : int
        Numbers of rows and columns of the matrix.

    Raises
    ------
    DataError
        A number is not a positive integer.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import Separable
    >>> fit = lda("species ~ .", "iris", covariance=Separable(rows=2, columns=2))
    >>> fit.confusion().to_numpy().trace().item()
    148
    """

    rows: int
    columns: int

    word = "separable"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        for name in ("rows", "columns"):
            self._set(name, check_integer(name, getattr(self, name), 1))

    def model(self) -> CovarianceModel:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.separable import SeparableCovariance

        return SeparableCovariance(self.rows, self.columns)


@dataclass(frozen=True, repr=False)
class FactorAnalytic(CovarianceSpecification):
    """A few large variances for each class, on axes of its own, and one variance for all other directions.

    With it `qda` is the high-dimensional discriminant analysis of Bouveyron, Girard & Schmid (2007,
    Communications in Statistics: Theory and Methods 36, 2607-2623), R's HDclassif. It also works for few
    observations. The divisors are set by `method`, and `df_model` counts the numbers of dimensions if the
    observations chose them.

    Parameters
    ----------
    dimensions : int, dict of class to int, "cattell" or "bic"
        Number of large variances. "cattell" (the default) and "bic" choose it for each class. "cattell" is
        the scree test: the last dimension after which the eigenvalues fall by at least `threshold` times the
        largest fall. "bic" selects the dimension of smallest BIC. Refits choose again.
    form : str, optional
        Which parameters differ between the classes, in the names of HDclassif; by default "AkjBkQkDk". A
        stands for the variances of the signal, by class (k) and dimension (j), B for the variance of the
        noise, Q for the axes and D for the number of dimensions. A parameter without its letter k or j is
        common to all classes or dimensions.
    threshold : float, optional
        Share of the largest fall for dimensions="cattell", between 0 and 1; by default 0.2.
    standardize : bool
        Whether columns are divided by their standard deviations within classes first.

    Raises
    ------
    DataError
        A parameter is not in its range, or there is a threshold and no scree test.

    Examples
    --------
    >>> from discrim import qda
    >>> from discrim.covariance import FactorAnalytic
    >>> fit = qda("species ~ .", "iris", covariance=FactorAnalytic(dimensions=1))
    >>> fit.confusion().to_numpy().trace().item()
    147
    """

    dimensions: int | Mapping[Any, int] | Literal["cattell", "bic"] = field(default="cattell", hash=False)
    form: str | None = None
    threshold: float | None = None
    standardize: bool = False

    word = "factor"
    verbs = ("qda",)

    def __post_init__(self) -> None:
        """Validate the parameters."""
        self._set("dimensions", _check_dimensions(self.dimensions))
        if self.form is not None:
            form = FORMS.get(self.form.lower()) if isinstance(self.form, str) else None
            if form is None:
                raise DataError(
                    f"form={format_argument(self.form)} is not known.",
                    hint=f"Use one of {join_labels(FORMS.values(), 14)}.",
                )
            self._set("form", form)
        if self.threshold is not None:
            if self.dimensions != "cattell":
                raise DataError('threshold= requires dimensions="cattell".', hint="Leave one of the two out.")
            description = "a share of the largest fall"
            self._set(
                "threshold",
                check_number("threshold", self.threshold, 0.0, 1.0, ends="()", description=description),
            )
        super().__post_init__()

    def model(self) -> FactorAnalyticCovariance:
        """Return the covariance model that estimates the covariance."""
        from discrim.core.covariance.factor import (
            DEFAULT_FORM,
            DEFAULT_THRESHOLD,
            FactorAnalyticCovariance,
            FactorOptions,
        )
        from discrim.core.covariance.model import TARGET_UNITS

        threshold = DEFAULT_THRESHOLD if self.threshold is None else self.threshold
        rule = self.dimensions if isinstance(self.dimensions, str) else "given"
        dimensions = None if isinstance(self.dimensions, str) else self.dimensions
        options = FactorOptions(self.form or DEFAULT_FORM, rule, None, threshold)
        return FactorAnalyticCovariance(options, dimensions, TARGET_UNITS[self.standardize])


@dataclass(frozen=True, repr=False)
class Regularized(Specification):
    """The mixture of covariances of `rda`, for its `parametrization=`.

    Parameters
    ----------
    parametrization : {"esl", "friedman", "klar"}
        Which covariances are mixed; see the Notes of `discrim.rda`.
    standardize : bool
        Whether the columns are divided by their standard deviations within classes before the ridge is added,
        so that their units do not matter. By default they keep their units, as in the literature. Refits
        estimate the standard deviations again, also in folds; `leave_one_out()` and the choice of a pair keep
        them.

    Examples
    --------
    >>> from discrim import rda
    >>> from discrim.covariance import Regularized
    >>> how = Regularized("friedman", standardize=True)
    >>> fit = rda("species ~ .", "iris", alpha=0.5, gamma=0.1, parametrization=how)
    >>> fit.confusion().to_numpy().trace().item()
    147
    """

    parametrization: Parametrization = "esl"
    standardize: bool = False

    word = "regularized"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_word("parametrization", self.parametrization, Parametrization)
        super().__post_init__()


def read_regularized(value: Any) -> Regularized:
    """Return the specification that `parametrization=` of `rda` stands for: a word, or a `Regularized`.

    Any other value is a DataError.
    """
    specification_by_word = {word: partial(Regularized, word) for word in get_args(Parametrization)}
    regularized: Regularized = read_specification(
        "parametrization", value, specification_by_word, (Regularized,)
    )
    return regularized


COVARIANCES: tuple[type[CovarianceSpecification], ...] = (
    Full, Diagonal, Shrunk, NonlinearShrinkage, ShrunkCorrelation, Spherical, PseudoInverse, StudentT, MCD,
    Separable, FactorAnalytic,
)  # fmt: skip
"""All specifications of a covariance."""


def covariance_words(verb: str) -> dict[str, type[CovarianceSpecification]]:
    """Return the words for `covariance=` of a verb, with the class of the specification of each.

    Specifications with required parameters, such as `Separable`, do not have a word.

    Examples
    --------
    >>> list(covariance_words("qda"))
    ['full', 'diagonal', 'shrunk', 'nonlinear', 'spherical', 't', 'mcd', 'factor']
    """
    class_by_word: dict[str, type[CovarianceSpecification]] = {}
    for specification_class in COVARIANCES:
        has_defaults = all(parameter.default is not MISSING for parameter in fields(specification_class))
        if verb in specification_class.verbs and has_defaults:
            class_by_word[
                "pooled" if specification_class is Full and verb == "lda" else specification_class.word
            ] = specification_class
    return class_by_word


def _shrinkage_model(value: Any, grid: Sequence[float] | None = None) -> Shrinkage:
    """Return the shrinkage model for a number or the name of a rule; `grid` has the candidates of "loo"."""
    from discrim.core.covariance.shrinkage import DEFAULT_GRID, Shrinkage

    if not isinstance(value, str):
        return Shrinkage("given", (float(value),))
    rule: Any = value
    return Shrinkage(rule, grid=tuple(grid or DEFAULT_GRID) if value == "loo" else ())


def _check_shrinkage(name: str, value: Any, rules: tuple[str, ...]) -> float | str:
    """Return a shrinkage that is a number from 0 to 1 or one of `rules`; raise a DataError for any other.

    `name` is the name of the parameter, for messages.
    """
    if isinstance(value, str) and value in rules:
        return value
    if isinstance(value, str):
        raise DataError(
            f"{name}={value!r} is not known.",
            hint=f"Use one of {join_labels(rules)}, or a number from 0 to 1.",
        )
    return check_number(name, value, 0.0, 1.0, also=f", or one of {join_labels(rules)}")


def _check_shrinkage_grid(grid: Any, shrinkage: Any) -> tuple[float, ...] | None:
    """Validate `grid`, the candidates of shrinkage="loo".

    Parameters
    ----------
    grid : iterable of float or None
    shrinkage : object
        The validated shrinkage. Only "loo" allows a grid.

    Returns
    -------
    tuple of float or None
        The candidates in increasing order; None for the default candidates.

    Raises
    ------
    DataError
        There is a grid, but the shrinkage is not "loo", or a candidate is not from 0 to 1.
    """
    if grid is None:
        return None
    if shrinkage != "loo":
        raise DataError('grid= requires shrinkage="loo".', hint="Pass both, or neither.")
    values = list(grid) if isinstance(grid, Iterator) else grid
    return tuple(check_grid(values, "shrinkage", 0.0, 1.0))


def _check_dimensions(value: Any) -> Any:
    """Validate and return `dimensions`: an integer, a dict of integers by class, or the name of a rule."""
    if isinstance(value, str):
        check_word("dimensions", value, ("cattell", "bic"))
        return value
    if isinstance(value, Mapping):
        return {label: _check_dimension(number) for label, number in value.items()}
    return _check_dimension(value)


def _check_dimension(value: Any) -> int:
    """Validate one number of dimensions, a positive integer."""
    also = ', a dict of them by class, "cattell" or "bic"'
    if is_number(value) and value == 0:
        also += '; covariance="spherical" has none'
    return check_integer("dimensions", value, 1, also=also)
