"""The Bayes classifier of a known law: closed forms, mpmath's integrals, brute force, identities, bad input.

The first tests have the figures of a course text: priors 0.7 and 0.3; an arbitrary rule that errs by 0.14 at
x = 1, where it calls y2, by 0.03 at x = 2, where it calls y1, and by 0.37 in all; 0.25 for the best rule. The
text shows its table as a picture only: TABLE is one in tenths that has all of these figures.
"""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import discrim
from discrim import bayes
from discrim.core.distributions.densities import integrate
from discrim.errors import DataError, DiscrimError, NotSupportedError, PriorError
from tests.turns import one_in

TABLE = pd.DataFrame(
    [[0.2, 0.4, 0.2, 0.1, 0.1], [0.2, 0.1, 0.2, 0.1, 0.4]], index=["y1", "y2"], columns=[1, 2, 3, 4, 5]
)
PRIOR = {"y1": 0.7, "y2": 0.3}
ARBITRARY = pd.Series(["y2", "y1", "y1", "y2", "y2"], index=TABLE.columns)
EYE = np.eye(2)


def phi(x):
    return mpmath.ncdf(x)


# ---- tables


def test_error_rates_of_an_arbitrary_and_of_the_best_rule():
    classifier = bayes(PRIOR, TABLE)
    assert classifier.error_rate == pytest.approx(0.25, abs=1e-15)
    assert (classifier.error_bound, classifier.error_method) == (0.0, "exact")
    risk = classifier.risk(ARBITRARY)
    assert risk["error_rate"] == pytest.approx(0.37, abs=1e-15)
    assert risk["excess"] == pytest.approx(0.12, abs=1e-15)
    assert risk["error_bound"] == risk["excess_bound"] == 0
    joint = TABLE.mul(pd.Series(PRIOR), axis=0)
    assert joint.loc["y1", 1] == pytest.approx(0.14)
    assert joint.loc["y2", 2] == pytest.approx(0.03)


def test_rules_by_value_functions_and_fits_have_equal_risks():
    classifier = bayes(PRIOR, TABLE)

    class Fit:
        def predict(self, data):
            return data["x"].map(ARBITRARY)

    expected = classifier.risk(ARBITRARY)
    for rule in (ARBITRARY.to_dict(), lambda x: x.map(ARBITRARY), lambda x: ARBITRARY[x].to_numpy(), Fit()):
        pd.testing.assert_series_equal(classifier.risk(rule), expected)
    assert classifier.risk(classifier)["excess"] == 0


def test_decision_lists_posteriors_by_value():
    decision = bayes(PRIOR, TABLE).decision
    assert decision.columns.tolist() == ["y1", "y2", "probability", "decision"]
    assert decision["decision"].tolist() == ["y1", "y1", "y1", "y1", "y2"]
    assert decision.loc[5, "y2"] == pytest.approx(0.12 / 0.19)
    assert decision["probability"].sum() == pytest.approx(1)


@st.composite
def laws(draw):
    k, v = draw(st.integers(2, 3)), draw(st.integers(1, 4))
    number = st.integers(0, 6)
    rows = [draw(st.lists(number, min_size=v, max_size=v).filter(any)) for _ in range(k)]
    prior = np.array(draw(st.lists(number, min_size=k, max_size=k).filter(any)), dtype=float)
    costs = np.array(draw(st.lists(number, min_size=k * k, max_size=k * k).filter(any)), dtype=float)
    mass = np.array(rows, dtype=float)
    return prior / prior.sum(), mass / mass.sum(axis=1, keepdims=True), costs.reshape(k, k)


@given(laws(), st.booleans())
@settings(max_examples=30)
def test_no_rule_of_all_rules_is_better(law_, with_costs):
    prior, mass, costs = law_
    k, v = mass.shape
    loss = costs if with_costs else 1 - np.eye(k)
    classifier = bayes(prior, pd.DataFrame(mass, index=list("abc")[:k]), costs=costs if with_costs else None)
    risks = []
    for rule in product(range(k), repeat=v):
        risks.append(
            sum(
                prior[c] * mass[c, x] * loss[c, predicted]
                for c in range(k)
                for x, predicted in enumerate(rule)
            )
        )
    assert classifier.error_rate == pytest.approx(min(risks), abs=1e-14)
    rule = pd.Series([list("abc")[c] for c in rule])
    assert classifier.risk(rule)["error_rate"] == pytest.approx(risks[-1], abs=1e-13)
    if not with_costs:
        total = classifier.bounds().iloc[-1]
        assert total["lower"] - 1e-12 <= classifier.error_rate <= total["chernoff"] + 1e-12
        assert total["chernoff"] <= total["bhattacharyya"] + 1e-12
    seen = classifier.predict().notna().to_numpy()
    assert (seen == ((prior[:, None] * mass).sum(axis=0) > 0)).all()


