"""The command line: what is typed becomes the call one would write, and what is wrong one line."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discrim
from discrim import cli, datasets
from discrim.cli.reading import read_table
from discrim.cli.values import value_kind_of
from discrim.covariance import StudentT
from discrim.errors import DiscrimWarning, FormulaError
from discrim.models.base.reading import Prior
from tests.support import ROOT, read_csv

FORMULA = "species ~ ."


class Recorder:
    """Stands in for a verb and for the fit and the summary it gives; keeps what it was called with."""

    def __init__(self):
        self.called = None
        self.sections = None

    def __call__(self, formula, data, **options):
        self.called = (formula, data, options)
        return self

    def summary(self, sections=None):
        self.sections = sections
        return self

    def as_text(self, width=None):
        return "summary in plain text\n"

    title = "a title"

    def as_html(self):
        return "<p>summary</p>"


@pytest.fixture
def verb(monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(vars(discrim), "lda", recorder)
    return recorder


def run(*arguments, env=None, input=None):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "discrim", *arguments]
    environment = {**os.environ, **(env or {})}
    return subprocess.run(command, capture_output=True, env=environment, cwd=ROOT, input=input)


def fails(capsys, *arguments):
    """Run in this process what must fail, and give the one line it says."""
    try:
        status = cli.main(arguments)
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert captured.err.startswith("discrim: ")
    assert captured.err.count("\n") == 1
    return captured.err


# ---- what is typed is what is called


def test_verbs_receive_only_typed_options(verb, capsys):
    assert cli.main(["lda", FORMULA, "iris"]) == 0
    formula, data, options = verb.called
    assert formula == FORMULA
    assert data.equals(datasets.load_iris())
    assert options == {}
    assert verb.sections is None
    assert capsys.readouterr().out == "summary in plain text\n"


def test_every_option_arrives_under_its_name(verb):
    typed = "--method mle --weights year --na-action raise --ncomp 1 --collinear drop --covariance pooled"
    typed += " --prior equal --sections means,cov"
    assert cli.main(["lda", FORMULA, "penguins", *typed.split()]) == 0
    assert verb.called[2] == {
        "method": "mle",
        "weights": "year",
        "na_action": "raise",
        "ncomp": 1,
        "collinear": "drop",
        "covariance": "pooled",
        "prior": "equal",
    }
    assert verb.sections == ["means", "cov"]


def test_shrunken_centroids_are_reached_by_their_name_with_a_hyphen(capsys):
    options = ["--threshold", "2", "--offset", "0.5", "--prior", "equal", "--sections", "header"]
    assert cli.main(["shrunken-centroids", FORMULA, "iris", *options]) == 0
    fit = discrim.shrunken_centroids(FORMULA, datasets.load_iris(), threshold=2, offset=0.5, prior="equal")
    assert capsys.readouterr().out == str(fit.summary(["header"])).rstrip("\n") + "\n"
    said = fails(capsys, "shrunken-centroids", FORMULA, "iris", "--offset", "mean")
    assert "--offset: 'mean' is not a number or median" in said


def test_a_penalty_and_its_strength(capsys):
    cli.main(["logistic", "species ~ .", "iris", "--penalty", "lasso(strength=0.05)"])
    said = capsys.readouterr().out
    assert "Penalized logistic regression" in said
    assert "4 of 12" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The likelihood is largest at nu=256")
def test_degrees_of_freedom_are_given_estimated_or_refused(capsys, tmp_path):
    # The header has the leave-one-out error, by a refit for each row.
    few = datasets.load_iris()[::5]
    few.to_csv(tmp_path / "few.csv", index=False)
    for nu in (4.0, None):
        options = ["--covariance", f"t(nu={nu})", "--sections", "header"]
        assert cli.main(["lda", FORMULA, str(tmp_path / "few.csv"), *options]) == 0
        fit = discrim.lda(FORMULA, few.astype({"species": str}), covariance=StudentT(nu))
        assert capsys.readouterr().out == str(fit.summary(["header"])).rstrip("\n") + "\n"
    assert "'none'" in fails(capsys, "lda", FORMULA, "iris", "--covariance", "t(nu='none')")
    assert "'fine'" in fails(capsys, "rda", FORMULA, "iris", "--grid", "0,fine")


def test_format_picks_the_rendering(verb, capsys):
    assert cli.main(["lda", FORMULA, "iris", "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!DOCTYPE html>\n")
    assert "\n<title>a title</title>\n" in page
    assert "\n<p>summary</p>\n" in page


@pytest.mark.parametrize(
    ("typed", "prior"),
    [
        ("equal", "equal"),
        ("0.5,0.25,0.25", [0.5, 0.25, 0.25]),
        ("1/2, 1/4, 1/4", [0.5, 0.25, 0.25]),
        ("setosa=.5,versicolor=.25,virginica=.25", {"setosa": 0.5, "versicolor": 0.25, "virginica": 0.25}),
        ("a=b=1", {"a=b": 1.0}),
        ("1e-300,1", [1e-300, 1.0]),
    ],
)
def test_prior_in_every_form(typed, prior):
    assert value_kind_of(Prior).read(typed) == prior


@pytest.mark.parametrize(
    ("typed", "culprit"),
    [
        ("half,half", "'half' is not a number"),
        ("1/0,1", "'1/0' is not a number"),
        ("nan,1", "'nan' is not a number"),
        ("1e999,1", "'1e999' is not a number"),
        ("a=1e999,b=1", "'1e999' is not a number"),
        ("1e100000000,0", "'1e100000000' is not a number"),
        ("inf,1", "'inf' is not a number"),
        ("1/3e9,1", "'1/3e9' is not a number"),
        ("9/0.5,1", "'9/0.5' is not a number"),
        ("", "'' is not equal"),
        ("a=.5,.5", "'.5' in 'a=.5,.5'"),
        ("a=.5,a=.5", "'a' occurs twice"),
        ("a=.5,b=", "'' is not a number"),
    ],
)
def test_invalid_priors_are_named(typed, culprit):
    with pytest.raises(argparse.ArgumentTypeError, match=culprit):
        value_kind_of(Prior).read(typed)


def test_a_prior_names_classes_that_are_numbers(verb, tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("y,x\n1,0.5\n2,0.25\n1,1.5\n", encoding="utf-8")
    assert cli.main(["lda", "y ~ x", str(path), "--prior", "1=.75,2=.25"]) == 0
    assert verb.called[2]["prior"] == {1: 0.75, 2: 0.25}


# ---- tables


@pytest.fixture
def table():
    x = np.random.default_rng(7).standard_normal(50) * 10.0 ** np.arange(-25, 25)
    return pd.DataFrame({"naïve name": ["α", "β"] * 25, "x": x, "n": range(50)})


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.CSV", "t.txt", "t", "a.tsv.csv", "t.csv.bz2", "t.csv.zip"]
)
def test_csv_is_read_to_the_last_bit(table, tmp_path, name):
    path = tmp_path / name
    table.to_csv(path, index=False, encoding="utf-8")
    got = read_table(str(path))
    assert list(got) == list(table)
    assert np.array_equal(got["x"], table["x"])
    assert got["naïve name"].tolist() == table["naïve name"].tolist()


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
def test_tsv(table, tmp_path, name):
    path = tmp_path / name
    table.to_csv(path, index=False, sep="\t")
    assert np.array_equal(read_table(str(path))["x"], table["x"])


@pytest.mark.parametrize("name", ["t.parquet", "t.pq"])
def test_parquet(table, tmp_path, name):
    path = tmp_path / name
    table.to_parquet(path)
    assert read_table(str(path)).equals(table)


def without(monkeypatch, *libraries):
    """Make libraries fail to import, for our code and for pandas'."""
    for library in libraries:
        monkeypatch.setitem(sys.modules, library, None)


