"""Figures of plotly: what a row tells is what the fit says of it, and what is not drawn is said."""

import json
import re
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DataError, MissingPackageError, NotSupportedError
from discrim.models.registry import MODELS
from discrim.report.plots.interactive import DASHES, SYMBOLS
from discrim.report.plots.style import LINES, MARKERS

pytest.importorskip("plotly")
mpl.use("Agg")
IRIS = discrim.datasets.load_iris()
FIT = discrim.lda("species ~ .", IRIS)
KINDS = ["scores", "regions", "posteriors", "pairs", "simplex"]
OPTIONS = {
    "logistic": {"bias_reduction": True},
    "rda": {"alpha": 0.5, "gamma": 0.1},
    "sparse_lda": {"penalty": 0.1},
    "mixture": {"components": 1},
    "perceptron": {"maxiter": 3_000},
    "knn": {"k": 5},
    "kernel_density": {"bandwidth": 0.5},
    "kernel_lda": {"kernel": "gaussian", "width": 2.0, "ridge": 0.1},
    "pls": {"ncomp": 2},
    "shrunken_centroids": {"threshold": 1.0},
}


def hover_data(figure):
    """Return the hover data of the rows by name."""
    out = {}
    for trace in figure.data:
        if trace.meta is None:
            continue
        for i, (name, *rest) in enumerate(trace.customdata):
            assert name not in out
            place = None if trace.type == "splom" else (trace.x[i], trace.y[i])
            out[name] = (trace.name, *rest, place, trace.meta)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_points_show_label_classes_and_posteriors(kind):
    rows = hover_data(FIT.plot(kind, interactive=True))
    proba, called = FIT.predict_proba(), FIT.predict()
    assert set(rows) == {f"row {i}" for i in range(150)}
    for i, label in enumerate(IRIS.species):
        own, predicted, sure, proportion, _, meta = rows[f"row {i}"]
        assert (own, predicted) == (label, called[i])
        assert (sure, proportion) == pytest.approx((proba.loc[i, called[i]], proba.loc[i, label]), abs=5e-5)
        assert meta == ("misclassified" if label != called[i] else "rows")


def test_places_are_scores_columns_and_posteriors():
    scores, proba = FIT.transform(), FIT.predict_proba()
    drawn = {kind: hover_data(FIT.plot(kind, interactive=True)) for kind in ("scores", "posteriors")}
    pair = ["petal_length", "petal_width"]
    drawn["regions"] = hover_data(FIT.plot("regions", columns=pair, interactive=True))
    for i in (0, 70, 149):
        assert drawn["scores"][f"row {i}"][4] == pytest.approx(scores.loc[i])
        assert drawn["regions"][f"row {i}"][4] == pytest.approx(IRIS.loc[i, pair])
        assert drawn["posteriors"][f"row {i}"][4][0] == pytest.approx(proba.loc[i, IRIS.species[i]])


def test_a_place_of_a_plane_has_the_colour_and_the_posteriors_of_its_class():
    fit = discrim.qda("species ~ petal_length + petal_width", IRIS)
    colours, positions = [
        each for each in fit.plot("regions", interactive=True).data if each.type == "heatmap"
    ]
    for shown in (colours, positions):
        h, g = shown.z.shape
        i, j = np.random.default_rng(0).integers([h, g], size=(200, 2)).T
        at = pd.DataFrame({"petal_length": shown.x0 + j * shown.dx, "petal_width": shown.y0 + i * shown.dy})
        codes = fit.classes.get_indexer(fit.predict(at).astype(str))
        assert (shown.z[i, j] == codes).mean() > 0.99
    assert positions.customdata[i, j] == pytest.approx(fit.predict_proba(at).to_numpy(), abs=1e-6)
    # Each class has two stops of its own colour.
    assert [colour for _, colour in colours.colorscale[2::2]] == [
        colour for _, colour in colours.colorscale[3::2]
    ]


