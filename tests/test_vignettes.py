"""Vignettes are pages that Sphinx executes to their end, and an error in a cell is an error of the build."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
import pytest
from myst_nb.core.read import is_myst_markdown_notebook
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.support import ROOT

FOLDER = ROOT / "vignettes"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if "kernelspec:" in page.read_text(encoding="utf-8")]
"""Those without a kernel have examples that tests/test_package.py runs, or none."""


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
def test_vignette_is_one_that_myst_nb_executes(page):
    assert is_myst_markdown_notebook(page.read_text(encoding="utf-8"))


WITHOUT_FIGURES = {"index", "gallery"}
"""Pages whose sentences quote no number."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in WITHOUT_FIGURES], ids=lambda page: page.stem
)
def test_what_a_page_says_is_asserted_in_hidden_cells(page):
    cells = jupytext.read(page, fmt="md:myst").cells
    hidden = [cell.source for cell in cells if "remove-cell" in cell.metadata.get("tags", ())]
    assert any("assert" in source for source in hidden)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_line_of_code_is_hidden_beyond_the_edge_of_the_page(page):
    lines = [
        line
        for cell in jupytext.read(page, fmt="md:myst").cells
        if cell.cell_type == "code" and "remove-cell" not in cell.metadata.get("tags", ())
        for line in cell.source.splitlines()
    ]
    assert [line for line in lines if len(line) > 92] == []


@pytest.mark.slow
@pytest.mark.parametrize("source", ["1 / 0", "import discrim; discrim.no_such_name"])
def test_an_error_in_a_cell_fails(tmp_path, source):
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n```{{code-cell}} ipython3\n{source}\n```\n", encoding="utf-8")
    with pytest.raises(CellExecutionError, match=r"ZeroDivisionError|AttributeError"):
        execute(page)


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["1 / 0", "import time; time.sleep(60)"], ids=["error", "time"])
def test_a_page_that_fails_is_named_and_the_others_are_written(tmp_path, cell):
    book, built = tmp_path / "pages", tmp_path / "site"
    book.mkdir()
    pages = {"sound": "print('the sound page')", "failing": cell, "zealous": "print('the last page')"}
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
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 1, made.stderr
    assert "failing.md" in made.stderr
    assert "sound.md" not in made.stderr
    assert "the sound page" in (built / "sound.html").read_text(encoding="utf-8")
    assert "the last page" in (built / "zealous.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_cells_without_an_error_run_to_their_end(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n```{code-cell} ipython3\nimport discrim; discrim.lda\n```\n", encoding="utf-8"
    )
    execute(page)
