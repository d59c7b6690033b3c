"""Error bounds of a known law hold the truth where integration is hard: closed forms, cdfs, brute force."""

from __future__ import annotations

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import discrim
from discrim import bayes
from discrim.errors import DataError, DiscrimError, NotSupportedError

EYE = np.eye(2)


def off_by(law, truth):
    """How far the error rate is from the truth, in bounds (and a bit of rounding in the truth)."""
    return abs(law.error_rate - truth) / (law.error_bound + 4e-16)


def two_scales(ratio):
    """Error of normals about zero whose standard deviations are 1 and `ratio`."""
    with mpmath.workdps(500):
        ratio = mpmath.mpf(ratio)
        limit = mpmath.sqrt(2 * mpmath.log(ratio) / (1 - 1 / ratio**2))
        root = mpmath.sqrt(2)
        return float((mpmath.erfc(limit / root) + mpmath.erf(limit / ratio / root)) / 2)


def pareto_error():
    # 0.1 x^-1.1 and 0.3 x^-1.3 cross at 3^5.
    limit = 3.0**5
    return 0.5 * (1 - limit**-0.1 + limit**-0.3)


def pole_error(shape):
    # shape x^(shape - 1) is above one until here.
    limit = shape ** (1 / (1 - shape))
    return 0.5 * (limit + 1 - limit**shape)


LAWS = {
    "t of 0.2 df": (stats.t(0.2, -1), stats.t(0.2, 1), stats.t(0.2).sf(1), 1e-9),
    # A part in a thousand of it is beyond the largest number.
    "t of 0.01 df": (stats.t(0.01, -1), stats.t(0.01, 1), stats.t(0.01).sf(1), 0.1),
    "Pareto of 0.1": (stats.pareto(0.1), stats.pareto(0.3), pareto_error(), 1e-8),
    "pole 0.1": (stats.beta(0.1, 1), stats.uniform(), pole_error(0.1), 1e-9),
    "pole 0.001": (stats.beta(0.001, 1), stats.uniform(), pole_error(0.001), 0.01),
    "scales 1e-6 and 1e6": (stats.norm(0, 1e-6), stats.norm(0, 1e6), two_scales(1e12), 1e-11),
    "units of 1e-200": (stats.norm(0, 1e-200), stats.norm(0, 2e-200), two_scales(2), 1e-12),
    "units of 1e200": (stats.norm(0, 1e200), stats.norm(0, 2e200), two_scales(2), 1e-12),
    "1e15 from zero": (stats.norm(1e15, 1), stats.norm(1e15, 2), two_scales(2), 0.5),
    "spikes apart": (
        stats.Mixture([stats.Normal(mu=m, sigma=1e-3) for m in (0, 1000)], weights=[0.5, 0.5]),
        stats.Mixture([stats.Normal(mu=m, sigma=1e-3) for m in (500, 1000)], weights=[0.5, 0.5]),
        0.25,
        0.25,
    ),
    "touching": (stats.uniform(0, 1), stats.uniform(1, 1), 0.0, 1e-15),
    "a sliver": (stats.uniform(0, 1), stats.uniform(0.25, 2.0**-30), 2.0**-31, 1e-15),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_bound_covers_the_closed_form(name):
    first, second, truth, most = LAWS[name]
    law = bayes(None, {"a": first, "b": second})
    assert off_by(law, truth) <= 1
    assert law.error_bound < most
    whole = law.bounds().iloc[-1]
    assert whole["lower"] * (1 - 1e-12) <= truth <= whole["chernoff"] * (1 + 1e-12)


def test_an_error_of_1e_200_keeps_its_digits():
    law = bayes(None, {"a": stats.norm(0, 1e-100), "b": stats.norm(0, 1e100)})
    assert law.error_rate == pytest.approx(two_scales(mpmath.mpf(10) ** 200), rel=1e-12)
    assert law.error_bound < 1e-12 * law.error_rate


def test_jumps_inside_a_histogram():
    heights, edges = np.histogram(np.random.default_rng(0).normal(size=500), bins=40)
    step = stats.rv_histogram((heights, edges))
    grid = np.linspace(edges[0], edges[-1], 400_001)
    middles = 0.5 * (grid[1:] + grid[:-1])
    truth = 0.5 * np.minimum(step.pdf(middles), stats.norm.pdf(middles)).sum() * (grid[1] - grid[0])
    law = bayes(None, {"a": step, "b": stats.norm()})
    assert abs(law.error_rate - truth) <= law.error_bound + 1e-8
    assert law.error_bound < 1e-3


def test_directions_lie_on_one_turn():
    law = bayes(None, {"a": stats.vonmises(2), "b": stats.vonmises(2, loc=2)})
    # By symmetry the limits are 1 and 1 - pi, and the two errors are equal.
    truth = (
        integrate.quad(stats.vonmises(2).pdf, 1, np.pi)[0]
        + integrate.quad(stats.vonmises(2).pdf, -np.pi, 1 - np.pi)[0]
    )
    assert law.error_rate == pytest.approx(truth, abs=1e-12)
    assert law.predict([0.0, 2.0, -3.0, 7.0]).tolist()[:3] == ["a", "b", "b"]
    assert law.predict([7.0]).isna().all()


def normal_function(mean, sd):
    return lambda x: np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))


