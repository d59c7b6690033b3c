"""Tables that are ill-conditioned by themselves: right to their inherent loss, or refused where collinear.

Smooth curves, polynomials and the like have roots of condition 1e6 to 1e12 without anybody's design. As in
`test_accuracy`, the inherent loss is what a move of every number to a neighbouring double does to a result.
"""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import discrim
from discrim.core.covariance.covariance import Covariance, dependencies
from discrim.core.moments.moments import ClassMoments, gather
from discrim.errors import CollinearError, DiscrimWarning, MissingPredictionWarning
from tests import references as ref
from tests import support

pytestmark = pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")

WRITTEN = json.loads((support.GOLDEN / "ill_conditioned.json").read_text(encoding="utf-8"))
EPS = float(np.finfo(np.float64).eps)
FLOOR = 10.0**-15.5
FLOORS = {"log_proba": 1.0, "logdet": 1.0, "llf": 1.0}


def hard_table(name: str) -> pd.DataFrame:
    table = support.read_csv(support.external_file(f"hard/{name}.tsv.gz"), sep="\t")
    return table.assign(target="c" + table["target"].astype(str))


# ------------------------------------------------------------------ simulated tables, against eighty digits


def hills(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """A smooth bump at a random place on each row, of any size, upwards or downwards."""
    at, width = rng.uniform(0, 1, (n, 1)), rng.uniform(0.5, 1.5, (n, 1))
    height = 10 ** rng.uniform(-1, 4, (n, 1))
    bump = np.exp(-(((np.linspace(0, 1, p) - at) / width) ** 2))
    return height * (1 + rng.choice([-0.3, 0.3], (n, 1)) * bump)


def polynomial(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return rng.uniform(1, 2, (n, 1)) ** np.arange(1, p + 1)


def hilbert(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return 1 / (rng.uniform(0, 4, (n, 1)) + np.arange(1, p + 1))


TABLES = {"hills": (hills, 8), "polynomial": (polynomial, 7), "hilbert": (hilbert, 7)}
ROWS = 36


@cache
def simulated(name: str) -> tuple[np.ndarray, np.ndarray]:
    make, p = TABLES[name]
    rng = np.random.default_rng(len(name))
    codes = np.repeat(np.arange(2), ROWS // 2)
    return make(rng, ROWS, p), codes


@cache
def fitted(name: str, verb: str):
    x, codes = simulated(name)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    return getattr(discrim, verb)("y ~ .", data=frame.assign(y=np.array(["a", "b"])[codes]))


@cache
def reference(name: str, verb: str) -> tuple[dict[str, ref.Exact], dict[str, np.ndarray]]:
    x, codes = simulated(name)
    model = ref.lda if verb == "lda" else ref.qda
    # Rows of all sizes share a mean, whose own last bit is then far above that of the small ones.
    by_column = name == "hills"
    return ref.inherent_loss(
        lambda rows: dict(model(rows, codes)), x, draws=8, by_column=by_column, floors=FLOORS
    )


def assert_within_a_digit(got: np.ndarray, name: str, verb: str, quantity: str) -> None:
    """Check that errors are at most ten times the effect of the last bits of the input."""
    value, loss = (result[quantity] for result in reference(name, verb))
    error = ref.relative_change(ref.exact(got) - value, value, FLOORS.get(quantity, 0.0))
    allowed = 10 * max(float(loss.max()), FLOOR)
    assert error.max() <= allowed, (error.max(), loss.max())


@pytest.mark.parametrize("name", TABLES)
def test_simulated_tables_are_ill_conditioned(name: str) -> None:
    x, codes = simulated(name)
    deviations = x - np.stack([x[codes == k].mean(axis=0) for k in (0, 1)])[codes]
    singular = np.linalg.svd(deviations / np.linalg.norm(deviations, axis=0), compute_uv=False)
    assert 1e5 < singular[0] / singular[-1] < 1e13


@pytest.mark.parametrize("name", TABLES)
def test_lda_keeps_its_digits_on_ill_conditioned_tables(name: str) -> None:
    fit = fitted(name, "lda")
    odds, p = fit.log_odds(), TABLES[name][1]
    assert_within_a_digit(np.array([fit.wilks.statistic]), name, "lda", "wilks")
    assert_within_a_digit(np.array([fit.llf]), name, "lda", "llf")
    assert_within_a_digit(odds["coef"].to_numpy()[-p:, None], name, "lda", "contrast")
    assert_within_a_digit(odds["se"].to_numpy()[-p:, None], name, "lda", "se")
    assert_within_a_digit(fit.predict_log_proba().to_numpy(), name, "lda", "log_proba")


@pytest.mark.parametrize("name", TABLES)
def test_qda_keeps_its_digits_on_ill_conditioned_tables(name: str) -> None:
    fit = fitted(name, "qda")
    assert_within_a_digit(fit.logdet.to_numpy(), name, "qda", "logdet")
    assert_within_a_digit(np.array([fit.llf]), name, "qda", "llf")
    assert_within_a_digit(fit.predict_log_proba().to_numpy(), name, "qda", "log_proba")


# ------------------------------------------------------------------ two tables, against sixty digits


@cache
def written_table(name: str) -> pd.DataFrame:
    if name == "hill_valley":
        return hard_table("Hill_Valley_without_noise")
    x, codes = support.collinear_curves()
    return pd.DataFrame(x).add_prefix("x").assign(target=np.array(["c0", "c1"])[codes])


@cache
def written_fit(name: str, verb: str):
    return getattr(discrim, verb)("target ~ .", data=written_table(name))


def largest_error(got: np.ndarray, name: str, verb: str, quantity: str) -> float:
    """Return the largest error relative to the largest entry, as in the written losses."""
    value = np.array(WRITTEN[name][verb]["values"][quantity])
    return float(np.abs(np.ravel(got) - value).max() / np.abs(value).max())


@cache
def textbook_loss(name: str) -> dict[str, float]:
    """Return the largest errors of LDA by one QR decomposition, over thirty orders of the rows."""
    table = written_table(name)
    codes = (table["target"] == "c1").to_numpy(dtype=int)
    columns, rng = table.drop(columns="target").to_numpy(), np.random.default_rng(20261126)
    losses: dict[str, float] = {}
    for order in (rng.permutation(len(codes)) for _ in range(30)):
        x, own = columns[order], codes[order]
        means = np.stack([x[own == k].mean(axis=0) for k in (0, 1)])
        rests = np.stack([(x[own == k] - means[k]).mean(axis=0) for k in (0, 1)])
        root = np.linalg.qr(x - means[own] - rests[own], mode="r") / np.sqrt(len(x) - 2)
        gap = scipy.linalg.solve_triangular(root, means[1] - means[0] + rests[1] - rests[0], trans=1)
        slopes, d2 = scipy.linalg.solve_triangular(root, gap), gap @ gap
        between = d2 / (len(x) - 2) / (1 / np.bincount(own)).sum()
        results = {
            "D2": d2,
            "F": between * (len(x) - 1 - len(gap)) / len(gap),
            "wilks": 1 / (1 + between),
            "slopes": slopes,
            "axis": slopes / np.sqrt(d2),
        }
        for quantity, result in results.items():
            error = largest_error(result, name, "lda", quantity)
            losses[quantity] = max(losses.get(quantity, 0.0), error)
    return losses


def assert_near_golden(got: np.ndarray, name: str, verb: str, quantity: str) -> None:
    """Check that errors are at most ten times the effect of last bits, or twice those of the textbook."""
    error, loss = largest_error(got, name, verb, quantity), WRITTEN[name][verb]["loss"][quantity]
    textbook = textbook_loss(name).get(quantity, 0.0) if verb == "lda" else 0.0
    assert error <= max(10 * loss, 10 * FLOOR, 2 * textbook), (error, loss, textbook)


@pytest.mark.parametrize("name", WRITTEN)
def test_lda_of_a_table_of_condition_1e10_or_more(name: str) -> None:
    fit = written_fit(name, "lda")
    odds, p = fit.log_odds(), len(fit.terms)
    assert_near_golden(np.array(fit.wilks.statistic), name, "lda", "wilks")
    assert_near_golden(fit.wilks.table.loc["F", "statistic"], name, "lda", "F")
    assert_near_golden(fit.distances()["D2"].to_numpy(), name, "lda", "D2")
    assert_near_golden(odds["coef"].to_numpy()[-p:], name, "lda", "slopes")
    assert_near_golden(odds["se"].to_numpy()[-p:], name, "lda", "se")
    axis = fit.scaling.to_numpy()[:, 0]
    sign = np.sign(axis @ np.array(WRITTEN[name]["lda"]["values"]["axis"]))
    assert_near_golden(axis * sign, name, "lda", "axis")


@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.parametrize("name", WRITTEN)
def test_rows_of_a_table_of_condition_1e10_or_more(name: str, verb: str) -> None:
    fit, wanted = written_fit(name, verb), WRITTEN[name]
    scores = fit.predict_log_proba().to_numpy()
    without = fit.leave_one_out()[["c0", "c1"]].to_numpy()
    truth = written_table(name)["target"].to_numpy()
    assert_near_golden((scores[:, 1] - scores[:, 0])[wanted["rows"]], name, verb, "log_odds")
    assert ((scores[:, 1] > scores[:, 0]) != (truth == "c1")).sum() == wanted[verb]["wrong"]
    assert ((without[:, 1] > without[:, 0]) != (truth == "c1")).sum() == wanted[verb]["wrong_left_out"]


@pytest.mark.parametrize("name", WRITTEN)
def test_the_indicator_regression_agrees_with_two_class_lda_on_it(name: str) -> None:
    """Fisher: the slopes of the regression of the indicator are those of the log odds, times a constant."""
    wanted = WRITTEN[name]["lda"]
    slopes = np.array(wanted["values"]["slopes"])
    got = discrim.indicator("target ~ .", data=written_table(name)).coef.to_numpy()
    got = got[-len(slopes) :, 1] if got.shape[0] > got.shape[1] else got[1, -len(slopes) :]
    factor = (got @ slopes) / (slopes @ slopes)
    assert_near_golden(got / factor, name, "lda", "slopes")


# ------------------------------------------------------------------ rows left out of few degrees of freedom


@pytest.mark.parametrize("kind", ["few", "outlier", "counts", "weights"])
@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_leave_one_out_with_few_df_equals_refits(verb: str, kind: str) -> None:
    """Almost every row has a leverage near one, of which a difference to one has lost its digits."""
    rng = np.random.default_rng(4)
    k, p = 2, 5
    each = p + 2 if verb == "qda" else (p + k + 2) // k + 1
    codes = np.repeat(np.arange(k), each)
    x = rng.standard_normal((len(codes), p)) + 0.4 * codes[:, None]
    if kind == "outlier":
        x[1, 0] += 1e6
    weights = {
        "counts": rng.integers(1, 4, len(codes)) * 1.0,
        "weights": rng.uniform(0.5, 2.5, len(codes)),
    }.get(kind, np.ones(len(codes)))
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(
        y=np.array(["a", "b"])[codes], w=weights
    )
    fit = getattr(discrim, verb)("y ~ . - w", data=table, weights="w")
    got = fit.leave_one_out()[["a", "b"]].to_numpy()
    for row in range(len(table)):
        less = table.assign(
            w=np.where(np.arange(len(table)) == row, weights - np.minimum(weights, 1), weights)
        )
        if kind in ("few", "outlier"):
            exact = ref.to_float(ref.leave_one_out(ref.exact(x), codes, verb == "qda", positions=[row]))[0]
        else:
            rule = getattr(discrim, verb)("y ~ . - w", data=less, weights="w", prior=dict(fit.prior))
            exact = rule.predict_log_proba(table.iloc[[row]]).to_numpy()[0]
        assert np.abs(got[row] - np.exp(exact)).max() <= 1e-12


def test_rows_that_determine_the_rank_have_no_leave_one_out_score() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.standard_normal((12, 4)), columns=list("abcd")).assign(y=list("uuuuuvvvvvvv"))
    with pytest.warns(MissingPredictionWarning):
        got = discrim.qda("y ~ .", data=table).leave_one_out()[["u", "v"]].isna().all(axis=1)
    assert got.to_numpy().tolist() == [True] * 5 + [False] * 7


# ------------------------------------------------------------------ what is collinear


def board_table() -> pd.DataFrame:
    """Return boards of 42 squares with twelve pieces each, similar to the public table of connect-4."""
    squares = [f"{letter}{number}" for letter in "abcdefg" for number in range(1, 7)]
    rng = np.random.default_rng(12)
    pieces = (rng.random((800, 42)).argsort(axis=1) < 12).astype(float)
    return pd.DataFrame(pieces, columns=squares).assign(target=rng.choice(["c0", "c1"], 800))


BOARDS = {"dealt": board_table, "connect_4": lambda: hard_table("connect_4")}
boards = pytest.mark.parametrize("name", BOARDS)


@boards
@pytest.mark.parametrize("verb", ["lda", "qda", "logistic", "indicator"])
def test_columns_that_sum_to_a_constant_raise_and_are_named(verb: str, name: str) -> None:
    table = BOARDS[name]()
    counted = table.drop(columns="target").sum(axis=1)
    assert (counted == 12).all()
    with pytest.raises(CollinearError) as caught:
        getattr(discrim, verb)("target ~ .", data=table)
    assert "'g6'" in str(caught.value)
    assert "'a1'" in str(caught.value)


@boards
@pytest.mark.parametrize("pair", [{"alpha": 1, "gamma": 0}, {"alpha": 0.5, "gamma": 1}])
def test_rda_without_a_ridge_raises_for_columns_that_sum_to_a_constant(
    pair: dict[str, float], name: str
) -> None:
    table = BOARDS[name]()
    table = table.iloc[:: 15 if len(table) > 10_000 else 1]
    options = pair | {"parametrization": "friedman"} if pair["gamma"] == 0 else pair
    with pytest.raises(CollinearError) as caught:
        discrim.rda("target ~ .", data=table, **options)
    assert "g6" in str(caught.value)


def moments_of(x: np.ndarray, codes: np.ndarray, chunks: int) -> ClassMoments:
    parts = np.array_split(np.arange(len(x)), chunks)
    blocks = [(x[rows], codes[rows], None) for rows in parts if len(rows)]
    return gather(blocks, n_classes=int(codes.max()) + 1, n_columns=x.shape[1])


def with_condition_number(
    rng: np.random.Generator, n: int, p: int, condition: float, shape: str
) -> np.ndarray:
    left = np.linalg.qr(rng.standard_normal((n, p)))[0]
    right = np.linalg.qr(rng.standard_normal((p, p)))[0]
    lengths = {
        "graded": np.geomspace(1, 1 / condition, p),
        "one short": np.r_[np.ones(p - 1), 1 / condition],
        "one long": np.r_[1.0, np.full(p - 1, 1 / condition)],
    }[shape]
    return (left * lengths) @ right.T * 10 ** rng.uniform(-3, 3, p)


@pytest.mark.slow
@settings(max_examples=60, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(2, 40),
    spare=st.integers(1, 300),
    digits=st.floats(0, 12),
    shape=st.sampled_from(["graded", "one short", "one long"]),
)
def test_full_rank_does_not_raise(seed: int, p: int, spare: int, digits: float, shape: str) -> None:
    rng = np.random.default_rng(seed)
    n = p + 3 + spare
    codes = np.r_[0, 1, 2, rng.integers(0, 3, n - 3)]
    x = with_condition_number(rng, n, p, 10**digits, shape)
    deviations = x - np.stack([x[codes == k].mean(axis=0) for k in range(3)])[codes]
    if np.linalg.matrix_rank(deviations / np.linalg.norm(deviations, axis=0)) == p:
        assert not dependencies(moments_of(x, codes, 1 + seed % 4))


KINDS = ("indicators", "counts", "large slopes", "decimals", "shares", "nearly equal", "rare and rescaled")


def collinear(rng: np.random.Generator, n: int, p: int, kind: str) -> np.ndarray:
    """Return columns (n, p) that are collinear up to rounding, in any order."""
    if kind == "indicators":
        x = (rng.integers(0, p, n)[:, None] == np.arange(p)).astype(float)
    elif kind == "counts":
        x = rng.multinomial(50, rng.dirichlet(np.full(p, 0.3)), n).astype(float)
    elif kind == "large slopes":
        x = rng.standard_normal((n, p - 1))
        x = np.column_stack([x, x @ 10 ** rng.uniform(-3, 6, p - 1)])
    elif kind == "decimals":
        x = np.round(rng.uniform(0, 100, (n, p - 1)), 1)
        x = np.column_stack([x, x.sum(axis=1)])
    elif kind == "shares":
        tenths = rng.integers(0, 1000 // p + 1, (n, p - 1))
        x = np.column_stack([tenths / 10, (1000 - tenths.sum(axis=1)) / 10])
    elif kind == "nearly equal":
        x = rng.standard_normal((n, 1)) + 10 ** rng.uniform(-9, 0) * rng.standard_normal((n, p - 1))
        x = np.column_stack([x, x @ rng.standard_normal(p - 1)])
    else:
        odds = 10 ** rng.uniform(-3, 0, p)
        x = rng.multinomial(1, odds / odds.sum(), n) * 10.0 ** rng.integers(-6, 7, p)
    return x[:, rng.permutation(p)]


@settings(max_examples=30, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(3, 60),
    spare=st.integers(1, 2000),
    kind=st.sampled_from(KINDS),
    at_once=st.booleans(),
)
def test_collinearity_up_to_rounding_raises(seed: int, p: int, spare: int, kind: str, at_once: bool) -> None:
    rng = np.random.default_rng(seed)
    n = p + 2 + spare
    codes = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    moments = moments_of(collinear(rng, n, p, kind), codes, 1 + seed % 4)
    assert dependencies(moments if at_once else moments.as_one_class())


def test_whitening_is_accurate_if_the_inverse_is_not() -> None:
    """A root whose inverse has no digit right in a product: each solution satisfies its equations."""
    rng = np.random.default_rng(3)
    curves = hills(rng, 400, 30)
    root = np.linalg.qr(curves - curves.mean(axis=0), mode="r")
    covariance = Covariance.from_root(root)
    z = curves[:5].T
    for matrix, solution in ((root.T, covariance.whiten(z)), (root, covariance.unwhiten(z))):
        assert (np.abs(matrix @ solution - z) / (np.abs(matrix) @ np.abs(solution))).max() <= 30 * EPS


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@pytest.mark.parametrize("method", ["moment", "mle"])
def test_rows_that_determine_the_rank_of_a_class_do_not_warn(columns, method):
    rng = np.random.default_rng(0)
    for rows in range(columns + 1, columns + 4):
        x = rng.normal(size=(rows + 30, columns))
        data = pd.DataFrame(x, columns=[f"x{j}" for j in range(columns)]).assign(y=["a"] * rows + ["b"] * 30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscrimWarning)
            warnings.simplefilter("error", RuntimeWarning)
            found = discrim.qda("y ~ .", data, method=method).leave_one_out()
        assert found.iloc[rows:].notna().all(axis=None)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_table_that_lda_fits_is_chosen_from_backward(name):
    table = written_table(name)
    steps = discrim.stepwise("target ~ .", table, direction="backward", enter=0.01, stay=0.01).steps
    tests = discrim.lda("target ~ .", table).partial_tests()
    first = steps.iloc[0]
    # The weakest by partial_tests(), another way to the same numbers; both have some six digits here.
    assert first["term"] == tests["F"].idxmin()
    second = discrim.lda(f"target ~ . - {first['term']}", table)
    assert first["wilks"] == pytest.approx(second.wilks.statistic, rel=1e-6)
    assert steps["term"].iloc[1] == second.partial_tests()["F"].idxmin()