def test_parquet_without_pyarrow_is_read_by_polars(monkeypatch, table, tmp_path):
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    without(monkeypatch, "pyarrow")
    got = read_table(str(path))
    assert isinstance(got, pl.DataFrame)
    assert got["x"].to_list() == table["x"].tolist()


def test_parquet_without_an_engine_says_what_to_install(monkeypatch, table, tmp_path, capsys):
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    without(monkeypatch, "pyarrow", "polars")
    assert "pip install pyarrow" in fails(capsys, "lda", FORMULA, str(path))


@pytest.mark.slow
def test_a_dash_is_standard_input(capsys):
    text = datasets.load_iris().to_csv(index=False).encode()
    done = run("lda", FORMULA, "-", "--sections", "means", input=text)
    assert cli.main(["lda", FORMULA, "iris", "--sections", "means"]) == 0
    assert done.stdout.decode("utf-8") == capsys.readouterr().out != ""


def test_a_file_is_not_taken_for_a_bundled_table(monkeypatch, tmp_path):
    (tmp_path / "iris").write_text("y,x\na,1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert read_table("./iris").shape == (1, 2)
    assert read_table("iris").shape == (150, 5)


def test_a_column_without_a_name_is_reported(tmp_path):
    path = tmp_path / "rownames.csv"
    datasets.load_iris().to_csv(path)
    with pytest.warns(DiscrimWarning, match="column 1 of .* has no name and is called 'Unnamed: 0'"):
        read_table(str(path))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("twice.csv", b"y,x,x\na,1,2\n", "more than one column named 'x'"),
        ("empty.csv", b"", "cannot be read as a table"),
        ("ragged.csv", b"y,x\na,1\nb,2,3\n", "cannot be read as a table"),
        ("shifted.csv", b"y,x\na,1,2\nb,2,3\n", "rows with more fields than the header"),
        ("latin.csv", "y,x\n\xe9,1\n".encode("latin-1"), "not text in UTF-8"),
        ("broken.parquet", b"PAR1 and no more", "broken.parquet"),
        ("broken.csv.gz", b"not gzip", "cannot be unpacked"),
        ("broken.csv.bz2", b"not bzip2", "cannot be unpacked"),
        ("broken.csv.zip", b"not zip", "cannot be unpacked"),
    ],
)
def test_unreadable_files_are_one_line(tmp_path, capsys, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    assert says in fails(capsys, "lda", "y ~ x", str(path))


def test_missing_files_are_one_line(tmp_path, capsys):
    assert "neither a file nor a data set" in fails(capsys, "lda", "y ~ x", "no_such.csv")
    assert "has no files" in fails(capsys, "lda", "y ~ x", str(tmp_path))
    assert "Download it first" in fails(capsys, "lda", "y ~ x", "https://example.org/t.csv")


# ---- what goes wrong


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("lda",),
        ("lda", FORMULA),
        ("lad", FORMULA, "iris"),
        ("lda", FORMULA, "iris", "--prio", "equal"),
        ("lda", FORMULA, "iris", "--ncomp", "two"),
        ("lda", FORMULA, "iris", "--format", "pdf"),
        ("rda", FORMULA, "iris", "--ncomp", "1"),
        ("lda", FORMULA, "iris", "--prior", "x"),
        ("lda", FORMULA, "iris", "--prior=--"),
        ("lda", FORMULA, "iris", "--format=--"),
        ("naive-bayes", FORMULA, "iris", "--kernel=--"),
        ("rda", FORMULA, "iris", "--folds", "\u00b2"),
        ("rda", FORMULA, "iris", "--folds", "1000000"),
        ("rda", FORMULA, "iris", "--folds", "99999999999"),
        ("knn", FORMULA, "iris", "--grid", "1,x"),
        ("knn", FORMULA, "iris", "--k", "9" * 5000),
    ],
)
def test_wrong_arguments_are_one_line(capsys, arguments):
    fails(capsys, *arguments)


