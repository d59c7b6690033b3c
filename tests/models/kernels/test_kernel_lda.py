"""Kernel discriminant analysis: against kernlab, fda and LDA, and what it refuses.

``golden/kernel_lda.json`` was written by ``golden/write_kernel_lda.R``, which says how.
"""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge

import discrim
from discrim import fda, kernel_lda
from discrim.core.kernels import kernel_ridge
from discrim.datasets import load as load_table
from discrim.datasets import load_iris, load_penguins
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.models.kernels import kernel_lda as models_kernel_lda
from tests import support
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "kernel_lda.json").read_text(encoding="utf-8"))["cases"]
IRIS = load_iris()
GIVEN = {"kernel": "gaussian", "width": 2.0, "ridge": 0.1, "scale": "sd"}


def moons(n: int, seed: int) -> pd.DataFrame:
    """Two half circles with noise."""
    rng = np.random.default_rng(seed)
    t, upper = rng.uniform(0, np.pi, n), rng.random(n) < 0.5
    x = np.where(upper, np.cos(t), 1 - np.cos(t)) + rng.normal(scale=0.2, size=n)
    y = np.where(upper, np.sin(t), 0.5 - np.sin(t)) + rng.normal(scale=0.2, size=n)
    return pd.DataFrame({"x": x, "y": y, "moon": np.where(upper, "upper", "lower")})


@pytest.mark.parametrize("which", ["narrow", "wider"])
@pytest.mark.parametrize("name", GOLDEN)
def test_fitted_indicators_agree_with_lssvm_of_kernlab(name, which):
    case = GOLDEN[name]
    theirs = case["fits"][which]
    data = load_table(name).dropna(subset=case["columns"])
    formula = f"{case['response']} ~ {' + '.join(case['columns'])}"
    options = {"width": theirs["width"], "ridge": theirs["ridge"]}
    fit = kernel_lda(formula, data, kernel="gaussian", scale="sd", **options)
    actual = fit._fit.estimates.indicators(data[case["columns"]].to_numpy(float)[::7])
    np.testing.assert_allclose(actual, theirs["fitted"], atol=1e-9)


class Centred:
    """The regression on a centred kernel with a constant, by scikit-learn's KernelRidge."""

    def fit(self, x, scores):
        x = np.asarray(x, dtype=float)
        self.means, self.sds, self.scores = x.mean(axis=0), x.std(axis=0), scores.mean(axis=0)
        self.rows = (x - self.means) / self.sds
        self.ridge = KernelRidge(alpha=0.1, kernel="precomputed")
        self.ridge.fit(self.centred(self.rows), scores - self.scores)
        return self

    def centred(self, z):
        def kernel(a, b):
            return np.exp(-((a[:, None] - b) ** 2).sum(axis=2) / 8)

        total, chunk = kernel(self.rows, self.rows), kernel(z, self.rows)
        return chunk - chunk.mean(axis=1, keepdims=True) - total.mean(axis=0) + total.mean()

    def predict(self, x):
        z = (np.asarray(x, dtype=float) - self.means) / self.sds
        return self.ridge.predict(self.centred(z)) + self.scores


def test_variates_and_posteriors_equal_fda_with_the_regression():
    fit = kernel_lda("species ~ .", IRIS, **GIVEN, calibrate=False)
    theirs = fda("species ~ .", IRIS, engine=Centred())
    np.testing.assert_allclose(fit.values, theirs.values, rtol=1e-11)
    np.testing.assert_allclose(fit.centroids, theirs.centroids, rtol=1e-9)
    np.testing.assert_allclose(fit.transform(), theirs.transform(), atol=1e-9)
    np.testing.assert_allclose(fit.predict_proba(), theirs.predict_proba(), atol=1e-11)


def test_a_linear_kernel_with_a_tiny_ridge_equals_lda():
    lda = discrim.lda("species ~ .", IRIS, method="mle")
    options = {"kernel": "linear", "scale": "sd", "calibrate": False}
    fit, twice = (kernel_lda("species ~ .", IRIS, ridge=ridge, **options) for ridge in (1e-4, 2e-4))

    def agree(ask):
        # Without what the ridge adds, which is twice as much where it is twice as large.
        np.testing.assert_allclose(2 * ask(fit) - ask(twice), ask(lda), atol=2e-7)

    agree(lambda each: each.predict_proba().to_numpy())
    agree(lambda each: each.predict_proba(prior=[0.2, 0.3, 0.5]).to_numpy())
    agree(lambda each: each.explained.to_numpy())
    agree(lambda each: np.abs(each.transform().to_numpy()))


