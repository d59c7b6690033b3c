"""Write ill_conditioned.json: LDA and QDA of two ill-conditioned tables in sixty digits.

    python -m tests.golden.write_ill_conditioned ../shared/data/hard/Hill_Valley_without_noise.tsv.gz

One table is public and not part of the project, the other is `tests.support.collinear_curves`.

Scatters are computed exactly with integers, everything after them with sixty digits. `loss` is the largest
change of each result if every number of the table moves to a neighbouring float, over several draws,
relative to the largest entry of the result.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd

from tests.support import collinear_curves

mpmath.mp.dps = 60
N_DRAWS = 8
Exact = np.ndarray
to_mpf = np.frompyfunc(lambda value: mpmath.mpf(int(value)), 1, 1)
root, log = np.frompyfunc(mpmath.sqrt, 1, 1), np.frompyfunc(mpmath.log, 1, 1)


def exact(x: np.ndarray) -> Exact:
    """Convert floats to exact numbers."""
    return np.frompyfunc(mpmath.mpf, 1, 1)(np.asarray(x, dtype=np.float64).astype(object))


def class_moments(x: np.ndarray, codes: np.ndarray) -> list[tuple[int, Exact, Exact]]:
    """Return count, mean (p,) and scatter (p, p) of each class."""
    mantissas, exponents = np.frexp(x)
    exponents = np.where(x == 0, 0, exponents - 53)
    lowest = int(exponents.min())
    shift = np.frompyfunc(lambda power: 1 << int(power), 1, 1)(exponents - lowest)
    integers = (mantissas * 2.0**53).astype(np.int64).astype(object) * shift
    result = []
    for k in range(int(codes.max()) + 1):
        rows = integers[codes == k]
        n, total = len(rows), rows.sum(axis=0)
        scatter = n * rows.T.dot(rows) - np.multiply.outer(total, total)
        unit = mpmath.mpf(2) ** lowest
        result.append((n, to_mpf(total) / n * unit, to_mpf(scatter) / n * unit**2))
    return result


def cholesky(matrix: Exact) -> Exact:
    """Return the lower Cholesky factor of a positive definite matrix."""
    lower = np.full(matrix.shape, mpmath.mpf(0), dtype=object)
    for j in range(len(matrix)):
        remaining = matrix[j:, j] - (lower[j:, :j].dot(lower[j, :j]) if j else 0)
        lower[j, j] = mpmath.sqrt(remaining[0])
        lower[j:, j] = remaining / lower[j, j]
    return lower


def solve_lower(lower: Exact, right: Exact) -> Exact:
    """Solve L x = right for a lower triangular L."""
    solution = right.copy()
    for i in range(len(lower)):
        solution[i] = (solution[i] - (lower[i, :i].dot(solution[:i]) if i else 0)) / lower[i, i]
    return solution


def solve_upper(lower: Exact, right: Exact) -> Exact:
    """Solve L' x = right for a lower triangular L."""
    solution = right.copy()
    for i in reversed(range(len(lower))):
        solution[i] = (solution[i] - lower[i + 1 :, i].dot(solution[i + 1 :])) / lower[i, i]
    return solution


def log_determinant(lower: Exact) -> mpmath.mpf:
    """Return the log determinant of L L'."""
    return 2 * log(np.diagonal(lower)).sum()


def column_sums_of_squares(columns: Exact) -> Exact:
    """Return the sum of squares of each column."""
    return (columns**2).sum(axis=0)


