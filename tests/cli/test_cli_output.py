"""What is written: pages, files, pictures and error rates, whole or not at all."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import discrim
from discrim import cli, datasets
from discrim.report.plots.style import picture_bytes
from tests.cli.support import read_terminal, refused, said
from tests.support import ROOT, record_calls

FORMULA = "species ~ ."
HEADER = ["--sections", "header"]
IRIS = datasets.load_iris()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ---- text and pages


@pytest.mark.parametrize("width", [40, 60, 200])
def test_width_is_that_of_the_summary(width, capsys):
    printed = said(capsys, "lda", FORMULA, "iris", "--text-width", str(width))
    assert printed == discrim.lda(FORMULA, IRIS).summary().as_text(width=width) + "\n"
    assert max(map(len, printed.splitlines())) <= width


def test_a_pipe_has_a_hundred_columns_whatever_the_terminal_has(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    fit = discrim.lda(FORMULA, IRIS)
    assert said(capsys, "lda", FORMULA, "iris") == fit.summary().as_text(width=100) + "\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
def test_a_terminal_has_its_own_columns():
    import fcntl
    import struct
    import termios

    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "discrim", "lda", FORMULA, "iris", "--sections", "log_odds"]
    program = subprocess.Popen(command, cwd=ROOT, stdout=its, env=environment)
    os.close(its)
    written = read_terminal(ours)
    assert program.wait(timeout=60) == 0
    summary = discrim.lda(FORMULA, IRIS).summary(sections=["log_odds"])
    assert written.decode().replace("\r\n", "\n") == summary.as_text(width=60) + "\n"


class Page(HTMLParser):
    """Names of the elements of a page, of which those that have to be are closed in order."""

    VOID = ("meta", "br", "hr", "img", "col", "link")

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.texts, self.about = [], [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.about.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def test_html_is_a_whole_page(capsys):
    printed = said(capsys, "lda", FORMULA, "iris", "--format", "html")
    assert printed.startswith("<!DOCTYPE html>\n<html lang=")
    page = Page(printed)
    assert page.open == []
    assert page.seen.count("html") == page.seen.count("head") == page.seen.count("body") == 1
    assert page.texts["title"] == ["Linear discriminant analysis"]
    assert ("meta", {"charset": "utf-8"}) in page.about
    assert "color-scheme: light dark" in printed
    assert "http" not in printed
    assert discrim.lda(FORMULA, IRIS).summary().as_html() in printed


@pytest.mark.parametrize("style", ["latex", "markdown"])
def test_latex_and_markdown_stay_parts_of_a_document(style, capsys):
    expected = getattr(discrim.lda(FORMULA, IRIS).summary(), f"as_{style}")()
    assert said(capsys, "lda", FORMULA, "iris", "--format", style) == expected + "\n"


@pytest.mark.parametrize(
    ("name", "style"),
    [
        *[("a.html", "html"), ("a.htm", "html"), ("a.HTML", "html"), ("a.tex", "latex")],
        *[("a.md", "markdown"), ("a.txt", "text"), ("a", "text"), ("html", "text")],
    ],
)
def test_the_name_of_a_file_says_its_format(name, style, tmp_path, capsys):
    assert said(capsys, "lda", FORMULA, "iris", *HEADER, "--out", name) == ""
    expected = said(capsys, "lda", FORMULA, "iris", *HEADER, "--format", style)
    assert (tmp_path / name).read_text(encoding="utf-8") == expected
    other = "markdown" if style != "markdown" else "text"
    assert said(capsys, "lda", FORMULA, "iris", *HEADER, "--out", name, "--format", other) == ""
    expected = said(capsys, "lda", FORMULA, "iris", *HEADER, "--format", other)
    assert (tmp_path / name).read_text(encoding="utf-8") == expected


def test_a_dash_is_standard_output(capsys):
    expected = said(capsys, "lda", FORMULA, "iris", *HEADER)
    assert said(capsys, "lda", FORMULA, "iris", *HEADER, "--out", "-") == expected
    assert os.listdir() == []


# ---- files


def test_what_is_read_is_not_replaced(tmp_path, capsys):
    text = datasets.text("iris")
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    os.link("table.csv", "other.png")
    for option, name in (("--out", "table.csv"), ("--out", "./table.csv"), ("--plot", "other.png")):
        assert "is also an input file" in refused(capsys, "lda", FORMULA, "table.csv", option, name)
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "a.csv").write_text(text, encoding="utf-8")
    for option, name in (("--out", "days/a.csv"), ("--out", "days/b.csv"), ("--plot", "days/c.png")):
        assert "belongs to the folder" in refused(capsys, "lda", FORMULA, "days", option, name)
    assert os.listdir("days") == ["a.csv"]
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_a_picture_in_a_page_answers_a_pointer(capsys, monkeypatch, tmp_path):
    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    said(capsys, "lda", "species ~ .", "iris", "--plot", "a.html", "--axes", "LD1,LD2", "--save", "a.fit")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Discriminant scores" in page
    assert "http://" not in page.split("<script")[-1]
    assert "are not interactive" in refused(capsys, "assess", "a.fit", "iris", "--plot", "b.html")
    told = refused(capsys, "lda", "species ~ .", "iris", "--plot", "b.html", "--kind", "confusion")
    assert "--plot 'b.html' requires an interactive figure. " in told
    assert "Or name a file that ends in .png" in told


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--out", "no/such/a.txt"], "There is no such folder: 'no/such'"),
        (["--out", "."], "This is a folder"),
        (["--out", "a/"], "This is a folder"),
        (["--plot", "no/such/a.png"], "There is no such folder: 'no/such'"),
        (
            ["--plot", "a.jpg"],
            "'a.jpg' has no known file extension. Name a file that ends in .png, .svg or .pdf",
        ),
        (["--plot", "png"], "has no known file extension"),
        (["--kind", "scores"], "--kind requires --plot. Add --plot FILE"),
        (["--axes", "LD1,LD2"], "--axes requires --plot. Add --plot FILE"),
        (["--out", "a.svg", "--plot", "a.svg"], "is the target of two outputs"),
        (["--out", "a.png", "--save", "./a.png"], "is the target of two outputs"),
        (["--text-width", "60", "--format", "html"], "--text-width requires the format text"),
        (["--text-width", "60", "--out", "a.md"], "--text-width requires the format text"),
        (["--out", "a.pdf"], "the extension of another format"),
        (["--out", "a.DOCX"], "the extension of another format"),
        (["--text-width", "39"], "40 or more"),
        (["--text-width", "wide"], "'wide' is not a number of columns"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_fit(options, says, capsys, monkeypatch):
    monkeypatch.setitem(vars(discrim), "lda", None)
    assert says in refused(capsys, "lda", FORMULA, "iris", *options)
    assert os.listdir() == []


def test_a_summary_may_be_sheets_of_excel(capsys):
    openpyxl = pytest.importorskip("openpyxl", reason="workbooks are read back by openpyxl")
    assert said(capsys, "lda", FORMULA, "iris", "--out", "a.xlsx", "--errors", "loo") == ""
    names = openpyxl.load_workbook("a.xlsx").sheetnames
    assert names[:3] == ["about", "header", "classes"]
    assert names[-1] == "errors"


@pytest.mark.slow
@pytest.mark.parametrize("end", [".docx", ".md", ".qmd"])
def test_a_report_has_the_format_that_the_name_of_its_file_says(end, tmp_path, capsys):
    assert said(capsys, "report", FORMULA, "iris", "--out", f"a{end}", "--pictures", "none") == ""
    assert os.listdir() == [f"a{end}"]
    start = {".docx": b"PK", ".md": b"# Linear", ".qmd": b"---\ntitle"}[end]
    assert (tmp_path / f"a{end}").read_bytes().startswith(start)


def test_a_report_of_another_format_is_refused(capsys):
    said = refused(capsys, "report", FORMULA, "iris", "--out", "a.pdf")
    assert "A report cannot be named 'a.pdf'. Pass a path that ends in .html, .htm, .docx, .md" in said


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everybody may write where root does")
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, capsys):
    (tmp_path / "locked").mkdir(mode=0o555)
    assert "'locked': This folder cannot be written to" in refused(
        capsys, "lda", FORMULA, "iris", "--out", "locked/a.txt"
    )


def test_a_command_that_fails_leaves_what_was_there(tmp_path, capsys, system_fails):
    (tmp_path / "a.txt").write_text("before", encoding="utf-8")
    discrim.qda(FORMULA, IRIS).save("a.fit")
    before = (tmp_path / "a.fit").read_bytes()
    arguments = ["--out", "a.txt", "--save", "a.fit", "--plot", "a.svg"]
    # That there is no such column is seen when they are drawn.
    drawn = ["--kind", "regions", "--columns", "petal_length,nosuch"]
    assert "'nosuch'" in refused(capsys, "qda", FORMULA, "iris", *arguments, *drawn)

    system_fails("fsync", OSError(28, "No space left on device"))
    assert "The disk is full" in refused(capsys, "lda", FORMULA, "iris", *arguments)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "before"
    assert (tmp_path / "a.fit").read_bytes() == before
    assert sorted(os.listdir()) == ["a.fit", "a.txt"]


def test_who_reads_the_first_lines_alone_gets_the_files_all_the_same():
    arguments = ["lda", FORMULA, "iris", *HEADER, "--plot", "a.svg", "--save", "a.fit"]
    theirs, ours = os.pipe()
    os.close(theirs)
    with open(ours, "w") as unread, redirect_stdout(unread):
        assert cli.main(arguments) == 141
    assert sorted(os.listdir()) == ["a.fit", "a.svg"]


# ---- pictures

STARTS = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "svg": b"<?xml"}


@pytest.mark.slow
@pytest.mark.parametrize("form", STARTS)
def test_a_picture_is_of_the_format_that_its_name_says(form, tmp_path, capsys):
    said(capsys, "lda", FORMULA, "iris", *HEADER, "--plot", f"a.{form}")
    contents = (tmp_path / f"a.{form}").read_bytes()
    assert contents.startswith(STARTS[form])
    if form == "svg":
        assert ElementTree.parse(io.BytesIO(contents)).getroot().tag.endswith("}svg")


@pytest.mark.slow
def test_the_kind_is_the_one_that_is_drawn(capsys, tmp_path):
    fit = discrim.lda(FORMULA, IRIS)
    for arguments, view in (
        ([], {}),
        (["--kind", "posteriors"], {"kind": "posteriors"}),
        (["--axes", "LD2,LD1", "--kind", "scores"], {"kind": "scores", "axes": ["LD2", "LD1"]}),
    ):
        said(capsys, "lda", FORMULA, "iris", *HEADER, "--plot", "a.png", *arguments)
        expected = picture_bytes(lambda view=view: fit.plot(**view), "png")
        assert (tmp_path / "a.png").read_bytes() == expected


@pytest.mark.slow
def test_one_column_or_several_are_drawn(capsys, tmp_path):
    naive = ["naive-bayes", FORMULA, "iris", *HEADER, "--plot", "a.svg", "--kind", "density"]
    said(capsys, *naive, "--columns", "petal_width")
    assert "petal_width" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "'petal_with'" in refused(capsys, *naive, "--columns", "petal_with")


@pytest.mark.slow
def test_a_picture_needs_no_display_and_text_no_matplotlib(tmp_path):
    environment = {**os.environ, "MPLBACKEND": "TkAgg", "PYTHONPATH": str(ROOT)}
    environment.pop("DISPLAY", None)
    code = "import sys; from discrim.cli import main; status = main(sys.argv[1:]); " + (
        "print(status, *({'matplotlib', 'statsmodels', 'sklearn', 'argcomplete'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, "lda", FORMULA, "iris", "--out", "a.txt"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    done = subprocess.run(
        [*command, "--plot", "a.pdf"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0 matplotlib\n"
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")


# ---- error rates


def test_error_rates_stand_after_the_summary(capsys):
    printed = said(
        capsys, "lda", FORMULA, "iris", *HEADER, "--errors", "loo, cv", "--folds", "5", "--seed", "3"
    )
    fit = discrim.lda(FORMULA, IRIS)
    table = fit.error_rates(["loo", "cv"], folds=5, seed=3)
    lines = printed.split("Error rates\n")[1].splitlines()
    for line, method in zip(lines[1:3], table.index, strict=True):
        name, estimate, se, *_ = line.split()
        assert name == method
        assert [float(estimate), float(se)] == pytest.approx(table.loc[method, ["estimate", "se"]], abs=5e-5)
    assert lines[3] == "cv: 5 folds, seed 3."


@pytest.mark.parametrize(
    ("verb", "folds"), [("rda", "loo"), ("rda", "4"), ("shrunken-centroids", "4"), ("perceptron", None)]
)
def test_verbs_that_deal_rows_themselves_share_folds_and_seed(verb, folds):
    kind = discrim.RDAResults if verb == "rda" else None
    kind = kind or (discrim.ShrunkenCentroidsResults if folds else discrim.PerceptronResults)
    data = "iris" if verb != "perceptron" else "breast_cancer"
    formula = FORMULA if verb != "perceptron" else "diagnosis ~ radius_mean"
    given = {"rda": ["--grid", "0.5,1"], "shrunken-centroids": [], "perceptron": ["--maxiter", "2"]}[verb]
    given += ["--folds", folds] if folds else []
    with record_calls(kind.error_rates) as calls:
        assert cli.main([verb, formula, data, *HEADER, "--errors", "cv", "--seed", "3", *given]) == 0
    (asked,) = (call for call in calls if call["seed"] is not None)
    assert asked["seed"] == 3
    assert asked["folds"] == (int(folds) if folds not in (None, "loo") else 10)


def test_folds_and_seed_go_with_what_they_are_of(capsys):
    assert "--folds requires --errors cv" in refused(capsys, "lda", FORMULA, "iris", "--folds", "5")
    loo = ["lda", FORMULA, "iris", "--errors", "loo", "--seed", "1"]
    assert "--seed requires --errors cv and 632+" in refused(capsys, *loo)
    assert "'0' is not a number of folds" in refused(
        capsys, "lda", FORMULA, "iris", "--errors", "cv", "--folds", "0"
    )
