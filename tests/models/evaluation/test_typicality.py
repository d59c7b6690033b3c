"""Typicality by four laws, and relative distances: mpmath, refits row by row, and novel rows."""

from __future__ import annotations

import warnings
from functools import partial

import mpmath
import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Shrunk
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, DiscrimWarning, NotSupportedError
from discrim.subspace import PrincipalComponents

IRIS = load_iris()
PENGUINS = load_penguins().dropna(subset=["bill_depth_mm", "body_mass_g", "species"])
FEW = "species ~ bill_depth_mm + body_mass_g"
COLUMNS = ["bill_depth_mm", "body_mass_g"]
TABLE, NEW = PENGUINS[::9], PENGUINS[4::23]
METHODS = ("exact", "chi2", "relative", "conformal")


def squared(x, mean, cov):
    gap = x - mean
    return np.einsum("ij,ij->i", gap, np.linalg.solve(cov, gap.T).T)


def distances(table, new, common):
    """Squared distances (m, K), and those to all rows (m,), by numpy's covariances."""
    x, y = new[COLUMNS].to_numpy(float), table["species"]
    groups = [table.loc[y == k, COLUMNS].to_numpy(float) for k in sorted(y.unique())]
    own = [np.cov(g.T) for g in groups]
    if common:
        free = [len(g) - 1 for g in groups]
        own = [sum(f * c for f, c in zip(free, own, strict=True)) / sum(free)] * len(groups)
    d2 = np.column_stack([squared(x, g.mean(axis=0), c) for g, c in zip(groups, own, strict=True)])
    every = table[COLUMNS].to_numpy(float)
    return d2, squared(x, every.mean(axis=0), np.cov(every.T))


def leave_one_out_distances(table, common):
    """Return squared distances of each row of a table to classes fitted without it."""
    found = [distances(table.drop(index=i), table.loc[[i]], common) for i in table.index]
    return np.concatenate([d2 for d2, _ in found]), np.concatenate([whole for _, whole in found])


@pytest.mark.parametrize(("verb", "relative"), [(discrim.lda, True), (discrim.qda, False)])
def test_ranks_equal_ranks_by_refits_without_each_row(verb, relative):
    common = verb is discrim.lda
    (left, left_whole), (new, whole) = leave_one_out_distances(TABLE, common), distances(TABLE, NEW, common)
    if relative:
        left, new = left - left_whole[:, None], new - whole[:, None]
    codes = pd.Categorical(TABLE["species"]).codes
    own = left[np.arange(len(codes)), codes]
    fit = verb(FEW, TABLE)
    method = "relative" if relative else "conformal"
    values = fit.typicality(NEW, method=method).to_numpy()
    for k in range(3):
        among = own[codes == k]
        expected = [(1 + (among >= value).sum()) / (len(among) + 1) for value in new[:, k]]
        assert values[:, k].tolist() == expected
    mine = fit.typicality(method=method).to_numpy()
    for i, k in enumerate(codes):
        for j in range(3):
            among = np.delete(own, i)[np.delete(codes, i) == j]
            assert mine[i, j] == (1 + (among >= left[i, j]).sum()) / (len(among) + 1)
        assert k >= 0
    if relative:
        assert np.allclose(fit.relative_distances(NEW), new, rtol=1e-9)
        assert np.allclose(fit.relative_distances(), left, rtol=1e-8)


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_distributions_equal_mpmath(verb):
    common = verb is discrim.lda
    d2, _ = distances(TABLE, NEW, common)
    counts = TABLE["species"].value_counts().sort_index().to_numpy()
    n, p, k = len(TABLE), 2, 3
    fit = verb(FEW, TABLE)
    exact, chi2 = fit.typicality(NEW).to_numpy(), fit.typicality(NEW, method="chi2").to_numpy()
    with mpmath.workdps(30):
        for i, j in np.ndindex(*d2.shape):
            nu = n - k if common else int(counts[j]) - 1
            b, value = nu - p + 1, mpmath.mpf(d2[i, j])
            f = mpmath.mpf(int(counts[j])) / int(counts[j] + 1) * value * b / (nu * p)
            tail = mpmath.betainc(b / mpmath.mpf(2), p / mpmath.mpf(2), 0, b / (b + p * f), regularized=True)
            assert exact[i, j] == pytest.approx(float(tail), rel=1e-9)
            upper = mpmath.gammainc(p / mpmath.mpf(2), value / 2, mpmath.inf, regularized=True)
            assert chi2[i, j] == pytest.approx(float(upper), rel=1e-9)