def test_values_of_several_columns_and_of_any_kind():
    columns = pd.MultiIndex.from_product([[0, 1], ["p", "q"]], names=["i", "j"])
    table = pd.DataFrame([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], index=["u", "v"], columns=columns)
    classifier = bayes(None, table)
    data = pd.DataFrame({"j": ["q", "p", None], "i": [1, 0, 1]}, index=["r", "s", "t"])
    predicted = classifier.predict(data)
    assert predicted.index.tolist() == ["r", "s", "t"]
    assert predicted.tolist()[:2] == ["u", "v"]
    assert pd.isna(predicted["t"])
    assert classifier.predict([(0, "p"), (1, "q")]).tolist() == ["v", "u"]
    assert classifier.risk(lambda d: np.where(d["i"] == 1, "u", "v"))["error_rate"] == pytest.approx(0.3)
    rows = classifier.sample(300, seed=2)
    fit = discrim.naive_bayes("y ~ C(i) + j", rows)
    by_hand = sum(
        0.5 * table.loc[c, value]
        for value in columns
        for c in "uv"
        if fit.predict(pd.DataFrame([value], columns=["i", "j"])).iloc[0] != c
    )
    assert classifier.risk(fit)["error_rate"] == pytest.approx(by_hand, abs=1e-14)


# ---- two normals


@one_in(2, {"prior": [0.5, 0.2, 1e-6], "delta": [0.1, 2.0, 25.0]})
def test_two_normals_with_equal_covariances_have_a_closed_form(prior, delta):
    with mpmath.workdps(40):
        shift = mpmath.log(mpmath.mpf(1 - prior) / prior) / delta
        half = mpmath.mpf(delta) / 2
        exact = float(prior * phi(shift - half) + (1 - prior) * phi(-shift - half))
    line = bayes([prior, 1 - prior], {"a": stats.norm(3, 2), "b": stats.norm(3 + 2 * delta, 2)})
    cov = np.array([[2.0, 0.7], [0.7, 1.0]])
    step = np.array([1.0, -0.5])
    step *= delta / np.sqrt(step @ np.linalg.solve(cov, step))
    plane = bayes(
        [prior, 1 - prior],
        {"a": stats.multivariate_normal([1, 1], cov), "b": stats.multivariate_normal(1 + step, cov)},
    )
    for distribution in (line, plane):
        assert distribution.error_rate == pytest.approx(exact, rel=1e-12)
        assert (distribution.error_bound, distribution.error_method) == (0.0, "exact")
    if delta < 20:
        # One part in 1e13 of the spread is enough to leave the closed form.
        nearby = bayes([prior, 1 - prior], {"a": stats.norm(3, 2), "b": stats.norm(3 + 2 * delta, 2 + 2e-13)})
        assert nearby.error_method == "quadrature"
        assert nearby.error_rate == pytest.approx(exact, rel=1e-9)


def test_costs_of_two_normals_shift_the_limit():
    costs = [[0, 1], [9, 0]]
    classifier = bayes(None, {"a": stats.norm(0, 1), "b": stats.norm(2, 1)}, costs=costs)
    shift = np.log(9) / 2
    expected = 0.5 * float(phi(shift - 1)) + 4.5 * float(phi(-shift - 1))
    assert classifier.error_rate == pytest.approx(expected, rel=1e-13)
    limit = 1 - shift
    assert classifier.decision["low"].tolist() == pytest.approx([-np.inf, limit])
    cut = classifier.risk(lambda x: np.where(x < limit, "a", "b"))
    assert cut["excess"] == pytest.approx(0, abs=1e-15)


def test_quasi_random_points_agree_with_the_closed_form_within_their_bound():
    exact = bayes([0.3, 0.7], {"a": stats.norm(0, 1), "b": stats.norm(2, 1)}).error_rate
    for p in (2, 5):
        distant = np.zeros(p)
        distant[0] = 2.0
        classifier = bayes(
            [0.3, 0.7],
            {
                "a": stats.multivariate_normal(np.zeros(p), np.eye(p)),
                "b": stats.multivariate_normal(distant, np.eye(p) * (1 + 1e-13)),
            },
            draws=2**14,
        )
        assert classifier.error_method == "quasi-Monte Carlo"
        assert abs(classifier.error_rate - exact) <= classifier.error_bound < 1e-3


