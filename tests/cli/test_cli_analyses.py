"""The verbs that are no models: what they print is what the functions of their names give."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

import discrim
from discrim import datasets
from discrim.cli.options import parameters_of, sources_of
from discrim.inference.distance_tests import Metric
from discrim.models.selection.comparison import compare_on_table
from tests.cli.support import refused, said

FORMULA = "species ~ ."
IRIS = datasets.load_iris()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def row(printed, title, label):
    """Words of the row of a label, in the table under a title."""
    after = printed.split(title)[1]
    return re.search(rf"^\s*{re.escape(label)}\s+(.*)$", after, re.MULTILINE)[1].split()


# ---- stepwise


def test_stepwise_prints_the_steps_and_saves_the_fit(capsys):
    options = ["--direction", "forward", "--enter", "0.001", "--include", "sepal_width"]
    printed = said(capsys, "stepwise", FORMULA, "iris", *options, "--verb", "qda", "--save", "a.fit")
    found = discrim.stepwise(
        FORMULA, IRIS, direction="forward", enter=0.001, include=["sepal_width"], verb=discrim.qda
    )
    assert printed == found.summary().as_text() + "\n"
    assert discrim.load("a.fit").terms.tolist() == found.fit.terms.tolist()


def test_steps_by_f_with_all_tables(capsys):
    options = [
        "--by",
        "F",
        "--enter",
        "3.84",
        "--stay",
        "2.71",
        "--tolerance",
        "0.4",
        "--criterion",
        "minresid",
    ]
    printed = said(capsys, "stepwise", FORMULA, "iris", *options, "--sections", "all")
    found = discrim.stepwise(
        FORMULA, IRIS, by="F", enter=3.84, stay=2.71, tolerance=0.4, criterion="minresid"
    )
    assert printed == found.summary("all").as_text() + "\n"
    assert "Did you mean minresid?" in refused(capsys, "stepwise", FORMULA, "iris", "--criterion", "minresdi")


def test_error_rates_of_stepwise_are_of_the_fit(capsys):
    printed = said(capsys, "stepwise", FORMULA, "iris", "--enter", "1e-20", "--errors", "loo")
    fit = discrim.stepwise(FORMULA, IRIS, enter=1e-20).fit
    assert float(row(printed, "Error rates", "loo")[0]) == round(
        fit.error_rates(["loo"])["estimate"].iloc[0], 4
    )


def test_steps_are_shown_if_no_term_is_chosen(capsys):
    none = ["stepwise", FORMULA, "iris", "--enter", "1e-300", "--stay", "1e-300"]
    assert "Chosen: none" in said(capsys, *none)
    assert "No term was chosen" in refused(capsys, *none, "--errors", "loo")


# ---- choose


def test_choose_prints_the_candidates_and_saves_the_fit(capsys):
    tried = ["--verbs", "lda, knn(k=5)", "--no-calibrate", "--seed", "1", "--folds", "5"]
    printed = said(capsys, "choose", FORMULA, "iris", *tried, "--by", "error", "--save", "a.fit")
    candidates = {"lda": "lda", "knn(k=5)": ("knn", {"k": 5})}
    options = {"by": "error", "candidates": candidates, "calibrate": False, "seed": 1, "folds": 5}
    found = discrim.choose(FORMULA, IRIS, **options)
    assert printed == found.summary().as_text() + "\n"
    assert type(discrim.load("a.fit")) is type(found.fit)


# ---- assess, and --test


def test_rows_of_a_test_table_say_how_good_a_fit_is(capsys):
    IRIS[::2].to_csv("train.csv", index=False)
    IRIS[1::2].to_csv("test.csv", index=False)
    said(capsys, "lda", FORMULA, "train.csv", "--save", "a.fit")
    found = discrim.lda(FORMULA, IRIS[::2].astype({"species": str})).assess(IRIS[1::2])
    printed = said(capsys, "assess", "a.fit", "test.csv", "--plot", "a.png", "--kind", "roc")
    assert printed == found.summary().as_text() + "\n"
    assert Path("a.png").stat().st_size > 1000
    beside = said(capsys, "lda", FORMULA, "train.csv", "--sections", "header", "--test", "test.csv")
    assert "Test rows: test.csv" in beside
    assert row(beside, "Test rows", "kappa") == row(printed, "All classes", "kappa")
    weighted = said(capsys, "assess", "a.fit", "test.csv", "--prior", "0.2,0.3,0.5", "--sections", "overall")
    expected = discrim.load("a.fit").assess(IRIS[1::2], prior=[0.2, 0.3, 0.5]).overall
    assert float(row(weighted, "All classes", "accuracy")[0]) == round(
        expected.loc["accuracy", "estimate"], 4
    )


def test_invalid_test_tables_raise(capsys):
    said(capsys, "lda", FORMULA, "iris", "--save", "a.fit")
    IRIS.drop(columns="species").to_csv("bare.csv", index=False)
    assert "'species'" in refused(capsys, "assess", "a.fit", "bare.csv")
    message = refused(capsys, "assess", "a.fit", "iris", "--sections", "steps")
    assert "Unknown section 'steps'" in message
    assert "The sections are header, overall" in message
    assert "no.csv" in refused(capsys, "lda", FORMULA, "iris", "--test", "no.csv")
    assert "is also an input file" in refused(capsys, "assess", "a.fit", "bare.csv", "--out", "bare.csv")
    assert "is also an input file" in refused(
        capsys, "lda", FORMULA, "iris", "--test", "bare.csv", "--out", "bare.csv"
    )


# ---- canonical and manova


def test_canonical_is_that_of_the_fit(capsys):
    found = discrim.lda(FORMULA, IRIS).canonical("sas")
    assert (
        said(capsys, "canonical", FORMULA, "iris", "--convention", "sas") == found.summary().as_text() + "\n"
    )
    printed = said(capsys, "canonical", FORMULA, "iris", "--sections", "raw,centroids", "--convention", "sas")
    assert printed == found.summary(["raw", "centroids"]).as_text() + "\n"
    assert "Did you mean 'centroids'?" in refused(
        capsys, "canonical", FORMULA, "iris", "--sections", "centriods"
    )
    said(capsys, "canonical", FORMULA, "iris", "--plot", "a.svg", "--out", "a.txt")
    assert Path("a.svg").exists()


def test_manova_by_permutation_and_by_distances(capsys):
    printed = said(capsys, "manova", FORMULA, "iris", "--permutations", "19", "--seed", "1")
    assert "p by perm." in printed
    assert "0.0500" in printed
    formula = "species + sex ~ bill_length_mm + bill_depth_mm"
    printed = said(
        capsys, "manova", formula, "penguins", "--distance", "gower", "--within", "island", "--seed", "1"
    )
    fit = discrim.permanova(formula, datasets.load_penguins(), distance="gower", within="island", seed=1)
    assert printed == fit.summary().as_text() + "\n"
    refusal = refused(capsys, "manova", formula, "penguins", "--distance", "gower", "--term", "sex")
    assert "--term" in refusal


def test_distances_have_the_names_of_the_metrics():
    (source,) = sources_of("manova")
    (option,) = (each for each in parameters_of(source) if each.name == "distance")
    assert option.kind.words == get_args(Metric)


def test_manova_has_the_tests(capsys):
    printed, table = said(capsys, "manova", FORMULA, "iris"), discrim.manova(FORMULA, IRIS)
    for label, name in (("Wilks' lambda", "Wilks' lambda"), ("Roy's greatest root", "Roy's greatest root")):
        statistic, f, *_ = row(printed, "equal class means", label)
        assert float(statistic) == pytest.approx(table.loc[name, "statistic"], abs=1e-4)
        assert float(f) == pytest.approx(table.loc[name, "F"], abs=0.01)


def test_marginal_means_have_means_pairs_and_a_plot(capsys, tmp_path):
    options = ["--factors", "species", "--by", "sex", "--adjust", "holm", "--at", "flipper_length_mm=190"]
    formula = "species * sex + flipper_length_mm ~ bill_length_mm + body_mass_g"
    picture = tmp_path / "means.png"
    printed = said(capsys, "marginal-means", formula, "penguins", *options, "--plot", str(picture))
    fit = discrim.mlm(formula, datasets.load_penguins())
    means = fit.marginal_means("species", by="sex", at={"flipper_length_mm": 190})
    assert means.summary(adjust="holm").as_text() in printed
    assert picture.stat().st_size > 0
    refusal = refused(capsys, "marginal-means", formula, "penguins", "--factors", "island")
    assert "'species', 'sex'" in refusal


def test_manova_of_more_columns_than_rows(capsys):
    printed = said(capsys, "manova", FORMULA, "iris", "--method", "dempster")
    wanted = discrim.manova(FORMULA, IRIS, method="dempster").iloc[0]
    statistic, law, *_ = row(printed, "equal class means", "Dempster's test")
    assert float(statistic) == pytest.approx(wanted["statistic"], rel=1e-4)
    assert law == "F"
    assert wanted["assumes"] in " ".join(printed.split())
    assert "one factor" in refused(capsys, "manova", SEVERAL, "penguins", "--method", "dempster")


SEVERAL = "species * sex ~ bill_length_mm + bill_depth_mm"


def test_terms_of_several_factors(capsys):
    fit = discrim.mlm(SEVERAL, datasets.load("penguins"))
    printed = said(capsys, "manova", SEVERAL, "penguins", "--type", "3")
    assert printed == fit.summary(["header", "tests", "manova"], type=3).as_text() + "\n"
    one = said(
        capsys, "manova", "cbind(bill_length_mm, bill_depth_mm) ~ species * sex", "penguins", "--term", "sex"
    )
    assert "type 2" in one
    assert f"{fit.manova('sex')['F'].iloc[0]:.2f}" in one
    found = fit.canonical("species", 3)
    options = ("--term", "species", "--type", "3", "--plot", "a.svg")
    assert said(capsys, "canonical", SEVERAL, "penguins", *options) == found.summary().as_text() + "\n"
    assert Path("a.svg").exists()
    assert "Name one of" in refused(capsys, "canonical", SEVERAL, "penguins")
    message = refused(capsys, "manova", SEVERAL, "penguins", "--term", "sx")
    assert "term='sx'" in message
    assert "Name one of 'species', 'sex', 'species:sex'" in message
    assert "--prior" in refused(capsys, "canonical", SEVERAL, "penguins", "--term", "sex", "--prior", "equal")


# ---- datasets


def test_the_list_of_datasets_is_true(capsys):
    printed = said(capsys, "datasets")
    for name in datasets.names():
        table, about = datasets.load(name), datasets.ABOUT[name]
        assert (about.rows, about.columns) == table.shape
        response, _, counts = about.classes.partition(": ")
        expected = {label: int(rows) for label, rows in (one.rsplit(" ", 1) for one in counts.split(", "))}
        assert table[response].value_counts().sort_index().to_dict() == expected
        assert re.search(rf"^{name} +{about.rows} +{about.columns}  {response}: ", printed, re.MULTILINE)


@pytest.mark.parametrize("name", datasets.names())
def test_a_dataset_is_written_as_it_is_read(name, capsys):
    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(said(capsys, "datasets", name))), datasets.load(name)
    )
    assert said(capsys, "datasets", name, "--out", "a.csv") == ""
    assert discrim.datasets.text(name) == Path("a.csv").read_text(encoding="utf-8")


def test_a_list_of_datasets_is_no_file(capsys):
    assert "--out requires the name of a data set" in refused(capsys, "datasets", "--out", "a.csv")
    assert "'wine' is not expected" in refused(capsys, "datasets", "iris", "wine")


# ---- compare


def test_compare_has_the_numbers_of_compare(capsys):
    printed = said(capsys, "compare", FORMULA, "iris", "--folds", "5", "--seed", "1")
    fits = discrim.lda(FORMULA, IRIS), discrim.qda(FORMULA, IRIS)
    by_fit = discrim.compare(*fits)
    assert float(row(printed, "Fits of", "lda")[-3]) == round(by_fit.loc["LDA", "llf_given_row"], 2)
    assert float(row(printed, "Fits of", "qda")[-4]) == round(by_fit.loc["QDA", "bic"], 2)
    errors = discrim.compare(*fits, folds=5, seed=1)
    assert float(row(printed, "Cross-validated error", "qda")[0]) == round(errors.loc["QDA", "error_cv"], 4)
    pair = errors.pairs().iloc[0]
    assert float(row(printed, "Pairwise differences", "qda")[0]) == round(pair["difference"], 4)
    area = errors.roc_test(classes="virginica").iloc[0]
    printed_area = [float(number) for number in row(printed, "Areas under", "  virginica")[:2]]
    assert printed_area == [round(area["area_a"], 4), round(area["area_b"], 4)]


def test_each_verb_may_have_options(capsys):
    verbs = "lda(covariance='diagonal'), knn(grid=[1, 5], scale=False), rda(alpha=0.5, gamma=1)"
    printed = said(capsys, "compare", FORMULA, "iris", "--verbs", verbs, "--prior", "equal")
    fits = [
        discrim.lda(FORMULA, IRIS, covariance="diagonal", prior="equal"),
        discrim.knn(FORMULA, IRIS, grid=[1, 5], scale=False, prior="equal"),
        discrim.rda(FORMULA, IRIS, alpha=0.5, gamma=1, prior="equal"),
    ]
    for label, fit in zip([r"lda\(cov", r"knn\(grid", r"rda\(alpha"], fits, strict=True):
        words = re.search(rf"^{label}.*$", printed.rpartition("apparent")[2], re.MULTILINE)[0].split()
        assert float(words[-1]) == round(fit.error_rates(["loo"])["estimate"].iloc[0], 4)


def test_formulas_are_compared_too(capsys):
    printed = said(capsys, "compare", FORMULA, "species ~ petal_length", "iris", "--verbs", "lda")
    assert row(printed, "Fits", "species ~ petal_length")[0] == "150"
    assert "so AIC and BIC of joint likelihoods are missing" in " ".join(printed.split())
    printed = said(capsys, "compare", FORMULA, "species ~ petal_length", "iris")
    assert row(printed, "Fits", "qda, species ~ petal_length")[0] == "150"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--seed", "1"], "--seed requires --folds"),
        (["--repeats", "2"], "--repeats requires --folds"),
        (["--verbs", ""], "The name of a model is empty"),
        (["--verbs", "lda 'x"], "cannot be read"),
        (["--verbs", "lda,fda"], "'fda' is not a model that can be fitted here"),
        (["--verbs", "lda(priorfree=1), knn"], "lda() has no keyword 'priorfree'"),
        (["--verbs", "knn(3)"], "by its name"),
        (["--verbs", "knn(k=lda(prior=1))"], "k= cannot be a call"),
        (["--verbs", "indicator", "--prior", "equal"], "indicator has no option --prior"),
        (["--verbs", "lda,logistic"], "logistic: A hyperplane separates"),
    ],
)
def test_options_that_cannot_be_combined_raise(arguments, says, capsys):
    assert says in refused(capsys, "compare", FORMULA, "iris", *arguments)


@pytest.fixture
def saved():
    """Two fits to some of the rows, saved; the fits, and rows that they have not seen."""
    seen, new = IRIS[::3], IRIS.drop(IRIS.index[::3])
    fits = discrim.lda(FORMULA, seen), discrim.qda("species ~ sepal_length + sepal_width", seen)
    for fit, name in zip(fits, ("a.fit", "b.fit"), strict=True):
        fit.save(name)
    new.to_csv("new.csv", index=False)
    return fits, new


def test_saved_fits_are_compared_on_new_rows(saved, capsys):
    fits, new = saved
    printed = said(capsys, "compare", "a.fit", "b.fit", "new.csv")
    wrong = [fit.predict(new).to_numpy() != new["species"].to_numpy() for fit in fits]
    for name, each in zip(("a.fit", "b.fit"), wrong, strict=True):
        assert int(re.search(rf"^{name} .*? 100 +(\d+) ", printed, re.MULTILINE)[1]) == each.sum()
    only = int((wrong[0] & ~wrong[1]).sum()), int((wrong[1] & ~wrong[0]).sum())
    assert [int(word) for word in row(printed, "of two fits misclassifies", "b.fit")[:3]] == [100, *only]
    Path("new_csv").mkdir()
    for day in range(3):
        new[day::3].to_csv(f"new_csv/{day}.csv", index=False)
    assert said(capsys, "compare", "a.fit", "b.fit", "new_csv").replace("new_csv", "new.csv") == printed
    by_fit, by_pair = compare_on_table(fits, ["a", "b"], [new[:40], new[40:]])
    assert by_fit["wrong"].tolist() == [int(each.sum()) for each in wrong]
    # An exact binomial test of as many heads by scipy.
    from scipy.stats import binomtest

    assert by_pair["p_exact"].iloc[0] == pytest.approx(binomtest(only[0], sum(only)).pvalue, rel=1e-12)


def test_one_saved_fit_is_assessed(saved, capsys):
    printed = said(capsys, "compare", "a.fit", "new.csv")
    assert "Comparison of 1 fit: new.csv" in printed
    assert "alone" not in printed


def test_options_for_formulas_raise_with_saved_fits(saved, capsys):
    for option in (["--folds", "5"], ["--verbs", "lda"], ["--prior", "equal"], ["--na-action", "drop"]):
        assert f"{option[0]} requires formulas" in refused(capsys, "compare", "a.fit", "new.csv", *option)
    assert "is the file of a fit" in refused(capsys, "compare", "a.fit", FORMULA, "new.csv")
    discrim.lda("petal ~ sepal_width", IRIS.assign(petal=IRIS["petal_width"] > 1)).save("c.fit")
    assert "same response" in refused(capsys, "compare", "a.fit", "c.fit", "new.csv")
    assert "'no.fit'" in refused(capsys, "compare", "no.fit", "a.fit", "new.csv")


# ---- fda


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        ("Ridge", None),
        ("Ridge()", None),
        ("Ridge(alpha=2.5, fit_intercept=True)", None),
        ("KernelRidge(kernel='rbf', gamma=0.1)", None),
        ("HuberRegressor(max_iter=300)", None),
        ("ridge", "Did you mean Ridge?"),
        ("LogisticRegression", "'LogisticRegression' is not a regression"),
        ("Ridge(alpha=[1", "cannot be read"),
        ("Ridge(2.5)", None),
        ("Ridge(**{})", "character 7"),
        ("Ridge().fit", "character 1"),
        ("__import__('os').system('true')", "character 1"),
        ("Ridge(alpha=__import__('os'))", "character 13"),
        ("Ridge(alhpa=1)", "'alhpa'"),
        ("", "cannot be read"),
        ("(" * 5000, "cannot be read"),
    ],
)
def test_an_engine_is_a_name_with_options_and_never_code(engine, says, capsys):
    pytest.importorskip("sklearn")
    command = ["fda", FORMULA, "iris", "--engine", engine, "--sections", "header"]
    if says is None:
        assert "Engine: " in said(capsys, *command)
    else:
        assert says in refused(capsys, *command)


def test_fda_of_least_squares_is_lda(capsys):
    pytest.importorskip("sklearn")
    printed = said(capsys, "fda", FORMULA, "iris", "--engine", "LinearRegression", "--ncomp", "2")
    error = discrim.lda(FORMULA, IRIS, method="mle").error_rates(["apparent"])["wrong"].iloc[0]
    assert f"({error:.0f}/150)" in printed


# ---- report


@pytest.mark.slow
def test_a_report_is_of_the_fit_that_was_asked_for(capsys):
    Path("semicolons.csv").write_text(IRIS.to_csv(sep=";", decimal=",", index=False), encoding="utf-8")
    written = ["--sep", ";", "--decimal", ",", "--out", "a.html"]
    verb = ["--verb", "nearest-centroid", "--title", "Irises & <others>"]
    assert said(capsys, "report", "species ~ petal_length", "semicolons.csv", *verb, *written) == ""
    page = Path("a.html").read_text(encoding="utf-8")
    assert "<title>Irises &amp; &lt;others&gt;</title>" in page
    code = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert "nearest_centroid(" in code
    reads = re.search(r"pd\.read_csv\(.*\)", code)[0]
    assert eval(reads, {"pd": pd}).equals(IRIS)


@pytest.mark.slow
def test_a_report_has_the_pictures_that_are_named(capsys):
    data = ["species ~ petal_length", "iris"]
    for names, count in (("scree,confusion", 2), ("none", 0)):
        assert said(capsys, "report", *data, "--pictures", names, "--out", "named.html") == ""
        assert Path("named.html").read_text(encoding="utf-8").count("<figure") == count
    assert "not a picture" in refused(capsys, "report", *data, "--pictures", "sketch", "--out", "b.html")


@pytest.mark.slow
def test_a_saved_fit_is_reported_as_it_is(capsys):
    discrim.nearest_centroid(FORMULA, IRIS).save("a.fit")
    assert said(capsys, "report", "a.fit", "--out", "a.html") == ""
    assert "setosa" in Path("a.html").read_text(encoding="utf-8")
    for more in (["iris"], ["--verb", "lda"], ["--prior", "equal"], ["--sep", ";"]):
        message = refused(capsys, "report", "a.fit", *more, "--out", "b.html")
        assert "leave" in message.lower()
    assert not Path("b.html").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([FORMULA, "iris"], "required: --out"),
        ([FORMULA, "--out", "a.html"], "requires a table. Add one"),
        ([FORMULA, "iris", "--out", "a.pdf"], "Pass a path that ends in .html"),
        ([FORMULA, "iris", "--out", "no/a.html"], "There is no such folder: 'no'"),
        ([FORMULA, "iris", "--out", "a.html", "--verb", "ldaa"], "Did you mean lda?"),
        ([FORMULA, "iris", "--out", "a.html", "--verb", "logistic"], "logistic: A hyperplane separates"),
        (["no.fit", "--out", "a.html"], "'no.fit'"),
        (["table.html", "--out", "table.html"], "is also an input file"),
    ],
)
def test_a_report_that_cannot_be_made_is_one_line(arguments, says, capsys):
    Path("table.html").touch()
    assert says in refused(capsys, "report", *arguments)
    assert not Path("a.html").exists()


def test_the_errors_of_a_choice_say_what_they_hold(capsys):
    printed = said(capsys, "stepwise", FORMULA, "iris", "--errors", "loo,cv", "--seed", "1")
    lines = [line.split() for line in printed.splitlines()]
    assert [line[-1] for line in lines if line[:1] in (["loo"], ["cv"])] == ["fixed", "repeated"]
