"""Summaries choose: how many lines each takes by default, that none wraps, and how the rest is had.

The numbers of `LINES` are promises: what makes a summary longer has to be worth a line of this table.
"""

import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression

import discrim
from discrim import datasets
from discrim.covariance import FactorAnalytic
from discrim.errors import DataError
from discrim.penalty import Ridge
from tests.report.support import IRIS

WINE = datasets.load_wine()
BREAST = datasets.load_breast_cancer()
TWO = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
APART = IRIS[IRIS["species"] != "virginica"].astype({"species": str})


def digits():
    """Ten classes, and the pixels that vary."""
    table = load_digits(as_frame=True).frame
    kept = [name for name in table if name == "target" or table[name].std() > 2.5]
    return table[kept].astype({"target": str})


def with_long_names():
    """Irises whose columns and classes have names of over forty characters."""
    longer = {name: f"{name} measured at the first visit of the year" for name in IRIS.columns[:4]}
    labels = IRIS["species"].astype(str) + " (of the northern population)"
    return IRIS.rename(columns=longer).assign(species=labels)


TABLES = {
    "iris": (lambda: IRIS, "species"),
    "two": (lambda: TWO, "species"),
    "apart": (lambda: APART, "species"),
    "long": (with_long_names, "species"),
    "penguins": (datasets.load_penguins, "species"),
    "wine": (lambda: WINE, "cultivar"),
    "breast": (
        lambda: BREAST,
        BREAST.columns[[not pd.api.types.is_float_dtype(t) for t in BREAST.dtypes]][0],
    ),
    "digits": (digits, "target"),
}

OPTIONS = {
    "rda": {"alpha": 0.5, "gamma": 0.1},
    "knn": {"k": 5},
    "kernel_density": {"bandwidth": 0.5},
    "kernel_lda": {"kernel": "gaussian", "width": 2.0, "ridge": 0.1, "scale": "sd"},
    "mixture": {"components": 2},
    "pls": {"ncomp": 2},
    "shrunken_centroids": {"threshold": 2.0},
    "fda": {"engine": LinearRegression()},
    "perceptron": {"maxiter": 50},
    "sparse_lda": {"nonzero": 3},
}

LINES = {
    "lda": {"iris": 74, "two": 66, "long": 60, "penguins": 73, "wine": 95, "breast": 96, "digits": 97},
    "qda": {"iris": 52, "wine": 60, "breast": 94},
    "rda": {"iris": 25, "wine": 36, "breast": 51, "digits": 47},
    "naive_bayes": {"iris": 30, "penguins": 42, "wine": 50, "breast": 84},
    "nearest_centroid": {"iris": 39, "wine": 58, "breast": 90},
    "plda": {"iris": 34, "wine": 45},
    "location": {"iris": 26, "penguins": 72},
    "mixture": {"iris": 36, "wine": 41},
    "logistic": {"two": 45},
    "indicator": {"iris": 45, "wine": 65},
    "knn": {"iris": 20, "wine": 20},
    "kernel_density": {"iris": 18, "wine": 17},
    "kernel_lda": {
        "iris": 32,
        "wine": 32,
    },
    "pls": {"iris": 39, "wine": 48},
    "sparse_lda": {"iris": 32, "wine": 34},
    "shrunken_centroids": {"iris": 27, "wine": 34},
    "fda": {"iris": 33, "wine": 33},
    "perceptron": {"iris": 36, "wine": 45},
    "hyperplane": {"apart": 34},
}
"""Lines of each summary at most."""

SLOW = {("lda", "digits"), ("rda", "digits"), ("mixture", "wine"), ("mixture", "iris")}
CASES = [
    pytest.param(verb, table, marks=[pytest.mark.slow] if (verb, table) in SLOW else [])
    for verb, tables in LINES.items()
    for table in tables
]


@cache
def fitted(verb, table):
    read, response = TABLES[table]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(discrim, verb)(f"{response} ~ .", data=read(), **OPTIONS.get(verb, {}))


