"""Digits: a fit may lose at most one decimal more than its input's last bit already costs.

Each case is a table of doubles that is hard in one way. The reference computes from the same doubles in
eighty digits, and again from neighbouring doubles; the change between the two is the inherent loss. Ten times
that loss, or ten times the 15.5th digit where the problem is benign, is all an answer may be off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.discriminant.lda import fit_lda
from discrim.core.moments.moments import ClassMoments
from discrim.errors import CollinearError, DataError, DroppedColumnsWarning
from discrim.inference.manova import wilks
from tests import references as ref

pytestmark = pytest.mark.filterwarnings(
    "ignore::discrim.errors.CollinearWarning", "ignore::discrim.errors.PrecisionWarning"
)

DIGITS_OF_A_DOUBLE = 15.5
ONE_DIGIT = 10.0
LABELS = np.array(["a", "b", "c"])
COUNTS = (10, 12, 14)
# Errors of logarithms are relative to max(1, |value|).
FLOORS = {"log_proba": 1.0, "logdet": 1.0}
# Each draw moves all inputs; the largest of the changes is the loss, so that fewer draws allow less.
DRAWS = 6


@dataclass(frozen=True)
class Case:
    """A table x (N, p) with codes (N,), the rows to predict (None: x itself), a prior (None: proportions).

    `by_column` says that an input's last bit is that of its column, not its own.
    """

    x: np.ndarray
    codes: np.ndarray
    rows: np.ndarray | None = None
    prior: tuple[float, ...] | None = None
    dtype: str = "float64"
    by_column: bool = False

    @property
    def columns(self) -> list[str]:
        return [f"x{j + 1}" for j in range(self.x.shape[1])]

    def frame(self, x: np.ndarray | None = None) -> pd.DataFrame:
        values = self.x if x is None else x
        frame = pd.DataFrame(values, columns=self.columns).astype(self.dtype)
        if x is None:
            frame["y"] = LABELS[self.codes]
        return frame

    def named_prior(self) -> dict[str, float] | None:
        return None if self.prior is None else dict(zip(LABELS, self.prior, strict=True))


def correlated_classes(seed: int = 7, separation: float = 1.5) -> Case:
    """Return three classes of three correlated normal columns, whose means differ by `separation` SD."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(3), COUNTS)
    mixing = np.array([[1.0, 0.4, 0.3], [0.0, 0.9, -0.2], [0.0, 0.0, 0.8]])
    centres = separation * np.array([[0.0, 0.0, 0.0], [1.0, 0.5, -0.3], [-0.4, 1.1, 0.8]])
    noise = rng.standard_normal((len(codes), 3))
    # Classes of unlike spread, so that the quadratic rule has something to say.
    return Case(noise * np.array([1.0, 1.3, 0.8])[codes][:, None] @ mixing + centres[codes], codes)


def shifted_columns(offset: float) -> Case:
    case = correlated_classes()
    return replace(case, x=case.x + offset * np.array([1.0, -0.7, 0.4]))


def scaled_columns(*factors: float) -> Case:
    case = correlated_classes()
    return replace(case, x=case.x * np.array(factors))


def nearly_collinear(delta: float, offset: float = 0.0) -> Case:
    """x3 = x1 + x2 but for noise of SD delta: a correlation matrix of condition about 1 / delta^2."""
    case = correlated_classes()
    first = case.x[:, :2] + offset
    noise = np.random.default_rng(11).standard_normal(len(first))
    return replace(case, x=np.column_stack([first, first.sum(axis=1) + delta * noise]))


def far_rows(distance: float) -> Case:
    case = correlated_classes()
    away = np.random.default_rng(5).standard_normal((8, 3))
    return replace(case, rows=distance * away)


def with_outlying_cell(size: float) -> Case:
    case = correlated_classes()
    x = case.x.copy()
    x[4, 1] = size
    return replace(case, x=x)


