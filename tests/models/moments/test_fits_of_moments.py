"""Verbs fitted to moments in the place of a table: the same numbers, and reasons where rows are needed."""

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Regularized
from discrim.datasets import load_iris, load_penguins
from discrim.errors import CollinearError, DataError, DiscrimWarning, NotSupportedError

IRIS, PENGUINS = load_iris(), load_penguins()
RNG = np.random.default_rng(16)
WORDS = pd.DataFrame(
    {"y": RNG.choice(list("abc"), 240), **{f"w{j}": RNG.poisson(j / 2, 240) for j in range(4)}}
).assign(flag=RNG.random(240) < 0.3, g=RNG.choice(["u", "v", "x"], 240), same="k", x=RNG.random(240))
WORDS.loc[7, "g"] = None

FITS = {
    "rda": (discrim.rda, "species ~ .", IRIS, {"alpha": 0.3, "gamma": 0.6}),
    "rda_klar": (
        discrim.rda,
        "species ~ log(body_mass_g) + sex",
        PENGUINS,
        {"alpha": 0.5, "gamma": 0.2, "parametrization": Regularized("klar", standardize=True)},
    ),
    "rda_no_ridge": (discrim.rda, "species ~ .", IRIS, {"alpha": 0, "gamma": 1}),
    "indicator": (discrim.indicator, "species ~ log(petal_length) + sepal_width", IRIS, {}),
    "shrunken": (discrim.shrunken_centroids, "species ~ .", IRIS, {"threshold": 1.0}),
    "shrunken_offset": (
        discrim.shrunken_centroids,
        "species ~ island + body_mass_g",
        PENGUINS,
        {"threshold": 0.0, "offset": 0.5, "prior": "equal"},
    ),
    "sparse": (discrim.sparse_lda, "species ~ .", IRIS, {"nonzero": 2}),
    "nearest": (discrim.nearest_centroid, "species ~ .", IRIS, {"prior": None}),
    "plda": (discrim.plda, "species ~ .", IRIS, {}),
    "pls": (discrim.pls, "species ~ .", IRIS, {"ncomp": 2}),
    "naive": (discrim.naive_bayes, "species ~ .", IRIS, {"smoothing": 1e-3}),
    "naive_mixed": (discrim.naive_bayes, "species ~ .", PENGUINS, {"laplace": 1}),
    "naive_coded": (discrim.naive_bayes, "species ~ C(sex, Sum) + island", PENGUINS, {}),
    "naive_counts": (
        discrim.naive_bayes,
        "y ~ flag + g + w0 + w1 + w2 + w3 + x",
        WORDS,
        {"counts": ["w0", "w1", "w2", "w3"], "laplace": 0.5},
    ),
    "naive_flags": (discrim.naive_bayes, "y ~ flag + x", WORDS, {"method": "mle"}),
}


def added_up(formula, data, **options):
    first = discrim.moments(formula, data[:90], **options)
    return sum((first.of(data[start : start + 61]) for start in range(90, len(data), 61)), first)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        # Each fit with and without weights in turn.
        pytest.param(name, weights, marks=[pytest.mark.exhaustive] * ((i + j) % 2))
        for i, name in enumerate(FITS)
        for j, weights in enumerate([None, "times"])
    ],
)
def test_fits_to_moments_equal_fits_to_rows(name, weights, tmp_path):
    verb, formula, data, options = FITS[name]
    data = data.sample(frac=1, random_state=1).reset_index(drop=True)
    data["times"] = np.random.default_rng(1).integers(1, 4, len(data)) if weights else 1
    formula = formula if weights else formula.replace("~ .", "~ . - times")
    theirs = verb(formula, data, weights=weights, **options)
    by_squares = verb not in (discrim.rda, discrim.indicator, discrim.pls, discrim.sparse_lda, discrim.plda)
    for scatters in ("class", "diagonal") if by_squares else ("class",):
        held = added_up(formula, data, weights=weights, scatters=scatters)
        ours = verb(moments=held, **options)
        assert (ours.nobs, ours.classes.tolist(), ours.terms.tolist()) == (
            theirs.nobs,
            theirs.classes.tolist(),
            theirs.terms.tolist(),
        )
        ours.save(tmp_path / "fit")
        for fit in (ours, discrim.load(tmp_path / "fit")):
            np.testing.assert_allclose(
                fit.decision_function(data), theirs.decision_function(data), rtol=1e-11, atol=1e-11
            )
        values = [fit.tidy().select_dtypes("number").to_numpy() for fit in (ours, theirs)]
        np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-12)
        assert ours._fit.title in ours.summary().as_text()
        pd.testing.assert_frame_equal(ours.confusion(data), theirs.confusion(data))


