"""Covariances of a few large variances and one beyond them: against HDclassif, direct sums and identities.

`tests/golden/write_factor.R` says where HDclassif's conventions are others.
"""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest
import scipy

import discrim
from discrim import covariance_models, lda, lr_test, qda
from discrim.core.covariance.factor import FORMS, downdate_eigenvalues
from discrim.covariance import FactorAnalytic
from discrim.datasets import load_iris
from discrim.errors import (
    CollinearError,
    DataError,
    NotSupportedError,
    ScaleWarning,
)
from discrim.models.discriminant.covariance_models import describe
from discrim.models.evaluation.validation import left_out_scores, scores_by_refit
from tests.references import exact
from tests.turns import one_in

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "factor.json").read_text(encoding="utf-8"))
IRIS = load_iris()


def uniform(count: int, state: list[int]) -> np.ndarray:
    """Lehmer's generator, as in the script of the golden values."""
    out = np.empty(count)
    for i in range(count):
        state[0] = 48271 * state[0] % 2147483647
        out[i] = state[0] / 2147483647 - 0.5
    return out


def made_wide() -> pd.DataFrame:
    state, chunks, p = [1], [], 60
    for k, (n, d) in enumerate(zip((10, 12, 14), (2, 3, 1), strict=True), 1):
        loadings = uniform(d * p, state).reshape(d, p) * 2
        factors = uniform(d * n, state).reshape(n, d) * 3
        noise = uniform(n * p, state).reshape(n, p)
        chunks.append(factors @ loadings + noise * (1 + k / 4) + k / 4)
    frame = pd.DataFrame(np.concatenate(chunks), columns=[f"v{j}" for j in range(p)])
    return frame.assign(y=np.repeat(["a", "b", "c"], [10, 12, 14]))


WIDE = made_wide()


def test_generated_table_equals_the_table_of_the_script():
    assert np.isclose(WIDE.iloc[:, :-1].to_numpy().sum(), GOLDEN["wide_sum"], rtol=1e-13)


def ends(found: list | float, form: str) -> tuple[np.ndarray, np.ndarray]:
    """The largest and smallest variance of the signal, from what R writes of its matrix column by column."""
    values = np.array([np.nan if value == "NA" else value for value in np.atleast_1d(found).tolist()], float)
    if form.startswith("Akj"):
        return np.nanmax(values.reshape(-1, 3), axis=0), np.nanmin(values.reshape(-1, 3), axis=0)
    return (values, values) if form.startswith("Ak") else (values.max(), values.min())


def check(fit, want: dict, form: str) -> None:
    """Dimensions, variances, likelihood, parameters and BIC against HDclassif's."""
    largest, smallest = ends(want["a"], form)
    assert fit.covariance_model.dimensions.tolist() == want["dimensions"]
    assert np.allclose(fit.covariance_model.factors["largest"], largest, rtol=1e-12)
    assert np.allclose(fit.covariance_model.factors["smallest"], smallest, rtol=1e-12)
    assert np.allclose(fit.covariance_model.factors["noise"], want.get("b_p", want["b"]), rtol=1e-12)
    assert fit.llf == pytest.approx(want["llf"], rel=1e-11)
    # HDclassif counts dimensions that are given, too.
    is_fixed = fit._fit.estimates.covariance_model.options.method == "given"
    counted = 0 if not is_fixed else 3 if form.endswith("Dk") else 1
    assert fit.df_model + counted == want["complexity"]
    assert fit.bic + counted * np.log(fit.nobs) == pytest.approx(-want["bic"], rel=1e-11)