def lda_values(x: np.ndarray, codes: np.ndarray, rows: list[int]) -> dict[str, Exact]:
    """Return the results of LDA of two classes; scores and leave-one-out scores of the given rows."""
    (n, m, w), (n1, m1, w1) = class_moments(x, codes)
    nu = n + n1 - 2
    lower = cholesky((w + w1) / nu)
    whitened_difference = solve_lower(lower, m1 - m)
    d2 = (whitened_difference**2).sum()
    slopes = solve_upper(lower, whitened_difference)
    precision = column_sums_of_squares(solve_lower(lower, exact(np.eye(len(m)))))
    variance_factor = mpmath.mpf(1) / n + mpmath.mpf(1) / n1
    wilks = 1 / (1 + d2 / nu / variance_factor)
    # Scores, in full and with each row left out (REFERENCE's closed form, priors held).
    deviations = [solve_lower(lower, (exact(x[rows]) - mean).T) for mean in (m, m1)]
    prior = [mpmath.mpf(n) / len(x), mpmath.mpf(n1) / len(x)]
    scores = [
        mpmath.log(share) - column_sums_of_squares(z) / 2 for share, z in zip(prior, deviations, strict=True)
    ]
    held_out = []
    for i, code in enumerate(codes[rows].tolist()):
        count, own_deviation = (n, n1)[code], deviations[code][:, i]
        c = mpmath.mpf(count) / ((count - 1) * nu)
        denominator = 1 - c * (own_deviation**2).sum()
        both_scores = []
        for k in (0, 1):
            other = deviations[k][:, i]
            if k == code:
                value = mpmath.mpf(count**2) / (count - 1) ** 2 * (own_deviation**2).sum() / denominator
            else:
                value = (other**2).sum() + c * other.dot(own_deviation) ** 2 / denominator
            both_scores.append(mpmath.log(prior[k]) - mpmath.mpf(nu - 1) / nu * value / 2)
        held_out.append(both_scores[1] - both_scores[0])
    means = np.stack([solve_lower(lower, m), solve_lower(lower, m1)], axis=1)
    return {
        "D2": np.array([d2]),
        "wilks": np.array([wilks]),
        "F": np.array([(1 - wilks) / wilks * (nu - len(m) + 1) / len(m)]),
        "logdet": np.array([log_determinant(lower)]),
        "slopes": slopes,
        "se": root(variance_factor * precision + (d2 * precision + slopes**2) / nu),
        "coef": solve_upper(lower, means).T.ravel(),
        "axis": slopes / mpmath.sqrt(d2),
        "log_odds": scores[1] - scores[0],
        "left_out": np.array(held_out),
    }


def qda_values(x: np.ndarray, codes: np.ndarray, rows: list[int]) -> dict[str, Exact]:
    """Return the results of QDA of two classes; scores and leave-one-out scores of the given rows."""
    scores, logdets, held_out = [], [], []
    for k, (n, mean, scatter) in enumerate(class_moments(x, codes)):
        lower, p = cholesky(scatter / (n - 1)), len(mean)
        logdets.append(log_determinant(lower))
        d2 = column_sums_of_squares(solve_lower(lower, (exact(x[rows]) - mean).T))
        share = mpmath.log(mpmath.mpf(n) / len(x))
        scores.append(share - (logdets[-1] + d2) / 2)
        f = 1 - n * d2 / (mpmath.mpf(n - 1) ** 2)
        moved = d2 * mpmath.mpf(n) ** 2 / (n - 1) ** 2 * mpmath.mpf(n - 2) / (n - 1) / f
        spread = logdets[-1] + log(f) + p * mpmath.log(mpmath.mpf(n - 1) / (n - 2))
        held_out.append(np.where(codes[rows] == k, share - (spread + moved) / 2, scores[-1]))
    return {
        "logdet": np.array(logdets),
        "log_odds": scores[1] - scores[0],
        "left_out": held_out[1] - held_out[0],
    }


def golden_values(x: np.ndarray, codes: np.ndarray, step: int) -> dict[str, object]:
    """Return values, losses and error counts of LDA and QDA; scores of every `step`-th row."""
    rows = list(range(0, len(x), step))
    rng = np.random.default_rng(20261122)
    values: dict[str, object] = {"rows": rows}
    nudged = [np.nextafter(x, rng.choice([-1.0, 1.0], size=x.shape) * np.inf) for _ in range(N_DRAWS)]
    for name, model in (("lda", lda_values), ("qda", qda_values)):
        result = model(x, codes, rows)
        loss = dict.fromkeys(result, 0.0)
        for other in nudged:
            for key, value in model(other, codes, rows).items():
                change = np.abs(value - result[key]).max() / np.abs(result[key]).max()
                loss[key] = max(loss[key], float(change))
        all_rows = model(x, codes, list(range(len(x))))
        values[name] = {
            "values": {key: [float(v) for v in value] for key, value in result.items()},
            "loss": loss,
            "wrong": int(((all_rows["log_odds"] > 0) != codes).sum()),
            "wrong_left_out": int(((all_rows["left_out"] > 0) != codes).sum()),
        }
    return values


def main(path: str) -> None:
    table = pd.read_csv(path, sep="\t")
    codes = table.pop("target").to_numpy()
    written = {
        "hill_valley": golden_values(table.to_numpy(dtype=np.float64), codes, 30),
        "curves": golden_values(*collinear_curves(), 1),
    }
    Path(__file__).with_name("ill_conditioned.json").write_text(json.dumps(written) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
