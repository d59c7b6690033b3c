"""Vignettes are pages that Sphinx executes to their end, and an error in a cell is an error of the build."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import ROOT

pytest.importorskip("myst_nb")
import jinja2
import jupytext
import nbformat
from myst_nb.core.read import is_myst_markdown_notebook
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

sys.path.insert(0, str(ROOT / "vignettes" / "_ext"))
import lite
import notebooks
from topics import TOPICS

FOLDER = ROOT / "vignettes"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if "kernelspec:" in page.read_text(encoding="utf-8")]
"""Those without a kernel have examples that tests/test_package.py runs, or none."""


@cache
def cells_of(page: Path) -> list[Any]:
    """Return the cells of a page, in which a test changes nothing."""
    return jupytext.read(page, fmt="md:myst").cells


def execute(page: Path) -> Any:
    """A page's notebook, with its cells run where it stands."""
    notebook = jupytext.read(page, fmt="md:myst")
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(page.parent)}}
    ).execute()
    return notebook


@pytest.fixture(autouse=True)
def _kernel_imports_the_package_under_test(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parent))


@pytest.mark.slow
def test_each_cell_shows_its_picture(tmp_path):
    page = tmp_path / "page.md"
    cells = ["import discrim; fit = discrim.lda('species ~ .', discrim.datasets.load_iris()); fit.plot();"]
    cells += ["fit.plot('biplot');", "fit.report('report.html'); fit.plot('confusion');"]
    page.write_text(
        "# A page\n\n" + "".join(f"```{{code-cell}} ipython3\n{cell}\n```\n\n" for cell in cells),
        encoding="utf-8",
    )
    shown = [cell.outputs for cell in execute(page).cells if cell.cell_type == "code"]
    assert all(any("image/png" in each.get("data", {}) for each in outputs) for outputs in shown)


def test_there_is_a_vignette():
    assert PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_vignettes_are_executed_by_myst_nb(page):
    assert is_myst_markdown_notebook(page.read_text(encoding="utf-8"))


def test_each_topic_of_the_search_belongs_to_one_page():
    assert set(TOPICS) <= {page.stem for page in FOLDER.glob("*.md")}
    topics = [topic.lower() for page in TOPICS.values() for topic in page]
    assert len(topics) == len(set(topics))