@pytest.mark.parametrize("form", FORMS)
def test_iris_as_hdclassif(form):
    fit = qda("species ~ .", IRIS, covariance=FactorAnalytic(form=form), method="mle")
    check(fit, GOLDEN["iris"][form], form)
    rows = IRIS.iloc[np.array(GOLDEN["rows"]) - 1]
    assert np.allclose(fit.predict_proba(rows), GOLDEN["iris"][form]["prob"], rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize(
    ("name", "options"),
    [("steep", {"threshold": 0.05}), ("by_bic", {"dimensions": "bic"}), ("two", {"dimensions": 2})],
)
def test_dimensions_agree_with_hdclassif(name, options):
    rows = IRIS.iloc[np.array(GOLDEN["rows"]) - 1]
    for form, want in GOLDEN[name].items():
        fit = qda("species ~ .", IRIS, covariance=FactorAnalytic(form=form.upper(), **options), method="mle")
        check(fit, want, form)
        assert np.allclose(fit.predict_proba(rows), want["prob"], rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("form", FORMS)
def test_fewer_rows_than_columns_agree_with_hdclassif(form):
    fit = qda("y ~ .", WIDE, covariance=FactorAnalytic(form=form), method="mle")
    check(fit, GOLDEN["wide"][form], form)
    if "prob" in GOLDEN["wide"][form]:
        rows = WIDE.iloc[np.array(GOLDEN["wide_rows"]) - 1]
        assert np.allclose(fit.predict_proba(rows), GOLDEN["wide"][form]["prob"], rtol=1e-8, atol=1e-250)


@pytest.mark.parametrize("form", ["AkjBkQkDk", "AkBQkDk"])
def test_leave_one_out_agrees_with_hdclassif(form):
    want = GOLDEN["left_out"][form]
    fit = qda("species ~ .", IRIS, covariance=FactorAnalytic(form=form), method="mle")
    # There the prior is estimated without the row, too.
    left_out = fit.leave_one_out(refit_prior=True)
    assert left_out.iloc[:, 0].tolist() == want["label"]
    rows = np.array(GOLDEN["rows"]) - 1
    assert np.allclose(left_out.iloc[rows, 1:].to_numpy(float), want["prob"], rtol=1e-8, atol=1e-300)


def dense(fit, k: int) -> np.ndarray:
    """The covariance of class k from eigenvectors of its rows, of the form AkjBkQkDk."""
    label = fit.classes[k]
    x = fit._fit.design_rows.table.data[list(fit.terms)][fit._fit.design_rows.codes == k].to_numpy()
    divisor = len(x) - (fit._fit.estimates.method == "moment")
    values, vectors = np.linalg.eigh(np.cov(x.T, ddof=len(x) - divisor))
    d, p = int(fit.covariance_model.dimensions[label]), len(values)
    values[: p - d] = values[: p - d].mean()
    return (vectors * values) @ vectors.T


@one_in(2, {"data, formula": [(IRIS, "species ~ ."), (WIDE, "y ~ .")], "dimensions": ["cattell", "bic", 2]})
def test_posteriors_equal_those_of_full_covariance_matrices(data, formula, dimensions):
    fit = qda(formula, data, covariance=FactorAnalytic(dimensions))
    x = data[list(fit.terms)].to_numpy()
    covs = [dense(fit, k) for k in range(3)]
    density = np.column_stack(
        [
            scipy.stats.multivariate_normal(mean, cov).logpdf(x) + np.log(proportion)
            for mean, cov, proportion in zip(fit.means.to_numpy(), covs, fit.prior, strict=True)
        ]
    )
    want = density - scipy.special.logsumexp(density, axis=1, keepdims=True)
    assert np.allclose(fit.predict_log_proba(data), want, rtol=1e-8, atol=1e-8)
    for actual, cov in zip(fit.covs.values(), covs, strict=True):
        assert np.allclose(actual, cov, rtol=1e-9, atol=1e-11)
    logdets = [np.linalg.slogdet(cov)[1] for cov in covs]
    assert np.allclose(fit.logdet, logdets, rtol=1e-10)
    assert np.allclose(fit.tidy()["sd"], np.concatenate([np.sqrt(np.diag(c)) for c in covs]), rtol=1e-10)
    log_odds = fit.quadratic(fit.classes[0], fit.classes[1])
    odds = np.einsum("ij,jk,ik->i", x, log_odds.A.to_numpy(), x) + x @ log_odds.b.to_numpy() + log_odds.c
    assert np.allclose(odds, density[:, 0] - density[:, 1], rtol=1e-7, atol=1e-6)


def test_likelihood_equals_the_sum_of_log_densities():
    for form in FORMS:
        fit = qda("species ~ .", IRIS, covariance=FactorAnalytic(2, form=form), method="mle")
        scores = fit._fit.rule().scores(fit._fit.design_rows.rows_at_positions(np.arange(150)))
        # The scores are log densities but for p ln(2 pi) / 2, in z.
        units = np.log(fit._fit.estimates.moments.scale).sum()
        own_scores = scores[np.arange(150), fit._fit.design_rows.codes].sum() + 150 * (
            units - 2 * np.log(2 * np.pi)
        )
        assert fit.llf == pytest.approx(own_scores, rel=1e-11)


def test_all_dimensions_but_one_are_the_full_covariances():
    full, maximum = qda("species ~ .", IRIS), qda("species ~ .", IRIS, covariance=FactorAnalytic(3))
    assert maximum.llf == pytest.approx(full.llf, rel=1e-12)
    assert maximum.df_model == full.df_model
    assert np.allclose(maximum.predict_log_proba(), full.predict_log_proba(), rtol=1e-9, atol=1e-10)
    common = qda("species ~ .", IRIS, covariance=FactorAnalytic(3, form="AjBQD"))
    line = lda("species ~ .", IRIS)
    assert (common.llf, common.df_model) == (pytest.approx(line.llf, rel=1e-12), line.df_model)
    assert np.allclose(common.predict_log_proba(), line.predict_log_proba(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("data", "formula"), [(IRIS, "species ~ ."), (WIDE, "y ~ .")])
@pytest.mark.parametrize("form", ["AkjBkQkDk", "AkBkQkDk"])
def test_bic_of_each_class_is_least_at_its_dimensions(data, formula, form):
    fit = qda(formula, data, covariance=FactorAnalytic("bic", form=form), method="mle")
    for k, label in enumerate(fit.classes):
        x = data[list(fit.terms)][fit._fit.design_rows.codes == k].to_numpy()
        n, values = len(x), np.linalg.eigvalsh(np.cov(x.T, ddof=0))[::-1]
        # Of fewer rows than columns in the space that they span about their mean.
        p, actual = min(len(fit.terms), n - 1), []
        for d in range(1, p):
            a = values[:d] if form == "AkjBkQkDk" else np.full(d, values[:d].mean())
            b = values[d:].sum() / (p - d)
            eigenvalues = np.concatenate([a, np.full(p - d, b)])
            df = d * p - d * (d + 1) / 2 + (d if form == "AkjBkQkDk" else 1)
            actual.append(n * np.log(eigenvalues).sum() + df * np.log(n))
        assert fit.covariance_model.dimensions[label] == 1 + np.argmin(actual)
        above = fit.covariance_model.scree().loc[label, "bic_above"].to_numpy()
        assert np.allclose(above[: len(actual)], np.array(actual) - min(actual), rtol=1e-8, atol=1e-7)


def test_bic_finds_the_signal_among_more_columns_than_rows():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 300))
    x[:, :3] *= 12
    table = pd.DataFrame(x).add_prefix("x").assign(y=np.repeat(["a", "b"], 30))
    with pytest.warns(ScaleWarning):
        fit = qda("y ~ .", table, covariance=FactorAnalytic("bic"))
    assert (fit.covariance_model.dimensions == 3).all()


@one_in(
    2,
    {
        "options": [
            {},
            {"covariance": FactorAnalytic("bic")},
            {"covariance": FactorAnalytic(2, form="AkBkQkD")},
        ],
        "weighted": [False, True],
    },
)
def test_leave_one_out_equals_refits(options, weighted):
    for data, formula in ((IRIS.iloc[::3], "species ~ ."), (WIDE, "y ~ .")):
        weights = np.arange(len(data)) % 3 / 2 + 0.5 if weighted else None
        fit = qda(formula, data, weights=weights, **{"covariance": "factor"} | options)
        left_out, rows = left_out_scores(fit._fit), range(0, len(data), 9)
        again = [scores_by_refit(fit._fit, fit._fit.design_rows, row, reestimate_prior=False) for row in rows]
        assert np.allclose(left_out[rows], again, rtol=1e-10, atol=1e-9)


def test_common_parameters_are_refitted_without_each_row():
    subset = IRIS.iloc[::10]
    fit = qda("species ~ .", subset, covariance=FactorAnalytic(1, form="AkjBQkDk"), prior="equal")
    left_out = fit.leave_one_out()
    for row in (0, 7, 14):
        less = subset.drop(index=subset.index[row])
        again = qda("species ~ .", less, covariance=FactorAnalytic(1, form="AkjBQkDk"), prior="equal")
        want = again.predict_proba(subset.iloc[[row]]).to_numpy()[0]
        assert np.allclose(left_out.iloc[row, 1:].to_numpy(float), want, rtol=1e-9)


def test_small_noise_variances_keep_their_precision():
    """A signal of size one far from zero, and a noise a hundred million times smaller, to eighty digits."""
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    x = np.concatenate([rng.normal(size=(8, 4)) * [1, 1e-8, 1e-8, 1e-8] @ turn + m for m in (50, 50 + 3e-8)])
    y = np.repeat(["a", "b"], 8)
    data = pd.DataFrame(x, columns=list("stuv")).assign(y=y)
    fit = qda("y ~ .", data, covariance=FactorAnalytic(1), method="mle")
    actual = fit.decision_function(data).to_numpy()
    rows, scores = exact(x), []
    for class_rows in (rows[:8], rows[8:]):
        mean = class_rows.sum(axis=0) / 8
        values, vectors = mpmath.eigsy(
            mpmath.matrix(((class_rows - mean).T @ (class_rows - mean) / 8).tolist())
        )
        order = sorted(range(4), key=lambda j: values[j])
        a, b = values[order[3]], sum(values[j] for j in order[:3]) / 3
        axis = np.array([vectors[i, order[3]] for i in range(4)])
        differences = rows - mean
        along = differences @ axis
        residuals = (differences * differences).sum(axis=1) - along * along
        scores.append(-(along * along / a + residuals / b + mpmath.log(a) + 3 * mpmath.log(b)) / 2)
    want = (scores[1] - scores[0]).astype(np.float64)
    # What the rounding of the data of size fifty does to a noise of 1e-8.
    assert np.abs(actual - want).max() < 1e-6 * np.abs(want).max()


def test_no_p_by_p_matrix_is_computed():
    rng = np.random.default_rng(0)
    p, y = 2500, np.arange(24) % 2
    x = rng.normal(size=(24, 2)) @ rng.normal(size=(2, p)) + rng.normal(size=(24, p)) + y[:, None] / 5
    data = pd.DataFrame(x, columns=[f"v{j}" for j in range(p)]).assign(y=y)
    tracemalloc.start()
    fit = qda("y ~ .", data, covariance=FactorAnalytic(2))
    assert fit.confusion().to_numpy().tolist() == [[12, 0], [0, 12]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < p * p


def test_classes_of_fewer_rows_than_columns_among_many_rows():
    """The roots of the classes are thin, though all rows are more than the columns."""
    tables = [WIDE.iloc[:, [*range(14), -1]], WIDE.iloc[:, [*range(30), -1]]]
    for data in tables:
        fit = qda("y ~ .", data, covariance=FactorAnalytic(1))
        stored_moments = discrim.moments("y ~ .", data, scatters="class")
        again = qda(moments=stored_moments, covariance=FactorAnalytic(1))
        assert np.allclose(fit.predict_log_proba(data), again.predict_log_proba(data), rtol=1e-9, atol=1e-9)
        assert np.allclose(fit.covariance_model.factors, again.covariance_model.factors, rtol=1e-9)
    assert fit._fit.estimates.moments.scatter_type == "thin class"


@pytest.mark.parametrize("form", ["AkjBkQkDk", "ABQkD", "AjBQD"])
def test_axes_may_be_turned_and_units_changed_together(form):
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    x = IRIS.iloc[:, :4].to_numpy()
    fit = qda("species ~ .", IRIS, covariance=FactorAnalytic(form=form))
    for other in (x @ turn, 1e-160 * x, 1e150 * x):
        data = pd.DataFrame(other, columns=list("abcd")).assign(species=IRIS["species"])
        again = qda("species ~ .", data, covariance=FactorAnalytic(form=form))
        assert np.allclose(fit.predict_log_proba(IRIS), again.predict_log_proba(data), rtol=1e-9, atol=1e-9)
        assert again.covariance_model.dimensions.tolist() == fit.covariance_model.dimensions.tolist()
    with pytest.warns(ScaleWarning):
        qda("species ~ .", IRIS.assign(petal_width=100 * IRIS["petal_width"]), covariance="factor")


def test_standardized_columns_have_no_units():
    other = IRIS.assign(petal_width=1000 * IRIS["petal_width"])
    fits = [
        qda("species ~ .", data, covariance=FactorAnalytic("bic", standardize=True)) for data in (IRIS, other)
    ]
    assert np.allclose(fits[0].predict_log_proba(IRIS), fits[1].predict_log_proba(other), rtol=1e-10)
    assert np.allclose(fits[0].covariance_model.factors, fits[1].covariance_model.factors, rtol=1e-10)
    scaled = IRIS.copy()
    within = np.sqrt(np.diag(lda("species ~ .", IRIS).cov))
    scaled.iloc[:, :4] = scaled.iloc[:, :4] / within
    reference_fit = qda("species ~ .", scaled, covariance=FactorAnalytic("bic"))
    assert np.allclose(fits[0].predict_log_proba(IRIS), reference_fit.predict_log_proba(scaled), rtol=1e-9)
    assert np.allclose(
        fits[0].covariance_model.scree().iloc[:, :4],
        reference_fit.covariance_model.scree().iloc[:, :4],
        rtol=1e-8,
        equal_nan=True,
    )


def test_missing_columns_are_integrated_out():
    fit = qda("species ~ .", IRIS, covariance=FactorAnalytic(2))
    new = IRIS.iloc[[0, 60, 120]].copy()
    new["petal_width"] = np.nan
    keep = fit.terms[:3]
    density = np.column_stack(
        [
            scipy.stats.multivariate_normal(fit.means.loc[k, keep], fit.covs[k].loc[keep, keep]).logpdf(
                new[keep]
            )
            for k in fit.classes
        ]
    )
    want = scipy.special.softmax(density, axis=1)
    assert np.allclose(fit.predict_proba(new, missing="integrate"), want, rtol=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"covariance": FactorAnalytic("bic", form="AkjBQkD")}, {"covariance": FactorAnalytic(2)}]
)
def test_files_keep_the_fit(options, tmp_path):
    for data, formula in ((IRIS, "species ~ ."), (WIDE, "y ~ .")):
        fit = qda(formula, data, **{"covariance": "factor"} | options)
        fit.save(tmp_path / "fit.discrim")
        again = discrim.load(tmp_path / "fit.discrim")
        assert again.predict_log_proba(data).equals(fit.predict_log_proba(data))
        assert again.covariance_model.factors.equals(fit.covariance_model.factors)
        assert (again.df_model, again.llf) == (fit.df_model, fit.llf)
        assert (
            again._fit.estimates.covariance_model.options.method
            == fit._fit.estimates.covariance_model.options.method
        )


