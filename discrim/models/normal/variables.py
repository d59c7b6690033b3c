"""How classes differ in each column: analyses of variance, Levene's test, and a ranking of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from discrim.core.moments.moments import gather
from discrim.core.moments.row_sums import RowBlock
from discrim.core.normal import lda
from discrim.core.normal.lda import By, LDAFit
from discrim.core.numerics.arrays import Floats
from discrim.errors import DataError, NotSupportedError, PriorError
from discrim.frame.blocks import Blocks
from discrim.frame.rows import repeated
from discrim.frame.values import shown
from discrim.inference.mean_differences import anova_table
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.reading import check_word, is_whole


def anova(fit: Fit[LDAFit], *, levene: str | None, adjust: str | None) -> pd.DataFrame:
    """One row a column; see `LDAResults.anova`."""
    moments = fit.numbers.by_column
    table = anova_table(moments, fit.terms)
    if levene is not None:
        check_word("levene", levene, ("mean", "median"))
        blocks = fit.rows("Levene's test", "pass levene=None, or fit formula and data")
        rests = moments.rests / moments.scale
        middle = (moments.centres, rests) if levene == "mean" else (_medians(blocks), np.zeros(rests.shape))
        deviations, (k, p) = _Deviations(blocks, *middle), moments.centres.shape
        tests = anova_table(gather(deviations, n_classes=k, n_columns=p, spread="diagonal"), fit.terms)
        table["levene_F"], table["levene_p"] = tests["F"], tests["p"]
    if adjust is not None:
        table["p_adjusted"] = _adjusted(table["p"], adjust)
        if levene is not None:
            table["levene_p_adjusted"] = _adjusted(table["levene_p"], adjust)
    return table


@dataclass(frozen=True, slots=True, eq=False)
class _Deviations:
    """Absolute deviations of the rows from a middle of their class, the sum of two (K, p), by block."""

    blocks: Blocks
    centres: Floats
    rests: Floats

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self.blocks:
            deviations = np.abs(x.T - self.centres.T[:, codes] - self.rests.T[:, codes])
            yield deviations.T, codes, weights


def _medians(blocks: Blocks) -> Floats:
    """Medians (K, p) of the classes; they need the rows side by side."""
    parts: list[list[Floats]] = [[] for _ in blocks.design.levels]
    for x, codes, weights in blocks:
        if weights is not None and (weights % 1 != 0).any():
            raise NotSupportedError(
                'levene="median" takes weights that are whole numbers of rows: use levene="mean".'
            )
        for k in np.unique(codes).tolist():
            at = codes == k
            parts[k].append(repeated(x[at], codes[at], None if weights is None else weights[at])[0])
    return np.stack([np.median(np.concatenate(part), axis=0) for part in parts])


def _adjusted(p: pd.Series, method: str) -> pd.Series:
    from statsmodels.stats.multitest import multipletests

    if p.isna().any():
        raise DataError(
            f"The p-value of {shown(p.index[p.isna()][0])} is missing: leave the column out to adjust."
        )
    try:
        if not isinstance(method, str):
            raise ValueError(method)
        return pd.Series(multipletests(p.to_numpy(), method=method)[1], index=p.index)
    except ValueError:
        raise DataError(
            f"adjust={method!r} is not known: name a method of statsmodels' multipletests, such as 'holm', "
            "'bonferroni' or 'fdr_bh'."
        ) from None


Null = Literal["theoretical", "empirical"]


class RankedColumns:
    """A ranking of the columns; for children of `ClassifierResults` with one covariance."""

    _fit: Fit[LDAFit]

    @displayed(score="z", q="p", HC="z")
    def ranking(
        self, by: By = "entropy", top: int | None = None, *, null: Null | None = None
    ) -> pd.DataFrame:
        """Columns by their correlation-adjusted t-scores (CAT scores), the best first.

        The CAT scores of a class are the differences of its means from the common mean, divided by their
        standard errors and multiplied by the inverse square root of the correlation within classes. Without
        correlations, as with a diagonal covariance, they are t-scores (Zuber & Strimmer, 2009, Bioinformatics
        25, 2700-2707). The prior weights the classes.

        Parameters
        ----------
        by : {"entropy", "average", "maximum"}
            How the scores of the classes become the score of a column: "entropy" is the sum of their squares,
            each times one less the prior of the class; "average" is the mean of the squares; and "maximum" is
            the largest square.
        top : int, optional
            Number of columns to show; by default all.
        null : {"theoretical", "empirical"}, optional
            The law that gives `p`. "theoretical" is the F distribution on K - 1 and N - K degrees of freedom.
            "empirical" is that distribution times the factor which brings its median to the median of the
            scores, for tables in which most columns do not differ. The default is "empirical" where there are
            more columns than N - K, and "theoretical" elsewhere.

        Returns
        -------
        DataFrame by term
            score; p, the probability that a column without differences has so large a score by entropy; q,
            the false discovery rate of Benjamini and Hochberg; HC, the higher criticism; and for each class
            its scores, in a column cat. (or t.) with the label of the class. p, q and HC are missing for
            robust estimates and for those by EM. With `top` these are the numbers of the ranking of all
            columns.

        Raises
        ------
        NotSupportedError
            There are more columns than rows, and the covariance is neither diagonal nor one of shrunken
            correlations.
        PriorError
            One class has all of the prior.

        Notes
        -----
        The scores are those of R's `sda.ranking`, which shrinks the prior. To get its numbers, pass g/K + (1
        - g) f_k as `prior=`, where f_k are the shares of N rows in K classes and g is (1 - sum f_k^2) / ((N -
        1) sum (1/K - f_k)^2), but at most one. Its local false discovery rates, by fdrtool's mixture, are not
        part of this table. The theoretical p is exact for t-scores without shrinkage at class proportions.
        Where many columns share some factors and there are few rows, correlations are shrunk by too little
        and p is too small: much too small by the theoretical null, and too small in the tail by the empirical
        one.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> fit = lda("species ~ .", load_iris(), covariance="correlation")
        >>> fit.ranking(top=2).score.round(2).to_dict()
        {'petal_length': 2552.94, 'petal_width': 1322.08}
        >>> some = load_iris()[["species", *fit.ranking(top=2).index]]
        >>> lda("species ~ .", some, covariance="correlation").terms.tolist()
        ['petal_length', 'petal_width']
        """
        check_word("by", by, ("entropy", "average", "maximum"))
        if null is not None:
            check_word("null", null, Null)
        fit, numbers = self._fit, self._fit.numbers
        numbers.refuse_covariates("ranking()")
        p = len(fit.terms)
        if top is not None and not (is_whole(top) and 1 <= top <= p):
            raise DataError(f"top={top!r}: give a number of columns from 1 to {p}, or None for all.")
        if numbers.prior.max() == 1:
            label = fit.classes[int(numbers.prior.argmax())]
            raise PriorError(
                f"Class {label!r} has all of the prior, so that the common mean is its own: fit with another "
                "prior= to rank columns."
            )
        scores = lda.cat_scores(numbers.moments, numbers.covariance, numbers.prior)
        table = pd.DataFrame({"score": lda.column_scores(scores, numbers.prior, by)}, index=fit.terms)
        tails = np.full(p, np.nan)
        if numbers.scatter.is_of_moments:
            empirical = p > numbers.residual_df if null is None else null == "empirical"
            entropy = lda.column_scores(scores, numbers.prior, "entropy")
            tails = lda.score_tails(entropy, len(fit.classes), numbers.residual_df, empirical=empirical)
        known = bool(np.isfinite(tails).all())
        table["p"] = tails
        table["q"] = lda.benjamini_hochberg(tails) if known else np.nan
        table["HC"] = lda.higher_criticism(tails) if known else np.nan
        kind = "t" if numbers.covariance.is_diagonal else "cat"
        names = [f"{kind}.{label}" for label in fit.classes]
        table = pd.concat([table, pd.DataFrame(scores, index=fit.terms, columns=names)], axis=1)
        order = np.argsort(-table["score"].to_numpy(), kind="stable")
        return table.iloc[order if top is None else order[: int(top)]]