def test_a_user_kernel_equals_the_kernel_that_it_computes():
    def own(a, b):
        return np.exp(-((a[:, None] - b) ** 2).sum(axis=2) / 8)

    fit = kernel_lda("species ~ .", IRIS, **GIVEN)
    again = kernel_lda("species ~ .", IRIS, kernel=own, scale="sd", ridge=0.1)
    np.testing.assert_allclose(again.predict_proba(), fit.predict_proba(), atol=1e-10)
    pd.testing.assert_frame_equal(again.leave_one_out(), fit.leave_one_out(), rtol=1e-8)
    assert again.kernel == "own"
    assert np.isnan(again.width)


def test_chosen_kernels_fit_curved_classes():
    train, test = moons(150, 1), moons(1000, 2)
    fit = kernel_lda("moon ~ .", train)
    wrong = (fit.predict(test) != test["moon"]).mean()
    linear = (discrim.lda("moon ~ .", train).predict(test) != test["moon"]).mean()
    assert wrong < 0.6 * linear
    p = fit.predict_proba(test)
    loss = -np.log(p.to_numpy()[np.arange(len(test)), (test["moon"] == "upper").astype(int)]).mean()
    assert loss < 0.25
    assert fit.path["chosen"].sum() == 1


@pytest.mark.parametrize("select", ["squared", "log_loss", "error"])
def test_a_choice_with_weights_equals_repeated_rows_and_the_best_candidate(select):
    data = moons(60, 6).assign(w=np.arange(60) % 3 + 1)
    options = {"kernel": "gaussian", "scale": "sd", "select": select}
    fit = kernel_lda("moon ~ x + y", data, weights="w", **options)
    again = kernel_lda("moon ~ x + y", data.loc[data.index.repeat(data["w"])], **options)
    numeric = ["width", "ridge", "loss", "se"]
    np.testing.assert_allclose(fit.path[numeric], again.path[numeric], rtol=1e-6)
    np.testing.assert_allclose(fit.predict_proba(data), again.predict_proba(data), rtol=1e-6)
    chosen = fit.path[fit.path["chosen"]]
    assert chosen["loss"].iloc[0] == pytest.approx(fit.path["loss"].min(), rel=1e-6)
    left_out = fit.leave_one_out()
    wrong = np.average(left_out["label"] != data["moon"], weights=data["w"])
    if select == "error":
        # The labels of calibrated posteriors may differ in a row or so.
        assert abs(chosen["loss"].iloc[0] - wrong) < 0.05


def test_the_choice_is_the_same_each_time_and_the_best_of_its_path():
    first, again = (kernel_lda("species ~ .", IRIS) for _ in range(2))
    pd.testing.assert_frame_equal(first.path, again.path)
    chosen = first.path[first.path["chosen"]].iloc[0]
    assert chosen["loss"] == pytest.approx(first.path["loss"].min(), rel=1e-8)
    assert (first.kernel, first.scale, first.width, first.ridge) == tuple(
        chosen[["kernel", "scale", "width", "ridge"]]
    )


def test_choice_for_many_rows_uses_landmarks_and_then_all_rows():
    data = moons(450, 3)
    fit = kernel_lda("moon ~ .", data, kernel="gaussian", scale="sd")
    by = fit.path.groupby("by")["loss"]
    assert set(by.groups) == {"landmarks", "all rows"}
    chosen = fit.path[fit.path["chosen"]]
    assert chosen["by"].tolist() == ["all rows"]
    assert chosen["loss"].iloc[0] == by.min()["all rows"]


