"""How Sphinx and MyST-NB execute the vignettes and set them as HTML: see `make vignettes`."""

from __future__ import annotations

import os
from pathlib import Path

project = "discrim"
extensions = ["myst_nb"]
root_doc = min(page.stem for page in Path(__file__).parent.glob("*.md"))
myst_enable_extensions = ["amsmath", "dollarmath"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
# A bar that counts what is done belongs on a screen, not on a page.
os.environ["TQDM_DISABLE"] = "1"
suppress_warnings = ["toc.not_included"]
