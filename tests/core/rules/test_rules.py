"""Scores of rows: digits where classes lie far apart, rows beyond the range of doubles, priors of zero.

Expected values are those of eighty-digit arithmetic, of wider floats, or identities.
"""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
import discrim.sklearn
from discrim.core.rules import gaussian as nearest_means
from discrim.core.rules.leave_one_out import squared_distances_between_means
from discrim.core.rules.rules import LinearRule, Plane, posteriors
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.errors import DataError
from discrim.inference.covariance_models import log_determinant_quantile
from tests import references as ref

IRIS = load_iris()
COLUMNS = list(IRIS.columns[:4])

LINEAR = {
    "lda": discrim.lda,
    "diagonal": lambda *a, **k: discrim.lda(*a, covariance="diagonal", **k),
    "shrunk": lambda *a, **k: discrim.lda(*a, covariance=Shrunk(0.3), **k),
    "reduced": lambda *a, **k: discrim.lda(*a, ncomp=1, **k),
    "rda": lambda *a, **k: discrim.rda(*a, alpha=0.0, gamma=0.5, **k),
    "nearest": discrim.nearest_centroid,
    "centroids": lambda *a, **k: discrim.shrunken_centroids(*a, threshold=0.5, **k),
}
VERBS = LINEAR | {
    "qda": discrim.qda,
    "naive_bayes": discrim.naive_bayes,
    "regularized": lambda *a, **k: discrim.rda(*a, alpha=0.5, gamma=0.5, **k),
    "logistic": lambda *a, **k: discrim.logistic(*a, bias_reduction=True, **k),
}


def distant_classes(
    gaps: tuple[float, ...], p: int, n: int = 6
) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Classes of correlated columns along one direction, so many standard deviations from the first."""
    rng = np.random.default_rng(len(gaps) + p)
    codes = np.repeat(np.arange(len(gaps)), n)
    mixing = np.eye(p) + 0.4 * np.triu(np.ones((p, p)), 1)
    way = rng.uniform(0.5, 1.0, p) * rng.choice([-1.0, 1.0], p)
    x = rng.standard_normal((len(codes), p)) @ mixing + np.outer(np.array(gaps)[codes], way)
    return x, codes, pd.DataFrame(x).add_prefix("x").assign(y=codes)


GAPS = {f"1e{power}": (0, 1, 10.0**power) for power in (4, 6, 8, 12)}
GAPS["nested"] = (0, 1, 2, 1e4, 1e4 + 2, 1e8, 1e8 + 3)


@pytest.mark.parametrize(
    ("gaps", "p", "method"),
    # The plug-in rule with every number of columns, the others with one number in turn.
    [
        pytest.param(
            gaps,
            p,
            method,
            id=f"{name}-{p}-{method}",
            marks=() if method == "plugin" or (i + j + k) % 2 else pytest.mark.exhaustive,
        )
        for i, (name, gaps) in enumerate(GAPS.items())
        for j, p in enumerate((1, 3))
        for k, method in enumerate(("plugin", "predictive", "debiased"))
    ],
)
def test_log_posteriors_lose_no_digits_to_a_class_that_is_far_away(gaps, p, method):
    x, codes, frame = distant_classes(gaps, p)
    prior = np.arange(1.0, len(gaps) + 1) / np.arange(1.0, len(gaps) + 1).sum()

    def run(values):
        moments = ref.Moments.from_rows(values, codes)
        scores = ref.linear_scores(
            values, moments, moments.pooled_covariance("moment"), ref.exact(prior), method
        )
        return {"logs": ref.log_posteriors(scores)}

    value, loss = ref.inherent_loss(run, x, draws=2, floors={"logs": 1.0})
    fit = discrim.lda("y ~ .", frame, prior=prior.tolist())
    got = fit.predict_log_proba(method=method).to_numpy()
    error = ref.relative_change(ref.exact(got) - value["logs"], value["logs"], 1.0)
    assert (error <= 10 * np.maximum(loss["logs"], 10.0**-15.5)).all(), error.max()
    if method == "plugin":
        scores = fit.decision_function().to_numpy()
        gap = ref.exact(scores) - ref.exact(scores[:, :1]) - (value["logs"] - value["logs"][:, :1])
        size = np.maximum(np.abs(scores), np.abs(scores[:, :1]))
        assert (np.abs(ref.to_float(gap)) <= 10 * np.maximum(loss["logs"], 10.0**-15.5) * (1 + size)).all()


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.5, 10.0, 1e3, 1e8])
@pytest.mark.parametrize("gap", [1e-3, 1.0, 30.0])
def test_log_posteriors_keep_their_digits_wherever_zero_lies(shift, gap):
    x, codes, _ = distant_classes((0, gap, 2.5 * gap), 4, n=9)
    x = x - x.mean(axis=0) + shift * x.std(axis=0) * np.array([1, -1, 1, 0.3])
    prior = np.full(3, 1 / 3)

    def run(values):
        moments = ref.Moments.from_rows(values, codes)
        scores = ref.linear_scores(
            values, moments, moments.pooled_covariance("moment"), ref.exact(prior), "plugin"
        )
        return {"logs": ref.log_posteriors(scores)}

    value, loss = ref.inherent_loss(run, x, draws=2, floors={"logs": 1.0})
    fit = discrim.lda("y ~ .", pd.DataFrame(x).add_prefix("x").assign(y=codes), prior="equal")
    error = ref.relative_change(
        ref.exact(fit.predict_log_proba().to_numpy()) - value["logs"], value["logs"], 1.0
    )
    assert (error <= 10 * np.maximum(loss["logs"], 10.0**-15.5)).all(), error.max()


def extended_scores(x, codes, k):
    """Log posteriors of a linear discriminant analysis in 64-bit mantissas, from gaps to each row's best."""
    x = x.astype(np.longdouble)
    means = np.stack([x[codes == c].sum(axis=0) / (codes == c).sum() for c in range(k)])
    within = x - means[codes]
    cov = within.T @ within / (len(x) - k)
    p = len(cov)
    lower = np.zeros_like(cov)
    for i in range(p):
        for j in range(i + 1):
            rest = cov[i, j] - lower[i, :j] @ lower[j, :j]
            lower[i, j] = np.sqrt(rest) if i == j else rest / lower[j, j]

    def whiten(z):
        out = np.zeros_like(z)
        for i in range(p):
            out[:, i] = (z[:, i] - out[:, :i] @ lower[i, :i]) / lower[i, i]
        return out

    logs = np.empty((len(x), k))
    for i, row in enumerate(x):
        gaps = whiten(row - means)
        near = int((gaps**2).sum(axis=1).argmin())
        between = gaps[near] - gaps
        scores = between @ gaps[near] - 0.5 * (between**2).sum(axis=1)
        logs[i] = scores - np.log(np.exp(scores - scores.max()).sum()) - scores.max()
    return logs


