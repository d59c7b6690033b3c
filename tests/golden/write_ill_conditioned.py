"""Write ill_conditioned.json: LDA and QDA of two tables in sixty digits, and what their last bits cost.

    python -m tests.golden.write_ill_conditioned ../shared/data/hard/Hill_Valley_without_noise.tsv.gz

One of them is public and no part of the project, the other is made by `tests.support.curves`.

Scatters are exact, by integers; everything after them has sixty digits. `loss` is the largest change of each
result over draws in which every number of the table moves to a neighbouring double, relative to the largest
entry of the result.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd

from tests.support import curves

mpmath.mp.dps = 60
DRAWS = 8
Exact = np.ndarray
number = np.frompyfunc(lambda value: mpmath.mpf(int(value)), 1, 1)
root, log = np.frompyfunc(mpmath.sqrt, 1, 1), np.frompyfunc(mpmath.log, 1, 1)


def exact(x: np.ndarray) -> Exact:
    return np.frompyfunc(mpmath.mpf, 1, 1)(np.asarray(x, dtype=np.float64).astype(object))


def moments(x: np.ndarray, codes: np.ndarray) -> list[tuple[int, Exact, Exact]]:
    """Count, mean (p,) and scatter (p, p) of each class."""
    mantissas, exponents = np.frexp(x)
    exponents = np.where(x == 0, 0, exponents - 53)
    lowest = int(exponents.min())
    shift = np.frompyfunc(lambda power: 1 << int(power), 1, 1)(exponents - lowest)
    whole = (mantissas * 2.0**53).astype(np.int64).astype(object) * shift
    found = []
    for k in range(int(codes.max()) + 1):
        rows = whole[codes == k]
        n, total = len(rows), rows.sum(axis=0)
        scatter = n * rows.T.dot(rows) - np.multiply.outer(total, total)
        unit = mpmath.mpf(2) ** lowest
        found.append((n, number(total) / n * unit, number(scatter) / n * unit**2))
    return found


def cholesky(matrix: Exact) -> Exact:
    lower = np.full(matrix.shape, mpmath.mpf(0), dtype=object)
    for j in range(len(matrix)):
        rest = matrix[j:, j] - (lower[j:, :j].dot(lower[j, :j]) if j else 0)
        lower[j, j] = mpmath.sqrt(rest[0])
        lower[j:, j] = rest / lower[j, j]
    return lower


def forward(lower: Exact, right: Exact) -> Exact:
    found = right.copy()
    for i in range(len(lower)):
        found[i] = (found[i] - (lower[i, :i].dot(found[:i]) if i else 0)) / lower[i, i]
    return found


def backward(lower: Exact, right: Exact) -> Exact:
    found = right.copy()
    for i in reversed(range(len(lower))):
        found[i] = (found[i] - lower[i + 1 :, i].dot(found[i + 1 :])) / lower[i, i]
    return found


def log_determinant(lower: Exact) -> mpmath.mpf:
    return 2 * log(np.diagonal(lower)).sum()


def squares(columns: Exact) -> Exact:
    return (columns**2).sum(axis=0)


def linear(x: np.ndarray, codes: np.ndarray, rows: list[int]) -> dict[str, Exact]:
    (n, m, w), (n1, m1, w1) = moments(x, codes)
    nu = n + n1 - 2
    lower = cholesky((w + w1) / nu)
    gap = forward(lower, m1 - m)
    d2 = (gap**2).sum()
    slopes = backward(lower, gap)
    precision = squares(forward(lower, exact(np.eye(len(m)))))
    both = mpmath.mpf(1) / n + mpmath.mpf(1) / n1
    wilks = 1 / (1 + d2 / nu / both)
    # Scores, in full and with each row left out (REFERENCE's closed form, priors held).
    deviations = [forward(lower, (exact(x[rows]) - mean).T) for mean in (m, m1)]
    prior = [mpmath.mpf(n) / len(x), mpmath.mpf(n1) / len(x)]
    scores = [mpmath.log(share) - squares(z) / 2 for share, z in zip(prior, deviations, strict=True)]
    held_out = []
    for i, own in enumerate(codes[rows].tolist()):
        count, mine = (n, n1)[own], deviations[own][:, i]
        c = mpmath.mpf(count) / ((count - 1) * nu)
        left = 1 - c * (mine**2).sum()
        both_scores = []
        for k in (0, 1):
            other = deviations[k][:, i]
            if k == own:
                value = mpmath.mpf(count**2) / (count - 1) ** 2 * (mine**2).sum() / left
            else:
                value = (other**2).sum() + c * other.dot(mine) ** 2 / left
            both_scores.append(mpmath.log(prior[k]) - mpmath.mpf(nu - 1) / nu * value / 2)
        held_out.append(both_scores[1] - both_scores[0])
    means = np.stack([forward(lower, m), forward(lower, m1)], axis=1)
    return {
        "D2": np.array([d2]),
        "wilks": np.array([wilks]),
        "F": np.array([(1 - wilks) / wilks * (nu - len(m) + 1) / len(m)]),
        "logdet": np.array([log_determinant(lower)]),
        "slopes": slopes,
        "se": root(both * precision + (d2 * precision + slopes**2) / nu),
        "coef": backward(lower, means).T.ravel(),
        "axis": slopes / mpmath.sqrt(d2),
        "log_odds": scores[1] - scores[0],
        "left_out": np.array(held_out),
    }


def quadratic(x: np.ndarray, codes: np.ndarray, rows: list[int]) -> dict[str, Exact]:
    scores, logdets, held_out = [], [], []
    for k, (n, mean, scatter) in enumerate(moments(x, codes)):
        lower, p = cholesky(scatter / (n - 1)), len(mean)
        logdets.append(log_determinant(lower))
        d2 = squares(forward(lower, (exact(x[rows]) - mean).T))
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


def both(x: np.ndarray, codes: np.ndarray, every: int) -> dict[str, object]:
    rows = list(range(0, len(x), every))
    rng = np.random.default_rng(20261122)
    written: dict[str, object] = {"rows": rows}
    nudged = [np.nextafter(x, rng.choice([-1.0, 1.0], size=x.shape) * np.inf) for _ in range(DRAWS)]
    for name, model in (("lda", linear), ("qda", quadratic)):
        found = model(x, codes, rows)
        loss = dict.fromkeys(found, 0.0)
        for other in nudged:
            for key, value in model(other, codes, rows).items():
                moved = np.abs(value - found[key]).max() / np.abs(found[key]).max()
                loss[key] = max(loss[key], float(moved))
        whole = model(x, codes, list(range(len(x))))
        written[name] = {
            "values": {key: [float(v) for v in value] for key, value in found.items()},
            "loss": loss,
            "wrong": int(((whole["log_odds"] > 0) != codes).sum()),
            "wrong_left_out": int(((whole["left_out"] > 0) != codes).sum()),
        }
    return written


def main(path: str) -> None:
    table = pd.read_csv(path, sep="\t")
    codes = table.pop("target").to_numpy()
    written = {"hill_valley": both(table.to_numpy(dtype=np.float64), codes, 30), "curves": both(*curves(), 1)}
    Path(__file__).with_name("ill_conditioned.json").write_text(json.dumps(written) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
