"""What a person asks of a picture: what does not fit is refused by name, and what does is what is drawn."""

import warnings
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.models.plots.plottable import PlotOptions, available_plot_kinds

mpl.use("Agg")
IRIS = discrim.datasets.load_iris()
FIT = discrim.lda("species ~ .", IRIS)


@cache
def draw_scores():
    """Draw the scores with all defaults, once for all tests."""
    return FIT.plot("scores")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"kind": "confuson"}, "Did you mean 'confusion'"),
        ({"kind": "scores", "axes": 1}, "axes= .*value 1"),
        ({"kind": "scores", "axes": ()}, "axes="),
        ({"kind": "scores", "axes": (1, 2)}, "axes= .*value 1"),
        ({"kind": "regions", "columns": 5}, "columns= .*value 5"),
        ({"kind": "ellipses", "columns": [["sepal_length"], "sepal_width"]}, "columns="),
        ({"kind": "qq", "classes": []}, "classes= names no class"),
        ({"kind": "qq", "classes": 5}, "class"),
        ({"kind": "qq", "classes": ["setosa", "setosa"]}, "'setosa' twice"),
        ({"kind": "biplot", "structure": "x"}, "structure='x'"),
        ({"kind": "scores", "colors": 5}, "colors="),
        ({"kind": "regions", "at": {"petal_width": np.nan}}, "'petal_width' has a missing value"),
        ({"kind": "regions", "at": {"petal_width": None}}, "'petal_width' has a missing value"),
        ({"kind": "regions", "at": {"petal_width": "a"}}, "'petal_width' has the value 'a'"),
        ({"kind": "regions", "at": {"petal_width": np.inf}}, "'petal_width' has the value inf"),
    ],
)
def test_incompatible_arguments_are_named(asked, said):
    with pytest.raises(discrim.errors.DataError, match=said):
        FIT.plot(**asked)


@pytest.mark.parametrize("kind", ["regions", "scores", "posteriors"])
def test_a_column_of_text_among_new_rows_is_named(kind):
    with pytest.raises(discrim.errors.DataError) as caught:
        FIT.plot(kind, data=IRIS.assign(sepal_width="a"))
    assert "'sepal_width'" in str(caught.value)


@pytest.mark.slow
def test_one_class_needs_no_list_and_is_not_called_the_first():
    outer = FIT.plot("qq", classes="virginica")
    assert [panel.get_title() for panel in outer.child_axes] == ["virginica"]
    assert "of 1 of 3 classes" in outer.get_title().replace("\n", " ")


@pytest.mark.slow
def test_columns_are_fixed_at_the_values_of_a_series():
    held = pd.Series({"petal_length": 4.0, "petal_width": 1.25})
    assert "petal_length = 4, petal_width = 1.25" in FIT.plot("regions", at=held).get_title()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "ellipses"])
def test_a_title_does_not_round_the_level_to_all_rows(kind):
    assert "99.5 %" in FIT.plot(kind, level=0.995).get_title()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "response"),
    [("scores", None), ("regions", "missing")],
)
def test_unlabelled_rows_are_drawn_if_classes_are_not_required(kind, response):
    rows = IRIS.drop(columns="species") if response is None else IRIS.assign(species=None)
    axes = FIT.plot(kind, data=rows)
    assert max(len(held.get_offsets()) for held in axes.collections) == len(IRIS)


@pytest.mark.parametrize("kind", sorted({"posteriors", "pairs", "partition", "qq", "simplex", "ellipses"}))
def test_unlabelled_rows_are_refused_if_classes_are_required(kind):
    assert kind in available_plot_kinds(FIT)
    with pytest.raises(discrim.errors.DataError, match=f"'{kind}'.*Pass rows with their response"):
        FIT.plot(kind, data=IRIS.drop(columns="species"))


def test_a_confusion_of_no_row_is_refused():
    with pytest.raises(discrim.errors.DataError) as caught:
        FIT.plot("confusion", data=IRIS.assign(species=None))
    assert "class" in str(caught.value)


def test_rings_of_very_many_rows_are_thinned():
    from matplotlib.figure import Figure

    from discrim.report.plots.planes import MAX_RINGS, draw_rings

    axes = Figure().add_subplot()
    draw_rings(axes, np.arange(20_000.0).reshape(-1, 2))
    draw_rings(axes, np.empty((0, 2)))
    many, none = (len(held.get_offsets()) for held in axes.collections)
    assert MAX_RINGS / 2 < many <= MAX_RINGS
    assert none == 0


@pytest.mark.slow
def test_long_names_leave_the_triangle_its_room():
    label = IRIS["species"].astype(str) + "x" * 50
    axes = discrim.lda("species ~ .", IRIS.assign(species=label)).plot("simplex")
    axes.figure.canvas.draw()
    height = axes.figure.canvas.get_width_height()[1]
    assert axes.get_window_extent().height > 0.5 * height
    assert all(text.get_window_extent().x0 >= 0 for text in axes.texts)


