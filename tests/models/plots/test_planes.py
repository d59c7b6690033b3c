"""Planes of columns and of discriminants: borders are where the rule ties, colours are what it predicts."""

from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.linear_model import LinearRegression

import discrim
from discrim.errors import DataError, NotSupportedError
from discrim.models.plots.plottable import (
    PlotOptions,
    default_plot,
    describe_selection,
    select_separating_columns,
)
from discrim.models.registry import MODELS
from discrim.report.plots.planes import PlaneRows, find_regions
from tests.pictures import assert_looks_like

# Each test draws pictures.
pytestmark = pytest.mark.slow

mpl.use("Agg")
IRIS = discrim.datasets.load_iris()
PLANE = ["petal_length", "sepal_width"]
MEANS = IRIS.drop(columns="species").mean()


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    plt.close("all")


def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return IRIS.assign(g=rng.choice(["u", "v"], 150, p=[0.7, 0.3]), b=rng.random(150) < 0.4)


def colours_of(axes, x, y):
    """Red, green and blue of the regions at places."""
    image = axes.images[0]
    left, right, low, top = image.get_extent()
    shades = np.asarray(image.get_array())
    high, wide = shades.shape[:2]
    column = np.clip(((x - left) / (right - left) * wide).astype(int), 0, wide - 1)
    row = np.clip(((y - low) / (top - low) * high).astype(int), 0, high - 1)
    return shades[row, column, :3]


def called_at(axes, fit, x, y):
    """Classes whose colours the picture shows at places."""
    inks = np.array([mpl.colors.to_rgb(c) for c in ("#0072B2", "#D55E00", "#009E73")])[: len(fit.classes)]
    return fit.classes.to_numpy()[cdist(colours_of(axes, x, y), inks).argmin(axis=1)]


FITS = {
    "plain": lambda: discrim.qda("species ~ petal_length + sepal_width", IRIS),
    "transform": lambda: discrim.qda("species ~ log(petal_length) + sepal_width", IRIS),
    "levels": lambda: discrim.lda("species ~ petal_length + sepal_width + C(g)", mixed()),
    "truths": lambda: discrim.rda("species ~ petal_length + sepal_width + b", mixed(), alpha=0.5, gamma=0.1),
    "others": lambda: discrim.lda("species ~ .", IRIS),
    "knn": lambda: discrim.knn("species ~ petal_length + sepal_width", IRIS, k=5),
    "follow": lambda: discrim.knn(
        "species ~ petal_length + sepal_width + sepal_length + C(g)", mixed(), k=15
    ),
    "values": lambda: discrim.indicator("species ~ petal_length * sepal_width", IRIS),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.exhaustive] * (name in ("transform", "truths", "values")))
        for name in FITS
    ],
)
def test_colours_show_predictions_and_borders_their_changes(name):
    fit = FITS[name]()
    axes = fit.plot("regions", columns=PLANE)
    data = mixed()
    others = [column for column in fit._fit.design_rows.design.columns if column not in PLANE]
    # Of a model with densities they are integrated out; else numbers follow by least squares.
    removed = {"missing": "integrate"} if others and name != "follow" else {}
    ones = np.column_stack([np.ones(150), IRIS[PLANE]])
    line = np.linalg.lstsq(ones, IRIS["sepal_length"], rcond=None)[0]
    rng = np.random.default_rng(1)
    (left, right), (low, top) = axes.get_xlim(), axes.get_ylim()
    x, y = rng.uniform(left, right, 2000), rng.uniform(low, top, 2000)

    def predicted(x, y):
        points = pd.DataFrame({PLANE[0]: x, PLANE[1]: y})
        for column in others:
            points[column] = None if data[column].dtype == object or data[column].dtype == "str" else np.nan
        if name == "follow":
            length = line[0] + line[1] * x + line[2] * y
            points["sepal_length"] = np.clip(length, data["sepal_length"].min(), data["sepal_length"].max())
            points["g"] = data["g"].mode()[0]
        return fit.predict(points, **removed)

    assert (called_at(axes, fit, x, y) == predicted(x, y).astype(str)).mean() > 0.995
    ends = np.concatenate(axes.collections[0].get_segments())
    assert len(ends) > 50
    eps = 2e-3
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    around = [
        predicted(ends[:, 0] + eps * (right - left) * a, ends[:, 1] + eps * (top - low) * b).astype(str)
        for a, b in zip(np.cos(turn), np.sin(turn), strict=True)
    ]
    several = pd.DataFrame(dict(enumerate(around))).nunique(axis=1) > 1
    assert several.mean() > 0.99


