"""Pictures of discriminants and of spreads: what is drawn against what the fit says, and identities."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

import discrim
from discrim.errors import DataError, NotSupportedError
from discrim.inference.manova import between_scatter, roy_critical_value
from discrim.inference.mean_differences import distance_quantiles
from discrim.report.plots.spaces import outline
from tests.pictures import assert_looks_like

mpl.use("Agg")
IRIS, WINE = discrim.datasets.load_iris(), discrim.datasets.load_wine()
LDA, WINES = discrim.lda("species ~ .", IRIS), discrim.lda("cultivar ~ .", WINE)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


PICTURES = {
    "scores": lambda: WINES.plot("scores"),
    "scores-one": lambda: discrim.lda("species ~ .", IRIS[50:].astype({"species": str})).plot(),
    "scores-of-moments": lambda: discrim.lda(moments=discrim.moments("cultivar ~ .", WINE)).plot(),
    "biplot": lambda: WINES.plot("biplot"),
    "structure": lambda: WINES.plot("structure"),
    "scree": lambda: WINES.plot("scree"),
    "ellipses": lambda: LDA.plot("ellipses", columns=("petal_length", "petal_width")),
    "ellipses-centred": lambda: discrim.qda("species ~ .", IRIS).plot("ellipses", centred=True),
    "pairs": lambda: LDA.plot("pairs"),
    "he": lambda: LDA.plot("he"),
    "he-canonical": lambda: WINES.plot("he", axes=("LD1", "LD2")),
    "qq": lambda: discrim.qda("species ~ .", IRIS).plot("qq"),
    "simplex": lambda: LDA.plot("simplex"),
}


SIMILAR = {"scores-one", "scores-of-moments", "ellipses-centred", "he-canonical"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] * (name in SIMILAR)) for name in PICTURES]
)
def test_pictures_equal_their_references(name):
    assert_looks_like(PICTURES[name](), name)


def test_axis_labels_show_the_proportion_of_between_class_variance():
    axes = WINES.plot("scores", axes=("LD2", "LD1"))
    assert axes.get_xlabel().startswith(f"LD2 ({100 * WINES.explained['LD2']:.1f} %")
    assert axes.get_ylabel() == f"LD1 ({100 * WINES.explained['LD1']:.1f} %)"


@pytest.mark.parametrize("axes", [("LD1", "LD9"), ("LD1", "LD1"), ("LD1", "LD2", "LD1")])
def test_axes_that_are_not_there_are_refused(axes):
    with pytest.raises(DataError) as caught:
        WINES.plot("scores", axes=axes)
    assert "LD2" in str(caught.value)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.95])
def test_outlines_contain_the_stated_proportion_of_a_normal_class(level):
    covariance = np.array([[4.0, 1e-3], [1e-3, 1e-6]])
    radius = np.sqrt(stats.chi2.ppf(level, 2))
    points = outline(np.array([7.0, -1.0]), covariance, radius) - [7.0, -1.0]
    squared = np.einsum("ij,jk,ik->i", points, np.linalg.inv(covariance), points)
    assert squared == pytest.approx(np.full(len(points), radius**2), rel=1e-9)


@pytest.mark.parametrize("covariance", [np.zeros((2, 2)), np.ones((2, 2)), np.diag([1.0, 0.0])])
def test_an_outline_of_less_than_full_rank_is_flat(covariance):
    points = outline(np.zeros(2), covariance, 1.0)
    assert np.isfinite(points).all()
    assert np.linalg.matrix_rank(points, tol=1e-9) <= np.linalg.matrix_rank(covariance)


@pytest.mark.parametrize("shift", [0.0, 0.35, 0.8, 3.0])
def test_hypothesis_ellipse_exceeds_the_error_if_roy_s_test_rejects(shift):
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1, 2], 12)
    x = rng.standard_normal((36, 2)) + shift * np.array([[0, 0], [1, 0], [0, 1]])[codes]
    means = np.array([x[codes == k].mean(axis=0) for k in range(3)])
    within = sum(np.cov(x[codes == k].T) * 11 for k in range(3))
    between = between_scatter(means, np.array([12.0, 12.0, 12.0]))
    critical = roy_critical_value(2, 3, 36)
    largest = np.linalg.eigvals(np.linalg.solve(within, between)).real.max()
    hypothesis, error = between / (critical * 33), within / 33
    turns = np.linspace(0, np.pi, 2000)
    along = np.column_stack([np.cos(turns), np.sin(turns)])
    beyond = np.einsum("ij,jk,ik->i", along, hypothesis - error, along).max() > 0
    assert beyond == (largest > critical)


def test_roy_s_value_is_exact_with_two_classes():
    # One root: F = (v - p + 1)/p root, on p and v - p + 1 degrees of freedom.
    assert roy_critical_value(3, 2, 20) == pytest.approx(3 / 16 * stats.f.isf(0.05, 3, 16), rel=1e-14)
    assert np.isnan(roy_critical_value(5, 3, 6))


@pytest.mark.slow
def test_structure_bars_are_the_correlations():
    outer = WINES.plot("structure", structure="total")
    expected = WINES.canonical().structure("total")
    names = [label.get_text() for label in outer.child_axes[0].get_yticklabels()]
    for panel, name in zip(outer.child_axes, expected, strict=True):
        assert [bar.get_width() for bar in panel.patches] == expected.loc[names, name].tolist()
        message = [float(text.get_text().replace("\u2212", "-")) for text in panel.texts]
        assert message == pytest.approx(expected.loc[names, name], abs=0.00501)
    # In the order of the discriminant with which they correlate most, and of that correlation.
    sizes = expected.abs().loc[names]
    most = sizes.to_numpy().argmax(axis=1)
    assert sorted(expected.index) == sorted(names)
    assert (np.diff(most) >= 0).all()
    assert all((np.diff(sizes.max(axis=1)[most == j]) <= 0).all() for j in (0, 1))
    assert "of 2" not in outer.get_title()
    assert WINES.plot("structure", axes="LD2").get_title().replace("\n", " ").endswith("1 of 2 discriminants")


@pytest.mark.parametrize("kind", ["structure", "scree"])
@pytest.mark.parametrize("option", [{"colors": "viridis"}, {"data": WINE}])
def test_bars_of_discriminants_have_neither_colours_of_classes_nor_rows(kind, option):
    with pytest.raises(NotSupportedError) as caught:
        WINES.plot(kind, **option)
    assert "kind=" in str(caught.value)


def test_scree_bars_are_the_shares():
    bars = WINES.plot("scree").patches
    assert [bar.get_height() for bar in bars] == pytest.approx(100 * WINES.explained.to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("fitted", [False, True])
def test_squared_distances_follow_the_drawn_distribution(fitted):
    rng = np.random.default_rng(8)
    p, sizes, found = 2, (5, 7), []
    for _ in range(4000):
        rows = [rng.standard_normal((n, p)) for n in sizes]
        gaps = [x - x.mean(axis=0) for x in rows]
        pooled = sum(gap.T @ gap for gap in gaps) / (sum(sizes) - 2)
        gap = gaps[0][0] if not fitted else rng.standard_normal(p) - rows[0].mean(axis=0)
        found.append(gap @ np.linalg.solve(pooled, gap))
    table = distance_quantiles(np.zeros(5), p, 10.0, n_fitted=5.0 if fitted else None)
    at = np.searchsorted(np.sort(found), table["quantile"]) / len(found)
    assert at == pytest.approx((np.arange(5) + 0.5) / 5, abs=0.025)


def test_a_simplex_needs_three_classes():
    two = discrim.lda("species ~ .", IRIS[50:].astype({"species": str}))
    with pytest.raises(NotSupportedError) as caught:
        two.plot("simplex")
    assert "posteriors" in str(caught.value)
    with pytest.raises(DataError) as caught:
        LDA.plot("simplex", classes=["setosa"])
    assert "three" in str(caught.value)
    assert "different" in str(caught.value)


@pytest.mark.parametrize(
    "kind", ["scores", "biplot", "ellipses", pytest.param("pairs", marks=pytest.mark.slow), "qq", "simplex"]
)
def test_new_rows_replace_the_rows_of_the_fit(kind):
    with plt.style.context("dark_background"):
        axes = LDA.plot(kind, data=IRIS.iloc[::25])
    points = [len(drawn.get_offsets()) for panel in (axes, *axes.child_axes) for drawn in panel.collections]
    # Two new rows of each class, and the means of three classes. The fit has fifty rows of each class.
    assert 2 in points
    assert max(points) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "biplot", "structure", "scree", "ellipses", "pairs", "he"])
def test_fits_to_moments_draw_plots_without_rows(kind):
    fit = discrim.lda(moments=discrim.moments("cultivar ~ .", WINE))
    assert fit.plot(kind).figure is not None
    with pytest.raises(NotSupportedError) as caught:
        fit.plot("qq")
    assert "data=" in str(caught.value)


def test_canonical_axes_are_drawn_with_the_options_of_plot():
    axes = WINES.canonical().plot("total", axes=("LD2", "LD1"), data=WINE[::3], title="Wines")
    assert axes.get_title() == "Wines"
    assert axes.get_xlabel().startswith("LD2")


def test_new_rows_that_a_kind_cannot_draw_are_refused():
    robust = discrim.lda("species ~ .", IRIS[50:].astype({"species": str}), covariance="t")
    with pytest.raises(NotSupportedError) as caught:
        robust.plot("distances", data=IRIS)
    assert "data=" in str(caught.value)


@pytest.mark.slow
def test_outlines_of_mixtures_show_their_classes():
    """The covariance of a mixture that EM fitted is that of the rows, with divisor n."""
    fit = discrim.mixture("species ~ .", data=IRIS, components=2, covariance="VVV")
    lower = fit.plot("pairs", columns=["sepal_length", "petal_width"]).child_axes[2]
    radius = np.sqrt(stats.chi2.ppf(0.68, 2))
    for line, (_, rows) in zip(lower.lines, IRIS.groupby("species", observed=True), strict=True):
        expected = rows[["sepal_length", "petal_width"]]
        reach = (line.get_xydata().max(axis=0) - line.get_xydata().min(axis=0)) / 2
        np.testing.assert_allclose(reach, radius * expected.std(ddof=0), rtol=2e-3)


@pytest.mark.slow
def test_a_biplot_has_as_many_arrows_as_its_height_has_lines_for():
    fit = discrim.lda("diagnosis ~ .", discrim.datasets.load_breast_cancer())
    named = {}
    for size in ((3.35, 2.6), (6.4, 4.8), (11.0, 8.0)):
        with plt.rc_context({"figure.figsize": size}):
            axes = fit.plot("biplot")
        named[size] = sum(bool(text.get_text()) for text in axes.texts)
        assert f"the {named[size]} longest of 30" in axes.get_title().replace("\n", " ")
        plt.close("all")
    assert list(named.values()) == sorted(named.values())
    assert 3 <= named[3.35, 2.6] < named[6.4, 4.8] <= named[11.0, 8.0] == 20
