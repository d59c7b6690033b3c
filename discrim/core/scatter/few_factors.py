"""Covariances of a few large variances and one beyond them, as a kind; the theory is that of `factor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut, by_refits
from discrim.core.scatter import factor, scatter
from discrim.core.scatter.covariance import Covariance
from discrim.core.scatter.factor import Factors, Fault, Found, Wanted
from discrim.core.scatter.scatter import CovarianceKeywords, Estimated, Item, NormalClasses, Parts, Scatter
from discrim.errors import CollinearError, DataError, DiscrimError

DEFAULT_FORM = "AkjBkQkDk"

THRESHOLD = 0.2
"""Share of the largest fall of the eigenvalues from which on the scree test takes a fall for signal."""

_BY_TEXT = {form.lower(): form for form in factor.FORMS}

_FOUND: dict[str, Found] = {"given": "given", "cattell": "cattell", "bic": "bic"}


@dataclass(frozen=True, slots=True)
class FewFactors(Scatter):
    """Covariances of a few large variances, one for each class.

    Dimensions are those that were given, a number or one by class, before the classes are known; axes and
    dimensions are known once they are estimated.
    """

    wanted: Wanted
    dimensions: Any = None
    sphere: scatter.Sphere = scatter.SPHERES[0]
    factors: Factors | None = None

    word = "factor"
    sections = ("factors",)
    takes = ("dimensions", "form", "threshold", "standardize")
    is_regular = True
    is_maximum = True
    of_few_axes = True

    @classmethod
    def read(cls, keywords: CovarianceKeywords) -> FewFactors:
        """By `dimensions=`, `form=`, `threshold=` and `standardize=`."""
        form, threshold = keywords.form, keywords.threshold
        known = _BY_TEXT.get(form.lower()) if isinstance(form, str) else None
        if form is not None and known is None:
            raise DataError(
                f"form={_told(form)} is not known: use one of {', '.join(map(repr, factor.FORMS))}."
            )
        dimensions = "cattell" if keywords.dimensions is None else keywords.dimensions
        by_word = isinstance(dimensions, str)
        if threshold is not None and not (by_word and dimensions == "cattell"):
            raise DataError(
                f'threshold={threshold!r} goes with dimensions="cattell", and not with {dimensions!r}: leave '
                "it out."
            )
        number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
        if threshold is not None and not (number and 0 < threshold < 1):
            raise DataError(
                f"threshold={_told(threshold)}: give a share of the largest fall, between 0 and 1, as 0.2."
            )
        if by_word and dimensions not in ("cattell", "bic"):
            raise DataError(
                f'dimensions={dimensions!r} is not known: use "cattell", "bic", a number, or one by class.'
            )
        for one in (
            () if by_word else dimensions.values() if isinstance(dimensions, Mapping) else [dimensions]
        ):
            if not isinstance(one, int | np.integer) or isinstance(one, bool) or one < 1:
                raise DataError(
                    f"dimensions={_told(one)}: give a whole number from 1 on, a dict of them by class, "
                    '"cattell" or "bic"; without any, covariance="spherical" is the model.'
                )
        share = THRESHOLD if threshold is None else float(threshold)
        found = _FOUND[dimensions] if by_word else "given"
        wanted = Wanted(known or DEFAULT_FORM, found, None, share)
        return cls(wanted, None if by_word else dimensions, scatter.SPHERES[bool(keywords.standardize)])

    def for_classes(self, levels: Sequence[Any], n_columns: int) -> FewFactors:
        """With the dimensions that were given, by class.

        Raises
        ------
        CollinearError
            There is one column.
        DataError
            Classes are unknown or missing, or the dimensions are to be the same.
        """
        if n_columns < 2:
            raise CollinearError(
                'covariance="factor" needs two columns or more, and there is one: use covariance="full".'
            )
        if self.dimensions is None:
            return self
        if not isinstance(self.dimensions, Mapping):
            return self._given(np.full(len(levels), int(self.dimensions)))
        unknown = [label for label in self.dimensions if label not in levels]
        if unknown:
            some = ", ".join(_told(label) for label in levels[:8])
            more = f" and {len(levels) - 8} more" if len(levels) > 8 else ""
            raise DataError(f"dimensions= names {_told(unknown[0])}, which is no class: name {some}{more}.")
        missing = [label for label in levels if label not in self.dimensions]
        if missing:
            raise DataError(
                f"dimensions= gives nothing for class {_told(missing[0])}: give each class a number."
            )
        by_class, form = np.array([int(self.dimensions[label]) for label in levels]), self.wanted.form
        if factor.common_dimension(form) and len(set(by_class.tolist())) > 1:
            other = "" if factor.common_axes(form) else f', or pass form="{form}k"'
            raise DataError(
                f'form="{form}" has one dimension for all classes, and dimensions= gives several: give '
                f"one number{other}."
            )
        return self._given(by_class)

    def _given(self, dimensions: Codes) -> FewFactors:
        return replace(self, wanted=replace(self.wanted, given=dimensions))

    def keywords(self) -> dict[str, Any]:
        """With the form, the units and what finds the dimensions; given ones are those of the classes."""
        own = {"covariance": self.word, "form": self.wanted.form, **self.sphere.keyword()}
        own |= {"dimensions": self.wanted.found if self.wanted.given is None else self.wanted.given.tolist()}
        return own | ({"threshold": self.wanted.threshold} if self.wanted.found == "cattell" else {})

    def anew(self) -> FewFactors:
        """The same, whose dimensions are chosen anew where rows chose them."""
        return replace(self, wanted=self.wanted.anew(), factors=None)

    def for_other_moments(self) -> FewFactors:
        """As `anew`: moments choose the dimensions."""
        return self.anew()

    def estimate(self, moments: ClassMoments, divisors: Floats) -> Estimated:
        """The covariance of each class."""
        moments = self.scaled(moments)
        factors = factor.factors_of(self.sphere.in_units(moments), self.wanted)
        fault = factors.fault()
        if fault is not None:
            raise FactorFaultError(fault, factors.form)
        return Estimated(replace(self, factors=factors), moments, factors.covariances(divisors))

    def left_out(self, fitted: NormalClasses) -> LeftOut:
        """Scores in closed form, where the covariance of a class is that of its own rows."""
        factors = self.factors
        if factors is None or self.refits_left_out:
            form = self.wanted.form
            takes = f"with form={form!r}, of what classes have in common, takes a refit for each row"
            return by_refits(fitted.moments.total, fitted.moments.n_classes, takes)
        return self.sphere.left_out(fitted, lambda held: factor.factors_left_out(held, factors))

    @property
    def refits_left_out(self) -> bool:
        """Where classes have something in common."""
        return self.factors is not None and not factor.found_by_class(self.factors)

    def free_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Axes, variances and, where the rows chose them, dimensions."""
        return 0 if self.factors is None else self.factors.free_parameters()

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Log-likelihood at the variances by the counts, which what is common weighs by."""
        most_likely = () if self.factors is None else self.factors.covariances(fitted.moments.counts)
        logdets = np.array([covariance.logdet for covariance in most_likely])
        return gaussian.log_likelihood(fitted.moments, logdets, fitted.log_prior)

    @property
    def is_one_for_all(self) -> bool:
        """Where the axes are common."""
        return factor.common_axes(self.wanted.form)

    def described(self, *, by_class: bool, mle: bool) -> str:
        """What a header says of it."""
        if self.is_one_for_all:
            return f"factor, common, {scatter.divisor_text(by_class=False, mle=mle)}"
        return f"factor by class, {scatter.divisor_text(by_class=True, mle=mle)}"

    @property
    def found_label(self) -> str:
        """How dimensions were found, in words."""
        words = {"given": "given", "bic": "BIC", "cattell": f"Cattell, {self.wanted.threshold:g}"}
        return words[self.wanted.found]

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[Item]:
        """Form, dimensions and the units of the sphere."""
        form, held = self.wanted.form, () if self.factors is None else tuple(self.factors.dimensions.tolist())
        text = f"{min(held)}" if min(held) == max(held) else f"{min(held)} to {max(held)}"
        dimensions = f"Dimensions, {self.found_label}", held, text
        return [("Form", form, form), dimensions, self.sphere.item]

    def options(self) -> Parts:
        """Form, how dimensions were found, and the units of the sphere."""
        return {
            "form": self.wanted.form,
            "found_by": self.wanted.found,
            "least_fall": self.wanted.threshold,
            **self.sphere.keyword(),
        }

    def buffers(self, covariances: tuple[Covariance, ...]) -> dict[str, Floats]:
        """The dimensions."""
        return {} if self.factors is None else {"dimensions": self.factors.dimensions.astype(float)}

    @classmethod
    def shapes(cls, n_covariances: int, n_columns: int) -> dict[str, tuple[int, ...]]:
        """A dimension for each class."""
        return {"dimensions": (n_covariances,)}

    @classmethod
    def from_file(cls, parts: Parts) -> FewFactors:
        """With the dimensions of the file, however they were found."""
        names = ("form", "found_by", "least_fall", "dimensions")
        form, found, threshold, dimensions = (parts.pop(name, None) for name in names)
        if form is None or found is None or threshold is None or dimensions is None:
            raise DataError("its form, or its dimensions, do not go with its structure")
        if form not in factor.FORMS or found not in _FOUND or not 0 <= threshold <= 1:
            raise DataError("its form, or how its dimensions were found, is not known")
        whole = dimensions.astype(np.intp)
        if (whole != dimensions).any() or (whole < 1).any():
            raise DataError("its dimensions are no whole numbers")
        if factor.common_dimension(form) and len(set(whole.tolist())) > 1:
            raise DataError("its dimensions are to be the same")
        return cls(
            Wanted(form, _FOUND[found], whole, threshold), None, scatter.SPHERES[parts.pop("standardize")]
        )


def _told(value: Any) -> str:
    """What was given for an option, for a message: a scalar as it is, of anything else its type."""
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, str | int | float) else f"<{type(value).__name__}>"


class FactorFaultError(scatter.NoEstimateError):
    """A class has no covariance of a form."""

    def __init__(self, fault: Fault, form: str) -> None:
        super().__init__("its dimensions do not go with its moments")
        self.fault, self.form = fault, form

    def of_classes(self, levels: Sequence[Any], rows: Sequence[int]) -> DiscrimError:
        """The error that names the class, and the way out."""
        fault, form = self.fault, self.form
        if fault.kind == "order":
            which = "noise" if "Bk" not in form else "signal"
            own = 'form="AkjBkQkDk"' if not factor.common_dimension(form) else 'form="AkjBkQkD"'
            return DataError(
                f'In form="{form}", with one variance of the {which} for all classes, a signal of class '
                f"{levels[fault.code]!r} varies less than its noise: pass {own}, or fewer dimensions."
            )
        said = "the classes, whose rows vary within them"
        if fault.code >= 0:
            said = f"class {levels[fault.code]!r}, whose {rows[fault.code]} rows vary"
        one = fault.rank == 1
        return CollinearError(
            f"{fault.dimension} dimension{'s' * (fault.dimension != 1)} of the signal leave nothing to the "
            f"noise of {said} in {fault.rank} dimension{'s' * (not one)} only: "
            + (
                'pass covariance="shrunk", or leave the class out.'
                if fault.rank <= 1
                else f'pass dimensions= of {fault.rank - 1} at most, or covariance="shrunk".'
            )
        )