def test_the_two_best_scores_tie_along_a_border():
    fit = discrim.qda("species ~ petal_length + sepal_width", IRIS)
    axes = fit.plot("regions")
    segments = np.array(axes.collections[0].get_segments())
    positions = segments.reshape(-1, 2)
    scores = np.sort(fit.decision_function(pd.DataFrame(positions, columns=PLANE)).to_numpy(), axis=1)
    gap = scores[:, -1] - scores[:, -2]
    # Of more than a hundred thousand halvings of a cell's side no more is left; the few others are corners.
    assert np.quantile(gap, 0.98) < 1e-3
    assert np.hypot(*np.diff(segments, axis=1)[:, 0].T).max() < 0.1


def test_a_circle_is_round():
    at = np.linspace(-1.5, 1.5, 40)
    found = find_regions(lambda p: (np.hypot(*p.T) < 1).astype(int), at, at)
    np.testing.assert_allclose(np.hypot(*found.segments.reshape(-1, 2).T), 1, atol=1e-5)
    lengths = np.hypot(*np.diff(found.segments, axis=1)[:, 0].T)
    assert lengths.sum() == pytest.approx(2 * np.pi, rel=2e-3)
    assert (found.cell_codes == 1).mean() == pytest.approx(np.pi / 9, rel=0.01)


def test_the_rule_is_applied_near_borders_only():
    at = np.linspace(-1.5, 1.5, 110)
    applied = []

    def in_rings(p: np.ndarray) -> np.ndarray:
        applied.append(len(p))
        # A disc inside a ring, a border along the first column, and nothing (-1) in a corner.
        radius = np.hypot(*p.T)
        codes = (radius < 1).astype(int) + (radius < 0.2)
        codes[p[:, 0] == -1.5] = 3
        codes[(p > 1.2).all(axis=1)] = -1
        return codes

    grid = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    expected = in_rings(grid).reshape(110, 110)
    applied.clear()
    found = find_regions(in_rings, at, at)
    np.testing.assert_array_equal(found.codes, expected)
    assert sum(applied[:2]) < len(grid) / 2


def test_a_region_smaller_than_the_first_grid_is_found_around_its_rows():
    at = np.linspace(0, 1, 110)
    centres = np.random.default_rng(0).uniform(0.05, 0.95, (30, 2))
    for centre in centres:
        # A disc that contains about five points of the grid, in the region of another class, or of none.
        for other in (0, -1):

            def in_disc(p: np.ndarray, centre: np.ndarray = centre, other: int = other) -> np.ndarray:
                return np.where(np.hypot(*(p - centre).T) < 0.012, 1, other)

            others = np.array([[0.5, np.nan], [7.0, 0.2], [0.31, 0.3], [0.3, 0.3]])
            rows = PlaneRows(np.vstack([others, centre]), np.array([0, 0, 0, 1, 1]))
            found = find_regions(in_disc, at, at, rows)
            grid = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
            np.testing.assert_array_equal(found.codes.ravel(), in_disc(grid))