def test_chunks_give_the_fit_of_the_table():
    chunks = [IRIS.iloc[i::4] for i in range(4)]
    fit = qda("species ~ .", IRIS, covariance=FactorAnalytic("bic"))
    again = qda("species ~ .", lambda: iter(chunks), covariance=FactorAnalytic("bic"))
    assert np.allclose(again.predict_log_proba(IRIS), fit.predict_log_proba(IRIS), rtol=1e-9, atol=1e-9)
    assert np.allclose(again.error_rates(["loo"])["estimate"], fit.error_rates(["loo"])["estimate"])


ONE_EACH = {"setosa": 1, "versicolor": 1, "virginica": 1}


@pytest.mark.parametrize(
    ("options", "error", "classes"),
    [
        ({"covariance": FactorAnalytic(4)}, CollinearError, ("setosa",)),
        ({"covariance": FactorAnalytic({**ONE_EACH, "versicolor": 4})}, CollinearError, ("versicolor",)),
        ({"covariance": FactorAnalytic(4, form="ABQD")}, CollinearError, ()),
        ({"covariance": FactorAnalytic({"setosa": 1})}, DataError, ("versicolor", "virginica")),
        ({"covariance": FactorAnalytic({"rose": 1})}, DataError, ("rose",)),
        ({"covariance": FactorAnalytic({**ONE_EACH, "versicolor": 2}, form="ABQD")}, DataError, ()),
        ({"missing": "em"}, NotSupportedError, ()),
    ],
)
def test_invalid_input_is_refused(options, error, classes):
    with pytest.raises(error) as caught:
        qda("species ~ .", IRIS, **({"covariance": "factor"} | options))
    assert caught.value.classes == classes
    assert caught.value.hint