def with_outlying_row(size: float) -> Case:
    """A row far out in every column.

    It drags its class mean to size / n, and the mean's own last bit is then far above that of the other rows;
    as means are reported in doubles, it is the last bit of the column that counts.
    """
    case = correlated_classes()
    x = case.x.copy()
    x[4] += size * np.array([1.0, -0.5, 0.25])
    return replace(case, x=x, by_column=True)


def single_precision() -> Case:
    case = shifted_columns(100.0)
    return replace(case, x=case.x.astype(np.float32).astype(np.float64), dtype="float32")


CASES = {
    "ordinary": correlated_classes(),
    **{
        f"offset_{offset:.0e}": shifted_columns(offset)
        for offset in (1e0, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12, 1e13)
    },
    "scaled_tiny": scaled_columns(1e-160, 1e-160, 1e-160),
    "scaled_huge": scaled_columns(1e160, 1e160, 1e160),
    "scaled_small": scaled_columns(1e-140, 1e-140, 1e-140),
    "scaled_large": scaled_columns(1e140, 1e140, 1e140),
    "scaled_apart": scaled_columns(1e-160, 1.0, 1e160),
    "scaled_mildly_apart": scaled_columns(1e-9, 1.0, 1e9),
    **{f"collinear_to_{delta:.0e}": nearly_collinear(delta) for delta in (1e-3, 1e-6, 1e-9, 1e-12)},
    "collinear_to_1e-06_offset_1e+04": nearly_collinear(1e-6, 1e4),
    "collinear_to_1e-09_scaled_apart": replace(
        nearly_collinear(1e-9), x=nearly_collinear(1e-9).x * np.array([2.0**-500, 1.0, 2.0**500])
    ),
    **{f"means_{gap:.0e}_apart": correlated_classes(separation=gap) for gap in (1e2, 1e4, 1e6)},
    "rows_1e+08_away": far_rows(1e8),
    "rows_1e+02_away": far_rows(1e2),
    "prior_1e-300": replace(correlated_classes(), prior=(1e-300, 0.25, 0.75)),
    "prior_1e-10": replace(correlated_classes(), prior=(0.5, 0.5 - 1e-10, 1e-10)),
    "outlying_cell_1e+04": with_outlying_cell(1e4),
    "outlying_cell_1e+08": with_outlying_cell(1e8),
    "outlying_row_1e+04": with_outlying_row(1e4),
    "outlying_row_1e+08": with_outlying_row(1e8),
    "float32": single_precision(),
}

LEFT_OUT = (
    "ordinary", "offset_1e+08", "scaled_apart", "collinear_to_1e-06", "collinear_to_1e-12",
    "means_1e+06_apart", "outlying_cell_1e+04", "outlying_cell_1e+08",
    "outlying_row_1e+04", "outlying_row_1e+08",
)  # fmt: skip
LEFT_OUT_ROWS = [0, 4, 17, 35]

BETWEEN = (
    "offset_1e+00", "offset_1e+06", "offset_1e+10", "offset_1e+12", "scaled_large", "scaled_mildly_apart",
    "collinear_to_1e-03", "means_1e+02_apart", "rows_1e+02_away", "prior_1e-10", "outlying_row_1e+04",
)  # fmt: skip
"""Cases between harder and easier ones, which run with the exhaustive tests."""


def cases_except(*names: str) -> list[Any]:
    """Return all other cases, marked if they are exhaustive."""
    return [
        pytest.param(name, marks=[pytest.mark.exhaustive] * (name in BETWEEN))
        for name in CASES
        if name not in names
    ]


# ------------------------------------------------------------------ references, once a case


def _reference(case: Case, model: str) -> tuple[dict[str, ref.Exact], dict[str, np.ndarray]]:
    fit = ref.lda if model == "lda" else ref.qda
    prior = None if case.prior is None else ref.exact(case.prior)

    def run(x: ref.Exact, rows: ref.Exact | None = None) -> dict[str, ref.Exact]:
        return fit(x, case.codes, prior=prior, rows=rows)

    inputs = [case.x] if case.rows is None else [case.x, case.rows]
    return ref.inherent_loss(run, *inputs, draws=DRAWS, by_column=case.by_column, floors=FLOORS)