@pytest.mark.parametrize("size", range(2, 12))
def test_regions_are_found_on_grids_of_any_size(size: int):
    at = np.linspace(0, 1, size)
    found = find_regions(lambda p: (p[:, 0] + 2 * p[:, 1] > 0.9).astype(int), at, at)
    np.testing.assert_array_equal(found.codes, at + 2 * at[:, None] > 0.9)


@pytest.mark.slow
def test_invalid_values_of_at_are_refused():
    fit = discrim.lda("species ~ petal_length + sepal_width + sepal_length + C(g)", mixed())
    title = fit.plot("regions", columns=PLANE, at={"sepal_length": 7.5, "g": "v"}).get_title()
    assert "sepal_length = 7.5" in title
    assert "g = v" in title
    assert "others integrated out" in fit.plot("regions", columns=PLANE).get_title()
    near = discrim.knn("species ~ petal_length + sepal_width + sepal_length + C(g)", mixed(), k=5)
    usual = near.plot("regions", columns=PLANE).get_title()
    assert "sepal_length regressed on these" in usual
    assert "g = u" in usual
    rest = [column for column in MEANS.index if column not in PLANE]
    axes = discrim.lda("species ~ .", IRIS).plot("regions", columns=PLANE, at=MEANS[rest])
    assert "sepal_length = 5.843" in axes.get_title()
    x, y = np.random.default_rng(0).uniform(*np.transpose([axes.get_xlim(), axes.get_ylim()]), (500, 2)).T
    table = pd.DataFrame({PLANE[0]: x, PLANE[1]: y} | {name: MEANS[name] for name in rest})
    expected = discrim.lda("species ~ .", IRIS).predict(table)
    assert (called_at(axes, discrim.lda("species ~ .", IRIS), x, y) == expected.astype(str)).mean() > 0.99
    with pytest.raises(DataError) as caught:
        fit.plot("regions", columns=PLANE, at={"z": 1})
    assert caught.value.columns == ("z",)
    with pytest.raises(DataError) as caught:
        fit.plot("regions", columns=PLANE, at={"petal_length": 1})
    assert caught.value.columns == ("petal_length",)
    with pytest.raises(DataError) as caught:
        fit.plot("regions", columns=["petal_length", "g"])
    assert caught.value.columns == ("g",)


@pytest.mark.parametrize(
    ("verb", "right"),
    [
        (discrim.qda, "log(petal_length) + sepal_width"),
        (discrim.lda, "petal_length + I(petal_length**2)"),
    ],
)
def test_every_default_is_drawn(verb, right):
    fit = verb(f"species ~ {right}", IRIS)
    default, named = fit.plot(), fit.plot("regions")
    assert default.has_data()
    assert named.has_data()
    if verb is discrim.qda:
        # Of two columns, the regions are the default.
        assert default.get_title() == named.get_title()
        assert [default.get_xlabel(), default.get_ylabel()] == ["petal_length", "sepal_width"]


@pytest.mark.slow
def test_a_fit_without_rows_has_its_range_from_moments(tmp_path):
    fit = discrim.qda("species ~ petal_length + sepal_width", IRIS)
    fit.save(tmp_path / "fit")
    axes = discrim.load(tmp_path / "fit").plot("regions")
    assert axes.get_xlim()[0] < IRIS["petal_length"].min()
    assert axes.get_xlim()[1] > IRIS["petal_length"].max()
    assert discrim.lda("species ~ .", moments=None, data=IRIS).plot("territory").has_data()
    held = discrim.load(tmp_path / "fit").plot("regions", data=IRIS)
    assert sum(len(c.get_offsets()) for c in held.collections[1:]) == 150
    log = discrim.qda("species ~ log(petal_length) + sepal_width", IRIS)
    log.save(tmp_path / "log")
    with pytest.raises(NotSupportedError, match=r"'petal_length'.*unknown"):
        discrim.load(tmp_path / "log").plot("regions")