@pytest.mark.parametrize(("verb", "table"), CASES)
def test_summary_has_the_documented_length_and_no_wrapped_lines(verb, table):
    fit = fitted(verb, table)
    summary = fit.summary()
    lines = summary.as_text().splitlines()
    assert len(lines) <= LINES[verb][table]
    assert max(map(len, lines)) <= 100
    # A blank line is between two sections, and before the line of those that are not shown.
    blocks = "\n".join(lines).count("\n\n") + 1
    assert blocks <= len(summary._sections) + bool(summary._unshown)
    brief = repr(fit).splitlines()
    assert len(brief) <= len(lines)
    assert max(map(len, brief)) <= 100


LEFT_OUT = re.compile(r'Not shown: (.*?)[.] See summary[(]"(.*?)"[)], or summary[(]"all"[)][.] =+$')


def sections_left_out(text):
    said = LEFT_OUT.search(" ".join(text.split()))
    return (said[1].split(", "), said[2]) if said else ([], "")


def test_last_line_names_omitted_sections_and_how_to_request_them():
    fit = fitted("lda", "wine")
    names, first = sections_left_out(fit.summary().as_text())
    assert names == ["functions", "covariance"]
    assert first == names[0]
    assert "Classification functions" in fit.summary("functions").as_text()
    whole = fit.summary("all").as_text()
    assert sections_left_out(whole) == ([], "")
    assert "Pooled covariance" in whole
    assert "Pooled covariance" not in fit.summary().as_text()
    assert fit.summary(["all"]).as_text() == whole
    assert sections_left_out(fitted("lda", "iris").summary().as_text()) == ([], "")
    with pytest.raises(DataError) as caught:
        fit.summary("everything")
    assert '"all"' in str(caught.value)


@pytest.mark.parametrize("verb", ["lda", "qda", "naive_bayes", "nearest_centroid"])
def test_tables_contain_every_section_regardless_of_display(verb):
    fit = fitted(verb, "wine")
    some, every = fit.summary().tables, fit.summary("all").tables
    assert set(some) == set(every)
    for name, table in every.items():
        pd.testing.assert_frame_equal(some[name], table)
    assert some["means"].shape == (3, 13)
    assert some["by_column"].shape == (13, 5)


@pytest.mark.parametrize("form", ["as_html", "as_markdown"])
def test_each_format_names_omitted_sections(form):
    text = getattr(fitted("lda", "wine").summary(), form)()
    assert "Not shown: functions, covariance" in text
    assert "Pooled covariance" not in text


def test_variable_table_has_means_deviations_and_one_way_f():
    table = fitted("lda", "wine").summary().tables["by_column"]
    groups = WINE.groupby("cultivar")
    for name, row in table.iterrows():
        each = [rows[name].to_numpy() for _, rows in groups]
        assert row["F"] == pytest.approx(scipy.stats.f_oneway(*each).statistic)
        spread = np.sqrt(sum(((x - x.mean()) ** 2).sum() for x in each) / (len(WINE) - 3))
        assert row["SD"] == pytest.approx(spread)
        assert row.iloc[:3].tolist() == pytest.approx([x.mean() for x in each])


def test_names_of_classes_do_not_hide_deviations_and_f():
    labels = {"barolo": "SD", "barbera": "F", "grignolino": "F_"}
    named = WINE.assign(cultivar=WINE["cultivar"].astype(str).map(labels))
    table = discrim.lda("cultivar ~ .", named).summary().tables["by_column"]
    assert list(table) == ["F", "F_", "SD", "SD_", "F__"]
    plain = fitted("lda", "wine").summary().tables["by_column"]
    assert table["F__"].to_numpy() == pytest.approx(plain["F"].to_numpy())