@pytest.mark.parametrize(("mean", "sd"), [(1000, 50), (20, 10), (-1e6, 3e5), (5, 0.01), (0, 1e-5)])
def test_density_function_is_integrated_at_any_location(mean, sd):
    law = bayes(None, {"a": normal_function(mean, sd), "b": normal_function(mean + 2 * sd, sd)})
    assert law.error_rate == pytest.approx(stats.norm.cdf(-1), rel=1e-11)
    rows = law.sample(4000, seed=1)
    assert stats.kstest(rows.loc[rows["y"] == "a", "x"], stats.norm(mean, sd).cdf).pvalue > 1e-3


def test_a_function_with_a_heavy_tail_is_drawn_from():
    law = bayes(None, {"a": lambda x: 1 / (np.pi * (1 + x**2)), "b": stats.cauchy(3)})
    rows = law.sample(20_000, seed=1)
    assert stats.kstest(rows.loc[rows["y"] == "a", "x"], stats.cauchy().cdf).pvalue > 1e-3


def test_functions_with_jumps():
    law = bayes(
        None, {"a": lambda x: ((x >= 0) & (x <= 1)) * 1.0, "b": lambda x: ((x >= 0.5) & (x <= 1.5)) * 1.0}
    )
    assert off_by(law, 0.25) <= 1
    assert law.error_bound < 1e-9
    assert law.bounds().iloc[0]["chernoff"] >= 0.25


def test_values_between_integers_are_counted():
    first = stats.rv_discrete(values=([0.25, 0.5, 0.8], [0.2, 0.3, 0.5]))()
    second = stats.rv_discrete(values=([0.25, 0.5, 0.8], [0.5, 0.3, 0.2]))()
    law = bayes(None, {"a": first, "b": second})
    assert law.error_rate == pytest.approx(0.35, abs=1e-15)
    assert law.decision.index.tolist() == [0.25, 0.5, 0.8]


def test_counts_outside_the_listed_values():
    law = bayes(None, {"a": stats.poisson(1e12), "b": stats.poisson(1e12 + 3e6)})
    assert law.error_method == "Monte Carlo"
    assert abs(law.error_rate - stats.norm.cdf(-1.5)) <= law.error_bound + 1e-6


def test_a_rule_of_many_islands():
    law = bayes([0.3, 0.7], {"a": stats.norm(0, 1), "b": stats.norm(2, 1.5)})
    rows = law.sample(1500, seed=1)
    fit = discrim.knn("y ~ x", rows, k=1)
    x = np.sort(rows["x"].to_numpy())
    edges = np.concatenate([[-np.inf], 0.5 * (x[1:] + x[:-1]), [np.inf]])
    called = fit.predict(pd.DataFrame({"x": x})).to_numpy()
    mass = {
        "a": 0.3 * np.diff(stats.norm(0, 1).cdf(edges)),
        "b": 0.7 * np.diff(stats.norm(2, 1.5).cdf(edges)),
    }
    truth = mass["b"][called == "a"].sum() + mass["a"][called == "b"].sum()
    found = law.risk(fit)
    # The limits between rows are known to a bit only, and so is each of the sums.
    assert abs(found["error_rate"] - truth) <= found["error_bound"] + 1e-12
    assert found["error_bound"] < 0.01


# ---- random points


@pytest.mark.parametrize("distance", [8, 10, 20])
def test_rare_error_keeps_a_positive_bound(distance):
    law = bayes(
        None,
        {
            "a": stats.multivariate_normal([0, 0], EYE),
            "b": stats.multivariate_normal([distance, 0], EYE * (1 + 1e-13)),
        },
        draws=1024,
    )
    truth = stats.norm.cdf(-distance / 2)
    assert abs(law.error_rate - truth) <= law.error_bound
    # Chernoff's bound is closed, and no further off than this.
    assert law.error_bound <= 0.5 * np.exp(-(distance**2) / 8) * (1 + 1e-9)


def test_rare_excess_keeps_a_positive_bound():
    law = bayes(
        None,
        {"a": stats.multivariate_normal([0, 0], EYE), "b": stats.multivariate_normal([2, 0], EYE)},
        draws=1024,
    )
    cut = law.risk(lambda d: np.where(d["x1"] < 1.00001, "a", "b"))
    assert cut["excess_bound"] >= 1e-5**2 / 8
    rare = law.risk(lambda d: np.where(d["x1"] > 6.5, "a", law.predict(d)))
    truth = 0.5 * (stats.norm.sf(4.5) - stats.norm.sf(6.5))
    assert abs(rare["excess"] - truth) <= rare["excess_bound"]