@pytest.mark.parametrize(
    ("prior", "options"),
    [([0.7, 0.2, 0.1], {}), (None, {"method": "mle"}), (None, {"covariance": "diagonal"})],
)
def test_territory_of_two_discriminants_matches_the_rule(prior, options):
    fit = discrim.lda("species ~ .", IRIS, prior=prior, **options)
    axes = fit.plot("territory")
    scores = fit.transform()
    agree = called_at(axes, fit, *scores.to_numpy().T) == fit.predict().astype(str)
    assert agree.mean() > 0.98
    shown = {text.get_text(): text.xy for text in axes.texts if text.get_text()}
    np.testing.assert_allclose([shown[c] for c in fit.classes], fit._centroids().to_numpy())


def hollow(axes):
    """Places of the rows that are drawn with nothing in them."""
    white = [c for c in axes.collections if len(c.get_facecolor()) and (c.get_facecolor() == 1).all()]
    return np.vstack([c.get_offsets() for c in white])


@pytest.mark.slow
def test_a_partition_has_the_errors_of_fits_to_two_columns():
    fit = discrim.qda("species ~ .", IRIS)
    outer = fit.plot("partition", columns=["petal_width", "sepal_length", "petal_length"])
    assert len(outer.child_axes) == 3
    for axes in outer.child_axes:
        across, up = axes.get_xlim(), axes.get_ylim()
        pair = [
            next(c for c in IRIS.columns[:4] if np.isclose(span, _wide(IRIS[c])).all())
            for span in (across, up)
        ]
        alone = discrim.qda(f"species ~ {pair[0]} + {pair[1]}", IRIS)
        rate = (alone.predict() != IRIS["species"]).mean()
        assert axes.get_title() == f"error rate {rate:.3f}"
        wrong = IRIS.loc[(alone.predict() != IRIS["species"]).to_numpy(), pair].to_numpy()
        # Class by class, as the rows of the table are.
        np.testing.assert_allclose(hollow(axes), wrong)


@pytest.mark.slow
def test_partition_panels_without_a_fit_state_it():
    fit = discrim.logistic("species ~ .", IRIS, bias_reduction=True)
    assert len(fit.plot("partition", columns=list(IRIS.columns[:3])).child_axes) == 3


def _wide(values):
    low, high = values.min(), values.max()
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def test_regions_of_a_known_distribution_show_the_bayes_rule():
    laws = {
        "a": stats.multivariate_normal([0, 0, 0]),
        "b": stats.multivariate_normal([2, 1, 0], 2 * np.eye(3)),
    }
    distribution = discrim.bayes({"a": 0.6, "b": 0.4}, laws)
    axes = distribution.plot("regions", columns=["x1", "x3"], at={"x2": 0.5})
    assert "x2 = 0.5" in axes.get_title()
    x, y = np.random.default_rng(0).uniform(*np.transpose([axes.get_xlim(), axes.get_ylim()]), (500, 2)).T
    expected = distribution.predict(pd.DataFrame({"x1": x, "x2": 0.5, "x3": y}))
    assert (called_at(axes, distribution, x, y) == expected.to_numpy()).mean() > 0.99


@pytest.mark.slow
def test_a_matrix_of_regions_has_a_panel_for_each_pair():
    fit = discrim.lda("species ~ .", IRIS)
    outer = fit.plot("regions", columns=list(IRIS.columns[:4]))
    assert len(outer.child_axes) == 6
    figure, given = plt.subplots(2, 2)
    assert fit.plot("regions", given[0, 1], columns=list(IRIS.columns[:3])) is given[0, 1]
    assert fit.plot("partition", given[1, 1]) is given[1, 1]
    figure.canvas.draw()


@pytest.mark.slow
def test_labels_do_not_lie_on_each_other():
    rng = np.random.default_rng(0)
    y = np.repeat([f"class {j}" for j in range(26)], 12)
    x = rng.standard_normal((len(y), 5)) + np.repeat(rng.standard_normal((26, 5)), 12, axis=0)
    axes = discrim.lda("y ~ .", pd.DataFrame(x, columns=list("abcde")).assign(y=y)).plot("territory")
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert len(boxes) == 26
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