def test_choice_for_very_many_rows_states_that_it_used_a_sample(monkeypatch):
    for module, name, limit in (
        (kernel_ridge, "MAX_SEARCH_ROWS", 450),
        (kernel_ridge, "N_SAMPLE_ROWS", 420),
        (models_kernel_lda, "N_SAMPLE_ROWS", 420),
    ):
        monkeypatch.setattr(module, name, limit)
    fit = kernel_lda("moon ~ .", moons(480, 4), kernel="gaussian", scale="sd")
    assert fit.path["by"].drop_duplicates().tolist() == ["landmarks", "sample", "all rows"]
    assert fit.path.loc[fit.path["chosen"], "by"].tolist() == ["all rows"]
    text = " ".join(str(fit.summary()).split())
    assert "sample and leave-one-out" in text
    assert "random sample of about 420 observations" in text
    pd.testing.assert_frame_equal(
        fit.path, kernel_lda("moon ~ .", moons(480, 4), kernel="gaussian", scale="sd").path
    )


def test_factors_do_not_depend_on_their_coding_or_reference():
    data = load_penguins().dropna()
    options = {"kernel": "gaussian", "width": 2.0, "ridge": 0.1, "scale": "sd"}
    formula = "species ~ bill_length_mm + {} + sex"
    one = kernel_lda(formula.format("island"), data, **options)
    for coding in ("C(island, Treatment('Dream'))", "C(island, Sum)"):
        other = kernel_lda(formula.format(coding), data, **options)
        np.testing.assert_allclose(other.predict_proba(), one.predict_proba(), atol=1e-10)


@one_in(
    3,
    {
        "kernel": ["gaussian", "laplace", "polynomial", "linear", "arccos"],
        "scale": ["sd", "ranks", "categories"],
    },
)
def test_a_saved_fit_predicts_the_same(kernel, scale, tmp_path):
    data = load_penguins().dropna().iloc[::3]
    options = {} if kernel == "linear" else {"width": 3.0}
    fit = kernel_lda("species ~ .", data, kernel=kernel, scale=scale, ridge=0.3, **options)
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    assert (loaded.kernel, loaded.scale, loaded.ridge) == (kernel, scale, 0.3)
    pd.testing.assert_frame_equal(loaded.predict_proba(data), fit.predict_proba(data), check_exact=True)
    pd.testing.assert_frame_equal(loaded.centroids, fit.centroids, check_exact=True)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kernel": "rbf"}, DataError, "'gaussian'"),
        ({"width": 0.0}, DataError, "width=0.0 is not valid. Pass a number"),
        ({"width": -1}, DataError, "or None to have it chosen"),
        ({"kernel": "linear", "width": 1.0}, DataError, "have no width"),
        ({"ridge": 0}, DataError, "ridge=0 is not valid. Pass a number"),
        ({"ridge": 1e-14, "kernel": "laplace", "width": 1.0}, DataError, "so small that .* None"),
        ({"scale": "minmax"}, DataError, r"'sd'.*'ranks'"),
        ({"select": "cv"}, DataError, "'squared'"),
        ({"degree": 0}, DataError, "degree=0 is not valid. Pass a whole number"),
        ({"calibrate": "yes"}, DataError, r"True.*False"),
        ({"ncomp": 3}, DataError, "ncomp=3 is not valid. Pass a whole number from 1 to 2"),
        ({"kernel": lambda a, b: -(a @ b.T)}, DataError, "not positive semidefinite"),
        ({"kernel": lambda a, b: a @ b.T + a[:, :1]}, DataError, "not symmetric"),
        ({"kernel": lambda a, b: a}, DataError, "returns the kernel of each pair"),
        ({"kernel": lambda a, b: 1 / 0}, DataError, "The kernel function fails"),
        ({"kernel": lambda a, b: a @ b.T * np.nan}, DataError, "not finite"),
    ],
)
def test_invalid_options_are_refused_with_a_hint(options, error, message):
    with pytest.raises(error, match=message):
        kernel_lda("species ~ .", IRIS, **options)


def test_equal_rows_and_too_many_rows_are_refused():
    with pytest.raises(CollinearError) as caught:
        kernel_lda("y ~ x", pd.DataFrame({"x": 1.0, "y": list("aabb")}))
    assert "constant" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        kernel_lda("y ~ x", pd.DataFrame({"x": [1.0, 2.0], "y": list("ab")}))
    assert "class" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        kernel_lda("y ~ x", pd.DataFrame({"x": np.arange(7000.0), "y": list("ab") * 3500}))
    assert "components=1000" in str(caught.value)