VERBS = sorted({model.verb for model in MODELS} - {"bayes", "fda", "mlm"})


@pytest.mark.parametrize("verb", VERBS)
def test_every_model_draws_all_its_plot_kinds(verb):
    rows = IRIS[IRIS.species != ("setosa" if verb == "indicator" else "virginica")][::4]
    data = rows.assign(species=rows.species.astype(str))
    terms = "petal_length + petal_width" if verb == "hyperplane" else "sepal_length + sepal_width"
    fit = getattr(discrim, verb)(f"species ~ {terms}", data, **OPTIONS.get(verb, {}))
    kinds = [plot.kind for plot in fit._spec.plots() if "interactive" in plot.options]
    assert "pairs" in kinds
    for kind in set(kinds) - {"simplex"}:
        assert len(hover_data(fit.plot(kind, interactive=True))) == len(data), kind


def test_default_plot_is_the_first_suitable_kind():
    assert hover_data(discrim.knn("species ~ .", IRIS).plot(interactive=True))
    title = FIT.plot(interactive=True).layout.title.text
    assert title == "Discriminant scores"
    assert FIT.plot(interactive=True, title="<b>Irises</b>").layout.title.text == "&lt;b&gt;Irises&lt;/b&gt;"


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"kind": "biplot"}, NotSupportedError, "use kind 'scores'"),
        ({"kind": "regions", "columns": list(IRIS.columns[:3])}, DataError, "Name two"),
    ],
)
def test_models_without_interactive_plots_suggest_others(given, error, said):
    with pytest.raises(error, match=said):
        FIT.plot(**given, interactive=True)


def test_axes_of_matplotlib_are_refused():
    with pytest.raises(DataError) as caught:
        FIT.plot("scores", ax=plt.figure().add_subplot(), interactive=True)
    assert "ax=" in str(caught.value)
    plt.close("all")


def test_without_plotly_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingPackageError) as caught:
        FIT.plot("scores", interactive=True)
    assert (caught.value.name, caught.value.extra) == ("plotly", "interactive")


def test_names_are_shown_and_neither_run_nor_set_as_mathematics():
    bad = {"setosa": "<script>1</script>", "versicolor": "$x^2$", "virginica": "%{x}"}
    data = IRIS.rename(columns={"sepal_length": "<i>%{y}$a$"}).assign(species=IRIS.species.map(bad))
    fit = discrim.lda("species ~ .", data.set_index(pd.Index([f"<b>{i}$$" for i in range(150)], name="<u>")))
    for kind in KINDS:
        figure = fit.plot(kind, interactive=True)
        text = json.dumps(json.loads(figure.to_json()), ensure_ascii=False)
        for mark in ("<script", "<i>", "<u>", "$x", "$a", "$$"):
            assert mark not in text, (kind, mark)
        assert text.count("%{") == sum(
            text.count(f"%{{{word}") for word in ("customdata[", "x:", "y:", "xaxis.", "yaxis.")
        )


def test_a_sample_of_many_rows_is_drawn_with_all_of_a_rare_class():
    rng = np.random.default_rng(1)
    group = np.repeat(["rare", "common"], [40, 20_000])
    data = pd.DataFrame({"a": rng.normal(size=20_040), "b": rng.normal(size=20_040), "group": group})
    figure = discrim.qda("group ~ a + b", data).plot("regions", interactive=True)
    rows = hover_data(figure)
    assert len(rows) <= 5_000
    assert sum(row[0] == "rare" for row in rows.values()) == 40
    assert f"{len(rows):,} of 20,040 observations are shown" in figure.layout.title.subtitle.text
    assert len(figure.to_json()) < 1_500_000


