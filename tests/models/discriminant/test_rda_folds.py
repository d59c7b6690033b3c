"""Pairs chosen by folds, on tables of every kind, beside fits to the rows outside each fold, one by one."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from discrim import rda
from discrim.core.moments.row_sums import centred_roots
from discrim.errors import CollinearError, DiscrimWarning
from discrim.models.evaluation.validation import assign_folds
from tests.models.discriminant.test_rda_choice import in_turn
from tests.support import record_calls

GRID = (0.0, 0.35, 0.999, 1.0)


def table(kind: str) -> pd.DataFrame:
    """Three classes of unequal sizes; their spread differs, and rows overlap."""
    rng = np.random.default_rng(len(kind))
    sizes, p = {"few rows": ((25, 60, 18), 40), "fewer rows than columns": ((12, 14, 11), 60)}.get(
        kind, ((30, 25, 40), 5)
    )
    y = np.repeat(["a", "b", "c"], sizes)
    sd = np.repeat([0.6, 1.0, 1.8], sizes)[:, None]
    x = rng.standard_normal((len(y), p)) * sd + 1.2 * rng.standard_normal((3, p))[np.repeat([0, 1, 2], sizes)]
    if kind == "uneven units":
        x *= np.logspace(-6, 6, p)
    if kind == "all but collinear":
        x[:, 1] = x[:, 0] + 1e-6 * x[:, 1]
    if kind == "collinear":
        x[:, 1] = x[:, 0] - x[:, 2]
    if kind == "far from zero":
        x += 1e6
    return pd.DataFrame(x).add_prefix("x").assign(y=y)


def by_hand(data: pd.DataFrame, fold_ids: np.ndarray, prior: pd.Series, **options) -> float:
    """Mean over folds of the rate of wrong rows; missing where a covariance is singular."""
    rates = []
    for fold in range(fold_ids.max() + 1):
        inside, outside = data[fold_ids != fold], data[fold_ids == fold]
        try:
            fit = rda("y ~ .", inside, prior=prior, **options)
        except CollinearError:
            return np.nan
        wrong = (fit.predict(outside) != outside["y"]).groupby(outside["y"]).mean()
        rates.append(wrong @ prior[wrong.index] / prior[wrong.index].sum())
    return float(np.mean(rates))


@in_turn(
    [
        "plain",
        "few rows",
        "fewer rows than columns",
        "uneven units",
        "all but collinear",
        "collinear",
        "far from zero",
    ],
    "table_kind",
)
def test_path_equals_separate_fits(table_kind, parametrization):
    data = table(table_kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = rda("y ~ .", data, folds=3, seed=4, grid=GRID, parametrization=parametrization)
        fold_ids = assign_folds(fit._fit, 3, 4)
        # Every third pair: each alpha and each gamma.
        for alpha, gamma, error, _ in fit.path.to_numpy()[::3]:
            options = {"alpha": alpha, "gamma": gamma, "parametrization": parametrization}
            expected = by_hand(data, fold_ids, fit.prior, **options)
            np.testing.assert_allclose(error, expected, atol=1e-12, err_msg=f"{alpha}, {gamma}")
    assert fit.path["error"].notna().any()
    singular = table_kind in ("few rows", "fewer rows than columns", "collinear")
    assert fit.path["error"].isna().any() == singular


@pytest.mark.parametrize(
    ("table_kind", "requires_roots"),
    [("few rows", False), ("uneven units", False), ("all but collinear", True)],
)
def test_folds_compute_roots_if_a_pair_requires_them(table_kind, requires_roots):
    """A class of few rows has a singular scatter, which no pair of the grid mixes without another part."""
    data = table(table_kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        with record_calls(centred_roots) as one:
            rda("y ~ .", data, alpha=0.5, gamma=0.5)
        with record_calls(centred_roots) as calls:
            rda("y ~ .", data, folds=5, seed=1)
    # Those of all folds are taken in one pass.
    assert (len(calls) == 2 * len(one)) == requires_roots