@cache
def reference(name: str, model: str) -> tuple[dict[str, ref.Exact], dict[str, np.ndarray]]:
    return _reference(CASES[name], model)


@cache
def left_out_reference(name: str, model: str) -> tuple[dict[str, ref.Exact], dict[str, np.ndarray]]:
    case = CASES[name]

    def run(x: ref.Exact) -> dict[str, ref.Exact]:
        return {"log_proba": ref.leave_one_out(x, case.codes, model == "qda", positions=LEFT_OUT_ROWS)}

    return ref.inherent_loss(run, case.x, draws=DRAWS, by_column=case.by_column, floors=FLOORS)


@cache
def fitted(name: str, model: str):
    case = CASES[name]
    verb = discrim.lda if model == "lda" else discrim.qda
    return verb("y ~ " + " + ".join(case.columns), data=case.frame(), prior=case.named_prior())


# ------------------------------------------------------------------ what a fit says, as plain arrays


def estimate(name: str, model: str, quantity: str) -> np.ndarray:
    case, fit = CASES[name], fitted(name, model)
    match quantity:
        case "means" | "cov":
            return getattr(fit, quantity).loc[:, case.columns].to_numpy()
        case "covs":
            return np.array([fit.covs[label].loc[case.columns, case.columns].to_numpy() for label in LABELS])
        case "coef":
            return fit.coef.loc[case.columns, LABELS].to_numpy()
        case "intercept" | "logdet":
            return getattr(fit, quantity).loc[LABELS].to_numpy()
        case "contrast" | "se":
            table = fit.log_odds()["coef" if quantity == "contrast" else "se"]
            return np.array([[table.loc[(label, term)] for label in LABELS[1:]] for term in case.columns])
        case "log_proba":
            rows = None if case.rows is None else case.frame(case.rows)
            return fit.predict_log_proba(rows).loc[:, LABELS].to_numpy()
        case "llf":
            return np.array([fit.llf])
        case "wilks":
            return np.array([fit.wilks.statistic])
    raise KeyError(quantity)


def check_digits(name: str, model: str, quantity: str) -> None:
    """Check that the error of each number is at most ten times its inherent loss."""
    got = estimate(name, model, quantity)
    value, loss = (result[quantity] for result in reference(name, model))
    floor = FLOORS.get(quantity, 0.0)
    doubles = np.abs(ref.to_float(value))
    representable = (doubles == 0) | ((doubles > 1e-290) & (doubles < 1e300))
    assert got.shape == value.shape
    assert representable.any()
    assert np.isfinite(got[representable]).all(), got
    error = ref.relative_change(ref.exact(np.where(representable, got, 0.0)) - value, value, floor)[
        representable
    ]
    allowed = ONE_DIGIT * np.maximum(loss[representable], 10.0**-DIGITS_OF_A_DOUBLE)
    worst = np.argmax(error / allowed)
    have, possible = -np.log10(error[worst]), -np.log10(allowed[worst] / ONE_DIGIT)
    said = f"{quantity}: {have:.1f} digits where {possible:.1f} are there to be had"
    assert (error <= allowed).all(), said


# ------------------------------------------------------------------ tests


# A variance of 1e-320 or 1e320 is no double's to hold.
NO_COVARIANCE = ("scaled_tiny", "scaled_huge")


@pytest.mark.parametrize("name", cases_except(*NO_COVARIANCE))
def test_covariances_keep_their_digits(name: str) -> None:
    check_digits(name, "lda", "cov")
    check_digits(name, "qda", "covs")


@pytest.mark.parametrize("name", cases_except())
def test_lda_keeps_its_digits(name: str) -> None:
    for quantity in ("means", "coef", "contrast", "se", "log_proba", "llf", "wilks"):
        check_digits(name, "lda", quantity)


@pytest.mark.parametrize("name", cases_except())
def test_qda_keeps_its_digits(name: str) -> None:
    for quantity in ("logdet", "log_proba", "llf"):
        check_digits(name, "qda", quantity)