def test_classes_that_have_no_such_covariance_are_named():
    subset = IRIS.iloc[[*range(3), *range(50, 60), *range(100, 110)]]
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", subset, covariance=FactorAnalytic(2))
    assert caught.value.classes == ("setosa",)
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", subset.iloc[1:], covariance="factor")
    assert "'setosa'" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        qda("species ~ petal_width", IRIS, covariance="factor")
    assert "columns" in str(caught.value)
    twice = IRIS.assign(a=IRIS["petal_width"] * 2, b=IRIS["petal_width"] - IRIS["sepal_width"])
    assert qda("species ~ .", twice, covariance=FactorAnalytic(3)).covariance_model.dimensions.tolist() == [
        3,
        3,
        3,
    ]
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", twice, covariance=FactorAnalytic(4))
    assert "dimensions" in str(caught.value)
    assert "vary" in str(caught.value)
    rng = np.random.default_rng(0)
    wild = pd.DataFrame(rng.normal(size=(40, 3)) * np.repeat([1, 100], 20)[:, None], columns=list("abc"))
    wild["y"] = np.repeat(["tame", "wild"], 20)
    with pytest.raises(DataError) as caught:
        qda("y ~ .", wild, covariance=FactorAnalytic(1, form="AkBQkDk"))
    assert caught.value.classes == ("tame",)


