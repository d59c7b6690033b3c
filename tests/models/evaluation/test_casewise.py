"""The casewise table by its definition: scipy's eigenvectors, laws and chi-square, and refits row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, NotSupportedError

IRIS = load_iris()
FORMULA = "species ~ ."
MEASURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
CLASSES = sorted(IRIS["species"].unique())
FEW = IRIS[1::6]


def expected_by_distribution(table, rows, common):
    """Return squared distances (m, K) to class means, and posteriors under class proportions, by SciPy."""
    groups = [table.loc[table["species"] == k, MEASURES].to_numpy() for k in CLASSES]
    covs = [np.cov(g.T) for g in groups]
    if common:
        covs = [sum((len(g) - 1) * c for g, c in zip(groups, covs, strict=True)) / (len(table) - 3)] * 3
    x = rows[MEASURES].to_numpy()
    laws = [scipy.stats.multivariate_normal(g.mean(axis=0), c) for g, c in zip(groups, covs, strict=True)]
    density = np.column_stack(
        [len(g) * distribution.pdf(x) for g, distribution in zip(groups, laws, strict=True)]
    )
    gaps = [x - g.mean(axis=0) for g in groups]
    d2 = [np.einsum("ij,ij->i", g, np.linalg.solve(c, g.T).T) for g, c in zip(gaps, covs, strict=True)]
    return np.column_stack(d2), density / density.sum(axis=1, keepdims=True)


def by_variates(table, rows):
    """Squared distances (m, K) by canonical variates, the eigenvectors of B against W."""
    x, means = table[MEASURES].to_numpy(), table.groupby("species")[MEASURES].mean()
    centred = x - means.loc[table["species"]].to_numpy()
    within = centred.T @ centred / (len(x) - 3)
    between = np.cov(means.loc[table["species"]].to_numpy().T)
    axes = scipy.linalg.eigh(between, within)[1][:, -2:]
    scores, centroids = rows[MEASURES].to_numpy() @ axes, means.to_numpy() @ axes
    return ((scores[:, None] - centroids) ** 2).sum(axis=2)


def expected(actual, d2, posteriors, df):
    order = np.argsort(-posteriors, axis=1)
    at, names = np.arange(len(d2)), np.array(CLASSES)
    columns = {"actual": actual, "predicted": names[order[:, 0]]}
    columns["misclassified"] = columns["actual"] != columns["predicted"]
    for k, word in enumerate(("", "second_")):
        columns |= {"second": names[order[:, 1]]} if word else {}
        columns[f"{word}p"] = scipy.stats.chi2.sf(d2[at, order[:, k]], df)
        columns |= {} if word else {"df": df}
        columns[f"{word}posterior"] = posteriors[at, order[:, k]]
        columns[f"{word}D2"] = d2[at, order[:, k]]
    return columns


def agree(found, columns):
    assert list(found)[: len(columns)] == list(columns)
    for name, values in columns.items():
        if name in ("actual", "predicted", "misclassified", "second"):
            assert found[name].tolist() == np.asarray(values).tolist(), name
        else:
            np.testing.assert_allclose(found[name], values, rtol=1e-8, err_msg=name)


def test_lda_measures_by_its_variates_as_spss_does():
    fit = discrim.lda(FORMULA, IRIS)
    casewise_table = fit.casewise()
    d2, (_, p) = by_variates(IRIS, IRIS), expected_by_distribution(IRIS, IRIS, common=True)
    agree(casewise_table, expected(IRIS["species"].to_numpy(), d2, p, 2))
    pd.testing.assert_frame_equal(casewise_table[["LD1", "LD2"]], fit.transform())
    assert casewise_table.index[casewise_table["misclassified"]].tolist() == [70, 83, 133]


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_left_out_rows_equal_refits_without_them(verb):
    common = verb is discrim.lda
    each = [expected_by_distribution(FEW.drop(index=i), FEW.loc[[i]], common) for i in FEW.index]
    d2, p = (np.concatenate(chunk) for chunk in zip(*each, strict=True))
    # The prior of class shares is held, as by default.
    sizes = np.array([[(FEW.drop(index=i)["species"] == k).sum() for k in CLASSES] for i in FEW.index])
    p = p / sizes * FEW["species"].value_counts()[CLASSES].to_numpy()
    casewise_table = verb(FORMULA, FEW).casewise("loo")
    agree(casewise_table, expected(FEW["species"].to_numpy(), d2, p / p.sum(axis=1, keepdims=True), 4))
    assert "LD1" not in casewise_table


def test_qda_measures_new_rows_by_all_columns_and_needs_no_class_of_them():
    new = IRIS[2::7]
    casewise_table = discrim.qda(FORMULA, FEW).casewise(new)
    agree(
        casewise_table,
        expected(new["species"].to_numpy(), *expected_by_distribution(FEW, new, common=False), 4),
    )
    bare = discrim.qda(FORMULA, FEW).casewise(new[MEASURES])
    assert bare["actual"].isna().all()
    assert bare["misclassified"].isna().all()
    pd.testing.assert_frame_equal(
        bare.drop(columns=["actual", "misclassified"]),
        casewise_table.drop(columns=["actual", "misclassified"]),
    )


def test_distances_use_the_unbiased_covariance_for_every_method():
    two = discrim.lda(FORMULA, IRIS).casewise(), discrim.lda(FORMULA, IRIS, method="mle").casewise()
    np.testing.assert_allclose(two[0]["D2"], two[1]["D2"], rtol=1e-9)


def test_fewer_axes_have_as_many_degrees_of_freedom():
    fit = discrim.lda(FORMULA, IRIS, ncomp=1)
    casewise_table = fit.casewise()
    assert (casewise_table["df"] == 1).all()
    centroids = fit.transform().groupby(IRIS["species"]).mean()["LD1"]
    d2 = (casewise_table["LD1"] - casewise_table["predicted"].map(centroids)) ** 2
    np.testing.assert_allclose(casewise_table["D2"], d2, rtol=1e-9)


def test_incomplete_rows_keep_only_their_class_and_labels_their_dtype():
    penguins = load_penguins()
    penguins["species"] = pd.Categorical(penguins["species"], ["Gentoo", "Chinstrap", "Adelie"])
    casewise_table = discrim.lda("species ~ bill_length_mm + bill_depth_mm", penguins).casewise()
    gap = penguins["bill_length_mm"].isna()
    assert gap.any()
    assert casewise_table.index.equals(penguins.index)
    assert casewise_table[["actual", "predicted", "second"]].dtypes.eq(penguins["species"].dtype).all()
    there = casewise_table.loc[gap].notna().any()
    assert there[there].index.tolist() == ["actual", "df"]
    assert casewise_table.loc[~gap].notna().all(axis=None)


def test_a_class_without_a_prior_is_second_with_posterior_zero():
    two = IRIS[IRIS["species"] != "setosa"]
    casewise_table = discrim.lda(FORMULA, two, prior={"versicolor": 1.0, "virginica": 0.0}).casewise()
    assert set(casewise_table["predicted"]) == {"versicolor"}
    assert set(casewise_table["second"]) == {"virginica"}
    assert (casewise_table["second_posterior"] == 0).all()


def test_a_loaded_fit_has_the_table_of_new_rows(tmp_path):
    fit = discrim.lda(FORMULA, IRIS)
    fit.save(tmp_path / "iris.discrim")
    loaded = discrim.load(tmp_path / "iris.discrim")
    pd.testing.assert_frame_equal(loaded.casewise(IRIS), fit.casewise())
    with pytest.raises(NotSupportedError) as caught:
        loaded.casewise()
    assert "casewise()" in str(caught.value)
    assert "data=" in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: discrim.logistic("species ~ sepal_width", IRIS),
        lambda: discrim.knn(FORMULA, IRIS, k=3),
        lambda: discrim.lda(FORMULA, IRIS, covariance="diagonal"),
        lambda: discrim.nearest_centroid(FORMULA, IRIS),
    ],
)
def test_models_without_such_distances_refuse_by_name(make):
    fit = make()
    with pytest.raises(NotSupportedError) as caught:
        fit.casewise()
    assert "casewise()" in str(caught.value)
    assert "augment()" in str(caught.value)


def test_casewise_distances_of_robust_fits_use_the_robust_covariance():
    fit = discrim.lda(FORMULA, IRIS, covariance="t")
    found, axes = fit.casewise(), fit.transform()
    centroids = (fit.means - fit.prior @ fit.means) @ fit.scaling
    gaps = axes.to_numpy() - centroids.loc[found["predicted"]].to_numpy()
    np.testing.assert_allclose(found["D2"], (gaps**2).sum(axis=1), rtol=1e-9)
    with pytest.raises(NotSupportedError) as caught:
        fit.casewise("loo")
    assert "leave_one_out()" in str(caught.value)


def test_options_without_effect_are_refused():
    fit = discrim.lda(FORMULA, IRIS)
    with pytest.raises(NotSupportedError) as caught:
        fit.casewise(IRIS, "loo")
    assert "data=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.casewise(method="cv")
    assert "apparent" in str(caught.value)
