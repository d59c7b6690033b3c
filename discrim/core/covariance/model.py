"""Covariance models of normal classes: the interface, and the full covariance.

Linear and quadratic discriminant analysis hold one `CovarianceModel` and never test for its class. A model is
a frozen dataclass in a file of its own. It has the options of the user and, once it is estimated, the
parameters that observations or moments determined, such as a shrinkage. `CovarianceModel` implements the
defaults: a model that follows from moments, exists for independent columns only, does not maximize a
likelihood, and leaves observations out by refits.

Divisors of shape (1,) stand for one covariance for all classes, of shape (K,) for one for each class.

*Units.* Estimators that pool variances across columns (spherical target, median variance) depend on the scale
of the columns. If the columns are to be standardized, `column_units` returns their standard deviations: rows
and moments are divided by these before `fit_to_rows` and `candidate_scores`, and `in_data_units` is the model
of such columns. Otherwise `rescaled` brings the columns to scales whose ratios are in the range of float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discrim.core.covariance.covariance import Covariance, Dependency, dependencies, pooled, separate
from discrim.core.covariance.shrinkage import Shrinkage, Trial
from discrim.core.moments.derived_moments import comparable, in_deviations, standardized_left_out, within_sd
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks, Spread
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import FullLeftOut, LeftOut, by_refits, squared_gaps
from discrim.errors import CollinearError, DiscrimError, NotSupportedError

Item = tuple[str, Any, str]
"""A line of a header: what is said, the value, a tuple where it is one for each covariance, and its text."""

Parts = dict[str, Any]
"""Options and buffers of a file that are of its covariances, by name; each kind takes its own out."""


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """The rows of a fit, for the kinds that moments do not say; labels of the classes, for messages."""

    blocks: RowBlocks
    classes: Sequence[Any]


@dataclass(frozen=True, slots=True, eq=False)
class NormalClasses:
    """Normal classes as they were estimated: what a likelihood and leaving rows out take.

    Attributes
    ----------
    moments : ClassMoments
        As `CovarianceModel.estimate` took them.
    covariances : tuple of Covariance
        One, or one for each class.
    divisors : (1,) or (K,) float
    log_prior : (K,) float
    rows : iterable, optional
        All rows of the fit, in the `unit` of the kind, where rows say a shrinkage; without, it stays.
    """

    moments: ClassMoments
    covariances: tuple[Covariance, ...]
    divisors: Floats
    log_prior: Floats
    rows: RowBlocks | None = None


class CovarianceEstimates(NamedTuple):
    """A kind with what moments say of it, these on the scales that it takes, and covariances in them."""

    covariance_model: CovarianceModel
    moments: ClassMoments
    covariances: tuple[Covariance, ...]


@dataclass(frozen=True, slots=True)
class Sphere:
    """The units of a sphere: those of the data."""

    in_data: ClassVar[bool] = True
    text: ClassVar[str] = "in columns' units"

    def unit(self, moments: ClassMoments) -> Floats | None:
        """Standard deviations (p,) that columns are divided by; None for the units of the data."""
        return None

    def scaled(self, moments: ClassMoments) -> ClassMoments:
        """Moments on scales within reach of one sphere."""
        return comparable(moments)

    def in_units(self, moments: ClassMoments) -> ClassMoments:
        """Moments in the units of the sphere."""
        return moments

    def left_out(self, fitted: NormalClasses, scores: Callable[[NormalClasses], LeftOut]) -> LeftOut:
        """Scores of rows left out by moments in the units of the sphere, which stay."""
        return scores(replace(fitted, moments=comparable(fitted.moments)))

    def keyword(self) -> dict[str, bool]:
        """What asks for it, and what a file keeps."""
        return {"standardize": not self.in_data}

    @property
    def item(self) -> Item:
        """The line of a header that says its units."""
        return "Sphere", self.text, self.text


@dataclass(frozen=True, slots=True)
class StandardSphere(Sphere):
    """The units of a sphere: columns over their standard deviations within classes."""

    in_data = False
    text = "of standardized columns"

    def unit(self, moments: ClassMoments) -> Floats:
        """Standard deviations (p,)."""
        return within_sd(moments)

    def scaled(self, moments: ClassMoments) -> ClassMoments:
        """Moments as they are: standard deviations are all within reach."""
        return moments

    def in_units(self, moments: ClassMoments) -> ClassMoments:
        """Moments of columns over their standard deviations."""
        return in_deviations(moments)

    def left_out(self, fitted: NormalClasses, scores: Callable[[NormalClasses], LeftOut]) -> LeftOut:
        """Scores of rows over the standard deviations of all rows."""
        return standardized_left_out(fitted.moments, lambda moments: scores(replace(fitted, moments=moments)))


SPHERES = (Sphere(), StandardSphere())
"""The units of the data, and standard deviations: by whether columns are standardized."""

SHRINKAGES = ("shrinkage", "variance_shrinkage")
"""Names, in keywords and in files, of the shrinkage of a covariance, and of that of variances beside it."""


class CovarianceModel(ABC):
    """A kind of covariance."""

    __slots__ = ()

    word: ClassVar[str] = ""
    """Of `covariance=` and in files."""

    is_regular: ClassVar[bool] = False
    """Whether it exists for dependent columns, and for more columns than rows."""

    of_few_axes: ClassVar[bool] = False
    """Whether a root of as few rows as a class has is enough, where these are fewer than the columns."""

    goes_within_axes: ClassVar[bool] = False
    """Whether it can be that of scores on principal axes."""

    needs_products: ClassVar[bool] = True
    """Whether it takes the products of columns, and not their squares alone."""

    covariates: int = 0
    """How many columns, the first, others are adjusted for: degrees of freedom that these slopes take."""

    # ---- what was asked for

    def bind_classes(self, levels: Sequence[Any], n_columns: int) -> Self:
        """The same of classes that are known; an error where what was asked for is not of them."""
        return self

    def unfitted(self) -> Self:
        """The same as it was asked for, without what rows and moments said."""
        return self

    def for_columns(self, keep: Codes) -> CovarianceModel:
        """Return the covariance model for the columns at some positions (q,), in increasing order."""
        return self

    def for_refit(self) -> CovarianceModel:
        """The kind that a refit to other moments estimates, what only rows say kept."""
        return self

    # ---- shrinkage

    @property
    def shrinkages(self) -> tuple[Shrinkage, ...]:
        """Of what is shrunk, as `SHRINKAGES` names it."""
        return ()

    def chosen_parameters(self) -> dict[str, Any]:
        """Return the parameters of the specification that the rows chose, by name; empty without a choice."""
        if self.shrinkages and self.shrinkages[0].rule == "loo":
            return {"shrinkage": self.shrinkages[0].values[0], "grid": None}
        return {}

    def for_class(self, k: int | None) -> CovarianceModel:
        """The same of one class alone."""
        return self

    def with_shrinkages(self, *values: float) -> CovarianceModel:
        """The same with these shrinkages, one or one for each class."""
        return self

    def in_data_units(self) -> CovarianceModel:
        """The same, of rows and moments that are in its `unit` already."""
        return self

    def candidate_scores(self, moments: ClassMoments, divisors: Floats, log_prior: Floats) -> Trial:
        """Scores of rows without themselves under each shrinkage of the grid; none of kinds without one."""
        return lambda x, codes, weights: iter(())

    # ---- what it takes

    @classmethod
    def required_moments(cls, full: Spread, *, thin: bool = False) -> Spread:
        """What is to be known of the scatter, where a full covariance takes `full`; thin of few rows."""
        if not cls.needs_products:
            return "diagonal"
        if thin and cls.is_regular:
            return "thin" if full == "pooled" else "thin class"
        return full

    def requires_full_rank(self, n_columns: int) -> bool:
        """Whether the covariance of so many columns exists for independent columns only."""
        return not self.is_regular

    def check(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Columns for which the covariance of class k, or the pooled one, does not exist."""
        return all_constant(moments, k) if self.is_regular else dependencies(moments, k)

    def find_out_of_range(self, moments: ClassMoments, k: int | None) -> tuple[int, int] | None:
        """A column whose squared distances would be no doubles, and that which its variance is taken from."""
        return None

    sphere: Sphere | None = None
    """The units of the sphere that the kind is drawn towards, or is beyond a few axes."""

    def column_units(self, moments: ClassMoments) -> Floats | None:
        """What columns (p,) are divided by before they are compared; None for the units of the data."""
        return None if self.sphere is None else self.sphere.unit(moments)

    @property
    def depends_on_units(self) -> bool:
        """Whether there is a sphere in the units of the data."""
        return self.sphere is not None and self.sphere.in_data

    @property
    def compared(self) -> str:
        """What is in the units of the columns, where they are compared."""
        return f'The sphere of covariance="{self.word}"'

    def rescaled(self, moments: ClassMoments) -> ClassMoments:
        """Moments on scales within reach of each other, where columns are compared."""
        return moments if self.sphere is None else self.sphere.scaled(moments)

    # ---- estimates

    @property
    def needs_rows(self) -> bool:
        """Whether moments do not say it, so that a refit reads the rows."""
        return any(shrinkage.by_rows for shrinkage in self.shrinkages)

    def fit_to_rows(self, rows: LabelledRows, moments: ClassMoments, divisors: Floats) -> Self:
        """The same with what only rows say, of rows and moments in the `unit` of the kind."""
        return self

    @abstractmethod
    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Covariances from moments without `obstacles`; a NoEstimateError where there is none."""

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Scores of rows under the rule fitted without each of them; missing where a refit has to say them.

        A NotSupportedError says that there is no closed form, and that refits would take too long.
        """
        takes = f"of a covariance by {self.word} takes a refit for each row"
        return by_refits(int(fitted.moments.rows.sum()), fitted.moments.n_classes, takes)

    def check_leave_one_out(self, moments: ClassMoments) -> None:
        """Raise NotSupportedError if leaving rows out takes too many refits, or has no rule."""
        if type(self).leave_one_out is CovarianceModel.leave_one_out:
            takes = f"of a covariance by {self.word} takes a refit for each row"
            by_refits(int(moments.rows.sum()), moments.n_classes, takes)

    @property
    def refits_each_row(self) -> bool:
        """Whether leaving rows out takes a fit, or a search, for each of them."""
        return type(self).leave_one_out is CovarianceModel.leave_one_out

    # ---- likelihood and sampling law

    @property
    def is_maximum(self) -> bool:
        """Whether it maximizes the likelihood among those of its kind, but for its divisor."""
        return False

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Number of free parameters; a NotSupportedError of what maximizes no likelihood."""
        raise self.no_likelihood("A number of free parameters")

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Log-likelihood of class and row; a NotSupportedError of what maximizes no likelihood."""
        if not self.is_maximum:
            raise self.no_likelihood("A log-likelihood")
        moments = fitted.moments
        divisors = fitted.divisors
        counts = moments.counts if len(divisors) > 1 else np.array([moments.total])
        ratios = (counts / divisors).tolist()
        logdets = [c.divided_by(r).logdet for c, r in zip(fitted.covariances, ratios, strict=True)]
        return gaussian.log_likelihood(moments, np.broadcast_to(logdets, moments.n_classes), fitted.log_prior)

    def check_reduced_axes(self) -> None:
        """Raise where the log-likelihood exists for all canonical axes only."""
        # At the maximum the axes left out add to the covariance, which is then no longer of its kind.
        raise NotSupportedError(
            f"The log-likelihood of a {self.word} covariance exists for all axes only.",
            hint="Fit without ncomp=.",
        )

    def no_likelihood(self, what: str) -> NotSupportedError:
        """The error that refuses what takes an estimate of maximum likelihood."""
        return NotSupportedError(
            f"{what} needs a maximum of the likelihood, which a covariance {self.phrase} does not give.",
            hint='Compare by error_rates(["cv"]), or fit another covariance.',
        )

    @property
    def is_of_moments(self) -> bool:
        """Whether means and covariances are moments of complete rows."""
        return True

    @property
    def is_robust(self) -> bool:
        """Whether means and covariances are robust ones."""
        return False

    def refusal(self, what: str) -> NotSupportedError | None:
        """The error that refuses what assumes the sampling law of moments; None where that holds."""
        return None

    @property
    def has_distances(self) -> bool:
        """Whether it is the full covariance of moments, whose distances have a law."""
        return False

    @property
    def has_errors(self) -> bool:
        """Whether coefficients of a linear rule have standard errors."""
        return False

    # ---- words

    means_title: ClassVar[str] = "Means"
    """Of the table of class means."""

    pooled_title: ClassVar[str] = "Pooled c"
    """What the title of one covariance begins with."""

    likelihood_title: ClassVar[str] = "Log-likelihood"
    """Of the line of a header that says it."""

    sections: ClassVar[tuple[str, ...]] = ()
    """What a summary has beside that of other kinds: "flagged", "ranking", "factors"."""

    @property
    def is_common(self) -> bool:
        """Whether covariances of the classes are all the same."""
        return False

    def described(self, *, by_class: bool, mle: bool) -> str:
        """What a header says of the covariance and its divisor."""
        return f"{self.word}{' by class' if by_class else ''}, {divisor_text(by_class=by_class, mle=mle)}"

    def title(self, where: str, divisor: str, *, by_class: bool) -> str:
        """Of the table of a covariance."""
        return f"{'C' if by_class else self.pooled_title}ovariance {where}, divisor {divisor}"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[Item]:
        """Lines of a header: what it alone has."""
        sphere = [] if self.sphere is None else [self.sphere.item]
        return [*(shrinkage.item for shrinkage in self.shrinkages), *sphere]

    def note(self, short: Callable[[str], str]) -> str:
        """What a header says below its lines, with a text of the user's cut short."""
        return " ".join(shrinkage.note for shrinkage in self.shrinkages).strip()

    advice: ClassVar[str] = 'pass covariance="shrunk" to qda(), or see rda()'
    """What to do where the covariance of a class is singular."""

    full_instead: ClassVar[str] = 'with covariance="pooled"'
    """How to fit the full covariance that a table needs."""

    instead: ClassVar[str] = ""
    """A shrinkage in the place of one that leaves a covariance singular."""

    def warning(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> str | None:
        """What a fit warns of."""
        return None

    @property
    def phrase(self) -> str:
        """What a message says of a covariance of this kind."""
        return f"by covariance={self.word!r}"

    @property
    def adjective(self) -> str:
        """What a message calls such a covariance."""
        return self.word

    # ---- files

    def options(self) -> Parts:
        """What a file keeps of it among the options of the fit, but for its word."""
        chosen = zip(("chosen", "variance_chosen"), self.shrinkages, strict=False)
        units = {} if self.sphere is None else self.sphere.keyword()
        return {name: shrinkage.rule for name, shrinkage in chosen} | units

    def buffers(self, covariances: tuple[Covariance, ...]) -> dict[str, Floats]:
        """What a file keeps of it that moments do not say again."""
        own = zip(SHRINKAGES, self.shrinkages, strict=False)
        return {name: shrinkage.buffer() for name, shrinkage in own}

    @classmethod
    def shapes(cls, n_covariances: int, n_columns: int) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the buffers; a length of -1 may be any."""
        return {"shrinkage": (n_covariances,), "variance_shrinkage": (1,)}

    @classmethod
    def from_file(cls, parts: Parts) -> CovarianceModel:
        """The kind that a file is of, which takes its own out of all parts, if these go together."""
        return cls()


@dataclass(frozen=True, slots=True)
class FullCovariance(CovarianceModel):
    """The full covariance: all that moments say of the columns."""

    word = "full"
    is_maximum = True
    goes_within_axes = True

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """The covariance with these divisors."""
        common = len(divisors) == 1
        found = (pooled(moments, float(divisors[0])),) if common else separate(moments, divisors)
        return CovarianceEstimates(self, moments, found)

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Scores in closed form, by distances under the fit to all rows."""
        return full_left_out(fitted)

    def described(self, *, by_class: bool, mle: bool) -> str:
        """What a header says of it."""
        return f"{'by class' if by_class else 'pooled'}, {divisor_text(by_class=by_class, mle=mle)}"

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Variances and covariances."""
        return n_covariances * n_columns * (n_columns + 1) // 2

    def check_reduced_axes(self) -> None:
        """The rank-constrained maximum is known."""

    @property
    def has_distances(self) -> bool:
        """Where it is that of moments."""
        return self.is_of_moments

    @property
    def has_errors(self) -> bool:
        """Where it is that of moments."""
        return self.is_of_moments


def full_left_out(fitted: NormalClasses) -> FullLeftOut:
    """Scores with each row left out under full covariances, one or one for each class."""
    moments = fitted.moments
    covariances = fitted.covariances
    divisors = fitted.divisors
    if len(divisors) > 1:
        rule = gaussian.separate_plugin(moments, covariances, fitted.log_prior)
        return FullLeftOut(rule.distances, moments.counts, moments.rows, divisors, rule.constant)
    distances = gaussian.distances(moments, covariances)
    gaps = squared_gaps(covariances[0].whiten(distances.means.T).T)
    return FullLeftOut(distances, moments.counts, moments.rows, divisors, fitted.log_prior, gaps)


class NoEstimateError(CollinearError):
    """There is no covariance of a kind, for a reason that is told with the names of the classes."""

    def of_classes(self, levels: Sequence[Any], rows: Sequence[int]) -> DiscrimError:
        """The error that names the class, of so many rows each."""
        return self


def divisor_text(*, by_class: bool, mle: bool) -> str:
    """The divisor of covariances, in a header."""
    return ("1/n" if mle else "1/(n-1)") if by_class else ("1/N" if mle else "1/(N-K)")


def each_covariance(divisors: Floats) -> list[tuple[int | None, float]]:
    """The scatter that each covariance is of, None for the pooled one, with its divisor."""
    if len(divisors) == 1:
        return [(None, float(divisors[0]))]
    return list(enumerate(divisors.tolist()))


def all_constant(moments: ClassMoments, k: int | None) -> list[Dependency]:
    """The columns of class k, or of all, where none of them varies."""
    constant = dependencies(moments, k, diagonal=True)
    return constant if len(constant) == moments.n_columns else []