@pytest.mark.slow
def test_the_interval_covers_as_often_as_it_says():
    truth = 0.5 - np.arctan(1) / np.pi
    hits = 0
    for seed in range(100):
        law = bayes(
            None,
            {m: stats.multivariate_t([m, 0], EYE, df=1) for m in (0, 2)},
            draws=512,
            seed=seed,
        )
        hits += abs(law.error_rate - truth) <= law.error_bound
    # Fewer than 95 of 100 would have a chance of a third of a percent at 99 %.
    assert hits >= 95


def test_two_proportions_follow_a_beta_distribution():
    law = bayes(None, {"a": stats.dirichlet([2, 3]), "b": stats.dirichlet([3, 2])})
    line = bayes(None, {"a": stats.beta(2, 3), "b": stats.beta(3, 2)})
    assert abs(law.error_rate - line.error_rate) <= law.error_bound
    at = pd.DataFrame({"x1": [0.3, 0.3], "x2": [0.7, 0.6]})
    assert law.predict_proba(at).loc[0, "a"] == pytest.approx(line.predict_proba([0.3]).loc[0, "a"])
    assert law.predict(at).isna().tolist() == [False, True]


def test_rows_of_counts_without_replacement():
    law = bayes(
        None, {"a": stats.multivariate_hypergeom([5, 5], 4), "b": stats.multivariate_hypergeom([8, 2], 4)}
    )
    one = bayes(None, {"a": stats.hypergeom(10, 5, 4), "b": stats.hypergeom(10, 8, 4)})
    assert abs(law.error_rate - one.error_rate) <= law.error_bound


# ---- classes that are not there


@pytest.mark.parametrize("p", [1, 2])
def test_a_class_of_prior_zero_does_not_spoil_the_closed_form(p):
    def at(mean):
        return stats.norm(mean) if p == 1 else stats.multivariate_normal([mean, 0], EYE)

    law = bayes([0.5, 0.5, 0], {"a": at(0), "b": at(2), "c": at(5)})
    assert law.error_rate == pytest.approx(stats.norm.cdf(-1), rel=1e-14)
    assert law.error_method == "exact"
    sure = bayes([0, 1], {"a": at(0), "b": stats.uniform(0, 1) if p == 1 else at(1)})
    assert (sure.error_rate, sure.error_bound, sure.error_method) == (0, 0, "exact")


# ---- what is refused


LINE = {"a": stats.norm(), "b": stats.norm(1)}


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: bayes(None, {("a", 1): stats.norm(), ("b", 2): stats.norm(1)}), r"\('a', 1\) is a tuple"),
        (
            lambda: bayes(None, pd.Series([stats.norm(), stats.norm(1)], index=["a", "a"])),
            "Duplicate class labels: 'a'",
        ),
        (lambda: bayes(None, pd.DataFrame([[], []])), "no columns"),
        (lambda: bayes(None, {}), "has none"),
        (lambda: bayes(None, LINE, seed="x"), "seed='x'"),
        (lambda: bayes(None, LINE).sample(3, seed=-1), "seed=-1"),
        (lambda: bayes(None, LINE | {"b": stats.gaussian_kde([0.0, 1.0, 3.0])}), "'b'.*its pdf"),
        (
            lambda: bayes(None, LINE).save("law.discrim"),
            r"cannot be saved .*densities\.to_csv\(\)",
        ),
        (lambda: discrim.cross_validate(bayes(None, LINE)), "Argument 1 of cross_validate.*risk"),
        (lambda: discrim.compare(bayes(None, LINE)), "Argument 1 of compare.*risk"),
    ],
)
def test_unsupported_methods_of_a_distribution_raise_errors(ask, words):
    with pytest.raises(DiscrimError, match=words):
        ask()


def test_a_random_point_without_a_posterior_is_named():
    class Torn:
        """Draws rows where its density is not known."""

        def rvs(self, size, random_state):
            return random_state.normal(size=(size, 2))

        def logpdf(self, x):
            return np.where(x[:, 0] > 2, np.nan, -0.5 * (x**2).sum(axis=1) - np.log(2 * np.pi))

    law = bayes(None, {"a": Torn(), "b": stats.multivariate_normal([1, 0], EYE)}, draws=4096)
    with pytest.raises(NotSupportedError) as caught:
        law.glance()
    assert "posterior" in str(caught.value)