def test_the_excess_of_a_line_through_two_normals():
    classifier = bayes(
        None, {"a": stats.multivariate_normal([0, 0], EYE), "b": stats.multivariate_normal([2, 0], EYE)}
    )
    risk = classifier.risk(lambda d: np.where(d["x1"] < 1.4, "a", "b"))
    expected = float(0.5 * phi(-1.4) + 0.5 * phi(-0.6))
    assert abs(risk["error_rate"] - expected) <= risk["error_bound"] < 2e-3
    assert risk["excess"] == pytest.approx(risk["error_rate"] - classifier.error_rate)


# ---- other densities


def least_of(prior, densities, limits):
    """The integral of the least of prior times density, by mpmath between the limits given."""
    with mpmath.workdps(25):
        return float(
            mpmath.quad(lambda x: min(p * f(x) for p, f in zip(prior, densities, strict=True)), limits)
        )


def test_normals_with_different_variances_agree_with_mpmath():
    classifier = bayes([0.4, 0.6], {"a": stats.norm(0, 1), "b": stats.norm(1, 2.5)})
    edges = classifier.decision["low"].tolist()[1:]
    assert len(edges) == 2
    for edge in edges:
        assert 0.4 * stats.norm.pdf(edge) == pytest.approx(0.6 * stats.norm.pdf(edge, 1, 2.5), rel=1e-12)
    expected = least_of(
        [0.4, 0.6],
        [lambda x: mpmath.npdf(x), lambda x: mpmath.npdf(x, 1, 2.5)],
        [-mpmath.inf, *edges, mpmath.inf],
    )
    assert abs(classifier.error_rate - expected) <= classifier.error_bound + 1e-15
    assert classifier.error_bound < 1e-12
    assert classifier.error_method == "quadrature"


@pytest.mark.parametrize(("share", "sd"), [(1e-14, 1.2), (1e-14, 1.01), (1e-3, 1.0001)])
def test_crossings_far_beyond_all_quantiles_are_found_on_both_sides(share, sd):
    """The squared limit is 2 (ln((1 - q)/q) + ln s) / (1 - 1/s^2)."""
    classifier = bayes([1 - share, share], {"a": stats.norm(0, 1), "b": stats.norm(0, sd)})
    distant = np.sqrt(2 * (np.log((1 - share) / share) + np.log(sd)) / (1 - 1 / sd**2))
    assert classifier.decision["low"].tolist() == [-np.inf, pytest.approx(-distant), pytest.approx(distant)]


def test_poles_and_ends_of_supports():
    classifier = bayes(None, {"a": stats.beta(0.5, 0.5), "b": stats.uniform()})
    # The arcsine density is below one between its crossings 1/2 -+ sqrt(1/4 - 1/pi^2).
    half = np.sqrt(0.25 - 1 / np.pi**2)
    inside = 2 / np.pi * (np.arcsin(np.sqrt(0.5 + half)) - np.arcsin(np.sqrt(0.5 - half)))
    assert classifier.error_rate == pytest.approx(0.5 * (inside + 1 - 2 * half), abs=1e-11)
    apart = bayes(None, {"a": stats.uniform(0, 1), "b": stats.uniform(0.75, 1)})
    assert apart.error_rate == pytest.approx(0.125, abs=1e-14)
    assert bayes(None, {"a": stats.uniform(0, 1), "b": stats.uniform(5, 1)}).error_rate == 0


def test_tails_without_moments():
    classifier = bayes(None, {"a": stats.cauchy(-1), "b": stats.cauchy(1)})
    assert classifier.error_rate == pytest.approx(0.5 - np.arctan(1) / np.pi, abs=1e-12)


def test_a_user_function_is_accepted_as_a_density():
    def laplace(x):
        return np.exp(-np.abs(x - 1)) / 2

    by_function = bayes(None, {"a": stats.norm(0, 1), "b": laplace})
    by_scipy = bayes(None, {"a": stats.norm(0, 1), "b": stats.laplace(1)})
    assert abs(by_function.error_rate - by_scipy.error_rate) <= by_function.error_bound + 1e-14
    rows = by_function.sample(4000, seed=1)
    assert stats.kstest(rows.loc[rows["y"] == "b", "x"], stats.laplace(1).cdf).pvalue > 1e-3


