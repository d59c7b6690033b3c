"""More columns than rows: the answers of p x p matrices, without them."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pandas as pd
import pytest

from discrim import lda, load, qda
from discrim.core.covariance.covariance import pooled_covariance
from discrim.core.covariance.principal import ThinCovariance, principal_axes
from discrim.core.covariance.pseudo_inverse import ignored_complement, pseudo_inverse_covariance
from discrim.core.covariance.shrunk import oas_shrinkage, shrunk_covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.datasets import load_iris
from discrim.errors import CollinearError, DiscrimWarning, NotSupportedError

Floats = np.ndarray


@pytest.fixture(scope="module")
def genes() -> pd.DataFrame:
    """Thirty rows of three classes and 80 columns, correlated, far from zero."""
    rng = np.random.default_rng(4)
    codes = np.repeat([0, 1, 2], [8, 10, 12])
    x = (
        rng.normal(size=(30, 80)) @ rng.normal(size=(80, 80)) / 9
        + 0.7 * rng.normal(size=(3, 80))[codes]
        + 50.0
    )
    table = pd.DataFrame(x, columns=[f"g{j}" for j in range(80)])
    table.insert(0, "y", np.array(["a", "b", "c"])[codes])
    return table


def arrays(genes: pd.DataFrame) -> tuple[Floats, Floats]:
    return genes.iloc[:, 1:].to_numpy(), genes["y"].map({"a": 0, "b": 1, "c": 2}).to_numpy().astype(np.intp)


def shrunk_covariances(genes: pd.DataFrame, *, common: bool) -> list[Floats]:
    """Shrunk covariances (p, p) from scikit-learn."""
    from sklearn.covariance import OAS

    x, codes = arrays(genes)
    within = x - np.stack([x[codes == k].mean(axis=0) for k in range(3)])[codes]
    groups = [within] if common else [within[codes == k] for k in range(3)]
    lost = [3] if common else [1, 1, 1]
    return [
        OAS(assume_centered=True).fit(rows).covariance_ * len(rows) / (len(rows) - k)
        for rows, k in zip(groups, lost, strict=True)
    ]


def log_posteriors(x: Floats, means: Floats, covariances: list[Floats], prior: Floats) -> Floats:
    """Log posteriors, by inverses."""
    covariances = covariances * (len(means) if len(covariances) == 1 else 1)
    out = np.empty((len(x), len(means)))
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        gap = x - mean
        distance = np.einsum("ij,ij->i", gap, np.linalg.solve(covariance, gap.T).T)
        out[:, k] = np.log(prior[k]) - 0.5 * (np.linalg.slogdet(covariance)[1] + distance)
    return out - np.logaddexp.reduce(out, axis=1)[:, None]


@pytest.mark.parametrize("verb", [lda, qda])
def test_shrunk_posteriors_equal_posteriors_of_full_matrices(genes: pd.DataFrame, verb: object) -> None:
    fit = verb("y ~ .", genes, covariance="shrunk")
    x, codes = arrays(genes)
    means = np.stack([x[codes == k].mean(axis=0) for k in range(3)])
    rng = np.random.default_rng(1)
    new = pd.DataFrame(x[:9] + rng.normal(size=(9, 80)), columns=genes.columns[1:])
    expected = log_posteriors(
        new.to_numpy(), means, shrunk_covariances(genes, common=verb is lda), np.array([8, 10, 12]) / 30
    )
    np.testing.assert_allclose(fit.predict_log_proba(new), expected, rtol=1e-9, atol=1e-9)
    assert fit._fit.estimates.moments.roots.shape[1] <= 30


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        (lda, {"covariance": "shrunk"}),
        (lda, {"covariance": "nonlinear"}),
        (qda, {"covariance": "shrunk"}),
        (qda, {"covariance": "factor"}),
    ],
)
@pytest.mark.parametrize("method", ["moment", "mle"])
def test_leave_one_out_equals_refits(
    genes: pd.DataFrame, verb: object, options: dict[str, str], method: str
) -> None:
    fit = verb("y ~ .", genes, method=method, **options)
    found = fit.leave_one_out()
    for row in range(0, len(genes), 4):
        again = verb("y ~ .", genes.drop(index=row), prior=fit.prior.to_numpy(), method=method, **options)
        expected = again.predict_log_proba(genes.iloc[[row]]).to_numpy()[0]
        posterior = found.loc[row, list(fit.classes)].to_numpy(dtype=float)
        np.testing.assert_allclose(posterior, np.exp(expected), rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("verb", [lda, qda])
def test_leave_one_out_of_weighted_rows_equals_repeated_rows(genes: pd.DataFrame, verb: object) -> None:
    weights = np.random.default_rng(0).integers(1, 4, size=len(genes))
    weighted = verb("y ~ .", genes.assign(w=weights), covariance="shrunk", weights="w")
    repeated = verb(
        "y ~ .", genes.loc[np.repeat(genes.index, weights)].reset_index(drop=True), covariance="shrunk"
    )
    found = weighted.leave_one_out().iloc[np.repeat(np.arange(len(genes)), weights)]
    columns = list(weighted.classes)
    np.testing.assert_allclose(found[columns], repeated.leave_one_out()[columns], rtol=1e-8, atol=1e-13)


def test_leave_one_out_of_a_single_row_class_equals_a_refit(genes: pd.DataFrame) -> None:
    table = genes.copy()
    table.loc[0, "y"] = "single"
    fit = lda("y ~ .", table, covariance="shrunk")
    found = fit.leave_one_out()
    for row in (0, 5, 29):
        if row == 0:
            assert found.loc[0, "single"] == 0
            continue
        again = lda("y ~ .", table.drop(index=row), prior=fit.prior.to_numpy(), covariance="shrunk")
        expected = again.predict_proba(table.iloc[[row]]).to_numpy()[0]
        np.testing.assert_allclose(
            found.loc[row, list(fit.classes)].to_numpy(dtype=float), expected, rtol=1e-8
        )


@pytest.mark.parametrize(
    ("verb", "structure"),
    [
        *product([lda, qda], ["shrunk", "spherical", "diagonal"]),
        *((lda, covariance) for covariance in ("correlation", "nonlinear")),
        (qda, "factor"),
    ],
)
def test_cross_validation_from_merged_folds_equals_refits(
    genes: pd.DataFrame, verb: object, structure: str
) -> None:
    fit = verb("y ~ .", genes, covariance=structure)
    found = fit.error_rates(["cv"], folds=5, seed=3).loc["cv", "estimate"]
    from discrim.models.evaluation.validation import assign_folds

    dealt = assign_folds(fit._fit, 5, 3)
    wrong = np.zeros(len(genes), dtype=bool)
    for fold in range(5):
        part = verb("y ~ .", genes[dealt != fold], prior=fit.prior.to_numpy(), covariance=structure)
        wrong[dealt == fold] = (
            part.predict(genes[dealt == fold]).to_numpy() != genes["y"][dealt == fold].to_numpy()
        )
    assert found == pytest.approx(wrong.mean(), abs=1e-12)


@pytest.mark.parametrize("spread", ["thin", "thin class"])
def test_merged_thin_moments_equal_moments_of_all_rows(genes: pd.DataFrame, spread: ScatterType) -> None:
    x, codes = arrays(genes)
    whole = ClassMoments.from_block(x, codes, n_classes=3, required_moments=spread)
    parts = [
        ClassMoments.from_block(x[i::3], codes[i::3], n_classes=3, required_moments=spread) for i in range(3)
    ]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    dense = ClassMoments.from_block(
        x, codes, n_classes=3, required_moments="pooled" if spread == "thin" else "class"
    )
    for held in (whole, merged):
        assert held.scatter_type == spread
        assert held.roots is not None
        np.testing.assert_allclose(np.swapaxes(held.roots, 1, 2) @ held.roots, dense.scatters, atol=1e-9)
        np.testing.assert_allclose(held.squares, dense.squares, rtol=1e-12)
        np.testing.assert_allclose(held.class_means, dense.class_means, rtol=1e-14)
    one = merged.as_one_class()
    assert one.roots is not None
    np.testing.assert_allclose(one.roots[0].T @ one.roots[0], dense.as_one_class().scatters[0], atol=1e-9)


def test_a_thin_covariance_is_its_matrix(genes: pd.DataFrame) -> None:
    x, codes = arrays(genes)
    x = x * np.ldexp(1.0, np.random.default_rng(0).integers(-3, 4, size=80))
    moments = ClassMoments.from_block(x, codes, n_classes=3, required_moments="thin")
    covariance, g = shrunk_covariance(moments, 27.0)
    assert isinstance(covariance, ThinCovariance)
    assert g == oas_shrinkage(moments)
    dense = ClassMoments.from_block(x, codes, n_classes=3)
    expected, same = shrunk_covariance(dense, 27.0)
    assert g == pytest.approx(same, rel=1e-12)
    matrix = expected.matrix()
    np.testing.assert_allclose(covariance.matrix(), matrix, atol=1e-12 * np.abs(matrix).max())
    np.testing.assert_allclose(covariance.sd, expected.sd, rtol=1e-12)
    assert covariance.logdet == pytest.approx(expected.logdet, rel=1e-12)
    columns = np.random.default_rng(2).normal(size=(80, 4))
    np.testing.assert_allclose(
        covariance.multiply(columns), matrix @ columns, rtol=1e-9, atol=1e-9 * matrix.max()
    )
    white, theirs = covariance.whiten(columns), expected.whiten(columns)
    np.testing.assert_allclose(white.T @ white, theirs.T @ theirs, rtol=1e-9)
    np.testing.assert_allclose(covariance.unwhiten(white), expected.unwhiten(theirs), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(covariance.precision() @ matrix, np.eye(80), atol=1e-9)
    half = covariance.divided_by(2.0)
    np.testing.assert_allclose(half.matrix(), matrix / 2, atol=1e-12 * np.abs(matrix).max())
    assert half.logdet == pytest.approx(covariance.logdet - 80 * np.log(2), rel=1e-12)


def test_pseudo_inverse_is_numpys(genes: pd.DataFrame) -> None:
    x, codes = arrays(genes)
    dense = ClassMoments.from_block(x, codes, n_classes=3)
    matrix = dense.scatters[0] / 27
    found = pseudo_inverse_covariance(
        ClassMoments.from_block(x, codes, n_classes=3, required_moments="thin"), 27.0
    )
    expected = np.linalg.pinv(matrix, rcond=1e-10, hermitian=True)
    np.testing.assert_allclose(found.precision(), expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(found.matrix(), matrix, atol=1e-10 * np.abs(matrix).max())
    with pytest.warns(DiscrimWarning, match="27 of 80 dimensions"):
        fit = lda("y ~ .", genes, covariance="pinv")
    means = fit.means.to_numpy()
    np.testing.assert_allclose(fit.coef, expected @ means.T, rtol=1e-6, atol=1e-8)


def test_pseudo_inverse_of_collinear_columns_is_that_without_them(genes: pd.DataFrame) -> None:
    few = genes[["y", "g0", "g1", "g2"]]
    plain = lda("y ~ .", few)
    regular = lda("y ~ .", few, covariance="pinv")
    np.testing.assert_allclose(regular.predict_proba(), plain.predict_proba(), rtol=1e-9)
    with pytest.warns(DiscrimWarning, match="3 of 4 dimensions"):
        twice = lda("y ~ .", few.assign(g3=few["g0"] - few["g1"]), covariance="pinv")
    np.testing.assert_allclose(twice.predict_proba(), plain.predict_proba(), rtol=1e-7)
    np.testing.assert_allclose(
        twice.leave_one_out()[["a", "b", "c"]], plain.leave_one_out()[["a", "b", "c"]], rtol=1e-6
    )


def test_principal_axes_of_a_saturated_scatter_reproduce_each_row(genes: pd.DataFrame) -> None:
    x, codes = arrays(genes)
    held = principal_axes(ClassMoments.from_block(x, codes, n_classes=3, required_moments="thin"))
    assert held.is_saturated
    assert held.df == 27
    double = ClassMoments.from_block(
        np.tile(x, (2, 1)), np.tile(codes, 2), n_classes=3, required_moments="thin"
    )
    assert not principal_axes(double).is_saturated


@pytest.mark.slow
@pytest.mark.parametrize("verb", [lda, qda])
def test_no_p_by_p_matrix_is_formed(verb: object) -> None:
    rng = np.random.default_rng(0)
    p, codes = 6000, np.repeat([0, 1], 20)
    table = pd.DataFrame(rng.normal(size=(40, p)) + codes[:, None] * 0.1, columns=[f"g{j}" for j in range(p)])
    table.insert(0, "y", codes)
    tracemalloc.start()
    fit = verb("y ~ .", table, covariance="shrunk")
    fit.leave_one_out()
    fit.error_rates(["cv"], folds=4, seed=1)
    fit.predict_proba()
    fit.summary().as_text()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * p * p


def test_a_saved_wide_fit_predicts_the_same(genes: pd.DataFrame, tmp_path: object) -> None:
    for verb in (lda, qda):
        fit = verb("y ~ .", genes, covariance="shrunk")
        fit.save(tmp_path / "fit")
        again = load(tmp_path / "fit")
        pd.testing.assert_frame_equal(again.predict_proba(genes), fit.predict_proba(genes), check_exact=True)


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.parametrize("columns", [3, 80])
def test_a_saved_pseudo_inverse_predicts_the_same(
    genes: pd.DataFrame, tmp_path: object, columns: int
) -> None:
    fit = lda("y ~ .", genes.iloc[:, : columns + 1], covariance="pinv")
    fit.save(tmp_path / "fit")
    pd.testing.assert_frame_equal(load(tmp_path / "fit").predict_proba(genes), fit.predict_proba(genes))


def test_plain_lda_names_the_ways_out(genes: pd.DataFrame) -> None:
    with pytest.raises(CollinearError) as caught:
        lda("y ~ .", genes)
    assert 'covariance="shrunk"' in str(caught.value)
    assert '"diagonal"' in str(caught.value)
    fit = lda("y ~ .", genes, covariance="shrunk")
    with pytest.raises(NotSupportedError) as caught:
        fit.manova()
    assert "full" in str(caught.value)
    assert "covariance" in str(caught.value)


def test_full_rank_covariances_do_not_depend_on_the_representation(genes: pd.DataFrame) -> None:
    few = genes.iloc[:, :6]
    moments = ClassMoments.from_block(*arrays(few), n_classes=3)
    np.testing.assert_allclose(
        pseudo_inverse_covariance(moments, 27.0).matrix(),
        pooled_covariance(moments, 27.0).matrix(),
        rtol=1e-10,
    )


@pytest.mark.parametrize("structure", ["shrunk", "spherical", "diagonal", "factor"])
def test_hint_for_a_single_row_class_differs_from_the_call(structure: str) -> None:
    data = load_iris().astype({"species": str})
    data.loc[0, "species"] = "alone"
    with pytest.raises(CollinearError) as raised:
        qda("species ~ .", data, covariance=structure)
    assert "'alone'" in str(raised.value)
    assert 'Use lda(covariance="shrunk", collinear="drop")' in str(raised.value)
    assert lda("species ~ .", data, covariance="shrunk", collinear="drop").counts["alone"] == 1


def test_pseudo_inverse_reports_its_rank_and_a_nonnegative_share(tmp_path: object) -> None:
    data = load_iris().assign(twice=lambda d: 2 * d["petal_width"] + d["sepal_width"])
    with pytest.warns(DiscrimWarning, match=r"in 4 of 5 dimensions.* contain 0\.0% of"):
        fit = lda("species ~ .", data, covariance="pinv")
    assert 0 <= ignored_complement(fit._fit.estimates.covariance, fit._fit.estimates.moments)[1] < 1e-20
    fit.save(f"{tmp_path}/fit")
    for held in (fit, load(f"{tmp_path}/fit")):
        assert held.summary().tables["header"]["value"]["Rank of the covariance"] == 4


def test_box_m_of_a_wide_fit_names_its_own_way_out(genes: pd.DataFrame) -> None:
    way_out = "Use fewer columns, or merge such classes with others"
    with pytest.raises(CollinearError, match=way_out) as raised:
        lda("y ~ .", genes, covariance="shrunk").box_m()
    assert "lda()" not in str(raised.value)
    fewer = genes[["y", *genes.columns[1:7]]]
    assert np.isfinite(lda("y ~ .", fewer, covariance="shrunk").box_m().statistic)