def test_tables_and_sums_of_counts_are_whole_numbers():
    formula, options = "y ~ g + flag + w0 + w1 + w2", {"counts": ["w0", "w1", "w2"]}
    fit = discrim.naive_bayes(moments=added_up(formula, WORDS), **options)
    rows = WORDS.dropna()
    expected = rows.groupby("y")[["w0", "w1", "w2"]].sum()
    np.testing.assert_array_equal(fit._fit.estimates.counts.sums, expected)
    for found, column in zip(fit._fit.estimates.tables.counts, ("g", "flag"), strict=True):
        np.testing.assert_array_equal(found, pd.crosstab(rows["y"], rows[column]))


def test_tables_of_text_labels_take_new_classes():
    # Blocks of one class: the levels of the response are joined, and the tables with them.
    chunks = [WORDS[WORDS["y"] == label] for label in "cab"]
    held = discrim.moments("y ~ C(g, levels=['u', 'v', 'x']) + x", chunks[0])
    held = held + held.of(chunks[1]) + held.of(chunks[2])
    ours = discrim.naive_bayes(moments=held)
    theirs = discrim.naive_bayes("y ~ C(g, levels=['u', 'v', 'x']) + x", WORDS)
    np.testing.assert_allclose(ours.predict_log_proba(WORDS), theirs.predict_log_proba(WORDS), rtol=1e-12)


def test_moments_drop_constant_columns_and_empty_classes_like_tables():
    removed = WORDS.assign(
        y=pd.Categorical(WORDS["y"], list("abcd")), x=WORDS["x"].mask(WORDS["y"] == "b"), one=1.0
    )
    formula = "y ~ same + g + one + w1 + w2 + x"
    options = {"counts": ["w1", "w2"], "laplace": 1}
    with pytest.warns(DiscrimWarning) as theirs_said:
        theirs = discrim.naive_bayes(formula, removed, **options)
    with pytest.warns(DiscrimWarning) as ours_said:
        ours = discrim.naive_bayes(moments=discrim.moments(formula, removed), **options)
    assert str(ours_said[-1].message) == str(theirs_said[-1].message)
    assert ours.classes.tolist() == ["a", "c"]
    assert ours.terms.tolist() == ["g", "w1", "w2", "x"]
    np.testing.assert_allclose(ours.predict_log_proba(removed), theirs.predict_log_proba(removed), rtol=1e-12)


def test_published_statistics_serve_these_verbs_too():
    groups = IRIS.groupby("species", observed=True)
    covs = {label: rows.drop(columns="species").cov() for label, rows in groups}
    given = discrim.from_stats(groups.mean(), covs, groups.size())
    for name in ("rda", "shrunken", "nearest", "naive"):
        verb, formula, data, options = FITS[name]
        ours, theirs = verb(moments=given, **options), verb(formula, data, **options)
        np.testing.assert_allclose(ours.predict_log_proba(IRIS), theirs.predict_log_proba(IRIS), rtol=1e-7)
    pooled = discrim.from_stats(groups.mean(), discrim.lda("species ~ .", IRIS).cov, groups.size())
    np.testing.assert_allclose(
        discrim.indicator(moments=pooled).coef, discrim.indicator("species ~ .", IRIS).coef, rtol=1e-9
    )


def test_diagonal_moments_equal_numpy_and_lack_covariances():
    summed = discrim.moments("species ~ .", IRIS, scatters="diagonal")
    expected = IRIS.groupby("species", observed=True).var()
    np.testing.assert_allclose(summed.variances, expected, rtol=1e-12)
    np.testing.assert_allclose(discrim.moments("species ~ .", IRIS).variances, expected, rtol=1e-12)
    for ask in (lambda: summed.cov, lambda: summed.covs, lambda: discrim.lda(moments=summed)):
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "scatters=" in str(caught.value)
    assert discrim.lda(moments=summed, covariance="diagonal").nobs == 150
    pooled = discrim.moments("species ~ .", IRIS, scatters="pooled")
    for verb in (discrim.naive_bayes, discrim.nearest_centroid):
        with pytest.raises(NotSupportedError) as caught:
            verb(moments=pooled)
        assert 'scatters="diagonal"' in str(caught.value)


