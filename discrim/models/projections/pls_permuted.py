"""A permutation test of what partial least squares predicts of rows left out."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar
from discrim.core.projections.permuted_pls import Regressed, q2_of_labellings, r2_of
from discrim.core.projections.pls import PLSFit
from discrim.errors import DataError, NotSupportedError
from discrim.frame.used_rows import gathered_rows, repeated
from discrim.inference.folds import check_folds, drawn_seed, generator
from discrim.inference.permutations import permutation_pvalue
from discrim.inference.result import TestResult
from discrim.models.fits.arguments import is_whole, told
from discrim.models.fits.fit import Fit
from discrim.models.fits.reading import refuse_large

__all__ = ["permutation_test"]

MOST = 10**6
"""More are no number of permutations that anyone waits for."""


def permutation_test(fit: Fit[PLSFit], n: int, folds: int, seed: int | None) -> TestResult:
    """The test of Q2; see `PLSResults.permutation_test`."""
    if not (is_whole(n) and 1 <= n <= MOST):
        raise DataError(f"n={told(n)}: give a number of permutations, 1 or more and up to {MOST:,}.")
    blocks = fit.rows("permutation_test()")
    if blocks.weights is not None and not blocks.has_whole_weights():
        raise NotSupportedError(
            "permutation_test() shuffles rows, and takes weights that are whole numbers of them: repeat the "
            "rows, or fit without weights=."
        )
    refuse_large(blocks, "permutation_test() gathers all rows", times=fit.nobs)
    rows = gathered_rows(blocks)
    weights = None if blocks.weights is None else blocks.weights[rows.positions]
    x, codes = repeated(rows.x, rows.codes, weights)
    check_folds(folds, len(x))
    numbers, k, start = fit.numbers, len(fit.classes), drawn_seed(seed)
    how = Regressed(numbers.components, numbers.algorithm, numbers.scale, numbers.indicators == "scaled")
    dealt = generator(start).permutation(len(x)) % folds
    # In units near one, in which squares are doubles.
    z = (x - numbers.origin) * numbers.moments.scale / np.where(np.isfinite(numbers.unit), numbers.unit, 1.0)
    labelling = partial(_labelling, codes, start)
    with late_bar((n + 1) * folds, "permutations") as tell:
        q2 = q2_of_labellings(z, labelling, n + 1, dealt, k, how, tell)
    r2 = r2_of(z, labelling, n + 1, k, how)
    table = pd.DataFrame(
        [_line(values) for values in (q2, r2)],
        index=["Q2", "R2"],
        columns=["statistic", "mean", "largest", "p"],
    )
    return TestResult(
        f"Permutation test of Q2, {n} permutations",
        float(q2[0]),
        (),
        float(table["p"].iloc[0]),
        "The labels are shuffled, and rows left out by folds are predicted anew, with as many "
        "components; p = (1 + b) / (1 + n), where b counts the permutations with a statistic as "
        "large or larger. Folds are dealt without regard to the classes, so that all labellings "
        "share them; mean and largest are of those shuffled.",
        table,
        (("Q2", float(q2[0])),),
    )


def _labelling(codes: NDArray[np.intp], seed: int, number: int) -> NDArray[np.intp]:
    """Classes (n,) after a shuffle; those that were seen by the number 0."""
    if not number:
        return codes
    return np.random.default_rng([seed, number]).permutation(codes)


def _line(values: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """A statistic, the mean and the largest of those of shuffled labels, and its p-value."""
    drawn = values[1:]
    return float(values[0]), float(drawn.mean()), float(drawn.max()), permutation_pvalue(values[0], drawn)