def test_covariance_models_table_has_all_forms():
    table = covariance_models("species ~ .", IRIS, dimensions=3)
    actual, full_model = (table.loc[name, ["df", "llf"]].tolist() for name in ("factor AkjBkQkDk", "free"))
    assert actual == pytest.approx(full_model, rel=1e-12)
    assert table.loc["factor AjBQD", "LR_free"] == pytest.approx(table.loc["common", "LR_free"], rel=1e-9)
    assert "factor AkjBkQkD" not in table.index
    chosen = qda("species ~ .", IRIS).covariance_models(dimensions="cattell", threshold=0.05)
    for form in FORMS:
        fit = qda("species ~ .", IRIS, covariance=FactorAnalytic(form=form, threshold=0.05), method="mle")
        line = chosen.loc[f"factor {form}"]
        assert [line["df"], line["llf"], line["bic"]] == pytest.approx([fit.df_model, fit.llf, fit.bic])
        assert line["dimensions"] == ", ".join(map(str, fit.covariance_model.dimensions))
        assert np.isnan(line["p_free"])
    with pytest.raises(NotSupportedError) as caught:
        lr_test(lda("species ~ .", IRIS), fit)
    assert "chi-square" in str(caught.value)
    assert "distribution" in str(caught.value)
    with pytest.raises(DataError) as caught:
        covariance_models("species ~ .", IRIS, threshold=0.1)
    assert "neither" in str(caught.value)


