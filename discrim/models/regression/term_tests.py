"""Tests of the terms of a logistic regression, of types I, II and III.

Theory. A test of a term says that some combinations L of the coefficients are zero where some others, M, are
zero already. Of type I, M has the columns of the terms after it; of type II those of the terms that contain
it, as `a:b` contains `a`; of type III none. Of types I and II, L has the term's own columns. What they test
depends neither on the coding of factors nor, but for the terms that contain a covariate, on its origin.

Of type III, L is what the term's columns would be if each factor's contrasts summed to zero: the effects of
the term, averaged with equal weight over the levels of all other factors, where covariates are zero.

With D(L) the fall of twice the log-likelihood from its maximum to that on L b = 0, the likelihood ratio is
D(L, M) - D(M) (Fox, 2016, Applied Regression Analysis and Generalized Linear Models, ch. 15). Wald's
statistic is the same difference of its quadratic approximation at the maximum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import cho_factor

from discrim.core.numerics.progress import late_bar
from discrim.core.numerics.tails import chi2_sf
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.profile_likelihood import deviance_on
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.design import Coding, Product, Spec
from discrim.inference.linear_terms import TestType
from discrim.inference.wald import wald_statistic
from discrim.models.fits.arguments import asked_type, listed
from discrim.models.fits.fit import Fit
from discrim.models.regression.logistic_design import held
from discrim.models.regression.logistic_inference import HELD, parts_of, refuse_no_maximum, rows_with_maximum
from discrim.models.regression.term_fits import Margins

__all__ = ["likelihood_ratios_by_term", "type_note", "wald_by_term"]

Floats = NDArray[np.float64]

ROMAN = {1: "I", 2: "II", 3: "III"}


@dataclass(frozen=True, slots=True)
class _TermTest:
    """What a test of a term says of the coefficients of one class.

    Attributes
    ----------
    own : (r, p + 1) float
        L, of the constant and the columns of the data.
    given : (s, p + 1) float
        M, the combinations that are zero in both models.
    """

    own: Floats
    given: Floats


def likelihood_ratios_by_term(fit: Fit[LogisticFit], asked: Any) -> pd.DataFrame:
    """Likelihood ratio of each term of the formula; see `LogisticResults.lr_test`."""
    kind = asked_type(asked)
    blocks = rows_with_maximum(fit, "lr_test(by=)")
    key = f"likelihood ratios by term, type {kind}"
    if key in fit.cache:
        kept: pd.DataFrame = fit.cache[key]
        return kept.copy()
    tests = _tests(blocks, kind)
    rows, factor = held(blocks, HELD), cho_factor(fit.numbers.newton.information)
    falls: dict[bytes, float] = {np.empty(0).tobytes(): 0.0}

    def fall(combinations: Floats) -> float:
        """D, once for the terms that one term contains."""
        which = combinations.tobytes()
        if which not in falls:
            falls[which] = deviance_on(fit.numbers, rows, _normals(fit.numbers, combinations), factor)
        return falls[which]

    found = {}
    with late_bar(len(tests), "likelihood ratios of terms") as tell:
        for label, test in tests.items():
            statistic = fall(np.vstack([test.given, test.own])) - fall(test.given)
            if np.isnan(statistic):
                raise DataError(
                    f"The fit without {label!r} has not converged, so that the term cannot be tested: test "
                    'it by its coefficients, as wald_test(by="term") does, or fit without it.'
                )
            found[label] = max(statistic, 0.0)
            tell(1)
    table = _table(found, tests, len(fit.numbers.others))
    fit.cache[key] = table
    return table.copy()


def wald_by_term(fit: Fit[LogisticFit], asked: Any) -> pd.DataFrame:
    """Wald's test of each term of the formula; see `LogisticMethods.wald_test`."""
    kind = asked_type(asked)
    refuse_no_maximum(fit, "wald_test()")
    numbers = fit.numbers
    classes, root = np.eye(len(numbers.others)), numbers.root()
    estimates = numbers.params().T.ravel()
    tests, found = _tests(fit.blocks, kind), {}
    for label, test in tests.items():
        contrasts = np.asarray(np.kron(classes, test.own), dtype=np.float64)
        given = np.asarray(np.kron(classes, test.given), dtype=np.float64)
        found[label] = wald_statistic(root, estimates, contrasts, np.zeros(len(contrasts)), given)
        if np.isnan(found[label]):
            raise NotSupportedError(
                f"The covariance of the coefficients of {label!r} is singular, or out of the range of double "
                'precision: use the covariance of the model, as in robust("nonrobust").wald_test(by="term"), '
                "or give the columns in other units, as standardize() does."
            )
    return _table(found, tests, len(classes))


def type_note(blocks: Blocks, asked: Any = 2) -> str:
    """What the tests of terms compare, as a sentence below their table."""
    kind = asked_type(asked)
    margins = Margins(blocks.design, parts_of(blocks))
    if kind != 1 and len(margins.removable(margins.terms)) == len(margins.terms):
        return "Each against the model without the term."
    return {
        1: "Type I: each term after those before it.",
        2: "Type II: each term after all terms that do not contain it.",
        3: "Type III: each term after all others, over the mean of levels of factors, at covariates of zero.",
    }[kind]


