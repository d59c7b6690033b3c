"""Results do not depend on units for equivariant methods, and are correct for others."""

from __future__ import annotations

import decimal
import warnings
from functools import cache

import mpmath
import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Diagonal, FactorAnalytic, Shrunk, ShrunkCorrelation
from discrim.errors import DataError, DiscrimWarning, NoSeparationWarning, PrecisionWarning

TALL, WIDE = (45, 3), (24, 30)


def table(shape, seed=0):
    rng = np.random.default_rng(seed)
    n, p = shape
    codes = np.arange(n) % 3
    x = rng.normal(size=(n, p)) + 1.3 * rng.normal(size=(3, p))[codes]
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(g=np.array(list("abc"))[codes])


def scaled(frame, exponents):
    """Columns times powers of two, so that not a bit is lost."""
    terms = [name for name in frame if name != "g"]
    factors = np.ldexp(1.0, np.resize(exponents, len(terms)))
    return frame.assign(**{name: frame[name] * f for name, f in zip(terms, factors, strict=True)})


def posteriors(verb, frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = verb("g ~ .", frame, **options)
        fit.summary().as_text()
        return fit.predict_log_proba(frame).to_numpy()


COMPARING = {
    "esl": (discrim.rda, {"alpha": 0.4, "gamma": 0.6}),
    "friedman": (discrim.rda, {"alpha": 0.4, "gamma": 0.6, "parametrization": "friedman"}),
    "klar": (discrim.rda, {"alpha": 0.4, "gamma": 0.6, "parametrization": "klar"}),
    "chosen": (discrim.rda, {"seed": 1, "folds": 3, "grid": [0.1, 0.5]}),
    "chosen by leave-one-out": (discrim.rda, {"folds": "loo", "grid": [0.1, 0.5], "parametrization": "klar"}),
    "nonlinear": (discrim.lda, {"covariance": "nonlinear"}),
    "oas": (discrim.lda, {"covariance": "shrunk"}),
    "ledoit-wolf": (discrim.lda, {"covariance": Shrunk("ledoit-wolf")}),
    "loo": (discrim.lda, {"covariance": Shrunk("loo", grid=[0.1, 0.5])}),
    "spherical": (discrim.lda, {"covariance": "spherical"}),
    "pinv": (discrim.lda, {"covariance": "pinv"}),
    "strimmer": (discrim.lda, {"covariance": Diagonal("strimmer")}),
    "correlation": (discrim.lda, {"covariance": "correlation"}),
    "oas by class": (discrim.qda, {"covariance": "shrunk"}),
    "spherical by class": (discrim.qda, {"covariance": "spherical"}),
    "factor": (discrim.qda, {"covariance": "factor"}),
    "factor, common": (discrim.qda, {"covariance": FactorAnalytic("bic", form="ABQkD")}),
    "strimmer by class": (discrim.qda, {"covariance": Diagonal("strimmer")}),
    "centroids": (discrim.shrunken_centroids, {"threshold": 1.0}),
    "nearest centroid": (discrim.nearest_centroid, {}),
    "pls": (discrim.pls, {"ncomp": 2, "scale": "indicators"}),
    "nearest": (discrim.knn, {"k": 3, "scale": False}),
}


@pytest.mark.parametrize(
    ("name", "shape", "exponent"),
    [
        (name, *scaling)
        for k, name in enumerate(COMPARING)
        for scaling in ([(TALL, -531), (WIDE, 531)], [(TALL, 997), (WIDE, -997)])[k % 2]
    ],
)
def test_posteriors_are_invariant_to_a_common_unit(name, shape, exponent):
    verb, options = COMPARING[name]
    got = posteriors(verb, scaled(table(shape), exponent), **options)
    np.testing.assert_allclose(np.exp(got), np.exp(posteriors(verb, table(shape), **options)), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "exponent"),
    [
        (name, (-531, 997)[k % 2])
        for k, name in enumerate(sorted(COMPARING.keys() - {"chosen", "chosen by leave-one-out", "loo"}))
    ],
)
def test_leave_one_out_posteriors_are_invariant_to_a_common_unit(name, exponent):
    verb, options = COMPARING[name]
    got = verb("g ~ .", scaled(table(TALL), exponent), **options).leave_one_out()
    want = verb("g ~ .", table(TALL), **options).leave_one_out()
    np.testing.assert_allclose(got[list("abc")], want[list("abc")], atol=1e-9)