def test_counts_are_summed_over():
    classifier = bayes([0.3, 0.7], {"a": stats.poisson(3), "b": stats.poisson(7)})
    with mpmath.workdps(30):
        rates = [(mpmath.mpf(3) / 10, 3), (mpmath.mpf(7) / 10, 7)]
        expected = sum(
            min(p * mpmath.exp(-r) * mpmath.mpf(r) ** n / mpmath.factorial(n) for p, r in rates)
            for n in range(90)
        )
    assert classifier.error_rate == pytest.approx(float(expected), rel=1e-12)
    assert classifier.error_bound < 1e-30
    assert classifier.risk(lambda x: np.where(x < 5, "a", "b"))["error_rate"] == pytest.approx(
        0.3 * stats.poisson.sf(4, 3) + 0.7 * stats.poisson.cdf(4, 7), rel=1e-12
    )


def test_rows_of_counts_by_random_points():
    classifier = bayes(None, {"a": stats.multinomial(4, [0.2, 0.8]), "b": stats.multinomial(4, [0.6, 0.4])})
    one = bayes(None, {"a": stats.binom(4, 0.2), "b": stats.binom(4, 0.6)})
    assert classifier.error_method == "Monte Carlo"
    assert abs(classifier.error_rate - one.error_rate) <= classifier.error_bound < 0.01


def test_risk_of_a_fit_equals_the_risk_of_its_threshold():
    classifier = bayes([0.4, 0.6], {"a": stats.norm(0, 1), "b": stats.norm(2, 1.5)})
    fit = discrim.lda("y ~ x", classifier.sample(200, seed=4))
    cut = optimize.brentq(
        lambda x: fit.predict_proba(pd.DataFrame({"x": [x]})).loc[0, "a"] - 0.5, -5, 9, xtol=1e-15
    )
    expected = 0.4 * stats.norm.sf(cut) + 0.6 * stats.norm.cdf(cut, 2, 1.5)
    risk = classifier.risk(fit)
    assert risk["error_rate"] == pytest.approx(expected, abs=1e-11)
    assert risk["excess"] > 0
    better = discrim.qda("y ~ x", classifier.sample(4000, seed=4))
    assert 0 <= classifier.risk(better)["excess"] < risk["excess"]


# ---- bounds


@pytest.mark.slow
def test_bounds_of_normals_equal_their_integrals():
    first, second = (0.0, 1.0), (1.0, 2.0)
    classifier = bayes([0.4, 0.6], {"a": stats.norm(*first), "b": stats.norm(*second)})
    row = classifier.bounds().iloc[0]

    def bound(s):
        def density(x):
            return mpmath.npdf(x, *first) ** s * mpmath.npdf(x, *second) ** (1 - s)

        total = mpmath.quad(density, [-mpmath.inf, 0, mpmath.inf])
        return mpmath.mpf(0.4) ** s * mpmath.mpf(0.6) ** (1 - s) * total

    assert row["chernoff"] == pytest.approx(float(bound(row["exponent"])), rel=1e-10)
    assert row["bhattacharyya"] == pytest.approx(float(bound(0.5)), rel=1e-10)
    assert all(bound(s) >= row["chernoff"] - 1e-12 for s in np.linspace(0.05, 0.95, 3))
    assert row["lower"] <= classifier.error_rate <= row["chernoff"]


def test_bounds_by_quadrature_and_random_points_agree_with_the_closed_form():
    closed = bayes(None, {"a": stats.norm(0, 1), "b": stats.norm(1, 2)}).bounds().iloc[0]

    def density(x):
        return np.exp(-0.5 * ((x - 1) / 2) ** 2) / np.sqrt(8 * np.pi)

    numeric = bayes(None, {"a": stats.norm(0, 1), "b": density}).bounds().iloc[0]
    np.testing.assert_allclose(numeric["chernoff":], closed["chernoff":], rtol=1e-9)
    t = [stats.multivariate_t(mean, EYE, df=1e7, seed=1) for mean in ([0, 0], [2, 0])]
    sample = bayes(None, dict(zip("ab", t, strict=True))).bounds().iloc[0]
    assert sample["bhattacharyya"] == pytest.approx(0.5 * np.exp(-0.5), rel=0.01)


# ---- prediction, samples, pictures


