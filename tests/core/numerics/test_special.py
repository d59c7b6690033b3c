"""Tail probabilities and quantiles, against mpmath's integrals."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from discrim.core.numerics import special as tails


def chi2(statistic: float, df: float) -> float:
    return float(mpmath.gammainc(mpmath.mpf(df) / 2, mpmath.mpf(statistic) / 2, regularized=True))


def beta(share: float, a: float, b: float) -> float:
    return float(mpmath.betainc(a, b, 0, share, regularized=True))


@pytest.mark.parametrize(("statistic", "df"), [(0.1, 1), (3.84, 1), (140.9, 20), (700.0, 3), (1.0, 210)])
def test_chi_square_tails(statistic, df):
    assert tails.chi2_sf(statistic, df) == pytest.approx(chi2(statistic, df), rel=1e-12)
    assert tails.chi2_cdf(statistic, df) == pytest.approx(1 - chi2(statistic, df), rel=1e-12)


@pytest.mark.parametrize(
    ("f", "df1", "df2"), [(199.1, 8, 288), (0.3, 2, 7), (1.0, 5.5, 77567), (13.8, 3, 145)]
)
def test_f_tails(f, df1, df2):
    expected = beta(df2 / (df2 + df1 * f), df2 / 2, df1 / 2)
    assert tails.f_sf(f, df1, df2) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("t", "df"), [(0.0, 3), (2.0, 5), (-1.5, 12), (40.0, 60)])
def test_student_and_normal_tails(t, df):
    half = beta(df / (df + t * t), df / 2, 0.5) / 2
    assert tails.t_sf(t, df) == pytest.approx(half if t >= 0 else 1 - half, rel=1e-11)
    assert tails.normal_sf(t) == pytest.approx(float(mpmath.erfc(t / mpmath.sqrt(2)) / 2), rel=1e-13, abs=0)


@pytest.mark.parametrize("share", [1e-9, 0.025, 0.5, 0.975])
def test_quantiles_have_their_probability(share):
    assert tails.normal_sf(tails.normal_isf(share)) == pytest.approx(share, rel=1e-10)
    assert tails.chi2_sf(tails.chi2_isf(share, 4), 4) == pytest.approx(share, rel=1e-10)
    assert tails.t_sf(tails.t_isf(share, 9), 9) == pytest.approx(share, rel=1e-7)
    assert beta(float(tails.beta_ppf(share, 3, 8)), 3, 8) == pytest.approx(share, rel=1e-10)


def test_without_degrees_of_freedom_there_is_no_tail():
    assert np.isnan(tails.f_sf(1.0, 0, 5))
    assert np.isnan(tails.f_sf(1.0, 5, -1))
    assert np.isnan(tails.chi2_sf(1.0, 0))
