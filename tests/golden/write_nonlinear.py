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


def kernel_density(x: Any) -> Any:
    """Evaluate Epanechnikov's kernel of variance one."""
    return 3 / (4 * ROOT5) * max(1 - x**2 / 5, mp.mpf(0))


def kernel_hilbert_transform(x: Any) -> Any:
    """Evaluate the Hilbert transform of the kernel."""
    linear = -3 * x / (10 * mp.pi)
    if abs(x) == ROOT5:
        return linear
    return linear + 3 / (4 * ROOT5 * mp.pi) * (1 - x**2 / 5) * mp.log(abs((ROOT5 - x) / (ROOT5 + x)))


def shrink_eigenvalues(eigenvalues: list[Any], p: int, n: Any) -> list[Any]:
    """Return the shrunken eigenvalues of p columns and n degrees of freedom, from the nonzero eigenvalues."""
    count = len(eigenvalues)
    n = mp.mpf(n) if count == p else mp.mpf(count)
    h = n ** (-mp.mpf(1) / 3)

    def mean(kernel: Any, point: Any) -> Any:
        return mp.fsum(kernel((point - one) / (h * one)) / (h * one) for one in eigenvalues) / count

    result = []
    for one in eigenvalues:
        f, hf = mean(kernel_density, one), mean(kernel_hilbert_transform, one)
        if count == p:
            c = p / n
            denominator = (mp.pi * c * one * f) ** 2 + (1 - c - mp.pi * c * one * hf) ** 2
        else:
            denominator = mp.pi**2 * one**2 * (f**2 + hf**2)
        result.append(one / denominator)
    if count < p:
        result += [1 / (mp.pi * (p - n) / n * mean(kernel_hilbert_transform, mp.mpf(0)))] * (p - count)
    return result


def to_floats(values: list[Any]) -> list[float]:
    """Round exact numbers to the nearest floats."""
    return [float(one) for one in values]


def shrunk_covariance(x: np.ndarray, codes: np.ndarray) -> list[list[float]]:
    """Return the shrunken within-class covariance (p, p) of rows x with class codes."""
    k, p = codes.max() + 1, x.shape[1]
    rows = mp.matrix(x.tolist())
    for c in range(k):
        members = np.flatnonzero(codes == c).tolist()
        for j in range(p):
            mean = mp.fsum(rows[i, j] for i in members) / len(members)
            for i in members:
                rows[i, j] -= mean
    n = len(x) - int(k)
    eigenvalues, vectors = mp.eigsy(rows.T * rows / n)
    n_zero = max(p - n, 0)
    shrunken = shrink_eigenvalues([eigenvalues[j] for j in range(n_zero, p)], p, n)
    shrunken = shrunken[p - n_zero :] + shrunken[: p - n_zero]
    matrix = vectors * mp.diag(shrunken) * vectors.T
    compare_with_nonlinshrink(x, codes, np.array(matrix.tolist(), dtype=float), int(k))
    return [to_floats([matrix[i, j] for j in range(p)]) for i in range(p)]


def compare_with_nonlinshrink(x: np.ndarray, codes: np.ndarray, covariance: np.ndarray, k: int) -> None:
    """Print the relative difference from nonlinshrink, if it is installed and accepts these rows."""
    try:
        from nonlinshrink import shrink_cov

        within = x - np.stack([x[codes == c].mean(axis=0) for c in range(k)])[codes]
        theirs = shrink_cov(within, k=k)
        print(covariance.shape, np.abs(theirs - covariance).max() / np.abs(covariance).max())
    except (ImportError, ValueError) as error:
        print(covariance.shape, error)


def shrunken_spectra() -> dict[str, Any]:
    """Return eigenvalues, columns, degrees of freedom and shrunken eigenvalues by case."""
    far_apart = [10.0**-i for i in range(9)]
    cases = {
        "spread": ([float(i) for i in range(1, 16)], 15, 40),
        "ties": ([1.0] * 6 + [2.0] * 3 + [8.0], 10, 33.5),
        "far apart": (far_apart, 9, 1000),
        "as many columns": ([0.001 + (i / 20) ** 2 for i in range(20)], 20, 20),
        "one more column": ([0.01 + (i / 20) ** 2 for i in range(20)], 21, 20),
        "more columns": ([1.0 + i**2 for i in range(12)], 500, 12),
        "more columns, far apart": ([*far_apart, 3.0, 5.0, 7.0, 1e6], 100, 13),
        "fewest degrees of freedom": ([0.5, 1.0, 3.0], 3, 12),
        "one column": ([3.0], 1, 20),
        "end of a kernel": ([1.0, 1.0 + 5**0.5 / 4], 2, 64),
    }
    return {
        name: {
            "eigenvalues": values, "columns": p, "df": n,
            "shrunk": to_floats(shrink_eigenvalues([mp.mpf(one) for one in values], p, n)),
        }
        for name, (values, p, n) in cases.items()
    }  # fmt: skip


def shrunken_tables() -> dict[str, Any]:
    """Return shrunken covariances of scikit-learn's tables: pooled, of one class, and with p > n."""
    wine, iris, digits = (load(return_X_y=True) for load in (load_wine, load_iris, load_digits))
    tumours, diagnosis = load_breast_cancer(return_X_y=True)
    first_rows = np.flatnonzero(digits[1] < 3)[:45]
    varying_pixels = digits[0][first_rows][:, np.ptp(digits[0][first_rows], axis=0) > 0]
    standard = (wine[0] - wine[0].mean(axis=0)) / wine[0].std(axis=0)
    return {
        "wine": shrunk_covariance(*wine),
        "wine, standardized": shrunk_covariance(standard, wine[1]),
        "iris, class 1": shrunk_covariance(iris[0][50:100], np.zeros(50, dtype=int)),
        "breast cancer, 40 rows": shrunk_covariance(tumours[10:50], diagnosis[10:50]),
        "digits, 45 rows": shrunk_covariance(varying_pixels, digits[1][first_rows]),
    }


path = Path(__file__).with_name("nonlinear.json")
path.write_text(json.dumps({"spectra": shrunken_spectra(), "tables": shrunken_tables()}, indent=1) + "\n")