def test_a_button_dims_the_rows_that_are_predicted_right():
    figure = FIT.plot("scores", interactive=True)
    (menu,) = figure.layout.updatemenus
    (dim, which) = menu.buttons[1].args
    assert dim["marker.opacity"] < 0.2
    assert [figure.data[i].meta for i in which] == ["rows"] * 3
    assert "3 misclassified of 150" in figure.layout.title.subtitle.text
    certain = discrim.lda(
        "species ~ .", IRIS[IRIS.species != "virginica"].assign(species=lambda d: d.species.astype(str))
    )
    assert not certain.plot("scores", interactive=True).layout.updatemenus


def external_tags(page: str) -> list[str]:
    """Return tags with addresses of other hosts; the text of plotly's script contains some, of maps."""
    tags = re.sub(r"(?s)(<script\b[^>]*>).*?</script>", r"\1", page)
    return re.findall(r"<[a-z]+\s[^<>]*?(?:src|href)=[\"']?https?:[^<>]*>", tags)


def test_a_figure_asks_no_server_and_offers_none_the_rows():
    figure = FIT.plot("scores", interactive=True)
    page = figure.to_html(include_plotlyjs=True)
    assert external_tags(page) == []
    assert "sendChartToCloud" in figure.layout.template.layout.modebar.remove


def test_fits_to_moments_draw_means_and_outlines_only():
    fit = discrim.lda(moments=discrim.moments("species ~ .", IRIS))
    figure = fit.plot("scores", interactive=True)
    assert not hover_data(figure)
    assert [trace.name for trace in figure.data if trace.showlegend] == list(IRIS.species.unique())


@pytest.mark.parametrize("kind", ["scores", "regions"])
def test_unlabelled_rows_show_their_prediction(kind):
    rows = hover_data(FIT.plot(kind, data=IRIS.drop(columns="species"), interactive=True))
    assert [row[:2] for row in rows.values()] == [("no class", label) for label in FIT.predict()]


def test_the_style_in_use_gives_ink_and_paper():
    with plt.style.context("dark_background"):
        look = FIT.plot("scores", interactive=True).layout.template.layout
    assert (look.paper_bgcolor, look.font.color) == ("#000000", "#ffffff")


def test_every_marker_and_line_of_a_class_has_its_own():
    assert len({SYMBOLS[each] for each in MARKERS}) == len(MARKERS)
    assert all(line in DASHES for line in LINES if isinstance(line, str))


@pytest.mark.slow
def test_a_report_has_figures_with_one_script_and_asks_no_server(tmp_path):
    FIT.report(tmp_path / "live.html", pictures=["scores", "scree"], interactive=True)
    FIT.report(tmp_path / "still.html", pictures=["scores"])
    live, still = ((tmp_path / f"{name}.html").read_text(encoding="utf-8") for name in ("live", "still"))
    assert live.count("plotly-graph-div") == 1
    assert live.count("<figure") == 2
    assert (
        live.count("Plotly.newPlot(                        'g0'")
        + live.count('Plotly.newPlot(                        "g0"')
        == 1
    )
    assert external_tags(live) == []
    assert "default-src 'none'" in live
    assert "<script" not in still
    assert "script-src" not in still


@pytest.mark.parametrize(
    ("verb", "lines"), [("qda", 3), ("nearest_centroid", 0), ("naive_bayes", 3), ("mixture", 3)]
)
def test_a_plane_has_the_outlines_of_its_model(verb, lines):
    fit = getattr(discrim, verb)("species ~ petal_length + petal_width", IRIS, **OPTIONS.get(verb, {}))
    figure = fit.plot("regions", interactive=True)
    closed = [
        np.column_stack([trace.x, trace.y])
        for trace in figure.data
        if trace.type == "scatter" and trace.mode == "lines" and np.isfinite(trace.x).all()
    ]
    assert len(closed) == lines
    means = IRIS.groupby("species")[["petal_length", "petal_width"]].mean().to_numpy()
    for xy in closed:
        inside = (xy.min(axis=0) < means) & (means < xy.max(axis=0))
        assert inside.all(axis=1).sum() == 1
