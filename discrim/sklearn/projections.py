"""Estimators over rules on few directions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Any

import discrim
from discrim.errors import CollinearError, DataError, DiscrimError
from discrim.models.fits.reading import is_whole
from discrim.models.judging.validation import Splits
from discrim.sklearn import base
from discrim.sklearn.base import LinearCoefficients, Simpler, WeightedClassifier


@base.estimator
class PLSClassifier(WeightedClassifier):
    """Discriminant analysis by partial least squares; see `discrim.pls`.

    Parameters
    ----------
    ncomp : int, optional
        Number of components. If it is not given, it is chosen by cross-validation.
    orthogonal : int or "cv"
        Number of orthogonal components, or "cv" to have it chosen by cross-validation; zero stands for
        ordinary partial least squares. Any other number gives OPLS-DA, which has as many predictive
        components as the class means differ in directions (one for two classes) and does not use `ncomp`.
    nonzero : int or sequence of int, optional
        How many columns each component may use; a sequence has a number for each component. This is sparse
        PLS-DA, with mixOmics' `keepX`.
    within : column name, optional
        Column that says which rows belong together, such as the subject of repeated measures. This is
        multilevel PLS-DA: each column is taken as its deviation from its mean over all observations of the
        group that miss no predictor, with or without a class, and folds leave out whole groups. A column that
        is named here is not part of ``.`` in the formula.
    rule : {"lda", "max", "centroid"}
        How a row is assigned to a class. "lda" is the linear discriminant analysis of the scores, which has
        posteriors. "max" takes the largest fitted indicator, as mixOmics' "max.dist", and "centroid" the
        nearest centroid of the scores, as its "centroids.dist".
    scale : bool
        Whether the columns are divided by their standard deviations over all rows (divisor N - 1).
    indicators : {"scaled", "centred"}
        "scaled" divides the indicators of the classes by their standard deviations, which gives small classes
        as much weight as large ones; scikit-learn, mixOmics and mdatools do so where they scale. "centred"
        does not, as R's pls. For two classes it makes no difference.
    algorithm : {"nipals", "simpls"}
        How the columns are deflated; see the Notes of `discrim.pls`.
    engine : object, optional
        A regression that finds the components instead, such as scikit-learn's `PLSRegression()`. A copy of it
        is fitted to the columns and indicators, centred and scaled as said here, and must then have
        `x_weights_`, `x_loadings_` and `x_rotations_`. With ncomp=None it has as many components as it
        was made with. The fit then needs the rows in memory, and each refit fits the engine once.
    cv : int, or iterable of (train, test)
        Number of folds of the cross-validation that makes the choice. Or splits as in scikit-learn, which are
        positions of rows of the table; methods that judge the fit by folds then choose again on the same
        splits, without the rows of the fold.
    select : {"min", "1se"}
        "min" takes the fewest components of least error. "1se" takes the fewest whose error is within one
        standard error of it.
    grid : sequence of int, optional
        Numbers of components to try; by default 1 to 10, or to as many as there are.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data. Only rule="lda"
        has a prior.
    few : {"fewer", "raise"}
        What to do if the rows have fewer components than asked for, or scores that do not vary within
        classes. "fewer" fits as many as there are, and one if there are too few rows to choose by folds, with
        a warning, so that a search over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.pls)
    _goes_on = ("few", "fewer")

    ncomp: int | None = None
    _: KW_ONLY
    orthogonal: int | str = 0
    nonzero: int | Sequence[int] | None = None
    within: str | None = None
    rule: str = "lda"
    scale: bool = True
    indicators: str = "scaled"
    algorithm: str = "nipals"
    engine: Any = None
    cv: int | Splits = 10
    select: str = "min"
    grid: Sequence[int] | None = None
    seed: int | None = 0
    prior: Any = None
    few: str = "fewer"

    def _has_posteriors(self) -> bool:
        return self.rule == "lda"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        name, what = (
            ("orthogonal", "orthogonal component") if options["orthogonal"] else ("ncomp", "component")
        )
        given = options[name]
        if not (given is None or given == "cv" or is_whole(given)):
            return None
        columns = options["nonzero"]
        if isinstance(columns, Sequence) and columns and all(map(is_whole, columns)):
            # One number for all components, however few they are.
            given, options = len(columns), options | {"nonzero": max(columns)}
        most = min(int(given) - 1, self.n_features_in_) if is_whole(given) else 1
        fewer = [(f"{count} {what}{'s' if count > 1 else ''}", {name: count}) for count in range(most, 0, -1)]
        if options["orthogonal"]:
            fewer.append(("1 component", {"orthogonal": 0, "ncomp": 1}))
        for words, other in fewer:
            with suppress(CollinearError, DataError):
                return base.fitted_instead(error, words, discrim.pls, formula, data, **options | other)
        return None


@base.estimator
class SparseLDAClassifier(LinearCoefficients, WeightedClassifier):
    """Sparse discriminant analysis; see `discrim.sparse_lda`.

    Parameters
    ----------
    nonzero : int or sequence of int, optional
        How many columns each direction may use; a sequence has a number for each direction. The penalty is
        then the smallest that leaves so many, as with `stop=-nonzero` of R's sparseLDA.
    penalty : float or sequence of float, optional
        Factor of the sum of the absolute coefficients of standardized columns; zero stands for no penalty. No
        column is left at a penalty of 1 or more or, with the default penalties, from `path.penalty[0]` on. If
        neither penalty nor nonzero is given, it is chosen by folds.
    ridge : float
        Factor of half the sum of the squares of these coefficients, up to 1e100; R's sparseLDA has 1e-6.
    ncomp : int, optional
        The largest number of directions.
    cv : int, or iterable of (train, test)
        Number of folds of the cross-validation that makes the choice. Or splits as in scikit-learn, which are
        positions of rows of the table; methods that judge the fit by folds then choose again on the same
        splits, without the rows of the fold.
    select : {"min", "1se"}
        "min" takes the penalty of least error and, of equal errors, the larger one. "1se" takes the largest
        penalty whose error is within one standard error of the least.
    grid : sequence of float, optional
        Penalties to try.
    n_penalties : int
        Number of penalties to try where there is no grid. Their logarithms are evenly spaced, from the
        penalty that leaves no column down to a thousandth of it, or to a hundredth where there are fewer rows
        than columns.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    singular : {"shrink", "raise"}
        What to do if a class has too few rows to leave some out for a choice, or a direction does not vary
        within classes. "shrink" fits `lda(covariance="shrunk", standardize=True)` with a warning, so that a
        search over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.sparse_lda)
    _goes_on = ("singular", "shrink")

    _: KW_ONLY
    nonzero: int | Sequence[int] | None = None
    penalty: float | Sequence[float] | None = None
    ridge: float = 0.0
    ncomp: int | None = None
    cv: int | Splits = 10
    select: str = "min"
    grid: Sequence[float] | None = None
    n_penalties: int = 50
    seed: int | None = 0
    prior: Any = None
    singular: str = "shrink"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        few = base.class_sizes(data, options).min() <= base.MOST_FEW
        if not (few or isinstance(error, CollinearError)):
            return None
        other = base.plainly_shrunk(options) | {"collinear": "drop"}
        return base.fitted_instead(error, f"lda() with {base.SHRUNK}", discrim.lda, formula, data, **other)