# At an offset the constant is a small difference of huge terms, so it is held to its inherent loss there; the
# prior's own logarithm is in it, too.
@pytest.mark.parametrize("name", ["ordinary", "offset_1e+04", "offset_1e+08", "scaled_apart", "prior_1e-300"])
def test_lda_intercept_keeps_its_digits(name: str) -> None:
    check_digits(name, "lda", "intercept")


@pytest.mark.parametrize("model", ["lda", "qda"])
@pytest.mark.parametrize("name", LEFT_OUT)
def test_leave_one_out_is_accurate(name: str, model: str) -> None:
    value, loss = left_out_reference(name, model)
    table = fitted(name, model).leave_one_out()
    posterior = table.loc[:, LABELS].to_numpy()[LEFT_OUT_ROWS]
    assert np.isfinite(posterior).all()
    exact = ref.exp(value["log_proba"])
    # A posterior p moves by p times what its logarithm moves; below 1e-290 it only has to stay small.
    change = loss["log_proba"] * np.maximum(1.0, np.abs(ref.to_float(value["log_proba"])))
    error = np.abs(ref.to_float(ref.exact(posterior) - exact))
    allowed = ONE_DIGIT * ref.to_float(exact) * np.maximum(change, 10.0**-DIGITS_OF_A_DOUBLE)
    floor = 1e-290
    assert (error <= np.maximum(allowed, floor)).all(), np.max(error / np.maximum(allowed, floor))


# ------------------------------------------------------------------ what has no answer


def assert_refused(case: Case, verb: str, *columns: str, error: type[Exception] = CollinearError) -> str:
    with pytest.raises(error) as caught:
        getattr(discrim, verb)("y ~ .", data=case.frame())
    message = str(caught.value)
    for column in columns:
        assert re.search(rf"\b{column}\b", message), message
    return message


def with_third_column(case: Case, third: np.ndarray) -> Case:
    return replace(case, x=np.column_stack([case.x[:, :2], third]))


@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4, 1e8])
def test_exact_collinearity_raises_and_names_columns(verb: str, offset: float) -> None:
    case = shifted_columns(offset) if offset else correlated_classes()
    assert_refused(with_third_column(case, case.x[:, 0] + case.x[:, 1]), verb, "x3")


@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.parametrize("factor", [1e-160, 1e-9, 3.0, 1e160])
def test_rescaled_copy_of_a_column_raises(verb: str, factor: float) -> None:
    case = correlated_classes()
    assert_refused(with_third_column(case, case.x[:, 0] * factor), verb, "x3")


@pytest.mark.parametrize("verb", ["lda", "qda"])
def test_collinearity_up_to_rounding_raises(verb: str) -> None:
    case = correlated_classes()
    third = (case.x[:, 0] / 3 + case.x[:, 1] / 7) * 1.1
    assert_refused(with_third_column(case, third), verb, "x3")


@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e8 / 3])
def test_constant_column_is_dropped_and_named(verb: str, value: float) -> None:
    case = correlated_classes()
    still = with_third_column(case, np.full(len(case.x), value))
    with pytest.warns(DroppedColumnsWarning, match="'x3'"):
        fit = getattr(discrim, verb)("y ~ .", still.frame())
    less = getattr(discrim, verb)("y ~ . - x3", still.frame())
    pd.testing.assert_frame_equal(fit.predict_log_proba(), less.predict_log_proba())


@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.parametrize("values", [(0.0, 1.0, 2.0), (0.1, 0.2, 0.7), (1e8 / 3, 1e8 / 7, 0.0)])
def test_column_constant_within_classes_raises_and_is_named(verb: str, values: tuple[float, ...]) -> None:
    case = correlated_classes()
    assert_refused(
        with_third_column(case, np.array(values)[case.codes]), verb, "x3", error=(CollinearError, DataError)
    )


def test_qda_raises_for_a_column_constant_in_one_class() -> None:
    case = correlated_classes()
    x = case.x.copy()
    x[case.codes == 1, 1] = 0.3
    assert_refused(replace(case, x=x), "qda", "x2", "b", error=(CollinearError, DataError))


