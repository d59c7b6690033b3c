"""kernel_lda(components=): all rows as landmarks give the fit of the kernel, and all sources one fit."""

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris
from discrim.errors import DataError, DiscrimWarning, NotSupportedError
from discrim.subspace import Landmarks, PrincipalComponents, RandomFeatures
from tests.turns import one_in

IRIS = load_iris()
GIVEN = {"kernel": "gaussian", "width": 2.0, "ridge": 0.1, "scale": "sd"}


def mixed(n=240):
    """Three classes in two numbers and a factor."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "y": np.array(["a", "b", "c"])[y],
            "u": np.cos(2 * y) + rng.normal(scale=0.7, size=n),
            "v": np.sin(2 * y) + rng.normal(scale=0.7, size=n),
            "g": np.array(["p", "q", "r"])[(y + (rng.random(n) < 0.4)) % 3],
            "w": rng.integers(1, 4, n),
        }
    )


MIXED = mixed()


@one_in(2, {"calibrate": [True, False], "scale": ["sd", "ranks", "none"]})
def test_all_rows_as_landmarks_equal_the_kernel_fit(scale, calibrate):
    options = GIVEN | {"scale": scale, "calibrate": calibrate, "data": MIXED, "weights": "w", "width": 0.3}
    exact = discrim.kernel_lda("y ~ u + v + g", **options)
    fit = discrim.kernel_lda("y ~ u + v + g", **options, components=240)
    assert fit.components == 240
    np.testing.assert_allclose(fit.predict_proba(), exact.predict_proba(), rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        fit.leave_one_out().iloc[:, 1:].astype(float),
        exact.leave_one_out().iloc[:, 1:].astype(float),
        rtol=0,
        atol=1e-8,
    )
    np.testing.assert_allclose(fit.values, exact.values, rtol=1e-9)
    np.testing.assert_allclose(fit.centroids, exact.centroids, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("features", [Landmarks, RandomFeatures])
def test_fit_does_not_depend_on_chunks_order_or_repetition(features, tmp_path):
    options = {"components": features(60), "kernel": "gaussian"}
    fit = discrim.kernel_lda("y ~ u + v + g", MIXED, weights="w", **options)
    again = MIXED.loc[MIXED.index.repeat(MIXED["w"])].sample(frac=1, random_state=2)
    repeated = discrim.kernel_lda("y ~ u + v + g", again, **options)
    for i in range(3):
        again.iloc[i::3].to_parquet(tmp_path / f"{i}.parquet")
    in_parts = discrim.kernel_lda("y ~ u + v + g", sorted(tmp_path.glob("*.parquet")), **options)
    for other in (repeated, in_parts):
        assert other.width == pytest.approx(fit.width, rel=1e-12)
        assert other.ridge == pytest.approx(fit.ridge, rel=1e-12)
        np.testing.assert_allclose(other.predict_proba(MIXED), fit.predict_proba(MIXED), rtol=0, atol=1e-7)


def test_more_features_approximate_the_kernel_better():
    exact = discrim.kernel_lda("species ~ .", IRIS, **GIVEN, calibrate=False).predict_proba()

    def gap(**options):
        fit = discrim.kernel_lda("species ~ .", IRIS, **GIVEN, calibrate=False, **options)
        return float(np.abs(fit.predict_proba() - exact).to_numpy().mean())

    for features, maximum in ((Landmarks, 60), (RandomFeatures, 1000)):
        small_error, large_error = (gap(components=features(count)) for count in (10, maximum))
        assert large_error < small_error / 5


@pytest.mark.slow
def test_a_fit_of_many_rows_separates_rings():
    rng = np.random.default_rng(0)
    n = 7500
    y = rng.integers(0, 2, n)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + y + rng.normal(scale=0.15, size=n)
    data = pd.DataFrame({"y": y, "a": radius * np.cos(angle), "b": radius * np.sin(angle)})
    train, test = data[:6500], data[6500:]
    with pytest.raises(NotSupportedError) as caught:
        discrim.kernel_lda("y ~ a + b", train)
    assert "components=1000" in str(caught.value)
    fit = discrim.kernel_lda("y ~ a + b", train, components=60, kernel="gaussian", scale="sd")
    # The rings overlap where a normal deviate exceeds 0.5 / 0.15.
    assert (fit.predict(test) != test["y"]).mean() < 0.01


def test_excess_landmarks_cause_a_warning():
    twice = pd.concat([IRIS.iloc[::5]] * 2)
    with pytest.warns(DiscrimWarning, match="components=50.*30 landmarks span all rows"):
        fit = discrim.kernel_lda("species ~ .", twice, **GIVEN, components=50, calibrate=False)
    assert fit.components == 30


@pytest.mark.parametrize("features", [Landmarks, RandomFeatures])
def test_files_predict_like_the_fit(features, tmp_path):
    fit = discrim.kernel_lda("y ~ u + v + g", MIXED, kernel="laplace", scale="ranks", components=features(40))
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.predict_proba(MIXED), fit.predict_proba(MIXED))
    assert loaded.components == 40
    assert loaded._fit.options["components"] == features(40)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"components": 0}, "components=0"),
        ({"components": 2.5}, "components=2.5"),
        ({"components": RandomFeatures(9)}, "an even number, such as 10"),
        ({"components": RandomFeatures(10), "kernel": "polynomial"}, "gaussian, laplace, arccos"),
        ({"components": "random"}, "components='random'"),
        ({"components": PrincipalComponents(2)}, "is not supported here"),
        ({"components": RandomFeatures}, "is a class"),
    ],
)
def test_invalid_feature_options_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        discrim.kernel_lda("species ~ .", IRIS, **options)


def test_path_marks_the_chosen_kernel_if_the_ridge_is_an_option():
    fit = discrim.kernel_lda("species ~ .", IRIS, components=20, ridge=0.1)
    chosen = fit.path[fit.path["chosen"]]
    kernel = fit._fit.estimates.kernel
    assert chosen[["kernel", "width", "by"]].values.tolist() == [[kernel.name, kernel.width, "sample"]]
    assert chosen["loss"].item() == fit.path["loss"].min()
    assert fit.plot("path").lines


def test_summary_describes_the_features():
    fit = discrim.kernel_lda("species ~ .", IRIS, components=30, kernel="gaussian", scale="sd")
    text = str(fit.summary())
    assert "30, landmarks" in text
    assert set(fit.path["by"]) == {"sample", "GCV"}
    assert fit.path["chosen"].sum() == 1
    assert fit.glance()["components"].tolist() == [30]
    with pytest.raises(NotSupportedError) as caught:
        fit.importance()
    assert "data=" in str(caught.value)
    assert len(fit.importance(IRIS, seed=1)) == 4