def test_posteriors_are_exact_if_densities_underflow():
    classifier = bayes([0.5, 0.5], {"a": stats.norm(0, 1), "b": stats.norm(1, 1)})
    logs = classifier.predict_log_proba([1000.0])
    assert logs.loc[0, "a"] == pytest.approx(-999.5)
    assert classifier.predict([1000.0, np.nan]).tolist()[0] == "b"
    assert classifier.predict_proba(pd.DataFrame({"x": [0.5]}, index=["r"])).loc["r"].tolist() == [0.5, 0.5]
    assert classifier.predict([0.5]).tolist() == ["a"]
    assert classifier.predict([0.5], prior={"a": 0.1, "b": 0.9}).tolist() == ["b"]
    assert classifier.predict([0.5], reject=0.3).tolist() == ["rejected"]


def test_a_sample_is_ready_for_a_formula_and_the_same_for_a_seed():
    classifier = bayes(
        [0.2, 0.8], {"a": stats.norm(0, 1), "b": stats.norm(5, 1)}, columns=["width"], response="kind"
    )
    rows = classifier.sample(5000, seed=3)
    pd.testing.assert_frame_equal(rows, classifier.sample(5000, seed=3))
    assert rows.columns.tolist() == ["kind", "width"]
    assert (rows["kind"] == "a").mean() == pytest.approx(0.2, abs=0.03)
    assert classifier.risk(discrim.lda("kind ~ width", rows))["excess"] < 1e-3
    assert (classifier.predict(rows) != rows["kind"]).mean() == pytest.approx(classifier.error_rate, abs=0.01)


@pytest.mark.slow
def test_summary_and_plots():
    laws_ = [
        bayes(PRIOR, TABLE),
        bayes(None, {"a": stats.norm(0, 1), "b": stats.norm(1, 2), "c": stats.gamma(2)}),
        bayes(
            None,
            {"a": stats.multivariate_normal([0, 0], EYE), "b": stats.multivariate_normal([1, 0], 2 * EYE)},
        ),
        bayes(None, {"a": stats.poisson(3), "b": stats.poisson(5)}, costs=[[0, 2], [1, 0]]),
    ]
    for distribution in laws_:
        summary = distribution.summary()
        assert f"{distribution.error_rate:.6g}" in summary.as_text()
        assert max(map(len, summary.as_text().split("\n"))) <= 100
        assert summary.tables["header"].loc["Numerical error bound", "value"] == distribution.error_bound
        assert "<table" in distribution._repr_html_()
        assert distribution.plot().get_title()


def test_the_quadrature_bounds_its_error():
    for f, breaks, exact in (
        (lambda x: np.exp(-(x**2)), [-np.inf, 0.0, np.inf], np.sqrt(np.pi)),
        (lambda x: (x > 1 / 3).astype(float), [0.0, 1.0], 2 / 3),
        (lambda x: x**-0.5, [0.0, 1.0], 2.0),
        (lambda x: x**-0.8, [0.0, 1.0], 5.0),
        (lambda x: np.abs(np.sin(3 * x)), [0.0, np.pi], 2.0),
    ):
        value, bound = integrate(lambda x, f=f: f(x)[:, None], np.array(breaks))
        assert abs(value[0] - exact) <= bound[0] < 1e-8


# ---- bad input


class TooMuch(stats.rv_continuous):
    def _pdf(self, x):
        return np.exp(-(x**2))