FITS = {
    "rda": partial(discrim.rda, alpha=0.4, gamma=0.8),
    "lda, shrunk": partial(discrim.lda, covariance=Shrunk(0.3)),
    "lda, diagonal": partial(discrim.lda, covariance="diagonal"),
    "qda, shrunk": partial(discrim.qda, covariance=Shrunk(0.3)),
    "qda, diagonal": partial(discrim.qda, covariance="diagonal"),
    "naive_bayes": discrim.naive_bayes,
    "nearest_centroid": discrim.nearest_centroid,
}


@pytest.mark.parametrize("name", FITS)
def test_ranks_of_other_models_equal_ranks_by_refits(name):
    """Of distances under one covariance, and of densities of each class."""
    table = IRIS[::9]
    verb, shared = FITS[name], name.startswith(("lda", "nearest"))

    def values(fit, rows):
        if shared:
            return fit._fit.estimates.distances().squared(rows.iloc[:, :4].to_numpy(float)).T
        return (
            fit._fit.rule("equal").scores(fit._fit.new_rows(rows).rows_at_positions(np.arange(len(rows))))
            * -2
        )

    fit = verb("species ~ .", table)
    codes = pd.Categorical(table["species"]).codes
    prior = fit.prior.to_dict()
    left = [
        values(verb("species ~ .", table.drop(index=i), prior=prior), table.loc[[i]])[0, codes[at]]
        for at, i in enumerate(table.index)
    ]
    new = values(fit, IRIS[1::15])
    found = fit.typicality(IRIS[1::15], method="conformal").to_numpy()
    for k in range(3):
        among = np.array(left)[codes == k]
        expected = [
            (1 + (among >= value * (1 + 1e-9 * np.sign(value))).sum()) / (len(among) + 1)
            for value in new[:, k]
        ]
        assert found[:, k] == pytest.approx(expected, abs=1e-12)


def test_a_weight_is_so_many_rows_and_a_class_without_a_prior_has_ranks():
    table = TABLE.assign(w=lambda t: np.arange(len(t)) % 3 + 1)
    repeated = table.loc[table.index.repeat(table["w"])].reset_index(drop=True)
    for method in ("relative", "conformal"):
        weighed, plain = discrim.qda(FEW, table, weights="w"), discrim.qda(FEW, repeated)
        pd.testing.assert_frame_equal(
            weighed.typicality(NEW, method=method), plain.typicality(NEW, method=method), rtol=1e-9
        )
        none = discrim.naive_bayes(FEW, TABLE, prior=[0.5, 0.5, 0.0])
        some = discrim.naive_bayes(FEW, TABLE)
        if method == "conformal":
            pd.testing.assert_frame_equal(
                none.typicality(NEW, method=method), some.typicality(NEW, method=method)
            )


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_a_class_never_seen_are_called_unknown(method):
    known = IRIS[IRIS["species"] != "virginica"].astype({"species": str})
    fit = discrim.lda("species ~ .", known)
    labels = fit.predict(IRIS, outlier=0.03, typicality=method)
    found = labels.to_frame("label").assign(actual=IRIS["species"]).groupby("actual", observed=True)["label"]
    proportion = found.apply(lambda group: (group == "unknown").mean())
    assert proportion["virginica"] > 0.7
    assert proportion.drop("virginica").max() <= 0.08
    assert (fit.predict(IRIS, outlier=0, typicality=method) == fit.predict(IRIS)).all()
    strange = (fit.typicality(IRIS, method=method) < 0.03).all(axis=1)
    assert ((labels == "unknown") == strange).all()