def test_errors_are_one_line_without_control_characters(verb, monkeypatch, capsys):
    def refuse(*_, **__):
        raise FormulaError("no column 'a\nb'\x1b[31m \u202e in\n  the table\n  ^^^^")

    monkeypatch.setitem(vars(discrim), "lda", refuse)
    assert fails(capsys, "lda", FORMULA, "iris") == "discrim: no column 'a b'\\x1b[31m \\u202e in the table\n"


@pytest.mark.parametrize("option", ["--weights", "--prior", "--format", "--ncomp", "--sections"])
def test_a_message_of_a_long_value_is_short_and_keeps_its_ends(capsys, option):
    said = fails(capsys, "lda", FORMULA, "iris", option, "x" * 100_000)
    assert len(said) < 2100
    assert "characters] xxx" in said
    short = fails(capsys, "lda", FORMULA, "iris", option, "x")
    assert said[-20:] == short[-20:]


def test_internal_errors_are_not_hidden(monkeypatch):
    def break_down(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setitem(vars(discrim), "lda", break_down)
    with pytest.raises(ZeroDivisionError):
        cli.main(["lda", FORMULA, "iris"])


def test_a_warning_is_one_line_said_once_beside_the_summary(verb, monkeypatch, capsys):
    def warn(formula, data):
        for _ in range(2):
            warnings.warn("3 rows dropped:\nvalues missing", DiscrimWarning, stacklevel=2)
        return verb

    monkeypatch.setitem(vars(discrim), "lda", warn)
    assert cli.main(["lda", FORMULA, "iris"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "discrim: warning: 3 rows dropped: values missing\n"
    assert captured.out == "summary in plain text\n"


def test_an_interrupt_is_130(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setitem(vars(discrim), "lda", interrupt)
    assert cli.main(["lda", FORMULA, "iris"]) == 130


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"discrim {discrim.__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("lda", "--help"), ("qda", "--help")])
def test_help_explains(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 0
    assert "usage: discrim" in capsys.readouterr().out


# ---- the real thing, in its own process


@pytest.mark.parametrize("verb_name", ["lda", "qda", "naive-bayes"])
@pytest.mark.parametrize("style", ["text", "html", "latex", "markdown"])
def test_prints_the_summary_of_the_same_call(capsys, verb_name, style):
    assert cli.main([verb_name, FORMULA, "iris", "--format", style, "--prior", "1/2,1/4,1/4"]) == 0
    fit = getattr(discrim, verb_name.replace("-", "_"))(
        FORMULA, data=datasets.load_iris(), prior=[0.5, 0.25, 0.25]
    )
    expected = getattr(fit.summary(), f"as_{style}")()
    printed = capsys.readouterr().out
    if style == "html":
        assert f"<body>\n{expected}\n</body>" in printed
    else:
        assert printed == expected.rstrip("\n") + "\n"


@pytest.mark.parametrize(
    "typed",
    [
        "indicator --collinear drop",
        "indicator --na-action drop --sections header,classes",
        "lda --method mle",
        "lda --na-action drop",
        "lda --ncomp 1",
        "lda --collinear drop",
        "lda --covariance diagonal",
        "lda --sections means",
        "naive-bayes --method mle",
        "naive-bayes --smoothing 1e-9",
        "naive-bayes --prior equal",
        "naive-bayes --laplace 1 --unseen missing",
        "naive-bayes --kernel True --bandwidth nrd",
        "naive-bayes --kernel petal_length --bandwidth 0.3",
        "naive-bayes --counts petal_length,petal_width",
        "knn --k 3 --metric cityblock --no-scale",
        "knn --grid 1,5 --prior equal --sections classes",
        "qda --method mle",
        "qda --na-action drop",
        "qda --covariance diagonal",
        "qda --sections means",
    ],
)
def test_every_option_is_one_the_verb_has(capsys, typed):
    verb_name, *option = typed.split()
    assert cli.main([verb_name, FORMULA, "iris", *option]) == 0
    assert "setosa" in capsys.readouterr().out


def test_weights_are_a_column_that_is_no_predictor(tmp_path, capsys):
    path = tmp_path / "weighted.csv"
    datasets.load_iris().assign(w=2).to_csv(path, index=False)
    assert cli.main(["lda", FORMULA, str(path), "--weights", "w", "--sections", "means"]) == 0
    assert " w" not in capsys.readouterr().out.split("Means")[1]


# ---- a fit saved, and asked


@pytest.fixture
def saved(tmp_path, capsys):
    path = str(tmp_path / "iris.fit")
    assert cli.main(["lda", FORMULA, "iris", "--save", path]) == 0
    capsys.readouterr()
    return path


def printed(capsys, *arguments):
    assert cli.main(arguments) == 0
    return read_csv(io.StringIO(capsys.readouterr().out))


def test_a_saved_fit_labels_new_rows(saved, capsys, tmp_path):
    iris = datasets.load_iris()
    fit = discrim.lda(FORMULA, iris)
    assert printed(capsys, "predict", saved, "iris")["species"].tolist() == fit.predict(iris).tolist()
    new = iris.drop(columns="species").mask(iris.drop(columns="species") == iris.iloc[3, 0])
    new.to_csv(tmp_path / "new.csv", index=False)
    found = printed(capsys, "predict", saved, str(tmp_path / "new.csv"), "--proba", "--prior", "1/2,1/4,1/4")
    expected = fit.predict_proba(new, prior=[0.5, 0.25, 0.25])
    assert found["species"].isna().any()
    np.testing.assert_allclose(found.drop(columns="species"), expected, rtol=1e-14)
    found = printed(capsys, "predict", saved, "iris", "--augment")
    assert found.columns.tolist() == fit.augment(iris).columns.tolist()


def test_a_file_may_hold_the_map_to_calibrated_posteriors(saved, capsys, tmp_path):
    iris, path = datasets.load_iris(), str(tmp_path / "calibrated.fit")
    assert cli.main(["lda", FORMULA, "iris", "--save", path, "--calibrated"]) == 0
    capsys.readouterr()
    found = printed(capsys, "predict", path, "iris", "--proba", "--method", "calibrated")
    expected = discrim.lda(FORMULA, iris).predict_proba(method="calibrated")
    np.testing.assert_allclose(found.drop(columns="species"), expected, rtol=1e-12)
    asked = ["--proba", "--method", "calibrated"]
    assert "before it is saved" in fails(capsys, "predict", saved, "iris", *asked)
    assert "--proba" in fails(capsys, "predict", path, "iris", "--method", "calibrated")
    assert "--save" in fails(capsys, "lda", FORMULA, "iris", "--calibrated")


def test_errors_of_predict_name_the_cause(saved, capsys):
    assert "'no.fit'" in fails(capsys, "predict", "no.fit", "iris")
    assert "cannot be read as a saved fit" in fails(capsys, "predict", "README.md", "iris")
    assert "'sepal_length'" in fails(capsys, "predict", saved, "penguins")
    assert "2 values for 3 classes" in fails(capsys, "predict", saved, "iris", "--prior", "1/2,1/2")
    assert "--prior" in fails(capsys, "predict", saved, "iris", "--prior", "equal", "--augment")
    assert "'no/such'" in fails(capsys, "lda", FORMULA, "iris", "--save", "no/such/iris.fit")
    assert "This is a folder: 'tests'" in fails(capsys, "lda", FORMULA, "iris", "--save", "tests")
    assert "This is a folder: 'no.fit/'" in fails(capsys, "lda", FORMULA, "iris", "--save", "no.fit/")


def test_a_value_that_begins_with_a_minus_is_told_how_to_be_given(capsys):
    assert "for example --prior=-1" in fails(capsys, "lda", FORMULA, "iris", "--prior", "-1,1,1")
    assert "'setosa' is -1" in fails(capsys, "lda", FORMULA, "iris", "--prior=-1,1,1")


def test_unknown_sections_list_the_sections(capsys):
    assert "means" in fails(capsys, "lda", FORMULA, "iris", "--sections", "meens")


@pytest.mark.parametrize(
    ("formula", "option", "culprit"),
    [
        ("specis ~ .", [], "'species'"),
        ("species ~ __import__('os')", [], "'__import__'"),
        (FORMULA, ["--prior", "setosa=1"], "'versicolor'"),
        (FORMULA, ["--prior", "1/2,1/2"], "2 values for 3 classes"),
        (FORMULA, ["--prior", ".5,.5,.5"], "1.5"),
        (FORMULA, ["--weights", "no_such"], "'no_such'"),
    ],
)
def test_errors_name_the_cause(capsys, formula, option, culprit):
    assert culprit in fails(capsys, "lda", formula, "iris", *option)


@pytest.mark.slow
def test_output_is_utf8_whatever_the_terminal_claims(tmp_path):
    path = tmp_path / "greek.csv"
    rows = ["είδος,μήκος", *(f"{label},{x}" for label, x in zip("αβ" * 5, range(10), strict=True))]
    path.write_text("\n".join(rows), encoding="utf-8")
    done = run("lda", "είδος ~ μήκος", str(path), env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert done.stderr.decode("utf-8") == ""
    assert done.returncode == 0
    assert "μήκος" in done.stdout.decode("utf-8")


@pytest.mark.slow
def test_a_mistake_in_a_process_of_its_own_has_no_traceback():
    done = run("lda", "specis ~ .", "iris")
    assert done.returncode == 2
    assert done.stdout == b""
    said = done.stderr.decode("utf-8")
    assert said.startswith("discrim: ")
    assert "species" in said
    assert said.count("\n") == 1


def test_logistic_has_options_of_its_own(capsys):
    arguments = ["logistic", FORMULA, "iris", "--bias-reduction", "--reference", "virginica"]
    assert cli.main(arguments) == 0
    fit = discrim.logistic(FORMULA, discrim.datasets.load_iris(), bias_reduction=True, reference="virginica")
    assert capsys.readouterr().out == fit.summary().as_text() + "\n"
    assert cli.main(arguments[:3]) == 2
    assert "bias_reduction=True" in capsys.readouterr().err


def test_options_of_rda_arrive_under_their_names(monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(vars(discrim), "rda", recorder)
    assert cli.main(["rda", FORMULA, "iris", "--folds", "loo", "--grid", "0,0.5", "--alpha", "1se"]) == 0
    assert recorder.called[2] == {"folds": "loo", "grid": [0.0, 0.5], "alpha": "1se"}