TABLES = {
    "iris": (IRIS, "species", ("sepal_width", "petal_length")),
    "wine": (discrim.datasets.load_wine(), "cultivar", ("od280_od315", "proline")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", pytest.param("wine", marks=pytest.mark.exhaustive)])
def test_drawn_pair_has_the_smallest_lambda(name):
    table, response, known = TABLES[name]
    columns = table.columns.drop(response)
    best = min(combinations(columns, 2), key=lambda pair: lambda_of(table[list(pair)], table[response]))
    assert best == known
    formula = f"{response} ~ ."
    linear, quadratic = discrim.lda(formula, table), discrim.qda(formula, table)
    loaded = discrim.qda(moments=discrim.moments(formula, table))
    for fit, kind in [(linear, "he"), (linear, "ellipses"), (quadratic, None), (loaded, None)]:
        axes = fit.plot(kind)
        assert (axes.get_xlabel(), axes.get_ylabel()) == best
        pairs = len(columns) * (len(columns) - 1) // 2
        assert f"pair of largest F of {pairs}" in axes.get_title().replace("\n", " ")
    assert "largest F" not in quadratic.plot(columns=best).get_title()


def test_pairs_of_many_columns_are_chosen_among_the_best_single_columns():
    """Two columns that are about the same but for what differs between the classes tell most, together."""
    rng = np.random.default_rng(3)
    codes = np.arange(80) % 2
    x = rng.normal(size=(80, 305))
    x[:, 200] += 1.5 * codes
    x[:, 300] = x[:, 200] + 0.1 * rng.normal(size=80) - 0.5 * codes
    x[:, 7] += 1.6 * codes
    names = [f"g{j}" for j in range(305)]
    table = pd.DataFrame(x, columns=names).assign(y=np.array(["a", "b"])[codes])
    fit, options = discrim.naive_bayes("y ~ .", table), PlotOptions()
    assert select_separating_columns(fit._fit, options, names) == ["g200", "g300"]
    assert describe_selection(options, 305) == "pair of largest F of 60 columns of largest F"


def test_outlines_of_densities_of_many_classes_are_small():
    codes = np.arange(120) % 8
    x = np.random.default_rng(0).normal(size=(120, 2)) + 4 * np.column_stack([codes % 3, codes // 3])
    table = pd.DataFrame(x, columns=["u", "v"]).assign(y=[f"c{k}" for k in codes])
    assert "20 % of each density" in discrim.naive_bayes("y ~ .", table).plot("regions").get_title()


def lambda_of(x, classes):
    gaps = x - x.groupby(classes, observed=True).transform("mean")
    return np.linalg.det(gaps.T @ gaps) / np.linalg.det((x - x.mean()).T @ (x - x.mean()))


def test_regions_of_a_known_distribution_use_the_best_pair():
    laws = {
        "a": stats.multivariate_normal([0, 0, 0, 0]),
        "b": stats.multivariate_normal([0, 0.5, 3, 1]),
        "c": stats.multivariate_normal([0, 1, -1, 4]),
    }
    distribution = discrim.bayes({"a": 0.3, "b": 0.4, "c": 0.3}, laws)
    rows = distribution.sample(400, seed=0)
    pairs = combinations(distribution.columns, 2)
    least = min(pairs, key=lambda pair: lambda_of(rows[list(pair)], rows[distribution.classes.name]))
    axes = distribution.plot("regions")
    assert (axes.get_xlabel(), axes.get_ylabel()) == least
    assert "pair of largest F of 6" in axes.get_title()
    free = distribution.plot("regions", at={least[0]: 0.0})
    assert least[0] not in (free.get_xlabel(), free.get_ylabel())
    assert "pair of largest F of 3" in free.get_title()


PLANE_OPTIONS = {
    "fda": {"engine": LinearRegression()},
    "logistic": {"bias_reduction": True},
    "pls": {"ncomp": 2},
    "rda": {"alpha": 0.5, "gamma": 0.1},
    "penalized_logistic": {"penalty": "ridge"},
    "sparse_lda": {"penalty": 0.1},
    "shrunken_centroids": {"threshold": 0.5},
    "kernel_density": {"bandwidth": 0.7},
    "kernel_lda": {"kernel": "gaussian", "width": 2.0, "ridge": 0.1},
}


@pytest.mark.parametrize("model", [model for model in MODELS if model.verb != "bayes"], ids=lambda m: m.name)
def test_the_default_plot_of_two_numeric_columns_is_regions(model):
    is_binary = model.verb in ("hyperplane", "perceptron")
    table = IRIS[:100:4].astype({"species": str}) if is_binary else IRIS[::4]
    options = PLANE_OPTIONS.get(model.name, {})
    fit = getattr(discrim, model.verb)("species ~ petal_length + petal_width", table, **options)
    assert default_plot((fit, fit._subject()), fit._spec.plots(), PlotOptions()).kind == "regions"


DEFAULTS = {
    "qda": {},
    "rda": {"alpha": 0.5, "gamma": 0.1},
    "naive_bayes": {},
    "nearest_centroid": {},
    "kernel_density": {"bandwidth": 0.7},
    "mixture": {"components": 2},
    "knn": {"k": 5},
    "logistic": {},
}


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(verb, marks=[pytest.mark.exhaustive] * (verb in ("rda", "kernel_density", "mixture")))
        for verb in DEFAULTS
    ],
)
def test_default_plot_is_regions_with_outlines(verb):
    two = IRIS[50:].astype({"species": str})
    fit = getattr(discrim, verb)("species ~ .", two, **DEFAULTS[verb])
    axes = fit.plot()
    pair = [axes.get_xlabel(), axes.get_ylabel()]
    if verb == "knn":
        assert not axes.lines
        return
    if verb == "logistic":
        lines = [c for c in axes.collections if hasattr(c, "levels")]
        assert [c.levels.tolist() for c in lines] == [[0.9], [0.9]]
        return
    if verb in ("kernel_density", "naive_bayes"):
        # The line of a class has one density all along, and more than half of its rows within.
        for code, contours in enumerate(c for c in axes.collections if hasattr(c, "levels")):
            ends = np.vstack([path.vertices for path in contours.get_paths()])
            points = pd.DataFrame(ends, columns=pair).reindex(columns=IRIS.columns[:4])
            prior = [0.5, 0.5]
            odds = fit.predict_log_proba(points, missing="integrate", prior=prior)
            assert len(odds) > 20
            assert np.isfinite(odds.iloc[:, code]).all()
        if verb == "naive_bayes":
            z = (points[pair] - fit.means[pair].iloc[1]) / fit.sds[pair].iloc[1]
            assert (z**2).sum(axis=1).to_numpy() == pytest.approx(stats.chi2.ppf(0.68, 2), rel=0.03)
        return
    means = fit.component_means if verb == "mixture" else fit.means
    marks = np.array([line.get_xydata()[0] for line in axes.lines if len(line.get_xdata()) == 1])
    np.testing.assert_allclose(marks, means[pair].to_numpy())
    rings = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) > 2]
    covs = {} if verb == "nearest_centroid" else fit.covs
    assert len(rings) == len(covs)
    for ring, mean, shape in zip(rings, means[pair].to_numpy()[: len(rings)], covs.values(), strict=True):
        gaps = ring - mean
        squared = np.einsum("ij,ji->i", gaps, np.linalg.solve(shape.loc[pair, pair], gaps.T))
        assert squared == pytest.approx(stats.chi2.ppf(0.68, 2), rel=1e-9)


