"""What a fitted naive Bayes classifier gives: its densities under the names of their columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.independent.naive_bayes import NaiveBayesFit
from discrim.core.independent.naive_bayes_file import naive_bayes_buffers, naive_bayes_from_file
from discrim.core.independent.tally import ColumnPlan, Tally
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.level_codes import codes_are_positions, refuse_values, term_levels
from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import listed
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Model, as_scored, read_rows
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.reading import class_moments
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.independent.available_rows import gather_available
from discrim.models.independent.naive_bayes_plan import refuse_no_density
from discrim.models.results.class_covariances import ClassCovariances
from discrim.models.results.results import ClassifierResults
from discrim.models.saving.saved import Saved

__all__ = ["NaiveBayesResults", "naive_bayes_fit"]

Floats = NDArray[np.float64]

GRID = 512
"""Values at which `density` shows a column."""

BEYOND = 3.0
"""Bandwidths, or standard deviations, by which that grid goes beyond the extremes."""


def _levels(fit: Fit[NaiveBayesFit]) -> dict[str, Any]:
    """Levels of each categorical column, by term."""
    known = term_levels(fit.blocks.design)
    return {fit.terms[j]: known[j] or (False, True) for j in fit.numbers.plan.tables.tolist()}


def _rows(fit: Fit[NaiveBayesFit], data: Any, gaps: Gaps) -> Blocks:
    """Rows that are used in part where some of their values are missing, unless this is not wanted."""
    unseen: Unseen = "missing" if (gaps.unseen or fit.numbers.unseen) == "missing" else "raise"
    blocks = read_rows(fit, data, Gaps(unseen, gaps.missing or "integrate"))
    if data is None:
        return blocks
    plain = [term for term, levels in _levels(fit).items() if levels == (False, True)]
    refuse_values(blocks.table, plain, counts=False)
    refuse_values(blocks.table, fit.terms[fit.numbers.plan.counts].tolist(), counts=True)
    return blocks


MODEL = Model(
    "naive_bayes", "Naive Bayes", holds_levels=True, rows=_rows, decision=as_scored, reads_gaps=True
)


def naive_bayes_fit(numbers: NaiveBayesFit, blocks: Blocks, *, has_rows: bool = True) -> Fit[NaiveBayesFit]:
    """A naive Bayes classifier as one value.

    Raises
    ------
    DataError
        The tables of a file do not fit the levels of its columns.
    """
    refits = replace(moment_refits("diagonal"), stays=numbers.plan.counts.tolist(), why_not=_why_not)
    if not numbers.is_normal or numbers.available is not None:
        refits = replace(refits, spread=None, of_rows=_rule_of_tally, held=_rule_of_tally)
    if numbers.available is not None and numbers.smoothing and numbers.normal is not None:
        refits = replace(refits, left_out=_left_out_smoothed)
    fit = Fit(MODEL, numbers, blocks, numbers.prior, refits, has_rows)
    sizes = numbers.plan.sizes[numbers.plan.tables].tolist()
    fitting = [len(levels) for levels in _levels(fit).values()] == sizes
    if not (fitting and codes_are_positions(blocks.design)):
        raise DataError("A saved fit of naive Bayes is damaged: its tables do not fit its levels.")
    return fit


def _rule_of_tally(fit: Fit[NaiveBayesFit], blocks: Blocks) -> Rule | None:
    numbers = fit.numbers
    if len(blocks.terms) < len(fit.terms):
        kept = [fit.terms.get_loc(term) for term in blocks.terms]
        numbers = replace(numbers, plan=numbers.plan.columns(np.array(kept)))
    refit = numbers.refit(*_gathered(fit, blocks, numbers.plan))
    return None if refit is None else refit.rule(fit.log_prior())


def _gathered(fit: Fit[NaiveBayesFit], blocks: Blocks, plan: ColumnPlan) -> tuple[ClassMoments, Tally]:
    if blocks.incomplete:
        return gather_available(blocks, plan)
    tally = Tally(plan, len(fit.classes))
    return class_moments(blocks, "diagonal", tally.watch), tally


def _left_out_smoothed(fit: Fit[NaiveBayesFit]) -> LeftOut:
    return left_out_by_refits(fit, "of smoothed variances of columns that rows miss takes a refit a row")


def _why_not(fit: Fit[NaiveBayesFit], blocks: Blocks) -> str | None:
    kept = np.array([fit.terms.get_loc(term) for term in blocks.terms], dtype=np.intp)
    try:
        refuse_no_density(*_gathered(fit, blocks, fit.numbers.plan.columns(kept)), blocks)
    except CollinearError as error:
        return str(error)
    return None


SAVED = Saved(
    {"method": (str,), "smoothing": (float,), "laplace": (float,), "bandwidth": (str,)}
    | {"unseen": (str,), "estimated_prior": (bool,)},
    "diagonal",
    naive_bayes_from_file,
    naive_bayes_fit,
    naive_bayes_buffers,
    lambda k, p: {"columns": (3, p), "tables": (k, -1), "sums": (k, -1), "points": (-1, 4)},
    lambda k, p: {"available": (k, p)},
    constant=True,
)


class NaiveBayesResults(ClassCovariances, ClassifierResults):
    """A fitted naive Bayes classifier.

    Attributes
    ----------
    means, sds : DataFrame, classes by normal columns
        Class means, and standard deviations including the smoothing.
    covs : dict of class to DataFrame
        Diagonal covariance of each class, where every column is normal.
    logdet : Series by class
        Log-determinants of the covariances.
    tables : dict of column to DataFrame, classes by levels
        P(level | class).
    bandwidths : DataFrame, classes by columns with kernel densities
        Standard deviations of the kernels.
    multinomial : DataFrame, classes by columns of counts
        Probabilities of the columns of counts.
    available : DataFrame, classes by columns
        Number of rows, or their weight, that have a value of the column; the column is fitted to these.
    smoothing, laplace : float
        As they were given.
    llf, aic, bic : float
        Joint log-likelihood of class and row, without multinomial coefficients, and its criteria. It is taken
        at the probabilities of the fit and at variances of divisor n_k, which are smoothed where those of the
        fit are. Fits with kernel densities have none.
    df_model : int
        Number of free parameters.
    """

    _fit: Fit[NaiveBayesFit]

    def __init__(self, fit: Fit[NaiveBayesFit]) -> None:
        super().__init__(fit)
        numbers = fit.numbers
        self.smoothing, self.laplace = numbers.smoothing, numbers.laplace
        self._levels = _levels(fit)

    # ---- the densities

    @property
    def normal_terms(self) -> pd.Index:
        """The columns that are normal within classes."""
        return self.terms[self._fit.numbers.plan.normal]

    @property
    @displayed(every="count")
    def available(self) -> pd.DataFrame:
        """Number of rows, or their weight, that have a value of each column, by class."""
        held = self._fit.numbers.available
        counts = self._fit.counts[:, None] if held is None else held
        values = np.broadcast_to(counts, (len(self.classes), len(self.terms)))
        whole = (values % 1 == 0).all()
        return pd.DataFrame(
            values.astype(np.int64) if whole else values, index=self.classes, columns=self.terms
        )

    @property
    def means(self) -> pd.DataFrame:
        """Class means of the normal columns."""
        normal = self._fit.numbers.normal
        values = np.zeros((len(self.classes), 0)) if normal is None else normal.moments.class_means
        return pd.DataFrame(values, index=self.classes, columns=self.normal_terms)

    @property
    def sds(self) -> pd.DataFrame:
        """Standard deviations of the normal columns within classes, smoothing included."""
        normal = self._fit.numbers.normal
        values = [] if normal is None else [c.sd / normal.moments.scale for c in normal.covariances]
        shape = (len(self.classes), len(self.normal_terms))
        return pd.DataFrame(np.reshape(values, shape), index=self.classes, columns=self.normal_terms)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """P(level | class) of each categorical column, Laplace's correction included."""
        held = self._fit.numbers.tables
        shares = () if held is None else held.probabilities()
        return {
            term: pd.DataFrame(values, index=self.classes, columns=pd.Index(list(levels), name=term))
            for (term, levels), values in zip(self._levels.items(), shares, strict=True)
        }

    @property
    def bandwidths(self) -> pd.DataFrame:
        """Bandwidths of the kernel densities."""
        terms, held = self.terms[self._fit.numbers.plan.kernels], self._fit.numbers.kernels
        values = np.zeros((len(self.classes), 0)) if held is None else held.bandwidths()
        return pd.DataFrame(values, index=self.classes, columns=terms)

    @property
    def multinomial(self) -> pd.DataFrame:
        """Probabilities of the columns of counts by class; they sum to one."""
        terms, held = self.terms[self._fit.numbers.plan.counts], self._fit.numbers.counts
        values = np.zeros((len(self.classes), 0)) if held is None else held.probabilities()
        return pd.DataFrame(values, index=self.classes, columns=terms)

    @displayed()
    def density(self, term: str, at: Any = None) -> pd.DataFrame:
        """Density of a normal or kernel column within each class.

        Parameters
        ----------
        term : str
            Name of the column.
        at : array-like of float, optional
            Values at which the density is taken. By default they are 512 evenly spaced values, to three
            bandwidths or standard deviations beyond the extreme rows or means.

        Returns
        -------
        DataFrame, values by classes

        Raises
        ------
        DataError
            There is no such column, it has no density, or a value is no number.
        """
        plan = self._fit.numbers.plan
        numeric = self.terms[np.sort(np.concatenate([plan.normal, plan.kernels]))]
        if not (isinstance(term, str) and term in numeric):
            has = (
                f"{listed(numeric)} {'have' if len(numeric) > 1 else 'has'}"
                if len(numeric)
                else "no column has"
            )
            raise DataError(f"{term!r} has no density ({has} one): see tables and multinomial.")
        try:
            values = self._grid(term) if at is None else np.asarray(at, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise DataError(f"at={at!r}: give the values of {term!r} as numbers.") from None
        if term in self.normal_terms:
            mean, sd = self.means[term].to_numpy(), self.sds[term].to_numpy()
            z = (values[:, None] - mean) / sd
            found = np.exp(-0.5 * z**2) / (sd * np.sqrt(2 * np.pi))
        else:
            found = np.stack([np.exp(held.log_density(values)) for held in self._kernels_of(term)], axis=1)
        return pd.DataFrame(found, index=pd.Index(values, name=term), columns=self.classes)

    def _kernels_of(self, term: str) -> tuple[Any, ...]:
        held = self._fit.numbers.kernels
        return () if held is None else held.densities[self.bandwidths.columns.get_loc(term)]

    def _grid(self, term: str) -> Floats:
        if term in self.normal_terms:
            low = high = self.means[term].to_numpy()
            width = self.sds[term].to_numpy()
        else:
            held = self._kernels_of(term)
            low, high = (np.array([each.points[end] for each in held]) for end in (0, -1))
            width = self.bandwidths[term].to_numpy()
        return np.linspace((low - BEYOND * width).min(), (high + BEYOND * width).max(), GRID)

    @displayed()
    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and unsmoothed standard deviation by (class, term), and over all rows ("total")."""
        if len(self._levels):
            raise NotSupportedError(
                f"group_summary() describes numbers, and {listed(self._levels)} "
                f"{'is' if len(self._levels) == 1 else 'are'} categorical: see tables."
            )
        if self._fit.numbers.available is not None:
            raise NotSupportedError(
                "group_summary() describes complete rows, and here each column is fitted to the rows "
                "that have it: see means, sds and available."
            )
        return super().group_summary()

    def _need_covariances(self, what: str) -> None:
        if not self._fit.numbers.is_normal:
            other = self.terms[np.flatnonzero(self._fit.numbers.plan.families)]
            raise NotSupportedError(
                f"{what} needs normal columns, and {listed(other)} "
                f"{'are' if len(other) > 1 else 'is'} not: see means, sds, tables, bandwidths and "
                "multinomial."
            )

    # ---- tables

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each class and parameter.

        Returns
        -------
        DataFrame
            class, term, and the parameters of the term: mean and sd (including the smoothing) for normal
            columns, level and probability for categorical columns and counts, and bandwidth for kernel
            densities.
        """
        parts = []
        for names, frames in (
            (("mean", "sd"), (self.means, self.sds)),
            (("bandwidth",), (self.bandwidths,)),
            (("probability",), (self.multinomial,)),
        ):
            if frames[0].shape[1]:
                parts.append(self._long(frames[0].columns, "term", names, frames))
        for term, table in self.tables.items():
            found = self._long(table.columns, "level", ("probability",), (table,))
            found.insert(1, "term", term)
            parts.append(found)
        return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]

    def _long(
        self, columns: pd.Index, name: str, names: tuple[str, ...], frames: tuple[pd.DataFrame, ...]
    ) -> pd.DataFrame:
        index = pd.MultiIndex.from_product([self.classes, columns], names=["class", name])
        values = {each: frame.to_numpy().ravel() for each, frame in zip(names, frames, strict=True)}
        return pd.DataFrame(values, index=index).reset_index()

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        return pd.DataFrame([self._glance() | {"smoothing": self.smoothing, "laplace": self.laplace}])

    def _is_plane(self) -> bool:
        return super()._is_plane() and not self._levels