class Pair:
    """Half of the rows about each of two places: a law of one's own, which has two methods."""

    def __init__(self, *places):
        self.parts = [stats.multivariate_normal(place, EYE) for place in places]

    def logpdf(self, x):
        return np.logaddexp(*(part.logpdf(x) for part in self.parts)) - np.log(2)

    def rvs(self, size, random_state):
        first, second = (part.rvs(size, random_state) for part in self.parts)
        return np.where(random_state.random(size)[:, None] < 0.5, first, second)


def test_user_defined_distribution_has_the_integral_error():
    # A cross of two classes: right where the product of the columns has the sign of the class.
    law = bayes(None, {"a": Pair([1.5, 1.5], [-1.5, -1.5]), "b": Pair([1.5, -1.5], [-1.5, 1.5])})
    one = stats.norm.cdf(-1.5)
    assert law.error_rate == pytest.approx(2 * one * (1 - one), abs=law.error_bound)
    assert law.error_bound < 0.005
    assert law.predict(pd.DataFrame({"x1": [1.0, -2.0], "x2": [0.5, 3.0]})).tolist() == ["a", "b"]
    assert law.risk(lambda x: np.where(x["x1"] * x["x2"] > 0, "a", "b"))["excess"] == 0
    assert len(law.sample(10, seed=1)) == 10


# ---- what is shown


def test_summary_states_omitted_probability():
    counts = bayes(None, {"a": stats.poisson(3), "b": stats.poisson(30)})
    assert counts.decision.index[:3].tolist() == [0, 1, 2]
    assert counts.decision.index.dtype == np.int64
    few = int((counts.decision["probability"] < 1e-6).sum())
    assert f"{few} values with a probability below 1e-06 are omitted." in counts.summary().as_text()
    many = bayes(None, {k: stats.norm(2 * k) for k in range(12)}).summary().as_text()
    assert "For the bounds of 66 pairs of classes see fit.bounds()." in many
    assert "0.0e+00" not in repr(bayes(None, {"a": stats.uniform(0, 1), "b": stats.uniform(2, 1)}))


@pytest.mark.parametrize("df", [1, 2, 5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rounding_far_out_makes_no_regions(df, scale):
    law = bayes(None, {"a": stats.t(df, -scale, scale), "b": stats.t(df, scale, scale)})
    assert law.decision["decision"].tolist() == ["a", "b"]
    assert law.decision["high"].iloc[0] == pytest.approx(0, abs=1e-12 * scale)


def test_tails_that_do_cross_are_regions():
    law = bayes(None, {"a": stats.cauchy(0), "b": stats.cauchy(3)})
    assert law.decision["decision"].tolist() == ["a", "b"]
    # A cauchy of twice the scale is above the other beyond sqrt(2), on both sides.
    law = bayes(None, {"a": stats.cauchy(0), "b": stats.cauchy(0, 2)})
    assert law.decision["decision"].tolist() == ["b", "a", "b"]
    assert law.decision["high"].iloc[1] == pytest.approx(np.sqrt(2), rel=1e-12)
    # The tails of the normal of the smaller spread are far below, where both are 1e-300.
    law = bayes(None, {"a": stats.norm(0, 1), "b": stats.norm(30, 1.01)})
    assert law.decision["decision"].tolist() == ["b", "a", "b"]
    assert law.decision["high"].iloc[0] < -3000


def test_pole_does_not_compress_the_plot():
    axes = bayes(None, {"a": stats.beta(0.5, 0.5), "b": stats.uniform()}).plot()
    assert axes.get_ylim()[1] < 10
    names = [tick.get_text() for tick in bayes(None, LINE_OF_COUNTS).plot().get_xticklabels()]
    assert len("".join(names)) <= 70


LINE_OF_COUNTS = {"a": stats.poisson(3), "b": stats.poisson(300)}


@pytest.mark.parametrize(
    "endless",
    [
        lambda x: 1 / (1 + np.abs(x)),
        lambda x: np.full_like(x, 0.1),
        lambda x: np.exp(np.abs(x)),
        lambda x: 1 / np.square(x),
        lambda x: np.where((x > 0) & (x < 1), 1 / np.maximum(x, 1e-320), 0.0),
        lambda x: np.full_like(x, np.inf),
    ],
)
def test_a_density_without_an_integral_is_refused(endless):
    with pytest.raises(DataError) as caught:
        bayes(None, {"a": endless, "b": stats.norm(0, 1)})
    assert "'a'" in str(caught.value)


def test_integrable_pole_is_accepted():
    root = bayes(None, {"a": lambda x: np.where((x > 0) & (x < 1), 0.5 / np.sqrt(np.maximum(x, 1e-320)), 0.0),
                        "b": stats.uniform(0, 1)})  # fmt: skip
    # The smaller of 1/(4 sqrt x) and 1/2: 1/2 up to x = 1/4, and then 1/2 (1 - 1/2).
    assert root.error_rate == pytest.approx(0.125 + 0.25, abs=1e-8 + root.error_bound)