def test_a_default_of_levels_only_and_of_one_column():
    table = mixed().assign(h=lambda t: np.where(t["sepal_length"] > 5.8, "long", "short"))
    assert (
        discrim.naive_bayes("species ~ g + h", table, laplace=1).plot().get_title().startswith("Levels of g")
    )
    assert discrim.lda("species ~ C(g) + C(h)", table).plot().has_data()
    assert discrim.qda("species ~ petal_length", IRIS).plot().get_xlabel() == "petal_length"
    line = discrim.naive_bayes("species ~ petal_length + g", table).plot()
    assert "g integrated out" in line.get_title()


@pytest.mark.slow
def test_a_default_of_loaded_fits(tmp_path):
    for verb, right, label in [
        ("qda", ".", "sepal_width"),
        ("naive_bayes", ".", "petal_length"),
        ("logistic", ".", "sepal_width"),
        ("logistic", "log(petal_length) + petal_width", "Log odds"),
    ]:
        two = IRIS[50:].astype({"species": str})
        getattr(discrim, verb)(f"species ~ {right}", two).save(tmp_path / "fit")
        assert discrim.load(tmp_path / "fit").plot().get_xlabel().startswith(label)


@pytest.mark.slow
def test_hundreds_of_columns_have_a_pair():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    x = rng.standard_normal((60, 400))
    x[:, 77] += 4 * (y == 1)
    x[:, 205] += 4 * (y == 2)
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(400)]).assign(y=y)
    axes = discrim.nearest_centroid("y ~ .", table).plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x77", "x205")