@pytest.mark.parametrize("method", METHODS)
def test_sources_with_missing_values_and_distant_rows(method):
    fit = discrim.qda(FEW, PENGUINS)
    new = NEW.copy()
    new.loc[new.index[0], "body_mass_g"] = np.nan
    new.loc[new.index[1], COLUMNS] = 1e90
    typicality_table = fit.typicality(new, method=method)
    assert typicality_table.iloc[0].isna().all()
    assert (typicality_table.iloc[1] < 0.02).all()
    chunks = fit.predict(
        lambda: (new[i : i + 5] for i in range(0, len(new), 5)), outlier=0.03, typicality=method
    )
    joined = pd.concat(chunks)["species"].astype(object)
    whole = fit.predict(new, outlier=0.03, typicality=method).astype(object)
    assert (joined.fillna("-") == whole.fillna("-")).all()


def test_dask_frames_are_compared_with_the_rows_of_the_fit():
    dd = pytest.importorskip("dask.dataframe")
    fit = discrim.lda(FEW, PENGUINS)
    lazy = fit.predict(dd.from_pandas(NEW, npartitions=2), outlier=0.1, typicality="relative")
    expected = fit.predict(NEW, outlier=0.1, typicality="relative")
    assert lazy.compute().tolist() == expected.tolist()


def test_loaded_fits_take_calibration_rows(tmp_path):
    fit = discrim.lda(FEW, PENGUINS[::3])
    fit.save(tmp_path / "fit.discrim")
    loaded = discrim.load(tmp_path / "fit.discrim")
    for method in ("relative", "conformal"):
        with pytest.raises(NotSupportedError) as caught:
            loaded.typicality(NEW, method=method)
        assert "calibration=" in str(caught.value)
        with pytest.raises(NotSupportedError) as caught:
            loaded.typicality(method=method)
        assert "data=" in str(caught.value)
        assert "calibration=" in str(caught.value)
        # `predict` takes no calibration rows, and so its message may not name them as an argument of it.
        with pytest.raises(NotSupportedError) as caught:
            loaded.predict(NEW, outlier=0.1, typicality=method)
        assert "method=" in str(caught.value)
        own = PENGUINS[1::3]
        typicality_table = loaded.typicality(NEW, method=method, calibration=own)
        pd.testing.assert_frame_equal(typicality_table, fit.typicality(NEW, method=method, calibration=own))
        d2, whole = distances(PENGUINS[::3], own, True)
        new, new_whole = distances(PENGUINS[::3], NEW, True)
        if method == "relative":
            d2, new = d2 - whole[:, None], new - new_whole[:, None]
        for k, label in enumerate(fit.classes):
            among = d2[own["species"] == label, k]
            expected = [(1 + (among >= value).sum()) / (len(among) + 1) for value in new[:, k]]
            assert typicality_table[label].to_numpy() == pytest.approx(expected, abs=1e-12)
    pd.testing.assert_frame_equal(loaded.typicality(NEW, method="chi2"), fit.typicality(NEW, method="chi2"))