EQUIVARIANT = {
    "lda": (discrim.lda, {}),
    "diagonal": (discrim.lda, {"covariance": "diagonal"}),
    "qda": (discrim.qda, {}),
    "qda, ncomp": (discrim.qda, {"ncomp": 2}),
    "sparse": (discrim.sparse_lda, {"penalty": 0.05}),
    "without a ridge": (discrim.rda, {"alpha": 0.4, "gamma": 1.0}),
    "naive_bayes": (discrim.naive_bayes, {}),
    "kernel": (discrim.naive_bayes, {"kernel": True}),
    "logistic": (discrim.logistic, {"bias_reduction": True}),
    "plda": (discrim.plda, {}),
    "location": (discrim.location, {}),
    "plda, lengths": (discrim.plda, {"normalize": True}),
    "indicator": (discrim.indicator, {}),
    "knn": (discrim.knn, {"k": 3}),
    "mahalanobis": (discrim.knn, {"k": 3, "metric": "mahalanobis"}),
}


EXPONENTS = [(-997, 0, 997), (531, 0, 0), (0, 0, -540)]


@pytest.mark.parametrize(
    ("name", "exponents"),
    [
        (name, exponents)
        for k, name in enumerate(EQUIVARIANT)
        for exponents in (EXPONENTS if name in ("lda", "qda", "naive_bayes") else [EXPONENTS[k % 3]])
    ],
)
def test_posteriors_of_equivariant_methods_are_invariant_to_units(name, exponents):
    verb, options = EQUIVARIANT[name]
    frame = table(TALL)
    call = "predict_proba"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DiscrimWarning)
        if verb is discrim.indicator:
            call = "decision_function"
        want = getattr(verb("g ~ .", frame, **options), call)()
        moved = scaled(frame, exponents)
        got = getattr(verb("g ~ .", moved, **options), call)(moved)
    np.testing.assert_allclose(got, want, atol=1e-9)


