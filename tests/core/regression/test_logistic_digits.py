"""Digits of the logistic fit: offsets, units and NIST's style of data, against Newton's method in mpmath.

The reference takes the very doubles that the fit is given, as exact numbers, so that whatever rounding the
data went through is in both and the tolerance is for the fit's own arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

import mpmath as mp
import numpy as np
import pandas as pd
import pytest

from discrim import logistic

DIGITS = 60


class Exact(NamedTuple):
    """Correctly rounded: coef and se (p + 1, K - 1), the constants first; llf."""

    coef: np.ndarray
    se: np.ndarray
    llf: float


def exact(x: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, start: np.ndarray) -> Exact:
    """Maximum likelihood of rows x (n, p) with classes 0, ..., K - 1, against class 0.

    The likelihood is concave, so that the coefficients (p + 1, K - 1) from which Newton's method starts only
    reduce the number of steps.
    """
    with mp.workdps(DIGITS):
        rows = [[mp.mpf(1), *map(mp.mpf, row)] for row in x.tolist()]
        known = codes.tolist()
        times = [mp.mpf(1)] * len(rows) if weights is None else [mp.mpf(w) for w in weights.tolist()]
        p1, q = len(rows[0]), int(codes.max())
        beta = mp.matrix(start.T.ravel().tolist())
        for _ in range(60):
            llf, score, information = _pass(rows, known, times, beta, q)
            step = mp.lu_solve(information, score)
            beta += step
            size = max(abs(s) for s in beta)
            if max(abs(s) for s in step) < mp.mpf(10) ** -20 * size:
                # The error was that of the step, and is now its square.
                break
        else:
            raise ArithmeticError("Newton's method has not converged")
        inverse = information**-1
        se = [mp.sqrt(inverse[j, j]) for j in range(q * p1)]
        shape = (q, p1)
        return Exact(
            np.array([float(b) for b in beta]).reshape(shape).T,
            np.array([float(s) for s in se]).reshape(shape).T,
            float(llf),
        )


def _pass(
    rows: list[list[mp.mpf]], known: list[int], times: list[mp.mpf], beta: mp.matrix, q: int
) -> tuple[mp.mpf, mp.matrix, mp.matrix]:
    """Log-likelihood, score and information by their definitions, class by class."""
    p1 = len(rows[0])
    llf, score, information = mp.mpf(0), mp.matrix(q * p1, 1), mp.matrix(q * p1, q * p1)
    products = {(k, m): mp.matrix(p1, p1) for k in range(q) for m in range(k + 1)}
    for z, code, w in zip(rows, known, times, strict=True):
        eta = [mp.mpf(0)] + [mp.fdot(z, beta[k * p1 : (k + 1) * p1]) for k in range(q)]
        total = mp.fsum(mp.exp(e) for e in eta)
        shares = [mp.exp(e) / total for e in eta[1:]]
        llf += w * (eta[code] - mp.log(total))
        for k in range(q):
            residual = w * ((code == k + 1) - shares[k])
            for i in range(p1):
                score[k * p1 + i] += residual * z[i]
            for m in range(k + 1):
                spread = w * shares[k] * ((k == m) - shares[m])
                for i in range(p1):
                    for j in range(i + 1):
                        products[k, m][i, j] += spread * z[i] * z[j]
    for k, m in products:
        for i in range(p1):
            for j in range(p1):
                value = products[k, m][max(i, j), min(i, j)]
                information[k * p1 + i, m * p1 + j] = information[m * p1 + j, k * p1 + i] = value
    return llf, score, information


def compare(x: np.ndarray, codes: np.ndarray, rtol: float, weights: np.ndarray | None = None) -> None:
    columns = [f"x{j}" for j in range(x.shape[1])]
    fit = logistic("y ~ .", pd.DataFrame(x, columns=columns).assign(y=codes), weights=weights)
    wanted = exact(x, codes, weights, fit.params.to_numpy())
    np.testing.assert_allclose(fit.params, wanted.coef, rtol=rtol)
    np.testing.assert_allclose(fit.bse, wanted.se, rtol=rtol)
    assert fit.llf == pytest.approx(wanted.llf, rel=rtol)


def drawn(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    codes = np.repeat(np.arange(k), [20, 17, 15][:k])
    middle = np.array([[0.0, 0.0], [0.8, 0.3], [-0.4, 0.9]])
    return rng.standard_normal((len(codes), 2)) + middle[codes], codes


@pytest.mark.parametrize(
    ("k", "offset", "unit"),
    # Two classes with all pairs, three with one unit in turn for each offset.
    [
        pytest.param(k, offset, unit, marks=() if k == 2 or (i + j) % 3 == 0 else pytest.mark.exhaustive)
        for k in (2, 3)
        for i, offset in enumerate((1.0, 1e2, 1e4, 1e6, 1e8))
        for j, unit in enumerate((1e-8, 1.0, 1e8))
    ],
)
def test_offsets_and_units_do_not_reduce_precision(k, offset, unit):
    z, codes = drawn(k)
    # One column moves and the other only changes its unit, and then both move.
    compare(np.column_stack([(z[:, 0] + offset) * unit, z[:, 1]]), codes, 1e-13)
    compare((z + offset) * np.array([unit, 1 / unit]), codes, 1e-13)


@pytest.mark.parametrize("k", [2, 3])
def test_weights_do_not_reduce_precision(k):
    z, codes = drawn(k)
    compare(z + 1e6, codes, 1e-13, weights=1.0 + np.arange(len(codes)) % 4)


@pytest.mark.parametrize("leading", [1.0, 1e6, 1e12])
def test_data_as_in_nist_s_smls(leading):
    """Seven values a tenth apart behind constant leading digits: the three grades of NIST's SmLs."""
    tenths = np.array([4, 3, 5, 3, 5, 2, 6, 4, 4, 3, 5, 7, 6, 4, 5, 6, 3, 7, 5, 6, 8, 7, 5, 6, 7, 4, 8])
    compare((leading + tenths / 10)[:, None], np.repeat([0, 1, 2], 9), 1e-13)


@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_precision_of_correlated_columns_follows_condition_number(gap):
    z, codes = drawn(3)
    compare(np.column_stack([z[:, 0], z[:, 0] + gap * z[:, 1]]), codes, 1e-15 / gap)


def test_rows_with_probabilities_close_to_one():
    """Log odds from -18 to 16."""
    z, codes = drawn(3)
    z[codes == 1, 0] += 3.0
    z[codes == 2, 1] += 3.0
    compare(z, codes, 1e-12)