@cache
def many_classes(form):
    """Return rows, codes and log posteriors of 150 classes whose centres have a form."""
    rng = np.random.default_rng(5)
    k, p = 150, 3
    centres = {
        "clusters": 1e6 * rng.standard_normal((10, p))[np.arange(k) % 10] + rng.standard_normal((k, p)),
        "line": np.outer(np.arange(k), [4.0, 2.0, -1.0]),
        "scattered": 10.0 ** rng.uniform(0, 9, (k, 1)) * rng.standard_normal((k, p)),
        "plane": 200 * np.column_stack([rng.standard_normal((k, 2)), np.zeros(k)]),
    }[form]
    codes = np.repeat(np.arange(k), 4)
    x = centres[codes] + rng.standard_normal((len(codes), p))
    return x, codes, extended_scores(x, codes, k)


@pytest.mark.parametrize("room", [None, 100], ids=["held", "made for the rows"])
@pytest.mark.parametrize("form", ["clusters", "line", "scattered", "plane"])
def test_many_classes_at_any_distances(form, room, monkeypatch):
    if room is not None:
        monkeypatch.setattr(nearest_means, "MAX_STORED_COEFS", room)
    x, codes, wanted = many_classes(form)
    fit = discrim.lda("y ~ .", pd.DataFrame(x).add_prefix("x").assign(y=codes), prior="equal")
    got = fit.predict_log_proba().to_numpy()
    # What the last bits of the farthest rows do to the covariance, over the square root of their number.
    inherent = np.finfo(float).eps * np.abs(x).max() / np.sqrt(len(x))
    np.testing.assert_allclose(got, wanted, rtol=10 * inherent + 1e-13, atol=10 * inherent + 1e-13)
    assert (fit.decision_function().to_numpy().argmax(axis=1) == got.argmax(axis=1)).all()