def test_models_without_distances_suggest_others():
    for fit in (discrim.knn("species ~ .", IRIS, k=5), discrim.indicator("species ~ .", IRIS)):
        for method in ("exact", "chi2"):
            with pytest.raises(NotSupportedError) as caught:
                fit.typicality(IRIS, method=method)
            assert 'method="conformal"' in str(caught.value)
        with pytest.raises(NotSupportedError) as caught:
            fit.typicality(IRIS, method="relative")
        assert 'method="conformal"' in str(caught.value)
        assert fit.typicality(IRIS, method="conformal").notna().all(axis=None)
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", IRIS).typicality(IRIS, calibration=IRIS)
    assert "Leave out calibration=" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        discrim.lda("species ~ .", IRIS).typicality(method="relative", calibration=IRIS)
    assert "calibration=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", IRIS).typicality(IRIS, method="F")
    assert "method=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", IRIS).predict(IRIS, outlier=0.1, typicality="F")
    assert "typicality=" in str(caught.value)
    for bound in (5, 1.01, -0.1, "5%"):
        with pytest.raises(DataError) as caught:
            discrim.lda("species ~ .", IRIS).predict(IRIS, outlier=bound)
        assert "outlier=" in str(caught.value)


def test_robust_fits_have_the_chi_square_and_ranks_among_other_rows():
    fit = discrim.qda(FEW, PENGUINS, covariance="mcd")
    with pytest.raises(NotSupportedError) as caught:
        fit.typicality(PENGUINS)
    assert 'method="chi2"' in str(caught.value)
    far = fit.covariance_model.robust_distances()
    values = fit.typicality(method="chi2").to_numpy()[
        np.arange(len(PENGUINS)), pd.Categorical(PENGUINS["species"]).codes
    ]
    assert ((values < 0.025) == far["flagged"]).all()
    with pytest.raises(NotSupportedError) as caught:
        fit.typicality(PENGUINS, method="conformal")
    assert "calibration=" in str(caught.value)
    assert fit.typicality(PENGUINS, method="conformal", calibration=PENGUINS).notna().all(axis=None)


def test_labels_of_fitted_rows_equal_labels_of_new_rows():
    fit = discrim.lda("species ~ .", IRIS)
    for method in ("exact", "conformal"):
        strange = (fit.typicality(IRIS, method=method) < 0.05).all(axis=1)
        unknown = fit.predict(outlier=0.05, typicality=method) == "unknown"
        assert unknown.any()
        assert (unknown == strange).all()


def test_single_observations_of_a_class_have_infinite_distance():
    table = pd.concat([IRIS, pd.DataFrame([[9.0] * 4 + ["other"]], columns=IRIS.columns)], ignore_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = discrim.lda("species ~ .", table)
        assert (fit.typicality(IRIS, method="conformal")["other"] == 1).all()
        assert fit.typicality(method="conformal").iloc[150]["other"] == 1


def test_densities_of_more_columns_than_rows_are_ranked_as_by_numpy():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(16, 20))).add_prefix("x").assign(y=["a", "b"] * 8)
    new = pd.DataFrame(rng.normal(size=(9, 20))).add_prefix("x")

    def strange(rows, others, label):
        """Squared distance and log-determinant, by the covariance that the fit to the others shows."""
        fit = discrim.qda("y ~ .", others, covariance=Shrunk(0.3), prior="equal")
        cov = np.asarray(fit.covs[label])
        far = squared(rows.filter(like="x").to_numpy(), fit.means.loc[label].to_numpy(), cov)
        return far + np.linalg.slogdet(cov)[1]

    typicality_table = discrim.qda("y ~ .", table, covariance=Shrunk(0.3)).typicality(new, method="conformal")
    for label in ("a", "b"):
        own = table.index[table["y"] == label]
        values = np.array([strange(table.loc[[i]], table.drop(index=i), label)[0] for i in own])
        expected = [(1 + (values >= value).sum()) / (len(values) + 1) for value in strange(new, table, label)]
        assert typicality_table[label].to_numpy() == pytest.approx(expected, abs=1e-12)