@pytest.mark.slow
def test_variables_that_separate_classes_best_are_displayed():
    fit = fitted("lda", "digits")
    text = fit.summary().as_text()
    f = fit.summary().tables["by_column"]["F"].sort_values(ascending=False)
    rows = re.findall(
        r"^(pixel_\d_\d) ",
        text.split("Means by class")[1].split("Coefficients of linear discriminants")[0],
        re.M,
    )
    assert rows == list(f.index[:15])
    z = fit.log_odds()["z"].abs().nlargest(10)
    shown = text.split("Log odds against 0")[1].split("Tests of equal covariance")[0]
    assert sorted(re.findall(r"^  (pixel_\d_\d) ", shown, re.M)) == sorted(term for _, term in z.index)


# ---- the line of facts


@pytest.mark.parametrize("verb", ["lda", "qda", "rda", "naive_bayes", "nearest_centroid", "knn", "indicator"])
def test_repr_starts_with_size_and_leave_one_out_error(verb):
    fit = fitted(verb, "iris")
    line = repr(fit).splitlines()[3]
    rate = fit.error_rates(["loo"])["estimate"].iloc[0]
    assert line.startswith(f"150 observations, 4 columns, 3 classes; left-out error {100 * rate:.1f} %")
    # The picture of the notebook form takes most of the time.
    assert verb != "lda" or "150 observations, 4 columns, 3 classes" in fit._repr_html_()


def test_repr_has_wilks_lambda_if_it_is_defined():
    within = sum(np.cov(rows.iloc[:, :4].T) * (len(rows) - 1) for _, rows in IRIS.groupby("species"))
    total = np.cov(IRIS.iloc[:, :4].T) * (len(IRIS) - 1)
    wilks = np.linalg.det(within) / np.linalg.det(total)
    assert f"Wilks' lambda {wilks:.4g}" in repr(fitted("lda", "iris"))


SAID = [
    ("lda", {"method": "mle"}, 'method="mle"'),
    ("lda", {"covariance": "shrunk"}, 'covariance="shrunk"; shrinkage (OAS) 0.0'),
    ("lda", {"prior": "equal"}, "prior equal"),
    ("lda", {"prior": [0.5, 0.25, 0.25]}, "prior specified"),
    ("nearest_centroid", {"prior": None}, "prior class proportions"),
    (
        "qda",
        {"covariance": FactorAnalytic(1)},
        "FactorAnalytic(dimensions=1); dimensions (given) 1",
    ),
    ("rda", {"alpha": 0.5, "gamma": 0.1}, "alpha 0.5, gamma 0.1"),
    ("rda", {"seed": 0}, "chosen by 10-fold cross-validation"),
    ("knn", {}, "chosen by leave-one-out"),
    ("knn", {"k": 3, "metric": "mahalanobis"}, 'metric="mahalanobis"; neighbours k 3'),
    ("logistic", {"penalty": Ridge(0.1)}, "penalty=Ridge(strength=0.1); strength (lambda) 0.1"),
    ("shrunken_centroids", {"threshold": 2.0}, "threshold 2, columns selected"),
    ("sparse_lda", {"penalty": 0.1}, "penalty=0.1; columns selected 3 of 4"),
    ("sparse_lda", {"seed": 0, "n_penalties": 5}, "chosen by 10 folds (least error)"),
    ("mixture", {"over": "class"}, "components 1 in each class (chosen by BIC)"),
    ("mixture", {"components": {"setosa": 2, "versicolor": 1, "virginica": 3}}, "components 2 + 1 + 3"),
    ("pls", {"ncomp": 2}, "components 2"),
    ("kernel_density", {"bandwidth": 0.4}, "bandwidth=0.4"),
    ("kernel_lda", {"kernel": "gaussian", "width": 2.0, "ridge": 0.1}, "gaussian (sd), width and ridge 2"),
]


@pytest.mark.parametrize(("verb", "options", "said"), SAID)
def test_repr_has_chosen_parameters(verb, options, said):
    brief = repr(getattr(discrim, verb)("species ~ .", IRIS, **options)).splitlines()
    assert said in brief[4]