@pytest.mark.parametrize("gaps", [(0, 1, 1e4), (0, 1, 1e8), (0, 1, 1e4, 1e8)], ids=["1e4", "1e8", "nested"])
def test_leave_one_out_loses_no_digits_to_a_class_that_is_far_away(gaps):
    x, codes, frame = distant_classes(gaps, 2)
    which = [0, 3, 7, 10, 14]

    def run(values):
        return {"logs": ref.leave_one_out(values, codes, False, positions=which)}

    value, loss = ref.inherent_loss(run, x, draws=2, floors={"logs": 1.0})
    got = discrim.lda("y ~ .", frame).leave_one_out().drop(columns="label").to_numpy()[which]
    exact = ref.to_float(ref.exp(value["logs"]))
    allowed = 10 * exact * np.maximum(loss["logs"] * np.maximum(1, -ref.to_float(value["logs"])), 10**-15.5)
    assert (np.abs(got - exact) <= np.maximum(allowed, 1e-290)).all()


@pytest.mark.parametrize("verb", LINEAR)
def test_close_classes_are_separated_despite_a_distant_class(verb):
    """The rule of the two near classes does not depend on where the third lies, but for its variance."""
    near, codes, _ = distant_classes((0, 2), 2, n=20)
    far = np.random.default_rng(3).integers(-9, 10, (20, 2)) / 4.0
    gaps = []
    for shift in (2.0**8, 2.0**28):
        x = np.round(np.concatenate([near, far + shift * np.array([1.0, -1.0])]) * 2**10) / 2**10
        frame = pd.DataFrame(x).add_prefix("x").assign(y=np.append(codes, np.full(20, 2)))
        fit = LINEAR[verb]("y ~ .", frame, prior="equal")
        logs = fit.predict_log_proba().to_numpy()[:40]
        gaps.append(logs[:, 1] - logs[:, 0])
        assert (fit.decision_function().to_numpy().argmax(axis=1) == fit.predict().to_numpy()).all()
    # The axis of `ncomp=1` and the threshold's centre turn a little with the shift; digits do not go.
    slack = 0.05 if verb in ("reduced", "centroids") else 1e-7
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=slack, atol=slack)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_decision_function_agrees_with_predict(verb, shift):
    rng = np.random.default_rng(1)
    moved = IRIS[COLUMNS] + rng.normal(0, 0.5, (150, 4)) + shift
    frame = moved.assign(species=IRIS["species"])
    fit = VERBS[verb]("species ~ .", frame)
    scores, logs = fit.decision_function().to_numpy(), fit.predict_log_proba().to_numpy()
    assert (fit.classes[scores.argmax(axis=1)] == fit.predict().to_numpy()).all()
    size = np.abs(scores).max(axis=1, keepdims=True)
    assert (np.abs((scores - scores[:, :1]) - (logs - logs[:, :1])) <= 1e-14 * (1 + size)).all()


@pytest.mark.parametrize("name", ["LDAClassifier", "QDAClassifier", "ShrunkenCentroidsClassifier"])
def test_estimators_predict_the_largest_score(name):
    x = IRIS[COLUMNS].to_numpy() + 1e8
    model = getattr(discrim.sklearn, name)().fit(x, IRIS["species"].to_numpy())
    scores, logs = model.decision_function(x), model.predict_log_proba(x)
    assert (model.classes_[scores.argmax(axis=1)] == model.predict(x)).all()
    np.testing.assert_allclose(scores - scores[:, :1], logs - logs[:, :1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.exp(logs), model.predict_proba(x), rtol=1e-12)


FAR = {"lda": ("plugin", "predictive", "debiased"), "qda": ("plugin", "predictive", "debiased")}
FAR |= {"naive_bayes": ("plugin",), "regularized": ("plugin",), "rda": ("plugin",), "centroids": ("plugin",)}


@pytest.mark.parametrize(("verb", "method"), [(verb, method) for verb in FAR for method in FAR[verb]])
@pytest.mark.parametrize("size", [1e50, 1e90, 1e99])
def test_far_rows_have_posteriors(verb, method, size):
    fit = VERBS[verb]("species ~ .", IRIS)
    rows = pd.DataFrame(np.random.default_rng(2).uniform(-1, 1, (5, 4)) * size, columns=COLUMNS)
    logs = fit.predict_log_proba(rows, method=method).to_numpy()
    proba = fit.predict_proba(rows, method=method).to_numpy()
    assert not np.isnan(logs).any()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.exp(logs), proba, rtol=1e-12)
    # From this distance on, the row a million times closer has the same order of classes.
    closer = fit.predict_log_proba(rows / size * 1e9, method=method).to_numpy()
    if method == "predictive":
        np.testing.assert_allclose(closer, logs, atol=1e-6)
    else:
        assert (closer.argmax(axis=1) == logs.argmax(axis=1)).all()