def test_outlier_bounds_below_all_ranks_warn():
    fit = discrim.lda("species ~ .", IRIS)
    far = IRIS.assign(petal_length=1e6)
    with pytest.warns(DiscrimWarning, match=r"among the 50 rows of class 'setosa' is at least 0\.02"):
        assert "unknown" not in set(fit.predict(far, outlier=0.01, typicality="conformal"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(fit.predict(far, outlier=0.02, typicality="conformal")) == {"unknown"}


def on_axes(x, y, new, *, common, over_sd):
    """Squared distances, or minus twice log densities, (m, K) of rows on two principal axes of others."""
    unit, centre = x.std(axis=0) if over_sd else 1.0, x.mean(axis=0)
    axes = np.linalg.svd((x - centre) / unit, full_matrices=False)[2][:2]
    scores, own = (x - centre) / unit @ axes.T, (new - centre) / unit @ axes.T
    groups = [scores[y == label] for label in np.unique(y)]
    pooled = sum((len(g) - 1) * np.cov(g.T) for g in groups) / (len(x) - len(groups))
    covs = [pooled if common else np.cov(g.T) for g in groups]
    lengths = [0.0 if common else np.linalg.slogdet(cov)[1] for cov in covs]
    return np.column_stack(
        [squared(own, g.mean(axis=0), c) + s for g, c, s in zip(groups, covs, lengths, strict=True)]
    )


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        (discrim.lda, {"components": 2}),
        (discrim.qda, {"components": 2}),
        (discrim.qda, {"components": PrincipalComponents(2, standardize=True)}),
        (discrim.rda, {"components": 2, "alpha": 1.0, "gamma": 1.0}),
    ],
)
def test_ranks_on_principal_axes_are_among_rows_that_learnt_no_axes(verb, options):
    rows, new = IRIS.iloc[::3].reset_index(drop=True), IRIS.iloc[1::6]
    fit = verb("species ~ .", rows, **options)
    x, y = rows.drop(columns="species").to_numpy(), rows["species"].to_numpy()
    measured = partial(on_axes, common=verb is discrim.lda, over_sd=options["components"] != 2)
    own = np.concatenate([measured(np.delete(x, i, 0), np.delete(y, i), x[[i]]) for i in range(len(x))])
    values = measured(x, y, new.drop(columns="species").to_numpy())
    typicality_table = fit.typicality(new, method="conformal")
    for k, label in enumerate(np.unique(y)):
        known = own[y == label, k]
        expected = [(1 + (known >= each).sum()) / (1 + len(known)) for each in values[:, k]]
        np.testing.assert_allclose(typicality_table[label], expected, atol=1e-12)


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_relative_distances_on_principal_axes_are_less_those_on_the_same_axes(verb):
    fit = verb("species ~ .", IRIS, components=2)
    x, y = IRIS.drop(columns="species").to_numpy(), IRIS["species"].to_numpy()
    own = on_axes(x, y, x, common=verb is discrim.lda, over_sd=False)
    _, sd, axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    own -= ((x - x.mean(axis=0)) @ axes[:2].T / sd[:2]) ** 2 @ np.full((2, 1), len(x) - 1)
    values = fit.relative_distances(IRIS).to_numpy()
    # Up to the unit of the densities.
    assert np.ptp(values - own) < 1e-8
    if verb is discrim.lda:
        np.testing.assert_allclose(values, own, atol=1e-8)
    # What lies beyond the axes counts neither for a row nor against it.
    moved = IRIS.assign(**dict(zip(fit.terms, (x + 3 * axes[3]).T, strict=True)))
    np.testing.assert_allclose(fit.relative_distances(moved), values, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_ranks_are_uniform_for_fixed_axes(verb):
    rng = np.random.default_rng(5)

    def rows(n):
        y = rng.integers(0, 2, n)
        x = rng.standard_normal((n, 5)) * [3, 2, 1, 1, 1] + y[:, None]
        return pd.DataFrame(x, columns=list("abcde")).assign(y=y)

    fit, new = verb("y ~ .", rows(1500), components=2), rows(4000)
    values = fit.typicality(new, method="conformal").to_numpy()[np.arange(4000), new["y"]]
    for proportion in (0.05, 0.5, 0.9):
        assert (values <= proportion).mean() == pytest.approx(proportion, abs=0.03)