BASELINES = {
    "regions": lambda: discrim.qda("species ~ petal_length + sepal_width", IRIS).plot(),
    "regions_held": lambda: discrim.lda("species ~ .", IRIS).plot("regions", columns=PLANE),
    "regions_matrix": lambda: discrim.qda("species ~ .", IRIS).plot(
        "regions", columns=list(IRIS.columns[:3])
    ),
    "regions_line": lambda: discrim.qda("species ~ petal_length", IRIS).plot("regions"),
    "partition": lambda: discrim.lda("species ~ .", IRIS).plot("partition"),
    "territory": lambda: discrim.lda("species ~ .", IRIS).plot("territory"),
    "margin": lambda: discrim.hyperplane(
        "y ~ petal_length + petal_width", IRIS.assign(y=IRIS["species"] == "setosa")
    ).plot("regions"),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            each,
            marks=[pytest.mark.slow] * (each in ("partition", "regions"))
            + [pytest.mark.exhaustive] * (each == "regions_held"),
        )
        for each in BASELINES
    ],
)
def test_pictures_equal_their_references(name):
    assert_looks_like(BASELINES[name](), name)


@pytest.mark.slow
def test_a_ridge_in_the_units_of_the_columns_leaves_more_than_one_region():
    wine = discrim.datasets.load_wine()
    with pytest.warns(discrim.errors.ScaleWarning):
        fit = discrim.rda("cultivar ~ .", wine, alpha=0.5, gamma=0.1)
    axes = fit.plot()
    assert "ridge-regularized covariances" in axes.get_title().replace("\n", " ")
    # The shades of the classes, of which a pair of narrow columns has one alone.
    assert len(np.unique(axes.images[0].get_array()[..., :3].reshape(-1, 3), axis=0)) == 3


def test_only_perceptrons_with_most_errors_are_named():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(15), 6)
    x = pd.DataFrame(rng.standard_normal((90, 2)), columns=["a", "b"])
    with pytest.warns(discrim.errors.NoSeparationWarning):
        fit = discrim.perceptron("y ~ a + b", x.assign(y=[f"k{k:02d}" for k in codes]), maxiter=3)
    axes = fit.plot("history")
    assert len(axes.get_legend().get_texts()) == 8
    assert len(axes.lines) >= 15
    assert "8 of most errors of 15" in axes.get_title().replace("\n", " ")