def test_lda_raises_for_fewer_rows_than_columns() -> None:
    rng = np.random.default_rng(2)
    case = Case(rng.standard_normal((9, 12)), np.repeat(np.arange(3), 3))
    message = assert_refused(case, "lda", error=(CollinearError, DataError))
    assert re.search(r"\b9\b", message)
    assert re.search(r"\b12\b", message)


@pytest.mark.parametrize("rows_in_class", [2, 3])
def test_qda_raises_for_a_class_with_no_more_rows_than_columns(rows_in_class: int) -> None:
    case = correlated_classes()
    keep = (case.codes != 1) | (np.cumsum(case.codes == 1) <= rows_in_class)
    message = assert_refused(
        replace(case, x=case.x[keep], codes=case.codes[keep]), "qda", "b", error=(CollinearError, DataError)
    )
    assert re.search(rf"\b{rows_in_class}\b", message), message


@pytest.mark.parametrize("verb", ["lda", "qda"])
def test_near_collinearity_does_not_raise(verb: str) -> None:
    case = nearly_collinear(1e-12)
    fit = getattr(discrim, verb)("y ~ .", data=case.frame())
    assert np.isfinite(fit.predict_log_proba().to_numpy()).all()


# ------------------------------------------------------------------ NIST


# Digits of the certified F that doubles can carry, by the grade of difficulty of SmLs (1-3, 4-6, 7-9); both
# measured sets lose what their constant leading digits take. One digit less is granted, as everywhere.
NIST = {
    **dict.fromkeys(["SmLs01", "SmLs02", "SmLs03"], 15.0),
    **dict.fromkeys(["SmLs04", "SmLs05", "SmLs06"], 10.4),
    **dict.fromkeys(["SmLs07", "SmLs08", "SmLs09"], 4.4),
    "SiRstv": 13.0,
    "AtmWtAg": 10.0,
}


def nist_table(name: str) -> tuple[pd.DataFrame, float]:
    """The data and the certified F of one of NIST's one-way sets, from the copy in SciPy's wheel."""
    tests = pytest.importorskip("scipy.stats.tests", reason="this SciPy came without its tests")
    path = Path(tests.__file__).parent / "data" / "nist_anova" / f"{name}.dat"
    if not path.exists():
        pytest.skip(f"this SciPy came without {path.name}")
    lines = path.read_text(encoding="utf-8").splitlines()
    certified = next(float(line.split()[-1]) for line in lines if line.startswith("Between"))
    groups, values = np.loadtxt(lines[60:], unpack=True)
    return pd.DataFrame({"x": values, "y": groups.astype(int)}), certified


@pytest.mark.parametrize("name", NIST)
def test_wilks_f_agrees_with_nist(name: str) -> None:
    frame, certified = nist_table(name)
    fit = discrim.lda("y ~ x", data=frame)
    asked = [fit.wilks.table.loc["F", "statistic"], *fit.manova()["F"], fit.anova(levene=None)["F"].iloc[0]]
    for f in [*asked, fit.partial_tests()["F"].iloc[0]]:
        digits = 15.0 if f == certified else -np.log10(abs(f - certified) / abs(certified))
        assert digits >= NIST[name] - 1.0


@pytest.mark.parametrize("name", NIST)
def test_merged_chunks_agree_with_nist(name: str) -> None:
    frame, certified = nist_table(name)
    codes, k = np.unique(frame["y"], return_inverse=True)[1], frame["y"].nunique()
    x = frame[["x"]].to_numpy()
    chunks = [
        ClassMoments.from_block(x[rows], codes[rows], n_classes=k)
        for rows in np.array_split(np.arange(len(x)), 11)
    ]
    fit = fit_lda(reduce(ClassMoments.merge, chunks), np.full(k, 1 / k))
    f = wilks(fit.canonical_eigenvalues(), 1, k, len(x)).table.loc["F", "statistic"]
    digits = 15.0 if f == certified else -np.log10(abs(f - certified) / abs(certified))
    assert digits >= NIST[name] - 1.0