@pytest.mark.parametrize(("verb", "given"), [("rda", {"alpha": 0.3, "gamma": 0.6}), ("knn", {"k": 17})])
def test_error_on_rows_used_for_selection_is_marked_optimistic(verb, given):
    chosen, plain = (getattr(discrim, verb)("species ~ .", IRIS, **each) for each in ({}, given))
    assert "% (optimistic: choice fixed)" in repr(chosen).splitlines()[3]
    assert "optimistic" not in repr(plain)


def test_loaded_fit_omits_the_selection_criterion_if_not_stored(tmp_path):
    discrim.sparse_lda("species ~ .", IRIS, seed=0, n_penalties=5).save(tmp_path / "sparse.fit")
    line = repr(discrim.load(tmp_path / "sparse.fit")).splitlines()[4]
    assert line == "n_penalties=5; columns selected 4 of 4"


def test_all_next_to_section_names_means_the_remaining_sections():
    fit, every = fitted("lda", "iris"), list(fitted("lda", "iris").summary("all").tables)
    rest = [key for key in every if key != "means"]
    assert list(fit.summary(["means", "all"]).tables) == ["means", *rest]
    assert list(fit.summary(["all", "means"]).tables) == [*rest, "means"]


def test_fit_without_selection_mentions_none():
    for verb in ("lda", "nearest_centroid"):
        assert repr(fitted(verb, "iris")).splitlines()[4] == ""


def test_rows_that_were_dropped_are_counted():
    assert "333 observations (11 dropped, missing values), 8 columns, 3 classes" in repr(
        fitted("lda", "penguins")
    )


def test_fit_without_rows_prints_results_that_need_none(tmp_path):
    fit = fitted("lda", "iris")
    fit.save(tmp_path / "iris.fit")
    line = repr(discrim.load(tmp_path / "iris.fit")).splitlines()[3]
    assert line == "150 observations, 4 columns, 3 classes; Wilks' lambda 0.02344"


def test_resubstitution_error_is_printed_if_leave_one_out_is_undefined():
    fit = discrim.lda("species ~ .", IRIS, ncomp=1)
    wrong = (fit.predict(IRIS).astype(str) != IRIS["species"].astype(str)).mean()
    assert f"3 classes; apparent error {100 * wrong:.1f} %, Wilks' lambda" in repr(fit)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_weights_are_not_called_rows():
    weights = np.tile([1.0, 2.0, 0.5], 50)
    line = repr(discrim.lda("species ~ .", IRIS, weights=weights)).splitlines()[3]
    assert line.startswith("Sum of weights 175, 4 columns, 3 classes; left-out error ")


@pytest.mark.parametrize("verb", ["lda", "qda", "naive_bayes", "nearest_centroid", "indicator", "pls"])
def test_printing_a_fit_does_not_read_the_source_again(verb):
    reads = []

    def source():
        reads.append(1)
        yield from (IRIS[start : start + 40] for start in range(0, len(IRIS), 40))

    fit = getattr(discrim, verb)("species ~ .", source, **({"ncomp": 2} if verb == "pls" else {}))
    before = len(reads)
    assert "150 observations, 4 columns, 3 classes" in repr(fit)
    assert "150 observations" in fit._repr_html_()
    assert len(reads) == before


def test_printing_a_large_fit_reads_no_rows():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(60_000, 2)), columns=["a", "b"])
    rows["y"] = np.where(rows["a"] > 0, "u", "v")
    fit = discrim.lda("y ~ .", rows)
    assert "error" not in repr(fit)
    assert not [key for key in fit._fit.cache if "loo" in str(key) or "apparent" in str(key)]


@pytest.mark.slow
def test_summary_of_ten_digits_has_at_most_a_hundred_lines():
    table = load_digits(as_frame=True).frame.astype({"target": str})
    varying = table.drop(columns=[name for name in table if table[name].nunique() == 1])
    assert len(str(discrim.lda("target ~ .", varying).summary()).splitlines()) <= 100
