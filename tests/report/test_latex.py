"""Summaries as LaTeX, set by a real pdflatex where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discrim import logistic, qda
from discrim.datasets import load_iris
from discrim.errors import DataError
from discrim.models.registry import MODELS
from discrim.penalty import Lasso
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.latex import break_lines, column_cells, escape, latex_width
from discrim.report.tables import Summary
from tests.contract.test_names import fitted
from tests.report.support import (
    HOSTILE,
    NAMES,
    SUMMARY,
    TABULAR,
    hostile_summary,
    latex_rows,
    table,
    wide_fit,
)

PDFLATEX = shutil.which("pdflatex")
WRONG = re.compile(r"Overfull|undefined|multiply|too large|Missing character", re.M)


def test_a_small_table_is_formatted_as_expected():
    frame = pd.DataFrame({"a_1": [1.0, -20.5], "p": [0.25, 1e-5]}, index=["first", "-1"])
    section = Section("Things", frame, {"a_1": "z", "p": "p"}, note="5 % of note.")
    text = Summary("T", {"t": section}).as_latex("Any $x$", "tab:t", position="!t")
    assert text.split("\n\n")[1].splitlines() == [
        r"\begin{table}[!t]",
        r"\centering\sloppy",
        r"\caption{Any $x$}",
        r"\label{tab:t}",
        r"\smallskip",
        r"\begin{tabular}{@{}lrr@{}}",
        r"\toprule",
        r"      &     a\_1 &        p \\",
        r"\midrule",
        r"first &     1.00 &    0.250 \\",
        r"$-$1  & $-$20.50 & $<$0.001 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}\footnotesize\raggedright",
        r"5 \% of note.\par",
        r"\end{minipage}",
        r"\end{table}",
    ]


def test_a_section_has_a_tabular_with_escaped_characters():
    assert latex_rows(hostile_summary()) == [[4], [2, 2]]
    assert latex_rows(SUMMARY)[2] == [5] * 4


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["-1.5", "2.25"], ["$-$1.5", "2.25"]),
        (["12   ", "0.25", "1.5 "], [r"12\phantom{.00}", "0.25", r"1.5\phantom{0}"]),
        (["1.0e-07", "2.5e-12"], [r"1.0$\times$10$^{-7}$\phantom{$^{0}$}", r"2.5$\times$10$^{-12}$"]),
        (["<1e-300"], ["$<$10$^{-300}$"]),
        (["inf", "-inf", "nan", ""], [r"$\infty$", r"$-$$\infty$", "nan", ""]),
        (["8, -288", "(-3, 5)", "A-1", "1/(N-K)"], ["8, $-$288", "($-$3, 5)", "A-1", "1/(N-K)"]),
        (["[0.025", "*", "2.0 %  (3/150)"], ["{}[0.025", "{}*", r"2.0 \%  (3/150)"]),
    ],
)
def test_numbers_have_typographic_signs_and_powers(texts, wanted):
    assert column_cells(texts) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("αβ γ", r"\ensuremath{\alpha}\ensuremath{\beta} \ensuremath{\gamma}"),
        ("Άλφα", r"\ensuremath{\acute{A}}\ensuremath{\lambda}\ensuremath{\phi}\ensuremath{\alpha}"),
        ("x²₁ ≤ ∞", r"x²\ensuremath{_{1}} \ensuremath{\leq} \ensuremath{\infty}"),
        ("CO₂ⁿ ⅓ Ⅳ ｘ①", r"CO\ensuremath{_{2}}\ensuremath{^{n}} 1⁄3 IV x1"),
        ("10⁻³\u2009kg", r"10\ensuremath{^{\ensuremath{-}}}³ kg"),
        ("ế", r"\'{\^{e}}"),
        ("x\u0304", r"\={x}"),
        ("naïve Łódź", "naïve Łódź"),
        ("a--b ,,c'' <<", r"a-{}-b ,{},c'{}' \textless{}\textless{}".replace("<<", "")),
    ],
)
def test_letters_missing_in_pdflatex_are_composed(text, wanted):
    latex_text = escape(text)
    assert latex_text.replace(r"\textless{}{}\textless{}", r"\textless{}\textless{}") == wanted


def test_texts_break_at_allowed_positions():
    assert break_lines("bill_length_mm", 60) == ["bill_length_", "mm"]
    assert break_lines("a rather long label", 60) == ["a rather", "long label"]
    assert max(map(latex_width, break_lines("W" * 40, 60))) <= 60
    assert "".join(break_lines("花弁の長さの平均", 45)) == "花弁の長さの平均"


def test_captions_and_labels():
    text = SUMMARY.as_latex()
    assert r"\caption{Linear discriminant analysis: Means}" in text
    assert len(set(re.findall(r"\\label{(.*?)}", text))) == len(SUMMARY.tables)
    assert r"\label{tab:linear-discriminant-analysis-log_odds}" in text
    twins = Summary("T", {f"covariance {c}": Section(c, table(2, 2)) for c in ("花", "弁", "a b", "a-b")})
    names = ["tab:t-covariance", "tab:t-covariance-2", "tab:t-covariance-a-b", "tab:t-covariance-a-b-2"]
    assert re.findall(r"\\label{(.*?)}", twins.as_latex()) == names
    text = SUMMARY.as_latex("Irises", "tab:iris")
    assert r"\caption{Irises: Means}" in text
    assert r"\label{tab:iris-means}" in text


@pytest.mark.parametrize(
    "options",
    [
        {"caption": 3},
        {"label": "a b"},
        {"label": "a}b"},
        {"label": ""},
        {"position": "middle"},
        {"position": None},
        {"textwidth": 0},
        {"textwidth": "wide"},
        {"textwidth": float("nan")},
        {"textwidth": True},
    ],
)
def test_invalid_arguments_are_named(options):
    with pytest.raises(DataError, match=next(iter(options))):
        SUMMARY.as_latex(**options)


def test_a_wide_table_is_split_into_panels_if_a_width_is_given():
    summary = Summary("T", {"m": Section("Means", table(3, 20))})
    (tabular,) = TABULAR.findall(summary.as_latex())
    assert tabular[0] == "l" + "r" * 20
    aligns = [aligns for aligns, _ in TABULAR.findall(summary.as_latex(textwidth=345))]
    assert len(aligns) > 2
    assert sum(map(len, aligns)) == 20 + len(aligns)
    assert len(TABULAR.findall(summary.as_latex(textwidth=1500))) == 1


def test_a_panel_of_a_triangle_ends_with_its_last_number():
    frame = table(20, 20)
    frame = frame.where(np.tril(np.ones((20, 20), dtype=bool)).T)
    text = Summary("T", {"m": Section("Correlations", frame, triangle=True)}).as_latex(textwidth=345)
    rows = [body.count(r" \\") - 1 for _, body in TABULAR.findall(text)]
    assert rows == sorted(rows)
    assert rows[0] < rows[-1] == 20


# ---- set by pdflatex


def log_of(body: str, folder: Path, preamble: str = "", size: str = "10pt", runs: int = 1) -> str:
    """What pdflatex says of a document; references need two runs."""
    page = f"\\documentclass[{size}]{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (folder / "page.tex").write_text(page, encoding="utf-8")
    for _ in range(runs):
        command = ["pdflatex", "-interaction=nonstopmode", "-no-shell-escape", "page"]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=100, check=False)
        assert done.returncode == 0, done.stdout[-3000:]
    return (folder / "page.log").read_text(encoding="utf-8", errors="replace")


def wrong(log: str) -> list[str]:
    assert "Output written on page.pdf" in log
    return [line for line in log.splitlines() if WRONG.search(line)]


needs_pdflatex = pytest.mark.skipif(PDFLATEX is None, reason="pdflatex is not installed")
has_booktabs = shutil.which("kpsewhich") is not None and bool(
    subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).stdout
)


@pytest.mark.slow
@needs_pdflatex
@pytest.mark.parametrize(
    "package",
    [
        "",
        pytest.param(
            r"\usepackage{booktabs}",
            marks=pytest.mark.skipif(not has_booktabs, reason="booktabs is not installed"),
        ),
    ],
)
def test_every_summary_compiles_without_warnings(package, tmp_path):
    documents = []
    fits = {model.results: fitted(model.verb) for model in MODELS if not model.name_in_files}
    fits["PenalizedLogisticResults"] = logistic("species ~ .", load_iris(), penalty=Lasso(0.01))
    assert set(fits) == {model.results for model in MODELS}
    for name, fit in fits.items():
        keys = fit.summary().tables
        references = " ".join(rf"\ref{{tab:{name}-{key.replace(' ', '-')}}}" for key in keys)
        documents.append(fit.summary().as_latex(label=f"tab:{name}", textwidth=329))
        documents.append(rf"See {references}. \clearpage")
    assert wrong(log_of("\n\n".join(documents), tmp_path, package, runs=2)) == []


@pytest.mark.slow
@needs_pdflatex
@pytest.mark.parametrize("size", ["10pt", "12pt"])
def test_many_classes_columns_and_odd_labels_compile_without_warnings(size, tmp_path):
    names = {key: name for key, name in NAMES.items() if key not in ("cyrillic", "chinese")}
    names["wide"] = lambda j: f"{'W' * 50}{j}"
    summaries = [wide_fit(26, 26, name).summary() for name in names.values()]
    summaries += [wide_fit(200, 3, NAMES["sixty"]).summary(), wide_fit(6, 26, NAMES["plain"], qda).summary()]
    summaries += [
        hostile_summary(),
        Summary(HOSTILE, {"h": Pairs("a" * 200, [HeaderItem("x" * 60, 1, "y" * 60)] * 5)}),
    ]
    body = "\n\n\\clearpage\n".join(
        each.as_latex(label=f"t{i}", textwidth=329) for i, each in enumerate(summaries)
    )
    # Tables of many classes are taller than a page.
    assert [line for line in wrong(log_of(body, tmp_path, size=size)) if "too large" not in line] == []


@pytest.mark.slow
@needs_pdflatex
def test_texts_with_supported_letters_compile_without_warnings(tmp_path):
    rng = np.random.default_rng(17)
    signs = [
        *map(chr, range(32, 127)),
        *"\\{}%#&_^~$`'\"[]-,<>?!*| " * 3,
        *"éüßÅñçαβΩςάΈλ≤∞²₁ⁿ−×°µ…ﬁ①Ⅳế\u0301\u00a0",
    ]
    values = [1.5, -2.25, 1e-9, -3e12, np.inf, -np.inf, np.nan, 7.0]

    def text(most: int) -> str:
        return "".join(rng.choice(signs, rng.integers(0, most)))

    bodies = []
    for i in range(40):
        rows, columns = rng.integers(1, 7, 2)
        frame = pd.DataFrame(rng.choice(values, (rows, columns)), index=[text(70) for _ in range(rows)])
        frame.columns = [text(60) for _ in range(columns)]
        pairs = Pairs(text(150), [HeaderItem(text(50), 1, text(60)) for _ in range(rows)], text(90))
        summary = Summary(text(60), {"h": pairs, "t": Section(text(100), frame, note=text(200))})
        bodies += [summary.as_latex(label=f"t{i}", textwidth=329), r"\clearpage"]
    log = log_of("\n".join(bodies), tmp_path)
    assert "Output written on page.pdf" in log
    assert not re.search(r"^Overfull|^LaTeX Warning: Float", log, re.M)