def test_quadratic_posteriors_of_far_rows_against_mpmath():
    x, codes = IRIS[COLUMNS].to_numpy(), pd.factorize(IRIS["species"], sort=True)[0]
    rows = np.array([[1e90, 0, 0, 0], [1e75, -2e75, 3e74, 1e50], [-1e98, 1e98, 0, 1], [6, 3, 4e80, 1]])
    moments = ref.Moments.from_rows(ref.exact(x), codes)
    exact = ref.quadratic_scores(
        ref.exact(rows), moments, moments.class_covariances("moment"), moments.proportions()
    )
    wanted = ref.log_posteriors(exact)
    got = discrim.qda("species ~ .", IRIS).predict_log_proba(pd.DataFrame(rows, columns=COLUMNS)).to_numpy()
    for ours, theirs in zip(got.ravel(), wanted.ravel(), strict=True):
        if theirs < -(mpmath.mpf(2) ** 1024):
            assert ours == -np.inf
        else:
            assert ours == pytest.approx(float(theirs), rel=1e-12)


def test_naive_bayes_integrates_out_missing_values_of_distant_rows():
    fit = discrim.naive_bayes("species ~ .", IRIS)
    rows = pd.DataFrame([[1e90, np.nan, 1.0, 1.0], [np.nan, -1e98, 1.0, np.nan]], columns=COLUMNS)
    logs = fit.predict_log_proba(rows).to_numpy()
    for row, column in enumerate(COLUMNS[:2]):
        spread = IRIS.groupby("species", observed=True)[column].std().to_numpy()
        assert logs[row].argmax() == spread.argmax()
        assert sorted(logs[row])[1] < -1e170
        assert logs[row].max() == 0


@pytest.mark.parametrize("verb", ["lda", "diagonal", "rda", "centroids", "qda", "naive_bayes", "logistic"])
@pytest.mark.parametrize("zero", [0, 1])
def test_class_with_zero_prior_does_not_affect_scores_or_planes(verb, zero):
    prior = np.where(np.arange(3) == zero, 0.0, 0.5).tolist()
    fit = VERBS[verb]("species ~ .", IRIS, prior=prior)
    scores = fit.decision_function()
    assert not scores.isna().any(axis=None)
    assert (scores.iloc[:, zero] == -np.inf).all()
    assert np.isfinite(scores.drop(columns=fit.classes[zero])).all(axis=None)
    assert (fit.classes[scores.to_numpy().argmax(axis=1)] == fit.predict().to_numpy()).all()
    if hasattr(fit, "boundary"):
        others = [label for k, label in enumerate(fit.classes) if k != zero]
        assert np.isfinite(fit.boundary(*others).offset)
        with pytest.raises(DataError, match=f"{fit.classes[zero]}' has a prior of zero"):
            fit.boundary(fit.classes[zero], others[0])


@pytest.mark.parametrize("nu", [2, 2.5, 3, 10, 100, 1e4, 1e6, 1e8, 1e12])
@pytest.mark.parametrize("share", [0.01, 0.025, 0.3, 0.49, 0.5, 0.51, 0.8, 0.975, 1 - 1e-6])
def test_quantiles_of_log_determinants_of_two_columns(nu, share):
    """Twice the square root of the determinant of nu S is chi-square with 2 nu - 2 degrees of freedom."""
    root = stats.chi2.ppf(share, 2 * nu - 2)
    wanted = 2 * np.log(root) - np.log(4) - 2 * np.log(nu)
    sd = np.sqrt(4 / nu)
    assert abs(log_determinant_quantile(share, nu, 2) - wanted) < 1e-7 * sd


@pytest.mark.parametrize("nu", [2, 3, 100, 1000])
@pytest.mark.parametrize("share", [1e-12, 1e-6, 0.4, 0.5])
def test_small_quantiles_of_log_determinants_against_mpmath(nu, share):
    half = mpmath.exp((mpmath.mpf(log_determinant_quantile(share, nu, 2)) + 2 * mpmath.log(nu)) / 2)
    found = mpmath.gammainc(mpmath.mpf(nu) - 1, 0, half, regularized=True)
    assert float(found) == pytest.approx(share, rel=1e-8)