def test_separated_classes_have_posteriors_below_one():
    data = pd.DataFrame({"x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2], "y": list("aaabbb")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = kernel_lda("y ~ x", data).predict_proba(pd.DataFrame({"x": [0.05, 2.6, 5.05]}))
    assert (p.to_numpy().max(axis=1) < 0.999).all()
    assert p.to_numpy().max(axis=1)[[0, 2]].min() > 0.75


def test_importance_is_the_increase_of_left_out_losses():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(120, 3))
    labels = np.where(x[:, 0] ** 2 + 0.3 * rng.normal(size=120) > 0.7, "a", "b")
    data = pd.DataFrame(x, columns=list("uvw")).assign(y=labels, level=rng.choice(list("rst"), 120))
    fit = kernel_lda("y ~ .", data, kernel="gaussian", scale="sd", width=1.5, ridge=0.5)
    table = fit.importance(repeats=3, seed=2)
    assert table.index[0] == "u"
    assert set(table.index) == {"u", "v", "w", "level"}
    assert table.loc["u", "log_loss"] > 5 * table.loc["u", "log_loss_se"]
    assert (table.drop(index="u")["log_loss"].abs() < 4 * table.drop(index="u")["log_loss_se"]).all()
    pd.testing.assert_frame_equal(fit.importance(repeats=3, seed=2), table)
    # Of new rows: by hand.
    new = data.sample(40, random_state=1).reset_index(drop=True)
    actual = fit.importance(new, repeats=1, seed=5).loc["u"]
    order = np.random.default_rng(5).permutation(40)

    def losses(rows):
        p = fit.predict_proba(rows).to_numpy()
        return -np.log(p[np.arange(40), (new["y"] == "b").astype(int)])

    rise = losses(new.assign(u=new["u"].to_numpy()[order])) - losses(new)
    assert actual["log_loss"] == pytest.approx(rise.mean(), rel=1e-9)
    assert actual["log_loss_se"] == pytest.approx(rise.std(ddof=1) / np.sqrt(40), rel=1e-9)


@pytest.mark.parametrize(
    "plot_kind",
    [
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("scores", "territory", "regions")),
        "path",
        "importance",
    ],
)
def test_plots_are_drawn(plot_kind):
    fit = kernel_lda("species ~ .", IRIS, kernel="gaussian", scale="sd", ridge=0.1)
    axes = fit.plot(plot_kind)
    assert axes.get_title()
    if plot_kind == "importance":
        assert len(axes.patches) == 4
    if plot_kind == "path":
        (star,) = (line for line in axes.lines if line.get_label() == "chosen")
        assert star.get_xdata() == [fit.width]


def test_predicted_share_of_scores_equals_refits_without_each_row():
    options = {"kernel": "gaussian", "width": 1.2, "ridge": 0.3, "scale": "sd"}
    fit = kernel_lda("species ~ petal_length + petal_width", IRIS, **options)
    x = IRIS[["petal_length", "petal_width"]].to_numpy()
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    gram = np.exp(-((z[:, None] - z[None]) ** 2).sum(axis=2) / (2 * 1.2**2))
    indicators = pd.get_dummies(IRIS["species"]).to_numpy(dtype=float) @ fit.scores.to_numpy()
    errors = []
    for i in range(len(x)):
        is_other = np.arange(len(x)) != i
        system = np.ones((len(x), len(x)))
        system[:-1, :-1] = gram[np.ix_(is_other, is_other)] + 0.3 * np.eye(len(x) - 1)
        system[-1, -1] = 0.0
        actual = np.linalg.solve(system, np.vstack([indicators[is_other], np.zeros((1, 2))]))
        errors.append(indicators[i] - gram[i, is_other] @ actual[:-1] - actual[-1])
    section = fit.summary().tables["axes"]
    np.testing.assert_allclose(section["predicted"], 1 - np.mean(np.square(errors), axis=0), atol=1e-12)
    assert "passes through" not in str(fit.summary())
    rough = kernel_lda("species ~ .", IRIS, kernel="laplace", width=5.0, ridge=1e-6)
    assert "nearly interpolates the observations" in " ".join(str(rough.summary()).split())


def test_errors_name_a_width_at_which_all_rows_are_alike():
    with pytest.raises(DataError) as caught:
        kernel_lda("species ~ .", IRIS, kernel="gaussian", width=1e-300)
    assert "width=1e-300" in str(caught.value)