@pytest.mark.parametrize(
    ("densities", "error", "message"),
    [
        (TABLE * 1.1, DataError, "'y1' sum to 1.1"),
        (TABLE.T, DataError, r"\.T"),
        (TABLE.replace(0.4, -0.4), DataError, r"P\(2 \| 'y1'\) is negative"),
        (TABLE.replace(0.4, np.nan), DataError, r"P\(2 \| 'y1'\) is not a number"),
        (TABLE.set_axis(["y1", "y1"]), DataError, "Duplicate class labels: 'y1'"),
        (TABLE.set_axis([1, "1"]), DataError, "Duplicate class labels: '1'"),
        (TABLE.set_axis(["y1", None]), DataError, "label is missing"),
        (TABLE.set_axis([1, 2, 3, 4, 4], axis=1), DataError, "duplicate values of x: 4"),
        (TABLE.iloc[:1], DataError, "two classes; densities= has only 'y1'"),
        (TABLE.astype(str) + "x", DataError, "not numeric"),
        ({"a": stats.norm(0, 1), "b": TooMuch()}, DataError, "'b'.*integrates to 1.77"),
        ({"a": stats.norm(0, 1), "b": lambda x: np.exp(-abs(x))}, DataError, "'b'.*integrates to 2"),
        ({"a": stats.norm(0, 1), "b": lambda x: np.sin(x)}, DataError, "'b'.*nowhere negative"),
        ({"a": stats.norm(0, 1), "b": stats.poisson(2)}, DataError, "'b' has probabilities"),
        ({"a": stats.norm(0, 1), "b": stats.multivariate_normal([0, 0])}, DataError, "'b' has 2 columns"),
        ({"a": stats.norm([0, 1], 1), "b": stats.norm(0, 1)}, DataError, "arrays as parameters"),
        ({"a": stats.gamma, "b": stats.norm(0, 1)}, DataError, "Freeze"),
        ({"a": stats.norm(0, -1), "b": stats.norm(0, 1)}, DataError, "out of range"),
        ({"a": 3, "b": stats.norm(0, 1)}, DataError, "'a': 3 is not a distribution"),
        ({"a": stats.wishart(3, EYE), "b": stats.norm(0, 1)}, NotSupportedError, "'a'"),
        ([0.5, 0.5], DataError, "DataFrame"),
    ],
)
def test_bad_densities_are_refused_by_name(densities, error, message):
    with pytest.raises(error, match=message):
        bayes(None, densities)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"y1": 0.7, "y3": 0.3}, "'y2'.*'y3'"),
        ({"y1": 0.7, "y2": 0.4}, "sums to"),
        ([1.2, -0.2], "'y2' is -0.2"),
        ([0.5, np.nan], "'y2'"),
    ],
)
def test_bad_priors_are_refused(prior, message):
    with pytest.raises(PriorError, match=message):
        bayes(prior, TABLE)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda law: law.predict([6]), "value 6 of 'x' in row 0"),
        (lambda law: law.predict(pd.DataFrame({"z": [1]})), "No column 'x'"),
        (lambda law: law.risk(ARBITRARY.iloc[:4]), "no class for 5"),
        (lambda law: law.risk(ARBITRARY.replace("y2", "y9")), "'y9'"),
        (lambda law: law.risk(lambda x: ["y1"]), "labels of shape"),
        (lambda law: law.risk(3), "not a classification rule"),
        (lambda law: law.sample(0), "n=0"),
        (lambda law: law.plot("regions"), "two columns"),
        (lambda law: bayes(PRIOR, TABLE, columns=["a", "b"]), "columns= has 2 names"),
        (lambda law: bayes(PRIOR, TABLE, columns=["y"]), "'y' is used twice"),
        (lambda law: bayes(PRIOR, TABLE, draws=3), "draws=3"),
        (lambda law: bayes(PRIOR, TABLE, costs=[[0, 1], [2, 0]]).bounds(), "without costs"),
        (lambda law: bayes(None, {"a": stats.norm(), "b": stats.norm(1)}).predict(), "data"),
        (lambda law: bayes(None, {"a": stats.norm(), "b": stats.norm(1)}).predict([np.inf]), "infinite"),
        (
            lambda law: bayes(None, {"a": stats.norm(), "b": stats.norm(1)}).risk(ARBITRARY),
            "requires a table",
        ),
    ],
)
def test_unavailable_results_are_refused(ask, message):
    with pytest.raises(DiscrimError, match=message):
        ask(bayes(PRIOR, TABLE))


def test_heavy_tails_of_counts_are_summed_to_their_visible_end():
    classifier = bayes(None, {"a": stats.zipf(2.5), "b": stats.zipf(4)})
    n = np.arange(1.0, 2e6)
    expected = 0.5 * np.minimum(n**-2.5 / float(mpmath.zeta(2.5)), n**-4 / float(mpmath.zeta(4))).sum()
    assert abs(classifier.error_rate - expected) <= classifier.error_bound < 1e-6


def test_random_points_show_a_bar_once_they_take_long(clock, bars):
    densities = {name: stats.multivariate_normal([0, 0], size) for name, size in (("a", 1), ("b", 9))}
    clock.seconds_per_read = 5.0
    classifier = bayes({"a": 0.5, "b": 0.5}, densities, draws=2000)
    assert classifier.error_rate > 0
    assert (bars[0].desc, bars[0].n, bars[0].closed) == ("random points by class", bars[0].total, True)


def test_changes_of_a_decision_table_do_not_change_the_distribution():
    classifier = bayes({"a": 0.5, "b": 0.5}, {"a": stats.norm(0, 1), "b": stats.norm(2, 1)})
    table = classifier.decision
    table["decision"] = "c"
    assert set(classifier.decision["decision"]) == {"a", "b"}
