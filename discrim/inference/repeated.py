"""Repeated measures: within-subject contrasts, their univariate tests, and sphericity.

The repeated-measures results of the linear model use these functions.

The p responses of a row are one quantity, measured under p conditions, the cells of a within-subject design.
A term of this design has d orthonormal contrasts that sum to zero, the columns of C (p, d); the mean of the
responses has the single column 1/sqrt(p). A between-subject term is then tested on Y C: its scatters C'HC and
C'EC, on q and v degrees of freedom, provide the four multivariate tests, and their traces

    F = (tr C'HC/(q d)) / (tr C'EC/(v d))   on q d and v d degrees of freedom,

the univariate test. It is valid if C'SC, with S the covariance of a row, is a multiple of the identity
(sphericity). Otherwise F has approximately eps times these degrees of freedom (Box, 1954, Annals of
Mathematical Statistics 25, 484-498), with eps = tr(C'SC)^2/(d tr (C'SC)^2) between 1/d and 1. Estimates:

    Greenhouse & Geisser   eps of C'EC/v (1959, Psychometrika 24, 95-112),
    Huynh & Feldt          (n d eps - 2)/(d (v - d eps)) with eps of Greenhouse and Geisser; n is v + 1
                           (Lecoutre, 1991, Journal of Educational Statistics 16, 371-372), or the number of
                           rows, as Huynh and Feldt wrote for several groups (1976, ibid. 1, 69-82).

Mauchly's criterion (1940, Annals of Mathematical Statistics 11, 204-209) is W = |C'EC|/(tr(C'EC)/d)^d. With
rho = 1 - (2d^2 + d + 2)/(6 d v), f = d(d+1)/2 - 1 and z = -v rho ln W, its p-value is P_f + w2 (P_{f+4} -
P_f), with P_f the tail of chi-square on f degrees of freedom at z and w2 = (d+2)(d-1)(d-2)(2d^3 + 6d^2 + 3d +
2)/(288 (d v rho)^2) (Anderson, 2003, An Introduction to Multivariate Statistical Analysis, sec. 10.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import chi2_sf, f_sf
from discrim.inference.manova import Hypothesis, LeastSquares

HuynhFeldt = Literal["lecoutre", "1976"]
"""Variants of the Huynh-Feldt estimate, see the module docstring."""

MAX_COSINE = 1e-9
"""Cosine above which two within-subject contrasts are not orthogonal."""


def interaction_contrasts(codes: Sequence[Codes]) -> Floats | None:
    """Compute orthonormal contrasts of the interaction of within-subject factors.

    The contrasts span the products of sum-coded columns of the factors. They sum to zero over the responses
    if all combinations of levels occur equally often.

    Parameters
    ----------
    codes : sequence of (p,) int
        For each factor of the interaction (one for a main effect), the level code, from 0, of each of the p
        responses.

    Returns
    -------
    (p, d) float or None
        d is the product over the factors of the number of levels minus one. None if empty cells make the
        contrasts linearly dependent, or d >= p.

    Examples
    --------
    >>> interaction_contrasts([np.array([0, 0, 1, 1])]).round(3).ravel().tolist()
    [-0.5, -0.5, 0.5, 0.5]
    """
    columns = np.ones((len(codes[0]), 1))
    for levels_by_response in codes:
        n_levels = int(levels_by_response.max()) + 1
        sum_coding = np.vstack([np.eye(n_levels - 1), -np.ones((1, n_levels - 1))])[levels_by_response]
        columns = (columns[:, :, None] * sum_coding[:, None, :]).reshape(len(levels_by_response), -1)
    if columns.shape[1] >= len(columns) or np.linalg.matrix_rank(columns) < columns.shape[1]:
        return None
    return np.asarray(np.linalg.qr(columns)[0])


def find_nonorthogonal(contrasts: Sequence[Floats]) -> tuple[int, int] | None:
    """Return the positions, the smaller one first, of two groups of contrasts (p, d) that are not orthogonal.

    Return None if all groups are orthogonal to one another, up to `MAX_COSINE`. Contrasts have unit length.
    """
    for j, later in enumerate(contrasts):
        for i, earlier in enumerate(contrasts[:j]):
            if np.abs(earlier.T @ later).max() > MAX_COSINE:
                return i, j
    return None


@dataclass(frozen=True, slots=True)
class Sphericity:
    """Mauchly's test of sphericity, and estimates of eps.

    Attributes
    ----------
    mauchly, p : float
        W and its p-value; NaN for a single contrast, or if there are fewer residual degrees of freedom than
        contrasts.
    gg, hf : float
        Greenhouse-Geisser and Huynh-Feldt estimates of eps. The second is not bounded by one.
    """

    mauchly: float
    p: float
    gg: float
    hf: float


def sphericity(model: LeastSquares, total: float, huynh_feldt: HuynhFeldt) -> Sphericity:
    """Test sphericity of a model whose responses are d orthonormal contrasts.

    Parameters
    ----------
    model : LeastSquares
        Linear model with the d contrasts of the responses, Y C, as responses.
    total : float
        Number of rows N, used by "1976" only.
    huynh_feldt : {"lecoutre", "1976"}
        Variant of the Huynh-Feldt estimate.

    Returns
    -------
    Sphericity
    """
    roots = np.linalg.svd(model.error_root, compute_uv=False) ** 2
    d = len(roots)
    v = model.df
    roots = roots / roots.mean()
    gg = d / float((roots**2).sum())
    n = v + 1 if huynh_feldt == "lecoutre" else total
    # The estimate is unbounded if v = d eps.
    with np.errstate(divide="ignore"):
        hf = float(np.divide(n * d * gg - 2, d * (v - d * gg)))
    if d == 1 or v < d:
        return Sphericity(np.nan, np.nan, gg, hf)
    log_w = float(np.log(roots).sum())
    rho = 1 - (2 * d * d + d + 2) / (6 * d * v)
    z = -v * rho * log_w
    f = d * (d + 1) / 2 - 1
    w2 = (d + 2) * (d - 1) * (d - 2) * (2 * d**3 + 6 * d * d + 3 * d + 2) / (288 * (d * v * rho) ** 2)
    first, second = (float(chi2_sf(z, df)) for df in (f, f + 4))
    return Sphericity(float(np.exp(log_w)), first + w2 * (second - first), gg, hf)


def univariate_row(
    model: LeastSquares, hypothesis: Hypothesis, total: float, huynh_feldt: HuynhFeldt
) -> dict[str, float]:
    """Compute the univariate test of a hypothesis about d orthonormal contrasts, as a row of a table.

    Parameters
    ----------
    model : LeastSquares
        Linear model with the d contrasts of the responses, Y C, as responses.
    hypothesis : Hypothesis
        A hypothesis of this model.
    total : float
        Number of rows N.
    huynh_feldt : {"lecoutre", "1976"}
        Variant of the Huynh-Feldt estimate.

    Returns
    -------
    dict of float
        SS and SS_error (traces of C'HC and C'EC), df1 and df2 (q d and v d, not multiplied by eps), F;
        p-values p, p_GG and p_HF (the last with eps at most 1); GG and HF, the estimates of eps; and eta2,
        SS/(SS + SS_error). df1, F and the p-values are NaN for a hypothesis without directions.
    """
    d = len(model.error_root)
    sphericity_test = sphericity(model, total, huynh_feldt)
    explained = float((hypothesis.projection**2).sum())
    residual = float((model.error_root**2).sum())
    df1 = float(hypothesis.df * d) if hypothesis.df else np.nan
    df2 = model.df * d
    f = explained / df1 / (residual / df2)
    eps = {"": 1.0, "_GG": sphericity_test.gg, "_HF": min(sphericity_test.hf, 1.0)}
    row = {"SS": explained, "df1": df1, "SS_error": residual, "df2": df2, "F": f}
    row |= {f"p{name}": float(f_sf(f, e * df1, e * df2)) for name, e in eps.items()}
    return row | {
        "GG": sphericity_test.gg,
        "HF": sphericity_test.hf,
        "eta2": explained / (explained + residual),
    }