def test_colormaps_are_sampled_evenly_in_their_visible_range():
    fine = mpl.colormaps["viridis"](np.linspace(0, 1, 256))[:, :3]
    light = np.where(fine <= 0.04045, fine / 12.92, ((fine + 0.055) / 1.055) ** 2.4) @ [
        0.2126,
        0.7152,
        0.0722,
    ]
    seen = fine[1.05 / (light + 0.05) >= 1.5]
    colours = PlotOptions(colors="viridis").signs(["a", "b", "c"]).colours
    middle = round((len(seen) - 1) / 2)
    assert colours == tuple(mpl.colors.to_hex(seen[place]) for place in (0, middle, -1))


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 12])
def test_every_colormap_of_matplotlib_gives_colours(count):
    for name in mpl.colormaps:
        signs = PlotOptions(colors=name).signs(list(range(count)))
        assert len({signs.colour(k) for k in range(count)}) >= min(count, 2), name
        by_object = PlotOptions(colors=mpl.colormaps[name]).signs(list(range(count)))
        assert by_object == signs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [("scores", "Set1"), ("regions", "Greys"), ("confusion", "twilight")],
)
def test_colormaps_are_valid_for_classes_and_for_numbers(kind, name):
    FIT.plot(kind, colors=name).figure.draw_without_rendering()
    with pytest.raises(discrim.errors.DataError) as caught:
        FIT.plot(kind, colors="viridus")
    assert "'viridis'" in str(caught.value)


def test_twenty_classes_have_twenty_colours_and_more_have_other_markers():
    signs = PlotOptions().signs(range(160))
    assert len({signs.colour(k) for k in range(20)}) == 20
    assert len({(signs.colour(k), signs.marker(k)) for k in range(160)}) == 160


def test_a_style_of_greys_is_followed_and_another_is_not():
    signs = PlotOptions().signs("abc")
    with plt.style.context("grayscale"):
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        assert [signs.colour(k) for k in range(4)] == [mpl.colors.to_hex(colour) for colour in cycle]
        assert len({(signs.colour(k), signs.marker(k)) for k in range(32)}) == 32
        assert PlotOptions(colors="Set1").signs("abc").colour(0) == "#e41a1c"
        assert signs.hatch(0) != signs.hatch(1)
    with plt.style.context("ggplot"):
        assert signs.colour(0) == PlotOptions().signs("abc").colour(0) == "#0072B2".lower()
        assert signs.hatch(1) == ""


def contrast(one, other):
    one, other = (
        np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722] + 0.05
        for c in (np.array(mpl.colors.to_rgb(colour)) for colour in (one, other))
    )
    return max(one / other, other / one)


@pytest.mark.parametrize("face", ["black", "#15181d", "#303030"])
def test_twenty_classes_are_distinguishable_on_dark_backgrounds(face):
    """Three to one is what the Web Content Accessibility Guidelines ask of graphics."""
    by_day = [PlotOptions().signs(range(20)).colour(k) for k in range(20)]
    with plt.style.context(["dark_background", {"axes.facecolor": face}]):
        colours = [PlotOptions().signs(range(20)).colour(k) for k in range(20)]
    assert min(contrast(colour, face) for colour in colours) > 2.99
    assert len(set(colours)) == 20
    # What is seen by itself stays as it is.
    assert all(
        one == other
        for one, other in zip(by_day, colours, strict=True)
        if contrast(one, face) > 3 and one != "#000000"
    )


@pytest.mark.slow
def test_faint_colours_are_stronger_on_dark_backgrounds():
    day = draw_scores().collections[0].get_alpha()
    with plt.style.context("dark_background"):
        night = FIT.plot("scores").collections[0].get_alpha()
    assert day < night <= 1


@pytest.mark.slow
def test_regions_in_greys_are_hatched_each_by_its_own():
    from matplotlib.contour import ContourSet

    with plt.style.context("grayscale"):
        axes = FIT.plot("regions")
        hatched = [each for each in axes.collections if isinstance(each, ContourSet)]
        assert [each.hatches for each in hatched] == [["///"], ["..."]]
        # Strokes lie where the class is called, and above the shades.
        for k, each in enumerate(hatched, start=1):
            name = {text.get_text(): text.xy for text in axes.texts}[FIT.classes[k]]
            assert any(path.contains_point(name) for path in each.get_paths())
    assert not any(isinstance(each, ContourSet) for each in FIT.plot("regions").collections)


@pytest.mark.slow
def test_a_confusion_in_greys_is_grey():
    with plt.style.context("grayscale"):
        cells = np.asarray(FIT.plot("confusion").collections[0].get_array())
    assert np.ptp(cells[..., :3], axis=-1).max() < 0.01


@pytest.mark.slow
def test_titles_of_scores_explain_filled_and_dotted_outlines():
    assert "filled: 95 % confidence regions for class means" in draw_scores().get_title()
    assert "dotted: a correlation of 1" in " ".join(FIT.plot("biplot").get_title().split())


@pytest.mark.slow
def test_added_fonts_are_not_used_in_bold_and_missing_ones_cause_one_warning(caplog):
    table = IRIS.rename(columns={"petal_length": "\u82b1\u5f01\u9577"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        discrim.lda("species ~ .", table).plot("territory").figure.canvas.draw()
    assert not [each for each in caplog.messages if "bold" in each]
    # matplotlib itself warns of the boxes that it draws if no font has the characters.
    assert sum(issubclass(each.category, discrim.errors.DiscrimWarning) for each in caught) <= 1


@pytest.mark.slow
def test_regions_are_labelled_inside_or_in_the_legend():
    fit = discrim.qda("species ~ petal_length + petal_width", IRIS)
    axes = fit.plot("regions")
    assert axes.get_legend() is None
    positions = {text.get_text(): text.xy for text in axes.texts}
    assert set(positions) == set(fit.classes)
    rows = pd.DataFrame(list(positions.values()), columns=fit.terms)
    assert fit.predict(rows).tolist() == list(positions)
    at = {"petal_length": 3.758, "petal_width": 1.199}
    held = FIT.plot("regions", columns=["sepal_length", "sepal_width"], at=at)
    assert {text.get_text() for text in held.get_legend().get_texts()} == set(FIT.classes)
