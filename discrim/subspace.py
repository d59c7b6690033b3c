"""Specifications of the subspace in which classes are compared, for `components=`.

In `lda` and `qda` a number, a share, "cv" or "loo" stands for `PrincipalComponents` of that number. In
`kernel_lda` a number stands for `Landmarks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discrim.errors import DataError
from discrim.options import check_integer, check_word, in_range, is_integer, is_number
from discrim.specification import Specification, read_specification

__all__ = [
    "KernelFeatures",
    "Landmarks",
    "MultipleCorrespondence",
    "OrthogonalPLS",
    "PLSSpecification",
    "PrincipalComponents",
    "RandomFeatures",
    "SparsePLS",
    "SubspaceSpecification",
]

Choice = Literal["cv", "loo"]
"""How a number of axes is chosen."""

MAX_FEATURES = 100_000
"""Largest number of features of a kernel: a matrix of their products has to fit into memory."""


@dataclass(frozen=True, repr=False)
class SubspaceSpecification(Specification):
    """Base class of the specifications of a subspace of `n` axes; see `PrincipalComponents` for `n`."""

    n: int | float | Choice


@dataclass(frozen=True, repr=False)
class PrincipalComponents(SubspaceSpecification):
    """Leading principal components of all observations, without regard to the classes.

    With it `lda` is the discriminant analysis of principal components (Jombart, Devillard & Balloux, 2010,
    BMC Genetics 11, 94; R's adegenet). The fit needs only the moments of the columns, and the coefficients of
    the columns are axes times coefficients. Directions outside the axes are ignored. Folds and refits compute
    the components again.

    If the number of axes separates axes of equal eigenvalues, the axes that are kept are arbitrary, and a
    `TiedAxesWarning` names the tied axes. `leave_one_out()` computes the axes again without each of up to a
    thousand observations if that takes seconds, with the standard deviations and the shares of levels on
    which they depend; otherwise it keeps all of these, or raises an error if there are more columns than
    observations. Likelihoods for different numbers of axes are not comparable, and tests and standard errors
    are not available.

    Parameters
    ----------
    n : int, float, "cv" or "loo"
        Number of components, or the smallest share of the total variance, between 0 and 1, that they have to
        explain. "cv" and "loo" choose the number of smallest error, by ten folds or by leaving out each
        observation, and the smallest of several such numbers.
    standardize : bool
        Whether columns are divided by their overall standard deviations first.

    Raises
    ------
    DataError
        `n` is not a positive integer, a share, "cv" or "loo".

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.subspace import PrincipalComponents
    >>> fit = lda("species ~ .", "iris", components=PrincipalComponents(2, standardize=True))
    >>> fit.subspace.loadings.shape
    (4, 2)
    """

    standardize: bool = False

    word = "pca"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        self._set("n", _check_n_axes(self.n))
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class MultipleCorrespondence(SubspaceSpecification):
    """Leading axes of multiple correspondence analysis of categories, with numeric columns of mixed data.

    Each level has a column of its own, divided by the square root of the level's share; numeric columns are
    divided by their standard deviations, as in factor analysis of mixed data. With it `lda` is DISQUAL
    (Saporta, 1977, Une methode et un programme d'analyse discriminante sur variables qualitatives).

    The coefficients refer to the levels: the score of a class is the constant and the sum of the
    coefficients of the levels of an observation. Their mean over the observations is zero for each
    categorical column. With one categorical column all eigenvalues are one, and with two, of J and K levels,
    abs(J - K) of them are 1/2: keep such axes together, or leave all of them out.

    Parameters
    ----------
    n : int, float, "cv" or "loo"
        Number of axes, or how it is chosen; see `PrincipalComponents`.

    Raises
    ------
    DataError
        `n` is not a positive integer, a share, "cv" or "loo".

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.subspace import MultipleCorrespondence
    >>> fit = lda("species ~ island + sex", "penguins", components=MultipleCorrespondence(2))
    >>> fit.coef.round(2).loc["island[Dream]"].tolist()
    [0.19, 3.92, -2.47]
    """

    word = "mca"

    def __post_init__(self) -> None:
        """Validate the parameter."""
        self._set("n", _check_n_axes(self.n))


SUBSPACES: tuple[type[SubspaceSpecification], ...] = (PrincipalComponents, MultipleCorrespondence)
"""All specifications of a subspace."""


@dataclass(frozen=True, repr=False)
class KernelFeatures(Specification):
    """Base class of the features that stand for a kernel in `kernel_lda`.

    Parameters
    ----------
    n : int
        Number of features, from some hundreds to some thousands.
    """

    n: int

    def __post_init__(self) -> None:
        """Validate the parameter."""
        self._set("n", check_integer("n", self.n, 1, MAX_FEATURES, description="a number of features"))


@dataclass(frozen=True, repr=False)
class Landmarks(KernelFeatures):
    """Values of the kernel with some of the observations, the landmarks.

    Landmarks are drawn by randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber, 2025, Communications on
    Pure and Applied Mathematics 78, 995-1041). For the same number of features they are closer to the kernel
    than random features.

    Parameters
    ----------
    n : int
        Number of landmarks, from some hundreds to some thousands.

    Examples
    --------
    >>> from discrim import kernel_lda
    >>> from discrim.subspace import Landmarks
    >>> kernel_lda("species ~ .", "iris", components=Landmarks(50)).confusion().to_numpy().trace().item()
    146
    """

    word = "landmarks"


@dataclass(frozen=True, repr=False)
class RandomFeatures(KernelFeatures):
    """Random projections, which cost less than landmarks.

    For the kernels "gaussian" and "laplace" these are cosines and sines of random projections, in pairs
    (Rahimi & Recht, 2007, NIPS 20), for "arccos" rectified linear units of them. Other kernels have none.

    Parameters
    ----------
    n : int
        Number of features, even for "gaussian" and "laplace".

    Examples
    --------
    >>> from discrim import kernel_lda
    >>> from discrim.subspace import RandomFeatures
    >>> fit = kernel_lda("species ~ .", "iris", components=RandomFeatures(200))
    >>> fit.confusion().to_numpy().trace().item()
    146
    """

    word = "random"


FEATURES: tuple[type[KernelFeatures], ...] = (Landmarks, RandomFeatures)
"""All specifications of features of a kernel."""


@dataclass(frozen=True, repr=False)
class PLSSpecification(Specification):
    """Base class of the kinds of partial least squares for `algorithm=` of `pls`."""


@dataclass(frozen=True, repr=False)
class OrthogonalPLS(PLSSpecification):
    """Partial least squares with orthogonal components (OPLS-DA).

    Orthogonal components vary with the predictive scores and not with the classes; the remaining components
    are predictive (Trygg & Wold, 2002, Journal of Chemometrics 16, 119-128). The number of predictive
    components is the number of directions in which the class means differ, one for two classes.

    Parameters
    ----------
    n : int or "1se", optional
        Number of orthogonal components. By default it is chosen by cross-validation: the fewest of
        least error, or with "1se" the fewest whose error is within one standard error of it.

    Examples
    --------
    >>> from discrim import pls
    >>> from discrim.subspace import OrthogonalPLS
    >>> pls("diagnosis ~ .", "breast_cancer", algorithm=OrthogonalPLS(2)).orthogonal
    2
    """

    n: int | Literal["1se"] | None = None

    word = "orthogonal"

    def __post_init__(self) -> None:
        """Validate the parameter."""
        if self.n is not None and not (isinstance(self.n, str) and self.n == "1se"):
            also = ', or None or "1se" to have it chosen'
            self._set("n", check_integer("n", self.n, 1, description="a number of components", also=also))


@dataclass(frozen=True, repr=False)
class SparsePLS(PLSSpecification):
    """Partial least squares with components of few columns (sparse PLS-DA).

    Each direction is found by iteration, and a soft threshold sets all except this number of its entries to
    zero (Le Cao, Boitard & Besse, 2011, BMC Bioinformatics 12, 253; mixOmics' splsda).

    Parameters
    ----------
    nonzero : int or sequence of int
        How many columns each component may use, mixOmics' `keepX`; a sequence has a number for each
        component, and determines how many components there are.

    Examples
    --------
    >>> from discrim import pls
    >>> from discrim.subspace import SparsePLS
    >>> pls("cultivar ~ .", "wine", algorithm=SparsePLS([3, 2])).selected.tolist()
    ['alcohol', 'flavanoids', 'od280_od315', 'proline', 'total_phenols']
    """

    nonzero: int | Sequence[int]

    word = "sparse"

    def __post_init__(self) -> None:
        """Validate the parameter."""
        value: Any = self.nonzero
        is_sequence = isinstance(value, Iterable) and not isinstance(value, str | bytes)
        also = ", or one for each component"
        counts = tuple(
            check_integer("nonzero", count, 1, description="a number of columns", also=also)
            for count in (value if is_sequence else [value])
        )
        if not counts:
            raise DataError(f"nonzero={self.nonzero!r} is empty.", hint="Pass a number for each component.")
        self._set("nonzero", counts if is_sequence else counts[0])


PLS: tuple[type[PLSSpecification], ...] = (OrthogonalPLS, SparsePLS)
"""All kinds of partial least squares."""


def _check_n_axes(value: Any, name: str = "n") -> int | float | Choice:
    """Return a number of axes: an integer from 1, a share of the variance as a float, "cv" or "loo".

    Any other value is a DataError, in which `name` is the name of the option.
    """
    choices: dict[Any, Choice] = {"cv": "cv", "loo": "loo"}
    if isinstance(value, str) and value in choices:
        return choices[value]
    also = ', a share of the variance between 0 and 1, "cv" or "loo"'
    if is_number(value) and not is_integer(value) and in_range(value, 0.0, 1.0, "()"):
        return float(value)
    return check_integer(name, value, 1, description="a number of axes", also=also)


def read_features(value: Any) -> KernelFeatures | None:
    """Return the specification that `components=` of `kernel_lda` stands for; None for the whole kernel.

    The value is None, a specification, or a number of landmarks, which stands for `Landmarks`. Any other
    value is a DataError.
    """
    if value is None:
        return value
    if isinstance(value, Specification | type):
        also = "a number of landmarks, "
        features: KernelFeatures = read_specification("components", value, {}, FEATURES, also=also)
        return features
    also = ", or None for the kernel of all rows"
    return Landmarks(check_integer("components", value, 1, MAX_FEATURES, also=also))


def read_algorithm(value: Any) -> Any:
    """Validate the value of `algorithm=` of `pls` and return it.

    Words ("nipals" and "simpls") and specifications are validated. Any other object is returned unchecked; it
    has to be a regression, for example of scikit-learn.
    """
    if isinstance(value, str):
        check_word("algorithm", value, ("nipals", "simpls"))
    elif isinstance(value, Specification) or (isinstance(value, type) and issubclass(value, Specification)):
        return read_specification("algorithm", value, {}, PLS, also="'nipals', 'simpls', ")
    return value


def read_subspace(value: Any) -> SubspaceSpecification | None:
    """Return the specification that `components=` stands for, or None for all columns.

    The value is None, a specification, or the number of axes of `PrincipalComponents`: an integer, a share of
    the variance, "cv" or "loo". Any other value is a DataError.
    """
    if value is None:
        return value
    if isinstance(value, Specification | type):
        also = 'a number of axes, a share of the variance between 0 and 1, "cv", "loo", '
        subspace: SubspaceSpecification = read_specification("components", value, {}, SUBSPACES, also=also)
        return subspace
    return PrincipalComponents(_check_n_axes(value, "components"))