def exact_rda(frame, alpha, gamma):
    """Posteriors of ESL's mixture, in mpmath."""
    mpmath.mp.dps = 700
    x, labels = frame.drop(columns="g").to_numpy(), frame["g"].to_numpy()
    p, classes = x.shape[1], sorted(set(labels))
    rows = [[mpmath.mpf(float(v)) for v in row] for row in x]
    members = {c: [row for row, label in zip(rows, labels, strict=True) if label == c] for c in classes}
    means = {c: [mpmath.fsum(col) / len(own) for col in zip(*own, strict=True)] for c, own in members.items()}
    scatters = {
        c: mpmath.matrix(
            [
                [mpmath.fsum((r[i] - means[c][i]) * (r[j] - means[c][j]) for r in own) for j in range(p)]
                for i in range(p)
            ]
        )
        for c, own in members.items()
    }
    n = len(rows)
    pooled = sum(scatters.values(), mpmath.zeros(p)) / (n - len(classes))
    variance = sum(pooled[i, i] for i in range(p)) / p
    scores = []
    for c in classes:
        own = scatters[c] / (len(members[c]) - 1)
        a, g = mpmath.mpf(alpha), mpmath.mpf(gamma)
        mixed = a * own + (1 - a) * (g * pooled + (1 - g) * variance * mpmath.eye(p))
        inverse, log_det = mixed**-1, mpmath.log(mpmath.det(mixed))
        for row in rows:
            d = mpmath.matrix([row[i] - means[c][i] for i in range(p)])
            score = mpmath.log(mpmath.mpf(len(members[c])) / n) - (log_det + (d.T * inverse * d)[0]) / 2
            scores.append(score)
    scores = [scores[k * n : (k + 1) * n] for k in range(len(classes))]
    whole = [mpmath.fsum(mpmath.exp(s[i]) for s in scores) for i in range(n)]
    return np.array([[float(mpmath.exp(s[i]) / whole[i]) for s in scores] for i in range(n)])


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@pytest.mark.parametrize("exponents", [(-531, -531, -531), (-540, 0, 0), (-200, 0, 10), (0, 900, -900)])
def test_ridge_depends_on_the_units_of_the_columns(exponents):
    frame = scaled(table((18, 3)), exponents)
    fit = discrim.rda("g ~ .", frame, alpha=0.4, gamma=0.6)
    np.testing.assert_allclose(fit.predict_proba(), exact_rda(frame, 0.4, 0.6), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("exponents", [(-997, 0, 997), (0, 0, -997), (900, -900, 900)])
def test_mixed_units_leave_finite_posteriors_under_a_median(exponents):
    frame = scaled(table(TALL), exponents)
    for verb in (discrim.lda, discrim.qda):
        found = posteriors(verb, frame, covariance=Diagonal(0.3))
        assert not np.isnan(found).any()


@pytest.mark.parametrize("verb", [discrim.lda, discrim.knn, discrim.logistic, discrim.perceptron])
@pytest.mark.parametrize("factor", [1e-310, 1e-306, 3e306])
def test_column_without_a_representable_coefficient_raises_and_the_hint_works(verb, factor):
    frame = table(TALL).replace({"g": {"c": "b"}})
    wild = frame.assign(x1=frame["x1"] * factor)
    with pytest.raises(DataError) as caught:
        verb("g ~ .", wild)
    assert caught.value.columns == ("x1",)
    mended = wild.assign(x1=wild["x1"] * (1e290 if factor < 1 else 1e-290))
    options = {"bias_reduction": True} if verb is discrim.logistic else {}
    options |= {"maxiter": 5} if verb is discrim.perceptron else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        verb("g ~ .", mended, **options)


def test_perceptron_raises_if_products_overflow():
    frame = table(TALL).replace({"g": {"c": "b"}})
    frame["x2"] *= 1e200
    with pytest.raises(DataError) as caught:
        discrim.perceptron("g ~ .", frame, maxiter=5)
    assert caught.value.columns == ("x2",)
    with pytest.warns(NoSeparationWarning):
        fit = discrim.perceptron("g ~ x0 + x1 + standardize(x2)", frame, maxiter=5)
    assert np.isfinite(fit.decision_function()).all()


def test_a_quadratic_form_out_of_range_names_its_column():
    frame = table(TALL)
    fit = discrim.qda("g ~ .", frame.assign(x1=frame["x1"] * 1e-200))
    with pytest.raises(DataError) as caught:
        fit.quadratic("a", "b")
    assert "'x1'" in str(caught.value)
    assert np.isfinite(discrim.qda("g ~ .", frame).quadratic("a", "b").A).all(axis=None)


# ---- numbers that have more digits than a double


def identifier_table(kind, n=40):
    """A column that tells two classes apart below the resolution of doubles."""
    offsets = np.random.default_rng(2).integers(0, 6, n) + np.repeat([0, 5], n // 2)
    whole = [2**60 + int(o) for o in offsets]
    columns = {
        "int64": lambda: np.array(whole),
        "uint64": lambda: np.array([2**63 + int(o) for o in offsets], dtype=np.uint64),
        "integers of Python": lambda: pd.Series([10**30 + int(o) for o in offsets], dtype=object),
        "nullable": lambda: pd.array(whole, dtype="Int64"),
        "one missing": lambda: pd.array([None, *whole[1:]], dtype="Int64"),
        "decimal": lambda: pd.Series([decimal.Decimal(10**20) + int(o) for o in offsets], dtype=object),
        "fraction": lambda: pd.Series(
            [decimal.Decimal(7) + decimal.Decimal(int(o) + 1).scaleb(-20) for o in offsets],
            dtype=object,
        ),
    }  # fmt: skip
    return columns[kind](), offsets


KINDS = ["int64", "uint64", "integers of Python", "nullable", "one missing", "decimal", "fraction"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formula", ["g ~ x + z", "g ~ I(x - 3) + z"])
def test_values_lost_to_rounding_raise_in_fit_and_are_named_in_prediction(kind, formula):
    x, offsets = identifier_table(kind)
    n = len(offsets)
    frame = pd.DataFrame(
        {"x": x, "z": np.random.default_rng(1).normal(size=n), "g": np.repeat(["a", "b"], n // 2)}
    )
    with pytest.raises(DataError) as caught:
        discrim.lda(formula, frame)
    assert "'x'" in str(caught.value)
    fit = discrim.lda(formula, frame.assign(x=offsets))
    with pytest.warns(PrecisionWarning, match="'x'"):
        fit.predict(frame)


def test_suggested_origin_resolves_the_error():
    x, offsets = identifier_table("int64")
    n = len(offsets)
    frame = pd.DataFrame(
        {"x": x, "z": np.random.default_rng(1).normal(size=n), "g": np.repeat(["a", "b"], n // 2)}
    )
    with pytest.raises(DataError) as caught:
        discrim.lda("g ~ .", frame)
    origin = int(str(caught.value).split("data['x'] - ")[1].split(",")[0])
    mended = frame.assign(x=frame["x"] - origin)
    want = discrim.lda("g ~ .", frame.assign(x=offsets)).predict_proba()
    np.testing.assert_allclose(discrim.lda("g ~ .", mended).predict_proba(), want, atol=1e-12)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries_are_checked_too(library):
    made = pytest.importorskip(library)
    x, _ = identifier_table("int64")
    columns = {"x": x, "g": np.repeat(["a", "b"], len(x) // 2)}
    frame = made.DataFrame(columns) if library == "polars" else made.table(columns)
    with pytest.raises(DataError) as caught:
        discrim.lda("g ~ .", frame)
    assert "'x'" in str(caught.value)


def test_integer_arrays_are_checked_too():
    from discrim.sklearn import KNNClassifier, LDAClassifier

    x, offsets = identifier_table("int64")
    y = np.repeat(["a", "b"], len(x) // 2)
    for estimator in (LDAClassifier(), KNNClassifier()):
        with pytest.raises(DataError) as caught:
            estimator.fit(np.column_stack([x, offsets % 3]), y)
        assert "'x0'" in str(caught.value)
        fitted = estimator.fit(np.column_stack([offsets, offsets % 3]).astype(float), y)
        with pytest.warns(PrecisionWarning, match="'x0'"):
            fitted.predict(np.column_stack([x, offsets % 3]))


def test_values_with_negligible_rounding_loss_are_accepted_or_named():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    times = 1_700_000_000_000_000_000 + rng.integers(0, 10**12, 60)
    with pytest.warns(PrecisionWarning, match="'t'"):
        discrim.lda("g ~ t", pd.DataFrame({"t": times, "g": y}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        discrim.lda("g ~ t", pd.DataFrame({"t": times - times.min(), "g": y}))
        discrim.lda("g ~ t", pd.DataFrame({"t": [decimal.Decimal(int(v)) / 10 for v in times % 997], "g": y}))


def test_classes_and_categories_keep_all_digits_of_their_integers():
    two = np.repeat([2**60, 2**60 + 1], 20)
    x = np.random.default_rng(0).normal(size=40)
    for labels in (two, pd.array(two, dtype="Int64")):
        fit = discrim.lda("g ~ x", pd.DataFrame({"g": labels, "x": x}))
        assert fit.classes.tolist() == [2**60, 2**60 + 1]
        frame = pd.DataFrame({"c": labels, "x": x, "g": np.arange(40) % 2})
        assert discrim.lda("g ~ C(c) + x", frame).terms[0] == f"C(c)[T.{2**60 + 1}]"
    missing = pd.DataFrame({"g": pd.array([None, *two[1:]], dtype="Int64"), "x": x})
    assert discrim.lda("g ~ x", missing).classes.tolist() == [2**60, 2**60 + 1]


# ---- tables and tests of single columns in units that no double can square


@pytest.mark.slow
@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
@pytest.mark.parametrize("exponents", [(-997, 0, 997), (-531, 0, 531), (0, 0, 997)])
def test_median_target_raises_if_a_column_is_far_above_it(verb, exponents):
    frame = scaled(table(TALL), exponents)
    with pytest.raises(DataError, match=r"median.* 'x[01]'.* 'x2' .*standardize\(\).*below 1"):
        verb("g ~ .", frame, covariance=Diagonal(1))
    ways_out = {"standardize(x0) + standardize(x1) + standardize(x2)": 1, ".": 0.99}
    for terms, g in ways_out.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = verb(f"g ~ {terms}", frame, covariance=Diagonal(g))
            assert fit.predict_log_proba().notna().all(axis=None)
    # What leave-one-out chooses from leaves it out, and holds the others.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = verb("g ~ .", frame, covariance=Diagonal("loo", grid=[0.1, 0.5, 1.0]))
        assert fit.covariance_model.path["error"].isna().tolist() == [False, False, True]
        assert fit.error_rates(["loo", "cv"], seed=1)["estimate"].notna().all()


@pytest.mark.parametrize(
    "options",
    [
        {"covariance": "shrunk"},
        {"covariance": "spherical"},
        {"covariance": ShrunkCorrelation(0.3)},
        {"covariance": Diagonal(0.3)},
        {"covariance": "pinv"},
        {"covariance": "diagonal"},
        {},
    ],
)
def test_anova_of_single_columns_is_invariant_to_units(options, tmp_path):
    frame = table(TALL)
    wild = scaled(frame, (-997, 0, 997))
    scale_free = ["R2", "F", "p", "levene_F", "levene_p"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        want = discrim.lda("g ~ .", frame).anova()[scale_free]
        fit = discrim.lda("g ~ .", wild, **options)
        np.testing.assert_allclose(fit.anova()[scale_free], want, rtol=1e-11)
        fit.save(tmp_path / "fit")
        loaded = discrim.load(tmp_path / "fit")
    np.testing.assert_allclose(loaded.anova(levene=None)["F"], want["F"], rtol=1e-11)
    np.testing.assert_array_equal(loaded.predict_proba(wild), fit.predict_proba())


@pytest.mark.parametrize("exponent", [-997, -540, 531, 997])
def test_variance_outside_float64_is_named(exponent):
    frame = scaled(table(TALL), (0, exponent, 0))
    fit = discrim.lda("g ~ .", frame)
    with pytest.warns(PrecisionWarning, match="'x1'"):
        cov = fit.cov
    held = discrim.lda("g ~ .", table(TALL)).cov
    np.testing.assert_allclose(cov.loc["x0", "x2"], held.loc["x0", "x2"], rtol=1e-12)
    np.testing.assert_allclose(cov.loc["x0", "x1"], np.ldexp(held.loc["x0", "x1"], exponent), rtol=1e-12)
    for kind in (discrim.qda, discrim.rda):
        options = {"alpha": 0.5, "gamma": 1.0} if kind is discrim.rda else {}
        with pytest.warns(PrecisionWarning, match="'x1'"):
            _ = kind("g ~ .", frame, **options).covs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (discrim.lda, discrim.qda):
            text = " ".join(kind("g ~ .", frame).summary().as_text().split())
            assert "The variance of 'x1' is out of the range of double precision" in text
        _ = discrim.lda("g ~ .", scaled(table(TALL), (-500, 0, 500))).cov


def test_common_principal_components_without_accuracy_are_missing_with_a_reason():
    frame = scaled(table(TALL), (-531, 0, 531))
    with pytest.warns(PrecisionWarning, match=r"'x0'.*'x2'"):
        ladder = discrim.covariance_models("g ~ .", frame)
    assert ladder.index[ladder["llf"].isna()].tolist() == ["common principal components"]
    want = discrim.covariance_models("g ~ .", table(TALL))
    shift = want["llf"] - ladder["llf"]
    np.testing.assert_allclose(shift[["diagonal", "common", "proportional", "free"]], 0.0, atol=1e-9)
    mended = "standardize(x0) + standardize(x1) + standardize(x2)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert discrim.covariance_models(f"g ~ {mended}", frame)["llf"].notna().all()


@cache
def logistic_in_plain_units(bias_reduction):
    """The fit, its tests of terms and its profile intervals."""
    fit = discrim.logistic("g ~ .", table((60, 3)), bias_reduction=bias_reduction)
    return fit, fit.lr_test(by="term"), fit.conf_int(method="profile")


@pytest.mark.slow
@pytest.mark.parametrize("bias_reduction", [False, True])
@pytest.mark.parametrize("exponents", [(997,), (-997,), (-997, 0, 997), (531, 0, -531)])
def test_logistic_inference_is_invariant_to_units(bias_reduction, exponents):
    factors = np.ldexp(1.0, np.resize(exponents, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        want, tests, intervals = logistic_in_plain_units(bias_reduction)
        got = discrim.logistic("g ~ .", scaled(table((60, 3)), exponents), bias_reduction=bias_reduction)
        np.testing.assert_allclose(got.bse.iloc[1:] * factors[:, None], want.bse.iloc[1:], rtol=1e-9)
        np.testing.assert_allclose(got.zvalues, want.zvalues, rtol=1e-8)
        np.testing.assert_allclose(got.pvalues, want.pvalues, rtol=1e-7)
        np.testing.assert_allclose(got.lr_test(by="term"), tests, rtol=1e-7)
        profiles = (got.conf_int(method="profile"), intervals)
        bounds, held = (each.to_numpy().reshape(2, 4, 2) for each in profiles)
        np.testing.assert_allclose(bounds[:, 1:] * factors[:, None], held[:, 1:], rtol=1e-6)
        got.summary().as_text()
    named = "x0" if exponents != (531, 0, -531) else "x2"
    with pytest.warns(PrecisionWarning, match=f"variance of a coefficient of .*{named}.* out of the range"):
        got.cov_params()


def test_hyperplane_multipliers_outside_float64_raise():
    frame = table(TALL).query("g != 'c'")
    frame["x0"] += 10.0 * (frame["g"] == "b")
    want = discrim.hyperplane("g ~ .", frame)
    for exponent in (-997, 997):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = discrim.hyperplane("g ~ .", scaled(frame, exponent))
            fit.summary().as_text()
            assert fit.confusion(method="loo").equals(want.confusion(method="loo"))
            assert fit.support.equals(want.support)
        with pytest.warns(PrecisionWarning):
            _ = fit.multipliers


@pytest.mark.parametrize("exponents", [(997,), (-531,), (-997, 0, 997)])
def test_hausman_test_is_invariant_to_units(exponents):
    frame = table((60, 3))
    moved = scaled(frame, exponents)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", discrim.errors.NotComparableWarning)
        want, got = (
            discrim.compare(
                discrim.lda("g ~ .", data), discrim.logistic("g ~ .", data, bias_reduction=True)
            ).log_odds()
            for data in (frame, moved)
        )
    columns = ["statistic", "df", "p"]
    np.testing.assert_allclose(got[columns], want[columns], rtol=1e-6)
    assert want["statistic"].notna().any()