@pytest.mark.slow
def test_scree_plot():
    fit = qda("y ~ .", WIDE, covariance="factor")
    axes = fit.plot("scree")
    assert axes.get_yscale() == "log"
    filled = [len(c.get_offsets()) for c in axes.collections][::2]
    assert filled == fit.covariance_model.dimensions.tolist()
    pooled = qda("y ~ .", WIDE, covariance=FactorAnalytic(form="ABQD")).plot("scree")
    assert [text.get_text() for text in pooled.get_legend().get_texts()] == ["pooled"]
    with pytest.raises(NotSupportedError) as caught:
        qda("species ~ .", IRIS).plot("scree")
    assert 'qda(covariance="factor")' in str(caught.value)


def test_summary_shows_the_chosen_dimensions():
    text = qda("y ~ .", WIDE, covariance="factor").summary().as_text()
    assert "Dimensions, Cattell, 0.2" in text
    assert "AkjBkQkDk" in text
    common = qda("species ~ .", IRIS, covariance=FactorAnalytic(form="AjBQD")).summary()
    assert "factor, common, 1/(N-K)" in common.as_text()
    # It would take a refit for each row.
    assert "leave-one-out" not in common.as_text()
    assert [name for name in common.tables if name.startswith("covariance")] == ["covariance"]
    table = qda("y ~ .", WIDE, covariance="factor").summary(["factors"]).tables["factors"]
    assert table["dimensions"].tolist() == [2, 3, 1]
    assert table["explained"].between(0.4, 1).all()


