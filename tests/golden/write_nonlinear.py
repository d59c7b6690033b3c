"""Write nonlinear.json: analytical nonlinear shrinkage of covariances, in 60 digits from the formulas.

    python tests/golden/write_nonlinear.py

The formulas are those of Ledoit & Wolf (2020, Annals of Statistics 48, 3043-3065): 4.3, 4.7-4.9 and, in the
supplement, C.4, C.5 and C.8. They are evaluated as they stand, which takes more digits than double precision
has if eigenvalues are far apart. If nonlinshrink (0.7, MIT licence) is installed, the covariances of the
tables are compared with its `shrink_cov`, which evaluates the formulas in double precision. It agrees to
1e-11 for iris and standardized wine and to 1e-5 for the digits, loses all digits for wine, whose eigenvalues
are far apart, and refuses the breast cancer data as singular.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

mp.mp.dps = 60
ROOT5 = mp.sqrt(5)


def density(x: Any) -> Any:
    """Epanechnikov's kernel of variance one."""
    return 3 / (4 * ROOT5) * max(1 - x**2 / 5, mp.mpf(0))


def hilbert(x: Any) -> Any:
    """Its Hilbert transform."""
    linear = -3 * x / (10 * mp.pi)
    if abs(x) == ROOT5:
        return linear
    return linear + 3 / (4 * ROOT5 * mp.pi) * (1 - x**2 / 5) * mp.log(abs((ROOT5 - x) / (ROOT5 + x)))


def shrunk(eigenvalues: list[Any], p: int, n: Any) -> list[Any]:
    """Shrunk eigenvalues of p columns, and n degrees of freedom if none is zero."""
    count = len(eigenvalues)
    n = mp.mpf(n) if count == p else mp.mpf(count)
    h = n ** (-mp.mpf(1) / 3)

    def mean(kernel: Any, at: Any) -> Any:
        return mp.fsum(kernel((at - one) / (h * one)) / (h * one) for one in eigenvalues) / count

    found = []
    for one in eigenvalues:
        f, hf = mean(density, one), mean(hilbert, one)
        if count == p:
            c = p / n
            below = (mp.pi * c * one * f) ** 2 + (1 - c - mp.pi * c * one * hf) ** 2
        else:
            below = mp.pi**2 * one**2 * (f**2 + hf**2)
        found.append(one / below)
    if count < p:
        found += [1 / (mp.pi * (p - n) / n * mean(hilbert, mp.mpf(0)))] * (p - count)
    return found


def numbers(values: list[Any]) -> list[float]:
    """The nearest numbers in double precision."""
    return [float(one) for one in values]


def covariance(x: np.ndarray, codes: np.ndarray) -> list[list[float]]:
    """Shrunk covariance within classes; the eigenvalues of zero are known by their number."""
    k, p = codes.max() + 1, x.shape[1]
    rows = mp.matrix(x.tolist())
    for c in range(k):
        members = np.flatnonzero(codes == c).tolist()
        for j in range(p):
            mean = mp.fsum(rows[i, j] for i in members) / len(members)
            for i in members:
                rows[i, j] -= mean
    n = len(x) - int(k)
    lengths, vectors = mp.eigsy(rows.T * rows / n)
    zeros = max(p - n, 0)
    values = shrunk([lengths[j] for j in range(zeros, p)], p, n)
    values = values[p - zeros :] + values[: p - zeros]
    whole = vectors * mp.diag(values) * vectors.T
    check(x, codes, np.array(whole.tolist(), dtype=float), int(k))
    return [numbers([whole[i, j] for j in range(p)]) for i in range(p)]


def check(x: np.ndarray, codes: np.ndarray, found: np.ndarray, k: int) -> None:
    """Print the difference from nonlinshrink, if it is there and takes these rows."""
    try:
        from nonlinshrink import shrink_cov

        within = x - np.stack([x[codes == c].mean(axis=0) for c in range(k)])[codes]
        theirs = shrink_cov(within, k=k)
        print(found.shape, np.abs(theirs - found).max() / np.abs(found).max())
    except (ImportError, ValueError) as error:
        print(found.shape, error)


def spectra() -> dict[str, Any]:
    """Spectra with their numbers of columns and degrees of freedom."""
    far = [10.0**-i for i in range(9)]
    cases = {
        "spread": ([float(i) for i in range(1, 16)], 15, 40),
        "ties": ([1.0] * 6 + [2.0] * 3 + [8.0], 10, 33.5),
        "far apart": (far, 9, 1000),
        "as many columns": ([0.001 + (i / 20) ** 2 for i in range(20)], 20, 20),
        "one more column": ([0.01 + (i / 20) ** 2 for i in range(20)], 21, 20),
        "more columns": ([1.0 + i**2 for i in range(12)], 500, 12),
        "more columns, far apart": ([*far, 3.0, 5.0, 7.0, 1e6], 100, 13),
        "fewest degrees of freedom": ([0.5, 1.0, 3.0], 3, 12),
        "one column": ([3.0], 1, 20),
        "end of a kernel": ([1.0, 1.0 + 5**0.5 / 4], 2, 64),
    }
    return {
        name: {
            "eigenvalues": values, "columns": p, "df": n,
            "shrunk": numbers(shrunk([mp.mpf(one) for one in values], p, n)),
        }
        for name, (values, p, n) in cases.items()
    }  # fmt: skip


def tables() -> dict[str, Any]:
    """Shrunk covariances of tables of scikit-learn: pooled, of one class, and of more columns than rows."""
    wine, iris, digits = (load(return_X_y=True) for load in (load_wine, load_iris, load_digits))
    tumours, diagnosis = load_breast_cancer(return_X_y=True)
    few = np.flatnonzero(digits[1] < 3)[:45]
    inked = digits[0][few][:, np.ptp(digits[0][few], axis=0) > 0]
    standard = (wine[0] - wine[0].mean(axis=0)) / wine[0].std(axis=0)
    return {
        "wine": covariance(*wine),
        "wine, standardized": covariance(standard, wine[1]),
        "iris, class 1": covariance(iris[0][50:100], np.zeros(50, dtype=int)),
        "breast cancer, 40 rows": covariance(tumours[10:50], diagnosis[10:50]),
        "digits, 45 rows": covariance(inked, digits[1][few]),
    }


path = Path(__file__).with_name("nonlinear.json")
path.write_text(json.dumps({"spectra": spectra(), "tables": tables()}, indent=1) + "\n")