HELD = discrim.moments("species ~ .", IRIS)
REFUSED = [
    (lambda: discrim.rda(moments=HELD), "choice of alpha and gamma"),
    (lambda: discrim.rda(moments=HELD, alpha=0.5), "choice of alpha and gamma"),
    (lambda: discrim.shrunken_centroids(moments=HELD), "threshold="),
    (lambda: discrim.sparse_lda(moments=HELD), "penalty="),
    (lambda: discrim.naive_bayes(moments=HELD, kernel=True), "kernel="),
    (lambda: discrim.naive_bayes(moments=HELD, kernel=["petal_width"]), "kernel="),
    (lambda: discrim.naive_bayes(moments=HELD).confusion(), "data="),
    (lambda: discrim.rda(moments=HELD, alpha=0.5, gamma=0.5).leave_one_out(), "requires the rows"),
    (lambda: discrim.indicator(moments=HELD).masked, "requires the rows"),
]


@pytest.mark.parametrize(("ask", "said"), REFUSED)
def test_methods_that_require_rows_state_it_with_a_hint(ask, said):
    with pytest.raises(NotSupportedError, match=said):
        ask()


@pytest.mark.parametrize(
    "verb", [discrim.rda, discrim.naive_bayes, discrim.indicator, discrim.shrunken_centroids]
)
def test_moments_with_a_table_or_neither_are_refused(verb):
    options = {discrim.rda: {"alpha": 0.5, "gamma": 0.5}, discrim.shrunken_centroids: {"threshold": 1.0}}
    with pytest.raises(DataError) as caught:
        verb(moments=HELD, weights="w", **options.get(verb, {}))
    assert "moments=" in str(caught.value)
    assert "weights=" in str(caught.value)
    with pytest.raises(DataError, match=f"{verb.__name__}\\(\\) requires a formula"):
        verb(data=IRIS)
    with pytest.raises(DataError) as caught:
        verb(moments=IRIS, **options.get(verb, {}))
    assert "discrim" in str(caught.value)
    assert "moments" in str(caught.value)


def test_invalid_columns_of_moments_are_named():
    less = WORDS.assign(w1=WORDS["w1"] - 1)
    with pytest.raises(DataError) as caught:
        discrim.naive_bayes(moments=discrim.moments("y ~ w0 + w1", less), counts=True, laplace=1)
    assert caught.value.columns == ("w1",)
    with pytest.raises(DataError) as caught:
        discrim.naive_bayes(moments=discrim.moments("y ~ w1 + w0", less.assign(w1=-1.0)), counts=["w1", "w0"])
    assert caught.value.columns == ("w1",)
    with pytest.raises(NotSupportedError) as caught:
        discrim.naive_bayes(moments=discrim.moments("y ~ g:x", WORDS))
    assert "'g'" in str(caught.value)
    flat = IRIS.assign(petal_width=IRIS["petal_width"].where(IRIS["species"] != "setosa", 0.2))
    with pytest.raises(CollinearError) as caught:
        discrim.naive_bayes(moments=discrim.moments("species ~ .", flat))
    assert "petal_width" in str(caught.value)
    assert "'setosa'" in str(caught.value)
    values = WORDS[["y", "flag", "x"]].astype({"flag": float})
    groups = values.groupby("y")
    covs = {label: rows.drop(columns="y").cov() for label, rows in groups}
    published = discrim.from_stats(groups.mean(), covs, groups.size())
    both = discrim.moments("y ~ flag + x", WORDS) + published
    with pytest.raises(NotSupportedError) as caught:
        discrim.naive_bayes(moments=both)
    assert "'flag'" in str(caught.value)


def test_sparse_columns_of_words_are_added_up_as_they_are_stored():
    rows = np.random.default_rng(3).poisson(0.02, (400, 60)).astype(float)
    rows[5, 7] = np.nan
    rows[:, 3] -= 1
    words = pd.DataFrame(
        {f"w{j}": pd.arrays.SparseArray(rows[:, j], fill_value=0.0) for j in range(60)}
    ).assign(y=np.random.default_rng(4).choice(list("ab"), 400))
    for scatters in ("diagonal", "pooled"):
        ours = discrim.moments("y ~ .", words, scatters=scatters)
        theirs = discrim.moments("y ~ .", words.assign(**{f"w{j}": rows[:, j] for j in range(60)}))
        assert (ours.nobs, ours.dropped) == (theirs.nobs, theirs.dropped) == (399, 1)
        np.testing.assert_allclose(ours.means, theirs.means, atol=1e-14)
        assert ours._level_counts.negative.nonzero()[0].tolist() == [3]
    kept = words.drop(columns="w3")
    options = {"counts": True, "laplace": 1}
    summed = discrim.moments("y ~ .", kept[:300], scatters="diagonal")
    fit = discrim.naive_bayes(moments=summed + summed.of(kept[300:]), **options)
    rest = kept.dropna()
    np.testing.assert_allclose(
        fit.predict_log_proba(rest), discrim.naive_bayes("y ~ .", kept, **options).predict_log_proba(rest)
    )