@pytest.mark.parametrize(("nu", "p"), [(5, 5), (6, 5), (12, 10), (50, 3)])
def test_quantiles_of_log_determinants_against_simulation(nu, p):
    rng = np.random.default_rng(p)
    drawn = sum(np.log(rng.chisquare(nu - j, 200_000)) for j in range(p)) - p * np.log(nu)
    shares = np.array([0.01, 0.2, 0.45, 0.48, 0.5, 0.52, 0.9, 0.99])
    found = np.array([log_determinant_quantile(share, nu, p) for share in shares])
    assert (np.abs((drawn[:, None] < found).mean(axis=0) - shares) < 4 * np.sqrt(0.25 / 200_000)).all()
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("convention", ["mass", "stata", "sas", "spss", "sklearn"])
def test_canonical_coefficients_follow_the_convention(convention):
    fit = discrim.lda("species ~ .", IRIS)
    theirs = fit.canonical(convention)
    pd.testing.assert_frame_equal(theirs.coef(), fit.canonical().coef(convention))
    pd.testing.assert_frame_equal(theirs.coef().iloc[1:], theirs.raw)
    pd.testing.assert_frame_equal(theirs.coef("stata"), fit.canonical("stata").coef())


@pytest.mark.parametrize("far", [1e6, 1e10])
@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_leave_one_out_of_close_centroids_equals_refits(far, threshold):
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(8), 9)
    # In 64ths, so that no number is rounded beside the far crowd.
    x = np.round(64 * (2 * rng.normal(size=(8, 3))[codes] + rng.normal(size=(72, 3)))) / 64
    x[codes >= 4] += far
    frame = pd.DataFrame(x).add_prefix("x").assign(y=codes)
    fit = discrim.shrunken_centroids("y ~ .", frame, threshold=threshold)
    left_out = fit.leave_one_out()
    for row in range(0, 72, 5):
        refit = discrim.shrunken_centroids(
            "y ~ .", frame.drop(index=row), threshold=threshold, prior=fit.prior.to_dict()
        )
        one = frame.iloc[[row]]
        np.testing.assert_allclose(left_out.iloc[[row], 1:], refit.predict_proba(one), atol=1e-12)
        assert left_out.iloc[row, 0] == refit.predict(one).iloc[0]


def test_plane_distances_equal_distances_to_nearest_points():
    rng = np.random.default_rng(0)
    plane, x = Plane(rng.standard_normal(3), rng.standard_normal(3), 0.7), rng.standard_normal((20, 3))
    feet, distances = plane.perpendicular_feet(x), plane.distances(x)
    np.testing.assert_allclose(feet @ plane.normal + plane.offset, 0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(x - feet, axis=1), np.abs(distances))
    np.testing.assert_array_equal(np.sign(distances), np.sign(x @ plane.normal + plane.offset))
    assert plane.distance_from_origin == pytest.approx(
        np.linalg.norm(plane.perpendicular_feet(np.zeros((1, 3))))
    )


def test_posteriors_match_mpmath_down_to_the_smallest_float():
    scores = np.array(
        [[0.0, -708.0, -744.0, -745.2], [5.0, -735.0, -741.0, -1e5], [-np.inf, 1.0, 1.0, -800.0]]
    )
    with mpmath.workdps(40):
        weights = [[mpmath.exp(score) for score in row] for row in scores.tolist()]
        expected = [[float(weight / mpmath.fsum(row)) for weight in row] for row in weights]
    for order in ("C", "F"):
        found = posteriors(np.array(scores, order=order))
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=5e-324)
        place = np.empty_like(found)
        np.testing.assert_array_equal(posteriors(np.array(scores, order=order), out=place), found)


@pytest.mark.parametrize(
    ("m", "p", "k"), [(64, 50, 1000), (65, 7, 301), (1, 3, 80), (700, 90, 66), (0, 3, 80)]
)
def test_scores_of_many_classes_equal_one_product(m, p, k):
    rng = np.random.default_rng(k)
    coef, intercept = rng.standard_normal((p, k)), rng.standard_normal(k)
    x = rng.standard_normal((m, p))
    scores = LinearRule(np.zeros(p), np.ones(p), coef, intercept).scores(x)
    np.testing.assert_allclose(scores, x @ coef + intercept, rtol=1e-12, atol=1e-12)
    shares = posteriors(scores)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("k", [3, 64, 65, 300])
def test_squared_distances_between_means_equal_sums_of_squared_differences(k: int) -> None:
    rng = np.random.default_rng(k)
    means = 0.1 + rng.standard_normal((k, 4))
    means[1] = means[0] + 1e-7 * rng.standard_normal(4)  # Two close means.
    means[2] = means[0]
    exact = ((means[:, None] - means) ** 2).sum(axis=2)
    ours = squared_distances_between_means(means)
    np.testing.assert_allclose(ours, exact, rtol=1e-13, atol=0)
    assert (ours == ours.T).all()
    assert (np.diagonal(ours) == 0).all()
