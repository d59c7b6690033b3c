"""Shrinkages given or chosen: scikit-learn's, formulas written out, refits without a row, repeated rows."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import mpmath
import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import LedoitWolf, ShrunkCovariance, ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import discrim
from discrim import lda, qda
from discrim.covariance import Diagonal, Shrunk
from discrim.datasets import load_iris
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.models.base.refits import refit_options
from tests.models.discriminant.test_shrinkage import SHAPES, as_frame, less_means, simulate_rows
from tests.turns import one_in

IRIS = load_iris()
LW = {"covariance": Shrunk("ledoit-wolf")}
LOO = {"covariance": Shrunk("loo")}
STRIMMER = {"covariance": Diagonal("strimmer")}
WAYS = {
    "number": {"covariance": Shrunk(0.3)},
    "tiny": {"covariance": Shrunk(0.002)},
    "one": {"covariance": Shrunk(1.0)},
    "ledoit-wolf": LW,
    "loo": LOO,
    "diagonal": {"covariance": Diagonal(0.4)},
    "strimmer": STRIMMER,
    "diagonal loo": {"covariance": Diagonal("loo")},
}


def held_covariance(fit):
    """Return the specification with the shrinkage that the rows chose."""
    return refit_options(fit)["covariance"]


# ---- Ledoit & Wolf, and numbers, against scikit-learn


@one_in(2, {"n, p": SHAPES, "offset": [0.0, 1e8], "unit": [1.0, 2.0**-30, 2.0**30]})
def test_pooled_ledoit_wolf_is_scikit_learn_s_of_the_rows_less_their_means(n, p, offset, unit):
    x, y = simulate_rows(n, p)
    # Numbers that neither offset nor unit rounds.
    x = np.round(x * 2**20) / 2**20
    fit = lda("y ~ .", as_frame((x + offset) * unit, y), **LW, method="mle")
    theirs = LedoitWolf(assume_centered=True).fit(less_means(x, y) * unit)
    assert fit.shrinkage == pytest.approx(theirs.shrinkage_, rel=1e-10)
    assert fit.shrinkage == pytest.approx(ledoit_wolf_shrinkage(less_means(x, y), assume_centered=True))
    covariance = theirs.covariance_
    np.testing.assert_allclose(fit.cov, covariance, rtol=1e-10, atol=1e-12 * np.abs(covariance).max())


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_ledoit_wolf_by_class_is_scikit_learn_s_of_each_class(n, p):
    x, y = simulate_rows(n, p)
    fit = qda("y ~ .", as_frame(x, y), **LW, method="mle")
    for label in fit.classes:
        theirs = LedoitWolf().fit(x[y == label])
        assert fit.shrinkage[label] == pytest.approx(theirs.shrinkage_, rel=1e-10)
        np.testing.assert_allclose(fit.covs[label], theirs.covariance_, rtol=1e-10, atol=1e-12)


def test_ledoit_wolf_keeps_the_digits_of_exact_arithmetic_far_from_zero():
    x, y = simulate_rows(40, 3)
    x = np.round(x * 2**16) / 2**16 + 2.0**32
    with mpmath.workdps(60):
        rows = [[mpmath.mpf(v) for v in row] for row in x]
        means = {
            k: [
                mpmath.fsum(r[j] for r, c in zip(rows, y, strict=True) if c == k) / int((y == k).sum())
                for j in range(3)
            ]
            for k in range(3)
        }
        d = [[v - m for v, m in zip(r, means[c], strict=True)] for r, c in zip(rows, y.tolist(), strict=True)]
        s = [[mpmath.fsum(r[i] * r[j] for r in d) for j in range(3)] for i in range(3)]
        square, trace = mpmath.fsum(v**2 for row in s for v in row), s[0][0] + s[1][1] + s[2][2]
        fourth = mpmath.fsum(mpmath.fsum(v**2 for v in r) ** 2 for r in d)
        exact = (40 * fourth - square) / (40 * (square - trace**2 / 3))
    fit = lda("y ~ .", as_frame(x, y), **LW)
    assert fit.shrinkage == pytest.approx(float(min(exact, 1)), rel=1e-11)


@pytest.mark.parametrize("g", [0.0, 0.25, 1.0])
def test_a_number_is_scikit_learn_s_shrunk_covariance(g):
    x, y = simulate_rows(60, 4)
    fit = lda("y ~ .", as_frame(x, y), covariance=Shrunk(g), method="mle")
    theirs = ShrunkCovariance(shrinkage=g, assume_centered=True).fit(less_means(x, y))
    np.testing.assert_allclose(fit.cov, theirs.covariance_, rtol=1e-11, atol=1e-12)
    # A number is linear in the covariances, so that their mean of the classes' is the pooled one.
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=g).fit(x, y)
    np.testing.assert_allclose(fit.predict_log_proba(), peer.predict_log_proba(x), rtol=1e-8, atol=1e-9)


def test_automatic_shrinkage_of_scikit_learn_s_lda_is_by_class_and_of_standardized_columns():
    """Columns with a standard deviation of one in each class are where the two conventions meet."""
    x, y = simulate_rows(90, 5)
    for k in range(3):
        class_rows = x[y == k]
        x[y == k] = (class_rows - class_rows.mean(axis=0)) / class_rows.std(axis=0) + k
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, y)
    ours = qda("y ~ .", as_frame(x, y), **LW, method="mle")
    shared = sum(ours.prior[k] * ours.covs[k] for k in ours.classes)
    np.testing.assert_allclose(shared, peer.covariance_, rtol=1e-10, atol=1e-13)


# ---- variances towards their median


def opgen_rhein_strimmer(d, n):
    """The intensity from its definition: variances of variances over squared distances from the median."""
    squares = d**2
    means = squares.sum(axis=0) / n
    variances = n / (n - 1) * means
    noise = n / (n - 1) ** 3 * ((squares - means) ** 2).sum(axis=0)
    return min(1.0, noise.sum() / ((variances - np.median(variances)) ** 2).sum())


@one_in(2, {"n, p": [(60, 4), (24, 57), (40, 2), (30, 7)], "offset": [0.0, 2.0**30]})
def test_strimmer_s_intensity_is_its_definition(n, p, offset):
    x, y = simulate_rows(n, p, seed=2)
    x = np.round(x * 2**20) / 2**20
    distant = as_frame(x + offset, y)
    fit, reference_fit = lda("y ~ .", distant, **STRIMMER), qda("y ~ .", distant, **STRIMMER)
    g = opgen_rhein_strimmer(less_means(x, y), n)
    assert fit.shrinkage == pytest.approx(g, rel=1e-10)
    variances = (less_means(x, y) ** 2).sum(axis=0) / (n - 3)
    expected = (1 - g) * variances + g * np.median(variances)
    np.testing.assert_allclose(np.diag(fit.cov), expected, rtol=1e-10)
    for k in range(3):
        chunk = x[y == k] - x[y == k].mean(axis=0)
        assert reference_fit.shrinkage[k] == pytest.approx(opgen_rhein_strimmer(chunk, len(chunk)), rel=1e-10)
        variances = x[y == k].var(axis=0, ddof=1)
        g = reference_fit.shrinkage[k]
        np.testing.assert_allclose(
            np.diag(reference_fit.covs[k]), (1 - g) * variances + g * np.median(variances), rtol=1e-9
        )


def test_small_units_give_the_same_intensities():
    x, y = simulate_rows(30, 5)
    for options in (LW, STRIMMER):
        reference_fit, tiny = (lda("y ~ .", as_frame(np.ldexp(x, e), y), **options) for e in (0, -400))
        assert not (tiny._fit.estimates.moments.scale == 1).any()
        assert tiny.shrinkage == pytest.approx(reference_fit.shrinkage, rel=1e-12)
        pd.testing.assert_frame_equal(tiny.predict_log_proba(), reference_fit.predict_log_proba(), rtol=1e-9)
        left_out, expected = (f.leave_one_out().iloc[:, 1:].astype(float) for f in (tiny, reference_fit))
        pd.testing.assert_frame_equal(left_out, expected, rtol=1e-8, atol=1e-12)


# ---- leave-one-out


def gaps(scores):
    return scores - scores[:, :1]


@one_in(
    4,
    {
        "verb": [lda, qda],
        "way": WAYS,
        "n, p": [(60, 3), (40, 6), (24, 40), (30, 29)],
        "method": ["moment", "mle"],
    },
)
def test_leave_one_out_equals_the_fit_without_the_row(verb, way, n, p, method):
    x, y = simulate_rows(n, p, seed=n)
    data = as_frame(x, y)
    options = WAYS[way] | {"method": method}
    fit = verb("y ~ .", data, **options)
    # A choice is held; the path says what the choice itself is worth.
    options = options | {"covariance": held_covariance(fit)}
    left_out = discrim.models.evaluation.validation.left_out_scores(fit._fit)
    assert np.isfinite(left_out).all()
    closed = fit._fit.refits.leave_one_out(fit._fit)(x, y.astype(np.intp), None)
    # Without shrinkage, or next to none, the leverage of few rows above p is high, and refits take over.
    if options["covariance"].shrinkage not in (0.0, 0.002) or p > n:
        assert np.isnan(closed[:, 0]).mean() < 0.2
    for row in range(0, n, n // 3):
        without = verb("y ~ .", data.drop(index=row), prior=fit.prior, **options)
        theirs = without._fit.rule(fit.prior.to_numpy()).scores(x[[row]])
        np.testing.assert_allclose(gaps(left_out[[row]]), gaps(theirs), rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@one_in(2, {"verb": [lda, qda], "way": ["loo", "diagonal loo", "ledoit-wolf", "strimmer"]})
def test_a_row_that_is_left_to_a_refit_keeps_the_choice(verb, way):
    """A row that makes up nearly all variance: the closed form has no digits for it."""
    x, y = simulate_rows(30, 3, seed=5)
    x = x / 10
    x[4] += [100, 0, 0]
    data = as_frame(x, y)
    specification = WAYS[way]["covariance"]
    if "loo" in way:
        specification = replace(specification, grid=[0.0, 0.001])
    fit = verb("y ~ .", data, covariance=specification)
    assert np.isnan(fit._fit.refits.leave_one_out(fit._fit)(x, y.astype(np.intp), None)[4]).all()
    without = verb("y ~ .", data.drop(index=4), prior=fit.prior, covariance=held_covariance(fit))
    left_out = discrim.models.evaluation.validation.left_out_scores(fit._fit)[[4]]
    theirs = without._fit.rule(fit.prior.to_numpy()).scores(x[[4]])
    np.testing.assert_allclose(gaps(left_out), gaps(theirs), rtol=1e-8)


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@pytest.mark.slow
@pytest.mark.parametrize("verb", [lda, qda])
@pytest.mark.parametrize("covariance", [Shrunk, Diagonal])
def test_a_row_that_is_nearly_all_variance_has_its_part_in_the_path(verb, covariance):
    x, y = simulate_rows(30, 3, seed=5)
    x[4] += [1e8, 0, 0]
    data = as_frame(x, y)
    fit = verb("y ~ .", data, covariance=covariance("loo", grid=[0.0, 0.3, 1.0]))
    assert fit.covariance_model.path["error"].notna().all()
    for g, error, _ in fit.covariance_model.path.itertuples(index=False):
        wrong = 0
        for row in range(30):
            without = verb("y ~ .", data.drop(index=row), prior=fit.prior, covariance=covariance(g))
            wrong += without.predict(data.iloc[[row]]).iloc[0] != y[row]
        assert error == pytest.approx(wrong / 30, abs=1e-12)


@one_in(2, {"verb": [lda, qda], "covariance": [Shrunk, Diagonal], "n, p": [(45, 4), (27, 50)]})
def test_the_path_is_the_leave_one_out_error_of_each_shrinkage(verb, covariance, n, p):
    x, y = simulate_rows(n, p, seed=4)
    data = as_frame(x, y)
    grid = [0.0, 0.01, 0.2, 0.7, 1.0]
    for prior in (None, [0.2, 0.3, 0.5]):
        fit = verb("y ~ .", data, covariance=covariance("loo", grid=grid), prior=prior)
        assert fit.covariance_model.path["shrinkage"].tolist() == grid
        for g, error, se in fit.covariance_model.path.itertuples(index=False):
            if covariance is Shrunk and g == 0 and p > n:
                assert np.isnan([error, se]).all()
                continue
            fixed_fit = verb("y ~ .", data, covariance=covariance(g), prior=prior)
            rates = fixed_fit.error_rates(["loo"]).iloc[0]
            assert error == pytest.approx(rates["estimate"], abs=1e-12)
            assert se == pytest.approx(rates["se"], abs=1e-12)
        min_error = fit.covariance_model.path["error"].min()
        best = fit.covariance_model.path["shrinkage"][
            fit.covariance_model.path["error"] <= min_error + 1e-12
        ].max()
        assert np.unique(fit.shrinkage).tolist() == [best]


def test_of_equal_errors_the_most_shrunk_is_chosen():
    x, y = simulate_rows(30, 3)
    distant = as_frame(x + 1000.0 * y[:, None], y)
    assert lda("y ~ .", distant, **LOO).shrinkage == 1
    assert (qda("y ~ .", distant, **LOO).shrinkage == 1).all()


@one_in(2, {"way": WAYS, "verb": [lda, qda]})
def test_weights_are_repeated_rows(verb, way):
    x, y = simulate_rows(30, 4, seed=9)
    w = 1 + np.arange(30) % 3
    data = as_frame(x, y)
    weighted = verb("y ~ . - w", data.assign(w=w), weights="w", **WAYS[way])
    repeated = verb("y ~ .", data.loc[data.index.repeat(w)].reset_index(drop=True), **WAYS[way])
    np.testing.assert_allclose(weighted.shrinkage, repeated.shrinkage, rtol=1e-11)
    np.testing.assert_allclose(
        weighted.predict_log_proba(data), repeated.predict_log_proba(data), rtol=1e-9, atol=1e-9
    )
    if "path" in weighted._fit.cache:
        pd.testing.assert_frame_equal(
            weighted.covariance_model.path, repeated.covariance_model.path, rtol=1e-10
        )
    first = np.concatenate([[0], np.cumsum(w)[:-1]])
    ours = weighted.leave_one_out().iloc[:, 1:].astype(float)
    theirs = repeated.leave_one_out().iloc[first, 1:].astype(float)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-12)


@one_in(2, {"way": ["number", "ledoit-wolf", "loo", "strimmer", "diagonal loo"], "verb": [lda, qda]})
def test_folds_choose_anew(verb, way):
    x, y = simulate_rows(48, 5, seed=3)
    data = as_frame(x, y)
    fit = verb("y ~ .", data, **WAYS[way])
    fold_ids = discrim.models.evaluation.validation.assign_folds(fit._fit, 4, 0)
    scores = discrim.models.evaluation.validation.fold_scores(fit._fit, fold_ids, 4)
    for fold in range(4):
        inside = verb("y ~ .", data[fold_ids != fold], prior=fit.prior, **WAYS[way])
        # The prior is held; whether it counts as that of the rows is not for a fold to say.
        theirs = inside._fit.rule(fit.prior.to_numpy()).scores(x[fold_ids == fold])
        np.testing.assert_allclose(gaps(scores[fold_ids == fold]), gaps(theirs), rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@pytest.mark.slow
def test_many_columns_form_no_square_matrix():
    x, y = simulate_rows(36, 2500)
    data = as_frame(x, y)
    for verb in (lda, qda):
        for options in (LOO, LW, WAYS["diagonal loo"]):
            tracemalloc.start()
            fit = verb("y ~ .", data, **options)
            fit.error_rates(["apparent", "loo"])
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2500**2 * 8 / 2, (verb, options)


# ---- files, words, errors


@one_in(2, {"way": WAYS, "verb": [qda, lda]})
def test_a_file_keeps_the_shrinkage_and_how_it_was_chosen(verb, way, tmp_path):
    fit = verb("species ~ .", IRIS, **WAYS[way])
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    assert np.array_equal(loaded.shrinkage, fit.shrinkage)
    pd.testing.assert_frame_equal(loaded.predict_proba(IRIS), fit.predict_proba(), check_exact=True)
    text = fit.summary(["header"]).as_text()
    item_text = text[text.index("Shrinkage") :].split("  ")[0]
    assert item_text in loaded.summary(["header"]).as_text()
    with pytest.raises(NotSupportedError) as caught:
        _ = loaded.covariance_model.path
    assert "path" in str(caught.value)


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("number", "Shrinkage, given"),
        ("ledoit-wolf", "Shrinkage, Ledoit-Wolf"),
        ("loo", "Shrinkage, leave-one-out"),
        ("strimmer", "Shrinkage, Opgen-Rhein & Strimmer"),
    ],
)
def test_the_summary_says_how_the_shrinkage_was_chosen(way, words):
    for verb in (lda, qda):
        fit = verb("species ~ .", IRIS, **WAYS[way])
        assert words in fit.summary().as_text()
        if way == "loo":
            pd.testing.assert_index_equal(fit.summary().tables["path"].columns, pd.Index(["error", "se"]))
            assert "cv" in fit.summary(["header"]).as_text()
    assert lda("species ~ .", IRIS, **WAYS[way]).glance()["shrinkage"].notna().all()


def test_shrunken_variances_have_no_likelihood_and_no_standard_errors():
    for verb in (lda, qda):
        fit = verb("species ~ .", IRIS, **STRIMMER)
        for name in ("llf", "df_model"):
            with pytest.raises(NotSupportedError) as caught:
                getattr(fit, name)
            assert "diagonal" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ .", IRIS, **STRIMMER).log_odds()
    assert "shrunken" in str(caught.value)
    assert "diagonal" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = lda("species ~ .", IRIS, **STRIMMER).covariance_model.path
    assert "path" in str(caught.value)


def test_leave_one_out_cannot_choose_with_a_class_that_is_too_small():
    one, two = IRIS.iloc[:101], IRIS.iloc[:102]
    with pytest.raises(DataError) as caught:
        lda("species ~ .", one, **LOO)
    assert caught.value.classes == ("virginica",)
    with pytest.raises(DataError) as caught:
        qda("species ~ .", two, **LOO)
    assert caught.value.classes == ("virginica",)
    assert 0 <= lda("species ~ .", two, **LOO).shrinkage <= 1
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", one, **LW)
    assert "virginica" in str(caught.value)


def test_zero_shrinkage_leaves_a_singular_covariance_with_an_error():
    x, y = simulate_rows(24, 40)
    wide = as_frame(x, y)
    with pytest.raises(CollinearError) as caught:
        lda("y ~ .", wide, covariance=Shrunk(0))
    assert "too few" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        qda("y ~ .", wide, covariance=Shrunk(0.0))
    assert "too few" in str(caught.value)
    copied = IRIS.assign(copy=IRIS["sepal_length"] * 2)
    with pytest.raises(CollinearError) as caught:
        lda("species ~ .", copied, covariance=Shrunk(0))
    assert caught.value.columns == ("copy",)
    fit = lda("species ~ .", copied, **LOO)
    assert fit.covariance_model.path["error"].isna().tolist() == [True] + [False] * (
        len(fit.covariance_model.path) - 1
    )
    with pytest.raises(DataError) as caught:
        lda("species ~ .", copied, covariance=Shrunk("loo", grid=[0.0]))
    assert "shrinkage" in str(caught.value)
    # Two rows of a class tell nothing of the noise of their covariance.
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", IRIS.iloc[:102], **LW)
    assert "'s shrinkage is 0 in class '" in str(caught.value)


def test_constant_columns_get_the_median_variance_of_the_others():
    data = IRIS.assign(constant=pd.factorize(IRIS["species"])[0])
    fit = lda("species ~ .", data, covariance=Diagonal(0.5))
    assert np.diag(fit.cov).min() > 0
    lda("species ~ .", data, **STRIMMER).leave_one_out()
    maximum = data.assign(**{f"c{j}": data["constant"] for j in range(6)})
    for shrinkage in (0.5, "strimmer", "loo"):
        with pytest.raises(CollinearError) as caught:
            lda("species ~ .", maximum, covariance=Diagonal(shrinkage))
        assert "constant" in str(caught.value)


def test_command_line_supports_shrinkage(capsys):
    from discrim.cli import main

    for typed, message in (
        ("shrunk(0.25)", "0.25"),
        ("shrunk('ledoit-wolf')", "Ledoit-Wolf"),
        ("shrunk('loo', grid=[0.1, 0.5])", "leave-one-out"),
        ("diagonal('strimmer')", "Strimmer"),
    ):
        for verb in ("lda", "qda"):
            assert main([verb, "species ~ .", "iris", "--covariance", typed]) == 0
            assert message in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["lda", "species ~ .", "iris", "--covariance", "shrunk('soft')"])
    assert stop.value.code == 2
    assert "'soft' is not known" in capsys.readouterr().err