def _table(found: dict[str, float], tests: dict[str, _TermTest], classes: int) -> pd.DataFrame:
    rows = {}
    for label, statistic in found.items():
        df = float(len(tests[label].own) * classes)
        rows[label] = (statistic, df, float(chi2_sf(statistic, df)))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["statistic", "df", "p"])
    return table.rename_axis(index="term")


def _normals(numbers: LogisticFit, combinations: Floats) -> Floats:
    """Combinations of the coefficients of the data as normals of length one in the frame."""
    normals = combinations @ numbers.frame.to_data()
    # Scaled first, as squares of what takes units far from one may be no doubles.
    normals = normals / np.abs(normals).max(axis=1, keepdims=True)
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


def _tests(blocks: Blocks, kind: TestType) -> dict[str, _TermTest]:
    """What the tests of the formula's terms say, in the formula's order."""
    parts = parts_of(blocks)
    margins = Margins(blocks.design, parts)
    order = list(margins.terms)
    units = np.eye(1 + len(blocks.terms))
    tests = {}
    for label, columns in parts.items():
        others: list[str] = []
        if kind == 1:
            others = order[order.index(label) + 1 :]
        elif kind == 2:
            others = [other for other in order if margins.terms[label] < margins.terms[other]]
        given = units[[1 + j for other in others for j in parts[other]]]
        contained = kind == 3 and any(margins.terms[label] < own for own in margins.terms.values())
        own = _averaged(blocks, label) if contained else units[[1 + j for j in columns]]
        tests[label] = _TermTest(own, given)
    return tests


def _averaged(blocks: Blocks, label: str) -> Floats:
    """The combinations of type III of a term that others contain."""
    spec = blocks.design.spec
    if spec is None:
        raise DataError(f"The formula has no term {label!r}: name one of {listed(parts_of(blocks))}.")
    if blocks.keep is not None and len(blocks.keep) < len(blocks.design.terms):
        raise NotSupportedError(
            f"The type III test of {label!r} averages over the levels of other factors, and columns of the "
            "formula were left out as constant or collinear: use type=2, or leave the interaction out."
        )
    own = [each for each in spec.products if ":".join(spec.factors[j].code for j, _ in each) == label]
    starts = np.cumsum([1, *(math.prod(spec.widths(each)) for each in spec.products)])
    found = []
    for term in own:
        rows = np.zeros((math.prod(_tested(spec, *pair).shape[0] for pair in term), int(starts[-1])))
        for each, start in zip(spec.products, starts[:-1], strict=True):
            part = _averages(spec, term, each)
            if part is not None:
                rows[:, start : start + part.shape[1]] += part
        found.append(rows)
    return np.vstack(found)


def _tested(spec: Spec, factor: int, coding: int) -> Floats:
    """Contrasts (r, levels) of the levels of a factor that its columns in a term stand for."""
    levels = spec.factors[factor].levels
    if levels is None:
        return np.eye(spec.factors[factor].width)
    whole = np.eye(len(levels))
    if coding >= 0 and spec.codings[coding].width == len(levels):
        return whole
    return whole[:-1] - 1 / len(levels)


def _averages(spec: Spec, term: Product, other: Product) -> Floats | None:
    """What the coefficients of a product of factors have in the contrasts of a term; None if nothing."""
    wanted, there = dict(term), dict(other)
    numbers = {j for j in wanted if spec.factors[j].levels is None}
    if numbers != {j for j in there if spec.factors[j].levels is None}:
        return None
    parts: dict[int, Floats] = {}
    for factor in {**wanted, **there}:
        levels = spec.factors[factor].levels
        if levels is None:
            parts[factor] = np.eye(spec.factors[factor].width)
            continue
        effects = (
            _tested(spec, factor, wanted[factor])
            if factor in wanted
            else np.full((1, len(levels)), 1 / len(levels))
        )
        values = (
            _values(spec.codings[there[factor]], len(levels))
            if factor in there
            else np.ones((len(levels), 1))
        )
        parts[factor] = effects @ values
    outer = np.ones(())
    for each in parts.values():
        outer = np.multiply.outer(outer, each)
    # The first factor runs fastest, in the rows by the term's order and in the columns by the other's. What
    # is in only one of them has length one in the other.
    at = {factor: 2 * place for place, factor in enumerate(parts)}
    down = [*(at[j] for j in reversed(wanted)), *(at[j] for j in parts if j not in wanted)]
    along = [*(1 + at[j] for j in reversed(there)), *(1 + at[j] for j in parts if j not in there)]
    shape = math.prod(outer.shape[i] for i in down), math.prod(outer.shape[i] for i in along)
    return np.asarray(outer.transpose([*down, *along]).reshape(shape))


def _values(coding: Coding, levels: int) -> Floats:
    """The columns (levels, width) of a coding."""
    if coding.picks is not None:
        return np.eye(levels)[:, list(coding.picks)]
    return np.asarray(coding.matrix, dtype=np.float64)
