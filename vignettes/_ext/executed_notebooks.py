"""The lessons of *Getting started* as notebooks with their outputs: see `make notebooks`.

They are part of the repository, where they can be read without building the site.
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from notebooks import page_notebook
from PIL import Image

PAGES = Path(__file__).parents[1]
FOLDER = PAGES / "notebooks"
LESSONS = ("tour", "lda-step-by-step", "iris", "canonical-variates", "equal-covariances", "error-rates")
"""Pages of the first group of index.md, in its order."""

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "TQDM_DISABLE": "1", "IPYKERNEL_CELL_NAME": "cell"}
"""Settings of kernels: reproducible sums, no progress bars, no file names in warnings."""


def repository_address(name: str) -> str:
    """Return the address of a file of the book from the folder of the notebooks."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}.ipynb" if stem in LESSONS and suffix == "md" else f"../{name}"


def lesson_notebook(page: Path) -> nbformat.NotebookNode:
    """Return the notebook of a page before its execution, with the hidden cells."""
    notebook = page_notebook(page, repository_address)
    digest = sha256(page.read_text(encoding="utf-8").encode()).hexdigest()
    notebook.metadata["source"] = {"page": page.name, "sha256": digest}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = cell.source.replace('"data/', '"../data/')
        if "hide-cell" in cell.metadata.get("tags", ()):
            cell.metadata["jupyter"]["outputs_hidden"] = True
    return notebook


def is_written(cell: nbformat.NotebookNode) -> bool:
    """Return whether a cell is part of the executed notebook."""
    return "remove-cell" not in cell.metadata.get("tags", ())


def executed_notebook(page: Path) -> nbformat.NotebookNode:
    """Execute the notebook of a page; return it without hidden cells, times and versions."""
    notebook = lesson_notebook(page)
    options = ["--InlineBackend.rc=figure.dpi=100"]
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", record_timing=False, extra_arguments=options
    )
    client.execute(cwd=FOLDER, env=os.environ | ENVIRONMENT)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.cells = list(filter(is_written, notebook.cells))
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        cell.execution_count = number
        if "remove-stderr" in cell.metadata.get("tags", ()):
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = compress_picture(output.data["image/png"])
    return notebook


def compress_picture(picture: str) -> str:
    """Reduce a PNG image, in base64, to 256 colours; it is a third as large, and names no version."""
    image, compressed = Image.open(BytesIO(b64decode(picture))).convert("RGB"), BytesIO()
    image.quantize(256, dither=Image.Dither.NONE).save(compressed, "png", optimize=True)
    return b64encode(compressed.getvalue()).decode()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for lesson in LESSONS:
        nbformat.write(executed_notebook(PAGES / f"{lesson}.md"), FOLDER / f"{lesson}.ipynb")