WITHOUT_FIGURES = {"index", "gallery"}
"""Pages whose sentences quote no number."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in WITHOUT_FIGURES], ids=lambda page: page.stem
)
def test_statements_of_pages_are_asserted_in_hidden_cells(page):
    cells = cells_of(page)
    hidden = [cell.source for cell in cells if "remove-cell" in cell.metadata.get("tags", ())]
    assert any("assert" in source for source in hidden)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_lines_fit_the_page_width(page):
    lines = [
        line
        for cell in cells_of(page)
        if cell.cell_type == "code" and "remove-cell" not in cell.metadata.get("tags", ())
        for line in cell.source.splitlines()
    ]
    assert [line for line in lines if len(line) > 92] == []


FOR_REFERENCE = {
    "files-and-privacy",
    "coming-from-r",
    "coming-from-sas",
    "coming-from-scikit-learn",
    "command-line",
    "gallery",
    "glossary",
    "index",
    "notation",
    "published-results",
    "recipes",
    "computing-times",
    "public-api",
}
"""Pages that are looked things up in; the others are lessons."""

LESSONS = [page for page in PAGES if page.stem not in FOR_REFERENCE]


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_lessons_have_goals_and_exercises_with_asserted_answers(page):
    text = page.read_text(encoding="utf-8")
    goals = re.search(r"```\{admonition\} What you will learn\n:class: goals\n\n(.*?)```", text, re.DOTALL)
    assert text.index("\n# ") < goals.start() < text.index("\n## ")
    assert 3 <= len(re.findall("^- ", goals[1], re.MULTILINE)) <= 5
    opening = "\n## ".join(text.split("\n## ")[:2])
    assert re.search(r"plot\(|imshow|subplots|interactive", opening)
    exercises = text[text.index("\n## Exercises\n") :]
    rest = re.findall("^## (.*)", exercises, re.MULTILINE)
    assert rest in (["Exercises"], ["Exercises", "Further reading"])
    asked = re.findall(r"^\*\*(\d)\.\*\*", exercises, re.MULTILINE)
    assert asked == ["1", "2", "3"]
    cells = [cell for cell in jupytext.reads(exercises, fmt="md:myst").cells if cell.cell_type == "code"]
    tags = [set(cell.metadata.get("tags", ())) for cell in cells]
    answers = [cell for cell, named in zip(cells, tags, strict=True) if named == {"answer", "hide-cell"}]
    assert len(answers) == 3
    assert all(cell.source.startswith("# ") for cell in answers)
    assert any(
        named == {"remove-cell"} and "assert" in cell.source for cell, named in zip(cells, tags, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("source", ["1 / 0", "import discrim; discrim.no_such_name"])
def test_an_error_in_a_cell_fails(tmp_path, source):
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n```{{code-cell}} ipython3\n{source}\n```\n", encoding="utf-8")
    with pytest.raises(CellExecutionError, match=r"ZeroDivisionError|AttributeError"):
        execute(page)


@pytest.mark.slow
def test_failing_pages_are_named_and_other_pages_are_written(tmp_path):
    book, built = tmp_path / "pages", tmp_path / "site"
    book.mkdir()
    pages = {"first": "print('the first page')", "failing": "1 / 0", "endless": "import time; time.sleep(60)"}
    pages["last"] = "print('the last page')"
    form = "jupytext:\n  text_representation:\n    extension: .md\n    format_name: myst\n"
    head = f"---\n{form}kernelspec:\n  display_name: Python 3\n  name: python3\n---\n\n# A page\n\n"
    for name, source in pages.items():
        (book / f"{name}.md").write_text(
            f"{head}```{{code-cell}} ipython3\n{source}\n```\n", encoding="utf-8"
        )
    contents = "\n".join(pages)
    (book / "index.md").write_text(f"# A book\n\n```{{toctree}}\n{contents}\n```\n", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", str(FOLDER)]
    command += ["-D", "nb_execution_timeout=5", str(book), str(built)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 1, completed.stderr
    for name in pages:
        assert (f"{name}.md" in completed.stderr) == (name in ("failing", "endless"))
    for name in ("first", "last"):
        assert f"the {name} page" in (built / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_cells_without_an_error_run_to_their_end(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n```{code-cell} ipython3\nimport discrim; discrim.lda\n```\n", encoding="utf-8"
    )
    execute(page)


def links_above(page, address):
    """What a page links to beside its title, where the book was built with an address for running it."""
    app = SimpleNamespace(
        config=SimpleNamespace(repository="https://source.example", lite=address),
        env=SimpleNamespace(doc2path=lambda name: FOLDER / f"{name}.md"),
    )
    context = {"content_root": "./", "sourcename": page.name, "pathto": lambda name, resource: name}
    notebooks.add_notebook_links(app, page.stem, "page.html", context, object())
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(FOLDER / "_templates"))
    return templates.get_template("notebook.html").render(context)


RUNNING = [page for page in PAGES if page.stem not in notebooks.NOT_IN_A_BROWSER]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_link_to_the_browser_version_if_its_url_is_set(page):
    shown = links_above(page, "https://lite.example")
    opened = re.findall(r'href="(https://lite[^"]*)".*Run here', shown)
    whole = f"https://lite.example/lab/index.html?path={page.stem}.ipynb"
    assert opened == ([whole] if page in RUNNING else [])
    assert "Run here" not in links_above(page, "")
    assert "<script" not in shown


def test_pages_that_cannot_run_in_a_browser_are_listed():
    assert {page.stem for page in PAGES} >= notebooks.NOT_IN_A_BROWSER
    assert len(RUNNING) > 0.9 * len(PAGES)


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.stem)
def test_a_notebook_for_a_browser_installs_the_package_first(page):
    made = lite.browser_notebook(page)
    nbformat.validate(made)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    assert re.fullmatch(r'%pip install -q ("discrim\[[a-z,]+\]"|discrim)', code[0].source)
    taken = cells_of(page)
    assert [cell.source for cell in code[1:]] == [each.source for each in taken if each.cell_type == "code"]
    for cell in code:
        hidden = bool({"remove-cell", "hide-cell", "hide-input"} & set(cell.metadata.get("tags", ())))
        assert cell.metadata.get("jupyter", {}).get("source_hidden", False) == hidden
    text = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert not re.search(r"^```\{|\{[a-z:]+\}`", text, re.MULTILINE)
    for name in re.findall(r"\]\(([\w-]+)\.ipynb[#)]", text):
        assert FOLDER / f"{name}.md" in RUNNING


@pytest.mark.slow
def test_jupyterlite_sources_contain_every_notebook_and_table(tmp_path):
    lite.write_site(tmp_path / "source")
    files = tmp_path / "source" / "files"
    assert {path.stem for path in files.glob("*.ipynb")} == {page.stem for page in RUNNING}
    for page in RUNNING:
        for table in re.findall(r"\bdata/[\w.-]+\.(?:csv|xz)\b", page.read_text(encoding="utf-8")):
            assert (files / table).exists(), (page, table)
    assert lite.PYODIDE in (tmp_path / "source" / "jupyter-lite.json").read_text(encoding="utf-8")
    assert re.search(r"/v\d+\.\d+\.\d+/", lite.PYODIDE)
