"""The executed lessons in vignettes/notebooks are up to date, small, plain Markdown, and name no machine."""

from __future__ import annotations

import base64
import io
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import ROOT

pytest.importorskip("jupytext")
pytest.importorskip("myst_nb")
pytest.importorskip("nbclient")
pytest.importorskip("nbformat")
sys.path.insert(0, str(ROOT / "vignettes" / "_ext"))
import nbformat
from executed_notebooks import FOLDER, LESSONS, PAGES, executed_notebook, is_written, lesson_notebook

MAX_BYTES = 400_000


def read_notebook(lesson: str) -> Any:
    """Read the executed notebook of a lesson."""
    return nbformat.read(FOLDER / f"{lesson}.ipynb", as_version=nbformat.NO_CONVERT)


def outputs_of(notebook: Any) -> Iterator[Any]:
    """Iterate over the outputs of all cells."""
    for cell in notebook.cells:
        yield from cell.get("outputs", ())


def markdown_of(notebook: Any) -> str:
    """Return the text of a notebook."""
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_the_folder_contains_the_lessons_only():
    assert {path.name for path in FOLDER.glob("*.*")} - {".ipynb_checkpoints"} == {
        f"{lesson}.ipynb" for lesson in LESSONS
    }


def test_the_lessons_are_the_first_group_of_the_index():
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    group = re.search(r"```\{toctree\}\n:caption: Getting started\n(.*?)```", index, re.DOTALL)
    assert tuple(re.findall(r"<([\w-]+)>", group[1])) == LESSONS


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_notebook_is_not_older_than_its_page(lesson):
    page, notebook = PAGES / f"{lesson}.md", read_notebook(lesson)
    expected = lesson_notebook(page)
    sources = [cell.source for cell in expected.cells if is_written(cell)]
    message = f"vignettes/notebooks/{lesson}.ipynb is older than vignettes/{lesson}.md: run `make notebooks`"
    assert notebook.metadata.source == expected.metadata.source, message
    assert [cell.source for cell in notebook.cells] == sources, message


@pytest.mark.parametrize("lesson", LESSONS)
def test_notebooks_are_small_and_valid_and_executed_without_errors(lesson):
    notebook = read_notebook(lesson)
    nbformat.validate(notebook)
    assert (FOLDER / f"{lesson}.ipynb").stat().st_size < MAX_BYTES
    kinds = {output.output_type for output in outputs_of(notebook)}
    assert {"execute_result", "display_data"} <= kinds <= {"execute_result", "display_data", "stream"}
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]


@pytest.mark.parametrize("lesson", LESSONS)
def test_notebooks_do_not_contain_hidden_cells(lesson):
    hidden = [cell.source for cell in lesson_notebook(PAGES / f"{lesson}.md").cells if not is_written(cell)]
    text = "\n".join(cell.source for cell in read_notebook(lesson).cells)
    assert hidden
    assert [source for source in hidden if source in text] == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_notebooks_do_not_depend_on_the_machine(lesson):
    notebook = read_notebook(lesson)
    assert notebook.metadata.keys() == {"kernelspec", "language_info", "source"}
    assert notebook.metadata.language_info == {"name": "python"}
    assert {key for cell in notebook.cells for key in cell.metadata} <= {"tags", "jupyter"}
    for output in outputs_of(notebook):
        texts = [text for kind, text in output.get("data", {}).items() if kind != "image/png"]
        for text in [*texts, output.get("text", "")]:
            assert not re.search(r"site-packages|ipykernel|\.py\b|\bat 0x|/(tmp|home|root|Users)/", text)


@pytest.mark.parametrize("lesson", LESSONS)
def test_links_of_notebooks_lead_to_files_and_headings(lesson):
    text = markdown_of(read_notebook(lesson))
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text)
    assert links
    for name, heading in links:
        assert not name.endswith(".md") or name[3:-3] not in LESSONS
        assert (FOLDER / name).exists(), name
        if heading and not name.endswith(".md"):
            target = markdown_of(read_notebook(name.removesuffix(".ipynb") or lesson))
            titles = re.findall("^#+ (.*)", target, re.MULTILINE)
            assert heading in {title.replace(" ", "-") for title in titles}


@pytest.mark.parametrize("lesson", LESSONS)
def test_notebooks_are_plain_markdown(lesson):
    text = markdown_of(read_notebook(lesson))
    assert re.search(r"^> \*\*What you will learn\*\*\n>\n> - ", text, re.MULTILINE)
    assert not re.search(r"^```\{|^:::|\{[a-z:]+\}`", text, re.MULTILINE)


PAGE = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
---

# A page

```{code-cell} ipython3
:tags: [remove-cell]

answer = 42
```

```{code-cell} ipython3
:tags: [remove-stderr, hide-input]

import sys
from pathlib import Path

import matplotlib.pyplot as plt

print("a message", file=sys.stderr)
assert Path("data/coverage.csv").exists()
plt.figure(figsize=(4, 3)).add_subplot().plot([1, 2]);
```

```{code-cell} ipython3
:tags: [answer, hide-cell]

import warnings

warnings.warn("a warning")
answer
```
"""


@pytest.mark.slow
def test_execution_is_reproducible_and_leaves_hidden_cells_out(tmp_path, monkeypatch):
    from PIL import Image

    monkeypatch.delenv("IPYKERNEL_CELL_NAME", raising=False)
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    notebook = executed_notebook(page)
    assert nbformat.writes(notebook) == nbformat.writes(executed_notebook(page))
    _, drawn, answered = notebook.cells
    assert [output.output_type for output in drawn.outputs] == ["display_data"]
    picture = Image.open(io.BytesIO(base64.b64decode(drawn.outputs[0].data["image/png"])))
    assert picture.mode == "P"
    assert 300 < picture.width < 420
    assert "Software" not in picture.info
    assert drawn.metadata.jupyter == {"source_hidden": True}
    assert answered.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    warned, result = answered.outputs
    assert warned.text.startswith("cell:3: UserWarning: a warning")
    assert result.data["text/plain"] == "42"