def test_estimator_accepts_the_specification():
    from sklearn.model_selection import GridSearchCV

    from discrim.sklearn import QDAClassifier

    x, y = WIDE.iloc[:, :-1].to_numpy(), WIDE["y"].to_numpy()
    search = GridSearchCV(
        QDAClassifier(covariance="factor"), {"covariance__dimensions": [1, 2, "cattell"]}, cv=3
    )
    search.fit(x, y)
    again = qda("y ~ .", WIDE, covariance=FactorAnalytic(search.best_params_["covariance__dimensions"]))
    assert (search.predict(x) == again.predict(WIDE).to_numpy()).all()


@one_in(2, {"threshold": [0.08, 0.2, 0.4], "weighted": [False, True]})
def test_rows_left_out_by_the_largest_eigenvalues_alone(threshold, weighted):
    rng = np.random.default_rng(5)
    y, p = np.arange(90) % 2, 30
    x = rng.normal(size=(90, p)) * np.geomspace(9, 0.1, p) * np.where(y, 1.0, 1.3)[:, None]
    x[7] *= 4
    x = x @ np.linalg.qr(rng.normal(size=(p, p)))[0]
    data = pd.DataFrame(x, columns=[f"v{j}" for j in range(p)]).assign(y=y)
    weights = np.tile([0.5, 1.0, 1.5], 30) if weighted else None
    fit = qda("y ~ .", data, covariance=FactorAnalytic(threshold=threshold), weights=weights)
    left_out = left_out_scores(fit._fit)
    for row in (0, 7, 30, 31, 64):
        again = scores_by_refit(fit._fit, fit._fit.design_rows, row, reestimate_prior=False)
        assert np.allclose(left_out[row], again, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("r", [2, 5, 40])
def test_eigenvalues_without_a_row_equal_those_of_the_matrix(r):
    rng = np.random.default_rng(r)
    for power in (0.5, 2, 5):
        eigenvalues = np.sort(rng.exponential(size=r) ** power)[::-1]
        unit = rng.normal(size=(20, r))
        unit /= np.linalg.norm(unit, axis=1)[:, None]
        # Rows that take nothing from some axes, and one that takes all of its own direction.
        unit[0, 0], unit[1, 1:], unit[2] = 1e-15, 1e-15, 0.999999999 * unit[2]
        z = unit * np.sqrt(eigenvalues) * np.linspace(0.1, 0.999, 20)[:, None]
        want, vectors = np.linalg.eigh(np.diag(eigenvalues) - z[:, :, None] * z[:, None, :])
        for q in (1, max(r // 2, 1), r):
            actual = downdate_eigenvalues(eigenvalues, z**2, q)
            assert actual.has_converged.all()
            assert (
                np.abs(eigenvalues[:q] - actual.shifts - want[:, ::-1][:, :q]).max()
                < 1e-14 * r * eigenvalues[0]
            )
            along = np.einsum("mij,mi->mj", vectors[:, :, ::-1][:, :, :q], z) ** 2
            assert np.allclose(1 / actual.slopes, along, rtol=1e-6, atol=1e-12 * eigenvalues[0])


def test_header_omits_dimensions_that_are_not_estimated():
    fit = qda("species ~ .", IRIS, covariance="factor")
    covariance_model = fit._fit.estimates.covariance_model.unfitted()
    labels = [item.label for item in describe(covariance_model).items(fit._fit.estimates.moments, ())]
    assert labels[0] == "Form"
    assert not any(label.startswith("Dimensions") for label in labels)
