"""`plot` over the models: every kind of the registry is drawn, and what does not fit is refused."""

import matplotlib as mpl
import pytest

import discrim
from discrim.models.plots.plottable import available_plot_kinds

mpl.use("Agg")
IRIS = discrim.datasets.load_iris()


def test_unused_options_of_a_plot_kind_are_refused():
    fit = discrim.indicator("species ~ .", IRIS)
    with pytest.raises(discrim.errors.NotSupportedError) as caught:
        fit.plot("regions", axes=("LD1", "LD2"))
    assert "axes=" in str(caught.value)
    assert "kind='regions'" in str(caught.value)


def test_unknown_plot_kinds_raise_errors_that_list_the_valid_kinds():
    fit = discrim.lda("species ~ .", IRIS)
    with pytest.raises(discrim.errors.DataError) as raised:
        fit.plot("score")
    assert "'score'" in str(raised.value)
    assert all(repr(kind) in str(raised.value) for kind in available_plot_kinds(fit))


def test_plot_kinds_of_other_models_raise_errors_that_list_the_valid_kinds():
    with pytest.raises(discrim.errors.DataError) as caught:
        discrim.qda("species ~ .", IRIS).plot("scores")
    assert "'scores'" in str(caught.value)
    assert "lda()" in str(caught.value)


def test_a_title_takes_the_place_of_the_own_one():
    fit = discrim.lda("species ~ .", IRIS)
    assert fit.plot(title="").get_title() == ""
    with pytest.raises(discrim.errors.DataError) as caught:
        fit.plot(title=3)
    assert "title=" in str(caught.value)


@pytest.mark.parametrize(
    ("colors", "said"),
    [
        ({"setose": "red"}, "setose"),
        (["red"], "1 colours for 3"),
        ("no such map", "colormap"),
        (["a"] * 3, "'a'"),
    ],
)
def test_colours_that_do_not_fit_are_refused(colors, said):
    with pytest.raises(discrim.errors.DataError, match=said):
        discrim.lda("species ~ .", IRIS).plot(colors=colors)
